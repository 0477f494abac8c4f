"""Likelihood ratios of the Dirichlet-multinomial with pruning, for an attacker who knows every other worker.

LR_i = (o_i + alpha_i + m_i)/(o_i + alpha_i), times 1/f_i if o_i = 0 < m_i, times r_i if o_i = m_i = 0. With
g = Gamma(n + A)/Gamma(n + A + M), A the kept prior mass, r_i = E[g | i kept]/E[g]. For beliefs, ln g is replaced by a
parabola: r_i = 1/(f_i + (1 - f_i) e^(s alpha_i)), s how steeply ln g falls half-way between i pruned and i kept, the
other points at their mean under weights g. It falls most steeply at the least A, which gives a lower bound on r_i.
Where even the bound may break the promise, r_i is found exactly: g = B(n + A, M)/Gamma(M), so E[g] is an integral of
t^(n + A - 1) (1 - t)^(M - 1) times 1 - f_j + f_j t^(alpha_j) for each empty point.

Symbols: as in `engine.audit.kernels.beliefs`; M published workers of the cell, alpha_i prior weight, f_i retention.

Source: docs/theory/method.md, section 7h.
"""

from math import log1p
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
from engine.kernels.arrays import Bools, Floats, Ints, Support
from engine.kernels.units import RETENTION_UNITS, WEIGHT_BITS

__all__ = ["PrunedSpace", "Pruning", "dirichlet_range", "exact_ratios"]

_SERIES_FROM = 8.0
_STEP = 0.25
_NEGLIGIBLE = 42.0  # e^-42 is 6e-19
_STRAIGHT = 1e-5


class Pruning(NamedTuple):
    """Least weight and whether points are pruned, by cell [S]; weight above which a point never is; the promise."""

    min_weight: Ints
    prunes: Bools
    certain_above: int
    epsilon: float


class PrunedSpace(NamedTuple):
    """Scratch space for k points: prior weight, retention, whether the point is empty, factor and ratio."""

    alpha: Floats
    kept: Floats
    empty: Bools
    log_factor: Floats
    ratio: Floats


class _Fall(NamedTuple):
    """How steeply ln g falls with the kept mass, and how fast it falls less steeply."""

    slope: float
    bend: float


@lean_jit
def _digamma(x: float) -> float:
    """Digamma of x >= 1, by its asymptotic series."""
    shifted = 0.0
    while x < _SERIES_FROM:
        shifted -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132))))
    return float(shifted + np.log(x) - 0.5 / x - series)


@lean_jit
def _trigamma(x: float) -> float:
    """Trigamma of x >= 1, by its asymptotic series."""
    shifted = 0.0
    while x < _SERIES_FROM:
        shifted += 1.0 / (x * x)
        x += 1.0
    square = 1.0 / (x * x)
    series = square / x * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))
    return shifted + 1.0 / x + 0.5 * square + series


@lean_jit
def _slope(n: float, mass: float, published: int) -> float:
    """How steeply ln g falls at a kept mass."""
    return _digamma(n + mass + published) - _digamma(n + mass)


@lean_jit
def _fall(n: float, mass: float, published: int) -> _Fall:
    """How ln g falls around a kept mass."""
    bend = _trigamma(n + mass) - _trigamma(n + mass + published)
    return _Fall(_slope(n, mass, published), bend)


@lean_jit
def _inverse(kept: float, alpha: float, fall: _Fall) -> float:
    """1 / r_i; of a point with this weight, a part of ``kept`` is in the mass at which ln g falls so."""
    if kept == 1.0:
        return 1.0
    inverse = kept + (1.0 - kept) * np.exp(fall.slope * alpha)
    if fall.bend * alpha * alpha < _STRAIGHT:
        return float(inverse)
    steepness = max(fall.slope - fall.bend * alpha * (0.5 - kept / inverse), 0.0)
    return float(kept + (1.0 - kept) * np.exp(steepness * alpha))


@lean_jit
def _log_density(y: float, numbers: tuple[float, int], space: PrunedSpace) -> float:
    """Logarithm of the integrand at t = 1 / (1 + e^-y), and each empty point's factor in ``space.log_factor``."""
    n_sure, published = numbers
    log_t = -log1p(np.exp(-y)) if y > 0.0 else y - log1p(np.exp(y))
    total = n_sure * log_t + published * (log_t - y)
    for point in range(space.alpha.size):
        if space.empty[point]:
            factor = log1p(space.kept[point] * np.expm1(space.alpha[point] * log_t))
            space.log_factor[point] = space.alpha[point] * log_t - factor
            total += factor
    return total


@lean_jit
def exact_ratios(n_sure: float, published: int, space: PrunedSpace) -> None:
    """Fill ``space.ratio`` with r_i of the empty points, by the trapezoidal rule in y = ln(t / (1 - t)).

    ``n_sure`` is n and the prior mass that is certainly kept.
    """
    numbers = (n_sure, published)
    mean = n_sure
    for point in range(space.alpha.size):
        space.ratio[point] = 0.0
        if space.empty[point]:
            mean += space.kept[point] * space.alpha[point]
    step = min(_STEP, 0.4 * np.sqrt(1.0 / mean + 1.0 / published))
    middle = np.log(mean / published)
    peak = _log_density(middle, numbers, space)
    total = 0.0
    for direction in (1.0, -1.0):
        y = middle if direction > 0.0 else middle - step
        here = _log_density(y, numbers, space)
        while here > peak - _NEGLIGIBLE:
            weight = np.exp(here - peak)
            total += weight
            for point in range(space.alpha.size):
                if space.empty[point]:
                    space.ratio[point] += weight * np.exp(space.log_factor[point])
            y += direction * step
            here = _log_density(y, numbers, space)
    for point in range(space.alpha.size):
        space.ratio[point] /= total


@lean_jit
def _set_points(
    cells: Cells, cell: int, support: Support, pruning: Pruning, space: CellSpace, pruned: PrunedSpace
) -> tuple[float, float, float]:
    """Prior weights and retentions of a cell's points; return the sure and the mean kept mass, and the heaviest.

    Points are empty if they hold neither real nor published workers. The heaviest is that of the empty points which
    may be pruned.
    """
    tract = cells.tract[cell]
    first = cells.support_ptr[tract]
    sure = mean = heaviest = 0.0
    for point in range(cells.support_ptr[tract + 1] - first):
        weight = max(support.prior_weight[first + point], pruning.min_weight[cell])
        alpha, kept = weight / (1 << WEIGHT_BITS), 1.0
        if pruning.prunes[cell] and weight <= pruning.certain_above:
            kept = support.retention[first + point] / RETENTION_UNITS
        pruned.alpha[point], pruned.kept[point] = alpha, kept
        pruned.empty[point] = space.real[point] == 0 and space.made[point] == 0
        if not pruned.empty[point]:
            sure += alpha
            mean += alpha
            continue
        mean += kept * alpha
        if kept < 1.0:
            heaviest = max(heaviest, alpha)
        else:
            sure += alpha
            pruned.empty[point] = False  # kept for certain: it is a factor of nothing
    return sure, mean, heaviest


@lean_jit
def _tilt_mean(n: float, published: int, mean: float, pruned: PrunedSpace) -> float:
    """The mean of the kept mass under weights g, from the plain mean."""
    fall = _fall(n, mean, published)
    for point in range(pruned.alpha.size):
        if pruned.empty[point]:
            alpha, kept = pruned.alpha[point], pruned.kept[point]
            mean -= kept * alpha * (1.0 - 1.0 / _inverse(kept, alpha, fall))
    return mean


@lean_jit
def _pruned_rest(
    cells: Cells,
    cell: int,
    prior: PriorBeliefs,
    rest: Rest,
    fall: _Fall,
    space: CellSpace,
    pruned: PrunedSpace,
) -> Rest:
    """The rest with the ratios r_i, each of which is 1 at most."""
    tract = cells.tract[cell]
    first = cells.support_ptr[tract]
    total, best_point, best, best_prior, most_inverse, least_inverse = 0.0, -1, 0.0, 0.0, 0.0, np.inf
    for place in range(first, cells.support_ptr[tract + 1]):
        point = prior.order[place]
        if space.real[point] > 0 or space.made[point] > 0:
            continue
        inverse = _inverse(pruned.kept[point], pruned.alpha[point], fall)
        belief = prior.scale[tract] * prior.weight[first + point]
        posterior = belief / inverse
        total += posterior
        most_inverse, least_inverse = max(most_inverse, inverse), min(least_inverse, inverse)
        # In the order of falling prior beliefs, so that the first of equal ones is ahead.
        if best_point < 0 or posterior > best:
            best_point, best, best_prior = point, posterior, belief
    return Rest(
        rest.prior,
        rest.point,
        rest.best,
        total,
        best_point,
        best_prior,
        best,
        0.0,
        -np.log(most_inverse),
        -np.log(least_inverse),
    )


@lean_jit
def _least_exact(n_sure: float, published: int, pruned: PrunedSpace) -> float:
    """Logarithm of the least r_i, exactly."""
    exact_ratios(n_sure, published, pruned)
    least = 1.0
    for point in range(pruned.alpha.size):
        if pruned.empty[point]:
            least = min(least, pruned.ratio[point])
    return float(np.log(least))


@lean_jit
def _set_ratios(victim: int, n_slots: int, fall: _Fall, space: CellSpace, pruned: PrunedSpace) -> float:
    """Logarithms of the likelihood ratios by slot, for a victim in slot ``victim``; return the largest."""
    most = 0.0
    for slot in range(n_slots):
        point = space.point[slot]
        others = space.real[point] - (1 if slot == victim else 0)
        alpha = pruned.alpha[point]
        if others == 0 and space.made[point] == 0:
            space.log_ratio[slot] = -np.log(_inverse(pruned.kept[point], alpha, fall))
            continue
        ratio = np.log((others + alpha + space.made[point]) / (others + alpha))
        if others == 0:
            ratio -= np.log(pruned.kept[point])
        space.log_ratio[slot] = ratio
        most = max(most, ratio)
    return most


@lean_jit
def dirichlet_range(
    bounds: tuple[int, int],
    cells: Cells,
    prior: PriorBeliefs,
    support: Support,
    pruning: Pruning,
    space: CellSpace,
    pruned: PrunedSpace,
    predicted: Floats,
) -> int:
    """Fill ``predicted`` [N, 7] for the workers of cells ``bounds``; return -1."""
    for cell in range(bounds[0], bounds[1]):
        n_slots = gather(cells, cell, space)
        n = cells.workers.ptr[cell + 1] - cells.workers.ptr[cell]
        published = cells.published.ptr[cell + 1] - cells.published.ptr[cell]
        k = cells.support_ptr[cells.tract[cell] + 1] - cells.support_ptr[cells.tract[cell]]
        here = PrunedSpace(
            pruned.alpha[:k], pruned.kept[:k], pruned.empty[:k], pruned.log_factor[:k], pruned.ratio[:k]
        )
        sure, mean, heaviest = _set_points(cells, cell, support, pruning, space, here)
        plain = rest_of(cells, cell, prior, space)
        mean = _tilt_mean(n, published, mean, here)
        usual = _fall(n, mean, published)
        rest = plain
        if plain.point >= 0 and heaviest > 0.0:
            rest = _pruned_rest(cells, cell, prior, plain, usual, space, here)
        for victim in range(n_slots):
            point = space.point[victim]
            if space.real[point] == 0:
                continue
            alpha, kept = here.alpha[point], here.kept[point]
            vacates = space.real[point] == 1 and space.made[point] == 0 and kept < 1.0
            lost = alpha if vacates else 0.0
            fall, of_rest = usual, rest
            if vacates:
                fall = _fall(n, mean - alpha + alpha * kept / _inverse(kept, alpha, usual), published)
                if plain.point >= 0:
                    of_rest = _pruned_rest(cells, cell, prior, plain, fall, space, here)
            most = _set_ratios(victim, n_slots, fall, space, here)
            believe(cells, cell, prior, victim, n_slots, of_rest, space)
            heavy = max(heaviest, lost)
            steeper = _slope(n, sure - lost, published) - fall.slope + 0.5 * fall.bend * heavy
            if heavy > 0.0 and space.found[victim, 6] + steeper * heavy > pruning.epsilon:
                here.empty[point] = vacates
                least = _least_exact(n + sure - lost, published, here)
                here.empty[point] = False
                space.found[victim, 6] = most - least
        hand_out(cells, cell, n_slots, space, predicted)
    return -1
