"""What real counts a noisy release makes likely, given the public prior: the estimate behind expected errors.

A count C of released workers who work in tract t and live in H has the expectation A + kappa X, where X is the real
count, A the workers whom noise is expected to put into H, and kappa the part of the real ones who are expected to stay.
A, kappa and the variance v of C follow from the mechanism. The public prior expects mu workers. It is taken to be off
by a common factor for the whole count, with a relative error of `COMMON`, and besides for every workplace tract by
itself, with a variance tau^2 (`independent_variance`). With d = C - A - kappa mu and S = kappa^2 tau^2 + v,

    alpha      sum of kappa mu d/S  /  (1/COMMON^2 + sum of kappa^2 mu^2/S)          how far off the common factor is
    E[X]       mu + alpha mu + (kappa tau^2/S) (d - kappa mu alpha)
    Var[X]     (1 - kappa^2 tau^2/S) tau^2, plus what the uncertainty of alpha adds

where sums are over workplace tracts. These are the usual formulas of a linear mixed model. The expected error of C is
the root of (C - sum of E[X])^2 + Var[X]. If noise is small, X is (C - A)/kappa, and the prior has no effect; if nearly
all workers are redrawn, X is what the prior expects, within its error.

Somebody in a point that H cuts may live in H or not, so the error of such a count is at least one worker.

Averaged over releases, the error stated for a count is no less than its real one where the prior has no effect: the
variance of C enters twice, once through the estimate of X.

Source: docs/validity.md, "Under mechanisms that redraw workers".
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

__all__ = ["COMMON", "PAIR", "STRAY", "NoisyCounts", "add_up", "errors_of"]

COMMON: Final = 1.0
"""Relative error of the public prior of a whole count: right to within a factor of about two."""
PAIR: Final = 6.0
"""Relative error of the public prior of one workplace tract and support point: right to within a factor of seven."""
STRAY: Final = 0.05
"""Part of the workers who may live anywhere, because the prior gives some places nobody."""

_TINY: Final = 1e-9


class NoisyCounts(NamedTuple):
    """R counts in one workplace tract.

    Attributes
    ----------
    read : float64[R]
        Released counts C.
    gained, kept, variance : float64[R]
        A, kappa and v.
    usual, independent : float64[R]
        mu and tau^2.
    placed, dealt : float64[R]
        Further variance, which says nothing about the real count: by where workers of a point that H cuts live, and by
        which workers of a unit that was drawn together belong to the count.
    cut : float64[R]
        Released workers in points that H cuts.
    moved : float64[R]
        Workers whom placing homes by population may have moved.
    """

    read: Floats
    gained: Floats
    kept: Floats
    variance: Floats
    usual: Floats
    independent: Floats
    placed: Floats
    dealt: Floats
    cut: Floats
    moved: Floats


def add_up(counts: NoisyCounts) -> Floats:
    """Return what the counts of one workplace tract add to the sums that :func:`errors_of` needs: float64[12, R]."""
    read, gained, kept, variance, usual, independent, placed, dealt, cut, moved = counts
    away = read - gained - kept * usual
    total = kept**2 * independent + variance + _TINY
    gain = kept * independent / total
    left = 1.0 - gain * kept
    return np.stack(
        [
            read,
            usual,
            (kept * usual) ** 2 / total,
            kept * usual * away / total,
            gain * away,
            gain * kept * usual,
            left * independent,
            left * usual,
            placed,
            dealt,
            cut,
            moved,
        ]
    )


def errors_of(sums: Floats, least: float = 0.0) -> tuple[Floats, Floats, Floats]:
    """Return bias, variance and placement of R counts from sums over workplace tracts.

    Parameters
    ----------
    sums : float64[12, R]
        Sums of :func:`add_up`.
    least : float
        No real count is below it.
    """
    read, usual, weight, weighted, found, shifted, open_variance, open_usual, placed, dealt, cut, moved = sums
    precision = 1.0 / COMMON**2 + weight
    factor = weighted / precision
    real = np.maximum(usual + factor * usual + found - factor * shifted, least)
    placed = np.maximum(placed, np.minimum(cut, 1.0))
    return read - real, open_variance + open_usual**2 / precision + placed + dealt, np.abs(moved)


def independent_variance(
    workers: Floats, values: Floats, squares: Floats, share: Floats, even: Floats
) -> Floats:
    """Return tau^2 of R sums: the prior's own error in one workplace tract, and the chance of single workers.

    Parameters
    ----------
    workers : float64[R]
        Workers of each sum in the tract.
    values, squares : float64[R, K]
        Mean and mean square of a worker's value in each support point; in a count, 1 in H and 0 elsewhere.
    share, even : float64[K]
        Public prior share of each point, and its share in a uniform draw of points.
    """
    wide = (1.0 - STRAY) * share + STRAY * even
    return np.asarray((PAIR * workers) ** 2 * (values**2 @ wide**2) + workers * (squares @ wide))
