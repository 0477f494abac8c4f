"""How many likelihood ratios may exceed epsilon, against sums of exact binomial probabilities."""

from fractions import Fraction
from math import comb

import pytest

from engine.audit.alarm import most_allowed
from engine.errors import ParameterError

pytestmark = pytest.mark.jit_off


@pytest.mark.parametrize(("n", "delta"), [(1, "1e-6"), (2_000, "1e-4"), (500, "0.01"), (7, "0.5")])
def test_a_release_that_keeps_its_promise_raises_no_alarm_but_for_one_in_a_billion(
    n: int, delta: str
) -> None:
    chance = Fraction(delta)
    most = most_allowed(n, float(chance))

    def tail(least: int) -> Fraction:
        below = (comb(n, x) * chance**x * (1 - chance) ** (n - x) for x in range(least))
        return 1 - sum(below, start=Fraction(0))

    assert tail(most + 1) <= Fraction(1, 10**9)
    assert most == 0 or tail(most) > Fraction(1, 10**9)


def test_without_delta_one_is_enough() -> None:
    assert most_allowed(10**7, 0.0) == 0
    assert most_allowed(0, 0.5) == 0


@pytest.mark.parametrize(("n", "delta"), [(-1, 0.0), (1, 1.0), (1, -0.1)])
def test_impossible_arguments_are_refused(n: int, delta: float) -> None:
    with pytest.raises(ParameterError, match="at least 0 pairs"):
        most_allowed(n, delta)
