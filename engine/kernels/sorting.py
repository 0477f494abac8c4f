"""Sorting in place, without numba's library sort, which takes longer to compile than it saves here."""

from engine.jit import lean_jit
from engine.kernels.arrays import Indices, Ints

__all__ = ["sort_values"]


@lean_jit
def sort_values(values: Ints | Indices) -> None:
    """Shell's sort: insertion sort where they are few, as they mostly are."""
    gap = 1
    while gap < values.size // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, values.size):
            value, j = values[i], i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 3
