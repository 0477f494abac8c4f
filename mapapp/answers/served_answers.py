"""Cached answers of a served release, and the frames that a map draws from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Final, cast

import numpy
import numpy.typing as npt
import pandas

from geodata.errors import GeodataError
from mapapp.answers.analyses.change import change, largest_change, main_table
from mapapp.answers.analyses.entries import ENTRIES
from mapapp.answers.analyses.measures import Number
from mapapp.answers.analyses.over_years import OverYears, over_years
from mapapp.answers.analyses.results import (
    AreaComparison,
    Change,
    Destinations,
    InflowOutflow,
    Result,
    replace_fields,
)
from mapapp.answers.asking import ask
from mapapp.answers.commutes.pick import Ends, Pick, Places, all_others
from mapapp.answers.release import Release
from mapapp.answers.release_names import setting_words
from mapapp.base.errors import UsageError
from mapapp.question.fields import Side
from mapapp.question.question import Question, SettledQuestion

ROWS_WITH_ERRORS: Final = 12  # as many as the table shows initially
SHOWN_TABLES: Final = ("units", "bands", "segments", "margins", "groups", "cells", "totals", "attributes")


def result(release: Release, question: SettledQuestion) -> Result:
    """Return the answer to a question; while its analysis lacks an area, a simpler answer."""
    return release.once(("result", question), lambda: ask(release, question))


def with_errors(release: Release, question: SettledQuestion) -> Result:
    """Return the answer with expected errors of its numbers and of the rows that a page shows first."""
    rows = ENTRIES[question.analysis].n_error_rows or ROWS_WITH_ERRORS
    return release.once(
        ("errors", question),
        lambda: release.with_errors(result(release, question), rows, SHOWN_TABLES),
    )


def compare_releases(before: Release, release: Release, question: SettledQuestion) -> Change:
    """Return the change of an answer since an earlier release."""
    return change(result(before, question), result(release, question))


def compare_with_errors(before: Release, release: Release, question: SettledQuestion) -> Change:
    """Return the change with combined expected errors, for numbers and for the rows that changed most."""

    def make() -> Change:
        comparison = compare_releases(before, release, question)
        table, keys = main_table(comparison.after)
        first = largest_change(comparison.rows).head(ROWS_WITH_ERRORS).set_index(keys).index
        parts = [_rows_with_errors(opened, question, table, keys, first) for opened in (before, release)]
        errors = change(*parts).rows.set_index(keys)["expected_error"]
        error = errors.reindex(comparison.rows.set_index(keys).index).to_numpy()
        rows = comparison.rows.assign(expected_error=error)
        return dataclasses.replace(
            comparison,
            before=with_errors(before, question),
            after=with_errors(release, question),
            rows=rows,
        )

    return release.once(("change errors", before.slug, question), make)


def _rows_with_errors(
    release: Release, question: SettledQuestion, table: str, keys: list[str], first: pandas.Index
) -> Result:
    """Return an answer with only some rows of its table, and their expected errors."""
    answer = result(release, question)
    frame = answer.tables()[table]
    kept = frame[frame.set_index(keys).index.isin(first)]
    fewer = replace_fields(answer, {table: kept})
    return release.with_errors(fewer, len(kept))


def units(release: Release, question: SettledQuestion) -> pandas.DataFrame:
    """Return workers at the shown end by unit, most first, with the columns of an analysis's `units`."""
    return release.once(("units", question), lambda: units_answer(release, question).units)


def units_answer(release: Release, question: SettledQuestion) -> AreaComparison | Destinations:
    """Return the answer whose units a map shows, whatever the analysis."""
    count = release.comparison if question.shown_end == question.side else release.destinations
    return count(question.area, question.filters, side=question.side, layer=question.layer)


def places(release: Release, question: Question, end: Side) -> Places:
    """Return the place and the segment of each worker's `end`."""
    return release.flows.places(pick(release, question), end)


def ends(release: Release, question: Question) -> Ends:
    """Return both places and the segment of each worker."""
    return release.flows.ends(pick(release, question))


def pick(release: Release, question: Question) -> Pick:
    """Return the commutes that a question covers."""
    chosen = {end: release.areas.select(where).blocks for end, where in question.ends.items()}
    return Pick(work=chosen["work"], home=chosen["home"], filters=question.filters)


def picks_across(release: Release, question: Question) -> dict[Side, Pick]:
    """Return who crosses the border of an area, by the end that is outside: those who come in, and those who go out."""
    n_blocks = len(release.areas.places)
    chosen = release.areas.select(question.area).blocks
    inside = numpy.arange(n_blocks, dtype=numpy.int32) if chosen is None else chosen
    outside = all_others(inside, n_blocks)
    return {
        "home": Pick(home=outside, work=inside, filters=question.filters),
        "work": Pick(home=inside, work=outside, filters=question.filters),
    }


def n_places(release: Release, question: SettledQuestion) -> int:
    """Return the number of workers that a question covers."""
    answer = result(release, question)
    number: Number | None = getattr(answer, "workers", None)
    if number is None:
        both = cast(InflowOutflow, answer)
        return both.inflow.value + both.stay.value
    return int(number.value)


def weights(
    frame: pandas.DataFrame,
) -> tuple[npt.NDArray[numpy.float64], npt.NDArray[numpy.float64], npt.NDArray[numpy.float64]]:
    """Return longitude, latitude and workers of the units that have a place on the map."""
    near = (
        frame[(frame["kind"] == "unit") & frame["lon_deg"].notna()] if "lon_deg" in frame else frame.head(0)
    )
    if not len(near):
        return numpy.empty(0), numpy.empty(0), numpy.empty(0)
    lon, lat, workers = (near[name].to_numpy(numpy.float64) for name in ("lon_deg", "lat_deg", "workers"))
    return lon, lat, workers


# The answers of other years: those of a server's other releases of the same place.

MAX_YEARS: Final = 30


def releases_of_years(release: Release, served: Iterable[Release]) -> list[Release]:
    """Return one release for each year of the place that a release holds, earliest first.

    The release itself is chosen for its year; of several others of one year, the one with its setting, or the first.
    """
    by_year: dict[int, Release] = {}
    for candidate in served:
        is_same_place = candidate.covered_states == release.covered_states
        is_same_jobs = candidate.facts.get("job_type") == release.facts.get("job_type")
        year = candidate.year
        if year is not None and is_same_place and is_same_jobs:
            kept = by_year.get(year)
            if kept is None or (_setting(candidate) == _setting(release) != _setting(kept)):
                by_year[year] = candidate
    if release.year is None:
        return []
    by_year[release.year] = release
    return [by_year[year] for year in sorted(by_year)][-MAX_YEARS:]


def years_of(release: Release, served: Iterable[Release], question: Question) -> OverYears | None:
    """Return the answers of all years to a question; None without another year, or if some year cannot answer it.

    Layers that the question leaves open are the usual ones of the last year.
    """
    releases = releases_of_years(release, served)
    if len(releases) < 2 or not question.is_complete:
        return None

    def make() -> OverYears | None:
        try:
            settled = releases[-1].areas.usual.settle(question)
            return over_years([with_errors(opened, settled) for opened in releases])
        except (UsageError, GeodataError):  # a unit that a year does not have
            return None

    return release.once(("years", tuple(opened.version for opened in releases), question), make)


def _setting(release: Release) -> str:
    return setting_words(release.promise)
