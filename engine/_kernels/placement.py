"""From support point to block, by integer population."""

from typing import Any

import numpy as np
import numpy.typing as npt

from engine._jit import jit
from engine._kernels.chacha import (
    STAGE_PLACE,
    STAGE_REPRESENTATIVE,
    STREAM_FIELDS,
    below,
    has_run_out,
    open_stream,
)
from engine._kernels.urn import find_weight

__all__ = ["place_range"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]


@jit
def _list_parts(points: Indices, block_ptr: Ints, block_sum: Ints, parts: tuple[Any, Any, Any, Any]) -> None:
    """List the origin tracts of each support point of one destination tract, with running weights.

    ``parts`` holds part_ptr [k + 1], the origin tracts sorted by point [n_tracts], the running sum of their
    weights within the point [n_tracts], and whether these weights are populations [k]; where a point's
    population is zero they are numbers of blocks. A counting sort: origin tracts stay in index order.
    """
    part_ptr, member, cumulative, by_population = parts
    n_points = part_ptr.size - 1
    part_ptr[:] = 0
    by_population[:] = False
    for origin in range(points.size):
        if points[origin] >= 0:
            part_ptr[points[origin] + 1] += 1
            if block_sum[block_ptr[origin + 1]] > block_sum[block_ptr[origin]]:
                by_population[points[origin]] = True
    for point in range(n_points):
        part_ptr[point + 1] += part_ptr[point]
    for origin in range(points.size):
        point = points[origin]
        if point >= 0:
            member[part_ptr[point]] = origin
            part_ptr[point] += 1
    for point in range(n_points, 0, -1):
        part_ptr[point] = part_ptr[point - 1]
    part_ptr[0] = 0
    for point in range(n_points):
        total = np.int64(0)
        for position in range(part_ptr[point], part_ptr[point + 1]):
            first, last = block_ptr[member[position]], block_ptr[member[position] + 1]
            total += block_sum[last] - block_sum[first] if by_population[point] else last - first
            cumulative[position] = total


@jit
def _draw_block(
    key: Words, stream: Ints, point: int, block_ptr: Ints, block_sum: Ints, parts: tuple[Any, Any, Any, Any]
) -> int:
    """Block of one worker in ``point``, or -1 where the point has no blocks.

    One integer below the part's weight decides: the running sum it falls in names the tract, what is left
    of it the block. That is exactly "tract by weight, then block within the tract by weight".
    """
    part_ptr, member, cumulative, by_population = parts
    first, last = part_ptr[point], part_ptr[point + 1]
    if first == last or cumulative[last - 1] == 0:
        return -1
    value = below(key, stream, cumulative[last - 1])
    position = find_weight(cumulative, first, last, value)
    if position > first:
        value -= cumulative[position - 1]
    first_block, last_block = block_ptr[member[position]], block_ptr[member[position] + 1]
    if not by_population[point]:
        return first_block + value  # type: ignore[no-any-return]
    # block_sum[b + 1] is the population up to and including block b.
    return find_weight(block_sum, first_block + 1, last_block + 1, block_sum[first_block] + value) - 1


@jit
def place_range(
    bounds: tuple[int, int],
    synthetic_ptr: Ints,
    synthetic_point: Indices,
    addresses: tuple[Any, Any, Any, Any],
    point_of_tract: Indices,
    blocks: tuple[Any, Any],
    most_points: int,
    representative: bool,
    key: Words,
    placed: Ints,
) -> int:
    """Place the workers of synthesizers ``bounds``.

    ``addresses`` holds tract, destination, segment (each [S]) and the destination tracts' global numbers
    [T]; ``blocks`` holds block_ptr [n_tracts + 1] and the running population block_sum [B + 1].

    Returns the first synthesizer with a worker that cannot be placed, or whose stream ran out; or -1.
    """
    tract_of, destination, segment, tract_number = addresses
    block_ptr, block_sum = blocks
    n_tracts = point_of_tract.shape[1]
    parts = (
        np.zeros(most_points + 1, dtype=np.int64),
        np.zeros(n_tracts, dtype=np.int32),
        np.zeros(n_tracts, dtype=np.int64),
        np.zeros(most_points, dtype=np.bool_),
    )
    fixed_block = np.full(most_points, -1, dtype=np.int64)
    stream = np.zeros(STREAM_FIELDS, dtype=np.int64)
    listed_tract = -1
    for synthesizer in range(bounds[0], bounds[1]):
        if synthetic_ptr[synthesizer] == synthetic_ptr[synthesizer + 1]:
            continue
        tract = tract_of[synthesizer]
        if tract != listed_tract:
            _list_parts(point_of_tract[tract], block_ptr, block_sum, parts)
            fixed_block[:] = -1
            listed_tract = tract
        if not representative:
            open_stream(STAGE_PLACE, destination[synthesizer], segment[synthesizer], stream)
        for position in range(synthetic_ptr[synthesizer], synthetic_ptr[synthesizer + 1]):
            point = synthetic_point[position]
            if not representative:
                placed[position] = _draw_block(key, stream, point, block_ptr, block_sum, parts)
            else:
                if fixed_block[point] < 0:
                    open_stream(STAGE_REPRESENTATIVE, tract_number[tract], point, stream)
                    fixed_block[point] = _draw_block(key, stream, point, block_ptr, block_sum, parts)
                placed[position] = fixed_block[point]
            if placed[position] < 0:
                return synthesizer
        if has_run_out(stream):
            return synthesizer
    return -1
