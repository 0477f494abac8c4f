"""Which of the listed tables get the published stars by the rule: the ordinary suppressor is run again on each.

The suppressor reads which cells are primary, not their values, so it is run once for each set of primary cells.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine._arrays import BoolArray
from engine.suppression.ordinary import OrdinarySuppressor
from engine.suppression.tables_given import GivenTable, Sums

__all__ = ["agrees_with_rule", "stars_of"]


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
    rule = suppressor.rule
    small = (values >= rule.low) & (values <= rule.high)
    patterns, which = np.unique(small, axis=0, return_inverse=True)
    published = frozenset(stars.tolist())
    given = [suppressor.gives(published, frozenset(stars[row].tolist())) for row in patterns]
    return np.array(given, dtype=np.bool_)[which.ravel()]
