"""The cascade: clusters of support points, an estimate of where a tract's workers live, and workers dealt to points.

Only public numbers and released labels are read here. All sums are of whole numbers, or of floating-point numbers in a
fixed order, so that every machine finds the same clusters and points.

Symbols: k points of a workplace tract, c clusters, p the estimated share of each point, rho the share of noise.

Source: docs/theory/method.md, section 7i.
"""

from typing import NamedTuple

from engine.jit import lean_jit
from engine.kernels.arrays import Floats, Indices, Ints, PointLists, Words
from engine.kernels.chacha import STAGE_CASCADE, below, has_run_out, open_stream
from engine.kernels.sorting import sort_values

__all__ = [
    "SHARE_UNITS",
    "Classes",
    "CutSpace",
    "DealSpace",
    "EstimateSpace",
    "TractPoints",
    "TractUnits",
    "cut_range",
    "deal_range",
    "estimate_range",
]

SHARE_UNITS = 1 << 36
"""Shares of a tract's points are whole numbers of about 2^-36, at least 1."""

_STEPS = 20
_PSEUDO = 0.02
"""Workers of the prior, as a part of the tract's workers."""

_PLACE_BITS = 20
_PLACE_MASK = (1 << _PLACE_BITS) - 1


class TractPoints(NamedTuple):
    """Support points of each destination tract: offsets [T + 1], prior shares in 2^-36, and places [K].

    Places are log(1 + miles) and the bearing from the tract's center, both in 2^-16.
    """

    ptr: Ints
    prior: Ints
    log_distance: Ints
    bearing: Ints


class Classes(NamedTuple):
    """Classes of units with the same clusters: tract, number of clusters [C], offsets [C + 1], clusters of points.

    Classes of one tract that are cut together follow each other by rising number of clusters.
    """

    tract: Indices
    n_clusters: Ints
    ptr: Ints
    cluster: Indices


class TractUnits(NamedTuple):
    """Units by tract: offsets [T + 1], their numbers by class within each tract, class and share of noise of each unit.

    Units that are not drawn yet have class -1, and come first.
    """

    ptr: Ints
    unit: Ints
    of_class: Ints
    noise: Floats


class CutSpace(NamedTuple):
    """Scratch space: points by cluster, where clusters begin and end, weights of points and clusters, keys."""

    member: Indices
    first: Ints
    last: Ints
    weight: Ints
    mass: Ints
    keys: Ints


class EstimateSpace(NamedTuple):
    """Scratch space for the points of a tract: shares, the next ones, and mass and workers of clusters."""

    share: Floats
    following: Floats
    mass: Floats
    workers: Floats


class DealSpace(NamedTuple):
    """Scratch space of one thread: keys and places of a tract's workers, what is left of points, points, a stream."""

    keys: Ints
    unit: Ints
    place: Ints
    left: Ints
    rest: Indices
    stream: Ints


@lean_jit
def _width(member: Indices, value: Ints) -> int:
    low = high = value[member[0]]
    for place in range(1, member.size):
        low, high = min(low, value[member[place]]), max(high, value[member[place]])
    return int(high - low)


@lean_jit
def _sort_members(member: Indices, value: Ints, keys: Ints) -> None:
    """Sort points by a value, then by number."""
    for place in range(member.size):
        keys[place] = value[member[place]] << _PLACE_BITS | member[place]
    sort_values(keys[: member.size])
    for place in range(member.size):
        member[place] = keys[place] & _PLACE_MASK


@lean_jit
def _heaviest(n_clusters: int, space: CutSpace) -> int:
    """The heaviest cluster of two points or more, the first of several; -1 if there is none."""
    best = -1
    for cluster in range(n_clusters):
        if space.last[cluster] - space.first[cluster] > 1 and (
            best < 0 or space.mass[cluster] > space.mass[best]
        ):
            best = cluster
    return best


@lean_jit
def _split(cluster: int, n_clusters: int, log_distance: Ints, bearing: Ints, space: CutSpace) -> None:
    """Split a cluster at its weighted median, along the wider of its two extents; the far part is a new cluster."""
    first, last = space.first[cluster], space.last[cluster]
    member = space.member[first:last]
    along = log_distance if _width(member, log_distance) >= _width(member, bearing) else bearing
    _sort_members(member, along, space.keys)
    left, cut = space.weight[member[0]], 1
    while cut < member.size - 1 and 2 * (left + space.weight[member[cut]]) <= space.mass[cluster]:
        left += space.weight[member[cut]]
        cut += 1
    space.first[n_clusters], space.last[n_clusters] = first + cut, last
    space.mass[n_clusters] = space.mass[cluster] - left
    space.last[cluster], space.mass[cluster] = first + cut, left


@lean_jit
def cut_range(
    bounds: tuple[int, int], points: TractPoints, share: Ints, classes: Classes, space: CutSpace
) -> int:
    """Cut the points of a tract into the clusters of classes ``bounds``, each a refinement of the one before.

    Weights are 0.9 times the present share and 0.1 times the prior's. Returns -1.
    """
    n_clusters, before = 0, -1
    for number in range(bounds[0], bounds[1]):
        tract = classes.tract[number]
        first, last = points.ptr[tract], points.ptr[tract + 1]
        log_distance, bearing = points.log_distance[first:last], points.bearing[first:last]
        if tract != before:
            n_clusters, before, total = 1, tract, 0
            for point in range(last - first):
                space.member[point] = point
                space.weight[point] = 9 * share[first + point] + points.prior[first + point]
                total += space.weight[point]
            space.first[0], space.last[0], space.mass[0] = 0, last - first, total
        into = classes.cluster[classes.ptr[number] : classes.ptr[number + 1]]
        if classes.n_clusters[number] == last - first:  # clusters of one point keep its number
            for point in range(last - first):
                into[point] = point
            continue
        while n_clusters < classes.n_clusters[number]:
            _split(_heaviest(n_clusters, space), n_clusters, log_distance, bearing, space)
            n_clusters += 1
        for cluster in range(n_clusters):
            for place in range(space.first[cluster], space.last[cluster]):
                into[space.member[place]] = cluster
    return -1


@lean_jit
def _add_class(
    at: tuple[int, int], units: TractUnits, classes: Classes, labels: PointLists, space: EstimateSpace, k: int
) -> None:
    """Add what the units ``at``, all of one class, show of each point: real workers, spread as the present shares."""
    number = units.of_class[units.unit[at[0]]]
    n_clusters = classes.n_clusters[number]
    cluster = classes.cluster[classes.ptr[number] : classes.ptr[number + 1]]
    for c in range(n_clusters):
        space.mass[c] = space.workers[c] = 0.0
    for point in range(k):
        space.mass[cluster[point]] += space.share[point]
    for place in range(at[0], at[1]):
        unit = units.unit[place]
        noise = units.noise[unit]
        for worker in range(labels.ptr[unit], labels.ptr[unit + 1]):
            label = labels.point[worker]
            real = (1.0 - noise) * space.mass[label]
            space.workers[label] += real / (real + noise / n_clusters)
    for point in range(k):
        here = cluster[point]
        space.following[point] += space.workers[here] * (space.share[point] / space.mass[here])


@lean_jit
def _step(
    at: tuple[int, int, int],
    prior: Ints,
    units: TractUnits,
    classes: Classes,
    labels: PointLists,
    space: EstimateSpace,
) -> None:
    """Improve the shares of a tract's points once; ``at`` are its first drawn unit, its last, and its workers."""
    start, end, n_workers = at
    k, total, everybody = prior.size, 0.0, 0.0
    for point in range(k):
        total += prior[point]
    for point in range(k):
        space.following[point] = _PSEUDO * n_workers * (prior[point] / total)
    while start < end:
        stop = start + 1
        while stop < end and units.of_class[units.unit[stop]] == units.of_class[units.unit[start]]:
            stop += 1
        _add_class((start, stop), units, classes, labels, space, k)
        start = stop
    for point in range(k):
        everybody += space.following[point]
    for point in range(k):
        space.share[point] = space.following[point] / everybody


@lean_jit
def estimate_range(
    bounds: tuple[int, int],
    points: TractPoints,
    units: TractUnits,
    classes: Classes,
    labels: PointLists,
    space: EstimateSpace,
    share: Ints,
) -> int:
    """Estimate the shares of the points of tracts ``bounds`` from released labels; returns -1.

    Expectation and maximization: of a unit's workers a share rho is noise, equal over its clusters; the others are
    spread within their cluster as the present shares. The prior counts as 0.02 of the tract's workers.
    """
    for tract in range(bounds[0], bounds[1]):
        prior = points.prior[points.ptr[tract] : points.ptr[tract + 1]]
        begin, end, n_workers = units.ptr[tract], units.ptr[tract + 1], 0
        for place in range(begin, end):
            n_workers += labels.ptr[units.unit[place] + 1] - labels.ptr[units.unit[place]]
        while begin < end and units.of_class[units.unit[begin]] < 0:
            begin += 1
        for point in range(prior.size):
            space.share[point] = prior[point] / SHARE_UNITS
        for _ in range(_STEPS):
            _step((begin, end, n_workers), prior, units, classes, labels, space)
        for point in range(prior.size):
            share[points.ptr[tract] + point] = max(1, int(space.share[point] * SHARE_UNITS))
    return -1


@lean_jit
def _set_targets(key: Words, share: Ints, n_workers: int, left: Ints, stream: Ints) -> None:
    """Round the tract's workers at each point to whole numbers that add up to all: systematic, from a random start."""
    total = 0
    for point in range(share.size):
        total += share[point]
    start, running, before = below(key, stream, total), 0, 0
    for point in range(share.size):
        running += share[point]
        reached = (running * n_workers + start) // total
        left[point], before = reached - before, reached


@lean_jit
def _list_workers(
    key: Words, tract: int, units: TractUnits, classes: Classes, labels: PointLists, space: DealSpace
) -> int:
    """List the workers of a tract with the finest labels first, in random order otherwise; return how many."""
    n_workers = 0
    for place in range(units.ptr[tract], units.ptr[tract + 1]):
        unit = units.unit[place]
        for worker in range(labels.ptr[unit], labels.ptr[unit + 1]):
            space.unit[n_workers], space.place[n_workers] = unit, worker
            n_workers += 1
    for remaining in range(n_workers, 1, -1):
        chosen, last = below(key, space.stream, remaining), remaining - 1
        space.unit[chosen], space.unit[last] = space.unit[last], space.unit[chosen]
        space.place[chosen], space.place[last] = space.place[last], space.place[chosen]
    for worker in range(n_workers):
        n_clusters = classes.n_clusters[units.of_class[space.unit[worker]]]
        space.keys[worker] = (_PLACE_MASK + 1 - n_clusters) << 32 | worker
    sort_values(space.keys[:n_workers])
    return n_workers


@lean_jit
def _take_point(key: Words, cluster: Indices, label: int, left: Ints, stream: Ints) -> int:
    """A point of a cluster, with chance proportional to what is left there; -1 if nothing is."""
    total = 0
    for point in range(cluster.size):
        if cluster[point] == label:
            total += left[point]
    if total == 0:
        return -1
    ball = below(key, stream, total)
    for point in range(cluster.size):
        if cluster[point] == label:
            ball -= left[point]
            if ball < 0:
                left[point] -= 1
                return point
    return -1


@lean_jit
def deal_range(
    bounds: tuple[int, int],
    address: Ints,
    points: TractPoints,
    units: TractUnits,
    classes: Classes,
    labels: PointLists,
    share: Ints,
    key: Words,
    space: DealSpace,
    dealt: Indices,
) -> int:
    """Deal the workers of tracts ``bounds`` to points; return the first whose stream ran out, or -1.

    Workers whose cluster has nothing left are dealt what remains in the end, in random order.
    """
    for tract in range(bounds[0], bounds[1]):
        first, last = points.ptr[tract], points.ptr[tract + 1]
        stream, left = space.stream, space.left[: last - first]
        open_stream(STAGE_CASCADE, address[tract], 0, stream)
        n_workers = _list_workers(key, tract, units, classes, labels, space)
        _set_targets(key, share[first:last], n_workers, left, stream)
        n_waiting = 0
        for position in range(n_workers):
            worker = space.keys[position] & 0xFFFFFFFF
            number = units.of_class[space.unit[worker]]
            cluster = classes.cluster[classes.ptr[number] : classes.ptr[number + 1]]
            place = space.place[worker]
            point = _take_point(key, cluster, labels.point[place], left, stream)
            if point < 0:
                space.keys[n_waiting] = place  # behind what is read
                n_waiting += 1
            else:
                dealt[place] = point
        n_rest = 0
        for point in range(last - first):
            for _ in range(left[point]):
                space.rest[n_rest] = point
                n_rest += 1
        for waiting in range(n_waiting):
            chosen = waiting + below(key, stream, n_waiting - waiting)
            dealt[space.keys[waiting]] = space.rest[chosen]
            space.rest[chosen] = space.rest[waiting]
        if has_run_out(stream):
            return tract
    return -1
