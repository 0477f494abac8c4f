"""The support points of one destination tract, prepared once for all its classes.

Every class raises the weights of its tract to a least weight of its own, and most points lie below the least weight
of any class (`floor`). These points need no order: they count as points at the floor, and those with the least
retention form one group. The few others are sorted.

The front are those groups, in order of base weight, that can be pruned and that no other one of their weight or above
undercuts in retention. kappa rises with the weight and falls with the retention, so the largest kappa is that of a
group of the front, and the least retention that of its first.

Symbols as in `engine.accountant.kernels.sound`.
"""

from typing import NamedTuple

from engine.accountant.kernels.sound import CountPair, Groups, growth, threshold
from engine.jit import lean_jit
from engine.kernels.arrays import Ints
from engine.kernels.sorting import sort_values
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS

# Points up to one worker's weight have 54 bits of weight and retention; heavier ones are never pruned, and sort last.
_HEAVY = 1 << 61
_RETENTION_BITS = 33
_INDEX_BITS = 30


class Tract(NamedTuple):
    """Base weights, retentions and numbers of points of a tract's groups, sorted by base weight and then retention.

    ``by_retention`` holds the groups in order of retention, ``front`` those of the front.
    """

    base: Ints
    retention: Ints
    times: Ints
    by_retention: Ints
    front: Ints


@lean_jit
def least_retention(base: Ints, retention: Ints) -> int:
    """Least retention of the points that can be pruned; 2^32 if no point can."""
    least = RETENTION_UNITS
    for i in range(base.shape[0]):
        if base[i] <= WEIGHT_UNITS:
            least = min(least, retention[i])
    return least


@lean_jit
def least_search_weight(least: int, e: float) -> int:
    """Lower bound of the weights searched, at which the threshold of the least retention is 1 and kappa is 1."""
    slope = threshold(least / RETENTION_UNITS * e, 1.0)
    if slope <= 1.0:
        return WEIGHT_UNITS
    return max(int(WEIGHT_UNITS / slope) - 1, 1)


@lean_jit
def gather_tract(base: Ints, retention: Ints, floor: int, tract: Tract) -> tuple[int, int]:
    """Fill the arrays of `tract`, each as long as the points or longer; return how many groups and front groups.

    Afterwards the tract can be used for weights at or above `floor`, which is at most one worker's.
    """
    group_base, group_retention, times, by_retention, front = tract
    least = least_retention(base, retention)
    keys = by_retention
    n_low, n_keys = 0, 0
    for i in range(base.shape[0]):
        weight = max(base[i], floor)
        if weight > WEIGHT_UNITS:
            keys[n_keys] = _HEAVY + weight
            n_keys += 1
        elif weight == floor and retention[i] == least:
            n_low += 1
        else:
            keys[n_keys] = (weight << _RETENTION_BITS) | retention[i]
            n_keys += 1
    n_groups = 0
    if n_low > 0:
        group_base[0], group_retention[0], times[0] = floor, least, n_low
        n_groups = 1
    last = -1
    sort_values(keys[:n_keys])
    for i in range(n_keys):
        key = keys[i]
        if key == last:
            times[n_groups - 1] += 1
            continue
        last = key
        group_base[n_groups] = key - _HEAVY if key >= _HEAVY else key >> _RETENTION_BITS
        group_retention[n_groups] = RETENTION_UNITS if key >= _HEAVY else key & ((1 << _RETENTION_BITS) - 1)
        times[n_groups] = 1
        n_groups += 1
    order_by_retention(group_retention[:n_groups], by_retention)
    return n_groups, front_of(group_base[:n_groups], group_retention, front)


@lean_jit
def order_by_retention(retention: Ints, order: Ints) -> None:
    """Fill the positions in order of retention, and of position where that is the same."""
    n = retention.shape[0]
    is_sorted = True
    for j in range(n):
        order[j] = (retention[j] << _INDEX_BITS) | j
        is_sorted = is_sorted and (j == 0 or retention[j] >= retention[j - 1])
    if not is_sorted:
        sort_values(order[:n])
    for j in range(n):
        order[j] &= (1 << _INDEX_BITS) - 1


@lean_jit
def front_of(base: Ints, retention: Ints, front: Ints) -> int:
    """Fill the front: prunable groups with less retention than any of their weight or above; return how many."""
    least, n_front = RETENTION_UNITS, 0
    for j in range(base.shape[0] - 1, -1, -1):
        if base[j] <= WEIGHT_UNITS and retention[j] < least:
            least = retention[j]
            if n_front == 0 or base[front[n_front - 1]] != base[j]:
                n_front += 1
            front[n_front - 1] = j
    for j in range(n_front // 2):
        front[j], front[n_front - 1 - j] = front[n_front - 1 - j], front[j]
    return n_front


@lean_jit
def largest_kappa(counts: CountPair, tract: Tract) -> float:
    """Largest kappa of all base weights up to 1; 1 where nothing can be pruned.

    From the largest weight of the front down, until even the least retention of all would have no larger kappa.
    """
    base, retention, _, _, front = tract
    kappa = 1.0
    for j in range(front.shape[0] - 1, -1, -1):
        largest = growth(counts, base[front[j]] / WEIGHT_UNITS)
        f, least = retention[front[j]] / RETENTION_UNITS, retention[front[0]] / RETENTION_UNITS
        if least + (1.0 - least) * largest <= kappa:
            break
        kappa = max(kappa, f + (1.0 - f) * largest)
    return kappa


@lean_jit
def fill_groups(weight: int, tract: Tract, groups: Groups) -> int:
    """Fill `groups` with the weights max(weight, base) and retentions that the sampler uses; return how many.

    `weight` is at least the floor of the tract. A point above one worker's weight is never pruned.
    """
    base, retention, times, by_retention, _ = tract
    alpha, kept, points = groups
    n, n_raised = 0, 0
    for i in range(base.shape[0]):
        j = by_retention[i]
        if base[j] <= weight:
            n_raised += 1
            f = RETENTION_UNITS if weight > WEIGHT_UNITS else retention[j]
            if n > 0 and kept[n - 1] == f:
                points[n - 1] += times[j]
                continue
            alpha[n], kept[n], points[n] = weight, f, times[j]
            n += 1
    for j in range(n_raised, base.shape[0]):
        alpha[n], kept[n], points[n] = base[j], retention[j], times[j]
        n += 1
    return n
