from dataclasses import replace
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.errors import ParameterError
from engine.mechanisms.cleaning import CLEANED_RANGES_MI, clean_points
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.mechanisms.expected_noise import ExpectedNoise, expected_noise
from engine.mechanisms.exponential import exponential
from engine.mechanisms.prices import PRICE_UNITS, law_of
from engine.mechanisms.thetas import inverse_theta
from engine.streams import Stage, stream_words
from engine.support.coarsening import LEVEL_REMAINDER, Coarsening
from engine.support.support_table import SupportTable
from tests.engine.worlds import KEY, World, make_world
from tests.oracles import cleaning

SEED = st.integers(0, 10**9)
N_RANGES = len(CLEANED_RANGES_MI) + 1


def cells_of(points: list[list[int]], tract: list[int]) -> tuple[Synthesizers, SyntheticPoints]:
    """Cells with these drawn workers."""
    ptr = np.concatenate(([0], np.cumsum([len(cell) for cell in points]))).astype(np.int64)
    flat = np.array([point for cell in points for point in cell], dtype=np.int32)
    synthesizers = Synthesizers(
        tract=np.array(tract, dtype=np.int32),
        destination=np.arange(len(points)) // 2,
        segment=np.arange(len(points)) % 2,
        worker_ptr=ptr,
        worker_point=np.zeros_like(flat),
        min_prior_weight=np.ones(len(points), dtype=np.int64),
    )
    return synthesizers, SyntheticPoints(synthetic_ptr=ptr, synthetic_point=flat)


def drawn_world(
    seed: int, *, most: int = 8, most_freed: int = 12
) -> tuple[World, Synthesizers, SyntheticPoints, np.ndarray[Any, Any]]:
    """A world, cells of workers in its edited points but the remainder, and numbers of freed workers."""
    world, rng = make_world(seed), np.random.default_rng(seed + 1)
    after = world.edited.coarsening
    last = after.support_level[after.support_ptr[1:] - 1]
    n_points = after.n_support - (last == LEVEL_REMAINDER)
    tract = np.sort(rng.choice(np.flatnonzero(n_points), 14))
    cells = [rng.integers(0, n_points[one], rng.integers(0, most + 1)).tolist() for one in tract]
    freed = rng.integers(0, most_freed << 20, after.n_destination_tracts)
    return world, *cells_of(cells, tract.tolist()), freed


def cleaned(
    world: World, cells: Synthesizers, drawn: SyntheticPoints, freed: Any, **more: Any
) -> SyntheticPoints:
    after = world.edited.coarsening
    return clean_points(
        KEY, cells, drawn, after, world.share, ExpectedNoise(freed), world.destination_tract, **more
    )


def drawn_law(epsilon: Fraction, k: int, n: int) -> tuple[int, int, int]:
    """Theta as the mechanism draws with it, and the price."""
    law = law_of(epsilon, k, n)
    cut = max(0, law.inverse_theta.bit_length() - 40)
    theta = Fraction(1 << 20 >> cut, law.inverse_theta >> cut)
    return theta.numerator, theta.denominator, law.price


def one_table(n_points: int) -> SupportTable:
    weights = np.ones(n_points, dtype=np.int64)
    return SupportTable(
        support_ptr=np.array([0, n_points]), base_weight=weights, retention=np.full(n_points, 1 << 32)
    )


@pytest.mark.jit_off
@given(
    st.lists(st.lists(st.integers(0, 4), max_size=5), min_size=1, max_size=4), st.sampled_from([1, 2, 4, 8])
)
def test_expected_freed_workers_are_the_twin_s(cells: list[list[int]], epsilon: int) -> None:
    synthesizers, drawn = cells_of(cells, [0] * len(cells))
    k = 5
    (found,) = expected_noise(synthesizers, drawn, one_table(k), epsilon=epsilon).freed
    exact = Fraction(0)
    for cell in cells:
        if cell:
            law = law_of(Fraction(epsilon), k, len(cell))
            theta, price = Fraction(1 << 20, law.inverse_theta), Fraction(law.price, PRICE_UNITS)
            exact += cleaning.expected_freed([cell.count(point) for point in set(cell)], k, theta, price)
    assert abs(found - exact * 2**20) <= 2 * len(cells)


@pytest.mark.jit_off
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=20) | st.lists(st.integers(1, 9), max_size=12),
    st.sampled_from([40, 300, 2000]),
    st.sampled_from([1, 2, 4, 8]),
)
@example([1] * 150, 200, 4)
@example([2, 1, 3] * 50, 300, 4)
@example([200, 1, 1, 7], 60, 4)
@example([3, 1] * 80, 2000, 1)
@example([60] * 30, 40, 1)
@example([1] * 40, 2000, 8)
def test_expected_freed_workers_have_the_bits_of_plain_sums(counts: list[int], k: int, epsilon: int) -> None:
    synthesizers, drawn = cells_of([np.repeat(np.arange(len(counts)), counts).tolist()], [0])
    (found,) = expected_noise(synthesizers, drawn, one_table(k), epsilon=epsilon).freed
    if not counts:
        assert found == 0
        return
    numerator, denominator, price = drawn_law(Fraction(epsilon), k, sum(counts))
    wanted = cleaning.freed_in_floats(counts, k, numerator / denominator, price / PRICE_UNITS)
    assert found == wanted


@pytest.mark.parametrize(("n", "epsilon"), [(100, 8), (140, 6), (300, 4), (300, 2), (1000, 6), (1000, 9)])
def test_the_expectation_holds_for_many_workers(n: int, epsilon: int) -> None:
    """All apart: the weights are C(n, R) (1 - theta)^(n - R) theta^R C(k - 1 + R, R)."""
    k = 1200
    theta = Fraction(1 << 20, inverse_theta(Fraction(epsilon), k, n))
    odds = theta / (1 - theta)
    weight, total, mean = Fraction(1), Fraction(1), Fraction(0)
    for freed in range(1, n + 1):
        ratio = odds * Fraction((n - freed + 1) * (k - 1 + freed), freed * freed)
        weight = Fraction(round(weight * ratio * 2**200), 2**200)
        total += weight
        mean += freed * weight
    synthesizers, drawn = cells_of([list(range(n))], [0])
    (found,) = expected_noise(synthesizers, drawn, one_table(k), epsilon=epsilon).freed
    assert found / 2**20 == pytest.approx(float(mean / total), rel=0.01)


def test_larger_units_are_expected_to_free_as_tables_of_their_own() -> None:
    cells = [[0, 0, 1], [1, 2], [2, 2]]  # blocks 0, 0 and 1
    synthesizers, drawn = cells_of(cells, [0, 0, 0])
    together, _ = cells_of([[0, 0, 1, 1, 2], [2, 2]], [0, 0])
    merged = SyntheticPoints(synthetic_ptr=together.worker_ptr, synthetic_point=drawn.synthetic_point)
    by_block = expected_noise(synthesizers, drawn, one_table(5), epsilon=4, unit="block").freed
    assert by_block.tolist() == expected_noise(together, merged, one_table(5), epsilon=4).freed.tolist()
    whole, _ = cells_of([[0, 0, 1, 1, 2, 2, 2]], [0])
    alone = SyntheticPoints(synthetic_ptr=whole.worker_ptr, synthetic_point=drawn.synthetic_point)
    by_tract = expected_noise(
        synthesizers, drawn, one_table(5), epsilon=4, unit="tract", tract_number=np.array([7])
    )
    assert by_tract.freed.tolist() == expected_noise(whole, alone, one_table(5), epsilon=4).freed.tolist()


@pytest.mark.jit_off
@given(
    SEED,
    st.sampled_from([CLEANED_RANGES_MI, (), (7.0,), tuple(np.arange(1.0, 60.0, 2.0).tolist())]),
    st.booleans(),
    st.sampled_from([8, 8, 70]),
)
def test_cleaned_workers_are_the_twin_s(
    seed: int, ranges: tuple[float, ...], by_points: bool, most: int
) -> None:
    """Also where every other cell belongs to a unit that is read by points, and where many workers are drawn again."""
    world, cells, drawn, freed = drawn_world(seed, most=most, most_freed=12 * most // 8)
    after = world.edited.coarsening
    rng = np.random.default_rng(seed + 2)
    noise = ExpectedNoise(freed)
    if by_points:
        workers = rng.integers(-(1 << 20), 5 << 20, world.share.size)
        noise = ExpectedNoise(freed, workers, np.arange(cells.tract.size) % 2 == 0)
    found = clean_points(
        KEY, cells, drawn, after, world.share, noise, world.destination_tract, ranges_mi=ranges
    )
    for tract in range(after.n_destination_tracts):
        points = slice(after.support_ptr[tract], after.support_ptr[tract + 1])
        share, level = world.share[points], after.support_level[points]
        at = np.searchsorted(ranges, after.support_distance_mi[points], side="right").tolist()
        pooled = bool(np.any(level == LEVEL_REMAINDER))
        received = [
            Fraction(0 if of == LEVEL_REMAINDER else 1)
            + (Fraction(int(part * 2**20), 2**20) if pooled else 0)
            for of, part in zip(level, share, strict=True)
        ]

        def by_range(values: list[Fraction], at: list[int] = at) -> list[Fraction]:
            return [
                sum((one for one, where in zip(values, at, strict=True) if where == each), Fraction(0))
                for each in range(len(ranges) + 1)
            ]

        mine = np.flatnonzero(cells.tract == tract)
        before = [drawn.synthetic_point[slice(*drawn.synthetic_ptr[one : one + 2])].tolist() for one in mine]
        known: dict[str, Any] = {}
        if noise.workers is not None and noise.by_point is not None:
            shown = [Fraction(int(value)) for value in noise.workers[points]]
            last = shown[-1] if pooled else Fraction(0)
            parts = by_range([Fraction(int(part * 2**20) if pooled else 0, 2**20) for part in share])
            known["shown"] = [
                Fraction(int(one) + floor(last * part), 2**20)
                for one, part in zip(
                    by_range([*shown[:-1], Fraction(0)] if pooled else shown), parts, strict=True
                )
            ]
            known["in_proportion"] = (~noise.by_point[mine]).tolist()
        twin = cleaning.clean_tract(
            int(world.destination_tract[tract]),
            before,
            at,
            share.tolist(),
            [one / len(at) for one in by_range(received)],
            Fraction(int(freed[tract]), 2**20),
            **known,
        )
        assert [
            found.synthetic_point[slice(*found.synthetic_ptr[one : one + 2])].tolist() for one in mine
        ] == twin


LARGE = st.lists(st.integers(0, 60), min_size=1, max_size=6)


@pytest.mark.jit_off
@given(LARGE, LARGE, st.sampled_from([3, 4, 6, 9]))
def test_large_blocks_are_read_point_by_point_as_the_twin_reads_them(
    one: list[int], other: list[int], epsilon: int
) -> None:
    """Of two blocks in a tract; those of up to 20 workers, priced, or with too much noise, are read in proportion."""
    k = 8
    tables = [one, other]
    cells = [[point for point, count in enumerate(table) for _ in range(count)] for table in tables]
    halves = [half for cell in cells for half in (cell[::2], cell[1::2])]
    synthesizers, drawn = cells_of(halves, [0] * 4)
    found = expected_noise(synthesizers, drawn, one_table(k), epsilon=epsilon, unit="block")
    read = []
    for table in tables:
        n = sum(table)
        numerator, denominator, price = drawn_law(Fraction(epsilon), k, max(n, 1))
        theta = numerator / denominator if n > 20 and price == PRICE_UNITS else 1.0
        read.append(cleaning.workers_of_points(table + [0] * (k - len(table)), theta))
    is_read = [each is not None for each in read]
    of_cells = [by for by in is_read for _ in range(2)]
    assert found.workers is not None
    assert found.by_point is not None
    assert [by for by, cell in zip(found.by_point.tolist(), halves, strict=True) if cell] == [
        by for by, cell in zip(of_cells, halves, strict=True) if cell
    ]
    shown = [np.array(each) for each in read if each is not None]
    wanted = np.sum([np.zeros(k), *shown], axis=0)
    assert found.workers / 2**20 == pytest.approx(wanted, abs=1e-3)
    rest = [cell for cell, by in zip(halves, of_cells, strict=True) if not by]
    alone, few = cells_of(rest, [0] * len(rest))
    alone = replace(alone, destination=synthesizers.destination[[not by for by in of_cells]])
    if rest:
        in_proportion = expected_noise(alone, few, one_table(k), epsilon=epsilon, unit="block").freed
        assert found.freed.tolist() == in_proportion.tolist()
    else:
        assert found.freed.tolist() == [0]


def test_what_large_tables_show_is_right_in_the_mean() -> None:
    """Over many draws of one table: real workers of each point, with a quarter of the bias of the drawn ones.

    The odds v come from the same table, which leaves a small bias.
    """
    table, k, times = [120, 40, 9, 3, 1, 1] + [0] * 54, 60, 2_000
    cell = [point for point, count in enumerate(table) for _ in range(count)]
    synthesizers, _ = cells_of([cell] * times, [0] * times)
    synthesizers = replace(
        synthesizers,
        destination=np.arange(times),
        segment=np.zeros(times, dtype=np.int64),
        worker_point=np.tile(np.array(cell, dtype=np.int32), times),
    )
    for epsilon in (3, 4):
        drawn = exponential(KEY, synthesizers, one_table(k), epsilon=epsilon, unit="block")
        found = expected_noise(synthesizers, drawn, one_table(k), epsilon=epsilon, unit="block")
        assert found.workers is not None
        assert found.by_point is not None
        assert found.by_point.all()
        shown = np.bincount(drawn.synthetic_point, minlength=k)
        bias, of_drawn = (np.abs(one / times - table).sum() for one in (found.workers / 2**20, shown))
        assert bias < 0.25 * of_drawn


@given(SEED, st.integers(2, 5))
def test_threads_order_and_partition_do_not_matter(seed: int, threads: int) -> None:
    world, cells, drawn, freed = drawn_world(seed)
    whole = cleaned(world, cells, drawn, freed)
    again = cleaned(world, cells, drawn, freed, threads=threads)
    assert again.synthetic_point.tobytes() == whole.synthetic_point.tobytes()
    order = np.random.default_rng(seed).permutation(cells.tract.size)
    for tract in set(cells.tract.tolist()):
        mine = [one for one in order.tolist() if cells.tract[one] == tract]
        parts = [drawn.synthetic_point[slice(*drawn.synthetic_ptr[one : one + 2])].tolist() for one in mine]
        some, points = cells_of(parts, [tract] * len(mine))
        some = replace(some, destination=cells.destination[mine], segment=cells.segment[mine])
        found = cleaned(world, some, points, freed)
        for position, one in enumerate(mine):
            assert (
                found.synthetic_point[slice(*points.synthetic_ptr[position : position + 2])].tolist()
                == whole.synthetic_point[slice(*drawn.synthetic_ptr[one : one + 2])].tolist()
            )


@given(SEED)
def test_without_noise_nothing_changes(seed: int) -> None:
    world, cells, drawn, freed = drawn_world(seed)
    found = cleaned(world, cells, drawn, np.zeros_like(freed))
    assert found.synthetic_point.tobytes() == drawn.synthetic_point.tobytes()


def test_ranges_get_what_is_expected_of_them() -> None:
    """Many tracts with one table: sums of ranges against their exact mean and variance.

    With another key, one run in a million would fail.
    """
    world = make_world(5)
    after = world.edited.coarsening
    tract = int(np.argmax(after.n_support))
    points = slice(after.support_ptr[tract], after.support_ptr[tract + 1])
    distance = after.support_distance_mi[points]
    k, times = distance.size, 4_000
    rng = np.random.default_rng(2)
    table = rng.integers(0, k - (after.support_level[points][-1] == LEVEL_REMAINDER), 40)
    many = _repeated(after, tract, times)
    synthesizers, drawn = cells_of([table.tolist()] * times, list(range(times)))
    freed = np.full(times, int(7.3 * 2**20))
    share = np.tile(np.where(after.support_level[points] == LEVEL_REMAINDER, 0.0, world.share[points]), times)
    found = clean_points(KEY, synthesizers, drawn, many, share, ExpectedNoise(freed), np.arange(times))
    at = np.searchsorted(CLEANED_RANGES_MI, distance, side="right")
    is_point = after.support_level[points] != LEVEL_REMAINDER
    pooled = 0.0 if is_point.all() else 1.0
    noise = np.bincount(at, is_point + pooled * share[:k], N_RANGES) / k
    before = np.bincount(at[table], minlength=N_RANGES)
    least = np.maximum(before - 7.3 * noise, 0.0)
    wanted = 40 * least / least.sum()
    assert np.abs(wanted - before).max() > 0.5
    sums = np.bincount(at[found.synthetic_point], minlength=N_RANGES)
    # A range varies by its rounding and by the draws of those who move: less than a Poisson number of them would.
    tolerance = 4.9 * np.sqrt(times * (np.abs(wanted - before) + 0.25)) + 1e-3 * times
    assert (np.abs(sums - times * wanted) < tolerance).all()


def _repeated(coarsening: Coarsening, tract: int, times: int) -> Coarsening:
    """Copies of one destination tract."""
    points = slice(coarsening.support_ptr[tract], coarsening.support_ptr[tract + 1])
    k = points.stop - points.start
    names = ("support_level", "support_unit", "support_distance_mi", "support_population")
    tiled: dict[str, Any] = {name: np.tile(getattr(coarsening, name)[points], times) for name in names}
    return replace(
        coarsening,
        destination=np.repeat(coarsening.destination[tract], times),
        support_ptr=np.arange(times + 1, dtype=np.int64) * k,
        **tiled,
    )


def test_cleaning_has_a_stream_of_its_own() -> None:
    one = np.array([3])
    words = {stage: stream_words(KEY, stage, one, 0 * one, 4 + 0 * one)[1].tobytes() for stage in Stage}
    assert len(set(words.values())) == len(Stage)


def test_bad_input_is_refused() -> None:
    world, cells, drawn, freed = drawn_world(3)
    after, numbers, noise = world.edited.coarsening, world.destination_tract, ExpectedNoise(freed)
    with pytest.raises(ParameterError, match="expectations"):
        clean_points(KEY, cells, drawn, after, world.share, ExpectedNoise(freed[:-1]), numbers)
    with pytest.raises(ParameterError, match="shares"):
        clean_points(KEY, cells, drawn, after, world.share[:-1], noise, numbers)
    with pytest.raises(ParameterError, match="differ in number"):
        clean_points(
            KEY,
            cells,
            SyntheticPoints(synthetic_ptr=np.array([0]), synthetic_point=np.zeros(0, dtype=np.int32)),
            after,
            world.share,
            noise,
            numbers,
        )
