"""The workers of a dataset as records in memory, for Tune, `sweep`, and `audit`.

CONFIDENTIAL: real workers.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from threading import Lock

import numpy as np
import numpy.typing as npt

from engine.precompile import RECORD_STAGES, ensure_compiled
from engine.records.acceptance import Acceptance
from engine.records.splitting import split_records
from engine.streams import SecretKey
from geodata.store.store import Store, open_store
from mapapp.base.progress import Report, silent
from mapapp.base.result_cache import ResultCache
from mapapp.kinds.records.make.attributes import RecordAttributes, read_attributes
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.plan import Plan, plan_records
from mapapp.kinds.records.make.workers import count_workers, has_workers, read_codes
from mapapp.kinds.records.measure.groups import GroupSizes, group_sizes
from mapapp.kinds.records.measure.margins import RecordMargins

__all__ = ["RecordWorkers"]

Codes = npt.NDArray[np.int32]
Split = tuple[Fraction, Fraction, Fraction]

_KEPT_PLANS = 64
_KEPT_SPLITS = 4


class RecordWorkers:
    """Workers, read on first use and kept in memory. Safe to use from several threads.

    Parameters
    ----------
    store : Store
        A dataset.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self._reading = Lock()
        self._codes: Codes | None = None
        self._plans: ResultCache[Plan] = ResultCache(max_entries=_KEPT_PLANS)
        self._tests: ResultCache[Acceptance] = ResultCache(max_entries=_KEPT_PLANS)
        self._seeds: ResultCache[tuple[GroupSizes, ...]] = ResultCache(max_entries=_KEPT_SPLITS)

    @classmethod
    def open(cls, path: Path, report: Report = silent) -> RecordWorkers:
        """Open a dataset, read its workers, and compile what draws records.

        Raises
        ------
        StoreError
            It is none, or has no workers.
        """
        report("reading the workers", 0, 0)
        workers = cls(open_store(path, "dataset"))
        count_workers(workers.store)
        workers.read(report)
        ensure_compiled(lambda: report("compiling the kernels of records (once)", 0, 0), RECORD_STAGES)
        return workers

    @cached_property
    def attributes(self) -> RecordAttributes:
        """Attributes of the records, in the order in which they are kept: public."""
        return read_attributes(self.store)

    @cached_property
    def n_workers(self) -> int:
        """Number of workers, which is taken to be public; StoreError without any."""
        return count_workers(self.store)

    @property
    def has_further_attributes(self) -> bool:
        """Whether records come from worker records of the agency; otherwise they have the seven attributes of jobs."""
        return has_workers(self.store)

    @property
    def codes(self) -> Codes:
        """Real records: int32[n, m], columns in resampling order; as :meth:`read`."""
        return self.read()

    def read(self, report: Report = silent) -> Codes:
        """Read the real records, or return those that are in memory.

        Parameters
        ----------
        report : callable
            Called with (stage, done, total); what it raises cancels.

        Raises
        ------
        StoreError
            A workplace lies outside the states that the dataset says it covers.
        """
        with self._reading:
            if self._codes is None:
                parts, n_read = [], 0
                for codes in read_codes(self.store, self.attributes):
                    parts.append(codes)
                    n_read += len(codes)
                    report("reading the workers", min(n_read, self.n_workers), self.n_workers)
                self._codes = np.concatenate(parts)
            return self._codes

    @cached_property
    def margins(self) -> RecordMargins:
        """The workers' tables, for distances."""
        return RecordMargins(self.attributes.attributes, self.codes)

    @cached_property
    def sizes(self) -> tuple[GroupSizes, ...]:
        """Groups of all workers by their first 0, 1, ..., m attributes."""
        return group_sizes(self.codes, self.attributes.domain)

    def seed_sizes(self, split: Split) -> tuple[GroupSizes, ...]:
        """Groups of the workers who are seeds under the test key, as a run with `--test-key` has them.

        Parameters
        ----------
        split : tuple of three Fraction
            Shares of seeds, parameters, and structure; the first above 0.
        """
        return self._seeds.get_or_make(split, lambda: self._seed_sizes(split))

    def plan(self, choice: Choice) -> Plan:
        """What a choice promises, from public inputs alone; UsageError as :func:`plan_records`."""
        return self._plans.get_or_make(choice, lambda: self._make_plan(choice))

    def _make_plan(self, choice: Choice) -> Plan:
        """The plan of a choice; its test is searched for once, since it does not depend on how many are kept."""
        alike = replace(choice, kept=choice.kept[:1])
        test = self._tests.get(alike)
        if test is None:
            plan = plan_records(self.attributes, self.n_workers, choice)
            if plan.seeds is not None:
                self._tests.put(alike, plan.seeds.acceptance)
            return plan
        given = replace(
            choice,
            min_seeds=test.min_plausible_seeds,
            threshold_epsilon=test.threshold_epsilon,
        )
        return replace(plan_records(self.attributes, self.n_workers, given), choice=choice)

    def _seed_sizes(self, split: Split) -> tuple[GroupSizes, ...]:
        subset = split_records(len(self.codes), split, key=SecretKey.for_tests())
        return group_sizes(self.codes[subset == 0], self.attributes.domain)
