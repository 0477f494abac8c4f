"""How far synthetic commutes are expected to be from the real ones: a grid of 29 cells, KL divergence and IMSE.

Closed form, nothing is drawn. The posterior expectation is that of the pruned mechanism: a point with workers is kept
for certain, any other counts with its retention times its prior weight. That is exact where nothing is pruned; where
something is, the kept prior mass stands by its mean, which it varies about by little beside the workers.

Likelihoods are confidential: what is computed from them is for the analyst alone.

Source: P10 "Analytical Validity Measures"; METHOD section 9.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine._arrays import BoolArray, FloatArray, IntArray, as_amounts, as_int, as_ptr
from engine._kernels.validity import add_destinations, fill_classes, fill_points
from engine.accountant import PriorTable
from engine.errors import ParameterError

__all__ = [
    "BAND_EDGES_MI",
    "N_CELLS",
    "SMALL_WORKPLACE",
    "CellShares",
    "cell_shares",
    "grid_cells",
    "imse",
    "kl_divergence",
    "point_cells",
    "weighted_mean",
]

BAND_EDGES_MI = (1.0, 4.0, 10.0, 25.0, 100.0, 500.0)
"""Upper edges of the bands of distance; the last band has none."""

QUADRANTS = ("NW", "NE", "SW", "SE")

N_CELLS = 1 + (len(BAND_EDGES_MI) + 1) * len(QUADRANTS)
"""29: distance 0, and 7 bands of 4 quadrants each."""

SMALL_WORKPLACE = 9
"""A small destination has 1 to this many workers."""

Cells = npt.NDArray[np.int8]

# Clockwise from north, as positions in QUADRANTS.
_QUADRANT_OF_BEARING = np.array([1, 3, 2, 0])


@dataclass(frozen=True, slots=True, kw_only=True)
class CellShares:
    """Shares of the grid's cells, one row per destination.

    Attributes
    ----------
    likelihood : float64[D, 29]
        n_g / n, the confidential shares; rows of destinations without workers are zero.
    posterior : float64[D, 29]
        Expected m_g / m.
    variance : float64[D, 29]
        Variance of m_g / m: Dirichlet-multinomial, with each worker's place within its support point.
    """

    likelihood: FloatArray
    posterior: FloatArray
    variance: FloatArray


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

    Source: P10 "Analytical Validity Measures"; METHOD section 9.
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
        Local support point of every origin tract; -1 where there is none.
    cell : int8[T, n_tracts]
        From :func:`grid_cells`.
    tract_population : int[n_tracts]
        Public. A tract without people counts as one person, for a worker may live there.

    Returns
    -------
    float64[K, 29]
        Zero for a point that no tract belongs to.

    Raises
    ------
    ParameterError
        Shapes do not agree.

    Source: METHOD sections 8 and 9.
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


def cell_shares(
    prior: PriorTable,
    shares: FloatArray,
    class_tract: npt.NDArray[np.int64],
    min_weight: npt.NDArray[np.int64],
    *,
    prunes: npt.NDArray[np.bool_] | None = None,
    class_of: IntArray,
    destination_ptr: npt.ArrayLike,
    worker_ptr: npt.ArrayLike,
    worker_point: IntArray,
    worker_cell: Cells,
) -> CellShares:
    """Likelihood, posterior expectation and variance of each destination's cells; m = n.

    A destination has one synthesizer per segment with workers; their counts add up.

    Parameters
    ----------
    prior : PriorTable
        Weights and retentions of the support points.
    shares : float64[K, 29]
        From :func:`point_cells`.
    class_tract, min_weight : int64[n_classes]
        Tract and certified least weight, in units of 2^-20, of each class of synthesizers.
    prunes : bool[n_classes], optional
        False where a class keeps all its points; by default every one prunes.
    class_of : int[S]
        Class of each synthesizer.
    destination_ptr : int[D + 1]
        Synthesizers of each destination.
    worker_ptr : int[S + 1]
        Workers of each synthesizer.
    worker_point : int[W]
        Support point of each worker, counted over all tracts (0 … K - 1).
    worker_cell : int8[W]
        Cell of each worker's own home tract.

    Returns
    -------
    CellShares

    Raises
    ------
    ParameterError
        Shapes do not agree or an index is out of range.

    Source: METHOD section 9.
    """
    n_points, n_classes = prior.base_weight.size, class_tract.size
    if shares.shape != (n_points, N_CELLS) or min_weight.shape != class_tract.shape:
        raise ParameterError(
            f"shares is {shares.shape}, min_weight {min_weight.shape}: they must be {(n_points, N_CELLS)} and "
            f"{class_tract.shape}"
        )
    point = as_int("worker_point", worker_point, high=n_points - 1)
    of_worker = as_int("worker_cell", worker_cell, dtype=np.int8, high=N_CELLS - 1)
    workers = as_ptr("worker_ptr", np.asarray(worker_ptr), total=point.size)
    synthesizers = as_ptr("destination_ptr", np.asarray(destination_ptr), total=workers.size - 1)
    classes = as_int("class_of", class_of, high=n_classes - 1)
    tract = as_int("class_tract", class_tract, high=prior.support_ptr.size - 2)
    if of_worker.size != point.size or classes.size != workers.size - 1:
        raise ParameterError(
            f"{point.size} points and {of_worker.size} cells of workers, {classes.size} classes of "
            f"{workers.size - 1} synthesizers: give one each"
        )
    mass = np.empty(n_classes)
    cell_mass, cell_square = np.empty((n_classes, N_CELLS)), np.empty((n_classes, N_CELLS))
    if prunes is None:
        prunes = np.ones(n_classes, dtype=np.bool_)
    table = (prior.base_weight, prior.retention, min_weight, prunes)
    fill_classes(prior.support_ptr, tract, shares, *table, mass, cell_mass, cell_square)
    out = tuple(np.empty((synthesizers.size - 1, N_CELLS)) for _ in range(3))
    add_destinations(
        (synthesizers, workers),
        classes,
        (point, of_worker),
        shares,
        table,
        (mass, cell_mass, cell_square),
        *out,
    )
    return CellShares(likelihood=out[0], posterior=out[1], variance=out[2])


def kl_divergence(likelihood: npt.ArrayLike, posterior: npt.ArrayLike) -> FloatArray:
    """Kullback–Leibler divergence of each row, sum of L ln(L/P), in nats: float64[D].

    Cells with L = 0 add nothing; infinite where P = 0 < L.

    Source: P10 "Analytical Validity Measures"; METHOD section 9.
    """
    real = as_amounts("likelihood", likelihood, ndim=2)
    expected = as_amounts("posterior", posterior, ndim=2)
    if real.shape != expected.shape:
        raise ParameterError(f"likelihood is {real.shape}, posterior {expected.shape}: give the same cells")
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(real > 0, real * np.log(real / expected), 0.0)
    return np.asarray(terms.sum(axis=1), dtype=np.float64)


def imse(cells: CellShares) -> FloatArray:
    """Integrated mean squared error of each destination: squared bias plus variance, over cells: float64[D].

    Source: P10 "Analytical Validity Measures"; METHOD section 9.
    """
    bias = cells.posterior - cells.likelihood
    return np.asarray((bias * bias + cells.variance).sum(axis=1), dtype=np.float64)


def weighted_mean(values: npt.ArrayLike, weight: npt.ArrayLike, where: BoolArray | None = None) -> float:
    """Mean over destinations weighted by their workers; NaN where nothing is chosen.

    Parameters
    ----------
    values, weight : array_like[D]
        A measure, and the workers.
    where : bool[D], optional
        Destinations to count; all by default.
    """
    value, workers = np.asarray(values, np.float64), np.asarray(weight, np.float64)
    if where is not None:
        value, workers = value[where], workers[where]
    total = workers.sum()
    return float((value * workers).sum() / total) if total > 0 else float("nan")
