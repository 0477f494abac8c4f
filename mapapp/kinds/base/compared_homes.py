"""Real and synthetic workers compared by area: flows, largest home areas, inflow and outflow, miles.

The caller supplies the homes: the confidential ones, for the analyst alone, or homes simulated from public data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas

from engine.validity import FlowErrors, TopAreas, flow_errors, pair_counts, top_areas
from geodata.geography.distance import distance_mi
from geodata.store.store import Store
from mapapp.kinds.base.geography import Geography, Ints
from mapapp.kinds.base.inputs import Inputs

__all__ = [
    "AreaCounts",
    "Commutes",
    "ComparedHomes",
    "Places",
    "commute_miles",
    "compare_commutes",
    "compare_homes",
]

Floats = npt.NDArray[np.float64]
Blocks = npt.NDArray[np.int32]
Indices = npt.NDArray[np.int32] | npt.NDArray[np.int64]

_COLUMN_OF_LEVEL: Final = {"town": "layer_ctycsub", "county": "county_id"}
"""Columns of `blocks` with the areas of each level besides tracts; a store may lack towns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where blocks are, and the areas that they belong to: public.

    Attributes
    ----------
    lon_deg, lat_deg : float64[blocks]
        Internal points; elsewhere units have one for the whole state.
    area_of : dict of str to int32[blocks]
        Number of each block's area by level: tract, town (county subdivision) if the store has them, county. It is -1
        for elsewhere units and for blocks outside all towns.
    """

    lon_deg: Floats
    lat_deg: Floats
    area_of: dict[str, Blocks]

    @classmethod
    def read(cls, store: Store) -> Places:
        """Read them from a dataset or a release."""
        columns = [name for name in _COLUMN_OF_LEVEL.values() if name in store.columns("blocks")]
        blocks = store.table("blocks", ["tract_index", "elsewhere", "lon_deg", "lat_deg", *columns])
        elsewhere = blocks["elsewhere"].to_numpy(np.bool_)
        area_of = {"tract": np.where(elsewhere, -1, blocks["tract_index"]).astype(np.int32)}
        for level, column in _COLUMN_OF_LEVEL.items():
            if column in blocks:
                number, _ = pandas.factorize(blocks[column])
                outside = elsewhere | (blocks[column] == "").to_numpy(np.bool_)
                area_of[level] = np.where(outside, -1, number).astype(np.int32)
        return cls(
            lon_deg=blocks["lon_deg"].to_numpy(np.float64),
            lat_deg=blocks["lat_deg"].to_numpy(np.float64),
            area_of=area_of,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaCounts:
    """Workers by area of one level, real and synthetic; parts add up.

    Attributes
    ----------
    residents, interior : int64[2, n_areas]
        Workers in the measured tracts who live in the area; and those of them who also work in it. Real, then
        synthetic.
    employed : int64[2, n_areas]
        Workers employed in the area, real and synthetic.
    """

    residents: Ints
    interior: Ints
    employed: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedHomes:
    """What comparing the homes of some destination tracts gives; parts of a dataset add up.

    Attributes
    ----------
    flows : dict of str to FlowErrors
        Between tracts, by real and by read size.
    top : TopAreas
        Home tracts of each workplace tract.
    areas : dict of str to AreaCounts
        By level.
    miles : float64[2]
        Sums of commutes between blocks, real and synthetic.
    n_workers : int64[2]
        Real and synthetic.
    """

    flows: dict[str, FlowErrors]
    top: TopAreas
    areas: dict[str, AreaCounts]
    miles: Floats
    n_workers: Ints


class Commutes(NamedTuple):
    """Workers by their rows of `blocks`.

    Attributes
    ----------
    work : int32[W] or int64[W]
    home : int32[W]
    """

    work: Indices
    home: Blocks


def compare_homes(inputs: Inputs, drawn: Blocks, geography: Geography, places: Places) -> ComparedHomes:
    """Compare the homes of some destination tracts.

    Parameters
    ----------
    inputs : Inputs
        The workers with their real homes.
    drawn : int32[W]
        Row of `blocks` of every worker's synthetic home, synthesizer by synthesizer.
    geography : Geography
    places : Places
    """
    work, tract = np.repeat(inputs.destination, inputs.count), np.repeat(inputs.tract, inputs.count)
    both = (Commutes(work, inputs.worker_origin), Commutes(work, drawn))
    return _compare(both, (tract, tract), geography, places)


def compare_commutes(real: Commutes, drawn: Commutes, geography: Geography, places: Places) -> ComparedHomes:
    """Compare workers whose workplaces are synthetic too; their numbers may differ."""
    tracts = [geography.tract_of_block[side.work] for side in (real, drawn)]
    _, position = np.unique(np.concatenate(tracts), return_inverse=True)
    first, second = np.split(position.astype(np.int32), [tracts[0].size])
    return _compare((real, drawn), (first, second), geography, places)


def _compare(
    both: tuple[Commutes, Commutes], tracts: tuple[Blocks, Blocks], geography: Geography, places: Places
) -> ComparedHomes:
    """Compare real and synthetic workers; `tracts` number their workplace tracts from 0 on."""
    home_tracts = [geography.tract_of_block[side.home].astype(np.int64) for side in both]
    flows, top = _flows(tracts, home_tracts, geography.tracts.n_tracts)
    return ComparedHomes(
        flows=flows,
        top=top,
        areas={level: _areas(area_of, both) for level, area_of in places.area_of.items()},
        miles=np.array([commute_miles(places, side.work, side.home).sum() for side in both]),
        n_workers=np.array([side.work.size for side in both]),
    )


def commute_miles(places: Places, work: Indices, home: Blocks) -> Floats:
    """Miles between the blocks of work and home of each worker; 0 within a block."""
    lon, lat = places.lon_deg, places.lat_deg
    miles = distance_mi(lon[work], lat[work], lon[home], lat[home])
    return np.where(work == home, 0.0, miles)


def _flows(
    tracts: tuple[Blocks, Blocks], homes: list[Ints], n_tracts: int
) -> tuple[dict[str, FlowErrors], TopAreas]:
    """Errors of flows between tracts by size, and of the largest home tracts of every workplace tract."""
    at = [tract.astype(np.int64) * n_tracts for tract in tracts]
    pairs = pair_counts(at[0] + homes[0], at[1] + homes[1])
    errors = {
        "real": flow_errors(pairs.real, pairs.drawn, pairs.real),
        "read": flow_errors(pairs.real, pairs.drawn, pairs.drawn),
    }
    last = max(int(tract.max()) for tract in tracts)
    ptr = np.searchsorted(pairs.pair, np.arange(last + 2) * n_tracts)
    return errors, top_areas(ptr, pairs.real, pairs.drawn)


def _areas(area_of: Blocks, both: tuple[Commutes, Commutes]) -> AreaCounts:
    """Workers by area of home and of work, and those who live and work in one."""
    n_areas = int(area_of.max()) + 1
    sides = [(area_of[side.work], area_of[side.home]) for side in both]
    return AreaCounts(
        residents=np.stack([_count(home, n_areas) for _, home in sides]),
        interior=np.stack([_count(home[home == work], n_areas) for work, home in sides]),
        employed=np.stack([_count(work, n_areas) for work, _ in sides]),
    )


def _count(area: Blocks, n_areas: int) -> Ints:
    """Workers by area, without those outside all areas."""
    return np.bincount(area[area >= 0], minlength=n_areas)
