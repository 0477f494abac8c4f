"""What is missing after candidates failed: cases by hand, exact shares of the model, and draws in proportion."""

from collections import Counter
from fractions import Fraction

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from engine.errors import ParameterError
from engine.records.structure import Structure
from engine.records.tables import Codes, Model
from engine.records.topping_up import TopUp, count_groups, draw_top_up, missing_sums, missing_workers, top_up
from engine.streams import SecretKey
from tests.oracles.records_model import record_chance

KEY = SecretKey.for_tests()
FALSE_ALARM = 1e-6
STRUCTURE = Structure(domain=(2, 3, 2), parents=((), (0,), (1,)))
WEIGHTS = [[[1, 3]], [[1, 1, 2], [1, 0, 3]], [[1, 1], [2, 1], [1, 4]]]
MODEL = Model.of_weights(STRUCTURE, [np.array(table) for table in WEIGHTS])
NUMBERS = TopUp(
    n_total=64,
    n_tried=64,
    n_seeds=80,
    min_plausible_seeds=4,
    threshold_epsilon=Fraction(1, 2),
    forced_fail=Fraction(1, 9),
)


def records(groups: dict[tuple[int, int], int]) -> Codes:
    return np.array([(*group, 0) for group, n in groups.items() for _ in range(n)], dtype=np.int32).reshape(
        -1, 3
    )


def missing(released: Codes, kept: int, numbers: TopUp) -> npt.NDArray[np.int64]:
    return missing_workers(MODEL, count_groups(MODEL, released, kept), kept, numbers)


def workers(amounts: object) -> list[float]:
    array = np.asarray(amounts, dtype=np.float64)
    return [round(float(one), 9) for one in array / (2**61 // 64)]


@pytest.mark.jit_off
def test_complete_groups_are_scaled_up_and_others_filled_to_the_model() -> None:
    # (4 + 3 / (1/2)) (1 - 1/9) 64 / 80 = 64/9, so that 8 records are complete.
    assert NUMBERS.complete_from == 8
    released = records({(0, 0): 8, (0, 1): 7, (1, 2): 1})
    # Of 64 workers the model has 4, 4, 8, 12, 0, and 36 in the six groups.
    assert workers(missing(released, 2, NUMBERS)) == [1, 0, 8, 12, 0, 35]


def test_a_larger_total_raises_targets_and_complete_groups_alike() -> None:
    twice = TopUp(
        n_total=128,
        n_tried=64,
        n_seeds=80,
        min_plausible_seeds=4,
        threshold_epsilon=Fraction(1, 2),
        forced_fail=Fraction(1, 9),
    )
    released = records({(0, 0): 8, (0, 1): 7})
    found = np.asarray(missing(released, 2, twice)) / (2**61 // 128)
    assert found.round(9).tolist() == [10, 1, 16, 24, 0, 72]


def test_shares_of_groups_are_the_model_s_exactly() -> None:
    none = records({})
    for kept in (1, 2, 3):
        amounts = missing(none, kept, NUMBERS)
        whole = 2**61 // 64 * 64
        for group, amount in zip(np.ndindex(STRUCTURE.domain[:kept]), amounts.tolist(), strict=True):
            chance = sum(
                (
                    record_chance(STRUCTURE, WEIGHTS, (*group, *rest), 0)
                    for rest in np.ndindex(STRUCTURE.domain[kept:])
                ),
                Fraction(0),
            )
            assert whole * chance - kept <= amount <= whole * chance


@pytest.mark.jit_off
def test_the_release_has_its_total_and_threads_do_not_matter() -> None:
    released = records({(0, 0): 8, (0, 1): 7})
    one = top_up(MODEL, released, 2, NUMBERS, key=KEY)
    assert one.shape == (49, 3)
    assert (top_up(MODEL, released, 2, NUMBERS, key=KEY, threads=2) == one).all()
    everything = records({(1, 2): 64})
    assert top_up(MODEL, everything, 2, NUMBERS, key=KEY).shape == (0, 3)


def test_parts_are_the_same_as_all_at_once() -> None:
    released = records({(0, 0): 8, (0, 1): 7})
    parts = released[:4], released[4:5], released[5:]
    counts = sum((count_groups(MODEL, part, 2) for part in parts), np.zeros(6, dtype=np.int64))
    assert (counts == count_groups(MODEL, released, 2)).all()
    sums = missing_sums(MODEL, counts, 2, NUMBERS)
    drawn = [
        draw_top_up(MODEL, sums, 2, n, first=first, key=KEY) for first, n in ((0, 20), (20, 1), (21, 28))
    ]
    assert (np.concatenate(drawn) == top_up(MODEL, released, 2, NUMBERS, key=KEY)).all()


def test_all_candidates_may_have_failed() -> None:
    many = TopUp(
        n_total=20_000,
        n_tried=100,
        n_seeds=100,
        min_plausible_seeds=90,
        threshold_epsilon=Fraction(1, 100),
        forced_fail=Fraction(1, 50),
    )
    drawn = Counter(map(tuple, top_up(MODEL, records({}), 2, many, key=KEY).tolist()))
    wanted = {r: record_chance(STRUCTURE, WEIGHTS, r, 0) for r in np.ndindex(STRUCTURE.domain)}
    likely = [record for record, chance in wanted.items() if chance]
    assert set(drawn) <= set(likely)
    expected = [float(20_000 * wanted[record]) for record in likely]
    assert stats.chisquare([drawn[record] for record in likely], expected).pvalue > FALSE_ALARM


def test_draws_are_in_proportion_to_what_is_missing() -> None:
    numbers = TopUp(
        n_total=64_000,
        n_tried=64_000,
        n_seeds=80_000,
        min_plausible_seeds=4_000,
        threshold_epsilon=Fraction(1, 2),
        forced_fail=Fraction(1, 9),
    )
    released = records({(0, 0): 8_000, (0, 1): 2_800, (1, 2): 1_000})
    wanted = missing(released, 2, numbers) / (2**61 // 64_000)
    assert wanted.round(6).tolist() == [1_000, 1_200, 8_000, 12_000, 0, 35_000]
    drawn = top_up(MODEL, released, 2, numbers, key=KEY)
    seen = np.bincount(drawn[:, 0] * 3 + drawn[:, 1], minlength=6)
    assert seen[4] == 0
    likely = wanted > 0
    expected = wanted[likely] / wanted.sum() * drawn.shape[0]
    assert stats.chisquare(seen[likely], expected).pvalue > FALSE_ALARM


def test_faulty_numbers_are_refused() -> None:
    with pytest.raises(ParameterError, match="at least 1"):
        TopUp(
            n_total=0,
            n_tried=1,
            n_seeds=1,
            min_plausible_seeds=1,
            threshold_epsilon=Fraction(1),
            forced_fail=Fraction(0),
        )
    with pytest.raises(ParameterError, match="keep fewer"):
        missing(records({}), 4, NUMBERS)
