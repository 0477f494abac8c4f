"""Which of the listed tables get the published stars by the rule: the ordinary suppressor is run again on each.

The suppressor reads which cells are primary, not their values, so it is run once for each set of primary cells.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.arrays import BoolArray
from engine.suppression.attack.ordinary import OrdinarySuppressor, Rule
from engine.suppression.tables_given import GivenTable, Sums

__all__ = ["Outcome", "Patterns", "agrees_with_rule", "outcomes", "patterns_of", "stars_of"]


class Outcome(NamedTuple):
    """Tables that do not get the published stars, by what they get instead.

    Attributes
    ----------
    n_tables : int
    n_stars : int or None
        How many stars they get; None for more than the published ones.
    """

    n_tables: int
    n_stars: int | None


class Patterns(NamedTuple):
    """The sets of primary cells among some tables.

    Attributes
    ----------
    primary : bool[m, K]
        Which suppressed cells are primary, each set once.
    which : int64[n]
        The set of each table.
    n_tables : int64[m]
        How many tables have each set.
    """

    primary: BoolArray
    which: npt.NDArray[np.int64]
    n_tables: npt.NDArray[np.int64]


def stars_of(table: GivenTable, sums: Sums) -> npt.NDArray[np.int64]:
    """Return the positions of suppressed cells in row-major order, int64[K]."""
    return np.array([star.row * table.values.shape[1] + star.column for star in sums.stars], dtype=np.int64)


def agrees_with_rule(
    values: npt.NDArray[np.int64], stars: npt.NDArray[np.int64], suppressor: OrdinarySuppressor
) -> BoolArray:
    """Run the suppressor on each table, and return which tables get exactly the published stars.

    Parameters
    ----------
    values : int64[n, K]
        Values of the suppressed cells in each table.
    stars : int64[K]
        Positions of the suppressed cells. All others must be outside the rule's range; the caller checks it.
    suppressor : OrdinarySuppressor
        The rule.

    Returns
    -------
    bool[n]

    Raises
    ------
    OverflowRefusedError
        The smallest patterns of some table cannot be searched.
    """
    patterns = patterns_of(values, suppressor.rule)
    published = frozenset(stars.tolist())
    given = [suppressor.gives(published, frozenset(stars[row].tolist())) for row in patterns.primary]
    return np.array(given, dtype=np.bool_)[patterns.which]


def outcomes(
    values: npt.NDArray[np.int64], stars: npt.NDArray[np.int64], suppressor: OrdinarySuppressor
) -> list[Outcome]:
    """Say what the suppressor gives instead to tables that do not get the published stars; fewest stars first.

    Parameters and errors are those of :func:`agrees_with_rule`.
    """
    patterns = patterns_of(values, suppressor.rule)
    published = frozenset(stars.tolist())
    tables_by_n_stars = Counter[int | None]()
    for row, n_tables in zip(patterns.primary, patterns.n_tables.tolist(), strict=True):
        primary = frozenset(stars[row].tolist())
        if not suppressor.gives(published, primary):
            tables_by_n_stars[suppressor.n_stars(published, primary)] += n_tables
    order = sorted(tables_by_n_stars, key=lambda n_stars: (n_stars is None, n_stars))
    return [Outcome(tables_by_n_stars[n_stars], n_stars) for n_stars in order]


def patterns_of(values: npt.NDArray[np.int64], rule: Rule) -> Patterns:
    """Return the sets of primary cells among tables, int64[n, K]."""
    small = (values >= rule.low) & (values <= rule.high)
    # Bits in 64-bit words are compared much faster than rows of truth values.
    packed = np.packbits(small, axis=1)
    words = np.zeros((len(values), -(-packed.shape[1] // 8) * 8), dtype=np.uint8)
    words[:, : packed.shape[1]] = packed
    columns = words.view(np.uint64)
    which = np.zeros(len(values), dtype=np.int64)
    for column in columns.T:
        _, part = np.unique(column, return_inverse=True)
        _, which = np.unique(which * (int(part.max(initial=0)) + 1) + part, return_inverse=True)
    _, first, n_tables = np.unique(which, return_index=True, return_counts=True)
    return Patterns(small[first], which, n_tables)
