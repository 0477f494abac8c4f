"""Exact discrete Laplace noise from a keyed stream, by comparing words with the digits of a chance.

Symbols: q = e^-rate; digits int64[B + 1, n] as :mod:`engine.mechanisms.chances` writes them out.

If a draw is still undecided after the given digits, `short[0]` is raised and the result must not be used: the caller
computes more digits and draws again from the same stream. So the law is exactly that of the chances, however few
digits are given.
"""

from engine.jit import jit
from engine.kernels.arrays import Ints, Words
from engine.kernels.chacha import has_run_out, next_word

__all__ = ["NO_LIMIT", "discrete_laplace", "fill_noise", "geometric", "happens"]

NO_LIMIT = 1 << 60


@jit
def happens(key: Words, stream: Ints, digits: Ints, short: Ints) -> bool:
    """Draw an event of this chance: whether a uniform number, drawn word by word, is below it."""
    for position in range(digits.size):
        drawn = next_word(key, stream)
        if drawn != digits[position]:
            return bool(drawn < digits[position])
    short[0] = 1
    return False


@jit
def geometric(key: Words, stream: Ints, digits: Ints, limit: int, short: Ints) -> int:
    """Draw G with P(G = g) = (1 - c) c^g, or some number of at least ``limit`` if G is at least that.

    The part above the bits is drawn first, then the bits from the highest on. Bits that would only decide how far G
    lies above the limit are not drawn.
    """
    last = digits.shape[0] - 1
    value = 0
    while value < limit and happens(key, stream, digits[last], short) and not has_run_out(stream):
        value += 1 << last
    for bit in range(last - 1, -1, -1):
        if value >= limit:
            break
        if happens(key, stream, digits[bit], short):
            value += 1 << bit
    return value


@jit
def discrete_laplace(key: Words, stream: Ints, digits: Ints, short: Ints) -> int:
    """Draw Z with P(Z = z) = (1 - q) / (1 + q) q^|z|: above 0 it is 1 + G, else -G."""
    if happens(key, stream, digits[0], short):
        return 1 + geometric(key, stream, digits, NO_LIMIT, short)
    return -geometric(key, stream, digits, NO_LIMIT, short)


@jit
def fill_noise(key: Words, stream: Ints, digits: Ints, short: Ints, out: Ints) -> None:
    """Fill ``out`` with discrete Laplace noise from one open stream."""
    for position in range(out.size):
        out[position] = discrete_laplace(key, stream, digits, short)
