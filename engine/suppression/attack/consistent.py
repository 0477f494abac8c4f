"""All tables of whole numbers that agree with a published one: its totals, and what else is known about its cells.

Suppressed cells are filled in one after the other. All partly filled tables are kept in one array, and each is
continued with every value that the equations of the next cell leave open. A partly filled table that no value continues
is dropped.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from engine.errors import OverflowRefusedError
from engine.suppression.tables_given import Sums

__all__ = ["LISTED", "fill_in", "list_consistent"]

LISTED: Final = 20_000_000
"""Most values that are kept at a time: tables times suppressed cells (160 MB)."""

Tables = npt.NDArray[np.int64]


def list_consistent(sums: Sums, *, limit: int = LISTED) -> Tables:
    """List every assignment of whole numbers to the suppressed cells that satisfies the equations.

    Parameters
    ----------
    sums : Sums
        Equations, and what is known about each suppressed cell.
    limit : int
        Most values to keep at a time.

    Returns
    -------
    int64[n, K]
        One row per assignment, in lexicographic order; one column per suppressed cell, in row-major order.

    Raises
    ------
    OverflowRefusedError
        A cell has no upper limit, or more than `limit` values would have to be kept.
    """
    n_stars = len(sums.stars)
    members = sums.members()
    filled = np.zeros((1, 0), dtype=np.int64)
    rest = np.array([sums.rest], dtype=np.int64)
    for position, star in enumerate(sums.stars):
        low, high = _open_values(sums, members, position, rest)
        if len(filled) and int(high.max()) == _NO_LIMIT:
            raise OverflowRefusedError(
                "a suppressed cell has no upper limit, so its values cannot be listed; compute ranges instead"
            )
        counts = np.maximum(high - low + 1, 0)
        if counts.sum(dtype=np.float64) * n_stars > limit:
            raise OverflowRefusedError(
                f"more than {limit // n_stars:,} tables would have to be listed; compute ranges instead"
            )
        kept = np.repeat(np.arange(len(filled)), counts)
        values = low[kept] + np.arange(len(kept)) - (np.cumsum(counts) - counts)[kept]
        filled = np.column_stack([filled[kept], values])
        rest = rest[kept]
        for line, sign in star.lines:
            rest[:, line] -= sign * values
    return filled


_NO_LIMIT: Final = np.iinfo(np.int64).max


def _open_values(
    sums: Sums, members: list[list[int]], position: int, rest: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the least and the greatest value of a star in each partly filled table; empty if low exceeds high."""
    star = sums.stars[position]
    low = np.full(len(rest), star.low, dtype=np.int64)
    high = np.full(len(rest), _NO_LIMIT if star.high is None else star.high, dtype=np.int64)
    for line, sign in star.lines:
        later = [member for member in members[line] if member > position]
        least, most = _contributions(sums, line, later)
        # What is left of the line, less what later stars can contribute, is what this star may contribute.
        if most is not None:
            _narrow(low, high, rest[:, line] - most, sign, lower=True)
        if least is not None:
            _narrow(low, high, rest[:, line] - least, sign, lower=False)
    return low, high


def _contributions(sums: Sums, line: int, stars: list[int]) -> tuple[int | None, int | None]:
    """Return the least and the most that some stars add to an equation; None without a limit."""
    least: int | None = 0
    most: int | None = 0
    for star in (sums.stars[position] for position in stars):
        ends: tuple[int | None, int | None] = star.low, star.high
        if dict(star.lines)[line] < 0:
            ends = (None if star.high is None else -star.high), -star.low
        least = None if least is None or ends[0] is None else least + ends[0]
        most = None if most is None or ends[1] is None else most + ends[1]
    return least, most


def _narrow(
    low: npt.NDArray[np.int64],
    high: npt.NDArray[np.int64],
    contribution: npt.NDArray[np.int64],
    sign: int,
    *,
    lower: bool,
) -> None:
    """Apply a lower (or upper) limit of a star's contribution to its value, in place."""
    if lower == (sign > 0):
        np.maximum(low, sign * contribution, out=low)
    else:
        np.minimum(high, sign * contribution, out=high)


def fill_in(table: npt.NDArray[np.int64], sums: Sums, values: Tables) -> npt.NDArray[np.int64]:
    """Return whole tables, int64[n, R, C]: `table` with each row of `values` at its suppressed cells."""
    whole = np.repeat(table[np.newaxis], len(values), axis=0)
    for position, star in enumerate(sums.stars):
        whole[:, star.row, star.column] = values[:, position]
    return whole
