"""Rows of workers counted by workplace and segment, one row after the other."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["counted_rows"]

_MOST = 2**31 - 1


def counted_rows(rows: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int, int]] | None:
    """(workplace, segment, workers, first row) of each run of rows (workplace, segment, workers).

    None if the rows are not sorted by workplace and segment, or 32 bits do not hold the workers of a run.
    """
    if [row[:2] for row in rows] != sorted(row[:2] for row in rows):
        return None
    first = {pair: at for at, pair in reversed(list(enumerate(row[:2] for row in rows)))}
    workers = {pair: sum(row[2] for row in rows if row[:2] == pair) for pair in first}
    if any(number > _MOST for number in workers.values()):
        return None
    return [(*pair, workers[pair], first[pair]) for pair in sorted(first)]
