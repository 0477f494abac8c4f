"""The sound accountant: what all tries together promise, whether or not they passed (the default).

Candidates are independent given the dataset, so their Rényi divergences add. How many tries there are, how many
passed, and which ones may be public. The promise holds for every dataset of at least ``n_min`` records: their exact
number stays secret. Epsilons are computed in floats from public parameters and rounded up.

Source: docs/theory/synthetic-records.md, "Every try is charged"; Canonne, Kamath and Steinke 2020 (Rényi to epsilon
and delta); Mironov 2017 (Rényi of two steps).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.parameters import Number, exact_fraction
from engine.records.acceptance import Acceptance, check_similarity
from engine.records.divergence import OneTry, convex_excess

Floats = npt.NDArray[np.float64]

_MICRO: Final = 10**6
_MARGIN: Final = 1e-9
_LEAST_ORDER, _MOST_ORDER = 2.0, 1e6
_MOST_TRIES = 1 << 48
MOST_COUNTS: Final = 50
"""Counts are thinned to about this many where rough sums do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPromise:
    """What the records drawn from seeds promise.

    Parameters
    ----------
    epsilon, epsilon_replace_one : Fraction
        With this delta: for datasets that differ by one worker's whole record added or taken away, and by one replaced.
        Rounded up to a multiple of 1e-6.
    delta : Fraction
        The given delta, for both readings.
    rdp_order, rdp_order_replace_one : float
        Orders of the Rényi divergences that give the two.
    delta0 : float
        The part of delta that one try uses up for seeds that nobody else could have been.
    n_min, n_tries : int
        Fewest records, and tries.
    """

    epsilon: Fraction
    epsilon_replace_one: Fraction
    delta: Fraction
    rdp_order: float
    rdp_order_replace_one: float
    delta0: float
    n_min: int
    n_tries: int


def seed_promise(
    acceptance: Acceptance, *, similarity: Number = 1, n_min: int, n_tries: int, delta: Number
) -> SeedPromise:
    """The promise of ``n_tries`` candidates whose failures may be seen.

    Parameters
    ----------
    acceptance : Acceptance
        With forced failure above 0.
    similarity : Fraction, str, int or float, optional
        Gamma, at least 1. The default 1 is for models whose candidates depend on the kept attributes of the seed alone.
    n_min : int
        The seeds number at least this many; at least 2.
    n_tries : int
        At least 1.
    delta : Fraction, str, int or float
        Above 0 and below 1.

    Raises
    ------
    ParameterError
        A value is outside its range, or delta is below what the tries use up.
    """
    gamma = check_similarity(similarity)
    allowed = _check_tries(acceptance, gamma, n_min, n_tries, delta)
    one_try = OneTry.of(acceptance, float(gamma), n_min)
    _refuse_small_delta(acceptance, one_try, n_tries, allowed)
    few = OneTry.of(acceptance, float(gamma), n_min, MOST_COUNTS)
    rough, moment = LogMoment(few, acceptance, float(gamma)), LogMoment(one_try, acceptance, float(gamma))
    left = float(allowed) - n_tries * one_try.delta0
    left_of_two = float(allowed) - n_tries * one_try.delta0 * (n_min + 1) / n_min
    # Any order is valid. A good one is found from some of the counts, and used with all of them.
    order = best_order(lambda orders: epsilons_at(orders, n_tries * rough.at(orders), left))
    order_of_two = best_order(
        lambda orders: epsilons_at(orders, n_tries * rough.of_two_steps_at(orders), left_of_two)
    )
    epsilon = epsilon_at(order, n_tries * moment(order), left)
    twice = epsilon_at(order_of_two, n_tries * moment.of_two_steps(order_of_two), left_of_two)
    return SeedPromise(
        epsilon=_round_up(epsilon),
        epsilon_replace_one=_round_up(twice),
        delta=allowed,
        rdp_order=order,
        rdp_order_replace_one=order_of_two,
        delta0=one_try.delta0,
        n_min=n_min,
        n_tries=n_tries,
    )


class LogMoment(NamedTuple):
    """(order - 1) times the Rényi divergence of one try, in the worse direction, for datasets of n or more records."""

    one: OneTry
    acceptance: Acceptance
    similarity: float

    def __call__(self, order: float) -> float:
        """At this order."""
        return float(self.at(np.array([order]))[0])

    def of_two_steps(self, order: float) -> float:
        """The same for one record replaced: the divergence from either dataset to the two together, and back."""
        return float(self.of_two_steps_at(np.array([order]))[0])

    def at(self, orders: Floats) -> Floats:
        """At many orders: float64[orders]."""
        up, down = self.one.excesses(orders)
        more = _larger_datasets(self.acceptance, self.similarity, self.one.n, orders)
        return _log1p(np.where(down > up, down, up) + more)

    def of_two_steps_at(self, orders: Floats) -> Floats:
        """At many orders, for one record replaced: float64[orders]."""
        return (orders - 0.5) / (2 * orders - 1) * self.at(2 * orders) + self.at(2 * orders - 1) / 2


def epsilon_at(order: float, log_moment: float, delta: float) -> float:
    """Epsilon at this delta from (order - 1) times the Rényi divergence of that order; inf if delta is not above 0."""
    if delta <= 0:
        return math.inf
    return (
        log_moment / (order - 1) + math.log1p(-1 / order) - (math.log(delta) + math.log(order)) / (order - 1)
    )


def epsilons_at(orders: Floats, log_moments: Floats, delta: float) -> list[float]:
    """The same for many orders."""
    return [
        epsilon_at(*order_and_moment, delta)
        for order_and_moment in zip(orders.tolist(), log_moments.tolist(), strict=True)
    ]


def epsilon_of_tries(one_try: OneTry, n_tries: int, delta: float, order: float) -> float:
    """Epsilon of so many tries on datasets of exactly ``one.n`` records, by one order."""
    moment = n_tries * math.log1p(max(one_try.excess(order)))
    return epsilon_at(order, moment, delta - n_tries * one_try.delta0)


def _check_tries(
    acceptance: Acceptance, gamma: Fraction, n_min: int, n_tries: int, delta: Number
) -> Fraction:
    """Delta as a fraction; ParameterError if a value is outside its range, or too few records are certain."""
    allowed = check_public(n_tries, delta, acceptance.forced_fail)
    least = _least_n_min(acceptance, float(gamma))
    if n_min < least:
        raise ParameterError(
            f"n min is {n_min:,}; {acceptance.min_plausible_seeds:,} plausible seeds need at least {least:,} seeds: "
            "lower the min plausible seeds, or give more records to the seeds"
        )
    return allowed


def check_public(n_tries: int, delta: Number, forced_fail: Number) -> Fraction:
    """Delta as a fraction; ParameterError if it or the tries are out of range, or failures would not be paid for."""
    allowed = exact_fraction(delta, "delta")
    if not 1 <= n_tries <= _MOST_TRIES:
        raise ParameterError(f"tries is {n_tries:,}; give at least 1, such as the number of records wanted")
    if not 0 < allowed < 1:
        raise ParameterError(
            f"delta is {float(allowed):g}; it is a probability: give more than 0 and less than 1, such as 1e-6"
        )
    if exact_fraction(forced_fail, "forced fail") == 0:
        raise ParameterError(
            "forced fail is 0, but the number of failures is published: give a chance above 0, such as 0.02"
        )
    return allowed


def _refuse_small_delta(acceptance: Acceptance, one_try: OneTry, n_tries: int, delta: Fraction) -> None:
    """Without a floor delta0 is at most e^-(threshold_epsilon (k - 1)) / (n + 1), so some k and some rate do."""
    used = n_tries * one_try.delta0 * (one_try.n + 1) / one_try.n
    if used < delta:
        return
    remedy = "allow fewer tries"
    k, rate = acceptance.min_plausible_seeds, acceptance.threshold_epsilon
    if rate is not None and k > 1 and acceptance.seed_floor is None:
        needed = math.log(2 * n_tries / (float(delta) * one_try.n))
        enough = Fraction(math.ceil(needed / (k - 1) * 10**4), 10**4)
        k_enough = 1 + math.ceil(needed / float(rate))
        remedy = f"give min plausible seeds {k_enough:,}, or threshold epsilon {float(enough):g}"
    elif acceptance.seed_floor is not None:
        remedy = "leave the seed floor out, or raise the min plausible seeds"
    raise ParameterError(
        f"delta is {float(delta):g}; {n_tries:,} tries use up {used:.3g} of it, and more must be left: {remedy}"
    )


def _least_n_min(acceptance: Acceptance, gamma: float) -> int:
    """Fewest records for which :func:`_larger_datasets` holds: from there on nearly every candidate passes the test."""
    k, rate = acceptance.min_plausible_seeds, acceptance.threshold_epsilon
    if rate is None:
        return max(2, k + 1)
    beta = max(float(acceptance.forced_fail), 1e-300)
    n = k + 1
    for _ in range(8):
        n = k + 1 + math.ceil(math.log(10 * gamma * n / beta) / float(rate))
    return max(2, n)


def _larger_datasets(acceptance: Acceptance, gamma: float, n_min: int, orders: Floats) -> Floats:
    """What larger datasets can add to E - 1 of n_min records.

    Source: docs/theory/synthetic-records.md, "More records than n_min".
    """
    growth = acceptance.chances([n_min, n_min + 1])
    too_large = orders >= n_min / 2
    near = 2 / (n_min + 1 - np.where(too_large, 0.0, orders))
    ratios = np.empty((orders.size, 3))
    ratios[:, 0] = near + (1 + near) / n_min
    ratios[:, 1] = growth[1] / growth[0] * (1 + gamma / n_min) - 1
    ratios[:, 2] = -1 / (n_min + 1)
    with np.errstate(over="ignore", invalid="ignore"):
        added: Floats = 2 * convex_excess(ratios, orders[:, None]).max(axis=1)
    return np.where(too_large, math.inf, added)


def best_order(epsilons: Callable[[Floats], Sequence[float]]) -> float:
    """About the order from 2 on that gives the least epsilon: a grid, then finer ones around its best.

    Parameters
    ----------
    epsilons : callable
        Takes orders, float64[orders]; returns the epsilon of each.
    """
    low, high = math.log(_LEAST_ORDER - 1), math.log(_MOST_ORDER)
    best = (math.inf, low)
    for _ in range(4):
        grid = np.linspace(low, high, 9)
        places = grid.tolist()
        grid_epsilons = epsilons(np.array([1 + math.exp(at) for at in places]))
        best = min(best, *zip(grid_epsilons, places, strict=True))
        step = grid[1] - grid[0]
        low, high = max(low, best[1] - step), min(high, best[1] + step)
    return 1 + math.exp(best[1])


def _log1p(values: Floats) -> Floats:
    """As the mathematical library of C has it, on every processor."""
    return np.array([math.log1p(value) for value in values.tolist()])


def _round_up(epsilon: float) -> Fraction:
    """A multiple of 1e-6 that is not below the true value; floats err by much less than the margin."""
    if not math.isfinite(epsilon):
        raise ParameterError(
            "no order of the Rényi divergence gives an epsilon: allow fewer tries or a larger delta"
        )
    return Fraction(math.ceil((max(epsilon, 0.0) * (1 + _MARGIN) + _MARGIN) * _MICRO), _MICRO)


# What many numbers of tries cost with one test: the curve of the sound accountant, from one divergence for each order.
#
# The divergence of one try does not depend on how many there are. So a curve costs about as much as one promise.

_N_ORDERS: Final = 160
_CURVE_LEAST_ORDER, _CURVE_MOST_ORDER = 2.0, 3e3


def tries_curve(
    acceptance: Acceptance, *, similarity: Number = 1, n_min: int, n_tries: Sequence[int], delta: Number
) -> npt.NDArray[np.float64]:
    """About the epsilon that :func:`engine.records.tries.seed_promise` states for each of these numbers of tries.

    For pictures only: orders of the Rényi divergence are on a fixed grid and counts are thinned, so points differ from
    what is stated by a few percent.

    Parameters
    ----------
    acceptance, similarity, n_min, delta
        As for :func:`engine.records.tries.seed_promise`.
    n_tries : sequence of int
        Each at least 1.

    Returns
    -------
    float64[numbers]
        One worker's whole record added or taken away; inf where the tries use up delta.

    Raises
    ------
    ParameterError
        A value is outside its range.
    """
    gamma = float(check_similarity(similarity))
    allowed = [check_public(n, delta, acceptance.forced_fail) for n in n_tries]
    moment = LogMoment(OneTry.of(acceptance, gamma, n_min, MOST_COUNTS), acceptance, gamma)
    order = 1 + np.geomspace(_CURVE_LEAST_ORDER - 1, _CURVE_MOST_ORDER, _N_ORDERS)
    tries = np.array(n_tries, dtype=np.float64)
    left = float(min(allowed, default=Fraction(1))) - tries * moment.one.delta0
    log_left = np.log(left, where=left > 0, out=np.full(left.shape, -np.inf))
    epsilon = (
        np.outer(tries, moment.at(order) / (order - 1))
        + np.log1p(-1 / order)
        - (log_left[:, None] + np.log(order)) / (order - 1)
    )
    return np.asarray(np.maximum(epsilon.min(axis=1), 0.0))
