"""From support point to block, by integer population."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from engine._jit import lean_jit
from engine._kernels.chacha import (
    STAGE_PLACE,
    STAGE_REPRESENTATIVE,
    below,
    has_run_out,
    open_stream,
)
from engine._kernels.coarsening import is_beyond, level_of, square_chord
from engine._kernels.urn import find_weight

__all__ = ["place_range"]

Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint32]

# What is known of the part of a unit that a support point stands for.
_UNKNOWN = 0
_NOBODY = 1  # nobody lives there: all its blocks alike
_PART = 2  # its tracts are in the list of this destination tract
_WHOLE = 3  # it is a whole unit, and the list is that of the unit


@lean_jit
def _list_part(
    tract: int,
    level: int,
    span: tuple[int, int],
    member: Indices,
    weight: Ints,
    places: tuple[Any, tuple[float, float]],
    listed: tuple[Any, Any],
    first: int,
) -> int:
    """List the tracts of a unit that are at ``level``, with running weights, from ``first`` on; return the end."""
    place, limits = places
    in_part, running = listed
    total = np.int64(0)
    end = first
    for at in range(span[0], span[1]):
        origin = member[at]
        if level_of(square_chord(place, tract, origin), limits[0], limits[1]) == level:
            total += weight[origin]
            in_part[end] = origin
            running[end] = total
            end += 1
    return end


@lean_jit
def _learn(
    point: int,
    unit: tuple[int, int],
    tract: int,
    unit_lists: tuple[Any, Any, Any, Any],
    places: tuple[Any, tuple[float, float]],
    weights: tuple[Any, Any],
    listed: tuple[Any, Any],
    known: tuple[Any, Any, Any],
    n_listed: int,
) -> int:
    """Learn what part of its unit (level, number) a support point stands for; return how many tracts are listed."""
    level, number = unit
    kind, first, last = known
    ptr, member, running, reach = unit_lists
    people, n_blocks = weights
    if level == 2 and is_beyond(places[0], tract, reach, number, math.sqrt(places[1][1])):
        start, end = ptr[number], ptr[number + 1]
        if running[end - 1] > (running[start - 1] if start > 0 else 0):
            kind[point], first[point], last[point] = _WHOLE, start, end
            return n_listed
    end = n_listed
    if level == 0:
        listed[0][end], listed[1][end] = number, people[number]
        end += 1
    else:
        span = (ptr[number], ptr[number + 1])
        end = _list_part(tract, level, span, member, people, places, listed, n_listed)
    kind[point] = _PART
    if end > n_listed and listed[1][end - 1] == 0:
        kind[point] = _NOBODY
        total = np.int64(0)
        for at in range(n_listed, end):
            total += n_blocks[listed[0][at]]
            listed[1][at] = total
    first[point], last[point] = n_listed, end
    return end


@lean_jit
def _draw_block(
    key: Words,
    stream: Ints,
    kind: int,
    span: tuple[int, int],
    part: tuple[Any, Any],
    blocks: tuple[Any, Any],
) -> int:
    """Block of one worker in a part, or -1 where the part has no blocks.

    One integer below the part's weight decides: the running sum it falls in names the tract, what is left
    of it the block. That is exactly "tract by weight, then block within the tract by weight".
    """
    member, running = part
    block_ptr, block_sum = blocks
    first, last = span
    # The list of a whole unit runs on from the units before it.
    before = int(running[first - 1]) if kind == _WHOLE and first > 0 else 0
    total = int(running[last - 1]) - before if last > first else 0
    if total == 0:
        return -1
    value = before + below(key, stream, total)
    at = find_weight(running, first, last, value)
    value -= running[at - 1] if at > first else before
    first_block, last_block = block_ptr[member[at]], block_ptr[member[at] + 1]
    if kind == _NOBODY:
        return first_block + value  # type: ignore[no-any-return]
    # block_sum[b + 1] is the population up to and including block b.
    return find_weight(block_sum, first_block + 1, last_block + 1, block_sum[first_block] + value) - 1


@lean_jit
def place_range(
    bounds: tuple[int, int],
    synthetic_ptr: Ints,
    synthetic_point: Indices,
    addresses: tuple[Any, Any, Any],
    support: tuple[Any, Any, Any, Any],
    pumas: tuple[Any, Any, Any, Any],
    superpumas: tuple[Any, Any, Any, Any],
    places: tuple[Any, tuple[float, float]],
    blocks: tuple[Any, Any, Any, Any],
    representative: bool,
    key: Words,
    scratch: tuple[Any, Any, Any, Any],
    placed: Indices,
) -> int:
    """Place the workers of synthesizers ``bounds``.

    ``addresses`` holds tract position, destination and segment (each [S]); ``support`` the destination tracts [T],
    support_ptr [T + 1], level and unit [K]; ``pumas`` and ``superpumas`` offsets, members, running populations and
    reach (that of PUMAs is not read); ``places`` the tracts' unit vectors and the squared chords of q50 and q90;
    ``blocks`` block_ptr [n_tracts + 1], the running population block_sum [B + 1], and population and number of blocks
    of the tracts. ``scratch`` is room for what is known of each point of a destination tract (kind, first and last in
    the list), for a list of all tracts and their running weights, for a block of each point, and for a stream.

    Returns the first synthesizer with a worker that cannot be placed, or whose stream ran out; or -1.
    """
    tract_of, destination, segment = addresses
    tract_number, support_ptr, support_level, support_unit = support
    block_ptr, block_sum, people, n_blocks = blocks
    # Support points divide the tracts, so that all their lists together hold each once.
    known, listed, fixed_block, stream = scratch
    kind = known[0]
    n_listed, met = 0, -1
    for synthesizer in range(bounds[0], bounds[1]):
        if synthetic_ptr[synthesizer] == synthetic_ptr[synthesizer + 1]:
            continue
        position = tract_of[synthesizer]
        tract, first = tract_number[position], support_ptr[position]
        if position != met:
            for point in range(support_ptr[position + 1] - first):
                kind[point], fixed_block[point] = _UNKNOWN, -1
            n_listed, met = 0, position
        if not representative:
            open_stream(STAGE_PLACE, destination[synthesizer], segment[synthesizer], stream)
        for worker in range(synthetic_ptr[synthesizer], synthetic_ptr[synthesizer + 1]):
            point = synthetic_point[worker]
            if representative and fixed_block[point] >= 0:
                placed[worker] = fixed_block[point]
                continue
            if kind[point] == _UNKNOWN:
                unit = (support_level[first + point], support_unit[first + point])
                lists = pumas if unit[0] == 1 else superpumas
                n_listed = _learn(
                    point, unit, tract, lists, places, (people, n_blocks), listed, known, n_listed
                )
            if representative:
                open_stream(STAGE_REPRESENTATIVE, tract, point, stream)
            span = (known[1][point], known[2][point])
            part = (superpumas[1], superpumas[2]) if kind[point] == _WHOLE else listed
            block = _draw_block(key, stream, kind[point], span, part, (block_ptr, block_sum))
            if block < 0:
                return synthesizer
            fixed_block[point] = block
            placed[worker] = block
        if has_run_out(stream):
            return synthesizer
    return -1
