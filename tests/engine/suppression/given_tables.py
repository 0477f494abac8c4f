"""Tables with stars for the tests of the attack."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.suppression.attack.ordinary import Layout, OrdinarySuppressor, Rule
from engine.suppression.tables_given import SUPPRESSED, GivenTable

Counts = npt.NDArray[np.int64]


def with_totals(values: npt.ArrayLike) -> Counts:
    """Add a row and a column of totals."""
    counts = np.array(values, dtype=np.int64)
    counts = np.vstack([counts, counts.sum(axis=0)])
    return np.column_stack([counts, counts.sum(axis=1)])


def starred(values: Counts, stars: npt.NDArray[np.bool_]) -> GivenTable:
    """Suppress cells of a table with both totals."""
    return GivenTable(values=np.where(stars, SUPPRESSED, values))


def ordinary(values: Counts, rule: Rule) -> GivenTable:
    """Suppress a table with both totals as an ordinary suppressor does."""
    n_rows, n_columns = values.shape
    layout = Layout(n_rows, n_columns, total_row=True, total_column=True)
    return starred(values, OrdinarySuppressor(layout, rule).suppress(values))


def random_tables(n: int, *, stars_in_totals: bool) -> list[tuple[Counts, GivenTable]]:
    """Small tables with random stars, and what is under them."""
    rng = np.random.default_rng(20)
    found = []
    for _ in range(n):
        values = with_totals(rng.integers(0, 5, rng.integers(2, 5, 2)))
        stars = rng.random(values.shape) < 0.6
        if not stars_in_totals:
            stars[-1], stars[:, -1] = False, False
        stars[0, 0] = True
        found.append((values, starred(values, stars)))
    return found
