"""Entropies of attributes with noise, and what one record changes in them.

Entropies are in bits. If one of n records is replaced, only two cells change, and the entropy changes by at most
(n log2 n - (n - 1) log2(n - 1)) / n: the worst case is a cell with all records that gives one to an empty cell. That is
half of the paper's bound (Lemma 1). Adding or removing a record changes it by less. Both are enumerated in the tests.

An entropy is rounded to a grid and gets discrete Laplace noise, so that no float carries the privacy guarantee.

Source: P17 section 3.3, equations 5, 8 and 9.
"""

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.kernels.chacha import STREAM_FIELDS, open_stream
from engine.kernels.noise import fill_noise
from engine.mechanisms.chances import draw_with_digits, noise_digits
from engine.streams import SecretKey, Stage

__all__ = ["entropy", "entropy_sensitivity", "noisy_entropies", "paper_sensitivity", "symmetric_uncertainty"]

Ints = npt.NDArray[np.int64]

_SENSITIVITY_UNITS = 1000
"""Units of the grid in one sensitivity: rounding adds 0.2 % to the noise."""


def entropy(counts: Ints) -> float:
    """Entropy of counts in bits; 0 without any."""
    positive = counts[counts > 0].astype(np.float64)
    total = positive.sum()
    if total == 0:
        return 0.0
    return float(np.log2(total) - (positive @ np.log2(positive)) / total)


def entropy_sensitivity(n_records: int) -> float:
    """By how much replacing, adding, or removing one of at least n records changes an entropy at most, in bits.

    Raises
    ------
    ParameterError
        n is less than 2.
    """
    _check_records(n_records)
    # log2 n - (1 - 1/n) log2(n - 1), without the difference of two large numbers.
    return math.log2(n_records) / n_records - (1 - 1 / n_records) * math.log1p(-1 / n_records) / math.log(2)


def paper_sensitivity(n_records: int) -> float:
    """The bound of P17, Lemma 1, in bits: (2 + 1 / ln 2 + 2 log2 n) / n."""
    _check_records(n_records)
    return (2 + 1 / math.log(2) + 2 * math.log2(n_records)) / n_records


def _check_records(n_records: int) -> None:
    if n_records < 2:
        raise ParameterError(f"n = {n_records} records: entropies need at least 2")


def symmetric_uncertainty(first: float, second: float, joint: float) -> float:
    """Correlation of two attributes from their entropies and their joint entropy, cut to 0 to 1; 0 if both are 0.

    Source: P17 equation 5.
    """
    total = first + second
    return 0.0 if total <= 0 else min(max(2 - 2 * joint / total, 0.0), 1.0)


def noisy_entropies(
    entropies: list[float], n_records: int, epsilon: Fraction, *, key: SecretKey
) -> list[float]:
    """Entropies with discrete Laplace noise, each with this epsilon when a record is replaced, added, or removed.

    Parameters
    ----------
    entropies : list of float
        Confidential entropies in bits.
    n_records : int
        A lower bound of the number of records that may be known.
    epsilon : Fraction
        Epsilon of each.
    key : SecretKey
        Noise comes from stage RECORD_ENTROPY, addressed by the position in the list.

    Raises
    ------
    ParameterError
        Fewer than 2 records, or epsilon is not above 0.
    """
    grid = entropy_sensitivity(n_records) / _SENSITIVITY_UNITS
    # Rounding moves two entropies apart by at most one unit, and floats by far less than another.
    rate = epsilon / (_SENSITIVITY_UNITS + 2)
    noise = entropy_noise(key, 0, rate, len(entropies))
    return [
        (round(entropy / grid) + int(extra)) * grid for entropy, extra in zip(entropies, noise, strict=True)
    ]


def entropy_noise(key: SecretKey, first: int, rate: Fraction, n: int) -> Ints:
    """Discrete Laplace noise, P(z) ∝ exp(-rate |z|), from streams ``first`` on of stage RECORD_ENTROPY: int64[n]."""
    if rate < Fraction(1, 1 << 30):
        raise ParameterError(f"noise with rate {float(rate):g}: give a larger epsilon")

    def draw(n_digits: int, short: Ints) -> Ints:
        values, digits = np.empty(n, dtype=np.int64), noise_digits(rate, n_digits)
        stream = np.zeros(STREAM_FIELDS, dtype=np.int64)
        for at in range(n):
            open_stream(int(Stage.RECORD_ENTROPY), first + at, 0, stream)
            fill_noise(key.words, stream, digits, short, values[at : at + 1])
        return values

    return draw_with_digits(draw)
