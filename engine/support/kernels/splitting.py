"""Pooled far states split again: which state each worker in a pool lives in."""

from typing import NamedTuple

from engine.jit import lean_jit
from engine.kernels.arrays import Addresses, Indices, Ints, PointLists, Words
from engine.kernels.chacha import STAGE_FAR, below, has_run_out, open_stream
from engine.mechanisms.kernels.urn import find_weight

__all__ = ["SplitPoints", "split_range"]


class SplitPoints(NamedTuple):
    """The unpooled points in each point, by their local numbers.

    ``only`` [K] is the one unpooled point that a point holds, or -1 - p if it is pool p. Pools have offsets [P + 1],
    unpooled points, and running weights within the pool.
    """

    only: Indices
    ptr: Ints
    point: Indices
    cumulative: Ints


@lean_jit
def split_range(
    bounds: tuple[int, int],
    support_ptr: Ints,
    addresses: Addresses,
    split: SplitPoints,
    key: Words,
    stream: Ints,
    synthetic: PointLists,
) -> int:
    """Replace, in place, the point of every worker by an unpooled one; return the first stream that ran out, or -1.

    Only workers in a point that holds several unpooled ones need chance. ``stream`` is scratch space for a stream.
    """
    points = synthetic.point
    for synthesizer in range(bounds[0], bounds[1]):
        start = support_ptr[addresses.tract[synthesizer]]
        is_open = False
        for position in range(synthetic.ptr[synthesizer], synthetic.ptr[synthesizer + 1]):
            only = split.only[start + points[position]]
            if only >= 0:
                points[position] = only
                continue
            if not is_open:
                destination, segment = addresses.destination[synthesizer], addresses.segment[synthesizer]
                open_stream(STAGE_FAR, destination, segment, stream)
                is_open = True
            first, last = split.ptr[-1 - only], split.ptr[-only]
            value = below(key, stream, split.cumulative[last - 1])
            points[position] = split.point[find_weight(split.cumulative, first, last, value)]
        if is_open and has_run_out(stream):
            return synthesizer
    return -1
