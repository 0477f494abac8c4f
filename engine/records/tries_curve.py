"""What many numbers of tries cost with one test: the curve of the sound accountant, from one divergence for each order.

The divergence of one try does not depend on how many there are. So a curve costs about as much as one promise.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.parameters import Number
from engine.records.acceptance import Acceptance, check_similarity
from engine.records.divergence import OneTry
from engine.records.tries import MOST_COUNTS, LogMoment, check_public

__all__ = ["tries_curve"]

_N_ORDERS: Final = 160
_LEAST_ORDER, _MOST_ORDER = 2.0, 3e3


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
    order = 1 + np.geomspace(_LEAST_ORDER - 1, _MOST_ORDER, _N_ORDERS)
    tries = np.array(n_tries, dtype=np.float64)
    left = float(min(allowed, default=Fraction(1))) - tries * moment.one.delta0
    log_left = np.log(left, where=left > 0, out=np.full(left.shape, -np.inf))
    epsilon = (
        np.outer(tries, moment.at(order) / (order - 1))
        + np.log1p(-1 / order)
        - (log_left[:, None] + np.log(order)) / (order - 1)
    )
    return np.asarray(np.maximum(epsilon.min(axis=1), 0.0))
