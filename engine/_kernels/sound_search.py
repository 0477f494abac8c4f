"""Compiled search for the least prior weights that the sound accountant certifies.

Symbols and margins as in `engine._kernels.sound`. What is found here is evaluated again there before it certifies
anything.
"""

import math

import numpy as np

from engine._jit import jit
from engine._kernels.reference_sample import WEIGHT_UNITS, Floats, Ints
from engine._kernels.sound import (
    RETENTION_UNITS,
    certain_mass,
    failure_terms,
    kappa_of_point,
    mass_term,
    probable_mass,
    tail_kappas,
    threshold,
    weights_used,
)


@jit
def kappa_of_weight(n: int, m: int, weight: int, base: Ints, least: int, kappas: Floats) -> float:
    """Largest kappa of the weights max(weight, base).

    Points raised to `weight` count with the least retention of all: where the point that has it is not among
    them, its own kappa is larger.
    """
    if weight > WEIGHT_UNITS:
        return 1.0
    above = np.searchsorted(base, weight, side="right")
    return float(max(kappa_of_point(n, m, weight, least), kappas[above]))


@jit
def weight_of_threshold(wanted: int, n: int, m: int, base: Ints, least: int, e: float, kappas: Floats) -> int:
    """Least weight up to 1 at which no point fails below or at `wanted`, or 0 where there is none.

    kappa does not fall with the weight, so iteration from below stops at the least solution.
    """
    f = least / RETENTION_UNITS
    weight = 1
    for _ in range(200):
        factor = f * e / kappa_of_weight(n, m, weight, base, least, kappas)
        if threshold(factor, weight / WEIGHT_UNITS) >= wanted:
            return weight
        slope = threshold(factor, 1.0)
        if slope <= 0.0 or wanted / slope > 1.0:
            return 0
        weight = max(weight + 1, math.ceil(wanted / slope * WEIGHT_UNITS))
        if weight > WEIGHT_UNITS:
            return 0
    return 0


@jit
def holds(n: int, m: int, alpha: Ints, kept: Ints, e: float, kappa: float, limit: float) -> bool:
    """Whether some kept mass brings the bound within `limit`; the middle way costs most and is tried last."""
    negligible = 1e-4 * limit / alpha.shape[0]
    certain = certain_mass(alpha, kept)
    empty, occupied = failure_terms(n, m, alpha, kept, e, kappa, certain / WEIGHT_UNITS, negligible)
    if (empty + occupied) * (1.0 + 1e-9) <= limit:
        return True
    whole = alpha.sum()
    if whole == certain:
        return False
    empty, occupied = failure_terms(n, m, alpha, kept, e, kappa, whole / WEIGHT_UNITS, negligible)
    if empty + occupied > limit:
        return False
    mass, rate = probable_mass(alpha, kept, math.log(limit / 64.0))
    if mass <= certain:
        return False
    empty, occupied = failure_terms(n, m, alpha, kept, e, kappa, mass / WEIGHT_UNITS, negligible)
    return bool((mass_term(alpha, kept, mass, rate) + empty + occupied) * (1.0 + 1e-9) <= limit)


@jit
def weight_above_one(wanted: int, e: float) -> int:
    """Least weight above 1, where nothing is pruned, at which no point fails below or at `wanted`."""
    weight = max(WEIGHT_UNITS + 1, math.ceil(wanted / threshold(e, 1.0) * WEIGHT_UNITS))
    while threshold(e, weight / WEIGHT_UNITS) < wanted:
        weight += 1
    return weight


@jit
def weight_for(
    wanted: int, above_one: bool, n: int, m: int, base: Ints, least: int, e: float, kappas: Floats
) -> int:
    """Least weight on one side of 1 at which no point fails below or at `wanted`, or 0."""
    if above_one:
        return weight_above_one(wanted, e)
    return weight_of_threshold(wanted, n, m, base, least, e, kappas)


@jit
def highest_reached(above_one: bool, n: int, m: int, base: Ints, least: int, e: float, kappas: Floats) -> int:
    """Highest count up to m that some weight on this side of 1 makes safe for every point."""
    if weight_for(m, above_one, n, m, base, least, e, kappas) > 0:
        return m
    low, high = 0, m
    while high - low > 1:
        middle = (low + high) // 2
        if weight_for(middle, above_one, n, m, base, least, e, kappas) > 0:
            low = middle
        else:
            high = middle
    return low


@jit
def search_side(
    n: int, m: int, above_one: bool, start: int, base: Ints, retention: Ints, e: float, limit: float
) -> tuple[int, int]:
    """Least weight found on one side of 1 and the count that it makes safe; weight 0 where there is none.

    The bound falls in steps, where the least threshold reaches a whole number, and rises a little between. So
    the steps are searched, from `start` outwards by doubling and then by halving. Weights up to 1 reach some
    counts only, since kappa grows with them. At m nothing can fail, and with `limit` 0 only that will do.
    """
    k = base.shape[0]
    alpha, kept, kappas = np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k + 1)
    least = tail_kappas(n, m, base, retention, kappas)
    best = weight_for(m, above_one, n, m, base, least, e, kappas)
    if limit <= 0.0:
        return best, m
    low, high = 0, m
    if best == 0:
        high = highest_reached(above_one, n, m, base, least, e, kappas) + 1
    probe, stride, is_first, rising, is_bracketed = max(start, 1), 1, True, False, False
    while high - low > 1:
        probe = min(max(probe, low + 1), high - 1)
        weight = weight_for(probe, above_one, n, m, base, least, e, kappas)
        weights_used(weight, base, retention, alpha, kept)
        kappa = kappa_of_weight(n, m, weight, base, least, kappas)
        good = holds(n, m, alpha, kept, e, kappa, limit)
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


@jit
def search_classes(
    support_ptr: Ints,
    class_tract: Ints,
    counts: tuple[Ints, Ints],
    base: Ints,
    retention: Ints,
    e: float,
    limit: float,
    min_weight: Ints,
) -> None:
    """Fill `min_weight` with the least weight found for each class; `counts` holds n and m.

    With `limit` 0 only weights at which no output can fail are taken.
    """
    start, tract = 1, -1
    for j in range(class_tract.shape[0]):
        n, m = counts[0][j], counts[1][j]
        if m == 0:
            min_weight[j] = 1
            continue
        t = class_tract[j]
        if t != tract:
            start, tract = min(m, 12), t
        points = slice(support_ptr[t], support_ptr[t + 1])
        first = start if limit > 0.0 else m
        weight, start = search_side(n, m, False, first, base[points], retention[points], e, limit)
        if weight == 0:
            weight, _ = search_side(n, m, True, first, base[points], retention[points], e, limit)
            start = 1
        min_weight[j] = weight
