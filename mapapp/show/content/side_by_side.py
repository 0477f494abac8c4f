"""The parts of an area side by side, such as two towns or the rings around a place: one question asked of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import pandas

from mapapp.answers import words
from mapapp.answers.analyses.entries import entry_of, headline_of, numbers_of
from mapapp.answers.analyses.entry import BarsEntry, text_of
from mapapp.answers.analyses.measures import Miles, Number, Ratio, Value
from mapapp.answers.analyses.results import Result
from mapapp.answers.areas.areas import Areas
from mapapp.question.area_text import Circle, Step, parse_area
from mapapp.question.question import Question, SettledQuestion
from mapapp.show.content.bar_groups import Bar, bars_of

MAX_PARTS: Final = 4
_N_LARGEST: Final = 6
"""Rows of a list that has only the largest ones, such as the towns where workers live."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A number of one part: as text, its expected error, and its share; the latter two may be empty."""

    text: str
    error: str = ""
    share: str = ""


@dataclass(frozen=True, slots=True)
class SideRow:
    """One number of each part; a row without cells is the heading of those below it."""

    label: str
    cells: tuple[Cell, ...] = ()


@dataclass(frozen=True, slots=True)
class SideBySide:
    """The parts of an area by name, and a row for each number."""

    names: tuple[str, ...]
    rows: tuple[SideRow, ...]


def has_sides(question: Question) -> bool:
    """Whether the area of a question has two to `MAX_PARTS` parts, of which none is cut out or intersected."""
    areas = question.areas
    is_single = question.entry.n_areas == 1 and question.is_complete
    return is_single and 2 <= len(areas) <= MAX_PARTS and not any(area[0] in "-&" for area in areas)


def side_by_side(
    areas: Areas, question: SettledQuestion, answer: Callable[[SettledQuestion], Result]
) -> SideBySide | None:
    """Return the answers for the parts of a question's area, side by side; None if it has no such parts."""
    if not has_sides(question):
        return None
    results = [answer(SettledQuestion(replace(question, areas=(part,)))) for part in question.areas]
    rows = [
        SideRow(
            _name_counted_units(results[0]), tuple(_cell(headline_of(part_answer)) for part_answer in results)
        )
    ]
    for pairs in zip(*map(numbers_of, results), strict=True):
        number = pairs[0][0]
        if number.tile and not callable(number.tile):  # others repeat a count of one part
            rows.append(
                SideRow(_sentence(number.tile), tuple(_cell(value, number.kind) for _, value in pairs))
            )
    for bars in entry_of(results[0]).bars:
        rows += _bars(bars, results)
    return SideBySide(tuple(part_names(areas, question.areas)), tuple(rows))


def part_names(areas: Areas, parts: Sequence[str]) -> list[str]:
    """Return the names of the parts of an area; rings around one place are told by their miles alone."""
    steps = [parse_area(part)[0] for part in parts]
    centers = {(step.part.lon_deg, step.part.lat_deg) for step in steps if isinstance(step.part, Circle)}
    is_rings = len(centers) == 1 and all(isinstance(step.part, Circle) for step in steps)
    return [_ring_name(step) if is_rings else areas.select(str(step)).name for step in steps]


def _ring_name(step: Step) -> str:
    assert isinstance(step.part, Circle), "the caller checks"
    inner = f"{step.part.inner_mi:g} to " if step.part.inner_mi else "Within "
    return f"{inner}{step.part.outer_mi:g} mile{'s' * (step.part.outer_mi != 1)}"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _name_counted_units(result: Result) -> str:
    return "Come in, go out, or stay" if result.about.analysis == "inflow-outflow" else "Workers"


def _cell(value: Value, kind: str = "") -> Cell:
    if isinstance(value, Number):
        text = f"{value.value:+,}" if kind == "change" else f"{value.value:,}"
        return Cell(text, words.error_text(value.expected_error))
    if isinstance(value, Miles):
        return Cell(words.miles(value.value), words.miles_error(value.expected_error))
    if isinstance(value, Ratio):
        return Cell(words.ratio(value.value), words.ratio_error(value.expected_error))
    return Cell(words.percent(value) if value is None or kind == "share" else f"{value:,}")


def _bars(bars: BarsEntry, results: Sequence[Result]) -> list[SideRow]:
    """Return the rows of one chart of bars, with its headings."""
    if any(bars.table not in part_answer.tables() for part_answer in results):
        return []
    frames = [part_answer.tables()[bars.table] for part_answer in results]
    if bars.group or bars.by_characteristic:
        column = bars.group or "characteristic"
        heads = list(dict.fromkeys(frames[0][column].tolist()))
        groups = [
            (words.BAND_TITLES.get(head, str(head)), [_of(frame, column, head) for frame in frames])
            for head in heads
        ]
    else:
        groups = [(_drop_count(text_of(bars.title, results[0])), frames)]
    return [row for heading, parts in groups for row in (SideRow(heading), *_named_rows(bars, parts))]


def _of(frame: pandas.DataFrame, column: str, value: object) -> pandas.DataFrame:
    return frame[frame[column] == value]


def _drop_count(title: str) -> str:
    """Return the title of a list without how many of its rows one answer shows."""
    return title.partition(": the ")[0]


def _named_rows(bars: BarsEntry, frames: Sequence[pandas.DataFrame]) -> list[SideRow]:
    """Return a row for each name of a chart; of a long list, for those with the most workers in all parts together."""
    bars_by_part = [{bar.name: bar for bar in bars_of(frame, bars.name)} for frame in frames]
    names = dict.fromkeys(name for part in bars_by_part for name in part)
    if bars.n_rows or bars.by_size:
        total = {name: sum(part[name].workers for part in bars_by_part if name in part) for name in names}
        names = dict.fromkeys(sorted(names, key=lambda name: -total[name])[:_N_LARGEST])
    return [SideRow(name, tuple(_bar_cell(part.get(name)) for part in bars_by_part)) for name in names]


def _bar_cell(bar: Bar | None) -> Cell:
    return (
        Cell("0")
        if bar is None
        else Cell(f"{bar.workers:,}", words.error_text(bar.error), f"{100 * bar.share:.1f}%")
    )
