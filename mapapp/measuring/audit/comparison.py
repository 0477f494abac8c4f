"""Releases, settings, and other schemes on one scale: error of counts, and what attackers learn.

CONFIDENTIAL, all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

import pandas

from mapapp.base.progress import Report, part_of, silent
from mapapp.measuring.analyst import AnalystData
from mapapp.measuring.audit.against import (
    COMPARED,
    Compared,
    compared,
    error_of_release,
    require_feasible,
    scheme_rows,
)
from mapapp.measuring.audit.questions import TARGETS_OF, Areas, Question, Target
from mapapp.measuring.audit.records import CodedBlocks, Records, coded
from mapapp.measuring.audit.result import CLASSES, Attacker
from mapapp.measuring.audit.run import AuditedWorkers, audited_workers
from mapapp.measuring.audit.schemes import Scheme
from mapapp.measuring.audit.setting import chosen_setting
from mapapp.measuring.audit.tradeoff import at_equal_error
from mapapp.publishing.geography import Ints
from mapapp.publishing.release_options import ReleaseOptions

__all__ = ["comparison_tables", "require_schemes"]

_STAGE: Final = "measuring other schemes"
_ATTACKERS: Final[tuple[Attacker, ...]] = ("lookup", "lookup_without_victim", "naive_bayes")


def require_schemes(data: AnalystData, schemes: Sequence[Scheme], questions: Sequence[Question]) -> None:
    """Refuse schemes that cannot be made for the questions, from public data alone and before any attacker runs.

    Raises
    ------
    UsageError
        l is above the number of values, or a tree or a grid would be too large.
    """
    blocks = CodedBlocks.read(data, Areas.read(data.store, data.geography))
    for target in _targets(questions):
        require_feasible(schemes, target, coded(target, Records.none(), blocks, released=False))


def _targets(questions: Sequence[Question]) -> list[Target]:
    return [target for question in questions for target in TARGETS_OF[question] if target in COMPARED]


def comparison_tables(
    data: AnalystData,
    found: Sequence[AuditedWorkers],
    schemes: Sequence[Scheme],
    questions: Sequence[Question],
    *,
    tracts: Ints | None = None,
    report: Report = silent,
) -> dict[str, pandas.DataFrame]:
    """Measure schemes beside audited releases.

    Parameters
    ----------
    data : AnalystData
    found : sequence of AuditedWorkers
        Releases and settings; each that has records is a marked point.
    schemes : sequence of Scheme
    questions : sequence of str
    tracts : int64[T], optional
        The same as for `found`; all by default.
    report : callable
        Called with (stage, done, total) before every scheme, and before every part of a scheme that is a release; what
        it raises cancels.

    Returns
    -------
    dict of str to DataFrame
        `schemes` and `tradeoff`; none if nothing has records.

    Raises
    ------
    UsageError, EngineError
        A scheme cannot be made for a question.
    """
    areas = Areas.read(data.store, data.geography)
    blocks = CodedBlocks.read(data, areas)
    marked = [one for one in found if one.records is not None]
    if not marked:
        return {}
    records = _records(marked[0])
    asked = [compared(target, records, blocks) for target in _targets(questions)]
    for about in asked:
        require_feasible(schemes, about.target, about.records)
    rows = [row for one in marked for row in _release_rows(one, "release", one.facts["name"], asked, blocks)]
    for number, scheme in enumerate(schemes):
        within = part_of(report, number, len(schemes), stage=_STAGE)
        within(_STAGE, 0, 1)
        if scheme.is_tree:
            rows += [row for about in asked for row in scheme_rows(scheme, about)]
        else:
            drawn = _at_epsilon(data, scheme, questions, tracts, within)
            rows += _release_rows(drawn, scheme.family, scheme.label, asked, blocks)
    report(_STAGE, 1, 1)
    table = pandas.DataFrame(rows)
    return {"schemes": table, "tradeoff": at_equal_error(table)}


def _at_epsilon(
    data: AnalystData, scheme: Scheme, questions: Sequence[Question], tracts: Ints | None, report: Report
) -> AuditedWorkers:
    """Draw the recommended preset at another epsilon, its radii chosen anew from public data."""
    options = ReleaseOptions(preset="recommended", epsilon=str(Fraction(str(scheme.value))))
    setting = chosen_setting(data, scheme.label, options)
    return audited_workers(data, setting, questions, tracts=tracts, keeps_records=True, report=report)


def _records(one: AuditedWorkers) -> Records:
    assert one.records is not None, "audited without keeps_records"
    return one.records


def _release_rows(
    one: AuditedWorkers, scheme: str, label: str, asked: Sequence[Compared], blocks: CodedBlocks
) -> Iterator[dict[str, object]]:
    """Rows of one release: its own attackers, and its error on the common queries."""
    accuracy = one.tables["attackers"].set_index(["target", "attacker", "n"])["accuracy"]
    for about in asked:
        error = error_of_release(about, _records(one), blocks)
        for n, (least, most) in CLASSES.items():
            chosen = about.n >= least
            if most is not None:
                chosen &= about.n <= most
            yield {
                "target": about.target,
                "scheme": scheme,
                "parameter": one.facts["epsilon_final"],
                "label": label,
                "n": n,
                "workers": int(chosen.sum()),
                "median_relative_error": error,
                "error_deviation": 0.0,
                "leaves": float("nan"),
                "meets_rule": True,
                **{
                    attacker: float(accuracy[about.target, attacker, n])
                    for attacker in _ATTACKERS
                    if (about.target, attacker, n) in accuracy.index
                },
            }
