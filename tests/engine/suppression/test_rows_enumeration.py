"""Rows of a value with many categories, run on every world of small rows, against Bayes' rule over all data sets."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from engine.suppression.rates import Rates
from engine.suppression.rows import suppress_rows
from tests.oracles.suppression import Counts, Output, Row

pytestmark = pytest.mark.jit_off

EPSILON, DELTA = Fraction(4, 5), Fraction(4, 5)
ROWS = {
    "three of four origins": Row(6, (Fraction(2, 5), Fraction(3, 10), Fraction(1, 5))),
    "all origins": Row(6, (Fraction(1, 2), Fraction(3, 10), Fraction(1, 5))),
    "one origin": Row(8, (Fraction(1, 2),)),
    "rare ones first": Row(6, (Fraction(1, 10), Fraction(2, 5), Fraction(2, 5))),
}


def decider(row: Row, q: Fraction) -> Callable[[Counts], Output]:
    rates = Rates(
        numerator=np.array([share.numerator for share in row.shares]),
        denominator=np.array([share.denominator for share in row.shares]),
    )

    def decide(counts: Counts) -> Output:
        tried = counts[: len(row.shares)]
        found = suppress_rows([row.workers], [0, len(tried)], rates, tried, epsilon=EPSILON, decision_delta=q)
        return tuple(value if kept else None for value, kept in zip(tried, found.released, strict=True))

    return decide


@pytest.mark.parametrize("name", ROWS)
def test_rows_equal_the_twin_say_nothing_by_stars_and_keep_the_promise(name: str) -> None:
    row = ROWS[name]
    q = DELTA / len(row.shares)
    decide, by_output = decider(row, q), dict[Output, dict[Counts, Fraction]]()
    for counts, chance in row.worlds().items():
        by_output.setdefault(decide(counts), {})[counts] = chance
    not_private = Fraction(0)
    for output, weights in by_output.items():
        assert weights == row.given(output)  # the stars rule out no world that the values allow
        if row.largest_shift(weights) > EPSILON:
            not_private += sum(weights.values(), Fraction(0))
    assert not_private <= DELTA
    assert len(by_output) > 1


@pytest.mark.parametrize("name", ROWS)
def test_decisions_on_rows_are_those_of_the_definition(name: str) -> None:
    row = ROWS[name]
    q = DELTA / len(row.shares)
    decide = decider(row, q)
    for counts in list(row.worlds())[::9]:
        assert decide(counts) == row.exact(counts, EPSILON, q)
