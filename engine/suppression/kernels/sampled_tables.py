"""Binomial counts drawn exactly from random bits, and how many of them are unsafe (Algorithm 3).

Each of the people has a uniform number U and a yes if U < p. The binary digits of U are drawn for everyone at once and
compared with those of p, first digit first. Whoever differs is decided, and only how many differ matters: the number
of set bits among as many random bits. About half of the people are left after each digit, so that a count of b people
takes about 2 b bits.

Symbols: b people, p chance.
"""

from typing import NamedTuple

from engine.jit import lean_jit
from engine.kernels.arrays import Ints, Words
from engine.kernels.chacha import STAGE_TABLE, has_run_out, next_word, open_stream, read_ahead

__all__ = ["RUN_OUT", "TOO_FEW_DIGITS", "SampledCell", "count_unsafe", "draw_counts"]

TOO_FEW_DIGITS = -1
RUN_OUT = -2


class SampledCell(NamedTuple):
    """Position of the decision, people, and the safe interval."""

    position: int
    people: int
    low: int
    high: int


@lean_jit
def _set_bits(word: int) -> int:
    """Number of set bits among 32."""
    word -= (word >> 1) & 0x55555555
    word = (word & 0x33333333) + ((word >> 2) & 0x33333333)
    word = (word + (word >> 4)) & 0x0F0F0F0F
    return ((word * 0x01010101) & 0xFFFFFFFF) >> 24


@lean_jit
def _heads(key: Words, stream: Ints, lanes: Words, n: int) -> int:
    """Number of heads among n fair coins."""
    heads = 0
    while n > 0:
        n_words = min((n + 31) >> 5, max(read_ahead(key, lanes, stream) >> 2, 1))
        for _ in range(n_words):
            word = next_word(key, stream)
            heads += _set_bits(word if n >= 32 else word & ((1 << n) - 1))
            n -= 32
    return heads


@lean_jit
def _draw(key: Words, stream: Ints, lanes: Words, digits: Ints, people: int) -> int:
    """One count; ``TOO_FEW_DIGITS`` if it depends on digits of p after those given, of 32 bits each."""
    count, left = 0, people
    for digit in digits:
        for bit in range(31, -1, -1):
            if left == 0:
                return count
            heads = _heads(key, stream, lanes, left)
            if (digit >> bit) & 1:
                count += left - heads
                left = heads
            else:
                left -= heads
    return count if left == 0 else TOO_FEW_DIGITS


@lean_jit
def draw_counts(key: Words, stream: Ints, lanes: Words, digits: Ints, cell: SampledCell, counts: Ints) -> int:
    """Fill ``counts`` with draws of a cell's value; return 0, ``TOO_FEW_DIGITS`` or ``RUN_OUT``."""
    open_stream(STAGE_TABLE, cell.position, 0, stream)
    for at in range(counts.size):
        counts[at] = _draw(key, stream, lanes, digits, cell.people)
        if counts[at] < 0:
            return TOO_FEW_DIGITS
    return RUN_OUT if has_run_out(stream) else 0


@lean_jit
def count_unsafe(
    key: Words, stream: Ints, lanes: Words, digits: Ints, cell: SampledCell, n_samples: int, most: int
) -> int:
    """How many of ``n_samples`` values of a cell are unsafe, counted up to ``most`` + 1.

    ``TOO_FEW_DIGITS`` or ``RUN_OUT`` if that cannot be said.
    """
    open_stream(STAGE_TABLE, cell.position, 0, stream)
    n_unsafe = 0
    for _ in range(n_samples):
        value = _draw(key, stream, lanes, digits, cell.people)
        if value < 0:
            return TOO_FEW_DIGITS
        n_unsafe += value < cell.low or value > cell.high
        if n_unsafe > most:
            break
    return RUN_OUT if has_run_out(stream) else n_unsafe
