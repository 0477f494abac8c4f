"""Placement of workers: from support point to block, by integer population."""

import math
from typing import NamedTuple

import numpy as np

from engine._jit import lean_jit
from engine._kernels.arrays import Addresses, Floats, Indices, Ints, PointLists, Words
from engine._kernels.chacha import (
    STAGE_PLACE,
    STAGE_REPRESENTATIVE,
    below,
    has_run_out,
    open_stream,
)
from engine._kernels.coarsening import Levels, LocatedPoints, is_beyond, level_of, square_chord
from engine._kernels.urn import find_weight

__all__ = [
    "Geography",
    "KnownParts",
    "PlacementSpace",
    "TractBlocks",
    "TractList",
    "UnitLists",
    "place_range",
]

# What is known of the part of a unit that a support point represents.
_UNKNOWN = 0
_EMPTY = 1  # it has no residents: all its blocks have the same chance
_PART = 2  # its tracts are in the list of this destination tract
_WHOLE = 3  # it is a whole unit, and the list is that of the unit


class UnitLists(NamedTuple):
    """CSR lists of the tracts of each PUMA, or of each SuperPUMA, their running population and the units' reach."""

    ptr: Ints
    member: Indices
    running: Ints
    reach: Floats


class Geography(NamedTuple):
    """Units (the reach of PUMAs is not read), unit vectors of the tracts, squared chords of q50 and q90."""

    pumas: UnitLists
    superpumas: UnitLists
    place: Floats
    near: float
    far: float


class TractBlocks(NamedTuple):
    """Blocks by tract: CSR offsets [n_tracts + 1], running population [B + 1], people and blocks of each tract."""

    ptr: Ints
    running: Ints
    people: Ints
    n_blocks: Ints


class TractList(NamedTuple):
    """Tracts and their running weights. Support points divide the tracts, so lists of all points hold each once."""

    tract: Indices
    running: Ints


class KnownParts(NamedTuple):
    """What is known of each point of one destination tract: kind, first and last in its list, and a fixed block."""

    kind: Ints
    first: Ints
    last: Ints
    block: Ints


class PlacementSpace(NamedTuple):
    """Scratch space of one thread: the points of a destination tract, a list of all tracts, a stream."""

    known: KnownParts
    listed: TractList
    stream: Ints


@lean_jit
def _list_part(
    tract: int,
    level: int,
    number: int,
    geography: Geography,
    people: Ints,
    listed: TractList,
    first: int,
) -> int:
    """List the tracts of a unit that are at ``level``, with running weights, from ``first`` on; return the end."""
    lists = geography.pumas if level == 1 else geography.superpumas
    total = np.int64(0)
    end = first
    for at in range(lists.ptr[number], lists.ptr[number + 1]):
        origin = lists.member[at]
        square = square_chord(geography.place, tract, origin)
        if level_of(square, geography.near, geography.far) == level:
            total += people[origin]
            listed.tract[end] = origin
            listed.running[end] = total
            end += 1
    return end


@lean_jit
def _is_whole(tract: int, number: int, geography: Geography) -> bool:
    """Whether a SuperPUMA lies wholly beyond q90 and somebody lives there."""
    lists = geography.superpumas
    if not is_beyond(geography.place, tract, lists.reach, number, math.sqrt(geography.far)):
        return False
    start, end = lists.ptr[number], lists.ptr[number + 1]
    return bool(lists.running[end - 1] > (lists.running[start - 1] if start > 0 else 0))


@lean_jit
def _learn(
    point: int,
    unit: tuple[int, int],
    tract: int,
    geography: Geography,
    blocks: TractBlocks,
    space: PlacementSpace,
    n_listed: int,
) -> int:
    """Learn which part of its unit (level, number) a support point represents; return how many tracts are listed."""
    level, number = unit
    known, listed = space.known, space.listed
    if level == 2 and _is_whole(tract, number, geography):
        known.kind[point] = _WHOLE
        known.first[point] = geography.superpumas.ptr[number]
        known.last[point] = geography.superpumas.ptr[number + 1]
        return n_listed
    end = n_listed
    if level == 0:
        listed.tract[end], listed.running[end] = number, blocks.people[number]
        end += 1
    else:
        end = _list_part(tract, level, number, geography, blocks.people, listed, n_listed)
    known.kind[point] = _PART
    if end > n_listed and listed.running[end - 1] == 0:
        known.kind[point] = _EMPTY
        total = np.int64(0)
        for at in range(n_listed, end):
            total += blocks.n_blocks[listed.tract[at]]
            listed.running[at] = total
    known.first[point], known.last[point] = n_listed, end
    return end


@lean_jit
def _draw_block(
    key: Words, stream: Ints, kind: int, span: tuple[int, int], part: TractList, blocks: TractBlocks
) -> int:
    """Block of one worker in a part, or -1 if the part has no blocks.

    One integer below the part's weight decides: the running sum that it falls in gives the tract, and the rest of the
    integer the block. That is exactly "tract by weight, then block within the tract by weight".
    """
    running = part.running
    first, last = span
    # The running weights of a whole unit continue those of the units before it.
    before = int(running[first - 1]) if kind == _WHOLE and first > 0 else 0
    total = int(running[last - 1]) - before if last > first else 0
    if total == 0:
        return -1
    value = before + below(key, stream, total)
    at = find_weight(running, first, last, value)
    value -= running[at - 1] if at > first else before
    first_block, last_block = blocks.ptr[part.tract[at]], blocks.ptr[part.tract[at] + 1]
    if kind == _EMPTY:
        return first_block + value  # type: ignore[no-any-return]  # NumPy types an element as Any
    # running[b + 1] is the population up to and including block b.
    people_before = blocks.running[first_block]
    return find_weight(blocks.running, first_block + 1, last_block + 1, people_before + value) - 1


@lean_jit
def _block_in_point(
    key: Words, stream: Ints, point: int, geography: Geography, blocks: TractBlocks, space: PlacementSpace
) -> int:
    """Draw a block in the known part of a support point; -1 if that part is empty."""
    known, whole = space.known, geography.superpumas
    span = (known.first[point], known.last[point])
    part = TractList(whole.member, whole.running) if known.kind[point] == _WHOLE else space.listed
    return _draw_block(key, stream, known.kind[point], span, part, blocks)


@lean_jit
def _place_workers(
    workers: Indices,
    tract: int,
    units: tuple[Levels, Indices],
    geography: Geography,
    blocks: TractBlocks,
    representative: bool,
    key: Words,
    space: PlacementSpace,
    n_listed: int,
    placed: Indices,
) -> int:
    """Place the workers of one synthesizer; return how many tracts are listed now, or -1 if one cannot be placed.

    ``units`` holds level and unit of the destination tract's support points.
    """
    known, stream = space.known, space.stream
    for worker in range(workers.size):
        point = workers[worker]
        if representative and known.block[point] >= 0:
            placed[worker] = known.block[point]
            continue
        if known.kind[point] == _UNKNOWN:
            unit = (units[0][point], units[1][point])
            n_listed = _learn(point, unit, tract, geography, blocks, space, n_listed)
        if representative:
            open_stream(STAGE_REPRESENTATIVE, tract, point, stream)
        block = _block_in_point(key, stream, point, geography, blocks, space)
        if block < 0:
            return -1
        known.block[point] = block
        placed[worker] = block
    return n_listed


@lean_jit
def place_range(
    bounds: tuple[int, int],
    drawn: PointLists,
    addresses: Addresses,
    support: LocatedPoints,
    geography: Geography,
    blocks: TractBlocks,
    representative: bool,
    key: Words,
    space: PlacementSpace,
    placed: Indices,
) -> int:
    """Place the workers of synthesizers ``bounds``, or all workers of a point in one representative block.

    Returns the first synthesizer with a worker that cannot be placed, or whose stream ran out; or -1.
    """
    n_listed, met = 0, -1
    for synthesizer in range(bounds[0], bounds[1]):
        begin, end = drawn.ptr[synthesizer], drawn.ptr[synthesizer + 1]
        if begin == end:
            continue
        position = addresses.tract[synthesizer]
        first, last = support.ptr[position], support.ptr[position + 1]
        if position != met:
            for point in range(last - first):
                space.known.kind[point], space.known.block[point] = _UNKNOWN, -1
            n_listed, met = 0, position
        if not representative:
            destination, segment = addresses.destination[synthesizer], addresses.segment[synthesizer]
            open_stream(STAGE_PLACE, destination, segment, space.stream)
        n_listed = _place_workers(
            drawn.point[begin:end],
            support.destination[position],
            (support.level[first:last], support.unit[first:last]),
            geography,
            blocks,
            representative,
            key,
            space,
            n_listed,
            placed[begin:end],
        )
        if n_listed < 0 or has_run_out(space.stream):
            return synthesizer
    return -1
