"""Structures, tables and draws of the model: equal to the definitions, and drawn with the exact law."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from engine.errors import ParameterError
from engine.records.drawing import draw_records
from engine.records.splitting import split_records
from engine.records.structure import Possible, Structure, public_structure
from engine.records.tables import FamilyCounts, Model, learn_model
from engine.streams import SecretKey
from tests.oracles.records_model import all_records, configuration, family_counts, record_chance

KEY = SecretKey.for_tests()
FALSE_ALARM = 1e-6
REGIONS = np.array([0, 0, 1])
SMALL = Structure(
    domain=(3, 2, 4),
    parents=((), (0,), (1, 0)),
    buckets=((), (REGIONS,), (None, None)),
    possible=(Possible(attribute=2, given=(0,), table=np.arange(4)[None, :] != np.arange(3)[:, None]),),
)


def some_records(n: int, seed: int = 0) -> np.ndarray[tuple[int, int], np.dtype[np.int32]]:
    rng = np.random.default_rng(seed)
    return np.column_stack([rng.integers(0, size, n) for size in SMALL.domain]).astype(np.int32)


def possible_cells(structure: Structure, child: int) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return structure.spread(child, structure.cells[child].possible)


@pytest.mark.jit_off
def test_tables_without_noise_are_the_counts_and_alpha() -> None:
    codes = some_records(40)
    model = learn_model(codes, SMALL, epsilon=None, key=KEY, alpha=Fraction(1, 10))
    records = [tuple(row) for row in codes.tolist()]
    for child in range(3):
        counted, possible = family_counts(SMALL, records, child), possible_cells(SMALL, child)
        for (place, value), weight in np.ndenumerate(model.weights(child)):
            assert weight == (10 * counted[place, value] + 1 if possible[place, value] else 0)


def test_possible_cells_follow_the_rule_through_buckets() -> None:
    rule = Possible(attribute=1, given=(0,), table=np.array([[1, 0], [0, 1], [0, 1]], dtype=np.bool_))
    by_value = Structure(domain=(3, 2), parents=((), (0,)), possible=(rule,))
    by_region = Structure(domain=(3, 2), parents=((), (0,)), buckets=((), (REGIONS,)), possible=(rule,))
    without = Structure(domain=(3, 2), parents=((), ()), possible=(rule,))
    assert possible_cells(by_value, 1).tolist() == [[True, False], [False, True], [False, True]]
    assert possible_cells(by_region, 1).tolist() == [[True, True], [False, True]]
    assert possible_cells(without, 1).tolist() == [[True, True]]
    skipped = Structure(domain=(3, 2), parents=((), (0,)), buckets=((), (2 * REGIONS,)), possible=(rule,))
    assert possible_cells(skipped, 1).tolist() == [[True, True], [True, True], [False, True]]


def test_a_rule_on_two_parents_is_read_in_the_order_of_the_parents() -> None:
    table = np.random.default_rng(3).integers(0, 2, (3, 2, 2)).astype(np.bool_)
    table[..., 0] |= ~table.any(axis=-1)
    rule = Possible(attribute=2, given=(0, 1), table=table)
    turned = Structure(domain=(3, 2, 2), parents=((), (), (1, 0)), possible=(rule,))
    for record in all_records(turned):
        cell = possible_cells(turned, 2)[configuration(turned, 2, record), record[2]]
        assert cell == table[record]


def test_a_model_of_no_records_is_uniform_over_what_is_possible() -> None:
    model = learn_model(np.zeros((0, 3), dtype=np.int32), SMALL, epsilon=None, key=KEY)
    assert [set(row) for row in model.weights(2).tolist()] == [{0, 1}] * 6
    drawn = draw_records(model, 200, key=KEY)
    assert (drawn[:, 0] != drawn[:, 2]).all()


@pytest.mark.jit_off
def test_noise_does_not_depend_on_threads_and_leaves_structural_zeros() -> None:
    codes = some_records(30)
    one = learn_model(codes, SMALL, epsilon=2, key=KEY)
    two = learn_model(codes, SMALL, epsilon=2, key=KEY, threads=2)
    assert (one.tables.sums == two.tables.sums).all()
    assert (one.weights(2) > 0).tolist() == possible_cells(SMALL, 2).tolist()
    plain = learn_model(codes, SMALL, epsilon=None, key=KEY)
    assert (one.tables.sums != plain.tables.sums).any()


def test_counts_added_in_parts_are_those_of_all_records() -> None:
    codes, parts = some_records(100), FamilyCounts(SMALL)
    parts.add(codes[:30])
    parts.add(codes[30:], threads=2)
    assert (
        learn_model(parts, SMALL, epsilon=1, key=KEY).tables.sums
        == learn_model(codes, SMALL, epsilon=1, key=KEY).tables.sums
    ).all()


@pytest.mark.parametrize("kept", [0, 1, 2])
def test_draws_have_the_law_of_the_network(kept: int) -> None:
    model = learn_model(some_records(60, seed=5), SMALL, epsilon=1, key=KEY)
    weights = [model.weights(child).tolist() for child in range(3)]
    prefix, n = (2, 1)[:kept], 20_000
    drawn = draw_records(model, n, key=KEY, prefixes=np.tile(np.array(prefix, dtype=np.int32), (n, 1)))
    seen = Counter(map(tuple, drawn.tolist()))
    wanted = {r: record_chance(SMALL, weights, r, kept) for r in all_records(SMALL) if r[:kept] == prefix}
    assert sum(wanted.values()) == 1
    assert all(wanted[record] > 0 for record in seen)
    likely = [record for record, chance in wanted.items() if chance * n >= 5]
    left = n - sum(seen[record] for record in likely)
    rest = float(n * (1 - sum(wanted[record] for record in likely)))
    observed = [seen[record] for record in likely] + [left] * (rest > 0)
    expected = [float(wanted[record] * n) for record in likely] + [rest] * (rest > 0)
    assert stats.chisquare(observed, expected).pvalue > FALSE_ALARM


@pytest.mark.jit_off
def test_draws_do_not_depend_on_threads_or_parts() -> None:
    model = learn_model(some_records(60), SMALL, epsilon=1, key=KEY)
    whole = draw_records(model, 1100, key=KEY)
    assert (draw_records(model, 1100, key=KEY, threads=2) == whole).all()
    assert (draw_records(model, 50, first=1040, key=KEY) == whole[1040:1090]).all()
    kept = draw_records(model, 1100, key=KEY, prefixes=whole[:, :1])
    assert (kept[:, 0] == whole[:, 0]).all()


@pytest.mark.jit_off
@given(first=st.integers(0, 3000), n=st.integers(0, 40))
def test_a_split_does_not_depend_on_parts(first: int, n: int) -> None:
    shares = [Fraction(3, 5), Fraction(2, 5)]
    whole = split_records(3040, shares, key=KEY, threads=2)
    assert (split_records(n, shares, key=KEY, first=first) == whole[first : first + n]).all()


def test_a_split_has_the_shares() -> None:
    shares = [Fraction(1, 2), Fraction(1, 3), Fraction(0), Fraction(1, 6)]
    counts = np.bincount(split_records(60_000, shares, key=KEY), minlength=4)
    assert counts[2] == 0
    wanted = [float(60_000 * share) for share in shares if share]
    assert stats.chisquare(counts[[0, 1, 3]], wanted).pvalue > FALSE_ALARM


def test_the_public_structure_drops_what_the_records_cannot_fill() -> None:
    domain, wished = (10, 20, 3), [(), (0,), (1, 0)]
    assert public_structure(domain, wished, 30 * 600).dropped == ()
    smaller = public_structure(domain, wished, 30 * 599)
    assert (smaller.structure.parents, smaller.dropped) == (((), (0,), (1,)), ((2, 0),))
    halves = np.arange(10) // 5
    coarser = public_structure(domain, wished, 30 * 199, coarser={0: halves})
    assert coarser.structure.parents == ((), (0,), (1, 0))
    assert coarser.coarsened == ((1, 0), (2, 0))
    assert public_structure(domain, wished, 1).structure.parents == ((), (), ())


def test_structural_zeros_are_no_cells_of_the_public_structure() -> None:
    rule = Possible(attribute=1, given=(0,), table=np.arange(20)[None, :] // 2 == np.arange(10)[:, None])
    assert public_structure((10, 20), [(), (0,)], 30 * 20, possible=[rule]).dropped == ()
    finer = public_structure((10, 20, 3), [(), (0,), (1,)], 30 * 19, possible=[rule])
    # Without the region there would be as many cells, and places outside their region.
    assert finer.structure.parents == ((), (0,), ())
    assert finer.dropped == ((2, 1),)


def test_places_within_regions_take_no_more_room_than_the_places() -> None:
    """A dense table would have 3.6 million cells."""
    n, regions = 6_000, np.arange(6_000) // 10
    near = Possible(attribute=1, given=(0,), table=regions[None, :] == np.arange(600)[:, None])
    structure = Structure(domain=(600, n, 11), parents=((), (0,), ()), possible=(near,))
    assert structure.families.cell_ptr[-1] == 600 + n + 11
    codes = np.column_stack([regions, np.arange(n), np.zeros(n)]).astype(np.int32)
    outside = np.array([[0, 10, 3]], dtype=np.int32)
    counts = FamilyCounts(structure)
    counts.add(np.concatenate((codes, outside)))
    assert counts.of_attribute(1).tolist() == [1] * n
    drawn = draw_records(learn_model(counts, structure, epsilon=1, key=KEY), 500, key=KEY)
    assert (regions[drawn[:, 1]] == drawn[:, 0]).all()


def test_a_structure_says_which_attributes_are_in_one_table() -> None:
    assert [SMALL.covers(pair) for pair in [(0, 2), (1, 2)]] == [True, True]
    assert [SMALL.covers(wanted) for wanted in [(0, 1), (0, 1, 2)]] == [False, False], (
        "0 enters 1 by its regions"
    )
    chain = Structure(domain=(3, 2, 2), parents=((), (0,), (1,)), buckets=((), (REGIONS,), ()))
    assert [chain.covers(pair) for pair in [(0,), (0, 1), (1, 2), (0, 2)]] == [True, False, True, False]


def test_attributes_that_only_meet_as_parents_are_not_covered() -> None:
    """Finds a ± too small: of counts by two parents of an attribute that are drawn apart, with or without the child."""
    apart = Structure(domain=(2, 2, 2), parents=((), (), (0, 1)))
    assert [apart.covers(together) for together in [(0, 1), (1, 0), (0, 1, 2)]] == [False] * 3
    assert [apart.covers(together) for together in [(0,), (2,), (0, 2), (2, 1)]] == [True] * 4
    # Half of the records have values that no worker has: an error of a thousand, however little noise there is.
    codes = np.repeat(np.array([[0, 0, 0], [1, 1, 1]], dtype=np.int32), 2_000, axis=0)
    drawn = draw_records(learn_model(codes, apart, epsilon=100, key=KEY), 4_000, key=KEY)
    assert abs((drawn[:, 0] != drawn[:, 1]).sum() - 2_000) < 200
    full = Structure(domain=(2, 2, 2), parents=((), (0,), (0, 1)))
    assert all(full.covers(together) for together in [(0, 1), (2,), (0, 2), (0, 1, 2)])


def test_faulty_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="must come before it"):
        Structure(domain=(2, 2), parents=((1,), ()))
    with pytest.raises(ParameterError, match="outside its domain"):
        learn_model(np.array([[0, 0, 4]], dtype=np.int32), SMALL, epsilon=1, key=KEY)
    with pytest.raises(ParameterError, match="epsilon of the model"):
        learn_model(some_records(3), SMALL, epsilon=0, key=KEY)
    with pytest.raises(ParameterError, match="add up to 1"):
        split_records(3, [Fraction(1, 2)], key=KEY)
    with pytest.raises(ParameterError, match="without any weight"):
        Model.of_weights(Structure(domain=(2,), parents=((),)), [np.zeros((1, 2), dtype=np.int64)])
    with pytest.raises(ParameterError, match="none where"):
        Possible(attribute=1, given=(0,), table=np.zeros((2, 2), dtype=np.bool_))
