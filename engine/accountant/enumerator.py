"""Exact failure probabilities by brute force: the oracle against which every accountant is tested.

For a few support points and workers everything can be listed: all tables, all kept sets, all outputs, all pairs of
neighboring tables. Nothing here is bounded or approximated; probabilities are exact up to double rounding.

Source: P08 Definitions 5 and 6, Algorithms 1 and 2.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from engine.errors import ParameterError

__all__ = [
    "ExactFailure",
    "compositions",
    "disclosure_set",
    "exact_failure",
    "exact_failure_probability",
    "largest_log_ratio",
    "plugin_transition",
    "transition_matrix",
]

_MOST_SUPPORT_POINTS = 4
_MOST_WORKERS = 6

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class ExactFailure:
    """The exact failure probability of a mechanism.

    Attributes
    ----------
    probability : float
        The largest probability, over all tables, of an output in the table's disclosure set.
    worst_table : tuple of int or None
        A table that attains it; None if no output can fail.
    """

    probability: float
    worst_table: tuple[int, ...] | None


def compositions(total: int, parts: int) -> Ints:
    """All vectors of `parts` non-negative integers that sum to `total`: int64[n_vectors, parts]."""
    places = list(itertools.combinations(range(total + parts - 1), parts - 1))
    bars = np.array(places, dtype=np.int64).reshape(len(places), parts - 1)
    first = np.full((bars.shape[0], 1), -1, dtype=np.int64)
    last = np.full((bars.shape[0], 1), total + parts - 1, dtype=np.int64)
    walls = np.hstack([first, bars, last])
    return walls[:, 1:] - walls[:, :-1] - 1


def transition_matrix(
    n: int, m: int, prior_weight: Sequence[float], retention: Sequence[float] | None = None
) -> Floats:
    """Probability of every output given every table, with pruning.

    Parameters
    ----------
    n, m : int
        Workers in the table and in the output, at most 6.
    prior_weight : sequence of float
        alpha_i > 0 of at most 4 support points.
    retention : sequence of float, optional
        f_i, the probability of keeping a point without workers; by default nothing is pruned.

    Returns
    -------
    float64[n_tables, n_outputs]
        In the orders of ``compositions(n, k)`` and ``compositions(m, k)``.

    Raises
    ------
    ParameterError
        The case is too large to enumerate, or a weight or retention is outside its range.

    Notes
    -----
    The output is m alone; which points were kept stays hidden, so kept sets are summed over.

    Source: P08 Algorithms 1 and 2.
    """
    alpha = np.asarray(prior_weight, dtype=np.float64)
    kept_chance = np.ones_like(alpha) if retention is None else np.asarray(retention, dtype=np.float64)
    _require_small(n, m, alpha, kept_chance)
    tables, outputs = compositions(n, alpha.size), compositions(m, alpha.size)
    probability = np.zeros((tables.shape[0], outputs.shape[0]))
    for pattern in itertools.product((False, True), repeat=alpha.size):
        kept = np.array(pattern)
        chance = _kept_chance(tables, kept, kept_chance)
        possible = np.flatnonzero(chance > 0)
        if possible.size and kept.any():
            drawn = _dirichlet_multinomial(tables[possible], outputs, alpha, kept)
            probability[possible] += chance[possible, None] * drawn
    return probability


def plugin_transition(n: int, m: int, prior_weight: Sequence[float]) -> Floats:
    """Probability of every output when drawn from the posterior mean: what P10's example table holds.

    Source: P10 "The Multinomial-Dirichlet Synthesizer"; printed as an expectation over the posterior, its
    numbers are multinomial with p_i = (n_i + alpha_i) / (n + |alpha|).
    """
    alpha = np.asarray(prior_weight, dtype=np.float64)
    tables, outputs = compositions(n, alpha.size), compositions(m, alpha.size)
    share = (tables + alpha) / (n + alpha.sum())
    powers: Floats = np.prod(share[:, None, :] ** outputs[None, :, :], axis=2)
    return _arrangements(outputs)[None, :] * powers


def disclosure_set(tables: Ints, probability: Floats, epsilon: float) -> Bools:
    """Which outputs are in the disclosure set of which table.

    Parameters
    ----------
    tables : int64[n_tables, k]
        All tables of n workers.
    probability : float64[n_tables, n_outputs]
        Probability of every output given every table.
    epsilon : float
        Bound on the log likelihood ratio.

    Returns
    -------
    bool[n_tables, n_outputs]

    Notes
    -----
    An output fails for D if there are tables X1 and X2, each equal to D or one worker away from it, and one worker
    away from each other, whose likelihoods of the output have a ratio above e^epsilon. An output that X1 can give and
    X2 cannot also fails.

    Source: P08 Definition 5.
    """
    moved = np.abs(tables[:, None, :] - tables[None, :, :]).sum(axis=2) // 2
    near, apart = moved <= 1, moved == 1
    failing = np.zeros(probability.shape, dtype=np.bool_)
    limit = math.exp(epsilon) * probability
    for first, second in np.argwhere(apart):
        exceeds = probability[first] > limit[second]
        if exceeds.any():
            witnesses = near[first] & near[second]
            failing |= witnesses[:, None] & exceeds[None, :]
    return failing


def exact_failure(tables: Ints, probability: Floats, epsilon: float) -> ExactFailure:
    """Failure probability of any mechanism given by its transition matrix, and the worst table.

    Source: P08 Definition 6.
    """
    by_table = np.where(disclosure_set(tables, probability, epsilon), probability, 0.0).sum(axis=1)
    worst = int(np.argmax(by_table))
    if by_table[worst] == 0:
        return ExactFailure(0.0, None)
    return ExactFailure(float(by_table[worst]), tuple(int(count) for count in tables[worst]))


def exact_failure_probability(
    n: int, m: int, prior_weight: Sequence[float], retention: Sequence[float] | None, epsilon: float
) -> ExactFailure:
    """Exact failure probability of the pruned Dirichlet-multinomial mechanism.

    Parameters
    ----------
    n, m : int
        Workers in the table and in the output, at most 6.
    prior_weight : sequence of float
        alpha_i of at most 4 support points.
    retention : sequence of float or None
        f_i; None prunes nothing.
    epsilon : float
        Bound on the log likelihood ratio of the whole, pruning included.

    Returns
    -------
    ExactFailure
        Worst over all tables of n workers.

    Notes
    -----
    Source: P08 Definitions 5 and 6, Algorithms 1 and 2.
    """
    probability = transition_matrix(n, m, prior_weight, retention)
    return exact_failure(compositions(n, len(prior_weight)), probability, epsilon)


def largest_log_ratio(tables: Ints, probability: Floats) -> float:
    """Least epsilon at which nothing fails: the largest log likelihood ratio of neighboring tables."""
    moved = np.abs(tables[:, None, :] - tables[None, :, :]).sum(axis=2) // 2
    largest = 0.0
    for first, second in np.argwhere(moved == 1):
        given = probability[first] > 0
        if (probability[second][given] == 0).any():
            return math.inf
        ratio = probability[first][given] / probability[second][given]
        largest = max(largest, math.log(float(ratio.max(initial=1.0))))
    return largest


def _kept_chance(tables: Ints, kept: Bools, retention: Floats) -> Floats:
    """Probability of one kept set given each table: occupied points always stay."""
    empty = np.where(kept, retention, 1.0 - retention)
    chance: Floats = np.prod(np.where(tables > 0, kept.astype(np.float64), empty), axis=1)
    return chance


def _dirichlet_multinomial(tables: Ints, outputs: Ints, alpha: Floats, kept: Bools) -> Floats:
    """Dirichlet-multinomial probabilities over the kept points; 0 for outputs elsewhere."""
    weight = tables + np.where(kept, alpha, 0.0)
    m = int(outputs[0].sum())
    steps = np.arange(m)
    # rising[t, i, j] = weight (weight + 1) … (weight + j - 1), so that no gamma function is needed.
    factors = weight[:, :, None] + steps[None, None, :]
    rising = np.concatenate([np.ones((*weight.shape, 1)), np.cumprod(factors, axis=2)], axis=2)
    points = np.arange(alpha.size)
    product: Floats = np.prod(rising[:, points[None, :], outputs], axis=2)
    whole: Floats = np.prod(weight.sum(axis=1)[:, None] + steps[None, :], axis=1)
    return _arrangements(outputs)[None, :] * product / whole[:, None]


def _arrangements(outputs: Ints) -> Floats:
    """Multinomial coefficients of the outputs."""
    factorials = np.array([math.factorial(j) for j in range(_MOST_WORKERS + 1)], dtype=np.float64)
    whole: Floats = factorials[outputs.sum(axis=1)] / np.prod(factorials[outputs], axis=1)
    return whole


def _require_small(n: int, m: int, alpha: Floats, retention: Floats) -> None:
    if not (1 <= alpha.size <= _MOST_SUPPORT_POINTS and 1 <= n <= _MOST_WORKERS and 0 <= m <= _MOST_WORKERS):
        raise ParameterError(
            f"n = {n}, m = {m}, k = {alpha.size} cannot be enumerated; at most {_MOST_SUPPORT_POINTS} support "
            f"points, 1 to {_MOST_WORKERS} workers and 0 to {_MOST_WORKERS} synthetic workers can"
        )
    if (
        retention.shape != alpha.shape
        or not (alpha > 0).all()
        or not ((retention > 0) & (retention <= 1)).all()
    ):
        raise ParameterError("give one prior weight above 0 and one retention above 0, at most 1, per point")
