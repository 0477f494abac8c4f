"""Blocks of synthetic worker records, drawn from public data alone (post-processing).

A record says in which tract its worker works, in which PUMA the worker lives, and how far apart these are. The work
block is drawn by population within the tract. The home tract is drawn by population among the tracts of the PUMA whose
center is as far from the center of the work tract as the distance band says; if there is none, it is the tract nearest
to the band. The home block is drawn by population within the tract, a few times over until its distance from the work
block is in the band. Where nobody lives, blocks have equal chances.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, IntArray, as_int
from engine.errors import ParameterError
from engine.placement.placement import BlockTable
from engine.records.kernels.place import PlaceGround, PlaceSpace, RecordGroups, RecordPlaces, place_records
from engine.streams import SecretKey, new_stream
from engine.support.tracts import OriginTracts, chord_of_miles, unit_vectors
from engine.threads import run_ranges

__all__ = ["PlacedRecords", "RecordGround", "commute_bands", "draw_places"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordGround:
    """Public geography on which records are placed.

    Attributes
    ----------
    tracts : OriginTracts
        All tracts; every one has at least one block.
    blocks : BlockTable
        Their blocks, with population.
    block_lon_deg, block_lat_deg : float64[B]
    edges_mi : sequence of float
        Ends of the distance bands, miles; the last band has no end.
    block_place : float64[B, 3]
        Blocks as unit vectors.
    limits : float64[edges]
        Squared chords at which the distance bands end, in radii.
    """

    tracts: OriginTracts
    blocks: BlockTable
    block_lon_deg: FloatArray
    block_lat_deg: FloatArray
    edges_mi: Sequence[float]
    block_place: FloatArray = field(init=False)
    limits: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        if self.blocks.block_ptr.size != self.tracts.n_tracts + 1 or np.any(
            np.diff(self.blocks.block_ptr) == 0
        ):
            raise ParameterError("a tract has no blocks: give every tract at least one")
        object.__setattr__(self, "block_place", unit_vectors(self.block_lon_deg, self.block_lat_deg))
        chords = [chord_of_miles(float(edge)) for edge in self.edges_mi]
        object.__setattr__(self, "limits", np.square(np.array(chords, dtype=np.float64)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedRecords:
    """Blocks of synthetic worker records: int32[n] each."""

    work_block: npt.NDArray[np.int32]
    home_block: npt.NDArray[np.int32]


def commute_bands(ground: RecordGround, work_block: IntArray, home_block: IntArray) -> npt.NDArray[np.int8]:
    """Distance band of each pair of blocks: int8[n], from 0; a distance at the end of a band is in the next one."""
    place = ground.block_place
    square = np.zeros(work_block.size)
    for axis in range(3):
        square += np.square(place[work_block, axis] - place[home_block, axis])
    return np.searchsorted(ground.limits, square, side="right").astype(np.int8)


def draw_places(
    key: SecretKey,
    work_tract: IntArray,
    home_puma: IntArray,
    band: npt.NDArray[np.int8],
    ground: RecordGround,
    *,
    first: int = 0,
    threads: int = 1,
) -> PlacedRecords:
    """Draw the blocks of work and home of records ``first`` to ``first + n - 1``.

    Parameters
    ----------
    key : SecretKey
        Stage RECORD_PLACE, addressed by the record's number.
    work_tract, home_puma : int[n]
        Rows of tracts and of PUMAs.
    band : int8[n]
        Distance band of each record, from 0.
    ground : RecordGround
    first : int
        Number of the first record.
    threads : int
        Threads to use; the result does not depend on it.

    Raises
    ------
    ParameterError
        Arrays do not agree, or name a tract, PUMA, or band that does not exist.
    """
    puma_ptr, puma_tract = ground.tracts.puma_members
    limits = ground.limits
    tract = as_int("work_tract", work_tract, high=ground.tracts.n_tracts - 1)
    puma = as_int("home_puma", home_puma, high=puma_ptr.size - 2)
    bands = as_int("band", band, dtype=np.int8, high=limits.size)
    if not tract.size == puma.size == bands.size:
        raise ParameterError(f"{tract.size} tracts, {puma.size} PUMAs and {bands.size} bands: give one each")
    if np.any(np.diff(puma_ptr)[puma] == 0):
        raise ParameterError("a record's PUMA has no tracts: give every PUMA at least one")
    placed = np.zeros((2, tract.size), dtype=np.int32)
    out = RecordPlaces(*placed)
    groups = _groups(tract, puma, puma_ptr.size)
    blocks = ground.blocks
    arrays = PlaceGround(
        block_ptr=blocks.block_ptr,
        block_sum=blocks.block_sum,
        block_place=ground.block_place,
        tract_place=ground.tracts.place,
        puma_ptr=puma_ptr,
        puma_tract=puma_tract,
        limits=limits,
    )
    most = int(np.diff(puma_ptr).max(initial=0))

    def place(start: int, stop: int) -> int:
        running = np.zeros((limits.size + 1, most + 1), dtype=np.int64)
        space = PlaceSpace(running=running, stream=new_stream())
        return place_records((start, stop), groups, bands, first, arrays, key.words, space, out)

    run_ranges(place, np.diff(groups.ptr), threads)
    return PlacedRecords(work_block=placed[0], home_block=placed[1])


def _groups(tract: Ints, puma: Ints, n_pumas: int) -> RecordGroups:
    """Records by work tract and home PUMA, so that distances between them are computed once."""
    pair = tract * n_pumas + puma
    order = np.argsort(pair, kind="stable").astype(np.int64)
    sorted_pairs = pair[order]
    start = np.flatnonzero(np.append(True, sorted_pairs[1:] != sorted_pairs[:-1]))[: pair.size]
    work, home = np.divmod(sorted_pairs[start], n_pumas)
    ptr = np.append(start, pair.size).astype(np.int64)
    return RecordGroups(ptr=ptr, record=order, work_tract=work, home_puma=home)
