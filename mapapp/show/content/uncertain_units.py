"""Units on the map whose value is less certain than it looks, so that it is not drawn as certain.

A count is uncertain if its expected error exceeds it; a change, if it is at most twice its expected error, as in what
`mapapp.answers.findings.findings` says about changes. Up to `MAX_CHECKED` units have their errors computed. If there
are more, such as the tracts of several states, errors of that many, evenly spread from the largest count to the
smallest, say at which counts errors are how large, and the other units are judged by their count.
"""

from __future__ import annotations

from typing import Final

import numpy
import numpy.typing as npt
import pandas

from mapapp.answers import served_answers
from mapapp.answers.analyses.results import replace_fields
from mapapp.answers.errors.error_marks import within_errors
from mapapp.answers.release import Release
from mapapp.question.question import SettledQuestion

MAX_CHECKED: Final = 1_000
"""Units whose errors are computed, a few milliseconds each."""
_SMOOTHED: Final = 5  # neighbors by count whose median decides

Floats = npt.NDArray[numpy.float64]


def has_uncertain_units(release: Release, question: SettledQuestion) -> bool:
    """Return whether units can have errors: they are known, and the counts are not by workplace alone."""
    by_workplace = question.side == "work" and question.shown_end == "work"
    return release.errors.is_known and not by_workplace


def uncertain_units(release: Release, question: SettledQuestion) -> tuple[str, ...]:
    """Return the identifiers of units with workers whose expected error exceeds their count."""
    units = _with_errors(release, question)
    return tuple(units.index[units["error"] > units["workers"]])


def uncertain_changes(before: Release, release: Release, question: SettledQuestion) -> tuple[str, ...]:
    """Return the identifiers of units with workers whose change is at most twice its expected error.

    The error of a unit without workers in one release is taken to be that of the other release.
    """
    both = [_with_errors(compared_release, question) for compared_release in (before, release)]
    index = both[1].index.union(both[0].index, sort=False)
    earlier, later = (frame["workers"].reindex(index, fill_value=0) for frame in both)
    errors = [frame["error"].reindex(index) for frame in both]
    error = numpy.hypot(errors[0].fillna(errors[1]), errors[1].fillna(errors[0]))
    return tuple(index[within_errors(later - earlier, error)])


def _with_errors(release: Release, question: SettledQuestion) -> pandas.DataFrame:
    """Return `workers` and their expected `error` by unit, of units with workers; no unit if there are no errors."""

    def make() -> pandas.DataFrame:
        units = served_answers.units(release, question)
        units = units[(units["kind"] == "unit") & (units["workers"] > 0)]
        if not has_uncertain_units(release, question):
            units = units.iloc[:0]
        at = numpy.unique(numpy.linspace(0, len(units) - 1, min(len(units), MAX_CHECKED)).round().astype(int))
        some = replace_fields(served_answers.units_answer(release, question), {"units": units.iloc[at]})
        checked = release.with_errors(some, len(at), ("units",)).tables()["units"]
        error = _errors(units["workers"], at, checked["expected_error"].to_numpy(dtype=numpy.float64))
        return pandas.DataFrame(
            {"workers": units["workers"].to_numpy(), "error": error}, index=units["unit_id"]
        )

    return release.once(("unit errors", question), make)


def _errors(workers: pandas.Series, at: npt.NDArray[numpy.int64], error: Floats) -> Floats:
    """Return the errors of all units from those of some of them; most workers come first."""
    count = workers.to_numpy(dtype=numpy.float64)
    if len(at) == len(count):
        return error
    ratio = error / numpy.maximum(count[at], 1.0)
    half = _SMOOTHED // 2
    padded = numpy.pad(ratio, half, mode="edge")
    smooth = numpy.median(numpy.lib.stride_tricks.sliding_window_view(padded, _SMOOTHED), axis=1)
    unit_errors = numpy.interp(numpy.arange(len(count)), at, smooth) * count
    unit_errors[at] = error
    return numpy.asarray(unit_errors)
