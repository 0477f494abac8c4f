"""The paper's accountant in a plan: Theorem 1 for each try, composed, which says nothing about visible failures."""

from __future__ import annotations

import math
from fractions import Fraction

from engine.errors import ParameterError
from engine.records.acceptance import Acceptance
from engine.records.theorem_one import paper_promise
from mapapp.base.errors import UsageError
from mapapp.kinds.records.make.choice import (
    DEFAULT_DELTA,
    DEFAULT_MIN_SEEDS,
    DEFAULT_THRESHOLD_EPSILON,
    Choice,
)
from mapapp.kinds.records.make.privacy_costs import Amounts, Part, SeedPlan

__all__ = ["PAPER_REASON", "paper_seeds"]

PAPER_REASON = "paper accountant: Theorem 1 holds only if nobody learns how many candidates failed"
_MICRO = 10**6


def paper_seeds(
    kept: int, n_min: int, n_tries: int, share: Fraction, choice: Choice
) -> tuple[SeedPlan, Part]:
    """Plan seeds by the paper's accountant; nothing is chosen to keep a given epsilon.

    Raises
    ------
    UsageError
        An epsilon is given, or Theorem 1 does not cover the choice.
    """
    if choice.epsilon is not None:
        raise UsageError(
            "--epsilon with --accountant paper: this accountant computes epsilon from --min-seeds and "
            "--threshold-epsilon; leave one of the two options out"
        )
    delta = choice.delta or DEFAULT_DELTA
    try:
        acceptance = Acceptance(
            min_plausible_seeds=choice.min_seeds or DEFAULT_MIN_SEEDS,
            threshold_epsilon=choice.threshold_epsilon or DEFAULT_THRESHOLD_EPSILON,
            forced_fail=choice.forced_fail,
            seed_floor=choice.seed_floor,
        )
        promise = paper_promise(acceptance, similarity=choice.similarity, n_tries=n_tries, delta=delta)
    except ParameterError as error:
        raise UsageError(str(error)) from None
    epsilon = _round_up(promise.epsilon)
    plan = SeedPlan(
        kept=kept,
        acceptance=acceptance,
        similarity=choice.similarity,
        n_min=n_min,
        n_tries=n_tries,
        rdp_order=None,
    )
    part = Part(
        name="seeds",
        share=share,
        add_remove=Amounts(epsilon, delta),
        replace_one=Amounts(2 * epsilon, min(_of_two_steps(epsilon, delta), Fraction(1))),
    )
    return plan, part


def _of_two_steps(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Delta of two steps: delta (1 + e^epsilon), rounded up; at most 1."""
    if epsilon > 30:
        return Fraction(1)
    return _round_up(float(delta) * (1 + math.exp(float(epsilon))) * _MICRO) / _MICRO


def _round_up(value: float) -> Fraction:
    return Fraction(math.ceil(value * (1 + 1e-9) * _MICRO), _MICRO)
