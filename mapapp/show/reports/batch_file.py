"""A TOML file that lists reports to make from a release.

Settings at the top apply to every report; those under `[[report]]` apply to that report::

    formats = ["html", "pdf"]
    analysis = "destinations"
    layer = "ctycsub"

    [[report]]
    name = "Downtown"
    area = "circle:-71.41,41.82,2"
    analysis = ["inflow-outflow", "distance-direction"]

    [[report]]
    each = "ctycsub"      # one report for every county subdivision …
    area = "state:44"     # … of this area
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from geodata.errors import GeodataError
from geodata.json_objects import JsonObject
from geodata.text import parse_toml
from mapapp.answers.asking import notes_on_names
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.question.analyses import ANALYSES, Show
from mapapp.question.fields import QUESTION, USUAL, VIEW
from mapapp.question.options import OPTIONS, questions_from
from mapapp.question.question import Questions
from mapapp.show.reports import FORMS, PRINTED_ROWS, ROWS_WITH_ERRORS, Form, Paper
from mapapp.show.reports.part import Part, parts_of
from mapapp.show.reports.pdf import PAPERS

# Unique file names from area names, safe on every system.

LONGEST: Final = 80
_RESERVED: Final = re.compile(
    r"(con|prn|aux|nul|com\d|lpt\d|index)", re.IGNORECASE
)  # reserved by Windows, or used by us


def file_stem(name: str, taken: Collection[str]) -> str:
    """A name as letters, digits and hyphens that differs from all in `taken`, regardless of case."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-")[:LONGEST].strip("-") or "report"
    if _RESERVED.fullmatch(stem):
        stem = f"report-{stem}"
    used = {taken_name.lower() for taken_name in taken}
    unique_stem, number = stem, 2
    while unique_stem.lower() in used:
        unique_stem, number = f"{stem}-{number}", number + 1
    return unique_stem


MAX_BYTES: Final = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One report of a batch.

    Attributes
    ----------
    name, stem : str
        Name for readers, and name of the files without a suffix.
    parts : tuple of Part
    forms : tuple of Form
    paper : Paper or None
        None for the usual one.
    error_rows : int or None
    rows : int or None
        Printed rows of each table of areas; None for all.
    notes : tuple of str
        What else has the name of an area in it, a line each, with the place in the batch file.
    """

    name: str
    stem: str
    parts: tuple[Part, ...]
    forms: tuple[Form, ...]
    paper: Paper | None
    error_rows: int | None
    rows: int | None
    notes: tuple[str, ...] = ()


def _one_of(*allowed: str) -> tuple[Callable[[object], bool], str]:
    return lambda value: isinstance(value, str) and value in allowed, f"one of {', '.join(allowed)}"


def _some_of(*allowed: str) -> tuple[Callable[[object], bool], str]:
    def fits(value: object) -> bool:
        every = value if isinstance(value, list) else [value]
        return bool(every) and all(isinstance(word, str) and word in allowed for word in every)

    return fits, f"one or several of {', '.join(allowed)}"


def _text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _texts(value: object) -> bool:
    return _text(value) or (isinstance(value, list) and bool(value) and all(map(_text, value)))


def _bands(value: object) -> bool:
    every = value if isinstance(value, list) else [value]
    return all(isinstance(band, int) and not isinstance(band, bool) and 1 <= band <= 3 for band in every)


def _miles(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(miles, (int, float)) and not isinstance(miles, bool) for miles in value
    )


def _distance(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= -1


def _rows(value: object) -> bool:
    return value == "all" or (_count(value) and isinstance(value, int) and value > 0)


_TEXT: Final = (_text, "a text")
_OF_OPTION: Final[dict[str, tuple[Callable[[object], bool], str]]] = {
    "areas": (_texts, "an area, or a list of them"),
    "area": _TEXT,
    "layer": _TEXT,
    "choice": _one_of(*QUESTION["side"].choices),
    "bands": (_bands, QUESTION["age"].allowed),
    "attributes": (_texts, QUESTION["attributes"].allowed),
    "names": (_texts, QUESTION["by"].allowed),
    "miles": (_miles, "a list of miles"),
    "distance": (_distance, "a distance in miles, above 0"),
}
_KEYS: Final[dict[str, tuple[Callable[[object], bool], str]]] = {
    "name": _TEXT,
    **{name: _OF_OPTION[option.kind] for name, option in OPTIONS.items()},
    "characteristic": _TEXT,
    "analysis": _some_of(*ANALYSES),
    "show": _one_of(*VIEW["show"].choices),
    "formats": _some_of(*FORMS),
    "paper": _one_of(*PAPERS),
    "rows": (_rows, "a number of rows, 1 or more, or all"),
    "errors": (_count, "a number of rows, or -1 for no errors"),
}
_OF_ONE: Final = ("name", "area", "each")  # keys that are allowed only under [[report]]


def read_batch(path: Path, release: Release) -> list[Job]:
    """Read a batch file and check it against a release.

    Raises
    ------
    UsageError
        If the file cannot be read, is not TOML, or asks for something the release does not have. The message is one
        line, with the key and its line number.
    """
    text = _content(path)
    try:
        document = parse_toml(text)
    except ValueError as error:
        raise UsageError(f"{path}: not a TOML file: {error}") from None
    entries = document.pop("report", [])
    if (
        not isinstance(entries, list)
        or not entries
        or not all(isinstance(report, dict) for report in entries)
    ):
        raise UsageError(f"{path}: contains no reports; add a [[report]] with an area for each")
    lines = _Lines(path, text)
    _check(document, lines, None)
    jobs: list[Job] = []
    for place, entry in enumerate(entries):
        _check(entry, lines, place)
        whole = {**document, **entry}
        try:
            several = [
                _questions(whole, str(name)) for name in _list_values(whole.get("analysis", "destinations"))
            ]
            notes = tuple(f"{lines.of(place)}: {note}" for note in notes_on_names(release, several[0]))
            for name, parts in _reports(whole, several, release):
                stem = file_stem(name, [job.stem for job in jobs])
                jobs.append(_job(name, stem, parts, whole, notes))
        except (UsageError, GeodataError) as error:
            raise UsageError(f"{lines.of(place)}: {error}") from error
    return jobs


class _Lines:
    """Finds the line of an entry in a batch file."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()
        starts = [at for at, line in enumerate(self._lines) if re.match(r"\s*\[\[\s*report\s*\]\]", line)]
        self._blocks = list(zip(starts, [*starts[1:], len(self._lines)], strict=True))

    def of(self, place: int | None, key: str = "") -> str:
        """Path and line of a report or one of its keys; without `place`, of a key at the top."""
        first = self._blocks[0][0] if self._blocks else len(self._lines)
        start, end = (0, first) if place is None else (0, len(self._lines))
        if place is not None and place < len(self._blocks):
            start, end = self._blocks[place]
        pattern = re.compile(rf"""\s*["']?{re.escape(key)}["']?\s*=""")
        line_index = next((at for at in range(start, end) if key and pattern.match(self._lines[at])), start)
        return f"{self._path}, line {line_index + 1}"


def _content(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        text = content.decode("utf-8")
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or 'cannot be read'}; give a TOML file") from error
    except UnicodeDecodeError:
        raise UsageError(f"{path}: not a TOML file: not valid UTF-8") from None
    if len(content) > MAX_BYTES:
        raise UsageError(f"{path}: larger than {MAX_BYTES:,} bytes; split the file")
    return text


def _check(entry: JsonObject, lines: _Lines, place: int | None) -> None:
    for key, value in entry.items():
        if key not in _KEYS or (place is None and key in _OF_ONE):
            hint = "it belongs under [[report]]" if key in _OF_ONE else f"allowed keys are {', '.join(_KEYS)}"
            raise UsageError(f"{lines.of(place, key)}: key {key!r} is not allowed here; {hint}")
        fits, allowed = _KEYS[key]
        if not fits(value):
            shown = value if isinstance(value, (str, int, float, list)) else type(value).__name__
            raise UsageError(f"{lines.of(place, key)}: {key} = {str(shown)[:60]!r}; it must be {allowed}")


def _reports(
    entry: JsonObject, several: list[Questions], release: Release
) -> Iterator[tuple[str, list[Part]]]:
    """Name and parts of every report in an entry, which has one question per analysis."""
    show = cast(Show, entry.get("show", "points"))
    by_analysis = [parts_of(release, questions, show) for questions in several]
    if "each" not in entry:
        parts = [part for analysis_parts in by_analysis for part in analysis_parts]
        yield entry.get("name") or _name_of(release, parts), _held(release, parts)
        return
    for parts_of_one in zip(*by_analysis, strict=True):
        parts = list(parts_of_one)
        name = _name_of(release, parts)
        yield f"{entry['name']} {name}" if "name" in entry else name, _held(release, parts)


def _held(release: Release, parts: list[Part]) -> list[Part]:
    """The same parts, after checking that the release has their areas and layers."""
    for part in parts:
        question = part.question
        for steps in (question.areas, question.others):
            if steps:
                release.areas.select(" ".join(steps))
        for layer in (question.layer, question.home_layer, question.work_layer):
            if layer != USUAL:
                release.areas.units(layer)
    return parts


def _name_of(release: Release, parts: list[Part]) -> str:
    names = dict.fromkeys(
        release.areas.select(" ".join(steps)).name
        for part in parts
        for steps in (part.question.areas, part.question.others)
        if steps
    )
    return " and ".join(names)


def _list_values(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


def _questions(entry: JsonObject, analysis: str) -> Questions:
    several = ("areas", "bands", "miles", "attributes", "names")
    given = {
        name: _list_values(entry[name]) if option.kind in several else entry[name]
        for name, option in OPTIONS.items()
        if name in entry
    }
    return questions_from(given, analysis)


def _job(name: str, stem: str, parts: list[Part], entry: JsonObject, notes: tuple[str, ...]) -> Job:
    errors = entry.get("errors", ROWS_WITH_ERRORS)
    return Job(
        name=name,
        stem=stem,
        parts=tuple(parts),
        forms=tuple(dict.fromkeys(cast(list[Form], _list_values(entry.get("formats", "html"))))),
        paper=cast(Paper | None, entry.get("paper")),
        error_rows=None if errors < 0 else errors,
        rows=None if entry.get("rows") == "all" else entry.get("rows", PRINTED_ROWS),
        notes=notes,
    )
