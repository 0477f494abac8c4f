"""Irrational chances, such as e^-x, as digits in base 2^32: as many digits as a draw needs.

A draw compares random words with the digits of a chance, from the first on until they differ. More digits can always
be computed, so the draw has exactly that chance; see :mod:`engine.kernels.noise`.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

import numpy as np
import numpy.typing as npt

__all__ = [
    "digits_of",
    "draw_with_digits",
    "exponential_bounds",
    "geometric_digits",
    "noise_digits",
]

Bounds = tuple[int, int]
Digits = npt.NDArray[np.int64]

_Drawn = TypeVar("_Drawn")

_MOST_BITS = 32

_FIRST_DIGITS = 4
"""128 bits: a draw needs more with a chance of 2^-128."""


def exponential_bounds(rate: Fraction, bits: int) -> Bounds:
    """Whole numbers around e^-rate × 2^bits, for rate above 0.

    The Taylor series of e^-y at y = rate / 2^r, at most 1/2, squared r times; every step is rounded down for the
    lower and up for the upper bound.
    """
    n_squares = int(2 * rate).bit_length()
    work = bits + 2 * n_squares + 16
    low, high = _series_bounds(rate / (1 << n_squares), work)
    for _ in range(n_squares):
        low, high = low * low >> work, -(-high * high >> work)
    return low >> (work - bits), -(-high >> (work - bits))


def _series_bounds(small: Fraction, work: int) -> Bounds:
    """Around e^-small × 2^work, for small at most 1/2: the terms alternate in sign and fall."""
    low = high = term_low = term_high = 1 << work
    step = 0
    while term_high > 1:
        step += 1
        term_low = term_low * small.numerator // (small.denominator * step)
        term_high = -(-term_high * small.numerator // (small.denominator * step))
        if step % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
    # What is left of the series is less than its last term.
    return low - term_high, high + term_high


def digits_of(bounds: Callable[[int], Bounds], n_digits: int) -> Digits:
    """First digits in base 2^32 of an irrational number in (0, 1): int64[n_digits].

    Parameters
    ----------
    bounds : callable
        Takes a number of bits and returns whole numbers around the chance × 2^bits, a few units apart.
    n_digits : int
    """
    wanted, guard = 32 * n_digits, 32
    while True:
        low, high = bounds(wanted + guard)
        if low >> guard == high >> guard:
            return np.frombuffer((low >> guard).to_bytes(4 * n_digits, "big"), dtype=">u4").astype(np.int64)
        guard *= 2


def geometric_digits(base: Callable[[int, int], Bounds], n_digits: int) -> Digits:
    """Chances from which a geometric number G, P(G = g) = (1 - c) c^g, is composed.

    The bits of G are independent: P(G = g) is a product of c^(2^b) over the bits b that are set. Bit b is set with
    chance c^(2^b) / (1 + c^(2^b)), and the part above bit B is geometric with c^(2^B).

    Parameters
    ----------
    base : callable
        Takes b and a number of bits, and returns whole numbers around c^(2^b) × 2^bits.
    n_digits : int

    Returns
    -------
    int64[B + 1, n_digits]
        Row b < B: digits of the chance of bit b. The last row: digits of c^(2^B), at most about 1/2 unless B is 32.
        B is at least 1.
    """

    def of_bit(place: int) -> Callable[[int], Bounds]:
        def bounds(bits: int) -> Bounds:
            low, high = base(place, bits)
            scale = 1 << bits
            return (low << bits) // (scale + low), -(-(high << bits) // (scale + high))

        return bounds

    n_bits = 1
    while n_bits < _MOST_BITS and base(n_bits, 32)[1] > 1 << 31:
        n_bits += 1
    rows = [digits_of(of_bit(place), n_digits) for place in range(n_bits)]
    rows.append(digits_of(lambda bits: base(n_bits, bits), n_digits))
    return np.stack(rows)


def noise_digits(rate: Fraction, n_digits: int) -> Digits:
    """The chances of :func:`geometric_digits` for c = q = e^-rate.

    Row 0 is also the chance q / (1 + q) that discrete Laplace noise, P(z) ∝ q^|z|, is above 0.
    """
    return geometric_digits(lambda place, bits: exponential_bounds(rate * (1 << place), bits), n_digits)


def draw_with_digits(draw: Callable[[int, Digits], _Drawn]) -> _Drawn:
    """Return ``draw(n_digits, short)``, repeated with twice the digits as long as it raises the flag ``short[0]``."""
    n_digits = _FIRST_DIGITS
    while True:
        short = np.zeros(1, dtype=np.int64)
        drawn = draw(n_digits, short)
        if not short[0]:
            return drawn
        n_digits *= 2
