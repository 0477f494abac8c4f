"""What real counts a noisy release makes likely, given the public prior: the estimate behind expected errors.

The workers of tract t are in J classes of tables, a part w_j of them in class j. A count C_j of released workers of
class j who live in H has the expectation A_j + kappa_j X_j, where X_j is the real count, A_j the workers whom noise is
expected to put into H, and kappa_j the part of the real ones who are expected to stay. A, kappa and the variance v of C
follow from the mechanism. The public prior expects mu workers in all. Three things are unknown: a common factor
1 + alpha of the whole count, with a relative error of `COMMON`; the homes of each workplace tract, Z, with a variance
tau^2 around (1 + alpha) mu; and those of each class, X_j, with a variance omega_j^2 around w_j Z (`prior_variances`).
With S_j = kappa_j^2 omega_j^2 + v_j and q = kappa_j omega_j^2 / S_j,

    P           sum over classes of kappa^2 w^2/S        what the classes say about Z: information
    b           sum over classes of kappa w (C - A)/S    and that times the value
    alpha       sum over tracts of mu (b - P mu)/(1 + tau^2 P)  /  (1/COMMON^2 + sum of mu^2 P/(1 + tau^2 P))
    E[Z]        ((1 + alpha) mu + tau^2 b)/(1 + tau^2 P)
    E[X_j]      w_j E[Z] + q (C_j - A_j - kappa_j w_j E[Z])
    Var[X]      sum over classes of (1 - q kappa) omega^2, plus what the uncertainty of Z and alpha adds

These are the usual formulas of a linear mixed model. The expected error of C is the root of (C - sum of E[X])^2 +
Var[X]. If noise is small, X is (C - A)/kappa, and the prior has no effect; if nearly all workers are redrawn, X is what
the prior expects, within its error.

Small tables show little of their workers' homes, so what large tables show takes the place of it. But the homes of both
differ, in all tracts alike. If e_j is how the error of sum of E[X] depends on the share of H in class j, this adds an
error of u = `UNLIKE` times half the sum of |e_j|, where sums are over tracts first. The classes show it themselves, if
noise leaves them: U = sum of (C_j - A_j)/kappa_j has the mean X whatever the homes of the classes are, with the
variance sum of v_j/kappa_j^2. So the part f = u^2/(u^2 + Var[U] - Var[X]) of the difference between U and E[X] is added
to E[X], and u becomes u times the root of 1 - f. Cleaned counts have no such U: the prior had a part in the cleaning.

Where H cuts a support point, homes within it may be astray: those of one workplace tract by `ASTRAY` times what the
gravity model says, about `NEIGHBORS` of them alike, and never by more than if all went astray the same way: where the
model moves homes toward some workplaces and away from others, one does not make up for the other. What all tracts have
in common is only `TOWARD` of the sum, because the residents of a place are about as many as its people let expect.

Somebody in a point that H cuts may live in H or not, so the error of such a count is at least one worker.

Averaged over releases, the error stated for a count is no less than its real one where the prior has no effect: the
variance of C enters twice, once through the estimate of X.

Source: docs/theory/expected-errors.md, "Under the exponential mechanism".
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

__all__ = [
    "APART",
    "ASTRAY",
    "CLASS",
    "COMMON",
    "NEIGHBORS",
    "PAIR",
    "STRAY",
    "TOWARD",
    "UNLIKE",
    "WITHIN",
    "NoisyCounts",
    "add_up",
    "errors_of",
    "expected_count",
    "prior_variances",
]

COMMON: Final = 1.0
"""Relative error of the public prior of a whole count: right to within a factor of about two."""
PAIR: Final = 6.0
"""Relative error of the public prior of one workplace tract and support point: right to within a factor of seven."""
CLASS: Final = 1.0
"""Relative error of supposing that a class of tables has the same homes as its tract, for one support point."""
UNLIKE: Final = 0.35
"""Relative difference of the homes of workers in small and in large tables, the same for all points of a count."""
APART: Final = 0.1
"""The same difference between a part of a unit that was drawn together, or of what cleaning changed, and the rest."""
WITHIN: Final = 0.5
"""Relative error of the share of one home tract in a support point."""
TOWARD: Final = 0.3
"""How far homes within support points go toward the gravity model in all workplace tracts alike, as a part of the way:
all tracts together have about as many residents at work as people, whatever the gravity model says of each."""
ASTRAY: Final = 1.5
"""How far the homes of one workplace tract are from where people live, in multiples of what the gravity model says."""
NEIGHBORS: Final = 8.0
"""Workplace tracts, as many as in a town, whose homes are astray alike."""
STRAY: Final = 0.05
"""Part of the workers who may live anywhere, because the prior puts nobody in some places."""

_TINY: Final = 1e-9


class NoisyCounts(NamedTuple):
    """R counts in one workplace tract, by J classes of tables.

    Attributes
    ----------
    read, gained, variance : float64[R, J]
        Released counts C, A and v.
    kept : float64[J] or float64[R, J]
        kappa.
    part : float64[R, J]
        w.
    usual, common : float64[R]
        mu and tau^2.
    independent, sampled : float64[R, J]
        The two parts of omega^2: of homes that differ by class, and of a few workers taken from many.
    placed, dealt : float64[R]
        Further variance, which says nothing about the real count: by where workers of a point that H cuts live, and by
        which workers of a unit that was drawn together belong to the count.
    apart : float64[R]
        Expected workers of a count that covers units in part, whose homes may differ from those of the rest alike.
    cut : float64[R]
        Released workers in points that H cuts.
    moved : float64[R]
        Workers whom placing homes by population may have moved.
    within : float64[R]
        Root of the part of `placed` that is due to shares of tracts in the points that H cuts: they may differ from the
        public ones, in all workplace tracts alike.
    """

    read: Floats
    gained: Floats
    kept: Floats
    variance: Floats
    part: Floats
    usual: Floats
    common: Floats
    independent: Floats
    sampled: Floats
    placed: Floats
    dealt: Floats
    apart: Floats
    cut: Floats
    moved: Floats
    within: Floats


class _Said(NamedTuple):
    """What all classes say together about the workers whom a tract has in H, and the weights of what each says.

    Attributes
    ----------
    total, gain : float64[R, J]
        S and q.
    known, value, open_part : float64[R]
        P, b and 1/(1 + tau^2 P).
    """

    total: Floats
    gain: Floats
    known: Floats
    value: Floats
    open_part: Floats

    @classmethod
    def of(cls, counts: NoisyCounts, differ: Floats) -> _Said:
        """Return it if homes of classes have the variance omega^2 = `differ`."""
        kept, part = counts.kept, counts.part
        total = kept**2 * differ + counts.variance + _TINY
        known = (kept**2 * part**2 / total).sum(axis=-1)
        value = (kept * part * (counts.read - counts.gained) / total).sum(axis=-1)
        return cls(total, kept * differ / total, known, value, 1.0 / (1.0 + counts.common * known))


def expected_count(counts: NoisyCounts) -> Floats:
    """Return E[Z] of one workplace tract, if the prior's common factor is right."""
    said = _Said.of(counts, counts.independent + counts.sampled)
    return np.asarray((counts.usual + counts.common * said.value) * said.open_part)


def _differences(counts: NoisyCounts) -> Floats:
    """Return omega^2 of R counts.

    Homes of classes differ by a factor, so where more workers are expected in H than the prior says, they differ more.
    """
    usual = np.maximum(np.maximum(counts.usual, counts.sampled.sum(axis=-1)), _TINY)
    more = np.maximum(expected_count(counts) / usual, 1.0)[..., None]
    return np.asarray(counts.independent * more**2 + counts.sampled * more)


def add_up(counts: NoisyCounts, *, is_count: bool = True) -> Floats:
    """Return what the counts of one workplace tract add to the sums that :func:`errors_of` needs: float64[18, R].

    Several tracts may lead all arrays as a further dimension, which is then the second one of the result.

    Sums over workers need not be positive, so there the differences of classes remain those that the prior expects.
    """
    kept, part, usual, common = counts.kept, counts.part, counts.usual, counts.common
    away = counts.read - counts.gained
    differ = _differences(counts) if is_count else counts.independent + counts.sampled
    total, gain, known, said, open_part = _Said.of(counts, differ)
    left = 1.0 - gain * kept
    passed = (part * left).sum(axis=-1)
    passed_found = passed * (usual + common * said) * open_part
    # The estimate follows the homes of some classes, the real count those of others; this is the difference.
    learnt = kept**2 * part**2 / total * (passed * common * open_part)[..., None]
    follows = part * left - learnt
    unlike = np.abs(follows - part * follows.sum(axis=-1, keepdims=True)).sum(axis=-1) / 2.0
    stays = np.maximum(kept, _TINY)
    return np.stack(
        [
            counts.read.sum(axis=-1),
            usual**2 * known * open_part,
            usual * (said - known * usual) * open_part,
            (gain * away).sum(axis=-1) + passed_found,
            passed * usual * open_part,
            unlike * (usual + common * said) * open_part,
            unlike * usual * open_part,
            (away / stays).sum(axis=-1),
            (counts.variance / stays**2).sum(axis=-1),
            counts.apart,
            (left * differ).sum(axis=-1) + passed**2 * common * open_part,
            counts.placed,
            counts.dealt,
            counts.cut,
            counts.moved,
            counts.moved**2,
            np.abs(counts.moved),
            counts.within,
        ]
    )


def errors_of(sums: Floats, least: float = 0.0, *, is_plain: bool = True) -> tuple[Floats, Floats, Floats]:
    """Return bias, variance and placement of R counts from sums over workplace tracts.

    Parameters
    ----------
    sums : float64[18, R]
        Sums of :func:`add_up`.
    least : float
        No real count is below it.
    is_plain : bool
        Whether counts still have the expectation A + kappa X, which cleaning changes by what the prior expects.
    """
    read, weight, weighted, estimate, open_usual, unlike, unlike_usual, plain, plain_variance, *rest = sums
    apart, open_variance, placed, dealt, cut, moved, moved_square, moved_size, within = rest
    precision = 1.0 / COMMON**2 + weight
    factor = weighted / precision
    real = estimate + factor * open_usual
    variance = open_variance + open_usual**2 / precision
    unlike = UNLIKE * (unlike + factor * unlike_usual)
    shown = is_plain * unlike**2 / (unlike**2 + np.maximum(plain_variance - variance, 0.0) + _TINY)
    real = np.maximum(real + shown * (plain - real), least)
    left = np.abs(unlike) * np.sqrt(1.0 - shown) + APART * apart
    placed = np.maximum(placed, np.minimum(cut, 1.0))
    local = np.minimum(moved_size**2, NEIGHBORS * moved_square)
    placement = np.sqrt((TOWARD * moved) ** 2 + ASTRAY**2 * local)
    return read - real, variance + left**2 + (UNLIKE * within) ** 2 + placed + dealt, placement


def prior_variances(workers: Floats, off: Floats, single: Floats) -> dict[str, Floats]:
    """Return tau^2 and omega^2 of R sums: errors of the prior in a workplace tract, and in each class of its tables.

    Several tracts may lead all arrays as a further dimension.

    Parameters
    ----------
    workers : float64[R, J]
        Workers of each sum in the tract, by class.
    off, single : float64[R]
        Sums over support points: of the squared mean of a worker's value times the squared share of the point, and of
        the mean square times the share. Shares are those of the public prior, and for a part of `STRAY` those of a
        uniform draw of points.
    """
    return {
        "common": (PAIR * workers.sum(axis=-1)) ** 2 * off,
        "independent": (CLASS * workers) ** 2 * off[..., None],
        "sampled": workers * single[..., None],
    }
