"""How many lone workers keep their true support point: the closed form for their own homes, beside what was drawn.

The chance is public; which support points lone workers live in is not. A worker of a remainder point is drawn again
after the mechanism, and so is never kept. A draw far from the expectation is a bug: likelihood ratios cannot see it,
because those of the exponential mechanism are within epsilon for any table.

Source: docs/audit.md, "Lone workers"; docs/theory/method.md, section 7g.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from engine.coarsening import LEVEL_REMAINDER
from mapapp.measuring.audit.audited import Audited, AuditedPart
from mapapp.measuring.audit.questions import QuestionPart
from mapapp.publishing.lone_worker import stay_chance

__all__ = ["LonePart", "lone_part", "lone_row"]

_MOST_ERRORS: Final = 6.0
"""Standard errors by which a draw may be off its law."""

_LEAST_VARIANCE: Final = 25.0
"""Of the number kept, from which on it is close enough to normal for :data:`_MOST_ERRORS`."""


class LonePart(NamedTuple):
    """Lone workers of some destination tracts.

    Attributes
    ----------
    workers, kept : int
        Lone workers, and those whose synthetic home is in the true support point.
    expected, variance : float
        Of the number kept; NaN for units larger than a cell, which have no closed form.
    """

    workers: int
    kept: int
    expected: float
    variance: float


def lone_part(audited: Audited, part: AuditedPart, asked: QuestionPart) -> LonePart:
    """Count the lone workers of some destination tracts who keep their support point, and say what to expect.

    Parameters
    ----------
    audited : Audited
    part : AuditedPart
    asked : QuestionPart
        The home points of the same workers.
    """
    count = part.panel.inputs.count
    is_lone = np.repeat(count == 1, count)
    truth = asked.truth[is_lone]
    kept = int((asked.released[is_lone] == truth).sum())
    ptr = part.support.table.support_ptr
    classes = part.certified.classes
    homes = np.bincount(truth, minlength=int(ptr[-1]) + 1)
    homes[: int(ptr[-1])][part.support.coarsening.support_level == LEVEL_REMAINDER] = 0
    expected = variance = 0.0
    for number in np.flatnonzero(classes.likelihood_count == 1):
        first, last = ptr[classes.tract[number] : classes.tract[number] + 2]
        workers = homes[first:last]
        chance = _chance(audited, part, int(number), workers)
        expected += chance * workers.sum()
        # Of one mean chance for all: at most a little too large where chances differ.
        variance += chance * (1.0 - chance) * workers.sum()
    return LonePart(truth.size, kept, expected, variance)


def _chance(audited: Audited, part: AuditedPart, number: int, workers: np.ndarray) -> float:
    """Mean chance of the lone workers of one destination tract, who live in some of its points."""
    mechanism = audited.parameters.mechanism
    if audited.parameters.unit != "cell" or not workers.sum():
        return 0.0 if audited.parameters.unit == "cell" else math.nan
    # Under the exponential mechanism the chance does not depend on where in the tract's points the worker lives.
    home = None if mechanism == "exponential" else workers / workers.sum()
    return stay_chance(part.certified, number, audited.privacy, mechanism, home)


def lone_row(release: str, parts: Sequence[LonePart], *, is_cleaned: bool) -> dict[str, object]:
    """Sum up, as a row of the table `lone_workers`.

    Only a draw that was not cleaned afterwards is held against the closed form: `is_off`.
    """
    workers, kept = sum(part.workers for part in parts), sum(part.kept for part in parts)
    expected, variance = sum(part.expected for part in parts), sum(part.variance for part in parts)
    n = max(workers, 1)
    is_sure = not is_cleaned and variance >= _LEAST_VARIANCE
    return {
        "release": release,
        "workers": workers,
        "expected": expected / n,
        "standard_error": math.sqrt(variance) / n,
        "found": kept / n,
        "is_off": is_sure and abs(kept - expected) > _MOST_ERRORS * math.sqrt(variance),
    }
