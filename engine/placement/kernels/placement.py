"""Placement of workers: from support point to block, by integer population.

Blocks lie in tables of some ten megabytes, which are read at random. So workers are placed some hundred at a time, and
each loop does one thing for all of them: the processor then waits for many numbers at once instead of for one after the
other. Which block has a person is looked up in a guide (:func:`fill_guide`) that is one or two blocks away at most.
"""

import math
from typing import NamedTuple

import numpy as np

from engine.jit import lean_jit
from engine.kernels.arrays import Addresses, Floats, Indices, Ints, PointLists, Words
from engine.kernels.chacha import (
    BLOCK_BYTES,
    END,
    POSITION,
    STAGE_PLACE,
    STAGE_REPRESENTATIVE,
    WIDTH,
    below,
    fill_blocks,
    has_run_out,
    open_stream,
    read_ahead,
    word_in,
)
from engine.kernels.openings import first_blocks, lay_openings, open_prepared
from engine.mechanisms.kernels.urn import find_weight_near, guess_weight
from engine.support.kernels.coarsening import (
    REMAINDER,
    Levels,
    LocatedPoints,
    is_beyond,
    level_of,
    square_chord,
)

__all__ = [
    "MOST_TOGETHER",
    "DrawnPlaces",
    "Geography",
    "KnownParts",
    "PlacementSpace",
    "TractBlocks",
    "TractList",
    "UnitLists",
    "check_drawn",
    "fill_guide",
    "place_range",
]

# What is known of the part of a unit that a support point represents.
_UNKNOWN = 0
_EMPTY = 1  # it has no residents: all its blocks have the same chance
_PART = 2  # its tracts are in the list of this destination tract
_WHOLE = 3  # it is a whole unit, and the list is that of the unit
_TRACT = 4  # it is one tract with residents, whose number stands in place of a list

# Columns of the table of tracts.
_FIRST = 0
_N_BLOCKS = 1
_PEOPLE = 2
_BEFORE = 3

_WORD_BOUND = 1 << 32  # the largest below which one word of the stream decides

_LONG = 48  # workers left from which blocks made together cost less than one by one

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
    """Blocks by tract.

    Of each tract, in one row of ``tract`` [n_tracts, 4], so that it is found in one place: its first block, its number
    of blocks, its people, and the running population before it. Running population before each block [B + 1], and the
    guide of :func:`fill_guide` [B].
    """

    tract: Ints
    running: Ints
    guide: Indices

    @property
    def people(self) -> Ints:
        """People of each tract: int64[n_tracts]."""
        return self.tract[:, _PEOPLE]


class TractList(NamedTuple):
    """Tracts and their running weights. Support points divide the tracts, so lists of all points hold each once."""

    tract: Indices
    running: Ints


class KnownParts(NamedTuple):
    """What is known of each point of one destination tract.

    Its kind; first and last in its list, or its tract; the weight of all of it, and the running weight before it in its
    list; and a fixed block.
    """

    kind: Ints
    first: Ints
    last: Ints
    total: Ints
    before: Ints
    block: Ints


class DrawnPlaces(NamedTuple):
    """Where some workers fall before their blocks are looked up.

    The number below which each draws, and what it drew; the tract. Then what of the number is left for the choice of a
    block, or -1 if the block is known; the block, at first a guess; and the running population up to it.
    """

    bound: Ints
    value: Ints
    tract: Ints
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
def check_drawn(
    tract: Indices, synthetic_ptr: Ints, points: Indices, support_ptr: Ints, level: Levels
) -> tuple[int, int]:
    """Numbers of drawn workers outside the support points of their destination tract, and in a remainder."""
    n_outside = n_remainder = 0
    for cell in range(tract.size):
        first = support_ptr[tract[cell]]
        n_points = support_ptr[tract[cell] + 1] - first
        for worker in range(synthetic_ptr[cell], synthetic_ptr[cell + 1]):
            point = points[worker]
            if 0 <= point < n_points:
                n_remainder += level[first + point] == REMAINDER
            else:
                n_outside += 1
    return n_outside, n_remainder


@lean_jit
def fill_guide(tracts: Ints, running: Ints, guide: Indices) -> None:
    """Say where to look for the block of a person: as many numbers for each tract as it has blocks.

    The people of a tract are divided evenly among its numbers (:func:`guess_weight`); each is the first block that has
    people from there on. So no block before it need be looked at, and on average one or two from it on. ``running``
    holds the population before each block [B + 1].
    """
    for tract in range(tracts.shape[0]):
        first, people, before = tracts[tract, _FIRST], tracts[tract, _PEOPLE], tracts[tract, _BEFORE]
        last = first + tracts[tract, _N_BLOCKS]
        place = first
        for block in range(first, last):
            if running[block + 1] == running[block]:
                continue
            most = guess_weight(first, last, people, running[block + 1] - 1 - before)
            while place <= most:
                guide[place] = block
                place += 1
        for rest in range(place, last):
            guide[rest] = last - 1


@lean_jit
def _list_part(
    tract: int,
    level: int,
    number: int,
    geography: Geography,
    tracts: Ints,
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
            total += tracts[origin, _PEOPLE]
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
def _learn_whole(point: int, number: int, superpumas: UnitLists, known: KnownParts) -> None:
    """Set what is known of a point that is a whole SuperPUMA; its running weights continue those of others."""
    first, last = superpumas.ptr[number], superpumas.ptr[number + 1]
    known.kind[point], known.first[point], known.last[point] = _WHOLE, first, last
    known.before[point] = superpumas.running[first - 1] if first > 0 else 0
    known.total[point] = superpumas.running[last - 1] - known.before[point]


@lean_jit
def _learn(
    point: int,
    unit: tuple[int, int],
    tract: int,
    geography: Geography,
    tracts: Ints,
    space: PlacementSpace,
    n_listed: int,
) -> int:
    """Learn which part of its unit (level, number) a support point represents; return how many tracts are listed."""
    level, number = unit
    known, listed = space.known, space.listed
    if level == 2 and _is_whole(tract, number, geography):
        _learn_whole(point, number, geography.superpumas, known)
        return n_listed
    known.before[point] = 0
    if level == 0 and tracts[number, _PEOPLE] > 0:
        known.kind[point], known.first[point] = _TRACT, number
        known.total[point] = tracts[number, _PEOPLE]
        return n_listed
    end = n_listed
    if level == 0:
        listed.tract[end], listed.running[end] = number, 0
        end += 1
    else:
        end = _list_part(tract, level, number, geography, tracts, listed, n_listed)
    known.kind[point] = _PART
    if end > n_listed and listed.running[end - 1] == 0:
        known.kind[point] = _EMPTY
        total = np.int64(0)
        for at in range(n_listed, end):
            total += tracts[listed.tract[at], _N_BLOCKS]
            listed.running[at] = total
    known.first[point], known.last[point] = n_listed, end
    known.total[point] = listed.running[end - 1] if end > n_listed else 0
    return end


@lean_jit
def _bound_workers(
    workers: Indices,
    begin: int,
    tract: int,
    units: tuple[Levels, Indices],
    geography: Geography,
    tracts: Ints,
    space: PlacementSpace,
    n_listed: int,
) -> int:
    """Set tract, or -1, and bound of the workers of one synthesizer; return how many tracts are listed now, or -1.

    ``units`` holds level and unit of the destination tract's support points; ``begin`` is the place of the first of
    these workers.
    """
    known, places = space.known, space.places
    for worker in range(workers.size):
        point = workers[worker]
        if known.kind[point] == _UNKNOWN:
            unit = (units[0][point], units[1][point])
            n_listed = _learn(point, unit, tract, geography, tracts, space, n_listed)
        if known.total[point] == 0:
            return -1
        places.bound[begin + worker] = known.total[point]
        places.tract[begin + worker] = known.first[point] if known.kind[point] == _TRACT else -1
    return n_listed


@lean_jit
def _draw_values(key: Words, lanes: Words, stream: Ints, bounds: Ints, values: Ints) -> None:
    """Draw an unbiased integer below each bound, as :func:`below` does, one after the other.

    A number that is not below its bound is drawn again in the same place, so that nothing is to be predicted. The place
    in the stream is a local number while words are at hand.
    """
    words = stream[:POSITION].view(np.uint32)
    worker = 0
    while worker < bounds.size:
        if bounds.size - worker >= _LONG:
            read_ahead(key, lanes, stream)
        place, end = (stream[POSITION] + 3) >> 2, stream[END] >> 2
        while worker < bounds.size and place < end and bounds[worker] <= _WORD_BOUND:
            mask = bounds[worker] - 1
            mask |= mask >> 1
            mask |= mask >> 2
            mask |= mask >> 4
            mask |= mask >> 8
            mask |= mask >> 16
            values[worker] = word_in(words, place) & mask
            place += mask > 0
            worker += values[worker] < bounds[worker]
        stream[POSITION] = place << 2
        if worker < bounds.size:
            values[worker] = below(key, stream, bounds[worker])
            worker += 1


@lean_jit
def _find_tracts(
    workers: Indices, begin: int, geography: Geography, tracts: Ints, space: PlacementSpace
) -> None:
    """Find the tract of each worker of one synthesizer that is not in a point of one tract alone.

    The running weight that the drawn integer falls in gives the tract, and the rest of the integer the block. That is
    exactly "tract by weight, then block within the tract by weight".
    """
    known, places, whole = space.known, space.places, geography.superpumas
    for worker in range(begin, begin + workers.size):
        if places.tract[worker] >= 0:
            continue
        point = workers[worker - begin]
        kind, first, last = known.kind[point], known.first[point], known.last[point]
        part = TractList(whole.member, whole.running) if kind == _WHOLE else space.listed
        before, value = known.before[point], places.value[worker]
        guess = guess_weight(first, last, known.total[point], value)
        at = find_weight_near(part.running, first, last, guess, before + value)
        tract = part.tract[at]
        rest = before + value - (part.running[at - 1] if at > first else before)
        places.tract[worker], places.value[worker] = tract, rest
        if kind == _EMPTY:
            places.value[worker], places.block[worker] = -1, tracts[tract, _FIRST] + rest


@lean_jit
def _draw_tracts(
    workers: Indices,
    begin: int,
    tract: int,
    units: tuple[Levels, Indices],
    geography: Geography,
    tracts: Ints,
    key: Words,
    space: PlacementSpace,
    n_listed: int,
) -> int:
    """Draw tracts and rests of the workers of one synthesizer; arguments and result as of :func:`_bound_workers`."""
    n_listed = _bound_workers(workers, begin, tract, units, geography, tracts, space, n_listed)
    if n_listed >= 0:
        end, places = begin + workers.size, space.places
        _draw_values(key, space.lanes, space.stream, places.bound[begin:end], places.value[begin:end])
        _find_tracts(workers, begin, geography, tracts, space)
    return n_listed


@lean_jit
def _find_blocks(n_workers: int, blocks: TractBlocks, places: DrawnPlaces) -> None:
    """Find the blocks of workers by tract and rest: the first whose running population exceeds the value drawn."""
    tracts, running = blocks.tract, blocks.running
    for worker in range(n_workers):
        tract, rest = places.tract[worker], places.value[worker]
        if rest >= 0:
            first, n_blocks = tracts[tract, _FIRST], tracts[tract, _N_BLOCKS]
            guess = guess_weight(first, first + n_blocks, tracts[tract, _PEOPLE], rest)
            places.block[worker] = blocks.guide[guess]
            places.value[worker] = tracts[tract, _BEFORE] + rest
    for worker in range(n_workers):
        places.seen[worker] = running[places.block[worker] + 1]
    for worker in range(n_workers):
        value, seen, block = places.value[worker], places.seen[worker], places.block[worker]
        while seen <= value:
            block += 1
            seen = running[block + 1]
        places.block[worker] = block


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
    """Place the workers of one synthesizer, those of a point in one block; returns as :func:`_bound_workers`."""
    known = space.known
    for worker in range(workers.size):
        point = workers[worker]
        if known.block[point] < 0:
            open_stream(STAGE_REPRESENTATIVE, tract, point, space.stream)
            single = workers[worker : worker + 1]
            n_listed = _draw_tracts(single, 0, tract, units, geography, blocks.tract, key, space, n_listed)
            if n_listed < 0:
                return -1
            _find_blocks(1, blocks, space.places)
            known.block[point] = space.places.block[0]
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
                n_listed = _draw_tracts(
                    workers, begin - origin, tract, units, geography, blocks.tract, key, space, n_listed
                )
            if n_listed < 0 or has_run_out(space.stream):
                return synthesizer
        if not representative:
            n_workers = drawn.ptr[stop] - origin
            _find_blocks(n_workers, blocks, space.places)
            for worker in range(n_workers):
                placed[origin + worker] = space.places.block[worker]
    return -1
