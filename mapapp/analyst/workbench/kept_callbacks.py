"""The callbacks of named settings: keep, compare, use, delete, and write their justification."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from dash import ALL, Dash, Input, Output, State, ctx, html, no_update

from engine.errors import EngineError
from mapapp.analyst.workbench import side_by_side
from mapapp.analyst.workbench.fields import Answer, Answers
from mapapp.analyst.workbench.job_progress import JobKind, ask, attach
from mapapp.analyst.workbench.jobs import EXPECTED_ERRORS, Work, one_line
from mapapp.analyst.workbench.kept_settings import MOST_KEPT, KeptSetting
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import CONTROLS, ControlValue, Setting, describe_setting, read_setting
from mapapp.analyst.workbench.side_by_side import Rows, join_columns, promise_rows
from mapapp.analyst.workbench.tune_callbacks import control_inputs, control_outputs
from mapapp.answers.promise.chapters import Chapter
from mapapp.answers.promise.lone_worker import lone_worker_sentence, odds_sentence
from mapapp.answers.words import plain
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.public_counts import reasons_of_counts
from mapapp.kinds.base.residents_only import open_dataset
from mapapp.kinds.release.choose.setting_choice import expected_line
from mapapp.kinds.release.make.plan import Plan, plan_synthesis
from mapapp.show.reports.content import Column, Table
from mapapp.show.reports.pdf import Document, document_pdf

# The justification of settings side by side: a document of public numbers alone.
#
# Every number comes from a dry run (`mapapp.kinds.release.make.plan`), and none depends on the confidential homes.
# Nothing that the workbench has measured enters.

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
        There is no setting, one of them cannot be certified, or the numbers of jobs are not declared public.
    """
    if not settings:
        raise UsageError("no setting is kept; keep one first")
    if reasons_of_counts(open_dataset(dataset, verify=False).manifest):
        raise UsageError(
            "everything in a justification follows from the numbers of jobs, and nobody has declared that they are "
            "public; import the dataset with --counts-are-public"
        )
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
            _table(
                "parameters",
                "Parameters",
                "",
                names,
                join_columns(
                    [dict(describe_setting(planned_setting.setting)) for planned_setting in planned]
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


def register(app: Dash, session: Session, title: str) -> None:
    """Attach them to an app; `title` is that of the dataset."""
    _keep(app, session)
    _compare(app, session)
    _use_and_delete(app, session)
    _justify(app, session, title)


def _keep(app: Dash, session: Session) -> None:
    @app.callback(
        Output("kept-said", "children"),
        Output("keep-name", "value"),
        Input("keep", "n_clicks"),
        State("keep-name", "value"),
        *control_inputs(State),
        prevent_initial_call=True,
    )
    def keep(clicks: int, name: str | None, *controls: ControlValue) -> Answers:
        if not clicks:
            return no_update, no_update
        values = dict(zip(CONTROLS, controls, strict=True))
        try:
            kept = session.kept.keep(name or "", read_setting(values), values)
        except EXPECTED_ERRORS as error:
            return html.P(one_line(error), className="refusal"), no_update
        said = f"Kept as {kept}; {len(session.kept.all())} of at most {MOST_KEPT} are kept."
        return html.P(said, className="quiet small"), session.kept.next_name()


def _compare(app: Dash, session: Session) -> None:
    @app.callback(
        Output("compare-dialog", "opened"),
        Input("compare", "n_clicks"),
        Input("compare-close", "n_clicks"),
        prevent_initial_call=True,
    )
    def open_or_close(_open: int, _close: int) -> Answer:
        return ctx.triggered_id == "compare"

    @app.callback(
        Output("kept-table", "children"),
        Output("justify", "disabled"),
        Input("compare-dialog", "opened"),
        Input("kept-mark", "data"),
        Input("job", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show(opened: bool, _mark: object, _job: object, tab: str) -> Answers:
        if not opened:
            return no_update, no_update
        kept, shown = session.kept.all(), session.shown_measures(tab)
        now = None
        if shown is not None:
            measured = (shown.validity, shown.extent)
            now = KeptSetting(side_by_side.NOW, shown.setting, session.tab(tab).values, measured)
        return side_by_side.table_of(kept, now), not kept


def _use_and_delete(app: Dash, session: Session) -> None:
    @app.callback(
        *control_outputs(),
        Output("compare-dialog", "opened", allow_duplicate=True),
        Input({"type": "kept-use", "name": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def use(clicks: list[int]) -> Answers:
        kept = session.kept.get(_clicked_name(clicks))
        if kept is None:
            return [no_update] * (len(CONTROLS) + 1)
        return [*[kept.values[name] for name in CONTROLS], False]

    @app.callback(
        Output("kept-mark", "data"),
        Output("keep-name", "value", allow_duplicate=True),
        Input({"type": "kept-delete", "name": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    def delete(clicks: list[int]) -> Answers:
        name = _clicked_name(clicks)
        if not name:
            return no_update, no_update
        session.kept.delete(name)
        return ask(), session.kept.next_name()


def _clicked_name(clicks: list[int]) -> str:
    """Name of the setting whose button was clicked; empty if buttons were only drawn."""
    triggered = ctx.triggered_id
    return str(triggered["name"]) if any(clicks) and isinstance(triggered, dict) else ""


def _justify(app: Dash, session: Session, title: str) -> None:
    def begin(_tab: str) -> Work[bytes]:
        settings = {kept.name: kept.setting for kept in session.kept.all()}
        return lambda report: justification_pdf(session.path, title, settings, report=report)

    kind = JobKind(
        name="justify",
        what="The justification",
        states=(),
        begin=begin,
        line="justify-said",
        outputs=[Output("justification", "data")],
        show=lambda pdf: (html.P("Written as justification.pdf.", className="quiet small"), [_download(pdf)]),
    )
    attach(app, session, kind)


def _download(pdf: bytes) -> dict[str, object]:
    """A file as the page's download takes it."""
    return {
        "filename": "justification.pdf",
        "content": base64.b64encode(pdf).decode(),
        "type": "application/pdf",
        "base64": True,
    }
