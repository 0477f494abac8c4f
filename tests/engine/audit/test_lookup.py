"""Attackers who look the victim up, against a twin that goes through all records one by one."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit.lookup import lookup, lookup_without_victim, majority, public_prior
from engine.errors import ParameterError

pytestmark = pytest.mark.jit_off

Ints = npt.NDArray[np.int64]
Record = tuple[int, int, int]
PRIOR = np.array([0.2, 0.3, 0.3, 0.2])

# A fine key, a coarse key and a value.
RECORDS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3)), max_size=14)


def columns(records: Sequence[Record]) -> tuple[list[Ints], Ints]:
    array = np.array(records, dtype=np.int64).reshape(-1, 3)
    # Fine keys are within coarse ones, as blocks are within tracts.
    return [array[:, 0] * 2 + array[:, 1], array[:, 1]], array[:, 2].copy()


def expected(records: Sequence[Record], victim: Record) -> tuple[int, float]:
    fine = [one for one in records if one[:2] == victim[:2]]
    coarse = [one for one in records if one[1] == victim[1]]
    values = Counter(value for _, _, value in fine or coarse)
    if not values:
        return 1, 0.3
    best = min(values, key=lambda value: (-values[value], -PRIOR[value], value))
    return best, values[best] / values.total()


@given(RECORDS, RECORDS)
def test_lookup_takes_the_most_frequent_value_of_the_finest_key(
    records: list[Record], victims: list[Record]
) -> None:
    keys, values = columns(records)
    found = lookup(keys, values, columns(victims)[0], PRIOR)
    assert list(zip(found.value, found.belief, strict=True)) == [expected(records, one) for one in victims]


@given(RECORDS)
def test_lookup_without_the_victim_is_lookup_in_all_other_records(records: list[Record]) -> None:
    keys, values = columns(records)
    found = lookup_without_victim(keys, values, PRIOR)
    others = [records[:at] + records[at + 1 :] for at in range(len(records))]
    wanted = [expected(left, one) for left, one in zip(others, records, strict=True)]
    assert list(zip(found.value, found.belief, strict=True)) == wanted


@given(RECORDS, st.integers(0, 13))
def test_the_order_of_records_changes_nothing(records: list[Record], by: int) -> None:
    keys, values = columns(records)
    order = np.roll(np.arange(len(records)), by)
    mixed = lookup([key[order] for key in keys], values[order], keys, PRIOR)
    found = lookup(keys, values, keys, PRIOR)
    assert np.array_equal(mixed.value, found.value)
    assert np.array_equal(mixed.belief, found.belief)


def test_memorized_lone_workers_are_always_right() -> None:
    keys, values = columns([(0, 0, 3), (1, 0, 2), (2, 0, 0)])
    assert lookup(keys, values, keys, PRIOR).value.tolist() == [3, 2, 0]
    assert lookup_without_victim(keys, values, PRIOR).value.tolist() == [2, 0, 2]


def test_the_majority_and_the_public_prior() -> None:
    found = majority(np.array([2, 1, 2, 0]), 3)
    assert (found.value.tolist(), found.belief.tolist()) == ([2] * 4, [0.5] * 4)
    prior = public_prior(np.array([0, 2, 5]), np.array([0.5, 0.5, 0.1, 0.2, 0.7]), np.array([1, 0]))
    assert (prior.value.tolist(), prior.belief.tolist()) == ([2, 0], [0.7, 0.5])


def test_arrays_must_agree() -> None:
    one = np.zeros(1, dtype=np.int64)
    with pytest.raises(ParameterError, match="one key each"):
        lookup([], one, [], PRIOR)
    with pytest.raises(ParameterError, match="2 keys of victims"):
        lookup([one], one, [one, one], PRIOR)
    with pytest.raises(ParameterError, match="a prior for every value"):
        lookup_without_victim([one], one + 4, PRIOR)
    with pytest.raises(ParameterError, match="every group a value"):
        public_prior(np.array([0, 0, 1]), np.ones(1), one)
