"""Run the attackers of an audit over a dataset, some destination tracts at a time.

    data = AnalystData.open(dataset_path)
    found = audited_workers(data, audited_release(data, release_path), QUESTIONS, report=report)
    joined(data, [found]).sentences

`report(stage, done, total)` is called before every part; to cancel, raise from it: nothing is written anywhere.
CONFIDENTIAL, all of it.

Source: docs/audit.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import pandas

from engine.audit.decomposition import MOST_COUNTS, Decomposition
from engine.audit.lookup import lookup, lookup_without_victim, majority
from engine.audit.naive_bayes import NaiveBayes
from engine.audit.predictions import Predictions
from engine.precompile import AUDIT_STAGES, ensure_compiled
from mapapp.measuring.analyst import AnalystData
from mapapp.measuring.audit.audited import Audited, AuditedPart
from mapapp.measuring.audit.informed import InformedPart, informed_part, spread_row, why_not_informed
from mapapp.measuring.audit.lone_workers import LonePart, lone_part, lone_row
from mapapp.measuring.audit.outcomes import Outcomes
from mapapp.measuring.audit.questions import (
    TARGETS_OF,
    Areas,
    Question,
    QuestionPart,
    Target,
    ask,
)
from mapapp.measuring.audit.records import CodedBlocks, Records, coded
from mapapp.measuring.audit.result import Audit, ReleaseFacts
from mapapp.measuring.audit.words import sentences_of
from mapapp.measuring.expected_promise import epsilon_final_of
from mapapp.progress import Report, silent
from mapapp.publishing.certified_weights import CertifiedClasses
from mapapp.publishing.geography import Ints

__all__ = ["AuditedWorkers", "audited_workers", "joined"]

_WITH_MAJORITY: Final[tuple[Target, ...]] = ("home tract", "home county", "earnings", "industry")
"""Questions whose values mean the same for all workplaces, so that one value is the most frequent."""


class AuditedWorkers(NamedTuple):
    """One audited release or setting after its attackers have run.

    Attributes
    ----------
    facts : ReleaseFacts
    records : Records
        All workers with their true and synthetic homes. Confidential.
    tables : dict of str to DataFrame
    """

    facts: ReleaseFacts
    records: Records
    tables: dict[str, pandas.DataFrame]


_NO_VALUE: Final = -1
"""The true value of a worker whose home editing dropped: no prediction is right."""


class _Collected(NamedTuple):
    """What the parts of one release give."""

    outcomes: Outcomes
    records: list[Records]
    certified: list[CertifiedClasses]
    lone: list[LonePart]
    informed: list[InformedPart]


def joined(data: AnalystData, found: Sequence[AuditedWorkers]) -> Audit:
    """Put audited releases and settings of one dataset, which have distinct names, side by side."""
    names = found[0].tables
    tables = {name: pandas.concat([one.tables[name] for one in found], ignore_index=True) for name in names}
    n = found[0].records.n
    n_lone = int((n == 1).sum())
    said = [
        f"{one.facts['name']}: {sentence}" if len(found) > 1 else sentence
        for one in found
        for sentence in sentences_of(one.facts, one.tables, n_lone)
    ]
    return Audit(
        facts={
            "dataset": data.store.path.name,
            "workers": int(n.size),
            "lone_workers": n_lone,
            "releases": [one.facts for one in found],
        },
        tables=tables,
        sentences=tuple(said),
    )


def audited_workers(
    data: AnalystData,
    audited: Audited,
    questions: Sequence[Question],
    *,
    tracts: Ints | None = None,
    report: Report = silent,
) -> AuditedWorkers:
    """Run the attackers on one release or setting.

    Parameters
    ----------
    data : AnalystData
    audited : Audited
    questions : sequence of str
    tracts : int64[T], optional
        Positions of the destination tracts whose workers are attacked, such as ``data.sample(30)``; all by default.
    report : callable
        Called with (stage, done, total) before every part; what it raises cancels.

    Raises
    ------
    UsageError
        A release has other workers by workplace and segment than the dataset.
    EngineError
        A setting cannot be certified.
    """
    ensure_compiled(lambda: report("compiling the audit's kernels (once)", 0, 0), AUDIT_STAGES)
    targets = [target for question in questions for target in TARGETS_OF[question]]
    areas = Areas.read(data.store, data.geography)
    found = _Collected(Outcomes(audited.name), [], [], [], [])

    def of_this(stage: str, done: int, total: int) -> None:
        report(f"auditing {audited.name}", done, total)

    for panel in data.panels(tracts, report=of_this):
        part = audited.part(panel)
        found.records.append(Records.of(part))
        found.certified.append(part.certified)
        for target in targets:
            asked = ask(target, part, data.geography, areas)
            _attack(found, audited, part, asked, data)
    records = Records.joined(found.records)
    left_out = _attack_with_all(found.outcomes, data, areas, records, targets)
    promised = audited.epsilon_final
    if not audited.is_release:
        promised = epsilon_final_of(audited.privacy, audited.parameters, found.certified)
    facts: ReleaseFacts = {
        "name": audited.name,
        "is_release": audited.is_release,
        "mechanism": audited.parameters.mechanism,
        "unit": audited.parameters.unit,
        "epsilon_final": promised,
        "delta": audited.delta,
        "left_out": [*left_out, *(why_not_informed(audited.parameters) if "home" in questions else [])],
    }
    tables = found.outcomes.tables(records.n)
    tables["spread"] = pandas.DataFrame([spread_row(facts, found.informed)])
    tables["lone_workers"] = pandas.DataFrame(
        [lone_row(audited.name, found.lone, is_cleaned=audited.parameters.clean)]
    )
    return AuditedWorkers(facts, records, tables)


def _attack(
    found: _Collected, audited: Audited, part: AuditedPart, asked: QuestionPart, data: AnalystData
) -> None:
    """Run the attackers who need only the workers of the same destination tracts."""
    add, truth = found.outcomes.add, asked.truth
    is_dropped = (
        truth == asked.prior.size - 1 if asked.target == "home point" else np.zeros(truth.size, np.bool_)
    )
    hit = np.where(is_dropped, _NO_VALUE, truth)  # nobody can name a home that editing dropped
    add(asked.target, "public_prior", Predictions(asked.guess, asked.belief), hit)
    add(
        asked.target,
        "lookup_without_victim",
        lookup_without_victim(asked.keys, truth, asked.prior),
        hit,
    )
    add(
        asked.target,
        "lookup",
        lookup(asked.released_keys, asked.released, asked.keys, asked.prior),
        hit,
    )
    add(asked.target, "memorised", lookup(asked.keys, truth, asked.keys, asked.prior), hit)
    if asked.target != "home point":
        return
    found.lone.append(lone_part(audited, part, asked))
    informed = informed_part(audited, part, asked)
    if informed is not None:
        found.informed.append(informed)
        add(asked.target, "informed_without_release", informed.without_release, hit)
        add(asked.target, "informed", informed.with_release, hit)


def _attack_with_all(
    outcomes: Outcomes, data: AnalystData, areas: Areas, records: Records, targets: Sequence[Target]
) -> list[str]:
    """Run the attackers who need all workers at once; return whom this leaves out."""
    left_out = []
    blocks = CodedBlocks.read(data, areas)
    for target in targets:
        if target not in _WITH_MAJORITY:
            continue
        true = coded(target, records, blocks, released=False)
        outcomes.add(target, "majority", majority(true.sensitive, true.n_values), true.sensitive)
        if true.n_values * int(true.sizes.sum()) > MOST_COUNTS:
            left_out.append(
                f"naive Bayes on the {target} is left out: its table would have more than {MOST_COUNTS:,} numbers"
            )
            continue
        synthetic = coded(target, records, blocks, released=True)
        model = NaiveBayes.of(
            Decomposition.from_records(
                synthetic.codes, synthetic.sensitive, synthetic.sizes, synthetic.n_values
            )
        )
        outcomes.add(target, "naive_bayes", model.predict(true.codes), true.sensitive)
    return left_out
