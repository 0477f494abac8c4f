"""Run an audit of worker records: attackers on the records, and membership games and links on draws of their plan.

The records themselves show what somebody who looks a worker up finds. Who was a seed, and the model's tables, are
secrets of the run that made them and are gone. So what depends on these is measured on a draw of the same plan, made in
memory with the published test key. CONFIDENTIAL, all of it.

Source: docs/audit.md, "Worker records".
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas
from scipy.stats import binom

from engine.audit.records_law import delta_of_tries, epsilon_at_delta, most_exposed, most_right, try_laws
from engine.errors import ParameterError
from engine.records.divergence import worst_delta
from engine.records.tries import seed_promise
from geodata.errors import StoreError
from geodata.store.store import Store, open_store
from mapapp.analyst.validity.drawn import require_same_geography
from mapapp.answers.publication import CERTIFICATE
from mapapp.answers.records.certificate import read_records_certificate
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.certificate import UNREADABLE
from mapapp.kinds.records.audit.attackers import attack_attributes, hidden_attributes, linkage_row
from mapapp.kinds.records.audit.membership import Game, group_sizes, law_rows, membership_row, play_games
from mapapp.kinds.records.audit.result import AuditedRecords, RecordsAudit
from mapapp.kinds.records.audit.words import records_sentences
from mapapp.kinds.records.make.plan import Plan
from mapapp.kinds.records.make.privacy_costs import SeedPlan
from mapapp.kinds.records.make.remade_certificate import stated_plan
from mapapp.kinds.records.make.run import worker_hashes
from mapapp.kinds.records.make.workers import read_codes
from mapapp.kinds.records.measure.draws import DrawnRecords, draw_key, draw_plan
from mapapp.kinds.records.measure.validity import require_records_of
from mapapp.kinds.records.measure.workers import RecordWorkers

__all__ = ["audit_records"]

_DELTAS: Final = (1e-8, 1e-6, 1e-4, 1e-2)
_MOST_POINTS: Final = 40
_GRID: Final = 101


def audit_records(
    dataset: Path, paths: Sequence[Path], asked: str, *, n_draws: int, report: Report = silent
) -> RecordsAudit:
    """Audit worker records against the dataset they were made from.

    Parameters
    ----------
    dataset : Path
    paths : sequence of Path
        Of the records, which have distinct names.
    asked : {"home", "earnings", "industry", "all"}
        What attackers look for.
    n_draws : int
        Of each side of a membership game, 2 or more.
    report : callable
        Called with (stage, done, total); what it raises cancels.

    Raises
    ------
    StoreError
        They are no dataset and no records, or a certificate cannot be read.
    UsageError
        The records were made from another dataset, or the question is about an attribute that workers lack.
    """
    real = RecordWorkers.open(dataset, report)
    opened = [_open(path, real) for path in paths]
    facts, tables, said = [], list[dict[str, pandas.DataFrame]](), list[str]()
    for store, plan in opened:
        name = store.path.resolve().name
        about = _facts(name, store, real, plan)
        record_tables = _audit_store(name, real, store, plan, asked, n_draws, report)
        facts.append(about)
        tables.append(record_tables)
        sentences = records_sentences(about, record_tables, real.attributes.attributes)
        said += [f"{name}: {sentence}" if len(opened) > 1 else sentence for sentence in sentences]
    return RecordsAudit(
        facts={
            "dataset": real.store.path.name,
            "workers": real.n_workers,
            "draws": n_draws,
            "records": facts,
            "titles": {attribute.name: attribute.title for attribute in real.attributes.attributes},
        },
        tables={
            name: pandas.concat([part[name] for part in tables if name in part], ignore_index=True)
            for name in dict.fromkeys(name for part in tables for name in part)
        },
        sentences=tuple(said),
    )


def _open(path: Path, real: RecordWorkers) -> tuple[Store, Plan]:
    store = open_store(path, "records")
    require_same_geography(store, real.store)
    certificate = read_records_certificate(store)
    require_records_of(store, real.store, certificate, real.attributes)
    try:
        return store, stated_plan(real.attributes, certificate)
    except UNREADABLE as error:
        raise StoreError(
            f"{path}/{CERTIFICATE}: does not say how the records were made ({type(error).__name__}); check them with "
            f"`commutemap certify {path}`"
        ) from error


def _facts(name: str, store: Store, real: RecordWorkers, plan: Plan) -> AuditedRecords:
    certificate = read_records_certificate(store)
    return {
        "name": name,
        "status": certificate.status,
        "epsilon_add_remove": float(plan.add_remove.epsilon),
        "epsilon_replace_one": float(plan.replace_one.epsilon),
        "delta": float(plan.add_remove.delta),
        "kept": list(plan.choice.kept),
        "is_of_these_workers": certificate.confidential_inputs == worker_hashes(real.store),
        "left_out": _left_out(plan),
    }


def _left_out(plan: Plan) -> list[str]:
    sentences = []
    if plan.choice.structure == "learned":
        sentences.append(
            "whether a worker was among those from whom the structure was learned is not attacked"
        )
    if plan.seeds is not None and plan.choice.accountant == "paper":
        sentences.append(
            "epsilon is not compared over several deltas, as the paper's accountant gives it for one"
        )
    return sentences


def _audit_store(
    name: str, real: RecordWorkers, store: Store, plan: Plan, asked: str, n_draws: int, report: Report
) -> dict[str, pandas.DataFrame]:
    hidden = hidden_attributes(real.attributes, asked, plan)
    report(f"drawing records as {name} were drawn", 0, 0)
    drawn = draw_plan(real, plan, draw_key(0))
    games = play_games(name, real.codes, plan, drawn, n_draws, report)
    records = np.concatenate(list(read_codes(store, real.attributes)))
    tables = attack_attributes(name, real, records, hidden, report)
    report(f"linking {name} to workers", 0, 0)
    tables["membership"] = pandas.DataFrame(
        [{"release": name, **membership_row(game, plan)} for game in games]
    )
    tables["power"] = pandas.DataFrame([row for game in games for row in _power_rows(name, game, plan)])
    tables["law"] = pandas.DataFrame(law_rows(name, real.codes, plan, drawn))
    tables["linkage"] = pandas.DataFrame([linkage_row(name, real.codes, records, plan, drawn)])
    if plan.seeds is not None and plan.choice.accountant == "sound":
        tables["promise"] = pandas.DataFrame(_promise_rows(name, real, plan, plan.seeds, drawn))
    return tables


def _power_rows(name: str, game: Game, plan: Plan) -> list[dict[str, object]]:
    """Rows of the table `power`: one for each of some thresholds."""
    part = next(part for part in plan.parts if part.name == game.part)
    scores = np.unique(np.concatenate((game.with_worker, game.without_worker)))
    if scores.size > _MOST_POINTS:
        scores = scores[np.unique(np.linspace(0, scores.size - 1, _MOST_POINTS).astype(np.int64))]
    false_alarms, exact = (
        binom.sf(scores - 1, game.n, chance) for chance in (game.chance_without, game.chance_with)
    )
    of = {"release": name, "part": game.part, "target": game.target}
    promise = [(float(part.add_remove.epsilon), float(part.add_remove.delta))]
    bound = most_right(promise, false_alarms)
    # The promise has corners where no threshold need be.
    grid = np.linspace(0.0, 1.0, _GRID)
    rows: list[dict[str, object]] = [
        {**of, "false_alarms": at, "most_right": most}
        for at, most in zip(grid.tolist(), most_right(promise, grid).tolist(), strict=True)
    ]
    return rows + [
        {
            **of,
            "threshold": float(score),
            "false_alarms": float(false_alarms[at]),
            "most_right": float(bound[at]),
            "exact": float(exact[at]),
            "drawn_false_alarms": _share(game.without_worker, score),
            "drawn": _share(game.with_worker, score),
        }
        for at, score in enumerate(scores.tolist())
    ]


def _share(scores: npt.NDArray[np.float64], threshold: float) -> float:
    return float((scores >= threshold).mean())


def _promise_rows(
    name: str, real: RecordWorkers, plan: Plan, seeds: SeedPlan, drawn: DrawnRecords
) -> list[dict[str, object]]:
    """Rows of the table `promise`: epsilon against delta, for all tries and for one candidate."""
    sizes, acceptance = group_sizes(real.codes, plan, drawn), seeds.acceptance
    laws = try_laws(acceptance, sizes, most_exposed(acceptance, sizes, seeds.n_tries))
    rows = []
    for delta in _DELTAS:
        try:
            promise = seed_promise(
                acceptance, similarity=seeds.similarity, n_min=seeds.n_min, n_tries=seeds.n_tries, delta=delta
            )
        except ParameterError:
            continue  # the tries use up more than this delta
        rows.append(
            {
                "release": name,
                "delta": delta,
                "certified": float(promise.epsilon),
                "exact": epsilon_at_delta(lambda at: delta_of_tries(seeds.n_tries, *laws, at), delta),
                "one_candidate": epsilon_at_delta(
                    lambda at: worst_delta(acceptance, float(seeds.similarity), seeds.n_min, at), delta
                ),
            }
        )
    return rows
