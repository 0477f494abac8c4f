"""Far states pooled: homes outside the imported area are known by state only, and far states are mostly noise.

Every state outside the imported area is a support point of its own for every destination tract, however few commute
from there, and receives as much noise as a tract next door. Pooling the far ones by group (census division) costs no
privacy, since coarsening is public, and spares long commutes that nobody makes. After the draw every worker in a pool
gets one of its states by population over squared distance: public numbers, so this is post-processing.

Source: docs/theory/method.md, section 2.
"""

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray
from engine.errors import OverflowRefusedError, ParameterError, SupportError
from engine.kernels.arrays import Addresses, PointLists
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.streams import SecretKey, new_stream
from engine.support.coarsening import LEVEL_REMAINDER, LEVEL_SUPERPUMA, Coarsening
from engine.support.editing import EditedDomain
from engine.support.kernels.coarsening import mark_pooled
from engine.support.kernels.splitting import SplitPoints, split_range
from engine.support.prior import redraw_weight
from engine.threads import run_ranges

__all__ = ["FarPools", "FarSplit", "pool_far_states", "split_far_states"]

_LEAST_MILES = 1.0
_NO_POINT = np.iinfo(np.int32).min

_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, slots=True, kw_only=True)
class FarPools:
    """Support points before and after far states were pooled.

    Attributes
    ----------
    apart : Coarsening
        Every state a point of its own.
    pooled : Coarsening
        Far states pooled; all other points keep their order, and pools follow them by group.
    new_point : int32[K apart]
        Local number after pooling of each point before it.
    keep_numbers : bool
        Whether every point is known to keep its number, because no pool holds several states.
    """

    apart: Coarsening
    pooled: Coarsening
    new_point: npt.NDArray[np.int32]
    keep_numbers: bool = False

    def carry(self, amounts: FloatArray) -> FloatArray:
        """Amounts of the points apart, such as prior mass, summed over the pooled points: float64[K pooled]."""
        if self.keep_numbers:
            return amounts
        return np.bincount(self._at, amounts, self.pooled.support_level.size).astype(np.float64)

    @property
    def _at(self) -> npt.NDArray[np.int64]:
        """Position among all pooled points of each point apart: int64[K apart]."""
        return np.asarray(self.pooled.support_ptr[self.apart.tract_of_point] + self.new_point)


def pool_far_states(apart: Coarsening, miles: float) -> FarPools:
    """Pool the states outside the imported area that are at least `miles` from a destination tract, by group.

    Parameters
    ----------
    apart : Coarsening
        Before domain editing; its `tracts` say which are such states, and their groups.
    miles : float
        States nearer than this to a destination tract, from center to center, stay points of their own. Above 0.

    Raises
    ------
    ParameterError
        Miles are not above 0.

    Source: docs/theory/method.md, section 2.
    """
    if not miles > 0:
        raise ParameterError(f"far_state_miles is {miles}; it must be a distance in miles above 0")
    pooled_at, groups = _pooled_points(apart, miles)
    if _stay_in_place(apart, pooled_at, groups):
        own_unit = apart.support_unit
        if pooled_at.size:
            own_unit = own_unit.copy()
            own_unit[pooled_at] = apart.tracts.n_superpumas + groups
        alone = replace(apart, support_unit=own_unit, far_state_miles=miles)
        return FarPools(apart=apart, pooled=alone, new_point=apart.local_points, keep_numbers=True)
    is_pooled = np.zeros(apart.support_level.size, dtype=np.bool_)
    is_pooled[pooled_at] = True
    group = np.zeros(is_pooled.size, dtype=np.int64)
    group[pooled_at] = groups
    tract, n_tracts = apart.tract_of_point, apart.n_destination_tracts
    n_groups = int(apart.tracts.far_group.max(initial=-1)) + 1
    pool = tract[is_pooled] * n_groups + group[is_pooled]
    pools, pool_of_point = np.unique(pool, return_inverse=True)
    n_kept = np.bincount(tract[~is_pooled], minlength=n_tracts)
    n_pools = np.bincount(pools // max(n_groups, 1), minlength=n_tracts)
    ptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(n_kept + n_pools)))
    rank = np.arange(pools.size) - np.repeat(np.cumsum(n_pools) - n_pools, n_pools)
    new_point = np.cumsum(~is_pooled) - 1 - (np.cumsum(n_kept) - n_kept)[tract]
    new_point[is_pooled] = (n_kept[pools // max(n_groups, 1)] + rank)[pool_of_point]
    at = ptr[tract] + new_point
    level = np.full(int(ptr[-1]), LEVEL_SUPERPUMA, dtype=np.int8)
    level[at[~is_pooled]] = apart.support_level[~is_pooled]
    unit = np.empty(level.size, dtype=np.int32)
    unit[at] = np.where(is_pooled, apart.tracts.n_superpumas + group, apart.support_unit)
    population, distance_mi = _sums(apart, at, level.size)
    pooled = replace(
        apart,
        support_ptr=_share_array(ptr, apart.support_ptr),
        support_level=_share_array(level, apart.support_level),
        support_unit=_share_array(unit, apart.support_unit),
        support_distance_mi=_share_array(distance_mi, apart.support_distance_mi),
        support_population=_share_array(population, apart.support_population),
        far_state_miles=miles,
    )
    return FarPools(apart=apart, pooled=pooled, new_point=new_point.astype(np.int32))


def _share_array(array: npt.NDArray[_Number], before: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    """Return the earlier array if the new one equals it, so that a nation's arrays take up memory once."""
    return before if np.array_equal(array, before) else array


def _stay_in_place(apart: Coarsening, pooled_at: npt.NDArray[np.int64], group: npt.NDArray[np.int64]) -> bool:
    """Whether pools hold one point each, of the level of pools and last in their tracts, by group as pools are."""
    tract = np.searchsorted(apart.support_ptr, pooled_at, side="right") - 1
    n_pooled = np.bincount(tract, minlength=apart.n_destination_tracts)
    rank = np.arange(tract.size) - (np.cumsum(n_pooled) - n_pooled)[tract]
    is_last = pooled_at == apart.support_ptr[tract + 1] - n_pooled[tract] + rank
    rises = (np.diff(tract) > 0) | (np.diff(group) > 0)
    is_level = apart.support_level[pooled_at] == LEVEL_SUPERPUMA
    return bool(is_last.all() and rises.all() and is_level.all())


def _pooled_points(apart: Coarsening, miles: float) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Positions of the points that are pooled, rising, and their groups."""
    tracts, n_tracts = apart.tracts, apart.n_destination_tracts
    states = np.flatnonzero(tracts.far_group >= 0)
    position = np.repeat(np.arange(n_tracts, dtype=np.int32), states.size)
    origin = np.tile(states, n_tracts)
    marks = np.zeros(position.size, dtype=np.bool_)
    far = replace(apart, far_state_miles=miles).far_states
    mark_pooled(apart.destination, position, origin, tracts.place, far, marks)
    position, origin = position[marks], origin[marks]
    at = apart.support_ptr[position] + apart.find(position, origin)
    order = np.argsort(at, kind="stable")
    return at[order], tracts.far_group[origin[order]].astype(np.int64)


def _sums(
    apart: Coarsening, at: npt.NDArray[np.int64], n_points: int
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Population and mean distance of the pooled points; a point that holds one keeps its own numbers exactly."""
    population = np.zeros(n_points, dtype=np.int64)
    np.add.at(population, at, apart.support_population)
    weight = np.where(population[at] > 0, apart.support_population, 1)
    # Each share is divided before it is multiplied, so that a single point's is exactly 1.
    share = weight / np.bincount(at, weight, n_points)[at]
    return population, np.bincount(at, share * apart.support_distance_mi, n_points).astype(np.float64)


@dataclass(frozen=True, slots=True, kw_only=True)
class FarSplit:
    """Which points apart each point that workers are drawn in holds, and their weights.

    Attributes
    ----------
    apart : Coarsening
        Support points that every worker has after the split.
    support_ptr : int64[T + 1]
        Offsets of the points that workers are drawn in: pooled and edited.
    only : int32[K]
        Local number of the point apart in each point that holds one; -1 - p where point i is pool p of several; the
        least number of the type for the remainder, which holds none.
    member_ptr : int64[P + 1]
        The points apart in pool p are ``member_ptr[p]`` up to ``member_ptr[p + 1]``.
    member : int32[...]
        Local numbers of points apart.
    cumulative : int64[...]
        Running weights within each pool.
    keeps_numbers : bool
        Whether every point is known to be the point apart of the same number, so that there is nothing to split.
    """

    apart: Coarsening
    support_ptr: npt.NDArray[np.int64]
    only: npt.NDArray[np.int32]
    member_ptr: npt.NDArray[np.int64]
    member: npt.NDArray[np.int32]
    cumulative: npt.NDArray[np.int64]
    keeps_numbers: bool = False

    @property
    def chance(self) -> FloatArray:
        """Chance that a worker drawn in its pool gets each point apart, 1 for a point alone: float64[K apart]."""
        chance = np.ones(self.apart.support_level.size)
        pool_at = np.flatnonzero((self.only < 0) & (self.only != _NO_POINT))
        if pool_at.size:
            tract = np.searchsorted(self.support_ptr, pool_at, side="right") - 1
            pool = np.repeat(np.arange(pool_at.size), np.diff(self.member_ptr))
            first = self.member_ptr[:-1][pool]
            before = np.where(np.arange(pool.size) == first, 0, np.roll(self.cumulative, 1))
            weight = self.cumulative - before
            at = self.apart.support_ptr[tract[pool]] + self.member
            chance[at] = weight / self.cumulative[self.member_ptr[1:] - 1][pool]
        return chance

    @classmethod
    def of(cls, pools: FarPools, edited: EditedDomain) -> "FarSplit":
        """Collect the members of every edited point, weighted by population over squared distance.

        Weights are shares of a pool in units of 2^-40, rounded up; without any population all count alike.
        """
        apart, after = pools.apart, edited.coarsening
        if pools.keep_numbers and not edited.n_eliminated.any():
            none = np.zeros(0, dtype=np.int64)
            return cls(
                apart=apart,
                support_ptr=after.support_ptr,
                only=pools.new_point,
                member_ptr=np.zeros(1, dtype=np.int64),
                member=none.astype(np.int32),
                cumulative=none,
                keeps_numbers=True,
            )
        new = edited.new_point[pools._at]
        at = after.support_ptr[apart.tract_of_point] + new
        kept = np.flatnonzero((new >= 0) & (after.support_level[np.maximum(at, 0)] != LEVEL_REMAINDER))
        order = kept[np.argsort(at[kept], kind="stable")]
        first = np.arange(apart.support_level.size) - np.repeat(apart.support_ptr[:-1], apart.n_support)
        n_members = np.bincount(at[order], minlength=after.support_level.size)
        is_pool = n_members > 1
        only = np.full(n_members.size, _NO_POINT, dtype=np.int32)
        only[at[order]] = first[order]
        only[is_pool] = -1 - np.arange(np.count_nonzero(is_pool), dtype=np.int32)
        members = order[is_pool[at[order]]]
        pool = -1 - only[at[members]].astype(np.int64)
        ptr = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(n_members[is_pool])))
        return cls(
            apart=apart,
            support_ptr=after.support_ptr,
            only=only,
            member_ptr=ptr,
            member=first[members].astype(np.int32),
            cumulative=_running_weights(apart, members, pool, ptr),
        )


def _running_weights(
    apart: Coarsening,
    members: npt.NDArray[np.int64],
    pool: npt.NDArray[np.int64],
    ptr: npt.NDArray[np.int64],
) -> npt.NDArray[np.int64]:
    """Running weights of the members of each pool, by population over squared distance."""
    n_pools = ptr.size - 1
    people = apart.support_population[members].astype(np.float64)
    people[np.bincount(pool, people, n_pools)[pool] == 0] = 1.0
    pull = people / np.maximum(apart.support_distance_mi[members], _LEAST_MILES) ** 2
    weight = redraw_weight(pull / np.bincount(pool, pull, n_pools)[pool])
    before = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(weight)))
    return np.asarray(before[1:] - before[ptr[pool]])


def split_far_states(
    key: SecretKey,
    synthesizers: Synthesizers,
    drawn: SyntheticPoints,
    split: FarSplit,
    *,
    threads: int = 1,
) -> SyntheticPoints:
    """Give every synthetic worker in a pool of far states one of its states; then all points are those apart.

    Parameters
    ----------
    key : SecretKey
        Draws come from stage FAR, addressed by (destination, segment): one bounded integer for each worker in a point
        that holds several states.
    synthesizers : Synthesizers
    drawn : SyntheticPoints
        After :func:`engine.mechanisms.dirichlet_multinomial.redraw_remainder`.
    split : FarSplit
    threads : int
        Threads to use; the result does not depend on it.

    Returns
    -------
    SyntheticPoints
        Points of ``split.apart``.

    Raises
    ------
    ParameterError
        If arrays do not agree.
    SupportError
        If a worker is in a remainder point.

    Source: docs/theory/method.md, section 2.
    """
    if drawn.synthetic_ptr.size != synthesizers.tract.size + 1:
        raise ParameterError("drawn and synthesizers differ in number: give what was drawn for them")
    if split.keeps_numbers:
        return drawn
    tract = np.repeat(synthesizers.tract, np.diff(drawn.synthetic_ptr))
    at = split.support_ptr[tract] + drawn.synthetic_point
    if np.any(at >= split.support_ptr[tract + 1]) or np.any(split.only[at] == _NO_POINT):
        raise SupportError(
            "a worker is in a remainder point or outside the support: call redraw_remainder before split_far_states"
        )
    points = PointLists(drawn.synthetic_ptr, drawn.synthetic_point.copy())
    addresses = Addresses(synthesizers.tract, synthesizers.destination, synthesizers.segment)
    members = SplitPoints(split.only, split.member_ptr, split.member, split.cumulative)

    def draw(start: int, stop: int) -> int:
        bounds, stream = (start, stop), new_stream()
        return split_range(bounds, split.support_ptr, addresses, members, key.words, stream, points)

    failed = max(run_ranges(draw, np.diff(points.ptr), threads), default=-1)
    if failed >= 0:
        raise OverflowRefusedError(
            f"the random stream of destination {synthesizers.destination[failed]}, segment "
            f"{synthesizers.segment[failed]} passed its 2^32 blocks: split its workers into more segments"
        )
    return SyntheticPoints(synthetic_ptr=points.ptr, synthetic_point=points.point)
