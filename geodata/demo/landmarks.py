"""Places in a generated country that people name without being units: neighborhoods, universities, stations, parks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import shapely

from geodata.demo.curves import Floats
from geodata.demo.gazetteer import Gazetteer
from geodata.demo.land import Land
from geodata.demo.names import Names
from geodata.demo.roads import Way
from geodata.demo.towns import Towns

_QUARTERS: Final = (8, 5, 4, 4, 4)  # neighborhoods of each city, besides its downtown
_QUARTER_WORDS: Final = ("Hill", "Point", "Square", "Park", "Heights", "Village", "Corners", "Mills")
_STATION_KM: Final = 2.0  # from a railroad to the center of a town that has a station
_LARGE: Final = 0.3  # weight from which a town has a hospital
_CAPES: Final = 6
_CAPE_APART_KM: Final = 60.0
_OPEN_KM: Final = 15.0  # of a cape, from the hull of the island


@dataclass(frozen=True, slots=True)
class Landmark:
    """One named place.

    Attributes
    ----------
    name, kind : str
        The kind is one of `schema.LANDMARK_KINDS`.
    place_km : float64[2]
        On land, plane kilometres.
    """

    name: str
    kind: str
    place_km: Floats


def make_landmarks(
    land: Land, towns: Towns, gazetteer: Gazetteer, rails: list[Way], names: Names, rng: np.random.Generator
) -> list[Landmark]:
    """Name places in cities, towns, and on the coast."""
    shapely.prepare(land.shape)
    found: list[Landmark] = []
    cities = np.flatnonzero(towns.is_city).tolist()
    for position, city in enumerate(cities):
        found += _of_city(land, towns, gazetteer, position, city, names, rng)
    track = shapely.union_all([rail.line_km for rail in rails])
    others = [town for town in range(towns.state.size) if town not in cities]
    for town in others:
        found += _of_town(land, towns, gazetteer.town[town], town, track, names, rng)
    return found + _coastal(land, names, rng)


def _of_city(
    land: Land,
    towns: Towns,
    gazetteer: Gazetteer,
    position: int,
    city: int,
    names: Names,
    rng: np.random.Generator,
) -> list[Landmark]:
    name, state = gazetteer.town[city], str(gazetteer.state[1][position])
    center, spread = towns.place_km[city], float(towns.spread_km[city])
    listed = [
        (f"Downtown {name}", "place", 0.05),
        (f"{name} Union Station", "station", 0.12),
        (f"University of {state}", "university", 0.5),
        (f"{names.landmark()} College", "university", 0.8),
        (f"{name} General Hospital", "hospital", 0.5),
        (f"{names.landmark()} Memorial Hospital", "hospital", 1.1),
        (f"{names.landmark()} Park", "park", 0.6),
        (f"{name} High School", "school", 0.5),
        (f"{name} International Airport", "airport", 1.9),
    ]
    words = rng.permutation(_QUARTER_WORDS).tolist()
    listed += [(f"{names.landmark()} {words[n]}", "place", 0.9) for n in range(_QUARTERS[position])]
    return [Landmark(text, kind, _near(land, center, reach * spread, rng)) for text, kind, reach in listed]


def _of_town(
    land: Land,
    towns: Towns,
    name: str,
    town: int,
    track: shapely.Geometry,
    names: Names,
    rng: np.random.Generator,
) -> list[Landmark]:
    center, spread = towns.place_km[town], float(towns.spread_km[town])
    listed = [(f"{name} High School", "school", 0.4)]
    if shapely.distance(track, shapely.points(center)) < _STATION_KM:
        listed.append((f"{name} Station", "station", 0.1))
    if towns.weight[town] > _LARGE:
        listed.append((f"{name} Hospital", "hospital", 0.4))
        listed.append((f"{name} State College", "university", 0.7))
    elif rng.random() < 0.3:
        listed.append((f"{names.landmark()} State Park", "park", 3.0))
    return [Landmark(text, kind, _near(land, center, reach * spread, rng)) for text, kind, reach in listed]


def _coastal(land: Land, names: Names, rng: np.random.Generator) -> list[Landmark]:
    """Small islands, and the capes that reach farthest out from the land around them."""
    found = [
        Landmark(f"{names.landmark()} Island", "island", shapely.get_coordinates(islet.centroid)[0])
        for islet in land.islets
    ]
    parts = shapely.get_parts(land.shape)
    coast = shapely.get_coordinates(parts[int(np.argmax(shapely.area(parts)))])[::5]
    middle = np.column_stack([np.roll(coast, shift, axis=0) for shift in (-8, 8)]).reshape(-1, 2, 2).mean(1)
    inside = shapely.contains_xy(land.shape, middle[:, 0], middle[:, 1])
    outermost = shapely.boundary(shapely.convex_hull(shapely.multipoints(coast)))
    inside &= shapely.distance(outermost, shapely.points(coast)) < _OPEN_KM  # not within the bay
    reach = np.where(inside, np.hypot(*(coast - middle).T), 0.0)
    chosen: list[Floats] = []
    for row in np.argsort(-reach, kind="stable"):
        if len(chosen) < _CAPES and all(np.hypot(*(coast[row] - cape)) > _CAPE_APART_KM for cape in chosen):
            chosen.append(coast[row])
    found += [Landmark(f"Cape {names.landmark()}", "cape", _near(land, cape, 0.5, rng)) for cape in chosen]
    return found


def _near(land: Land, center: Floats, reach_km: float, rng: np.random.Generator) -> Floats:
    """A place on land about so far from another; farther if that is all water."""
    angle = rng.uniform(0.0, 2 * np.pi, 64)
    away = reach_km * rng.uniform(0.6, 1.2, 64) * np.linspace(1.0, 3.0, 64)
    tried = center + away[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    on_land = np.flatnonzero(shapely.contains_xy(land.shape, tried[:, 0], tried[:, 1]))
    return np.asarray(tried[on_land[0]] if on_land.size else center, dtype=np.float64)
