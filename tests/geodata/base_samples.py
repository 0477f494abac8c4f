"""Files of a base map laid out like the published ones, in and around the area of `tests.geodata.samples`."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import geopandas
import shapely

from tests.geodata import samples

OLD_GNIS = (
    "FEATURE_ID|FEATURE_NAME|FEATURE_CLASS|STATE_ALPHA|STATE_NUMERIC|COUNTY_NAME|COUNTY_NUMERIC|PRIMARY_LAT_DMS|"
    "PRIM_LONG_DMS|PRIM_LAT_DEC|PRIM_LONG_DEC|SOURCE_LAT_DMS|SOURCE_LONG_DMS|SOURCE_LAT_DEC|SOURCE_LONG_DEC|"
    "ELEV_IN_M|ELEV_IN_FT|MAP_NAME|DATE_CREATED|DATE_EDITED"
)
NEW_GNIS = (
    "feature_id|feature_name|feature_class|state_name|state_numeric|county_name|county_numeric|map_name|date_created|"
    "date_edited|bgn_type|bgn_authority|bgn_date|prim_lat_dms|prim_long_dms|prim_lat_dec|prim_long_dec|"
    "source_lat_dms|source_long_dms|source_lat_dec|source_long_dec"
)
OLD_PLACES = (
    ("Harbor University", "School", 41.61, -71.49),
    ("Harbor High School", "School", 41.62, -71.48),
    ("College Hill High School", "School", 41.62, -71.48),
    ("Mercy Hospital", "Hospital", 41.64, -71.49),
    ("Union Station", "Building", 41.61, -71.46),
    ("Town Hall", "Building", 41.61, -71.46),
    ("Old Mill (historical)", "Populated Place", 41.61, -71.46),
    ("Nowhere", "Populated Place", 0.0, 0.0),
    ("Chicago", "Populated Place", 41.85, -87.65),
)
NEW_PLACES = (
    ("Oyster Point", "Populated Place", 41.605, -71.495),
    ("Across the Line", "Island", 41.7, -71.3),
)


def write_base_map(folder: Path) -> Path:
    """Write one file of every kind; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    write_areawater(folder, "44001", west=-71.5)
    write_areawater(folder, "44003", west=-71.47)
    write_roads(folder / "tl_2019_44_prisecroads.zip")
    write_roads(folder / "tl_2019_us_primaryroads.zip", only="S1100")
    write_rails(folder / "tl_2019_us_rails.zip")
    (folder / "RI_Features_20210825.txt").write_text(gnis(OLD_GNIS, OLD_PLACES), encoding="utf-8")
    with zipfile.ZipFile(folder / "DomesticNames_RI_Text.zip", "w") as archive:
        archive.writestr("Text/DomesticNames_RI.txt", "\ufeff" + gnis(NEW_GNIS, NEW_PLACES))
    return folder


def write_areawater(folder: Path, county: str, *, west: float) -> Path:
    """Write a county's water: a bay that the next county shares, two ponds, a swamp, and a puddle."""
    boxes = [
        shapely.box(west, 41.60, west + 0.03, 41.61),
        shapely.box(west + 0.005, 41.62, west + 0.008, 41.623),
        shapely.box(west + 0.015, 41.62, west + 0.018, 41.623),
        shapely.box(west + 0.02, 41.62, west + 0.025, 41.625),
        shapely.box(west, 41.625, west + 0.0001, 41.6251),
    ]
    rows = {
        "ANSICODE": [""] * 5,
        "HYDROID": [f"{county}{n}" for n in range(5)],
        "FULLNAME": ["Great Bay", "Mill Pond", None, "Black Swamp", "Puddle"],
        "MTFCC": ["H2051", "H2030", "H2040", "H2025", "H2030"],
        "ALAND": [0] * 5,
        "AWATER": [1] * 5,
    }
    path = folder / f"tl_2019_{county}_areawater.zip"
    samples.write_zip(path, geopandas.GeoDataFrame(rows, geometry=boxes, crs="EPSG:4269"))
    return path


def write_roads(path: Path, *, only: str = "") -> Path:
    """Write an interstate in two pieces, a main road, a street, and a road far away."""
    lines = [
        [(-71.6, 41.61), (-71.48, 41.61)],
        [(-71.48, 41.61), (-71.4, 41.62)],
        [(-71.5, 41.6), (-71.45, 41.66)],
        [(-71.5, 41.6), (-71.49, 41.6)],
        [(-100.0, 41.6), (-99.0, 41.6)],
    ]
    rows = {
        "LINEARID": [str(n) for n in range(5)],
        "FULLNAME": ["I- 95", "I- 95", "State Rte 10", "Elm St", "I- 80"],
        "RTTYP": ["I", "I", "S", "M", "I"],
        "MTFCC": ["S1100", "S1100", "S1200", "S1400", "S1100"],
    }
    return _write_lines(path, rows, lines, only)


def write_rails(path: Path) -> Path:
    """Write a railroad here and one far away."""
    lines = [[(-71.6, 41.63), (-71.4, 41.63)], [(-100.0, 40.0), (-99.0, 40.0)]]
    rows = {"LINEARID": ["1", "2"], "FULLNAME": ["Amtrak RR", None], "MTFCC": ["R1011", "R1011"]}
    return _write_lines(path, rows, lines, "")


def gnis(header: str, places: tuple[tuple[str, str, float, float], ...]) -> str:
    """Rows of a text of the GNIS, in either layout."""
    names = header.lower().split("|")
    lines = [header]
    for number, (name, feature_class, lat, lon) in enumerate(places):
        row = dict.fromkeys(names, "") | {"feature_id": str(number), "feature_name": name}
        row |= {"feature_class": feature_class, "prim_lat_dec": str(lat), "prim_long_dec": str(lon)}
        lines.append("|".join(row.values()))
    return "\r\n".join(lines) + "\r\n"


def _write_lines(path: Path, rows: dict[str, Any], lines: list[Any], only: str) -> Path:
    frame = geopandas.GeoDataFrame(
        rows, geometry=[shapely.LineString(line) for line in lines], crs="EPSG:4269"
    )
    samples.write_zip(path, frame[frame["MTFCC"] == only] if only else frame)
    return path
