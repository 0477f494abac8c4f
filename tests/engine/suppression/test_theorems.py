"""The theorems of Nabar and Mishra, and every place where what is printed differs from what their definitions give.

docs/theory/suppressed-tables.md, "What differs from the paper", lists the differences; each has a test here, or is
named beside it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest

from engine.arrays import FloatArray
from engine.errors import ParameterError
from engine.streams import SecretKey
from engine.suppression.poisson_binomial import Types, exact_weights
from engine.suppression.rates import Rates
from engine.suppression.sampled import sampling_plan, suppress_cells_sampled
from engine.suppression.two_way import Known, TwoWay
from tests.engine.suppression.theorems import (
    chernoff_terms,
    folklore_private,
    folklore_semantic,
    likelihood_ratio,
    release_bound,
    safe_share,
    whole_table_bound,
)
from tests.oracles.matchings import Data, Person, Table, matchings
from tests.oracles.suppression import Group, Population, Twin, certain, examine, release_chance

pytestmark = pytest.mark.jit_off

HALF = Fraction(1, 2)


def random_laws(n: int, n_outputs: int = 4) -> list[tuple[Fraction, list[Fraction], list[Fraction]]]:
    """A prior of a person, and the laws of an output given that the person has the value and has not."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(n):
        one, other = (
            [Fraction(int(weight), int(weights.sum())) for weight in weights]
            for weights in rng.integers(20, 41, (2, n_outputs))
        )
        found.append((Fraction(int(rng.integers(1, 20)), 20), one, other))
    return found


def test_private_implies_semantic_with_the_same_epsilon_and_not_the_converse() -> None:
    """The folklore has them the other way round, with a factor of 3 in the wrong place."""
    for prior, one, other in random_laws(300):
        private = max(max(abs(1 - a / b), abs(1 - b / a)) for a, b in zip(one, other, strict=True))
        posteriors = [prior * a / (prior * a + (1 - prior) * b) for a, b in zip(one, other, strict=True)]
        semantic = max(
            max(abs(1 - posterior / prior), abs(1 - (1 - posterior) / (1 - prior)))
            for posterior in posteriors
        )
        assert semantic <= folklore_semantic(private)
        if semantic < 1:
            assert private <= folklore_private(semantic)


def test_semantic_privacy_can_be_five_times_weaker_than_private() -> None:
    prior, posterior = HALF, Fraction(3, 4)
    ratio = posterior / (1 - posterior)
    assert abs(1 - posterior / prior) == HALF  # semantic with epsilon 1/2
    assert ratio == 3
    assert ratio - 1 == folklore_private(HALF) == 2  # beyond the 3/2 that the folklore gives
    assert folklore_private(Fraction(1, 3)) == 3 * Fraction(1, 3)
    assert folklore_private(Fraction(34, 100)) > 3 * Fraction(34, 100)


@pytest.mark.parametrize(("queries_over_delta", "chance"), [(20, 0.19), (605, 0.12), (10**6, 0.016)])
def test_a_query_at_the_limit_is_released_far_more_often_than_the_proof_of_theorem_2_says(
    queries_over_delta: int, chance: float
) -> None:
    q = Fraction(1, queries_over_delta)
    released = (
        _poisson_release(queries_over_delta) if queries_over_delta > 10**5 else float(release_chance(q, q))
    )
    assert released == pytest.approx(chance, rel=0.05)
    assert released > 3 * q


def _poisson_release(queries_over_delta: int) -> float:
    logarithm = math.log(queries_over_delta)
    return sum(
        math.exp(-logarithm + unsafe * math.log(logarithm) - math.lgamma(unsafe + 1))
        for unsafe in range(math.floor(logarithm / 2) + 1)
    )


@pytest.mark.parametrize("queries_over_delta", [2, 5, 20, 121, 605])
def test_the_conclusion_of_theorem_2_holds_all_the_same(queries_over_delta: int) -> None:
    q = Fraction(1, queries_over_delta)
    breach = max(
        float(unsafe * release_chance(unsafe, q) / q)
        for unsafe in (q * Fraction(step, 20) for step in range(20, 200, 4))
        if unsafe < 1
    )
    assert breach <= 0.384


def test_only_released_queries_count_towards_theorem_2() -> None:
    """Queries that are tried and suppressed add nothing to the chance of a breach."""
    groups = (Group(8, HALF), Group(1, Fraction(1, 5)))
    first, hopeless = frozenset({0}), frozenset({1})
    few, many = Population(groups, (first,)), Population(groups, (hopeless,) * 5 + (first,))
    epsilon, q = Fraction(1, 2), Fraction(1, 10)
    alone = examine(few, certain(Twin(few, epsilon, q).exact), epsilon)
    among = examine(many, certain(Twin(many, epsilon, q).exact), epsilon)
    assert alone.released == 1
    assert among.released == Fraction(1, 6)
    assert among.not_private == alone.not_private > 0


@pytest.mark.parametrize(("rate", "margin", "ratio"), [(HALF, 0.5, 1.5086), (Fraction(9, 10), 0.1, 1.638)])
def test_a_value_near_its_mean_need_not_be_safe_as_the_proof_of_theorem_5_says(
    rate: Fraction, margin: float, ratio: float
) -> None:
    people, rho = 10**6, margin * math.log(1.5)
    value = math.floor(people * float(rate) * (1 + rho))
    found = float(likelihood_ratio(people, rate, value))
    assert found == pytest.approx(ratio, abs=1e-3)
    assert found - 1 > 0.5


def test_one_ratio_alone_does_not_bound_a_belief() -> None:
    """The proofs of Theorems 5 and 6 test one of the two ratios only."""
    rate, ratio = Fraction(9, 10), HALF
    assert abs(1 - ratio) <= HALF
    posterior = rate * ratio / (rate * ratio + 1 - rate)
    shift = (1 - posterior) / (1 - rate) - 1
    assert shift == Fraction(9, 11)
    assert shift > HALF


def test_theorem_5_as_printed_is_false_for_very_few_people() -> None:
    """A negative base to an even power; the clipped bound holds."""
    terms = chernoff_terms(1, 0.5, 0.5)
    assert (1 - sum(terms)) ** 2 == pytest.approx(0.96, abs=0.01)
    assert safe_share(1, HALF, HALF) == 0
    assert whole_table_bound(1, 0.5, 0.5, 2) == 0


@pytest.mark.parametrize("people", [1, 5, 40, 200, 1000])
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(3, 10), HALF, Fraction(4, 5)])
def test_theorem_5_holds_when_its_base_is_clipped(people: int, rate: Fraction) -> None:
    margin = float(min(rate, 1 - rate))
    for epsilon in (Fraction(1, 5), HALF, Fraction(9, 10)):
        for n_cells in (1, 2, 4):
            truth = float(safe_share(people, rate, epsilon)) ** n_cells
            assert truth >= whole_table_bound(people, margin, float(epsilon), n_cells) - 1e-12


def test_theorem_5_is_very_loose() -> None:
    """The paper's example takes 10,000 people a cell; 370 suffice."""
    share = safe_share(370, HALF, Fraction(1, 5))
    assert share**100 > 0.99
    assert whole_table_bound(370, 0.5, 0.2, 100) < 1e-100
    assert whole_table_bound(10_000, 0.5, 0.2, 100) > 0.99


def test_theorem_6_holds_and_needs_ell_above_2() -> None:
    with pytest.raises(ParameterError, match="above 2"):
        release_bound(0.1, 2)
    delta, epsilon, checked = Fraction(1, 10), Fraction(1, 2), 0
    for people, rate in itertools.product((300, 1000, 3000), (HALF, Fraction(3, 10), Fraction(3, 5))):
        terms = sum(chernoff_terms(people, float(min(rate, 1 - rate)), 0.5))
        unsafe = Fraction(float(1 - safe_share(people, rate, epsilon)))
        for ell in (2.5, 4.0, 10.0):
            if terms < delta / ell:
                checked += 1
                assert float(release_chance(unsafe, delta)) >= release_bound(float(delta), ell) - 2**-29
    assert checked > 5


def test_almost_surely_of_theorem_6_is_not_quite() -> None:
    """The paper's second example: 10,000 people, rates from 0.4 to 0.6."""
    terms = sum(chernoff_terms(10_000, 0.4, 0.2))
    ell = 0.1 / terms
    assert ell > 2
    assert 1 - release_bound(0.1, ell) == pytest.approx(0.0012, abs=2e-4)


def test_a_column_has_one_more_filling_for_each_cell_than_printed() -> None:
    people, total = (1, 1), 1
    fillings = [
        filling for filling in itertools.product(*(range(b + 1) for b in people)) if sum(filling) == total
    ]
    assert len(fillings) == 2
    assert math.prod(people) == 1  # the printed bound
    assert len(fillings) <= math.prod(b + 1 for b in people)


def test_partial_row_sums_are_more_than_printed() -> None:
    rows, total = 3, 1
    states = [sums for sums in itertools.product(range(total + 1), repeat=rows) if sum(sums) == total]
    assert len(states) == math.comb(total + rows - 1, rows - 1) == 3
    assert total ** (rows - 1) == 1  # the printed bound


def test_a_data_set_of_j_ones_weighs_p_to_the_j() -> None:
    """Printed with the exponents exchanged."""
    weights = exact_weights(Types((4,), (Fraction(1, 5),)))
    whole = 5**4
    for ones, weight in enumerate(weights):
        one_data_set = Fraction(weight, whole * math.comb(4, ones))
        assert one_data_set == Fraction(1, 5) ** ones * Fraction(4, 5) ** (4 - ones)


def test_the_first_column_keeps_to_its_total() -> None:
    """F(pr, 1) as printed has no such condition, and would count data sets that contradict the table."""
    cells = [Types((2,), (HALF,)), Types((2,), (HALF,))]
    table = TwoWay(1, 2, cells)
    known = Known((2,), (1, 1), (None, None))
    assert table.total_weight(known) == math.comb(2, 1) * math.comb(2, 1)
    as_printed = sum(math.comb(2, first) * math.comb(2, 2 - first) for first in range(3))
    assert as_printed == 6


@pytest.mark.parametrize("seed", range(12))
def test_different_rates_are_counted_by_the_same_program(seed: int) -> None:
    """The paper says that there is no simple way."""
    rng = np.random.default_rng(seed)
    people = [[Fraction(int(rate), 10) for rate in rng.integers(1, 10, rng.integers(1, 3))] for _ in range(6)]
    rows, columns = ((2, 3), (3, 2))[seed % 2]
    data = [int(value) for value in rng.integers(0, 2, sum(len(cell) for cell in people))]
    owner = [place for place, cell in enumerate(people) for _ in cell]
    totals = totals_of(data, owner, rows, columns)
    chance = Fraction(0)
    for one in itertools.product((0, 1), repeat=len(owner)):
        if totals_of(one, owner, rows, columns) == totals:
            rates = [rate for cell in people for rate in cell]
            chance += math.prod(rate if value else 1 - rate for value, rate in zip(one, rates, strict=True))
    table = TwoWay(rows, columns, [Types.of((1, rate) for rate in cell) for cell in people])
    assert table.probability(Known(*totals, (None,) * 6)) == chance


def totals_of(
    data: list[int] | tuple[int, ...], owner: list[int], rows: int, columns: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    cells = np.bincount(owner, weights=data, minlength=rows * columns).astype(int).reshape(rows, columns)
    return tuple(cells.sum(axis=1).tolist()), tuple(cells.sum(axis=0).tolist())


def test_samples_are_rounded_up_and_logarithms_are_natural() -> None:
    samples, limit = sampling_plan(Fraction(1, 20))
    assert samples == math.ceil(20 * math.log(20)) == 60
    assert limit == math.floor(math.log(20) / 2) == 1
    assert math.floor(math.log2(20) / 2) == 2  # another limit


def test_a_count_that_is_never_reset_would_suppress_every_later_cell() -> None:
    """Algorithm 3 as printed sets the count to 0 only once; here each query begins at 0."""
    rates = Rates(numerator=np.array([1, 1]), denominator=np.array([2, 2]))
    q = Fraction(1, 100)
    decided = suppress_cells_sampled(
        [1, 300], rates, [0, 150], epsilon=HALF, decision_delta=q, key=SecretKey.for_tests()
    )
    assert decided.released.tolist() == [False, True]
    samples, limit = sampling_plan(q)
    assert samples > limit  # all samples of the first cell are unsafe


def test_the_attacker_who_knows_the_law_learns_most_on_average() -> None:
    """Theorem 1, on random worlds: a true statement about beliefs, on average."""
    rng = np.random.default_rng(11)
    for _ in range(100):
        true_rates, believed = rng.uniform(0.05, 0.95, (2, 4))
        cells = ((0, 1), (2, 3))
        assert (
            expected_reward(true_rates, true_rates, cells)
            >= expected_reward(true_rates, believed, cells) - 1e-12
        )


def expected_reward(rates: FloatArray, believed: FloatArray, cells: tuple[tuple[int, ...], ...]) -> float:
    """Mean of the sum of log posteriors of what is true, given the values of the cells, for these beliefs."""
    reward = 0.0
    worlds = list(itertools.product((0, 1), repeat=len(rates)))
    chance = {data: chance_of(data, rates) for data in worlds}
    belief = {data: chance_of(data, believed) for data in worlds}
    for values, group in itertools.groupby(
        sorted(worlds, key=lambda data: values_of(data, cells)), key=lambda data: values_of(data, cells)
    ):
        same = list(group)
        assert values is not None
        whole = sum(belief[data] for data in same)
        for data in same:
            for person, value in enumerate(data):
                posterior = sum(belief[other] for other in same if other[person] == value) / whole
                reward += chance[data] * math.log(posterior)
    return reward


def chance_of(data: tuple[int, ...], rates: FloatArray) -> float:
    chances = [rate if value else 1 - rate for value, rate in zip(data, rates.tolist(), strict=True)]
    return float(np.prod(chances))


def values_of(data: tuple[int, ...], cells: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    return tuple(sum(data[person] for person in cell) for cell in cells)


def test_theorem_1_does_not_cover_an_attacker_who_knows_the_others() -> None:
    """Who knows all but one learns the last from any total."""
    groups = (Group(99, HALF), Group(1, HALF))
    total, known = 50, 49
    weight = {
        one: Fraction(groups[1].rate if one else 1 - groups[1].rate) for one in (0, 1) if known + one == total
    }
    assert list(weight) == [1]


def test_an_attacker_with_a_wrong_prior_is_moved_by_any_table() -> None:
    """The paper's example of impossibility: prior 0.01, truth one half, and half of all have the value."""
    prior, people = Fraction(1, 100), 100
    assert likelihood_ratio(people, HALF, people // 2) == 1
    ratio = likelihood_ratio(people, prior, people // 2)
    assert ratio == 99
    posterior = prior * ratio / (prior * ratio + 1 - prior)
    assert posterior == HALF
    assert posterior / prior - 1 == 49


TINY = {
    "2 × 2": Table(
        (
            Person(0, 0, Fraction(1, 5)),
            Person(0, 1, HALF),
            Person(1, 0, Fraction(2, 5)),
            Person(1, 1, Fraction(3, 5)),
        ),
        (1, 1),
        (1, 1),
        {},
    ),
    "an empty column": Table(
        (Person(0, 0, Fraction(1, 5)), Person(0, 0, HALF), Person(0, 1, Fraction(2, 5))), (1,), (1, 0), {}
    ),
    "a known cell": Table(
        (
            Person(0, 0, Fraction(1, 5)),
            Person(0, 0, HALF),
            Person(0, 1, Fraction(2, 5)),
            Person(0, 1, Fraction(3, 10)),
        ),
        (2,),
        (1, 1),
        {(0, 0): 1},
    ),
    "2 × 2 with a known cell": Table(
        (
            Person(0, 0, Fraction(1, 5)),
            Person(0, 0, HALF),
            Person(1, 0, Fraction(2, 5)),
            Person(0, 1, Fraction(2, 5)),
            Person(1, 1, Fraction(7, 10)),
        ),
        (1, 1),
        (1, 1),
        {(0, 0): 1},
    ),
}


@pytest.mark.parametrize("name", TINY)
def test_matchings_of_theorem_4_weigh_as_the_data_sets_they_stand_for(name: str) -> None:
    """With the edge from a row to the people of its known cells, which the paper omits."""
    table = TINY[name]
    weight: dict[Data, Fraction] = {}
    number: dict[Data, int] = {}
    for data, share in matchings(table):
        weight[data] = weight.get(data, Fraction(0)) + share
        number[data] = number.get(data, 0) + 1
    wanted = consistent(table)
    assert weight.keys() == wanted.keys()
    assert len({weight[data] / wanted[data] for data in wanted}) == 1
    assert len(set(number.values())) == 1  # the product of d_out! matchings each


def consistent(table: Table) -> Mapping[Data, Fraction]:
    """Data sets with the table's totals and known cells, and their chances."""
    found = {}
    for data in itertools.product((0, 1), repeat=len(table.people)):
        rows, columns = [0] * len(table.rows), [0] * len(table.columns)
        known = dict.fromkeys(table.known, 0)
        for value, person in zip(data, table.people, strict=True):
            rows[person.row] += value
            columns[person.column] += value
            if (person.row, person.column) in known:
                known[person.row, person.column] += value
        if (tuple(rows), tuple(columns), known) == (table.rows, table.columns, dict(table.known)):
            found[data] = math.prod(
                (
                    person.rate if value else 1 - person.rate
                    for value, person in zip(data, table.people, strict=True)
                ),
                start=Fraction(1),
            )
    return found


@pytest.mark.parametrize("name", [name for name, table in TINY.items() if table.known])
def test_theorem_4_as_printed_has_no_matching_where_a_cell_is_known(name: str) -> None:
    assert list(matchings(TINY[name], repaired=False)) == []
    assert list(matchings(TINY[name])) != []
