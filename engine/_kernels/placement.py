"""Placement of workers: from support point to block, by integer population."""

import math
from typing import NamedTuple

import numpy as np

from engine._jit import lean_jit
from engine._kernels.arrays import Addresses, Floats, Indices, Ints, PointLists, Words
from engine._kernels.chacha import (
    BLOCK_BYTES,
    STAGE_PLACE,
    STAGE_REPRESENTATIVE,
    WIDTH,
    below,
    fill_blocks,
    has_run_out,
    open_stream,
)
from engine._kernels.coarsening import Levels, LocatedPoints, is_beyond, level_of, square_chord
from engine._kernels.openings import first_blocks, lay_openings, open_prepared
from engine._kernels.urn import find_weight_near, guess_weight

__all__ = [
    "MOST_TOGETHER",
    "DrawnPlaces",
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

_BYTES_OF_WORKER = 6  # of the stream: one word, which is mostly taken

MOST_TOGETHER = WIDTH * (BLOCK_BYTES // _BYTES_OF_WORKER + 1)
"""Most workers of several synthesizers whose first blocks are made together."""


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
    """Blocks by tract: CSR offsets [n_tracts + 1], and running population [B + 1].

    Then of each tract: its people, the running population before it, and its number of blocks.
    """

    ptr: Ints
    running: Ints
    people: Ints
    before: Ints
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


class DrawnPlaces(NamedTuple):
    """Where some workers fall before their blocks are looked up.

    Running population that decides the block, -1 if the block is known; the block, at first a guess; the running
    population up to it.
    """

    value: Ints
    block: Ints
    seen: Ints


class PlacementSpace(NamedTuple):
    """Scratch space of one thread.

    Points of a destination tract, a list of all tracts, places of workers, lanes, a window, a stream.
    """

    known: KnownParts
    listed: TractList
    places: DrawnPlaces
    lanes: Words
    window: Words
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
def _draw_tract(
    key: Words, stream: Ints, kind: int, span: tuple[int, int], part: TractList
) -> tuple[int, int]:
    """Tract of one worker in a part, or -1 if the part has no blocks, and what of the random integer is left.

    One integer below the part's weight decides: the running sum that it falls in gives the tract, and the rest of the
    integer the block. That is exactly "tract by weight, then block within the tract by weight".
    """
    running = part.running
    first, last = span
    # The running weights of a whole unit continue those of the units before it.
    before = int(running[first - 1]) if kind == _WHOLE and first > 0 else 0
    total = int(running[last - 1]) - before if last > first else 0
    if total == 0:
        return -1, 0
    value = below(key, stream, total)
    at = find_weight_near(running, first, last, guess_weight(first, last, total, value), before + value)
    return part.tract[at], before + value - (running[at - 1] if at > first else before)


@lean_jit
def _draw_place(
    key: Words,
    stream: Ints,
    point: int,
    geography: Geography,
    blocks: TractBlocks,
    space: PlacementSpace,
    worker: int,
) -> bool:
    """Draw where a worker of a known support point falls; False if the point has no blocks.

    The running population up to the guessed block is read here, where nothing waits for it: memory is slow.
    """
    known, whole, places = space.known, geography.superpumas, space.places
    kind = known.kind[point]
    part = TractList(whole.member, whole.running) if kind == _WHOLE else space.listed
    tract, rest = _draw_tract(key, stream, kind, (known.first[point], known.last[point]), part)
    if tract < 0:
        return False
    first = blocks.ptr[tract]
    if kind == _EMPTY:
        places.value[worker], places.block[worker] = -1, first + rest
        return True
    block = guess_weight(first, first + blocks.n_blocks[tract], blocks.people[tract], rest)
    places.value[worker], places.block[worker] = blocks.before[tract] + rest, block
    # running[b + 1] is the population up to and including block b.
    places.seen[worker] = blocks.running[block + 1]
    return True


@lean_jit
def _block_of(places: DrawnPlaces, worker: int, running: Ints) -> int:
    """Block of a worker: the first whose running population exceeds the value drawn."""
    value, block = places.value[worker], places.block[worker]
    if value < 0 or (places.seen[worker] > value and running[block] <= value):
        return block  # type: ignore[no-any-return]  # NumPy types an element as Any
    # Some block of the tract has the value, so the search need not know where the tract begins or ends.
    return find_weight_near(running, 1, running.size, block + 1, value) - 1


@lean_jit
def _draw_places(
    workers: Indices,
    first_worker: int,
    tract: int,
    units: tuple[Levels, Indices],
    geography: Geography,
    blocks: TractBlocks,
    key: Words,
    space: PlacementSpace,
    n_listed: int,
) -> int:
    """Draw where the workers of one synthesizer fall; return how many tracts are listed now, or -1 if one cannot.

    ``units`` holds level and unit of the destination tract's support points; ``first_worker`` is the place of the first
    of these workers.
    """
    for worker in range(workers.size):
        point = workers[worker]
        if space.known.kind[point] == _UNKNOWN:
            unit = (units[0][point], units[1][point])
            n_listed = _learn(point, unit, tract, geography, blocks, space, n_listed)
        if not _draw_place(key, space.stream, point, geography, blocks, space, first_worker + worker):
            return -1
    return n_listed


@lean_jit
def _place_together(
    workers: Indices,
    tract: int,
    units: tuple[Levels, Indices],
    geography: Geography,
    blocks: TractBlocks,
    key: Words,
    space: PlacementSpace,
    n_listed: int,
    placed: Indices,
) -> int:
    """Place the workers of one synthesizer, those of a point in one block; returns as :func:`_draw_places`."""
    known = space.known
    for worker in range(workers.size):
        point = workers[worker]
        if known.block[point] < 0:
            open_stream(STAGE_REPRESENTATIVE, tract, point, space.stream)
            n_listed = _draw_places(
                workers[worker : worker + 1], 0, tract, units, geography, blocks, key, space, n_listed
            )
            if n_listed < 0:
                return -1
            known.block[point] = _block_of(space.places, 0, blocks.running)
        placed[worker] = known.block[point]
    return n_listed


@lean_jit
def _forget_points(n_points: int, known: KnownParts) -> None:
    """Begin a destination tract, of whose points nothing is known."""
    for point in range(n_points):
        known.kind[point], known.block[point] = _UNKNOWN, -1


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
    stop = bounds[0]
    while stop < bounds[1]:
        start, stop, lane = stop, stop + 1, 0
        if not representative:
            stop = lay_openings(
                start, bounds[1], STAGE_PLACE, drawn.ptr, _BYTES_OF_WORKER, addresses, space.lanes
            )
            fill_blocks(key, space.lanes, space.window)
        origin = drawn.ptr[start]
        for synthesizer in range(start, stop):
            begin, end = drawn.ptr[synthesizer], drawn.ptr[synthesizer + 1]
            if begin == end:
                continue
            position = addresses.tract[synthesizer]
            first, last = support.ptr[position], support.ptr[position + 1]
            tract, units = (
                support.destination[position],
                (support.level[first:last], support.unit[first:last]),
            )
            if position != met:
                _forget_points(last - first, space.known)
                n_listed, met = 0, position
            workers = drawn.point[begin:end]
            if representative:
                n_listed = _place_together(
                    workers, tract, units, geography, blocks, key, space, n_listed, placed[begin:end]
                )
            else:
                n_blocks = first_blocks(end - begin, _BYTES_OF_WORKER)
                destination, segment = addresses.destination[synthesizer], addresses.segment[synthesizer]
                open_prepared(STAGE_PLACE, destination, segment, space.window, lane, n_blocks, space.stream)
                lane += n_blocks
                n_listed = _draw_places(
                    workers, begin - origin, tract, units, geography, blocks, key, space, n_listed
                )
            if n_listed < 0 or has_run_out(space.stream):
                return synthesizer
        if not representative:
            for worker in range(origin, drawn.ptr[stop]):
                placed[worker] = _block_of(space.places, worker - origin, blocks.running)
    return -1
