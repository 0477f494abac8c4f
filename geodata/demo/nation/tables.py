"""The nation's tables: units at once, blocks and cells some tracts at a time."""

from __future__ import annotations

from typing import Final

import geopandas
import numpy as np
import pandas
import pyarrow
import shapely

from geodata.demo.curves import Floats
from geodata.demo.grouping import Ints
from geodata.demo.nation.division import DECIMALS
from geodata.demo.nation.gazetteer import NationGazetteer
from geodata.demo.nation.sizes import ELSEWHERE, ELSEWHERE_PEOPLE
from geodata.demo.nation.tract_grids import TractGrids, block_ids, group_ids
from geodata.demo.nation.units import NationUnits
from geodata.schema import CRS
from geodata.table_stream import Column, Columns

_TABLES: Final = {
    "tract": "tracts",
    "puma": "pumas",
    "superpuma": "superpumas",
    "county": "counties",
    "state": "states",
}
_LEVELS: Final = ("tract", "puma", "superpuma", "county", "state")
ELSEWHERE_DEG: Final = (-60.0, 50.0)


def block_columns(grids: TractGrids, units: NationUnits, gazetteer: NationGazetteer) -> Columns:
    """Columns of the schema's BLOCKS for some blocks, with the layer of block groups."""
    tract = grids.tract
    first = int(tract[0])
    tract_id = np.array(gazetteer.ids["tract"][first : int(tract[-1]) + 1], dtype="S11")
    block_id = block_ids(tract_id[tract - first], grids.group, grids.serial)
    columns: dict[str, Column] = {"block_id": block_id, "layer_bgrp": group_ids(block_id)}
    for level in _LEVELS:
        columns[f"{level}_id"] = _texts(gazetteer.ids[level], _of_tract(units, level)[tract])
    place = grids.place_deg
    return columns | {
        "tract_index": tract.astype(np.int32),
        "lon_deg": np.ascontiguousarray(place[:, 0]),
        "lat_deg": np.ascontiguousarray(place[:, 1]),
        "population": grids.people,
        "elsewhere": np.zeros(tract.size, dtype=np.bool_),
    }


def cell_columns(first_block: int, outlines: pyarrow.Array) -> Columns:
    """Columns of the schema's CELLS for some blocks with these outlines (WKB), the first of row `first_block`."""
    block = np.arange(first_block, first_block + len(outlines), dtype=np.int32)
    return {"block_index": block, "geometry": outlines}


def elsewhere_block(units: NationUnits) -> Columns:
    """Columns of the schema's BLOCKS for the elsewhere unit."""
    texts = {f"{level}_id": [ELSEWHERE] for level in ("block", *_LEVELS)} | {"layer_bgrp": [""]}
    return {name: pyarrow.array(text, pyarrow.large_string()) for name, text in texts.items()} | {
        "tract_index": np.array([units.n_tracts], np.int32),
        "lon_deg": np.array([ELSEWHERE_DEG[0]]),
        "lat_deg": np.array([ELSEWHERE_DEG[1]]),
        "population": np.array([ELSEWHERE_PEOPLE]),
        "elsewhere": np.array([True]),
    }


def unit_tables(
    units: NationUnits, gazetteer: NationGazetteer, centre_deg: Floats
) -> dict[str, geopandas.GeoDataFrame]:
    """Tables of tracts, PUMAs, SuperPUMAs, counties and states.

    Parameters
    ----------
    centre_deg : float64[tracts, 2]
        Centre of people of every tract.
    """
    tables = {name: _unit_table(units, level, gazetteer, centre_deg) for level, name in _TABLES.items()}
    tracts = tables["tracts"]
    for level in ("puma", "superpuma"):
        last = len(tables[_TABLES[level]]) - 1
        tracts[f"{level}_index"] = np.append(getattr(units, level), last).astype(np.int32)
    tracts["derived"] = ~tracts["elsewhere"]
    return tables


def layer_table(n_groups: Ints, gazetteer: NationGazetteer) -> pandas.DataFrame:
    """Table of the names of block groups, of which every tract has some: int64[tracts]."""
    rows = [
        ("bgrp", f"{tract_id}{group}", f"Block group {group}, {name}")
        for tract_id, name, n in zip(
            gazetteer.ids["tract"], gazetteer.names["tract"], n_groups.tolist(), strict=True
        )
        for group in range(1, n + 1)
    ]
    return pandas.DataFrame(rows, columns=["layer", "unit_id", "name"])


def _unit_table(
    units: NationUnits, level: str, gazetteer: NationGazetteer, centre_deg: Floats
) -> geopandas.GeoDataFrame:
    group = _of_tract(units, level)
    people = np.bincount(group, weights=units.people)
    centre = [np.bincount(group, weights=units.people * axis) / people for axis in centre_deg.T]
    columns: dict[str, object] = {f"{level}_id": gazetteer.ids[level]}
    first = np.searchsorted(group, np.arange(people.size))
    for above in _above(level):
        columns[f"{above}_id"] = np.array(gazetteer.ids[above])[_of_tract(units, above)[first]]
    columns |= {
        "name": gazetteer.names[level],
        "population": people.astype(np.int64),
        "lon_deg": np.round(centre[0], DECIMALS),
        "lat_deg": np.round(centre[1], DECIMALS),
        "elsewhere": False,
    }
    frame = pandas.DataFrame(columns)
    far = {f"{unit}_id": ELSEWHERE for unit in (level, *_above(level))} | {
        "name": gazetteer.elsewhere,
        "population": ELSEWHERE_PEOPLE,
        "lon_deg": ELSEWHERE_DEG[0],
        "lat_deg": ELSEWHERE_DEG[1],
        "elsewhere": True,
    }
    frame = pandas.concat([frame, pandas.DataFrame([far])], ignore_index=True)
    polygon = [*shapely.box(*units.box[level].T), None]
    return geopandas.GeoDataFrame(frame, geometry=polygon, crs=CRS)


def _above(level: str) -> tuple[str, ...]:
    if level == "tract":
        return ("puma", "superpuma", "county", "state")
    if level == "puma":
        return ("superpuma", "state")
    return () if level == "state" else ("state",)


def _of_tract(units: NationUnits, level: str) -> Ints:
    return np.arange(units.n_tracts) if level == "tract" else np.asarray(getattr(units, level))


def _texts(texts: list[str], position: Ints) -> pyarrow.Array:
    """Texts by position, of which neighbors are in the same few units: a pyarrow array of large strings."""
    first, last = int(position[0]), int(position[-1])
    few = pyarrow.array(texts[first : last + 1], pyarrow.large_string())
    return few.take(pyarrow.array(position - first))
