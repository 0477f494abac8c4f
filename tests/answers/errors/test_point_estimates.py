"""Estimates of the real workers of each point of a large table: against the exact law of the mechanism."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import chi2

from mapapp.answers.errors.certificate_terms import ExponentialTerms
from mapapp.answers.errors.drawn_counts import undo_cleaning
from mapapp.answers.errors.exponential_noise import DrawnTables, ExponentialNoise, point_estimates
from mapapp.answers.errors.support_prior import TractPrior
from tests.answers.errors.test_exponential_mechanism import certificate_of, stated

FloatArray = npt.NDArray[np.float64]
REAL = np.array([90, 40, 25, 12, 8, 5, 4, 3, 2, 2] + [1] * 10 + [0] * 40)
INVERSE = 4
UNITS = 1 << 20


def weights(real: int, theta: float, v: float, largest: int) -> FloatArray:
    """Law of the released workers of a point, if those of other points do not matter."""
    shown = np.arange(largest)
    weight: FloatArray = np.where(
        shown < real, (theta / v) ** np.maximum(real - shown, 0), v ** np.maximum(shown - real, 0)
    )
    return np.asarray(weight / weight.sum())


def one_table(point: Any, workers: Any) -> DrawnTables:
    return DrawnTables(np.zeros(workers.size, dtype=np.int64), point, workers, np.array([workers.sum()]))


def released(number: int) -> Any:
    """Tables drawn by the law theta^(workers who moved), by rejection, with a fixed seed."""
    generator, theta, v = np.random.default_rng(12), 1 / INVERSE, 0.35
    laws = [np.cumsum(weights(real, theta, v, 200)) for real in REAL]
    found: list[Any] = []
    while len(found) < number:
        chance = generator.random((2000, REAL.size))
        drawn = np.stack(
            [np.searchsorted(law, each) for law, each in zip(laws, chance.T, strict=True)], axis=1
        )
        found += list(drawn[drawn.sum(axis=1) == REAL.sum()])
    return np.stack(found[:number])


@pytest.fixture(scope="module")
def draws() -> Any:
    return released(300)


@pytest.mark.parametrize("n_empty", [50, 1000, 4000])
def test_estimates_and_their_variance_are_right_on_average_whatever_is_real(n_empty: int) -> None:
    """One table shows every number of workers that a point may show."""
    theta, shown = 0.2, np.arange(1, 400)
    found = point_estimates(shown.size + n_empty, np.array([theta]), one_table(shown, shown))
    estimate = np.append(found.empty, found.workers)
    variance = np.append(found.empty_variance, found.variance)
    assert found.workers.sum() + n_empty * found.empty[0] == pytest.approx(shown.sum())
    for real in (0, 1, 2, 7, 40):
        chance = weights(real, theta, found.v[0], estimate.size)
        assert chance @ estimate == pytest.approx(real, abs=1e-9)
        assert chance @ variance == pytest.approx(chance @ estimate**2 - real**2, rel=1e-9)
    assert np.all(variance > 0)


def test_of_drawn_tables_the_estimates_have_the_real_workers_as_their_mean(draws: Any) -> None:
    """Within four standard errors, for single points and for sets of them; the number v comes from each table."""
    estimates = np.zeros(draws.shape)
    for row, table in zip(estimates, draws, strict=True):
        point = np.flatnonzero(table)
        found = point_estimates(REAL.size, np.array([1 / INVERSE]), one_table(point, table[point]))
        row[:] = found.empty[0]
        row[point] = found.workers
        assert found.is_bounded[0]
    for points in (slice(0, 1), slice(0, 3), slice(3, 10), slice(10, 20), slice(20, 60), slice(35, 45)):
        total = estimates[:, points].sum(axis=1)
        error = total.std() / np.sqrt(len(draws))
        assert abs(total.mean() - REAL[points].sum()) < 4 * error


def test_the_error_stated_for_a_full_point_is_that_of_its_law() -> None:
    """It is far below one worker, so most draws leave the point as it is, and a few draws say little about the error.

    As in Rhode Island's largest workplace tract at epsilon 6.5: 536 of 556 points are occupied, and flows of 100 or
    more are stated at 0.34. Three draws of 63 such flows show 0.45 or more, as three did, in 1% of cases. The
    chi-square law of normal errors would allow it in less than one case of a million.
    """
    theta, full = 0.00266, np.full(536, 100)
    found = point_estimates(556.0, np.array([theta]), one_table(np.arange(full.size), full))
    squares = np.square(np.arange(200) - 100)
    law = weights(100, theta, found.v[0], 200)
    error = found.variance[0] + (found.workers[0] - 100.0) ** 2
    assert error == pytest.approx(law @ squares, rel=1e-6)
    assert np.sqrt(error) == pytest.approx(0.34, abs=0.005)
    n, sums = 189, np.ones(1)
    of_one = np.bincount(np.minimum(squares, 199), law)
    for _ in range(n):
        sums = np.convolve(sums, of_one)[:200]
    as_large = 1.0 - sums[: round(n * 0.45**2)].sum()
    assert as_large == pytest.approx(0.01, abs=0.003)
    assert chi2.sf(n * 0.45**2 / error, n) < 1e-6


@pytest.mark.parametrize("inside", [range(3), range(3, 10), range(10, 20), range(20, 60), range(0, 60, 2)])
def test_the_error_stated_for_a_count_of_a_large_table_is_no_less_than_what_occurs(
    inside: range, draws: Any
) -> None:
    """Large flows lose a bounded number of workers, however large they are.

    The prior is uniform and expects 11 workers in the first three points, which have 155, so it hides some of the loss.
    """
    rows = [{"n_support": REAL.size, "inverse_theta": " ".join([str(INVERSE * UNITS)] * 21)}]
    certificate = certificate_of("exponential", {"rows": rows}, unit="tract")
    real = REAL[list(inside)].sum()
    said = [stated(certificate, [tuple(map(int, table))], set(inside)).error for table in draws[:40]]
    actual = draws[:, list(inside)].sum(axis=1) - real
    assert 0.8 < np.sqrt(np.mean(np.square(said)) / np.mean(np.square(actual))) < 2.0


def test_a_point_without_bound_is_left_to_the_prior() -> None:
    """Few workers over many points at a small epsilon: a point may lose any number of them."""
    found = point_estimates(400.0, np.array([0.5]), one_table(np.arange(3), np.array([5, 3, 2])))
    assert not found.is_bounded[0]


def test_undoing_cleaning_gives_the_noise_back_to_the_points_that_lost_it() -> None:
    """Near points show all workers, and no far point any: a twentieth of a worker comes back to each far point."""
    near, far = 20, 180
    k = near + far
    away = np.append(np.full(near, 2.0), np.full(far, 50.0))
    nothing = np.zeros(0)
    prior = TractPrior(
        point=np.arange(k, dtype=np.int32),
        people=nothing,
        gravity=nothing,
        share=np.full(k, 1 / k),
        retention=np.ones(k),
        stays=np.ones(k),
        pooled=0.0,
        away_mi=away,
    )
    terms = ExponentialTerms(
        unit="tract", n_support=np.array([k]), theta=np.full((1, 21), 1 / 60), price=np.ones((1, 21))
    )
    noise = ExponentialNoise(terms)
    cleaned = one_table(np.arange(near), np.full(near, 50))
    before, cleaning = undo_cleaning(cleaned, noise, prior)
    freed = noise.of_tables(before, prior.n_points).freed[0]
    assert freed > noise.of_tables(cleaned, prior.n_points).freed[0] * 1.05
    shown = point_estimates(float(k), np.array([1 / 60]), before)
    np.testing.assert_allclose(shown.workers[before.point >= near], 0.0, atol=1e-3)
    # A fraction of a worker is one worker or nobody here, but may be several under the law.
    np.testing.assert_allclose(cleaning.change[near:], -freed / k, rtol=0.1)
    assert cleaning.change.sum() == pytest.approx(0, abs=1e-9)
    assert before.workers.sum() == pytest.approx(1000)
