"""How often independent events agree by chance, with a bound that is proved."""

from __future__ import annotations

import math

__all__ = ["most_by_chance"]

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

    Source: Hoeffding (1963), theorem 1; docs/method.md, section 11.
    """
    low, high = min(math.ceil(mean), n), n
    while low < high:
        middle = (low + high) // 2
        if _log_bound(n, mean, middle + 1) <= math.log(alarm):
            high = middle
        else:
            low = middle + 1
    return low


def _log_bound(n: int, mean: float, least: int) -> float:
    """Logarithm of a bound on the chance that at least so many of `n` events occur, for more than `mean` of them."""
    average, share = min(mean / n * (1 + _ROUNDING), 1.0), least / n
    if share <= average:
        return 0.0
    divergence = share * math.log(share / average) if average > 0 else math.inf
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - average))
    return -n * divergence * (1 - _ROUNDING) + _ROUNDING
