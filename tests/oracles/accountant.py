"""Plain twins of the paper accountant, written from P08 Theorems 4.1 and 4.4 and Definition 7."""

import math
from collections.abc import Sequence


def edge(x: int, m: int, c: float, a1: float) -> float:
    """f(x): the most synthetic workers a point with x workers may get."""
    return min(m, c * (a1 + max(x - 1, 0)))


def log_beta_binomial(y: float, n: int, m: int, x: int, first: float, rest: float) -> float:
    """Log probability of y (real) in a beta-binomial(m; x + first, n - x + rest)."""

    def log_beta(p: float, q: float) -> float:
        return math.lgamma(p) + math.lgamma(q) - math.lgamma(p + q)

    choose = math.lgamma(m + 1) - math.lgamma(y + 1) - math.lgamma(m - y + 1)
    return choose + log_beta(x + y + first, n - x + m - y + rest) - log_beta(x + first, n - x + rest)


def reference_zero_sample(n: int, m: int, a1: float, a2: float, c: float) -> float:
    """Definition 7, over every x."""
    return max(math.exp(log_beta_binomial(edge(x, m, c, a1), n, m, x, a1, a2)) for x in range(n + 1))


def theorem_4_4_bound(n: int, alpha: Sequence[float], epsilon: float) -> float:
    """delta by Theorem 4.4 for the weights alpha, m = n."""
    rho = reference_zero_sample(n, n, min(alpha), math.fsum(alpha) - min(alpha), math.expm1(epsilon))
    return rho * 2 * len(alpha) * math.exp(epsilon) / (math.exp(epsilon) - 2)


def upper_tail(threshold: float, n: int, m: int, x: int, first: float, rest: float) -> float:
    """P(beta-binomial > threshold), term by term."""
    return math.fsum(
        math.exp(log_beta_binomial(y, n, m, x, first, rest)) for y in range(m + 1) if y > threshold
    )


def direct_bound(n: int, alpha: Sequence[float], epsilon: float) -> float:
    """Union bound over the points of the worst table of n = m workers."""
    c, total = math.expm1(epsilon), math.fsum(alpha)

    def tail(x: int, weight: float) -> float:
        return upper_tail(c * (weight + max(x - 1, 0)), n, n, x, weight, total - weight)

    empty = math.fsum(tail(0, weight) for weight in alpha)
    occupied = {(x, weight): tail(x, weight) for x in range(1, n + 1) for weight in set(alpha)}
    per_worker = max(value / x for (x, _), value in occupied.items())
    return empty + min(n * per_worker, len(alpha) * max(occupied.values()))
