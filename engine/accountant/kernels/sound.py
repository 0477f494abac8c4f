"""Compiled parts of the sound accountant: thresholds, tails, and the kept prior mass of one synthesizer.

Symbols, as in docs/theory/method.md, section 5b: n likelihood count, m published count, alpha_i prior weight, f_i
retention, e = e^epsilon_final, kappa the growth that a vanishing point can cause, x workers in a point, A the
kept prior mass. Weights are int64 multiples of 2^-20 ("units"), retentions of 2^-32.

Points with the same weight and retention are one group (`Groups`). Groups are sorted by alpha and then
by f, so that the points of one weight follow each other and thresholds rise among them. One pass over the
terms of a beta-binomial then gives the tails of all of them.

Margins, each on the unfavourable side: e is lowered by 1e-12 of itself before it gets here; kappa carries the
rounding bound of its logarithms (`SLACK` times the magnitudes of the terms) and 1e-12; thresholds are lowered by
1e-12 of themselves, which covers their three roundings; tails carry the rounding bound of their first term and
1e-9 of themselves for at most 1e6 additions; the exponent of the Chernoff bound is raised by 1e-9 of its larger
term and 1e-9, and sums by 1e-12 of themselves.
"""

import math
from typing import NamedTuple

import numpy as np

from engine.accountant.kernels.reference_sample import SLACK, upper_tails
from engine.jit import lean_jit
from engine.kernels.arrays import Floats, Ints
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS

KAPPA, MASS, RATE, MASS_TERM, EMPTY, OCCUPIED, DELTA = range(7)
N_TERMS = 7
RUN = 256
"""Entries of each row of scratch space for tails; a longer run is bounded by its last entry."""

MARGIN = 1e-12
_LEAST_PRODUCT = 1e-250  # times the least factor, 2^-32, still far above the least normal number


class Groups(NamedTuple):
    """Weights, retentions and numbers of points that share both, sorted by weight and then by retention."""

    alpha: Ints
    retention: Ints
    times: Ints


class CountPair(NamedTuple):
    """n and m of a class, and log gamma(n) and log gamma(n + m), which all its points share."""

    n: int
    m: int
    log_n: float
    log_both: float


@lean_jit
def first_groups(groups: Groups, k: int) -> Groups:
    """The first k groups."""
    return Groups(groups.alpha[:k], groups.retention[:k], groups.times[:k])


@lean_jit
def count_pair(n: int, m: int) -> CountPair:
    """Both counts, n at least 1, and their logarithms of gamma."""
    return CountPair(n, m, math.lgamma(float(n)), math.lgamma(float(n + m)))


@lean_jit
def growth(counts: CountPair, alpha: float) -> float:
    """R = gamma(n) gamma(n+m+alpha) / (gamma(n+m) gamma(n+alpha)), rounded up."""
    n, m, small, whole = counts
    large, part = math.lgamma(n + m + alpha), math.lgamma(n + alpha)
    size = 1.0 + abs(small) + abs(large) + abs(whole) + abs(part)
    return math.exp(small + large - whole - part + SLACK * size) * (1.0 + MARGIN)


@lean_jit
def kappa_of_point(counts: CountPair, weight: int, retention: int) -> float:
    """f + (1 - f) R of one point; 1 where it cannot be pruned."""
    if retention >= RETENTION_UNITS:
        return 1.0
    f = retention / RETENTION_UNITS
    return f + (1.0 - f) * growth(counts, weight / WEIGHT_UNITS)


@lean_jit
def kappa_of_groups(n: int, m: int, groups: Groups) -> float:
    """Largest kappa of all points. It falls with f, so of each weight the group with the least f is enough."""
    alpha, retention, _ = groups
    counts, kappa = count_pair(n, m), 1.0
    for i in range(alpha.shape[0]):
        if i == 0 or alpha[i] != alpha[i - 1]:
            kappa = max(kappa, kappa_of_point(counts, alpha[i], retention[i]))
    return kappa


@lean_jit
def threshold(factor: float, mass: float) -> float:
    """(factor - 1) mass, rounded down; outputs above it can fail."""
    return (factor * (1.0 - MARGIN) - 1.0) * mass


@lean_jit
def crowded_tails(
    n: int, m: int, alpha: float, growth_left: float, rest: float, room: Floats
) -> tuple[float, float]:
    """Of a point with x = 2 .. n workers: the largest tail per worker, and the largest tail.

    `growth_left` is e / kappa; f takes no part. `room` is scratch space [1].
    """
    per_worker, most = 0.0, 0.0
    for x in range(2, n + 1):
        limit = threshold(growth_left, alpha + x - 1.0)
        if limit >= m:
            break
        upper_tails(limit, n, m, x, alpha, rest, room)
        per_worker = max(per_worker, room[0] / x)
        most = max(most, room[0])
    return per_worker, most


@lean_jit
def failure_terms(
    n: int,
    m: int,
    groups: Groups,
    e: float,
    kappa: float,
    mass_low: float,
    enough: float,
    runs: Floats,
) -> tuple[float, float]:
    """Bounds on the chance that a point without workers fails, and that one with workers does.

    The first is the sum of f_i g_i(0); the second the smaller of n max g_i(x)/x (there are n workers) and the sum
    over points of max_x g_i(x) - f_i g_i(0) (a point holds one count only). Stops once the first is past `enough`.
    `runs` is scratch space [3, RUN]: tails without a worker and with one, from floor(`limit`) = `begun` on; one tail.
    """
    alpha, retention, times = groups
    empty, per_worker, surplus = 0.0, 0.0, 0.0
    crowded_worker, crowded = 0.0, 0.0
    begun, n_empty, n_single = 0, 0, 0
    for i in range(alpha.shape[0]):
        weight, f = alpha[i] / WEIGHT_UNITS, retention[i] / RETENTION_UNITS
        if f * e < kappa:
            return 1.0, 1.0
        rest = max(mass_low - weight, 0.0)
        if i == 0 or alpha[i] != alpha[i - 1]:
            if empty > enough:
                return empty, 1.0
            n_empty = 0
            crowded_worker, crowded = crowded_tails(n, m, weight, e / kappa, rest, runs[2, :1])
        limit = threshold(f * e / kappa, weight)
        at_zero, single = 0.0, 0.0
        if limit < m:
            # A run that starts before the mode says 1 and nothing of the points after it.
            if n_empty == 0 or runs[0, 0] >= 1.0 or runs[1, 0] >= 1.0:
                begun = math.floor(limit)
                for x in range(2):
                    n_empty, n_single = n_single, upper_tails(limit, n, m, x, weight, rest, runs[x])
            later = math.floor(limit) - begun
            at_zero = runs[0, min(later, n_empty - 1)]
            single = runs[1, min(later, n_single - 1)]
        empty += times[i] * f * at_zero
        per_worker = max(per_worker, max(single, crowded_worker))
        surplus += times[i] * max(max(single, crowded) - f * at_zero, 0.0)
    return empty * (1.0 + MARGIN), min(n * per_worker, surplus) * (1.0 + MARGIN)


@lean_jit
def prior_mass(groups: Groups) -> tuple[int, int]:
    """Prior mass of the points that are never pruned, and of all, in units."""
    alpha, retention, times = groups
    certain, whole = 0, 0
    for i in range(alpha.shape[0]):
        whole += alpha[i] * times[i]
        if retention[i] >= RETENTION_UNITS:
            certain += alpha[i] * times[i]
    return certain, whole


@lean_jit
def log_laplace(groups: Groups, rate: float) -> tuple[float, float, float]:
    """Log of E[exp(-rate A)], A the kept prior mass in workers, and its first two derivatives by the rate.

    Factors of single points are multiplied before their logarithm is taken.
    """
    alpha, retention, times = groups
    value, slope, curve, product = 0.0, 0.0, 0.0, 1.0
    weight, lost = 0.0, 0.0
    for i in range(alpha.shape[0]):
        if i == 0 or alpha[i] != alpha[i - 1]:
            weight = alpha[i] / WEIGHT_UNITS
            lost = math.expm1(-rate * weight)
        if retention[i] >= RETENTION_UNITS:
            value -= times[i] * (rate * weight)
            slope -= times[i] * weight
            continue
        f = retention[i] / RETENTION_UNITS
        factor = 1.0 + f * lost
        if times[i] == 1:
            product *= factor
            if product < _LEAST_PRODUCT:
                value += math.log(product)
                product = 1.0
        else:
            value += times[i] * math.log1p(f * lost)
        kept = f * (1.0 + lost) / factor
        slope -= times[i] * (weight * kept)
        curve += times[i] * (weight * weight * kept * (1.0 - kept))
    return value + math.log(product), slope, curve


@lean_jit
def mass_term(groups: Groups, mass_low: int, rate: float) -> float:
    """Chernoff bound of P(A < mass_low): exp(rate mass_low) E[exp(-rate A)]; 0 where A cannot be less."""
    if mass_low <= prior_mass(groups)[0]:
        return 0.0
    whole = rate * (mass_low / WEIGHT_UNITS)
    exponent = whole + log_laplace(groups, rate)[0]
    return math.exp(min(exponent + 1e-9 * (1.0 + whole), 0.0))


@lean_jit
def probable_mass(groups: Groups, log_chance: float) -> tuple[int, float]:
    """Largest found mass, in units, that A falls below with at most this chance, and the Chernoff rate.

    Newton's steps from the rate that would be best for a normal A; the mass is flat about the best one.
    """
    alpha, retention, times = groups
    variance = 1e-300
    for i in range(alpha.shape[0]):
        f = retention[i] / RETENTION_UNITS
        variance += times[i] * (f * (1.0 - f) * (alpha[i] / WEIGHT_UNITS) ** 2)
    rate = math.sqrt(-2.0 * log_chance / variance)
    best, best_rate = 0.0, rate
    for _ in range(8):
        value, slope, curve = log_laplace(groups, rate)
        mass = (log_chance - value) / rate
        if mass > best:
            best, best_rate = mass, rate
        wanted = rate + (value - rate * slope - log_chance) / max(rate * curve, 1e-300)
        wanted = min(max(wanted, 0.25 * rate), 4.0 * rate)
        if abs(wanted - rate) < 1e-3 * rate:
            break
        rate = wanted
    return max(int(best * (1.0 - 1e-6) * WEIGHT_UNITS), prior_mass(groups)[0]), best_rate


@lean_jit
def weigh(
    n: int,
    m: int,
    groups: Groups,
    e: float,
    kappa: float,
    log_chances: Floats,
    enough: float,
    runs: Floats,
    terms: Floats,
) -> None:
    """Fill `terms` with the least bound over kept masses: the certain mass, and one for each log chance.

    The first that brings the bound within `enough` is taken.
    """
    terms[KAPPA], terms[DELTA] = kappa, np.inf
    for j in range(-1, log_chances.shape[0]):
        mass, rate = prior_mass(groups)[0], 0.0
        if j >= 0:
            mass, rate = probable_mass(groups, log_chances[j])
        lost = mass_term(groups, mass, rate)
        empty, occupied = failure_terms(n, m, groups, e, kappa, mass / WEIGHT_UNITS, np.inf, runs)
        delta = min((lost + empty + occupied) * (1.0 + MARGIN), 1.0)
        if delta < terms[DELTA]:
            terms[MASS], terms[RATE], terms[MASS_TERM] = mass, rate, lost
            terms[EMPTY], terms[OCCUPIED], terms[DELTA] = empty, occupied, delta
        if delta <= enough or empty + occupied == 0.0:
            break
