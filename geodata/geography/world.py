"""The coarse base map that the package carries: land, lakes, rivers, railroads, borders, and names of the world.

It surrounds datasets, whose own geography ends at the edge of their states. `geodata.geography.make_world` makes the
file from public-domain sources.
"""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path
from typing import Final

import geopandas
import shapely

from geodata.store.schema import CRS

WORLD_FILE: Final = Path(__file__).with_name("world.geojson.gz")
SHAPE_LAYERS: Final = ("land", "coarse-land", "lake", "river", "rail", "border")
NAME_LAYERS: Final = ("sea", "state", "city")
DETAILED: Final = shapely.union_all(
    [
        shapely.box(-180, 15, -50, 72),
        shapely.box(170, 50, 180, 56),  # the western Aleutians
        shapely.box(144, 13, 147, 21),  # Guam and the Northern Marianas
    ]
)
"""Where `land` is at 1:10 million, which is the United States; elsewhere only `coarse-land`, at 1:50 million."""


@functools.cache
def read_world() -> geopandas.GeoDataFrame:
    """Read the packaged base map, once in a process.

    Returns
    -------
    GeoDataFrame
        Shared: callers must not change it.
        `layer` is one of `SHAPE_LAYERS` or `NAME_LAYERS`; `name` may be empty; `rank` is 0 for the most prominent
        shapes; `people` counts the inhabitants of cities; `width_deg` is the room for the name of a sea or state.
        Land and lakes are polygons, rivers, railroads, and borders lines, names points, EPSG:4326.
    """
    text = gzip.decompress(WORLD_FILE.read_bytes())
    geometry = shapely.get_parts(shapely.from_geojson(text))
    about = [feature["properties"] for feature in json.loads(text)["features"]]
    columns = {
        "layer": [str(row["layer"]) for row in about],
        "name": [str(row.get("name", "")) for row in about],
        "rank": [int(row.get("rank", 0)) for row in about],
        "people": [int(row.get("people", 0)) for row in about],
        "width_deg": [float(row.get("width_deg", 0)) for row in about],
    }
    return geopandas.GeoDataFrame(columns, geometry=geometry, crs=CRS)
