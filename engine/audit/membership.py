"""The membership game: was one worker in the data? What draws with and without the worker show about epsilon.

A release is drawn many times with a worker and without. An event that is likely with the worker and rare without (or
the other way round) shows that epsilon is at least ln((share - delta) / other share). The event is chosen on the first
half of the draws and measured on the second, with exact binomial bounds, so that the choice does not flatter it.

Source: docs/theory/membership.md, "The membership game"; Clopper and Pearson 1934.
"""

from typing import NamedTuple

import numpy as np

from engine.arrays import FloatArray
from engine.errors import ParameterError

__all__ = ["Shown", "binomial_bounds", "epsilon_shown", "share_right"]

_MOST_EVENTS = 200


class Shown(NamedTuple):
    """What a game shows.

    Attributes
    ----------
    epsilon : float
        Lower bound, 0 or more, of the chosen event.
    threshold : float
        The event is a score of at least this.
    is_above : bool
        False where the event is a score below the threshold.
    is_larger : bool
        Whether the event is the one that is likelier with the worker.
    n_draws : int
        Draws of the second half, of each side.
    with_worker, without_worker : int
        Draws of the second half in which the event happened.
    """

    epsilon: float
    threshold: float
    is_above: bool
    is_larger: bool
    n_draws: int
    with_worker: int
    without_worker: int


def binomial_bounds(hits: int, n: int, error: float) -> tuple[float, float]:
    """Bounds of a chance, each of which fails with a chance of at most `error` (Clopper and Pearson).

    Parameters
    ----------
    hits, n : int
        How often something happened in how many independent draws.
    error : float
        Above 0 and below 1.

    Raises
    ------
    ParameterError
        A number is out of its range.
    """
    if not 0 <= hits <= n or n < 1 or not 0 < error < 1:
        raise ParameterError(
            f"{hits} of {n} draws with error {error}: give at least one draw, and an error in (0, 1)"
        )
    from scipy.stats import beta  # here because it takes long to import

    low = 0.0 if hits == 0 else float(beta.ppf(error, hits, n - hits + 1))
    high = 1.0 if hits == n else float(beta.isf(error, hits + 1, n - hits))
    return low, high


def epsilon_shown(
    with_worker: FloatArray, without_worker: FloatArray, *, delta: float, error: float
) -> Shown:
    """Lower bound of epsilon that two sets of independent draws show.

    Parameters
    ----------
    with_worker, without_worker : float64[K]
        One score for each draw, K at least 2. Any score is valid; a better one shows more.
    delta : float
        Of the promise.
    error : float
        Chance that epsilon is below the bound, at most.

    Raises
    ------
    ParameterError
        There are fewer than 2 draws, or not as many of each.
    """
    larger, smaller = (np.asarray(scores, dtype=np.float64) for scores in (with_worker, without_worker))
    if larger.size != smaller.size or larger.size < 2:
        raise ParameterError(
            f"{larger.size} draws with the worker and {smaller.size} without: give as many of each, 2 or more"
        )
    half = larger.size // 2
    events = [
        (threshold, is_above, is_larger)
        for threshold in _thresholds(larger[:half], smaller[:half]).tolist()
        for is_above in (True, False)
        for is_larger in (True, False)
    ]
    chosen = max(events, key=lambda event: _bound(larger[:half], smaller[:half], event, delta, error)[0])
    epsilon, hits, others = _bound(larger[half:], smaller[half:], chosen, delta, error)
    return Shown(max(epsilon, 0.0), *chosen, larger.size - half, hits, others)


def share_right(with_worker: FloatArray, without_worker: FloatArray) -> float:
    """How often an attacker is right who must say whether the worker was there, which is so in half of the cases.

    The threshold is chosen on the first half of the draws, and the share is measured on the second.
    """
    half = with_worker.size // 2

    def right(event: tuple[float, bool], draws: slice) -> float:
        threshold, is_above = event
        hits, others = (
            np.mean((scores[draws] >= threshold) == is_above) for scores in (with_worker, without_worker)
        )
        return float(hits + 1 - others) / 2

    events = [
        (threshold, is_above)
        for threshold in _thresholds(with_worker[:half], without_worker[:half]).tolist()
        for is_above in (True, False)
    ]
    chosen = max(events, key=lambda event: right(event, slice(half)))
    return right(chosen, slice(half, None))


def _thresholds(larger: FloatArray, smaller: FloatArray) -> FloatArray:
    """Scores that may separate the two, some of them if there are many."""
    scores = np.unique(np.concatenate((larger, smaller)))
    if scores.size <= _MOST_EVENTS:
        return scores
    return scores[np.unique(np.linspace(0, scores.size - 1, _MOST_EVENTS).astype(np.int64))]


def _bound(
    larger: FloatArray, smaller: FloatArray, event: tuple[float, bool, bool], delta: float, error: float
) -> tuple[float, int, int]:
    """Bound that an event shows, and how often it happened with the worker and without."""
    threshold, is_above, is_larger = event
    hits, others = (int(((scores >= threshold) == is_above).sum()) for scores in (larger, smaller))
    likely, rare = (hits, others) if is_larger else (others, hits)
    low = binomial_bounds(likely, larger.size, error / 2)[0] - delta
    high = binomial_bounds(rare, larger.size, error / 2)[1]
    return (float(np.log(low / high)) if low > 0 else -np.inf), hits, others
