"""Coarsening: from origin tracts to each destination tract's support points.

Near a destination tract its support points are tracts, farther away PUMAs, then SuperPUMAs. Workers' homes play no
part, so coarsening costs no privacy (P08 Theorem 5.1).
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, IntArray, as_int, as_ptr
from engine.errors import ParameterError
from engine.support.gravity import GravityDecay, decay_at
from engine.support.kernels.coarsening import (
    TABLE_STEPS,
    CoarseningSpace,
    DecayTable,
    FarStates,
    LocatedPoints,
    PointValues,
    SuperPumas,
    TractUnits,
    UnitNumbers,
    count_points,
    fill_points,
    find_homes,
    find_points,
)
from engine.support.tracts import EARTH_RADIUS_MI, OriginTracts, chord_of_miles
from engine.threads import run_ranges

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
    tracts : OriginTracts
        All origin tracts.
    destination : int64[T]
        The destination tracts, by index among the origin tracts.
    q50_mi, q90_mi : float
        Miles within which an origin tract is a point of its own, and within which it belongs to the point of its PUMA.
    far_state_miles : float or None
        Miles within which a far state is a point of its own; the others are pooled by group. None: all are their own.
    support_ptr : int64[T + 1]
        The points of destination tract t are ``support_ptr[t]`` up to ``support_ptr[t + 1]``.
    support_level : int8[K]
        0 tract, 1 PUMA, 2 SuperPUMA, 3 remainder (see :mod:`engine.support.editing`).
    support_unit : int32[K]
        Index of the tract, PUMA or SuperPUMA; -1 for the remainder. Group g of pooled far states counts as the
        SuperPUMA g places after the last one (:mod:`engine.support.far_states`). Within a destination tract points rise
        by level and unit.
    support_distance_mi : float64[K]
        Population-weighted mean distance of the point's tracts from the destination tract, miles; the plain
        mean where the population is zero.
    support_population : int64[K]
        Population of the point's tracts.

    Source: P10 "Coarsening Steps"; docs/theory/method.md, section 2.
    """

    tracts: OriginTracts
    destination: npt.NDArray[np.int64]
    q50_mi: float
    q90_mi: float
    support_ptr: npt.NDArray[np.int64]
    support_level: npt.NDArray[np.int8]
    support_unit: npt.NDArray[np.int32]
    support_distance_mi: FloatArray
    support_population: npt.NDArray[np.int64]
    far_state_miles: float | None = None

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

    @property
    def local_points(self) -> npt.NDArray[np.int32]:
        """Local number (0 to k_t - 1) of each support point: int32[K]."""
        local = np.arange(self.support_level.size, dtype=np.int32)
        local -= np.repeat(self.support_ptr[:-1].astype(np.int32), self.n_support)
        return local

    @property
    def square_limits(self) -> tuple[float, float]:
        """Squared chords of q50 and q90, as the kernels compare them."""
        return chord_of_miles(self.q50_mi) ** 2, chord_of_miles(self.q90_mi) ** 2

    @property
    def far_states(self) -> FarStates:
        """Which origin tracts are pooled as far states, as the kernels take it."""
        miles = self.far_state_miles
        limit = math.inf if miles is None else chord_of_miles(miles) ** 2
        return FarStates(self.tracts.far_group, limit, self.tracts.n_superpumas)

    @property
    def located_points(self) -> LocatedPoints:
        """The support points as kernels take them."""
        return LocatedPoints(self.destination, self.support_ptr, self.support_level, self.support_unit)

    def find(self, position: IntArray, origin_tract: IntArray) -> npt.NDArray[np.int32]:
        """Local support point (0 to k_t - 1) that holds each origin tract for each destination tract.

        Parameters
        ----------
        position : int[N]
            Position of the destination tract in the batch.
        origin_tract : int[N]
            Index of the origin tract.

        Returns
        -------
        int32[N]
            The remainder's number if domain editing pooled the tract's point, -1 if it dropped the point.

        Raises
        ------
        ParameterError
            If lengths differ or a number is out of range.
        """
        row = as_int("position", position, high=self.n_destination_tracts - 1, dtype=np.int32)
        origin = as_int("origin_tract", origin_tract, high=self.tracts.n_tracts - 1)
        if row.size != origin.size:
            raise ParameterError(f"{row.size} positions for {origin.size} origin tracts: give one each")
        points = np.empty(row.size, dtype=np.int32)
        find_points(
            row,
            origin,
            _tract_units(self.tracts),
            self.square_limits,
            self.far_states,
            self.located_points,
            points,
        )
        return points

    def find_homes(
        self,
        position: IntArray,
        worker_ptr: npt.NDArray[np.int64],
        home: IntArray,
        tract_of_home: IntArray,
    ) -> tuple[npt.NDArray[np.int32], int]:
        """Local support point of every worker of some synthesizers, as :meth:`find` gives it.

        Fastest when the synthesizers of a destination tract follow each other.

        Parameters
        ----------
        position : int[S]
            Position of each synthesizer's destination tract in the batch.
        worker_ptr : int64[S + 1]
            CSR offsets of its workers.
        home : int[workers]
            Where each worker lives: an index into ``tract_of_home``, such as the row of a block.
        tract_of_home : int[...]
            Index of the origin tract of each such place.

        Returns
        -------
        point : int32[workers]
            As from :meth:`find`.
        n_removed : int
            Workers in points that domain editing removed.

        Raises
        ------
        ParameterError
            If arrays do not agree or a number is out of range.
        """
        row = as_int("position", position, high=self.n_destination_tracts - 1, dtype=np.int32)
        tract_of = np.require(tract_of_home, dtype=np.int32, requirements=["C", "W"])
        at = as_int("home", home, high=tract_of.size - 1, dtype=np.int32)
        ptr = as_ptr("worker_ptr", worker_ptr, total=at.size)
        if ptr.size != row.size + 1:
            raise ParameterError(f"{row.size} positions for {ptr.size - 1} synthesizers: give one each")
        units = _tract_units(self.tracts)
        n_pools = int(self.tracts.far_group.max(initial=-1)) + 1
        numbers = UnitNumbers(
            np.full(self.tracts.n_tracts, -1, dtype=np.int32),
            np.full(self.tracts.puma_members[0].size - 1, -1, dtype=np.int32),
            np.full(self.tracts.n_superpumas + n_pools, -1, dtype=np.int32),
        )
        points = np.empty(at.size, dtype=np.int32)
        n_removed = find_homes(
            row,
            ptr,
            at,
            tract_of,
            units,
            self.square_limits,
            self.far_states,
            self.located_points,
            numbers,
            points,
        )
        if n_removed < 0:
            raise ParameterError(
                f"a home lies in no origin tract: give numbers from 0 to {self.tracts.n_tracts - 1}"
            )
        return points, n_removed


def coarsen(
    tracts: OriginTracts,
    destination: IntArray,
    *,
    q50_mi: float,
    q90_mi: float,
    decay: GravityDecay | None = None,
    threads: int = 1,
) -> tuple[Coarsening, FloatArray]:
    """Make the support points of a batch of destination tracts, and weigh them by the gravity prior.

    An origin tract nearer than ``q50_mi`` is a point of its own. A tract from there to nearer than ``q90_mi`` belongs
    to its PUMA's point, and a farther one to its SuperPUMA's. The points of a destination tract are numbered: tracts
    first, then PUMAs, then SuperPUMAs, each by index, so that the same input gives the same numbers everywhere.

    Parameters
    ----------
    tracts : OriginTracts
    destination : int[T]
        The destination tracts, by index among ``tracts``.
    q50_mi, q90_mi : float
        Percentiles of a public commute-distance distribution, miles; 0 <= q50_mi <= q90_mi.
    decay : GravityDecay, optional
        Distance decay of the gravity prior.
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    coarsening : Coarsening
        An exact partition of the origin tracts for each destination tract.
    gravity_mass : float64[K]
        Population times decay, summed over each point's tracts; zeros without a decay. Beyond 31 miles distance and
        decay are interpolated between chords 0.06 miles apart.

    Raises
    ------
    ParameterError
        If a destination tract is not among ``tracts``, or the percentiles are out of order.

    Notes
    -----
    One pass does both, because computing n_tracts distances for each destination tract takes most of the time.

    Source: P10 "Coarsening Steps"; docs/theory/method.md, sections 2 and 3.
    """
    chosen = as_int("destination", destination, high=tracts.n_tracts - 1)
    if not 0 <= q50_mi <= q90_mi:
        raise ParameterError(f"q50_mi = {q50_mi}, q90_mi = {q90_mi}: they must satisfy 0 <= q50_mi <= q90_mi")
    limits = (chord_of_miles(q50_mi) ** 2, chord_of_miles(q90_mi) ** 2)
    units, superpumas = _tract_units(tracts), _superpumas(tracts)
    n_support = np.zeros(chosen.size, dtype=np.int64)
    if chosen.size:
        met = np.full(int(tracts.puma.max()) + 1, -1, dtype=np.int64)
        count_points(chosen, units, superpumas, limits, met, n_support)
    support_ptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(n_support)))
    n_points = int(support_ptr[-1])
    coarsening = Coarsening(
        tracts=tracts,
        destination=chosen,
        q50_mi=float(q50_mi),
        q90_mi=float(q90_mi),
        support_ptr=support_ptr,
        support_level=np.zeros(n_points, dtype=np.int8),
        support_unit=np.zeros(n_points, dtype=np.int32),
        support_distance_mi=np.zeros(n_points),
        support_population=np.zeros(n_points, dtype=np.int64),
    )
    points = coarsening.located_points
    mass = np.zeros(n_points)
    values = PointValues(coarsening.support_population, coarsening.support_distance_mi, mass)
    table = _decay_table(decay)

    def fill(start: int, stop: int) -> int:
        space = _space(tracts, support_ptr)
        fill_points((start, stop), units, superpumas, limits, table, space, points, values)
        return 0

    run_ranges(fill, np.ones(chosen.size, dtype=np.int64), threads)
    return coarsening, mass if decay is not None else np.zeros(n_points)


def _tract_units(tracts: OriginTracts) -> TractUnits:
    return TractUnits(tracts.place, tracts.puma, tracts.superpuma, tracts.population)


def _superpumas(tracts: OriginTracts) -> SuperPumas:
    ptr, member = tracts.superpuma_members
    people = tracts.population[member]
    running = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(people)))
    return SuperPumas(
        ptr=ptr,
        member=member,
        reach=tracts.superpuma_reach,
        population=np.diff(running[ptr]),
        member_place=np.ascontiguousarray(tracts.place[member].T),
        member_population=people.astype(np.float64),
    )


def _space(tracts: OriginTracts, support_ptr: npt.NDArray[np.int64]) -> CoarseningSpace:
    """Arrays that one thread works in."""
    ptr = tracts.superpuma_members[0]
    return CoarseningSpace(
        point_of_puma=np.empty(int(tracts.puma.max()) + 1, dtype=np.int32),
        point_of_superpuma=np.empty(ptr.size - 1, dtype=np.int32),
        step=np.empty((2, int(np.diff(ptr).max())), dtype=np.int32),
        part=np.empty((2, int(np.diff(ptr).max()))),
        plain=np.empty((int(np.diff(support_ptr).max()), 2)),
    )


@lru_cache(maxsize=2)
def _decay_table(decay: GravityDecay | None) -> DecayTable:
    """Miles and decay at evenly spaced chords from 0 to 2."""
    half = np.minimum(np.arange(TABLE_STEPS + 1) / TABLE_STEPS, 1.0)
    miles = 2.0 * EARTH_RADIUS_MI * np.arcsin(half)
    if decay is None:
        return DecayTable(1.0, 1.0, np.column_stack((miles, np.zeros_like(miles))))
    return DecayTable(decay.scale_mi, decay.shape, np.column_stack((miles, decay_at(miles, decay))))
