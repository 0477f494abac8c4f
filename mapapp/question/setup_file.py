"""A view as a file: what is asked, how it is shown and of which release, as one small JSON with a version.

A file says the same as the address of a view, but may be longer than an address, keeps where the map looks, and names
its release, so that whoever opens it with another one is told. It runs again from the page, from `commutemap analyze
--setup` and from Python, with the same tables to the byte.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol, cast, get_args
from urllib.parse import parse_qsl

from geodata.errors import GeometryError
from mapapp.errors import UsageError
from mapapp.question.address import (
    Analysis,
    Show,
    Side,
    Theme,
    ViewState,
    from_query,
)
from mapapp.question.area_text import BLOCK, MAX_TEXT
from mapapp.question.cost import MAX_PARTS
from mapapp.question.distance_bands import ALLOWED, check_edges
from mapapp.question.view import Bounds

VERSION: Final = 2
MAX_BYTES: Final = 2_000_000  # two areas of the longest text, with room for the rest
_MAX_NAME: Final = 300
_QUESTION: Final = (
    "analysis",
    "side",
    "areas",
    "others",
    "layer",
    "home_layer",
    "work_layer",
    "edges",
    "age",
    "earnings",
    "industry",
)
_LOOK: Final = ("show", "theme", "every")
_CHOICES: Final[dict[str, tuple[str, ...]]] = {
    "analysis": get_args(Analysis),
    "side": get_args(Side),
    "show": get_args(Show),
    "theme": get_args(Theme),
}
_SOURCE: Final = ("name", "title", "digest")


class Opened(Protocol):
    """What a setup is held against: `ServedRelease`, or `mapapp.api.Release`."""

    areas: Any
    version: str

    @property
    def title(self) -> str:
        """Name for people, with the year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The release a setup was made with: its name in addresses, its title, and the first digits of its manifest's
    sha256. All of them may be empty."""

    name: str = ""
    title: str = ""
    digest: str = ""

    def __str__(self) -> str:
        shown = _short(self.title or self.name or "another release")
        return f"{shown} ({self.digest})" if self.digest else shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A setup as it was read; whether a release has its areas is not known yet.

    Attributes
    ----------
    release, against : Source or None
        Made with, and compared with.
    state : ViewState
        Without names of releases.
    bounds_deg : tuple of float or None
        West, south, east and north of what the map showed, degrees.
    notes : tuple of str
        What of an older file was left out.
    """

    release: Source
    against: Source | None
    state: ViewState
    bounds_deg: Bounds | None = None
    notes: tuple[str, ...] = ()


def save(
    release: Opened,
    state: ViewState,
    *,
    name: str = "",
    against: Opened | None = None,
    bounds_deg: Bounds | None = None,
) -> bytes:
    """Write a view as a file: UTF-8 JSON, the same bytes for the same view.

    Parameters
    ----------
    release : ServedRelease or Release
    state : ViewState
    name : str
        The release's name in addresses; `state.release` without it.
    against : ServedRelease or Release, optional
        An earlier release that the view compares with.
    bounds_deg : tuple of float, optional
        West, south, east and north of what the map shows.
    """
    document: dict[str, Any] = {
        "commutemap": "setup",
        "version": VERSION,
        "release": _source(release, name or state.release),
    }
    if against is not None:
        document["against"] = _source(against, state.against)
    document |= _parts(state)
    if bounds_deg is not None:
        document["look"]["bounds_deg"] = [round(float(edge), 5) for edge in bounds_deg]
    return (json.dumps(document, indent=1, ensure_ascii=True) + "\n").encode()


def load(
    source: str | Path | bytes, release: Opened, *, leave_out: bool = False
) -> tuple[ViewState, tuple[str, ...]]:
    """State of a setup file for a release, and notes that a reader must see.

    Parameters
    ----------
    source : path, or the file's bytes
    release : ServedRelease or Release
    leave_out : bool
        Leave out what the release does not have, with a note, as a page does; else it is refused, so that no answer is
        about another area than was asked for.

    Raises
    ------
    UsageError
        In one line: the file cannot be read, is no setup, is of a version that is not known, or asks for what the
        release does not have.
    """
    return fitted(read(source), release, leave_out=leave_out)


def read(source: str | Path | bytes) -> Setup:
    """Read a setup without holding it against a release.

    Raises
    ------
    UsageError
        In one line.
    """
    content = source if isinstance(source, bytes) else _bytes(Path(source))
    if len(content) > MAX_BYTES:
        raise UsageError(f"this file is no setup: it has more than {MAX_BYTES:,} bytes")
    try:
        document = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise UsageError("this file is no setup: it is no JSON") from None
    if not isinstance(document, dict) or document.get("commutemap") != "setup":
        raise UsageError('this file is no setup of CommuteMap: it does not say "commutemap": "setup"')
    current, notes = migrate(document)
    return _setup(current, notes)


def migrate(document: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """A document of any known version as one of this version, and notes on what could not be taken over.

    Version 1, and files without a version, held the query of an address and nothing about the release.

    Raises
    ------
    UsageError
        For a version that is not known.
    """
    version = document.get("version", 1)
    if version == VERSION and not isinstance(version, bool):
        return document, ()
    if version != 1 or isinstance(version, bool):
        said = _short(json.dumps(version)) if isinstance(version, (int, float, str)) else "that is no number"
        raise UsageError(
            f"this setup is of version {said}, and 1 to {VERSION} are known; use the newest commutemap"
        )
    query = document.get("query")
    if not isinstance(query, str):
        raise UsageError("this file is no setup of CommuteMap: version 1 needs a query")
    pairs = parse_qsl(query.removeprefix("?"), keep_blank_values=True, errors="replace")
    named = {key: value for key, value in pairs if key in ("release", "against")}
    state, notes = from_query(
        query, releases=named.values(), is_area=lambda *_: True, is_layer=lambda *_: True
    )
    new: dict[str, Any] = {"commutemap": "setup", "version": VERSION, "release": {"name": state.release}}
    if state.against:
        new["against"] = {"name": state.against}
    return new | _parts(state), notes


def fitted(setup: Setup, release: Opened, *, leave_out: bool = False) -> tuple[ViewState, tuple[str, ...]]:
    """The state of a setup for a release; as :func:`load` says."""
    notes = list(setup.notes)
    made = setup.release
    if made.digest and made.digest[:12] != release.version[:12]:
        now = f"{_short(release.title)} ({release.version})"
        notes.append(f"This setup was made with {made}; here it is put to {now}.")
    if setup.against is not None:
        notes.append(f"This setup compares with {setup.against}.")
    state, missing = setup.state, []
    for field in ("areas", "others"):
        steps: tuple[str, ...] = getattr(state, field)
        known = tuple(step for step in steps if has_step(release, step))
        missing += [f"area {_short(step)}" for step in steps if step not in known]
        state = _replaced(state, field, known)
    for field in ("layer", "home_layer", "work_layer"):
        layer = getattr(state, field)
        if layer != getattr(ViewState(), field) and not has_layer(release, layer):
            missing.append(f"layer {_short(layer)}")
            state = _replaced(state, field, getattr(ViewState(), field))
    if missing and not leave_out:
        raise UsageError(f"this setup asks for {missing[0]}, which {_short(release.title)} does not have")
    notes += [f"There is no {each} in this release; it was left out." for each in dict.fromkeys(missing)]
    return state, tuple(dict.fromkeys(notes))


def has_step(release: Opened, step: str) -> bool:
    """Whether a text is one step of an area that a release has."""
    if " " in step:  # a step, not several
        return False
    try:
        release.areas.select(step)
    except (UsageError, GeometryError):
        return False
    return True


def has_layer(release: Opened, layer: str) -> bool:
    """Whether rows can be units of that layer."""
    return layer in release.areas.columns and layer != BLOCK


def bounds_of(value: Any) -> Bounds | None:
    """West, south, east and north of a list of four, degrees; None of None.

    Raises
    ------
    UsageError
        When it is none.
    """
    if value is None:
        return None
    edges = (
        [_number(edge) for edge in value] if isinstance(value, list) and len(value) == 4 else [math.nan] * 4
    )
    west, south, east, north = edges
    if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
        raise _wrong("bounds_deg", "west, south, east and north in degrees")
    return west, south, east, north


def _replaced(state: ViewState, field: str, value: Any) -> ViewState:
    changed: dict[str, Any] = {field: value}
    return dataclasses.replace(state, **changed)


def _source(release: Opened, name: str) -> dict[str, str]:
    return {"name": name, "title": release.title, "digest": release.version}


def _parts(state: ViewState) -> dict[str, Any]:
    """Question and look of a state, lists for tuples."""

    def plain(names: Collection[str]) -> dict[str, Any]:
        values = {name: getattr(state, name) for name in names}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    return {"question": plain(_QUESTION), "look": plain(_LOOK)}


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or 'it cannot be read'}; name a setup file") from error


def _no_number(text: str) -> float:
    raise ValueError(text)


def _setup(document: dict[str, Any], notes: tuple[str, ...]) -> Setup:
    _only(document, ("commutemap", "version", "release", "against", "question", "look"), "the setup")
    question = _section(document, "question", _QUESTION)
    look = _section(document, "look", (*_LOOK, "bounds_deg"))
    bounds = bounds_of(look.pop("bounds_deg", None))
    values = {name: _value(name, value) for name, value in (question | look).items()}
    against = document.get("against")
    return Setup(
        release=_source_of(document.get("release", {}), "release"),
        against=None if against is None else _source_of(against, "against"),
        state=ViewState(**values),
        bounds_deg=bounds,
        notes=notes,
    )


def _section(document: dict[str, Any], name: str, known: Collection[str]) -> dict[str, Any]:
    section = document.get(name, {})
    if not isinstance(section, dict):
        raise _wrong(name, "a table of settings")
    _only(section, known, name)
    return dict(section)


def _only(section: dict[str, Any], known: Collection[str], where: str) -> None:
    unknown = [name for name in section if name not in known]
    if unknown:
        raise UsageError(f"this setup has a part that is not known, {_short(unknown[0])} in {where}")


def _source_of(value: Any, where: str) -> Source:
    if not isinstance(value, dict):
        raise _wrong(where, "name, title and digest of a release")
    _only(value, _SOURCE, where)
    if any(not isinstance(text, str) or len(text) > _MAX_NAME for text in value.values()):
        raise _wrong(where, f"texts of at most {_MAX_NAME} characters")
    return Source(**value)


def _value(name: str, value: Any) -> Any:
    """A setting, checked for everything but what only a release knows."""
    if name in _CHOICES:
        if not isinstance(value, str) or value not in _CHOICES[name]:
            raise _wrong(name, f"one of {', '.join(_CHOICES[name])}")
        return value
    if name == "every":
        if not isinstance(value, bool):
            raise _wrong(name, "true or false")
        return value
    if name.endswith("layer"):
        if not isinstance(value, str) or len(value) > 24:
            raise _wrong(name, "the name of a layer")
        return value
    if not isinstance(value, list):
        raise _wrong(name, "a list")
    if name in ("areas", "others"):
        return _steps(name, value)
    return _edges(value) if name == "edges" else _bands(name, value)


def _steps(name: str, value: list[Any]) -> tuple[str, ...]:
    if len(value) > MAX_PARTS:
        raise _wrong(name, f"at most {MAX_PARTS} steps")
    # As long as a command and a batch file allow: a report on such an area holds it as a setup.
    if any(not isinstance(step, str) or not 0 < len(step) <= MAX_TEXT for step in value):
        raise _wrong(name, f"texts of at most {MAX_TEXT:,} characters")
    return tuple(dict.fromkeys(cast(list[str], value)))


def _edges(value: list[Any]) -> tuple[float, ...]:
    try:
        return check_edges(map(_number, value))
    except UsageError:
        raise _wrong("edges", ALLOWED) from None


def _bands(name: str, value: list[Any]) -> tuple[int, ...]:
    if any(isinstance(band, bool) or not isinstance(band, int) or not 1 <= band <= 3 for band in value):
        raise _wrong(name, "bands 1, 2 and 3")
    found = tuple(sorted(set(value)))
    return found if len(found) < 3 else ()


def _number(value: Any) -> float:
    """A number, or NaN, which no check lets through."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if plain and abs(value) < 1e9 else math.nan


def _wrong(name: str, allowed: str) -> UsageError:
    return UsageError(f"this setup cannot be read: {name} must be {allowed}")


def _short(text: str) -> str:
    """A stranger's text, fit to be shown: printable, and not long."""
    clean = "".join(character if character.isprintable() else "�" for character in text[:60])
    return f"{clean}{'…' if len(text) > 60 else ''}"
