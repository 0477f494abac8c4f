"""The other way round: the least number of plausible seeds, and the noise, that keep a given epsilon.

For each k the threshold's rate is chosen by public numbers: lower rates cost less epsilon, but let more lone seeds
pass, which uses up delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.parameters import Number, exact_fraction
from engine.records.acceptance import LARGEST_RATE, Acceptance, check_similarity
from engine.records.divergence import OneTry
from engine.records.tries import (
    MOST_COUNTS,
    LogMoment,
    SeedPromise,
    best_order,
    check_public,
    epsilons_at,
    seed_promise,
)

__all__ = ["TriesPlan", "best_threshold_epsilon", "find_min_seeds"]

Floats = npt.NDArray[np.float64]

_FEWEST: Final = 16
"""The search doubles k from here on."""
_FACTORS: Final = (1.005, 1.02, 1.05, 1.1, 1.2, 1.35, 1.6, 2.0, 3.0)
"""Rates that are compared first, as multiples of the one that uses up all of delta."""
_FACTOR_STEPS: Final = 6
_GOLDEN: Final = (3 - math.sqrt(5)) / 2


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


def best_threshold_epsilon(k: int, plan: TriesPlan, seed_floor: int | None = None) -> Fraction:
    """A rate of noise, of four significant digits, that gives about the least epsilon for k plausible seeds.

    The rate hardly changes how many candidates pass: noise lets groups below k pass as often as it stops larger ones.

    Raises
    ------
    ParameterError
        k is below 2: with a single seed, noise does not help.
    """
    if k < 2:
        raise ParameterError(f"min plausible seeds is {k}; give 2 or more, such as 1000")

    def epsilon(factor: float) -> float:
        rate = _rate(k, factor, plan, seed_floor or 1)
        return _rough_epsilon(_acceptance(k, rate, plan, seed_floor), plan)

    return _rate(k, _best_factor(epsilon), plan, seed_floor or 1)


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
        return _acceptance(k, _rate(k, factor, plan) if given is None else given, plan)

    @cache
    def rough(k: int, factor: float) -> float:
        return _rough_epsilon(acceptance(k, factor), plan)

    k, factor = _FEWEST, _FACTORS[-1]
    while True:
        best, factor = min(
            (rough(k, trial_factor), trial_factor) for trial_factor in _list_factors(factor, given)
        )
        if best <= target:
            break
        k *= 2
        if k > plan.n_min:
            raise ParameterError(
                f"epsilon is {float(target):g}; no number of plausible seeds up to {plan.n_min:,} keeps it for "
                f"{plan.n_tries:,} tries: allow fewer tries, or a larger epsilon"
            )
    high = _least_by_rough_sums(k // 2 if k > _FEWEST else 1, k, lambda k: rough(k, factor) <= target)
    if given is None:
        factor = _best_factor(lambda trial_factor: rough(high, trial_factor))
        high = _least_by_rough_sums(high * 3 // 4, high, lambda k: rough(k, factor) <= target)
    return _first_that_keeps(target, high, plan, lambda k: acceptance(k, factor))


def _list_factors(factor: float, given: Fraction | None) -> tuple[float, ...]:
    """Factors to compare at the next k: the last best one and its neighbors, all of them at first."""
    if given is not None:
        return (1.0,)
    at = _FACTORS.index(factor)
    return _FACTORS if at == len(_FACTORS) - 1 else _FACTORS[max(at - 1, 0) : at + 2]


def _best_factor(epsilon: Callable[[float], float]) -> float:
    """About the factor with the least epsilon: the best of a few, and then ever closer around it."""
    at = min(range(len(_FACTORS)), key=lambda place: epsilon(_FACTORS[place]))
    low, high = (math.log(_FACTORS[min(max(place, 0), len(_FACTORS) - 1)]) for place in (at - 1, at + 1))
    best = (epsilon(_FACTORS[at]), _FACTORS[at])
    for _ in range(_FACTOR_STEPS):
        inner = low + (high - low) * _GOLDEN, high - (high - low) * _GOLDEN
        left, right = ((epsilon(math.exp(log_factor)), math.exp(log_factor)) for log_factor in inner)
        best = min(best, left, right)
        low, high = (low, inner[1]) if left < right else (inner[0], high)
    return best[1]


def _least_by_rough_sums(low: int, high: int, keeps: Callable[[int], bool]) -> int:
    """The least k, within one in 256, that keeps a given epsilon; `high` does, and `low` is taken not to."""
    while high - low > max(1, low >> 8):
        middle = (low + high) // 2
        low, high = (low, middle) if keeps(middle) else (middle, high)
    return high


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


def _rate(k: int, factor: float, plan: TriesPlan, fewest: int = 1) -> Fraction:
    """The rate of noise that is so many times the one that uses up all of delta."""
    return _round_rate(factor * _rate_that_uses_delta(k, plan, fewest))


def _acceptance(k: int, rate: Fraction, plan: TriesPlan, seed_floor: int | None = None) -> Acceptance:
    return Acceptance(
        min_plausible_seeds=k,
        threshold_epsilon=rate,
        forced_fail=plan.forced_fail,
        seed_floor=seed_floor,
    )


def _rate_that_uses_delta(k: int, plan: TriesPlan, fewest: int) -> float:
    """The rate at which all tries let seeds pass with chance delta that only just may pass: alone, or at a floor."""
    mass = 1 + float(check_similarity(plan.similarity)) * (fewest - 1)
    allowed, tries = float(exact_fraction(plan.delta, "delta")), mass * plan.n_tries / plan.n_min
    steps = max(k - fewest, 1)
    rate = math.log(tries / allowed) / steps
    for _ in range(30):
        rate = max(1e-9, math.log(tries / allowed / (1 + math.exp(-rate))) / steps)
    return rate


def _round_rate(rate: float) -> Fraction:
    places = 3 - math.floor(math.log10(rate))
    rounded = Fraction(math.ceil(rate * 10**places), 10**places) if places > 0 else Fraction(math.ceil(rate))
    return min(rounded, Fraction(LARGEST_RATE))


def _rough_epsilon(acceptance: Acceptance, plan: TriesPlan) -> float:
    """About the epsilon, from some of the counts."""
    gamma = float(check_similarity(plan.similarity))
    one_try = OneTry.of(acceptance, gamma, plan.n_min, MOST_COUNTS)
    left = float(exact_fraction(plan.delta, "delta")) - plan.n_tries * one_try.delta0
    if left <= 0:
        return math.inf
    moment = LogMoment(one_try, acceptance, gamma)
    least = math.inf

    def epsilons(orders: Floats) -> list[float]:
        nonlocal least
        epsilon_of_order = epsilons_at(orders, plan.n_tries * moment.at(orders), left)
        least = min(least, *epsilon_of_order)
        return epsilon_of_order

    best_order(epsilons)
    return least
