"""Three plain samplers of the exponential mechanism over tables, from whole numbers alone.

Written from docs/theory/method.md, section 7d. Each draws from anything that has ``below(bound)``, a uniform whole
number below a bound.
"""

from fractions import Fraction
from math import isqrt
from typing import Protocol

Table = tuple[int, ...]


class Uniform(Protocol):
    """A source of whole numbers."""

    def below(self, bound: int) -> int:
        """A uniform whole number from 0 to bound - 1."""


def happens(source: Uniform, chance: Fraction) -> bool:
    """True with this probability."""
    return source.below(chance.denominator) < chance.numerator


def geometric(source: Uniform, base: Fraction) -> int:
    """P(g) = (1 - base) base^g, one trial after another."""
    value = 0
    while happens(source, base):
        value += 1
    return value


def by_suffixes(source: Uniform, table: Table, theta: Fraction) -> Table:
    """Point by point, with the exact weight of all ways to go on; a removal weighs theta and an addition 1."""
    n = sum(table)
    on = [[int(left == 0) for left in range(n + 1)]]
    for count in reversed(table):
        on.append(
            [
                sum(_weight(count, here, theta) * on[-1][left - here] for here in range(left + 1))
                for left in range(n + 1)
            ]
        )
    drawn: list[int] = []
    for count, after in zip(table, reversed(on[:-1]), strict=True):
        left = n - sum(drawn)
        weights = [_weight(count, here, theta) * after[left - here] for here in range(left + 1)]
        drawn.append(_chosen(source, weights))
    return tuple(drawn)


def _weight(count: int, drawn: int, theta: Fraction) -> int:
    removed = max(count - drawn, 0)
    weight: int = theta.numerator**removed * theta.denominator ** (count - removed)
    return weight


def _chosen(source: Uniform, weights: list[int]) -> int:
    value, place = source.below(sum(weights)), 0
    while value >= weights[place]:
        value -= weights[place]
        place += 1
    return place


def removal_base(n_occupied: int, k: int, theta: Fraction) -> tuple[Fraction, Fraction]:
    """u and v of the sampler by moves: v close to sqrt(theta s/k), in units of 2^-32, and u v = theta."""
    v = Fraction(max(1, isqrt((theta.numerator * n_occupied << 64) // (theta.denominator * k))), 1 << 32)
    return theta / v, v


def by_moves(source: Uniform, table: Table, theta: Fraction) -> Table:
    """Independent removals and additions at every point, until as many are added as removed."""
    u, v = removal_base(sum(count > 0 for count in table), len(table), theta)
    while True:
        drawn = tuple(_moved_point(source, count, u, v) for count in table)
        if sum(drawn) == sum(table):
            return drawn


def _moved_point(source: Uniform, count: int, u: Fraction, v: Fraction) -> int:
    """Released count of a point: weight u^r for r removed, v^a for a added."""
    while count == 0 or u < 1:
        removed = geometric(source, u) if count else 0
        added = geometric(source, v)
        if removed * added == 0 and removed <= count:
            return count - removed + added
    while True:
        if u == 1:
            kept, stays, full = source.below(count + 1), 1 - v, Fraction(1)
        else:
            kept, stays, full = min(geometric(source, 1 / u), count), Fraction(1), (1 - 1 / u) / (1 - v)
        if happens(source, full if kept == count else stays):
            return kept + (geometric(source, v) if kept == count else 0)


def planned_redraws(table: Table, theta: Fraction) -> int:
    """Least number at which points free no more workers on average: it decides the running time only."""
    low, high = -1, sum(table) - 1
    while high - low > 1:
        middle = (low + high) // 2
        u = theta * (len(table) + middle) / (middle + 1)
        freed = sum((_mean_freed(count, theta, u) for count in table if count), start=Fraction(0))
        low, high = (middle, high) if freed > middle + 1 else (low, middle)
    return high


def _mean_freed(count: int, theta: Fraction, u: Fraction) -> Fraction:
    weights = [(1 - theta) * u**r for r in range(count)] + [u**count]
    return sum((r * weight for r, weight in enumerate(weights)), start=Fraction(0)) / sum(weights)


def by_redrawing(source: Uniform, table: Table, theta: Fraction) -> Table:
    """Redraw R workers: capped geometric numbers at the occupied points, then a uniform multiset of R of k points.

    R needs the additional weight C(k - 1 + R, R). With v = (plan + 1)/(k + plan), C(k - 1 + R, R) v^R is largest at
    plan and at plan + 1, so a draw with u = theta/v in place of theta is accepted with the ratio to that maximum,
    factor by factor.
    """
    n, k = sum(table), len(table)
    if n == 0 or k == 1:
        return table
    plan = planned_redraws(table, theta)
    v = Fraction(plan + 1, k + plan)
    while True:
        redrawn = [_redrawn_point(source, count, theta, theta / v) if count else 0 for count in table]
        if _accepted(source, sum(redrawn), plan, k, v):
            break
    drawn = [count - gone for count, gone in zip(table, redrawn, strict=True)]
    return _urn(source, drawn, sum(redrawn))


def _redrawn_point(source: Uniform, count: int, theta: Fraction, u: Fraction) -> int:
    """Weights: u^r (1 - theta) for r below the count, u^count for all of it."""
    while True:
        redrawn = _geometric_up_to(source, count, min(u, 1 / u))
        if u > 1:
            redrawn = count - redrawn
        if redrawn == count or happens(source, 1 - theta):
            return redrawn


def _geometric_up_to(source: Uniform, top: int, base: Fraction) -> int:
    """Weights base^g for g = 0, ..., top; base at most 1. Few draws for any base: at least 1/4 are accepted."""
    while True:
        if (top + 1) * (1 - base) >= 1:
            value = geometric(source, base)
            if value <= top:
                return value
        else:
            value = source.below(top + 1)
            if all(happens(source, base) for _ in range(value)):
                return value


def _accepted(source: Uniform, redrawn: int, plan: int, k: int, v: Fraction) -> bool:
    if redrawn > plan:
        return all(happens(source, v * (k - 1 + r) / r) for r in range(plan + 1, redrawn + 1))
    return all(happens(source, r / (v * (k - 1 + r))) for r in range(redrawn + 1, plan + 1))


def _urn(source: Uniform, drawn: list[int], n_added: int) -> Table:
    """Each added worker goes to a uniform point, or to that of an earlier added one: every multiset is as likely."""
    added: list[int] = []
    for _ in range(n_added):
        place = source.below(len(drawn) + len(added))
        added.append(place if place < len(drawn) else added[place - len(drawn)])
    return tuple(count + added.count(point) for point, count in enumerate(drawn))
