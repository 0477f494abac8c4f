"""How well the best attacker can tell whether one worker was in the data, from worker records: exact laws.

The attacker knows every other worker, and sees more than a reader of the records does: which records came from seeds,
or the noisy tables themselves. So no reader of the records can do better.

Seeds: a candidate is released from the worker's group of kept attributes (A), from another group (U), or fails (N).
With c others in the group and n seeds without the worker, P_A = q(c) c / n, and with the worker P_A = q(c + 1)
(c + 1) / (n + 1); the chances of the other groups are scaled by n / (n + 1). Tries are independent, so their numbers
are all that counts, and follow a trinomial law.

Tables: the worker is in one cell of each of m tables. A noisy count is above that of the others with chance 1 / (1 + a)
with the worker and a / (1 + a) without, a = e^-rate, and says nothing else. So the number of such tables is all that
counts, and is binomial.

Source: docs/theory/membership.md, "Exact laws"; Kairouz, Oh and Viswanath 2015 (composition of binary tests).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from engine.arrays import FloatArray, IntArray
from engine.errors import ParameterError
from engine.records.acceptance import Acceptance

__all__ = [
    "TryLaw",
    "delta_of_tables",
    "delta_of_tries",
    "epsilon_at_delta",
    "most_exposed",
    "most_right",
    "table_chances",
    "try_laws",
]

_TAIL = 1e-25
_MOST_EPSILON = 700.0
_HALVINGS = 30


class TryLaw(NamedTuple):
    """What one try shows: released from the worker's group, from another, or failed; chances that add up to 1."""

    own: float
    other: float
    failed: float


def try_laws(acceptance: Acceptance, sizes: IntArray, others: int) -> tuple[TryLaw, TryLaw]:
    """Laws of one try without the worker, and with.

    Parameters
    ----------
    acceptance : Acceptance
    sizes : int64[G]
        Seeds of every group, the worker among them.
    others : int
        How many others the worker's group has: one group has one seed more.

    Raises
    ------
    ParameterError
        No group has that size.
    """
    counts = np.asarray(sizes, dtype=np.int64)
    if not np.any(counts == others + 1):
        raise ParameterError(
            f"no group has {others + 1} seeds: give the size of a group that exists, less one"
        )
    n = int(counts.sum()) - 1
    if n < 1:
        raise ParameterError("there is no seed but the worker: give more seeds")
    released = counts * acceptance.chances(counts)
    own_with, own_without = (others + 1) * acceptance.chances(others + 1), others * acceptance.chances(others)
    rest = float(released.sum() - own_with)
    return _law(float(own_without), rest, n), _law(float(own_with), rest, n + 1)


def _law(own: float, others: float, n: int) -> TryLaw:
    return TryLaw(own / n, others / n, 1.0 - (own + others) / n)


def most_exposed(acceptance: Acceptance, sizes: IntArray, n_tries: int) -> int:
    """Others in the group of the worker whose presence is easiest to tell, of all group sizes that there are.

    By the Hellinger distance of the numbers of released records of the group, which are nearly Poisson.
    """
    with_worker = np.unique(np.asarray(sizes, dtype=np.int64))
    with_worker = with_worker[with_worker > 0]
    others, n = with_worker - 1, int(np.sum(sizes))
    mean = [n_tries * size * acceptance.chances(size) / n for size in (with_worker, others)]
    return int(others[np.argmax(np.abs(np.sqrt(mean[0]) - np.sqrt(mean[1])))])


def delta_of_tries(n_tries: int, without: TryLaw, with_worker: TryLaw, epsilon: float) -> float:
    """Exact delta at an epsilon of so many tries, the worse of a worker added and taken away."""
    return max(
        _excess(n_tries, with_worker, without, epsilon), _excess(n_tries, without, with_worker, epsilon)
    )


def _excess(n_tries: int, p: TryLaw, q: TryLaw, epsilon: float) -> float:
    """Sum over outcomes of (P - e^epsilon Q) where it is positive; numbers of own and other released records decide."""
    from scipy.stats import binom  # here because it takes long to import

    # What lies outside has chances far below any delta.
    low = int(min(binom.ppf(_TAIL, n_tries, law.own) for law in (p, q)))
    high = int(max(binom.isf(_TAIL, n_tries, law.own) for law in (p, q)))
    own = np.arange(max(low - 1, 0), min(high + 1, n_tries) + 1)
    left = n_tries - own
    chance_p, chance_q = (binom.pmf(own, n_tries, law.own) for law in (p, q))
    if p.own > 0 and q.own > 0:
        ratio = own * (np.log(p.own) - np.log(q.own))
    else:
        # An outcome that is impossible under one of the two decides by itself.
        ratio = np.where(own == 0, 0.0, np.inf if p.own > 0 else -np.inf)
    per_other, per_failed = _log_ratio(p.other, q.other), _log_ratio(p.failed, q.failed)
    slope = per_other - per_failed
    share_p, share_q = (law.other / max(law.other + law.failed, 1e-300) for law in (p, q))
    with np.errstate(invalid="ignore"):
        edge = (epsilon - ratio - left * per_failed) / slope if slope else None
    if edge is None:
        inside_p = inside_q = (ratio + left * per_failed > epsilon).astype(np.float64)
    elif slope > 0:
        inside_p, inside_q = (binom.sf(np.floor(edge), left, share) for share in (share_p, share_q))
    else:
        inside_p, inside_q = (binom.cdf(np.ceil(edge) - 1, left, share) for share in (share_p, share_q))
    terms = chance_p * inside_p - np.exp(epsilon) * chance_q * inside_q
    return float(np.maximum(terms, 0.0).sum())


def _log_ratio(p: float, q: float) -> float:
    return float(np.log(p / q)) if p > 0 and q > 0 else 0.0


def table_chances(rate: float) -> tuple[float, float]:
    """Chance that a noisy count is above that of the others, without the worker and with."""
    a = float(np.exp(-rate))
    return a / (1 + a), 1 / (1 + a)


def delta_of_tables(n_tables: int, rate: float, epsilon: float) -> float:
    """Exact delta at an epsilon of so many tables whose counts have discrete Laplace noise of a rate."""
    from scipy.stats import binom  # here because it takes long to import

    above = np.arange(n_tables + 1)
    without, with_worker = (binom.pmf(above, n_tables, chance) for chance in table_chances(rate))
    return float(np.maximum(with_worker - np.exp(epsilon) * without, 0.0).sum())


def epsilon_at_delta(delta_of: Callable[[float], float], delta: float) -> float:
    """The least epsilon at which a law's delta is at most the given one; inf if there is none up to 700.

    Parameters
    ----------
    delta_of : callable
        Delta at an epsilon; it never rises.
    delta : float
    """
    if delta_of(0.0) <= delta:
        return 0.0
    low, high = 0.0, 1.0
    while delta_of(high) > delta:
        low, high = high, 2 * high
        if high > _MOST_EPSILON:
            return float("inf")
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle) > delta else (low, middle)
    return high


def most_right(curve: list[tuple[float, float]], false_alarms: FloatArray) -> FloatArray:
    """Most workers who can be told apart at each share of false alarms, for a promise that holds at several points.

    Parameters
    ----------
    curve : list of (epsilon, delta)
    false_alarms : float64[F]
        Share of draws without the worker in which the attacker says that the worker is there.
    """
    bounds = [
        np.minimum(
            np.exp(epsilon) * false_alarms + delta,
            1 - np.exp(-epsilon) * (1 - delta - false_alarms),
        )
        for epsilon, delta in curve
    ]
    return np.asarray(np.clip(np.min(bounds, axis=0), 0.0, 1.0))
