"""What is drawn follows the exact laws: chi-square tests with the fixed test key.

Every test has a false-alarm rate of 1e-6; the key is fixed, so a test that passes goes on passing.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.mechanisms.dirichlet_multinomial import SyntheticPoints, synthesize
from tests.engine.worlds import KEY, one_table, same_synthesizers
from tests.oracles.synthesis import compositions, pruned_law

FALSE_ALARM = 1e-6
N_COPIES = 60_000


def observed_counts(drawn: SyntheticPoints, n_synthetic: int, n_points: int) -> dict[tuple[int, ...], int]:
    """How often each vector of synthetic counts was drawn."""
    points = drawn.synthetic_point.reshape(-1, n_synthetic)
    counts = np.stack([(points == point).sum(axis=1) for point in range(n_points)], axis=1)
    vectors, times = np.unique(counts, axis=0, return_counts=True)
    return {tuple(vector): int(time) for vector, time in zip(vectors.tolist(), times.tolist(), strict=True)}


def assert_follows(
    observed: dict[tuple[int, ...], int],
    law: dict[tuple[int, ...], Fraction],
) -> None:
    """Chi-square of observed vectors against an exact law; rare vectors are pooled."""
    assert set(observed) <= {counts for counts, probability in law.items() if probability > 0}
    n = sum(observed.values())
    common = [counts for counts, probability in law.items() if probability * n >= 10]
    expected = [float(law[counts]) * n for counts in common]
    seen = [observed.get(counts, 0) for counts in common]
    if n - sum(expected) > 1e-6 * n:
        expected.append(n - sum(expected))
        seen.append(n - sum(seen))
    scaled = np.array(expected) * (sum(seen) / sum(expected))
    assert len(seen) > 1
    assert stats.chisquare(seen, scaled).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("alphas", "workers", "n_synthetic"),
    [
        ([0.25, 1.0, 3.5], [0, 2, 2], 4),
        ([0.01, 0.02], [0], 5),
        ([2.0, 0.125, 0.125, 0.5], [], 3),
        ([0.5, 0.5], [0, 0, 1, 1, 1, 0, 0], 7),
    ],
)
def test_draws_follow_scipy_s_dirichlet_multinomial(
    alphas: list[float], workers: list[int], n_synthetic: int
) -> None:
    n_points = len(alphas)
    weights = [round(alpha * WEIGHT_UNITS) for alpha in alphas]
    chosen = same_synthesizers(N_COPIES, workers, n_synthetic, 1, first=1_000_000 * n_points)
    drawn = synthesize(KEY, chosen, one_table(weights), threads=2)
    parameters = np.array(weights) / WEIGHT_UNITS + np.bincount(workers, minlength=n_points)
    law = {
        counts: Fraction(float(stats.dirichlet_multinomial.pmf(counts, parameters, n_synthetic)))
        for counts in compositions(n_synthetic, n_points)
    }
    assert_follows(observed_counts(drawn, n_synthetic, n_points), law)


@pytest.mark.parametrize(
    ("alphas", "workers", "n_synthetic", "retention"),
    [
        ([0.5, 0.5, 0.5], [0, 1], 3, [0.3, 0.7, 0.1]),
        ([0.1, 2.0, 0.4], [2], 4, [0.5, 0.025, 0.9]),
        ([1.0, 1.0, 1.0, 1.0], [3], 2, [0.2, 1.0, 0.6, 0.2]),
    ],
)
def test_pruned_draws_follow_the_exact_mixture(
    alphas: list[float], workers: list[int], n_synthetic: int, retention: list[float]
) -> None:
    weights = [round(alpha * WEIGHT_UNITS) for alpha in alphas]
    thresholds = [round(share * RETENTION_UNITS) for share in retention]
    chosen = same_synthesizers(N_COPIES, workers, n_synthetic, 1, first=50_000_000 + len(workers))
    drawn = synthesize(KEY, chosen, one_table(weights, thresholds), threads=2)
    law = pruned_law(workers, n_synthetic, weights, thresholds)
    assert sum(law.values()) == 1
    assert_follows(observed_counts(drawn, n_synthetic, len(alphas)), law)


@pytest.mark.parametrize(
    "threshold",
    [
        1 << 24,
        (1 << 24) + 1,
        0x80000000,
        0x80000001,
        0x7FFFFFFF,
        0xFFFFFFFF,
        107374183,
        1 << 26,
        (1 << 26) + 1,
    ],
)
def test_retention_has_its_probability(threshold: int) -> None:
    # One real worker in point 0 with next to no weight against a huge prior in point 1: the draw says
    # whether point 1 stayed.
    chosen = same_synthesizers(N_COPIES, [0], 1, 1, first=threshold >> 1)
    weight = 1 << 60
    drawn = synthesize(KEY, chosen, one_table([0, weight], [RETENTION_UNITS, threshold]), threads=2)
    stayed = int((drawn.synthetic_point == 1).sum())
    assert stats.binomtest(stayed, N_COPIES, threshold / RETENTION_UNITS).pvalue > FALSE_ALARM


def test_neighboring_destinations_and_segments_are_independent() -> None:
    chosen = same_synthesizers(N_COPIES, [], 1, WEIGHT_UNITS)
    points = synthesize(KEY, chosen, one_table([0, 0, 0])).synthetic_point
    table = np.zeros((3, 3), np.int64)
    np.add.at(table, (points[0::2], points[1::2]), 1)
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM
