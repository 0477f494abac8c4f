"""Controls to choose an area: by name, click, place and radius, drawing or file; and the areas chosen so far."""

from __future__ import annotations

import json
from typing import Final

import dash_mantine_components as dmc
from dash import dcc, html
from dash.development.base_component import Component

from geodata.geography.area_formats import SUFFIXES
from mapapp.answers import words
from mapapp.answers.areas.area import Area
from mapapp.answers.areas.levels import level_label
from mapapp.answers.areas.search import LANDMARK_MI
from mapapp.answers.downtowns import Downtown
from mapapp.answers.release import Release
from mapapp.answers.words import Attributes, aria
from mapapp.question.area_text import (
    MAX_LABEL,
    Circle,
    Corridor,
    Everything,
    Step,
    Unit,
    Units,
    area_text,
    parse_area,
    ring_areas,
)
from mapapp.question.fields import USUAL
from mapapp.question.filters import CHARACTERISTICS, Filters
from mapapp.question.question import OTHER_END, Question

# The part of a chip that changes a chosen part: its radius or distance in miles, and the name of a drawn part.


def chip_editor(step: str, apply: Component, name: str) -> Component | None:
    """Fields for one step of an area, and the button that applies them; None if nothing of it can be changed.

    The page's script sends the fields with the button's choice, by the names in `data-edit`.
    """
    drawn = parse_area(step)[0]
    if isinstance(drawn.part, Everything):
        return None
    fields = [_field("miles", _miles_label(drawn), miles_of(drawn), 24)]
    if not isinstance(drawn.part, Unit):
        fields.insert(0, _field("name", "Name", drawn.label, MAX_LABEL))
    summary = html.Summary("Edit", **aria(label=f"Edit {name}"))
    return html.Details([summary, html.Div([*fields, apply], className="edit-fields")], className="edit")


def miles_of(step: Step) -> str:
    """The miles of a circle, a ring, or a corridor as a visitor types them; empty for other parts."""
    if isinstance(step.part, Circle):
        inner = f"{step.part.inner_mi:g}, " if step.part.inner_mi else ""
        return f"{inner}{step.part.outer_mi:g}"
    return f"{step.part.miles:g}" if isinstance(step.part, Corridor) else ""


def _miles_label(step: Step) -> str:
    if isinstance(step.part, Circle):
        return "Radii in miles" if step.part.inner_mi else "Radius in miles"
    return "Within this many miles"


def _field(name: str, label: str, value: str, most: int) -> Component:
    attributes: Attributes = {"data-edit": name}
    box = dcc.Input(type="text", value=value, maxLength=most, autoComplete="off")
    return html.Label([label, box], **attributes)


TYPED: Final = "Latitude, longitude "
"""Prefix of a typed coordinate in the list of search results."""

REPLACES: Final = "="
SIGNS: Final = {
    REPLACES: "replaces it",
    "+": "adds to it",
    "-": "cuts it out",
    "&": "keeps only the overlap",
}
_NEAR: Final = "Within "
_COUNTED: Final = {"home_layer": "Homes", "work_layer": "Workplaces"}
_SAID: Final = {"-": "without ", "&": "only within "}
_DRAWN: Final = {
    "circle": "Circle",
    "ring": "Ring",
    "box": "Box",
    "shape": "Drawn shape",
    "line": "Corridor",
    "near": "Corridor",
    "all": "Everything",
}


def area_controls(picks: dict[str, str]) -> Component:
    """Clicks, and the tools for places and shapes; `picks` names the levels a visitor can click."""
    return html.Fieldset(
        [
            html.Legend("On the map", className="label"),
            html.Div(
                [
                    _small_select("pick", "Clicking selects a", USUAL, picks),
                    _small_select("sign", "and", REPLACES, SIGNS),
                ],
                className="two",
            ),
            html.Details(
                [
                    html.Summary("Use a radius, a corridor, or a file"),
                    search_box("center", "Around this place", "A name, or 41.82, -71.41"),
                    dmc.TextInput(
                        id="radii",
                        label="Radius in miles (up to three, for rings)",
                        placeholder="5  or  1, 3, 5",
                        debounce=True,  # sent on Enter or on leaving the field, so always before a click on the button
                        size="xs",
                    ),
                    html.Button("Use circle", id="add-circle", className="button", **choice("add-circle")),
                    said("circle"),
                    *_corridor(),
                    file_choice("open-area", "Open an area file", ",".join(SUFFIXES)),
                    said("file"),
                    html.P(
                        "GeoJSON, zipped shapefile, GeoPackage, KML, GPX, or others, up to 20 MiB, with a coordinate "
                        "system. "
                        "Lines in it need a distance above. To draw, use the buttons on the map.",
                        className="quiet small",
                    ),
                ],
                className="more-controls",
                id="tools",
            ),
        ],
        className="area-controls",
    )


def find() -> Component:
    """Search by name, and the areas chosen so far: on a phone they stay above the map."""
    return html.Div(
        [
            html.Div(
                [
                    _target(),
                    html.Button("Use the same area for both ends", className="button", **choice("same-ends")),
                ],
                id="field-target",
                hidden=True,
            ),
            search_box("search", "Find an area, or ask", "Place, ZIP code, or question"),
            html.Div(
                [
                    html.Div(id="chips", className="chips"),
                    html.Div(id="other-chips", className="chips"),
                    html.P(id="area-size", className="quiet small"),
                ],
                className="chosen",
                id="chosen",
                **words.PART,
            ),
        ],
        className="find",
    )


def _corridor() -> list[Component]:
    """The distance of a corridor, around the chosen area, a file, or a line."""
    return [
        dmc.TextInput(
            id="within",
            label="Within this many miles of an area or a line",
            placeholder="0.5",
            debounce=True,
            size="xs",
        ),
        html.Button(
            "Use corridor around the chosen area",
            id="add-corridor",
            className="button",
            **choice("add-corridor"),
        ),
        said("corridor"),
    ]


def said(about: str) -> Component:
    """Where the page's script says that a choice beside it did not work."""
    return html.Div(id=f"{about}-said", className="said-small", role="status")


def file_choice(name: str, text: str, accept: str) -> Component:
    """A button that opens a file; the page's script reads the file and sends it as a choice with this name."""
    reads: Attributes = {"data-file": name, "data-accept": accept}
    return html.Button(text, className="button choose-file", n_clicks=0, **reads)


def choice(trigger: str | dict[str, str]) -> Attributes:
    """The attribute of a button whose click the page's script sends as a choice with this trigger."""
    return {"data-choice": trigger if isinstance(trigger, str) else json.dumps(trigger)}


def _target() -> dmc.SegmentedControl:
    return dmc.SegmentedControl(
        id="target",
        data=[{"value": "areas", "label": "Work area"}, {"value": "others", "label": "Home area"}],
        value="areas",
        fullWidth=True,
        size="xs",
        color="blue.8",
        transitionDuration=0,
        **aria(label="Area to choose"),
    )


def target_options(question: Question) -> list[dict[str, str]]:
    """The two areas of a pair, each with its label."""
    first, second = ("Work area", "Home area") if question.side == "work" else ("Home area", "Work area")
    return [{"value": "areas", "label": first}, {"value": "others", "label": second}]


def search_box(name: str, label: str, placeholder: str) -> dmc.Select:
    """A search box for areas; the server looks up what the visitor types."""
    return dmc.Select(
        id=name,
        label=label,
        placeholder=placeholder,
        searchable=True,
        data=[],
        value=None,
        nothingFoundMessage="No area has that name",
        filter={"function": "keepAll"},
        # Always below the box: a list above it would jump as its length changes with each letter.
        comboboxProps={"zIndex": 400, "withinPortal": False, "middlewares": {"flip": False, "shift": False}},
        withScrollArea=False,  # the list scrolls by itself; axe finds Mantine's area hard to reach by keyboard
        rightSection=" ",
        size="sm",
    )


def _small_select(name: str, label: str, value: str, options: dict[str, str]) -> dmc.Select:
    return dmc.Select(
        id=name,
        label=label,
        data=[{"value": key, "label": text} for key, text in options.items()],
        value=value,
        allowDeselect=False,
        comboboxProps={"zIndex": 400, "withinPortal": False, "width": 230, "position": "bottom-start"},
        withScrollArea=False,
        size="xs",
    )


def search_options(areas: list[Area], *, is_guess: bool = False) -> list[dict[str, object]]:
    """Search results, grouped by level; or one group of those that may be meant."""
    groups: dict[str, list[dict[str, str]]] = {}
    for area in {area.key: area for area in areas}.values():
        level = level_label(area.level)
        group, label = (
            ("Did you mean …", f"{area.name} · {level.split(' (')[0]}") if is_guess else (level, area.name)
        )
        groups.setdefault(group, []).append({"value": area.key, "label": label})
    return [{"group": name, "items": items} for name, items in groups.items()]


def place_option(lon_deg: float, lat_deg: float) -> dict[str, object]:
    """The search result for typed coordinates: the area within `LANDMARK_MI` of the place."""
    circle = area_text(ring_areas(lon_deg, lat_deg, [LANDMARK_MI])[0])
    label = f"Within {LANDMARK_MI:g} miles of {lat_deg:g}, {lon_deg:g}"
    return {"group": "Place", "items": [{"value": circle, "label": label}]}


def core_option(core: Downtown) -> dict[str, object]:
    """The search result for the core of a place."""
    return {"group": "Core", "items": [{"value": core.step, "label": core.words}]}


def nothing_found(release: Release, text: str) -> str:
    """The text of the search box if it finds nothing."""
    if text.strip().isdigit() and not release.areas.has_units("zcta"):
        return "This release has no ZIP code areas; try the name of a town or county."
    example = "" if not release.areas.has_units("zcta") else ", or a ZIP code of five digits"
    return f"Nothing here is called “{text[:30]}”. Try a town, a county, or a landmark{example}."


def chips(release: Release, steps: tuple[str, ...], field: str, title: str = "") -> list[Component]:
    """The steps of an area, each with a button to remove it; `field` says which of the two areas they belong to."""
    area_chips = [_chip(release, step, field) for step in steps]
    if title and steps:
        area_chips.insert(0, html.Span(title, className="chips-title"))
    if steps:
        area_chips.append(html.Button("+ Add an area", className="clear", **_adds(field)))
    if len(steps) > 1:
        area_chips.append(
            html.Button(
                "Clear all", className="clear", **choice({"type": "remove", "area": "*", "of": field})
            )
        )
    return area_chips


def _adds(field: str) -> Attributes:
    """The attribute of a button that lets the next area be added; the page's script does it."""
    return {"data-add": field}


def _chip(release: Release, step: str, field: str) -> Component:
    name, level = step_name(release, step)
    said = _SAID.get(step[0], "")
    if said and name.startswith(_NEAR):
        said, name = ("only ", f"w{name[1:]}") if step[0] == "&" else (said, f"the area w{name[1:]}")
    apply = html.Button("Apply", className="button", **choice({"type": "edit", "area": step, "of": field}))
    editor = chip_editor(step, apply, f"{said}{name}")
    return html.Span(
        [
            html.Span([html.Em(said) if said else None, name, html.Span(level, className="level"), editor]),
            html.Button(
                "×",
                **choice({"type": "remove", "area": step, "of": field}),
                **aria(label=f"Remove {said}{name}"),
            ),
        ],
        className="chip" + (" less" if said else ""),
    )


def filter_chips(release: Release, question: Question) -> list[Component]:
    """The groups of workers, the layer, and the distance bands of a question, each with a button to drop it."""
    conditions = [
        (
            name,
            " or ".join(CHARACTERISTICS[name][band - 1] for band in getattr(question, name)),
            name.capitalize(),
        )
        for name in CHARACTERISTICS
        if getattr(question, name)
    ]
    if question.attributes:
        only = release.attributes.words(Filters(attributes=question.attributes))
        conditions.append(("attributes", only, "Attributes"))
    if question.by and "by" in question.entry.fields:
        conditions.append(
            ("by", ", ".join(release.attributes[name].title for name in question.by), "Table by")
        )
    layers = [name for name in ("layer", "home_layer", "work_layer") if name in question.entry.fields]
    for name in layers:
        level = getattr(question, name)
        if level != USUAL:
            conditions.append((name, f"by {words.level_word(level)}", _COUNTED.get(name, "Rows")))
    if question.edges and "edges" in question.entry.fields:
        conditions.append(
            ("edges", ", ".join(f"{edge:g}" for edge in question.edges) + " miles", "Distance bands")
        )
    return [_filter_chip(field, text, kind) for field, text, kind in conditions]


def _filter_chip(field: str, text: str, kind: str) -> Component:
    return html.Span(
        [
            html.Span([text, html.Span(kind, className="level")]),
            html.Button("×", **choice({"type": "drop", "of": field}), **aria(label=f"Drop {kind}: {text}")),
        ],
        className="chip plain",
    )


def step_name(release: Release, step: str) -> tuple[str, str]:
    """Name and kind of a step."""
    bare = step.lstrip("+-&")
    if bare in release.areas:
        area = release.areas[bare]
        return area.name, level_label(area.level).split(" (")[0]
    name = release.areas.select(bare).name.replace("the area within ", _NEAR, 1)
    drawn = parse_area(bare)[0]
    kind = _kind(bare.partition(":")[0], drawn)
    if drawn.label and isinstance(drawn.part, Circle):  # its name does not say how large it is
        kind = f"{kind}, {drawn.part.outer_mi:g} mi"
    return name, kind


def _kind(text: str, step: Step) -> str:
    """What a drawn part is, or how many units a part has."""
    if isinstance(step.part, Units):
        return f"{len(step.part.units)} {words.plural(words.level_word(step.part.level))}"
    return _DRAWN.get(text, "Drawn")


def size_words(release: Release, question: Question) -> str:
    """How many blocks are chosen, and how blocks on the border are counted."""
    steps = [area_steps for area_steps in (question.areas, question.others) if area_steps]
    if not steps:
        return ""
    chosen = [release.areas.select(" ".join(area_steps)) for area_steps in steps]
    n, edge = (sum(getattr(area, name) for area in chosen) for name in ("n_blocks", "n_edge_blocks"))
    text = f"{n:,} block{'s' * (n != 1)}"
    if not edge:
        return f"{text}."
    cut = "1 crosses the drawn border" if edge == 1 else f"{edge:,} cross the drawn border"
    return f"{text}; {cut}. A block is included if its internal point is inside."


def areas_label(question: Question) -> tuple[str, str]:
    """Titles of the two lists of a pair; empty for one list."""
    if question.entry.n_needed != 2 and not question.others:
        return "", ""
    both = {"work": "Work area:", "home": "Home area:"}
    other_end = "home" if question.side == "work" else "work"
    return both[question.side], both[other_end]


def missing(question: Question) -> str:
    """A sentence that says what the visitor still has to choose; empty if nothing."""
    if question.is_complete:
        return ""
    return prompt(question) or "Choose an area."


_CLICK: Final = {"work": "click where they work", "home": "click where they live"}


def prompt(question: Question) -> str:
    """What to click next, for a question that has no answer for the whole release; empty if nothing."""
    if question.entry.n_needed == 2 and not question.is_complete:
        if not question.areas:
            return f"{_CLICK[question.side].capitalize()}, or search."
        return f"Now {_CLICK[OTHER_END[question.side]]}, or search."
    is_open = question.analysis == "inflow-outflow" and not question.is_complete
    return "Click the area whose commuters come, go, and stay, or search." if is_open else ""


def next_end(question: Question) -> str | None:
    """The area of a pair that the next choice is for; None if both are chosen, or for other questions."""
    if question.entry.n_needed != 2 or question.is_complete:
        return None
    return "others" if question.areas else "areas"
