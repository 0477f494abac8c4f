"""Likelihood ratios of keep-or-redraw, for an attacker who knows every other worker.

The victim's own draw is point i with a weight of E and any other point with 1, E = e^epsilon. So LR_i is 1 + (E - 1)
w_i, w_i the chance that the victim's draw is one of those published in i: proportional to the probability that the
others, n - 1 of them, made the published table less one worker in i. Each of the others keeps the true point with
chance (E - 1)/(E - 1 + k), or else gets any point. The redrawn ones, l in all, make a multinomial table; as l! is the
integral of s^l e^-s, the probability of a table y is the integral of e^-s times the product over points of

    B(o, y) = sum over K of C(o, K) tau^K (1 - tau)^(o - K) (s / k)^(y - K) / (y - K)!.

All terms are positive. The integral is taken by the trapezoidal rule in ln s.

Symbols: as in `engine.audit.kernels.beliefs`; tau = (E - 1)/(E - 1 + k). A class is the points with equally many
real and equally many published workers of the cell, the victim included.

Source: docs/theory/method.md, sections 7e and 7h.
"""

from math import lgamma
from typing import NamedTuple

import numpy as np

from engine.audit.kernels.beliefs import (
    Cells,
    CellSpace,
    PriorBeliefs,
    Rest,
    believe,
    gather,
    hand_out,
    rest_of,
)
from engine.jit import lean_jit
from engine.kernels.arrays import Floats, Indices, Ints

__all__ = ["PairSpace", "redraw_beliefs_range"]

_STEPS = 40
_LEAST_LOG = -40.0
_LONGEST_STEP = 0.3
_NEGLIGIBLE = 1e-15
_LARGE = 1e200


class PairSpace(NamedTuple):
    """Scratch space for D classes: real and published workers, points; class by slot.

    Then, relative to B of the class, B with one real worker less, one published less, and both (rows of ``less``
    [3, D]), and the sums of the integral by the class of the victim and of the published point [D, D + 1]; the last
    column is for the victim's own point.
    """

    real: Ints
    made: Ints
    times: Ints
    of_slot: Indices
    less: Floats
    sums: Floats


@lean_jit
def _log_factor(real: int, made: int, log_s: float, tau: float) -> tuple[float, float, float]:
    """Logarithm of B(real, made) at s / k, and mean and variance of the redrawn workers in the point."""
    kept = min(real, made)
    log_first = (
        lgamma(real + 1.0)
        - lgamma(kept + 1.0)
        - lgamma(real - kept + 1.0)
        - lgamma(made - kept + 1.0)
        + kept * np.log(tau)
        + (real - kept) * np.log1p(-tau)
        + (made - kept) * log_s
    )
    odds = (1.0 - tau) / tau * np.exp(log_s)
    weight, s_0, s_1, s_2, scale = 1.0, 0.0, 0.0, 0.0, 0.0
    while True:
        redrawn = made - kept
        s_0 += weight
        s_1 += weight * redrawn
        s_2 += weight * redrawn * redrawn
        if kept == 0 or (weight < 1e-18 * s_0 and kept * odds < (real - kept + 1.0) * (redrawn + 1.0)):
            break
        weight *= kept * odds / ((real - kept + 1.0) * (redrawn + 1.0))
        kept -= 1
        if s_0 > _LARGE or weight > _LARGE:
            weight, s_0, s_1, s_2 = weight / _LARGE, s_0 / _LARGE, s_1 / _LARGE, s_2 / _LARGE
            scale += np.log(_LARGE)
    mean = s_1 / s_0
    return log_first + scale + np.log(s_0), mean, max(s_2 / s_0 - mean * mean, 0.0)


@lean_jit
def _set_pairs(n_slots: int, space: CellSpace, pairs: PairSpace) -> int:
    """Classes of the slots; return how many there are."""
    n_classes = 0
    for slot in range(n_slots):
        point = space.point[slot]
        at = 0
        while at < n_classes and (pairs.real[at] != space.real[point] or pairs.made[at] != space.made[point]):
            at += 1
        if at == n_classes:
            pairs.real[at], pairs.made[at], pairs.times[at] = space.real[point], space.made[point], 0
            n_classes += 1
        pairs.times[at] += 1
        pairs.of_slot[slot] = at
    return n_classes


@lean_jit
def _integrand(
    y: float, tau: float, log_points: float, n_classes: int, pairs: PairSpace
) -> tuple[float, float, float]:
    """Logarithm of the integrand of all n workers in y = ln s, its slope, and its curvature with the sign changed."""
    s = np.exp(y)
    value, slope, curve = y - s, 1.0 - s, s
    for class_index in range(n_classes):
        log_factor, mean, variance = _log_factor(
            pairs.real[class_index], pairs.made[class_index], y - log_points, tau
        )
        value += pairs.times[class_index] * log_factor
        slope += pairs.times[class_index] * mean
        curve -= pairs.times[class_index] * variance
    return value, slope, curve


@lean_jit
def _add_term(at: int, published: int, term: float, pairs: PairSpace) -> float:
    """Add a term to one of the sums, and return its share of the new sum."""
    pairs.sums[at, published] += term
    return term / pairs.sums[at, published] if term > 0.0 else 0.0


@lean_jit
def _add_tables(weight: float, log_s: float, tau: float, n_classes: int, pairs: PairSpace) -> float:
    """Add to the sums for every class of the victim and of the published point, at one s; return the largest share."""
    for class_index in range(n_classes):
        real, made = pairs.real[class_index], pairs.made[class_index]
        here = _log_factor(real, made, log_s, tau)[0]
        pairs.less[0, class_index] = pairs.less[1, class_index] = pairs.less[2, class_index] = 0.0
        if real > 0:
            pairs.less[0, class_index] = np.exp(_log_factor(real - 1, made, log_s, tau)[0] - here)
        if made > 0:
            pairs.less[1, class_index] = np.exp(_log_factor(real, made - 1, log_s, tau)[0] - here)
        if real > 0 and made > 0:
            pairs.less[2, class_index] = np.exp(_log_factor(real - 1, made - 1, log_s, tau)[0] - here)
    largest = 0.0
    for victim in range(n_classes):
        if pairs.real[victim] > 0:
            for class_index in range(n_classes):
                term = weight * pairs.less[0, victim] * pairs.less[1, class_index]
                largest = max(largest, _add_term(victim, class_index, term, pairs))
            largest = max(largest, _add_term(victim, n_classes, weight * pairs.less[2, victim], pairs))
    return largest


@lean_jit
def _set_sums(tau: float, n_points: int, n_classes: int, pairs: PairSpace) -> None:
    """Fill ``pairs.sums``, up to a factor, by the trapezoidal rule around the integrand's peak."""
    log_points = np.log(n_points)
    low, high = _LEAST_LOG, 0.0
    for class_index in range(n_classes):
        high += pairs.times[class_index] * pairs.made[class_index]
        for published in range(n_classes + 1):
            pairs.sums[class_index, published] = 0.0
    high = np.log(high + 2.0)
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        if _integrand(middle, tau, log_points, n_classes, pairs)[1] > 0.0:
            low = middle
        else:
            high = middle
    middle = 0.5 * (low + high)
    peak, _, curve = _integrand(middle, tau, log_points, n_classes, pairs)
    step = min(_LONGEST_STEP, 0.4 / np.sqrt(max(curve, 1.0)))
    for direction in (1.0, -1.0):
        y = middle if direction > 0.0 else middle - step
        largest = 1.0
        while largest > _NEGLIGIBLE:
            value = _integrand(y, tau, log_points, n_classes, pairs)[0]
            largest = _add_tables(np.exp(value - peak), y - log_points, tau, n_classes, pairs)
            y += direction * step


@lean_jit
def _set_ratios(
    victim: int, n_slots: int, n_classes: int, odds: float, space: CellSpace, pairs: PairSpace
) -> None:
    """Logarithms of the likelihood ratios by slot, for a victim in slot ``victim``."""
    sums = pairs.sums[pairs.of_slot[victim]]
    total = 0.0
    for slot in range(n_slots):
        if space.made[space.point[slot]] > 0:
            total += sums[n_classes if slot == victim else pairs.of_slot[slot]]
    for slot in range(n_slots):
        space.log_ratio[slot] = 0.0
        if space.made[space.point[slot]] > 0:
            drawn = sums[n_classes if slot == victim else pairs.of_slot[slot]] / total
            space.log_ratio[slot] = np.log1p((odds - 1.0) * drawn)


@lean_jit
def redraw_beliefs_range(
    bounds: tuple[int, int],
    cells: Cells,
    prior: PriorBeliefs,
    odds: float,
    space: CellSpace,
    pairs: PairSpace,
    predicted: Floats,
) -> int:
    """Fill ``predicted`` [N, 7] for the workers of cells ``bounds``; return -1. ``odds`` is e^epsilon."""
    for cell in range(bounds[0], bounds[1]):
        n_slots = gather(cells, cell, space)
        tract = cells.tract[cell]
        n_points = cells.support_ptr[tract + 1] - cells.support_ptr[tract]
        tau = (odds - 1.0) / (odds - 1.0 + n_points)
        n_classes = _set_pairs(n_slots, space, pairs)
        if cells.workers.ptr[cell] < cells.workers.ptr[cell + 1]:
            _set_sums(tau, n_points, n_classes, pairs)
        rest: Rest = rest_of(cells, cell, prior, space)
        for victim in range(n_slots):
            if space.real[space.point[victim]] > 0:
                _set_ratios(victim, n_slots, n_classes, odds, space, pairs)
                believe(cells, cell, prior, victim, n_slots, rest, space)
        hand_out(cells, cell, n_slots, space, predicted)
    return -1
