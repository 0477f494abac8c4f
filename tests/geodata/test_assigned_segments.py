"""What assigning joint segments lets a home change, against moving every job of small sources by brute force."""

from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from geodata.importing import assigned_segments
from geodata.importing.assigned_segments import AssignedSegments, Margins, measure_assigned
from geodata.sources.segments import joint_counts

Jobs = dict[tuple[int, int], list[tuple[int, int, int]]]
"""Segments (age, earnings, industry) of the jobs of each pair (workplace, home)."""


def margins_of(segments: list[tuple[int, int, int]]) -> npt.NDArray[np.int64]:
    found = np.zeros((3, 3), dtype=np.int64)
    for segment in segments:
        for kind, band in enumerate(segment):
            found[kind, band] += 1
    return found.ravel()


def assigned(work: int, home: int, counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    row = counts[None]
    joint = joint_counts(row[:, :3], row[:, 3:6], row[:, 6:], np.array([work + home]))
    return np.asarray(joint[0])


def source_of(jobs: Jobs) -> Margins:
    pairs = list(jobs)
    return Margins(
        np.array([work for work, _ in pairs]),
        np.array([work + home for work, home in pairs]),
        np.array([margins_of(jobs[pair]) for pair in pairs]),
    )


def random_jobs(seed: int) -> Jobs:
    draw = np.random.default_rng(seed)
    jobs: Jobs = {}
    for _ in range(40):
        pair = (int(draw.integers(3)), int(draw.integers(4)))
        age, earnings, industry = (int(band) for band in draw.integers(3, size=3))
        jobs.setdefault(pair, []).append((age, earnings, industry))
    return jobs


def cells(joint: npt.NDArray[np.int64]) -> list[tuple[int, int, int]]:
    return [
        tuple(map(int, place))  # type: ignore[misc]  # argwhere does not say that there are three
        for place in np.argwhere(joint)
        for _ in range(int(joint[tuple(place)]))
    ]


def by_moving(jobs: Jobs) -> tuple[int, int, float]:
    """Assigned jobs, those that decide a colleague's segment, and the chance that a pair of colleagues is ruled out."""
    joint = {pair: assigned(*pair, margins_of(jobs[pair])) for pair in jobs}
    n_assigned = n_changing = 0
    for pair, own in joint.items():
        bands = [(own.sum(axis=axes) > 0).sum() for axes in ((1, 2), (0, 2), (0, 1))]
        if sum(n > 1 for n in bands) < 2:
            continue
        for segment in cells(own):
            n_assigned += 1
            left = own.copy()
            left[segment] -= 1
            again = assigned(*pair, margins_of(cells(own)) - margins_of([segment]))
            n_changing += bool((again != left).any())
    weight = ruled_out = 0.0
    n_at = {work: sum(len(jobs[pair]) for pair in jobs if pair[0] == work) for work, _ in jobs}
    for (work, home), (other_work, other) in permutations(jobs, 2):
        if work != other_work:
            continue
        here, there = joint[work, home], joint[work, other]
        for segment in cells(here):
            one = margins_of([segment])
            moved = assigned(work, home, margins_of(cells(here)) - one)
            moved = moved + assigned(work, other, margins_of(cells(there)) + one)
            chance = len(cells(there)) / n_at[work]
            weight += chance
            ruled_out += chance * bool((moved != here + there).any())
    return n_assigned, n_changing, ruled_out / weight


@pytest.mark.parametrize("seed", range(6))
def test_moving_every_job_finds_the_same(seed: int) -> None:
    jobs = random_jobs(seed)
    found = measure_assigned(source_of(jobs))
    n_assigned, n_changing, share = by_moving(jobs)
    assert (found.jobs, found.assigned, found.looked_at, found.changing) == (
        40,
        n_assigned,
        n_assigned,
        n_changing,
    )
    # About 13,000 pairs: five standard errors.
    assert found.ruled_out / found.colleagues == pytest.approx(share, abs=5 * 0.5 / found.colleagues**0.5)


def test_many_pairs_are_looked_at_in_even_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(assigned_segments, "_MOST_ROWS", 2)
    whole = measure_assigned(source_of(random_jobs(1)))
    assert 0 < whole.looked_at < whole.assigned


def test_sources_that_leave_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    alone: Any = {(0, home): [(0, 1, 2)] for home in range(3)}
    found = measure_assigned(source_of(alone))
    assert (found.assigned, found.looked_at, found.changing, found.ruled_out) == (0, 0, 0, 0)
    assert AssignedSegments.add_up([found, found]).jobs == 6
