"""Coarsening: from origin tracts to each destination tract's support points.

Near a destination tract its support points are tracts, farther away PUMAs, then SuperPUMAs. Who lives where
plays no part, so coarsening costs no privacy (P08 Theorem 5.1).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine._arrays import FloatArray, IntArray, as_amounts, as_int
from engine._kernels.coarsening import count_points, fill_points
from engine.errors import ParameterError

__all__ = ["LEVEL_PUMA", "LEVEL_REMAINDER", "LEVEL_SUPERPUMA", "LEVEL_TRACT", "Coarsening", "coarsen"]

LEVEL_TRACT = 0
LEVEL_PUMA = 1
LEVEL_SUPERPUMA = 2
LEVEL_REMAINDER = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Coarsening:
    """Support points of a batch of destination tracts, in CSR form.

    T destination tracts, K support points over all of them, k_t of them in destination tract t.

    Attributes
    ----------
    support_ptr : int64[T + 1]
        The points of destination tract t are ``support_ptr[t]`` up to ``support_ptr[t + 1]``.
    support_level : int8[K]
        0 tract, 1 PUMA, 2 SuperPUMA, 3 remainder (see :mod:`engine.editing`).
    support_unit : int32[K]
        Index of the tract, PUMA or SuperPUMA; -1 for the remainder.
    support_distance_mi : float64[K]
        Population-weighted mean distance of the point's tracts from the destination tract, miles; the plain
        mean where the population is zero.
    support_population : int64[K]
        Population of the point's tracts.
    point_of_tract : int32[T, n_tracts]
        Local number (0 to k_t - 1) of the support point that holds each origin tract; -1 where domain
        editing has dropped it.

    Source: P10 "Coarsening Steps"; METHOD section 2.
    """

    support_ptr: npt.NDArray[np.int64]
    support_level: npt.NDArray[np.int8]
    support_unit: npt.NDArray[np.int32]
    support_distance_mi: FloatArray
    support_population: npt.NDArray[np.int64]
    point_of_tract: npt.NDArray[np.int32]

    @property
    def n_destination_tracts(self) -> int:
        """T, the number of destination tracts in the batch."""
        return self.support_ptr.size - 1

    @property
    def n_support(self) -> npt.NDArray[np.int64]:
        """k_t, the number of support points of each destination tract: int64[T]."""
        return np.diff(self.support_ptr)

    @property
    def tract_of_point(self) -> npt.NDArray[np.int64]:
        """Destination tract (position in the batch) of each support point: int64[K]."""
        return np.repeat(np.arange(self.n_destination_tracts), self.n_support)


def coarsen(
    distance_mi: npt.ArrayLike,
    puma_of_tract: IntArray,
    superpuma_of_tract: IntArray,
    tract_population: IntArray,
    *,
    q50_mi: float,
    q90_mi: float,
) -> Coarsening:
    """Make the support points of a batch of destination tracts.

    An origin tract nearer than ``q50_mi`` stands for itself, one from there to nearer than ``q90_mi`` goes
    to its PUMA, any farther one to its SuperPUMA. The points of a destination tract are numbered tracts
    first, then PUMAs, then SuperPUMAs, each by index: the same input gives the same numbers everywhere.

    Parameters
    ----------
    distance_mi : float[T, n_tracts]
        Great-circle distance from each destination tract to each origin tract, miles.
    puma_of_tract, superpuma_of_tract : int[n_tracts]
        Index of the PUMA and of the SuperPUMA that holds each origin tract.
    tract_population : int[n_tracts]
        Public population of each origin tract.
    q50_mi, q90_mi : float
        Percentiles of a public commute-distance distribution, miles; 0 <= q50_mi <= q90_mi.

    Returns
    -------
    Coarsening
        An exact partition of the origin tracts for each destination tract.

    Raises
    ------
    ParameterError
        If shapes do not agree, a distance is negative or missing, or the percentiles are out of order.

    Source: P10 "Coarsening Steps"; METHOD section 2.
    """
    distance = as_amounts("distance_mi", distance_mi, ndim=2)
    puma = as_int("puma_of_tract", puma_of_tract, dtype=np.int32)
    superpuma = as_int("superpuma_of_tract", superpuma_of_tract, dtype=np.int32)
    population = as_int("tract_population", tract_population)
    n_tracts = distance.shape[1]
    if not puma.size == superpuma.size == population.size == n_tracts:
        raise ParameterError(
            f"puma_of_tract, superpuma_of_tract and tract_population have {puma.size}, {superpuma.size} and "
            f"{population.size} tracts: all must have the {n_tracts} of distance_mi"
        )
    if not 0 <= q50_mi <= q90_mi:
        raise ParameterError(f"q50_mi = {q50_mi}, q90_mi = {q90_mi}: they must satisfy 0 <= q50_mi <= q90_mi")
    percentiles = (float(q50_mi), float(q90_mi))
    n_support = np.zeros(distance.shape[0], dtype=np.int64)
    if n_tracts:
        count_points(distance, puma, superpuma, percentiles, n_support)
    coarsening = _empty(n_support, n_tracts)
    if n_tracts:
        out = (
            coarsening.support_level,
            coarsening.support_unit,
            coarsening.support_distance_mi,
            coarsening.support_population,
            coarsening.point_of_tract,
        )
        fill_points(coarsening.support_ptr, puma, superpuma, distance, population, percentiles, out)
    return coarsening


def _empty(n_support: npt.NDArray[np.int64], n_tracts: int) -> Coarsening:
    """A coarsening with room for ``n_support`` points in each destination tract."""
    support_ptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(n_support)))
    n_points = int(support_ptr[-1])
    return Coarsening(
        support_ptr=support_ptr,
        support_level=np.zeros(n_points, dtype=np.int8),
        support_unit=np.zeros(n_points, dtype=np.int32),
        support_distance_mi=np.zeros(n_points),
        support_population=np.zeros(n_points, dtype=np.int64),
        point_of_tract=np.full((n_support.size, n_tracts), -1, dtype=np.int32),
    )
