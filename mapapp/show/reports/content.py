"""The content of a report as plain values, which every format writes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Final, Literal, get_args

from markupsafe import Markup

from mapapp.answers import words
from mapapp.answers.promise.chapters import Chapter

NumericKind = Literal[
    "number",
    "count",
    "count or star",
    "change",
    "share",
    "change share",
    "error",
    "miles",
    "ratio",
    "ratio change",
    "ratio error",
    "degrees",
]
Kind = Literal["text", "code", "yes"] | NumericKind
"""Kind of a value; determines its text for readers and its spreadsheet cell."""

Paper = Literal["a4", "letter"]
"""Paper size of a PDF."""

NUMERIC: Final[tuple[Kind, ...]] = get_args(NumericKind)
ERRORS: Final[tuple[Kind, ...]] = ("error", "ratio error")

_MOST_COLUMNS: Final = 11  # wider tables are split into parts
_COLUMNS_OF_A_PART: Final = 8
_TURNING: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        Name for programs.
    head : str
        Head for readers.
    kind : Kind
    printed : bool
        Whether HTML and PDF show the column; XLSX has every column.
    """

    name: str
    head: str
    kind: Kind
    printed: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table with all of its rows.

    Attributes
    ----------
    name : str
        Name for programs, and of the sheet in a workbook.
    title, words : str
        Title, and an explanation for readers.
    columns : tuple of Column
    rows : tuple of tuple
        Plain values; None if missing.
    """

    name: str
    title: str
    words: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[object, ...], ...]

    @property
    def printed(self) -> tuple[int, ...]:
        """Positions of the printed columns; optional columns only if they have a value."""
        return tuple(
            place
            for place, column in enumerate(self.columns)
            if column.printed and (column.kind not in (*ERRORS, "yes", "text") or self._has(place))
        )

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the columns in each printed part; there are several if the table is wider than a page."""
        places = self.printed
        if len(places) <= _MOST_COLUMNS:
            return (places,)
        kinds = [self.columns[place].kind for place in places]
        first = next((at for at, kind in enumerate(kinds) if kind in NUMERIC), 1)
        # A number and its expected error stay together.
        starts = [first, *(at for at in range(first + 1, len(places)) if kinds[at] not in ERRORS)]
        parts: list[tuple[int, ...]] = [places[:first]]
        for start, end in zip(starts, [*starts[1:], len(places)], strict=True):
            if len(parts[-1]) + end - start > _COLUMNS_OF_A_PART:
                parts.append(places[:first])
            parts[-1] += places[start:end]
        return tuple(parts)

    def _has(self, place: int) -> bool:
        """Whether a column has any value."""
        return any(
            row[place] is not None and row[place] is not False and row[place] != "" for row in self.rows
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A map or a chart.

    Attributes
    ----------
    name : str
        Unique in its report.
    title, words : str
        Caption, empty if the picture includes one, and a description for screen readers.
    content : bytes
    form : {"svg", "png"}
    """

    name: str
    title: str
    words: str
    content: bytes
    form: Literal["svg", "png"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MovingPicture:
    """Workers who move from home to work.

    Attributes
    ----------
    svg : Markup
        An element of HTML.
    night, day, note : str
        What is counted at both ends, and what moves.
    """

    svg: Markup
    night: str
    day: str
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNumber:
    """A key number with its expected error; without one, with the mark of the note that says why, if there is one."""

    label: str
    kind: Kind
    value: float | None
    error: float | None = None
    caution: str = ""
    no_error: str = ""
    unit: str = "workers"

    @property
    def error_text(self) -> str:
        """Its expected error as text, or the mark of the note that says why it has none."""
        return shown(self.error_kind, self.error) or self.no_error

    @property
    def error_cell(self) -> float | str | None:
        """Its expected error, or in its place the mark of a note; None without both."""
        return self.no_error or None if self.error is None else self.error

    @property
    def error_kind(self) -> Kind:
        """How its expected error is written."""
        return "ratio error" if self.kind in ("ratio", "ratio change") else "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One analysis of one area of one release.

    Attributes
    ----------
    name : str
        Unique in its report.
    heading : str
        Heading that distinguishes it from the other answers.
    place, analysis, release, filters : str
        Area, analysis, release, and kept workers; `filters` is empty if all workers are kept.
    sentence : str
        The answer in one sentence.
    findings : tuple of str
        What it found, in sentences.
    empty : str
        Why there are no workers; empty if there are some.
    locator, map : Picture or None
    first_numbers, numbers : tuple of KeyNumber
        Those of a PDF's first page, and all.
    charts : tuple of Picture
    tables : tuple of Table
        Complete tables, for a workbook.
    printed : tuple of Table
        Tables for HTML and PDF: those of areas have their largest rows.
    notes : tuple of str
        Notes that a reader needs to understand the numbers.
    left_out : str
        What a workbook leaves out, and why; empty if it has everything.
    morning : MovingPicture or None
        Only in HTML.
    """

    name: str
    heading: str
    place: str
    analysis: str
    release: str
    filters: str
    sentence: str
    findings: tuple[str, ...]
    empty: str
    locator: Picture | None
    map: Picture | None
    first_numbers: tuple[KeyNumber, ...]
    numbers: tuple[KeyNumber, ...]
    charts: tuple[Picture, ...]
    tables: tuple[Table, ...]
    printed: tuple[Table, ...]
    notes: tuple[str, ...]
    left_out: str = ""
    morning: MovingPicture | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A release used in a report.

    Attributes
    ----------
    name, title : str
    warning : str
        Why the release must not be published; empty if it may be.
    certificate, provenance : tuple of (term, value)
        The privacy promise, and the origin of the numbers.
    method : tuple of Chapter
        What is synthetic, what is promised, and what is not, in plain language.
    """

    name: str
    title: str
    warning: str
    certificate: tuple[tuple[str, str], ...]
    provenance: tuple[tuple[str, str], ...]
    method: tuple[Chapter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remake:
    """How to reproduce a report.

    Attributes
    ----------
    command : str
        Shell command, without the output file.
    inputs : str
        What must be the same for the same file, besides the program.
    links : tuple of (text, query)
        Queries to append to the address of a served map.
    setups : tuple of (name, JSON)
        The same questions as setup files.
    """

    command: str
    links: tuple[tuple[str, str], ...]
    setups: tuple[tuple[str, str], ...]
    inputs: str = "release, question"

    def command_for(self, form: str, paper: str = "") -> str:
        """The command that writes a report in a format, and on a paper size other than the usual one."""
        on = f" --paper {paper}" if paper else ""
        return f"{self.command}{on} -o report.{form}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The content of a report.

    Attributes
    ----------
    title, subtitle : str
    contents, lead : str
        What its numbers count, in short and in a sentence.
    kept : str
        The promise in short.
    date : date or None
        Date of the report, if one was given.
    answers : tuple of Answer
    comparison, printed_comparison : tuple of Table
        Tables that compare several areas or releases, complete and for HTML and PDF.
    paper : {"a4", "letter"}
        Usual paper size where its places are.
    sources : tuple of Source
    remake : Remake
    """

    title: str
    subtitle: str
    date: date | None
    answers: tuple[Answer, ...]
    comparison: tuple[Table, ...]
    printed_comparison: tuple[Table, ...]
    sources: tuple[Source, ...]
    remake: Remake
    paper: Paper
    contents: str = "Synthetic workers"
    lead: str = "No record here is a real person."
    kept: str = "Privacy protected"

    @property
    def warning(self) -> str:
        """Why the report must not be published; empty if it may be."""
        return " ".join(dict.fromkeys(source.warning for source in self.sources if source.warning))

    @property
    def footer(self) -> str:
        """What the numbers are and where they come from, for every page."""
        return " · ".join((self.contents, *dict.fromkeys(source.title for source in self.sources)))


def as_code_point(letter: str) -> str:
    """The code point of a character that a report cannot contain, as text."""
    return f"[U+{ord(letter):04X}]"


def upright(text: str) -> str:
    """Text with bidirectional control characters shown as code points, so that they cannot reorder what follows."""
    return _TURNING.sub(lambda match: as_code_point(match.group()), text)


_SHOWN: Final[dict[Kind, Callable[..., str]]] = {
    "count": lambda value: f"{value:,}",
    "count or star": lambda value: value if isinstance(value, str) else f"{value:,}",
    "change": lambda value: f"{value:+,}" if value else "0",
    "share": lambda value: f"{100 * value:.1f}%",
    "change share": lambda value: f"{100 * value:+.1f}%",
    "error": words.error_text,
    "miles": words.miles,
    "ratio": words.ratio,
    "ratio change": words.ratio_change,
    "ratio error": words.ratio_error,
    "degrees": lambda value: f"{value:.5f}",
    "yes": lambda value: "yes" if value else "",
}
"""How a value of each kind is written; one of any other kind is written as it is."""


def shown(kind: Kind, value: object) -> str:
    """A value as text for readers; empty for None. In place of an expected error there may be the mark of a note."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–" if kind in ("share", "change share", "miles", "ratio", "ratio change") else ""
    return value if kind in ERRORS and isinstance(value, str) else _SHOWN.get(kind, str)(value)
