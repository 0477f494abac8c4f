"""The paper's accountant: Theorem 1 for one candidate, and its rules for many.

Theorem 1 says nothing about candidates that give no record. So these numbers hold only if nobody learns how many
candidates failed, or how long they took. docs/theory/synthetic-records.md, "What differs from the paper", has an
example, and a test shows it.

Source: P17 §2.1, Theorems 1 to 4. The stored text of the paper has lost its formulas; docs/theory/synthetic-records.md
has a proof.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from engine.errors import ParameterError
from engine.parameters import Number, exact_fraction
from engine.records.acceptance import Acceptance, check_similarity
from engine.records.composition import advanced_composition

__all__ = [
    "Guarantee",
    "PaperPromise",
    "amplify_by_sampling",
    "best_paper_promise",
    "compose_sequentially",
    "condition_on_release",
    "largest_t",
    "paper_promise",
    "theorem_1",
]

_LOWEST, _HIGHEST, _N_RATES = 15, 60, 60  # rates of the noise that are compared, times k


class Guarantee(NamedTuple):
    """Epsilon and delta of differential privacy, one worker added or taken away."""

    epsilon: float
    delta: float


class PaperPromise(NamedTuple):
    """What the paper's rules say about all tries: the better of two compositions, with the best t."""

    epsilon: float
    delta: float
    t: int
    rule: str


def theorem_1(k: int, t: int, threshold_epsilon: Number, similarity: Number) -> Guarantee:
    """Epsilon = threshold_epsilon + ln(1 + gamma / t), delta = e^(-threshold_epsilon (k - t)), for 1 ≤ t < k.

    For one candidate, records only, and datasets of at least k records.

    Raises
    ------
    ParameterError
        A parameter is outside its range.

    Source: P17 Theorem 1.
    """
    rate, gamma = exact_fraction(threshold_epsilon, "threshold epsilon"), check_similarity(similarity)
    if not 1 <= t < k:
        raise ParameterError(
            f"t is {t} and the min plausible seeds are {k}; t must be at least 1 and below them"
        )
    if rate <= 0:
        raise ParameterError(f"threshold epsilon is {float(rate):g}; give a number above 0")
    return Guarantee(float(rate) + math.log1p(gamma / t), math.exp(-float(rate) * (k - t)))


def largest_t(k: int, threshold_epsilon: Number, delta: Number) -> int:
    """The t with the least epsilon for a given delta: floor(k - ln(1/delta) / threshold_epsilon), at most k - 1.

    Raises
    ------
    ParameterError
        No t of at least 1 gives this delta.
    """
    rate, allowed = exact_fraction(threshold_epsilon, "threshold epsilon"), exact_fraction(delta, "delta")
    if rate <= 0 or not 0 < allowed < 1:
        raise ParameterError(
            f"threshold epsilon is {float(rate):g} and delta {float(allowed):g}; give a number above 0 and a "
            "probability above 0 and below 1"
        )
    needed = (math.log(allowed.denominator) - math.log(allowed.numerator)) / float(rate)
    t = min(k - 1, math.floor(k - needed))
    if t < 1:
        raise ParameterError(
            f"delta is {float(allowed):g}; with {k:,} plausible seeds no t gives it: take min plausible seeds "
            f"{math.ceil(needed) + 1:,} or threshold epsilon {needed * float(rate) / max(1, k - 1):.4g}"
        )
    return t


def compose_sequentially(epsilon: float, delta: float, m: int) -> Guarantee:
    """The sums of m parts; :mod:`engine.records.composition` has the advanced rule (P17 Theorem 2)."""
    return Guarantee(m * epsilon, m * delta)


def amplify_by_sampling(epsilon: float, delta: float, share: Fraction) -> Guarantee:
    """The same on a secret, independent sample of this share: ln(1 + p (e^epsilon - 1)), p delta (P17 Theorem 4)."""
    if not 0 < share <= 1:
        raise ParameterError(f"share is {share}; give more than 0, at most 1")
    return Guarantee(math.log1p(float(share) * math.expm1(epsilon)), float(share) * delta)


def condition_on_release(guarantee: Guarantee, n: int, pass_rate: float) -> Guarantee:
    """One candidate, given that it passed: what composition over released records, as in the authors' tool, needs.

    Parameters
    ----------
    guarantee : Guarantee
        Of one candidate, records only.
    n : int
        Records of the smaller dataset.
    pass_rate : float
        Chance P that a candidate passes, which is confidential and may be small.

    Notes
    -----
    Valid only if tries and time stay secret and the number of released records was fixed beforehand:
    epsilon + ln((n + 1)/n) + ln(1 + e^-epsilon delta / P), and delta (n + 1) / (n P).
    """
    if not 0 < pass_rate <= 1:
        raise ParameterError(f"pass rate is {pass_rate:g}; give more than 0, at most 1")
    more = math.log1p(1 / n) + math.log1p(math.exp(-guarantee.epsilon) * guarantee.delta / pass_rate)
    return Guarantee(guarantee.epsilon + more, guarantee.delta * (n + 1) / (n * pass_rate))


def paper_promise(acceptance: Acceptance, *, similarity: Number, n_tries: int, delta: Number) -> PaperPromise:
    """Theorem 1 for each candidate, composed over all tries: the least epsilon over t and both compositions.

    Half of delta is the slack of advanced composition. No-output is not covered.

    Raises
    ------
    ParameterError
        The test is not randomized or has a seed floor, which Theorem 1 does not cover; delta is too small; or a value
        is outside its range.
    """
    k, rate = acceptance.min_plausible_seeds, acceptance.threshold_epsilon
    if rate is None or acceptance.seed_floor is not None:
        raise ParameterError(
            "the paper's accountant covers the randomized test without a seed floor: use the sound accountant"
        )
    if n_tries < 1:
        raise ParameterError(f"tries is {n_tries:,}; give at least 1, such as the number of records wanted")
    allowed = exact_fraction(delta, "delta")
    t = largest_t(k, rate, allowed / n_tries)
    promises = [
        PaperPromise(*compose_sequentially(*theorem_1(k, t, rate, similarity), n_tries), t, "sequential")
    ]
    with suppress(ParameterError):  # half of delta may be too little for any t
        t = largest_t(k, rate, allowed / 2 / n_tries)
        guarantee = theorem_1(k, t, rate, similarity)
        promises.append(
            PaperPromise(*advanced_composition(*guarantee, n_tries, float(allowed / 2)), t, "advanced")
        )
    return min(promises)


def best_paper_promise(k: int, *, similarity: Number, n_tries: int, delta: Number) -> PaperPromise | None:
    """The least epsilon of :func:`paper_promise` over 60 rates of the noise; None if none of them gives this delta.

    Parameters
    ----------
    k : int
        Min plausible seeds, at least 2.
    similarity, n_tries, delta
        As for :func:`paper_promise`.

    Raises
    ------
    ParameterError
        A value is outside its range.
    """
    if k < 2 or n_tries < 1:
        raise ParameterError(f"min plausible seeds is {k:,} and tries is {n_tries:,}; give at least 2 and 1")
    check_similarity(similarity)
    promises = []
    for rate in np.geomspace(_LOWEST / k, _HIGHEST / k + 0.1, _N_RATES).tolist():
        acceptance = Acceptance(
            min_plausible_seeds=k, threshold_epsilon=Fraction(max(1, round(rate * 10**6)), 10**6)
        )
        with suppress(ParameterError):  # no t gives delta with so low a rate
            promises.append(paper_promise(acceptance, similarity=similarity, n_tries=n_tries, delta=delta))
    return min(promises, default=None)
