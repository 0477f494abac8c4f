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

from engine.audit.coded_tables import Predictions
from engine.audit.tally import size_classes
from engine.precompile import AUDIT_STAGES, ensure_compiled
from mapapp.analyst.audit.attackers import (
    LonePart,
    SpreadPart,
    WholeAttack,
    informed_part,
    lone_part,
    lone_row,
    spread_row,
    why_not_informed,
)
from mapapp.analyst.audit.audited import Audited, AuditedPart
from mapapp.analyst.audit.margins import NOT_COMPARED, merge_by_margin, merge_part_by_margin, why_by_margin
from mapapp.analyst.audit.outcomes import Outcomes
from mapapp.analyst.audit.questions import TARGETS_OF, Areas, Question, QuestionPart, Target, ask
from mapapp.analyst.audit.records import CodedBlocks, Records
from mapapp.analyst.audit.result import Attacker, Audit, ReleaseFacts
from mapapp.analyst.audit.words import sentences_of
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.analyst.validity.expected_promise import epsilon_final_of
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.geography import Ints
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.release.make.certified_weights import CertifiedClasses

__all__ = ["AuditedWorkers", "audited_workers", "join_audits"]

_WITH_MAJORITY: Final[tuple[Target, ...]] = ("home tract", "home county", "earnings", "industry")
"""Questions whose values mean the same for all workplaces, so that one value is the most frequent."""


class AuditedWorkers(NamedTuple):
    """One audited release or setting after its attackers have run.

    Attributes
    ----------
    facts : ReleaseFacts
    n_workers, n_lone : int
        Workers who were attacked, and those who are alone in their block and segment, or in their block and what else
        the first question compares: public.
    tables : dict of str to DataFrame
    records : Records or None
        All workers with their true and synthetic homes, if they were asked for and have joint segments. Confidential.
    """

    facts: ReleaseFacts
    n_workers: int
    n_lone: int
    tables: dict[str, pandas.DataFrame]
    records: Records | None = None


_NO_VALUE: Final = -1
"""The true value of a worker whose home editing dropped: no prediction is right."""


class _Collected(NamedTuple):
    """What the parts of one release give."""

    outcomes: Outcomes
    promised: list[float | None]
    lone: list[LonePart]
    spreads: list[SpreadPart]
    records: list[Records]


def join_audits(data: AnalystData, audits: Sequence[AuditedWorkers]) -> Audit:
    """Put audited releases and settings of one dataset, which have distinct names, side by side."""
    names = audits[0].tables
    tables = {
        name: pandas.concat([audited.tables[name] for audited in audits], ignore_index=True) for name in names
    }
    n_lone = audits[0].n_lone
    said = [
        f"{audited.facts['name']}: {sentence}" if len(audits) > 1 else sentence
        for audited in audits
        for sentence in sentences_of(audited.facts, audited.tables, audited.n_lone)
    ]
    return Audit(
        facts={
            "dataset": data.store.path.name,
            "workers": audits[0].n_workers,
            "lone_workers": n_lone,
            "releases": [audited.facts for audited in audits],
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
    keeps_records: bool = False,
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
    keeps_records : bool
        Whether to keep all workers, which only other schemes need. Otherwise memory does not grow with them.
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
    n_workers = data.n_workers(tracts)
    collected = _Collected(Outcomes(audited.name, n_workers), [], [], [], [])
    blocks = CodedBlocks.read(data, areas)
    whole = [WholeAttack(target, blocks) for target in targets if target in _WITH_MAJORITY]

    n_passes = 1 if all(attack.left_out for attack in whole) else 2

    def report_first(stage: str, done: int, total: int) -> None:
        report(f"auditing {audited.name}", done, n_passes * total)

    def report_second(stage: str, done: int, total: int) -> None:
        report(f"auditing {audited.name}", total + done, n_passes * total)

    for workers in data.workers(tracts, report=report_first):
        part = audited.part(workers)
        collected.promised.append(_promised_epsilon(audited, [part.certified]))
        compared = _compare_by_question(audited, part, targets)
        for attack in whole:
            attack.count(compared[attack.target].records)
        for target, (of_target, _) in compared.items():
            _attack(collected, audited, of_target, ask(target, of_target, data.geography, areas))
        if keeps_records and audited.has_joint_segments:
            collected.records.append(compared[targets[0]].records)
    for attack in whole:
        attack.learn(collected.outcomes)
    if n_passes == 2:
        for workers in data.workers(tracts, report=report_second):
            _attack_with_all(collected.outcomes, whole, workers.inputs, audited)
    return _sum_up(collected, audited, questions, n_workers, [attack.left_out for attack in whole])


class _ComparedPart(NamedTuple):
    """Real and synthetic workers as one question compares them."""

    part: AuditedPart
    records: Records

    @classmethod
    def of(cls, part: AuditedPart) -> _ComparedPart:
        return cls(part, Records.of(part.panel.inputs, part.home_block))


def _compare_by_question(
    audited: Audited, part: AuditedPart, targets: Sequence[Target]
) -> dict[Target, _ComparedPart]:
    """Some destination tracts by question: workers by joint segment, or else by block and margin."""
    if audited.has_joint_segments:
        return dict.fromkeys(targets, _ComparedPart.of(part))
    return {target: _ComparedPart.of(merge_part_by_margin(part, target)) for target in targets}


def _promised_epsilon(audited: Audited, certified: Sequence[CertifiedClasses]) -> float | None:
    """The promise of a release, or of a setting on some destination tracts."""
    return audited.epsilon_final or epsilon_final_of(audited.privacy, audited.parameters, certified)


def _sum_up(
    collected: _Collected,
    audited: Audited,
    questions: Sequence[Question],
    n_workers: int,
    left_out: Sequence[str | None],
) -> AuditedWorkers:
    promised = audited.epsilon_final
    if not audited.is_release:
        # The promise of a setting on all tracts is that on those where it is weakest.
        promised = max((promise for promise in collected.promised if promise is not None), default=None)
    facts: ReleaseFacts = {
        "name": audited.name,
        "is_release": audited.is_release,
        "mechanism": audited.parameters.mechanism,
        "unit": audited.parameters.unit,
        "compared_by": "block and segment" if audited.has_joint_segments else "block and margin",
        "epsilon_final": promised,
        "delta": audited.delta,
        "left_out": [
            *([] if audited.has_joint_segments else [why_by_margin(audited.parameters), NOT_COMPARED]),
            *(why for why in left_out if why is not None),
            *(why_not_informed(audited.parameters) if "home" in questions else []),
        ],
    }
    tables = collected.outcomes.tables()
    tables["spread"] = pandas.DataFrame([spread_row(facts, collected.spreads)])
    tables["lone_workers"] = pandas.DataFrame(
        [lone_row(audited.name, collected.lone, is_cleaned=audited.parameters.clean)]
    )
    records = Records.join(collected.records) if collected.records else None
    n_lone = tables["attackers"].query("n == '1'")["workers"].iloc[0]
    return AuditedWorkers(facts, n_workers, int(n_lone), tables, records)


def _attack(collected: _Collected, audited: Audited, part: AuditedPart, asked: QuestionPart) -> None:
    """Run the attackers who need only the workers of the same destination tracts."""
    truth, count = asked.truth, part.panel.inputs.count
    size_class = np.repeat(size_classes(count), count)
    is_dropped = (
        truth == asked.prior.size - 1 if asked.target == "home point" else np.zeros(truth.size, np.bool_)
    )
    hit = np.where(is_dropped, _NO_VALUE, truth)  # nobody can name a home that editing dropped

    def add(attacker: Attacker, predictions: Predictions) -> None:
        collected.outcomes.add(asked.target, attacker, predictions, hit, size_class)

    add("public_prior", Predictions(asked.guess, asked.belief))
    add("lookup_without_victim", asked.lookups.without_victim)
    add("lookup", asked.lookups.release)
    add("memorised", asked.lookups.memorised)
    if asked.target != "home point":
        return
    collected.lone.append(lone_part(audited, part, asked))
    informed = informed_part(audited, part, asked, collected.promised[-1])
    if informed is not None:
        collected.spreads.append(SpreadPart.of(informed))
        add("informed_without_release", informed.without_release)
        add("informed", informed.with_release)


def _attack_with_all(
    outcomes: Outcomes, whole: Sequence[WholeAttack], inputs: Inputs, audited: Audited
) -> None:
    """Run the attackers who have learned from all workers on those of some destination tracts."""
    for attack in whole:
        target_inputs = inputs if audited.has_joint_segments else merge_by_margin(inputs, attack.target)[0]
        attack.predict(Records.of(target_inputs, target_inputs.worker_origin), outcomes)
