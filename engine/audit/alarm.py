"""Whether likelihood ratios break the promise of a release more often than delta allows.

Under probabilistic differential privacy, each (destination, segment) has a likelihood ratio above e^epsilon with a
chance of at most delta, independently of the others. If many more have one, the release does not keep its promise:
there is an error in this program. With delta 0, one is enough.

Source: docs/theory/method.md, section 7h.
"""

from typing import Final

from engine.errors import ParameterError

__all__ = ["FALSE_ALARM", "most_allowed"]

FALSE_ALARM: Final = 1e-9
"""Chance of an alarm about a release that keeps its promise, at most."""


def most_allowed(n_pairs: int, delta: float) -> int:
    """The largest number of (destination, segment) pairs above epsilon that is no alarm.

    Parameters
    ----------
    n_pairs : int
        Pairs with workers.
    delta : float
        Of the release, 0 to below 1.

    Returns
    -------
    int
        The 1 - 1e-9 quantile of the binomial distribution; 0 if delta is 0.

    Raises
    ------
    ParameterError
        An argument is out of its range.
    """
    if n_pairs < 0 or not 0.0 <= delta < 1.0:
        raise ParameterError(
            f"{n_pairs} pairs and delta {delta}: give at least 0 pairs, and a delta of 0 to below 1"
        )
    if delta == 0.0 or n_pairs == 0:
        return 0
    from scipy.stats import binom  # here because it takes long to import

    return int(binom.isf(FALSE_ALARM, n_pairs, delta))
