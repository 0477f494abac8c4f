"""Expectations for synthetic workers in closed form: shares of the grid's cells, their variance, and means.

Nothing is drawn. The posterior expectation is that of the pruned mechanism: a point with workers is kept for certain,
and any other point counts with its retention times its prior weight. That is exact without pruning. With pruning, the
kept prior mass is replaced by its mean, from which it varies little compared with the workers.

Likelihoods are confidential, and so is everything computed from them.

Source: P10 "Analytical Validity Measures"; docs/theory/method.md, section 10.
"""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray, FloatArray, as_amounts, as_int, as_ptr
from engine.errors import ParameterError
from engine.support.support_table import SupportTable
from engine.validity.grid import N_CELLS, Cells
from engine.validity.kernels.validity import (
    CellMoments,
    ClassMass,
    ClassWeights,
    DestinationLists,
    add_destinations,
    add_means,
    fill_classes,
)

__all__ = ["CellShares", "MeasuredWorkers", "PriorClasses", "cell_shares", "expected_means", "prior_cells"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorClasses:
    """Prior weights of every class of synthesizers: those of one destination tract and one n.

    Attributes
    ----------
    prior : SupportTable
        Weights and retentions of the support points.
    tract : int64[n_classes]
        Position of the destination tract.
    min_weight : int64[n_classes]
        Certified least weight in units of 2^-20; 0 for a mechanism without prior weights.
    prunes : bool[n_classes], optional
        False where a class keeps all its points; by default every one prunes.

    Raises
    ------
    ParameterError
        Shapes do not agree or an index is out of range.
    """

    prior: SupportTable
    tract: npt.NDArray[np.int64]
    min_weight: npt.NDArray[np.int64]
    prunes: BoolArray | None = None

    def __post_init__(self) -> None:
        tract = as_int("tract", self.tract, high=self.prior.support_ptr.size - 2)
        least = as_int("min_weight", self.min_weight)
        prunes = np.ones(tract.size, dtype=np.bool_) if self.prunes is None else self.prunes
        if not tract.size == least.size == prunes.size or prunes.dtype != np.bool_:
            raise ParameterError(
                f"{tract.size} tracts, {least.size} least weights, {prunes.size} {prunes.dtype} of classes: give one "
                "each, and whether a class prunes as bool"
            )
        for name, array in (
            ("tract", tract),
            ("min_weight", least),
            ("prunes", np.ascontiguousarray(prunes)),
        ):
            object.__setattr__(self, name, array)

    @property
    def n_points(self) -> int:
        """K, support points of all tracts."""
        return self.prior.base_weight.size

    @property
    def weights(self) -> ClassWeights:
        """Weights as kernels take them."""
        assert self.prunes is not None
        return ClassWeights(self.prior.base_weight, self.prior.retention, self.min_weight, self.prunes)

    def sums(self, values: FloatArray, *, pruned: bool = True) -> ClassMass:
        """Prior mass [n_classes] in workers, and sums of mass times value and value squared [n_classes, n_values].

        The mass is what pruning is expected to keep, or all of it if not ``pruned``; workers play no part.
        """
        shape = (self.tract.size, values.shape[1])
        sums = ClassMass(np.empty(self.tract.size), np.empty(shape), np.empty(shape))
        weights = self.weights
        if not pruned:
            weights = weights._replace(prunes=np.zeros_like(weights.prunes))
        fill_classes(self.prior.support_ptr, self.tract, values, weights, sums)
        return sums


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredWorkers:
    """The confidential workers of some destinations, by synthesizer.

    Attributes
    ----------
    destination_ptr : int64[D + 1]
        Synthesizers of each destination: one per segment with workers.
    class_of : int64[S]
        Class of each synthesizer.
    worker_ptr : int64[S + 1]
        Workers of each synthesizer.
    worker_point : int64[W]
        Support point of each worker, numbered over all tracts (0 … K - 1); -1 if editing dropped the point and the
        worker with it.
    published_count : int64[S], optional
        m, workers to draw; all the synthesizer's workers by default.

    Raises
    ------
    ParameterError
        Shapes do not agree or an index is out of range.
    """

    destination_ptr: npt.NDArray[np.int64]
    class_of: npt.NDArray[np.int64]
    worker_ptr: npt.NDArray[np.int64]
    worker_point: npt.NDArray[np.int64]
    published_count: npt.NDArray[np.int64] | None = None
    lists: DestinationLists = field(init=False, repr=False)

    def __post_init__(self) -> None:
        point = as_int("worker_point", self.worker_point, low=-1)
        workers = as_ptr("worker_ptr", np.asarray(self.worker_ptr), total=point.size)
        synthesizers = as_ptr("destination_ptr", np.asarray(self.destination_ptr), total=workers.size - 1)
        classes = as_int("class_of", self.class_of)
        drawn = as_int(
            "published_count", np.diff(workers) if self.published_count is None else self.published_count
        )
        if not classes.size == drawn.size == workers.size - 1:
            raise ParameterError(
                f"{classes.size} classes and {drawn.size} published counts of {workers.size - 1} synthesizers: give "
                "one each"
            )
        for name, array in (
            ("destination_ptr", synthesizers),
            ("class_of", classes),
            ("worker_ptr", workers),
            ("worker_point", point),
            ("published_count", drawn),
            ("lists", DestinationLists(synthesizers, workers, classes, drawn)),
        ):
            object.__setattr__(self, name, array)

    def fit(self, classes: PriorClasses) -> None:
        """Raise ParameterError unless every point and class is one of `classes`."""
        as_int("worker_point", self.worker_point, low=-1, high=classes.n_points - 1)
        as_int("class_of", self.class_of, high=classes.tract.size - 1)


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


def cell_shares(
    classes: PriorClasses, workers: MeasuredWorkers, shares: FloatArray, worker_cell: Cells
) -> CellShares:
    """Likelihood, posterior expectation and variance of each destination's cells.

    A destination has one synthesizer per segment with workers; their counts add up. Workers whose point editing dropped
    are in neither, as in P10.

    Parameters
    ----------
    classes : PriorClasses
    workers : MeasuredWorkers
    shares : float64[K, 29]
        From :func:`engine.validity.point_cells`.
    worker_cell : int8[W]
        Cell of each worker's own home tract.

    Returns
    -------
    CellShares

    Raises
    ------
    ParameterError
        Shapes do not agree or an index is out of range.

    Source: docs/theory/method.md, section 10.
    """
    workers.fit(classes)
    if shares.shape != (classes.n_points, N_CELLS):
        raise ParameterError(f"shares is {shares.shape}: it must be {(classes.n_points, N_CELLS)}")
    of_worker = as_int("worker_cell", worker_cell, dtype=np.int8, high=N_CELLS - 1)
    if of_worker.size != workers.worker_point.size:
        raise ParameterError(
            f"{workers.worker_point.size} points and {of_worker.size} cells of workers: give one each"
        )
    out = CellMoments(*np.empty((3, workers.destination_ptr.size - 1, N_CELLS)))
    sums = classes.sums(shares)
    add_destinations(workers.lists, workers.worker_point, of_worker, shares, classes.weights, sums, out)
    return CellShares(likelihood=out.likelihood, posterior=out.posterior, variance=out.variance)


def expected_means(classes: PriorClasses, workers: MeasuredWorkers, values: npt.ArrayLike) -> FloatArray:
    """Expected mean, over a destination's synthetic workers, of a value of their support points: float64[D, V].

    The value may be the distance of the point, or the share of its people living nearby.

    Parameters
    ----------
    classes : PriorClasses
    workers : MeasuredWorkers
    values : float[K, V]
        At least 0.

    Raises
    ------
    ParameterError
        Shapes do not agree, an index is out of range, or a value is negative or missing.
    """
    workers.fit(classes)
    of_point = as_amounts("values", values, ndim=2)
    if of_point.shape[0] != classes.n_points:
        raise ParameterError(
            f"values of {of_point.shape[0]} points for {classes.n_points}: give one row each"
        )
    means = np.empty((workers.destination_ptr.size - 1, of_point.shape[1]))
    sums = classes.sums(of_point)
    add_means(workers.lists, workers.worker_point, of_point, classes.weights, sums, means)
    return means


def prior_cells(classes: PriorClasses, shares: FloatArray, *, pruned: bool) -> FloatArray:
    """Shares of the cells in the prior sample alone: float64[n_classes, 29]; zero where there is no mass.

    Parameters
    ----------
    classes : PriorClasses
    shares : float64[K, 29]
        From :func:`engine.validity.point_cells`.
    pruned : bool
        Whether to count the mass that pruning is expected to keep in points without workers; otherwise all of alpha,
        as P10 prints it.
    """
    mass, cells, _ = classes.sums(shares, pruned=pruned)
    return np.asarray(cells / np.where(mass > 0, mass, 1.0)[:, None])
