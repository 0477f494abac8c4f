"""How many workers of each point the exponential mechanism redraws, by the released tables.

The mechanism frees a capped geometric number min(G, x) of the x workers of every point, P(G = g) = (1 - theta) theta^g,
and lays all R freed workers out as a uniform multiset of the k points. A table that frees R workers counts
C(k - 1 + R, R) times, so the points depend on each other through R alone. For one point that frees r workers while the
others free R', the weight is P(min(G, x) = r) times the product over i = 1 ... r of (k + R' + i - 1)/(R' + i). Here R'
is replaced by one number for each table, the `elsewhere` for which 1/(1 + elsewhere) is the mean of 1/(1 + R'). E[R] is
exact for a single point, and within a few percent otherwise (`test_redrawn_workers` compares it with
the law).

With a price c below 1 (up to 20 workers), an empty point receives its first worker with weight c. Points free their
workers with c (1 - theta) theta^r, and R freed workers weigh about the product over i of (K + more i) / (i + 1), with
s occupied points, K = s + c (k - s) and more = 1 + (1 - c) c (k - s) / K: as k' = K / more points and theta' = theta
more do without a price. Of the R workers, R c k / K are then spread evenly over all points. The others, R (1 - c) / K
for each occupied point, return to occupied points and count as kept.

Source: docs/theory/method.md, section 7d; docs/theory/expected-errors.md, "Under the exponential mechanism".
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

__all__ = ["FULLNESS", "Redrawn", "expect_redrawn"]

FULLNESS: Final = np.array([1, 2, 3, 5, 8, 12, 20, 32, 64, 128, 256, 1024])
"""Numbers of workers in one point for which losses are told."""

_NODES: Final = 40
_MOST: Final = 1 << 10
"""More workers of one point are never redrawn in practice."""
_FEW: Final = 1 << 5
"""Tables of at most this many workers are looked up by that number alone, so that few tables are made."""
_NEARLY_POISSON: Final = 1e-6


class Redrawn(NamedTuple):
    """What the mechanism redraws, by point of a table and by table.

    Attributes
    ----------
    mean, variance : float64[rows]
        Of the number of workers whom each occupied point loses.
    of_table, variance_of_table : float64[tables]
        The same for the R workers whom a table redraws.
    lost_at : float64[tables, len(FULLNESS)]
        Workers whom a point would lose that has so many, in each table.
    """

    mean: Floats
    variance: Floats
    of_table: Floats
    variance_of_table: Floats
    lost_at: Floats


class _OfPoints(NamedTuple):
    """What points of 0, 1, ... workers lose in tables with the same theta, by node of `elsewhere`.

    Attributes
    ----------
    nodes : float64[nodes]
    mean, variance : float64[counts, nodes]
    """

    nodes: Floats
    mean: Floats
    variance: Floats


def expect_redrawn(
    n_points: int, theta: npt.ArrayLike, first: Ints, counts: Ints, price: npt.ArrayLike = 1.0
) -> Redrawn:
    """Return the moments of the redrawn workers of several tables.

    Parameters
    ----------
    n_points : int
        Support points k, occupied or not; at least 2.
    theta : float or float64[tables]
        Between 0 and 1.
    first : int64[tables]
        Where the counts of each table begin.
    counts : int64[rows]
        Workers of the occupied points, table by table; all at least 1.
    price : float or float64[tables]
        Weight of an occupied point, the same for tables of equally many workers; above 0 and at most 1.
    """
    settings = np.stack([np.broadcast_to(setting, first.shape) for setting in (theta, price)]).astype(
        np.float64
    )
    unique, kind = np.unique(settings, axis=1, return_inverse=True)
    kind, size = kind.reshape(-1), np.diff(np.append(first, counts.size))
    n_mean = np.bincount(kind, np.add.reduceat(counts, first)) / np.bincount(kind)
    like = _remove_price(n_points, unique, n_mean)
    most = np.zeros((2, n_mean.size), dtype=np.int64)
    np.maximum.at(most[0], kind, np.add.reduceat(counts, first))
    np.maximum.at(most[1], kind, np.maximum.reduceat(counts, first))
    made = [
        _of_points(*law, *of_kind)
        for law, of_kind in zip(like.T.tolist(), _sizes(most).T.tolist(), strict=True)
    ]
    moments = _moments(made, like[0][kind], kind, first, counts)
    # Freed workers who return to occupied points count as kept.
    c = unique[1][kind]
    weight = size + c * (n_points - size)
    spread = c * n_points / weight
    return Redrawn(
        moments.mean - np.repeat(moments.of_table * (1.0 - c) / weight, size),
        moments.variance,
        moments.of_table * spread,
        moments.variance_of_table * spread**2,
        np.maximum(moments.lost_at - (moments.of_table * (1.0 - c) / weight)[:, None], 0.0),
    )


def _remove_price(n_points: int, settings: Floats, n_workers: Floats) -> Floats:
    """Return points, theta and factor of fewer than all workers for which a table without a price is about alike.

    Parameters
    ----------
    settings : float64[2, kinds]
        Theta and price.
    n_workers : float64[kinds]
        Mean workers of a table.
    """
    theta, price = settings
    # Between all workers in one point and all apart: it hardly matters where there are many points.
    occupied = np.minimum((1.0 + n_workers) / 2.0, n_points)
    weight = np.where(price == 1.0, n_points, occupied + price * (n_points - occupied))
    more = 1.0 + (1.0 - price) * (1.0 - occupied / weight)
    return np.stack([weight / more, theta * more, price * (1.0 - theta)])


def _moments(made: list[_OfPoints], n_points: Floats, kind: Ints, first: Ints, counts: Ints) -> Redrawn:
    """Return the moments of tables of several kinds, from what points lose in each kind of table."""
    size = np.diff(np.append(first, counts.size))
    nodes = np.stack([points.nodes for points in made])[kind]
    means, variances = (np.concatenate(all_of) for all_of in list(zip(*made, strict=True))[1:])
    start = np.cumsum([len(points.mean) for points in made]) - [len(points.mean) for points in made]
    at_row = np.repeat(start[kind], size) + np.minimum(counts, _MOST)
    by_node = means[at_row]
    mean, variance = (np.add.reduceat(of, first, axis=0) for of in (by_node, variances[at_row]))
    own = np.add.reduceat(by_node**2, first, axis=0) / mean
    implied = _elsewhere(mean - own, variance * (1.0 - own / mean), nodes, n_points[:, None])
    at, part = _find_crossing((implied - nodes).T)
    row_at, row_part = np.repeat(at, size), np.repeat(part, size)

    def of_rows(table: Floats) -> Floats:
        low, high = table[at_row, row_at], table[at_row, row_at + 1]
        return np.asarray(low + row_part * (high - low))

    lost, spread = of_rows(means), of_rows(variances)
    whole = np.add.reduceat(spread, first)
    # A point's own law has the curvature of the weight in it; that of the others is still missing.
    others = whole - np.add.reduceat(spread**2, first) / whole
    table = np.arange(kind.size)
    elsewhere = nodes[table, at] + part * (nodes[table, at + 1] - nodes[table, at])
    freed = np.add.reduceat(lost, first).astype(np.float64)
    longest = np.array([len(points.mean) for points in made])[kind] - 1
    full = start[kind][:, None] + np.minimum(FULLNESS, longest[:, None])
    below, beyond = means[full, at[:, None]], means[full, at[:, None] + 1]
    return Redrawn(
        lost,
        spread,
        freed,
        np.asarray(whole * _hold_variance(others, elsewhere, n_points)),
        below + part[:, None] * (beyond - below),
    )


def _sizes(most: Ints) -> Ints:
    """Return powers of two no less than the workers of tables and of their points, so that few tables are made."""
    workers, fullest = 1 << np.ceil(np.log2(np.maximum(most, 2))).astype(np.int64)
    return np.stack([workers, np.where(workers <= _FEW, workers, np.minimum(fullest, _MOST))])


@lru_cache(maxsize=8192)
def _of_points(n_points: float, theta: float, stays: float, most: int, largest: int) -> _OfPoints:
    """Return mean and variance of what points of up to `largest` workers lose in tables of up to `most`.

    Points free r workers with ``stays`` theta^r, and all x of them with theta^x.
    """
    nodes = np.expm1(np.linspace(0.0, math.log1p(most), _NODES))
    freed = np.arange(1, largest + 1)[:, None]
    steps = np.log(theta * (n_points + nodes + freed - 1) / (nodes + freed))
    weight = np.concatenate([np.zeros((1, _NODES)), np.cumsum(steps, axis=0)])
    # Logarithms of the sums of r^0, r^1 and r^2 times the weights. A point that loses all its x workers stops at x, so
    # its weight lacks the factor ``stays``.
    with np.errstate(divide="ignore"):
        powers = np.stack([np.zeros(largest + 1), log_r := np.log(np.arange(largest + 1)), 2 * log_r])
    terms = weight + powers[..., None]
    fewer = np.full_like(terms, -np.inf)
    fewer[:, 1:] = np.logaddexp.accumulate(terms, axis=1)[:, :-1]
    total, first, second = np.logaddexp(fewer, terms - math.log(stays))
    mean = np.exp(first - total)
    return _OfPoints(nodes, mean, np.maximum(np.exp(second - total) - mean**2, 0.0))


def _elsewhere(mean: Floats, variance: Floats, nodes: Floats, n_points: Floats) -> Floats:
    """Return the number r for which 1/(1 + r) is the mean of 1/(1 + R'), R' binomial or nearly so."""
    mean = np.maximum(mean, 0.0)
    held = variance * _hold_variance(variance, nodes, n_points)
    short = 1.0 - held / np.maximum(mean, 1e-300)
    poisson = np.abs(short) < _NEARLY_POISSON
    short = np.clip(np.where(poisson, _NEARLY_POISSON, short), -1e6, 1.0 - 1e-12)
    none = np.exp((mean / short + 1.0) * np.log1p(-short))
    return np.asarray((mean + short) / (1.0 - none) - 1.0)


def _hold_variance(variance: Floats, nodes: Floats, n_points: Floats) -> Floats:
    """Return what is left of a sum's variance as larger sums weigh less: the weight's logarithm is concave in R."""
    return np.asarray(1.0 / (1.0 + variance * (1.0 / (nodes + 1.0) - 1.0 / (n_points + nodes))))


def _find_crossing(above: Floats) -> tuple[Ints, Floats]:
    """Return the node before each column's change of sign from positive to negative, and the part of the way beyond."""
    at = np.clip(np.argmax(above < 0, axis=0) - 1, 0, len(above) - 2)
    at = np.where((above < 0).any(axis=0), at, len(above) - 2)
    column = np.arange(above.shape[1])
    low, high = above[at, column], above[at + 1, column]
    return at, np.clip(low / np.where(low == high, 1.0, low - high), 0.0, 1.0)
