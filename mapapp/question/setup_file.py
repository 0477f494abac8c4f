"""A view saved as a file: the question, how it is shown, and the release, in one small versioned JSON document.

A setup file holds what the address of a view holds, but it can be longer, records the visible part of the map, and
names its release, so that readers are warned if they open it with another one. The page, `commutemap analyze --setup`
and Python can all run it, and produce the same tables byte for byte.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from geodata.errors import GeometryError
from geodata.json_objects import JsonObject
from mapapp.base.errors import UsageError
from mapapp.question.address import Address
from mapapp.question.area_text import BLOCK
from mapapp.question.fields import QUESTION, VIEW, Field, NotAllowed, number_or_nan
from mapapp.question.question import Question
from mapapp.question.view import Bounds, View

VERSION: Final = 1
MAX_BYTES: Final = 2_000_000  # two areas of maximum length, plus room for the rest
_MAX_NAME: Final = 300
_SOURCE: Final = ("name", "title", "digest")


class KnownAreas(Protocol):
    """What a release can select."""

    @property
    def columns(self) -> Container[str]:
        """Names of the layers."""

    def select(self, text: str) -> object:
        """Select an area; raises GeometryError or UsageError if the release does not have it."""


class KnownAttributes(Protocol):
    """Which attributes of workers a release has."""

    def has(self, text: str) -> bool:
        """Return whether it has an attribute, given by its name, and the values after it, if there are some."""


class Opened(Protocol):
    """A release that a setup can be applied to: `Release` or `commutemap.Release`."""

    version: str

    @property
    def areas(self) -> KnownAreas:
        """The areas of the release."""

    @property
    def attributes(self) -> KnownAttributes:
        """The attributes of its workers."""

    @property
    def title(self) -> str:
        """Title for readers, with the year."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupSource:
    """The release that a setup was made with.

    `name` is its name in addresses, `digest` the first digits of its manifest's sha256. Any of them may be empty.
    """

    name: str = ""
    title: str = ""
    digest: str = ""

    def __str__(self) -> str:
        shown = _short(self.title or self.name or "another release")
        return f"{shown} ({self.digest})" if self.digest else shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """A setup as read from a file; whether a release has its areas is not checked yet.

    Attributes
    ----------
    release, against : SetupSource or None
        The release it was made with, and the one it compares with.
    address : Address
        Question and view, without release names.
    bounds_deg : tuple of float or None
        West, south, east and north edges of the visible map, degrees.
    """

    release: SetupSource
    against: SetupSource | None
    address: Address
    bounds_deg: Bounds | None = None


def save(
    release: Opened,
    address: Address,
    *,
    name: str = "",
    against: Opened | None = None,
    bounds_deg: Bounds | None = None,
) -> bytes:
    """Return a view as UTF-8 JSON; the same view gives the same bytes.

    Parameters
    ----------
    release : Release or Release
    address : Address
    name : str
        Name of the release in addresses; by default `address.release`.
    against : Release or Release, optional
        Earlier release that the view compares with.
    bounds_deg : tuple of float, optional
        West, south, east and north edges of the visible map, degrees.
    """
    document: JsonObject = {
        "commutemap": "setup",
        "version": VERSION,
        "release": _source(release, name or address.release),
    }
    if against is not None:
        document["against"] = _source(against, address.against)
    document |= _parts(address)
    if bounds_deg is not None:
        document["look"]["bounds_deg"] = [round(float(edge), 5) for edge in bounds_deg]
    return (json.dumps(document, indent=1, ensure_ascii=True) + "\n").encode()


def load(
    source: str | Path | bytes, release: Opened, *, leave_out: bool = False
) -> tuple[Address, tuple[str, ...]]:
    """Read a setup file for a release; also return notes that the reader must see.

    Parameters
    ----------
    source : path, or the file's bytes
    release : Release or Release
    leave_out : bool
        If the release lacks something, leave it out with a note, as the page does. Otherwise raise an error, so that no
        answer is about a different area than requested.

    Raises
    ------
    UsageError
        If the file cannot be read, is not a setup, has an unknown version, or needs something that the release does not
        have.
    """
    return fit_setup(read(source), release, leave_out=leave_out)


def read(source: str | Path | bytes) -> Setup:
    """Read a setup without applying it to a release.

    Raises
    ------
    UsageError
        If the file is not a setup that can be read.
    """
    content = source if isinstance(source, bytes) else _bytes(Path(source))
    if len(content) > MAX_BYTES:
        raise UsageError(f"this is not a setup file: it has more than {MAX_BYTES:,} bytes")
    try:
        document = json.loads(content, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise UsageError("this is not a setup file: it is not JSON") from None
    if not isinstance(document, dict) or document.get("commutemap") != "setup":
        raise UsageError('this is not a CommuteMap setup file: it does not contain "commutemap": "setup"')
    version = document.get("version")
    if isinstance(version, bool) or version != VERSION:
        said = _short(json.dumps(version)) if isinstance(version, (int, float, str)) else "(not a number)"
        raise UsageError(
            f"this setup has version {said}; this commutemap reads version {VERSION}; use the newest commutemap"
        )
    return _setup(document)


def fit_setup(setup: Setup, release: Opened, *, leave_out: bool = False) -> tuple[Address, tuple[str, ...]]:
    """Return a setup's address and notes for a release; see :func:`load`."""
    notes = []
    made = setup.release
    if made.digest and made.digest[:12] != release.version[:12]:
        now = f"{_short(release.title)} ({release.version})"
        notes.append(f"This setup was made with {made}; here it is used with {now}.")
    if setup.against is not None:
        notes.append(f"This setup compares with {setup.against}.")
    address, missing = setup.address, []
    for name, field in QUESTION.items():
        value = address.value(name)
        if field.kind == "steps":
            known = tuple(step for step in value if has_step(release, step))
            missing += [f"area {_short(step)}" for step in value if step not in known]
            address = address.having(**{name: known})
        elif field.kind == "layer" and value != field.default and not has_layer(release, value):
            missing.append(f"layer {_short(value)}")
            address = address.having(**{name: field.default})
        elif field.kind in ("attributes", "names"):
            held = tuple(text for text in value if release.attributes.has(text))
            missing += [f"attribute {_short(text)}" for text in value if text not in held]
            address = address.having(**{name: held})
    if missing and not leave_out:
        raise UsageError(f"this setup needs {missing[0]}, which {_short(release.title)} does not have")
    notes += [f"There is no {part} in this release; it was left out." for part in dict.fromkeys(missing)]
    return address, tuple(dict.fromkeys(notes))


def has_step(release: Opened, step: str) -> bool:
    """Return whether a text is a single step of an area that a release has."""
    if " " in step:  # more than one step
        return False
    try:
        release.areas.select(step)
    except (UsageError, GeometryError):
        return False
    return True


def has_layer(release: Opened, layer: str) -> bool:
    """Return whether the rows of a table can be units of a layer."""
    return layer in release.areas.columns and layer != BLOCK


def bounds_of(value: object) -> Bounds | None:
    """Parse a list of west, south, east and north edges, degrees; None stays None.

    Raises
    ------
    UsageError
        If the value is not such a list.
    """
    if value is None:
        return None
    edges = (
        [number_or_nan(edge) for edge in value]
        if isinstance(value, list) and len(value) == 4
        else [math.nan] * 4
    )
    west, south, east, north = edges
    if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
        raise _wrong("bounds_deg", "west, south, east, and north in degrees")
    return west, south, east, north


def _source(release: Opened, name: str) -> dict[str, str]:
    return {"name": name, "title": release.title, "digest": release.version}


def _parts(address: Address) -> JsonObject:
    """Return question and view as plain values, with lists in place of tuples."""

    def plain(of: object, fields: Mapping[str, Field]) -> JsonObject:
        values = {name: getattr(of, name) for name in fields}
        values = {
            name: value
            for name, value in values.items()
            if not (fields[name].is_optional and value == fields[name].default)
        }
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    return {"question": plain(address.question, QUESTION), "look": plain(address.view, VIEW)}


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or 'it cannot be read'}; name a setup file") from error


def _no_number(text: str) -> float:
    raise ValueError(text)


def _setup(document: JsonObject) -> Setup:
    _only(document, ("commutemap", "version", "release", "against", "question", "look"), "the setup")
    question = _section(document, "question", QUESTION)
    look = _section(document, "look", (*VIEW, "bounds_deg"))
    bounds = bounds_of(look.pop("bounds_deg", None))
    against = document.get("against")
    return Setup(
        release=_source_of(document.get("release", {}), "release"),
        against=None if against is None else _source_of(against, "against"),
        address=Address(question=Question(**_values(question, QUESTION)), view=View(**_values(look, VIEW))),
        bounds_deg=bounds,
    )


def _values(section: JsonObject, fields: dict[str, Field]) -> JsonObject:
    """Return checked values; what depends on the release is not checked."""
    values = {}
    for name, value in section.items():
        try:
            values[name] = fields[name].check(value)
        except NotAllowed as allowed:
            raise _wrong(name, str(allowed)) from None
    return values


def _section(document: JsonObject, name: str, known: Collection[str]) -> JsonObject:
    section = document.get(name, {})
    if not isinstance(section, dict):
        raise _wrong(name, "a table of settings")
    _only(section, known, name)
    return dict(section)


def _only(section: JsonObject, known: Collection[str], where: str) -> None:
    unknown = [name for name in section if name not in known]
    if unknown:
        raise UsageError(f"this setup has an unknown part, {_short(unknown[0])} in {where}")


def _source_of(value: object, where: str) -> SetupSource:
    if not isinstance(value, dict):
        raise _wrong(where, "name, title, and digest of a release")
    _only(value, _SOURCE, where)
    if any(not isinstance(text, str) or len(text) > _MAX_NAME for text in value.values()):
        raise _wrong(where, f"texts of at most {_MAX_NAME} characters")
    return SetupSource(**value)


def _wrong(name: str, allowed: str) -> UsageError:
    return UsageError(f"this setup cannot be read: {name} must be {allowed}")


def _short(text: str) -> str:
    """Return untrusted text in a form that is safe to show: printable and short."""
    clean = "".join(character if character.isprintable() else "�" for character in text[:60])
    return f"{clean}{'…' if len(text) > 60 else ''}"
