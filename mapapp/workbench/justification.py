"""The justification of settings side by side: a document of public numbers alone.

Every number comes from a dry run (`mapapp.publishing.plan`), and none depends on the confidential homes. Nothing that
the workbench has measured enters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from engine.errors import EngineError
from mapapp.answers.chapters import Chapter
from mapapp.answers.lone_worker_words import lone_worker_sentence, odds_sentence
from mapapp.answers.words import plain
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.files.reports.content import Column, Table
from mapapp.files.reports.document_pdf import Document, document_pdf
from mapapp.publishing.chosen_setting import expected_line
from mapapp.publishing.plan import Plan, plan_synthesis
from mapapp.workbench.setting import Setting, described
from mapapp.workbench.side_by_side import Rows, joined, promise_rows

__all__ = ["justification_pdf"]

_PUBLIC: Final = (
    "All numbers in this document follow from public data: the parameters, the map, the population, the public number "
    "of workers by workplace and segment, and public commuting flows. None of them depends on where any worker lives."
)
_EXPECTED: Final = (
    "Homes were simulated from public data, and each setting drew synthetic homes in their place, once. The table says "
    "how far these are from the simulated ones. Flows are by the count that a reader sees; ± is the root mean squared "
    "error. Simulated homes are more scattered than real ones, so small flows may come out better in a release."
)
_CAUTION: Final = (
    "The promise of a release holds for settings chosen without looking at the confidential homes. This document does "
    "not say how the settings were found. Choosing the best of many by confidential results leaks information about "
    "homes, and no certificate counts that."
)


class _Planned(NamedTuple):
    """A setting with its name, and what a dry run says of it."""

    name: str
    setting: Setting
    plan: Plan


def justification_pdf(
    dataset: Path, title: str, settings: Mapping[str, Setting], *, report: Report = silent
) -> bytes:
    """Plan a release with each setting and return the document as PDF; the same public data gives the same bytes.

    Parameters
    ----------
    dataset : Path
    title : str
        Of the dataset, for people.
    settings : mapping of str to Setting
        By name; at least one.
    report : callable
        Called with (stage, done, total); what it raises cancels.

    Raises
    ------
    UsageError
        There is no setting, or one of them cannot be certified.
    """
    if not settings:
        raise UsageError("no setting is kept; keep one first")
    planned = []
    for number, (name, setting) in enumerate(settings.items()):

        def step(stage: str, _done: int, _total: int, number: int = number) -> None:
            report(stage, number, len(settings))

        step(f"planning {name}", 0, 0)
        planned.append(_Planned(name, setting, _plan(dataset, name, setting, step)))
    report("writing the document", len(settings), len(settings))
    return document_pdf(_document(title, planned))


def _plan(dataset: Path, name: str, setting: Setting, report: Report) -> Plan:
    """A dry run with the published seed, so that the same setting gives the same numbers."""
    try:
        return plan_synthesis(dataset, setting.privacy, setting.parameters, test_key=True, report=report)
    except EngineError as error:
        raise UsageError(f"setting {name}: {error}") from error


def _document(title: str, planned: Sequence[_Planned]) -> Document:
    names = [one.name for one in planned]
    return Document(
        title=title,
        subtitle="Settings for a release, side by side, from public numbers only",
        label="CommuteMap justification",
        footer="From public numbers only",
        parts=(
            Chapter(title="What this is", parts=(_PUBLIC, _CAUTION)),
            _table("promise", "What is promised", "", names, joined([_promise(one.plan) for one in planned])),
            Chapter(title="In words", parts=(tuple(_words(one) for one in planned),)),
            _table(
                "errors",
                "Errors to be expected",
                _EXPECTED,
                names,
                joined([_errors(one.plan) for one in planned]),
            ),
            _table(
                "parameters",
                "Parameters",
                "",
                names,
                joined([dict(described(one.setting)) for one in planned]),
            ),
        ),
    )


def _table(name: str, title: str, words: str, names: Sequence[str], rows: Rows) -> Table:
    columns = [Column(name=f"setting {place}", head=head, kind="text") for place, head in enumerate(names, 1)]
    return Table(
        name=name,
        title=title,
        words=words,
        columns=(Column(name="row", head="Setting", kind="text"), *columns),
        rows=tuple((row, *texts) for row, texts in rows),
    )


def _stated(plan: Plan, name: str) -> float:
    return float(plan.certificate[name]["value"])


def _promise(plan: Plan) -> dict[str, str]:
    lone = plan.certificate.get("lone_worker")
    return promise_rows(_stated(plan, "epsilon_final"), _stated(plan, "delta"), lone)


def _words(one: _Planned) -> str:
    final, delta = _stated(one.plan, "epsilon_final"), _stated(one.plan, "delta")
    reasons = one.setting.parameters.not_for_release_reasons()
    marked = f" A release with this setting is not for publication: {'; '.join(reasons)}." if reasons else ""
    lone = lone_worker_sentence(one.plan.certificate.get("lone_worker"))
    odds = odds_sentence(final, delta_is_zero=delta == 0)
    outside = (
        ""
        if delta == 0
        else f"With a probability of at most {plain(delta)}, a draw falls outside the promise. "
    )
    return f"{one.name}: {outside}{odds} {lone or ''}".rstrip() + marked


def _errors(plan: Plan) -> dict[str, str]:
    errors = plan.plain.errors()
    return errors | ({"All in all": expected_line(plan.expected)} if plan.expected else {})
