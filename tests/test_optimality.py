"""The linear program of `benchmarks.optimality` agrees with closed forms, and no mechanism is below it."""

import numpy as np
import pytest

from benchmarks.optimality import Program, equalized_errors, exact_theta, exponential_errors, priced_errors


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_for_one_worker_the_best_is_randomized_response(epsilon: str) -> None:
    odds = np.exp(float(epsilon))
    best = Program(1, 4).best(float(epsilon))
    assert best.average == pytest.approx(3 / (odds + 3), rel=1e-6)
    assert best.worst == pytest.approx(3 / (odds + 3), rel=1e-6)


@pytest.mark.parametrize("epsilon", ["2", "4"])
def test_for_two_points_the_best_on_average_is_truncated_geometric_noise(epsilon: str) -> None:
    """At smaller epsilon, 0 and n would be released as numbers nearer to the middle.

    Each m strictly between 0 and n has the weight (1 - theta)/(1 + theta), and 0 and n have 1/(1 + theta).
    """
    n, theta = 5, np.exp(-float(epsilon))
    m = np.arange(n + 1)
    moved = np.abs(m[:, np.newaxis] - m)
    weight = np.where((m == 0) | (m == n), 1, 1 - theta) / (1 + theta)
    mean = ((theta**moved * moved) @ weight).mean()
    program = Program(n, 2)
    assert program.best(float(epsilon)).average == pytest.approx(mean, rel=1e-6)
    for errors in (equalized_errors(program, float(epsilon)), priced_errors(program, float(epsilon))):
        assert errors is not None
        # The price that equalizes is c = 1 - theta.
        assert errors @ program.share == pytest.approx(mean, rel=1e-3)


@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_no_mechanism_is_below_the_best(epsilon: str) -> None:
    program, value = Program(4, 3), float(epsilon)
    best = program.best(value)
    exponential = exponential_errors(program.partitions, exact_theta(4, 3, epsilon))
    found = [np.array([exponential[each] for each in program.partitions]), priced_errors(program, value)]
    equalized = equalized_errors(program, value)
    assert equalized is not None
    for errors in (*found, equalized):
        assert errors @ program.share >= best.average * (1 - 1e-6)
        assert errors.max() >= best.worst * (1 - 1e-6)
