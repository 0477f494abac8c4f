"""Which bars an answer has, whoever draws them: the page as tables, pictures as bars."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from mapapp.answers import words
from mapapp.answers.results import (
    AreaComparison,
    AreaProfile,
    Destinations,
    DistanceDirection,
    InflowOutflow,
    PairedAreas,
    Result,
)

BAR_ROWS: Final = 8
MATRIX_UNITS: Final = 15


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: its name, its workers, their share and expected error, and a caution."""

    name: str
    workers: int
    share: float
    error: float | None = None
    caution: str = ""


def bars_of(frame: Any, name: str = "label") -> list[Bar]:
    """Bars of a table of workers."""
    return [
        Bar(
            str(getattr(row, name)),
            int(row.workers),
            float(row.share),
            float(row.expected_error),
            row.caution,
        )
        for row in frame.itertuples()
    ]


@dataclass(frozen=True, slots=True)
class Group:
    """Bars under a heading of their own; none where it is empty."""

    heading: str
    bars: tuple[Bar, ...]


def bar_groups(result: Result) -> list[tuple[str, list[Group]]]:
    """Titles and bars of an answer's bar charts, as the page has them."""
    if isinstance(result, AreaProfile):
        return [("Who they are", _characteristics(result.bands))]
    if isinstance(result, (Destinations, AreaComparison)):
        n_rows, unit = len(result.units), words.level_word(result.layer)
        which = f"The {BAR_ROWS} largest of {n_rows:,}" if n_rows > BAR_ROWS else "All of them"
        return [(f"{which}, by {unit}", [Group("", tuple(bars_of(result.units.head(BAR_ROWS), "name")))])]
    if isinstance(result, DistanceDirection):
        return [("Distance from home to work", [Group("", tuple(bars_of(result.bands)))])]
    if isinstance(result, InflowOutflow):
        return [("Who comes, goes and stays", [Group("", tuple(bars_of(result.groups)))])]
    if isinstance(result, PairedAreas):
        return [
            ("Distance from home to work", [Group("", tuple(bars_of(result.distances)))]),
            ("Who they are", _characteristics(result.bands)),
        ]
    return []


def _characteristics(bands: Any) -> list[Group]:
    return [
        Group(title, tuple(bars_of(bands[bands["characteristic"] == name])))
        for name, title in words.BAND_TITLES.items()
    ]
