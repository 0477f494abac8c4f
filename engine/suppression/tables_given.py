"""A published table with suppressed cells, as somebody who attacks it reads it.

Totals are part of the array: with ``total_column`` the last column is the sum of the others, and with ``total_row`` the
last row is. A suppressed total is a suppressed cell like any other. Every row and column whose total is published is an
equation over whole numbers; :class:`Sums` has these equations for the suppressed cells alone.

Source: Nabar and Mishra, "Releasing Private Contingency Tables", Figure 1; docs/attack.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray
from engine.errors import EngineError, ParameterError

__all__ = ["LARGEST", "SUPPRESSED", "ContradictionError", "GivenTable", "Named", "Star", "Sums"]

SUPPRESSED: Final = -1
LARGEST: Final = 10**12
"""Largest value of a cell. Sums of a million such cells fit into 64 bits."""


class ContradictionError(EngineError):
    """No table of whole numbers has these totals, or none gets these stars by the rule."""


class Star(NamedTuple):
    """A suppressed cell, and the equations it is in.

    Attributes
    ----------
    row, column : int
        Its place in the table.
    lines : tuple of (int, int)
        Each equation, and the sign with which the cell is in it: -1 for a total, 1 otherwise.
    low : int
        Smallest value that is possible before any equation is used.
    high : int or None
        Largest such value; None without a limit.
    table : int
        Which of several linked tables it is in.
    """

    row: int
    column: int
    lines: tuple[tuple[int, int], ...]
    low: int
    high: int | None
    table: int = 0


class Named(Protocol):
    """What names equations and suppressed cells in messages."""

    def line_name(self, line: int) -> str:
        """Return how messages name an equation."""
        ...

    def star_name(self, star: Star) -> str:
        """Return how messages name a suppressed cell."""
        ...


class Sums(NamedTuple):
    """The equations over the suppressed cells.

    Attributes
    ----------
    stars : tuple of Star
        In row-major order.
    rest : tuple of int
        For each equation, what its suppressed cells add up to. Rows come first, then columns; of linked tables, those
        of each table in order, then the links.
    """

    stars: tuple[Star, ...]
    rest: tuple[int, ...]

    def members(self) -> list[list[int]]:
        """Stars in each equation, by position."""
        members: list[list[int]] = [[] for _ in self.rest]
        for position, star in enumerate(self.stars):
            for line, _ in star.lines:
                members[line].append(position)
        return members


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GivenTable:
    """A table of counts in which some cells are suppressed.

    Attributes
    ----------
    values : int64[R, C]
        Counts with their totals; ``SUPPRESSED`` for a suppressed cell.
    total_row : bool
        The last row is the sum of the others.
    total_column : bool
        The last column is the sum of the others.
    least, most : int64[R, C], optional
        What else is known about each cell, such as how many people are in it at most. ``SUPPRESSED`` in ``most`` means
        that there is no limit.
    row_names, column_names : tuple of str, optional
        How messages name rows and columns; by default their numbers, from 1.

    Raises
    ------
    ParameterError
        An array has the wrong shape, or a value is negative or above ``LARGEST``.
    """

    values: npt.NDArray[np.int64]
    total_row: bool = True
    total_column: bool = True
    least: npt.NDArray[np.int64] | None = None
    most: npt.NDArray[np.int64] | None = None
    row_names: tuple[str, ...] = ()
    column_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.values.ndim != 2 or self.values.dtype != np.int64:
            raise ParameterError(
                f"values: {self.values.ndim} dimensions of {self.values.dtype}; give int64[R, C]"
            )
        if not self.interior.any():
            raise ParameterError(
                "the table has no cell besides its totals; give at least one row and one column"
            )
        for name, array in (("values", self.values), ("least", self.least), ("most", self.most)):
            if array is None:
                continue
            if array.shape != self.values.shape:
                raise ParameterError(f"{name}: shape {array.shape}, but the table has {self.values.shape}")
            if array.min() < SUPPRESSED or array.max() > LARGEST:
                raise ParameterError(f"{name}: values must be from 0 to {LARGEST:,}")

    @property
    def suppressed(self) -> BoolArray:
        """Which cells are suppressed, bool[R, C]."""
        return np.asarray(self.values == SUPPRESSED)

    @property
    def interior(self) -> BoolArray:
        """Which cells are no totals, bool[R, C]."""
        is_interior = np.ones(self.values.shape, dtype=np.bool_)
        if self.total_row:
            is_interior[-1] = False
        if self.total_column:
            is_interior[:, -1] = False
        return is_interior

    def row_name(self, row: int) -> str:
        """Return how messages name a row."""
        return self.row_names[row] if self.row_names else str(row + 1)

    def column_name(self, column: int) -> str:
        """Return how messages name a column."""
        return self.column_names[column] if self.column_names else str(column + 1)

    def cell_name(self, row: int, column: int) -> str:
        """Return how messages name a cell."""
        return f"row {self.row_name(row)}, column {self.column_name(column)}"

    def line_name(self, line: int) -> str:
        """An equation as messages name it: its row or its column."""
        n_rows = self.values.shape[0]
        return f"row {self.row_name(line)}" if line < n_rows else f"column {self.column_name(line - n_rows)}"

    def star_name(self, star: Star) -> str:
        """Return how messages name a suppressed cell."""
        return self.cell_name(star.row, star.column)

    def add_known_range(self, row: int, column: int, low: int, high: int | None) -> GivenTable:
        """Return the table for somebody who also knows that a cell is from `low` to `high` (None: no limit)."""
        least = np.zeros_like(self.values) if self.least is None else self.least.copy()
        least[row, column] = max(least[row, column], low)
        most = np.full_like(self.values, SUPPRESSED)
        most[row, column] = SUPPRESSED if high is None else high
        return replace(self.add_limits(most), least=least)

    def add_limits(self, most: npt.NDArray[np.int64]) -> GivenTable:
        """Return the table for somebody who also knows these limits, int64[R, C]; ``SUPPRESSED`` means no limit."""
        if self.most is not None:
            known = np.minimum(self.most, most)
            most = np.where(known == SUPPRESSED, np.maximum(self.most, most), known)
        return replace(self, most=most)

    def sums(self) -> Sums:
        """Return the equations over the suppressed cells.

        Raises
        ------
        ContradictionError
            A shown cell is outside what is known about it, or a row or column without stars does not add up.
        """
        self._check_shown()
        rest = [0] * sum(self.values.shape)
        stars = []
        for row, column in np.argwhere(self.values != SUPPRESSED).tolist():
            for line, sign in self._lines(row, column):
                rest[line] -= sign * int(self.values[row, column])
        for row, column in np.argwhere(self.suppressed).tolist():
            low = 0 if self.least is None else max(int(self.least[row, column]), 0)
            high = SUPPRESSED if self.most is None else int(self.most[row, column])
            lines = tuple(self._lines(row, column))
            stars.append(Star(row, column, lines, low, None if high == SUPPRESSED else high))
        self._check_complete(rest)
        return Sums(tuple(stars), tuple(rest))

    def _lines(self, row: int, column: int) -> Iterator[tuple[int, int]]:
        n_rows, n_columns = self.values.shape
        if self.total_column:
            yield row, -1 if column == n_columns - 1 else 1
        if self.total_row:
            yield n_rows + column, -1 if row == n_rows - 1 else 1

    def _check_shown(self) -> None:
        for row, column in np.argwhere(~self.suppressed).tolist():
            shown = int(self.values[row, column])
            low = 0 if self.least is None else int(self.least[row, column])
            high = SUPPRESSED if self.most is None else int(self.most[row, column])
            if shown < low or (high != SUPPRESSED and shown > high):
                known = f"at least {low:,}" if shown < low else f"at most {high:,}"
                raise ContradictionError(
                    f"{self.cell_name(row, column)} is {shown:,}, but {known} is known about it; correct one of them"
                )

    def _check_complete(self, rest: list[int]) -> None:
        n_rows = self.values.shape[0]
        lines = [*range(n_rows)] * self.total_column
        lines += [n_rows + column for column in range(self.values.shape[1])] * self.total_row
        for line in lines:
            cells = self.values[line] if line < n_rows else self.values[:, line - n_rows]
            if SUPPRESSED not in cells and rest[line] != 0:
                total = int(cells[-1])
                raise ContradictionError(
                    f"{self.line_name(line)}: the cells add up to {total - rest[line]:,}, but the total is {total:,}; "
                    "correct the table"
                )
