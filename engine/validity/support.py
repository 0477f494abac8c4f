"""The domain of synthesizers: support points by level and distance, and those with positive prior counts.

Everything here is public: nothing depends on workers.

Source: P10, its tables of support points and of points with positive prior counts; docs/theory/method.md, section 10.
"""

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray, FloatArray, as_amounts, as_int, as_ptr
from engine.errors import ParameterError
from engine.support.coarsening import LEVEL_REMAINDER

__all__ = ["DOMAIN_EDGES_MI", "DOMAIN_RANGES", "LEVELS", "count_points", "positive_shares"]

DOMAIN_EDGES_MI = (10.0, 25.0, 100.0, 500.0)

DOMAIN_RANGES = ("low-10", "10-25", "25-100", "100-500", "500-high")
"""Ranges of distance, in miles, in which P10 counts support points; a range has its lower edge."""

LEVELS = ("tract", "PUMA", "SuperPUMA", "remainder")
"""Names of the levels of support points, by their codes in :mod:`engine.support.coarsening`."""


def count_points(
    support_ptr: npt.ArrayLike, level: npt.ArrayLike, distance_mi: npt.ArrayLike
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Support points of every destination tract by level, int64[T, 4], and by range of distance, int64[T, 5].

    Parameters
    ----------
    support_ptr : int[T + 1]
        Support points of the destination tracts.
    level : int[K]
    distance_mi : float[K]
        A remainder's distance is the mean of the points that it pools.

    Raises
    ------
    ParameterError
        Shapes do not agree, or a value is out of range.

    Source: P10 "Support Points in Prior Domain (before pruning)".
    """
    tract, of_point, band = _sort_points(support_ptr, level, distance_mi)
    n_tracts = np.asarray(support_ptr).size - 1
    by_level = np.bincount(tract * len(LEVELS) + of_point, minlength=n_tracts * len(LEVELS))
    by_range = np.bincount(tract * len(DOMAIN_RANGES) + band, minlength=n_tracts * len(DOMAIN_RANGES))
    return by_level.reshape(-1, len(LEVELS)), by_range.reshape(-1, len(DOMAIN_RANGES))


def positive_shares(
    support_ptr: npt.ArrayLike, level: npt.ArrayLike, distance_mi: npt.ArrayLike, is_positive: BoolArray
) -> FloatArray:
    """Share of each destination tract's points with positive prior counts: float64[T, 6], by range and over all.

    A remainder, which pools points without positive counts, is not counted. NaN if a range has no points.

    Parameters
    ----------
    support_ptr, level, distance_mi
        As for :func:`count_points`.
    is_positive : bool[K]
        Whether public data show a commute from there.

    Source: P10 "Fraction of Points in the Prior Domain with Positive Counts", before and after editing.
    """
    tract, of_point, band = _sort_points(support_ptr, level, distance_mi)
    if is_positive.shape != tract.shape:
        raise ParameterError(f"is_positive is {is_positive.shape} for {tract.size} points: give one each")
    n_tracts, n_ranges = np.asarray(support_ptr).size - 1, len(DOMAIN_RANGES)
    counted = of_point != LEVEL_REMAINDER
    places = tract * n_ranges + band
    n_points = np.bincount(places[counted], minlength=n_tracts * n_ranges).reshape(-1, n_ranges)
    n_positive = np.bincount(places[counted & is_positive], minlength=n_tracts * n_ranges).reshape(
        -1, n_ranges
    )
    with np.errstate(invalid="ignore"):
        by_range = n_positive / n_points
        over_all = n_positive.sum(axis=1) / n_points.sum(axis=1)
    return np.column_stack((by_range, over_all))


def _sort_points(
    support_ptr: npt.ArrayLike, level: npt.ArrayLike, distance_mi: npt.ArrayLike
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Destination tract, level and range of every point."""
    distance = as_amounts("distance_mi", distance_mi)
    ptr = as_ptr("support_ptr", np.asarray(support_ptr), total=distance.size)
    of_point = as_int("level", level, high=len(LEVELS) - 1)
    if of_point.size != distance.size:
        raise ParameterError(f"{of_point.size} levels for {distance.size} points: give one each")
    band = np.searchsorted(DOMAIN_EDGES_MI, distance, side="right")
    return np.repeat(np.arange(ptr.size - 1), np.diff(ptr)), of_point, band
