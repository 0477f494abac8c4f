"""Drawing records: split, structure, model, candidates from seeds, and what brings them up to the total."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from engine.records.candidates import draw_candidates
from engine.records.drawing import draw_records
from engine.records.expected import expected_errors
from engine.records.groups import GroupTable
from engine.records.learned import learn_structure
from engine.records.splitting import split_records
from engine.records.structure import Structure
from engine.records.tables import FamilyCounts, Model, learn_model
from engine.records.topping_up import TopUp, top_up
from engine.streams import SecretKey
from geodata.json_objects import JsonObject
from geodata.store import Store
from mapapp.errors import UsageError
from mapapp.progress import Report
from mapapp.publishing.records.certificate import Made
from mapapp.publishing.records.choice import DEFAULT_DELTA
from mapapp.publishing.records.plan import Plan, learning_rules
from mapapp.publishing.records.promised import SeedPlan
from mapapp.publishing.records.workers import read_codes

__all__ = ["Drawn", "draw_all"]

Codes = npt.NDArray[np.int32]

_SEEDS, _PARAMETERS, _STRUCTURE = range(3)
_RECORDS_AT_ONCE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Records as codes, int32[n, m], and what the certificate says of how they were made."""

    codes: Codes
    made: Made


def draw_all(dataset: Store, plan: Plan, key: SecretKey, *, threads: int, report: Report) -> Drawn:
    """Draw all records of a plan; its promise is in the ledger.

    Raises
    ------
    UsageError
        By a chance below 1 in 10^9, fewer workers than promised became seeds.
    """
    report("reading the workers", 0, 0)
    structure, learned = _structure(dataset, plan, key, threads)
    counts = FamilyCounts(structure)
    seeds = []
    for codes, subset in _parts(dataset, plan, key, threads):
        counts.add(_of(codes, subset, _PARAMETERS), threads=threads)
        if plan.seeds is not None:
            seeds.append(_of(codes, subset, _SEEDS))
    report("learning the model", 0, 0)
    model = learn_model(counts, structure, epsilon=plan.model_epsilon, key=key, threads=threads)
    passed = _passed(np.concatenate(seeds), plan.seeds, model, key, threads, report) if plan.seeds else None
    codes = _completed(model, passed, plan, key, threads, report)
    report("expecting errors", 0, 0)
    made = Made(
        structure=structure,
        n_passed=0 if passed is None else passed.shape[0],
        n_total=codes.shape[0],
        expected_error=_errors(model, plan, threads, n_drawn=codes.shape[0]),
        learned=learned,
    )
    return Drawn(codes=codes, made=made)


def _parts(
    dataset: Store, plan: Plan, key: SecretKey, threads: int
) -> Iterator[tuple[Codes, npt.NDArray[np.int8] | None]]:
    """The workers in parts, and the subset of each worker; None where all are in one."""
    first = 0
    for codes in read_codes(dataset, plan.attributes):
        n = codes.shape[0]
        whole = max(plan.split) == 1
        yield codes, None if whole else split_records(n, plan.split, key=key, first=first, threads=threads)
        first += n


def _of(codes: Codes, subset: npt.NDArray[np.int8] | None, wanted: int) -> Codes:
    return codes if subset is None else codes[subset == wanted]


def _structure(
    dataset: Store, plan: Plan, key: SecretKey, threads: int
) -> tuple[Structure, JsonObject | None]:
    """The public structure, or one learned from its own subset."""
    if plan.choice.structure == "public":
        return plan.structure.structure, None
    codes = np.concatenate(
        [_of(codes, subset, _STRUCTURE) for codes, subset in _parts(dataset, plan, key, threads)]
    )
    found = learn_structure(
        codes,
        plan.attributes.domain,
        learning_rules(plan),
        epsilon=plan.model_epsilon,
        delta=plan.choice.delta or DEFAULT_DELTA,
        key=key,
    )
    # Parents come before their children in the given order, so the order of the attributes stays as it is.
    facts = {
        "n_entropies": found.n_entropies,
        "entropy_epsilon": str(found.entropy_epsilon),
        "noise_bits": found.noise_bits,
    }
    return found.structure, facts


def _completed(
    model: Model, passed: Codes | None, plan: Plan, key: SecretKey, threads: int, report: Report
) -> Codes:
    """Records that passed, and those of the model that bring them up to the total."""
    seeds = plan.seeds
    if passed is None or seeds is None:
        return _of_model(model, plan.n_total, key, threads, report)
    if not plan.choice.top_up and passed.shape[0]:
        return passed
    if not passed.shape[0]:
        return _of_model(model, plan.n_total, key, threads, report)
    report("topping up", 0, 0)
    acceptance = seeds.acceptance
    numbers = TopUp(
        n_total=plan.n_total,
        n_tried=seeds.n_tries,
        n_seeds=seeds.n_min,
        min_plausible_seeds=acceptance.min_plausible_seeds,
        threshold_epsilon=acceptance.threshold_epsilon or Fraction(1),
        forced_fail=acceptance.forced_fail,
    )
    more = top_up(model, passed, seeds.kept, numbers, key=key, threads=threads)
    return np.concatenate((passed, more))


def _of_model(model: Model, n: int, key: SecretKey, threads: int, report: Report) -> Codes:
    """Records of the model alone."""
    parts = []
    for first in range(0, n, _RECORDS_AT_ONCE):
        report("drawing records", first, n)
        parts.append(
            draw_records(model, min(_RECORDS_AT_ONCE, n - first), first=first, key=key, threads=threads)
        )
    return np.concatenate(parts)


def _passed(
    seeds: Codes, plan: SeedPlan, model: Model, key: SecretKey, threads: int, report: Report
) -> Codes:
    """Candidates that passed."""
    if seeds.shape[0] < plan.n_min:
        raise UsageError(
            f"fewer than {plan.n_min:,} workers became seeds, which happens less than once in a billion runs; nothing "
            "was drawn from them, and the entry in the ledger stays; run again"
        )
    groups = GroupTable.of(seeds[:, : plan.kept], model.structure.domain[: plan.kept])
    parts = []
    for first in range(0, plan.n_tries, _RECORDS_AT_ONCE):
        report("trying candidates", first, plan.n_tries)
        n = min(_RECORDS_AT_ONCE, plan.n_tries - first)
        found = draw_candidates(
            seeds, groups, plan.acceptance, model, n=n, first=first, key=key, threads=threads
        )
        parts.append(found.codes)
    return np.concatenate(parts)


def _errors(model: Model, plan: Plan, threads: int, *, n_drawn: int) -> list[JsonObject]:
    """Terms of the expected errors of counts by one to three attributes.

    None of them holds where candidates that failed are missing: small groups then lack more records than large ones.
    """
    if n_drawn < plan.n_total:
        return []
    names = plan.attributes.names
    found = expected_errors(model, plan.n_total, n_learned=max(plan.n_parameters, 1), threads=threads)
    return [
        {
            "attributes": [names[place] for place in terms.attributes],
            "constant": terms.constant,
            "per_worker": terms.per_worker,
            "per_worker_squared": terms.per_worker_squared,
            "is_covered": terms.is_covered,
        }
        for terms in found
    ]
