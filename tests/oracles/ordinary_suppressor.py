"""The attack on ordinary suppression, by brute force: every table is listed, and every pattern is tried.

Whether a cell follows from the totals is decided by linear algebra, not by cycles of a graph: a suppressed cell follows
if the equations without it have a smaller rank.
"""

from __future__ import annotations

from functools import cache
from itertools import chain, combinations, product

import numpy as np

Table = tuple[tuple[int, ...], ...]


def consistent_tables(rows: tuple[int, ...], columns: tuple[int, ...]) -> list[Table]:
    """All tables of whole numbers with these totals, in lexicographic order."""
    choices = [
        [cells for cells in product(*(range(n + 1) for n in columns)) if sum(cells) == row] for row in rows
    ]
    return [table for table in product(*choices) if tuple(map(sum, zip(*table, strict=True))) == columns]


def is_given_away(n_rows: int, n_columns: int, pattern: set[int], cell: int) -> bool:
    """Whether the totals alone determine a suppressed cell, when values may be any real numbers."""

    def rank(cells: list[int]) -> int:
        equations = np.zeros((n_rows + n_columns, len(cells)))
        for position, each in enumerate(cells):
            equations[each // n_columns, position] = equations[n_rows + each % n_columns, position] = 1
        return int(np.linalg.matrix_rank(equations)) if cells else 0

    return rank(sorted(pattern)) > rank(sorted(pattern - {cell}))


@cache
def smallest_patterns(n_rows: int, n_columns: int, primary: frozenset[int]) -> list[set[int]]:
    """All smallest sets of cells that contain the primary ones and give none of them away, in lexicographic order."""
    others = [cell for cell in range(n_rows * n_columns) if cell not in primary]
    tried = chain.from_iterable(combinations(others, size) for size in range(len(others) + 1))
    found: list[set[int]] = []
    for more in tried:
        pattern = {*primary, *more}
        if found and len(pattern) > len(found[0]):
            break
        if not any(is_given_away(n_rows, n_columns, pattern, cell) for cell in primary):
            found.append(pattern)
    return found


def attack(
    table: Table, low: int, high: int, *, first_only: bool
) -> tuple[set[int], list[Table], list[Table]]:
    """Suppress a table; return its stars, the tables that agree with it, and those of them that get the same stars."""
    rows = tuple(map(sum, table))
    columns = tuple(map(sum, zip(*table, strict=True)))
    stars = _stars(table, low, high)[0]
    shown = [(cell, value) for cell, value in enumerate(chain.from_iterable(table)) if cell not in stars]
    agreeing = [
        each
        for each in consistent_tables(rows, columns)
        if all(list(chain.from_iterable(each))[cell] == value for cell, value in shown)
    ]
    left = [
        each
        for each in agreeing
        if stars in (_stars(each, low, high)[:1] if first_only else _stars(each, low, high))
    ]
    return stars, agreeing, left


def _stars(table: Table, low: int, high: int) -> list[set[int]]:
    flat = list(chain.from_iterable(table))
    primary = frozenset(cell for cell, value in enumerate(flat) if low <= value <= high)
    return smallest_patterns(len(table), len(table[0]), primary)
