"""Two rows with both totals: which tables are possible at all, and whether a sum has one value in all of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

__all__ = ["Ways"]


class Ways(NamedTuple):
    """How the ones of known columns may be spread over two rows.

    Attributes
    ----------
    ranges : mapping of int to (int, int)
        Fewest and most ones that each known column can have in the first row.
    least, most : int
        Fewest and most ones that all of them can have in the first row, given the row totals.
    in_columns : int
        Ones in the known columns.
    pool : (int, int)
        People outside the known columns, by row.
    left : (int or None, int or None)
        Ones to be spread over each row, None if not known.
    """

    ranges: Mapping[int, tuple[int, int]]
    least: int
    most: int
    in_columns: int
    pool: tuple[int, int]
    left: tuple[int | None, int | None]

    @classmethod
    def of(
        cls,
        columns: Mapping[int, tuple[int, int, int]],
        pool: tuple[int, int],
        left: tuple[int | None, int | None],
    ) -> Ways:
        """Of columns with their total and their people by row."""
        ranges = {
            at: (max(0, total - second), min(first, total)) for at, (total, first, second) in columns.items()
        }
        in_columns = sum(total for total, _, _ in columns.values())
        least, most = sum(low for low, _ in ranges.values()), sum(high for _, high in ranges.values())
        if left[0] is not None:
            least, most = max(least, left[0] - pool[0]), min(most, left[0])
        if left[1] is not None:
            least, most = max(least, in_columns - left[1]), min(most, in_columns - left[1] + pool[1])
        return cls(ranges, least, most, in_columns, pool, left)

    def determines_column(self, column: int) -> bool:
        """Whether the cells of a known column have one value each."""
        low, high = self.ranges[column]
        lowest = sum(low for low, _ in self.ranges.values())
        highest = sum(high for _, high in self.ranges.values())
        return max(low, self.least - (highest - high)) == min(high, self.most - (lowest - low))

    def determines_pool(self, first: int, second: int) -> bool:
        """Whether these many people of the pool in the first row, and in the second, have one sum only."""
        in_first = np.arange(self.least, self.most + 1)
        of_first = None if self.left[0] is None else self.left[0] - in_first
        of_second = None if self.left[1] is None else self.left[1] - self.in_columns + in_first
        least = _fewest(first, self.pool[0], of_first) + _fewest(second, self.pool[1], of_second)
        most = _most(first, of_first) + _most(second, of_second)
        return bool(np.min(least) == np.max(most))


def _fewest(asked: int, people: int, ones: np.ndarray | None) -> np.ndarray | int:
    return 0 if ones is None else np.maximum(0, ones - (people - asked))


def _most(asked: int, ones: np.ndarray | None) -> np.ndarray | int:
    return asked if ones is None else np.minimum(asked, ones)
