"""Where the nation's workers live: gravity over near tracts and PUMAs, and a tail over the state and beyond."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from geodata.demo.curves import Floats
from geodata.demo.grouping import Ints
from geodata.demo.nation.units import NationUnits
from geodata.demo.nation.workplaces import NationWorkplaces, draw_segments
from geodata.distance import EARTH_RADIUS_MI, on_sphere
from geodata.schema import N_SEGMENTS
from geodata.table_stream import Columns

_NEAR_TRACTS: Final = 200
_NEAR_PUMAS: Final = 80
_SCALE_MI: Final = 9.0  # at which the pull of a home has fallen to 1/e, before the factors below
_SHAPE: Final = 1.15
_SCALE_BY_EARNINGS: Final = (0.75, 0.95, 1.25)
_TAIL_BY_EARNINGS: Final = (0.026, 0.03, 0.04)  # of workers, whose homes may be anywhere
_TAIL: Final = (0.85, 0.13, 0.02)  # of which in the state, in the nation, elsewhere
_SAME_BLOCK: Final = 0.012  # of workers
_PEOPLE_TO_SLOT: Final = 4

Slots = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeSlots:
    """Where workers can live.

    Attributes
    ----------
    slot : int32[slots]
        Rows of `blocks`, one for every few residents, in order; last the elsewhere unit.
    tract_ptr : int64[tracts + 1]
        Each tract's slots.
    centre_deg : float64[tracts, 2]
        Longitude and latitude of the centre of people.
    within_mi : float64[tracts]
        Distance between two places of the tract.
    inhabited : bool[blocks]
        Whether anybody lives there; elsewhere included.
    """

    slot: Slots
    tract_ptr: Ints
    centre_deg: Floats
    within_mi: Floats
    inhabited: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class NearbyPull:
    """What `draw_jobs` needs to know about the whole nation.

    Attributes
    ----------
    homes : HomeSlots
        All of them.
    units : NationUnits
        The land.
    tract_tree, puma_tree : cKDTree
        Centres of people, on a sphere in miles.
    tract_place, puma_place : float64[n, 3]
        The same.
    puma_people : float64[pumas]
        Residents.
    puma_ptr, state_ptr : int64
        Slots of each PUMA and state.
    """

    homes: HomeSlots
    units: NationUnits
    tract_tree: cKDTree
    puma_tree: cKDTree
    tract_place: Floats
    puma_people: Floats
    puma_ptr: Ints
    state_ptr: Ints


def make_homes(block_people: Ints, tract_ptr: Ints, centre_deg: Floats, within_mi: Floats) -> HomeSlots:
    """Make the table that maps a resident's number to a block.

    Parameters
    ----------
    block_people : int64[blocks]
        Without the elsewhere unit.
    tract_ptr : int64[tracts + 1]
        Each tract's blocks.
    """
    n_slots = -(-block_people // _PEOPLE_TO_SLOT)
    slot = np.repeat(np.arange(block_people.size, dtype=np.int32), n_slots)
    ends = np.append(0, np.cumsum(n_slots))
    return HomeSlots(
        slot=np.append(slot, np.int32(block_people.size)),
        tract_ptr=ends[tract_ptr],
        centre_deg=centre_deg,
        within_mi=within_mi,
        inhabited=np.append(block_people > 0, True),
    )


def make_pull(homes: HomeSlots, units: NationUnits) -> NearbyPull:
    """Prepare the search for near tracts and PUMAs."""
    place = np.ascontiguousarray(on_sphere(*homes.centre_deg.T).T)
    people = np.bincount(units.puma, weights=units.people).astype(np.float64)
    middle = np.column_stack([np.bincount(units.puma, weights=units.people * axis) for axis in place.T])
    return NearbyPull(
        homes=homes,
        units=units,
        tract_tree=cKDTree(place),
        puma_tree=cKDTree(middle / people[:, None]),
        tract_place=place,
        puma_people=people,
        puma_ptr=_ptr_above(homes.tract_ptr, units.puma),
        state_ptr=_ptr_above(homes.tract_ptr, units.state),
    )


def draw_jobs(
    pull: NearbyPull, workplaces: NationWorkplaces, work_tract: Ints, rng: np.random.Generator
) -> Columns:
    """Draw segment and home of every worker of some workplaces.

    Parameters
    ----------
    pull : NearbyPull
        The nation.
    workplaces : NationWorkplaces
        D of them.
    work_tract : int64[D]
        Their tracts, ascending.

    Returns
    -------
    dict of str to ndarray
        Columns of the schema's JOBS, sorted by destination, segment and origin; every row differs from the others.
    """
    count = draw_segments(workplaces.n_jobs, rng)
    synthesizer = np.repeat(np.arange(count.size), count.ravel())
    tract, position = np.unique(work_tract, return_inverse=True)
    first, size, running = _candidates(pull, tract)
    place = synthesizer // N_SEGMENTS
    earnings = synthesizer // 3 % 3
    row = position[place] * 3 + earnings
    chosen = np.searchsorted(running.ravel(), row + rng.random(row.size), side="right")
    chosen = np.minimum(chosen - row * running.shape[1], running.shape[1] - 1)
    chosen += position[place] * running.shape[1]
    slot = first.ravel()[chosen] + (rng.random(row.size) * size.ravel()[chosen]).astype(np.int64)
    home = pull.homes.slot[slot].astype(np.int64)
    at_home = (rng.random(row.size) < _SAME_BLOCK) & pull.homes.inhabited[workplaces.block][place]
    home[at_home] = workplaces.block[place[at_home]]
    return _counted(synthesizer, home, workplaces.block, pull.homes.inhabited.size)


def _candidates(pull: NearbyPull, tract: Ints) -> tuple[Ints, Ints, Floats]:
    """Ranges of slots from which the workers of each tract come.

    Returns
    -------
    first, size : int64[T, C]
        The ranges: near tracts, near PUMAs, the state, the nation, elsewhere.
    running : float64[T × 3, C]
        Running probability by tract and earnings; row r takes up the numbers from r to r + 1.
    """
    homes, units = pull.homes, pull.units
    near, near_mi = _nearest(pull.tract_tree, pull.tract_place[tract], _NEAR_TRACTS)
    near_mi = np.where(near == tract[:, None], homes.within_mi[tract, None], near_mi)
    puma, puma_mi = _nearest(pull.puma_tree, pull.tract_place[tract], _NEAR_PUMAS)
    # The part of a PUMA that is among the near tracts is not counted twice.
    rows = np.arange(tract.size)[:, None]
    n_pumas = pull.puma_people.size
    counted = np.bincount(
        (rows * n_pumas + units.puma[near]).ravel(),
        weights=units.people[near].ravel(),
        minlength=tract.size * n_pumas,
    ).reshape(-1, n_pumas)
    people = np.hstack([units.people[near], pull.puma_people[puma] - counted[rows, puma]])
    away = np.hstack([near_mi, puma_mi])
    state = units.state[tract]
    n_slots = int(homes.tract_ptr[-1])
    wide = np.column_stack([pull.state_ptr[state], 0 * state, 0 * state + n_slots])
    wide_end = np.column_stack([pull.state_ptr[state + 1], 0 * state + n_slots, 0 * state + n_slots + 1])
    first = np.hstack([homes.tract_ptr[near], pull.puma_ptr[puma], wide])
    end = np.hstack([homes.tract_ptr[near + 1], pull.puma_ptr[puma + 1], wide_end])
    running = np.stack([_running(people, away, earnings) for earnings in range(3)], axis=1)
    running = running.reshape(3 * tract.size, -1)
    return first, end - first, running + np.arange(3 * tract.size)[:, None]


def _running(people: Floats, away: Floats, earnings: int) -> Floats:
    near = people * np.exp(-((away / (_SCALE_MI * _SCALE_BY_EARNINGS[earnings])) ** _SHAPE))
    tail = _TAIL_BY_EARNINGS[earnings]
    near *= (1.0 - tail) / near.sum(axis=1, keepdims=True)
    wide = np.broadcast_to(tail * np.array(_TAIL), (len(near), len(_TAIL)))
    running = np.cumsum(np.hstack([near, wide]), axis=1)
    return np.asarray(running / running[:, -1:], dtype=np.float64)


def _counted(synthesizer: Ints, home: Ints, work: Ints, n_blocks: int) -> Columns:
    key = np.sort(synthesizer * n_blocks + home)
    start = np.flatnonzero(np.diff(key, prepend=-1))
    synthesizer, home = np.divmod(key[start], n_blocks)
    place, segment = np.divmod(synthesizer, N_SEGMENTS)
    return {
        "destination_index": work[place].astype(np.int32),
        "origin_index": home.astype(np.int32),
        "age": (segment // 9 + 1).astype(np.int8),
        "earnings": (segment // 3 % 3 + 1).astype(np.int8),
        "industry": (segment % 3 + 1).astype(np.int8),
        "count": np.diff(start, append=key.size).astype(np.int32),
    }


def _nearest(tree: cKDTree, place: Floats, wanted: int) -> tuple[Ints, Floats]:
    chord, found = tree.query(place, k=np.arange(1, min(wanted, tree.n) + 1))
    return found.astype(np.int64), 2 * EARTH_RADIUS_MI * np.arcsin(np.minimum(chord / 2, 1.0))


def _ptr_above(ptr: Ints, group: Ints) -> Ints:
    """Members of the groups of ascending, consecutive units, from the members of the units."""
    return ptr[np.searchsorted(group, np.arange(int(group[-1]) + 2))]
