"""Tables with both row totals and column totals: an exact counter and sampler.

Totals in both directions tie all cells together. Cells are passed column by column; what matters of the cells so far is
their sums by row, and the sum of the unfinished column. So the weight of all data sets that agree with what is known
is a sum over those states, and a table is drawn backwards, cell by cell. The paper weights a cell's value s by
C(b, s), for one rate, and says that there is no simple extension. There is: the weight is the cell's own
Poisson-binomial, for given the value, the cell's people are independent of all others.

Everything is in integers, and the cost grows fast with people and rows. `engine.suppression.both_totals` decides tables
by these weights if they are small.

Source: Nabar and Mishra, "Dynamic Programming" and Theorem 3; docs/theory/suppressed-tables.md, "Both totals".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple, TypeVar

from engine.errors import ParameterError
from engine.suppression.poisson_binomial import Types, exact_weights

__all__ = ["MOST_ROWS", "Known", "TwoWay", "draw_people"]

MOST_ROWS = 3
_State = tuple[int, ...]
_Sums = dict[_State, int]

_Item = TypeVar("_Item")

Draw = Callable[[int], int]
"""A uniform whole number below its argument."""


class Known(NamedTuple):
    """What is known of a table: row totals, column totals, and cells row by row; None where a value is not known."""

    rows: tuple[int | None, ...]
    columns: tuple[int | None, ...]
    cells: tuple[int | None, ...]

    @classmethod
    def nothing(cls, rows: int, columns: int) -> Known:
        """Nothing is known."""
        return cls((None,) * rows, (None,) * columns, (None,) * (rows * columns))

    def add_value(self, query: int, value: int) -> Known:
        """The same and the value of one query: rows first, then columns, then cells."""
        parts = [list(self.rows), list(self.columns), list(self.cells)]
        for part in parts:
            if query < len(part):
                part[query] = value
                break
            query -= len(part)
        return Known(*(tuple(part) for part in parts))


class TwoWay:
    """People of a table's cells, and the weights of the tables that agree with what is known.

    Parameters
    ----------
    rows, columns : int
        Up to three rows.
    cells : list of Types
        People of each cell, row by row.

    Raises
    ------
    ParameterError
        There are more than three rows, or not one entry for each cell.
    """

    def __init__(self, rows: int, columns: int, cells: list[Types]) -> None:
        if rows > MOST_ROWS:
            raise ParameterError(
                f"{rows} rows with both totals; up to {MOST_ROWS} are possible: swap rows and columns, or give row "
                "totals or column totals only"
            )
        if len(cells) != rows * columns or not cells:
            raise ParameterError(
                f"{len(cells)} cells for {rows} rows and {columns} columns: give one for each"
            )
        self.rows, self.columns, self.cells = rows, columns, cells
        self._weights = [exact_weights(types) for types in cells]
        self._others = [
            [exact_weights(types.drop_one_each(at)) for at in range(len(types.people))] for types in cells
        ]

    def most(self, query: int) -> int:
        """People whom a query counts."""
        people = [types.everyone for types in self.cells]
        if query < self.rows:
            return sum(people[query * self.columns : (query + 1) * self.columns])
        if query < self.rows + self.columns:
            return sum(people[query - self.rows :: self.columns])
        return people[query - self.rows - self.columns]

    def _order(self) -> Iterator[tuple[int, int, int]]:
        """Row, column and place of each cell, column by column."""
        for column in range(self.columns):
            for row in range(self.rows):
                yield row, column, row * self.columns + column

    def _values(self, known: Known, place: int) -> range:
        value = known.cells[place]
        return range(len(self._weights[place])) if value is None else range(value, value + 1)

    def _moves(self, known: Known, row: int, column: int) -> Callable[[_State, int], _State | None]:
        """The state after a cell of some value, None if it contradicts a total. The last place is the column's sum."""
        total, column_total = known.rows[row], known.columns[column]
        ends, last_column = row == self.rows - 1, column == self.columns - 1

        def move(state: _State, value: int) -> _State | None:
            sums = list(state)
            if total is not None:
                sums[row] += value
                if sums[row] > total or (last_column and sums[row] != total):
                    return None
            if column_total is not None:
                sums[-1] += value
                if sums[-1] > column_total or (ends and sums[-1] != column_total):
                    return None
                if ends:
                    sums[-1] = 0
            return tuple(sums)

        return move

    def forward(self, known: Known) -> list[_Sums]:
        """Weights of the cells so far, by state: before the first cell, after it, ..., after the last."""
        sums: list[_Sums] = [{(0,) * (self.rows + 1): 1}]
        for row, column, place in self._order():
            move, following = self._moves(known, row, column), dict[_State, int]()
            for state, weight in sums[-1].items():
                for value in self._values(known, place):
                    after = move(state, value)
                    if after is not None:
                        following[after] = following.get(after, 0) + weight * self._weights[place][value]
            sums.append(following)
        return sums

    def total_weight(self, known: Known) -> int:
        """Weight of all data sets that agree, in multiples of one over the product of all denominators."""
        return sum(self.forward(known)[-1].values())

    def probability(self, known: Known) -> Fraction:
        """Chance of what is known."""
        whole = math.prod(sum(weights) for weights in self._weights)
        return Fraction(self.total_weight(known), whole)

    def likelihoods(self, known: Known) -> list[dict[int, int]]:
        """For each cell and value, the weight of all other cells that agree."""
        sums, steps = self.forward(known), list(self._order())
        likelihoods: list[dict[int, int]] = [{} for _ in steps]
        later: _Sums = dict.fromkeys(sums[-1], 1)
        for number in range(len(steps) - 1, -1, -1):
            row, column, place = steps[number]
            move, earlier = self._moves(known, row, column), dict[_State, int]()
            for state, weight in sums[number].items():
                for value in self._values(known, place):
                    after = move(state, value)
                    if after is not None and after in later:
                        likelihoods[place][value] = likelihoods[place].get(value, 0) + weight * later[after]
                        earlier[state] = earlier.get(state, 0) + self._weights[place][value] * later[after]
            later = earlier
        return likelihoods

    def posteriors(self, known: Known) -> list[list[Fraction]]:
        """Chance that a person of each type of each cell has the value, given what is known."""
        posteriors = []
        for place, likelihood in enumerate(self.likelihoods(known)):
            weights = self._weights[place]
            whole = sum(weight * weights[value] for value, weight in likelihood.items())
            of_cell = []
            for rate, others in zip(self.cells[place].rates, self._others[place], strict=True):
                ones = sum(weight * others[value - 1] for value, weight in likelihood.items() if value > 0)
                of_cell.append(Fraction(rate.numerator * ones, whole))
            posteriors.append(of_cell)
        return posteriors

    def is_safe(self, known: Known, epsilon: Fraction) -> bool:
        """Safe (Algorithm 1): nobody's belief moves by more than epsilon relative to the prior."""
        return all(
            abs(1 - posterior / rate) <= epsilon and abs(1 - (1 - posterior) / (1 - rate)) <= epsilon
            for types, of_cell in zip(self.cells, self.posteriors(known), strict=True)
            for rate, posterior in zip(types.rates, of_cell, strict=True)
        )

    def law(self, known: Known, query: int) -> dict[int, int]:
        """Weights of the values that a query can have."""
        place = query - self.rows - self.columns
        if place >= 0:
            weights = self._weights[place]
            likelihood = self.likelihoods(known)[place]
            return {value: weight * weights[value] for value, weight in sorted(likelihood.items())}
        weights_of = (
            (value, self.total_weight(known.add_value(query, value))) for value in range(self.most(query) + 1)
        )
        return {value: weight for value, weight in weights_of if weight}

    def sample(self, known: Known, draw: Draw) -> list[int]:
        """Draw the cells of a table, row by row, with the chance it has given what is known.

        Parameters
        ----------
        known : Known
            What is known; some table must agree.
        draw : callable
            Returns a uniform whole number below its argument.

        Raises
        ------
        ParameterError
            No table agrees with what is known.
        """
        sums, steps = self.forward(known), list(self._order())
        if not sums[-1]:
            raise ParameterError("no table has these totals and cells: correct them")
        cells = [0] * len(steps)
        state = _choose_key(sums[-1], draw)
        for number in range(len(steps) - 1, -1, -1):
            row, column, place = steps[number]
            move = self._moves(known, row, column)
            ways = {
                (before, value): weight * self._weights[place][value]
                for before, weight in sums[number].items()
                for value in self._values(known, place)
                if move(before, value) == state
            }
            state, cells[place] = _choose_key(ways, draw)
        return cells


def _choose_key(ways: dict[_Item, int], draw: Draw) -> _Item:
    """One of the keys, with chances in proportion to their weights."""
    left = draw(sum(ways.values()))
    for item, weight in ways.items():
        left -= weight
        if left < 0:
            return item
    raise AssertionError("the draw was not below the sum of all weights")


def draw_people(types: Types, total: int, draw: Draw) -> list[int]:
    """Draw how many people of each type have the value, given how many of the cell do (conditional Bernoulli).

    Any people of a type are then equally likely.
    """
    drawn = []
    for number, people in enumerate(types.people):
        own = exact_weights(Types((people,), (types.rates[number],)))
        rest = exact_weights(Types(types.people[number + 1 :], types.rates[number + 1 :]))
        ways = {
            ones: weight * rest[total - ones]
            for ones, weight in enumerate(own)
            if 0 <= total - ones < len(rest)
        }
        drawn.append(_choose_key(ways, draw))
        total -= drawn[-1]
    return drawn
