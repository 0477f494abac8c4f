"""The key numbers of an answer, and its summary sentence."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Final

import pandas

from mapapp.answers import words
from mapapp.answers.analyses.entries import (
    clause_of,
    counted_unit,
    entry_of,
    headline_of,
    n_about,
    numbers_of,
)
from mapapp.answers.analyses.entry import text_of
from mapapp.answers.analyses.measures import Miles, Number, Ratio, Row, Value
from mapapp.answers.analyses.results import Result, error_of_both, published_sides
from mapapp.answers.errors.error_marks import EXCEEDS, error_exceeds
from mapapp.answers.findings.words import and_work, covered_in
from mapapp.answers.release import Release
from mapapp.question.analyses import ANALYSES
from mapapp.question.fields import Side
from mapapp.question.question import OTHER_END, Question, area_of
from mapapp.show.reports.content import KeyNumber, Kind

_VERB: Final[dict[Side, str]] = {"work": "Work", "home": "Live"}
_CHANGES: Final[dict[Kind, Kind]] = {"count": "change", "ratio": "ratio change"}
_LARGEST: Final = 3
_ON_FIRST_PAGE: Final = 6


def key_numbers(result: Result) -> tuple[KeyNumber, ...]:
    """All numbers of an answer, in the same order for all answers to an analysis."""
    return tuple(
        replace(
            _key_number(text_of(number.label, result), number.kind, value),
            no_error=result.about.no_errors.get(number.name, ""),
            unit=number.unit,
        )
        for number, value in numbers_of(result)
    )


def _key_number(label: str, kind: Kind, value: Value) -> KeyNumber:
    if isinstance(value, (Number, Ratio)):
        exceeds = kind == "count" and error_exceeds(value.value or 0, value.expected_error)
        return KeyNumber(
            label=label,
            kind=kind,
            value=value.value,
            error=value.expected_error,
            caution=_cautions(value.caution, exceeds=exceeds),
        )
    if isinstance(value, Miles):
        return KeyNumber(label=label, kind=kind, value=value.value, error=value.expected_error)
    return KeyNumber(label=label, kind=kind, value=value)


def _cautions(caution: str, *, exceeds: bool) -> str:
    """The caution of a number, and whether its expected error exceeds it."""
    return "; ".join(part for part in (caution, EXCEEDS if exceeds else "") if part)


def change_numbers(before: Result, after: Result) -> tuple[KeyNumber, ...]:
    """The change in every number of an answer, with its expected error."""
    public = published_sides(before, after)
    return tuple(
        KeyNumber(
            label=later.label,
            kind=_CHANGES.get(later.kind, later.kind),
            value=later.value - earlier.value,
            error=error_of_both((earlier.error, later.error), public),
        )
        for earlier, later in zip(key_numbers(before), key_numbers(after), strict=True)
        if earlier.value is not None and later.value is not None
    )


def largest(result: Result, most: int = _LARGEST) -> tuple[KeyNumber, ...]:
    """The largest rows of an answer by area; empty for other answers."""
    if not entry_of(result).lists_largest:
        return ()
    verb = _VERB[_counted_end(result)]
    units: pandas.DataFrame = result.tables()["units"]
    return tuple(
        _of_row(f"{verb} in {row['name']}", row, result.about.no_errors.get("units", ""))
        for row in units.head(most).to_dict("records")
        if row["workers"]
    )


def first_numbers(result: Result) -> tuple[KeyNumber, ...]:
    """The six numbers of a report's first page: key numbers, then the largest rows of areas or bands."""
    numbers = key_numbers(result)
    return (*numbers, *largest(result, _ON_FIRST_PAGE), *_bands(result))[:_ON_FIRST_PAGE]


def _bands(result: Result) -> tuple[KeyNumber, ...]:
    """The largest band of each characteristic first; empty for answers without bands."""
    bands = result.tables().get("bands")
    if bands is None or "characteristic" not in bands.columns:
        return ()
    order = bands.assign(
        place=bands.groupby("characteristic")["workers"].rank(ascending=False, method="first")
    )
    rows = order.sort_values(["place", "workers"], ascending=[True, False], kind="stable").to_dict("records")
    mark = result.about.no_errors.get("bands", "")
    return tuple(_of_row(row["label"], row, mark) for row in rows if row["workers"])


def _of_row(label: str, row: Mapping[Hashable, Row], no_error: str) -> KeyNumber:
    """A row of a table of workers as a key number; `no_error` marks one without an expected error."""
    workers, error = int(row["workers"]), float(row["expected_error"])
    return KeyNumber(
        label=label,
        kind="count",
        value=workers,
        error=None if math.isnan(error) else error,
        caution=_cautions(row["caution"], exceeds=error_exceeds(workers, error)),
        no_error=no_error if math.isnan(error) else "",
    )


def _counted_end(result: Result) -> Side:
    """The end of the commutes that the rows count."""
    side = result.about.side or "work"
    return side if ANALYSES[result.about.analysis].shows_chosen_end else OTHER_END[side]


def place_of(release: Release, question: Question) -> str:
    """The area or areas of an answer, as a title."""
    if question.entry.n_areas == 1:
        return _area(release, question.areas, release.title)
    home, work = (_area(release, steps, "") for steps in (question.areas, question.others))
    if not home or not work:
        inside = home or work
        return f"{'From' if home else 'To'} {inside}" if inside else release.title
    return f"Within {home}" if home == work else f"From {home} to {work}"


def _area(release: Release, steps: tuple[str, ...], everything: str) -> str:
    area = release.areas.select(area_of(steps))
    return everything if area.blocks is None else area.name


def sentence(release: Release, question: Question, result: Result) -> str:
    """The answer in one sentence."""
    entry, n = entry_of(result), headline_of(result).value
    s = "s" * (n == 1)
    whole = "all areas of the release"
    here, there = (_area(release, steps, whole) for steps in (question.areas, question.others))
    clause = clause_of(result) or f"{words.VERB[result.about.side or 'work']}{{s}} in {{here}}"
    who = f"{n:,} {counted_unit(result, n, words.subject(release.certificate))}"
    if result.about.side == "home" and not clause_of(result) and here != whole:
        clause += and_work(result.about, f"in {here}", "{s}")
    covered = covered_in(result.about)
    text = clause.format(s=s, here=here, home=here, work=there, covered=covered)
    return f"{who} {text}{entry.tail(result)}."


def why_empty(release: Release, question: Question, result: Result) -> str:
    """Why an answer has no workers, if that is known; empty if it has some."""
    if n_about(result):
        return ""
    if entry_of(result).is_published:
        return "The files have no jobs at the blocks of this area."
    if question.side == "work" and not release.covers(question.areas):
        return "Workplaces in this area are not covered, so it is not known here how many people work there."
    if result.about.filters:
        return "No worker here matches the chosen ages, earnings, and industries. Choose more of them."
    return "No workers match. Choose another area, or the other end of the commutes."
