"""Exact laws of the membership attacker against plain enumeration, and against the promise."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import exp, inf, log

import numpy as np
import pytest

from engine.audit.records_law import (
    TryLaw,
    delta_of_tables,
    delta_of_tries,
    epsilon_at_delta,
    most_exposed,
    most_right,
    table_chances,
    try_laws,
)
from engine.errors import ParameterError
from engine.records.acceptance import Acceptance
from engine.records.divergence import worst_delta
from engine.records.tries import seed_promise

pytestmark = pytest.mark.jit_off

EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 4.0)


def acceptance(k: int = 2, rate: str = "0.7", floor: int | None = None) -> Acceptance:
    return Acceptance(min_plausible_seeds=k, threshold_epsilon=rate, forced_fail="0.1", seed_floor=floor)


def law_of_all(test: Acceptance, sizes: list[int]) -> list[float]:
    """Chance that one try is released from each group, and that it fails, by the definition."""
    n, a = sum(sizes), Fraction(exp(-float(test.threshold_epsilon or 0)))
    released = [float(test.exact_chance(size, a)) * size / n if size else 0.0 for size in sizes]
    return [*released, 1 - sum(released)]


def enumerated(test: Acceptance, sizes: list[int], own: int, n_tries: int, epsilon: float) -> float:
    """Delta over every sequence of outcomes of all tries, in the worse direction."""
    smaller = list(sizes)
    smaller[own] -= 1
    laws = [law_of_all(test, each) for each in (sizes, smaller)]
    up = down = 0.0
    for outcome in product(range(len(sizes) + 1), repeat=n_tries):
        p, q = (float(np.prod([law[each] for each in outcome])) for law in laws)
        up += max(0.0, p - exp(epsilon) * q)
        down += max(0.0, q - exp(epsilon) * p)
    return max(up, down)


@pytest.mark.parametrize("floor", [None, 2])
@pytest.mark.parametrize(
    ("sizes", "own"), [([3, 2, 1], 0), ([3, 2, 1], 2), ([1, 4], 0), ([2, 2, 2], 1), ([5], 0)]
)
def test_delta_of_tries_is_that_of_enumeration(sizes: list[int], own: int, floor: int | None) -> None:
    test = acceptance(floor=floor)
    without, with_worker = try_laws(test, np.array(sizes), sizes[own] - 1)
    for n_tries, epsilon in product((1, 2, 4), EPSILONS):
        expected = enumerated(test, sizes, own, n_tries, epsilon)
        found = delta_of_tries(n_tries, without, with_worker, epsilon)
        assert found == pytest.approx(expected, abs=1e-12), (n_tries, epsilon)


def test_one_try_is_never_worse_than_its_worst_case() -> None:
    test, sizes = acceptance(k=4, rate="0.5"), np.array([1, 2, 3, 4, 5, 6, 9])
    n = int(sizes.sum()) - 1
    for size, epsilon in product(sizes.tolist(), EPSILONS):
        laws = try_laws(test, sizes, size - 1)
        # worst_delta is about released records alone; here failures are seen, too, but 10% of tries fail anyway.
        assert delta_of_tries(1, *laws, epsilon) <= worst_delta(test, 1.0, n, epsilon) + 0.2 / n


def test_all_tries_keep_the_promise() -> None:
    test = Acceptance(min_plausible_seeds=30, threshold_epsilon="0.4", forced_fail="0.02")
    sizes, n_tries, delta = np.array([1, 5, 25, 30, 31, 60, 400, 1448]), 1000, 1e-4
    promise = seed_promise(test, n_min=int(sizes.sum()) - 1, n_tries=n_tries, delta=delta)

    def exact(size: int) -> float:
        laws = try_laws(test, sizes, size - 1)
        return epsilon_at_delta(lambda at: delta_of_tries(n_tries, *laws, at), delta)

    found = [exact(size) for size in sizes.tolist()]
    assert 0.3 * float(promise.epsilon) < max(found) < float(promise.epsilon)
    assert found[sizes.tolist().index(most_exposed(test, sizes, n_tries) + 1)] == max(found)


def test_delta_of_tables_is_that_of_enumerated_noise() -> None:
    n_tables, rate, reach = 2, 0.6, 60
    noise = np.arange(-reach, reach + 1)
    a = exp(-rate)
    chance = (1 - a) / (1 + a) * a ** np.abs(noise)
    without = np.multiply.outer(chance, chance)
    moved = np.concatenate(([0.0], chance[:-1]))  # the same counts with the worker in every table
    with_worker = np.multiply.outer(moved, moved)
    for epsilon in EPSILONS:
        expected = np.maximum(with_worker - exp(epsilon) * without, 0.0).sum()
        assert delta_of_tables(n_tables, rate, epsilon) == pytest.approx(expected, abs=1e-12)
    assert delta_of_tables(n_tables, rate, n_tables * rate) == pytest.approx(0.0, abs=1e-15)
    assert table_chances(rate) == pytest.approx(
        (chance[noise > 0].sum(), chance[noise >= 0].sum()), abs=1e-12
    )


def test_epsilon_at_delta_inverts_delta() -> None:
    found = epsilon_at_delta(lambda at: delta_of_tables(7, 1 / 7, at), 1e-3)
    assert delta_of_tables(7, 1 / 7, found) == pytest.approx(1e-3, abs=1e-9)
    assert epsilon_at_delta(lambda _: 0.0, 0.0) == 0.0
    assert epsilon_at_delta(lambda _: 0.5, 0.1) == inf


def test_most_right_is_the_bound_of_every_test() -> None:
    false_alarms = np.array([0.0, 0.1, 0.5, 1.0])
    found = most_right([(log(3.0), 0.0)], false_alarms)
    assert found == pytest.approx([0.0, 0.3, 1 - 0.5 / 3, 1.0])
    both = most_right([(log(3.0), 0.0), (log(2.0), 0.01)], false_alarms)
    assert np.all(both <= found)


def test_a_group_that_is_not_there_is_refused() -> None:
    with pytest.raises(ParameterError, match="no group has 4 seeds"):
        try_laws(acceptance(), np.array([1, 2]), 3)
    with pytest.raises(ParameterError, match="no seed but the worker"):
        try_laws(acceptance(), np.array([1]), 0)
    assert isinstance(try_laws(acceptance(), np.array([2]), 1)[0], TryLaw)
