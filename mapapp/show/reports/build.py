"""Builds a report by putting every question to every release."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

from geodata.geography.elsewhere import states
from geodata.text import list_names
from mapapp.answers import served_answers, words
from mapapp.answers.analyses.change import change
from mapapp.answers.analyses.entries import entry_of, n_about
from mapapp.answers.analyses.results import Result
from mapapp.answers.asking import characteristics_of
from mapapp.answers.errors.error_marks import EXCEEDS_NOTE, has_exceeding, has_row_errors
from mapapp.answers.findings.findings import findings
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.answers.opened_release import COVERAGE
from mapapp.answers.publication import is_published
from mapapp.answers.release import Release, names_of
from mapapp.answers.wording import nouns_of
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report as Progress
from mapapp.base.progress import silent
from mapapp.question.question import Question
from mapapp.show.content.map_content import MapContent
from mapapp.show.files.answers import sheet_grid
from mapapp.show.paper import chart_pictures, locator_picture, map_picture, map_words, morning_picture
from mapapp.show.reports.comparing import AnsweredPart, comparison, over_the_years
from mapapp.show.reports.content import Answer, Column, MovingPicture, Paper, Picture, Report, Table
from mapapp.show.reports.facts import source_of
from mapapp.show.reports.numbers import (
    change_numbers,
    first_numbers,
    key_numbers,
    largest,
    place_of,
    sentence,
    why_empty,
)
from mapapp.show.reports.part import Part, SettledPart
from mapapp.show.reports.remake import PRINTED_ROWS, remake
from mapapp.show.reports.report_words import reader_report
from mapapp.show.reports.tables import cut, printed_tables, tables

# The table of published characteristics below a profile in a report.

_COLUMNS: Final = (
    Column(name="characteristic", head="Characteristic", kind="text"),
    Column(name="label", head="", kind="text"),
    Column(name="jobs", head="Jobs", kind="count"),
    Column(name="share", head="Share", kind="share"),
)


def place_tables(release: Release, question: Question) -> tuple[Table, ...]:
    """What LODES publishes about the area of a profile; nothing if the release has no such counts."""
    characteristics = characteristics_of(release, question)
    if characteristics is None:
        return ()
    rows = characteristics.classes[["title", "label", "workers", "share"]].itertuples(index=False, name=None)
    words = f"{characteristics.jobs:,} jobs. {characteristics.source}"
    table = Table(
        name="characteristics", title=characteristics.title, words=words, columns=_COLUMNS, rows=tuple(rows)
    )
    return (table,)


# The pictures of an answer: locator, map, and charts.

_MAP_IN: Final = (7.5, 6.3)  # as wide as a page, and short enough for the first page
_SCALE: Final = 2  # 192 pixels per inch


def locator_of(release: Release, part: Part, name: str) -> Picture:
    """A small map that shows where the area is."""
    return Picture(
        name=f"{name}-locator",
        title="Location",
        words="A small map that shows where the area lies within its region.",
        content=locator_picture(release, part.question, form="png", scale=_SCALE),
        form="png",
    )


def map_of(shown: MapContent, name: str) -> Picture:
    """The answer as a map. It is a PNG, because a map of points as SVG has several megabytes and takes seconds."""
    return Picture(
        name=f"{name}-map",
        title="",
        words=map_words(shown, size_in=_MAP_IN),
        content=map_picture(shown, form="png", scale=_SCALE, size_in=_MAP_IN),
        form="png",
    )


def morning_of(shown: MapContent) -> MovingPicture | None:
    """The workers of a map of dots on their way to work; None if the answer has no such map."""
    if not shown.has_morning:
        return None
    svg, words = morning_picture(shown)
    return MovingPicture(svg=svg, night=words.night, day=words.day, note=words.note)


def charts_of(release: Release, result: Result, name: str) -> tuple[Picture, ...]:
    """The charts of an answer, as PNG, because PDF viewers draw letters unevenly as paths; empty without workers."""
    made = chart_pictures(release, result, form="png", scale=_SCALE)
    return tuple(
        Picture(name=f"{name}-chart-{place + 1}", title="", words=said, content=content, form="png")
        for place, (_, said, content) in enumerate(made)
    )


ROWS_WITH_ERRORS: Final = 27
"""Default number of rows per table with an expected error: all joint segments, or the largest areas.
Each error takes about ten milliseconds."""


def build(
    releases: Sequence[Release],
    parts: Sequence[Part],
    *,
    date: datetime.date | None = None,
    error_rows: int | None = ROWS_WITH_ERRORS,
    rows: int | None = PRINTED_ROWS,
    pictures: bool = True,
    mornings: bool = False,
    progress: Progress = silent,
) -> Report:
    """Put every question to every release, and collect the content of the report.

    Parameters
    ----------
    releases : sequence of Release
        At least one, earliest first.
    parts : sequence of Part
        At least one.
    date : date, optional
        Date printed on the report. By default there is no date, so that the same report has the same bytes on any day.
    error_rows : int or None
        Rows of each table that get an expected error; None for no errors at all, not even for key numbers.
    rows : int or None
        Printed rows of each table of areas; None for all. The other rows are counted together.
    pictures : bool
        Whether to draw maps and charts; workbooks never have them.
    mornings : bool
        Whether to draw workers on their way to work; only HTML has them.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    UsageError, GeometryError
        If a part asks for something that a release does not have.
    """
    if not releases or not parts:
        raise UsageError("a report needs a release and a question")
    # The layers that a question leaves open are named, so that the report can be made again as it is. Those of the
    # last release are used, as in any comparison.
    settled = [part.settle(releases[-1]) for part in parts]
    pairs = [(release, part) for part in settled for release in releases]
    titles = names_of(releases)
    answered_parts, answers = [], []
    for place, (release, part) in enumerate(pairs):

        def step(of_three: int, place: int = place) -> None:
            progress("asking and drawing", 3 * place + of_three, 3 * len(pairs))

        step(0)
        answered_parts.append(_answer_part(release, part, titles[release.slug], error_rows, rows))
        step(1)
        answers.append(
            _answer(
                answered_parts[-1],
                f"answer-{place + 1}",
                several=len(releases) > 1,
                rows=rows,
                pictures=pictures,
                mornings=mornings,
            )
        )
        step(3)
    changes = _changes(answered_parts) if pictures else []
    compared = tuple(comparison(answered_parts))
    report = Report(
        title=_title(answers),
        subtitle=" · ".join(
            [list_names(_once(answer.analysis for answer in answers)), list_names(list(titles.values()))]
        ),
        date=date,
        answers=(*answers, *over_the_years(answered_parts), *changes),
        comparison=compared,
        printed_comparison=tuple(cut(table, rows) for table in compared),
        sources=tuple(
            source_of(release, titles[release.slug], errors=error_rows is not None) for release in releases
        ),
        remake=remake(releases, settled, date=date, error_rows=error_rows, rows=rows),
        paper=usual_paper(releases),
        **_subject(releases),
    )
    return reader_report(report, nouns_of(releases[-1].facts))


def _subject(releases: Sequence[Release]) -> dict[str, str]:
    """What the report says of whom it counts, if that is not synthetic workers alone."""
    published = [release for release in releases if is_published(release.certificate)]
    if not published:
        return {}
    as_published = words.promise(published[0].certificate)
    if len(published) == len(releases):
        return {
            "contents": "Jobs as published",
            "lead": f"Counts are {as_published}.",
            "kept": "As published",
        }
    return {
        "contents": "Synthetic workers, and jobs as published",
        "lead": f"Counts of {published[0].title} are {as_published}. No record of the others is a real person.",
    }


def _answer_part(
    release: Release, part: SettledPart, name: str, error_rows: int | None, rows: int | None
) -> AnsweredPart:
    question = part.question
    if not question.is_complete:
        raise UsageError(
            f"{question.analysis} needs two areas"
            if question.areas
            else f"{question.analysis} needs an area; “all” means the whole release"
        )
    result = served_answers.result(release, question)
    if error_rows is not None:
        result = release.with_errors(result, error_rows, shown=rows)
    return AnsweredPart(release, part, result, name)


def _answer(
    answered_part: AnsweredPart, name: str, *, several: bool, rows: int | None, pictures: bool, mornings: bool
) -> Answer:
    about, place = answered_part.result.about, place_of(answered_part.release, answered_part.part.question)
    has_workers = n_about(answered_part.result) > 0
    shown = MapContent(answered_part.release, answered_part.part.question, answered_part.part.view)
    grid, left_out = sheet_grid(answered_part.result)
    published = place_tables(answered_part.release, answered_part.part.question)
    return Answer(
        name=name,
        heading=f"{place}: {about.title}{f' ({answered_part.name})' if several else ''}",
        place=place,
        analysis=about.title,
        release=answered_part.name,
        filters=about.filters,
        sentence=sentence(answered_part.release, answered_part.part.question, answered_part.result),
        findings=findings(answered_part.result),
        empty=why_empty(answered_part.release, answered_part.part.question, answered_part.result),
        locator=locator_of(answered_part.release, answered_part.part, name) if pictures else None,
        map=map_of(shown, name) if pictures else None,
        morning=morning_of(shown) if has_workers and mornings else None,
        first_numbers=first_numbers(answered_part.result),
        numbers=(*key_numbers(answered_part.result), *largest(answered_part.result)),
        charts=charts_of(answered_part.release, answered_part.result, name)
        if has_workers and pictures
        else (),
        tables=_drop_empty_tables((*tables(answered_part.result, grid), *published)),
        printed=_drop_empty_tables((*printed_tables(answered_part.result, rows), *published)),
        notes=(
            *_coverage(answered_part),
            *map(str, about.notes),
            *_errors(answered_part.result),
            *_note_exceeding_errors(answered_part.result),
        ),
        left_out=left_out,
    )


def _drop_empty_tables(tables: Iterable[Table]) -> tuple[Table, ...]:
    return tuple(table for table in tables if table.rows)


def usual_paper(publications: Sequence[OpenedPublication]) -> Paper:
    """Letter for places in the United States, A4 for made-up ones."""
    covered = [state for publication in publications for state in publication.covered_states]
    return "letter" if any(state in states() for state in covered) else "a4"


def _changes(answered_parts: Sequence[AnsweredPart]) -> list[Answer]:
    """The changes from each release to the next: numbers, and a map if the analysis is drawn by unit."""
    of_part: dict[SettledPart, list[AnsweredPart]] = {}
    for answered_part in answered_parts:
        of_part.setdefault(answered_part.part, []).append(answered_part)
    pairs = [pair for group in of_part.values() for pair in pairwise(group)]
    return [_change(*pair, f"change-{place}") for place, pair in enumerate(pairs, 1)]


def _change(before: AnsweredPart, after: AnsweredPart, name: str) -> Answer:
    release_change, place = change(before.result, after.result), place_of(after.release, after.part.question)
    compared, between = release_change.about, release_change.words.between(before.name, after.name)
    by_unit = bool(after.part.question.entry.shows)
    shown = MapContent(after.release, after.part.question, after.part.view, before.release)
    return Answer(
        name=name,
        heading=f"{place}: {compared.title} ({before.name} → {after.name})",
        place=place,
        analysis=compared.title,
        release=f"{before.name} → {after.name}",
        filters=compared.filters,
        sentence=f"{between[0].upper()}{between[1:]}.",
        findings=findings(release_change),
        empty="",
        locator=None,
        map=map_of(shown, name) if by_unit else None,
        first_numbers=(),
        numbers=change_numbers(before.result, after.result),
        charts=(),
        tables=(),
        printed=(),
        notes=(*map(str, compared.notes), *_errors(after.result)),
    )


def _coverage(answered_part: AnsweredPart) -> tuple[str, ...]:
    """A note that residents' numbers need, unless the answer already has it."""
    if (
        entry_of(answered_part.result).is_published
        or answered_part.result.about.side == "work"
        or answered_part.result.about.has_note(COVERAGE)
    ):
        return ()
    if not answered_part.release.covered_states:
        return ()
    return (words.coverage(words.covered_states(answered_part.release), of_residents=True),)


def _errors(result: Result) -> tuple[str, ...]:
    known = any(number.error is not None for number in key_numbers(result)) or has_row_errors(result)
    if not known:
        return ()
    return (
        words.errors_note(result.about.promise),
        "“Caution” marks counts of 3 to 9, and “substantial variability” marks counts of 1 and 2.",
    )


def _note_exceeding_errors(result: Result) -> tuple[str, ...]:
    """A note on rows whose expected error exceeds their count, if there are any."""
    exceeding = any(map(has_exceeding, result.tables().values()))
    return (EXCEEDS_NOTE,) if exceeding else ()


def _title(answers: Sequence[Answer]) -> str:
    places = _once(answer.place for answer in answers)
    if len(places) <= 3:
        return list_names(places)
    return f"{places[0]} and {len(places) - 1} more areas"


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
