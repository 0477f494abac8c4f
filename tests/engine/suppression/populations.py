"""Small populations whose worlds can all be listed, for tests of suppressors."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

from tests.oracles.suppression import Group, Population

RATES = [Fraction(numerator, 10) for numerator in range(2, 9)]


def cells_only(seed: int, n_cells: int, people: tuple[int, int], n_populations: int) -> list[Population]:
    """Cells of people with one rate each; only the cells are queries."""
    queries = tuple(frozenset({cell}) for cell in range(n_cells))
    return [Population(groups, queries) for groups in _groups(seed, n_cells, people, n_populations)]


def sums_then_cells(seed: int, people: tuple[int, int], n_populations: int) -> list[Population]:
    """2 × 2 tables: the row totals, the column totals and then the cells, row by row."""
    rows, columns = [{0, 1}, {2, 3}], [{0, 2}, {1, 3}]
    queries = [frozenset(line) for line in (*rows, *columns, {0}, {1}, {2}, {3})]
    return [Population(groups, tuple(queries)) for groups in _groups(seed, 4, people, n_populations)]


def _groups(
    seed: int, n_cells: int, people: tuple[int, int], n_populations: int
) -> Iterator[tuple[Group, ...]]:
    rng = np.random.default_rng(seed)
    for _ in range(n_populations):
        sizes = rng.integers(people[0], people[1] + 1, n_cells)
        rates = rng.integers(0, len(RATES), n_cells)
        yield tuple(Group(int(size), RATES[rate]) for size, rate in zip(sizes, rates, strict=True))
