"""Writes a report as a tagged PDF with bookmarks, typeset by Typst without a browser or system fonts.

All content reaches the template as data in a JSON file, never as markup, so a name with `#` or `$` stays a name. A
character that is in no embedded font is written as its code point.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import json
import math
import struct
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final

import matplotlib
import typst
from matplotlib.ft2font import FT2Font

from mapapp.answers.promise.chapters import Chapter
from mapapp.show.reports.content import (
    NUMERIC,
    Answer,
    Column,
    Paper,
    Picture,
    Report,
    Source,
    Table,
    as_code_point,
    shown,
    upright,
)

PAPERS: Final[dict[Paper, str]] = {"a4": "a4", "letter": "us-letter"}
MOST_ROWS: Final = 10_000
"""Most rows of a table in a PDF: about 200 pages, which take over a gigabyte of memory to typeset."""

MOST_ROWS_OF_ALL: Final = 20_000
"""Most rows of all tables of a PDF together; longer tables share them equally."""

_COLUMNS_BY_SIZE: Final = (6, 9)
"""Most columns of a table in the largest and in the second size of letters, as in `sheet.typ`."""
_LETTERS_OF_A_PAGE: Final = (100, 112, 128)
"""About as many letters fit on a line in each of the three sizes."""
_LETTERS_OF_HALF_A_PAGE: Final = 2_000
"""Letters of instructions to reproduce a report that certainly fit on half a page."""
_LEAST_TEXT: Final = 6
_LONG_TEXT: Final = 28  # letters of a line in a column of a wide table
_GAP: Final = 2  # letters between columns
_FALLBACK: Final = "DejaVuSans.ttf"  # comes with matplotlib; the other fonts with Typst


def write_pdf(report: Report, stream: IO[bytes], *, paper: Paper | None = None) -> None:
    """Write a report as PDF/UA-1, by default on its usual paper; the same report gives the same bytes."""
    paper = paper or report.paper
    files: dict[str, bytes] = {}
    data = _document(report, files, paper)
    stream.write(typeset("report", data, files, paper=paper, day=report.date))


def typeset(
    template: str,
    data: dict[str, object],
    files: Mapping[str, bytes] = MappingProxyType({}),
    *,
    paper: Paper = "a4",
    day: datetime.date | None = None,
) -> bytes:
    """Typeset a template of this folder as PDF/UA-1; the same data gives the same bytes.

    Parameters
    ----------
    template : str
        Name of the file, without `.typ`.
    data : dict
        What the template reads as `data.json`.
    files : mapping of str to bytes
        Further files that it reads, such as pictures.
    paper : {"a4", "letter"}
    day : date, optional
        For the metadata.
    """
    known = {
        **files,
        "main": _template(template),
        "sheet.typ": _template("sheet"),
        "data.json": json.dumps(_printable(data), ensure_ascii=False).encode(),
    }
    source: Any = known  # the library's annotations do not cover several files yet
    made: bytes = typst.compile(
        source,
        format="pdf",
        font_paths=_fonts(),
        ignore_system_fonts=True,
        sys_inputs={"paper": PAPERS[paper]},
        pdf_standards="ua-1",
        timestamp=_moment(day),
    )
    return made


@cache
def _template(name: str) -> bytes:
    return Path(__file__).with_name(f"{name}.typ").read_bytes()


def _moment(day: datetime.date | None) -> datetime.datetime:
    day = day or datetime.date(1980, 1, 1)  # only in the metadata; the template prints no date
    return datetime.datetime(day.year, day.month, day.day, tzinfo=datetime.UTC)


@cache
def _fonts() -> typst.Fonts:
    return typst.Fonts(
        include_system_fonts=False, include_embedded_fonts=True, font_paths=[str(_fallback().parent)]
    )


def _fallback() -> Path:
    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / _FALLBACK


@cache
def _letters() -> frozenset[int]:
    """Code points in the embedded fonts."""
    return frozenset(FT2Font(str(_fallback())).get_charmap())


def _printable(value: object) -> object:
    """The same data, with characters that no font has replaced by their code points."""
    if isinstance(value, str):
        known, value = _letters(), upright(value)
        if all(ord(letter) in known for letter in value):
            return value
        return "".join(
            letter if ord(letter) in known or letter == "\n" else as_code_point(letter) for letter in value
        )
    if isinstance(value, dict):
        return {name: _printable(part) for name, part in value.items()}
    return [_printable(part) for part in value] if isinstance(value, (list, tuple)) else value


def _document(report: Report, files: dict[str, bytes], paper: Paper) -> dict[str, object]:
    """The report as data for the template; adds its pictures to `files`."""
    command = report.remake.command_for("pdf", paper if paper != report.paper else "")
    links = [[text, link or "?"] for text, link in report.remake.links]
    # A command that has the question in its options needs no setup files.
    setups = [list(setup) for setup in report.remake.setups] if "--setup" in command else []
    n_letters = len(command) + sum(len(text) for part in (*links, *setups) for text in part)
    tables = [*(table for answer in report.answers for table in answer.printed), *report.printed_comparison]
    most = _most_rows([len(table.rows) for table in tables])
    return {
        "title": report.title,
        "subtitle": report.subtitle,
        "date": f"{report.date:%B %-d, %Y}" if report.date else None,
        "year": [report.date.year, report.date.month, report.date.day] if report.date else None,
        "warning": report.warning,
        "foot": report.footer,
        "protection": report.kept,
        "lead": report.lead,
        "inputs": report.remake.inputs,
        "several": len(report.answers) > 1,
        "answers": [_answer(answer, files, most) for answer in report.answers],
        "comparison": [table_data(table, most) for table in report.printed_comparison],
        "sources": [_source(source) for source in report.sources],
        "command": command,
        "links": links,
        "setups": setups,
        "is_short": n_letters <= _LETTERS_OF_HALF_A_PAGE,
    }


def _answer(answer: Answer, files: dict[str, bytes], most: int) -> dict[str, object]:
    return {
        "heading": answer.heading,
        "analysis": answer.analysis,
        "release": answer.release,
        "filters": answer.filters,
        "findings": " ".join(answer.findings) or answer.sentence,
        "empty": answer.empty,
        "locator": _picture(answer.locator, files),
        "map": _picture(answer.map, files),
        "six": [
            [shown(number.kind, number.value), number.error_text, number.label]
            for number in answer.first_numbers
        ],
        "numbers": [
            [number.label, shown(number.kind, number.value), number.error_text, number.caution]
            for number in answer.numbers
        ],
        "charts": [_picture(chart, files) for chart in answer.charts],
        "notes": list(answer.notes),
        "tables": [table_data(table, most) for table in answer.printed],
    }


def _picture(picture: Picture | None, files: dict[str, bytes]) -> dict[str, str] | None:
    if picture is None:
        return None
    name = f"{picture.name}.svg"
    files[name] = picture.content if picture.form == "svg" else _wrap_picture(picture.content)
    return {"file": name, "title": picture.title, "words": picture.words}


def _wrap_picture(png: bytes) -> bytes:
    """A PNG inside an SVG, because Typst accepts only text files from memory."""
    width, height = struct.unpack(">II", png[16:24])
    data = base64.b64encode(png).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f'<image width="{width}" height="{height}" href="data:image/png;base64,{data}"/></svg>'
    ).encode()


def _most_rows(lengths: Sequence[int]) -> int:
    """Most rows per table, so that all tables of a report stay within their limit."""
    left, most = MOST_ROWS_OF_ALL, MOST_ROWS
    for n_longer, length in zip(range(len(lengths), 0, -1), sorted(lengths), strict=True):
        if length > left // n_longer:
            return min(most, left // n_longer)
        left -= length
    return most


def table_data(table: Table, most: int) -> dict[str, object]:
    """A table as the templates take it, cut after `most` rows."""
    words = table.words
    if len(table.rows) > most:
        words += (
            f" The first {most:,} of {len(table.rows):,} rows; all rows would take "
            f"{len(table.rows) // 45:,} pages. The HTML and XLSX reports have every row."
        )
    return {
        "title": table.title,
        "words": words.strip(),
        "parts": [_part(table, places, most) for places in table.parts],
    }


def _part(table: Table, places: Sequence[int], most: int) -> dict[str, object]:
    columns = [table.columns[place] for place in places]
    rows = [
        [shown(column.kind, row[place]) for place, column in zip(places, columns, strict=True)]
        for row in table.rows[:most]
    ]
    return {
        "weights": _weights(columns, rows),
        "heads": [column.head for column in columns],
        "kinds": ["number" if column.kind in NUMERIC else column.kind for column in columns],
        "rows": rows,
    }


def _weights(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[int]:
    """Column widths: weights for texts by length, and 0 for numbers, which take the width they need.

    If the columns are too wide for a page in one line, numbers have weights, too, so that their heads break between
    words.
    """
    is_text = [column.kind == "text" and column.name != "caution" for column in columns]
    cells = [max((len(row[place]) for row in rows), default=0) for place in range(len(columns))]
    heads = [len(column.head) for column in columns]
    words = [max(map(len, column.head.split()), default=0) for column in columns]
    in_line = sum(
        max(cell, _LEAST_TEXT if text else head) + _GAP
        for text, cell, head in zip(is_text, cells, heads, strict=True)
    )
    if in_line <= _LETTERS_OF_A_PAGE[bisect_left(_COLUMNS_BY_SIZE, len(columns))]:
        return [
            round(10 * math.sqrt(min(max(cell, _LEAST_TEXT), 60))) if text else 0
            for text, cell in zip(is_text, cells, strict=True)
        ]
    return [
        10 * (min(max(cell, word), _LONG_TEXT if text else cell + word) + _GAP)
        for text, cell, word in zip(is_text, cells, words, strict=True)
    ]


def _source(source: Source) -> dict[str, object]:
    return {
        "title": source.title,
        "warning": source.warning,
        "certificate": [list(row) for row in source.certificate],
        "provenance": [list(row) for row in source.provenance],
        "method": [dataclasses.asdict(chapter) for chapter in source.method],
    }


# Documents of chapters and tables as PDF, in the type of reports.


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document that is no report of a release.

    Attributes
    ----------
    title, subtitle : str
    label, footer : str
        What kind of document it is, above the title and on every page; a line below every page.
    parts : tuple of Chapter or Table
        In their order.
    """

    title: str
    subtitle: str
    label: str
    footer: str
    parts: tuple[Chapter | Table, ...]


def document_pdf(document: Document, *, paper: Paper = "a4") -> bytes:
    """Return a document as PDF/UA-1; the same document gives the same bytes."""
    return typeset(
        "document",
        {
            "title": document.title,
            "subtitle": document.subtitle,
            "label": document.label,
            "footer": document.footer,
            "parts": [_document_part(part) for part in document.parts],
        },
        paper=paper,
    )


def _document_part(part: Chapter | Table) -> dict[str, object]:
    if isinstance(part, Table):
        return {"kind": "table", **table_data(part, MOST_ROWS)}
    return {"kind": "chapter", **dataclasses.asdict(part)}
