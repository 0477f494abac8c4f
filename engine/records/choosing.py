"""The other way round: the least number of plausible seeds, and the noise, that keep a given epsilon.

For each k the threshold's rate is chosen by public numbers: lower rates cost less epsilon, but let more lone seeds
pass, which uses up delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from engine.errors import ParameterError
from engine.parameters import Number, exact_fraction
from engine.records.acceptance import LARGEST_RATE, Acceptance
from engine.records.divergence import OneTry
from engine.records.plausible import check_similarity
from engine.records.tries import (
    MOST_COUNTS,
    LogMoment,
    SeedPromise,
    best_order,
    check_public,
    epsilon_at,
    seed_promise,
)

__all__ = ["TriesPlan", "best_threshold_epsilon", "find_min_seeds"]

_FEWEST: Final = 16
"""The search doubles k from here on."""
_FACTORS: Final = (1.005, 1.02, 1.05, 1.1, 1.2, 1.35, 1.6, 2.0, 3.0)
"""Rates that are compared, as multiples of the one that uses up all of delta."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TriesPlan:
    """What is fixed before a test is chosen.

    Parameters
    ----------
    n_min, n_tries : int
        Fewest seeds, and candidates.
    delta, forced_fail : Fraction, str, int or float
        As for :func:`engine.records.tries.seed_promise` and :class:`engine.records.acceptance.Acceptance`.
    similarity : Fraction, str, int or float, optional
        Gamma; 1 by default.

    Raises
    ------
    ParameterError
        A value is outside its range.
    """

    n_min: int
    n_tries: int
    delta: Number
    forced_fail: Number
    similarity: Number = 1

    def __post_init__(self) -> None:
        check_similarity(self.similarity)
        check_public(self.n_tries, self.delta, self.forced_fail)
        if self.n_min < 2:
            raise ParameterError(f"n min is {self.n_min:,}; a seed hides among others: give at least 2")

    def promise(self, acceptance: Acceptance) -> SeedPromise:
        """The promise of these tries with a test."""
        return seed_promise(
            acceptance,
            similarity=self.similarity,
            n_min=self.n_min,
            n_tries=self.n_tries,
            delta=self.delta,
        )


def best_threshold_epsilon(k: int, plan: TriesPlan) -> Fraction:
    """A rate of noise, of four significant digits, that gives about the least epsilon for k plausible seeds.

    Raises
    ------
    ParameterError
        k is below 2: with a single seed, noise does not help.
    """
    if k < 2:
        raise ParameterError(f"min plausible seeds is {k}; give 2 or more, such as 1000")
    least = _rate_that_uses_delta(k, plan)

    rates = [_four_digits(least * factor) for factor in _FACTORS]
    return min(rates, key=lambda rate: _rough_epsilon(_acceptance(k, rate, plan), plan))


def find_min_seeds(
    epsilon: Number, plan: TriesPlan, threshold_epsilon: Number | None = None
) -> tuple[Acceptance, SeedPromise]:
    """The least k whose promise is at most epsilon, read as one worker added or taken away.

    Parameters
    ----------
    epsilon : Fraction, str, int or float
        Above 0.
    plan : TriesPlan
    threshold_epsilon : Fraction, str, int or float, optional
        Rate of the noise; by default the best for each k.

    Returns
    -------
    Acceptance
        The test, without a seed floor.
    SeedPromise

    Raises
    ------
    ParameterError
        No k up to n_min keeps epsilon, or a value is outside its range.
    """
    target = exact_fraction(epsilon, "epsilon")
    if target <= 0:
        raise ParameterError(f"epsilon is {float(target):g}; give a number above 0, such as 2")
    given = None if threshold_epsilon is None else exact_fraction(threshold_epsilon, "threshold epsilon")

    def acceptance(k: int, factor: float) -> Acceptance:
        rate = _four_digits(factor * _rate_that_uses_delta(k, plan)) if given is None else given
        return _acceptance(k, rate, plan)

    def rough(k: int, factor: float) -> float:
        return _rough_epsilon(acceptance(k, factor), plan)

    k, factor = _FEWEST, 1.0
    while True:
        best, factor = min((rough(k, one), one) for one in (_FACTORS if given is None else (1.0,)))
        if best <= target:
            break
        k *= 2
        if k > plan.n_min:
            raise ParameterError(
                f"epsilon is {float(target):g}; no number of plausible seeds up to {plan.n_min:,} keeps it for "
                f"{plan.n_tries:,} tries: allow fewer tries, or a larger epsilon"
            )
    low, high = k // 2 if k > _FEWEST else 1, k
    while high - low > max(1, low >> 8):
        middle = (low + high) // 2
        low, high = (middle, high) if rough(middle, factor) > target else (low, middle)
    return _first_that_keeps(target, high, plan, lambda k: acceptance(k, factor))


def _first_that_keeps(
    target: Fraction, k: int, plan: TriesPlan, acceptance: Callable[[int], Acceptance]
) -> tuple[Acceptance, SeedPromise]:
    """From a k by rough sums on, the first whose promise is computed in full and keeps epsilon."""
    while True:
        chosen = acceptance(k)
        promise = plan.promise(chosen)
        if promise.epsilon <= target:
            return chosen, promise
        k += max(1, k >> 8)


def _acceptance(k: int, rate: Fraction, plan: TriesPlan) -> Acceptance:
    return Acceptance(min_plausible_seeds=k, threshold_epsilon=rate, forced_fail=plan.forced_fail)


def _rate_that_uses_delta(k: int, plan: TriesPlan) -> float:
    """The rate at which all tries together let lone seeds pass with chance delta."""
    allowed, tries = float(exact_fraction(plan.delta, "delta")), plan.n_tries / plan.n_min
    rate = math.log(tries / allowed) / (k - 1)
    for _ in range(30):
        rate = max(1e-9, math.log(tries / allowed / (1 + math.exp(-rate))) / (k - 1))
    return rate


def _four_digits(rate: float) -> Fraction:
    places = 3 - math.floor(math.log10(rate))
    rounded = Fraction(math.ceil(rate * 10**places), 10**places) if places > 0 else Fraction(math.ceil(rate))
    return min(rounded, Fraction(LARGEST_RATE))


def _rough_epsilon(acceptance: Acceptance, plan: TriesPlan) -> float:
    """About the epsilon, from some of the counts."""
    gamma = float(check_similarity(plan.similarity))
    one = OneTry.of(acceptance, gamma, plan.n_min, MOST_COUNTS)
    left = float(exact_fraction(plan.delta, "delta")) - plan.n_tries * one.delta0
    if left <= 0:
        return math.inf
    moment = LogMoment(one, acceptance, gamma)

    def epsilon(order: float) -> float:
        return epsilon_at(order, plan.n_tries * moment(order), left)

    return epsilon(best_order(epsilon))
