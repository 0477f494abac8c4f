"""The left panel, where the visitor sets the question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from geodata.text import list_names
from mapapp.answers import words
from mapapp.answers.release import Release, menu_names_of, names_of
from mapapp.answers.words import aria
from mapapp.explore.pages import menus as attribute_menus
from mapapp.explore.pages.area_controls import area_controls, file_choice, said
from mapapp.explore.pages.menus import layer_menus
from mapapp.question.address import Address
from mapapp.question.analyses import ANALYSES
from mapapp.question.filters import Filters
from mapapp.question.question import Question
from mapapp.question.view import View
from mapapp.show.content.dot_map import can_move

SIDES: Final = {"work": "Workplaces", "home": "Homes"}
SHOWS: Final = {"points": "Dots", "areas": "Areas", "density": "Density", "lines": "Lines"}
THEMES: Final = {"system": "As my system", "light": "Light", "dark": "Dark"}
PLAIN: Final = (
    "analysis",
    "side",
    "show",
    "per",
    "color",
    "layer",
    "home_layer",
    "work_layer",
    "characteristic",
    "theme",
)
"""Controls with one value, each named after the part of the address that it sets."""

LOOK_FOR_RELEASES_MS: Final = 2_000

PERS: Final = {"square-mile": "Per sq. mile", "area": "Workers", "share": "Share"}
COLORS: Final = {"plain": "One color", "age": "Age", "earnings": "Earnings", "industry": "Industry"}
FIELDS: Final = ("side", "show", "per", "color", "characteristic", "layer", "matrix", "edges", "by")
"""Settings that only some analyses have."""


def hidden_fields(question: Question, view: View) -> list[bool]:
    """For each of `FIELDS`, whether the question, shown in this way, ignores it."""
    has = {"matrix" if name.endswith("_layer") else name for name in question.entry.fields}
    if not question.areas and question.entry.n_needed:
        has = {"side", "layer"}  # without an area, the map shows all workers
    if question.entry.shows:
        has.add("show")
    if _colors_areas(question, view):
        has.add("per")
    if _colors_dots(question, view):
        has.add("color")
    return [name not in has for name in FIELDS]


def _colors_areas(question: Question, view: View) -> bool:
    """Whether areas are colored by their workers."""
    how = view.show_of(question)
    if not question.is_complete:
        return how in ("areas", "lines")
    return "areas" in question.entry.shows and how == "areas"


def _colors_dots(question: Question, view: View) -> bool:
    """Whether the map shows dots whose colors can be chosen, unless it compares two releases."""
    if question.is_complete and question.entry.own_drawing:
        return question.entry.own_drawing == "points" and can_move(question)
    return view.show_of(question) == "points"


def values(address: Address) -> dict[str, object]:
    """The value of each control that sets a part of the address, except `show`, which the map decides."""
    control_values: dict[str, object] = {name: address.value(name) for name in PLAIN if name != "show"}
    control_values["against"] = address.against
    control_values |= {name: list(address.value(name)) for name in attribute_menus.ATTRIBUTE_MENUS}
    control_values["edges"] = ", ".join(f"{edge:g}" for edge in address.question.edges)
    return control_values | {name: [str(band) for band in address.value(name)] for name in words.BAND_LABELS}


def show_options(question: Question, kind: str = "") -> list[dict[str, object]]:
    """Ways to draw the answer to a question.

    A change, which the map is drawn as by its `kind`, is always drawn by area; lines need an area.
    """
    known = {key: text for key, text in SHOWS.items() if key in (question.entry.shows or SHOWS)}
    no_lines = set() if question.is_complete else {"lines"}
    closed = set(known) - {"areas"} if kind == "change" else no_lines
    return [{"value": key, "label": text, "disabled": key in closed} for key, text in known.items()]


def show_value(question: Question, view: View, kind: str) -> str:
    """The way the map is drawn, if the analysis offers a choice."""
    kind = "areas" if kind in ("change", "circles") else kind
    return kind if kind in question.entry.shows else view.show_of(question)


def show_note(kind: str) -> str:
    """Why the map is not drawn as chosen; empty if it is."""
    return "Areas are colored by how the two releases differ." if kind == "change" else ""


def controls(
    releases: dict[str, Release], address: Address, layers: dict[str, str], awaited: Sequence[str] = ()
) -> Component:
    """Every control, set as the address says; `layers` names the levels available as rows and for clicks.

    `awaited` has a few words for each release that is still being made.
    """
    hidden = dict(zip(FIELDS, hidden_fields(address.question, address.view), strict=True))
    release = releases[_choose_release(releases, address)]
    menus = layer_menus(release, address.question, layers)
    return html.Div(
        [
            html.P(awaited_text(awaited), id="awaited", className="quiet small", role="status"),
            dcc.Interval(id="look-for-releases", interval=LOOK_FOR_RELEASES_MS, disabled=not awaited),
            _analysis(address.question),
            html.Div(
                select("against", "Compare with", address.against, other_releases(releases, address)),
                id="field-against",
            ),
            area_controls(menus["pick"]),
            _field("side", switch("side", "The chosen areas are", address.question.side, SIDES), hidden),
            _field("characteristic", attribute_menus.class_menu(address.question.characteristic), hidden),
            _field("matrix", _matrix(address.question, menus), hidden),
            _field("layer", select("layer", "Count by", address.question.layer, menus["layer"]), hidden),
            _field("show", _show(address.question, address.view), hidden),
            _field("per", switch("per", "Areas show", address.view.per, PERS), hidden),
            _field("color", switch("color", "Color dots by", address.view.color, _colors(release)), hidden),
            _field("edges", html.Div([_edges(address.question), said("edges")]), hidden),
            _field("by", attribute_menus.by_menu(release, address.question.by), hidden),
            html.Details(
                [
                    html.Summary(filters_label(release), id="filters-label"),
                    *[_shown_bands(release, name, address.value(name)) for name in words.BAND_LABELS],
                    html.Div(
                        attribute_menus.value_menu(release, address.question.attributes),
                        id="field-attributes",
                        hidden=not release.attributes.further,
                    ),
                ],
                open=address.question.filters != Filters(),
                className="more-controls filters",
                id="filters",
            ),
            _saved_views(address),
            dcc.Store(
                id="placed",
                data={
                    "drawn": None,
                    "values": values(address) | {"release": _choose_release(releases, address)},
                },
            ),
            dcc.Store(
                id="shown", data={"drawn": None, "values": {"show": address.view.show_of(address.question)}}
            ),
        ],
        className="controls",
        id="asked",
        **words.PART,
    )


def _shown_bands(release: Release, name: str, value: tuple[int, ...]) -> Component:
    """The filter of an attribute; hidden if the release does not show it, because callbacks read every filter."""
    bands = _bands(name, value)
    return bands if name in release.attributes.shown else html.Div(bands, hidden=True)


def _colors(release: Release) -> dict[str, str]:
    """The colors that dots can have: one, or those of an attribute that the release shows."""
    return {name: label for name, label in COLORS.items() if name in ("plain", *release.attributes.shown)}


def filters_label(release: Release) -> str:
    """What the filters of a publication are called."""
    shown = release.attributes.shown
    if release.attributes.further:
        return f"Filter by {', '.join(shown)} and more"
    if not shown:
        return "No filters: this release does not show age, earnings, or industry"
    return f"Filter by {list_names(list(shown)).replace(' and ', ' or ')}"


def _field(name: str, child: Component, hidden: dict[str, bool]) -> Component:
    return html.Div(child, id=f"field-{name}", hidden=hidden[name])


def _analysis(question: Question) -> Component:
    above = "analysis-label"
    choices = [
        dmc.Radio(label=entry.title, description=entry.words, value=name, size="xs")
        for name, entry in ANALYSES.items()
    ]
    return html.Div(
        [
            html.Div("What do you want to know?", className="label", id=above),
            dmc.RadioGroup(
                html.Div(choices, className="analyses"),
                id="analysis",
                value=question.analysis,
                **aria(labelledby=above),
            ),
        ],
        className="field",
    )


def select(name: str, label: str, value: str, options: dict[str, str], size: str = "sm") -> dmc.Select:
    """A drop-down list."""
    return dmc.Select(
        id=name,
        label=label,
        data=options_of(options),
        value=value,
        allowDeselect=False,
        comboboxProps={"zIndex": 400, "withinPortal": False},
        withScrollArea=False,  # the list scrolls by itself, see app.css
        size=size,
    )


def _show(question: Question, view: View) -> Component:
    label = words.drawn_label(question)
    shows = {str(option["value"]): str(option["label"]) for option in show_options(question)}
    note = html.P(id="show-said", className="quiet small")
    return html.Div([switch("show", label, view.show_of(question), shows), note], className="with-note")


def _matrix(question: Question, menus: dict[str, dict[str, str]]) -> Component:
    return html.Div(
        [
            select("home_layer", "Homes by", question.home_layer, menus["home_layer"]),
            select("work_layer", "Workplaces by", question.work_layer, menus["work_layer"]),
        ],
        className="two",
    )


def _edges(question: Question) -> dmc.TextInput:
    return dmc.TextInput(
        id="edges",
        label="Distance bands end at (miles)",
        value=", ".join(f"{edge:g}" for edge in question.edges),
        placeholder="10, 25, 50",
        debounce=True,
        size="sm",
    )


def release_choice(releases: dict[str, Release], address: Address) -> Component:
    """The choice of a release in the header of the page; hidden if there is only one."""
    options = names_of(list(releases.values()))
    return html.Div(
        dmc.Select(
            id="release",
            data=options_of(options),
            value=_choose_release(releases, address),
            allowDeselect=False,
            comboboxProps={"zIndex": 400, "withinPortal": False, "width": 300, "position": "bottom-start"},
            withScrollArea=False,
            size="sm",
            **aria(label="Publication"),
        ),
        hidden=len(options) < 2,
        className="releases",
        id="releases",
    )


def awaited_text(awaited: Sequence[str]) -> str:
    """A line on the releases that are still being made; empty if all are ready."""
    if not awaited:
        return ""
    named = list_names([f"the {name}" for name in awaited])
    return f"A release with {named} is being made. It will appear here, to compare with."


def options_of(names: dict[str, str]) -> list[dict[str, str]]:
    """The options of a drop-down list, from labels by value."""
    return [{"value": value, "label": label} for value, label in names.items()]


def other_releases(releases: dict[str, Release], address: Address) -> dict[str, str]:
    """Releases to compare the shown one with, and an entry for no comparison."""
    chosen = _choose_release(releases, address)
    names = menu_names_of(list(releases.values()))
    return {"": "Nothing"} | {slug: name for slug, name in names.items() if slug != chosen}


def _choose_release(releases: dict[str, Release], address: Address) -> str:
    return address.release or next(iter(releases))


def _saved_views(address: Address) -> Component:
    return html.Details(
        [
            html.Summary("Colors and saved views"),
            switch("theme", "Colors", address.view.theme, THEMES),
            html.P(
                "The address of this page holds this view. Copy the address, or save the view as a file.",
                className="quiet small",
            ),
            html.Div(
                [
                    html.Button("Save view", id="save-setup", className="button", n_clicks=0),
                    file_choice("open-setup", "Open view", ".json"),
                ],
                className="buttons",
            ),
            html.Div(id="setup-said", className="said-small", role="status"),
            dcc.Store(id="opened-view"),
        ],
        className="more-controls",
        id="keeping",
    )


def switch(name: str, label: str, value: str, options: dict[str, str]) -> Component:
    """A segmented control with its label above."""
    above = f"{name}-label"
    return html.Div(
        [
            html.Div(label, className="label", id=above),
            segments(name, value, options, labelledby=above),
        ],
        className="field",
    )


def segments(
    name: str,
    value: str,
    options: dict[str, str] | list[dict[str, object]],
    size: str = "sm",
    **label: str,
) -> dmc.SegmentedControl:
    """A segmented control of texts by value, or of entries as Mantine has them; `label` is for screen readers."""
    data = (
        [{"value": key, "label": text} for key, text in options.items()]
        if isinstance(options, dict)
        else options
    )
    return dmc.SegmentedControl(
        id=name,
        data=data,
        value=value,
        size=size,
        fullWidth=True,
        color="blue.8",
        transitionDuration=0,  # otherwise the mark arrives after its text
        **aria(**label),
    )


def _bands(name: str, value: tuple[int, ...]) -> Component:
    boxes = [
        dmc.Chip(text, value=str(band), size="xs", radius="sm")
        for band, text in enumerate(words.BAND_LABELS[name], 1)
    ]
    group = dmc.ChipGroup(boxes, id=name, multiple=True, value=[str(band) for band in value])
    return html.Fieldset([html.Legend(words.BAND_TITLES[name]), html.Div(group, className="band-chips")])
