"""What a report says, as plain values: made once, and written as HTML, PDF or XLSX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any, Final, Literal

from mapapp.answers import words
from mapapp.answers.method_words import Chapter

Kind = Literal[
    "text",
    "code",
    "number",
    "count",
    "change",
    "share",
    "change share",
    "error",
    "miles",
    "ratio",
    "ratio change",
    "ratio error",
    "degrees",
    "yes",
]
"""How a value is meant: as a person reads it, and as a cell of a spreadsheet holds it."""

NUMERIC: Final[tuple[Kind, ...]] = (
    "number",
    "count",
    "change",
    "share",
    "change share",
    "error",
    "miles",
    "ratio",
    "ratio change",
    "ratio error",
    "degrees",
)
ERRORS: Final[tuple[Kind, ...]] = ("error", "ratio error")

_MOST_COLUMNS: Final = 11  # of a table that is not parted
_COLUMNS_OF_A_PART: Final = 8
_TURNING: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        For machines.
    head : str
        For people.
    kind : Kind
    printed : bool
        Whether it stands in HTML and PDF, too; XLSX has every column.
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
        For machines; the sheet of a workbook.
    title, words : str
        What it is, and what must be known to read it.
    columns : tuple of Column
    rows : tuple of tuple
        Plain values; None where there is none.
    """

    name: str
    title: str
    words: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]

    @property
    def printed(self) -> tuple[int, ...]:
        """Places of the columns for paper; of those that may be empty, only where something is in them."""
        return tuple(
            place
            for place, column in enumerate(self.columns)
            if column.printed and (column.kind not in (*ERRORS, "yes", "text") or self._has(place))
        )

    @property
    def parts(self) -> tuple[tuple[int, ...], ...]:
        """Places of the columns of each part on paper: several where one would be wider than a page."""
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
        """Whether anything is in a column."""
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
        Its caption, empty where the picture has its own, and what it shows, for who does not see it.
    content : bytes
    form : {"svg", "png"}
    """

    name: str
    title: str
    words: str
    content: bytes
    form: Literal["svg", "png"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyNumber:
    """A number that stands by itself, with what error to expect of it."""

    label: str
    kind: Kind
    value: float | None
    error: float | None = None
    caution: str = ""

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
        What tells it from the others of its report.
    place, analysis, release, filters : str
        Area, what was asked, of which release, and of which workers; empty for all of these.
    sentence : str
        The answer in one.
    empty : str
        Why there is no worker, where there is none.
    locator, map : Picture or None
    numbers : tuple of KeyNumber
    charts : tuple of Picture
    tables : tuple of Table
    notes : tuple of str
        What must be read with the numbers.
    """

    name: str
    heading: str
    place: str
    analysis: str
    release: str
    filters: str
    sentence: str
    empty: str
    locator: Picture | None
    map: Picture | None
    numbers: tuple[KeyNumber, ...]
    charts: tuple[Picture, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A release that a report is made from.

    Attributes
    ----------
    name, title : str
    warning : str
        Why it must not be used; empty where it may.
    is_private : bool
        Whether anything is promised.
    certificate, provenance : tuple of (term, value)
        What is promised, and where the numbers come from.
    method : tuple of Chapter
        What is synthetic, what is promised, and what is not, in plain words.
    """

    name: str
    title: str
    warning: str
    is_private: bool
    certificate: tuple[tuple[str, str], ...]
    provenance: tuple[tuple[str, str], ...]
    method: tuple[Chapter, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remake:
    """How to make a report again.

    Attributes
    ----------
    command : str
        For a shell, up to the file that it writes.
    links : tuple of (text, query)
        What to put behind the address of a served map.
    setups : tuple of (name, JSON)
        The same as files.
    """

    command: str
    links: tuple[tuple[str, str], ...]
    setups: tuple[tuple[str, str], ...]

    def command_for(self, form: str, paper: str = "a4") -> str:
        """The command that writes a report in a format, on a paper."""
        on = f" --paper {paper}" if paper != "a4" else ""
        return f"{self.command}{on} -o report.{form}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything a report says.

    Attributes
    ----------
    title, subtitle : str
    date : date or None
        Of the report, where one was given.
    answers : tuple of Answer
    comparison : tuple of Table
        What several areas or releases have beside each other.
    sources : tuple of Source
    remake : Remake
    """

    title: str
    subtitle: str
    date: date | None
    answers: tuple[Answer, ...]
    comparison: tuple[Table, ...]
    sources: tuple[Source, ...]
    remake: Remake

    @property
    def warning(self) -> str:
        """Why the report must not be used; empty where it may."""
        return " ".join(dict.fromkeys(source.warning for source in self.sources if source.warning))

    @property
    def is_private(self) -> bool:
        """Whether every release promises something."""
        return all(source.is_private for source in self.sources)

    @property
    def promise(self) -> str:
        """The certificates in one line."""
        rows = [dict(source.certificate) for source in self.sources]
        return " · ".join(dict.fromkeys(row["Promise"] for row in rows))


def as_code_point(letter: str) -> str:
    """A character that cannot stand in a report, in letters that can."""
    return f"[U+{ord(letter):04X}]"


def upright(text: str) -> str:
    """Text without marks that turn what is written after it, the numbers too; such a mark by its code point."""
    return _TURNING.sub(lambda found: as_code_point(found.group()), text)


_SHOWN: Final[dict[Kind, Callable[[Any], str]]] = {
    "count": lambda value: f"{value:,}",
    "change": lambda value: f"{value:+,}" if value else "0",
    "share": lambda value: f"{100 * value:.1f} %",
    "change share": lambda value: f"{100 * value:+.1f} %",
    "error": words.error_text,
    "miles": words.miles,
    "ratio": words.ratio,
    "ratio change": words.ratio_change,
    "ratio error": words.ratio_error,
    "degrees": lambda value: f"{value:.5f}",
    "yes": lambda value: "yes" if value else "",
}
"""How a value of each kind is written; one of any other kind is written as it is."""


def shown(kind: Kind, value: Any) -> str:
    """A value as a person reads it; nothing for none."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–" if kind in ("share", "change share", "miles", "ratio", "ratio change") else ""
    return _SHOWN.get(kind, str)(value)
