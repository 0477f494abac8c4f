"""The base map of a generated country as tables: water, roads, rails, and landmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import shapely
from scipy.spatial import cKDTree

from geodata.demo.blocks import Blocks
from geodata.demo.curves import Floats
from geodata.demo.gazetteer import Gazetteer, Names
from geodata.demo.land import Land
from geodata.demo.roads import Way, drop_long_bridges, make_links, make_rails, make_roads
from geodata.demo.towns import Towns
from geodata.demo.units import Units
from geodata.demo.waters import Water, make_waters
from geodata.store.schema import CRS

# Places in a generated country that people name without being units: neighborhoods, universities, stations, parks.

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
    landmarks: list[Landmark] = []
    cities = np.flatnonzero(towns.is_city).tolist()
    for position, city in enumerate(cities):
        landmarks += _name_city_landmarks(land, towns, gazetteer, position, city, names, rng)
    track = shapely.union_all([rail.line_km for rail in rails])
    others = [town for town in range(towns.state.size) if town not in cities]
    for town in others:
        landmarks += _name_town_landmarks(land, towns, gazetteer.town[town], town, track, names, rng)
    return landmarks + _name_coast_landmarks(land, names, rng)


def _name_city_landmarks(
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
    return [
        Landmark(text, kind, _find_place_near(land, center, reach * spread, rng))
        for text, kind, reach in listed
    ]


def _name_town_landmarks(
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
    return [
        Landmark(text, kind, _find_place_near(land, center, reach * spread, rng))
        for text, kind, reach in listed
    ]


def _name_coast_landmarks(land: Land, names: Names, rng: np.random.Generator) -> list[Landmark]:
    """Small islands, and the capes that reach farthest out from the land around them."""
    landmarks = [
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
    landmarks += [
        Landmark(f"Cape {names.landmark()}", "cape", _find_place_near(land, cape, 0.5, rng))
        for cape in chosen
    ]
    return landmarks


def _find_place_near(land: Land, center: Floats, reach_km: float, rng: np.random.Generator) -> Floats:
    """A place on land about so far from another; farther if that is all water."""
    angle = rng.uniform(0.0, 2 * np.pi, 64)
    away = reach_km * rng.uniform(0.6, 1.2, 64) * np.linspace(1.0, 3.0, 64)
    tried = center + away[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    on_land = np.flatnonzero(shapely.contains_xy(land.shape, tried[:, 0], tried[:, 1]))
    return np.asarray(tried[on_land[0]] if on_land.size else center, dtype=np.float64)


_DECIMALS: Final = 6  # of a degree: a tenth of a meter
_BRIDGE_DEG: Final = 0.04  # longer than any bridge of `roads`

ToDegrees = Callable[[Floats], Floats]
"""Longitude and latitude of points float64[n, 2] of the plane."""


def base_map(
    land: Land,
    towns: Towns,
    blocks: Blocks,
    units: Units,
    gazetteer: Gazetteer,
    land_deg: shapely.Geometry,
    rng: np.random.Generator,
) -> dict[str, pandas.DataFrame]:
    """Make the tables `schema.BASE_TABLES` of a country.

    Parameters
    ----------
    land, towns, blocks, units, gazetteer
        Of the country.
    land_deg : shapely geometry
        All of its land, EPSG:4326, as the blocks have it.
    rng : Generator
        Nothing else of the country depends on what is drawn from it.
    """
    names = Names(rng)
    links = make_links(land, towns, rng)
    rails = make_rails(land, towns, links, gazetteer.town, rng)
    landmarks = make_landmarks(land, towns, gazetteer, rails, names, rng)
    place = np.array([landmark.place_km for landmark in landmarks])
    # The blocks of a small country leave out some small islands.
    on_land = shapely.contains_xy(land_deg, np.round(land.frame.degrees(place), _DECIMALS))
    landmarks = [landmark for landmark, kept in zip(landmarks, on_land, strict=True) if kept]
    nearest = cKDTree(blocks.place_km).query(place[on_land])[1]
    county_id = gazetteer.county[0][units.county[units.tract[nearest]]]
    return {
        "water": water_table(make_waters(land, towns, land_deg, names, rng)),
        "roads": road_table(make_roads(land, towns, links, rng), land.frame.degrees, land_deg),
        "rails": rail_table(rails, land.frame.degrees, land_deg),
        "landmarks": landmark_table(landmarks, county_id, land.frame.degrees),
    }


def water_table(waters: Sequence[Water]) -> geopandas.GeoDataFrame:
    """Make the table of bodies of water."""
    columns = {"name": [water.name for water in waters], "kind": [water.kind for water in waters]}
    return geopandas.GeoDataFrame(columns, geometry=[water.shape for water in waters], crs=CRS)


def road_table(
    roads: Sequence[Way], to_degrees: ToDegrees, land_deg: shapely.Geometry | None = None
) -> geopandas.GeoDataFrame:
    """Make the table of roads; with `land_deg`, without stretches over islands that the land lacks."""
    columns = {"name": [road.name for road in roads], "rank": np.array([r.rank for r in roads], np.int8)}
    return geopandas.GeoDataFrame(columns, geometry=_lines(roads, to_degrees, land_deg), crs=CRS)


def rail_table(
    rails: Sequence[Way], to_degrees: ToDegrees, land_deg: shapely.Geometry | None = None
) -> geopandas.GeoDataFrame:
    """Make the table of railroads, as :func:`road_table`."""
    columns = {"name": [rail.name for rail in rails]}
    return geopandas.GeoDataFrame(columns, geometry=_lines(rails, to_degrees, land_deg), crs=CRS)


def landmark_table(
    landmarks: Sequence[Landmark], county_id: npt.NDArray[np.object_], to_degrees: ToDegrees
) -> pandas.DataFrame:
    """Make the table of landmarks, given the county of each."""
    place = np.round(to_degrees(np.array([landmark.place_km for landmark in landmarks])), _DECIMALS)
    columns = {
        "name": [landmark.name for landmark in landmarks],
        "kind": [landmark.kind for landmark in landmarks],
        "county_id": county_id,
        "lon_deg": place[:, 0],
        "lat_deg": place[:, 1],
    }
    return pandas.DataFrame(columns)


def _lines(
    ways: Sequence[Way], to_degrees: ToDegrees, land_deg: shapely.Geometry | None
) -> list[shapely.Geometry]:
    lines = [shapely.transform(way.line_km, lambda p: np.round(to_degrees(p), _DECIMALS)) for way in ways]
    if land_deg is None:
        return lines
    kept = [
        drop_long_bridges(line, land_deg, _BRIDGE_DEG) for line in lines
    ]  # some cross an island that no block has
    return [line if part.is_empty else part for line, part in zip(lines, kept, strict=True)]
