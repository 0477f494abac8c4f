"""The search for the least number of plausible seeds, one order and one count at a time, without any memory.

The same search as :mod:`engine.records.choosing`, over the same factors and orders, with numbers that are computed
anew wherever they are needed. Its answer must be the same to the last digit.

Source: docs/theory/synthetic-records.md, "Every try is charged".
"""

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.records.acceptance import LARGEST_RATE, Acceptance
from engine.records.choosing import TriesPlan
from engine.records.divergence import OneTry
from engine.records.tries import MOST_COUNTS

Floats = npt.NDArray[np.float64]

FACTORS = (1.005, 1.02, 1.05, 1.1, 1.2, 1.35, 1.6, 2.0, 3.0)
GOLDEN = (3 - math.sqrt(5)) / 2


def find_k(target: Fraction, plan: TriesPlan, given: Fraction | None = None) -> Acceptance | None:
    """The test with the least k that keeps epsilon; None if none up to n_min does."""

    def test(k: int, factor: float) -> Acceptance:
        return acceptance(k, rate(k, factor, plan) if given is None else given, plan)

    def rough(k: int, factor: float) -> float:
        return rough_epsilon(test(k, factor), plan)

    k, factor = 16, FACTORS[-1]
    while True:
        best, factor = min((rough(k, one), one) for one in (near(factor) if given is None else (1.0,)))
        if best <= target:
            break
        k *= 2
        if k > plan.n_min:
            return None
    high = bisected(k // 2 if k > 16 else 1, k, lambda k: rough(k, factor) <= target)
    if given is None:
        factor = best_factor(lambda one: rough(high, one))
        high = bisected(high * 3 // 4, high, lambda k: rough(k, factor) <= target)
    while plan.promise(test(high, factor)).epsilon > target:
        high += max(1, high >> 8)
    return test(high, factor)


def near(factor: float) -> tuple[float, ...]:
    """The factors to compare next: all of them at first, then the best one and its neighbors."""
    at = FACTORS.index(factor)
    return FACTORS if at == len(FACTORS) - 1 else FACTORS[max(at - 1, 0) : at + 2]


def best_rate(k: int, plan: TriesPlan, floor: int | None = None) -> Fraction:
    """The rate of noise for so many plausible seeds."""
    factor = best_factor(
        lambda one: rough_epsilon(acceptance(k, rate(k, one, plan, floor or 1), plan, floor), plan)
    )
    return rate(k, factor, plan, floor or 1)


def bisected(low: int, high: int, keeps: Callable[[int], bool]) -> int:
    while high - low > max(1, low >> 8):
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


def best_factor(epsilon: Callable[[float], float]) -> float:
    at = min(range(len(FACTORS)), key=lambda place: epsilon(FACTORS[place]))
    low, high = math.log(FACTORS[max(at - 1, 0)]), math.log(FACTORS[min(at + 1, len(FACTORS) - 1)])
    best = (epsilon(FACTORS[at]), FACTORS[at])
    for _ in range(6):
        first, second = low + (high - low) * GOLDEN, high - (high - low) * GOLDEN
        left, right = ((epsilon(math.exp(one)), math.exp(one)) for one in (first, second))
        best = min(best, left, right)
        low, high = (low, second) if left < right else (first, high)
    return best[1]


def acceptance(k: int, exact: Fraction, plan: TriesPlan, floor: int | None = None) -> Acceptance:
    return Acceptance(
        min_plausible_seeds=k, threshold_epsilon=exact, forced_fail=plan.forced_fail, seed_floor=floor
    )


def rate(k: int, factor: float, plan: TriesPlan, fewest: int = 1) -> Fraction:
    """So many times the rate with which the tries use up all of delta, rounded up to four digits."""
    mass = 1 + float(Fraction(plan.similarity)) * (fewest - 1)
    tries, steps = mass * plan.n_tries / plan.n_min, max(k - fewest, 1)
    found = math.log(tries / float(Fraction(plan.delta))) / steps
    for _ in range(30):
        found = max(1e-9, math.log(tries / float(Fraction(plan.delta)) / (1 + math.exp(-found))) / steps)
    found *= factor
    places = 3 - math.floor(math.log10(found))
    exact = Fraction(math.ceil(found * 10**places), 10**places) if places > 0 else Fraction(math.ceil(found))
    return min(exact, Fraction(LARGEST_RATE))


def rough_epsilon(test: Acceptance, plan: TriesPlan) -> float:
    """The least epsilon over a few orders, each by itself."""
    one = OneTry.of(test, float(Fraction(plan.similarity)), plan.n_min, MOST_COUNTS)
    left = float(Fraction(plan.delta)) - plan.n_tries * one.delta0
    if left <= 0:
        return math.inf

    def epsilon(order: float) -> float:
        more = larger_datasets(test, float(Fraction(plan.similarity)), plan.n_min, order)
        moment = plan.n_tries * math.log1p(max(excess(one, order)) + more)
        return (
            moment / (order - 1) + math.log1p(-1 / order) - (math.log(left) + math.log(order)) / (order - 1)
        )

    low, high = 0.0, math.log(1e6)
    best = (math.inf, low)
    for _ in range(4):
        grid = np.linspace(low, high, 9)
        for at in grid.tolist():
            best = min(best, (epsilon(1 + math.exp(at)), at))
        low, high = max(low, best[1] - (grid[1] - grid[0])), min(high, best[1] + (grid[1] - grid[0]))
    return best[0]


def larger_datasets(test: Acceptance, gamma: float, n_min: int, order: float) -> float:
    if order >= n_min / 2:
        return math.inf
    near = 2 / (n_min + 1 - order)
    growth = test.chances([n_min, n_min + 1])
    ratios = [near + (1 + near) / n_min, growth[1] / growth[0] * (1 + gamma / n_min) - 1, -1 / (n_min + 1)]
    return 2 * float(convex_excess(np.array(ratios), order).max())


def excess(one: OneTry, order: float) -> tuple[float, float]:
    """E - 1 for a worker added and for a worker taken away, at one order."""
    with np.errstate(over="ignore", invalid="ignore"):
        growth = np.expm1(one.released_ratio)
        others = np.maximum(1 - one.released - one.failed, 0.0)
        up = one.released * convex_excess(growth, order)
        up = up + one.failed * convex_excess(one.failed_change, order)
        up = up + others * convex_excess(np.array(-1 / (one.n + 1)), order)
        down = one.released * (1 + growth) * convex_excess(-growth / (1 + growth), order)
        down = down + one.only_larger * (order - 1)
        failed = one.failed * (1 + one.failed_change)
        down = down + failed * convex_excess(-one.failed_change / (1 + one.failed_change), order)
        down = down + one.n / (one.n + 1) * others * convex_excess(np.array(1 / one.n), order)
        return float(up.max()), float(down.max())


def convex_excess(x: Floats, order: float) -> Floats:
    """(1 + x)^order - 1 - order x, by its series near 0."""
    small = np.abs(x) * order < 1e-3
    series = order * (order - 1) / 2 * x * x * (1 + (order - 2) / 3 * x * (1 + (order - 3) / 4 * x))
    with np.errstate(divide="ignore"):
        far = np.expm1(order * np.log1p(np.where(small, 0.0, x))) - order * x
    return np.where(small, series, far)
