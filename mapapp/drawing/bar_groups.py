"""The bars of an answer's charts, which the page draws as tables and pictures draw as bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import pandas

from mapapp.answers import words
from mapapp.answers.entries import entry_of
from mapapp.answers.entry import BarsEntry, text_of
from mapapp.answers.measures import caution
from mapapp.answers.results import Result

MATRIX_UNITS: Final = 15


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: name, workers, their share and expected error, and a caution."""

    name: str
    workers: int
    share: float
    error: float | None = None
    caution: str = ""


def bars_of(frame: pandas.DataFrame, name: str = "label") -> list[Bar]:
    """Bars of a table of workers."""
    return [
        Bar(
            str(row[name]),
            int(row["workers"]),
            float(row["share"]),
            float(row["expected_error"]),
            caution(int(row["workers"])),
        )
        for row in frame.to_dict("records")
    ]


@dataclass(frozen=True, slots=True)
class Group:
    """Bars under a heading, which may be empty."""

    heading: str
    bars: tuple[Bar, ...]


def bar_groups(result: Result) -> list[tuple[str, list[Group]]]:
    """Titles and bars of an answer's bar charts."""
    return [(text_of(bars.title, result), _groups(bars, result)) for bars in entry_of(result).bars]


def _groups(bars: BarsEntry, result: Result) -> list[Group]:
    frame = result.tables()[bars.table]
    if not bars.by_characteristic:
        return [Group("", tuple(bars_of(frame.head(bars.n_rows or len(frame)), bars.name)))]
    return [
        Group(title, tuple(bars_of(frame[frame["characteristic"] == name], bars.name)))
        for name, title in words.BAND_TITLES.items()
    ]
