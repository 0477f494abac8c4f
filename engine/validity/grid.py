"""The grid on which commutes are compared: 29 cells of distance and direction, 8 ranges of distance.

Source: P10 "Analytical Validity Measures"; docs/theory/method.md, section 10.
"""

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, IntArray, as_int, as_ptr
from engine.errors import ParameterError
from engine.validity.kernels.validity import count_cells as fill_counts
from engine.validity.kernels.validity import fill_points

__all__ = [
    "BAND_EDGES_MI",
    "CELL_RANGE",
    "N_CELLS",
    "QUADRANTS",
    "RANGES",
    "Cells",
    "cell_counts",
    "grid_cells",
    "point_cells",
    "range_mass",
]

BAND_EDGES_MI = (1.0, 4.0, 10.0, 25.0, 100.0, 500.0)
"""Upper edges of the bands of distance; the last band has no upper edge."""

QUADRANTS = ("NW", "NE", "SW", "SE")

N_CELLS = 1 + (len(BAND_EDGES_MI) + 1) * len(QUADRANTS)
"""29: distance 0, and 7 bands of 4 quadrants each."""

RANGES = ("0", "(0-1)", "[1-4)", "[4-10)", "[10-25)", "[25-100)", "[100-500)", "[500-high]")
"""Commute ranges in miles, as P10 prints them."""

CELL_RANGE = np.append(0, 1 + np.arange(N_CELLS - 1) // len(QUADRANTS))
"""Position in `RANGES` of every cell."""

Cells = npt.NDArray[np.int8]

# Clockwise from north, as positions in QUADRANTS.
_QUADRANT_OF_BEARING = np.array([1, 3, 2, 0])


def grid_cells(distance_mi: npt.ArrayLike, bearing_deg: npt.ArrayLike) -> Cells:
    """Cell of each commute, by distance and by the direction from the workplace to the home.

    Cell 0 is distance 0; cell 1 + 4 × band + quadrant the others, with bands (0, 1), [1, 4), [4, 10), [10, 25),
    [25, 100), [100, 500), [500, ∞) miles and quadrants NW, NE, SW, SE.

    Parameters
    ----------
    distance_mi : array_like
        Great-circle distances, miles.
    bearing_deg : array_like of the same shape
        Degrees clockwise from north, 0 ≤ bearing < 360; read only where the distance is above 0.

    Returns
    -------
    int8, same shape

    Raises
    ------
    ParameterError
        A distance is negative or missing, or a bearing is missing or outside its range.

    Source: P10 "Analytical Validity Measures"; docs/theory/method.md, section 10.
    """
    distance, bearing = np.asarray(distance_mi, np.float64), np.asarray(bearing_deg, np.float64)
    if distance.shape != bearing.shape:
        raise ParameterError(f"distance_mi is {distance.shape}, bearing_deg {bearing.shape}: give one each")
    if not (distance >= 0).all():
        raise ParameterError("distance_mi holds a negative or missing value: give miles of at least 0")
    bearing = np.where(distance > 0, bearing, 0.0)
    if not ((bearing >= 0) & (bearing < 360)).all():
        raise ParameterError("bearing_deg must lie in 0 ≤ bearing < 360 wherever the distance is above 0")
    band = np.searchsorted(BAND_EDGES_MI, distance, side="right")
    quadrant = _QUADRANT_OF_BEARING[(bearing // 90.0).astype(np.int64)]
    return np.where(distance > 0, 1 + 4 * band + quadrant, 0).astype(np.int8)


def point_cells(
    support_ptr: npt.NDArray[np.int64],
    point_of_tract: npt.NDArray[np.int32],
    cell: Cells,
    tract_population: IntArray,
) -> FloatArray:
    """Spread every support point over the cells of its tracts by population: float64[K, 29], rows sum to 1.

    Parameters
    ----------
    support_ptr : int64[T + 1]
        Support points of the destination tracts of the batch.
    point_of_tract : int32[T, n_tracts]
        Local support point of every origin tract; -1 if it has no point.
    cell : int8[T, n_tracts]
        From :func:`grid_cells`.
    tract_population : int[n_tracts]
        Public. A tract without people counts as one person, because a worker may live there.

    Returns
    -------
    float64[K, 29]
        Zero for a point without tracts.

    Raises
    ------
    ParameterError
        Shapes do not agree.

    Source: docs/theory/method.md, sections 8 and 10.
    """
    population = as_int("tract_population", tract_population)
    ptr = as_ptr("support_ptr", support_ptr)
    shape = (ptr.size - 1, population.size)
    if not point_of_tract.shape == cell.shape == shape:
        raise ParameterError(
            f"point_of_tract is {point_of_tract.shape}, cell {cell.shape}: both must be {shape}, destination tracts "
            "by origin tracts"
        )
    shares = np.zeros((int(ptr[-1]), N_CELLS))
    fill_points(
        ptr,
        np.ascontiguousarray(point_of_tract, np.int32),
        np.ascontiguousarray(cell, np.int8),
        population,
        shares,
    )
    return shares


def cell_counts(destination_ptr: npt.ArrayLike, worker_cell: Cells) -> npt.NDArray[np.int64]:
    """Workers of each destination by cell: int64[D, 29].

    Parameters
    ----------
    destination_ptr : int[D + 1]
        Workers of each destination.
    worker_cell : int8[W]
        Cell of each worker, from :func:`grid_cells`; -1 for workers that are not counted.

    Raises
    ------
    ParameterError
        Offsets do not fit, or a cell does not exist.
    """
    cell = as_int("worker_cell", worker_cell, dtype=np.int8, low=-1, high=N_CELLS - 1)
    ptr = as_ptr("destination_ptr", np.asarray(destination_ptr), total=cell.size)
    counts = np.zeros((ptr.size - 1, N_CELLS), dtype=np.int64)
    fill_counts(ptr, cell, counts)
    return counts


def range_mass(shares: npt.ArrayLike, weight: npt.ArrayLike) -> FloatArray:
    """Mean share of each commute range over destinations, weighted by their workers: float64[8].

    Parameters
    ----------
    shares : array_like[D, 29]
        Shares of the cells.
    weight : array_like[D]
        Workers; without any the result is NaN.

    Source: P10, last table; docs/theory/method.md, section 10.
    """
    share, workers = np.asarray(shares, np.float64), np.asarray(weight, np.float64)
    if share.shape != (workers.size, N_CELLS):
        raise ParameterError(
            f"shares is {share.shape}, for {workers.size} weights: give {N_CELLS} cells each"
        )
    total = workers.sum()
    if not total > 0:
        return np.full(len(RANGES), np.nan)
    return np.asarray(np.bincount(CELL_RANGE, workers @ share, len(RANGES)) / total)
