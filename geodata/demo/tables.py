"""The geographic tables: units by identifier, with people, places and polygons."""

from __future__ import annotations

from typing import Final

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import shapely

from geodata.demo.blocks import Blocks
from geodata.demo.curves import Floats
from geodata.demo.gazetteer import Gazetteer
from geodata.demo.grouping import Ints, joined
from geodata.demo.sizes import ELSEWHERE_STATES
from geodata.demo.units import Units
from geodata.schema import CRS

ELSEWHERE_PEOPLE: Final = (1_900_000, 3_400_000)
_TABLES: Final = {
    "tract": "tracts",
    "puma": "pumas",
    "superpuma": "superpumas",
    "county": "counties",
    "state": "states",
}
_ABOVE: Final = {
    "tract": ("puma", "superpuma", "county", "state"),
    "puma": ("superpuma", "state"),
    "superpuma": ("state",),
    "county": ("state",),
    "state": (),
}


def geography(
    blocks: Blocks, units: Units, gazetteer: Gazetteer, block_id: npt.NDArray[np.object_], far_deg: Floats
) -> dict[str, pandas.DataFrame]:
    """Make the tables `schema.GEOGRAPHY`.

    Parameters
    ----------
    blocks, units, gazetteer
        In the order of their identifiers.
    block_id : str[blocks]
        Fifteen digits.
    far_deg : float64[elsewhere, 2]
        Centres of the elsewhere units, longitude and latitude.
    """
    here = _blocks(blocks, units, gazetteer, block_id)
    far = _elsewhere(far_deg, list(here.columns))
    frame = pandas.concat([here, far], ignore_index=True)
    tract_id = np.unique(frame["tract_id"].astype(str))
    frame["tract_index"] = np.searchsorted(tract_id, frame["tract_id"].astype(str)).astype(np.int32)
    tables: dict[str, pandas.DataFrame] = {"blocks": frame}
    for level, name in _TABLES.items():
        unit = getattr(gazetteer, level)[0][_unit_of_tract(units, level)]
        ids, number = np.unique(unit.astype(str), return_inverse=True)
        polygon = units.polygon if level == "tract" else joined(units.polygon, number)
        tables[name] = _unit_table(frame, level, gazetteer, dict(zip(ids, polygon, strict=True)))
    _add_positions(tables)
    tables["cells"] = geopandas.GeoDataFrame(
        {"block_index": np.arange(len(here), dtype=np.int32)}, geometry=blocks.polygon, crs=CRS
    )
    tables["layers"] = _layers(here, gazetteer)
    return tables


def _blocks(
    blocks: Blocks, units: Units, gazetteer: Gazetteer, block_id: npt.NDArray[np.object_]
) -> pandas.DataFrame:
    tract = units.tract
    columns = {
        "block_id": block_id,
        "tract_id": gazetteer.tract[0][tract],
        "puma_id": gazetteer.puma[0][units.puma[tract]],
        "superpuma_id": gazetteer.superpuma[0][units.superpuma[tract]],
        "county_id": gazetteer.county[0][units.county[tract]],
        "state_id": gazetteer.state[0][blocks.state],
        "lon_deg": blocks.place_deg[:, 0],
        "lat_deg": blocks.place_deg[:, 1],
        "population": blocks.people,
        "elsewhere": False,
        "layer_bgrp": [text[:12] for text in block_id],
        "layer_cbsa": gazetteer.layer["cbsa"][0][units.metro[tract]],
        "layer_ctycsub": gazetteer.layer["ctycsub"][0][units.subdivision[tract]],
        "layer_stplc": gazetteer.layer["stplc"][0][units.place],
        "layer_zcta": gazetteer.layer["zcta"][0][units.zip_area],
    }
    return pandas.DataFrame(columns)


def _elsewhere(far_deg: Floats, columns: list[str]) -> pandas.DataFrame:
    frame = pandas.DataFrame({name: list(ELSEWHERE_STATES) for name in columns if name.endswith("_id")})
    frame["lon_deg"], frame["lat_deg"] = far_deg.T
    frame["population"] = ELSEWHERE_PEOPLE
    frame["elsewhere"] = True
    for name in columns:
        if name.startswith("layer_"):
            frame[name] = ""
    return frame[columns]


def _unit_of_tract(units: Units, level: str) -> Ints:
    return np.arange(units.state.size) if level == "tract" else getattr(units, level)


def _unit_table(
    blocks: pandas.DataFrame, level: str, gazetteer: Gazetteer, polygon: dict[str, shapely.Geometry]
) -> geopandas.GeoDataFrame:
    """One row for each unit: the units above it, its name, its people, the centre of them, its polygon."""
    # A tract without residents has a centre too.
    weight = blocks["population"] + 1e-6
    summed = blocks.assign(weight=weight, x=blocks["lon_deg"] * weight, y=blocks["lat_deg"] * weight)
    grouped = summed.groupby(f"{level}_id", sort=True)
    table = grouped[[*(f"{above}_id" for above in _ABOVE[level]), "elsewhere"]].first()
    total = grouped[["population", "weight", "x", "y"]].sum()
    table["population"] = total["population"]
    table["lon_deg"] = np.round(total["x"] / total["weight"], 6)
    table["lat_deg"] = np.round(total["y"] / total["weight"], 6)
    ids, names = getattr(gazetteer, level)
    name = dict(zip(gazetteer.state[0], gazetteer.state[1], strict=True)) | dict(zip(ids, names, strict=True))
    table["name"] = [name[unit] for unit in table.index]
    shapes = [polygon.get(unit) for unit in table.index]
    return geopandas.GeoDataFrame(table.reset_index(), geometry=shapes, crs=CRS)


def _add_positions(tables: dict[str, pandas.DataFrame]) -> None:
    tracts = tables["tracts"]
    for level in ("puma", "superpuma"):
        ids = tables[_TABLES[level]][f"{level}_id"].to_numpy(str)
        tracts[f"{level}_index"] = np.searchsorted(ids, tracts[f"{level}_id"].to_numpy(str)).astype(np.int32)
    tracts["derived"] = ~tracts["elsewhere"]


def _layers(blocks: pandas.DataFrame, gazetteer: Gazetteer) -> pandas.DataFrame:
    tract_name = dict(zip(*gazetteer.tract, strict=True))
    groups = np.unique(blocks["layer_bgrp"].to_numpy(str))
    rows = [("bgrp", text, f"Block group {text[11]}, {tract_name[text[:11]]}") for text in groups]
    for code, (ids, names) in gazetteer.layer.items():
        used = set(blocks[f"layer_{code}"])
        rows += [(code, i, n) for i, n in zip(ids, names, strict=True) if i and i in used]
    return pandas.DataFrame(rows, columns=["layer", "unit_id", "name"])
