"""Entropies from their definition, and what one record changes in them by enumeration."""

import math
from collections.abc import Iterator, Sequence


def entropy_bits(counts: Sequence[int]) -> float:
    total = sum(counts)
    return -math.fsum(count / total * math.log2(count / total) for count in counts if count)


def compositions(total: int, n_cells: int) -> Iterator[tuple[int, ...]]:
    """All counts of cells with this total."""
    if n_cells == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, n_cells - 1):
            yield (first, *rest)


def changed(counts: Sequence[int], cell: int, by: int) -> tuple[int, ...]:
    return (*counts[:cell], counts[cell] + by, *counts[cell + 1 :])


def most_change_by_replacing(n: int, n_cells: int) -> float:
    """Largest change of an entropy if one of n records moves to another cell."""
    return max(
        abs(entropy_bits(counts) - entropy_bits(changed(changed(counts, one, -1), other, 1)))
        for counts in compositions(n, n_cells)
        for one in range(n_cells)
        for other in range(n_cells)
        if counts[one] and one != other
    )


def most_change_by_adding(n: int, n_cells: int) -> float:
    """Largest change of an entropy if a record is added to n."""
    return max(
        abs(entropy_bits(counts) - entropy_bits(changed(counts, cell, 1)))
        for counts in compositions(n, n_cells)
        for cell in range(n_cells)
    )
