"""What is learned from the workers, in one pass over them, and the records that are drawn from it, chunk by chunk.

A record is addressed by its number. So chunks of records know nothing of each other: they may be drawn in any order, on
threads or on other machines, and of any size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.records.candidates import draw_candidates
from engine.records.drawing import draw_records
from engine.records.expected import expected_errors
from engine.records.groups import GroupTable, Seeds
from engine.records.learned import learn_structure
from engine.records.splitting import split_records
from engine.records.structure import Structure
from engine.records.tables import FamilyCounts, Model, learn_model
from engine.records.topping_up import TopUp, draw_top_up, missing_sums
from engine.streams import SecretKey
from geodata.store.store import Store
from mapapp.answers.records.claims import ErrorTerm
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.kinds.records.make.choice import DEFAULT_DELTA
from mapapp.kinds.records.make.plan import Plan, learning_rules
from mapapp.kinds.records.make.privacy_costs import SeedPlan
from mapapp.kinds.records.make.workers import read_codes, workers_file

__all__ = [
    "Chunk",
    "Fitted",
    "RecordSource",
    "chunks_of",
    "draw_chunk",
    "error_terms",
    "fit",
    "read_seeds",
    "subset_of_each",
    "sums_of_missing",
    "try_chunk",
]

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]

_SEEDS, _PARAMETERS, _STRUCTURE = range(3)
_HELD_AT_ONCE = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSource:
    """What all records of a run are drawn from.

    Attributes
    ----------
    store : Store
        The dataset: its block cells; of its workers only seeds are read.
    plan : Plan
    model : Model
        The private model.
    """

    store: Store
    plan: Plan
    model: Model


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What was learned from the workers.

    Attributes
    ----------
    source : RecordSource
    seeds : Seeds or None
        Confidential; None without kept attributes.
    fewest_records : int or None
        Of a learned structure: the noisy lower bound of the records from which it was learned.
    """

    source: RecordSource
    seeds: Seeds | None
    fewest_records: int | None


class Chunk(NamedTuple):
    """Candidates or records ``first`` to ``first + n - 1``."""

    first: int
    n: int


def chunks_of(n: int, size: int) -> list[Chunk]:
    """Cut candidates or records 0 to ``n - 1`` into chunks of at most ``size``."""
    return [Chunk(first, min(size, n - first)) for first in range(0, n, size)]


def fit(
    dataset: Store,
    plan: Plan,
    key: SecretKey,
    *,
    threads: int,
    report: Report = silent,
    held: Codes | None = None,
) -> Fitted:
    """Learn the model, and collect the seeds, in one pass over the workers; the promise is in the ledger.

    Parameters
    ----------
    dataset : Store
    plan : Plan
    key : SecretKey
    threads : int
        Nothing depends on it.
    report : callable
        Called with (stage, done, total); what it raises ends the work.
    held : int32[n, m], optional
        The workers, where they are in memory already: an analyst's, for whom nothing is released.

    Raises
    ------
    UsageError
        By a chance below 1 in 10^9, fewer workers than promised became seeds.
    """
    structure, fewest = _structure(dataset, plan, key, threads, report, held)
    counts, seeds = FamilyCounts(structure), _no_seeds(plan)
    for codes, subset in _parts(dataset, plan, key, threads, report, held):
        counts.add(_of(codes, subset, _PARAMETERS), threads=threads)
        if seeds is not None:
            seeds.add(_of(codes, subset, _SEEDS)[:, : plan.kept])
    if seeds is not None and plan.seeds is not None and seeds.prefixes.size < plan.seeds.n_min:
        raise UsageError(
            f"fewer than {plan.seeds.n_min:,} workers became seeds, which happens less than once in a billion runs; "
            "nothing was drawn from them, and what the ledger was charged stays charged; run again"
        )
    report("learning the model", 0, 0)
    model = learn_model(counts, structure, epsilon=plan.model_epsilon, key=key, threads=threads)
    return Fitted(
        source=RecordSource(store=dataset, plan=plan, model=model), seeds=seeds, fewest_records=fewest
    )


def read_seeds(source: RecordSource, key: SecretKey, *, threads: int) -> Seeds:
    """Collect the seeds again, as `fit` did: on another machine."""
    seeds = _no_seeds(source.plan)
    assert seeds is not None
    for codes, subset in _parts(source.store, source.plan, key, threads, silent):
        seeds.add(_of(codes, subset, _SEEDS)[:, : source.plan.kept])
    return seeds


def try_chunk(source: RecordSource, seeds: Seeds, groups: GroupTable, key: SecretKey, chunk: Chunk) -> Codes:
    """Try the candidates of a chunk: those that passed."""
    plan = _seeds_of(source.plan)
    return draw_candidates(
        seeds, groups, plan.acceptance, source.model, n=chunk.n, first=chunk.first, key=key
    ).codes


def draw_chunk(source: RecordSource, missing: Ints | None, key: SecretKey, chunk: Chunk) -> Codes:
    """Draw the records of a chunk by the model: in proportion to what is `missing` in each group, if that is given."""
    if missing is None:
        return draw_records(source.model, chunk.n, first=chunk.first, key=key)
    return draw_top_up(source.model, missing, source.plan.kept, chunk.n, first=chunk.first, key=key)


def sums_of_missing(source: RecordSource, n_in_group: Ints) -> Ints:
    """Running sums of what is missing in each group, if so many candidates of each passed."""
    plan = _seeds_of(source.plan)
    acceptance = plan.acceptance
    numbers = TopUp(
        n_total=source.plan.n_total,
        n_tried=plan.n_tries,
        n_seeds=plan.n_min,
        min_plausible_seeds=acceptance.min_plausible_seeds,
        threshold_epsilon=acceptance.threshold_epsilon or Fraction(1),
        forced_fail=acceptance.forced_fail,
    )
    return missing_sums(source.model, n_in_group, plan.kept, numbers)


def error_terms(
    source: RecordSource, *, threads: int, check: Callable[[], object] | None = None
) -> list[ErrorTerm]:
    """Terms of the expected errors of counts by one to three attributes, where the model tops records up.

    An exception that `check` raises, which is called often, ends the work.
    """
    plan = source.plan
    names = plan.attributes.names
    all_terms = expected_errors(
        source.model, plan.n_total, n_learned=max(plan.n_parameters, 1), threads=threads, check=check
    )
    return [
        ErrorTerm(
            attributes=tuple(names[place] for place in terms.attributes),
            constant=terms.constant,
            per_worker=terms.per_worker,
            per_worker_squared=terms.per_worker_squared,
            is_covered=terms.is_covered,
            of_empty=terms.of_empty,
            per_worker_of_small=terms.per_worker_of_small,
            knee=terms.knee,
        )
        for terms in all_terms
    ]


def _seeds_of(plan: Plan) -> SeedPlan:
    assert plan.seeds is not None
    return plan.seeds


def _no_seeds(plan: Plan) -> Seeds | None:
    return Seeds(plan.attributes.domain[: plan.kept]) if plan.kept else None


def subset_of_each(
    n: int, plan: Plan, key: SecretKey, *, first: int = 0, threads: int
) -> npt.NDArray[np.int8] | None:
    """What workers ``first`` to ``first + n - 1`` are used for: 0 seeds, 1 tables, 2 structure; None if all for one."""
    if max(plan.split) == 1:
        return None
    return split_records(n, plan.split, key=key, first=first, threads=threads)


def _parts(
    dataset: Store, plan: Plan, key: SecretKey, threads: int, report: Report, held: Codes | None = None
) -> Iterator[tuple[Codes, npt.NDArray[np.int8] | None]]:
    """The workers in parts, and the subset of each worker; None where all are in one."""
    if held is None:
        n_rows = int(dataset.manifest["files"][f"{workers_file(dataset)}.parquet"]["rows"])
        parts = read_codes(dataset, plan.attributes, jobs_per_person=plan.jobs_per_person, threads=threads)
    else:
        n_rows = len(held)
        parts = (held[at : at + _HELD_AT_ONCE] for at in range(0, n_rows, _HELD_AT_ONCE))
    first = 0
    for codes in parts:
        report("reading the workers", min(first, n_rows), n_rows)
        n = codes.shape[0]
        yield codes, subset_of_each(n, plan, key, first=first, threads=threads)
        first += n


def _of(codes: Codes, subset: npt.NDArray[np.int8] | None, wanted: int) -> Codes:
    return codes if subset is None else codes[subset == wanted]


def _structure(
    dataset: Store, plan: Plan, key: SecretKey, threads: int, report: Report, held: Codes | None
) -> tuple[Structure, int | None]:
    """The public structure, or one learned from its own subset with the lower bound of records that it used."""
    if plan.choice.structure == "public":
        return plan.structure.structure, None
    codes = np.concatenate(
        [
            _of(codes, subset, _STRUCTURE)
            for codes, subset in _parts(dataset, plan, key, threads, report, held)
        ]
    )
    report("learning the structure", 0, 0)
    learned = learn_structure(
        codes,
        plan.attributes.domain,
        learning_rules(plan),
        epsilon=plan.model_epsilon,
        delta=plan.choice.delta or DEFAULT_DELTA,
        key=key,
    )
    # Parents come before their children in the given order, so the order of the attributes stays as it is.
    return learned.structure, learned.fewest_records
