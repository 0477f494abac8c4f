"""The callbacks of named settings: keep, compare, use, delete, and write their justification."""

from __future__ import annotations

import base64

from dash import ALL, Dash, Input, Output, State, ctx, html, no_update

from mapapp.analyst.workbench import side_by_side
from mapapp.analyst.workbench.fields import Answer, Answers
from mapapp.analyst.workbench.job_progress import JobKind, ask, attach
from mapapp.analyst.workbench.jobs import EXPECTED_ERRORS, Work, one_line
from mapapp.analyst.workbench.justification import justification_pdf
from mapapp.analyst.workbench.kept_settings import MOST_KEPT, KeptSetting
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import CONTROLS, ControlValue, read_setting
from mapapp.analyst.workbench.tune_callbacks import control_inputs, control_outputs


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
        return lambda report: justification_pdf(
            session.path, title, settings, margins=session.margins, report=report
        )

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
