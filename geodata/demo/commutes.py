"""Commutes: gravity with a long tail, different for every segment; and last year's public flows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from geodata.demo.curves import Floats
from geodata.demo.grouping import Ints
from geodata.demo.workplaces import Workplaces
from geodata.geography.distance import distance_matrix_mi
from geodata.store.schema import N_SEGMENTS

_SCALE_MI: Final = 4.3  # at which the pull of a home has fallen to 1/e, before the factors below
_SHAPE: Final = 0.85
_SCALE_BY_AGE: Final = (0.90, 1.04, 1.0)
_SCALE_BY_EARNINGS: Final = (0.70, 0.95, 1.28)
_SCALE_BY_INDUSTRY: Final = (1.18, 0.90, 1.0)
_TAIL_BY_EARNINGS: Final = (0.06, 0.07, 0.10)  # of workers, whose homes may be anywhere
_SAME_BLOCK: Final = 0.012  # of workers
_SURVEYED: Final = 6  # last year's flows come from one worker in six


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeTracts:
    """Where workers can live: tracts, elsewhere units last.

    Attributes
    ----------
    place_deg : float64[n, 2]
        Longitude and latitude.
    people : float64[n]
        Number of people, which attracts workers.
    within_mi : float64[n]
        Distance between two places of the same tract.
    wealth, youth : float64[n]
        Standardized measures of where high earners and young workers live.
    main : bool[n]
        Whether it lies in a state with workplaces.
    """

    place_deg: Floats
    people: Floats
    within_mi: Floats
    wealth: Floats
    youth: Floats
    main: Floats


def home_shares(homes: HomeTracts, work_tract: Ints, jobs: Ints, *, stretch: float = 1.0) -> Floats:
    """Where the workers of each segment of each destination tract live, as the model expects.

    Parameters
    ----------
    homes : HomeTracts
        All n tracts.
    work_tract : int64[T]
        The destination tracts, rows of `homes`.
    jobs : int64[T, 27]
        Their jobs.
    stretch : float
        Factor on the length of every commute, which differs between years.

    Returns
    -------
    float64[T, 27, n]
        Sums to 1 over the last axis.
    """
    lon, lat = homes.place_deg.T
    away = distance_matrix_mi(lon[work_tract], lat[work_tract], lon, lat)
    rows = np.arange(work_tract.size)
    away[rows, work_tract] = homes.within_mi[work_tract]
    draw = homes.people * _balance(homes, away, jobs.sum(axis=1), _SCALE_MI * stretch)
    tail = homes.people * (away + 60.0) ** -0.8
    tail /= tail.sum(axis=1, keepdims=True)
    share = np.empty((work_tract.size, N_SEGMENTS, homes.people.size))
    for segment in range(N_SEGMENTS):
        age, earnings, industry = segment // 9, segment // 3 % 3, segment % 3
        factor = _SCALE_BY_AGE[age] * _SCALE_BY_EARNINGS[earnings] * _SCALE_BY_INDUSTRY[industry]
        taste = np.exp((0.4, 0.0, -0.25)[age] * homes.youth + (-0.45, 0.0, 0.45)[earnings] * homes.wealth)
        near = _pull(away, _SCALE_MI * stretch * factor) * (draw * taste)
        near /= near.sum(axis=1, keepdims=True)
        far = _TAIL_BY_EARNINGS[earnings]
        share[:, segment] = (1.0 - far) * near + far * tail
    return share


def draw_homes(
    share: Floats,
    work_tract: Ints,
    workplaces: Workplaces,
    block_tract: Ints,
    block_people: Ints,
    rng: np.random.Generator,
) -> tuple[Ints, Ints, Ints]:
    """Draw a home block for every worker.

    Parameters
    ----------
    share : float64[T, 27, n]
        From `home_shares`.
    work_tract : int64[T]
        Ascending.
    block_tract, block_people : int64[blocks]
        Tract (ascending) and residents of every block; every tract has a resident.

    Returns
    -------
    destination, origin, segment : int64[workers]
        Blocks and segments.
    """
    place = np.repeat(np.arange(workplaces.block.size), workplaces.jobs.sum(axis=1))
    segment = np.repeat(np.tile(np.arange(N_SEGMENTS), workplaces.block.size), workplaces.jobs.ravel())
    destination = workplaces.block[place]
    row = np.searchsorted(work_tract, block_tract[destination]) * N_SEGMENTS + segment
    n_tracts = share.shape[2]
    running = np.cumsum(share.reshape(-1, n_tracts), axis=1)
    # One search for all rows: row r occupies the numbers from r to r + 1.
    running = running / running[:, -1:] + np.arange(len(running))[:, None]
    cell = np.searchsorted(running.ravel(), row + rng.random(row.size), side="right")
    tract = np.minimum(cell - row * n_tracts, n_tracts - 1)
    origin = _blocks_within(tract, block_tract, block_people, rng)
    at_home = (rng.random(row.size) < _SAME_BLOCK) & (block_people[destination] > 0)
    return destination, np.where(at_home, destination, origin), segment


def last_year(
    homes: HomeTracts, work_tract: Ints, jobs: Ints, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats]:
    """Last year's public tract flows: a survey of the model, not of this year's workers.

    Counts are rounded as the Census Transportation Planning Products are: 1 to 7 to 4, others to multiples of 5.

    Returns
    -------
    work, home : int64[m]
        Rows of `homes`.
    weight : float64[m]
        Workers; pairs that no surveyed worker joins are missing.
    """
    n_jobs = np.maximum(jobs * rng.lognormal(0.0, 0.08, (len(jobs), 1)), 0.0)
    share = home_shares(homes, work_tract, jobs, stretch=0.97)
    expected = np.zeros((len(jobs), homes.people.size))
    for segment in range(N_SEGMENTS):
        expected += n_jobs[:, segment, None] * share[:, segment]
    expected *= rng.gamma(12.0, 1.0 / 12.0, expected.shape)
    surveyed = rng.poisson(expected / _SURVEYED) * _SURVEYED
    rounded = np.where(surveyed < 8, 4.0, np.round(surveyed / 5.0) * 5.0)
    work, home = np.nonzero(surveyed)
    return work_tract[work], home, rounded[work, home]


def _pull(away_mi: Floats, scale_mi: float) -> Floats:
    return np.asarray(np.exp(-((away_mi / scale_mi) ** _SHAPE)), dtype=np.float64)


def _balance(homes: HomeTracts, away: Floats, jobs: Ints, scale_mi: float) -> Floats:
    # Without this factor the tracts next to a centre would house more workers than people.
    factor = np.ones(homes.people.size)
    pull = _pull(away, scale_mi) * homes.people
    wanted = homes.people * jobs.sum() / homes.people[homes.main].sum()
    for _ in range(8):
        flow = pull * factor
        housed = (flow * (jobs / flow.sum(axis=1))[:, None]).sum(axis=0)
        factor[homes.main] *= (wanted / np.maximum(housed, 1e-9))[homes.main] ** 0.8
    return factor


def _blocks_within(tract: Ints, block_tract: Ints, block_people: Ints, rng: np.random.Generator) -> Ints:
    running = np.cumsum(block_people)
    first = np.searchsorted(block_tract, tract, side="left")
    last = np.searchsorted(block_tract, tract, side="right") - 1
    before = running[first] - block_people[first]
    person = before + np.floor(rng.random(tract.size) * (running[last] - before)).astype(np.int64)
    return np.searchsorted(running, person, side="right")
