"""The left panel: what is asked."""

from __future__ import annotations

from typing import Any, Final

import dash_mantine_components as dmc
from dash import html

from mapapp.pages import words
from mapapp.pages.words import aria
from mapapp.queries.areas import LEVEL_LABELS, Area
from mapapp.queries.release import ServedRelease
from mapapp.url_state import ViewState

SIDES: Final = {"work": "Workplaces", "home": "Homes"}
SHOWS: Final = {"points": "Points", "tracts": "Tracts", "density": "Density"}
ROWS: Final = {"tract": "By tract", "county": "By county"}


def controls(releases: dict[str, ServedRelease], state: ViewState) -> Any:
    """Every control, set as the state says."""
    return html.Div(
        [
            *_release_choice(releases, state),
            search_box(),
            html.Div(id="chips", className="chips"),
            switch("side", "The chosen areas are", state.side, SIDES),
            switch("show", words.drawn_label(state), state.show, SHOWS),
            switch("pick", "A click on the map picks a", "tract", {"tract": "Tract", "county": "County"}),
            html.Details(
                [
                    html.Summary("Filter by age, earnings, industry"),
                    *[_bands(name, getattr(state, name)) for name in words.BAND_LABELS],
                ],
                open=bool(state.age or state.earnings or state.industry),
                className="filters",
                id="filters",
            ),
        ],
        className="controls",
    )


def search_box() -> Any:
    """Finds an area by its name; what is typed is looked up on the server."""
    return dmc.Select(
        id="search",
        label="Find an area",
        placeholder="City, county, tract, ZIP …",
        searchable=True,
        data=[],
        value=None,
        nothingFoundMessage="No area has this name",
        filter={"function": "keepAll"},
        comboboxProps={"zIndex": 400, "withinPortal": False},
        withScrollArea=False,  # few enough to need none, and axe finds Mantine's hard to reach by keyboard
        rightSection=" ",
        size="sm",
    )


def search_options(areas: list[Area]) -> list[dict[str, Any]]:
    """What a search found, under the names of its levels."""
    groups: dict[str, list[dict[str, str]]] = {}
    for area in areas:
        groups.setdefault(LEVEL_LABELS.get(area.level, area.level), []).append(
            {"value": area.key, "label": area.name}
        )
    return [{"group": name, "items": items} for name, items in groups.items()]


def chips(release: ServedRelease, state: ViewState) -> list[Any]:
    """The chosen areas, each with a button that takes it away."""
    found = [_chip(release.areas[area]) for area in state.areas]
    if len(found) > 1:
        found.append(
            html.Button("Clear all", id={"type": "remove", "area": "*"}, className="clear", n_clicks=0)
        )
    return found


def _chip(area: Area) -> Any:
    return html.Span(
        [
            html.Span(
                [
                    area.name,
                    html.Span(LEVEL_LABELS.get(area.level, area.level).split(" (")[0], className="level"),
                ]
            ),
            html.Button(
                "×",
                id={"type": "remove", "area": area.key},
                n_clicks=0,
                **aria(label=f"Remove {area.name}"),
            ),
        ],
        className="chip",
    )


def _release_choice(releases: dict[str, ServedRelease], state: ViewState) -> list[Any]:
    options = [{"value": slug, "label": release.title} for slug, release in releases.items()]
    chosen = state.release or next(iter(releases))
    select = dmc.Select(
        id="release",
        label="Release",
        data=options,
        value=chosen,
        allowDeselect=False,
        comboboxProps={"zIndex": 400},
    )
    return [html.Div(select, hidden=len(options) < 2)]


def switch(name: str, label: str, value: str, options: dict[str, str]) -> Any:
    """A choice of one among a few, with its label above."""
    above = f"{name}-label"
    return html.Div(
        [
            html.Div(label, className="label", id=above),
            segments(name, value, options, labelledby=above),
        ],
        className="field",
    )


def segments(name: str, value: str, options: dict[str, str], size: str = "sm", **label: str) -> Any:
    """A choice of one among a few; `label` or `labelledby` is for screen readers."""
    data = [{"value": key, "label": text} for key, text in options.items()]
    return dmc.SegmentedControl(
        id=name,
        data=data,
        value=value,
        size=size,
        fullWidth=size == "sm",
        color="blue.8",
        **aria(**label),
    )


def _bands(name: str, value: tuple[int, ...]) -> Any:
    boxes = [
        dmc.Chip(text, value=str(band), size="xs", radius="sm")
        for band, text in enumerate(words.BAND_LABELS[name], 1)
    ]
    group = dmc.ChipGroup(boxes, id=name, multiple=True, value=[str(band) for band in value])
    return html.Fieldset([html.Legend(words.BAND_TITLES[name]), html.Div(group, className="band-chips")])
