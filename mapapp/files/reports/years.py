"""The part of a report that follows its numbers over the years."""

from __future__ import annotations

from collections.abc import Sequence

from mapapp.answers.over_years import OverYears, over_years
from mapapp.drawing.palette import COLOR_SCHEMES
from mapapp.drawing.year_lines import year_lines
from mapapp.files.reports.comparing import AnsweredPart
from mapapp.files.reports.content import Answer, Picture
from mapapp.files.reports.numbers import place_of
from mapapp.files.reports.part import Part

LEAST_YEARS = 2


def over_the_years(found: Sequence[AnsweredPart]) -> list[Answer]:
    """Return the lines of each question that was put to releases of different years; the tables are elsewhere."""
    of_part: dict[Part, dict[str, AnsweredPart]] = {}
    for one in found:
        of_part.setdefault(one.part, {})[one.result.about.year] = one
    groups = [group for group in of_part.values() if len(group) >= LEAST_YEARS and all(group)]
    return [_years(list(group.values()), f"years-{place}") for place, group in enumerate(groups, 1)]


def _years(group: Sequence[AnsweredPart], name: str) -> Answer:
    over, last = over_years([one.result for one in group]), group[-1]
    place, span = place_of(last.release, last.part.question), f"{over.years[0]} to {over.years[-1]}"
    about = last.result.about
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
        tables=(),
        printed=(),
        notes=over.notes,
    )


def _pictures(over: OverYears, name: str) -> tuple[Picture, ...]:
    found = []
    for place, (label, values) in enumerate(over.lines(), 1):
        words = "; ".join(f"{each.year}: {each.text}" for each in values)
        svg = year_lines(values, label, COLOR_SCHEMES["light"])
        found.append(
            Picture(name=f"{name}-{place}", title=label, words=words, content=svg.encode(), form="svg")
        )
    return tuple(found)
