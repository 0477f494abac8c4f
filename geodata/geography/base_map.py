"""The base map of an import: water, roads, rails, and landmarks in and around the imported area."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from pathlib import Path
from typing import Final

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import shapely

from geodata.geography.shore import sea_of
from geodata.sources.base_files import BaseFile, read_base_file
from geodata.store.schema import CRS, LANDMARK_KINDS

MARGIN_DEG: Final = 0.25  # how far beyond the imported area the base map reaches, about 15 miles
TOLERANCE_DEG: Final = 0.0002  # of simplification, about 20 m
MOST_VERTICES: Final = 1_500_000  # of a table; the tolerance is doubled until they suffice
MOST_LANDMARKS: Final = 200_000
_LEAST_WATER_DEG2: Final = 2e-6  # smaller bodies of water are left out: about 2 hectares
_LEAST_GUESSED_DEG2: Final = 1e-4  # the same for water made of blocks, whose outlines are rough: about 1 km²
_BAY_DEG2: Final = 1e-3  # from which water made of blocks is a bay rather than a lake: about 10 km²
_WATER_BLOCK: Final = "0"  # first digit of the number of a block that is all water
_WATER_TRACT: Final = (
    "99"  # first digits of the number of a tract that is all water: the sea, or a Great Lake
)
_TRACT_AT: Final = 5  # in the identifier of a block
_BLOCK_AT: Final = 11
ZONE_BLOCK: Final = "z"
"""Letter before the code of a zone of any country, which is a block as well: its digits say nothing about water."""
_COLLECTION: Final = 7  # type number of a collection, which an edge that only touches leaves behind

Shapes = npt.NDArray[np.object_]


def read_base_map(
    paths: Sequence[Path], tables: dict[str, pandas.DataFrame]
) -> tuple[dict[str, pandas.DataFrame], list[BaseFile]]:
    """Read the base map of an imported area.

    Parameters
    ----------
    paths : sequence of Path
        Files of `geodata.sources.base_files`, in any number.
    tables : dict of str to DataFrame
        The public geography: `states`, `counties`, `blocks`, and `cells` are used.

    Returns
    -------
    dict of str to DataFrame or GeoDataFrame
        Those of `schema.BASE_TABLES` that have rows. Without files of water, it is made of water blocks, and of what
        counties or states have beyond their shore.
    list of BaseFile
        The files, for the record.
    """
    area = _area(tables["states"])
    files = [read_base_file(path, area) for path in sorted(paths)]
    layers: dict[str, pandas.DataFrame] = {}
    for layer, assemble in _ASSEMBLE.items():
        parts = [file.frame for file in files if file.layer == layer]
        if parts:
            layers[layer] = assemble(parts, area)
    if "landmarks" in layers:
        layers["landmarks"] = _add_counties(layers["landmarks"], tables["counties"])
    if "water" not in layers:
        shores = [file.frame for file in files if file.layer == "shore"]
        layers["water"] = _add_sea(water_of_blocks(tables["blocks"], tables["cells"]), sea_of(shores, tables))
    return {name: table for name, table in layers.items() if len(table)}, files


def water_blocks(blocks: pandas.DataFrame) -> npt.NDArray[np.bool_]:
    """Return which blocks are all water: their number begins with 0, and nobody lives in them.

    The number alone is not enough, because countries without this rule number their blocks differently. Where every
    block counts as one person, because there was no population file, the number decides.

    Parameters
    ----------
    blocks : DataFrame
        `block_id`, `population`, and `elsewhere` are used.
    """
    here = ~blocks["elsewhere"].to_numpy(dtype=bool)
    people = blocks["population"].to_numpy()
    least = people[here].min(initial=1)
    is_zero = blocks["block_id"].str[_BLOCK_AT].to_numpy() == _WATER_BLOCK
    wet = here & is_zero & (people == least)
    wet[wet] = ~blocks["block_id"][wet].str.startswith(ZONE_BLOCK).to_numpy(dtype=bool)
    return np.asarray(wet, dtype=bool)


def water_of_blocks(blocks: pandas.DataFrame, cells: geopandas.GeoDataFrame) -> geopandas.GeoDataFrame:
    """Join the cells of water blocks to bodies of water, and guess their kind.

    What is in a tract that is all water is "ocean", other water is "bay" from about 10 square kilometers on, and
    "lake" below that. It has no names.
    """
    block = cells["block_index"].to_numpy()
    wet = np.flatnonzero(water_blocks(blocks)[block])
    shape = np.asarray(cells.geometry.array, dtype=object)[wet]
    is_sea = (
        blocks["block_id"].iloc[block[wet]].str[_TRACT_AT:].str.startswith(_WATER_TRACT).to_numpy(dtype=bool)
    )
    sea = shapely.get_parts(shapely.union_all(shape[is_sea]))
    inland = shapely.get_parts(shapely.union_all(shape[~is_sea]))
    geometry = np.append(sea, inland)
    kind = np.where(shapely.area(geometry) < _BAY_DEG2, "lake", "bay").astype(object)
    kind[: sea.size] = "ocean"
    kept = shapely.area(geometry) >= _LEAST_GUESSED_DEG2
    shapes = _simplify_shapes(geometry[kept])
    columns = {"name": np.full(int(kept.sum()), "", dtype=object), "kind": kind[kept]}
    return geopandas.GeoDataFrame(columns, geometry=shapes, crs=CRS)


def _add_sea(water: geopandas.GeoDataFrame, sea: Shapes) -> geopandas.GeoDataFrame:
    """Add the sea, as far as it is no water yet."""
    if not len(sea):
        return water
    more = shapely.get_parts(shapely.difference(shapely.union_all(sea), shapely.union_all(water.geometry)))
    more = _simplify_shapes(more[shapely.area(more) >= _LEAST_GUESSED_DEG2])
    columns = {"name": [*water["name"], *[""] * len(more)], "kind": [*water["kind"], *["ocean"] * len(more)]}
    return geopandas.GeoDataFrame(columns, geometry=[*water.geometry, *more], crs=CRS)


def _area(states: pandas.DataFrame) -> shapely.Geometry:
    """The imported states and a margin around them."""
    shapes = shapely.simplify(states["geometry"].dropna().to_numpy(), MARGIN_DEG / 10)
    return shapely.buffer(shapely.union_all(shapes), MARGIN_DEG, quad_segs=4)


def _water(parts: Sequence[pandas.DataFrame], area: shapely.Geometry) -> geopandas.GeoDataFrame:
    """Water of one name joined where it touches, as across counties; water without a name as it is."""
    frame = pandas.concat(parts, ignore_index=True)
    frame = frame[shapely.area(frame.geometry.to_numpy()) >= _LEAST_WATER_DEG2]
    unnamed = frame[frame["name"] == ""]
    rows = list(zip(unnamed["name"], unnamed["kind"], unnamed.geometry, strict=True))
    for (name, kind), group in frame[frame["name"] != ""].groupby(["name", "kind"]):
        whole = shapely.union_all(shapely.make_valid(group.geometry.to_numpy()))
        rows += [(name, kind, body) for body in shapely.get_parts(whole)]
    names, kinds, shapes = zip(*rows, strict=True) if rows else ((), (), ())
    return _clip_shapes({"name": list(names), "kind": list(kinds)}, _as_array(shapes), area)


def _roads(parts: Sequence[pandas.DataFrame], area: shapely.Geometry) -> geopandas.GeoDataFrame:
    rows = _merge_lines(parts, ["name", "rank"])
    columns = {"name": [key[0] for key, _ in rows], "rank": np.array([key[1] for key, _ in rows], np.int8)}
    return _clip_shapes(columns, _as_array([line for _, line in rows]), area)


def _rails(parts: Sequence[pandas.DataFrame], area: shapely.Geometry) -> geopandas.GeoDataFrame:
    rows = _merge_lines(parts, ["name"])
    return _clip_shapes({"name": [key[0] for key, _ in rows]}, _as_array([line for _, line in rows]), area)


def _merge_lines(
    parts: Sequence[pandas.DataFrame], keys: list[str]
) -> list[tuple[tuple[Hashable, ...], shapely.Geometry]]:
    """Lines with the same keys joined end to end; a line that occurs in several files counts once."""
    frame = pandas.concat(parts)
    frame = frame[~frame.assign(wkb=shapely.to_wkb(frame.geometry.to_numpy())).duplicated([*keys, "wkb"])]
    return [
        (key, shapely.line_merge(shapely.multilinestrings(shapely.get_parts(group.geometry.to_numpy()))))
        for key, group in frame.groupby(keys)
    ]


def _landmarks(parts: Sequence[pandas.DataFrame], area: shapely.Geometry) -> pandas.DataFrame:
    frame = pandas.concat(parts, ignore_index=True).drop_duplicates()
    shapely.prepare(area)
    frame = frame[shapely.contains_xy(area, frame["lon_deg"].to_numpy(), frame["lat_deg"].to_numpy())]
    order = frame["kind"].map(LANDMARK_KINDS.index).to_numpy().argsort(kind="stable")
    kept: pandas.DataFrame = frame.iloc[order[:MOST_LANDMARKS]]
    return kept.sort_values(["name", "kind", "lon_deg", "lat_deg"], ignore_index=True)


def _add_counties(landmarks: pandas.DataFrame, counties: pandas.DataFrame) -> pandas.DataFrame:
    """Add the county that holds each landmark, "" where none does."""
    here = counties[~counties["elsewhere"] & counties["geometry"].notna()]
    points = shapely.points(landmarks["lon_deg"].to_numpy(), landmarks["lat_deg"].to_numpy())
    row, county = shapely.STRtree(here["geometry"].to_numpy()).query(points, predicate="intersects")
    county_id = np.full(len(landmarks), "", dtype=object)
    county_id[row] = here["county_id"].to_numpy(dtype=object)[county]
    return landmarks.assign(county_id=county_id)[["name", "kind", "county_id", "lon_deg", "lat_deg"]]


def _clip_shapes(
    columns: dict[str, object], shapes: Shapes, area: shapely.Geometry
) -> geopandas.GeoDataFrame:
    """Cut shapes off at the edge of an area, and simplify them."""
    frame = geopandas.GeoDataFrame(columns, geometry=shapes, crs=CRS)
    shapely.prepare(area)
    frame = frame[shapely.intersects(area, frame.geometry.to_numpy())]
    geometry = frame.geometry.to_numpy()
    crossing = np.flatnonzero(~shapely.contains_properly(area, geometry))
    dimension = shapely.get_dimensions(geometry)
    geometry[crossing] = shapely.intersection(shapely.make_valid(geometry[crossing]), area)
    for row in crossing[shapely.get_type_id(geometry[crossing]) == _COLLECTION]:
        parts = shapely.get_parts(geometry[row])
        geometry[row] = shapely.union_all(parts[shapely.get_dimensions(parts) == dimension[row]])
    there = ~shapely.is_empty(geometry)
    frame = frame[there].set_geometry(_simplify_shapes(geometry[there]), crs=CRS)
    return frame.reset_index(drop=True)


def _simplify_shapes(shapes: Shapes) -> Shapes:
    """Drop vertices closer than the tolerance to the line between others; raise the tolerance while there are too many.

    Part by part: GEOS compares every part of a shape with all others, which takes long for a county's ponds.
    """
    parts, row = shapely.get_parts(shapes, return_index=True)
    tolerance = TOLERANCE_DEG
    simplified = shapely.simplify(parts, tolerance)
    while shapely.get_num_coordinates(simplified).sum() > MOST_VERTICES:
        tolerance *= 2
        simplified = shapely.simplify(simplified, tolerance)
    first, n_parts = np.unique(row, return_index=True, return_counts=True)[1:]
    whole = np.array(simplified[first])
    joined = (
        shapely.multipolygons
        if shapely.get_dimensions(parts).max(initial=1) == 2
        else shapely.multilinestrings
    )
    for at in np.flatnonzero(n_parts > 1):
        whole[at] = joined(simplified[first[at] : first[at] + n_parts[at]])
    return whole


def _as_array(shapes: Sequence[shapely.Geometry]) -> Shapes:
    array = np.empty(len(shapes), dtype=object)
    array[:] = shapes
    return array


_ASSEMBLE: Final[dict[str, Callable[[Sequence[pandas.DataFrame], shapely.Geometry], pandas.DataFrame]]] = {
    "water": _water,
    "roads": _roads,
    "rails": _rails,
    "landmarks": _landmarks,
}
