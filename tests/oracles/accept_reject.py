"""Plain twin of accept/reject, written from P08 §V-A and docs/theory/method.md, section 7c: sets of outputs, listed."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod

from tests.oracles.mechanisms import moved

Table = tuple[int, ...]
Threshold = Callable[[int, int], Fraction]
"""What m_i may reach in point i with x workers."""


def gamma_threshold(alpha: Sequence[Fraction], gamma: Fraction) -> Threshold:
    """P08's: gamma (alpha_i + [x - 1]^+)."""
    return lambda point, workers: gamma * (alpha[point] + max(workers - 1, 0))


def kappa(n: int, m: int, alpha: Sequence[Fraction], retention: Sequence[Fraction]) -> Fraction:
    """Largest f_j + (1 - f_j) R_j over the points that can be pruned; gamma functions as products."""
    grown = [
        f + (1 - f) * prod((Fraction(n + t) + a) / (n + t) for t in range(m))
        for a, f in zip(alpha, retention, strict=True)
        if f < 1
    ]
    return max(grown, default=Fraction(1))


def pruned_threshold(alpha: Sequence[Fraction], retention: Sequence[Fraction], rho: Fraction) -> Threshold:
    """The threshold of docs/theory/method.md, section 5b, with rho = E / kappa."""

    def threshold(point: int, workers: int) -> Fraction:
        if workers <= 1:
            return (retention[point] * rho - 1) * alpha[point]
        return (rho - 1) * (alpha[point] + workers - 1)

    return threshold


def representative(table: Table, output: Table, threshold: Threshold) -> bool:
    """gamma-Rep."""
    return all(
        count <= threshold(point, workers)
        for point, (count, workers) in enumerate(zip(output, table, strict=True))
    )


def good(table: Table, output: Table, threshold: Threshold) -> bool:
    """gamma-Good: representative of the table or of one in which a single worker lives elsewhere."""
    return any(representative(near, output, threshold) for near in (table, *moved(table)))
