"""The justification of settings: what each promises, leaves out, costs, and is expected to err, for a board to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from engine.errors import EngineError
from mapapp.analyst.workbench.setting import Setting, describe_setting, shown_row
from mapapp.analyst.workbench.side_by_side import Rows, join_columns, promise_rows
from mapapp.answers.promise.chapters import Chapter
from mapapp.answers.promise.lone_worker import lone_worker_sentence, odds_sentence
from mapapp.answers.words import plain
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.certificate import FOR_RELEASE, NOT_FOR_RELEASE, TEST_KEY_REASON
from mapapp.kinds.base.public_counts import require_declared
from mapapp.kinds.base.residents_only import open_dataset
from mapapp.kinds.release.choose.setting_choice import expected_line
from mapapp.kinds.release.make.ledger_forecast import ledger_forecast
from mapapp.kinds.release.make.margin_options import ALL_MARGINS, DatasetView, ShownMargins
from mapapp.kinds.release.make.plan import Plan, plan_synthesis
from mapapp.show.reports.content import Column, Table
from mapapp.show.reports.pdf import Document, document_pdf

__all__ = ["document_markdown", "justification", "justification_pdf"]

# The justification of settings side by side: a document of public numbers alone.
#
# Every number comes from a dry run (`mapapp.kinds.release.make.plan`), and none depends on the confidential homes.
# Nothing that the workbench has measured enters.

_PUBLIC: Final = (
    "All numbers in this document follow from public data: the parameters, the map, the population, the public number "
    "of workers by workplace and segment, and public commuting flows. What the ledger would say follows from the "
    "ledger. None of them depends on where any worker lives."
)
_EXPECTED: Final = (
    "Homes were simulated from public data, and each setting drew synthetic homes in their place, once. Errors of "
    "inflow and of flows are those that the pages of such a release would state: root mean squared errors, by the "
    "formula that makes each ±. Flows are by the count that a reader sees. The ten largest home tracts are compared "
    "with the simulated ones."
)
_CAUTION: Final = (
    "The promise of a release holds for settings chosen without looking at the confidential homes. This document does "
    "not say how the settings were found. Choosing the best of many by confidential results leaks information about "
    "homes, and no certificate counts that."
)


_LEDGER: Final = (
    "Every release of the dataset is entered in its ledger before anything is drawn. The amounts of all releases add "
    "up for each worker, and a release that would pass the dataset's budget is refused."
)
_CHECK: Final = (
    "“commutemap synthesize DATASET RELEASE --dry-run” with the parameters below prints the same promise.",
    "“commutemap certify RELEASE” writes the certificate of a release again from the release alone, and compares.",
    "“commutemap ledger DATASET” lists what was spent.",
)


class _Planned(NamedTuple):
    """A setting with its name, and what a dry run says of it."""

    name: str
    setting: Setting
    plan: Plan


def justification(
    dataset: Path,
    title: str,
    settings: Mapping[str, Setting],
    *,
    margins: ShownMargins = ALL_MARGINS,
    report: Report = silent,
) -> Document:
    """Plan a release with each setting and return the document; the same public data and ledger give the same one.

    Parameters
    ----------
    dataset : Path
    title : str
        Of the dataset, for people.
    settings : mapping of str to Setting
        By name; at least one.
    margins : ShownMargins
        Which numbers of workers the release would show, with any of them.
    report : callable
        Called with (stage, done, total); what it raises cancels.

    Raises
    ------
    UsageError
        There is no setting, one of them cannot be certified, or the numbers of jobs are not declared public.
    """
    if not settings:
        raise UsageError("no setting is kept; keep one first")
    require_declared(open_dataset(dataset, verify=False))
    planned = []
    for number, (name, setting) in enumerate(settings.items()):

        def step(stage: str, _done: int, _total: int, number: int = number) -> None:
            report(stage, number, len(settings))

        step(f"planning {name}", 0, 0)
        planned.append(_Planned(name, setting, _plan(dataset, name, setting, margins, step)))
    report("writing the document", len(settings), len(settings))
    return _document(dataset, title, margins, planned)


def _plan(dataset: Path, name: str, setting: Setting, margins: ShownMargins, report: Report) -> Plan:
    """A dry run with the published seed, so that the same setting gives the same numbers."""
    try:
        return plan_synthesis(
            dataset,
            setting.privacy,
            setting.parameters,
            view=DatasetView(margins=margins),
            test_key=True,
            report=report,
        )
    except EngineError as error:
        raise UsageError(f"setting {name}: {error}") from error


def _document(dataset: Path, title: str, margins: ShownMargins, planned: Sequence[_Planned]) -> Document:
    names = [planned_setting.name for planned_setting in planned]
    return Document(
        title=title,
        subtitle="Settings for a release, side by side, from public numbers only",
        label="CommuteMap justification",
        footer="From public numbers only",
        parts=(
            Chapter(title="What this is", parts=(_PUBLIC, _CAUTION)),
            _table(
                "promise",
                "What is promised",
                "",
                names,
                join_columns([_promise(planned_setting.plan) for planned_setting in planned]),
            ),
            Chapter(title="In words", parts=(tuple(_words(planned_setting) for planned_setting in planned),)),
            _table(
                "errors",
                "Errors to be expected",
                _EXPECTED,
                names,
                join_columns([_errors(planned_setting.plan) for planned_setting in planned]),
            ),
            Chapter(title="What is not protected", parts=(tuple(_unprotected(planned)),)),
            Chapter(
                title="What the ledger would say",
                parts=(_LEDGER, tuple(f"{one.name}: {_ledger(dataset, one.plan)}" for one in planned)),
            ),
            Chapter(title="How to check", parts=(_CHECK,)),
            _table(
                "parameters",
                "Parameters",
                "",
                names,
                join_columns(
                    [
                        dict([*describe_setting(planned_setting.setting), shown_row(margins)])
                        for planned_setting in planned
                    ]
                ),
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


def _stated_value(plan: Plan, name: str) -> float:
    return float(plan.certificate[name]["value"])


def _promise(plan: Plan) -> dict[str, str]:
    lone = plan.certificate.get("lone_worker")
    return promise_rows(_stated_value(plan, "epsilon_final"), _stated_value(plan, "delta"), lone)


def _words(planned: _Planned) -> str:
    final, delta = _stated_value(planned.plan, "epsilon_final"), _stated_value(planned.plan, "delta")
    reasons = planned.setting.parameters.not_for_release_reasons()
    marked = f" A release with this setting is not for publication: {'; '.join(reasons)}." if reasons else ""
    lone = lone_worker_sentence(planned.plan.certificate.get("lone_worker"))
    odds = odds_sentence(final, delta_is_zero=delta == 0)
    outside = (
        ""
        if delta == 0
        else f"With a probability of at most {plain(delta)}, a draw falls outside the promise. "
    )
    return f"{planned.name}: {outside}{odds} {lone or ''}".rstrip() + marked


def _errors(plan: Plan) -> dict[str, str]:
    errors = plan.plain.errors()
    return errors | ({"All in all": expected_line(plan.expected)} if plan.expected else {})


def _unprotected(planned: Sequence[_Planned]) -> list[str]:
    """What the certificates say that the promise leaves out, and what follows from exact numbers of workers."""
    caveats = [str(caveat) for one in planned for caveat in one.plan.certificate["caveats"]]
    return list(dict.fromkeys([*caveats, *planned[0].plan.counts.sentences()]))


def _ledger(dataset: Path, plan: Plan) -> str:
    """What the ledger would say of a release under a secret key; the plan has the test key, for the same numbers."""
    reasons = [reason for reason in plan.certificate["status_reasons"] if reason != TEST_KEY_REASON]
    status = NOT_FOR_RELEASE if reasons else FOR_RELEASE
    stated = {**plan.certificate, "status": status, "status_reasons": reasons}
    return ledger_forecast(open_dataset(dataset, verify=False), stated, ()).words


def justification_pdf(
    dataset: Path,
    title: str,
    settings: Mapping[str, Setting],
    *,
    margins: ShownMargins = ALL_MARGINS,
    report: Report = silent,
) -> bytes:
    """Return :func:`justification` as PDF; the same document gives the same bytes."""
    return document_pdf(justification(dataset, title, settings, margins=margins, report=report))


def document_markdown(document: Document) -> str:
    """Return a document as Markdown."""
    blocks = [f"# {document.title}", document.subtitle]
    for part in document.parts:
        blocks.append(f"## {part.title}")
        if isinstance(part, Table):
            blocks += [part.words] if part.words else []
            blocks.append(_markdown_table(part))
            continue
        blocks += [
            words if isinstance(words, str) else "\n".join(f"- {word}" for word in words)
            for words in part.parts
        ]
    return "\n\n".join(blocks) + "\n"


def _markdown_table(table: Table) -> str:
    heads = [column.head for column in table.columns]
    rows = [heads, ["---"] * len(heads), *table.rows]
    return "\n".join(f"| {' | '.join(str(text).replace('|', '/') for text in row)} |" for row in rows)
