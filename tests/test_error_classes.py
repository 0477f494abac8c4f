"""How `benchmarks.expected_errors` tells stated errors that are too small from chance: against simulated errors."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.error_classes import (
    LEAST,
    Asked,
    ClassErrors,
    Tally,
    class_errors,
    degrees_of_freedom,
    lasting_part,
    summary,
)


def simulated(
    n_counts: int, lasting: float, n_draws: int, times: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Errors of counts with a mean square of 1, a part of it the same in every draw: float64[times, draws, counts]."""
    rng = np.random.default_rng(12)
    same = rng.normal(size=(times, 1, n_counts)) * np.sqrt(lasting)
    return np.asarray(same + rng.normal(size=(times, n_draws, n_counts)) * np.sqrt(1.0 - lasting))


@pytest.mark.parametrize("lasting", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n_counts", [1, 3, 40])
def test_a_right_error_is_as_low_as_often_as_stated(n_counts: int, lasting: float) -> None:
    errors = simulated(n_counts, lasting, 3, 4_000)
    ratio = 1.0 / np.sqrt((errors**2).mean(axis=(1, 2)))
    degrees = degrees_of_freedom(np.ones(n_counts), 3, lasting)
    one = ClassErrors("1-2", n_counts, 1.0, 1.0, 1.0, degrees)
    for bound in (0.6, LEAST, 1.0):
        # Exact for parts of 0 and 1; 4,000 draws leave a standard error of 0.008.
        assert one.chance(bound) == pytest.approx((ratio <= bound).mean(), abs=0.03)


def test_one_count_falls_below_the_least_ratio_in_one_of_five_cases() -> None:
    assert degrees_of_freedom(np.ones(1), 3, 0.0) == 3.0
    one = ClassErrors("500 or more", 1, 0.7, 1.0, 1.0, 3.0)
    assert one.chance(LEAST) == pytest.approx(0.196, abs=1e-3)
    assert (one.is_met, one.is_telling, one.verdict) == (False, False, "may be chance")
    many = one._replace(n_counts=100, degrees=300.0)
    assert (many.is_telling, many.verdict) == (True, "understated")


def test_the_largest_of_several_counts_decides_how_many_there_seem_to_be() -> None:
    assert degrees_of_freedom(np.array([1.0, 1.0, 1.0]), 3, 1.0) == pytest.approx(3.0)
    assert degrees_of_freedom(np.array([1e6, 1.0, 1.0]), 3, 1.0) == pytest.approx(1.0, abs=1e-4)


def test_the_part_that_lasts_is_measured_in_the_further_draws() -> None:
    errors = simulated(2_000, 0.3, 8, 1)[0]
    assert lasting_part(errors) == pytest.approx(0.3, abs=0.04)
    assert lasting_part(np.zeros((3, 2))) == 0.0


def test_classes_are_counted_by_what_can_be_told() -> None:
    true = np.array([1.0] * 200 + [60.0])
    actual = np.where(np.arange(201) < 200, 1.0, 10.0) * np.ones((3, 1))
    stated = np.where(np.arange(201) < 200, 0.7, 9.0) * np.ones((3, 1))
    rows = class_errors(Asked(true, stated, actual, actual))
    assert [(row.name, row.n_counts, row.verdict) for row in rows] == [
        ("1-2", 200, "understated"),
        ("50-99", 1, "may be chance"),
    ]
    total, met, least = Tally.of(rows)
    assert (total, met) == (2, 0)
    assert least == pytest.approx(0.7)
    assert summary(rows).splitlines() == [
        "Stated at least the actual error: 0 of 2, least ratio 0.70.",
        "Of classes with enough counts: 0 of 1, least ratio 0.70.",
        "Understated, and not by chance: 1 of 2, least ratio 0.70.",
    ]
