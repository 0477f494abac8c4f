"""Which columns of a file of zones and of a table of flows hold what: guessed, or as a schema file says."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, TypeVar

import pandas

from geodata.errors import SourceFileError
from geodata.json_objects import JsonObject
from geodata.text import parse_toml

_CODE_HINTS: Final = ("code", "id", "cd", "geocode", "zone")
_NAME_HINTS: Final = ("name", "nm", "label", "title", "zone_name")
_POPULATION: Final = re.compile(r"^(pop(ulation)?|residents|people|inhabitants)(_?\d{4})?$", re.IGNORECASE)
_LONGITUDE: Final = re.compile(r"^(lon|long|lng|longitude|x|easting|lon_deg)$", re.IGNORECASE)
_LATITUDE: Final = re.compile(r"^(lat|latitude|y|northing|lat_deg)$", re.IGNORECASE)
_ORIGIN: Final = re.compile(r"orig|home|resid|(^|_)from|geo_?code_?1|^o(_|$)|^h_|source", re.IGNORECASE)
_DESTINATION: Final = re.compile(
    r"dest|work|school|(^|_)to($|_)|geo_?code_?2|^d(_|$)|^w_|target", re.IGNORECASE
)
_COUNT: Final = re.compile(
    r"^(count|n|all|total|flows?|trips?|value|obs_value|number|persons?|people|workers|commuters|pupils|patients)$",
    re.IGNORECASE,
)
_PARENT_COLUMN: Final = re.compile(r"^(?P<stem>.*?)_?(?P<part>cd|code|id|nm|name)$", re.IGNORECASE)
_LEAST_MATCH: Final = 0.5
"""Share of a column's distinct values that must be codes of zones for it to be a column of codes."""

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentColumns:
    """A larger unit that zones belong to: its label for readers, and the columns of its code and name."""

    label: str
    code: str
    name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ZoneColumns:
    """Columns of a file of zones.

    Attributes
    ----------
    code : str
    name, population : str, optional
    longitude, latitude : str, optional
        Of a table of points; in `crs` they are its easting and northing.
    crs : str, optional
        Reference system of a table's points; by default degrees.
    parents : tuple of ParentColumns
        The smallest units first.
    """

    code: str
    name: str | None = None
    population: str | None = None
    longitude: str | None = None
    latitude: str | None = None
    crs: str | None = None
    parents: tuple[ParentColumns, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowColumns:
    """Columns of a table of flows.

    Attributes
    ----------
    origin, destination : str
        Of a matrix, `origin` is the column with the labels of its rows, and `destination` is empty.
    count : str, optional
        None where each row is a trip, and for a matrix.
    matrix : bool
    """

    origin: str
    destination: str = ""
    count: str | None = None
    matrix: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumns:
    """The columns of both files."""

    zones: ZoneColumns
    flows: FlowColumns

    def lines(self) -> list[str]:
        """What each column is taken for, as lines of text."""
        zones, flows = self.zones, self.flows
        named = {"code": zones.code, "name": zones.name, "population": zones.population}
        if zones.longitude and zones.latitude:
            named["place"] = f"{zones.longitude} and {zones.latitude}"
        named |= {parent.label: parent.code for parent in zones.parents}
        counted = "each row" if flows.count is None else flows.count
        ends = (
            f"a matrix: rows from {flows.origin or 'its first column'}"
            if flows.matrix
            else f"from {flows.origin}, to {flows.destination}, count {counted}"
        )
        return [
            f"zones: {', '.join(f'{what} {name}' for what, name in named.items() if name)}",
            f"flows: {ends}",
        ]

    def toml(self) -> str:
        """The same as a schema file, which :func:`read_columns` reads."""
        zones = {name: value for name, value in asdict(self.zones).items() if name != "parents"}
        lines = ["[zones]", *_toml_lines(zones)]
        for parent in self.zones.parents:
            lines += ["", "[[zones.parents]]", *_toml_lines(asdict(parent))]
        return "\n".join([*lines, "", "[flows]", *_toml_lines(asdict(self.flows)), ""])


def _toml_lines(values: Mapping[str, object]) -> list[str]:
    return [
        f"{name} = {str(value).lower() if isinstance(value, bool) else _quoted(str(value))}"
        for name, value in values.items()
        if value is not None
    ]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return (
        '"' + "".join(letter if letter.isprintable() else f"\\u{ord(letter):04x}" for letter in escaped) + '"'
    )


def read_columns(path: Path) -> FileColumns:
    """Read a schema file of zones and flows.

    Raises
    ------
    SourceFileError
        It cannot be read, or says something else than columns.
    """
    try:
        document = parse_toml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SourceFileError(f"{path}: cannot be read ({error.strerror}); check the path") from error
    except ValueError as error:
        raise SourceFileError(f"{path}: not TOML ({error}); correct it") from error
    unknown = sorted(set(document) - {"zones", "flows"})
    if unknown:
        raise SourceFileError(f"{path}: {unknown[0]!r} is no part of a schema; it has [zones] and [flows]")
    zones, flows = (_section(path, document, name) for name in ("zones", "flows"))
    listed = zones.pop("parents", [])
    if not isinstance(listed, list) or not all(isinstance(parent, dict) for parent in listed):
        raise SourceFileError(f"{path}: write each parent as [[zones.parents]] with label and code")
    parents = tuple(_make(path, ParentColumns, parent) for parent in listed)
    return FileColumns(
        zones=_make(path, ZoneColumns, {**zones, "parents": parents}), flows=_make(path, FlowColumns, flows)
    )


def _section(path: Path, document: JsonObject, name: str) -> JsonObject:
    section = document.get(name)
    if not isinstance(section, dict):
        raise SourceFileError(
            f"{path}: the section [{name}] is missing; write the columns of the {name} in it"
        )
    return section


def _make(path: Path, kind: Callable[..., _Result], values: Mapping[str, object]) -> _Result:
    """The columns of a section; every value is a text, but for `matrix` and `parents`."""
    for name, value in values.items():
        wanted = {"matrix": bool, "parents": tuple}.get(name, str)
        if not isinstance(value, wanted):
            raise SourceFileError(
                f"{path}: {name} is {str(value)[:40]!r}; give "
                f"{'true or false' if wanted is bool else 'the name of a column in quotes'}"
            )
    try:
        return kind(**values)
    except TypeError as error:
        reason = str(error).partition(") ")[2] or str(error)
        raise SourceFileError(f"{path}: {reason}; see docs/zones.md for what a schema says") from error


def guess_zone_columns(
    path: Path, frame: pandas.DataFrame, flows: Mapping[str, Sequence[str]], *, points: bool
) -> ZoneColumns:
    """Guess the columns of a file of zones from their names and contents.

    Parameters
    ----------
    path : Path
        For messages.
    frame : DataFrame
        Every column as text.
    flows : mapping of str to sequence of str
        Distinct texts of each column of the flows, of which two are origin and destination.
    points : bool
        Whether places must be in columns, because the file has no shapes.

    Raises
    ------
    SourceFileError
        No column has a different code for each zone, or a table has no columns of places.
    """
    names = [str(name) for name in frame.columns]
    unique = [name for name in names if frame[name].is_unique and (frame[name] != "").all()]
    ends = [frozenset(values) for name, values in flows.items() if not _COUNT.match(name)]
    ends.append(frozenset(list(flows)[1:]))  # the destinations of a matrix
    matches = {name: _match(frozenset(frame[name]), ends) for name in names}
    best = max(matches.values(), default=0.0)
    by_match = [name for name in unique if matches[name] > 0.0 and matches[name] == best]
    by_name = [name for name in names if _is_named(name, _CODE_HINTS)]
    code = next(iter(by_match or by_name or unique), None)
    if best >= _LEAST_MATCH and not by_match:
        code = next(name for name in names if matches[name] == best)  # its duplicates are refused later
    if code is None:
        raise SourceFileError(
            f"{path}: no column with a different code for each zone (found {', '.join(names[:8])}); name it with "
            "--schema"
        )
    lon = next((name for name in names if _LONGITUDE.match(name)), None) if points else None
    lat = next((name for name in names if _LATITUDE.match(name)), None) if points else None
    if points and (lon is None or lat is None):
        raise SourceFileError(
            f"{path}: a table of zones without columns of longitude and latitude (found {', '.join(names[:8])}); "
            "add them, or give a file of polygons"
        )
    rest = [name for name in names if name not in (code, lon, lat)]
    population = next((name for name in rest if _POPULATION.match(name)), None)
    rest = [name for name in rest if name != population]
    name = _name_beside(code, rest, frame)
    parents = _guess_parents(frame, [column for column in rest if column != name])
    return ZoneColumns(
        code=code, name=name, population=population, longitude=lon, latitude=lat, parents=parents
    )


def _match(codes: frozenset[str], ends: Sequence[frozenset[str]]) -> float:
    """How well the two columns that fit best agree with some codes; there are seldom as many counts as zones."""
    shared = [(len(codes & values), max(len(values), len(codes))) for values in ends if values]
    fits = sorted((n / most for n, most in shared), reverse=True)
    return fits[1] if len(fits) > 1 else 0.0


def _is_named(name: str, hints: Sequence[str]) -> bool:
    lowered = name.lower()
    return any(
        lowered == hint or lowered.endswith(f"_{hint}") or re.fullmatch(rf".*\d+{hint}", lowered)
        for hint in hints
    )


def _name_beside(code: str, rest: Sequence[str], frame: pandas.DataFrame) -> str | None:
    """The column of names: the one that is called like the code, else one whose texts hardly repeat."""
    stem = _PARENT_COLUMN.match(code)
    named = [name for name in rest if _is_named(name, _NAME_HINTS)]
    like = [name for name in named if stem and name.lower().startswith(stem["stem"].lower())] if stem else []
    distinct = [name for name in [*like, *named] if frame[name].nunique() > 0.9 * len(frame)]
    return distinct[0] if distinct else None


def _guess_parents(frame: pandas.DataFrame, rest: Sequence[str]) -> tuple[ParentColumns, ...]:
    """Pairs of columns, such as `ltla22cd` and `ltla22nm`, whose codes repeat; the smallest units first."""
    pairs: dict[str, dict[str, str]] = {}
    for column in rest:
        match = _PARENT_COLUMN.match(column)
        if match and match["stem"]:
            pairs.setdefault(match["stem"].lower(), {})[
                "name" if match["part"].lower() in ("nm", "name") else "code"
            ] = column
    parents = []
    for stem, columns in pairs.items():
        code = columns.get("code", columns.get("name"))
        assert code is not None, "each pair has a column"
        n_units = frame[code].nunique()
        if n_units < len(frame) and (frame[code] != "").any():
            label = re.sub(r"\d+", "", stem).strip("_ ").replace("_", " ").capitalize() or stem
            parents.append((-n_units, ParentColumns(label=label, code=code, name=columns.get("name"))))
    return tuple(parent for _, parent in sorted(parents, key=lambda pair: pair[0]))


def guess_flow_columns(path: Path, values: Mapping[str, Sequence[str]], codes: frozenset[str]) -> FlowColumns:
    """Guess the columns of a table of flows.

    Parameters
    ----------
    path : Path
        For messages.
    values : mapping of str to sequence of str
        Distinct texts of each column, in the order of the columns.
    codes : frozenset of str
        Codes of the zones.

    Raises
    ------
    SourceFileError
        Origin and destination are not two columns of codes, or several columns could be the count.
    """
    names = list(values)
    labels = [name for name in names[1:] if name in codes]
    if len(labels) >= 2 and len(labels) >= _LEAST_MATCH * (len(names) - 1):
        return FlowColumns(origin=names[0], matrix=True)
    share = {name: _share(values[name], codes) for name in names}
    places = [name for name in names if share[name] >= _LEAST_MATCH]
    if len(places) != 2:
        places = _two_by_name([name for name in names if share[name] > 0 and not _COUNT.match(name)])
    if len(places) != 2:
        raise SourceFileError(
            f"{path}: {len(places) or 'no'} columns hold codes of the zones (found {', '.join(names[:8])}), and "
            "flows need an "
            "origin and a destination; check that codes are spelled alike in both files, or name the columns with "
            "--schema"
        )
    origin, destination = places
    is_turned = bool(_DESTINATION.search(origin)) and bool(_ORIGIN.search(destination))
    if is_turned:
        origin, destination = destination, origin
    named = [name for name in names if name not in places and _COUNT.match(name)]
    numbers = [name for name in names if name not in places and _are_numbers(values[name])]
    if not named and not numbers:
        return FlowColumns(origin=origin, destination=destination)
    if len(named or numbers) > 1:
        raise SourceFileError(
            f"{path}: {', '.join((named or numbers)[:8])} could each be the count; name one with --schema"
        )
    return FlowColumns(origin=origin, destination=destination, count=(named or numbers)[0])


def _two_by_name(places: Sequence[str]) -> list[str]:
    """One column named as an origin and one as a destination, of several columns of codes."""
    origins = [name for name in places if _ORIGIN.search(name)]
    destinations = [name for name in places if _DESTINATION.search(name) and name not in origins[:1]]
    return [origins[0], destinations[0]] if origins and destinations else list(places)


def _share(values: Sequence[str], codes: frozenset[str]) -> float:
    return sum(value in codes for value in values) / len(values) if len(values) else 0.0


def _are_numbers(values: Sequence[str]) -> bool:
    return all(re.fullmatch(r"(-?[\d.,]*\d[\d.,]*([eE][-+]?\d+)?)?", value) for value in values)
