"""The base map of a generated country as tables: water, roads, rails, and landmarks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import shapely
from scipy.spatial import cKDTree

from geodata.demo.blocks import Blocks
from geodata.demo.curves import Floats
from geodata.demo.gazetteer import Gazetteer
from geodata.demo.land import Land
from geodata.demo.landmarks import Landmark, make_landmarks
from geodata.demo.names import Names
from geodata.demo.roads import Way, bridged, make_links, make_rails, make_roads
from geodata.demo.towns import Towns
from geodata.demo.units import Units
from geodata.demo.waters import Water, make_waters
from geodata.schema import CRS

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
    kept = [bridged(line, land_deg, _BRIDGE_DEG) for line in lines]  # some cross an island that no block has
    return [line if part.is_empty else part for line, part in zip(lines, kept, strict=True)]
