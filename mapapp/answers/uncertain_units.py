"""Units on the map whose expected error exceeds their count, so that small values are not drawn as certain.

Errors take some ten milliseconds a unit. If there are many units, the errors of some of them, evenly spread from the
largest count to the smallest, say at which counts errors exceed them, and the other units are judged by their count.
"""

from __future__ import annotations

from typing import Final

import numpy
import numpy.typing as npt
import pandas

from mapapp.answers import served_answers
from mapapp.answers.results import with_fields
from mapapp.answers.served_release import ServedRelease
from mapapp.question.question import Question

MAX_CHECKED: Final = 100
"""Units whose errors are computed."""
_SMOOTHED: Final = 5  # units of similar counts, whose median decides

Floats = npt.NDArray[numpy.float64]


def has_uncertain_units(release: ServedRelease, question: Question) -> bool:
    """Return whether units can have errors: they are known, and the counts are not by workplace alone."""
    by_workplace = question.side == "work" and question.shown_end == "work"
    return release.analyses.errors.is_known and not by_workplace


def uncertain_units(release: ServedRelease, question: Question) -> tuple[str, ...]:
    """Return the identifiers of units with workers whose expected error exceeds their count."""

    def make() -> tuple[str, ...]:
        if not has_uncertain_units(release, question):
            return ()
        answer = served_answers.units_answer(release, question)
        units = served_answers.units(release, question)
        units = units[(units["kind"] == "unit") & (units["workers"] > 0)]
        n_units = len(units)
        at = numpy.unique(numpy.linspace(0, n_units - 1, min(n_units, MAX_CHECKED)).round().astype(int))
        fewer = with_fields(answer, {"units": units.iloc[at]})
        checked = release.analyses.with_errors(fewer, len(at), ("units",)).tables()["units"]
        error = checked["expected_error"].to_numpy(dtype=numpy.float64)
        unsure = _exceeds(units["workers"], at, error)
        return tuple(units["unit_id"].to_numpy()[unsure].tolist())

    return release.once(("uncertain units", question), make)


def _exceeds(workers: pandas.Series, at: npt.NDArray[numpy.int64], error: Floats) -> npt.NDArray[numpy.bool_]:
    """Return which units have errors above their counts, judged by some units' errors; most workers come first."""
    count = workers.to_numpy(dtype=numpy.float64)
    ratio = error / numpy.maximum(count[at], 1.0)
    half = _SMOOTHED // 2
    padded = numpy.pad(ratio, half, mode="edge")
    smooth = numpy.median(numpy.lib.stride_tricks.sliding_window_view(padded, _SMOOTHED), axis=1)
    found = numpy.interp(numpy.arange(len(count)), at, smooth) if len(at) else numpy.zeros(len(count))
    found[at] = ratio
    return numpy.asarray(found > 1.0)
