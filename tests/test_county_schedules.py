"""Schedules of counties: against a slow twin that steps through time, and against known bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.scheduling import TIMES, CountyTimes, list_schedule, read_times, simulated_batches

TIMES_OF_BATCHES = st.lists(st.integers(1, 30), min_size=1, max_size=12)
WORKERS = st.integers(1, 5)


def stepped(seconds: list[int], n_workers: int, *, longest_first: bool) -> tuple[int, int]:
    """End and idle seconds of workers that each take the next batch, one second after another."""
    waiting = sorted(seconds, reverse=True) if longest_first else list(seconds)
    left = [0] * n_workers
    end = idle = 0
    while waiting or any(left):
        for worker in range(n_workers):
            if not left[worker] and waiting:
                left[worker] = waiting.pop(0)
        idle += left.count(0)
        left = [max(each - 1, 0) for each in left]
        end += 1
    return end, idle


@given(TIMES_OF_BATCHES, WORKERS, st.booleans())
def test_a_schedule_is_that_of_workers_who_step_through_time(
    seconds: list[int], n_workers: int, longest_first: bool
) -> None:
    found = list_schedule(np.array(seconds, dtype=float), [1.0] * n_workers, longest_first=longest_first)
    end, idle = stepped(seconds, n_workers, longest_first=longest_first)
    assert found.end == end
    assert found.idle == pytest.approx(idle / (end * n_workers))


@given(TIMES_OF_BATCHES, WORKERS)
def test_no_list_is_worse_than_its_bound(seconds: list[int], n_workers: int) -> None:
    given_, speeds = np.array(seconds, dtype=float), [1.0] * n_workers
    least = max(given_.sum() / n_workers, given_.max())
    for longest_first in (False, True):
        end = list_schedule(given_, speeds, longest_first=longest_first).end
        # Graham (1966): a list is at most 2 - 1/m times the shortest schedule.
        assert least <= end <= given_.sum() / n_workers + given_.max() * (1 - 1 / n_workers) + 1e-9


@given(TIMES_OF_BATCHES, st.integers(2, 5))
def test_copies_never_end_later(seconds: list[int], n_workers: int) -> None:
    given_, speeds = np.array(seconds, dtype=float), [0.25, *[1.0] * (n_workers - 1)]
    alone = list_schedule(given_, speeds, longest_first=True)
    copied = list_schedule(given_, speeds, longest_first=True, copies=True)
    assert copied.end <= alone.end
    assert 0 <= copied.idle < 1


def test_a_copy_of_what_a_straggler_began_ends_the_run() -> None:
    # The straggler takes a batch of 8 at a quarter of the speed, until 32; the others are free at 8 and copy it.
    batches, speeds = np.array([8.0, 8.0, 8.0]), [0.25, 1.0, 1.0]
    assert list_schedule(batches, speeds, longest_first=True).end == 32
    found = list_schedule(batches, speeds, longest_first=True, copies=True)
    # All three were at work until 8; then one copied while the straggler went on, and one had nothing to do.
    assert found.end == 16
    assert found.idle == pytest.approx(8 / 48)


def test_the_line_recovers_times_that_are_on_it() -> None:
    rng = np.random.default_rng(1)
    workers, tracts = rng.integers(100, 100_000, 30), rng.integers(1, 60, 30)
    times = CountyTimes(workers=workers, tracts=tracts, seconds=0.02 + 1e-6 * workers + 3e-3 * tracts)
    assert times.line() == pytest.approx([0.02, 1e-6, 3e-3])
    assert times.deviations() == pytest.approx(np.ones(30))


def test_cut_counties_take_the_same_time_together() -> None:
    times = CountyTimes(workers=np.array([10, 1000]), tracts=np.array([1, 1]), seconds=np.array([1e-5, 1e-3]))
    whole, cut = (simulated_batches(times, 3_143, largest) for largest in (None, 1_000_000))
    assert whole.size == 3_143 < cut.size
    assert cut.sum() == pytest.approx(whole.sum(), rel=1e-6)
    assert cut.max() < whole.max()
    assert np.array_equal(whole, simulated_batches(times, 3_143, None))


def test_the_stored_times_are_of_counties_of_many_sizes() -> None:
    times = read_times(TIMES)
    assert times.workers.size >= 30
    assert times.workers.max() > 30 * times.workers.min()
    assert (times.line() >= 0).all()
