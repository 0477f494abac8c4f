"""Histogram mechanisms follow their exact laws, and their promises hold by brute force.

Chi-square tests have a false-alarm rate of 1e-6 each; the key is fixed, so a test that passes goes on passing. The
promises are checked in fractions: with e^(-epsilon/2) = q a fraction, so are all chances and e^epsilon = 1/q².
"""

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

from engine.accountant.enumerator import compositions, exact_failure, largest_log_ratio
from engine.comparison.laplace import laplace_histogram, laplace_noise
from engine.comparison.plug_in import plug_in_multinomial
from engine.comparison.sparse import least_threshold, sparse_histogram
from engine.kernels.arrays import Floats
from engine.mechanisms.chances import exponential_bounds
from tests.engine.test_synthesis_law import FALSE_ALARM, assert_follows, observed_counts
from tests.engine.worlds import KEY, one_table, same_synthesizers
from tests.golden import golden
from tests.oracles.mechanisms import (
    clamped_law,
    excess,
    exponential,
    joint_law,
    moved,
    multinomial_law,
    noise_law,
    output_law,
    published_law,
)

N_COPIES = 40_000
QS = [Fraction(1, 3), Fraction(7, 10), Fraction(1, 20)]


def tables(n: int, k: int) -> list[tuple[int, ...]]:
    return [tuple(table) for table in compositions(n, k).tolist()]


def counted(workers: list[int], k: int) -> list[int]:
    return [workers.count(point) for point in range(k)]


@pytest.mark.parametrize("rate", ["0.02", "0.4", "1", "2.5"])
def test_noise_is_discrete_laplace(rate: str) -> None:
    values = laplace_noise(KEY, 77, 1, rate=rate, count=200_000)
    q = math.exp(-float(Fraction(rate)))
    reach = max(1, int(math.log(values.size / 40) / float(Fraction(rate))) - 2)
    expected = [(1 - q) / (1 + q) * q ** abs(z) for z in range(-reach, reach + 1)]
    seen = [int((values == z).sum()) for z in range(-reach, reach + 1)]
    seen += [int((values < -reach).sum()), int((values > reach).sum())]
    expected += [q ** (reach + 1) / (1 + q)] * 2
    assert stats.chisquare(seen, np.array(expected) * values.size).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("workers", "n_synthetic", "prior", "epsilon"),
    [([0, 0, 1], 3, [1, 2, 4], "3"), ([1], 2, [5, 1, 1], "2.4"), ([0, 1, 1, 1, 1], 8, [1, 1], "6")],
)
def test_the_laplace_sanitizer_follows_its_law(
    workers: list[int], n_synthetic: int, prior: list[int], epsilon: str
) -> None:
    top = 14
    q = Fraction(float(exponential(Fraction(epsilon) / 2)))
    chosen = same_synthesizers(N_COPIES, workers, n_synthetic, 1, first=2_000_000)
    drawn = laplace_histogram(KEY, chosen, one_table(prior), epsilon=epsilon, threads=2)
    each = [
        [Fraction(float(p)) for p in clamped_law(count, q, top)] for count in counted(workers, len(prior))
    ]
    shares = [Fraction(weight, sum(prior)) for weight in prior]
    law = output_law(joint_law(each), n_synthetic, shares, fills_up=False)
    # Counts of `top` or more stand for `top`: rarer than what the test can see.
    assert max(float(part[-1]) for part in each) < 0.1 / N_COPIES
    assert_follows(observed_counts(drawn, n_synthetic, len(prior)), law)


@pytest.mark.parametrize(
    ("workers", "n_synthetic", "prior", "epsilon", "delta"),
    [
        ([0, 0, 1], 3, [1, 2, 4], "3", "0.3"),
        ([1, 1, 1, 1, 2], 3, [5, 1, 1], "4", "0.05"),
        ([], 3, [5, 1, 1], "2", "0.1"),
    ],
)
def test_the_sparse_histogram_follows_its_law(
    workers: list[int], n_synthetic: int, prior: list[int], epsilon: str, delta: str
) -> None:
    q = Fraction(float(exponential(Fraction(epsilon) / 2)))
    threshold = least_threshold(epsilon, delta).least
    chosen = same_synthesizers(N_COPIES, workers, n_synthetic, 1, first=3_000_000)
    drawn = sparse_histogram(KEY, chosen, one_table(prior), epsilon=epsilon, delta=delta, threads=2)
    each = [
        [Fraction(float(p)) for p in published_law(count, q, threshold, 16)]
        for count in counted(workers, len(prior))
    ]
    shares = [Fraction(weight, sum(prior)) for weight in prior]
    law = output_law(joint_law(each), n_synthetic, shares, fills_up=True)
    assert_follows(observed_counts(drawn, n_synthetic, len(prior)), law)


@pytest.mark.parametrize(("workers", "prior"), [([0, 0, 2, 1, 0], [1, 1, 1]), ([], [1, 5, 2])])
def test_the_plug_in_follows_its_law(workers: list[int], prior: list[int]) -> None:
    chosen = same_synthesizers(N_COPIES, workers, 3, 1, first=4_000_000)
    drawn = plug_in_multinomial(KEY, chosen, one_table(prior), threads=2)
    weights = counted(workers, 3) if workers else prior
    law = multinomial_law(3, [Fraction(weight, sum(weights)) for weight in weights])
    assert_follows(observed_counts(drawn, 3, 3), {counts: chance for counts, chance in law.items() if chance})


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize(("n", "k"), [(1, 2), (4, 2), (2, 3), (3, 3)])
def test_noise_on_every_point_is_within_epsilon_and_reaches_it(q: Fraction, n: int, k: int) -> None:
    laws = {table: joint_law([clamped_law(count, q, n + 3) for count in table]) for table in tables(n, k)}
    worst = Fraction(0)
    for table, law in laws.items():
        assert sum(law.values()) == 1
        for other in moved(table):
            worst = max(worst, *(chance / laws[other][values] for values, chance in law.items()))
    assert worst == 1 / q**2


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize(("n", "m", "k"), [(1, 2, 2), (3, 3, 2), (2, 1, 3)])
def test_the_laplace_sanitizer_s_output_is_within_epsilon(q: Fraction, n: int, m: int, k: int) -> None:
    # Noisy counts end at 9 here, with the chance of more on 9: coarser, so within epsilon all the same.
    shares = [Fraction(1, k)] * k
    laws = {
        table: output_law(joint_law([clamped_law(count, q, 9) for count in table]), m, shares, fills_up=False)
        for table in tables(n, k)
    }
    for table, law in laws.items():
        assert sum(law.values()) == 1
        assert all(excess(law, laws[other], 1 / q**2) == 0 for other in moved(table))


@pytest.mark.parametrize("q", QS)
@pytest.mark.parametrize(("n", "k"), [(1, 2), (4, 2), (2, 3), (3, 3)])
def test_a_sparse_histogram_s_delta_is_exactly_the_chance_of_a_worker_alone(
    q: Fraction, n: int, k: int
) -> None:
    for threshold in (1, 2, 4):
        chance = q ** (threshold - 1) / (1 + q)
        laws = {
            table: joint_law([published_law(count, q, threshold, n + threshold) for count in table])
            for table in tables(n, k)
        }
        pairs = [(table, other) for table in laws for other in moved(table)]
        assert max(excess(laws[one], laws[other], 1 / q**2) for one, other in pairs) == chance
        outputs = {
            table: output_law(law, 2, [Fraction(1, k)] * k, fills_up=True) for table, law in laws.items()
        }
        assert max(excess(outputs[one], outputs[other], 1 / q**2) for one, other in pairs) <= chance


def test_a_sparse_histogram_s_delta_is_no_failure_probability() -> None:
    # Definition 6 asks how often some worker is given away: two alone in their points, twice as often.
    q, threshold = Fraction(1, 3), 3
    outputs = list(product(range(7), repeat=2))
    laws = [joint_law([published_law(count, q, threshold, 6) for count in table]) for table in tables(2, 2)]
    chances = np.array([[float(law[values]) for values in outputs] for law in laws])
    failure = exact_failure(compositions(2, 2), chances, math.log(9) + 1e-9)
    assert failure.probability > 1.5 * float(q ** (threshold - 1) / (1 + q))


def test_the_plug_in_promises_nothing() -> None:
    laws = np.array(
        [
            [float(law[output]) for output in tables(2, 2)]
            for law in (multinomial_law(2, [Fraction(count, 3) for count in table]) for table in tables(3, 2))
        ]
    )
    assert largest_log_ratio(compositions(3, 2), laws) == math.inf


def clamped_transition(noise: Callable[[int], float], n: int) -> Floats:
    """P10's two categories: noise on the first count, clamped to 0 .. n; the second is what is left of n."""
    reach = 60
    matrix = np.zeros((n + 1, n + 1))
    for count in range(n + 1):
        for z in range(-reach, reach + 1):
            matrix[count, min(max(count + z, 0), n)] += noise(z)
    return matrix


def test_p10_s_table_is_rounded_laplace_noise_on_one_count() -> None:
    """Scale 1/epsilon, not the 2/epsilon printed: with n public and two categories one count says it all."""
    printed = np.array(golden("pdp")["p10_laplace_transition_eps2"])

    def power(rate: float) -> float:
        return exponential_bounds(Fraction(rate), 200)[0] / 2**200

    def rounded(z: int) -> float:
        # P(|X - z| < 1/2) of Laplace noise with P(|X| > x) = e^(-2x)
        return 1 - power(1) if z == 0 else (power(2 * abs(z) - 1) - power(2 * abs(z) + 1)) / 2

    table = clamped_transition(rounded, 5)
    assert np.abs(table - printed).max() < 1e-15
    assert largest_log_ratio(compositions(5, 2), table) == pytest.approx(2, abs=1e-12)
    # The noise drawn here keeps the same promise and leaves more counts as they are.
    q = exponential(Fraction(2))
    discrete = clamped_transition(lambda z: float(noise_law(z, q)), 5)
    assert largest_log_ratio(compositions(5, 2), discrete) == pytest.approx(2, abs=1e-12)
    assert (np.diag(discrete) > np.diag(table) + 0.03).all()
