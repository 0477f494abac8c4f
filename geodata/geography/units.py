"""Larger units from tracts: PUMAs, SuperPUMAs, counties and states, with people, centres and polygons."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import shapely

from geodata.geography.cells import union_of
from geodata.geography.centers import mean_place_deg
from geodata.geography.elsewhere import UNKNOWN_HOME, UNKNOWN_HOME_NAME, states
from geodata.geography.superpumas import superpuma_ids
from geodata.progress import Progress
from geodata.sources.crosswalk import Crosswalk
from geodata.sources.pumas import Pumas
from geodata.store.schema import CRS

Shapes = npt.NDArray[np.object_]
UNIONS = "joining polygons"


@dataclass(frozen=True, slots=True)
class Parts:
    """Blocks and tracts, from which larger units are made.

    Attributes
    ----------
    blocks, tracts : DataFrame
        Elsewhere units included; identifiers of larger units are added to both.
    geometry : object array[tracts]
        Polygons, None for elsewhere.
    cells : GeoDataFrame
        The schema's CELLS.
    """

    blocks: pandas.DataFrame
    tracts: pandas.DataFrame
    geometry: Shapes
    cells: geopandas.GeoDataFrame


def join_units(
    parts: Parts, crosswalk: Crosswalk, pumas: Pumas, *, progress: Progress
) -> dict[str, pandas.DataFrame]:
    """Make the tables of larger units, and add their identifiers to `blocks` and `tracts`.

    Returns
    -------
    dict of str to DataFrame or GeoDataFrame
        blocks, tracts, pumas, superpumas, counties and states of the schema (EPSG:4326).
    """
    tracts, blocks, names = parts.tracts, parts.blocks, crosswalk.names
    progress(UNIONS, 0, 4)
    with ThreadPoolExecutor(max_workers=1) as beside:
        above = beside.submit(_counties_and_states, parts, names)
        puma, superpuma = _pumas_and_superpumas(parts, pumas, names)
        progress(UNIONS, 2, 4)
        county, state = above.result()
    progress(UNIONS, 4, 4)
    tracts["superpuma_id"] = tracts["puma_id"].map(puma.set_index("puma_id")["superpuma_id"])
    tracts["puma_index"] = pandas.Index(puma["puma_id"]).get_indexer(tracts["puma_id"])
    tracts["superpuma_index"] = pandas.Index(superpuma["superpuma_id"]).get_indexer(tracts["superpuma_id"])
    for name in ("puma_id", "superpuma_id"):
        blocks[name] = tracts[name].array[blocks["tract_index"]]
    return {
        "blocks": blocks,
        "tracts": geopandas.GeoDataFrame(tracts, geometry=parts.geometry, crs=CRS),
        "pumas": puma,
        "superpumas": superpuma,
        "counties": county,
        "states": state,
    }


def _pumas_and_superpumas(
    parts: Parts, pumas: Pumas, names: dict[str, pandas.Series]
) -> tuple[geopandas.GeoDataFrame, geopandas.GeoDataFrame]:
    tracts = parts.tracts
    puma = join_parts(
        tracts, parts.geometry, "puma_id", ["state_id"], _puma_names(tracts, pumas, names["county"])
    )
    puma["superpuma_id"] = _superpumas(puma)
    superpuma = join_parts(puma, puma.geometry, "superpuma_id", ["state_id"], {})
    superpuma["name"] = _superpuma_names(superpuma, names["state"])
    return puma, superpuma


def _counties_and_states(
    parts: Parts, names: dict[str, pandas.Series]
) -> tuple[geopandas.GeoDataFrame, geopandas.GeoDataFrame]:
    county = join_parts(parts.tracts, parts.geometry, "county_id", ["state_id"], names["county"])
    state = join_parts(county, county.geometry, "state_id", [], names["state"])
    return (
        _recount_by_blocks(parts, county, "county_id", ["state_id"], names["county"]),
        _recount_by_blocks(parts, state, "state_id", [], names["state"]),
    )


def name_units(
    unit_id: pandas.Series, names: pandas.Series | Mapping[str, str], otherwise: str
) -> pandas.Series:
    """Names of units, a Series: from `names`, else the state's, else `otherwise` and the identifier."""
    state_names = {code: state.name for code, state in states().items()} | {UNKNOWN_HOME: UNKNOWN_HOME_NAME}
    unit_names = unit_id.map(names)
    unit_names = unit_names.where(unit_names.notna() & (unit_names != ""), unit_id.map(state_names))
    return unit_names.where(unit_names.notna(), otherwise + unit_id).astype("str")


def _puma_names(tracts: pandas.DataFrame, pumas: Pumas, county_names: pandas.Series) -> pandas.Series:
    postal = {code: state.postal for code, state in states().items()}
    puma_id = tracts["puma_id"].drop_duplicates()
    name = puma_id.map(pumas.names)
    name = name.where(name.notna(), puma_id.map(county_names))
    plain = "PUMA " + puma_id.str[2:] + ", " + puma_id.str[:2].map(postal)
    return pandas.Series(name.where(name.notna(), plain).to_numpy(), index=puma_id.to_numpy())


def _superpumas(puma: pandas.DataFrame) -> pandas.api.extensions.ExtensionArray:
    inside = ~puma["elsewhere"].to_numpy()
    result = puma["puma_id"].to_numpy(dtype=object).copy()
    part = puma[inside]
    result[inside] = superpuma_ids(
        part["puma_id"].tolist(),
        part["state_id"].tolist(),
        part["population"].to_numpy(np.int64),
        part["lon_deg"].to_numpy(),
        part["lat_deg"].to_numpy(),
        np.asarray(part.geometry.array, dtype=object),
    )
    return pandas.array(result, dtype="str")


def _superpuma_names(superpuma: pandas.DataFrame, state_names: pandas.Series) -> pandas.Series:
    state = name_units(superpuma["state_id"], state_names, "State ")
    number = superpuma["superpuma_id"].str.split("S").str[-1].str.lstrip("0")
    return state.where(superpuma["elsewhere"], "SuperPUMA " + number + ", " + state)


def join_parts(
    parts: pandas.DataFrame,
    geometry: npt.ArrayLike,
    key: str,
    keep: list[str],
    names: pandas.Series | Mapping[str, str],
) -> geopandas.GeoDataFrame:
    """Join units into larger ones: people added, centres weighted by people, polygons united; sorted by `key`."""
    shape = np.asarray(geometry, dtype=object)
    unit_id, index = np.unique(parts[key].to_numpy(dtype=object).astype(str), return_inverse=True)
    population = np.bincount(index, weights=parts["population"]).astype(np.int64)
    weight = np.where(population[index] == 0, 1, parts["population"])
    first = parts.drop_duplicates(key).set_index(key).loc[unit_id]
    unit = pandas.DataFrame({key: pandas.array(unit_id, dtype="str")})
    for name in keep:
        unit[name] = first[name].to_numpy()
    unit["population"] = population
    unit["lon_deg"], unit["lat_deg"] = mean_place_deg(
        index, weight.astype(np.float64), parts["lon_deg"].to_numpy(), parts["lat_deg"].to_numpy()
    )
    unit["elsewhere"] = first["elsewhere"].to_numpy()
    unit["name"] = name_units(unit[key], names, "")
    order = np.argsort(index, kind="stable")
    ends = np.searchsorted(index[order], np.arange(unit_id.size + 1))
    united = [_union_present(shape[order[ends[k] : ends[k + 1]]]) for k in range(unit_id.size)]
    return geopandas.GeoDataFrame(unit, geometry=np.array(united, dtype=object), crs=CRS)


def _union_present(polygons: Shapes) -> shapely.Geometry | None:
    present = polygons[~shapely.is_missing(polygons)]
    return union_of(present) if present.size else None


def _recount_by_blocks(
    parts: Parts, table: pandas.DataFrame, key: str, keep: list[str], names: pandas.Series
) -> geopandas.GeoDataFrame:
    """Recount people by the blocks' own county or state; add units that only blocks name."""
    extra = ~parts.blocks[key].isin(table[key]).to_numpy()
    if extra.any():
        shapes = np.full(len(parts.blocks), None, dtype=object)
        shapes[parts.cells["block_index"].to_numpy()] = np.asarray(parts.cells.geometry.array, dtype=object)
        added = join_parts(parts.blocks[extra], shapes[extra], key, keep, names)
        table = pandas.concat([table, added]).sort_values(key, ignore_index=True)
    people = parts.blocks.groupby(key)["population"].sum()
    return table.assign(population=table[key].map(people).fillna(0).astype(np.int64))
