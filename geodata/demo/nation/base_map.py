"""The nation's base map: the sea around it, rivers to the sea, roads and rail between cities, and landmarks."""

from __future__ import annotations

from typing import Final

import numpy as np
import pandas
import shapely
from scipy.spatial import cKDTree

from geodata.demo.base_map import landmark_table, rail_table, road_table, water_table
from geodata.demo.curves import Floats, meander, ribbon
from geodata.demo.landmarks import Landmark
from geodata.demo.names import Names
from geodata.demo.nation.gazetteer import NationGazetteer
from geodata.demo.nation.settlement import KM_PER_DEG
from geodata.demo.nation.sizes import NationScale
from geodata.demo.nation.units import NationUnits
from geodata.demo.roads import PRIMARY, SECONDARY, Way, neighbors
from geodata.demo.waters import Water

_SEA_DEG: Final = 20.0
_RIVERS: Final = 36
_TOLERANCE_KM: Final = 0.1
_PRIMARY_CITIES: Final = 90  # the largest, joined by interstates
_RAIL_CITIES: Final = 50
_NAMED_CITIES: Final = 300  # that have landmarks


def nation_base_map(
    scale: NationScale,
    cities_deg: Floats,
    units: NationUnits,
    gazetteer: NationGazetteer,
    centre_deg: Floats,
    rng: np.random.Generator,
) -> dict[str, pandas.DataFrame]:
    """Make the tables `schema.BASE_TABLES`.

    Parameters
    ----------
    cities_deg : float64[n, 2]
        Longitude and latitude of the cities, the largest first.
    centre_deg : float64[tracts, 2]
        Center of the people of each tract.
    """
    stretch = KM_PER_DEG * np.array([np.cos(np.radians(np.mean(scale.extent_deg[1::2]))), 1.0])

    def to_degrees(plane_km: Floats) -> Floats:
        return plane_km / stretch

    cities = cities_deg * stretch
    nearest = cKDTree(centre_deg * stretch).query(cities)[1]
    county_names = [gazetteer.names["county"][county] for county in units.county[nearest].tolist()]
    names = [name.removesuffix(" County") for name in county_names]
    landmarks = _landmarks(cities, names, rng)
    county_of = cKDTree(centre_deg * stretch).query(np.array([each.place_km for each in landmarks]))[1]
    county_id = np.array(gazetteer.ids["county"], dtype=object)[units.county[county_of]]
    main = _ways(cities[:_PRIMARY_CITIES], "I-", PRIMARY, rng)
    rest = _ways(cities, "US Hwy ", SECONDARY, rng)
    return {
        "water": water_table(_waters(scale, stretch, gazetteer.country, rng)),
        "roads": road_table([*main, *rest], to_degrees),
        "rails": rail_table(_ways(cities[:_RAIL_CITIES], "National Railroad ", 0, rng), to_degrees),
        "landmarks": landmark_table(landmarks, county_id, to_degrees),
    }


def _ways(cities: Floats, name: str, rank: int, rng: np.random.Generator) -> list[Way]:
    ways = []
    for number, (start, end) in enumerate(neighbors(cities)):
        line = meander(cities[start], cities[end], rng, sway=4.0, wavelength=80.0, step=3.0)
        shape = shapely.simplify(shapely.linestrings(line), _TOLERANCE_KM)
        ways.append(Way(f"{name}{number + 1}", rank, shape))
    return ways


def _waters(scale: NationScale, stretch: Floats, country: str, rng: np.random.Generator) -> list[Water]:
    west, south, east, north = scale.extent_deg
    land = shapely.box(west, south, east, north)
    around = shapely.box(west - _SEA_DEG, south - _SEA_DEG, east + _SEA_DEG, north + _SEA_DEG)
    waters = [Water(f"{country} Ocean", "ocean", shapely.difference(around, land))]
    names = Names(rng)
    size = np.array([east - west, north - south])
    for number in range(_RIVERS):
        source = np.array([west, south]) + rng.uniform(0.1, 0.9, 2) * size
        mouth = source + rng.uniform(-0.05, 0.05, 2) * size
        side = number % 4
        mouth[side % 2] = (west, south, east, north)[side]
        line = meander(source * stretch, mouth * stretch, rng, sway=12.0, wavelength=130.0, step=3.0)
        half_km = np.linspace(0.1, 1.2, len(line))
        shape = shapely.simplify(ribbon(line, half_km), _TOLERANCE_KM)
        shape = shapely.transform(shape, lambda plane: np.round(plane / stretch, 6))
        shape = shapely.intersection(shapely.make_valid(shape), land)
        waters.append(Water(f"{names.landmark()} River", "river", shape))
    return waters


def _landmarks(cities: Floats, names: list[str], rng: np.random.Generator) -> list[Landmark]:
    found = []
    for center, name in zip(cities[:_NAMED_CITIES], names, strict=False):
        for text, kind, reach_km in (
            (f"Downtown {name}", "place", 0.5),
            (f"{name} Union Station", "station", 1.0),
            (f"University of {name}", "university", 3.0),
            (f"{name} General Hospital", "hospital", 3.0),
            (f"{name} International Airport", "airport", 12.0),
        ):
            angle = rng.uniform(0.0, 2 * np.pi)
            found.append(Landmark(text, kind, center + reach_km * np.array([np.cos(angle), np.sin(angle)])))
    return found
