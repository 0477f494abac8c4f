"""The chance that a worker who is alone in a synthesizer keeps the true support point, in closed form.

Epsilon bounds what any release can say about one worker. This chance says what happens to the most exposed worker: the
only one in a workplace block and segment. It depends on public quantities alone: support points, prior weights,
retention and the promise. If it depends on where the worker lives, it is an average over support points.

All integrals are of the form E[y/(y + X)] = integral over t from 0 to 1 of y t^(y - 1) E[t^X], with X the weight of all
other points, and E[t^X] is a product over points. They are found by Gauss-Legendre quadrature after t = u^4, which
makes the integrand smooth at 0.

Source: docs/theory/method.md, section 7g.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

__all__ = ["stay_apart", "stay_weighted"]

_NODES: Final = 40
_POWER: Final = 4


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Return log t and weights of an integral over t from 0 to 1."""
    x, weight = np.polynomial.legendre.leggauss(_NODES)
    u = (x + 1.0) / 2.0
    return _POWER * np.log(u), weight / 2.0 * _POWER * u ** (_POWER - 1)


def stay_weighted(alpha: Floats, retention: Floats, home: Floats) -> float:
    """Chance under the Dirichlet-multinomial with pruning, n = m = 1.

    The worker's own point is never pruned and is drawn with chance (1 + alpha_i)/(1 + the kept weights).

    Parameters
    ----------
    alpha : float64[k]
        Prior weights, above 0.
    retention : float64[k]
        Chance that each empty point is kept; 1 where points are not pruned.
    home : float64[k]
        Weight of each support point in the average over homes: shares that sum to 1, or these times the chance that
        something else happens to a worker who keeps the point.

    Returns
    -------
    float
    """
    kinds, of_kind = np.unique(alpha + 1j * retention, return_inverse=True)
    weight, kept = kinds.real.copy()[:, None], kinds.imag.copy()[:, None]
    times = np.bincount(of_kind, minlength=kinds.size)
    homes = np.bincount(of_kind, home, kinds.size)
    log_t, step = _quadrature()
    with np.errstate(divide="ignore"):
        log_factor = np.logaddexp(np.log1p(-kept), np.log(kept) + weight * log_t)
    log_all = times @ log_factor
    # The worker's own point is certain: its factor is t^alpha in place of 1 - f + f t^alpha.
    of_home = np.exp(log_all - log_factor + weight * log_t) @ step
    return float(homes @ ((1.0 + weight[:, 0]) * of_home))


@lru_cache(maxsize=1 << 14)  # many tracts have as many points, and moves at the workbench ask again
def stay_apart(inverse_theta: float, n_points: int, n_workers: int, price: float = 1.0) -> float:
    """Chance of each of n workers to keep the point, under the exponential mechanism, if all live in different points.

    C(n, J) C(k - n, h) C(n - 1, J - h) tables are J workers away and have h new points: J - h occupied points fewer.
    For one worker the chance is E/(E + k - 1), E = e^epsilon.

    Parameters
    ----------
    inverse_theta : float
        1/theta, at least 1.
    n_points, n_workers : int
        k and n, n at most k.
    price : float
        Weight of every occupied point, above 0 and at most 1.
    """
    from scipy.special import logsumexp  # here because it takes long, and few functions need it

    moved = np.arange(min(n_workers, n_points - 1) + 1, dtype=np.float64)
    weight = (
        _log_choose(n_workers, moved)
        + _log_ways(moved, n_points, n_workers, price)
        - moved * math.log(inverse_theta)
    )
    return float(1.0 - np.exp(weight - logsumexp(weight)) @ moved / n_workers)


def _log_ways(moved: Floats, n_points: int, n_workers: int, price: float) -> Floats:
    """Return the logarithm of the weight of all ways to place the moved workers: C(k - 1, J) without a price."""
    if price == 1.0:
        return _log_choose(n_points - 1, moved)
    from scipy.special import logsumexp

    new = np.arange(moved.size, dtype=np.float64)
    joined = moved[:, None] - new
    possible = (joined >= 0) & (joined <= n_workers - 1) & (new <= n_points - n_workers)
    old = np.where(possible, joined, 0.0)
    fresh = np.where(possible, new, 0.0)
    log_ways = (
        _log_choose(n_points - n_workers, fresh) + _log_choose(n_workers - 1, old) - old * math.log(price)
    )
    return np.asarray(logsumexp(np.where(possible, log_ways, -np.inf), axis=1))


def _log_choose(n: int, taken: Floats) -> Floats:
    from scipy.special import gammaln

    return np.asarray(gammaln(n + 1.0) - gammaln(taken + 1.0) - gammaln(n - taken + 1.0))
