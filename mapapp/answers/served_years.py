"""The answers of other years: those of a server's other releases of the same place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from geodata.errors import GeodataError
from mapapp.answers import served_answers
from mapapp.answers.over_years import OverYears, over_years
from mapapp.answers.release import Release
from mapapp.answers.release_names import setting_words
from mapapp.base.errors import UsageError
from mapapp.question.question import Question

MAX_YEARS: Final = 30


def releases_of_years(release: Release, served: Iterable[Release]) -> list[Release]:
    """Return one release for each year of the place that a release holds, earliest first.

    The release itself is chosen for its year; of several others of one year, the one with its setting, or the first.
    """
    by_year: dict[str, Release] = {}
    for each in served:
        is_same_place = each.covered_states == release.covered_states
        is_same_jobs = each.facts.get("job_type") == release.facts.get("job_type")
        year = each.year
        if year.isdigit() and is_same_place and is_same_jobs:
            kept = by_year.get(year)
            if kept is None or (_setting(each) == _setting(release) != _setting(kept)):
                by_year[year] = each
    if not release.year.isdigit():
        return []
    by_year[release.year] = release
    return [by_year[year] for year in sorted(by_year, key=int)][-MAX_YEARS:]


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
            return over_years([served_answers.with_errors(each, settled) for each in releases])
        except (UsageError, GeodataError):  # a unit that a year does not have
            return None

    return release.once(("years", tuple(each.version for each in releases), question), make)


def _setting(release: Release) -> str:
    return setting_words(release.promise)
