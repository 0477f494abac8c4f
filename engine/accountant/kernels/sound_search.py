"""Compiled search for the least prior weights that the sound accountant certifies, and the evidence for weights.

Symbols and margins as in `engine.accountant.kernels.sound`. The weights found here are evaluated again, by
`bound_tracts`, before they certify anything. Both kernels go through the destination tracts, whose classes share what
`engine.accountant.kernels.sound_tract` prepares. No tract's result depends on another's, so any partition gives the
same.
"""

import math
from typing import NamedTuple

from engine.accountant.kernels.sound import (
    KAPPA,
    N_TERMS,
    CountPair,
    Groups,
    count_pair,
    failure_terms,
    first_groups,
    kappa_of_groups,
    kappa_of_point,
    mass_term,
    prior_mass,
    probable_mass,
    threshold,
    weigh,
)
from engine.accountant.kernels.sound_tract import (
    Tract,
    fill_groups,
    gather_tract,
    largest_kappa,
    least_retention,
    least_search_weight,
)
from engine.jit import lean_jit
from engine.kernels.arrays import Floats, Ints
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS


class ClassLists(NamedTuple):
    """Support points of each tract, and its classes.

    Base weights and retentions [K] with CSR offsets [T + 1]; then offsets [T + 1] into ``order``, which lists the
    classes of a tract by m: each begins where the one before ended. ``n`` and ``m`` are counts of each class.
    """

    support_ptr: Ints
    base: Ints
    retention: Ints
    class_ptr: Ints
    order: Ints
    n: Ints
    m: Ints


class Promise(NamedTuple):
    """e = e^epsilon_final, the delta that is enough, and the log chances at which kept masses are tried."""

    e: float
    enough: float
    log_chances: Floats


class Evidence(NamedTuple):
    """Terms [n_classes, N_TERMS] of each class's bound, and the weights used [n_classes, 4].

    These are the least weight, the summed weight, the least retention of points that can be pruned (2^32 if no point
    can), and the number of points.
    """

    terms: Floats
    used: Ints


class SearchSpace(NamedTuple):
    """Scratch space of one thread: room for a tract, for the groups of a class, and for tails."""

    tract: Tract
    groups: Groups
    runs: Floats


@lean_jit
def kappa_of_weight(counts: CountPair, weight: int, least: int, kappa: float) -> float:
    """Largest kappa of the weights max(weight, base); `kappa` is the largest of the base weights.

    Points raised to `weight` count with the least retention of all: where the point that has it is not among
    them, its own kappa is larger. And where the point of the largest kappa is among them, they have a larger one.
    """
    if weight > WEIGHT_UNITS:
        return 1.0
    return max(kappa_of_point(counts, weight, least), kappa)


@lean_jit
def weight_of_threshold(wanted: int, counts: CountPair, least: int, e: float, kappa: float) -> int:
    """Least weight up to 1 at which no point fails below or at `wanted`, or 0 if no such weight exists.

    kappa does not fall with the weight, so iteration from below stops at the least solution.
    """
    f = least / RETENTION_UNITS
    weight = least_search_weight(least, e)
    for _ in range(200):
        factor = f * e / kappa_of_weight(counts, weight, least, kappa)
        if threshold(factor, weight / WEIGHT_UNITS) >= wanted:
            return weight
        slope = threshold(factor, 1.0)
        if slope <= 0.0 or wanted / slope > 1.0:
            return 0
        weight = max(weight + 1, math.ceil(wanted / slope * WEIGHT_UNITS))
        if weight > WEIGHT_UNITS:
            return 0
    return 0


@lean_jit
def holds(n: int, m: int, groups: Groups, e: float, kappa: float, limit: float, runs: Floats) -> bool:
    """Whether some kept mass brings the bound within `limit`.

    The tails are least with the whole prior mass kept, so a bound that fails there fails everywhere. The certain mass
    costs no chance. The mass in between is the most expensive and is tried last.
    """
    certain, whole = prior_mass(groups)
    empty, occupied = failure_terms(n, m, groups, e, kappa, whole / WEIGHT_UNITS, limit, runs)
    if (empty + occupied) * (1.0 + 1e-9) > limit or whole == certain:
        return bool((empty + occupied) * (1.0 + 1e-9) <= limit)
    empty, occupied = failure_terms(n, m, groups, e, kappa, certain / WEIGHT_UNITS, limit, runs)
    if (empty + occupied) * (1.0 + 1e-9) <= limit:
        return True
    mass, rate = probable_mass(groups, math.log(limit / 64.0))
    if mass <= certain:
        return False
    empty, occupied = failure_terms(n, m, groups, e, kappa, mass / WEIGHT_UNITS, limit, runs)
    if empty + occupied > limit:
        return False
    return bool((mass_term(groups, mass, rate) + empty + occupied) * (1.0 + 1e-9) <= limit)


@lean_jit
def weight_above_one(wanted: int, e: float) -> int:
    """Least weight above 1, where nothing is pruned, at which no point fails below or at `wanted`."""
    weight = max(WEIGHT_UNITS + 1, math.ceil(wanted / threshold(e, 1.0) * WEIGHT_UNITS))
    while threshold(e, weight / WEIGHT_UNITS) < wanted:
        weight += 1
    return weight


@lean_jit
def weight_for(wanted: int, above_one: bool, counts: CountPair, least: int, e: float, kappa: float) -> int:
    """Least weight on one side of 1 at which no point fails below or at `wanted`, or 0."""
    if above_one:
        return weight_above_one(wanted, e)
    return weight_of_threshold(wanted, counts, least, e, kappa)


@lean_jit
def search_side(
    n: int,
    m: int,
    above_one: bool,
    start: int,
    tract: Tract,
    e: float,
    limit: float,
    groups: Groups,
    runs: Floats,
) -> tuple[int, int]:
    """Least weight found on one side of 1 and the count that it makes safe; weight 0 if none is found.

    The bound falls in steps, where the least threshold reaches a whole number, and rises a little between. So
    the steps are searched, from `start` outwards by doubling and then by halving. Weights up to 1 reach some
    counts only, since kappa grows with them. At m nothing can fail, and with `limit` 0 only that will do.
    `groups` and `runs` are scratch space.
    """
    front = tract.front
    least = tract.retention[front[0]] if front.shape[0] > 0 else RETENTION_UNITS
    counts = count_pair(n, m)
    kappa = largest_kappa(counts, tract)
    best = weight_for(m, above_one, counts, least, e, kappa)
    if limit <= 0.0:
        return best, m
    low, high = 0, m
    probe, stride, is_first, rising, is_bracketed = max(start, 1), 1, True, False, False
    while high - low > 1:
        probe = min(max(probe, low + 1), high - 1)
        weight = weight_for(probe, above_one, counts, least, e, kappa)
        good = weight == 0  # out of reach: counts that can be reached lie below
        if weight > 0:
            k = fill_groups(weight, tract, groups)
            here = kappa_of_weight(counts, weight, least, kappa)
            good = holds(n, m, first_groups(groups, k), e, here, limit, runs)
        if good:
            high, best = probe, weight
        else:
            low = probe
        if is_first:
            rising, is_first = not good, False
        elif good == rising:
            is_bracketed = True
        if is_bracketed:
            probe = (low + high) // 2
        else:
            probe += stride if rising else -stride
            stride *= 2
    return best, high


@lean_jit
def _prepare(base: Ints, retention: Ints, floor: int, space: Tract) -> Tract:
    """The tract gathered into `space`, cut to size."""
    g, f = gather_tract(base, retention, floor, space)
    return Tract(
        space.base[:g], space.retention[:g], space.times[:g], space.by_retention[:g], space.front[:f]
    )


@lean_jit
def search_tracts(
    start: int, stop: int, lists: ClassLists, e: float, limit: float, space: SearchSpace, min_weight: Ints
) -> int:
    """Fill `min_weight` with the least weight found for each class of these tracts.

    With `limit` 0 only weights at which no output can fail are taken.
    """
    for t in range(start, stop):
        if lists.class_ptr[t] == lists.class_ptr[t + 1]:
            continue
        first, last = lists.support_ptr[t], lists.support_ptr[t + 1]
        base, retention = lists.base[first:last], lists.retention[first:last]
        floor = least_search_weight(least_retention(base, retention), e)
        tract = _prepare(base, retention, floor, space.tract)
        classes = lists.order[lists.class_ptr[t] : lists.class_ptr[t + 1]]
        begin = min(lists.m[classes[0]], 12)
        for position in range(classes.shape[0]):
            j = classes[position]
            n, m = lists.n[j], lists.m[j]
            min_weight[j] = 1
            if m == 0:
                continue
            for side in range(2):
                weight, safe_count = search_side(
                    n, m, side == 1, begin, tract, e, limit, space.groups, space.runs
                )
                begin = 1 if side == 1 else safe_count
                if weight > 0:
                    min_weight[j] = weight
                    break
    return 0


@lean_jit
def least_drawn_weight(classes: Ints, m: Ints, min_weight: Ints) -> int:
    """Least weight up to 1 of the classes that draw something: the others have 1 unit, and nothing to bound."""
    floor = WEIGHT_UNITS
    for position in range(classes.shape[0]):
        if m[classes[position]] > 0:
            floor = min(floor, min_weight[classes[position]])
    return floor


@lean_jit
def weights_used(base: Ints, retention: Ints, weight: int) -> tuple[int, int, int]:
    """Least weight, summed weight and least retention of the points max(weight, base), one by one."""
    least, total, kept = max(base[0], weight), 0, RETENTION_UNITS
    for i in range(base.shape[0]):
        alpha = max(base[i], weight)
        least = min(least, alpha)
        total += alpha
        kept = min(kept, retention[i] if alpha <= WEIGHT_UNITS else RETENTION_UNITS)
    return least, total, kept


@lean_jit
def bound_tracts(
    start: int,
    stop: int,
    lists: ClassLists,
    promise: Promise,
    space: SearchSpace,
    min_weight: Ints,
    evidence: Evidence,
) -> int:
    """Fill the evidence for weights max(min_weight, base), however they were chosen, of the classes of these tracts."""
    e, enough, log_chances = promise.e, promise.enough, promise.log_chances
    terms, used = evidence.terms, evidence.used
    for t in range(start, stop):
        classes = lists.order[lists.class_ptr[t] : lists.class_ptr[t + 1]]
        if classes.shape[0] == 0:
            continue
        first, last = lists.support_ptr[t], lists.support_ptr[t + 1]
        base, retention = lists.base[first:last], lists.retention[first:last]
        tract = _prepare(base, retention, least_drawn_weight(classes, lists.m, min_weight), space.tract)
        for position in range(classes.shape[0]):
            j = classes[position]
            n, m = lists.n[j], lists.m[j]
            used[j, 0], used[j, 1], used[j, 2] = weights_used(base, retention, min_weight[j])
            used[j, 3] = base.shape[0]
            for term in range(N_TERMS):
                terms[j, term] = 0.0
            terms[j, KAPPA] = 1.0
            if m > 0:
                drawn = first_groups(space.groups, fill_groups(min_weight[j], tract, space.groups))
                kappa = kappa_of_groups(n, m, drawn)
                weigh(n, m, drawn, e, kappa, log_chances, enough, space.runs, terms[j])
    return 0
