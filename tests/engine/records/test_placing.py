"""Places of records against a plain twin that reads the same streams."""

from __future__ import annotations

import math
from itertools import accumulate, pairwise

import numpy as np
import pytest

from engine.errors import ParameterError
from engine.placement.placement import BlockTable
from engine.records.placing import PlacedRecords, RecordGround, commute_bands, draw_places
from engine.streams import SecretKey
from engine.support.tracts import EARTH_RADIUS_MI, OriginTracts
from tests.oracles.chacha import Stream

EDGES_MI = (1, 4, 10)


def country(seed: int = 0, *, n_tracts: int = 12) -> RecordGround:
    """Tracts of one to four blocks in three PUMAs, some of them without residents."""
    random = np.random.default_rng(seed)
    n_blocks = random.integers(1, 5, n_tracts)
    ptr = np.append(0, np.cumsum(n_blocks))
    people = random.choice([0, 0, 3, 10, 50], int(ptr[-1]))
    lon, lat = random.uniform(-71.2, -71.0, ptr[-1]), random.uniform(41.0, 41.2, ptr[-1])
    centers = [[values[a:b].mean() for a, b in pairwise(ptr)] for values in (lon, lat)]
    tracts = OriginTracts(
        lon_deg=np.array(centers[0]),
        lat_deg=np.array(centers[1]),
        puma=np.arange(n_tracts, dtype=np.int32) % 3,
        superpuma=np.zeros(n_tracts, dtype=np.int32),
        population=np.ones(n_tracts, dtype=np.int64),
    )
    return RecordGround(
        tracts=tracts,
        blocks=BlockTable(block_ptr=ptr, block_population=people),
        block_lon_deg=lon,
        block_lat_deg=lat,
        edges_mi=EDGES_MI,
    )


def drawn(
    ground: RecordGround, n: int, *, seed: int = 1, threads: int = 1
) -> tuple[np.ndarray, PlacedRecords]:
    random = np.random.default_rng(seed)
    wanted = np.stack([random.integers(0, size, n) for size in (12, 3, len(EDGES_MI) + 1)])
    placed = draw_places(
        SecretKey.for_tests(),
        wanted[0],
        wanted[1],
        wanted[2].astype(np.int8),
        ground,
        first=5,
        threads=threads,
    )
    return wanted, placed


def miles(lon_a: float, lat_a: float, lon_b: float, lat_b: float) -> float:
    a, b, c, d = (math.radians(each) for each in (lon_a, lat_a, lon_b, lat_b))
    half = math.sin((d - b) / 2) ** 2 + math.cos(b) * math.cos(d) * math.sin((c - a) / 2) ** 2
    return 2 * EARTH_RADIUS_MI * math.asin(math.sqrt(half))


def band(distance_mi: float) -> int:
    return sum(distance_mi >= edge for edge in EDGES_MI)


class Twin:
    """The rules of `engine.records.placing`, one record at a time."""

    def __init__(self, ground: RecordGround) -> None:
        self.ground, self.ptr = ground, ground.blocks.block_ptr.tolist()
        self.people = ground.blocks.block_population.tolist()
        self.center = list(zip(ground.tracts.lon_deg, ground.tracts.lat_deg, strict=True))
        self.at = list(zip(ground.block_lon_deg, ground.block_lat_deg, strict=True))

    def blocks(self, tract: int) -> range:
        return range(self.ptr[tract], self.ptr[tract + 1])

    def residents(self, tract: int) -> int:
        return sum(self.people[block] for block in self.blocks(tract))

    def weighted(self, stream: Stream, weights: list[int]) -> int:
        value = stream.below(sum(weights))
        return next(place for place, total in enumerate(accumulate(weights)) if value < total)

    def block(self, stream: Stream, tract: int) -> int:
        blocks = self.blocks(tract)
        if not self.residents(tract):
            return blocks[stream.below(len(blocks))]
        return blocks[self.weighted(stream, [self.people[block] for block in blocks])]

    def home_tract(self, stream: Stream, work: int, puma: int, wanted: int) -> int:
        members = [tract for tract in range(len(self.center)) if self.ground.tracts.puma[tract] == puma]
        distance = {tract: miles(*self.center[work], *self.center[tract]) for tract in members}
        weights = [self.residents(t) if band(distance[t]) == wanted else 0 for t in members]
        if sum(weights):
            return members[self.weighted(stream, weights)]
        low, high = (0.0, *EDGES_MI)[wanted], (*EDGES_MI, math.inf)[wanted]
        lived_in = [tract for tract in members if self.residents(tract)] or members

        def gap(tract: int) -> float:
            chord = [
                (2 * math.sin(min(d / 2 / EARTH_RADIUS_MI, math.pi / 2))) ** 2
                for d in (low, distance[tract], high)
            ]
            return max(chord[0] - chord[1], chord[1] - chord[2], 0.0)

        return min(lived_in, key=gap)

    def place(self, number: int, work_tract: int, puma: int, wanted: int) -> tuple[int, int]:
        stream = Stream("RECORD_PLACE", number, 0)
        work = self.block(stream, work_tract)
        tract = self.home_tract(stream, work_tract, puma, wanted)
        home = -1
        for _ in range(16):
            home = self.block(stream, tract)
            if band(miles(*self.at[work], *self.at[home])) == wanted:
                break
        return work, home


@pytest.mark.jit_off
@pytest.mark.parametrize("seed", range(4))
def test_places_are_those_of_the_twin(seed: int) -> None:
    ground = country(seed)
    wanted, placed = drawn(ground, 40, seed=seed)
    twin = Twin(ground)
    expected = [twin.place(5 + number, *record) for number, record in enumerate(wanted.T.tolist())]
    assert list(zip(placed.work_block.tolist(), placed.home_block.tolist(), strict=True)) == expected


def test_places_depend_neither_on_threads_nor_on_parts() -> None:
    ground = country()
    wanted, whole = drawn(ground, 500)
    _, shared = drawn(ground, 500, threads=4)
    rest = draw_places(
        SecretKey.for_tests(),
        wanted[0, 300:],
        wanted[1, 300:],
        wanted[2, 300:].astype(np.int8),
        ground,
        first=305,
    )
    assert np.array_equal(whole.home_block, shared.home_block)
    assert np.array_equal(whole.work_block[300:], rest.work_block)
    assert np.array_equal(whole.home_block[300:], rest.home_block)


def test_every_record_gets_blocks_of_its_tract_and_puma() -> None:
    ground = country()
    wanted, placed = drawn(ground, 500)
    tract_of_block = np.repeat(np.arange(12), np.diff(ground.blocks.block_ptr))
    assert np.array_equal(tract_of_block[placed.work_block], wanted[0])
    assert np.array_equal(ground.tracts.puma[tract_of_block[placed.home_block]], wanted[1])


def test_commute_bands_are_those_of_great_circle_distances() -> None:
    ground = country()
    n = ground.block_lon_deg.size
    work, home = (each.ravel() for each in np.meshgrid(np.arange(n), np.arange(n)))
    at = list(zip(ground.block_lon_deg, ground.block_lat_deg, strict=True))
    expected = [band(miles(*at[a], *at[b])) for a, b in zip(work, home, strict=True)]
    assert commute_bands(ground, work, home).tolist() == expected


@pytest.mark.parametrize(("column", "value"), [(0, 12), (1, 3), (2, 4)])
def test_a_record_outside_the_geography_is_refused(column: int, value: int) -> None:
    record = np.zeros((3, 1), dtype=np.int8)
    record[column] = value
    with pytest.raises(ParameterError, match="allowed are 0 to"):
        draw_places(SecretKey.for_tests(), record[0], record[1], record[2], country())


def test_a_tract_without_blocks_is_refused() -> None:
    ground = country()
    blocks = BlockTable(
        block_ptr=np.append(0, ground.blocks.block_ptr), block_population=ground.blocks.block_population
    )
    with pytest.raises(ParameterError, match="a tract has no blocks"):
        RecordGround(
            tracts=ground.tracts,
            blocks=blocks,
            block_lon_deg=ground.block_lon_deg,
            block_lat_deg=ground.block_lat_deg,
            edges_mi=EDGES_MI,
        )
