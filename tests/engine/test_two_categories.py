import math
from fractions import Fraction
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.accountant.two_categories import ExampleMechanism, laplace_drawn, laplace_printed, two_categories
from engine.errors import ParameterError
from tests.engine.examples import examples
from tests.golden import golden
from tests.oracles.enumerator import failure_from_definitions
from tests.oracles.mechanisms import clamped_law, joint_law, output_law
from tests.oracles.two_categories import (
    binomial,
    dirichlet_multinomial,
    failing_as_printed,
    plug_in,
    prior_as_printed,
)

pytestmark = pytest.mark.jit_off

MECHANISMS = get_args(ExampleMechanism)
P10: dict[str, Any] = {"n": 5, "m": 5, "alpha": 0.5, "epsilon": 2.0}


@pytest.mark.parametrize(
    ("mechanism", "name", "rtol"),
    [
        ("plug-in", "p10_plugin_transition", 1e-9),
        ("dirichlet-multinomial", "p10_dirichlet_multinomial_transition", 1e-9),
        ("laplace", "p10_laplace_transition_eps2", 1e-11),
    ],
)
def test_the_slides_tables_come_out_as_golden(mechanism: ExampleMechanism, name: str, rtol: float) -> None:
    expected = golden("pdp")
    found = two_categories(mechanism, "printed", **P10)
    np.testing.assert_allclose(found.transition, expected[name], rtol=rtol)


def test_the_slides_numbers_come_out_as_golden() -> None:
    expected = golden("pdp")
    plugin = two_categories("plug-in", "printed", **P10)
    assert plugin.epsilon_needed == pytest.approx(expected["p10_plugin_epsilon"], rel=1e-12)
    assert plugin.delta == pytest.approx(expected["p10_plugin_delta_slide_eps2"], rel=1e-12)
    drawn = two_categories("dirichlet-multinomial", "definition", **P10)
    assert drawn.epsilon_needed == pytest.approx(expected["p10_dirichlet_multinomial_epsilon"], rel=1e-12)


def test_the_slides_highlighted_cells_and_joint_table() -> None:
    found = two_categories("plug-in", "printed", **P10)
    cells = np.argwhere(found.failing).tolist()
    assert cells == [[0, 3], [0, 4], [0, 5], [1, 5], [4, 0], [5, 0], [5, 1], [5, 2]]
    assert found.table_weight is not None
    joint = found.table_weight[:, None] * found.transition
    assert joint[0] == pytest.approx([0.020226, 0.009194, 0.001672, 0.000152, 6.91e-6, 1.26e-7], rel=5e-3)
    assert joint[1, 5] == pytest.approx(0.000153, rel=5e-3)
    assert found.failure.sum() == pytest.approx(found.delta)
    assert found.log_ratio[0] == pytest.approx(
        [1.003353, 0.29593, 1.595212, 2.894495, 4.193778, 5.493061], abs=1e-6
    )
    assert found.epsilon_needed == pytest.approx(5 * math.log(3), rel=1e-12)


def test_by_definition_the_same_tables_fail_far_more_often() -> None:
    plugin = two_categories("plug-in", "definition", **P10)
    drawn = two_categories("dirichlet-multinomial", "definition", **P10)
    assert plugin.delta == pytest.approx(0.1035, abs=5e-5)
    assert drawn.delta == pytest.approx(0.01074, abs=5e-6)
    assert drawn.epsilon_needed == pytest.approx(math.log(11), rel=1e-12)
    for found in (plugin, drawn):
        assert found.worst is not None
        assert found.failure[found.worst] == found.delta == found.failure.max()


def test_laplace_noise_never_fails() -> None:
    for reading in ("printed", "definition"):
        found = two_categories("laplace", reading, **P10)
        assert not found.failing.any()
        assert (found.delta, found.worst) == (0, None)
        assert found.epsilon_needed <= 2 + 1e-12
    assert two_categories("laplace", "printed", **P10).epsilon_needed == pytest.approx(2, abs=1e-12)


_cases = st.fixed_dictionaries(
    {
        "n": st.integers(1, 4),
        "m": st.integers(1, 4),
        "alpha": st.floats(0.02, 3),
        "epsilon": st.floats(0.2, 6),
    }
)


@settings(max_examples=examples(40), deadline=None)
@given(case=_cases)
def test_printed_reading_is_the_plain_twin_s(case: dict[str, Any]) -> None:
    n, m, alpha, epsilon = case["n"], case["m"], case["alpha"], case["epsilon"]
    laws: tuple[tuple[ExampleMechanism, Any], ...] = (
        ("plug-in", plug_in),
        ("dirichlet-multinomial", dirichlet_multinomial),
    )
    for mechanism, law in laws:
        found = two_categories(mechanism, "printed", **case)
        chance = {(i, j): law(i, n, j, m, alpha) for i in range(n + 1) for j in range(m + 1)}
        for (i, j), value in chance.items():
            assert found.transition[i, j] == pytest.approx(value, rel=1e-9)
        fails = failing_as_printed(chance, n, m, epsilon)
        assert {tuple(cell) for cell in np.argwhere(found.failing).tolist()} == fails
        prior = prior_as_printed(mechanism, n, alpha)
        expected = sum(prior[i] * chance[i, j] for i, j in fails)
        assert found.delta == pytest.approx(expected, rel=1e-9, abs=1e-15)


@settings(max_examples=examples(25), deadline=None)
@given(case=_cases)
def test_definition_is_the_plain_twin_s(case: dict[str, Any]) -> None:
    found = two_categories("dirichlet-multinomial", "definition", **case)
    expected = failure_from_definitions(
        case["n"], case["m"], [case["alpha"]] * 2, [1.0, 1.0], case["epsilon"]
    )
    assert found.delta == pytest.approx(expected, rel=1e-9, abs=1e-15)
    assert (found.worst is None) == (expected == 0)
    assert found.transition.sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(
    ("n", "m", "q", "top"),
    [(3, 2, Fraction(1, 3), 18), (1, 5, Fraction(1, 20), 9), (2, 3, Fraction(1, 9), 11)],
)
def test_noise_that_is_drawn_has_its_exact_law(n: int, m: int, q: Fraction, top: int) -> None:
    found = laplace_drawn(n, m, 0.7, 2 * math.log(1 / q))
    for row in range(n + 1):
        each = [clamped_law(count, q, top) for count in (row, n - row)]
        exact = output_law(joint_law(each), m, [Fraction(1, 2)] * 2, fills_up=False)
        # The twin takes counts of `top` or more for `top`.
        beyond = float(4 * q ** (top - n))
        assert found[row] == pytest.approx(
            [float(exact.get((j, m - j), 0)) for j in range(m + 1)], abs=beyond
        )


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 12.0])
def test_noise_keeps_its_promise_and_rows_sum_to_one(epsilon: float) -> None:
    for n in (1, 4, 6):
        printed = laplace_printed(n, epsilon)
        assert printed.sum(axis=1) == pytest.approx(1, abs=1e-13)
        np.testing.assert_allclose(printed, printed[::-1, ::-1], rtol=1e-12)
        drawn = two_categories("laplace", "definition", n=n, m=5, alpha=0.5, epsilon=epsilon)
        assert drawn.transition.sum(axis=1) == pytest.approx(1, abs=1e-13)
        assert drawn.epsilon_needed <= epsilon + 1e-12


def test_the_prior_of_tables_sums_to_one() -> None:
    for mechanism in MECHANISMS:
        weight = two_categories(mechanism, "printed", n=4, m=4, alpha=0.3, epsilon=1.0).table_weight
        assert weight is not None
        assert weight.sum() == pytest.approx(1)
        assert weight.tolist() == pytest.approx(weight[::-1].tolist())
    assert two_categories("plug-in", "printed", **P10).table_weight == pytest.approx(
        [binomial(5, i) for i in range(6)]
    )


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"n": 0}, "n is 0"),
        ({"m": 7}, "m is 7"),
        ({"n": True}, "n is True"),
        ({"alpha": 0.0}, "alpha is 0.0"),
        ({"alpha": math.inf}, "alpha is inf"),
        ({"epsilon": 0.0}, "epsilon is 0.0"),
        ({"mechanism": "sparse"}, "mechanism is 'sparse'"),
        ({"reading": "other"}, "reading is 'other'"),
        ({"mechanism": "laplace", "m": 4}, "m must be n"),
    ],
)
def test_what_the_example_does_not_have_is_refused(change: dict[str, Any], word: str) -> None:
    asked: dict[str, Any] = {"mechanism": "plug-in", "reading": "printed", **P10} | change
    with pytest.raises(ParameterError, match=word) as refused:
        two_categories(**asked)
    assert "\n" not in str(refused.value)
