"""When a candidate passes: the number of its plausible seeds against a threshold, noisy or not, and forced failure.

Noise is discrete Laplace, P(Z = z) = (1 - a) / (1 + a) a^|z| with a = e^-threshold_epsilon, so that draws are exact.
The paper's is continuous; both have q(c + 1) ≤ e^threshold_epsilon q(c), and that is all that Theorem 1 uses.

Source: P17 §2, Mechanism 1, Tests 1 and 2; docs/theory/synthetic-records.md, "Who passes".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeVar, get_args

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.parameters import Number, exact_fraction

__all__ = ["LARGEST_RATE", "Acceptance", "Test", "check_similarity", "pass_chance"]

Test = Literal["randomized", "deterministic"]

_Real = TypeVar("_Real", Fraction, float)

_LARGEST_K = 1 << 40
_LEAST_RATE = Fraction(1, 1 << 20)
LARGEST_RATE = 50
"""Largest threshold epsilon."""


def pass_chance(c: int, k: int, a: _Real) -> _Real:
    """Chance that k plus discrete Laplace noise is at most c, for a = e^-threshold_epsilon: exact for a fraction.

    q(c) = a^(k - c) / (1 + a) for c < k, else 1 - a^(c - k + 1) / (1 + a).

    Parameters
    ----------
    c : int
        Plausible seeds of the candidate.
    k : int
        The least number of plausible seeds, before noise.
    a : Fraction or float
        Above 0 and below 1.
    """
    below: _Real = a ** (k - c) / (1 + a) if c < k else a ** (c - k + 1) / (1 + a)
    return below if c < k else 1 - below


def check_similarity(similarity: Number) -> Fraction:
    """Gamma as a fraction of at least 1 (ParameterError)."""
    gamma = exact_fraction(similarity, "similarity")
    if gamma < 1:
        raise ParameterError(f"similarity is {float(gamma):g}; it is a factor: give 1 or more, such as 4")
    return gamma


@dataclass(frozen=True, slots=True, kw_only=True, init=False)
class Acceptance:
    """The test that decides which candidates are released.

    Parameters
    ----------
    min_plausible_seeds : int
        k, at least 1.
    threshold_epsilon : Fraction, str, int or float, optional
        Rate of the noise that is added to k for each candidate, 2^-20 to 50. Needed by the randomized test only.
    forced_fail : Fraction, str, int or float, optional
        Chance that a candidate fails whatever the test says; 0 (the default) to below 1. At 0 the number of failures
        must stay secret.
    seed_floor : int, optional
        A candidate with fewer plausible seeds never passes: 1 to k. By default the noise alone decides.
    test : {"randomized", "deterministic"}, optional
        Test 2, with noise (the default), or Test 1, without.

    Raises
    ------
    ParameterError
        A value is outside its range.

    Source: P17 §2; forced failure and the floor are ours.
    """

    min_plausible_seeds: int
    threshold_epsilon: Fraction | None
    forced_fail: Fraction
    seed_floor: int | None
    test: Test

    def __init__(
        self,
        *,
        min_plausible_seeds: int,
        threshold_epsilon: Number | None = None,
        forced_fail: Number = 0,
        seed_floor: int | None = None,
        test: Test = "randomized",
    ) -> None:
        put = object.__setattr__
        put(self, "min_plausible_seeds", min_plausible_seeds)
        exact = None if threshold_epsilon is None else exact_fraction(threshold_epsilon, "threshold epsilon")
        put(self, "threshold_epsilon", exact)
        put(self, "forced_fail", exact_fraction(forced_fail, "forced fail"))
        put(self, "seed_floor", seed_floor)
        put(self, "test", test)
        self.__post_init__()

    def __post_init__(self) -> None:
        if self.test not in get_args(Test):
            raise ParameterError(f"test is {self.test!r}; give one of {', '.join(get_args(Test))}")
        if not 1 <= self.min_plausible_seeds <= _LARGEST_K:
            raise ParameterError(
                f"min plausible seeds is {self.min_plausible_seeds:,}; give 1 to {_LARGEST_K:,}, such as 1000"
            )
        if not 0 <= self.forced_fail < 1:
            raise ParameterError(
                f"forced fail is {float(self.forced_fail):g}; it is a chance: give at least 0 and less than 1, "
                "such as 0.02"
            )
        self._check_noise()
        if self.seed_floor is not None and not 1 <= self.seed_floor <= self.min_plausible_seeds:
            raise ParameterError(
                f"seed floor is {self.seed_floor:,}; give 1 to {self.min_plausible_seeds:,}, the min plausible seeds, "
                "or raise those"
            )

    def _check_noise(self) -> None:
        epsilon = self.threshold_epsilon
        if self.test == "deterministic":
            if epsilon is not None:
                raise ParameterError(
                    f"threshold epsilon is {float(epsilon):g}; the deterministic test adds no noise: leave it out"
                )
        elif epsilon is None:
            raise ParameterError(
                "threshold epsilon is missing; the randomized test adds noise to the min plausible seeds: give a "
                "number above 0, such as 0.0175"
            )
        elif not _LEAST_RATE <= epsilon <= LARGEST_RATE:
            raise ParameterError(
                f"threshold epsilon is {float(epsilon):g}; give a number above 0 (2^-20 to {LARGEST_RATE}), "
                "such as 0.0175"
            )

    @property
    def least_passing(self) -> int:
        """The least number of plausible seeds with which a candidate can pass; it always has one, its seed."""
        if self.test == "deterministic":
            return self.min_plausible_seeds
        return 1 if self.seed_floor is None else self.seed_floor

    def chances(self, counts: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Chance q(c) that a candidate passes, forced failure included, for each count c of plausible seeds."""
        c = np.asarray(counts, dtype=np.float64)
        below = c - self.min_plausible_seeds
        if self.threshold_epsilon is None:
            free = (below >= 0).astype(np.float64)
        else:
            rate = float(self.threshold_epsilon)
            tail = np.exp(-rate * np.where(below < 0, -below, below + 1)) / (1 + math.exp(-rate))
            free = np.where(below < 0, tail, 1 - tail)
        return np.where(c >= self.least_passing, (1 - float(self.forced_fail)) * free, 0.0)

    def exact_chance(self, count: int, a: Fraction) -> Fraction:
        """The same for one count, exactly, with a rational a in place of e^-threshold_epsilon."""
        if count < self.least_passing:
            return Fraction(0)
        free = (
            Fraction(1) if self.test == "deterministic" else pass_chance(count, self.min_plausible_seeds, a)
        )
        return (1 - self.forced_fail) * free

    def seeds_but_for(self, share: float) -> float:
        """Plausible seeds that a released record has, except for at most this share of the candidates (eta).

        k - ln(1/eta) / threshold_epsilon, or the least passing number if that is more.
        """
        if self.threshold_epsilon is None:
            return float(self.min_plausible_seeds)
        usual = self.min_plausible_seeds - math.log(1 / share) / float(self.threshold_epsilon)
        return max(float(self.least_passing), usual)
