"""The paper's own suppressor, which estimates the chance of an unsafe value by sampling (Algorithm 3)."""

from fractions import Fraction

import numpy.typing as npt

from engine.streams import SecretKey
from engine.suppression.rates import Rates
from engine.suppression.suppressed import Decided

__all__ = ["suppress_cells_sampled", "suppress_rows_sampled"]


def suppress_cells_sampled(
    people: npt.ArrayLike,
    rates: Rates,
    values: npt.ArrayLike,
    *,
    epsilon: Fraction,
    decision_delta: Fraction,
    key: SecretKey,
) -> Decided:
    """Decide independent cells in order, by sampling; parameters are those of ``suppress_cells``, and the key."""
    raise NotImplementedError


def suppress_rows_sampled(
    row_people: npt.ArrayLike,
    row_ptr: npt.ArrayLike,
    rates: Rates,
    values: npt.ArrayLike,
    *,
    epsilon: Fraction,
    decision_delta: Fraction,
    key: SecretKey,
) -> Decided:
    """Decide the origins of each row in order, by sampling; parameters are those of ``suppress_rows``, and the key."""
    raise NotImplementedError
