"""The outcome of a table: which cells are released, and what was safe when each was decided."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray, as_int
from engine.errors import ParameterError

__all__ = [
    "MOST_PEOPLE",
    "Decided",
    "check_people",
    "check_promise",
    "check_values",
    "share_delta",
    "stop_at_breach",
]

MOST_PEOPLE = 10**8
"""Largest number of people in a cell or a row."""

_LARGEST_DENOMINATOR = 2**31 - 1

Ints = npt.NDArray[np.int64]


class Decided(NamedTuple):
    """Decisions on the cells of a table, in decision order.

    Parameters
    ----------
    released : bool[C]
        Whether the cell's value is published. All other cells are suppressed.
    low, high : int64[C]
        Safe interval of the value, when the cell was decided: the value would leave everyone's beliefs within epsilon
        of the prior. If ``low > high``, no value is safe. After a breach, intervals follow from the same formulas
        but decide nothing.
    breach : int
        Position of the first released value outside its interval, -1 if there is none. It is published, and
        every later cell is suppressed.
    """

    released: BoolArray
    low: Ints
    high: Ints
    breach: int


def stop_at_breach(releasable: BoolArray, values: Ints, low: Ints, high: Ints) -> Decided:
    """Release cells in order up to and including the first value that lies outside its safe interval."""
    unsafe = np.flatnonzero(releasable & ((values < low) | (values > high)))
    released, breach = releasable.copy(), -1
    if unsafe.size:
        breach = int(unsafe[0])
        released[breach + 1 :] = False
    return Decided(released, low, high, breach)


def check_promise(epsilon: Fraction, decision_delta: Fraction | None = None) -> None:
    """Refuse an epsilon or a delta that promises nothing (ParameterError).

    From epsilon = 1 on, a posterior of zero would count as safe: a table could reveal that nobody has the value.
    """
    if not 0 < epsilon < 1:
        raise ParameterError(
            f"epsilon = {epsilon}: give a number above 0 and below 1; from 1 on, a released zero would count as safe"
        )
    if epsilon.denominator > _LARGEST_DENOMINATOR:
        raise ParameterError(f"epsilon = {epsilon}: give at most 9 decimals")
    if decision_delta is not None and not 0 < decision_delta < 1:
        raise ParameterError(f"delta of a decision = {decision_delta}: give a number above 0 and below 1")


def share_delta(delta: Fraction, n_decisions: int) -> Fraction:
    """Return delta / T, the chance with which each of T decisions of a publication may fail.

    Exact: T shares add up to delta. Where a decision compares floats, :func:`engine.suppression.unsafe.limit_below`
    rounds the share down, so that the T chances never add up to more.
    """
    return delta / n_decisions


def check_people(name: str, people: npt.ArrayLike, n: int, of_what: str) -> Ints:
    """People as int64[n], each number at most ``MOST_PEOPLE`` (ParameterError)."""
    checked = as_int(name, people, high=MOST_PEOPLE)
    if checked.size != n:
        raise ParameterError(f"{checked.size} values of {name} for {n} {of_what}: give one for each")
    return checked


def check_values(values: npt.ArrayLike, most: Ints) -> Ints:
    """Values as int64[C], each at most the number of people it counts (ParameterError)."""
    checked = as_int("values", values)
    if checked.size != most.size:
        raise ParameterError(f"{checked.size} values for {most.size} cells: give one for each")
    above = np.flatnonzero(checked > most)
    if above.size:
        at = int(above[0])
        raise ParameterError(
            f"the value of cell {at} exceeds its {most[at]} people: count each person at most once"
        )
    return checked
