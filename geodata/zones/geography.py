"""The geography of a store made of zones: each zone is block and tract at once.

Larger units are the parents that the file of zones declares, or contiguous groups of zones with enough people. Without
numbers of people, zones weigh alike, so that groups have enough zones. Trips never decide a group: where they are
confidential, so would be the groups.

Source: docs/theory/method.md, section 2, and docs/zones.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import shapely

from geodata.geography.base_map import ZONE_BLOCK
from geodata.geography.cells import cells_in_polygon
from geodata.geography.distance import distance_mi
from geodata.geography.superpumas import MIN_POPULATION, group_units, neighbors
from geodata.geography.units import join_parts
from geodata.store.schema import CRS
from geodata.store.zones import ELSEWHERE, ELSEWHERE_NAME, REGION, ZONE
from geodata.zones.reading import Shapes
from geodata.zones.zones import Parent, Zones

_GROUP_PEOPLE: Final = (100_000, MIN_POPULATION)
"""People of a PUMA and of a SuperPUMA, whose part the groups play."""
_GROUP_ZONES: Final = (25, 100)
"""The same as a PUMA has tracts, where people are not counted."""
_MOST_DRAWN: Final = 500
"""Zones whose borders and names the base map draws; of more, it draws those of the smallest larger units."""
_ELSEWHERE_SHARE: Final = 20
"""One in so many people lives elsewhere: a public guess, which only the prior uses."""
_MI_PER_DEG: Final = 69.0
_LEAST_EDGE_DEG: Final = 0.005  # about 500 m

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ZoneGeography:
    """Tables of a store, and where the zones are in them.

    Attributes
    ----------
    tables : dict of str to DataFrame or GeoDataFrame
        `schema.GEOGRAPHY`.
    block_of_zone : int64[zones]
        Row of `blocks` of each zone.
    elsewhere : int
        Row of `blocks` of places without a zone.
    notes : list of str
        What was decided, for the manifest.
    """

    tables: dict[str, pandas.DataFrame]
    block_of_zone: Ints
    elsewhere: int
    notes: list[str]


def zone_geography(zones: Zones, place: str, outline: shapely.Geometry | None = None) -> ZoneGeography:
    """Make the tables of a store.

    Parameters
    ----------
    zones : Zones
    place : str
        Name of the whole region.
    outline : Polygon or MultiPolygon, optional
        What the cells of points are cut to, EPSG:4326; by default their hull.
    """
    notes: list[str] = []
    polygon = zones.polygon
    if polygon is None:
        site = np.column_stack([zones.lon_deg, zones.lat_deg])
        polygon = cells_in_polygon(site, _hull(site) if outline is None else outline)[0]
        notes.append("zones are points: each has what is nearer to it than to other points")
    people = np.ones(len(zones.code), dtype=np.int64) if zones.population is None else zones.population
    if zones.population is None:
        notes.append("no column of population: zones weigh alike")
    tables = _tables(zones, _levels(zones, people, polygon, notes), people, polygon, place)
    unit_id = tables["tracts"]["tract_id"].to_numpy(dtype=object).astype(str)
    row = np.searchsorted(unit_id, zones.unit_id.astype(str))
    return ZoneGeography(tables, row, int(np.searchsorted(unit_id, ELSEWHERE)), notes)


def _hull(site: npt.NDArray[np.float64]) -> shapely.Geometry:
    """The convex hull of points in degrees, wider by about half the distance between neighbors."""
    scale = np.array([max(float(np.cos(np.radians(site[:, 1].mean()))), 0.1), 1.0])
    hull = shapely.convex_hull(shapely.multipoints(site * scale))
    edge = max(0.5 * float(np.sqrt(shapely.area(hull) / len(site))), _LEAST_EDGE_DEG)
    wide = shapely.transform(shapely.buffer(hull, edge, quad_segs=4), lambda xy: xy / scale)
    return shapely.intersection(wide, shapely.box(-180, -90, 180, 90))


class _Level(NamedTuple):
    """The unit of each zone on a level above zones, and the names of the units."""

    unit_id: Shapes
    names: dict[str, str]


def _place_elsewhere(zones: Zones) -> tuple[float, float]:
    """A point east of all zones, as far from their middle as they are wide or high: nobody knows the real places."""
    west, east = float(zones.lon_deg.min()), float(zones.lon_deg.max())
    south, north = float(zones.lat_deg.min()), float(zones.lat_deg.max())
    away = max(float(distance_mi(west, south, east, north)), 1.0)
    lat = (south + north) / 2
    lon = (west + east) / 2 + away / (_MI_PER_DEG * max(float(np.cos(np.radians(lat))), 0.1))
    return (lon + 180.0) % 360.0 - 180.0, lat


def _levels(zones: Zones, people: Ints, polygon: Shapes, notes: list[str]) -> dict[str, _Level]:
    """Units by level: declared parents where they nest, else contiguous groups; and those that the base map draws.

    The smallest parents are the smaller groups if they have fewer people than larger groups need. Otherwise they are
    the larger groups, and the smaller ones are within them.
    """
    parents = _nested_parents(zones)
    least_small, least_large = _GROUP_ZONES if zones.population is None else _GROUP_PEOPLE
    kind = "zones" if zones.population is None else "people"
    of_zones = _Level(zones.unit_id, dict(zip(zones.unit_id, zones.name, strict=True)))
    levels: dict[str, _Level] = {}
    said: dict[str, str] = {}

    def take(level: str, parent: Parent) -> None:
        levels[level] = _Level(parent.unit_id, parent.names)
        said[level] = parent.label

    def group(level: str, unit: Shapes, least: int, within: Shapes | None = None) -> None:
        unit_id = _contiguous_groups(zones, people, polygon, unit, least, within)
        levels[level] = _Level(unit_id, {name: name for name in sorted(set(unit_id))})
        said[level] = f"{len(levels[level].names):,} contiguous ones of at least {least:,} {kind}"

    if parents and people.sum() < least_large * len(set(parents[0].unit_id)):
        take("puma", parents[0])
        if len(parents) > 1:
            take("superpuma", parents[1])
        else:
            group("superpuma", parents[0].unit_id, least_large)
    elif parents:
        take("superpuma", parents[0])
        group("puma", zones.unit_id, least_small, parents[0].unit_id)
    else:
        group("puma", zones.unit_id, least_small)
        group("superpuma", levels["puma"].unit_id, least_large)
    notes += [
        f"smaller groups for coarsening: {said['puma']}",
        f"larger groups for coarsening: {said['superpuma']}",
    ]
    return levels | {"county": of_zones if len(zones.code) <= _MOST_DRAWN else levels["puma"]}


def _nested_parents(zones: Zones) -> list[Parent]:
    """Parents that every zone has, with more than one unit, each of which lies in one unit of the next."""
    nested: list[Parent] = []
    below = zones.unit_id
    for parent in zones.parents:
        n_units = len(set(parent.unit_id))
        inside = len(set(zip(below, parent.unit_id, strict=True))) == len(set(below))
        if (parent.unit_id != "").all() and n_units > 1 and inside:
            nested.append(parent)
            below = parent.unit_id
    return nested[:2]


def _contiguous_groups(
    zones: Zones, people: Ints, polygon: Shapes, unit: Shapes, least: int, within: Shapes | None
) -> Shapes:
    """Name of the group of each zone; zones of one unit are in one group, and a group is in one unit of `within`."""
    names = np.empty(len(zones.code), dtype=object)
    parts = [np.arange(len(zones.code))]
    if within is not None:
        parts = [np.flatnonzero(within == above) for above in sorted(set(within))]
    first = 1
    for rows in parts:
        ids, index = np.unique(unit[rows].astype(str), return_inverse=True)
        weight = np.bincount(index, people[rows]).astype(np.int64)
        n = np.bincount(index)
        lon, lat = (np.bincount(index, place[rows]) / n for place in (zones.lon_deg, zones.lat_deg))
        shape = np.empty(ids.size, dtype=object)
        for at in range(ids.size):
            shape[at] = shapely.union_all(polygon[rows[index == at]])
        number = group_units(weight, lon, lat, neighbors(lon, lat, shape), min_population=least)
        names[rows] = [f"Group {place}" for place in (first + number[index]).tolist()]
        first += int(number.max()) + 1
    return names


def _tables(
    zones: Zones, levels: dict[str, _Level], people: Ints, polygon: Shapes, place: str
) -> dict[str, pandas.DataFrame]:
    lon, lat = _place_elsewhere(zones)
    away = max(int(people.sum()) // _ELSEWHERE_SHARE, 1)
    columns: dict[str, object] = {
        "tract_id": np.append(zones.unit_id, ELSEWHERE),
        **{f"{level}_id": np.append(above.unit_id, ELSEWHERE) for level, above in levels.items()},
        "state_id": [REGION] * len(zones.code) + [ELSEWHERE],
        "name": np.append(zones.name, ELSEWHERE_NAME),
        "population": np.append(people, away),
        "lon_deg": np.append(zones.lon_deg, lon),
        "lat_deg": np.append(zones.lat_deg, lat),
        "elsewhere": [False] * len(zones.code) + [True],
    }
    tracts = _typed(pandas.DataFrame(columns))
    order = np.argsort(tracts["tract_id"].to_numpy(dtype=object).astype(str), kind="stable")
    tracts = tracts.iloc[order].reset_index(drop=True)
    geometry = np.append(polygon, np.array([None], dtype=object))[order]
    named = {level: above.names | {ELSEWHERE: ELSEWHERE_NAME} for level, above in levels.items()}
    puma = join_parts(tracts, geometry, "puma_id", ["superpuma_id", "state_id"], named["puma"])
    superpuma = join_parts(puma, puma.geometry, "superpuma_id", ["state_id"], named["superpuma"])
    county = join_parts(tracts, geometry, "county_id", ["state_id"], named["county"])
    whole = {REGION: place, ELSEWHERE: ELSEWHERE_NAME}
    state = join_parts(superpuma, superpuma.geometry, "state_id", [], whole)
    blocks, layers = _layers(zones, tracts.drop(columns="name"))
    blocks["block_id"] = ZONE_BLOCK + blocks["tract_id"]
    blocks["tract_index"] = np.arange(len(blocks), dtype=np.int32)
    for level, table in (("puma", puma), ("superpuma", superpuma)):
        ids = pandas.Index(table[f"{level}_id"])
        tracts[f"{level}_index"] = ids.get_indexer(tracts[f"{level}_id"]).astype(np.int32)
    here = np.flatnonzero(~tracts["elsewhere"].to_numpy())
    tracts["derived"] = (zones.polygon is None) & ~tracts["elsewhere"].to_numpy()
    cells = {"block_index": here.astype(np.int32)}
    return {
        "blocks": blocks,
        "tracts": geopandas.GeoDataFrame(tracts, geometry=geometry, crs=CRS),
        "pumas": puma,
        "superpumas": superpuma,
        "counties": county,
        "states": state,
        "cells": geopandas.GeoDataFrame(cells, geometry=geometry[here], crs=CRS),
        "layers": layers,
    }


def _typed(frame: pandas.DataFrame) -> pandas.DataFrame:
    """Columns of text as such: Python's own strings would be written in another type."""
    texts = [name for name in frame if frame[name].dtype == object]
    return frame.astype(dict.fromkeys(texts, "str"))


def _layers(zones: Zones, blocks: pandas.DataFrame) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """The blocks with a column for each layer that readers see, and the names of the layers' units."""
    listed: list[tuple[str, Sequence[str], dict[str, str]]] = [
        (ZONE, zones.unit_id.tolist(), dict(zip(zones.unit_id, zones.name, strict=True)))
    ]
    listed += [
        (code, parent.unit_id.tolist(), parent.names)
        for code, parent in zip(parent_codes(zones.parents), zones.parents, strict=True)
    ]
    rows: list[tuple[str, str, str]] = []
    for code, units, names in listed:
        unit_of = dict(zip(zones.unit_id, units, strict=True))
        blocks[f"layer_{code}"] = pandas.array(
            [unit_of.get(zone, "") for zone in blocks["tract_id"]], dtype="str"
        )
        rows += [(code, unit, names[unit]) for unit in sorted(names)]
    return blocks, pandas.DataFrame(rows, columns=["layer", "unit_id", "name"], dtype="str")


def parent_codes(parents: Sequence[Parent]) -> list[str]:
    """Code of each layer of parents: the letters of its label; a number follows one that is taken."""
    codes: list[str] = []
    taken = {ZONE, "block", "county", "state", "tract", "puma", "superpuma", "landmark", "near", "box", "all"}
    for parent in parents:
        letters = "".join(letter for letter in parent.label.lower() if letter.isascii() and letter.isalnum())
        stem = letters[:16] or "layer"
        code = next(name for name in (stem, *(f"{stem}{n}" for n in range(2, 99))) if name not in taken)
        codes.append(code)
        taken.add(code)
    return codes
