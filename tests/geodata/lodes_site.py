"""The files of the small states of `samples` as the Census Bureau lays them out, for `serving`."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

from geodata.sources.sources_catalog import Source, Wanted, base_map_sources_of, sources_of
from tests.geodata import samples
from tests.geodata.serving import described

BASE = "http://x"


def site_files(wanted: Wanted) -> dict[str, bytes]:
    """Path to content of all files that are wanted, with lists of checksums and version files; no water of counties."""
    sources = sources_of(wanted)
    files = {
        source.url: _content(source) for source in sources if source.role not in ("checksums", "version")
    }
    if wanted.base_map:
        counties = [source.url for source in base_map_sources_of(wanted, ["44001"]) if source.role == "roads"]
        files |= dict.fromkeys(counties, _roads())
    return described({url.removeprefix(wanted.base or BASE): content for url, content in files.items()})


def _content(source: Source) -> bytes:
    tracts = samples.RI_TRACTS if source.state == "ri" or "44" in source.file else samples.CT_TRACTS
    if source.role == "od":
        return _gzipped(_od(source))
    if source.role in ("wac", "rac"):
        jobs = dict.fromkeys((samples.block_id(tract, 0) for tract in tracts), 5)
        return _gzipped(samples.characteristics(jobs, "work" if source.role == "wac" else "home"))
    if source.role == "crosswalk":
        return _gzipped(samples.crosswalk(tracts, 8))
    if source.role in ("tract_population", "block_group_population"):
        rows = samples.centres(block_groups=source.role.startswith("block")).splitlines(keepends=True)
        return "".join([rows[0], *(row for row in rows[1:] if row[:2] == tracts[0][:2])]).encode()
    if source.role == "tracts":
        return _zipped(samples.tract_frame(tracts).rename(columns={"GEOID": "GEOID20"}), source.file)
    return {"tract_puma": samples.tract_puma, "puma_names": samples.puma_names}[source.role]().encode()


def _od(source: Source) -> str:
    """Jobs in Rhode Island, each year one more; in Connecticut one job of a resident, and commuters."""
    if source.state == "ct":
        block = samples.block_id(samples.CT_TRACTS[0], 1)
        main = "\n".join([samples.OD_HEADER, samples.od_row(block, block, "1 0 1 0 0 0 1 0 0 1")]) + "\n"
        return main if "_main_" in source.file else samples.od_outflow()
    if "_aux_" in source.file:
        return samples.od_aux()
    n = (source.year or 0) - 2000
    return samples.od_main().replace("1,0,1,0,0,0,1,0,0,1", f"{n},0,{n},0,0,0,{n},0,0,{n}", 1)


def _roads() -> bytes:
    import geopandas
    import shapely

    line = shapely.LineString([(-71.50, 41.60), (-71.45, 41.65)])
    frame = geopandas.GeoDataFrame(
        {"LINEARID": ["1"], "FULLNAME": ["Route 1"], "RTTYP": ["S"], "MTFCC": ["S1200"]},
        geometry=[line],
        crs="EPSG:4269",
    )
    return _zipped(frame, "tl_2020_44_prisecroads.zip")


def _zipped(frame: object, name: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        samples.write_zip(Path(folder) / name, frame)
        return (Path(folder) / name).read_bytes()


def _gzipped(text: str) -> bytes:
    return gzip.compress(text.encode(), mtime=0)
