"""Tiny but complete source folders, as the Census Bureau lays them out, for tests.

Rhode Island (44) has three square tracts in two counties with six blocks each, workplaces (OD main and aux) and
polygons. Connecticut (09), to its west, has two tracts with homes only and no polygons. New York (36) has homes
and no crosswalk. In LODES 8 flavour Connecticut's tracts carry the codes of its planning regions.
"""

from __future__ import annotations

import gzip
import tempfile
import zipfile
from pathlib import Path
from typing import Any, Literal

import geopandas
import shapely

from geodata.store.schema import CHARACTERISTIC_CODES

Flavour = Literal[7, 8]

SIDE_DEG = 0.03
RI_TRACTS = ("44001010100", "44001010200", "44003020100")
CT_TRACTS = ("09011700100", "09011700200")
CT_REGION_TRACTS = {"09011700100": "09180700100", "09011700200": "09180700200"}
WEST_SOUTH = {
    "44001010100": (-71.50, 41.60),
    "44001010200": (-71.47, 41.60),
    "44003020100": (-71.50, 41.63),
    "09011700100": (-71.53, 41.60),
    "09011700200": (-71.53, 41.63),
}
N_MAIN_JOBS, N_AUX_JOBS, N_ELSEWHERE_JOBS, N_OUTFLOW_JOBS = 16, 8, 4, 3
BLOCK_PLACES = ((0.2, 0.2), (0.5, 0.25), (0.8, 0.2), (0.25, 0.7), (0.5, 0.8), (0.8, 0.75))
OD_HEADER = "w_geocode,h_geocode,S000,SA01,SA02,SA03,SE01,SE02,SE03,SI01,SI02,SI03,createdate"
_XWALK_PAIRS = (
    "cbsa",
    "zcta",
    "stplc",
    "ctycsub",
    "stcd{congress}",
    "stsldl",
    "stsldu",
    "tsub",
    "mil",
    "stwib",
)


def block_id(tract: str, number: int) -> str:
    """Identifier of the block with this number (0 … 5) in a tract: three in each of two block groups."""
    return f"{tract}{1 + number // 3}{number:03d}"


def block_place(tract: str, number: int) -> tuple[float, float]:
    """Internal point of a block: longitude and latitude."""
    west, south = WEST_SOUTH[tract]
    across, up = BLOCK_PLACES[number]
    return west + across * SIDE_DEG, south + up * SIDE_DEG


def characteristics(rows: dict[str, int], end: Literal["work", "home"]) -> str:
    """A file of workplace (WAC) or residence (RAC) characteristics: jobs by block, all in the first classes."""
    letter = "w" if end == "work" else "h"
    first = {"C000", "CA01", "CE03", "CNS05", "CR01", "CT02", "CD04", "CS02"}
    codes = [code for code in CHARACTERISTIC_CODES if end == "work" or not code.startswith(("CFA", "CFS"))]
    lines = [f"{letter}_geocode,{','.join(codes)},createdate"]
    for block, n in rows.items():
        lines.append(f"{block},{','.join(str(n) if code in first else '0' for code in codes)},20211018")
    return "\n".join(lines) + "\n"


def write_sources(
    directory: Path, *, lodes: Flavour = 7, polygons: Literal["zip", "gpkg", "geojson", "none"] = "zip"
) -> Path:
    """Write a complete folder; return it.

    Parameters
    ----------
    directory : Path
        Made when it is not there.
    lodes : {7, 8}
        2010 or 2020 blocks, and the crosswalk that goes with them.
    polygons : {"zip", "gpkg", "geojson", "none"}
        Format of Rhode Island's tracts.
    """
    directory.mkdir(parents=True, exist_ok=True)
    year = 2019 if lodes == 7 else 2022
    write_text(directory / f"ri_od_main_JT00_{year}.csv.gz", od_main())
    write_text(directory / f"ri_od_aux_JT00_{year}.csv.gz", od_aux())
    write_text(directory / f"ct_od_aux_JT00_{year}.csv.gz", od_outflow())
    write_text(directory / "ri_xwalk.csv.gz", crosswalk(RI_TRACTS, lodes))
    write_text(directory / "ct_xwalk.csv.gz", crosswalk(CT_TRACTS, lodes))
    vintage = 2010 if lodes == 7 else 2020
    write_text(directory / f"{vintage}_Census_Tract_to_{vintage}_PUMA.txt", tract_puma())
    write_text(directory / f"{vintage}_PUMA_Names.csv", puma_names())
    write_text(directory / f"CenPop{vintage}_Mean_TR.txt", centres(block_groups=False))
    write_text(directory / f"CenPop{vintage}_Mean_BG.txt", centres(block_groups=True))
    write_text(directory / "ctpp_flows.csv", flows())
    if polygons != "none":
        write_tracts(directory, polygons, lodes)
    return directory


def write_text(path: Path, text: str) -> None:
    """Write text, gzipped where the name ends in .gz."""
    data = text.encode("utf-8")
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def read_text(path: Path) -> str:
    """Read what `write_text` wrote."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")


def replace_text(path: Path, old: str, new: str) -> None:
    """Replace the first occurrence, which must be there."""
    text = read_text(path)
    assert old in text, f"{old!r} is not in {path.name}"
    write_text(path, text.replace(old, new, 1))


def write_tracts(directory: Path, kind: str, lodes: Flavour = 7) -> Path:
    """Write Rhode Island's tracts in NAD83, as the bureau does; GeoJSON in WGS84, as its standard has it."""
    suffix = "10" if lodes == 7 else "20"
    frame = tract_frame().rename(columns={"GEOID": f"GEOID{suffix}"})
    stem = f"tl_2010_44_tract{suffix}"
    if kind == "zip":
        path = directory / f"{stem}.zip"
        write_zip(path, frame)
    elif kind == "gpkg":
        path = directory / f"{stem}.gpkg"
        frame.to_file(path, driver="GPKG", engine="pyogrio")
    else:
        path = directory / f"{stem}.geojson"
        frame.set_crs("EPSG:4326", allow_override=True).to_file(path, driver="GeoJSON", engine="pyogrio")
    return path


def write_zip(path: Path, frame: Any, *, leave_out: str = "") -> None:
    """Write a zipped shapefile, without the part that has the suffix `leave_out`."""
    with tempfile.TemporaryDirectory() as folder:
        frame.to_file(Path(folder) / f"{path.stem}.shp", driver="ESRI Shapefile", engine="pyogrio")
        with zipfile.ZipFile(path, "w") as archive:
            for part in sorted(Path(folder).iterdir()):
                if part.suffix != leave_out:
                    archive.write(part, part.name)


def tract_frame(tracts: tuple[str, ...] = RI_TRACTS) -> Any:
    """Square tracts with their identifiers, EPSG:4269."""
    corners = [WEST_SOUTH[tract] for tract in tracts]
    squares = [shapely.box(west, south, west + SIDE_DEG, south + SIDE_DEG) for west, south in corners]
    return geopandas.GeoDataFrame({"GEOID": list(tracts)}, geometry=squares, crs="EPSG:4269")


def od_row(work: str, home: str, counts: str) -> str:
    """One OD row: `counts` holds S000 and the nine margins, blank-separated."""
    return ",".join((work, home, *counts.split(), "20211018"))


def od_main() -> str:
    """Homes and workplaces in Rhode Island: single jobs and a row of several."""
    a, b, c = RI_TRACTS
    rows = [
        od_row(block_id(a, 0), block_id(a, 0), "1 0 1 0 0 0 1 0 0 1"),
        od_row(block_id(a, 0), block_id(a, 3), "1 1 0 0 1 0 0 0 1 0"),
        od_row(block_id(a, 0), block_id(b, 1), "2 1 1 0 1 0 1 0 1 1"),
        od_row(block_id(a, 1), block_id(c, 5), "1 0 0 1 0 1 0 1 0 0"),
        od_row(block_id(b, 2), block_id(a, 2), "7 2 4 1 3 3 1 0 2 5"),
        od_row(block_id(c, 4), block_id(c, 4), "3 1 1 1 1 1 1 1 1 1"),
        od_row(block_id(c, 5), block_id(b, 0), "1 0 1 0 0 1 0 0 0 1"),
    ]
    return "\n".join([OD_HEADER, *rows]) + "\n"


def od_aux() -> str:
    """Workplaces in Rhode Island, homes in Connecticut and New York."""
    a, b, c = RI_TRACTS
    rows = [
        od_row(block_id(a, 0), block_id(CT_TRACTS[0], 0), "1 0 1 0 0 0 1 0 0 1"),
        od_row(block_id(b, 2), block_id(CT_TRACTS[1], 4), "3 0 3 0 1 1 1 0 0 3"),
        od_row(block_id(b, 2), "360050001001000", "1 0 1 0 0 0 1 0 0 1"),
        od_row(block_id(b, 2), "360050001001001", "1 0 1 0 0 0 1 0 0 1"),
        od_row(block_id(c, 3), "360610002002003", "2 2 0 0 1 1 0 1 1 0"),
    ]
    return "\n".join([OD_HEADER, *rows]) + "\n"


def od_outflow() -> str:
    """Workplaces in Connecticut without a main file: two rows of Rhode Islanders, one of New Yorkers."""
    rows = [
        od_row(block_id(CT_TRACTS[0], 1), block_id(RI_TRACTS[0], 0), "1 0 1 0 0 0 1 0 0 1"),
        od_row(block_id(CT_TRACTS[0], 1), block_id(RI_TRACTS[2], 0), "2 0 2 0 0 0 2 0 0 2"),
        od_row(block_id(CT_TRACTS[0], 1), "360050001001000", "1 0 1 0 0 0 1 0 0 1"),
    ]
    return "\n".join([OD_HEADER, *rows]) + "\n"


def crosswalk(tracts: tuple[str, ...], lodes: Flavour) -> str:
    """Rows of a crosswalk: layers with units, and some without (all nines)."""
    pairs = [pair.format(congress=116 if lodes == 7 else 118) for pair in _XWALK_PAIRS]
    pairs = pairs if lodes == 8 else [*pairs, "necta"]
    head = [f"tabblk{2010 if lodes == 7 else 2020}", "st", "stusps", "stname", "cty", "ctyname", "trct"]
    head += ["trctname", "bgrp", "bgrpname"]
    head += [name for pair in pairs for name in (pair, f"{pair}name")]
    head += ["blklatdd", "blklondd", "createdate"]
    rows = [_crosswalk_row(tract, number, pairs, lodes) for tract in tracts for number in range(6)]
    return "\n".join([",".join(head), *rows]) + "\n"


def _crosswalk_row(tract: str, number: int, pairs: list[str], lodes: Flavour) -> str:
    called = CT_REGION_TRACTS.get(tract, tract) if lodes == 8 else tract
    state, county = called[:2], called[:5]
    postal, name = {"44": ("RI", "Rhode Island"), "09": ("CT", "Connecticut")}[state]
    lon, lat = block_place(tract, number)
    group = f"{called}{1 + number // 3}"
    cells = [block_id(tract, number), state, postal, name, county, f'"County {county[2:]}, {postal}"', called]
    cells += [f'"{called[5:]} ({county[2:]}, {postal})"', group, f'"{group[-1]} (Tract {called[5:]})"']
    for pair in pairs:
        cells += _layer_cells(pair, state, number)
    return ",".join([*cells, f"{lat:.7f}", f"{lon:.7f}", "20211018"])


def _layer_cells(pair: str, state: str, number: int) -> list[str]:
    if pair == "tsub" or (pair == "stplc" and number > 3):
        return ["9999999", ""]
    if pair == "mil":
        return ["", ""]
    if pair.startswith("stcd"):
        return [f"{state}0{1 + number % 2}", f'"District {1 + number % 2}, {state}"']
    digits = {"stplc": 7, "ctycsub": 10}.get(pair, 6)
    return [f"{state}{pair[:3].encode().hex()[:4]}".ljust(digits, "0"), f'"The {pair} of {state}"']


def tract_puma() -> str:
    """One relationship row a tract, after a byte-order mark."""
    rows = [
        f"{tract[:2]},{tract[2:5]},{tract[5:]},{puma}"
        for tract, puma in zip(
            (*RI_TRACTS, *CT_TRACTS), ("00101", "00101", "00102", "00500", "00500"), strict=True
        )
    ]
    return "\ufeff" + "\n".join(["STATEFP,COUNTYFP,TRACTCE,PUMA5CE", *rows]) + "\n"


def puma_names() -> str:
    """Names of Rhode Island's PUMAs; Connecticut's PUMA has no name."""
    return 'STATEFP,PUMA5CE,PUMA NAME\n44,00101,"South, with a comma"\n44,00102,North\n'


def centres(*, block_groups: bool) -> str:
    """Centers of population: 1,001 people in the first tract, 200 more in each that follows."""
    rows = []
    for position, tract in enumerate((*RI_TRACTS, *CT_TRACTS)):
        people = 1001 + 200 * position
        west, south = WEST_SOUTH[tract]
        place = f"+{south + SIDE_DEG / 3:.6f},{west + SIDE_DEG / 3:.6f}"
        head = f"{tract[:2]},{tract[2:5]},{tract[5:]}"
        if block_groups:
            rows += [f"{head},1,400,{place}", f"{head},2,{people - 400},{place}"]
        else:
            rows.append(f"{head},{people},{place}")
    group = "BLKGRPCE," if block_groups else ""
    return "\n".join([f"STATEFP,COUNTYFP,TRACTCE,{group}POPULATION,LATITUDE,LONGITUDE", *rows]) + "\n"


def flows() -> str:
    """CTPP flows with unpadded codes: four between imported tracts or from elsewhere, one outside."""
    sides = [
        f'"{side}_{part}_FIPS_Code"'
        for side in ("Residence", "Workplace")
        for part in ("State", "County", "Tract")
    ]
    rows = [
        "44,1,10100,44,1,10100,120,30",
        "44,3,20100,44,1,10100,45,12",
        "9,11,700100,44,1,10200,10,9",
        "36,5,100,44,1,10200,5,4",
        "48,497,150200,48,497,150200,1350,247",
    ]
    return "\r\n".join([",".join([*sides, '"EST","MOE"']), *rows]) + "\r\n"
