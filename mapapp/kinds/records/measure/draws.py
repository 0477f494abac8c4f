"""Worker records drawn on the analyst's machine as `commutemap records` draws them; nothing is written or charged.

Keys follow from the published test key. The first draw is the one that `commutemap records --test-key` makes.
CONFIDENTIAL: what only the run knows, such as who was a seed, comes out here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from engine.records.groups import Seeds
from engine.records.tables import Codes, Model
from engine.records.topping_up import count_groups
from engine.streams import SecretKey, attempt_key
from geodata.progress import work_in_order
from mapapp.base.progress import Report, part_of, silent
from mapapp.kinds.records.make.drawing import (
    RecordSource,
    chunks_of,
    draw_chunk,
    fit,
    subset_of_each,
    sums_of_missing,
    try_chunk,
)
from mapapp.kinds.records.make.plan import Plan
from mapapp.kinds.records.measure.workers import RecordWorkers

__all__ = ["DrawnRecords", "draw_key", "draw_plan"]

Ints = npt.NDArray[np.int64]
_Item = TypeVar("_Item")

_AT_ONCE = 1 << 16
"""Records that a thread draws before it looks whether the work was cancelled: well below a second."""


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


def draw_plan(workers: RecordWorkers, plan: Plan, key: SecretKey, report: Report = silent) -> DrawnRecords:
    """Draw all records of a plan from workers in memory.

    Parameters
    ----------
    workers : RecordWorkers
    plan : Plan
    key : SecretKey
    report : callable
        Called with (stage, done, total) for every part of the work; what it raises cancels.

    Raises
    ------
    EngineError
    UsageError
        Fewer workers than promised became seeds.
    """
    threads, codes = os.cpu_count() or 1, workers.codes
    fitted = fit(workers.store, plan, key, threads=threads, report=part_of(report, 0, 3), held=codes)
    source = fitted.source
    passed = _none(plan)
    if fitted.seeds is not None:
        passed = _draw_passing(source, fitted.seeds, key, threads, part_of(report, 1, 3))
    subset = subset_of_each(len(codes), plan, key, threads=threads)
    if subset is None:
        subset = np.full(len(codes), plan.split.index(Fraction(1)), dtype=np.int8)
    return DrawnRecords(
        codes=_top_up(source, passed, key, threads, part_of(report, 2, 3)),
        n_passed=len(passed),
        subset=subset,
        model=source.model,
    )


def _draw_passing(source: RecordSource, seeds: Seeds, key: SecretKey, threads: int, report: Report) -> Codes:
    """The candidates that pass."""
    assert source.plan.seeds is not None
    groups, chunks = seeds.groups(), chunks_of(source.plan.seeds.n_tries, _AT_ONCE)
    parts = work_in_order(partial(try_chunk, source, seeds, groups, key), chunks, threads)
    return np.concatenate(
        [_none(source.plan), *_report_items(parts, "trying candidates", len(chunks), report)]
    )


def _top_up(source: RecordSource, passed: Codes, key: SecretKey, threads: int, report: Report) -> Codes:
    """Bring what passed up to the total, as a run does."""
    plan, missing = source.plan, None
    if len(passed):
        if not plan.choice.top_up:
            return passed
        missing = sums_of_missing(source, count_groups(source.model, passed, plan.kept))
    chunks = chunks_of(max(plan.n_total - len(passed), 0), _AT_ONCE)
    parts = work_in_order(partial(draw_chunk, source, missing, key), chunks, threads)
    return np.concatenate([passed, *_report_items(parts, "drawing records", len(chunks), report)])


def _none(plan: Plan) -> Codes:
    return np.zeros((0, len(plan.attributes.names)), dtype=np.int32)


def _report_items(items: Iterable[_Item], stage: str, n: int, report: Report) -> Iterator[_Item]:
    """The items, with a report before each."""
    report(stage, 0, n)
    for done, item in enumerate(items, 1):
        yield item
        report(stage, done, n)
