"""What the Records panel says of a setting before anything is drawn: its promise, who would pass, and what tries cost.

The promise follows from public numbers. Group sizes and pass rates are counted from real workers: confidential.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.records.acceptance import Acceptance
from engine.records.theorem_one import best_paper_promise
from engine.records.tries import tries_curve
from mapapp.base.result_cache import ResultCache
from mapapp.kinds.records.make.choice import DEFAULT_DELTA
from mapapp.kinds.records.make.plan import SEEDED_SPLIT, Plan
from mapapp.kinds.records.measure.groups import GroupSizes
from mapapp.kinds.records.measure.workers import RecordWorkers
from mapapp.kinds.records.tune.setting import RecordValues, choice_of, test_of

__all__ = ["ExpectedRecords", "RecordsExpectation", "TriesCost"]

_N_TRIES = 16
_FEWEST_TRIES = 100
_KEPT_LINES = 32

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TriesCost:
    """Epsilon, one worker added or taken away, against the number of tries; from public numbers alone.

    Attributes
    ----------
    tries : tuple of int
    ours : float64[N]
        Of the sound accountant, for the test of the setting.
    paper : tuple of float or None
        Of Theorem 1 and the better composition, for the same k with the noise that suits it best; None where no noise
        gives delta.
    """

    tries: tuple[int, ...]
    ours: Floats
    paper: tuple[float | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRecords:
    """What a setting promises, and how many candidates would pass.

    Attributes
    ----------
    plan : Plan
    test : Acceptance
        Of the setting; without seeds the one that the controls describe.
    seed_sizes : tuple of GroupSizes
        Of the seeds under the test key, for 0, 1, ..., m kept attributes.
    names : tuple of str
        What 0, 1, ..., m kept attributes are.
    """

    plan: Plan
    test: Acceptance
    seed_sizes: tuple[GroupSizes, ...]
    names: tuple[str, ...]

    @property
    def pass_rate(self) -> float:
        """Share of the tries that would pass; 1 without seeds."""
        return self.seed_sizes[self.plan.kept].pass_rate(self.test)


class RecordsExpectation:
    """Expected results of settings; lines of the paper's accountant are kept. Safe to use from several threads.

    Parameters
    ----------
    workers : RecordWorkers
    """

    def __init__(self, workers: RecordWorkers) -> None:
        self.workers = workers
        self._lines: ResultCache[tuple[float | None, ...]] = ResultCache(max_entries=_KEPT_LINES)

    @property
    def names(self) -> tuple[str, ...]:
        """What 0, 1, ..., m kept attributes are, for the pointer and tables."""
        attributes = self.workers.attributes.attributes
        return (
            "0: nothing",
            *(f"{number}: … {attribute.title}" for number, attribute in enumerate(attributes, 1)),
        )

    def of(self, values: RecordValues) -> ExpectedRecords:
        """What the controls describe.

        Raises
        ------
        UsageError, StoreError, ParameterError
            A value is not allowed, or the workers cannot be read.
        """
        workers = self.workers
        plan = workers.plan(choice_of(values, workers))
        return ExpectedRecords(
            plan=plan,
            test=test_of(values) if plan.seeds is None else plan.seeds.acceptance,
            seed_sizes=workers.seed_sizes(SEEDED_SPLIT if plan.seeds is None else plan.split),
            names=self.names,
        )

    def cost(self, plan: Plan) -> TriesCost | None:
        """What other numbers of tries would cost; None without seeds."""
        seeds = plan.seeds
        if seeds is None:
            return None
        delta = plan.choice.delta or DEFAULT_DELTA
        most = max(self.workers.n_workers, seeds.n_tries, 2 * _FEWEST_TRIES)
        tries = tuple(np.unique(np.geomspace(_FEWEST_TRIES, most, _N_TRIES).astype(np.int64)).tolist())
        k = seeds.acceptance.min_plausible_seeds

        def paper(n_tries: int) -> float | None:
            promise = best_paper_promise(k, similarity=seeds.similarity, n_tries=n_tries, delta=delta)
            return None if promise is None else promise.epsilon

        return TriesCost(
            tries=tries,
            ours=tries_curve(
                seeds.acceptance,
                similarity=seeds.similarity,
                n_min=seeds.n_min,
                n_tries=tries,
                delta=delta,
            ),
            paper=self._lines.get_or_make((k, delta, tries), lambda: tuple(map(paper, tries))),
        )
