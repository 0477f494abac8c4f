"""The law of a sum of independent yes-or-no values with different chances: exact, or between certified bounds.

People with the same rate form a type. The law is the Poisson-binomial; what a known sum says about a person follows
from it (Bayes). Exact numbers are integers; their cost grows with the square of the people. Bounds come from sums of
positive terms (`engine.suppression.kernels.poisson_binomial`).

Source: Nabar and Mishra, Algorithm 1 (Safe) and "Special Case: Boolean Private Attributes";
docs/theory/suppressed-tables.md, "Sums".
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from engine.arrays import FloatArray
from engine.suppression.kernels import poisson_binomial as kernels

__all__ = ["BoundedLaw", "Types", "bounded_law", "exact_weights", "posterior", "window_length"]

_ROUNDING = 1.01 * 2.0**-53
_DEVIATIONS = 24.0
_SPARE = 160


class Types(NamedTuple):
    """People by rate: distinct rates in rising order, each with at least one person."""

    people: tuple[int, ...]
    rates: tuple[Fraction, ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[int, Fraction]]) -> Types:
        """Types of pairs of people and rate, in any order."""
        people_of_rate: dict[Fraction, int] = {}
        for people, rate in pairs:
            if people:
                people_of_rate[rate] = people_of_rate.get(rate, 0) + people
        rates = tuple(sorted(people_of_rate))
        return cls(tuple(people_of_rate[rate] for rate in rates), rates)

    @property
    def everyone(self) -> int:
        """Number of people."""
        return sum(self.people)

    def join(self, others: Types) -> Types:
        """The same together with the people of other types."""
        people, rates, at, at_other = list[int](), list[Fraction](), 0, 0
        while at < len(self.rates) and at_other < len(others.rates):
            rate, other_rate = self.rates[at], others.rates[at_other]
            left, right = rate.numerator * other_rate.denominator, other_rate.numerator * rate.denominator
            people.append(
                (self.people[at] if left <= right else 0) + (others.people[at_other] if right <= left else 0)
            )
            rates.append(rate if left <= right else other_rate)
            at, at_other = at + (left <= right), at_other + (right <= left)
        return Types(
            (*people, *self.people[at:], *others.people[at_other:]),
            (*rates, *self.rates[at:], *others.rates[at_other:]),
        )

    def drop_one_each(self, *types: int) -> Types:
        """The same without one person of each of some types."""
        left = list(self.people)
        for number in types:
            left[number] -= 1
        kept = [number for number, people in enumerate(left) if people]
        return Types(tuple(left[number] for number in kept), tuple(self.rates[number] for number in kept))

    def odds(self) -> FloatArray:
        """Odds of each type, each rounded once."""
        return np.array(
            [rate.numerator / (rate.denominator - rate.numerator) for rate in self.rates], dtype=np.float64
        )


def exact_weights(types: Types) -> list[int]:
    """Chances of the sums 0, 1, ..., people, in multiples of one over the product of all denominators.

    The product of polynomials is one product of integers, in which each coefficient has a field of its own.
    """
    whole = math.prod(
        rate.denominator**people for people, rate in zip(types.people, types.rates, strict=True)
    )
    size = whole.bit_length() // 8 + 1
    field = 1 << (8 * size)
    product = math.prod(
        (rate.denominator - rate.numerator + rate.numerator * field) ** people
        for people, rate in zip(types.people, types.rates, strict=True)
    )
    digits = product.to_bytes(size * (types.everyone + 1), "little")
    return [int.from_bytes(digits[at : at + size], "little") for at in range(0, len(digits), size)]


def posterior(types: Types, at: int, total: int) -> Fraction:
    """Chance that a person of one type has the value, given the sum over all people.

    Source: p PB_{-k}(total - 1) / PB(total), PB_{-k} the law without the person.
    """
    rate, others = types.rates[at], exact_weights(types.drop_one_each(at))
    with_value = others[total - 1] if 1 <= total <= len(others) else 0
    without_value = others[total] if total < len(others) else 0
    ones = rate.numerator * with_value
    return Fraction(ones, ones + (rate.denominator - rate.numerator) * without_value)


class BoundedLaw(NamedTuple):
    """Weights of sums under a tilt: the true weight is at most a little above the stored one.

    Attributes
    ----------
    start : int
        Sum of the first weight.
    weights : float64[W]
        Weights of the sums from ``start``, all multiplied by one unknown factor.
    left_out : float
        Bound on the sum of all that is missing.
    error : float
        Relative rounding error of a stored weight.
    everyone : int
        Largest possible sum.
    """

    start: int
    weights: FloatArray
    left_out: float
    error: float
    everyone: int

    def bounds(self, total: int) -> tuple[float, float]:
        """Lower and upper bound of the weight of one sum."""
        if not 0 <= total <= self.everyone:
            return 0.0, 0.0
        place = total - self.start
        stored = float(self.weights[place]) if 0 <= place < self.weights.size else 0.0
        return stored * (1.0 - self.error), stored * (1.0 + self.error) + self.left_out

    @property
    def highest(self) -> float:
        """Upper bound of every weight."""
        return float(self.weights.max()) * (1.0 + self.error) + self.left_out


def window_length(variance: float) -> int:
    """How many sums have weights that matter, at most, at this variance."""
    return int(_DEVIATIONS * math.sqrt(variance)) + _SPARE


def bounded_law(types: Types, tilt: float) -> BoundedLaw:
    """Weights of the sum of all types, all odds multiplied by ``tilt``."""
    people, odds = np.array(types.people, dtype=np.int64), types.odds()
    _, variance = kernels.mean_sum(people, odds, tilt)
    length = 2 * window_length(variance)
    scratch = kernels.Scratch(np.empty(length), np.empty(length), np.empty(length))
    start, kept, left_out, roundings, _ = kernels.law_of_types(people, odds, tilt, scratch)
    return BoundedLaw(start, scratch.weights[:kept].copy(), left_out, roundings * _ROUNDING, types.everyone)
