"""The cascade: the exponential mechanism over clusters of support points, chosen from what larger units released.

At a small epsilon, a small workplace cannot say which of hundreds of support points its workers live in, but it can say
which of some dozen groups of them. Units are drawn in tiers, the largest first. Before each tier, the support points of
a workplace tract are cut into clusters by the homes that the tiers before it show, and each unit's table over its
clusters is drawn with the whole epsilon. In the end every worker is dealt a point of the drawn cluster.

What is released is the drawn clusters, the *labels*. Each worker is in one unit, and clusters depend on public facts
and on labels of other units alone, so the release is as private as one unit. Dealing reads labels and public numbers,
with a public seed, so that anyone can repeat it.

Source: docs/theory/method.md, section 7i.
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import isqrt
from typing import NamedTuple

import numpy as np

from engine.errors import OverflowRefusedError, ParameterError
from engine.kernels.arrays import Floats, Indices, Ints, PointLists
from engine.mechanisms.cleaning import CLEANED_RANGES_MI
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.mechanisms.expected_noise import expect_freed
from engine.mechanisms.exponential import draw_units, unit_thetas
from engine.mechanisms.kernels.cascade import (
    SHARE_UNITS,
    Classes,
    CutSpace,
    DealSpace,
    EstimateSpace,
    TractPoints,
    TractUnits,
    cut_range,
    deal_range,
    estimate_range,
)
from engine.mechanisms.kernels.cleaning import FREED_BITS
from engine.mechanisms.thetas import exponential_epsilon, least_growth
from engine.parameters import Number
from engine.streams import PublicSeed, SecretKey, new_stream
from engine.support.coarsening import LEVEL_PUMA, LEVEL_TRACT, Coarsening
from engine.support.support_table import SupportTable
from engine.support.tracts import OriginTracts
from engine.threads import run_ranges

__all__ = [
    "Cascade",
    "CascadePoints",
    "ClassSums",
    "cascade_points",
    "class_factors",
    "count_clusters",
    "count_kinds",
    "deal_labels",
    "draw_labels",
    "read_labels",
    "sum_classes",
]

_TIERS = (300, 100, 30, 10, 4, 1)
"""Least workers of the units of each tier."""

_FULL = 1600
"""Units of n workers are drawn over single points where n e^epsilon reaches this."""

_FULL_ABOVE = Fraction(3, 2)
"""Above this epsilon, units of the first tier always are."""

_PLACE_UNITS = 1 << 16
_SUM_UNITS = 1 << 20
_LEAST_NOISE = 1.0 / (1 << 20)
_MOST_WORKERS = 1 << 25  # in a tract, so that no product passes 2^62


class CascadePoints(NamedTuple):
    """Support points of a batch of destination tracts, as the cascade reads them; public.

    Attributes
    ----------
    table : TractPoints
    kind : int64[K]
        What the homes of all tracts correct together: the distance band of a point near enough, or its far unit.
    """

    table: TractPoints
    kind: Ints


class Cascade(NamedTuple):
    """The labels of a batch of destination tracts, and what follows from them.

    Attributes
    ----------
    labels : PointLists
        Drawn cluster of every worker, by unit, rising.
    classes : Classes
        The clusters of all tiers.
    units : TractUnits
    share : int64[K]
        Estimated share of each support point, in 2^-36.
    """

    labels: PointLists
    classes: Classes
    units: TractUnits
    share: Ints


class ClassSums(NamedTuple):
    """Workers at the points of each kind over all tracts, in 2^-20: as estimated, and as the prior has them."""

    estimated: Ints
    prior: Ints


def count_clusters(epsilon: Number, n_points: Ints, n_workers: Ints) -> Ints:
    """Number of clusters of units of n workers over k support points: int64[U], from 1 to k.

    All k points where n e^epsilon is 1,600 or more, or n is 300 or more and epsilon above 1.5; otherwise (8 + e^epsilon
    / 3) max(1, sqrt(n / 5)), rounded down, at most k. Public; in whole numbers.
    """
    exact = exponential_epsilon(epsilon)
    growth = least_growth(exact)
    most = (8 + growth / 3) ** 2
    numbers, place = np.unique(n_workers, return_inverse=True)

    def clusters(n: int) -> int:
        if n * growth >= _FULL or (n >= _TIERS[0] and exact > _FULL_ABOVE):
            return 1 << 40
        return isqrt(int(most * max(n, 5) / 5))

    of_number = np.array([clusters(n) for n in numbers.tolist()], dtype=np.int64)
    return np.minimum(of_number[place.reshape(-1)], n_points)


def cascade_points(coarsening: Coarsening, share: Floats) -> CascadePoints:
    """Make of support points and their prior shares what the cascade reads.

    Parameters
    ----------
    coarsening : Coarsening
        Without remainder points.
    share : float64[K]
        Prior share; sums to 1 in each destination tract.
    """
    tracts, level, unit = coarsening.tracts, coarsening.support_level, coarsening.support_unit
    center = tracts.place[coarsening.destination][coarsening.tract_of_point]
    place = np.empty((level.size, 3))
    is_tract, is_puma = level == LEVEL_TRACT, level == LEVEL_PUMA
    place[is_tract] = tracts.place[unit[is_tract]]
    of_puma = _mean_places(tracts.place, tracts.puma)
    of_pool = _mean_places(tracts.place[tracts.far_group >= 0], tracts.far_group[tracts.far_group >= 0])
    of_superpuma = np.concatenate((tracts.superpuma_reach[:, :3], of_pool))
    place[is_puma] = of_puma[unit[is_puma]]
    is_far = ~(is_tract | is_puma)
    place[is_far] = of_superpuma[unit[is_far]]
    miles = coarsening.support_distance_mi
    table = TractPoints(
        ptr=coarsening.support_ptr,
        prior=np.maximum(np.rint(share * SHARE_UNITS).astype(np.int64), 1),
        log_distance=np.rint(np.log1p(miles) * _PLACE_UNITS).astype(np.int64),
        bearing=np.rint((_bearings(center, place) + np.pi) * _PLACE_UNITS).astype(np.int64),
    )
    band = np.searchsorted(CLEANED_RANGES_MI, miles, side="right")
    is_state = is_far & (unit >= tracts.n_superpumas)
    is_state |= np.isin(unit, tracts.superpuma[tracts.far_group >= 0]) & is_far
    return CascadePoints(table, np.where(is_state, len(CLEANED_RANGES_MI) + 1 + unit, band))


def count_kinds(tracts: OriginTracts) -> int:
    """Number of kinds of support points that :func:`cascade_points` tells apart."""
    n_pools = int(tracts.far_group.max(initial=-1)) + 1
    return len(CLEANED_RANGES_MI) + 1 + tracts.n_superpumas + n_pools


def _mean_places(place: Floats, unit: Indices) -> Floats:
    n_units = int(unit.max(initial=-1)) + 1
    sums = np.stack([np.bincount(unit, axis, n_units) for axis in place.T], axis=1) if n_units else place[:0]
    return np.asarray(sums / np.maximum(np.bincount(unit, minlength=n_units), 1)[:, None])


def _bearings(center: Floats, place: Floats) -> Floats:
    """Direction from each center to a place: radians from east, counterclockwise; 0 at a pole."""
    east = center[:, 0] * place[:, 1] - center[:, 1] * place[:, 0]
    toward = (center * place).sum(axis=1)
    north = place[:, 2] - toward * center[:, 2]
    # Both are times the cosine of the center's latitude, east by its definition.
    return np.asarray(np.arctan2(north, east))


def draw_labels(
    key: SecretKey, units: Synthesizers, points: CascadePoints, *, epsilon: Number, threads: int = 1
) -> Cascade:
    """Draw the clusters of all workers of some destination tracts, tier after tier.

    Parameters
    ----------
    key : SecretKey
        Draws come from stage MOVE, addressed as the units are.
    units : Synthesizers
        All units of these tracts. As many labels are drawn as there are workers.
    points : CascadePoints
    epsilon : Fraction, str, int or float
        The whole promise; 1/1024 to 25.
    threads : int
        Threads to use; the result does not depend on it.

    Raises
    ------
    ParameterError
        Epsilon is out of range, or the arrays do not agree.
    OverflowRefusedError
        A unit or a tract has too many workers.
    """
    exact = exponential_epsilon(epsilon)
    workers = PointLists(units.worker_ptr, units.worker_point)

    def draw(members: Ints, drawn_over: Indices, classes: Classes, support: SupportTable) -> Indices:
        homes = _take_lists(workers, members)
        of_class = np.repeat(drawn_over, np.diff(homes.ptr))
        chosen = Synthesizers(
            tract=drawn_over,
            destination=units.destination[members],
            segment=units.segment[members],
            worker_ptr=homes.ptr,
            worker_point=classes.cluster[classes.ptr[of_class] + homes.point],
            min_prior_weight=np.ones(members.size, dtype=np.int64),
        )
        return draw_units(key, chosen, support, exact, threads).synthetic_point

    return _run_tiers(units.tract, units.worker_ptr, points, exact, draw, threads)


def read_labels(
    tract: Indices, labels: PointLists, points: CascadePoints, *, epsilon: Number, threads: int = 1
) -> Cascade:
    """Make clusters and shares again from released labels alone.

    Parameters
    ----------
    tract : int32[U]
        Destination tract of each unit.
    labels : PointLists
        Labels of each unit's workers.
    points, epsilon, threads
        As for :func:`draw_labels`.

    Raises
    ------
    ParameterError
        A label is not one of its unit's clusters.
    """

    def read(members: Ints, drawn_over: Indices, classes: Classes, _support: SupportTable) -> Indices:
        chosen = _take_lists(labels, members)
        most = np.repeat(classes.n_clusters[drawn_over], np.diff(chosen.ptr))
        if np.any((chosen.point < 0) | (chosen.point >= most)):
            raise ParameterError(
                "a label is not the number of a cluster: the labels are not those of these units"
            )
        return chosen.point

    return _run_tiers(tract, labels.ptr, points, exponential_epsilon(epsilon), read, threads)


_Draw = Callable[[Ints, Indices, Classes, SupportTable], Indices]
"""Takes numbers of units, the class of each, the classes, and their clusters; returns labels, unit after unit."""


def _run_tiers(
    tract: Indices, ptr: Ints, points: CascadePoints, epsilon: Fraction, draw: _Draw, threads: int
) -> Cascade:
    """Cut, draw, and estimate for each tier; ``draw`` is given what the tiers before it released, and no more."""
    n_workers = np.diff(ptr)
    n_tracts = points.table.ptr.size - 1
    _require_room(tract, n_workers, n_tracts)
    n_clusters = count_clusters(epsilon, np.diff(points.table.ptr)[tract], n_workers)
    labels = PointLists(ptr, np.zeros(int(ptr[-1]), dtype=np.int32))
    units = TractUnits(
        ptr=np.concatenate(([0], np.cumsum(np.bincount(tract, minlength=n_tracts)))).astype(np.int64),
        unit=np.argsort(tract, kind="stable"),
        of_class=np.full(tract.size, -1, dtype=np.int64),
        noise=np.full(tract.size, _LEAST_NOISE),
    )
    classes = _no_classes()
    share = points.table.prior.copy()
    above = np.iinfo(np.int64).max
    for least in _TIERS:
        members = np.flatnonzero((n_workers >= least) & (n_workers < above))
        above = least
        if not members.size:
            continue
        pairs, of_pair = np.unique(
            np.stack([tract[members], n_clusters[members]]), axis=1, return_inverse=True
        )
        n_before = classes.tract.size
        classes = _cut(points.table, share, pairs, classes, threads)
        units.of_class[members] = n_before + of_pair.reshape(-1)
        support = _support_of(classes)
        drawn_over = units.of_class[members].astype(np.int32)
        drawn = draw(members, drawn_over, classes, support)
        _put_lists(labels, members, drawn)
        units.noise[members] = _expected_noise(members, labels, drawn_over, support, epsilon, threads)
        units = units._replace(unit=np.lexsort((units.of_class, tract)))
        share = _estimate(points.table, units, classes, labels, threads)
    return Cascade(labels, classes, units, share)


def _require_room(tract: Indices, n_workers: Ints, n_tracts: int) -> None:
    most = int(np.bincount(tract, n_workers, n_tracts).max(initial=0))
    if most >= _MOST_WORKERS:
        raise OverflowRefusedError(
            f"a tract has {most:,} workers; the cascade takes at most {_MOST_WORKERS - 1:,}: leave it out"
        )


def _no_classes() -> Classes:
    nothing = np.zeros(0, dtype=np.int32)
    return Classes(nothing, np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64), nothing)


def _cut(points: TractPoints, share: Ints, pairs: Ints, before: Classes, threads: int) -> Classes:
    """The classes of a tier, (tract, number of clusters) in ``pairs``, after those of the tiers before it."""
    tract, n_clusters = pairs[0].astype(np.int32), pairs[1].astype(np.int64)
    sizes = np.diff(points.ptr)[tract]
    ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    cut = Classes(tract, n_clusters, ptr, np.empty(int(ptr[-1]), dtype=np.int32))
    # A tract's classes are cut one after another: ranges begin where a tract does.
    first = np.append(np.flatnonzero(np.diff(tract, prepend=-1)), tract.size)
    most = int(sizes.max(initial=1))

    def run(start: int, stop: int) -> int:
        space = CutSpace(np.empty(most, dtype=np.int32), *(np.empty(most, dtype=np.int64) for _ in range(5)))
        return cut_range((int(first[start]), int(first[stop])), points, share, cut, space)

    run_ranges(run, np.add.reduceat(sizes, first[:-1]), threads)
    return Classes(
        np.concatenate((before.tract, tract)),
        np.concatenate((before.n_clusters, n_clusters)),
        np.concatenate((before.ptr, before.ptr[-1] + ptr[1:])),
        np.concatenate((before.cluster, cut.cluster)),
    )


def _support_of(classes: Classes) -> SupportTable:
    """The clusters of every class, as support points are given."""
    ptr = np.concatenate(([0], np.cumsum(classes.n_clusters))).astype(np.int64)
    ones = np.ones(int(ptr[-1]), dtype=np.int64)
    return SupportTable(support_ptr=ptr, base_weight=ones, retention=ones)


def _take_lists(lists: PointLists, members: Ints) -> PointLists:
    """The lists of some units, one after another."""
    size = np.diff(lists.ptr)[members]
    ptr = np.concatenate(([0], np.cumsum(size))).astype(np.int64)
    at = np.arange(int(ptr[-1])) + np.repeat(lists.ptr[members] - ptr[:-1], size)
    return PointLists(ptr, lists.point[at])


def _put_lists(lists: PointLists, members: Ints, points: Indices) -> None:
    """Put the points of some units, one after another, into their lists."""
    size = np.diff(lists.ptr)[members]
    start = np.cumsum(size) - size
    lists.point[np.arange(points.size) + np.repeat(lists.ptr[members] - start, size)] = points


def _expected_noise(
    members: Ints,
    labels: PointLists,
    drawn_over: Indices,
    support: SupportTable,
    epsilon: Fraction,
    threads: int,
) -> Floats:
    """Share of each unit's workers who are expected to have been spread over all its clusters, given its labels."""
    chosen = _take_lists(labels, members)
    every = np.arange(members.size)
    released = Synthesizers(
        tract=drawn_over,
        destination=every,
        segment=0 * every,
        worker_ptr=chosen.ptr,
        worker_point=chosen.point,
        min_prior_weight=np.ones(members.size, dtype=np.int64),
    )
    thetas = unit_thetas(epsilon, released, support)
    freed = expect_freed(released, support, thetas, threads)
    noise = freed / (np.diff(chosen.ptr) * float(1 << FREED_BITS))
    return np.clip(noise, _LEAST_NOISE, 1.0 - _LEAST_NOISE)


def _estimate(
    points: TractPoints, units: TractUnits, classes: Classes, labels: PointLists, threads: int
) -> Ints:
    share = np.empty_like(points.prior)
    most = int(np.diff(points.ptr).max(initial=1))

    def run(start: int, stop: int) -> int:
        space = EstimateSpace(*(np.empty(most) for _ in range(4)))
        return estimate_range((start, stop), points, units, classes, labels, space, share)

    run_ranges(run, np.diff(units.ptr) + 1, threads)
    return share


def sum_classes(cascade: Cascade, points: CascadePoints, n_kinds: int) -> ClassSums:
    """Add up the workers of a batch at the points of each kind: int64[n_kinds] each, in any division into batches."""
    n_workers = _workers_by_tract(cascade)
    sizes = np.diff(points.table.ptr)
    sums = []
    for share in (cascade.share, points.table.prior):
        total = np.repeat(np.add.reduceat(share, points.table.ptr[:-1]), sizes)
        workers = np.rint(np.repeat(n_workers, sizes) * (share / total) * _SUM_UNITS).astype(np.int64)
        of_kind = np.zeros(n_kinds, dtype=np.int64)
        np.add.at(of_kind, points.kind, workers)
        sums.append(of_kind)
    return ClassSums(*sums)


def class_factors(sums: Sequence[ClassSums]) -> Floats:
    """By how many times more workers the labels of all batches show at points of each kind than the prior has."""
    estimated, prior = (np.sum(np.stack(column), axis=0) for column in zip(*sums, strict=True))
    return np.asarray((estimated + _SUM_UNITS) / (prior + _SUM_UNITS))


def _workers_by_tract(cascade: Cascade) -> Ints:
    size = np.diff(cascade.labels.ptr)[cascade.units.unit]
    return np.diff(np.concatenate(([0], np.cumsum(size)))[cascade.units.ptr])


def deal_labels(
    seed: PublicSeed,
    cascade: Cascade,
    points: CascadePoints,
    factors: Floats,
    tract_number: Ints,
    *,
    threads: int = 1,
) -> SyntheticPoints:
    """Deal every worker a support point, by labels and public numbers alone.

    The prior is corrected by the factors of all tracts, and shares are estimated again. A tract's workers at each point
    are its share, rounded. They are dealt in random order, those with the finest clusters first, each to a point of the
    drawn cluster with chance proportional to what is left there; those who find none are dealt what remains.

    Parameters
    ----------
    seed : PublicSeed
        Draws come from stage CASCADE, addressed by (tract number, 0).
    cascade, points
    factors : float64[kinds]
        From :func:`class_factors`.
    tract_number : int64[T]
        Global number of each destination tract.
    threads : int

    Returns
    -------
    SyntheticPoints
        Of the units; points of one unit in rising order.

    Raises
    ------
    OverflowRefusedError
        A stream ran past its end.
    """
    table = points.table
    prior = np.maximum(np.rint(table.prior * factors[points.kind]).astype(np.int64), 1)
    corrected = table._replace(prior=_scale(prior, table.ptr))
    share = _estimate(corrected, cascade.units, cascade.classes, cascade.labels, threads)
    dealt = np.zeros(cascade.labels.point.size, dtype=np.int32)
    n_workers = _workers_by_tract(cascade)
    most, most_points = int(n_workers.max(initial=1)), int(np.diff(table.ptr).max(initial=1))

    def run(start: int, stop: int) -> int:
        space = DealSpace(
            keys=np.empty(most, dtype=np.int64),
            unit=np.empty(most, dtype=np.int64),
            place=np.empty(most, dtype=np.int64),
            left=np.empty(most_points, dtype=np.int64),
            rest=np.empty(most, dtype=np.int32),
            stream=new_stream(),
        )
        return deal_range(
            (start, stop),
            tract_number,
            table,
            cascade.units,
            cascade.classes,
            cascade.labels,
            share,
            seed.words,
            space,
            dealt,
        )

    failed = max(run_ranges(run, n_workers + 1, threads), default=-1)
    if failed >= 0:
        raise OverflowRefusedError(
            f"the random stream of tract {tract_number[failed]} passed its 2^32 blocks: leave the cascade out"
        )
    ptr = cascade.labels.ptr
    unit = np.repeat(np.arange(ptr.size - 1), np.diff(ptr))
    order = np.lexsort((dealt, unit))
    return SyntheticPoints(synthetic_ptr=ptr, synthetic_point=dealt[order])


def _scale(prior: Ints, ptr: Ints) -> Ints:
    """Shares of each tract that add up to about 2^36 again, at least 1."""
    total = np.repeat(np.add.reduceat(prior, ptr[:-1]), np.diff(ptr))
    return np.maximum(np.rint(prior * (SHARE_UNITS / total)).astype(np.int64), 1)
