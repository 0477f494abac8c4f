"""Cells of an attribute's table: for each configuration of its parents, the values from the first to the last possible.

Structural zeros between the two are cells that hold nothing. So a table of places within regions takes no more room
than the places, if places are in the order of their regions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError

__all__ = ["MOST_CELLS", "TableCells", "offsets", "table_cells"]

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Rule = tuple[tuple[int, ...], Bools]
"""Places of some parents among all of them, in rising order, and possible values: bool[their sizes ..., size]."""

MOST_CELLS = 1 << 31


@dataclass(frozen=True, slots=True, eq=False)
class TableCells:
    """Cells of one table.

    Attributes
    ----------
    first : int64[K]
        First possible value of each configuration.
    ptr : int64[K + 1]
        CSR offsets of the configurations' cells.
    possible : bool[cells]
    """

    first: Ints
    ptr: Ints
    possible: Bools

    @property
    def n_possible(self) -> int:
        """Number of cells that may hold people."""
        return int(np.count_nonzero(self.possible))

    def places(self) -> tuple[Ints, Ints]:
        """Configuration and value of each cell."""
        widths = np.diff(self.ptr)
        configuration = np.repeat(np.arange(self.first.size), widths)
        return configuration, np.arange(self.possible.size) - np.repeat(self.ptr[:-1] - self.first, widths)


def table_cells(child: int, size: int, sizes: Sequence[int], rules: Sequence[Rule]) -> TableCells:
    """Cells of a table whose attribute has ``size`` values, and whose parents enter by ``sizes`` values or buckets.

    Raises
    ------
    ParameterError
        No value is possible in some configuration, or there are more than 2^31 cells.
    """
    n = prod(sizes)
    if n > MOST_CELLS or (not rules and n * size > MOST_CELLS):
        raise ParameterError(f"attribute {child} has more than 2^31 cells: give it fewer parents")
    first, last = np.zeros(n, dtype=np.int64), np.full(n, size, dtype=np.int64)
    by_rule = [(_combination(places, sizes), table.reshape(-1, size)) for places, table in rules]
    for combination, table in by_rule:
        np.maximum(first, table.argmax(axis=1)[combination], out=first)
        np.minimum(last, size - table[:, ::-1].argmax(axis=1)[combination], out=last)
    ptr = offsets(np.maximum(last - first, 0))
    cells = TableCells(first, ptr, np.ones(int(ptr[-1]), dtype=np.bool_))
    if rules:
        configuration, value = cells.places()
        for combination, table in by_rule:
            cells.possible[:] &= table[combination[configuration], value]
        if not np.bincount(configuration[cells.possible], minlength=n).all():
            raise ParameterError(
                f"no value of attribute {child} is possible for some of its parents' values: allow at least one"
            )
    return cells


def _combination(places: Sequence[int], sizes: Sequence[int]) -> Ints:
    """What some of the parents are in each configuration, as one number."""
    combination = np.zeros(1, dtype=np.int64)
    for place, size in enumerate(sizes):
        values = np.arange(size) if place in places else np.zeros(size, dtype=np.int64)
        combination = (combination[:, None] * (size if place in places else 1) + values).ravel()
    return combination


def offsets(counts: Sequence[int] | Ints) -> Ints:
    """CSR offsets: int64[n + 1]."""
    ptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(np.asarray(counts, dtype=np.int64), out=ptr[1:])
    return ptr
