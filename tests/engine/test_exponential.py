"""The exponential mechanism draws bit for bit what its plain twin draws, whatever the threads, order and batches."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.accountant.lone_worker import stay_apart
from engine.errors import OverflowRefusedError, ParameterError
from engine.kernels.chacha import BLOCK_LIMIT, COUNTER, LANE_WORDS, has_run_out, open_stream
from engine.mechanisms import exponential as mechanism
from engine.mechanisms import unit as units
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.mechanisms.exponential import (
    exponential,
    exponential_promise,
    unit_thetas,
)
from engine.mechanisms.kernels import exponential as kernel
from engine.mechanisms.kernels.exponential import MOST_POINTS
from engine.mechanisms.prices import PRICE_UNITS, TableLaw, unpriced_law
from engine.mechanisms.thetas import THETA_BITS, exponential_epsilon, inverse_theta
from engine.parameters import Unit
from engine.streams import Stage, new_stream
from engine.support.support_table import SupportTable
from tests.engine.comparison.test_histograms import digest
from tests.engine.examples import examples
from tests.engine.laws import draw_with
from tests.engine.test_exponential_twin import e_to
from tests.engine.worlds import KEY, Ints, make_synthesizers, one_table, same_synthesizers, take
from tests.golden import golden
from tests.oracles import exponential as twin
from tests.oracles.exponential_stream import deal, draw_unit, theta_of

SEED = st.integers(0, 10**9)
EPSILONS = ["1/1024", "0.3", "1", "2", "4", "6.5", "8.98", "25"]
UNITS: tuple[Unit, ...] = ("cell", "block", "tract")


@pytest.fixture(autouse=True, scope="module")
def _without_price() -> Iterator[None]:
    """Draw small tables without a price; tests/engine/test_priced.py draws them with one."""
    with pytest.MonkeyPatch.context() as patch:
        draw_with(patch, unpriced_law)
        yield


def cells_of(
    seed: int, n_cells: int, sizes: tuple[int, ...] = (1, 5, 40)
) -> tuple[Synthesizers, SupportTable]:
    """Cells of a few blocks and segments, in no order, and the support points of their tracts."""
    rng = np.random.default_rng(seed)
    table = SupportTable(
        support_ptr=np.concatenate(([0], np.cumsum(sizes))),
        base_weight=np.ones(sum(sizes), dtype=np.int64),
        retention=np.full(sum(sizes), 1 << 32),
    )
    # Every block is in one tract; a cell is a block and a segment.
    shuffled = rng.permutation(n_cells)
    block = shuffled // 3
    tract = block % len(sizes)
    n_workers = rng.integers(0, 9, n_cells)
    points = rng.integers(0, np.repeat(np.array(sizes)[tract], n_workers))
    cells = Synthesizers(
        tract=tract.astype(np.int32),
        destination=block + 1000,
        segment=9 * (shuffled % 3),
        worker_ptr=np.concatenate(([0], np.cumsum(n_workers))),
        worker_point=points.astype(np.int32),
        min_prior_weight=np.ones(n_cells, dtype=np.int64),
    )
    return cells, table


def drawn_by(
    cells: Synthesizers, table: SupportTable, epsilon: str = "4", unit: Unit = "cell", threads: int = 1
) -> SyntheticPoints:
    number = 7 + 10 * np.arange(table.n_support.size)
    return exponential(KEY, cells, table, epsilon=epsilon, unit=unit, tract_number=number, threads=threads)


def lists(points: Ints | Any, ptr: Ints) -> list[list[int]]:
    return [points[first:last].tolist() for first, last in pairwise(ptr)]


def twin_of(cells: Synthesizers, table: SupportTable, epsilon: str, unit: Unit) -> list[list[int]]:
    """What the twin draws for every cell."""
    workers = lists(cells.worker_point, cells.worker_ptr)
    number = {
        "cell": list(range(len(workers))),
        "block": cells.destination.tolist(),
        "tract": (7 + 10 * cells.tract.astype(np.int64)).tolist(),
    }[unit]
    drawn: list[list[int]] = [[]] * len(workers)
    for one in sorted(set(number)):
        members = [cell for cell in range(len(workers)) if number[cell] == one]
        members.sort(key=lambda cell: (cells.destination[cell], cells.segment[cell]))
        k = int(table.n_support[cells.tract[members[0]]])
        together = [worker for cell in members for worker in workers[cell]]
        address = (one, 0)
        if unit == "cell":
            address = int(cells.destination[one]), int(cells.segment[one])
        found = draw_unit(address, together, k, theta_of(max(1, len(together)), k, e_to(epsilon)))
        sizes = [len(workers[cell]) for cell in members]
        dealt = [found] if unit == "cell" else deal(one, found, sizes)
        for cell, here in zip(members, dealt, strict=True):
            drawn[cell] = here
    return drawn


@pytest.mark.jit_off
@pytest.mark.parametrize("unit", UNITS)
@given(seed=SEED, epsilon=st.sampled_from(EPSILONS))
@settings(max_examples=examples(25))
def test_draws_are_the_twin_s(unit: Unit, seed: int, epsilon: str) -> None:
    cells, table = cells_of(seed, 9)
    drawn = drawn_by(cells, table, epsilon, unit)
    assert np.diff(drawn.synthetic_ptr).tolist() == cells.n_likelihood.tolist()
    assert lists(drawn.synthetic_point, drawn.synthetic_ptr) == twin_of(cells, table, epsilon, unit)


@pytest.mark.parametrize("n", [19, 20, 21, 22, 500])
def test_more_than_20_workers_have_the_theta_of_any_number(n: int) -> None:
    epsilon, k = Fraction(2), 40
    found = unit_thetas(epsilon, same_synthesizers(1, [0] * n, n, 1), one_table([1] * k))
    theta = Fraction(int(found.numerator[0]), int(found.denominator[0]))
    assert theta == Fraction(1 << THETA_BITS, inverse_theta(epsilon, k, min(n, 21)))


@pytest.mark.parametrize("epsilon", ["0.05", "2", "6.5", "8.98"])
@pytest.mark.parametrize("k", [2, 40, 1000])
def test_large_units_are_drawn_as_the_twin_draws_them(k: int, epsilon: str) -> None:
    rng = np.random.default_rng(k)
    workers = [*rng.integers(0, k, 90).tolist(), *[1] * 200]
    for some in (workers[:21], workers[-30:], workers):
        cells = same_synthesizers(2, some, len(some), 1, first=k)
        table = one_table([1] * k)
        drawn = drawn_by(cells, table, epsilon)
        assert lists(drawn.synthetic_point, drawn.synthetic_ptr) == twin_of(cells, table, epsilon, "cell")


@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_every_small_table_is_drawn_as_the_twin_draws_it(k: int) -> None:
    tables = [table for n in range(7) for table in twin.tables(n, k)]
    workers = [[point for point, count in enumerate(table) for _ in range(count)] for table in tables]
    sizes = np.array([len(each) for each in workers])
    cells = Synthesizers(
        tract=np.zeros(len(tables), np.int32),
        destination=np.arange(len(tables)),
        segment=np.full(len(tables), 11),
        worker_ptr=np.concatenate(([0], np.cumsum(sizes))),
        worker_point=np.array([point for each in workers for point in each], np.int32),
        min_prior_weight=np.ones(len(tables), np.int64),
    )
    for epsilon in ("0.7", "3"):
        drawn = drawn_by(cells, one_table([1] * k), epsilon)
        found = lists(drawn.synthetic_point, drawn.synthetic_ptr)
        assert found == twin_of(cells, one_table([1] * k), epsilon, "cell")


@pytest.mark.parametrize("unit", UNITS)
@given(seed=SEED, threads=st.integers(2, 5))
@settings(max_examples=15)
def test_threads_order_and_batches_change_nothing(unit: Unit, seed: int, threads: int) -> None:
    cells, table = cells_of(seed, 60)
    whole = drawn_by(cells, table, unit=unit)
    assert digest(whole) == digest(drawn_by(cells, table, unit=unit, threads=threads))
    order = np.random.default_rng(seed).permutation(cells.tract.size)
    # A batch holds whole tracts; its cells come in any order.
    for tract in range(table.n_support.size):
        part = order[cells.tract[order] == tract]
        partial = drawn_by(take(cells, part), table, unit=unit)
        assert lists(partial.synthetic_point, partial.synthetic_ptr) == [
            whole.synthetic_point[whole.synthetic_ptr[one] : whole.synthetic_ptr[one + 1]].tolist()
            for one in part
        ]


@given(seed=SEED)
@settings(max_examples=10)
def test_a_batch_s_own_numbering_of_tracts_changes_nothing(seed: int) -> None:
    cells, table = cells_of(seed, 30, (3, 50))
    whole = drawn_by(cells, table, unit="tract")
    second = np.flatnonzero(cells.tract == 1)
    alone = take(cells, second)
    renumbered = Synthesizers(
        tract=np.zeros(second.size, np.int32),
        destination=alone.destination,
        segment=alone.segment,
        worker_ptr=alone.worker_ptr,
        worker_point=alone.worker_point,
        min_prior_weight=alone.min_prior_weight,
    )
    found = exponential(
        KEY, renumbered, one_table([1] * 50), epsilon="4", unit="tract", tract_number=np.array([17])
    )
    everything = lists(whole.synthetic_point, whole.synthetic_ptr)
    assert lists(found.synthetic_point, found.synthetic_ptr) == [everything[one] for one in second]


@given(seed=SEED)
@settings(max_examples=15)
def test_the_order_of_the_real_workers_changes_nothing(seed: int) -> None:
    cells, table = cells_of(seed, 30)
    rng = np.random.default_rng(seed)
    points = cells.worker_point.copy()
    for first, last in zip(cells.worker_ptr[:-1], cells.worker_ptr[1:], strict=True):
        rng.shuffle(points[first:last])
    shuffled = Synthesizers(
        tract=cells.tract,
        destination=cells.destination,
        segment=cells.segment,
        worker_ptr=cells.worker_ptr,
        worker_point=points,
        min_prior_weight=cells.min_prior_weight,
    )
    for unit in UNITS:
        assert digest(drawn_by(cells, table, unit=unit)) == digest(drawn_by(shuffled, table, unit=unit))


@pytest.mark.jit_off
def test_no_cells_give_no_workers() -> None:
    empty = make_synthesizers(np.random.default_rng(0), one_table([1]), 0)
    for unit in UNITS:
        drawn = drawn_by(empty, one_table([1]), unit=unit, threads=2)
        assert (drawn.synthetic_ptr.tolist(), drawn.synthetic_point.size) == ([0], 0)


@pytest.mark.jit_off
def test_cells_are_pooled_into_units_by_block_and_segment() -> None:
    cells, _ = cells_of(4, 20)
    assert units.pool_cells(cells, "cell", None).units is cells
    workers = lists(cells.worker_point, cells.worker_ptr)
    block, segment = cells.destination.tolist(), cells.segment.tolist()
    for unit, number in (("block", block), ("tract", (cells.tract * 3 + 5).tolist())):
        pooled, order = units.pool_cells(cells, unit, np.array([5, 8, 11]))  # type: ignore[arg-type]  # text as the unit
        assert order.tolist() == sorted(range(20), key=lambda one: (number[one], block[one], segment[one]))
        assert pooled.destination.tolist() == sorted(set(number))
        assert pooled.segment.tolist() == [0] * len(set(number))
        for one, here in zip(pooled.destination, lists(pooled.worker_point, pooled.worker_ptr), strict=True):
            assert here == [worker for cell in order if number[cell] == one for worker in workers[cell]]


@pytest.mark.jit_off
def test_a_unit_of_tracts_needs_their_numbers() -> None:
    cells, table = cells_of(4, 20)
    with pytest.raises(ParameterError, match="give tract_number"):
        exponential(KEY, cells, table, epsilon="4", unit="tract")
    with pytest.raises(ParameterError, match="1 tract numbers, but tract reaches 2"):
        exponential(KEY, cells, table, epsilon="4", unit="tract", tract_number=np.array([1]))


@pytest.mark.jit_off
@pytest.mark.parametrize("epsilon", ["1/1024", "0.5", "2", "6.5", "25"])
def test_theta_is_the_largest_that_the_exact_ratio_allows(epsilon: str) -> None:
    growth = e_to(epsilon)
    for n, k in [(1, 7), (2, 2), (2, 219), (3, 5), (7, 40), (20, 433)]:
        t = inverse_theta(exponential_epsilon(epsilon), k, n)
        assert twin.exact_ratio(n, k, Fraction(twin.THETA_UNITS, t)) <= growth
        assert twin.exact_ratio(n, k, Fraction(twin.THETA_UNITS, t + 1)) > growth
    for n, k in [(21, 2), (21, 433), (10**6, 433)]:
        t = inverse_theta(exponential_epsilon(epsilon), k, n)
        assert twin.sharp_ratio(n, k, Fraction(twin.THETA_UNITS, t)) <= growth
        assert twin.sharp_ratio(n, k, Fraction(twin.THETA_UNITS, t + 1)) > growth
    assert inverse_theta(exponential_epsilon(epsilon), 1, 5) == int(growth * twin.THETA_UNITS)


@pytest.mark.parametrize(
    "case", golden("exponential")["inverse_theta"], ids=lambda case: f"{case['epsilon']},{case['k']}"
)
def test_theta_is_no_larger_than_in_the_golden_figures(case: dict[str, Any]) -> None:
    epsilon = exponential_epsilon(case["epsilon"])
    unit = twin.THETA_UNITS
    assert inverse_theta(epsilon, case["k"], 1) / unit == pytest.approx(case["n_1"], abs=6e-5)
    # The figures are those of a weaker bound, or of half of epsilon: noise that is never needed.
    figures = [case["inverse_theta_below"], case["alternative_half"]]
    found = [inverse_theta(epsilon, case["k"], n) / unit for n in (2, 5, 20, 21)]
    assert found == sorted(found, reverse=True)
    assert found[-1] >= max(figures) - 6e-5
    weaker = twin.inverse_theta_of_bound(case["k"], e_to(case["epsilon"])) / unit
    assert weaker == pytest.approx(case["inverse_theta_below"], abs=6e-5)


@pytest.mark.jit_off
def test_theta_loses_bits_on_the_safe_side() -> None:
    for inverse in (1 << 20, (1 << 40) - 1, (1 << 40) + 12345, int(e_to("25") * 2**20)):
        numerator, denominator, price = mechanism._reduce_theta(TableLaw(inverse, PRICE_UNITS))
        assert price == PRICE_UNITS
        assert Fraction(numerator, denominator) >= Fraction(1 << 20, inverse)
        assert denominator < 1 << 40
        assert numerator & (numerator - 1) == 0
        assert denominator / numerator == pytest.approx(inverse / 2**20, rel=1e-9)


def test_each_synthesizer_has_the_theta_of_its_points_and_workers() -> None:
    cells, table = cells_of(3, 200, (1, 2, 40, 40, 300))
    thetas = mechanism.unit_thetas(Fraction(6), cells, table)
    for one in range(cells.tract.size):
        n, k = int(cells.n_likelihood[one]), int(table.n_support[cells.tract[one]])
        found = Fraction(int(thetas.numerator[one]), int(thetas.denominator[one]))
        assert found == theta_of(max(n, 1), k, e_to("6"))


@pytest.mark.jit_off
def test_the_promise_is_epsilon_and_what_a_lone_worker_keeps_follows() -> None:
    assert exponential_promise("6.5").epsilon == Fraction(13, 2)
    assert stay_alone(219) == pytest.approx(665.1416 / (665.1416 + 218), rel=1e-6)
    assert stay_alone(1) == 1


def stay_alone(n_points: int) -> float:
    """Chance at epsilon 6.5 that a worker alone in a synthesizer keeps the true support point."""
    return stay_apart(inverse_theta(Fraction(13, 2), n_points, 1) / (1 << THETA_BITS), n_points, 1)


@pytest.mark.jit_off
@pytest.mark.parametrize(
    "epsilon", ["0", "-1", "nan", "25.1", "26", "1/1025", "many", float("nan"), float("inf")]
)
def test_epsilon_out_of_range_is_refused_in_one_line(epsilon: str | float) -> None:
    cells, table = same_synthesizers(2, [0], 1, 1), one_table([1, 1])
    for refused in (
        exponential_promise,
        lambda given: exponential(KEY, cells, table, epsilon=given),
        exponential_epsilon,
    ):
        with pytest.raises(ParameterError, match="epsilon is") as caught:
            refused(epsilon)
        assert "\n" not in str(caught.value)


@pytest.mark.jit_off
def test_published_counts_that_differ_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"2 published counts differ .* leave published counts out"):
        exponential(KEY, same_synthesizers(2, [0, 1], 3, 1), one_table([1, 1]), epsilon="4")


@pytest.mark.jit_off
def test_what_the_synthesizer_refuses_is_refused() -> None:
    for unit in UNITS:
        with pytest.raises(ParameterError, match="2 workers are in a support point"):
            drawn_by(same_synthesizers(2, [0, 2], 2, 1), one_table([1, 1]), unit=unit)
    cells, _ = cells_of(4, 20)
    with pytest.raises(ParameterError, match="tract reaches 2: allowed are 0 to 0"):
        drawn_by(cells, one_table([1] * 40))


@pytest.mark.jit_off
def test_a_unit_in_two_tracts_is_refused() -> None:
    cells, table = cells_of(4, 20)
    with pytest.raises(ParameterError, match="unit 5 is in tracts 0 and 1"):
        exponential(KEY, cells, table, epsilon="4", unit="tract", tract_number=np.array([5, 5, 6]))
    in_two = take(cells, np.arange(20))
    in_two.tract[np.flatnonzero(in_two.destination == in_two.destination[0])[0]] += 1
    in_two.tract[:] %= 3
    with pytest.raises(ParameterError, match=f"unit {in_two.destination[0]} is in tracts"):
        drawn_by(in_two, table, unit="block")


@pytest.mark.jit_off
def test_too_many_workers_or_points_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    cells = same_synthesizers(2, [0] * 8, 8, 1)
    monkeypatch.setattr(mechanism, "MOST_WORKERS", 8)
    with pytest.raises(OverflowRefusedError, match="a synthesizer has 8 workers"):
        drawn_by(cells, one_table([1, 1]))
    monkeypatch.setattr(mechanism, "MOST_WORKERS", 9)
    drawn_by(cells, one_table([1, 1]))
    # Pooled, they are too many.
    with pytest.raises(OverflowRefusedError, match="a synthesizer has 16 workers"):
        drawn_by(cells, one_table([1, 1]), unit="tract")
    with pytest.raises(OverflowRefusedError, match=f"{MOST_POINTS:,} support points"):
        drawn_by(cells, one_table([1] * MOST_POINTS))


@pytest.mark.jit_off
def test_a_draw_ends_when_its_stream_does() -> None:
    stream = new_stream()
    counts, freed = np.array([3, 1, 1], dtype=np.int64), np.zeros(3, dtype=np.int64)
    for theta in ((1, 1), (1, 2), (1, 1000)):
        open_stream(int(Stage.MOVE), 5, 6, stream)
        stream[COUNTER] = BLOCK_LIMIT
        kernel._free_all(KEY.words, np.zeros(LANE_WORDS, np.uint32), stream, counts, (5, 40), theta, freed)
        assert has_run_out(stream)
        assert (freed <= counts).all()


CONCENTRATED = [[3000], [1500, 1500], [5000, *[1] * 200], [1000, *[100] * 20], [30_000], [300]]


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "3", "6.5"])
@pytest.mark.parametrize("table", CONCENTRATED, ids=lambda table: f"{len(table)} points, {sum(table)}")
def test_workers_who_live_in_few_points_are_drawn_in_few_rounds(table: list[int], epsilon: str) -> None:
    """Each draw may read 2^15 blocks, a million half words; without bounds on the search many did not end."""
    k, n = 433, sum(table)
    theta = theta_of(n, k, e_to(epsilon))
    counts, freed = np.array(table, dtype=np.int64), np.zeros(len(table), dtype=np.int64)
    lanes, stream = np.zeros(LANE_WORDS, np.uint32), new_stream()
    for number in range(9):
        open_stream(int(Stage.MOVE), number, 7, stream)
        stream[COUNTER] = BLOCK_LIMIT - (1 << 15)
        kernel._free_all(KEY.words, lanes, stream, counts, (n, k), theta.as_integer_ratio(), freed)
        assert not has_run_out(stream)


@pytest.mark.parametrize(
    ("where", "name", "said"),
    [
        (mechanism, "exponential_range", "destination 1, segment 0 passed"),
        (units, "shuffle_range", "unit 1 passed"),
    ],
)
def test_a_stream_that_ran_out_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, where: ModuleType, name: str, said: str
) -> None:
    monkeypatch.setattr(where, name, lambda *_: 1)
    with pytest.raises(OverflowRefusedError, match=said) as caught:
        drawn_by(same_synthesizers(2, [0, 1], 2, 1), one_table([1, 1]), unit="block")
    assert "\n" not in str(caught.value)
