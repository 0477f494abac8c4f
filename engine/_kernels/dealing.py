"""The workers of a unit dealt out to its cells by chance: a keyed random permutation of each unit."""

from engine._jit import lean_jit
from engine._kernels.arrays import Indices, Ints, Words
from engine._kernels.chacha import STAGE_DEAL, below, has_run_out, open_stream

__all__ = ["shuffle_range"]


@lean_jit
def shuffle_range(
    bounds: tuple[int, int], number: Ints, ptr: Ints, points: Indices, key: Words, stream: Ints
) -> int:
    """Shuffle the points of units ``bounds`` in place; return the first whose stream ran out, or -1.

    Every order is equally likely. Streams are addressed by the unit's number, with 0 for the segment.
    """
    for unit in range(bounds[0], bounds[1]):
        first = ptr[unit]
        open_stream(STAGE_DEAL, number[unit], 0, stream)
        for left in range(ptr[unit + 1] - first, 1, -1):
            chosen = first + below(key, stream, left)
            last = first + left - 1
            points[chosen], points[last] = points[last], points[chosen]
        if has_run_out(stream):
            return unit
    return -1
