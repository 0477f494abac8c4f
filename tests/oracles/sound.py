"""Plain twin of the sound accountant, written from docs/theory/method.md, section 5b: its first bound, term by term.

The kept prior mass has its exact distribution here, so these numbers can lie on either side of the engine's:
below where Chernoff's inequality is wide, above where the engine's bound on the workers' term is the smaller.
"""

import itertools
import math
from collections.abc import Sequence

from tests.oracles.accountant import log_beta_binomial


def kappa(n: int, m: int, alpha: Sequence[float], retention: Sequence[float]) -> float:
    """Largest f + (1 - f) R over the points that can be pruned."""

    def growth(a: float) -> float:
        return math.exp(math.lgamma(n) + math.lgamma(n + m + a) - math.lgamma(n + m) - math.lgamma(n + a))

    return max((f + (1 - f) * growth(a) for a, f in zip(alpha, retention, strict=True) if f < 1), default=1.0)


def threshold(x: int, a: float, f: float, e: float, kappa_value: float) -> float:
    """What m_i must exceed to fail, with x workers in the point."""
    return (f * e / kappa_value - 1) * a if x <= 1 else (e / kappa_value - 1) * (a + x - 1)


def tail(x: int, a: float, f: float, n: int, m: int, e: float, kappa_value: float, mass: float) -> float:
    """g(x; A): the chance of more than the threshold."""
    limit, rest = threshold(x, a, f, e, kappa_value), max(mass - a, 0.0)
    if limit < 0 or (x == n and rest == 0):
        return 1.0 if limit < m else 0.0
    return math.fsum(math.exp(log_beta_binomial(y, n, m, x, a, rest)) for y in range(m + 1) if y > limit)


def kept_masses(alpha: Sequence[float], retention: Sequence[float]) -> list[tuple[float, float]]:
    """Every kept mass and the chance that less is kept, by listing the subsets."""
    chances: dict[float, float] = {}
    for kept in itertools.product((False, True), repeat=len(alpha)):
        mass = math.fsum(a for a, stays in zip(alpha, kept, strict=True) if stays)
        chance = math.prod(f if stays else 1 - f for f, stays in zip(retention, kept, strict=True))
        chances[mass] = chances.get(mass, 0.0) + chance
    return _below(sorted(chances.items()))


def kept_masses_uniform(k: int, alpha: float, retention: float) -> list[tuple[float, float]]:
    """The same for k equal points: a binomial number of them is kept."""
    logs = [
        math.lgamma(k + 1)
        - math.lgamma(j + 1)
        - math.lgamma(k - j + 1)
        + (j * math.log(retention) if j else 0.0)
        + ((k - j) * math.log1p(-retention) if j < k else 0.0)
        for j in range(k + 1)
        if retention < 1 or j == k
    ]
    first = 0 if retention < 1 else k
    return _below([((first + j) * alpha, math.exp(value)) for j, value in enumerate(logs)])


def _below(chances: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    below, listed = 0.0, []
    for mass, chance in chances:
        listed.append((mass, below))
        below += chance
    return listed


def sound_delta(
    n: int,
    m: int,
    groups: Sequence[tuple[float, float, int]],
    masses: Sequence[tuple[float, float]],
    epsilon_final: float,
) -> float:
    """delta* by docs/theory/method.md, section 5b; `groups` lists (alpha, f, number of points)."""
    e = math.exp(epsilon_final)
    value = kappa(n, m, [a for a, _, _ in groups], [f for _, f, _ in groups])
    if any(f * e < value for _, f, _ in groups):
        return 1.0
    best = 1.0
    for mass, below in masses:
        if below >= best:
            break
        empty = math.fsum(count * f * tail(0, a, f, n, m, e, value, mass) for a, f, count in groups)
        occupied = max(
            (tail(x, a, f, n, m, e, value, mass) / x for a, f, _ in groups for x in _able(n, m, a, e, value)),
            default=0.0,
        )
        best = min(best, below + empty + n * occupied)
    return best


def _able(n: int, m: int, a: float, e: float, value: float) -> list[int]:
    """Numbers of workers whose threshold lies below m."""
    return [x for x in range(1, n + 1) if x == 1 or threshold(x, a, 1.0, e, value) < m]


def used_points(weight: int, base: Sequence[int], retention: Sequence[int]) -> list[tuple[int, int]]:
    """Weights max(weight, base) in units and the retentions that go with them, point by point, sorted."""
    raised = [max(a, weight) for a in base]
    return sorted((a, 1 << 32 if a > 1 << 20 else f) for a, f in zip(raised, retention, strict=True))


def failure_terms(
    n: int, m: int, points: Sequence[tuple[float, float]], e: float, kappa_value: float, mass_low: float
) -> tuple[float, float]:
    """The two tail terms of the bound in docs/theory/method.md, section 5b, from every tail; points are (alpha, f)."""
    empty, per_worker, surplus = 0.0, 0.0, 0.0
    for a, f in points:
        if f * e < kappa_value:
            return 1.0, 1.0
        at_zero = f * tail(0, a, f, n, m, e, kappa_value, mass_low)
        tails = [tail(x, a, f, n, m, e, kappa_value, mass_low) for x in range(1, n + 1)]
        empty += at_zero
        per_worker = max([per_worker, *(g / x for x, g in enumerate(tails, 1))])
        surplus += max(max(tails) - at_zero, 0.0)
    return empty, min(n * per_worker, surplus)


def chernoff_mass(points: Sequence[tuple[float, float]], log_chance: float) -> float:
    """Best of many rates: the mass that A falls below with at most this chance; points are (alpha, f)."""

    def log_laplace(rate: float) -> float:
        return math.fsum(math.log1p(f * math.expm1(-rate * a)) if f < 1 else -rate * a for a, f in points)

    rates = [math.exp(j / 20) for j in range(-120, 241)]
    certain = math.fsum(a for a, f in points if f == 1)
    return max(certain, *((log_chance - log_laplace(rate)) / rate for rate in rates))
