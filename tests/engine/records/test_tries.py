"""The sound accountant over all tries, against products of exact laws, and the other way round."""

import math
import random
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from engine.errors import ParameterError
from engine.records.acceptance import Acceptance
from engine.records.choosing import TriesPlan, best_threshold_epsilon, find_min_seeds
from engine.records.divergence import OneTry
from engine.records.theorem_one import paper_promise
from engine.records.tries import (
    LogMoment,
    SeedPromise,
    best_order,
    epsilon_at,
    epsilon_of_tries,
    seed_promise,
)
from tests.golden import golden
from tests.oracles import plausible as twin
from tests.oracles import records_search as slow

pytestmark = pytest.mark.jit_off

COMPOSED = golden("records")["composition_of_tries"]


def usual(**given: object) -> Acceptance:
    values: dict[str, object] = {
        "min_plausible_seeds": 1000,
        "threshold_epsilon": "0.0175",
        "forced_fail": "0.02",
        **given,
    }
    return Acceptance(**values)  # type: ignore[arg-type]  # checked by the type itself


def promise(acceptance: Acceptance, **given: object) -> SeedPromise:
    values: dict[str, object] = {"n_min": 286_073, "n_tries": 286_073, "delta": "1e-6", **given}
    return seed_promise(acceptance, **values)  # type: ignore[arg-type]  # checked by the function


@pytest.mark.parametrize("case", COMPOSED)
def test_epsilon_is_the_golden_one(case: dict[str, float]) -> None:
    one = OneTry.of(_composed(case), float(case["gamma"]), int(case["n"]))
    orders = range(2, 200)
    found = min(epsilon_of_tries(one, int(case["tries"]), case["delta"], order) for order in orders)
    assert found == pytest.approx(case["epsilon"], rel=1e-12)


@pytest.mark.parametrize("case", COMPOSED)
def test_products_of_exact_laws_keep_delta(case: dict[str, float]) -> None:
    n, tries, gamma = int(case["n"]), int(case["tries"]), Fraction(str(case["gamma"]))
    acceptance, delta = _composed(case), case["delta"]
    a = Fraction(math.exp(-case["epsilon0"]))
    rule = twin.Rule(int(case["k"]), gamma, a, acceptance.forced_fail)
    moment = LogMoment(OneTry.of(acceptance, float(gamma), n), acceptance, float(gamma))
    left = delta - tries * moment.one.delta0
    added = epsilon_at(6, tries * moment(6), left)
    replaced = epsilon_at(6, tries * moment.of_two_steps(6), delta - tries * moment.one.delta0 * (n + 1) / n)
    assert case["epsilon"] <= added < 2 * replaced
    choose, worst = random.Random(n), 0.0
    for _ in range(12):
        kernel, data = _single_output(choose, n, gamma)
        one, more = (twin.law(kernel, rows, rule) for rows in (data, [*data, 0]))
        p, q = (twin.product([float(x) for x in twin.merged(law, 2)], tries) for law in (one, more))
        worst = max(worst, twin.exact_delta(p, q, case["epsilon"]), twin.exact_delta(q, p, case["epsilon"]))
        others = twin.law(kernel, [*data[:-1], 0], rule)
        r = twin.product([float(x) for x in twin.merged(others, 2)], tries)
        assert max(twin.exact_delta(p, r, replaced), twin.exact_delta(r, p, replaced)) <= delta
    assert 0 < worst <= delta


def _composed(case: dict[str, float]) -> Acceptance:
    return Acceptance(
        min_plausible_seeds=int(case["k"]),
        threshold_epsilon=case["epsilon0"],
        forced_fail=case["forced_fail"],
    )


def _single_output(choose: random.Random, n: int, gamma: Fraction) -> tuple[list[list[Fraction]], list[int]]:
    """The further record (type 0) makes one record; c others do, too, within its partition, and the rest another."""
    index = choose.choice([0, 1])
    p = gamma**-index
    near = p / gamma * Fraction(1001, 1000)
    kernel = [[p, 1 - p], [near, 1 - near], [Fraction(0), Fraction(1)]]
    c = choose.randint(0, n)
    return kernel, [1] * c + [2] * (n - c)


def test_no_output_shows_what_theorem_1_hides() -> None:
    case = golden("records")["no_output"][0]
    kernel = [[Fraction(0), Fraction(1)], [Fraction(1), Fraction(0)]]
    for beta, with_failures in ((Fraction(0), case["exact_delta_with_no_output"]), (Fraction(1, 20), None)):
        rule = twin.Rule(case["k"], Fraction(case["gamma"]), Fraction(math.exp(-case["epsilon0"])), beta)
        p, q = (
            [float(x) for x in twin.merged(twin.law(kernel, data, rule), 2)]
            for data in ([0] * 9, [0] * 9 + [1])
        )
        visible = twin.exact_delta(p, q, case["epsilon"])
        if with_failures is None:
            assert visible == pytest.approx(case["with_forced_fail_0.05"], rel=1e-9)
        else:
            assert p + q == pytest.approx(case["p"] + case["q"])
            assert visible == pytest.approx(with_failures, rel=1e-9)
            assert visible > 2000 * case["delta"]
            assert twin.exact_delta(p[:-1], q[:-1], case["epsilon"]) == pytest.approx(
                case["exact_delta_released_only"], rel=1e-9
            )


def test_the_promise_of_rhode_island_and_of_one_record_replaced() -> None:
    found = promise(usual())
    assert float(found.epsilon) == pytest.approx(2.09, abs=0.005)
    assert float(found.epsilon_replace_one) == pytest.approx(4.51, abs=0.005)
    assert (found.delta, found.n_min, found.n_tries) == (Fraction(1, 10**6), 286_073, 286_073)
    assert found.epsilon.denominator <= 10**6
    exact = OneTry.of(usual(), 1.0, 286_073)
    assert float(found.epsilon) >= epsilon_of_tries(exact, 286_073, 1e-6, found.rdp_order)
    # It holds for more seeds, too, at the cost of less than 0.001.
    assert float(found.epsilon) <= epsilon_of_tries(exact, 286_073, 1e-6, found.rdp_order) + 1e-3
    assert promise(usual(), n_min=300_000).epsilon < found.epsilon
    # Theorem 1, composed over the same tries, is of no use.
    by_theorem = paper_promise(usual(threshold_epsilon="0.03"), similarity=1, n_tries=286_073, delta="1e-6")
    assert by_theorem.epsilon > 100 * promise(usual(threshold_epsilon="0.03")).epsilon


def test_all_tries_use_up_delta_in_both_readings() -> None:
    """With hardly more delta than they use up, epsilon is that of the little that is left."""
    n = 286_073
    moment = LogMoment(OneTry.of(usual(), 1.0, n), usual(), 1.0)
    used, used_of_two = n * moment.one.delta0, (n + 1) * moment.one.delta0
    delta = used_of_two + 1e-12
    found = promise(usual(), delta=delta)
    order, order_of_two = found.rdp_order, found.rdp_order_replace_one
    assert found.epsilon >= epsilon_at(order, n * moment(order), delta - used) - 1e-6
    left_of_two = delta - used_of_two
    assert (
        found.epsilon_replace_one
        >= epsilon_at(order_of_two, n * moment.of_two_steps(order_of_two), left_of_two) - 1e-6
    )


def test_more_similarity_more_tries_and_a_floor_cost_more() -> None:
    least = promise(usual())
    assert promise(usual(), similarity=4).epsilon > least.epsilon
    assert promise(usual(), n_tries=400_000).epsilon > least.epsilon
    floored = promise(usual(seed_floor=20))
    assert floored.delta0 > least.delta0
    assert floored.epsilon >= least.epsilon


@pytest.mark.parametrize(
    ("acceptance", "given", "message"),
    [
        (usual(), {"n_tries": 0}, "tries is 0; give at least 1"),
        (usual(), {"delta": 0}, "delta is 0; it is a probability"),
        (usual(), {"delta": 1}, "delta is 1; it is a probability"),
        (usual(forced_fail=0), {}, "forced fail is 0, but the number of failures is published"),
        (usual(), {"similarity": "1/2"}, "similarity is 0.5; it is a factor: give 1 or more"),
        (usual(), {"n_min": 1500}, "n min is 1,500; 1,000 plausible seeds need at least"),
        (
            usual(threshold_epsilon="0.01"),
            {},
            "delta is 1e-06; 286,073 tries use up 2.26e-05 of it, and more must be left: "
            "give min plausible seeds 1,452, or threshold epsilon 0.0146",
        ),
        (usual(seed_floor=900), {}, "leave the seed floor out, or raise the min plausible seeds"),
        (usual(threshold_epsilon=None, test="deterministic"), {}, "allow fewer tries"),
    ],
)
def test_what_cannot_be_promised_is_refused(
    acceptance: Acceptance, given: dict[str, object], message: str
) -> None:
    with pytest.raises(ParameterError, match=re.escape(message)):
        promise(acceptance, **given)


def test_the_remedies_of_a_small_delta_are_enough() -> None:
    assert promise(usual(threshold_epsilon="0.01", min_plausible_seeds=1452)).epsilon > 0
    assert promise(usual(threshold_epsilon="0.0146")).epsilon > 0


def test_the_best_order_is_found() -> None:
    found = best_order(lambda orders: np.abs(np.log(orders) - 3).tolist())
    assert found == pytest.approx(math.exp(3), rel=0.05)


PLAN = TriesPlan(n_min=286_073, n_tries=286_073, delta="1e-6", forced_fail="0.02")


def test_k_is_found_for_an_epsilon() -> None:
    acceptance, found = find_min_seeds(2, PLAN)
    assert found.epsilon <= 2
    assert found == PLAN.promise(acceptance)
    # A few per mille fewer seeds would not do; with rate 0.0175, k would be 1,100.
    assert 650 < acceptance.min_plausible_seeds < 800
    fewer = usual(
        min_plausible_seeds=acceptance.min_plausible_seeds * 97 // 100,
        threshold_epsilon=acceptance.threshold_epsilon,
    )
    assert OneTry.of(fewer, 1.0, PLAN.n_min).delta0 * PLAN.n_tries > 0.9e-6 or promise(fewer).epsilon > 2


def test_k_is_found_for_an_epsilon_and_a_rate() -> None:
    acceptance, found = find_min_seeds("2.5", PLAN, threshold_epsilon="0.0175")
    assert acceptance.threshold_epsilon == Fraction("0.0175")
    assert found.epsilon <= Fraction("2.5")


def test_a_lower_rate_costs_less_than_the_usual_one() -> None:
    rate = best_threshold_epsilon(1000, PLAN)
    assert Fraction("0.013") < rate < Fraction("0.015")
    assert promise(usual(threshold_epsilon=rate)).epsilon < Fraction("1.75")


@pytest.mark.parametrize("n_tries", [10_000, 286_073])
def test_no_other_rate_costs_much_less_than_the_best_one(n_tries: int) -> None:
    plan = replace(PLAN, n_tries=n_tries)
    best = best_threshold_epsilon(1000, plan)
    found = {
        rate: plan.promise(usual(threshold_epsilon=rate)).epsilon
        for rate in (best, *(best * Fraction(percent, 100) for percent in (90, 97, 103, 110, 130)))
        if OneTry.of(usual(threshold_epsilon=rate), 1.0, plan.n_min).delta0 * n_tries < 0.9e-6
    }
    assert len(found) >= 4
    assert found[best] <= min(found.values()) * Fraction(1005, 1000)


def test_a_seed_floor_needs_a_higher_rate() -> None:
    """Seeds at the floor use up much more of delta than lone ones."""
    rates = [best_threshold_epsilon(1000, PLAN, floor) for floor in (None, 20, 150)]
    assert rates == sorted(rates)
    floored = usual(threshold_epsilon=rates[-1], seed_floor=150)
    assert PLAN.promise(floored).epsilon < 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"n_tries": 0}, "tries is 0; give at least 1"),
        ({"delta": 1}, "delta is 1; it is a probability"),
        ({"forced_fail": 0}, "forced fail is 0, but the number of failures is published"),
        ({"similarity": 0}, "similarity is 0; it is a factor"),
        ({"n_min": 1}, "n min is 1; a seed hides among others: give at least 2"),
    ],
)
def test_impossible_plans_are_refused(given: dict[str, object], message: str) -> None:
    values: dict[str, object] = {"n_min": 9, "n_tries": 9, "delta": "1e-6", "forced_fail": "0.02", **given}
    with pytest.raises(ParameterError, match=re.escape(message)):
        TriesPlan(**values)  # type: ignore[arg-type]  # checked by the type itself


@pytest.mark.parametrize(
    ("epsilon", "given"),
    [
        ("2", {}),
        ("0.5", {"n_min": 84_000_000, "n_tries": 8_400_000, "delta": "1e-9"}),
        ("6", {"n_min": 5_000, "n_tries": 900, "similarity": 2}),
        ("1.3", {"n_tries": 20_000, "forced_fail": "0.2"}),
        ("9", {"n_min": 2_000, "n_tries": 2_000, "delta": "1e-4"}),
    ],
)
def test_the_search_has_the_same_answer_as_one_order_after_the_other(
    epsilon: str, given: dict[str, object]
) -> None:
    plan = replace(PLAN, **given)  # type: ignore[arg-type]  # checked by the type itself
    expected = slow.find_k(Fraction(epsilon), plan)
    assert expected is not None
    assert find_min_seeds(epsilon, plan)[0] == expected
    k = expected.min_plausible_seeds
    assert best_threshold_epsilon(k, plan) == slow.best_rate(k, plan)
    assert best_threshold_epsilon(k, plan, k // 5 + 1) == slow.best_rate(k, plan, k // 5 + 1)
    rate = 2 * (expected.threshold_epsilon or Fraction(1))
    assert find_min_seeds(2 * Fraction(epsilon), plan, rate)[0] == slow.find_k(
        2 * Fraction(epsilon), plan, rate
    )


def test_an_epsilon_that_no_k_keeps_is_refused() -> None:
    with pytest.raises(ParameterError, match=re.escape("no number of plausible seeds up to 5,000 keeps it")):
        find_min_seeds("0.01", TriesPlan(n_min=5000, n_tries=5000, delta="1e-6", forced_fail="0.02"))
    with pytest.raises(ParameterError, match="epsilon is 0; give a number above 0"):
        find_min_seeds(0, PLAN)
    with pytest.raises(ParameterError, match="min plausible seeds is 1; give 2 or more"):
        best_threshold_epsilon(1, PLAN)
