"""Disjoint subsets of the records: seeds, parameters, structure.

Every record is put into one of the subsets by an independent keyed draw, so that adding or removing a record leaves the
others where they are, and only the subset of that record changes.

Source: P17 section 3.5.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import lcm

import numpy as np
import numpy.typing as npt

from engine.errors import OverflowRefusedError, ParameterError
from engine.records.kernels import model as kernels
from engine.streams import SecretKey, new_stream
from engine.threads import run_ranges

__all__ = ["split_records"]

_MOST_UNITS = 1 << 62


def split_records(
    n: int, shares: Sequence[Fraction], *, key: SecretKey, first: int = 0, threads: int = 1
) -> npt.NDArray[np.int8]:
    """Draw the subset of each of records ``first`` to ``first + n - 1``: int8[n], positions in ``shares``.

    Parameters
    ----------
    n : int
    shares : sequence of Fraction
        Chance of each subset, at least 0; together 1.
    key : SecretKey
        Draws come from stage RECORD_SPLIT, addressed by blocks of 1,024 record numbers.
    first : int
        Number of the first record.
    threads : int
        Threads to use; the subsets do not depend on it.

    Raises
    ------
    ParameterError
        The shares are not chances that add up to 1, or numbers are out of range.
    """
    units = lcm(*(share.denominator for share in shares))
    if min(shares, default=Fraction(-1)) < 0 or sum(shares) != 1 or units > _MOST_UNITS or len(shares) > 127:
        raise ParameterError(
            f"shares of the subsets are {', '.join(map(str, shares))}: give fractions from 0 to 1 that add up to 1"
        )
    if n < 0 or not 0 <= first <= (1 << 62) - n:
        raise ParameterError(f"records {first} to {first + n - 1}: allowed are 0 to 2^62")
    sums = np.cumsum(np.array([int(share * units) for share in shares], dtype=np.int64))
    subset = np.empty(n, dtype=np.int8)
    at_once = kernels.RECORDS_AT_ONCE
    n_blocks = (first + n - 1) // at_once - first // at_once + 1 if n else 0
    failed = run_ranges(
        lambda start, stop: kernels.split_range((start, stop), first, sums, key.words, new_stream(), subset),
        np.full(n_blocks, at_once, dtype=np.int64),
        threads,
    )
    if max(failed, default=-1) >= 0:
        raise OverflowRefusedError("a random stream passed its 2^32 blocks: split with another key")
    return subset
