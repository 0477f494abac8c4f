"""Tables with both totals: the suppressor against the twin, and its bounds against whole numbers."""

from __future__ import annotations

import random
from fractions import Fraction
from functools import partial

import numpy as np
import numpy.typing as npt
import pytest

from engine.errors import OverflowRefusedError, ParameterError
from engine.suppression import both_totals
from engine.suppression.both_totals import TwoWayTable, refuse_large_two_way, suppress_two_way
from engine.suppression.sum_tree import DecidedTree
from tests.engine.suppression.examples import rates_of
from tests.oracles.suppression import Counts, Group, Output, Population, Twin, certain, examine

HALF = Fraction(1, 2)
Cell = list[tuple[int, Fraction]]

TABLES = {
    "2x2": (2, 2, [[(3, HALF)], [(4, Fraction(2, 5))], [(4, Fraction(3, 5))], [(3, HALF)]]),
    "2x2, two types in a cell": (
        2,
        2,
        [[(2, HALF), (2, Fraction(2, 5))], [(4, HALF)], [(3, HALF)], [(3, Fraction(3, 5))]],
    ),
    "3x1": (3, 1, [[(4, HALF)], [(5, Fraction(2, 5))], [(4, Fraction(3, 5))]]),
}
EPSILON, DELTA = Fraction(9, 10), Fraction(9, 10)


def decided(name: str, values: list[int], q: Fraction) -> DecidedTree:
    rows, columns, cells = TABLES[name]
    return suppress_two_way(table_of((rows, columns), cells), values, epsilon=EPSILON, decision_delta=q)


def population_of(name: str) -> Population:
    rows, columns, cells = TABLES[name]
    places = [place for place, types in enumerate(cells) for _ in types]
    of_cell = [{at for at, one in enumerate(places) if one == place} for place in range(rows * columns)]
    lines = [range(row * columns, (row + 1) * columns) for row in range(rows)]
    lines += [range(column, rows * columns, columns) for column in range(columns)]
    queries = [frozenset[int]().union(*(of_cell[place] for place in line)) for line in lines]
    groups = tuple(Group(*pair) for types in cells for pair in types)
    return Population(groups, (*queries, *(frozenset(one) for one in of_cell)))


def table_of(shape: tuple[int, int], cells: list[Cell]) -> TwoWayTable:
    flat = [pair for types in cells for pair in types]
    return TwoWayTable(
        shape=shape,
        type_ptr=np.cumsum([0, *(len(types) for types in cells)]),
        type_people=np.array([people for people, _ in flat], dtype=np.int64),
        type_rates=rates_of(*(rate for _, rate in flat)),
    )


@pytest.fixture
def by_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Decide even small tables of two rows by bounds."""
    monkeypatch.setattr(both_totals, "FEW_STEPS", 0)


@pytest.fixture(params=["whole numbers", "bounds"])
def by(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """How tables of two rows are decided."""
    if request.param == "bounds":
        monkeypatch.setattr(both_totals, "FEW_STEPS", 0)
    return str(request.param)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.jit_off) if name == "3x1" else name for name in TABLES]
)
def test_both_totals_equal_the_twin(name: str, by: str) -> None:
    population = population_of(name)
    q = DELTA / len(population.queries)
    twin = Twin(population, EPSILON, q)
    outputs: dict[Counts, Output] = {}
    for counts in list(population.worlds())[::19]:
        outputs[counts] = output_of(name, population, counts, q)
        assert outputs[counts] == twin.exact(counts)
    assert any(value is not None for output in outputs.values() for value in output)
    found = examine(population, certain(twin.exact), EPSILON)
    assert (found.moving, found.not_private <= DELTA) == (0, True)


def output_of(name: str, population: Population, counts: Counts, q: Fraction) -> Output:
    values = population.values(counts)
    released = decided(name, list(values), q).released
    return tuple(value if kept else None for value, kept in zip(values, released, strict=True))


@pytest.mark.usefixtures("by_bounds")
def test_no_pattern_of_stars_decided_by_bounds_says_anything() -> None:
    population = population_of("2x2")
    q = DELTA / len(population.queries)
    found = examine(population, certain(lambda counts: output_of("2x2", population, counts, q)), EPSILON)
    assert found.outputs > 40
    assert (found.moving, found.not_private <= DELTA) == (0, True)


def listed(found: DecidedTree) -> list[object]:
    return [np.asarray(part).tolist() for part in found]


def random_table(seed: int) -> tuple[TwoWayTable, list[int], Fraction, Fraction]:
    """A small table, its values, epsilon, and the delta of a decision."""
    generator = random.Random(seed)
    columns, most = generator.choice([(1, 9), (2, 7), (3, 4), (4, 2)])
    cells = [
        [
            (generator.randint(1, most), Fraction(generator.randint(100, 900), 1009))
            for _ in range(generator.choice([0, 1, 1, 2 if most < 7 else 1]))
        ]
        for _ in range(2 * columns)
    ]
    ones = [sum(generator.random() < rate for people, rate in cell for _ in range(people)) for cell in cells]
    lines = np.array(ones).reshape(2, columns)
    values = [*lines.sum(axis=1).tolist(), *lines.sum(axis=0).tolist(), *ones]
    q = Fraction(generator.choice([5, 60, 200, 400]), 1013)
    return table_of((2, columns), cells), values, Fraction(generator.randint(200, 980), 997), q


def test_bounds_decide_random_tables_as_whole_numbers_do(monkeypatch: pytest.MonkeyPatch) -> None:
    n_released = n_derived = 0
    for seed in range(60):
        table, values, epsilon, q = random_table(seed)
        found = []
        for few in (both_totals.FEW_STEPS, 0):
            with monkeypatch.context() as patch:
                patch.setattr(both_totals, "FEW_STEPS", few)
                found.append(suppress_two_way(table, values, epsilon=epsilon, decision_delta=q))
        exact, bounded = found
        assert listed(exact) == listed(bounded), seed
        n_released, n_derived = n_released + exact.released.sum(), n_derived + exact.derived.sum()
    assert n_released > 100
    assert n_derived > 0


@pytest.mark.jit_off
def test_bounds_without_compiled_kernels_decide_as_whole_numbers_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(both_totals, "FEW_STEPS", 0)
    bounded = decided("2x2", [3, 4, 4, 3, 2, 1, 2, 2], Fraction(2, 5))
    monkeypatch.undo()
    exact = decided("2x2", [3, 4, 4, 3, 2, 1, 2, 2], Fraction(2, 5))
    assert listed(bounded) == listed(exact)


def real_table(n_columns: int, people: int, seed: int) -> tuple[TwoWayTable, npt.NDArray[np.int64]]:
    """Two rows with about so many people a cell, and cells drawn from the prior."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(people // 2, 2 * people, 2 * n_columns)
    rates = [Fraction(int(numerator), 997) for numerator in generator.integers(200, 600, 2 * n_columns)]
    cells = generator.binomial(sizes, [float(rate) for rate in rates]).reshape(2, n_columns)
    table = table_of((2, n_columns), [[(int(size), rate)] for size, rate in zip(sizes, rates, strict=True)])
    return table, cells


def with_totals(cells: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate((cells.sum(axis=1), cells.sum(axis=0), cells.ravel()))


def test_a_real_table_reads_no_suppressed_value() -> None:
    table, cells = real_table(12, 60, seed=6)
    values = with_totals(cells)
    decide = partial(suppress_two_way, table, epsilon=HALF, decision_delta=Fraction(1, 500))
    found = decide(values)
    open_cells = ~found.released[14:].reshape(2, 12)
    assert found.released[:14].all()
    assert open_cells.sum() > 4
    # Two suppressed columns, in which a one moves from a row to the other and back.
    first, second = np.flatnonzero(open_cells.all(axis=0) & (cells.min(axis=0) > 0))[:2]
    others = cells.copy()
    others[:, first] += [1, -1]
    others[:, second] += [-1, 1]
    again = decide(with_totals(others))
    assert listed(found) == listed(again)


def test_a_safe_value_that_the_prior_made_all_but_impossible_does_not_stop_the_table() -> None:
    table, cells = real_table(3, 4000, seed=6)
    cells[0, 0] += 600  # 20 standard deviations, but only a fourth more than expected
    found = suppress_two_way(table, with_totals(cells), epsilon=HALF, decision_delta=Fraction(1, 100))
    assert found.released.all()
    assert found.breach == -1
    assert (found.low <= with_totals(cells)).all()


def test_an_unsafe_value_that_the_prior_made_all_but_impossible_stops_the_table() -> None:
    table, cells = real_table(3, 4000, seed=6)
    everyone = table.type_people[0] - cells[0, 0]
    cells[0] += [everyone, -(everyone // 2), everyone // 2 - everyone]
    found = suppress_two_way(table, with_totals(cells), epsilon=HALF, decision_delta=Fraction(1, 100))
    assert found.breach == 2  # the total of the first column
    assert found.released.tolist() == [True] * 3 + [False] * 8


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("shape", "people", "way_out"),
    [
        ((2, 300), 20_000, "take fewer columns"),
        ((3, 20), 100, "take two rows, of which far more can be decided"),
    ],
)
def test_a_large_table_is_refused_before_it_starts(shape: tuple[int, int], people: int, way_out: str) -> None:
    n_cells = shape[0] * shape[1]
    table = table_of(shape, [[(people, HALF)]] * n_cells)
    with pytest.raises(OverflowRefusedError, match=f"give row totals or column totals only, or {way_out}"):
        refuse_large_two_way(table, Fraction(1, 1000))
    with pytest.raises(OverflowRefusedError, match=f"{shape[0]} rows with both totals takes about"):
        suppress_two_way(
            table, with_totals(np.zeros(shape, np.int64)), epsilon=HALF, decision_delta=Fraction(1, 1000)
        )


@pytest.mark.jit_off
def test_four_rows_are_refused_before_they_start() -> None:
    with pytest.raises(ParameterError, match="4 rows with both totals; up to 3 are possible"):
        table_of((4, 1), [[(3, HALF)]] * 4)


@pytest.mark.jit_off
def test_totals_that_are_not_sums_are_refused() -> None:
    with pytest.raises(ParameterError, match="not the sums of the cells"):
        decided("2x2", [3, 3, 3, 3, 1, 1, 1, 1], DELTA)
