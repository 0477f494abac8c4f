"""The callbacks of the trade-off: settings and other schemes are measured behind the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import pandas
from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.development.base_component import Component
from dash_mantine_components import Textarea

from mapapp.analyst.audit.comparison import comparison_tables, require_schemes
from mapapp.analyst.audit.margins import NOT_COMPARED
from mapapp.analyst.audit.questions import QUESTIONS, Question
from mapapp.analyst.audit.result import LIMITS
from mapapp.analyst.audit.schemes import Scheme, read_schemes
from mapapp.analyst.audit.tradeoff import ABOUT
from mapapp.analyst.audit.words import TARGET_WORDS
from mapapp.analyst.workbench.audit_chart import tradeoff_chart
from mapapp.analyst.workbench.audits import THIS_SETTING
from mapapp.analyst.workbench.fields import Answer, percent, table
from mapapp.analyst.workbench.figures import GRAPH_CONFIG
from mapapp.analyst.workbench.job_progress import JobKind, attach, outdated_line, start_row
from mapapp.analyst.workbench.jobs import Work
from mapapp.analyst.workbench.results import Extent
from mapapp.analyst.workbench.session import Session
from mapapp.analyst.workbench.setting import CONTROLS, ControlValue, Setting, read_setting
from mapapp.analyst.workbench.tune_callbacks import control_inputs
from mapapp.answers.words import aria
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, part_of
from mapapp.explore.pages.controls import segments
from mapapp.kinds.release.make.marginal_segments import assigns_from_margins
from mapapp.kinds.release.make.options import PRESETS

# Settings beside other schemes on the same workers: what leaks at equal error. Confidential.


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOff:
    """Error of counts and share of workers named right, of settings and of other schemes.

    Attributes
    ----------
    extent : {"sample", "whole"}
        Whose workers were attacked.
    setting : Setting
        That of the controls when the work began.
    names : tuple of str
        The marked settings in order; the first is `setting`.
    schemes, tradeoff : DataFrame
        As docs/audit.md describes them.
    """

    extent: Extent
    setting: Setting
    names: tuple[str, ...]
    schemes: pandas.DataFrame
    tradeoff: pandas.DataFrame


def schemes_of(session: Session, text: str, question: Question) -> list[Scheme]:
    """Read the schemes that the analyst names, separated by spaces, as `commutemap audit --against` has them.

    Raises
    ------
    UsageError
        None is named, one cannot be read, or one cannot be made for the question.
    """
    schemes = read_schemes(tuple(text.split()))
    if not schemes:
        raise UsageError("no scheme is named; give at least one, such as k=2,8,32")
    require_schemes(session.data, schemes, [question])
    return schemes


def marked_settings(session: Session, setting: Setting) -> dict[str, Setting]:
    """The setting of the controls, the kept ones, and the presets that are not among them, by name."""
    marked = {THIS_SETTING: setting} | {kept.name: kept.setting for kept in session.kept.all()}
    presets = {preset: read_setting(session.preset_values(preset)) for preset in PRESETS}
    return marked | {
        name: preset
        for name, preset in presets.items()
        if name not in marked and preset not in marked.values()
    }


def _choose_comparable(session: Session, settings: dict[str, Setting]) -> dict[str, Setting]:
    """The settings that can be compared with other schemes; UsageError if the first cannot."""
    first = next(iter(settings))
    comparable = {
        name: compared
        for name, compared in settings.items()
        if not assigns_from_margins(session.store, (compared.parameters.unit,))
    }
    if first not in comparable:
        raise UsageError(
            f"for a setting that draws by {settings[first].parameters.unit}, {NOT_COMPARED}; draw by cell to compare"
        )
    return comparable


def run_tradeoff(
    session: Session,
    settings: dict[str, Setting],
    schemes: Sequence[Scheme],
    question: Question,
    extent: Extent,
    report: Report,
) -> TradeOff:
    """Audit settings, and measure other schemes on the same workers.

    Parameters
    ----------
    session : Session
    settings : dict of str to Setting
        By the names that the tables give them; the first is that of the controls. Others that cannot be compared are
        left out.
    schemes : sequence of Scheme
    question : str
    extent : {"sample", "whole"}
    report : callable
        Progress; an exception from it cancels.

    Raises
    ------
    UsageError, EngineError
        A setting cannot be certified, or a scheme cannot be made.
    """
    settings = _choose_comparable(session, settings)
    total = len(settings) + len(schemes)
    audits = [
        session.run_attackers(
            name, setting, [question], extent, part_of(report, number, total), keeps_records=True
        )
        for number, (name, setting) in enumerate(settings.items())
    ]
    of_schemes = part_of(report, len(audits), total, width=len(schemes))
    tables = comparison_tables(
        session.data, audits, schemes, [question], tracts=session.tracts(extent), report=of_schemes
    )
    names = tuple(settings)
    return TradeOff(
        extent=session.extent(extent),
        setting=settings[names[0]],
        names=names,
        schemes=tables["schemes"],
        tradeoff=tables["tradeoff"],
    )


# What other schemes would leak at the error of a setting: as curves, and as tables.

DEFAULT_SCHEMES: Final = (
    "exponential=1,2,3,4,6,8 k=2,4,8,32,128 l-entropy=1.5,2,2.5 t=0.2,0.3,0.5 kd=0.1,0.5,1,4,8"
)
"""Schemes that the page offers first, for every question."""
_WORKERS: Final = {"all": "all workers", "1": "lone workers"}


def tradeoff_panel() -> Component:
    """What the comparison needs before it has run."""
    return html.Section(
        [
            html.H2("What would other schemes leak at the same error?"),
            html.P(
                "Each scheme is run over its parameter on the same workers. This setting, the kept ones, and both "
                "presets are marked.",
                className="quiet",
            ),
            Textarea(
                id="tradeoff-schemes",
                label="Schemes",
                description="As for commutemap audit --against, separated by spaces.",
                value=DEFAULT_SCHEMES,
                autosize=True,
                size="xs",
            ),
            segments(
                "tradeoff-question",
                "home",
                {question: question.capitalize() for question in QUESTIONS},
                size="xs",
                label="What the attacker asks for",
            ),
            *start_row("tradeoff", action="Draw the trade-off", label="Tracts to compare on"),
            html.Div(id="tradeoff-results", className="cards"),
        ],
        className="answer",
        **aria(label="Other schemes at the same error"),
    )


def tradeoff_cards(tradeoff: TradeOff, shown: Setting | None) -> list[Component]:
    """Two cards for each target of the question: all workers, and lone workers.

    Parameters
    ----------
    tradeoff : TradeOff
    shown : Setting or None
        That of the controls now.
    """
    of = "all workplace tracts" if tradeoff.extent == "whole" else "a sample of workplace tracts"
    parts: list[Component] = [html.P(f"Workers of {of}.", className="quiet small", id="tradeoff-scope")]
    if shown is not None and shown != tradeoff.setting:
        parts.append(outdated_line("Draw the trade-off again to see this setting."))
    targets = tradeoff.schemes["target"].drop_duplicates()
    parts += [_card(tradeoff, str(target), n) for target in targets for n in ABOUT]
    return [*parts, html.P(LIMITS, className="quiet small")]


def _card(tradeoff: TradeOff, target: str, n: str) -> Component:
    schemes = _rows(tradeoff.schemes, target, n)
    title = f"{TARGET_WORDS[target].capitalize()}, {_WORKERS[n]}: named right by lookup"
    return html.Section(
        [
            html.H2(title),
            dcc.Graph(figure=tradeoff_chart(schemes, tradeoff.names), config=GRAPH_CONFIG, className="chart"),
            _equal_error_table(_rows(tradeoff.tradeoff, target, n), tradeoff.names),
            html.Details([html.Summary("Every point as a table"), _points(schemes, title)]),
        ],
        className="card",
        **aria(label=title),
    )


def _rows(frame: pandas.DataFrame, target: str, n: str) -> pandas.DataFrame:
    return frame[(frame["target"] == target) & (frame["n"] == n)]


def _equal_error_table(tradeoff: pandas.DataFrame, names: Sequence[str]) -> Component:
    """What each scheme leaks at the error of each setting."""
    columns = [tradeoff[tradeoff["release"] == name].set_index("scheme") for name in names]
    own = {
        title: [percent(float(column[name].iloc[0])) for column in columns]
        for title, name in (("error of counts", "median_relative_error"), ("the setting itself", "leakage"))
    }
    schemes = {scheme: [_leakage(column.loc[scheme]) for column in columns] for scheme in columns[0].index}
    rows = list((own | schemes).items())
    return table("Named right at the error of each setting", ["", *names], rows, "numbers small")


def _leakage(row: pandas.Series) -> str:
    return percent(float(row["scheme_leakage"])) if row["reached"] else "not reached"


def _points(schemes: pandas.DataFrame, title: str) -> Component:
    rows = [
        (
            row["label"] if row["meets_rule"] else f"{row['label']} (not met even by all workers together)",
            [percent(row["median_relative_error"]), percent(row["lookup"])],
        )
        for row in schemes.to_dict("records")
    ]
    return table(title, ["", "error", "named right"], rows, "numbers small")


_KIND: Final = "tradeoff"


def register(app: Dash, session: Session) -> None:
    """Attach them to an app."""
    _show(app, session)
    kind = JobKind(
        name=_KIND,
        what="The comparison",
        states=[
            State("tradeoff-extent", "value"),
            State("tradeoff-question", "value"),
            State("tradeoff-schemes", "value"),
            *control_inputs(State),
        ],
        begin=partial(_begin, session),
    )
    attach(app, session, kind)


def _begin(
    session: Session, _tab: str, extent: Extent, question: Question, text: str | None, *controls: ControlValue
) -> Work[TradeOff]:
    setting = read_setting(dict(zip(CONTROLS, controls, strict=True)))
    schemes = schemes_of(session, text or "", question)
    settings = marked_settings(session, setting)
    return lambda report: run_tradeoff(session, settings, schemes, question, extent, report)


def _show(app: Dash, session: Session) -> None:
    @app.callback(
        Output("tradeoff-results", "children"),
        Input("tradeoff-shown", "data"),
        Input("job", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def show(_number: int | None, _job: list[object] | None, tab: str) -> Answer:
        tradeoff, measured = session.result(tab, _KIND, TradeOff), session.shown_measures(tab)
        if tradeoff is None:
            return no_update
        return tradeoff_cards(tradeoff, None if measured is None else measured.setting)
