"""Coordinates of any reference system as longitude and latitude."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyproj
import shapely

from geodata.schema import CRS

# Datums that agree with WGS 84 to a metre or two. The finer shift that PROJ would choose depends on the installed
# grids, so no shift is applied and every machine gets the same coordinates.
_SAME_DATUMS = ("north american datum 1983", "world geodetic system 1984")


def to_degrees(geometry: npt.NDArray[np.object_], crs: pyproj.CRS) -> npt.NDArray[np.object_]:
    """Shapes converted to EPSG:4326; ProjError if their reference system cannot be converted."""
    base = crs.geodetic_crs
    datum = base.datum.name.lower() if base is not None and base.datum is not None else ""
    same_datum = any(name in datum for name in _SAME_DATUMS)
    if same_datum and crs.is_geographic:
        return geometry
    target = base if same_datum else pyproj.CRS.from_user_input(CRS)
    transformer = pyproj.Transformer.from_crs(crs, target, always_xy=True)

    def turn(xy: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.column_stack(transformer.transform(xy[:, 0], xy[:, 1]))

    return np.asarray(shapely.transform(geometry, turn))
