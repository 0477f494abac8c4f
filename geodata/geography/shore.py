"""The sea off the shore, from cartographic boundary files of counties or states, which end there.

Units that are made of TIGER/Line tracts reach into the sea. What a county or state has beyond its cartographic boundary
is sea, so the map can draw it as water.

Source: U.S. Census Bureau, Cartographic Boundary Files, record layouts of counties and states (2010, 2019, and 2020).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import geopandas
import numpy as np
import numpy.typing as npt
import pandas
import shapely

from geodata.sources.shape_files import ShapeLayer, place_on_globe, report_open_errors

_ID_COLUMNS: Final = ("GEOID", "GEO_ID")  # since 2013, and before: 0500000US44001
_UNIT_COLUMNS: Final = ("COUNTYFP", "COUNTY", "STATEFP", "STATE")  # one of them names the state or county
_OTHER_COLUMNS: Final = ("TRACTCE", "TRACT", "COUSUBFP", "COUSUB", "PLACEFP", "CBSAFP", "BLKGRPCE")
_CARTOGRAPHIC: Final = "LSAD"
_TABLES: Final = {5: ("counties", "county_id"), 2: ("states", "state_id")}  # by digits of the identifier
_POLYGONAL: Final = (3, 6)
_BLUR_DEG: Final = 0.002  # boundaries are generalized by about 200 m; narrower strips along them are not sea

Shapes = npt.NDArray[np.object_]


def is_shore(layer: ShapeLayer) -> bool:
    """Return whether a layer has cartographic boundaries of counties or states."""
    columns = {name.upper(): name for name in layer.columns}
    if _CARTOGRAPHIC not in columns or layer.first.empty or columns.keys() & set(_OTHER_COLUMNS):
        return False
    column = next((columns[name] for name in _ID_COLUMNS if name in columns), None)
    if column is None or not columns.keys() & set(_UNIT_COLUMNS):
        return False
    return len(_plain_ids(layer.first[column]).iloc[0]) in _TABLES


def read_shore(path: Path, layer: ShapeLayer) -> tuple[geopandas.GeoDataFrame, int]:
    """Read cartographic boundaries.

    Returns
    -------
    GeoDataFrame
        `unit_id` of counties (five digits) or states (two), and their land, EPSG:4326.
    int
        Features in the file.

    Raises
    ------
    SourceFileError, GeometryError
        The file cannot be read, or is not in degrees.
    """
    with report_open_errors(path):
        frame = geopandas.read_file(layer.address, layer=layer.name, engine="pyogrio")
    columns = {name.upper(): name for name in map(str, frame.columns)}
    column = next(columns[name] for name in _ID_COLUMNS if name in columns)
    geometry = np.asarray(frame.geometry.array, dtype=object)
    kept = np.isin(shapely.get_type_id(geometry), _POLYGONAL)
    shapes = place_on_globe(path, shapely.force_2d(shapely.make_valid(geometry[kept])), frame.crs)
    unit_id = _plain_ids(frame[column]).to_numpy(dtype=object)[kept]
    return geopandas.GeoDataFrame({"unit_id": unit_id}, geometry=shapes, crs="EPSG:4326"), len(frame)


def sea_of(shores: Sequence[pandas.DataFrame], tables: Mapping[str, pandas.DataFrame]) -> Shapes:
    """Return what counties and states have beyond their shore, joined where it touches.

    Parameters
    ----------
    shores : sequence of DataFrame
        From :func:`read_shore`.
    tables : mapping of str to DataFrame
        The public geography: `counties` and `states` are used.
    """
    seas: list[shapely.Geometry] = []
    for shore in shores:
        for digits, (table, column) in _TABLES.items():
            units = tables[table]
            whole = dict(zip(units[column], units["geometry"], strict=True))
            level_shores = shore[shore["unit_id"].str.len() == digits]
            seas += [
                shapely.difference(whole[unit], land)
                for unit, land in zip(level_shores["unit_id"], level_shores.geometry, strict=True)
                if whole.get(unit) is not None
            ]
    return _drop_strips(shapely.union_all(seas))


def _drop_strips(shape: shapely.Geometry) -> Shapes:
    """Return the parts of a shape without what is narrower than generalized boundaries are off."""
    wide = shapely.buffer(shape, -_BLUR_DEG, quad_segs=2)
    return np.asarray(
        shapely.get_parts(shapely.intersection(shapely.buffer(wide, 1.5 * _BLUR_DEG, quad_segs=2), shape))
    )


def _plain_ids(column: pandas.Series) -> pandas.Series:
    return column.astype(str).str.replace(r"^.*US", "", regex=True)
