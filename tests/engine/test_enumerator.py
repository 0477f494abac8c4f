import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.accountant.enumerator import (
    compositions,
    exact_failure,
    exact_failure_probability,
    largest_log_ratio,
    plugin_transition,
    transition_matrix,
)
from engine.accountant.theorems import pruned_epsilon, theorem_4_1_weight
from engine.errors import ParameterError
from tests.engine.examples import examples
from tests.golden import golden
from tests.oracles.enumerator import failure_from_definitions, output_probability


def test_exact_failure_probability_matches_golden() -> None:
    for case in golden("pdp")["exact_failure_probability"]:
        found = exact_failure_probability(
            case["n"], case["m"], case["prior_weight"], case["retention"], case["epsilon"]
        )
        assert found.probability == pytest.approx(case["exact_delta"], rel=1e-9, abs=1e-12)
        assert (found.worst_table is None) == (case["worst_table"] is None)
        if case["exact_delta"] < 0.999999:  # above, several tables fail surely and rounding picks one
            assert found.worst_table == (case["worst_table"] and tuple(case["worst_table"]))


def test_p10_two_category_tables_match_golden() -> None:
    expected = golden("pdp")
    drawn = transition_matrix(5, 5, [0.5, 0.5])
    plugin = plugin_transition(5, 5, [0.5, 0.5])
    np.testing.assert_allclose(drawn, expected["p10_dirichlet_multinomial_transition"], rtol=1e-9)
    np.testing.assert_allclose(plugin, expected["p10_plugin_transition"], rtol=1e-9)
    tables = compositions(5, 2)
    assert largest_log_ratio(tables, drawn) == pytest.approx(expected["p10_dirichlet_multinomial_epsilon"])
    assert largest_log_ratio(tables, plugin) == pytest.approx(expected["p10_plugin_epsilon"])


def test_p10_example_is_plugin_and_its_delta_is_one_sided() -> None:
    tables = compositions(5, 2)
    drawn, plugin = transition_matrix(5, 5, [0.5, 0.5]), plugin_transition(5, 5, [0.5, 0.5])
    assert largest_log_ratio(tables, drawn) == pytest.approx(math.log(11), rel=1e-12)
    assert largest_log_ratio(tables, plugin) == pytest.approx(5 * math.log(3), rel=1e-12)
    assert exact_failure(tables, plugin, 2.0).probability == pytest.approx(0.1035, abs=5e-5)
    assert exact_failure(tables, drawn, 2.0).probability == pytest.approx(0.01074, abs=5e-6)


@pytest.mark.jit_off
def test_transition_matrix_of_p10_example_by_hand() -> None:
    drawn = transition_matrix(5, 5, [0.5, 0.5])
    # Table (0, 5), output (0, 5): 5.5 · 6.5 · 7.5 · 8.5 · 9.5 over 6 · 7 · 8 · 9 · 10.
    assert drawn[0, 0] == pytest.approx(5.5 * 6.5 * 7.5 * 8.5 * 9.5 / (6 * 7 * 8 * 9 * 10), rel=1e-14)


def test_pruning_can_raise_delta_at_the_final_epsilon() -> None:
    weights, epsilon = (0.512, 0.856, 0.976), 1.95
    before = exact_failure_probability(4, 4, weights, None, epsilon)
    final = epsilon + math.log(1 / 0.025) + math.log(2)
    after = exact_failure_probability(4, 4, weights, (0.025,) * 3, final)
    assert before.probability == pytest.approx(0.0166, abs=5e-5)
    assert after.probability == pytest.approx(0.0283, abs=5e-5)


def test_theorem_5_2_as_printed_fails_where_more_is_drawn_than_there_is() -> None:
    epsilon, weights, kept = 5.436304, (0.9, 0.0263), (0.01, 0.01)
    assert min(weights) >= theorem_4_1_weight(6, epsilon)
    tables = compositions(1, 2)
    exact = largest_log_ratio(tables, transition_matrix(1, 6, weights, kept))
    printed = epsilon + math.log(1 / 0.01) + math.log(2)
    charged = epsilon + math.log(1 / 0.01) + math.log(1 + 6)
    assert printed + 1 < exact < charged


_weights = st.lists(st.sampled_from([0.0, 0.013, 0.2, 0.55, 0.93]), min_size=2, max_size=3)


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 4), m=st.integers(1, 4), extra=_weights, epsilon=st.floats(0.3, 6))
def test_theorem_4_1_leaves_nothing_to_fail(n: int, m: int, extra: list[float], epsilon: float) -> None:
    weights = [theorem_4_1_weight(m, epsilon) + more for more in extra]
    found = exact_failure_probability(n, m, weights, None, epsilon)
    assert found.probability == 0
    assert found.worst_table is None


@settings(max_examples=40, deadline=None)
@given(
    n=st.integers(1, 4),
    m=st.integers(1, 4),
    data=st.data(),
    epsilon=st.floats(1.7, 6),
    size=st.integers(2, 3),
)
def test_theorem_4_1_with_pruning_leaves_nothing_to_fail(
    n: int, m: int, data: st.DataObject, epsilon: float, size: int
) -> None:
    least = theorem_4_1_weight(m, epsilon)
    one = st.sampled_from([least, (least + 1) / 2, 1.0])
    weights = data.draw(st.lists(one, min_size=size, max_size=size))
    kept = data.draw(st.lists(st.sampled_from([0.01, 0.1, 0.5, 1.0]), min_size=size, max_size=size))
    growth = 2 if m <= n else 1 + m
    final = pruned_epsilon(Fraction(epsilon), min(Fraction(f) for f in kept), growth)
    assert exact_failure_probability(n, m, weights, kept, float(final)).probability == 0


@pytest.mark.jit_off
@settings(max_examples=examples(25), deadline=None)
@given(
    n=st.integers(1, 3),
    m=st.integers(0, 3),
    data=st.data(),
    epsilon=st.floats(0.2, 5),
    size=st.integers(1, 3),
)
def test_matches_the_plain_twin(n: int, m: int, data: st.DataObject, epsilon: float, size: int) -> None:
    weights = data.draw(st.lists(st.floats(0.02, 2), min_size=size, max_size=size))
    kept = data.draw(st.lists(st.floats(0.01, 1), min_size=size, max_size=size))
    probability = transition_matrix(n, m, weights, kept)
    tables, outputs = compositions(n, size), compositions(m, size)
    for i, table in enumerate(tables.tolist()):
        for j, output in enumerate(outputs.tolist()):
            assert probability[i, j] == pytest.approx(
                output_probability(table, output, weights, kept), rel=1e-9, abs=1e-15
            )
    found = exact_failure_probability(n, m, weights, kept, epsilon)
    assert found.probability == pytest.approx(
        failure_from_definitions(n, m, weights, kept, epsilon), rel=1e-6, abs=1e-12
    )


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 4), m=st.integers(1, 4), data=st.data(), order=st.permutations([0, 1, 2]))
def test_rows_sum_to_one_and_names_do_not_matter(
    n: int, m: int, data: st.DataObject, order: list[int]
) -> None:
    weights = data.draw(st.lists(st.floats(0.02, 2), min_size=3, max_size=3))
    kept = data.draw(st.lists(st.floats(0.01, 1), min_size=3, max_size=3))
    assert transition_matrix(n, m, weights, kept).sum(axis=1) == pytest.approx(1.0)
    here = exact_failure_probability(n, m, weights, kept, 2.0).probability
    there = exact_failure_probability(n, m, [weights[i] for i in order], [kept[i] for i in order], 2.0)
    assert there.probability == pytest.approx(here, rel=1e-9, abs=1e-12)


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("n", "m", "weights", "kept"),
    [
        (7, 1, [1.0], None),
        (0, 1, [1.0], None),
        (1, 7, [1.0], None),
        (1, 1, [1.0] * 5, None),
        (1, 1, [0.0, 1.0], None),
        (1, 1, [1.0, 1.0], [0.0, 1.0]),
        (1, 1, [1.0, 1.0], [1.0]),
    ],
)
def test_refuses_what_it_cannot_enumerate(
    n: int, m: int, weights: list[float], kept: list[float] | None
) -> None:
    with pytest.raises(ParameterError):
        exact_failure_probability(n, m, weights, kept, 1.0)
