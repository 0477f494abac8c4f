"""Cities, towns and highways, and the density of people and jobs around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import shapely
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import cKDTree

from geodata.demo.curves import Floats, roughen_line
from geodata.demo.grouping import Ints
from geodata.demo.land import Land
from geodata.demo.sizes import FAR_STATES, MAIN_STATES, Scale

STATES: Final = (*MAIN_STATES, *FAR_STATES)
_FAR_GAP_KM: Final = 17.0  # between two towns of a state of homes only
_SPREAD_KM: Final = (5.2, 4.4, 5.0, 4.4, 4.4)  # of each city
PEOPLE_SHARES: Final = (0.46, 0.28, 0.12, 0.14)  # in cities, towns, strips along highways, the country
_SEED_SHARES: Final = (0.40, 0.24, 0.17, 0.19)  # of blocks: the country gets more than its people


@dataclass(frozen=True, slots=True)
class Highway:
    """A road between two towns.

    Attributes
    ----------
    start, end : int
        Rows of the towns.
    line_km : float64[n, 2]
        From the one to the other, plane kilometres; it may cross water.
    """

    start: int
    end: int
    line_km: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Towns:
    """Where people gather.

    Attributes
    ----------
    place_km : float64[n, 2]
        Centres, plane kilometres; the first of each state is its city.
    state : int64[n]
        Position of the state, 0..4.
    weight : float64[n]
        Relative number of people.
    spread_km : float64[n]
        Distance over which the density falls to 1/e.
    coast_km : float64[n]
        Distance from the sea.
    highways : list of Highway
        A tree of the towns of each island.
    highway_km : float64[m, 2]
        Points along the highways on land, about a kilometre apart.
    highway_state : int64[m]
        The state each of them is in.
    """

    place_km: Floats
    state: Ints
    weight: Floats
    spread_km: Floats
    coast_km: Floats
    highways: list[Highway]
    highway_km: Floats
    highway_state: Ints

    @property
    def is_city(self) -> npt.NDArray[np.bool_]:
        """Whether each is the city of its state: bool[n]."""
        return np.append(True, self.state[1:] != self.state[:-1])


def make_towns(land: Land, scale: Scale, rng: np.random.Generator) -> Towns:
    """Place the cities and towns of a country, and join them by highways."""
    places, states = [], []
    for position in range(len(STATES)):
        state_places = _places_of_state(land, position, scale, rng)
        places.append(state_places)
        states.append(np.full(len(state_places), position))
    place, state = np.vstack(places), np.concatenate(states)
    city = np.append(True, state[1:] != state[:-1])
    rank = np.arange(state.size) - np.flatnonzero(city)[state]
    size = np.where(city, 0.0, 1.0 / (rank + 1.2) ** 0.8) * rng.uniform(0.8, 1.25, state.size)
    spread = np.where(city, np.array(_SPREAD_KM)[state], 0.9 + 2.2 * np.sqrt(size))
    highways = _highways(place, state, rng)
    points = np.vstack([highway.line_km for highway in highways])
    highway = points[shapely.contains_xy(land.shape, points[:, 0], points[:, 1])]
    shore = shapely.boundary(land.shape)
    return Towns(
        place_km=place,
        state=state,
        weight=np.where(city, 1.0, size),
        spread_km=spread,
        coast_km=shapely.distance(shapely.points(place), shore),
        highways=highways,
        highway_km=highway,
        highway_state=land.state_position(highway),
    )


def density(towns: Towns, at_km: Floats, state: Ints) -> Floats:
    """Density of people in cities, towns, strips along highways, and the country, each in its own unit.

    Parameters
    ----------
    at_km : float64[n, 2]
        Places, plane kilometres.
    state : int64[n]
        Their states: people of a strip or the country count in their own state.

    Returns
    -------
    float64[n, 4]
        People per square kilometre, each column in its own unit.
    """
    away = np.hypot(*(at_km[:, None, :] - towns.place_km).transpose(2, 0, 1))
    peak = towns.weight / towns.spread_km**2 * np.exp(-away / towns.spread_km)
    city = towns.is_city
    metro = np.exp(-away[:, city].min(axis=1) / 22.0)
    road_km = cKDTree(towns.highway_km).query(at_km)[0]
    # A bay may lie within the circles of a city; people across it have another way to town.
    strip = np.exp(-road_km / 1.3) * (0.12 + metro)
    country = 0.35 + np.exp(-away.min(axis=1) / 12.0)
    return np.column_stack([peak[:, city].sum(axis=1), peak[:, ~city].sum(axis=1), strip, country])


def seed_places(towns: Towns, land: Land, position: int, wanted: int, rng: np.random.Generator) -> Floats:
    """Draw places in one state, denser where more people live; blocks grow from them.

    Returns
    -------
    float64[m, 2]
        At least `wanted` places on land, plane kilometres.
    """
    shapely.prepare(land.shape)
    west, south, east, north = state_box(land, position)
    kept: list[Floats] = []
    while sum(len(part) for part in kept) < wanted:
        count = rng.multinomial(wanted, _SEED_SHARES)
        draws = [_draw_places_around(towns, position, kind, int(count[kind]), rng) for kind in (0, 1)]
        here = towns.highway_km[towns.highway_state == position]
        draws.append(here[rng.integers(len(here), size=count[2])] + rng.normal(0.0, 2.2, (count[2], 2)))
        draws.append(rng.uniform((west, south), (east, north), (int(2.2 * count[3]), 2)))
        place = np.vstack(draws)
        place = place[land.state_position(place) == position]
        kept.append(place[shapely.contains_xy(land.shape, place[:, 0], place[:, 1])])
    return rng.permutation(np.vstack(kept))


def state_box(land: Land, position: int) -> tuple[float, float, float, float]:
    """Rectangle of the plane that holds a state: least u, least v, greatest u, greatest v."""
    if position == len(STATES) - 1:
        u, v = land.far_island
        return u - 100.0, v - 80.0, u + 100.0, v + 80.0
    edges = [-115.0, *(float(border.min()) for border in land.border_u)]
    ends = [*(float(border.max()) for border in land.border_u), 580.0]
    return edges[position], -125.0, ends[position], 125.0


def _draw_places_around(
    towns: Towns, position: int, kind: int, count: int, rng: np.random.Generator
) -> Floats:
    chosen = np.flatnonzero((towns.state == position) & (towns.is_city == (kind == 0)))
    share = np.sqrt(towns.weight[chosen])
    town = chosen[rng.choice(chosen.size, size=count, p=share / share.sum())]
    reach = rng.gamma(2.0, 1.35 * towns.spread_km[town])
    angle = rng.uniform(0.0, 2 * np.pi, count)
    away = reach[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return np.asarray(towns.place_km[town] + away, dtype=np.float64)


def _places_of_state(land: Land, position: int, scale: Scale, rng: np.random.Generator) -> Floats:
    shapely.prepare(land.shape)
    west, south, east, north = state_box(land, position)
    drawn = rng.uniform((west, south), (east, north), (4_000, 2))
    drawn = drawn[land.state_position(drawn) == position]
    ground = land.shape
    if position >= len(MAIN_STATES):  # elsewhere a town on an islet would be a PUMA of its own
        parts = shapely.get_parts(land.shape)
        ground = shapely.multipolygons(parts[shapely.area(parts) > 1_000.0])
    drawn = drawn[shapely.contains_xy(ground, drawn[:, 0], drawn[:, 1])]
    shore_km = shapely.distance(shapely.points(drawn), shapely.boundary(land.shape))
    drawn, shore_km = drawn[shore_km > 1.0], shore_km[shore_km > 1.0]
    city = _city_place(land, position, drawn, shore_km, rng)
    # Harbours are favoured: a town is twice as likely on the shore as inland.
    luck = rng.random(len(drawn)) * np.where(shore_km < 4.0, 0.45, 1.0)
    chosen = [city]
    gap_km = scale.town_gap_km if position < len(MAIN_STATES) else _FAR_GAP_KM
    for candidate in drawn[np.argsort(luck, kind="stable")]:
        if len(chosen) > scale.towns[position]:
            break
        if min(np.hypot(*(candidate - neighbor)) for neighbor in chosen) > gap_km:
            chosen.append(candidate)
    towns = np.array(chosen[1:])
    towns = towns[np.argsort(rng.random(len(towns)))]
    return np.vstack([city, towns])


def _city_place(
    land: Land, position: int, drawn: Floats, shore_km: Floats, rng: np.random.Generator
) -> Floats:
    if position < 2:  # the twin cities face each other across the river, at the head of the bay
        wanted_u = float(np.interp(-3.0, land.border_v, land.border_u[0])) + (-3.5, 3.8)[position]
        wanted = np.array([wanted_u, (-2.0, -6.0)[position]])
    elif position == len(STATES) - 1:
        wanted = np.array(land.far_island) + rng.uniform(-25.0, 25.0, 2)
    else:
        wanted = np.array([(240.0, 468.0)[position - 2] + rng.uniform(-15.0, 15.0), rng.uniform(-40.0, 40.0)])
    from_sea = np.abs(shore_km - 3.5) * (0.0 if position < 2 else 2.0)
    best: Floats = drawn[np.argmin(np.hypot(*(drawn - wanted).T) + from_sea)]
    return best


def _highways(place: Floats, state: Ints, rng: np.random.Generator) -> list[Highway]:
    highways = []
    for group in (state < 4, state == 4):
        row, here = np.flatnonzero(group), place[group]
        length = np.hypot(*(here[:, None, :] - here).transpose(2, 0, 1))
        tree = minimum_spanning_tree(length).tocoo()
        pairs = list(zip(tree.row.tolist(), tree.col.tolist(), strict=True))
        for start, end in sorted(pairs):
            line = roughen_line(here[[start, end]], rng, finest=1.0, roughness=0.10, closed=False)
            highways.append(Highway(int(row[start]), int(row[end]), line))
    return highways
