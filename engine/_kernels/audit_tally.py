"""Sum up beliefs of an attacker exactly, whatever the order of the workers.

A belief in single precision is a whole number, its significand, times a power of 2. Significands are summed by that
power, so no sum is rounded.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine._jit import jit
from engine._kernels.arrays import Bools, Ints

__all__ = ["SIGNIFICAND_BITS", "Tallies", "tally_beliefs"]

SIGNIFICAND_BITS = 23
"""Of single precision, the leading one apart."""


class Tallies(NamedTuple):
    """Workers and right predictions by class and bin [C, B], and significands by these and exponent [C, B, 128]."""

    workers: Ints
    right: Ints
    significands: Ints


@jit
def tally_beliefs(
    belief: npt.NDArray[np.float32],
    pattern: npt.NDArray[np.uint32],
    is_right: Bools,
    size_class: npt.NDArray[np.int8],
    tallies: Tallies,
) -> None:
    """Add workers with their beliefs [N] in equal bins from 0 to 1; ``pattern`` has the bits of the beliefs."""
    n_bins = tallies.workers.shape[1]
    for worker in range(belief.size):
        one = size_class[worker]
        place = min(int(np.float64(belief[worker]) * n_bins), n_bins - 1)
        bits = np.int64(pattern[worker])
        exponent = bits >> SIGNIFICAND_BITS
        significand = bits & ((1 << SIGNIFICAND_BITS) - 1)
        if exponent > 0:
            significand += 1 << SIGNIFICAND_BITS
        tallies.workers[one, place] += 1
        tallies.right[one, place] += int(is_right[worker])
        tallies.significands[one, place, exponent] += significand
