"""What a visitor asks, as a value, and that value as the query part of an address and back.

The address is the only memory of a view: whatever is not in it is not kept, so that a link, a bookmark and
the back button all bring back the same view. What a stranger may have typed there is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Literal, cast, get_args
from urllib.parse import parse_qsl, quote, urlencode

Side = Literal["work", "home"]
Show = Literal["points", "tracts", "density"]
Rows = Literal["tract", "county"]

MAX_AREAS: Final = 200
MAX_QUERY_LENGTH: Final = 20_000
_SEGMENTS: Final = ("age", "earnings", "industry")
_UNKNOWN: Final = {
    "release": "There is no release {}; the first one is shown.",
    "side": "The side {} is neither work nor home; work is taken.",
    "show": "Workers cannot be shown as {}; points are taken.",
    "rows": "Rows {} are neither tract nor county; tract is taken.",
}
_NAMES: Final = ("release", "side", "area", "show", "rows", *_SEGMENTS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewState:
    """One question to the map.

    Attributes
    ----------
    release : str
        Name of the release it is put to; empty for the first one served.
    side : {"work", "home"}
        Whether `areas` are workplaces or homes.
    areas : tuple of str
        Chosen areas as `level:identifier`, in the order they were chosen, each once.
    show : {"points", "tracts", "density"}
        How the other ends of the commutes are drawn.
    rows : {"tract", "county"}
        What a row of the table is.
    age, earnings, industry : tuple of int
        Bands 1..3 that are kept, ascending; empty for all of them.
    """

    release: str = ""
    side: Side = "work"
    areas: tuple[str, ...] = ()
    show: Show = "points"
    rows: Rows = "tract"
    age: tuple[int, ...] = ()
    earnings: tuple[int, ...] = ()
    industry: tuple[int, ...] = ()


def drawn_end(state: ViewState) -> Side:
    """The end of the commutes that is shown: the other one, or the side itself while no area is chosen."""
    if not state.areas:
        return state.side
    return "home" if state.side == "work" else "work"


def to_query(state: ViewState) -> str:
    """Address query of a state: empty, or `?` and what differs from the default, always in one order."""
    plain = ViewState()
    pairs = [
        (name, getattr(state, name))
        for name in ("release", "side")
        if getattr(state, name) != getattr(plain, name)
    ]
    pairs += [("area", area) for area in state.areas]
    pairs += [
        (name, getattr(state, name))
        for name in ("show", "rows")
        if getattr(state, name) != getattr(plain, name)
    ]
    pairs += [(name, ",".join(map(str, getattr(state, name)))) for name in _SEGMENTS if getattr(state, name)]
    return "?" + urlencode(pairs, quote_via=quote, safe=":,") if pairs else ""


def from_query(
    query: str | None, *, releases: Iterable[str], is_area: Callable[[str, str], bool]
) -> tuple[ViewState, tuple[str, ...]]:
    """State of an address query, and a note in plain words for each part of it that was left out.

    Parameters
    ----------
    query : str or None
        With or without its `?`; anything at all may be in it.
    releases : iterable of str
        Names of the releases that are served.
    is_area : callable
        `is_area(release, area)` tells whether that release has the area; `release` as in the state.
    """
    text = query.removeprefix("?") if isinstance(query, str) else ""  # a forged request holds anything
    if len(text) > MAX_QUERY_LENGTH:
        return ViewState(), ("The address was too long to be read and was left out.",)
    pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=None, errors="replace")
    values: dict[str, list[str]] = {name: [] for name in _NAMES}
    notes = []
    for name, value in pairs:
        if name in values:
            values[name].append(value)
        else:
            notes.append(f"The address has a part this page does not know: {_short(name)}.")
    release = _one_of("release", values["release"], ("", *releases), notes)
    state = ViewState(
        release=release,
        side=cast(Side, _one_of("side", values["side"], get_args(Side), notes)),
        areas=_areas(values["area"], lambda area: is_area(release, area), notes),
        show=cast(Show, _one_of("show", values["show"], get_args(Show), notes)),
        rows=cast(Rows, _one_of("rows", values["rows"], get_args(Rows), notes)),
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


def _areas(given: list[str], is_area: Callable[[str], bool], notes: list[str]) -> tuple[str, ...]:
    known = []
    for area in dict.fromkeys(given):
        if len(area) <= 60 and is_area(area):
            known.append(area)
        else:
            notes.append(f"There is no area {_short(area)} in this release; it was left out.")
    if len(known) > MAX_AREAS:
        notes.append(f"Only the first {MAX_AREAS} areas are shown.")
    return tuple(known[:MAX_AREAS])


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
