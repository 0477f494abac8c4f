"""Comparison tables of a report: areas side by side, and changes from release to release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import pandas

from mapapp.answers.analyses.change import change
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.over_years import OverYears, over_years
from mapapp.answers.analyses.results import Result
from mapapp.answers.release import Release
from mapapp.show.content.palette import COLOR_SCHEMES
from mapapp.show.content.year_lines import year_lines
from mapapp.show.reports.content import Answer, Column, Kind, Picture, Table
from mapapp.show.reports.numbers import key_numbers, place_of
from mapapp.show.reports.part import Part, SettledPart
from mapapp.show.reports.tables import change_columns, plain_column, table_of

MOST_BESIDE: Final = 8
"""The largest number of areas shown side by side as columns."""

_KEYS: Final = ("unit_id", "kind", "characteristic", "group", "band", "direction")


@dataclass(frozen=True, slots=True)
class AnsweredPart:
    """A question, its answer with expected errors, and the release's name in the report."""

    release: Release
    part: SettledPart
    result: Result
    name: str


def comparison(answered_parts: Sequence[AnsweredPart]) -> tuple[Table, ...]:
    """Comparison tables for answers that differ only in area or release; empty for a single answer."""
    groups: dict[SettledPart, list[AnsweredPart]] = {}
    for answered_part in answered_parts:
        same = replace(answered_part.part, question=replace(answered_part.part.question, areas=(), others=()))
        groups.setdefault(same, []).append(answered_part)
    titles = [_title(group[0], groups) for group in groups.values()]
    made: list[Table] = []
    for number, (title, group) in enumerate(zip(titles, groups.values(), strict=True), 1):
        if len(group) > 1:
            made.append(_key_numbers(f"compare{number}", title, group))
            made += _changes(f"compare{number}_change", title, group)
            made += _put_areas_beside(f"compare{number}_rows", title, group)
    return tuple(made)


def _title(answered_part: AnsweredPart, groups: Iterable[SettledPart]) -> str:
    """The analysis, with what distinguishes it from others of the same name."""
    about = answered_part.result.about
    if sum(part.question.analysis == answered_part.part.question.analysis for part in groups) == 1:
        return about.title
    who = {"work": "by workplace", "home": "by home"}[answered_part.part.question.side]
    return f"{about.title} ({'; '.join(part for part in (who, about.filters) if part)})"


def _key_numbers(name: str, title: str, group: Sequence[AnsweredPart]) -> Table:
    """A table with one row per answer and one column per key number."""
    first = key_numbers(group[0].result)
    several = len({answered_part.release.slug for answered_part in group}) > 1
    columns = [
        Column(name="area", head="Area", kind="text"),
        Column(name="release", head="Publication", kind="text", printed=several),
    ]
    for place, number in enumerate(first):
        columns.append(Column(name=f"number_{place + 1}", head=number.label, kind=number.kind))
        if number.error is not None:
            columns.append(Column(name=f"error_{place + 1}", head="Expected error", kind=number.error_kind))
    rows = []
    for answered_part in group:
        row: list[object] = [place_of(answered_part.release, answered_part.part.question), answered_part.name]
        for number, like in zip(key_numbers(answered_part.result), first, strict=True):
            row.append(number.value)
            if like.error is not None:
                row.append(number.error)
        rows.append(tuple(row))
    return Table(
        name=name,
        title=f"{title}: key numbers",
        words="One row for each area and release.",
        columns=tuple(columns),
        rows=tuple(rows),
    )


def _changes(name: str, title: str, group: Sequence[AnsweredPart]) -> list[Table]:
    """Tables of the changes in each area from one release to the next."""
    by_part: dict[SettledPart, dict[str, AnsweredPart]] = {}
    for answered_part in group:
        by_part.setdefault(answered_part.part, {})[answered_part.release.slug] = answered_part
    return [
        _change_table(f"{name}{number}", title, before, after)
        for number, (before, after) in enumerate(
            (pair for same in by_part.values() for pair in pairwise(same.values())), 1
        )
    ]


def _change_table(name: str, title: str, before: AnsweredPart, after: AnsweredPart) -> Table:
    release_change = change(before.result, after.result)
    order = release_change.rows["change"].abs().sort_values(ascending=False, kind="stable").index
    return table_of(
        name,
        f"{place_of(after.release, after.part.question)}, {title}: {release_change.about.release}",
        " ".join([release_change.words.order, *map(str, release_change.about.notes)]),
        release_change.rows.loc[order],
        change_columns(release_change),
    )


def _put_areas_beside(name: str, title: str, group: Sequence[AnsweredPart]) -> list[Table]:
    """The rows of the main table, with a column of workers for each area."""
    one_release = len({answered_part.release.slug for answered_part in group}) == 1
    results = [answered_part.result for answered_part in group]
    if not one_release or len(group) > MOST_BESIDE or entry_of(results[0]).pairs:
        return []
    frames = [next(iter(result.tables().values())) for result in results]
    keys = [key for key in _KEYS if all(key in frame.columns for frame in frames)]
    parts = [frame.set_index(keys) for frame in frames]
    index = parts[0].index
    for part in parts[1:]:
        index = index.union(part.index, sort=False)
    labels = [column for column in ("name", "label", "band_label") if column in frames[0].columns]
    named = pandas.concat([part[labels] for part in parts])
    named = named[~named.index.duplicated()].reindex(index)
    measure = entry_of(results[0]).measure
    counts = [_list_measures(part[measure.column].reindex(index), measure.kind) for part in parts]
    plain = table_of(name, f"{title}: areas side by side", "", named.reset_index())
    heads = [
        Column(
            name=f"workers_{place}",
            head=place_of(answered_part.release, answered_part.part.question),
            kind=measure.kind,
        )
        for place, answered_part in enumerate(group, 1)
    ]
    most_first = sorted(
        range(len(index)), key=lambda at: -sum(area_counts[at] or 0 for area_counts in counts)
    )
    ranked = most_first if "name" in labels else range(len(index))
    return [
        replace(
            plain,
            words=f"{measure.name} in each area, with every row that occurs in any area.",
            columns=(*plain.columns, *heads),
            rows=tuple((*plain.rows[at], *(area_counts[at] for area_counts in counts)) for at in ranked),
        )
    ]


def _list_measures(column: pandas.Series, kind: str) -> list[float | None]:
    """The rows of one area: counts, 0 for a row that it does not have, or ratios, None where there is no ratio."""
    if kind == "count":
        return [int(value) for value in column.fillna(0)]
    return [None if pandas.isna(value) else float(value) for value in column]


# The part of a report that follows its numbers over the years.

LEAST_YEARS = 2


def over_the_years(answered_parts: Sequence[AnsweredPart]) -> list[Answer]:
    """Return the lines and the table of each question that was put to releases of different years."""
    of_part: dict[Part, dict[int | str | None, AnsweredPart]] = {}
    for answered_part in answered_parts:
        of_part.setdefault(answered_part.part, {})[answered_part.result.about.year] = answered_part
    groups = [group for group in of_part.values() if len(group) >= LEAST_YEARS and all(group)]
    return [_years(list(group.values()), f"years-{place}") for place, group in enumerate(groups, 1)]


def _years(group: Sequence[AnsweredPart], name: str) -> Answer:
    over, last = over_years([answered_part.result for answered_part in group]), group[-1]
    place, span = place_of(last.release, last.part.question), f"{over.years[0]} to {over.years[-1]}"
    about, table = last.result.about, _table(over)
    return Answer(
        name=name,
        heading=f"{place}: {about.title}, {span}",
        place=place,
        analysis=about.title,
        release=span,
        filters=about.filters,
        sentence=" ".join(over.findings()),
        findings=tuple(over.findings()),
        empty="",
        locator=None,
        map=None,
        first_numbers=(),
        numbers=(),
        charts=_pictures(over, name),
        tables=(table,),
        printed=(),  # the comparison has these numbers
        notes=tuple(map(str, over.about.notes)),
    )


def _table(over: OverYears) -> Table:
    """The key numbers with a row for each year."""
    columns = [Column(name="year", head="Year", kind="code")]
    rows: list[tuple[object, ...]] = [(str(year),) for year in over.years]
    for name, values in over.by_year.groupby("name", sort=False):
        label, kind = values["label"].iloc[-1], values["kind"].iloc[-1]
        error_kind: Kind = "ratio error" if kind == "ratio" else "error"
        columns.append(Column(name=str(name), head=label, kind=kind))
        columns.append(Column(name=f"{name}_error", head="±", kind=error_kind))
        both = zip(plain_column(values["value"], kind), plain_column(values["expected_error"]), strict=True)
        rows = [(*row, *added) for row, added in zip(rows, both, strict=True)]
    return Table(name="years", title=over.title, words="", columns=tuple(columns), rows=tuple(rows))


def _pictures(over: OverYears, name: str) -> tuple[Picture, ...]:
    pictures = []
    for place, (label, values) in enumerate(over.lines(), 1):
        words = "; ".join(f"{year_value.year}: {year_value.text}" for year_value in values)
        svg = year_lines(values, label, COLOR_SCHEMES["light"])
        pictures.append(
            Picture(name=f"{name}-{place}", title=label, words=words, content=svg.encode(), form="svg")
        )
    return tuple(pictures)
