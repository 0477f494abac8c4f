"""The callbacks of publishing: what it will spend is shown before anything is spent."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, html, no_update
from dash.development.base_component import Component

from geodata.store.store import refuse_existing
from mapapp.analyst.workbench.fields import Answer, Answers
from mapapp.analyst.workbench.job_progress import ask, ask_again, ended_line, progress_row
from mapapp.analyst.workbench.jobs import EXPECTED_ERRORS, one_line
from mapapp.analyst.workbench.results import MeasuredSetting
from mapapp.analyst.workbench.session import PUBLISH, Session
from mapapp.analyst.workbench.setting import (
    CONTROLS,
    ControlValue,
    Setting,
    describe_setting,
    read_setting,
    shown_row,
)
from mapapp.analyst.workbench.tune_callbacks import control_inputs
from mapapp.answers.words import plain
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report
from mapapp.kinds.base.certificate import is_charged
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.public_counts import reasons_of_facts
from mapapp.kinds.base.residents_only import open_dataset
from mapapp.kinds.release.make.margin_options import ALL_MARGINS, DatasetView, ShownMargins
from mapapp.kinds.release.make.run import Outcome, run_synthesis

# Publishing from the workbench: what a release would spend, and making it with exactly the parameters shown.


@dataclass(frozen=True, slots=True)
class Spending:
    """What a release would enter in the ledger.

    Attributes
    ----------
    epsilon, delta : float or None
        Of the release; None where nothing is promised. Exact values are in its certificate.
    reasons : tuple of str
        Why it would be marked not for release; it then spends nothing, unless all of them can cease to hold.
    spent : tuple of Fraction
        (epsilon, delta) of the releases before.
    budget : tuple of Fraction or None
        Of the dataset, if it has one.
    """

    epsilon: float | None
    delta: float | None
    reasons: tuple[str, ...]
    spent: tuple[Fraction, Fraction]
    budget: tuple[Fraction, Fraction] | None

    @property
    def counts(self) -> bool:
        """Whether it spends anything."""
        return is_charged(self.reasons)

    @property
    def fits(self) -> bool:
        """Whether the budget allows it, as far as the eye can tell; the ledger itself decides exactly."""
        if self.budget is None or not self.counts or self.epsilon is None or self.delta is None:
            return True
        return float(self.spent[0]) + self.epsilon <= float(self.budget[0]) * (1 + 1e-12) and float(
            self.spent[1]
        ) + self.delta <= float(self.budget[1]) * (1 + 1e-12)


def spending(dataset: Path, measured: MeasuredSetting) -> Spending:
    """Say what a release with a setting would spend.

    Raises
    ------
    UsageError
        It cannot be said yet, or no release would be made.
    LedgerError
        The ledger cannot be read.
    """
    certificate, privacy = measured.validity.facts["certificate"], measured.setting.privacy
    if certificate["refusal"]:
        raise UsageError(f"no release would be made: {certificate['refusal']}")
    if privacy.accountant == "paper" and measured.extent == "sample":
        raise UsageError(
            "the paper accountant's ε′ is that of the worst tract, and not all are measured yet; wait until they are"
        )
    ledger, facts = Ledger(dataset), open_dataset(dataset, verify=False).manifest
    return Spending(
        epsilon=certificate["epsilon_final"],
        delta=certificate["delta"],
        reasons=(
            *measured.setting.parameters.not_for_release_reasons(),
            *reasons_of_facts(facts),
        ),
        spent=ledger.spent(),
        budget=ledger.budget(),
    )


def release_path(text: str | None, dataset: Path) -> Path:
    """The path to write a release to, as the analyst typed it.

    Raises
    ------
    UsageError
        Nothing was typed, its folder does not exist, or it lies within the dataset.
    StoreError
        Something exists at that path.
    """
    typed = (text or "").strip()
    if not typed or "\0" in typed:
        raise UsageError("type where to write the release, such as ri.release")
    path = Path(typed).expanduser()
    try:
        folder = path.parent.resolve(strict=True)
    except (OSError, RuntimeError):
        raise UsageError(f"{path.parent}: no such folder; make it first, or type another path") from None
    if not folder.is_dir():
        raise UsageError(f"{path.parent} is no folder; type another path")
    place = folder / path.name
    if place.is_relative_to(dataset.resolve()):
        raise UsageError(f"{path} lies within the dataset, which is confidential; type a path beside it")
    refuse_existing(place)
    return place


def publish(
    dataset: Path,
    release: Path,
    setting: Setting,
    *,
    margins: ShownMargins = ALL_MARGINS,
    test_key: bool,
    report: Report,
) -> Outcome:
    """Make the release: its promise is entered in the ledger before anything is drawn.

    Raises
    ------
    EngineError, GeodataError, LedgerError, UsageError
        Nothing is left at `release`.
    """
    return run_synthesis(
        dataset,
        release,
        setting.privacy,
        setting.parameters,
        view=DatasetView(margins=margins),
        test_key=test_key,
        report=report,
    )


# The dialog of publishing: what a release would be made of and spend, where to, and how it went.

_NO_BUDGET: Final = (
    "No budget is set for this dataset. Every release adds to what its workers risk, and nothing stops the sum from "
    "growing. To set a budget, import the dataset with --budget-epsilon and --budget-delta."
)


def dialog() -> Component:
    """The dialog, closed."""
    modal: Component = dmc.Modal(
        [
            html.Div(id="publish-summary"),
            dmc.TextInput(
                id="publish-path",
                label="Write the release to",
                placeholder="for example ri.release",
                description="A new folder, outside the dataset.",
                value="",
            ),
            dmc.Switch(
                id="publish-test-key",
                label="Test key: reproducible, marked not for release, spends nothing",
                checked=False,
                size="sm",
                className="spaced",
            ),
            html.Div(id="publish-outcome", className="outcome", role="status"),
            html.Div(
                [
                    html.Button("Close", id="publish-close", n_clicks=0, className="button"),
                    html.Button("Spend and publish", id="publish-go", n_clicks=0, className="button strong"),
                ],
                className="buttons spaced",
            ),
        ],
        id="publish-dialog",
        title="Publish a release",
        opened=False,
        size="lg",
        zIndex=500,
        closeButtonProps={"aria-label": "Close the dialog"},
    )
    return modal


def summary(setting: Setting, margins: ShownMargins, spends: Spending) -> list[Component]:
    """What the release would be and what it would spend."""
    return [
        html.P("The release will have exactly these parameters:"),
        _facts([*describe_setting(setting), shown_row(margins)]),
        html.H2("What it spends"),
        _facts(_rows(spends)),
        *([] if spends.budget is not None else [html.P(_NO_BUDGET, className="refusal", id="no-budget")]),
        *(
            [
                html.P(
                    f"Marked not for release ({'; '.join(spends.reasons)})"
                    + (
                        ". It is charged in full all the same: it may be published once this no longer holds."
                        if spends.counts
                        else ", so it spends nothing."
                    ),
                    className="refusal",
                )
            ]
            if spends.reasons
            else []
        ),
        *(
            []
            if spends.fits
            else [
                html.P("The budget does not allow this release, so it will be refused.", className="refusal")
            ]
        ),
        html.P(
            [
                html.Strong("Consider how you chose the setting. "),
                "The promise holds for settings chosen without looking at the homes. Choosing the best of many "
                "settings by looking at confidential results leaks information about homes, and no ledger counts "
                "that. Design reads public data only.",
            ],
            className="caution",
        ),
        html.P(
            "The ledger is written before anything is drawn. A release that fails later has still spent its part of "
            "the budget.",
            className="quiet small",
        ),
    ]


def _rows(spends: Spending) -> list[tuple[str, str]]:
    epsilon = "no bound" if spends.epsilon is None else f"{spends.epsilon:.6g}"
    delta = "no bound" if spends.delta is None else plain(spends.delta)
    rows = [("This release: ε′", epsilon), ("This release: δ", delta)]
    spent_epsilon, spent_delta = (float(value) for value in spends.spent)
    rows.append(("Spent so far", f"ε {spent_epsilon:.6g}, δ {plain(spent_delta)}"))
    if spends.epsilon is not None and spends.delta is not None and spends.counts:
        rows.append(
            (
                "Spent after this release",
                f"ε {spent_epsilon + spends.epsilon:.6g}, δ {plain(spent_delta + spends.delta)}",
            )
        )
    if spends.budget is None:
        rows.append(("Budget", "not set for this dataset"))
    else:
        rows.append(("Budget", f"ε {float(spends.budget[0]):.6g}, δ {plain(float(spends.budget[1]))}"))
    return rows


def _facts(rows: list[tuple[str, str]]) -> Component:
    return html.Dl(
        [part for term, value in rows for part in (html.Dt(term), html.Dd(value))], className="facts"
    )


def register(app: Dash, session: Session) -> None:
    """Attach them to an app. Making a release is not cancelled, and one dialog makes one release."""
    _attach_dialog(app, session)
    _attach_making(app, session)


def _attach_dialog(app: Dash, session: Session) -> None:
    @app.callback(
        Output("publish-dialog", "opened"),
        Output("publish-summary", "children"),
        Output("publish-outcome", "children"),
        Output("publish-go", "disabled"),
        Input("publish", "n_clicks"),
        State("tab", "data"),
        *control_inputs(State),
        prevent_initial_call=True,
    )
    def open_dialog(clicks: int, tab: str, *controls: ControlValue) -> Answers:
        if not clicks:
            return (no_update,) * 4
        state = session.tab(tab)
        if state.is_publishing:
            return True, no_update, no_update, True
        state.pending = None
        try:
            session.require_no_release_in_progress()
            setting = read_setting(dict(zip(CONTROLS, controls, strict=True)))
            measured = session.shown_measures(tab)
            if measured is None or measured.setting != setting:
                measured = session.show(tab, setting)
            spends = spending(session.path, measured)
        except EXPECTED_ERRORS as error:
            return True, html.P(one_line(error), className="refusal"), None, True
        state.pending = setting
        return True, summary(setting, session.margins, spends), None, False

    @app.callback(
        Output("publish-dialog", "opened", allow_duplicate=True),
        Input("publish-close", "n_clicks"),
        prevent_initial_call=True,
    )
    def close(clicks: int) -> Answer:
        return False if clicks else no_update


def _attach_making(app: Dash, session: Session) -> None:
    @app.callback(
        Output("publish-more", "data"),
        Output("publish-outcome", "children", allow_duplicate=True),
        Output("publish-go", "disabled", allow_duplicate=True),
        Input("publish-go", "n_clicks"),
        State("tab", "data"),
        State("publish-path", "value"),
        State("publish-test-key", "checked"),
        prevent_initial_call=True,
    )
    def go(clicks: int, tab: str, typed: str | None, test_key: bool) -> Answers:
        if not clicks or session.tab(tab).pending is None:
            return no_update, no_update, no_update
        try:
            release = release_path(typed, session.path)
        except EXPECTED_ERRORS as error:
            return None, html.P(one_line(error), className="refusal"), False

        def make(setting: Setting, report: Report) -> Outcome:
            return publish(
                session.path,
                release,
                setting,
                margins=session.margins,
                test_key=bool(test_key),
                report=report,
            )

        try:
            job = session.publish(tab, make)
        except EXPECTED_ERRORS as error:
            return None, html.P(one_line(error), className="refusal"), True
        if job is None:
            return no_update, no_update, no_update
        return ask(), progress_row(job), True

    @app.callback(
        Output("publish-more", "data", allow_duplicate=True),
        Output("publish-outcome", "children", allow_duplicate=True),
        Input("publish-pulse", "data"),
        State("tab", "data"),
        prevent_initial_call=True,
    )
    def follow(_pulse: int | None, tab: str) -> Answers:
        job, outcome = session.tab(tab).jobs.get(PUBLISH), session.result(tab, PUBLISH, Outcome)
        if job is None:
            return None, no_update
        if job.state == "running":
            return ask_again(job), progress_row(job)
        return None, ended_line(job, "Publishing") if outcome is None else _outcome_lines(outcome)


def _outcome_lines(outcome: Outcome) -> Component:
    """How it went, in the words that the command line prints."""
    first, *others = outcome.lines()
    return html.Div(
        [
            html.P(html.Strong(first)),
            html.Pre("\n".join(line.strip() for line in others), className="command-output"),
            html.P(["Look at it with ", html.Code(f"commutemap serve {outcome.release}"), "."]),
        ]
    )
