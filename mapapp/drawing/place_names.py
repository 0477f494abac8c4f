"""Names of cities and towns for the map, the largest first."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy
import numpy.typing as npt
import pandas

from geodata.store import Store
from mapapp.answers.areas import Areas
from mapapp.answers.unit_names import base_name
from mapapp.answers.usual_layers import TOWN_STATES

MAX_NAMES: Final = 2_000  # about 90 bytes each
LARGE_PEOPLE: Final = 100_000
MIDDLE_PEOPLE: Final = 25_000
_NO_PLACE: Final = "not defined"  # water and other parts that the Census Bureau gives a code, but no name


class PlaceName(NamedTuple):
    """Name of a city or town, where most of its people are, and how many live there."""

    name: str
    lon_deg: float
    lat_deg: float
    people: int


def place_names(store: Store, areas: Areas) -> list[PlaceName]:
    """Names of the cities and towns of all states of a store, the largest first; empty if it has neither layer."""
    population = store.table("blocks", ["population"])["population"].to_numpy()
    tables = [_named(areas, layer, population) for layer in ("ctycsub", "stplc")]
    towns, places = tables
    has_towns = towns["unit_id"].str[:2].isin(TOWN_STATES)
    is_town_state = places["unit_id"].str[:2].isin(set(towns.loc[has_towns, "unit_id"].str[:2]))
    found = pandas.concat([towns[has_towns], places[~is_town_state]])
    found = found.sort_values(["people", "unit_id"], ascending=[False, True], kind="stable").head(MAX_NAMES)
    return [
        PlaceName(base_name(name), round(lon, 4), round(lat, 4), int(people))
        for name, lon, lat, people in zip(
            found["name"], found["lon_deg"], found["lat_deg"], found["people"], strict=True
        )
    ]


def _named(areas: Areas, layer: str, population: npt.NDArray[numpy.int64]) -> pandas.DataFrame:
    """Units of a layer in which people live: `unit_id`, `name`, `lon_deg`, `lat_deg`, and `people`."""
    if layer not in areas.columns:
        empty = pandas.DataFrame({"unit_id": [], "name": []}, dtype=str)
        return empty.assign(lon_deg=0.0, lat_deg=0.0, people=0)
    units = areas.units(layer)
    people = numpy.bincount(units.code, weights=population, minlength=len(units.rows)).astype(numpy.int64)
    rows = units.rows.assign(people=people)
    named = ~rows["name"].str.contains(_NO_PLACE, regex=False) & (rows["name"] != rows["unit_id"])
    chosen = (rows["kind"] == "unit") & (rows["people"] > 0) & named
    return rows.loc[chosen, ["unit_id", "name", "lon_deg", "lat_deg", "people"]]
