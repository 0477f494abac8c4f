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
from engine._kernels.coarsening import level_of, square_chord
from engine._kernels.urn import find_weight

__all__ = ["place_range"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint32]

# What is known of the part of a unit that a support point stands for.
_UNKNOWN = 0
_BY_BLOCKS = 1  # nobody lives there: all its blocks alike
_BY_PEOPLE = 2
_WHOLE_BY_PEOPLE = 3  # and it is the whole unit, so that running sums over the unit serve


@jit
def _belongs(place: Floats, tract: int, origin: int, level: int, limits: tuple[float, float]) -> bool:
    return bool(level_of(square_chord(place, tract, origin), limits[0], limits[1]) == level)


@jit
def _survey(
    tract: int,
    level: int,
    span: tuple[int, int],
    member: Indices,
    place: Floats,
    limits: tuple[float, float],
    blocks: tuple[Any, Any],
) -> tuple[int, Any]:
    """What kind of part a support point stands for, and the total of the weights in it."""
    block_ptr, block_sum = blocks
    people, n_blocks, is_whole = np.int64(0), np.int64(0), True
    for at in range(span[0], span[1]):
        origin = member[at]
        if _belongs(place, tract, origin, level, limits):
            people += block_sum[block_ptr[origin + 1]] - block_sum[block_ptr[origin]]
            n_blocks += block_ptr[origin + 1] - block_ptr[origin]
        else:
            is_whole = False
    if people == 0:
        return _BY_BLOCKS, n_blocks
    return (_WHOLE_BY_PEOPLE if is_whole else _BY_PEOPLE), people


@jit
def _tract_in_part(
    value: int,
    tract: int,
    level: int,
    kind: int,
    span: tuple[int, int],
    unit: tuple[Any, Any],
    place: Floats,
    limits: tuple[float, float],
    blocks: tuple[Any, Any],
) -> tuple[Any, Any]:
    """Origin tract in which ``value`` falls when the part's tracts are laid end to end, and what is left of it."""
    member, running = unit
    block_ptr, block_sum = blocks
    first, last = span
    if kind == _WHOLE_BY_PEOPLE:
        if first > 0:
            value += running[first - 1]
        at = find_weight(running, first, last, value)
        if at > 0:
            value -= running[at - 1]
        return member[at], value
    for at in range(first, last):
        origin = member[at]
        if _belongs(place, tract, origin, level, limits):
            if kind == _BY_BLOCKS:
                size = block_ptr[origin + 1] - block_ptr[origin]
            else:
                size = block_sum[block_ptr[origin + 1]] - block_sum[block_ptr[origin]]
            if value < size:
                return origin, value
            value -= size
    return -1, 0


@jit
def _draw_block(
    key: Words,
    stream: Ints,
    tract: int,
    point: tuple[int, int],
    known: tuple[int, int],
    span: tuple[int, int],
    unit: tuple[Any, Any],
    place: Floats,
    limits: tuple[float, float],
    blocks: tuple[Any, Any],
) -> int:
    """Block of one worker in the support point (level, unit), or -1 where the point has no blocks.

    One integer below the part's weight decides: the running sum it falls in names the tract, what is left
    of it the block. That is exactly "tract by weight, then block within the tract by weight".
    """
    block_ptr, block_sum = blocks
    level, origin = point
    kind, total = known
    if total == 0:
        return -1
    value = below(key, stream, total)
    if level > 0:
        origin, value = _tract_in_part(value, tract, level, kind, span, unit, place, limits, blocks)
    first_block, last_block = block_ptr[origin], block_ptr[origin + 1]
    if kind == _BY_BLOCKS:
        return first_block + value  # type: ignore[no-any-return]
    # block_sum[b + 1] is the population up to and including block b.
    return find_weight(block_sum, first_block + 1, last_block + 1, block_sum[first_block] + value) - 1


@jit
def place_range(
    bounds: tuple[int, int],
    synthetic_ptr: Ints,
    synthetic_point: Indices,
    addresses: tuple[Any, Any, Any],
    support: tuple[Any, Any, Any, Any],
    units: tuple[Any, Any, Any, Any, Any, Any],
    place: Floats,
    limits: tuple[float, float],
    blocks: tuple[Any, Any],
    representative: bool,
    key: Words,
    placed: Indices,
) -> int:
    """Place the workers of synthesizers ``bounds``.

    ``addresses`` holds tract position, destination and segment (each [S]); ``support`` the destination tracts [T],
    support_ptr [T + 1], level and unit [K]; ``units`` offsets, members and running populations of PUMAs, then of
    SuperPUMAs; ``limits`` the squared chords of q50 and q90; ``blocks`` block_ptr [n_tracts + 1] and the running
    population block_sum [B + 1].

    Returns the first synthesizer with a worker that cannot be placed, or whose stream ran out; or -1.
    """
    tract_of, destination, segment = addresses
    tract_number, support_ptr, support_level, support_unit = support
    most_points = np.diff(support_ptr).max()
    kind = np.zeros(most_points, dtype=np.int64)
    total = np.zeros(most_points, dtype=np.int64)
    fixed_block = np.full(most_points, -1, dtype=np.int64)
    stream = np.zeros(STREAM_FIELDS, dtype=np.int64)
    surveyed = -1
    for synthesizer in range(bounds[0], bounds[1]):
        if synthetic_ptr[synthesizer] == synthetic_ptr[synthesizer + 1]:
            continue
        position = tract_of[synthesizer]
        tract = tract_number[position]
        first = support_ptr[position]
        if position != surveyed:
            kind[: support_ptr[position + 1] - first] = _UNKNOWN
            fixed_block[: support_ptr[position + 1] - first] = -1
            surveyed = position
        if not representative:
            open_stream(STAGE_PLACE, destination[synthesizer], segment[synthesizer], stream)
        for worker in range(synthetic_ptr[synthesizer], synthetic_ptr[synthesizer + 1]):
            point = synthetic_point[worker]
            if representative and fixed_block[point] >= 0:
                placed[worker] = fixed_block[point]
                continue
            level, number = support_level[first + point], support_unit[first + point]
            # A tract stands for itself: a list of one. The kernel reads either CSR through the same names.
            ptr, member, running = (
                (units[0], units[1], units[2]) if level == 1 else (units[3], units[4], units[5])
            )
            span = (ptr[number], ptr[number + 1]) if level > 0 else (0, 0)
            if kind[point] == _UNKNOWN:
                if level > 0:
                    kind[point], total[point] = _survey(tract, level, span, member, place, limits, blocks)
                else:
                    total[point] = blocks[1][blocks[0][number + 1]] - blocks[1][blocks[0][number]]
                    kind[point] = _BY_PEOPLE
                    if total[point] == 0:
                        kind[point], total[point] = _BY_BLOCKS, blocks[0][number + 1] - blocks[0][number]
            if representative:
                open_stream(STAGE_REPRESENTATIVE, tract, point, stream)
            block = _draw_block(
                key,
                stream,
                tract,
                (level, number),
                (kind[point], total[point]),
                span,
                (member, running),
                place,
                limits,
                blocks,
            )
            if block < 0:
                return synthesizer
            fixed_block[point] = block
            placed[worker] = block
        if has_run_out(stream):
            return synthesizer
    return -1
