"""How often independent events agree by chance, with a bound that is proved."""

from __future__ import annotations

import math

__all__ = ["chance_of_sum", "most_by_chance"]

_ROUNDING = 1e-9
"""Relative; far above the rounding of the floats below, so that no bound is taken for smaller than it is."""


def most_by_chance(n: int, mean: float, alarm: float) -> int:
    """Return a number that the sum of independent events exceeds with a probability of at most `alarm`.

    Parameters
    ----------
    n : int
        How many events.
    mean : float
        The sum of their chances, which may differ.
    alarm : float
        The false alarm rate.

    Returns
    -------
    int
        The least number for which Hoeffding's bound proves it; `n` if it proves nothing.

    Source: Hoeffding (1963), theorem 1; docs/theory/method.md, section 11.
    """
    low, high = min(math.ceil(mean), n), n
    while low < high:
        middle = (low + high) // 2
        if chance_of_sum(n, mean, middle + 1) <= alarm:
            high = middle
        else:
            low = middle + 1
    return low


def chance_of_sum(n: int, mean: float, least: float) -> float:
    """Return a bound on the chance that independent numbers between 0 and 1 add up to at least this.

    Parameters
    ----------
    n : int
        How many numbers, at least 1.
    mean : float
        At least the expected sum.
    least : float

    Source: Hoeffding (1963), theorem 1; docs/theory/method.md, section 11.
    """
    average, share = min(mean / n * (1 + _ROUNDING), 1.0), min(least / n, 1.0)
    if share <= average:
        return 1.0
    divergence = share * math.log(share / average) if average > 0 else math.inf
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - average))
    return math.exp(-n * divergence * (1 - _ROUNDING) + _ROUNDING)
