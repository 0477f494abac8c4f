"""Tracts, PUMAs, SuperPUMAs, counties and the other layers, made from blocks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import shapely
from scipy.spatial import cKDTree

from geodata.demo.blocks import Blocks
from geodata.demo.curves import Floats
from geodata.demo.grouping import Ints, bisect_groups, bisect_places, round_parts, union_groups
from geodata.demo.sizes import Scale
from geodata.demo.towns import STATES, Towns
from geodata.geography.superpumas import superpuma_ids

_TRACTS_TO_SUBDIVISION: Final = 6
_TRACTS_TO_ZIP: Final = 1.7
_METRO_KM: Final = 42.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """Membership, by number; numbers run through the whole country.

    Attributes
    ----------
    tract : int64[blocks]
        Of each block.
    block_group : int64[blocks]
        1..4 within the tract.
    zip_area : int64[blocks]
        Of each block; several to a state, across tracts.
    place : int64[blocks]
        The town (row of `Towns`) within whose bounds each block lies; -1 outside.
    state, county, puma, superpuma, subdivision : int64[tracts]
        Of each tract.
    metro : int64[tracts]
        State position of the city whose metropolitan area a tract is in; -1 outside.
    centre_km : float64[tracts, 2]
        Mean of the blocks, weighted by people.
    polygon : shapely polygons[tracts]
        EPSG:4326.
    """

    tract: Ints
    block_group: Ints
    zip_area: Ints
    place: Ints
    state: Ints
    county: Ints
    puma: Ints
    superpuma: Ints
    subdivision: Ints
    metro: Ints
    centre_km: Floats
    polygon: npt.NDArray[np.object_]


def make_units(blocks: Blocks, towns: Towns, scale: Scale) -> Units:
    """Group blocks into tracts, and tracts into larger units."""
    weight = np.asarray(blocks.people + 0.5, dtype=np.float64)
    tract = _tracts(blocks, scale)
    n_tracts = int(tract.max()) + 1
    people = np.bincount(tract, weights=weight).astype(np.float64)
    residents = np.bincount(tract, weights=blocks.people).astype(
        np.float64
    )  # thresholds are met by people, not by weights
    centre = _centre(tract, blocks.place_km, weight)
    area = np.bincount(tract, weights=blocks.area_km2)
    state = np.zeros(n_tracts, np.int64)
    state[tract] = blocks.state
    puma = _number_parts(state, centre, people, scale.pumas)
    polygon = union_groups(blocks.polygon, tract)
    county = _number_parts(state, centre, np.sqrt(area * people), scale.counties)
    return Units(
        tract=tract,
        block_group=_block_groups(tract, blocks.place_km, weight),
        zip_area=bisect_groups(
            blocks.state, blocks.place_km, weight, _count_parts_of(people.mean() * _TRACTS_TO_ZIP)
        ),
        place=_places(blocks, towns),
        state=state,
        county=county,
        puma=puma,
        superpuma=_superpumas(puma, state, residents, polygon, scale),
        subdivision=bisect_groups(county, centre, np.ones(n_tracts), _count_parts_of(_TRACTS_TO_SUBDIVISION)),
        metro=_metro(county, centre, people, towns),
        centre_km=centre,
        polygon=polygon,
    )


def _tracts(blocks: Blocks, scale: Scale) -> Ints:
    tract = np.zeros(blocks.state.size, np.int64)
    done = 0
    for position, code in enumerate(STATES):
        here = np.flatnonzero(blocks.state == position)
        wanted = round(scale.people[code] / scale.tract_people[code])
        weight = np.asarray(blocks.people[here] + 0.5, dtype=np.float64)
        part = bisect_places(blocks.place_km[here], weight, wanted)
        # Cells of equal people have a density of centres that follows that of people: hence its square.
        part = round_parts(blocks.place_km[here], weight * weight / blocks.area_km2[here], part, rounds=1)
        tract[here] = done + part
        done += int(part.max()) + 1
    return tract


def _number_parts(group: Ints, place: Floats, weight: Floats, n_parts: tuple[int, ...]) -> Ints:
    part = np.zeros(group.size, np.int64)
    done = 0
    for number, wanted in enumerate(n_parts):
        here = np.flatnonzero(group == number)
        wanted = min(wanted, here.size)
        part[here] = done + bisect_places(place[here], weight[here], wanted)
        done += wanted
    return part


def _centre(group: Ints, place: Floats, weight: Floats) -> Floats:
    total = np.bincount(group, weights=weight)
    sums = [np.bincount(group, weights=weight * place[:, axis]) for axis in (0, 1)]
    return np.column_stack(sums) / total[:, None]


def _superpumas(
    puma: Ints, state: Ints, residents: Floats, polygon: npt.NDArray[np.object_], scale: Scale
) -> Ints:
    puma_state = np.zeros(int(puma.max()) + 1, np.int64)
    puma_state[puma] = state
    middle = shapely.get_coordinates(shapely.centroid(union_groups(polygon, puma)))
    ids = superpuma_ids(
        [f"{number:03d}" for number in range(puma_state.size)],
        [STATES[position] for position in puma_state],
        np.bincount(puma, weights=residents).astype(np.int64),
        middle[:, 0],
        middle[:, 1],
        union_groups(polygon, puma),
        min_population=scale.superpuma_people,
    )
    number = np.unique(np.array(ids), return_inverse=True)[1].astype(np.int64)
    return np.asarray(number[puma], dtype=np.int64)


def _count_parts_of(size: float) -> Callable[[float], int]:
    return lambda total: round(total / size)


def _block_groups(tract: Ints, place: Floats, weight: Floats) -> Ints:
    part = bisect_groups(tract, place, weight, lambda _total: 3)
    first = np.full(int(tract.max()) + 1, part.max() + 1)
    np.minimum.at(first, tract, part)
    return np.asarray(part - first[tract] + 1, dtype=np.int64)


def _places(blocks: Blocks, towns: Towns) -> Ints:
    away = np.hypot(*(blocks.place_km[:, None, :] - towns.place_km).transpose(2, 0, 1))
    reach = away / (np.where(towns.is_city, 1.7, 1.5) * towns.spread_km)
    reach[blocks.state[:, None] != towns.state] = np.inf
    nearest = np.argmin(reach, axis=1)
    return np.where(reach.min(axis=1) < 1.0, nearest, -1)


def _metro(county: Ints, centre: Floats, people: Floats, towns: Towns) -> Ints:
    city = np.flatnonzero(towns.is_city)
    middle = _centre(county, centre, people)
    away, nearest = cKDTree(towns.place_km[city]).query(middle)
    # The twin cities make one area.
    metro = np.where(away < _METRO_KM, np.where(nearest == 1, 0, nearest), -1)
    return np.asarray(metro[county], dtype=np.int64)
