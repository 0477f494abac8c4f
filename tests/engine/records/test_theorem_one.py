"""The paper's accountant: golden figures, the best t, compositions, and what is refused."""

import math
import re
from fractions import Fraction

import pytest

from engine.errors import ParameterError
from engine.records.acceptance import Acceptance
from engine.records.composition import advanced_composition
from engine.records.theorem_one import (
    amplify_by_sampling,
    compose_sequentially,
    condition_on_release,
    largest_t,
    paper_promise,
    theorem_1,
)
from tests.golden import golden

pytestmark = pytest.mark.jit_off


@pytest.mark.parametrize("case", golden("records")["theorem1"])
def test_theorem_1_is_the_golden_one(case: dict[str, object]) -> None:
    k, t = int(str(case["k"])), int(str(case["t"]))
    found = theorem_1(k, t, str(case["epsilon0"]), str(case["gamma"]))
    assert found == pytest.approx((case["epsilon"], case["delta"]), rel=1e-12)


@pytest.mark.parametrize("case", golden("records")["advanced_composition"])
def test_compositions_are_the_golden_ones(case: dict[str, object]) -> None:
    epsilon, delta, m = float(str(case["epsilon"])), float(str(case["delta"])), int(str(case["m"]))
    found = advanced_composition(epsilon, delta, m, float(str(case["slack"])))
    assert found == pytest.approx(case["value"], rel=1e-12)
    assert compose_sequentially(epsilon, delta, m) == pytest.approx(case["sequential"], rel=1e-12)


def test_the_largest_t_has_the_least_epsilon_for_its_delta() -> None:
    t = largest_t(500, "0.1", "1e-9")
    assert theorem_1(500, t, "0.1", 4).delta <= 1e-9 < theorem_1(500, t + 1, "0.1", 4).delta
    assert largest_t(500, 50, "1e-9") == 499


def test_ten_thousand_records_of_the_paper_cost_13365() -> None:
    one = theorem_1(50, 10, 1, 4)
    assert one.epsilon == pytest.approx(1.336, abs=1e-3)
    assert round(compose_sequentially(*one, 10_000).epsilon) == 13_365


def test_the_better_composition_is_taken() -> None:
    acceptance = Acceptance(min_plausible_seeds=5000, threshold_epsilon="0.01")
    many = paper_promise(acceptance, similarity=4, n_tries=10_000, delta="1e-6")
    few = paper_promise(acceptance, similarity=4, n_tries=2, delta="1e-6")
    assert (many.rule, few.rule) == ("advanced", "sequential")
    assert many.delta <= 1e-6
    one = theorem_1(5000, many.t, "0.01", 4)
    assert many.epsilon < compose_sequentially(*one, 10_000).epsilon


def test_sequential_composition_is_left_if_half_of_delta_is_too_little() -> None:
    acceptance = Acceptance(min_plausible_seeds=100, threshold_epsilon="0.1")
    delta = 3 * math.exp(-0.1 * 98.5)
    assert paper_promise(acceptance, similarity=1, n_tries=3, delta=delta)[2:] == (1, "sequential")


def test_a_secret_sample_costs_less() -> None:
    assert amplify_by_sampling(3.0, 1e-6, Fraction(1)) == pytest.approx((3.0, 1e-6))
    found = amplify_by_sampling(3.0, 1e-6, Fraction(1, 10))
    assert found == pytest.approx((math.log(1 + 0.1 * (math.exp(3) - 1)), 1e-7))


def test_released_records_cost_more_the_fewer_pass() -> None:
    one = theorem_1(50, 10, 1, 4)
    rare, usual = condition_on_release(one, 1000, 1e-6), condition_on_release(one, 1000, 0.5)
    assert rare.delta > usual.delta > one.delta
    assert rare.epsilon > usual.epsilon > one.epsilon


def _acceptance(**given: object) -> Acceptance:
    return Acceptance(min_plausible_seeds=50, **given)  # type: ignore[arg-type]  # checked by the type itself


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theorem_1(5, 5, 1, 2), "t is 5 and the min plausible seeds are 5"),
        (lambda: theorem_1(5, 1, 0, 2), "threshold epsilon is 0"),
        (lambda: theorem_1(5, 1, 1, "0.9"), "similarity is 0.9"),
        (lambda: largest_t(50, "0.1", "1e-9"), "no t gives it: take min plausible seeds 209 or threshold"),
        (lambda: largest_t(50, "0.1", 0), "delta 0; give a number above 0"),
        (lambda: amplify_by_sampling(1, 0, Fraction(0)), "share is 0"),
        (lambda: condition_on_release(theorem_1(5, 1, 1, 2), 9, 0), "pass rate is 0"),
        (
            lambda: paper_promise(_acceptance(test="deterministic"), similarity=1, n_tries=9, delta="1e-6"),
            "use the sound accountant",
        ),
        (
            lambda: paper_promise(
                _acceptance(threshold_epsilon=1, seed_floor=9), similarity=1, n_tries=9, delta="1e-6"
            ),
            "use the sound accountant",
        ),
        (
            lambda: paper_promise(_acceptance(threshold_epsilon=1), similarity=1, n_tries=0, delta="1e-6"),
            "tries is 0",
        ),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(call: object, message: str) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        call()  # type: ignore[operator]  # a function of the table
