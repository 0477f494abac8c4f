"""How many real workers of each point a table with projected geometric noise shows, without a prior.

Every count x gets noise Z with P(z) proportional to q^|z|, and all counts are lowered by the same whole number L or, in
a part f of the points that show workers, by L + 1, so that the total is right. Let lambda = L + f. A point that is
really empty shows m > 0 workers with the chance

    P = q^(L + 1) (1 - f (1 - q)) / (1 + q),

a mean of P/(1 - q), and a mean square of q^(L + 1) ((1 + q)/(1 - q)^2 - 2 f/(1 - q) + f)/(1 + q).

The estimate T(m) of the real workers is m + lambda for m > 0, and T(0) is the number for which the mean of T is 0 where
nobody lives. Full points are estimated without bias, too; points with fewer than about lambda workers are
underestimated. Lambda is the number for which all T add up to the public total. It varies with the noise of all points,
by about the root of their variance over the points that show workers. V(m), the estimated variance of T, is that of
the noise and of f, 2 q/(1 - q)^2 + f (1 - f) averaged over lambda, for m > 0, and V(0) is the number for which the mean
of V is the variance of T where nobody lives.

Source: docs/method.md, section 7e; docs/validity.md, "Under mechanisms that add noise".
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

__all__ = ["ProjectedPoints", "projected_points"]

_HALVINGS: Final = 50
_NORMAL: Final = np.array([NormalDist().inv_cdf((place + 0.5) / 32) for place in range(32)])
"""Equally likely values of a normal number."""


class ProjectedPoints(NamedTuple):
    """Estimates of the real workers of the points of several tables.

    Attributes
    ----------
    lowered : float64[tables]
        Lambda: T(m) - m of every point that shows workers.
    variance : float64[tables]
        V of these points.
    empty, empty_variance : float64[tables]
        T and V of a point that shows nobody.
    """

    lowered: Floats
    variance: Floats
    empty: Floats
    empty_variance: Floats


class _Empty(NamedTuple):
    """What a point shows that is really empty: the chance of workers, their mean, and their mean square."""

    chance: Floats
    mean: Floats
    square: Floats

    @classmethod
    def of(cls, q: float, lowered: Floats) -> _Empty:
        part = lowered % 1.0
        above = q ** (np.floor(lowered) + 1.0) / (1.0 + q)
        mean = above * (1.0 / (1.0 - q) - part)
        square = above * ((1.0 + q) / (1.0 - q) ** 2 - 2.0 * part / (1.0 - q) + part)
        return cls(above * (1.0 - part * (1.0 - q)), mean, square)

    def estimate(self, lowered: Floats) -> Floats:
        """Return T(0)."""
        return np.asarray(-(self.mean + lowered * self.chance) / (1.0 - self.chance))


def projected_points(q: float, shown: Floats, n_points: float) -> ProjectedPoints:
    """Return estimates for tables that show workers in some of their points.

    Parameters
    ----------
    q : float
        e^(-epsilon/2).
    shown : float64[tables]
        Points that show workers.
    n_points : float
        All points.
    """
    low = np.zeros(shown.size)
    high = np.full(shown.size, 1.0 + math.log(max(n_points, 1.0)) / -math.log(q))
    hidden = np.maximum(n_points - shown, 0.0)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        above = middle * shown + hidden * _Empty.of(q, middle).estimate(middle) > 0
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    lowered = (low + high) / 2.0
    law = _Empty.of(q, lowered)
    empty, noise = law.estimate(lowered), 2.0 * q / (1.0 - q) ** 2
    of_all = shown * noise + hidden * np.maximum(law.square - law.mean**2, 0.0)
    part = (lowered + np.sqrt(of_all) / np.maximum(shown, 1.0) * _NORMAL[:, None]) % 1.0
    variance = noise + (part * (1.0 - part)).mean(axis=0)
    square = law.square + 2.0 * lowered * law.mean + lowered**2 * law.chance + empty**2 * (1.0 - law.chance)
    return ProjectedPoints(lowered, variance, empty, (square - variance * law.chance) / (1.0 - law.chance))
