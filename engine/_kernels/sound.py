"""Compiled parts of the sound accountant: thresholds, tails, the kept prior mass, and the search for weights.

Symbols, as in docs/method.md section 5b: n likelihood count, m published count, alpha_i prior weight, f_i
retention, e = e^epsilon_final, kappa the growth that a vanishing point can cause, x workers in a point, A the
kept prior mass. Weights are int64 multiples of 2^-20 ("units"), retentions of 2^-32. Points of one synthesizer
come sorted by (alpha, f), so that equal points share a tail and a larger f at equal alpha has a smaller one.

Margins, each on the unfavourable side: e is lowered by 1e-12 of itself before it gets here; kappa carries the
rounding bound of its logarithms (`SLACK` times the magnitudes of the terms) and 1e-12; thresholds are lowered by
1e-12 of themselves, which covers their three roundings; tails carry the rounding bound of their first term and
1e-9 of themselves for at most 1e6 additions; the exponent of the Chernoff bound is raised by 1e-9 of its larger
term and 1e-9, and sums by 1e-12 of themselves.
"""

import math

import numpy as np

from engine._jit import jit
from engine._kernels.reference_sample import (
    SLACK,
    WEIGHT_UNITS,
    Floats,
    Ints,
    upper_tail,
)

RETENTION_UNITS = 1 << 32
KAPPA, MASS, RATE, MASS_TERM, EMPTY, OCCUPIED, DELTA = range(7)
N_TERMS = 7
_MARGIN = 1e-12


@jit
def growth(n: int, m: int, alpha: float) -> float:
    """R = gamma(n) gamma(n+m+alpha) / (gamma(n+m) gamma(n+alpha)), rounded up; n at least 1."""
    small, large = math.lgamma(float(n)), math.lgamma(n + m + alpha)
    whole, part = math.lgamma(float(n + m)), math.lgamma(n + alpha)
    size = 1.0 + abs(small) + abs(large) + abs(whole) + abs(part)
    return math.exp(small + large - whole - part + SLACK * size) * (1.0 + _MARGIN)


@jit
def kappa_of_point(n: int, m: int, weight: int, retention: int) -> float:
    """f + (1 - f) R of one point; 1 where it cannot be pruned."""
    if retention >= RETENTION_UNITS:
        return 1.0
    f = retention / RETENTION_UNITS
    return f + (1.0 - f) * growth(n, m, weight / WEIGHT_UNITS)


@jit
def threshold(factor: float, mass: float) -> float:
    """(factor - 1) mass, rounded down; outputs above it can fail."""
    return (factor * (1.0 - _MARGIN) - 1.0) * mass


@jit
def occupied_tails(
    n: int, m: int, alpha: float, f: float, e: float, kappa: float, mass_low: float
) -> tuple[float, float]:
    """Of a point with x = 1 .. n workers: the largest tail per worker, and the largest tail."""
    rest = max(mass_low - alpha, 0.0)
    first = upper_tail(threshold(f * e / kappa, alpha), n, m, 1, alpha, rest)
    per_worker, most = first, first
    x = 2
    while x <= n:
        limit = threshold(e / kappa, alpha + x - 1.0)
        if limit >= m:
            break
        tail = upper_tail(limit, n, m, x, alpha, rest)
        per_worker = max(per_worker, tail / x)
        most = max(most, tail)
        x += 1
    return per_worker, most


@jit
def failure_terms(
    n: int,
    m: int,
    alpha: Ints,
    retention: Ints,
    e: float,
    kappa: float,
    mass_low: float,
    negligible: float,
) -> tuple[float, float]:
    """Bounds on the chance that a point without workers fails, and that one with workers does.

    The first is the sum of f_i g_i(0); the second the smaller of n max g_i(x)/x (there are n workers) and the sum
    over points of max_x g_i(x) - f_i g_i(0) (a point holds one count only). At equal alpha a larger f raises
    the threshold, so once a tail is below `negligible` it stands for those of all larger f.
    """
    empty, per_worker, surplus = 0.0, 0.0, 0.0
    at_zero, worker, most = 0.0, 0.0, 0.0
    for i in range(alpha.shape[0]):
        fresh = i == 0 or alpha[i] != alpha[i - 1]
        f = retention[i] / RETENTION_UNITS
        if f * e < kappa:
            return 1.0, 1.0
        if fresh or retention[i] != retention[i - 1]:
            weight = alpha[i] / WEIGHT_UNITS
            if fresh or at_zero > negligible:
                limit = threshold(f * e / kappa, weight)
                at_zero = upper_tail(limit, n, m, 0, weight, max(mass_low - weight, 0.0))
            if fresh or most > negligible:
                worker, most = occupied_tails(n, m, weight, f, e, kappa, mass_low)
        empty += f * at_zero
        per_worker = max(per_worker, worker)
        surplus += max(most - f * at_zero, 0.0)
    return empty * (1.0 + _MARGIN), min(n * per_worker, surplus) * (1.0 + _MARGIN)


@jit
def certain_mass(alpha: Ints, retention: Ints) -> int:
    """Prior mass of the points that are never pruned, in units."""
    mass = 0
    for i in range(alpha.shape[0]):
        if retention[i] >= RETENTION_UNITS:
            mass += alpha[i]
    return mass


@jit
def log_laplace(alpha: Ints, retention: Ints, rate: float) -> float:
    """Log of E[exp(-rate A)], A the kept prior mass in workers."""
    total, value = 0.0, 0.0
    for i in range(alpha.shape[0]):
        if i == 0 or alpha[i] != alpha[i - 1] or retention[i] != retention[i - 1]:
            f = retention[i] / RETENTION_UNITS
            weight = alpha[i] / WEIGHT_UNITS
            value = -rate * weight if f >= 1.0 else math.log1p(f * math.expm1(-rate * weight))
        total += value
    return total


@jit
def mass_term(alpha: Ints, retention: Ints, mass_low: int, rate: float) -> float:
    """Chernoff bound of P(A < mass_low): exp(rate mass_low) E[exp(-rate A)]; 0 where A cannot be less."""
    if mass_low <= certain_mass(alpha, retention):
        return 0.0
    whole = rate * (mass_low / WEIGHT_UNITS)
    exponent = whole + log_laplace(alpha, retention, rate)
    return math.exp(min(exponent + 1e-9 * (1.0 + whole), 0.0))


@jit
def probable_mass(alpha: Ints, retention: Ints, log_chance: float) -> tuple[int, float]:
    """Largest found mass, in units, that A falls below with at most this chance, and the Chernoff rate."""
    variance = 1e-300
    for i in range(alpha.shape[0]):
        f = retention[i] / RETENTION_UNITS
        variance += f * (1.0 - f) * (alpha[i] / WEIGHT_UNITS) ** 2
    rate = math.sqrt(-2.0 * log_chance / variance)
    best, best_rate = 0.0, rate
    for _ in range(8):
        mass = (log_chance - log_laplace(alpha, retention, rate)) / rate
        if mass <= best and rate != best_rate:
            break
        if mass > best:
            best, best_rate = mass, rate
        rate *= 1.5
    return max(int(best * (1.0 - 1e-6) * WEIGHT_UNITS), certain_mass(alpha, retention)), best_rate


@jit
def tail_kappas(n: int, m: int, base: Ints, retention: Ints, kappas: Floats) -> int:
    """Fill the largest kappa from each point on (`kappas` has one entry more); return the least retention.

    Points are sorted by base weight; those never pruned have retention 2^32.
    """
    least = RETENTION_UNITS
    k = base.shape[0]
    kappas[k] = 1.0
    for i in range(k - 1, -1, -1):
        kappas[i] = max(kappas[i + 1], kappa_of_point(n, m, base[i], retention[i]))
        least = min(least, retention[i])
    return least


@jit
def weights_used(weight: int, base: Ints, retention: Ints, alpha: Ints, kept: Ints) -> None:
    """Fill the weights and retentions that the sampler uses, sorted by (alpha, f).

    A point above one worker's weight is never pruned; `retention` says so already where `base` is.
    """
    raised = np.searchsorted(base, weight, side="right")
    alpha[:raised] = weight
    kept[:raised] = np.sort(retention[:raised])
    if weight > WEIGHT_UNITS:
        kept[:raised] = RETENTION_UNITS
    alpha[raised:] = base[raised:]
    kept[raised:] = retention[raised:]


@jit
def weigh(
    n: int,
    m: int,
    alpha: Ints,
    kept: Ints,
    e: float,
    kappa: float,
    log_chances: Floats,
    terms: Floats,
) -> None:
    """Fill `terms` with the least bound over kept masses: the certain mass, and one for each log chance."""
    terms[KAPPA], terms[DELTA] = kappa, np.inf
    for j in range(-1, log_chances.shape[0]):
        mass, rate = certain_mass(alpha, kept), 0.0
        if j >= 0:
            mass, rate = probable_mass(alpha, kept, log_chances[j])
        lost = mass_term(alpha, kept, mass, rate)
        empty, occupied = failure_terms(n, m, alpha, kept, e, kappa, mass / WEIGHT_UNITS, 0.0)
        delta = min((lost + empty + occupied) * (1.0 + _MARGIN), 1.0)
        if delta < terms[DELTA]:
            terms[MASS], terms[RATE], terms[MASS_TERM] = mass, rate, lost
            terms[EMPTY], terms[OCCUPIED], terms[DELTA] = empty, occupied, delta
        if empty + occupied == 0.0:
            break


@jit
def bound_classes(
    support_ptr: Ints,
    class_tract: Ints,
    counts: tuple[Ints, Ints],
    base: Ints,
    retention: Ints,
    e: float,
    log_chances: Floats,
    min_weight: Ints,
    terms: Floats,
    used: Ints,
) -> None:
    """Fill the terms [n_classes, N_TERMS] of weights max(min_weight, base), whoever chose them.

    `used` [n_classes, 4] gets the least weight, the summed weight, the least retention of points that can be
    pruned (2^32 where there are none), and the points.
    """
    for j in range(class_tract.shape[0]):
        t = class_tract[j]
        points = slice(support_ptr[t], support_ptr[t + 1])
        k = support_ptr[t + 1] - support_ptr[t]
        alpha, kept, kappas = np.empty(k, np.int64), np.empty(k, np.int64), np.empty(k + 1)
        weights_used(min_weight[j], base[points], retention[points], alpha, kept)
        n, m = counts[0][j], counts[1][j]
        used[j, 0], used[j, 1], used[j, 2], used[j, 3] = alpha[0], alpha.sum(), kept.min(), k
        terms[j] = 0.0
        terms[j, KAPPA] = 1.0
        if m > 0:
            tail_kappas(n, m, alpha, kept, kappas)
            weigh(n, m, alpha, kept, e, kappas[0], log_chances, terms[j])
