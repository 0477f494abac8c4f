"""Rows of a value with many categories, such as the home counties of a county's workers.

The b workers of a row are alike: each has origin o with chance pi_o, and b is public. Once some origins' counts are
released, the other workers are spread over the other origins in proportion to pi. So the next count is binomial, and
what it would reveal follows in closed form:

- about origin o, everyone in the row: the posterior is n_o / b;
- about every origin not released, suppressed or still to come: the posterior is pi times one common ratio.

Rows are independent of each other.

Symbols: b workers of a row, pi share of an origin, n count, e epsilon; ``left`` what is not released yet.

Source: docs/theory/suppressed-tables.md. Nabar and Mishra allow such values and give no algorithm.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray, as_ptr
from engine.errors import ParameterError
from engine.suppression.rates import Rates
from engine.suppression.suppressed import Decided, Ints, check_people, check_promise, check_values
from engine.suppression.unsafe import is_rarely_unsafe, limit_below

__all__ = ["Query", "expected_rows", "suppress_rows", "suppress_rows_by"]


class Query(NamedTuple):
    """One origin of a row, before its decision.

    Parameters
    ----------
    position : int
        Position of the origin among those of all rows.
    people : int
        Workers of the row whose origin is not released.
    odds : tuple of int
        Odds that such a worker has this origin, for and against.
    safe : tuple of int
        Lowest and highest safe count; if the lowest is above the highest, no count is safe.
    """

    position: int
    people: int
    odds: tuple[int, int]
    safe: tuple[int, int]

    @property
    def expected(self) -> int:
        """The count that is expected, rounded down from the middle of two."""
        yes, no = self.odds
        return (2 * self.people * yes + yes + no - 1) // (2 * (yes + no))


class _Row:
    """What is known of a row after some releases; shares are in units of 1 / ``units``."""

    def __init__(self, people: int, numerators: list[int], units: int, epsilon: Fraction) -> None:
        self._people = people
        self._shares = numerators
        self._units = units
        self._epsilon = epsilon
        self._people_left = people
        self._share_left = units

    def query(self, position: int, at: int) -> Query:
        """The query for the origin at a place of the row."""
        share, others = self._shares[at], self._share_left - self._shares[at]
        low, high = self._find_interval(share)
        if others:
            least, most = self._find_interval(others)
            low, high = max(low, self._people_left - most), min(high, self._people_left - least)
        return Query(position, self._people_left, (share, others), (low, min(high, self._people_left)))

    def _find_interval(self, share: int) -> tuple[int, int]:
        """Counts within epsilon of what a share leads to expect."""
        e, f = self._epsilon.numerator, self._epsilon.denominator
        expected, units = self._people * share, self._units * f
        return -(-expected * (f - e) // units), expected * (f + e) // units

    def release(self, at: int, count: int) -> None:
        """Take a released count into account."""
        self._people_left -= count
        self._share_left -= self._shares[at]


def suppress_rows(
    row_people: npt.ArrayLike,
    row_ptr: npt.ArrayLike,
    rates: Rates,
    values: npt.ArrayLike,
    *,
    epsilon: Fraction,
    decision_delta: Fraction,
) -> Decided:
    """Decide the origins of each row in order: the exact suppressor.

    Parameters
    ----------
    row_people : int[R]
        Workers in each row, 0 to 10^8; public.
    row_ptr : int[R + 1]
        CSR offsets of each row's origins. Only these are tried; all others stay in the row's remainder.
    rates : Rates
        Share of each tried origin among all workers of its row, in decision order [E]. In a row they add up to at
        most 1. Rows whose shares have one denominator are decided fastest.
    values : int[E]
        Workers of the row with each origin. Values of suppressed cells are not read: to decide a published table
        again, give 0 for them.
    epsilon : Fraction
        0 < epsilon < 1.
    decision_delta : Fraction
        Delta divided by the number of decisions, 0 < decision_delta < 1.

    Raises
    ------
    ParameterError
        A parameter is out of range, shares or counts of a row exceed the whole, or lengths differ.
    """
    check_promise(epsilon, decision_delta)
    return suppress_rows_by(
        _decide_exactly(decision_delta), row_people, row_ptr, rates, values, epsilon=epsilon
    )


def suppress_rows_by(
    is_releasable: Callable[[Query], bool],
    row_people: npt.ArrayLike,
    row_ptr: npt.ArrayLike,
    rates: Rates,
    values: npt.ArrayLike,
    *,
    epsilon: Fraction,
) -> Decided:
    """Decide the origins of each row in order, by a rule that sees the query and not its count.

    The other parameters, and the errors, are those of :func:`suppress_rows`.
    """
    check_promise(epsilon)
    table = _check_table(row_people, row_ptr, rates, epsilon)
    counts = check_values(values, np.repeat(table.people, np.diff(table.ptr)))
    _check_sums(table, counts)
    return _decide(table, counts.tolist(), is_releasable)


def expected_rows(
    row_people: npt.ArrayLike,
    row_ptr: npt.ArrayLike,
    rates: Rates,
    *,
    epsilon: Fraction,
    decision_delta: Fraction,
) -> BoolArray:
    """Which origins would be released if each count were what is expected of it: bool[E], from public input alone.

    Parameters and errors are those of :func:`suppress_rows`.
    """
    check_promise(epsilon, decision_delta)
    table = _check_table(row_people, row_ptr, rates, epsilon)
    return _decide(table, None, _decide_exactly(decision_delta)).released


class _Table(NamedTuple):
    people: Ints
    ptr: Ints
    rates: Rates
    epsilon: Fraction


def _check_table(
    row_people: npt.ArrayLike, row_ptr: npt.ArrayLike, rates: Rates, epsilon: Fraction
) -> _Table:
    ptr = as_ptr("row_ptr", row_ptr, total=len(rates))
    return _Table(check_people("row_people", row_people, ptr.size - 1, "rows"), ptr, rates, epsilon)


def _check_sums(table: _Table, counts: Ints) -> None:
    total = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))[table.ptr]
    above = np.flatnonzero(np.diff(total) > table.people)
    if above.size:
        raise ParameterError(
            f"the counts of row {above[0]} exceed its {table.people[above[0]]} workers: count each worker once"
        )


def _row(table: _Table, row: int) -> _Row:
    first, last = int(table.ptr[row]), int(table.ptr[row + 1])
    denominators = table.rates.denominator[first:last].tolist()
    units = math.lcm(*denominators)
    shares = [
        numerator * (units // denominator)
        for numerator, denominator in zip(
            table.rates.numerator[first:last].tolist(), denominators, strict=True
        )
    ]
    if sum(shares) > units:
        raise ParameterError(f"the shares of row {row} add up to more than 1: give shares of the whole row")
    return _Row(int(table.people[row]), shares, units, table.epsilon)


def _decide(table: _Table, counts: list[int] | None, is_releasable: Callable[[Query], bool]) -> Decided:
    """Decide all rows in order; without counts, each count is what is expected of it."""
    n = len(table.rates)
    decided = Decided(np.zeros(n, np.bool_), np.zeros(n, np.int64), np.zeros(n, np.int64), -1)
    breach = -1
    for number in range(table.people.size):
        row, first = _row(table, number), int(table.ptr[number])
        for position in range(first, int(table.ptr[number + 1])):
            query = row.query(position, position - first)
            decided.low[position], decided.high[position] = query.safe
            if breach >= 0 or not is_releasable(query):
                continue
            count = query.expected if counts is None else counts[position]
            decided.released[position] = True
            row.release(position - first, count)
            if counts is not None and not query.safe[0] <= count <= query.safe[1]:
                breach = position
    return decided._replace(breach=breach)


def _decide_exactly(decision_delta: Fraction) -> Callable[[Query], bool]:
    """The exact suppressor's decision on a query."""
    limit = limit_below(decision_delta)
    return lambda query: is_rarely_unsafe(query.people, query.odds, query.safe, decision_delta, limit)
