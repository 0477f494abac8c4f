import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from engine.errors import ParameterError, SupportError
from engine.kernels.arrays import Indices
from engine.mechanisms.dirichlet_multinomial import (
    Synthesizers,
    SyntheticPoints,
    redraw_remainder,
    synthesize,
)
from engine.mechanisms.kernels.urn import find_weight, find_weight_near, guess_weight
from engine.placement.kernels.placement import check_drawn
from engine.placement.placement import BlockTable, PlacementMode, place_blocks
from engine.support.coarsening import LEVEL_REMAINDER, coarsen
from engine.support.editing import EditingMode
from engine.support.prior import redraw_weight
from tests.engine.worlds import (
    KEY,
    World,
    make_world,
    points_of_tracts,
    same_synthesizers,
    take,
    tracts_in_a_row,
)
from tests.oracles.chacha import Stream
from tests.oracles.domain import block_of

SEED = st.integers(0, 10**9)
FALSE_ALARM = 1e-6


def redrawn(world: World, synthesizers: Synthesizers) -> SyntheticPoints:
    drawn = synthesize(KEY, synthesizers, world.support)
    return redraw_remainder(KEY, synthesizers, drawn, world.edited.coarsening, redraw_weight(world.share))


@pytest.mark.jit_off
@example(9, "population", "pool")  # somebody lives in a whole SuperPUMA that is not the first
@given(SEED, st.sampled_from(["population", "representative"]), st.sampled_from(["pool", "drop"]))
def test_blocks_are_the_twin_s_and_lie_in_the_drawn_part(
    seed: int, mode: PlacementMode, editing: EditingMode
) -> None:
    world = make_world(seed, mode=editing)
    chosen, coarse, blocks = world.synthesizers, world.edited.coarsening, world.blocks
    drawn = redrawn(world, chosen)
    placed = place_blocks(KEY, chosen, drawn, coarse, blocks, mode=mode)
    part = points_of_tracts(coarse)
    block_ptr, population = blocks.block_ptr.tolist(), blocks.block_population.tolist()
    for one in range(chosen.tract.size):
        tract = int(chosen.tract[one])
        stream = Stream("PLACE", int(chosen.destination[one]), int(chosen.segment[one]))
        for position in range(drawn.synthetic_ptr[one], drawn.synthetic_ptr[one + 1]):
            point = int(drawn.synthetic_point[position])
            members = np.flatnonzero(part[tract] == point).tolist()
            if mode == "representative":
                stream = Stream("REPRESENTATIVE", int(world.destination_tract[tract]), point)
            assert placed[position] == block_of(stream, members, block_ptr, population)
            assert np.searchsorted(block_ptr, placed[position], side="right") - 1 in members


@given(SEED, st.sampled_from(["population", "representative"]))
def test_threads_order_and_partition_do_not_matter(seed: int, mode: PlacementMode) -> None:
    world = make_world(seed, n_synthesizers=30)
    chosen, coarse = world.synthesizers, world.edited.coarsening

    def place(part: Synthesizers, threads: int = 1) -> list[Indices]:
        drawn = redrawn(world, part)
        blocks = place_blocks(KEY, part, drawn, coarse, world.blocks, mode=mode, threads=threads)
        return np.split(blocks, drawn.synthetic_ptr[1:-1])

    whole = place(chosen)
    assert np.concatenate(place(chosen, 3)).tobytes() == np.concatenate(whole).tobytes()
    order = np.random.default_rng(seed).permutation(chosen.tract.size)
    for position, blocks in enumerate(place(take(chosen, order))):
        assert blocks.tolist() == whole[order[position]].tolist()


@pytest.mark.jit_off
@given(st.lists(st.integers(0, 40), min_size=1, max_size=60), st.data())
def test_a_weight_is_found_from_any_guess(weights: list[int], data: st.DataObject) -> None:
    weights[-1] += 1
    before = data.draw(st.integers(0, 9))
    cumulative = np.concatenate(([before], before + np.cumsum(weights))).astype(np.int64)
    total, last = sum(weights), len(weights) + 1
    for value in {0, total - 1, data.draw(st.integers(0, total - 1))}:
        wanted = find_weight(cumulative, 1, last, before + value)
        assert 1 <= guess_weight(1, last, total, value) < last
        for guess in range(1, last):
            assert find_weight_near(cumulative, 1, last, guess, before + value) == wanted


def one_tract(block_population: list[int], n_workers: int) -> Indices:
    """Workers of one workplace who all live in its own tract."""
    alone = tracts_in_a_row([0.0], np.array([0]), np.array([0]), np.array([1]))
    coarse, _ = coarsen(alone, np.array([0]), q50_mi=1.0, q90_mi=100.0)
    chosen = same_synthesizers(1, [0], n_workers, 1)
    drawn = SyntheticPoints(
        synthetic_ptr=np.array([0, n_workers]), synthetic_point=np.zeros(n_workers, np.int32)
    )
    population = np.array(block_population)
    blocks = BlockTable(block_ptr=np.array([0, population.size]), block_population=population)
    return place_blocks(KEY, chosen, drawn, coarse, blocks)


@pytest.mark.jit_off
@pytest.mark.parametrize("n_workers", [1, 16, 47, 48, 400])
@pytest.mark.parametrize(
    "population",
    [
        [1],
        [0, 1, 0],
        [0] * 30 + [7] + [0] * 30,
        [1] * 99 + [100_000],
        [100_000] + [0, 1] * 50,
        [1 << 31, 1 << 31],
        [5, 1 << 34, 0, 1 << 33],
    ],
    ids=["one", "among-empty", "far-from-the-guess", "late", "early", "one-word", "two-words"],
)
def test_blocks_of_one_tract_are_the_twin_s(population: list[int], n_workers: int) -> None:
    stream = Stream("PLACE", 0, 3)
    placed = one_tract(population, n_workers)
    assert placed.tolist() == [block_of(stream, [0], [0, len(population)], population) for _ in placed]


@pytest.mark.jit_off
@given(st.lists(st.sampled_from([0, 0, 1, 2, 40, 3_000]), min_size=1, max_size=60), st.integers(0, 3))
def test_the_guide_leads_to_the_block_of_every_person(weights: list[int], before: int) -> None:
    weights[-1] += 1
    population = np.array([before, *weights])
    table = BlockTable(block_ptr=np.array([0, 1, population.size]), block_population=population).by_tract
    first, last, total = 1, population.size, sum(weights)
    for block, people in enumerate(weights, first):
        start = sum(weights[: block - first])
        for rest in {start, start + people // 2, start + people - 1} if people else ():
            here = table.guide[guess_weight(first, last, total, rest)]
            assert first <= here <= block
            assert all(table.running[one + 1] <= before + rest for one in range(here, block))
            assert table.running[block + 1] > before + rest


@pytest.mark.jit_off
def test_drawn_points_that_do_not_exist_are_counted() -> None:
    support_ptr, level = np.array([0, 2, 5]), np.array([0, 3, 0, 1, 3], dtype=np.int8)
    points = np.array([0, 1, 2, 2, 3, -1, 0], dtype=np.int32)
    assert check_drawn(np.array([0, 1], dtype=np.int32), np.array([0, 3, 7]), points, support_ptr, level) == (
        3,
        2,
    )


def one_part(block_population: list[int], n_workers: int, block_ptr: list[int]) -> Indices:
    """A destination tract whose only far point holds every origin tract but the first."""
    n_tracts = len(block_ptr) - 1
    row = tracts_in_a_row(
        [0.0] + [50.0] * (n_tracts - 1),
        np.array([0] + [1] * (n_tracts - 1)),
        np.zeros(n_tracts, int),
        np.ones(n_tracts, int),
    )
    coarse, _ = coarsen(row, np.array([0]), q50_mi=1.0, q90_mi=100.0)
    chosen = same_synthesizers(1, [0], n_workers, 1)
    drawn = SyntheticPoints(
        synthetic_ptr=np.array([0, n_workers]), synthetic_point=np.ones(n_workers, np.int32)
    )
    blocks = BlockTable(block_ptr=np.array(block_ptr), block_population=np.array(block_population))
    return place_blocks(KEY, chosen, drawn, coarse, blocks)


def test_blocks_follow_population() -> None:
    population = [9, 9, 1, 0, 4, 0, 0, 5, 2, 8]
    placed = one_part(population, 50_000, [0, 2, 5, 7, 10])
    expected = np.array(population[2:]) / sum(population[2:])
    found = np.bincount(placed, minlength=10)[2:]
    assert not found[expected == 0].any()
    assert stats.chisquare(found[expected > 0], 50_000 * expected[expected > 0]).pvalue > FALSE_ALARM


def test_empty_parts_use_every_block_alike() -> None:
    placed = one_part([9, 9, 0, 0, 0, 0], 30_000, [0, 2, 5, 6])
    assert stats.chisquare(np.bincount(placed, minlength=6)[2:]).pvalue > FALSE_ALARM


def test_a_representative_block_is_the_same_for_every_worker_of_a_point() -> None:
    world = make_world(11, n_synthesizers=200)
    chosen, coarse = world.synthesizers, world.edited.coarsening
    drawn = redrawn(world, chosen)
    placed = place_blocks(KEY, chosen, drawn, coarse, world.blocks, mode="representative")
    tract = np.repeat(chosen.tract, chosen.n_synthetic)
    met = set(zip(tract.tolist(), drawn.synthetic_point.tolist(), placed.tolist(), strict=True))
    assert len(met) == len({(one, point) for one, point, _ in met})


def test_what_cannot_be_placed_is_refused() -> None:
    for seed in range(100):
        world = make_world(seed)
        if world.edited.n_eliminated.any():
            break
    chosen, coarse = world.synthesizers, world.edited.coarsening
    drawn = redrawn(world, chosen)
    tract = int(np.flatnonzero(coarse.support_level[coarse.support_ptr[1:] - 1] == LEVEL_REMAINDER)[0])
    one = take(chosen, np.flatnonzero(chosen.tract == tract)[:1])
    pooled = SyntheticPoints(
        synthetic_ptr=np.array([0, 1]),
        synthetic_point=np.array([coarse.n_support[tract] - 1], dtype=np.int32),
    )
    with pytest.raises(SupportError, match="redraw_remainder"):
        place_blocks(KEY, one, pooled, coarse, world.blocks)
    with pytest.raises(SupportError, match="at least one block"):
        one_part([1, 1], 5, [0, 2, 2])
    with pytest.raises(ParameterError, match="allowed are population, representative"):
        place_blocks(KEY, chosen, drawn, coarse, world.blocks, mode="centre")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ParameterError, match="differ in number"):
        place_blocks(KEY, chosen, pooled, coarse, world.blocks)
    beyond = SyntheticPoints(synthetic_ptr=drawn.synthetic_ptr, synthetic_point=drawn.synthetic_point + 1000)
    with pytest.raises(ParameterError, match="its own coarsening"):
        place_blocks(KEY, chosen, beyond, coarse, world.blocks)
    few = BlockTable(block_ptr=np.array([0, 1]), block_population=np.array([1]))
    with pytest.raises(ParameterError, match="origin tracts"):
        place_blocks(KEY, chosen, drawn, coarse, few)
    with pytest.raises(ParameterError, match="must end at"):
        BlockTable(block_ptr=np.array([0, 2]), block_population=np.array([1]))
