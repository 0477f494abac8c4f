"""The hierarchy: blocks in tracts in PUMAs in SuperPUMAs, and in counties and states; elsewhere units among them.

The crosswalk says which unit a block belongs to, with one exception. It may put a block into a state whose crosswalk
is not imported (after a correction of the state line). Such a block stays in the tract of the blocks next to it in
order of identifier. Otherwise that state would be both imported and elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import shapely

from geodata.errors import SourceFileError
from geodata.geography.cells import Cells, cut_cells
from geodata.geography.centers import mean_place_deg
from geodata.geography.elsewhere import (
    UNKNOWN_HOME,
    UNKNOWN_HOME_DEG,
    UNKNOWN_HOME_NAME,
    State,
    states,
)
from geodata.geography.right_places import (
    check_blocks_in_states,
    check_centers,
    check_points_in_polygons,
    check_polygons_are_known,
    check_polygons_in_states,
)
from geodata.geography.units import Parts, join_units, name_units
from geodata.progress import Progress, silent
from geodata.sources.boundaries import Boundaries
from geodata.sources.crosswalk import Crosswalk
from geodata.sources.population import Residents, block_population
from geodata.sources.pumas import Pumas
from geodata.sources.reading import code_numbers
from geodata.store.schema import CRS

Shapes = npt.NDArray[np.object_]


def elsewhere_rows(blocks: pandas.DataFrame) -> dict[str, int]:
    """Row of `blocks` of each elsewhere unit, by state code."""
    rows = np.flatnonzero(blocks["elsewhere"])
    return dict(zip(blocks["block_id"].iloc[rows], rows.tolist(), strict=True))


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Blocks and tracts in the order of the tables, without polygons.

    Attributes
    ----------
    blocks : DataFrame
        The schema's, but for `puma_id` and `superpuma_id`.
    tracts : DataFrame
        tract_id, puma_id, county_id, state_id, name, population, lon_deg, lat_deg, elsewhere.
    census_id : Series
        Tract of the census by tract, of those that have another name there.
    notes : list of str
        What was decided, for the manifest.
    """

    blocks: pandas.DataFrame
    tracts: pandas.DataFrame
    census_id: pandas.Series
    notes: list[str]

    @property
    def elsewhere(self) -> dict[str, int]:
        """Row of `blocks` of each elsewhere unit, by state code."""
        return elsewhere_rows(self.blocks)

    @property
    def elsewhere_tracts(self) -> dict[str, int]:
        """Row of `tracts` of each elsewhere unit, by state code."""
        tract_index = self.blocks["tract_index"].to_numpy()
        return {code: int(tract_index[row]) for code, row in self.elsewhere.items()}

    @property
    def tract_names(self) -> pandas.Series:
        """Row of `tracts` by every identifier of a tract: its own, and that of the census if the crosswalk has another
        (Connecticut's planning regions).
        """
        return _tract_names(self.tracts, self.census_id)


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The public geography of a dataset.

    Attributes
    ----------
    tables : dict of str to DataFrame or GeoDataFrame
        blocks, tracts, pumas, superpumas, counties, states, cells, layers: as in the schema.
    elsewhere : dict of str to int
        Row of `blocks` of each elsewhere unit, by state code.
    notes : list of str
        What was decided, for the manifest.
    """

    tables: dict[str, pandas.DataFrame]
    elsewhere: dict[str, int]
    notes: list[str]


def arrange(
    crosswalk: Crosswalk,
    residents: Residents,
    pumas: Pumas,
    *,
    residents_only: bool = False,
    unknown_homes: bool = False,
) -> Arrangement:
    """Put blocks and tracts in order, with their people and places, and add the elsewhere units.

    Without the workers who live elsewhere (`residents_only`) there are no such units: nobody can be drawn there. With
    `unknown_homes`, there is one more, for workers whose home is not known.
    """
    notes: list[str] = []
    names = _state_names(crosswalk)
    check_blocks_in_states(crosswalk.blocks, names)
    check_centers(crosswalk.blocks, residents.centres, names)
    blocks: pandas.DataFrame = _place_blocks(crosswalk, notes)
    blocks["population"], note = block_population(blocks["block_id"], residents)
    if not blocks["population"].any():
        raise SourceFileError(
            "population files: nobody lives in any block of the crosswalks; give those of the imported states"
        )
    notes.append(note)
    # Every other state, even one without homes: which units exist must not depend on confidential homes.
    known = [*states(), *([UNKNOWN_HOME] if unknown_homes else [])]
    outside = [] if residents_only else [code for code in known if code not in crosswalk.state_ids]
    blocks = pandas.concat([blocks.assign(elsewhere=False), _elsewhere_blocks(outside, blocks)])
    order = np.lexsort((_sort_key(blocks["block_id"], 15), _sort_key(blocks["tract_id"], 11)))
    blocks = blocks.take(order).reset_index(drop=True)
    tracts, blocks["tract_index"] = _tracts(blocks)
    census_id = _census_ids(blocks)
    tracts["puma_id"] = _puma_of(tracts, census_id, pumas, notes)
    tracts["name"] = name_units(tracts["tract_id"], crosswalk.names["tract"], "Tract ")
    _set_centres(tracts, blocks, census_id, residents)
    return Arrangement(blocks, tracts, census_id, notes)


def assemble(
    arranged: Arrangement,
    crosswalk: Crosswalk,
    pumas: Pumas,
    tract_polygons: Boundaries,
    block_polygons: Boundaries,
    *,
    threads: int = 2,
    progress: Progress = silent,
) -> Hierarchy:
    """Assemble all public tables.

    Parameters
    ----------
    arranged : Arrangement
        Of this crosswalk and these PUMAs.
    crosswalk, pumas, tract_polygons, block_polygons
        As read.
    threads : int
        The result is the same for any number.
    progress : callable
        Called with (stage, done, total).
    """
    _check_polygons(arranged, _state_names(crosswalk), tract_polygons, block_polygons)
    blocks, tracts = (frame.copy(deep=False) for frame in (arranged.blocks, arranged.tracts))
    notes = list(arranged.notes)
    cells, geometry, tracts["derived"] = _cells(
        blocks, tracts, arranged.census_id, tract_polygons, block_polygons, notes, threads, progress
    )
    parts = Parts(blocks, tracts, geometry, cells)
    tables = join_units(parts, crosswalk, pumas, progress=progress) | {
        "cells": cells,
        "layers": crosswalk.layers,
    }
    return Hierarchy(tables, arranged.elsewhere, notes)


def _state_names(crosswalk: Crosswalk) -> pandas.Series:
    return crosswalk.names["state"].reindex(list(crosswalk.state_ids), fill_value="")


def _check_polygons(
    arranged: Arrangement, names: pandas.Series, tracts: Boundaries, blocks: Boundaries
) -> None:
    """GeometryError if polygons are elsewhere than their codes say."""
    own = arranged.blocks.loc[
        ~arranged.blocks["elsewhere"], ["block_id", "tract_index", "lon_deg", "lat_deg"]
    ]
    tract_id = arranged.tracts["tract_id"]
    polygon = _shapes(_look_up_either_name(tract_id, arranged.census_id, tracts.polygon))[own["tract_index"]]
    known = arranged.tract_names.index.to_series()
    state = tract_id.str[:2].to_numpy(dtype=object)[own["tract_index"]]
    for level, given, unit_id, shape in (
        ("tract", tracts, known[~known.isin(states())], polygon),
        ("block", blocks, own["block_id"], _polygons_of(own["block_id"], blocks)),
    ):
        if not given.polygon.empty:
            check_polygons_in_states(given, level, names)
            check_polygons_are_known(given, level, unit_id, names)
            there = ~shapely.is_missing(shape)
            shapely.prepare(shape[there])
            place = own.loc[there, ["lon_deg", "lat_deg"]].to_numpy()
            check_points_in_polygons(
                state[there], shapely.intersects_xy(shape[there], *place.T), level, names
            )


def _sort_key(code: pandas.Series, digits: int) -> npt.NDArray[np.int64]:
    """Numbers in the order of codes of some length and of the two digits of elsewhere units, which are in no code."""
    number = code_numbers(code)
    return np.where(number < 100, number * 10 ** (digits - 2), number)


def _place_blocks(crosswalk: Crosswalk, notes: list[str]) -> pandas.DataFrame:
    blocks = crosswalk.blocks.copy()
    own = blocks["block_id"].str[:11]
    imported = list(crosswalk.state_ids)
    stray = ~(
        blocks["tract_id"].str[:2].isin(imported)
        & blocks["county_id"].str[:2].isin(imported)
        & blocks["state_id"].isin(imported)
    )
    if stray.any():
        beside = ~stray & own.isin(own[stray].unique())
        usual = _find_most_common(own[beside], blocks.loc[beside, "tract_id"])
        tract = own[stray].map(usual)
        tract = tract.where(tract.notna(), own[stray])
        blocks.loc[stray, "tract_id"] = tract
        blocks.loc[stray, "county_id"] = tract.str[:5]
        blocks.loc[stray, "state_id"] = tract.str[:2]
        notes.append(
            f"{int(stray.sum())} blocks that the crosswalk puts into a state without imported crosswalk stay in the "
            "tract of their neighbors by identifier"
        )
    return blocks


def _find_most_common(key: pandas.Series, value: pandas.Series) -> pandas.Series:
    """Most frequent value of each key, a Series; of equally frequent ones the first in order."""
    both = pandas.DataFrame({"key": key.to_numpy(), "value": value.to_numpy()})
    count = (
        both.value_counts(sort=False)
        .reset_index(name="n")
        .sort_values(["key", "n", "value"], ascending=[True, False, True])
    )
    first: pandas.Series = count.drop_duplicates("key").set_index("key")["value"]
    return first


def _elsewhere_blocks(codes: Sequence[str], blocks: pandas.DataFrame) -> pandas.DataFrame:
    # Of every hundred workers, about one has no known home: a public guess, which only the prior uses.
    nowhere = State(
        UNKNOWN_HOME, "", UNKNOWN_HOME_NAME, *UNKNOWN_HOME_DEG, max(int(blocks["population"].sum()) // 100, 1)
    )
    known = {**states(), UNKNOWN_HOME: nowhere}
    column: dict[str, Sequence[object]] = {
        name: list(codes) for name in ("block_id", "tract_id", "county_id", "state_id")
    }
    column["lon_deg"] = [known[code].lon_deg for code in codes]
    column["lat_deg"] = [known[code].lat_deg for code in codes]
    column["population"] = [known[code].population for code in codes]
    column |= {name: [""] * len(codes) for name in blocks.columns if name.startswith("layer_")}
    return pandas.DataFrame(column).astype(blocks.dtypes.to_dict()).assign(elsewhere=True)


def _tracts(blocks: pandas.DataFrame) -> tuple[pandas.DataFrame, npt.NDArray[np.int32]]:
    index = pandas.factorize(blocks["tract_id"], sort=False)[0].astype(np.int32)
    first: pandas.DataFrame = blocks.drop_duplicates("tract_id", ignore_index=True)
    tract_id = first["tract_id"]
    tracts: pandas.DataFrame = pandas.DataFrame(
        {"tract_id": tract_id, "county_id": tract_id.str[:5], "state_id": tract_id.str[:2]}
    )
    tracts["elsewhere"] = first["elsewhere"]
    tracts["population"] = np.bincount(index, weights=blocks["population"]).astype(np.int64)
    return tracts, index


def _census_ids(blocks: pandas.DataFrame) -> pandas.Series:
    """Census tract of each tract's blocks by their identifiers, if it has another name; a Series."""
    here = blocks.loc[~blocks["elsewhere"], ["block_id", "tract_id"]]
    own = here["block_id"].str[:11]
    renamed = ~own.isin(here["tract_id"].unique())
    return _find_most_common(here.loc[renamed, "tract_id"], own[renamed])


def _look_up_either_name(
    tract_id: pandas.Series, census_id: pandas.Series, value: pandas.Series
) -> pandas.Series:
    by_tract = tract_id.map(value)
    return by_tract.where(by_tract.notna(), tract_id.map(census_id).map(value))


def _puma_of(
    tracts: pandas.DataFrame, census_id: pandas.Series, pumas: Pumas, notes: list[str]
) -> pandas.Series:
    puma = _look_up_either_name(tracts["tract_id"], census_id, pumas.of_tract)
    here = ~tracts["elsewhere"]
    lost = int((puma.isna() & here).sum())
    if lost:
        why = (
            "no tract-to-PUMA file"
            if pumas.of_tract.empty
            else f"{lost:,} tracts are in no tract-to-PUMA file"
        )
        notes.append(f"{why}: their counties are used as PUMAs")
    return puma.where(puma.notna(), tracts["county_id"]).astype("str")


def _set_centres(
    tracts: pandas.DataFrame, blocks: pandas.DataFrame, census_id: pandas.Series, residents: Residents
) -> None:
    index = blocks["tract_index"].to_numpy(np.int64)
    people = blocks["population"].to_numpy(np.float64)
    empty = tracts["population"].to_numpy()[index] == 0
    weight = np.where(empty, 1.0, people)
    means = mean_place_deg(index, weight, blocks["lon_deg"].to_numpy(), blocks["lat_deg"].to_numpy())
    for name, mean in zip(("lon_deg", "lat_deg"), means, strict=True):
        published = _look_up_either_name(tracts["tract_id"], census_id, residents.centres[name])
        tracts[name] = np.where(published.notna(), published.to_numpy(np.float64), mean)


def _cells(
    blocks: pandas.DataFrame,
    tracts: pandas.DataFrame,
    census_id: pandas.Series,
    tract_polygons: Boundaries,
    block_polygons: Boundaries,
    notes: list[str],
    threads: int,
    progress: Progress,
) -> tuple[geopandas.GeoDataFrame, Shapes, npt.NDArray[np.bool_]]:
    here = np.flatnonzero(~blocks["elsewhere"])
    inside = np.flatnonzero(~tracts["elsewhere"])
    position = np.full(len(tracts), -1, dtype=np.int64)
    position[inside] = np.arange(inside.size)
    own = blocks[["block_id", "tract_index", "lon_deg", "lat_deg"]].iloc[here]
    tract_id = tracts["tract_id"].iloc[inside]
    cut = cut_cells(
        own["lon_deg"].to_numpy(),
        own["lat_deg"].to_numpy(),
        position[own["tract_index"]],
        # If two tracts were made of one census tract, the first takes its polygon.
        _shapes(_look_up_either_name(tract_id, census_id[~census_id.duplicated()], tract_polygons.polygon)),
        tract_id.str[:2].to_numpy(dtype=object).astype(np.int64),
        _polygons_of(own["block_id"], block_polygons),
        threads=threads,
        progress=progress,
    )
    _tell_cells(cut, block_polygons, notes)
    geometry = np.full(len(tracts), None, dtype=object)
    geometry[inside] = cut.tract
    derived = np.zeros(len(tracts), dtype=bool)
    derived[inside] = cut.derived
    cells = geopandas.GeoDataFrame({"block_index": here.astype(np.int32)}, geometry=cut.block, crs=CRS)
    return cells, geometry, derived


def _tell_cells(cut: Cells, block_polygons: Boundaries, notes: list[str]) -> None:
    if block_polygons.polygon.empty:
        notes.append("block cells are Voronoi cells of the blocks' internal points, clipped to the tract")
    if cut.derived.any():
        notes.append(
            f"{int(cut.derived.sum()):,} tracts without a published polygon have the union of their block cells"
        )
    if cut.moved:
        notes.append(f"{cut.moved:,} blocks have their internal point outside their tract's polygon")
    if cut.shared:
        notes.append(f"{cut.shared:,} blocks share the Voronoi cell of a neighbor")


def _polygons_of(block_id: pandas.Series, block_polygons: Boundaries) -> Shapes:
    """Published polygon of each block, or None."""
    if block_polygons.polygon.empty:
        return np.full(len(block_id), None, dtype=object)
    return _shapes(block_id.map(block_polygons.polygon))


def _shapes(polygons: pandas.Series) -> Shapes:
    values = polygons.to_numpy(dtype=object, copy=True)
    values[pandas.isna(values)] = None
    return np.asarray(values)


def _tract_names(tracts: pandas.DataFrame, census_id: pandas.Series) -> pandas.Series:
    row = pandas.Series(np.arange(len(tracts)), index=tracts["tract_id"].to_numpy(dtype=object))
    by_census_id = census_id[census_id.index.isin(row.index)]
    by_census_id = pandas.Series(
        row[by_census_id.index.to_numpy(dtype=object)].to_numpy(), index=by_census_id.to_numpy(dtype=object)
    )
    names: pandas.Series = pandas.concat(
        [row, by_census_id[~by_census_id.index.isin(row.index) & ~by_census_id.index.duplicated()]]
    )
    return names
