"""The bars of an answer's charts, which the page draws as tables and pictures draw as bars."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import pandas

from mapapp.answers import words
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.entry import BarsEntry, text_of
from mapapp.answers.analyses.measures import caution
from mapapp.answers.analyses.results import Result

MATRIX_UNITS: Final = 15


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: name, workers, their share and expected error, a caution, and the mark of a note on a missing error."""

    name: str
    workers: int
    share: float
    error: float | None = None
    caution: str = ""
    no_error: str = ""

    @property
    def error_text(self) -> str:
        """The expected error beside the number, or the mark of the note that says why there is none."""
        return words.error_text(self.error) or self.no_error


def bars_of(frame: pandas.DataFrame, name: str = "label", no_error: str = "") -> list[Bar]:
    """Bars of a table of workers; `no_error` marks those without an expected error."""
    columns = (frame[column].tolist() for column in (name, "workers", "share", "expected_error"))
    return [
        Bar(
            str(text),
            int(workers),
            float(share),
            float(error),
            caution(int(workers)),
            no_error if math.isnan(error) else "",
        )
        for text, workers, share, error in zip(*columns, strict=True)
    ]


@dataclass(frozen=True, slots=True)
class Group:
    """Bars under a heading, which may be empty."""

    heading: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class BarChart:
    """A chart of bars; if all counts are exact, its heading says so once and no bar has an error."""

    title: str
    groups: tuple[Group, ...]
    is_exact: bool

    @property
    def heading(self) -> str:
        """The title as readers see it."""
        return words.exact_title(self.title, is_exact=self.is_exact)


def bar_charts(result: Result) -> list[BarChart]:
    """The bar charts of an answer."""
    return [
        _chart(text_of(bars.title, result), _groups(bars, result))
        for bars in entry_of(result).bars
        if bars.table in result.tables()
    ]


def _chart(title: str, groups: list[Group]) -> BarChart:
    is_exact = words.all_exact(bar.error for group in groups for bar in group.bars)
    if is_exact:
        groups = [
            replace(group, bars=tuple(replace(bar, error=None) for bar in group.bars)) for group in groups
        ]
    return BarChart(title, tuple(groups), is_exact)


def _groups(bars: BarsEntry, result: Result) -> list[Group]:
    frame, mark = result.tables()[bars.table], result.about.no_errors.get(bars.table, "")
    if bars.group:
        return [
            Group(str(heading), tuple(bars_of(rows, bars.name, mark)))
            for heading, rows in frame.groupby(bars.group, sort=False)
        ]
    if bars.by_size:
        frame = frame.sort_values("workers", ascending=False, kind="stable")
        frame = frame.head(max(int((frame["workers"] > 0).sum()), 1))
    if not bars.by_characteristic:
        return [Group("", tuple(bars_of(frame.head(bars.n_rows or len(frame)), bars.name, mark)))]
    return [
        Group(title, tuple(bars_of(frame[frame["characteristic"] == name], bars.name, mark)))
        for name, title in words.BAND_TITLES.items()
    ]
