"""Kept settings side by side: what they are, what they promise in words, and what was measured of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.analyst.workbench.fields import table
from mapapp.analyst.workbench.job_progress import cancel_row
from mapapp.analyst.workbench.kept_settings import KeptSetting
from mapapp.analyst.workbench.panels import MEASURES, digits
from mapapp.analyst.workbench.setting import describe_setting
from mapapp.answers.promise.lone_worker import odds_sentence, stay_text, true_tract_text
from mapapp.answers.words import aria, plain

__all__ = ["controls", "dialog", "differ", "join_columns", "promise_rows", "table_of"]

Rows = list[tuple[str, list[str]]]
"""A name, and a text for each setting."""


def controls(next_name: str) -> Component:
    """What keeps the setting of the controls and opens the comparison."""
    return html.Div(
        [
            html.Div(
                [
                    html.Label("Keep this setting as", htmlFor="keep-name", className="label"),
                    dmc.TextInput(id="keep-name", value=next_name, size="xs", className="keep-name"),
                    html.Button("Keep", id="keep", n_clicks=0, className="button"),
                    html.Button("Compare …", id="compare", n_clicks=0, className="button"),
                ],
                className="keep-row",
            ),
            html.Div(id="kept-said", role="status"),
        ],
        className="keep",
    )


def dialog() -> Component:
    """The dialog with the comparison, closed."""
    modal: Component = dmc.Modal(
        [
            html.Div(id="kept-table"),
            html.P(
                "The justification is a PDF of these settings from public numbers alone: what each promises in words, "
                "what a lone worker risks, and the errors to be expected. Nothing measured on real homes is in it. It "
                "leaves out the average commute: its numbers come from simulated homes, and some of these are anywhere "
                "in the country, so their average commute says little about the real one.",
                className="quiet small spaced",
            ),
            html.Div(
                [
                    html.Button("Close", id="compare-close", n_clicks=0, className="button"),
                    html.Button("Justification (PDF)", id="justify", n_clicks=0, className="button strong"),
                ],
                className="buttons",
            ),
            cancel_row("justify"),
            html.Div(id="justify-said", role="status"),
            dcc.Download(id="justification"),
            dcc.Store(id="kept-mark"),
        ],
        id="compare-dialog",
        title="Settings side by side",
        opened=False,
        size="min(1100px, 94vw)",
        zIndex=500,
        closeButtonProps={"aria-label": "Close the dialog"},
    )
    return modal


NOW: Final = "This setting"
"""Name of the setting of the controls among the kept ones."""


def table_of(kept: Sequence[KeptSetting], now: KeptSetting | None = None) -> Component:
    """The settings as columns; `now` is that of the controls, which comes first unless it is kept, too."""
    is_kept = now is not None and any(setting.setting == now.setting for setting in kept)
    shown = [now, *kept] if now is not None and not is_kept else list(kept)
    parts = {
        "Parameters": join_columns([dict(describe_setting(setting.setting)) for setting in shown]),
        "Promise": join_columns([_promise(setting) for setting in shown]),
        "Measured on real homes: confidential": join_columns([_list_measured(setting) for setting in shown]),
    }
    heads = ["", *[_head(setting, now) for setting in shown]]
    none = "No setting is kept yet. Give the setting a name and press Keep."
    return html.Div(
        [
            html.Div([_buttons(setting.name) for setting in kept], className="kept-buttons")
            if kept
            else html.P(none, className="quiet"),
            *[
                table(title, heads, [(name, _cells(texts)) for name, texts in rows], "small kept")
                for title, rows in parts.items()
            ],
        ],
        className="kept-tables",
    )


def _head(setting: KeptSetting, now: KeptSetting | None) -> str:
    is_now = now is not None and setting is not now and setting.setting == now.setting
    return f"{setting.name} ({NOW.lower()})" if is_now else setting.name


def _buttons(name: str) -> Component:
    return html.Span(
        [
            html.Strong(name),
            html.Button(
                "Use",
                id={"type": "kept-use", "name": name},
                n_clicks=0,
                className="link-button",
                **aria(label=f"Use setting {name}"),
            ),
            html.Button(
                "Delete",
                id={"type": "kept-delete", "name": name},
                n_clicks=0,
                className="link-button",
                **aria(label=f"Delete setting {name}"),
            ),
        ]
    )


def _cells(texts: list[str]) -> list[Component]:
    mark = "differs" if differ(texts) else ""
    return [html.Td(text, className=mark) for text in texts]


def differ(texts: Sequence[str]) -> bool:
    """Whether settings differ in a row."""
    return len(set(texts)) > 1


def join_columns(columns: Sequence[Mapping[str, str]]) -> Rows:
    """Rows of settings that each have some of the names; a dash where a setting lacks one."""
    names = dict.fromkeys(name for column in columns for name in column)
    return [(name, [column.get(name, "–") for column in columns]) for name in names]


def _promise(kept: KeptSetting) -> dict[str, str]:
    if kept.measured is None:
        return {"Promise": "not measured yet"}
    certificate = kept.measured[0].facts["certificate"]
    final, delta = certificate["epsilon_final"], certificate["delta"]
    words = {"In words": odds_sentence(final, delta_is_zero=delta == 0)}
    return promise_rows(final, delta, certificate["lone_worker"]) | words


def promise_rows(final: float, delta: float, lone_worker: object) -> dict[str, str]:
    """What is promised: the whole epsilon and delta, and what a lone worker risks."""
    return {
        "ε, all included": f"{final:.6g}",
        "δ": plain(delta),
        "A lone worker keeps the true home area": stay_text(lone_worker) or "not stated",
        "A lone worker is expected in the true home tract": true_tract_text(lone_worker) or "not stated",
    }


def _list_measured(kept: KeptSetting) -> dict[str, str]:
    if kept.measured is None:
        return {"Measured": "not yet"}
    validity, extent = kept.measured
    errors = {} if validity.plain is None else validity.plain.errors()
    statistics = {label: digits(validity.summary[name]) for name, label in MEASURES}
    return {"Measured": "all tracts" if extent == "whole" else "a sample"} | errors | statistics
