"""The left panel: what is asked."""

from __future__ import annotations

from typing import Any, Final

import dash_mantine_components as dmc
from dash import dcc, html

from mapapp.answers import words
from mapapp.answers.served_release import ServedRelease, names_of
from mapapp.answers.words import aria
from mapapp.drawing.density import MAX_POINTS
from mapapp.explore.pages.area_controls import area_controls, file_choice
from mapapp.question.address import SHOWN, ViewState, shown_as

ANALYSES: Final = {
    "destination": ("Destination", "Where do they live, or work?"),
    "area-profile": ("Area profile", "Who are they?"),
    "area-comparison": ("Area comparison", "How do its parts compare?"),
    "distance-direction": ("Distance/direction", "How far, and which way?"),
    "inflow-outflow": ("Inflow/outflow", "Who comes, goes and stays?"),
    "paired-area": ("Paired area", "Who lives there and works here?"),
    "flow-matrix": ("Flow matrix", "From everywhere to everywhere"),
}
SIDES: Final = {"work": "Workplaces", "home": "Homes"}
SHOWS: Final = {"points": "Points", "areas": "Areas", "density": "Density", "lines": "Lines"}
THEMES: Final = {"light": "Light", "dark": "Dark"}
PLAIN: Final = ("analysis", "side", "show", "layer", "home_layer", "work_layer", "theme")
"""Controls of one value, named as the part of the address that they set."""

FIELDS: Final = ("side", "show", "layer", "matrix", "edges")
"""Settings that not every analysis has."""

_HAS: Final[dict[str, tuple[str, ...]]] = {
    "destination": ("side", "show", "layer"),
    "area-profile": ("side", "show", "layer"),
    "area-comparison": ("side", "show", "layer"),
    "distance-direction": ("side", "show", "layer", "edges"),
    "inflow-outflow": (),
    "paired-area": ("side", "edges"),
    "flow-matrix": ("side", "matrix"),
}


def hidden_fields(state: ViewState) -> list[bool]:
    """Which of `FIELDS` mean nothing to the state's analysis."""
    has = _HAS[state.analysis]
    if not state.areas:  # everything is drawn in one way: by the units of a layer
        has = ("side", "matrix") if state.analysis == "flow-matrix" else ("side", "layer")
    return [name not in has for name in FIELDS]


def values(state: ViewState) -> dict[str, Any]:
    """What each control that stands for a part of the address is set to; of how it is drawn, the map decides."""
    found: dict[str, Any] = {name: getattr(state, name) for name in (*PLAIN, "against") if name != "show"}
    found["edges"] = ", ".join(f"{edge:g}" for edge in state.edges)
    return found | {name: [str(band) for band in getattr(state, name)] for name in words.BAND_LABELS}


def show_options(state: ViewState, kind: str = "") -> list[dict[str, Any]]:
    """Ways to draw the state's analysis.

    Points cannot be chosen where the map, drawn as `kind`, has too many, and a change is drawn by area only.
    """
    known = {key: text for key, text in SHOWS.items() if key in (SHOWN[state.analysis] or SHOWS)}
    in_place = {"points"} if _stands_in(state, kind) else set()
    closed = set(known) - {"areas"} if kind == "change" else in_place
    return [{"value": key, "label": text, "disabled": key in closed} for key, text in known.items()]


def show_value(state: ViewState, kind: str) -> str:
    """The way to draw that the map has taken, where the analysis has a choice."""
    kind = "areas" if kind == "change" else kind
    return kind if kind in SHOWN[state.analysis] else shown_as(state)


def show_note(state: ViewState, kind: str) -> str:
    """Why the map is not drawn as chosen; empty if it is."""
    if kind == "change":
        return "Areas by their change, because two releases are compared."
    return f"Density, because there are more than {MAX_POINTS:,} points." if _stands_in(state, kind) else ""


def _stands_in(state: ViewState, kind: str) -> bool:
    """Whether a density is drawn in place of points."""
    return kind == "density" and shown_as(state) == "points"


def controls(releases: dict[str, ServedRelease], state: ViewState, layers: dict[str, str]) -> Any:
    """Every control, set as the state says; `layers` names the levels that can be rows and clicked."""
    hidden = dict(zip(FIELDS, hidden_fields(state), strict=True))
    return html.Div(
        [
            *_release_choice(releases, state),
            _question(state),
            area_controls(layers),
            _field("side", switch("side", "The chosen areas are", state.side, SIDES), hidden),
            _field("matrix", _matrix(state, layers), hidden),
            _field("layer", select("layer", "Count by", state.layer, layers), hidden),
            _field("show", _show(state), hidden),
            _field("edges", _edges(state), hidden),
            html.Details(
                [
                    html.Summary("Filter by age, earnings, industry"),
                    *[_bands(name, getattr(state, name)) for name in words.BAND_LABELS],
                ],
                open=bool(state.age or state.earnings or state.industry),
                className="more-controls filters",
                id="filters",
            ),
            _keeping(state),
            dcc.Store(
                id="placed",
                data={"drawn": None, "values": values(state) | {"release": _chosen(releases, state)}},
            ),
            dcc.Store(id="shown", data={"drawn": None, "values": {"show": shown_as(state)}}),
        ],
        className="controls",
        id="asked",
        **words.PART,
    )


def _field(name: str, child: Any, hidden: dict[str, bool]) -> Any:
    return html.Div(child, id=f"field-{name}", hidden=hidden[name])


def _question(state: ViewState) -> Any:
    above = "analysis-label"
    choices = [
        dmc.Radio(label=name, description=text, value=key, size="xs")
        for key, (name, text) in ANALYSES.items()
    ]
    return html.Div(
        [
            html.Div("What do you want to know?", className="label", id=above),
            dmc.RadioGroup(
                html.Div(choices, className="analyses"),
                id="analysis",
                value=state.analysis,
                **aria(labelledby=above),
            ),
        ],
        className="field",
    )


def select(name: str, label: str, value: str, options: dict[str, str], size: str = "sm") -> Any:
    """A choice of one among many."""
    return dmc.Select(
        id=name,
        label=label,
        data=[{"value": key, "label": text} for key, text in options.items()],
        value=value,
        allowDeselect=False,
        comboboxProps={"zIndex": 400, "withinPortal": False},
        withScrollArea=False,  # the list scrolls by itself, see app.css
        size=size,
    )


def _show(state: ViewState) -> Any:
    label = words.drawn_label(state)
    shows = {option["value"]: option["label"] for option in show_options(state)}
    note = html.P(id="show-said", className="quiet small")
    return html.Div([switch("show", label, shown_as(state), shows), note], className="with-note")


def _matrix(state: ViewState, layers: dict[str, str]) -> Any:
    return html.Div(
        [
            select("home_layer", "Homes by", state.home_layer, layers),
            select("work_layer", "Workplaces by", state.work_layer, layers),
        ],
        className="two",
    )


def _edges(state: ViewState) -> Any:
    return dmc.TextInput(
        id="edges",
        label="Distance bands end at (miles)",
        value=", ".join(f"{edge:g}" for edge in state.edges),
        placeholder="10, 25, 50",
        debounce=True,
        size="sm",
    )


def _release_choice(releases: dict[str, ServedRelease], state: ViewState) -> list[Any]:
    options = names_of(list(releases.values()))
    chosen = _chosen(releases, state)
    return [
        html.Div(
            [
                select("release", "Release", chosen, options),
                select("against", "Change since", state.against, earlier_releases(releases, state)),
            ],
            hidden=len(options) < 2,
            className="releases",
        )
    ]


def earlier_releases(releases: dict[str, ServedRelease], state: ViewState) -> dict[str, str]:
    """Releases that the shown one can be compared with, and none; not the shown one itself."""
    chosen = _chosen(releases, state)
    names = names_of(list(releases.values()))
    return {"": "Nothing"} | {slug: name for slug, name in names.items() if slug != chosen}


def _chosen(releases: dict[str, ServedRelease], state: ViewState) -> str:
    return state.release or next(iter(releases))


def _keeping(state: ViewState) -> Any:
    return html.Details(
        [
            html.Summary("Colours, and keeping this view"),
            switch("theme", "Colours", state.theme, THEMES),
            html.P(
                "The address of this page is this view: copy it, or keep the view as a file.",
                className="quiet small",
            ),
            html.Div(
                [
                    html.Button("Save as a file", id="save-setup", className="button", n_clicks=0),
                    file_choice("open-setup", "Open a file", ".json"),
                ],
                className="buttons",
            ),
            html.Div(id="setup-said", className="said-small", role="status"),
            dcc.Store(id="opened-view"),
        ],
        className="more-controls",
        id="keeping",
    )


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
        fullWidth=True,
        color="blue.8",
        transitionDuration=0,  # the mark is in place when its text is
        **aria(**label),
    )


def _bands(name: str, value: tuple[int, ...]) -> Any:
    boxes = [
        dmc.Chip(text, value=str(band), size="xs", radius="sm")
        for band, text in enumerate(words.BAND_LABELS[name], 1)
    ]
    group = dmc.ChipGroup(boxes, id=name, multiple=True, value=[str(band) for band in value])
    return html.Fieldset([html.Legend(words.BAND_TITLES[name]), html.Div(group, className="band-chips")])
