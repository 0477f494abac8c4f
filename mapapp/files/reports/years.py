"""The part of a report that follows its numbers over the years."""

from __future__ import annotations

from collections.abc import Sequence

from mapapp.answers.over_years import OverYears, over_years
from mapapp.drawing.palette import COLOR_SCHEMES
from mapapp.drawing.year_lines import year_lines
from mapapp.files.reports.comparing import AnsweredPart
from mapapp.files.reports.content import Answer, Column, Kind, Picture, Table
from mapapp.files.reports.numbers import place_of
from mapapp.files.reports.part import Part
from mapapp.files.reports.tables import plain_column

LEAST_YEARS = 2


def over_the_years(found: Sequence[AnsweredPart]) -> list[Answer]:
    """Return the lines and the table of each question that was put to releases of different years."""
    of_part: dict[Part, dict[str, AnsweredPart]] = {}
    for one in found:
        of_part.setdefault(one.part, {})[one.result.about.year] = one
    groups = [group for group in of_part.values() if len(group) >= LEAST_YEARS and all(group)]
    return [_years(list(group.values()), f"years-{place}") for place, group in enumerate(groups, 1)]


def _years(group: Sequence[AnsweredPart], name: str) -> Answer:
    over, last = over_years([one.result for one in group]), group[-1]
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
    rows: list[tuple[object, ...]] = [(year,) for year in over.years]
    for name, values in over.by_year.groupby("name", sort=False):
        label, kind = values["label"].iloc[-1], values["kind"].iloc[-1]
        error_kind: Kind = "ratio error" if kind == "ratio" else "error"
        columns.append(Column(name=str(name), head=label, kind=kind))
        columns.append(Column(name=f"{name}_error", head="±", kind=error_kind))
        both = zip(plain_column(values["value"], kind), plain_column(values["expected_error"]), strict=True)
        rows = [(*row, *added) for row, added in zip(rows, both, strict=True)]
    return Table(name="years", title=over.title, words="", columns=tuple(columns), rows=tuple(rows))


def _pictures(over: OverYears, name: str) -> tuple[Picture, ...]:
    found = []
    for place, (label, values) in enumerate(over.lines(), 1):
        words = "; ".join(f"{each.year}: {each.text}" for each in values)
        svg = year_lines(values, label, COLOR_SCHEMES["light"])
        found.append(
            Picture(name=f"{name}-{place}", title=label, words=words, content=svg.encode(), form="svg")
        )
    return tuple(found)
