"""The test of a candidate: chances, limits, and what is refused."""

import itertools
import math
import re
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from engine.errors import ParameterError
from engine.records.acceptance import Acceptance, check_similarity, pass_chance
from tests.golden import golden
from tests.oracles import plausible as twin

pytestmark = pytest.mark.jit_off

HALF = Fraction(1, 2)


def test_a_chance_is_the_sum_of_the_noise_s_law() -> None:
    a, k = Fraction(2, 3), 4
    for c in range(12):
        # P(k + Z <= c); the law beyond 60 is a geometric series.
        tail = sum((1 - a) / (1 + a) * a ** abs(z) for z in range(-60, c - k + 1))
        rest = a**61 / (1 + a)
        assert pass_chance(c, k, a) == tail + rest


def test_chances_in_floats_are_the_exact_ones() -> None:
    acceptance = Acceptance(min_plausible_seeds=5, threshold_epsilon="0.7", forced_fail="0.02", seed_floor=2)
    a = Fraction(math.exp(-0.7))
    exact = [float(acceptance.exact_chance(c, a)) for c in range(30)]
    assert np.allclose(acceptance.chances(np.arange(30)), exact, rtol=1e-13, atol=0)
    assert exact[:2] == [0.0, 0.0]


@pytest.mark.parametrize("case", golden("records")["acceptance"])
def test_the_law_of_the_mechanism_is_the_golden_one(case: dict[str, Any]) -> None:
    kernel = [[Fraction(p) for p in row] for row in case["kernel"]]
    a, beta = Fraction(case["exp_minus_epsilon0"]), Fraction(case["forced_fail"])
    rule = twin.Rule(case["k"], Fraction(case["gamma"]), a, beta)
    law = twin.merged(twin.law(kernel, case["data"], rule), len(kernel[0]))
    assert [str(p) for p in law] == case["exact"]
    acceptance = Acceptance(min_plausible_seeds=rule.k, threshold_epsilon=1, forced_fail=beta)
    n = len(case["data"])
    assert [acceptance.exact_chance(c, a) for c in range(1, n)] == [
        twin.chance_to_pass(c, rule) for c in range(1, n)
    ]


@pytest.mark.parametrize("similarity", [0, "0.5", -1])
def test_a_similarity_below_1_is_refused(similarity: float | str) -> None:
    with pytest.raises(ParameterError, match="it is a factor: give 1 or more, such as 4"):
        check_similarity(similarity)


def test_a_chance_grows_at_most_by_e_to_the_threshold_epsilon() -> None:
    a = Fraction(1, 3)
    chances = [pass_chance(c, 6, a) for c in range(40)]
    assert all(one <= other <= one / a for one, other in itertools.pairwise(chances))
    assert all(chances[t] <= a ** (6 - t) for t in range(6))


def test_a_count_that_stops_early_is_sound_and_useless_below_k() -> None:
    """The paper's limit on seeds that are checked: a count cut at a limit still moves by at most 1."""
    acceptance = Acceptance(min_plausible_seeds=50, threshold_epsilon=1)
    for limit in (40, 100):
        cut = [min(c, limit) for c in range(1, 200)]
        assert all(0 <= other - one <= 1 for one, other in itertools.pairwise(cut))
        chances = acceptance.chances(cut)
        assert (chances[1:] <= math.e * chances[:-1] * (1 + 1e-12)).all()
        assert (chances.max() < 1e-4) == (limit < 50)


def test_without_noise_k_decides() -> None:
    acceptance = Acceptance(min_plausible_seeds=3, test="deterministic")
    assert acceptance.chances(np.arange(5)).tolist() == [0, 0, 0, 1, 1]
    assert [acceptance.exact_chance(c, HALF) for c in (2, 3)] == [0, 1]
    assert acceptance.least_passing == 3
    assert acceptance.seeds_but_for(1e-6) == 3


def test_how_many_seeds_a_record_has_but_for_a_share() -> None:
    acceptance = Acceptance(min_plausible_seeds=1000, threshold_epsilon="0.0175")
    seeds = acceptance.seeds_but_for(1e-6)
    assert seeds == pytest.approx(1000 - math.log(1e6) / 0.0175)
    assert acceptance.chances([math.floor(seeds)])[0] <= 1e-6
    floored = Acceptance(min_plausible_seeds=1000, threshold_epsilon="0.0175", seed_floor=500)
    assert floored.seeds_but_for(1e-6) == 500


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"min_plausible_seeds": 0}, "min plausible seeds is 0; give 1 to"),
        ({"threshold_epsilon": 0}, "threshold epsilon is 0; give a number above 0"),
        ({"threshold_epsilon": "-0.5"}, "threshold epsilon is -0.5; give a number above 0"),
        ({"threshold_epsilon": "pi"}, "threshold epsilon is 'pi'; a finite number is needed"),
        ({"threshold_epsilon": None}, "threshold epsilon is missing"),
        ({"forced_fail": 1}, "forced fail is 1; it is a chance"),
        ({"forced_fail": "-0.1"}, "forced fail is -0.1; it is a chance"),
        ({"seed_floor": 11}, "seed floor is 11; give 1 to 10, the min plausible seeds, or raise those"),
        ({"seed_floor": 0}, "seed floor is 0; give 1 to 10"),
        ({"test": "other"}, "test is 'other'; give one of randomized, deterministic"),
        ({"test": "deterministic"}, "threshold epsilon is 0.5; the deterministic test adds no noise"),
    ],
)
def test_impossible_tests_are_refused(given: dict[str, object], message: str) -> None:
    values: dict[str, object] = {"min_plausible_seeds": 10, "threshold_epsilon": "1/2", **given}
    with pytest.raises(ParameterError, match=re.escape(message)):
        Acceptance(**values)  # type: ignore[arg-type]  # wrong on purpose
