"""The ordinary suppressor, for comparison and tests only: it protects nothing.

Small values are suppressed first (primary cells). Then the fewest further cells (complementary cells) are suppressed so
that no primary cell follows from the totals: Gusfield's criterion. Suppressed cells are the edges of a graph whose
nodes are the rows and columns with published totals; a cell follows from the totals exactly if its edge is on no
cycle. The criterion reads only *which* cells are primary, not their values.

Which of several smallest patterns a publisher's program chooses is not part of the rule. Here it is the first one in
the order of `itertools.combinations` over cells in row-major order.

Source: Nabar and Mishra, "Releasing Private Contingency Tables", Figure 1; Gusfield (1988) for the graph;
docs/attack.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray
from engine.errors import OverflowRefusedError, ParameterError
from engine.suppression.tables_given import GivenTable

__all__ = [
    "COMBINATIONS",
    "Layout",
    "OrdinarySuppressor",
    "Rule",
    "fewest_needed",
    "follows_from_totals",
    "protects",
]

COMBINATIONS: Final = 200_000
"""Most patterns that are tried for one set of primary cells."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """How an ordinary suppressor chooses its stars.

    Attributes
    ----------
    low, high : int
        Values in this range are primary.
    complementary : {"fewest", "none"}
        Suppress the fewest further cells that protect the primary ones, or none.
    ties : {"any", "first"}
        What is known about the choice among smallest patterns: nothing, or that it is the first one.

    Raises
    ------
    ParameterError
        The range is empty or begins below 0.
    """

    low: int = 0
    high: int = 5
    complementary: Literal["fewest", "none"] = "fewest"
    ties: Literal["any", "first"] = "any"

    def __post_init__(self) -> None:
        if not 0 <= self.low <= self.high:
            raise ParameterError(
                f"rule {self.low}..{self.high}: give LOW..HIGH with 0 <= LOW <= HIGH, such as 0..5"
            )


class Layout(NamedTuple):
    """Where a suppressor may put stars, and which totals are published.

    Attributes
    ----------
    n_rows, n_columns : int
        Of the table with its totals.
    total_row, total_column : bool
        Whether the last row and the last column are totals.
    stars_in_totals : bool
        Totals can be suppressed, too; otherwise all are shown, whatever their values.
    """

    n_rows: int
    n_columns: int
    total_row: bool
    total_column: bool
    stars_in_totals: bool = False

    @classmethod
    def of(cls, table: GivenTable) -> Layout:
        """Return the layout of a published table. If one of its totals is suppressed, any of them can be."""
        n_rows, n_columns = table.values.shape
        in_totals = bool((table.suppressed & ~table.interior).any())
        return cls(n_rows, n_columns, table.total_row, table.total_column, in_totals)

    def cells(self) -> Iterator[int]:
        """Cells that may be suppressed, by their position in row-major order."""
        last_row, last_column = self.n_rows - 1, self.n_columns - 1
        for cell in range(self.n_rows * self.n_columns):
            row, column = divmod(cell, self.n_columns)
            is_total = (self.total_row and row == last_row) or (self.total_column and column == last_column)
            if self.stars_in_totals or not is_total:
                yield cell

    def edge(self, cell: int) -> tuple[int, int]:
        """Nodes that a cell joins. Rows (columns) without totals are all one node: they are in no equation."""
        row, column = divmod(cell, self.n_columns)
        outside = self.n_rows + self.n_columns
        return (
            row if self.total_column else outside,
            self.n_rows + column if self.total_row else outside,
        )


def follows_from_totals(layout: Layout, pattern: frozenset[int]) -> frozenset[int]:
    """Of the suppressed cells, return those that are on no cycle: totals give them away, whatever the values are."""
    neighbors: dict[int, list[tuple[int, int]]] = {}
    for cell in sorted(pattern):
        row_node, column_node = layout.edge(cell)
        neighbors.setdefault(row_node, []).append((column_node, cell))
        neighbors.setdefault(column_node, []).append((row_node, cell))
    order: dict[int, int] = {}
    lowest: dict[int, int] = {}
    bridges = []
    for root in neighbors:
        if root in order:
            continue
        order[root] = lowest[root] = len(order)
        path = [(root, -1, iter(neighbors[root]))]
        while path:
            node, by, rest = path[-1]
            step = next(rest, None)
            if step is None:
                path.pop()
                if path:
                    parent = path[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
                    if lowest[node] > order[parent]:
                        bridges.append(by)
            elif step[1] != by:
                neighbor, cell = step
                if neighbor in order:
                    lowest[node] = min(lowest[node], order[neighbor])
                else:
                    order[neighbor] = lowest[neighbor] = len(order)
                    path.append((neighbor, cell, iter(neighbors[neighbor])))
    return frozenset(bridges)


class OrdinarySuppressor:
    """An ordinary suppressor; smallest patterns that it has found are remembered.

    Parameters
    ----------
    layout : Layout
        Where stars may be, and which totals are published.
    rule : Rule
        Which values are primary, and whether complementary cells are added.
    """

    def __init__(self, layout: Layout, rule: Rule) -> None:
        self.layout = layout
        self.rule = rule
        self._cells = list(layout.cells())
        self._first: dict[tuple[frozenset[int], int], frozenset[int] | None] = {}

    def suppress(self, values: npt.NDArray[np.int64]) -> BoolArray:
        """Return the stars of a table. They protect nothing: an attacker can use the rule itself.

        Among several smallest patterns the first one is taken, whatever ``ties`` is.

        Parameters
        ----------
        values : int64[R, C]
            All counts, with their totals.

        Returns
        -------
        bool[R, C]

        Raises
        ------
        OverflowRefusedError
            More than ``COMBINATIONS`` patterns would have to be tried.
        ParameterError
            No pattern protects the primary cells: the total of a row with a single cell gives it away, for example.
        """
        primary = self.primary(values)
        pattern: frozenset[int] | None = primary
        if self.rule.complementary == "fewest":
            pattern = self._first_smallest(primary, len(self._cells))
        if pattern is None:
            raise ParameterError(
                "no suppressed cells protect the small values from the totals: leave out the totals of a row or "
                "column with a single cell"
            )
        stars = np.zeros(values.size, dtype=np.bool_)
        stars[sorted(pattern)] = True
        return stars.reshape(values.shape)

    def primary(self, values: npt.NDArray[np.int64]) -> frozenset[int]:
        """Return the cells of a whole table that have values in the rule's range, by position."""
        flat = values.ravel()
        return frozenset(cell for cell in self._cells if self.rule.low <= flat[cell] <= self.rule.high)

    def gives(self, pattern: frozenset[int], primary: frozenset[int]) -> bool:
        """Whether the suppressor can give these stars if these cells are primary.

        With ties "any" it can if *some* smallest pattern is this one.

        Raises
        ------
        OverflowRefusedError
            More than ``COMBINATIONS`` patterns would have to be tried.
        """
        if self.rule.complementary == "none":
            return pattern == primary
        if not protects(self.layout, pattern, primary):
            return False
        if any(protects(self.layout, pattern - {cell}, primary) for cell in pattern - primary):
            return False
        if self.rule.ties == "first":
            return self._first_smallest(primary, len(pattern)) == pattern
        return self._first_smallest(primary, len(pattern) - 1) is None

    def n_stars(self, pattern: frozenset[int], primary: frozenset[int]) -> int | None:
        """Return how many stars the suppressor gives if these cells are primary; None if more than the pattern has.

        Raises
        ------
        OverflowRefusedError
            More than ``COMBINATIONS`` patterns would have to be tried.
        """
        if self.rule.complementary == "none" or not primary:
            return len(primary)
        smallest = self._first_smallest(primary, len(pattern))
        return None if smallest is None else len(smallest)

    def _first_smallest(self, primary: frozenset[int], most: int) -> frozenset[int] | None:
        """Return the first smallest pattern with at most `most` cells, or None."""
        if (primary, most) not in self._first:
            self._first[primary, most] = self._search(primary, most)
        return self._first[primary, most]

    def _search(self, primary: frozenset[int], most: int) -> frozenset[int] | None:
        others = [cell for cell in self._cells if cell not in primary]
        tried = 0
        for size in range(fewest_needed(self.layout, primary), most + 1):
            n_more = size - len(primary)
            tried += comb(len(others), n_more)
            if tried > COMBINATIONS:
                raise OverflowRefusedError(
                    f"the fewest complementary cells for {len(primary):,} small values among {len(self._cells):,} "
                    f"cells: more than {COMBINATIONS:,} patterns would have to be tried"
                )
            for more in combinations(others, n_more):
                pattern = primary.union(more)
                if protects(self.layout, pattern, primary):
                    return pattern
        return None


def protects(layout: Layout, pattern: frozenset[int], primary: frozenset[int]) -> bool:
    """Whether a pattern has all primary cells, none of which follows from the totals."""
    return primary <= pattern and not primary & follows_from_totals(layout, pattern)


def fewest_needed(layout: Layout, primary: frozenset[int]) -> int:
    """Return a lower bound of the size of a pattern: two cells in each published row and column with a primary cell."""
    outside = layout.n_rows + layout.n_columns
    ends = [layout.edge(cell) for cell in primary]
    needed = [len(primary)]
    for side in (0, 1):
        nodes = [pair[side] for pair in ends]
        needed.append(
            sum(nodes.count(node) if node == outside else max(2, nodes.count(node)) for node in set(nodes))
        )
    return max(needed)
