"""What a visitor asks, as a value, and that value as the query part of an address and back.

The address is the only memory of a view: whatever is not in it is not kept, so that a link, a bookmark and
the back button all bring back the same view. What a stranger may have typed there is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args
from urllib.parse import parse_qsl, quote, urlencode

from mapapp.errors import UsageError
from mapapp.question.cost import TooCostly, check_cost
from mapapp.question.distance_bands import ALLOWED, check_edges

Side = Literal["work", "home"]
Show = Literal["points", "areas", "density", "lines"]
Theme = Literal["light", "dark"]
Rows = Literal["tract", "county"]
Analysis = Literal[
    "destination",
    "area-profile",
    "area-comparison",
    "distance-direction",
    "inflow-outflow",
    "paired-area",
    "flow-matrix",
]

SHOWN: Final[dict[Analysis, tuple[Show, ...]]] = {
    "destination": ("points", "areas", "density", "lines"),
    "area-profile": ("points", "areas", "density"),
    "area-comparison": ("areas", "density"),
    "distance-direction": ("points", "areas", "density", "lines"),
    "inflow-outflow": (),
    "paired-area": (),
    "flow-matrix": (),
}
"""Ways to draw each analysis, the first where another is asked for; none where there is only its own."""

MAX_STEP_LENGTH: Final = 20_000
MAX_QUERY_LENGTH: Final = 60_000
_SEGMENTS: Final = ("age", "earnings", "industry")
_LAYERS: Final = ("layer", "home_layer", "work_layer")
_STEPS: Final = {"area": "areas", "other": "others"}
_UNKNOWN: Final = {
    "release": "There is no release {}; the first one is shown.",
    "against": "There is no release {} to compare with.",
    "analysis": "There is no analysis {}; Destination is shown.",
    "side": "The side {} is neither work nor home; work is taken.",
    "show": "Workers cannot be shown as {}; points are taken.",
    "theme": "Colours are light or dark, not {}.",
    "every": "{} is not how many rows to show; the first ones are shown.",
    "layer": "Rows cannot be {}; this release has no such layer.",
    "home_layer": "Homes cannot be counted by {}; this release has no such layer.",
    "work_layer": "Workplaces cannot be counted by {}; this release has no such layer.",
}
_OLD_NAMES: Final = {"rows": "layer"}
_OLD_VALUES: Final = {("show", "tracts"): "areas"}
_NAMES: Final = (
    "release",
    "against",
    "analysis",
    "side",
    *_STEPS,
    "show",
    *_LAYERS,
    "edges",
    "every",
    "theme",
    *_SEGMENTS,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewState:
    """One question to the map.

    Attributes
    ----------
    release, against : str
        Names of the release it is put to, empty for the first one served, and of an earlier one to compare it with,
        empty for none.
    analysis : str
        Which question it is.
    side : {"work", "home"}
        Whether `areas` are workplaces or homes.
    areas, others : tuple of str
        Steps of the chosen area, in order, each once, as `mapapp.question.area_text` writes them; and those of the
        area at the other end, for Paired Area.
    show : {"points", "areas", "density", "lines"}
        How the answer is drawn on the map.
    layer : str
        What a row of the table, and a coloured unit of the map, is.
    home_layer, work_layer : str
        What the rows and the columns of the flow matrix are.
    edges : tuple of float
        Miles at which distance bands end, rising; empty for the usual ones.
    every : bool
        Whether the table shows all of its rows.
    theme : {"light", "dark"}
    age, earnings, industry : tuple of int
        Bands 1..3 that are kept, ascending; empty for all of them.
    """

    release: str = ""
    against: str = ""
    analysis: Analysis = "destination"
    side: Side = "work"
    areas: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    show: Show = "points"
    layer: str = "tract"
    home_layer: str = "county"
    work_layer: str = "county"
    edges: tuple[float, ...] = ()
    every: bool = False
    theme: Theme = "light"
    age: tuple[int, ...] = ()
    earnings: tuple[int, ...] = ()
    industry: tuple[int, ...] = ()


def drawn_end(state: ViewState) -> Side:
    """The end of the commutes that is shown.

    Analyses of an area's own people show the end in the area; the others show the other end, or the side itself while
    no area is chosen.
    """
    if not state.areas or state.analysis in ("area-profile", "area-comparison"):
        return state.side
    return "home" if state.side == "work" else "work"


def shown_as(state: ViewState) -> Show:
    """How a state is drawn: what is asked for, where its analysis can be drawn so."""
    known = SHOWN[state.analysis]
    return state.show if state.show in known or not known else known[0]


def to_query(state: ViewState) -> str:
    """Address query of a state: empty, or `?` and what differs from the default, always in one order."""
    plain = ViewState()
    pairs: list[tuple[str, str]] = []
    for name in _NAMES:
        if name in _STEPS:
            pairs += [(name, step) for step in getattr(state, _STEPS[name])]
        elif getattr(state, name) != getattr(plain, name):
            pairs.append((name, _written(getattr(state, name))))
    return "?" + urlencode(pairs, quote_via=quote, safe=":,") if pairs else ""


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return numbers_text(value)
    return "all" if value is True else str(value)


def numbers_text(numbers: Iterable[float]) -> str:
    """Numbers with commas between them, all their digits, and none that say nothing."""
    return ",".join(repr(number).removesuffix(".0") for number in numbers)


def from_query(
    query: str | None,
    *,
    releases: Iterable[str],
    is_area: Callable[[str, str], bool],
    is_layer: Callable[[str, str], bool],
) -> tuple[ViewState, tuple[str, ...]]:
    """State of an address query, and a note in plain words for each part of it that was left out.

    Parameters
    ----------
    query : str or None
        With or without its `?`; anything at all may be in it.
    releases : iterable of str
        Names of the releases that are served.
    is_area, is_layer : callable
        `is_area(release, step)` tells whether that release has what a step of an area names, `is_layer(release,
        layer)` whether it has that layer; `release` as in the state.
    """
    text = query.removeprefix("?") if isinstance(query, str) else ""  # a forged request holds anything
    if len(text) > MAX_QUERY_LENGTH:
        return ViewState(), ("The address was too long to be read and was left out.",)
    pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=None, errors="replace")
    values: dict[str, list[str]] = {name: [] for name in _NAMES}
    notes: list[str] = []
    for given, value in pairs:
        name = _OLD_NAMES.get(given, given)
        if name in values:
            values[name].append(_OLD_VALUES.get((name, value), value))
        else:
            notes.append(f"The address has a part this page does not know: {_short(given)}.")
    try:
        check_cost((*dict.fromkeys(values["area"]), *dict.fromkeys(values["other"])))
    except TooCostly as error:  # parts of an area would be another question: none is answered
        notes.append(f"{str(error)[0].upper()}{str(error)[1:]}.")
        values["area"], values["other"] = [], []
    served = tuple(releases)

    def chosen(name: str, *allowed: str) -> str:
        return _one_of(name, values[name], allowed, notes)

    release = chosen("release", "", *served)

    def layer(name: str) -> str:
        return _layer(name, values[name], lambda one: is_layer(release, one), notes)

    state = ViewState(
        release=release,
        against=chosen("against", "", *served),
        analysis=cast(Analysis, chosen("analysis", *get_args(Analysis))),
        side=cast(Side, chosen("side", *get_args(Side))),
        show=cast(Show, chosen("show", *get_args(Show))),
        theme=cast(Theme, chosen("theme", *get_args(Theme))),
        every=chosen("every", "", "all") == "all",
        edges=_edges(values["edges"], notes),
        areas=_areas(values["area"], lambda area: is_area(release, area), notes),
        others=_areas(values["other"], lambda area: is_area(release, area), notes),
        layer=layer("layer"),
        home_layer=layer("home_layer"),
        work_layer=layer("work_layer"),
        age=_bands("age", values["age"], notes),
        earnings=_bands("earnings", values["earnings"], notes),
        industry=_bands("industry", values["industry"], notes),
    )
    return state, tuple(dict.fromkeys(notes))


def _one_of(name: str, given: list[str], allowed: tuple[str, ...], notes: list[str]) -> str:
    if not given:
        return allowed[0]
    if given[-1] in allowed:
        return given[-1]
    notes.append(_UNKNOWN[name].format(_short(given[-1])))
    return allowed[0]


def _layer(name: str, given: list[str], is_layer: Callable[[str], bool], notes: list[str]) -> str:
    plain: str = getattr(ViewState(), name)
    if not given or given[-1] == plain:
        return plain
    if len(given[-1]) <= 24 and is_layer(given[-1]):
        return given[-1]
    notes.append(_UNKNOWN[name].format(_short(given[-1])))
    return plain


def _areas(given: list[str], is_area: Callable[[str], bool], notes: list[str]) -> tuple[str, ...]:
    known = []
    for area in dict.fromkeys(given):
        if len(area) <= MAX_STEP_LENGTH and is_area(area):
            known.append(area)
        else:
            notes.append(f"There is no area {_short(area)} in this release; it was left out.")
    return tuple(known)


def edges_of(text: str) -> tuple[float, ...] | None:
    """Distance bands as people write them, such as `5, 10, 25`; None if they are not allowed."""
    parts = [part for part in text.replace(";", ",").replace(" ", ",").split(",") if part]
    try:
        return check_edges(map(float, parts))
    except (ValueError, UsageError):
        return None


def _edges(given: list[str], notes: list[str]) -> tuple[float, ...]:
    found = edges_of(given[-1]) if given else ()
    if found is None:
        notes.append(f"Distance bands are {ALLOWED}, not {_short(given[-1])}.")
    return found or ()


def _bands(name: str, given: list[str], notes: list[str]) -> tuple[int, ...]:
    parts = [part for value in given for part in value.split(",")]
    found = {int(part) for part in parts if part in ("1", "2", "3")}
    notes.extend(
        f"{_short(part)} is no {name} band; bands are 1, 2 and 3."
        for part in parts
        if part not in ("1", "2", "3")
    )
    return tuple(sorted(found)) if len(found) < 3 else ()


def _short(text: str) -> str:
    """A stranger's text, fit to be shown: printable, and not long."""
    clean = "".join(character if character.isprintable() else "�" for character in text[:40])
    return f"“{clean}{'…' if len(text) > 40 else ''}”"
