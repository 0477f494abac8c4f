"""Rows with many origins: every decision follows from listing all tables of a small row; state, breach and refusals."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ParameterError
from engine.suppression.cells import suppress_cells
from engine.suppression.rates import Rates
from engine.suppression.rows import expected_rows, suppress_rows
from engine.suppression.suppressed import Decided
from tests.engine.examples import examples
from tests.engine.suppression.examples import rates_of

HALF = Fraction(1, 2)


def counts_of(people: int, n: int) -> Iterator[tuple[int, ...]]:
    """Every way of dividing people among n origins."""
    if n == 1:
        yield (people,)
        return
    for first in range(people + 1):
        for others in counts_of(people - first, n - 1):
            yield (first, *others)


class PlainRow:
    """Every table of one row with its chance, and what released counts leave of them."""

    def __init__(self, people: int, shares: list[Fraction]) -> None:
        rest = 1 - sum(shares)
        self.people = people
        self.shares = [*shares, rest] if rest else shares
        self.tables = {counts: self._chance(counts) for counts in counts_of(people, len(self.shares))}

    def _chance(self, counts: tuple[int, ...]) -> Fraction:
        chance = Fraction(math.factorial(self.people))
        for count, share in zip(counts, self.shares, strict=True):
            chance *= share**count / math.factorial(count)
        return chance

    def left(self, released: dict[int, int]) -> dict[tuple[int, ...], Fraction]:
        tables = {
            counts: chance
            for counts, chance in self.tables.items()
            if all(counts[at] == value for at, value in released.items())
        }
        whole = sum(tables.values())
        return {counts: chance / whole for counts, chance in tables.items()}

    def is_safe(self, released: dict[int, int], epsilon: Fraction) -> bool:
        """Whether everyone's posterior, for every origin, is within epsilon of the prior."""
        if self.people == 0:
            return True
        left = self.left(released)
        posteriors = [
            sum(chance * counts[at] for counts, chance in left.items()) / self.people
            for at in range(len(self.shares))
        ]
        return all(
            abs(1 - posterior / share) <= epsilon
            for posterior, share in zip(posteriors, self.shares, strict=True)
        )

    def decide(self, values: list[int], epsilon: Fraction, q: Fraction) -> list[bool]:
        """The exact suppressor by the definitions, without a stop at a breach."""
        released: dict[int, int] = {}
        decisions = []
        for at in range(len(values)):
            unsafe = Fraction(0)
            chances: dict[int, Fraction] = {}
            for counts, chance in self.left(released).items():
                chances[counts[at]] = chances.get(counts[at], Fraction(0)) + chance
            for value, chance in chances.items():
                if not self.is_safe({**released, at: value}, epsilon):
                    unsafe += chance
            decisions.append(unsafe <= q)
            if unsafe <= q:
                released[at] = values[at]
        return decisions


def decide(people: int, shares: list[Fraction], values: list[int], epsilon: Fraction, q: Fraction) -> Decided:
    return suppress_rows(
        [people], [0, len(shares)], rates_of(*shares), values, epsilon=epsilon, decision_delta=q
    )


@pytest.mark.jit_off
@given(
    st.integers(0, 7),
    st.lists(st.integers(1, 4), min_size=2, max_size=4),
    st.booleans(),
    st.sampled_from([Fraction(1, 5), HALF, Fraction(4, 5), Fraction(19, 20)]),
    st.sampled_from([Fraction(1, 10), Fraction(2, 5), Fraction(9, 10)]),
    st.integers(0, 99),
)
@settings(max_examples=examples(150), deadline=None)
def test_small_rows_are_decided_as_the_definitions_say(
    people: int, weights: list[int], all_tried: bool, epsilon: Fraction, q: Fraction, seed: int
) -> None:
    shares = [Fraction(weight, sum(weights)) for weight in weights]
    row = PlainRow(people, shares)
    drawn = np.random.default_rng(seed).multinomial(people, [float(share) for share in shares])
    tried = len(shares) if all_tried else len(shares) - 1
    values = drawn[:tried].tolist()
    decided = decide(people, shares[:tried], values, epsilon, q)
    wanted = row.decide(values, epsilon, q)
    if decided.breach < 0:
        assert decided.released.tolist() == wanted
    else:
        stop = decided.breach + 1
        assert decided.released[:stop].tolist() == wanted[:stop]
        assert not decided.released[stop:].any()
    released = {at: values[at] for at in np.flatnonzero(decided.released).tolist()}
    assert row.is_safe(released, epsilon) == (decided.breach < 0)


@pytest.mark.parametrize(
    ("people", "shares", "epsilon", "delta"),
    [
        (9, [Fraction(1, 3), Fraction(1, 3)], Fraction(9, 10), Fraction(1, 2)),
        (14, [Fraction(1, 2), Fraction(1, 5)], Fraction(4, 5), Fraction(1, 2)),
        (11, [Fraction(2, 5), Fraction(1, 5), Fraction(2, 5)], Fraction(9, 10), Fraction(9, 10)),
        (8, [Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)], Fraction(19, 20), Fraction(9, 10)),
    ],
)
def test_stars_move_no_belief_and_breaches_are_as_rare_as_promised(
    people: int, shares: list[Fraction], epsilon: Fraction, delta: Fraction
) -> None:
    row = PlainRow(people, shares)
    n = len(shares)
    outputs: dict[tuple[int | None, ...], dict[tuple[int, ...], Fraction]] = {}
    breach = Fraction(0)
    for counts, chance in row.tables.items():
        decided = decide(people, shares, list(counts[:n]), epsilon, delta / n)
        shown = zip(counts, decided.released.tolist(), strict=False)
        output = tuple(count if released else None for count, released in shown)
        outputs.setdefault(output, {})[counts] = chance
        breach += chance if decided.breach >= 0 else 0
    assert 0 < breach <= delta
    assert len(outputs) > 3
    for output, tables in outputs.items():
        whole = sum(tables.values())
        left = {counts: chance / whole for counts, chance in tables.items()}
        assert left == row.left({at: count for at, count in enumerate(output) if count is not None})


def test_the_first_origin_of_a_row_is_decided_as_a_cell() -> None:
    for people, share in ((80, Fraction(2, 5)), (60, Fraction(1, 10)), (10, Fraction(9, 10)), (0, HALF)):
        q = Fraction(1, 1000)
        row = decide(people, [share], [round(people * share)], HALF, q)
        cell = suppress_cells(
            [people], rates_of(share), [round(people * share)], epsilon=HALF, decision_delta=q
        )
        assert row.released.tolist() == cell.released.tolist()
        assert (row.low[0], row.high[0]) == (cell.low[0], cell.high[0])


def test_shares_with_several_denominators_are_those_with_one() -> None:
    shares = [Fraction(1, 3), Fraction(1, 4), Fraction(1, 7), Fraction(1, 84)]
    values = [350, 240, 140, 12]
    several = decide(1000, shares, values, HALF, Fraction(1, 100))
    one = suppress_rows(
        [1000],
        [0, 4],
        Rates(numerator=np.array([28, 21, 12, 1]), denominator=np.full(4, 84)),
        values,
        epsilon=HALF,
        decision_delta=Fraction(1, 100),
    )
    assert several.released.tolist() == one.released.tolist() == [True, True, True, False]
    assert several.low.tolist() == one.low.tolist()
    assert several.high.tolist() == one.high.tolist()


@pytest.mark.jit_off
def test_a_breach_stops_all_later_rows() -> None:
    rates = rates_of(*[HALF, Fraction(1, 4)] * 3)
    decided = suppress_rows(
        [400, 400, 400],
        [0, 2, 4, 6],
        rates,
        [200, 100, 20, 100, 200, 100],
        epsilon=HALF,
        decision_delta=Fraction(1, 1000),
    )
    assert decided.released.tolist() == [True, True, True, False, False, False]
    assert decided.breach == 2


def test_the_pattern_does_not_depend_on_suppressed_counts() -> None:
    shares = [HALF, Fraction(1, 500), Fraction(1, 4), Fraction(1, 400)]
    patterns = {
        tuple(decide(3000, shares, [1500, few, 750, 60 - few], HALF, Fraction(1, 500)).released)
        for few in range(61)
    }
    assert patterns == {(True, False, True, False)}


def test_a_dry_run_takes_counts_as_expected() -> None:
    random = np.random.default_rng(8)
    shares = random.dirichlet(np.r_[np.ones(4), np.full(16, 0.1)], 30)
    units = np.maximum((shares[:, :15] * 2**20).astype(np.int64), 1)
    people = random.integers(10, 20_000, 30)
    rates = Rates(numerator=units.ravel(), denominator=np.full(units.size, 2**20))
    ptr = np.arange(31) * 15
    q = Fraction(1, 4500)
    chances = np.column_stack((units, 2**20 - units.sum(axis=1))) / 2**20
    drawn = [random.multinomial(b, row)[:15] for b, row in zip(people, chances, strict=True)]
    decided = suppress_rows(people, ptr, rates, np.concatenate(drawn), epsilon=HALF, decision_delta=q)
    dry = expected_rows(people, ptr, rates, epsilon=HALF, decision_delta=q)
    assert decided.breach == -1
    assert 50 < dry.sum() < dry.size
    assert np.mean(decided.released == dry) > 0.95


def test_a_dry_run_s_counts_decide_as_given_counts_do() -> None:
    shares = [Fraction(1, 3), Fraction(1, 4), Fraction(1, 300), Fraction(1, 5)]
    # 333, 250 of 667 left at 1/4 of 2/3, and 1/5 of 5/12 of the 417 left after that.
    expected = expected_rows([1000], [0, 4], rates_of(*shares), epsilon=HALF, decision_delta=Fraction(1, 100))
    given_counts = decide(1000, shares, [333, 250, 3, 200], HALF, Fraction(1, 100))
    assert expected.tolist() == given_counts.released.tolist() == [True, True, False, True]


def test_input_that_makes_no_row_is_refused_in_one_line() -> None:
    half, q = rates_of(HALF, HALF), Fraction(1, 10)
    refusals = [
        ([10], [0, 2], half, [6, 5], "the counts of row 0 exceed its 10 workers"),
        ([10], [0, 2], half, [11, 0], "exceeds its 10 people"),
        ([10], [0, 2], rates_of(HALF, Fraction(2, 3)), [1, 1], "shares of row 0 add up to more than 1"),
        ([10, 10], [0, 2], half, [1, 1], "2 values of row_people for 1 rows"),
        ([10], [0, 1], half, [1, 1], "row_ptr ends at 1"),
        ([10], [0, 2], half, [1], "1 values for 2 cells"),
        ([10**8 + 1], [0, 2], half, [1, 1], "allowed are 0 to 100000000"),
    ]
    for people, ptr, rates, values, words in refusals:
        with pytest.raises(ParameterError, match=words) as caught:
            suppress_rows(people, ptr, rates, values, epsilon=HALF, decision_delta=q)
        assert "\n" not in str(caught.value)
