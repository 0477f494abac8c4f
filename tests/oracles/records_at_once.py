"""Records of a plan drawn all at once by the engine's own functions: no parts, chunks, threads, or files."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.records.candidates import draw_candidates
from engine.records.drawing import draw_records
from engine.records.groups import GroupTable
from engine.records.learned import learn_structure
from engine.records.splitting import split_records
from engine.records.tables import learn_model
from engine.records.topping_up import TopUp, top_up
from engine.streams import SecretKey
from mapapp.kinds.records.make.choice import DEFAULT_DELTA
from mapapp.kinds.records.make.plan import Plan, learning_rules

Codes = npt.NDArray[np.int32]


def records_at_once(codes: Codes, plan: Plan, key: SecretKey) -> tuple[Codes, int]:
    """All records of a plan, those that passed first, and how many passed."""
    n = codes.shape[0]
    used_for = (
        np.full(n, plan.split.index(Fraction(1)))
        if max(plan.split) == 1
        else split_records(n, plan.split, key=key)
    )
    structure = plan.structure.structure
    if plan.choice.structure == "learned":
        structure = learn_structure(
            codes[used_for == 2],
            plan.attributes.domain,
            learning_rules(plan),
            epsilon=plan.model_epsilon,
            delta=plan.choice.delta or DEFAULT_DELTA,
            key=key,
        ).structure
    model = learn_model(codes[used_for == 1], structure, epsilon=plan.model_epsilon, key=key)
    own = plan.seeds
    if own is None:
        return draw_records(model, plan.n_total, key=key), 0
    seeds = codes[used_for == 0]
    groups = GroupTable.of(seeds[:, : own.kept], structure.domain[: own.kept])
    passed = draw_candidates(seeds, groups, own.acceptance, model, n=own.n_tries, key=key).codes
    assert passed.shape[0]
    if not plan.choice.top_up:
        return passed, passed.shape[0]
    numbers = TopUp(
        n_total=plan.n_total,
        n_tried=own.n_tries,
        n_seeds=own.n_min,
        min_plausible_seeds=own.acceptance.min_plausible_seeds,
        threshold_epsilon=own.acceptance.threshold_epsilon or Fraction(1),
        forced_fail=own.acceptance.forced_fail,
    )
    return np.concatenate((passed, top_up(model, passed, own.kept, numbers, key=key))), passed.shape[0]
