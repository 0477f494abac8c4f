"""Worker records drawn on the analyst's machine as `commutemap records` would draw them; nothing is written or charged.

Keys follow from the published test key. The first draw is the one that `commutemap records --test-key` makes.
CONFIDENTIAL: what only the run knows, such as who was a seed, comes out here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from engine.precompile import RECORD_STAGES, ensure_compiled
from engine.records.candidates import draw_candidates
from engine.records.drawing import draw_records
from engine.records.groups import GroupTable
from engine.records.learned import learn_structure
from engine.records.splitting import split_records
from engine.records.structure import Structure
from engine.records.tables import Codes, Model, learn_model
from engine.records.topping_up import TopUp, top_up
from engine.streams import SecretKey, attempt_key
from geodata.store import Store, open_store
from mapapp.errors import UsageError
from mapapp.measuring.records_margins import RecordMargins
from mapapp.progress import Report, silent
from mapapp.publishing.records.attributes import RecordAttributes, read_attributes
from mapapp.publishing.records.choice import DEFAULT_DELTA, Choice
from mapapp.publishing.records.plan import Plan, learning_rules, plan_records
from mapapp.publishing.records.workers import read_codes

__all__ = ["DrawnRecords", "RealRecords", "draw_key", "draw_plan"]

_SEEDS, _PARAMETERS, _STRUCTURE = range(3)


@dataclass(frozen=True)
class RealRecords:
    """The real workers of a dataset, held in memory. Confidential.

    Attributes
    ----------
    store : Store
    attributes : RecordAttributes
    codes : int32[n, m]
        One row a worker, columns in resampling order.
    """

    store: Store
    attributes: RecordAttributes
    codes: Codes

    @classmethod
    def read(cls, path: Path, report: Report = silent) -> RealRecords:
        """Read the workers of a dataset; StoreError if it is none or has no workers."""
        report("reading the workers", 0, 0)
        store = open_store(path, "dataset")
        attributes = read_attributes(store)
        parts = list(read_codes(store, attributes))
        if not parts:
            raise UsageError(f"{path}: no workers in it, so there is nothing to measure; import some")
        ensure_compiled(lambda: report("compiling the kernels of records (once)", 0, 0), RECORD_STAGES)
        return cls(store, attributes, np.concatenate(parts))

    @property
    def n_workers(self) -> int:
        """How many there are."""
        return len(self.codes)

    @cached_property
    def margins(self) -> RecordMargins:
        """The workers' tables, for distances."""
        return RecordMargins(self.attributes.attributes, self.codes)

    def plan(self, choice: Choice) -> Plan:
        """Plan records as `commutemap records` does; UsageError if it would refuse."""
        if choice.n_records is not None and choice.n_records > self.n_workers:
            raise UsageError(
                f"--records {choice.n_records:,} is more than the dataset's workers; give fewer, or leave it out"
            )
        return plan_records(self.attributes, self.n_workers, choice)


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnRecords:
    """Records of one draw, and how they came about.

    Attributes
    ----------
    codes : int32[r, m]
        Those that passed come first, then those of the model.
    n_passed : int
        Candidates that passed; 0 without seeds.
    subset : int8[n]
        What each real worker was used for: 0 seeds, 1 tables, 2 structure.
    model : Model
    """

    codes: Codes
    n_passed: int
    subset: npt.NDArray[np.int8]
    model: Model

    @property
    def passed(self) -> Codes:
        """The records that passed, as they are before the model tops them up."""
        return self.codes[: self.n_passed]


def draw_key(number: int) -> SecretKey:
    """Return the key of a draw, counted from 0: the published test key, and keys that follow from it."""
    test_key = SecretKey.for_tests()
    return test_key if number == 0 else attempt_key(test_key, number)


def draw_plan(codes: Codes, plan: Plan, key: SecretKey) -> DrawnRecords:
    """Draw all records of a plan from workers in memory.

    Parameters
    ----------
    codes : int32[n, m]
        Confidential.
    plan : Plan
    key : SecretKey

    Raises
    ------
    EngineError
    UsageError
        Fewer workers than promised became seeds.
    """
    threads = os.cpu_count() or 1
    n = codes.shape[0]
    subset = (
        np.full(n, plan.split.index(Fraction(1)), dtype=np.int8)
        if max(plan.split) == 1
        else split_records(n, plan.split, key=key, threads=threads)
    )
    structure = _structure(codes[subset == _STRUCTURE], plan, key)
    model = learn_model(
        codes[subset == _PARAMETERS], structure, epsilon=plan.model_epsilon, key=key, threads=threads
    )
    if plan.seeds is None:
        drawn = draw_records(model, plan.n_total, key=key, threads=threads)
        return DrawnRecords(codes=drawn, n_passed=0, subset=subset, model=model)
    seeds, own = codes[subset == _SEEDS], plan.seeds
    if seeds.shape[0] < own.n_min:
        raise UsageError(f"fewer than {own.n_min:,} workers became seeds; measure again with more workers")
    groups = GroupTable.of(seeds[:, : own.kept], structure.domain[: own.kept])
    passed = draw_candidates(
        seeds, groups, own.acceptance, model, n=own.n_tries, key=key, threads=threads
    ).codes
    return DrawnRecords(
        codes=_completed(model, passed, plan, key, threads),
        n_passed=passed.shape[0],
        subset=subset,
        model=model,
    )


def _structure(codes: Codes, plan: Plan, key: SecretKey) -> Structure:
    if plan.choice.structure == "public":
        return plan.structure.structure
    return learn_structure(
        codes,
        plan.attributes.domain,
        learning_rules(plan),
        epsilon=plan.model_epsilon,
        delta=plan.choice.delta or DEFAULT_DELTA,
        key=key,
    ).structure


def _completed(model: Model, passed: Codes, plan: Plan, key: SecretKey, threads: int) -> Codes:
    """Bring what passed up to the total, as a run does."""
    own = plan.seeds
    assert own is not None
    if not passed.shape[0]:
        return draw_records(model, plan.n_total, key=key, threads=threads)
    if not plan.choice.top_up:
        return passed
    numbers = TopUp(
        n_total=plan.n_total,
        n_tried=own.n_tries,
        n_seeds=own.n_min,
        min_plausible_seeds=own.acceptance.min_plausible_seeds,
        threshold_epsilon=own.acceptance.threshold_epsilon or Fraction(1),
        forced_fail=own.acceptance.forced_fail,
    )
    return np.concatenate((passed, top_up(model, passed, own.kept, numbers, key=key, threads=threads)))
