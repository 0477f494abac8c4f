"""Blocks of synthetic worker records: where they work and where they live, by public population.

A *member* is a tract of the record's home PUMA. Distances are compared by squared chords of the sphere.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.jit import lean_jit
from engine.kernels.arrays import Floats, Indices, Ints, Words
from engine.kernels.chacha import STAGE_RECORD_PLACE, below, open_stream
from engine.mechanisms.kernels.urn import find_weight

__all__ = ["PlaceGround", "PlaceSpace", "RecordGroups", "RecordPlaces", "band_of", "place_records"]

Bytes = npt.NDArray[np.int8]

_BLOCK_DRAWS = 16
"""Home blocks that are drawn until one lies in the distance band; the last one is taken if none does."""
_LOW = 0xFFFFFFFF


class PlaceGround(NamedTuple):
    """Public geography.

    `block_ptr` [n_tracts + 1] and `block_sum` [B + 1] are the blocks of each tract and the running population of
    blocks; `block_place` [B, 3] and `tract_place` [n_tracts, 3] unit vectors; `puma_ptr` and `puma_tract` the tracts of
    each PUMA; `limits` the squared chords at which distance bands end.
    """

    block_ptr: Ints
    block_sum: Ints
    block_place: Floats
    tract_place: Floats
    puma_ptr: Ints
    puma_tract: Indices
    limits: Floats


class RecordGroups(NamedTuple):
    """Records by work tract and home PUMA: CSR offsets [G + 1], positions of records [n], tract and PUMA [G]."""

    ptr: Ints
    record: Ints
    work_tract: Ints
    home_puma: Ints


class RecordPlaces(NamedTuple):
    """Blocks of work and home of each record: int32[n] each."""

    work_block: Indices
    home_block: Indices


class PlaceSpace(NamedTuple):
    """Scratch space of one thread: running population of members by band [bands, members], and a stream."""

    running: Ints
    stream: Ints


@lean_jit
def _square(first: Floats, i: int, second: Floats, j: int) -> float:
    x = first[i, 0] - second[j, 0]
    y = first[i, 1] - second[j, 1]
    z = first[i, 2] - second[j, 2]
    return x * x + y * y + z * z  # type: ignore[no-any-return]  # NumPy types an element as Any


@lean_jit
def band_of(square: float, limits: Floats) -> int:
    """The distance band of a squared chord: how many bands end at or before it."""
    band = 0
    while band < limits.size and limits[band] <= square:
        band += 1
    return band


@lean_jit
def _draw_block(tract: int, ground: PlaceGround, key: Words, stream: Ints) -> int:
    """A block of a tract by population, or with equal chances if nobody lives in the tract."""
    first, last = ground.block_ptr[tract], ground.block_ptr[tract + 1]
    before = ground.block_sum[first]
    people = ground.block_sum[last] - before
    if people == 0:
        return first + below(key, stream, last - first)  # type: ignore[no-any-return]  # as above
    value = before + below(key, stream, people)
    return find_weight(ground.block_sum, first + 1, last + 1, value) - 1


@lean_jit
def _list_members(tract: int, puma: int, ground: PlaceGround, running: Ints) -> None:
    """Running population of a PUMA's tracts, by the distance band in which their centers lie from a work tract."""
    running[:, 0] = 0
    start = ground.puma_ptr[puma]
    for member in range(ground.puma_ptr[puma + 1] - start):
        home = ground.puma_tract[start + member]
        people = ground.block_sum[ground.block_ptr[home + 1]] - ground.block_sum[ground.block_ptr[home]]
        band = band_of(_square(ground.tract_place, tract, ground.tract_place, home), ground.limits)
        for row in range(running.shape[0]):
            running[row, member + 1] = running[row, member] + (people if row == band else 0)


@lean_jit
def _nearest(tract: int, puma: int, band: int, ground: PlaceGround) -> int:
    """The tract of a PUMA whose center is nearest to a distance band; one with residents, if any has some."""
    low = ground.limits[band - 1] if band > 0 else 0.0
    high = ground.limits[band] if band < ground.limits.size else 8.0
    best, least, best_lives = -1, 0.0, False
    for at in range(ground.puma_ptr[puma], ground.puma_ptr[puma + 1]):
        home = ground.puma_tract[at]
        square = _square(ground.tract_place, tract, ground.tract_place, home)
        gap = max(low - square, square - high, 0.0)
        lives = ground.block_sum[ground.block_ptr[home + 1]] > ground.block_sum[ground.block_ptr[home]]
        if best < 0 or (lives and not best_lives) or (lives == best_lives and gap < least):
            best, least, best_lives = home, gap, lives
    return best


@lean_jit
def _draw_home(work: int, tract: int, band: int, ground: PlaceGround, key: Words, stream: Ints) -> int:
    """A home block of a tract whose distance from the work block is in a band, if one of a few draws has such."""
    home = 0
    for _ in range(_BLOCK_DRAWS):
        home = _draw_block(tract, ground, key, stream)
        if band_of(_square(ground.block_place, work, ground.block_place, home), ground.limits) == band:
            break
    return home


@lean_jit
def place_records(
    bounds: tuple[int, int],
    groups: RecordGroups,
    band: Bytes,
    first: int,
    ground: PlaceGround,
    key: Words,
    space: PlaceSpace,
    out: RecordPlaces,
) -> int:
    """Give the records of groups ``bounds`` a work block and a home block; their numbers begin at ``first``."""
    running, stream = space.running, space.stream
    for group in range(bounds[0], bounds[1]):
        work_tract, puma = groups.work_tract[group], groups.home_puma[group]
        _list_members(work_tract, puma, ground, running)
        start = ground.puma_ptr[puma]
        n_members = ground.puma_ptr[puma + 1] - start
        for at in range(groups.ptr[group], groups.ptr[group + 1]):
            record = groups.record[at]
            open_stream(STAGE_RECORD_PLACE, (first + record) & _LOW, (first + record) >> 32, stream)
            work = _draw_block(work_tract, ground, key, stream)
            wanted = band[record]
            people = running[wanted, n_members]
            if people > 0:
                value = below(key, stream, people)
                member = find_weight(running[wanted], 1, n_members + 1, value) - 1
                tract = ground.puma_tract[start + member]
            else:
                tract = _nearest(work_tract, puma, wanted, ground)
            out.work_block[record] = work
            out.home_block[record] = _draw_home(work, tract, wanted, ground, key, stream)
    return -1
