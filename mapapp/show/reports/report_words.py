"""Puts a report into the words of its publications: those of zones count commuters or pupils, not workers and jobs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Final

from mapapp.answers.wording import Nouns, reader_text
from mapapp.show.reports.content import Answer, Column, KeyNumber, Picture, Report, Source, Table

_TEXTS: Final[Mapping[type, tuple[str, ...]]] = {
    Column: ("head",),
    Table: ("title", "words", "columns"),
    Picture: ("title", "words"),
    KeyNumber: ("label", "caution", "no_error", "unit"),
    Answer: (
        *(
            "heading",
            "analysis",
            "filters",
            "sentence",
            "empty",
            "locator",
            "map",
            "first_numbers",
            "numbers",
            "charts",
        ),
        *("tables", "printed", "notes", "left_out"),
    ),
    Source: ("warning", "certificate", "provenance"),
    Report: (
        "subtitle",
        "answers",
        "comparison",
        "printed_comparison",
        "sources",
        "contents",
        "lead",
        "kept",
    ),
}
"""Fields of each part of a report that readers read; others are names, places, numbers, and commands."""


def reader_report(report: Report, nouns: Nouns | None) -> Report:
    """Return a report in the words of its publications; as it is without nouns."""
    if nouns is None:
        return report
    remake = report.remake
    links, setups = (
        tuple((reader_text(name, nouns), value) for name, value in pairs)
        for pairs in (remake.links, remake.setups)
    )
    put: Report = _put_fields(report, nouns)
    return dataclasses.replace(put, remake=dataclasses.replace(remake, links=links, setups=setups))


def _put(part: object, nouns: Nouns) -> object:
    """A field of a part of a report, in these words."""
    if isinstance(part, str):
        return reader_text(part, nouns)
    if isinstance(part, tuple):
        return tuple(_put(item, nouns) for item in part)
    return _put_fields(part, nouns) if type(part) in _TEXTS else part


def _put_fields(part: Any, nouns: Nouns) -> Any:
    changes = {name: _put(getattr(part, name), nouns) for name in _TEXTS[type(part)]}
    return dataclasses.replace(part, **changes)
