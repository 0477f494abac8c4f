"""Definition 1, tests 1 and 2, and the law of the mechanism, by enumeration in fractions."""

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ParameterError
from engine.records.acceptance import Acceptance
from engine.records.plausible import (
    check_similarity,
    count_plausible_seeds,
    is_plausibly_deniable,
    output_law,
    partition_index,
    passes_test_1,
    passes_test_2,
)
from tests.golden import golden
from tests.oracles import plausible as twin

pytestmark = pytest.mark.jit_off

SIMILARITIES = (Fraction(1001, 1000), Fraction(3, 2), Fraction(2), Fraction(4))
CHANCES = st.lists(st.fractions(0, 1, max_denominator=64), min_size=1, max_size=7)


@given(p=st.fractions(0, 1, max_denominator=10**6), similarity=st.sampled_from(SIMILARITIES[1:]))
def test_a_chance_is_in_the_only_partition_that_holds_it(p: Fraction, similarity: Fraction) -> None:
    assert partition_index(p, similarity) == twin.index_of(p, similarity)


@pytest.mark.parametrize("similarity", SIMILARITIES)
def test_edges_belong_to_the_higher_index_however_small(similarity: Fraction) -> None:
    for index in (0, 1, 7, 60, 300):
        edge = similarity**-index
        assert partition_index(edge, similarity) == index
        assert partition_index(edge * Fraction(10**40 - 1, 10**40), similarity) == index
        if index:
            assert partition_index(edge * Fraction(10**40 + 1, 10**40), similarity) == index - 1


def test_logarithms_in_floats_misplace_edges() -> None:
    """As in the authors' tool: ceil(-ln p / ln gamma), less 1 where our partitions hold their upper edge."""
    misplaced = 0
    for similarity in (Fraction(3), Fraction(5), Fraction(10)):
        for index in range(1, 200):
            by_floats = math.floor(-math.log(float(similarity**-index)) / math.log(float(similarity)))
            assert partition_index(similarity**-index, similarity) == index
            misplaced += by_floats != index
    assert misplaced > 20


@given(chances=CHANCES, data=st.data(), k=st.integers(1, 5), similarity=st.sampled_from(SIMILARITIES))
def test_test_1_gives_the_definition(
    chances: list[Fraction], data: st.DataObject, k: int, similarity: Fraction
) -> None:
    seed = data.draw(st.integers(0, len(chances) - 1))
    deniable = is_plausibly_deniable(chances, seed, k, similarity)
    assert deniable == twin.deniable(chances, seed, k, similarity)
    if passes_test_1(chances, seed, k, similarity):
        assert deniable
    assert passes_test_1(chances, seed, k, similarity) == (
        chances[seed] > 0 and passes_test_2(chances, seed, k, similarity)
    )


def test_the_definition_may_hold_where_test_1_fails() -> None:
    chances = [Fraction(51, 100), Fraction(49, 100)]
    assert is_plausibly_deniable(chances, 0, 2, Fraction(2))
    assert not passes_test_1(chances, 0, 2, Fraction(2))


def test_test_2_passes_candidates_with_fewer_seeds_than_k() -> None:
    alone = [Fraction(1, 2), Fraction(0)]
    assert count_plausible_seeds(alone, 0, Fraction(2)) == 1
    assert passes_test_2(alone, 0, -3, Fraction(2))
    assert not is_plausibly_deniable(alone, 0, 2, Fraction(2))
    # A seed that cannot have made the candidate never passes, whatever the noise.
    assert not passes_test_2(alone, 1, -3, Fraction(2))


def test_similarity_1_counts_equal_chances() -> None:
    chances = [Fraction(1, 3), Fraction(1, 3), Fraction(1, 2), Fraction(0)]
    assert [count_plausible_seeds(chances, row, Fraction(1)) for row in range(4)] == [2, 2, 1, 0]


@pytest.mark.parametrize("case", golden("records")["acceptance"])
def test_the_law_is_the_golden_one(case: dict[str, object]) -> None:
    kernel = [[Fraction(p) for p in row] for row in case["kernel"]]  # type: ignore[attr-defined]  # JSON
    data = [int(one) for one in case["data"]]  # type: ignore[attr-defined]  # JSON
    gamma, a = Fraction(str(case["gamma"])), Fraction(str(case["exp_minus_epsilon0"]))
    acceptance = Acceptance(
        min_plausible_seeds=int(str(case["k"])), threshold_epsilon=1, forced_fail=str(case["forced_fail"])
    )
    exact = output_law(kernel, data, gamma, lambda count: acceptance.exact_chance(count, a))
    assert [str(p) for p in exact] == case["exact"]
    assert float(1 - exact[-1]) == pytest.approx(case["acceptance"], rel=1e-12)
    bins = [[partition_index(kernel[row][y], gamma) for row in data] for y in range(3)]
    assert bins == case["bins"]
    rule = twin.Rule(acceptance.min_plausible_seeds, gamma, a, acceptance.forced_fail)
    assert twin.merged(twin.law(kernel, data, rule), 3) == exact


def test_the_law_is_the_twin_s_for_random_kernels() -> None:
    choose = random.Random(5)
    for _ in range(40):
        kernel, data = random_case(choose)
        floor = choose.choice([None, 1, 2])
        acceptance = Acceptance(
            min_plausible_seeds=3, threshold_epsilon=1, forced_fail="1/20", seed_floor=floor
        )
        gamma, a = choose.choice(SIMILARITIES[1:]), Fraction(choose.randint(1, 9), 10)
        exact = output_law(kernel, data, gamma, lambda c, a=a, t=acceptance: t.exact_chance(c, a))  # type: ignore[misc]  # bound now
        rule = twin.Rule(3, gamma, a, Fraction(1, 20), floor or 1)
        assert exact == twin.merged(twin.law(kernel, data, rule), len(kernel[0]))
        assert sum(exact) == 1


def random_case(choose: random.Random) -> tuple[list[list[Fraction]], list[int]]:
    """A kernel of 2 to 4 types and 1 to 4 outputs, with powers of two among its chances, and up to 9 records."""
    n_types, n_outputs = choose.randint(2, 4), choose.randint(1, 4)
    kernel = []
    for _ in range(n_types):
        weights = [choose.choice([0, 1, 1, 2, 3, 4, 8]) for _ in range(n_outputs)]
        weights[choose.randrange(n_outputs)] += 1
        kernel.append([Fraction(weight, sum(weights)) for weight in weights])
    return kernel, [choose.randrange(n_types) for _ in range(choose.randint(3, 9))]


@pytest.mark.parametrize("similarity", [0, "0.5", -1])
def test_a_similarity_below_1_is_refused(similarity: object) -> None:
    with pytest.raises(ParameterError, match="it is a factor: give 1 or more, such as 4"):
        check_similarity(similarity)  # type: ignore[arg-type]  # given by a test


def test_impossible_chances_are_refused() -> None:
    for p, similarity in ((Fraction(3, 2), Fraction(2)), (Fraction(1, 2), Fraction(1))):
        with pytest.raises(ParameterError):
            partition_index(p, similarity)
