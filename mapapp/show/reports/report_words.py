"""Puts a report into the words of its publications: those of zones count commuters or pupils, not workers and jobs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final

from geodata.json_objects import JsonObject
from mapapp.answers.wording import Nouns, reader_text
from mapapp.show.reports.content import (
    Answer,
    Column,
    KeyNumber,
    MovingPicture,
    Picture,
    Report,
    Source,
    Table,
)

_TEXTS: Final[Mapping[type, tuple[str, ...]]] = {
    Column: ("head",),
    Table: ("title", "words", "columns"),
    Picture: ("title", "words"),
    MovingPicture: ("night", "day", "note"),
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
        *("tables", "printed", "notes", "left_out", "morning"),
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
    changes = _changes(report, nouns) | {"remake": dataclasses.replace(remake, links=links, setups=setups)}
    return type(report)(**_fields_of(report) | changes)


def _put(part: object, nouns: Nouns) -> object:
    """A field of a part of a report, in these words."""
    if isinstance(part, str):
        return reader_text(part, nouns)
    if isinstance(part, tuple):
        return tuple(_put(item, nouns) for item in part)
    kind = type(part)
    return kind(**_fields_of(part) | _changes(part, nouns)) if kind in _TEXTS else part


def _changes(part: object, nouns: Nouns) -> JsonObject:
    return {name: _put(getattr(part, name), nouns) for name in _TEXTS[type(part)]}


def _fields_of(part: object) -> JsonObject:
    return {name: getattr(part, name) for name in type(part).__annotations__}
