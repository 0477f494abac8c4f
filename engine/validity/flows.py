"""Errors of counts that users of commute data ask for: flows between areas, the largest home areas, inflow and outflow.

Confidential: real counts take part.

Source: docs/theory/method.md, section 10, which names the size classes.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import IntArray, as_int, as_ptr
from engine.errors import ParameterError

__all__ = [
    "FLOW_SIZES",
    "N_TOP",
    "FlowErrors",
    "PairCounts",
    "TopAreas",
    "flow_errors",
    "pair_counts",
    "top_areas",
]

FLOW_SIZES = ((0, 0), (1, 2), (3, 9), (10, 49), (50, 99), (100, 499), (500, None))
"""Classes of counts, first and last."""

N_TOP = 10
"""Home areas of a workplace that reports list."""

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class PairCounts(NamedTuple):
    """Real and synthetic workers of every pair of areas that has some: int64[P] each, pairs rising."""

    pair: Ints
    real: Ints
    drawn: Ints


class FlowErrors(NamedTuple):
    """Sums over the counts of each class of :data:`FLOW_SIZES`: float64[7] each; parts add up.

    Attributes
    ----------
    n_counts : how many counts
    real, drawn : their sums
    absolute, square : sums of absolute and squared differences
    """

    n_counts: Floats
    real: Floats
    drawn: Floats
    absolute: Floats
    square: Floats


class TopAreas(NamedTuple):
    """How well the largest areas are found, one entry per destination.

    Attributes
    ----------
    n_top : int64[D]
        Areas in the true top: ten, or as many as there are.
    n_found : int64[D]
        How many of these are also in the synthetic top of the same length.
    real : int64[D]
        Real workers in the true top.
    absolute : int64[D]
        Sum over the true top of absolute differences of counts.
    """

    n_top: Ints
    n_found: Ints
    real: Ints
    absolute: Ints


def pair_counts(real_pair: IntArray, drawn_pair: IntArray) -> PairCounts:
    """Count real and synthetic workers by pair of areas.

    Parameters
    ----------
    real_pair, drawn_pair : int[W]
        Number of each worker's pair.
    """
    real, drawn = as_int("real_pair", real_pair), as_int("drawn_pair", drawn_pair)
    pair, at = np.unique(np.concatenate((real, drawn)), return_inverse=True)
    return PairCounts(
        pair=pair,
        real=np.bincount(at[: real.size], minlength=pair.size),
        drawn=np.bincount(at[real.size :], minlength=pair.size),
    )


def flow_errors(real: IntArray, drawn: IntArray, by: IntArray) -> FlowErrors:
    """Add up the errors of counts by class of size.

    Parameters
    ----------
    real, drawn : int[P]
        Real and synthetic workers.
    by : int[P]
        Count that sorts into classes: the real one, or the synthetic one that a user reads.

    Raises
    ------
    ParameterError
        Lengths differ or a count is negative.
    """
    true, read, size = as_int("real", real), as_int("drawn", drawn), as_int("by", by)
    if not true.size == read.size == size.size:
        raise ParameterError(f"{true.size} real, {read.size} drawn, {size.size} sizes: give one each")
    of_class = np.searchsorted([first for first, _ in FLOW_SIZES], size, side="right") - 1
    difference = (read - true).astype(np.float64)
    sums = (np.ones(true.size), true, read, np.abs(difference), difference * difference)
    return FlowErrors(*(np.bincount(of_class, values, len(FLOW_SIZES)).astype(np.float64) for values in sums))


def top_areas(
    destination_ptr: npt.ArrayLike, real: IntArray, drawn: IntArray, n_top: int = N_TOP
) -> TopAreas:
    """Compare the largest areas of each destination; of equal counts the first ranks higher.

    Parameters
    ----------
    destination_ptr : int[D + 1]
        Areas of each destination, in an order of their own such as by identifier.
    real, drawn : int[P]
        Workers of each area.
    n_top : int
        Areas in a list, at least 1.

    Raises
    ------
    ParameterError
        Lengths differ, or a count is negative.
    """
    true, read = as_int("real", real), as_int("drawn", drawn)
    ptr = as_ptr("destination_ptr", np.asarray(destination_ptr), total=true.size)
    if true.size != read.size or n_top < 1:
        raise ParameterError(
            f"{true.size} real, {read.size} drawn, top {n_top}: give one each, and a top of at least 1"
        )
    n_destinations = ptr.size - 1
    of = np.repeat(np.arange(n_destinations), np.diff(ptr))
    listed = np.minimum(np.bincount(of[true > 0], minlength=n_destinations), n_top)
    in_true, in_read = (_rank(of, ptr, counts) < listed[of] for counts in (true, read))
    # An area without synthetic workers is in no list of top areas, however short the list is.
    in_read &= read > 0
    return TopAreas(
        n_top=listed,
        n_found=np.bincount(of[in_true & in_read], minlength=n_destinations),
        real=np.bincount(of[in_true], true[in_true], n_destinations).astype(np.int64),
        absolute=np.bincount(of[in_true], np.abs(read - true)[in_true], n_destinations).astype(np.int64),
    )


def _rank(of: Ints, ptr: Ints, counts: Ints) -> Ints:
    """Place of each area among those of its destination, the largest 0."""
    order = np.lexsort((-counts, of))
    rank = np.empty(counts.size, dtype=np.int64)
    rank[order] = np.arange(counts.size) - ptr[of]
    return rank
