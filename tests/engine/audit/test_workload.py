"""Workloads: windows, true counts, free attributes, refusals; the golden relative error."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from engine.audit.decomposition import Decomposition
from engine.audit.workload import median_relative_error, window_workload
from engine.errors import ParameterError
from tests.golden import golden

SIZES = np.array([9, 2, 4])


def people(n: int = 300) -> tuple[np.ndarray[tuple[int, int], np.dtype[np.int64]], Decomposition]:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, SIZES, (n, 3))
    return codes, Decomposition.from_records(codes, codes[:, 0] % 5, SIZES, 5)


def test_windows_cover_half_of_each_attribute_and_count_the_people_in_them() -> None:
    codes, records = people()
    found = window_workload(records, 50, rng=np.random.default_rng(1))
    assert np.all(found.hi - found.lo + 1 == [4, 2, 2])  # the attribute of two codes is free
    assert found.lo[:, 0].min() == 0
    assert found.hi[:, 0].max() == 8
    inside = [
        np.all((codes >= lo) & (codes <= hi), axis=1).sum() for lo, hi in zip(found.lo, found.hi, strict=True)
    ]
    assert found.true_count.tolist() == inside
    assert min(inside) > 0
    assert found.values is None


def test_windows_of_values_and_attributes_can_be_chosen() -> None:
    codes, records = people()
    found = window_workload(
        records, 40, window=0.25, free=[True, False, False], value_window=0.5, rng=np.random.default_rng(1)
    )
    assert np.all(found.hi - found.lo + 1 == [9, 1, 1])
    assert found.values is not None
    assert np.all(found.values.sum(axis=1) == 2)
    inside = np.all((codes >= found.lo[0]) & (codes <= found.hi[0]), axis=1)
    assert found.true_count[0] == (inside & found.values[0][codes[:, 0] % 5]).sum()


def test_the_same_seed_draws_the_same_queries() -> None:
    _, records = people()
    one, other = (window_workload(records, 9, rng=np.random.default_rng(4)) for _ in range(2))
    assert np.array_equal(one.lo, other.lo)


def test_queries_without_people_are_drawn_again() -> None:
    corner = Decomposition.from_records([[0], [0]], [0, 0], [4], 1)
    found = window_workload(corner, 20, rng=np.random.default_rng(1))
    assert found.lo.max() == 0
    assert set(found.true_count) == {2.0}


def test_the_golden_relative_error() -> None:
    case = golden("audit")["query"]
    assert median_relative_error([case["true"]], [case["answer"]]) == pytest.approx(case["relative_error"])
    assert median_relative_error([2, 4, 10], [2, 5, -10]) == 0.25


def test_bad_workloads_are_refused_in_one_line() -> None:
    _, records = people()
    rng = np.random.default_rng(1)
    nobody = Decomposition.of_histogram([[0]], [[9]], [[0]], [10])
    faults: dict[str, Callable[[], object]] = {
        "n_queries = 0": lambda: window_workload(records, 0, rng=rng),
        "window = 0": lambda: window_workload(records, 1, window=0, rng=rng),
        "value_window = 2": lambda: window_workload(records, 1, value_window=2, rng=rng),
        "free has shape": lambda: window_workload(records, 1, free=[True], rng=rng),
        "3 of 3 queries count no one after 100 tries each": lambda: window_workload(nobody, 3, rng=rng),
        "answers to": lambda: median_relative_error([1, 2], [1]),
        "a true count of 0": lambda: median_relative_error([0], [1]),
    }
    for said, fault in faults.items():
        with pytest.raises(ParameterError, match=said) as refusal:
            fault()
        assert "\n" not in str(refusal.value)
