"""A release made by hand: 2 states, 3 counties, 24 square tracts of 4 blocks, and one state outside the area."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import geopandas
import numpy
import pandas
import pyarrow.parquet
import shapely

from geodata.store.store import write_store
from tests.published_counts import counts_of

SIDE_DEG = 0.05
N_COLUMNS, N_ROWS = 6, 4
ELSEWHERE = "90"
UNDRAWN_TRACT = "11001000023"  # its polygon is missing, as Connecticut's are in some sources
CERTIFICATE: dict[str, Any] = {
    "status": "for release",
    "status_reasons": [],
    "accountant": "sound",
    "unit_of_protection": "The home of one worker.",
    "epsilon": {"exact": "23/5", "value": 4.6},
    "delta": {"exact": "1/1000000", "value": 1e-6},
    "epsilon_final": {"exact": "449/50", "value": 8.98},
}


def write_release(path: Path, *, n_pairs: int = 3_000, seed: int = 7, status: str = "for release") -> Path:
    """Write the release; `n_pairs` rows of jobs, each of 1 to 3 workers."""
    blocks, cells, tracts = _places()
    jobs = _jobs(blocks, n_pairs, numpy.random.default_rng(seed))
    with write_store(path, "release") as store:
        store.table("blocks", blocks)
        store.table("cells", cells)
        store.table("tracts", tracts)
        for table, level in (
            ("pumas", "puma"),
            ("superpumas", "superpuma"),
            ("counties", "county"),
            ("states", "state"),
        ):
            store.table(table, _units(tracts, level))
        rows = [("stplc", "4459", "Old Harbour city"), ("stplc", "4460", "Naïve & <b>Bold</b> town")]
        store.table("layers", pandas.DataFrame(rows, columns=["layer", "unit_id", "name"]))
        store.table("jobs", jobs)
        store.table("points", _points(blocks, jobs))
        pairs = [("destination_tract_index", [0]), ("origin_tract_index", [1]), ("weight", [5.0])]
        store.table("prior", pandas.DataFrame(dict(pairs)))
        store.document("certificate.json", CERTIFICATE | {"status": status})
        published, files = counts_of(jobs, blocks["state_id"], {"work": ["10"], "home": ["10", "11"]})
        store.table("characteristic_counts", published)
        store.facts(
            title="Squareland",
            year=2019,
            destination_states=["10"],
            sources=[{"name": "Made by hand"}],
            characteristics=files,
        )
    return path


def releases_of(folder: Path, years: dict[str, int]) -> list[Path]:
    """Releases of one place by name, each of a year and with other homes."""
    paths = [write_release(folder / name, n_pairs=400, seed=seed) for seed, name in enumerate(years, 1)]
    for path, year in zip(paths, years.values(), strict=True):
        manifest = json.loads((path / "manifest.json").read_text())
        (path / "manifest.json").write_text(json.dumps(manifest | {"year": year}))
    return paths


def rewrite_table(path: Path, table: str, change: Callable[[Any], Any]) -> None:
    """Change a table of a store by hand, and what the manifest says of its file."""
    file = path / f"{table}.parquet"
    has_shapes = b"geo" in (pyarrow.parquet.read_schema(file).metadata or {})
    frame = (geopandas if has_shapes else pandas).read_parquet(file)
    change(frame).to_parquet(file, index=False)
    manifest = json.loads((path / "manifest.json").read_text())
    content = file.read_bytes()
    manifest["files"][file.name] |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (path / "manifest.json").write_text(json.dumps(manifest))


def rewrite_document(path: Path, name: str, document: dict[str, Any]) -> None:
    """Replace a JSON document of a store, and what the manifest says of its file."""
    content = json.dumps(document).encode()
    (path / name).write_bytes(content)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["files"][name] |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    (path / "manifest.json").write_text(json.dumps(manifest))


def _places() -> tuple[Any, Any, Any]:
    blocks, shapes, tracts = [], [], []
    for number in range(N_COLUMNS * N_ROWS):
        column, row = number % N_COLUMNS, number // N_COLUMNS
        county = "10001" if column < 2 else "10003" if column < 4 else "11001"
        tract_id = f"{county}{number:06d}"
        west, south = -71 + column * SIDE_DEG, 42 + row * SIDE_DEG
        puma = f"{county[:2]}0000{1 + (row >= 2)}"
        ids = {
            "tract_id": tract_id,
            "puma_id": puma,
            "superpuma_id": f"{county[:2]}S1",
            "county_id": county,
            "state_id": county[:2],
        }
        square = shapely.box(west, south, west + SIDE_DEG, south + SIDE_DEG)
        tracts.append(
            {**ids, "name": f"{number}.01", "geometry": None if tract_id == UNDRAWN_TRACT else square}
        )
        for part in range(4):
            x, y = west + (part % 2) * SIDE_DEG / 2, south + (part // 2) * SIDE_DEG / 2
            cell = shapely.box(x, y, x + SIDE_DEG / 2, y + SIDE_DEG / 2)
            place = "4459" if row == 1 else "4460" if row == 2 else ""
            blocks.append({"block_id": f"{tract_id}{part:04d}", **ids, "layer_stplc": place, "cell": cell})
    outside = {f"{level}_id": ELSEWHERE for level in ("tract", "puma", "superpuma", "county", "state")}
    tracts.append({**outside, "name": "Far Away", "geometry": None})
    blocks.append({"block_id": ELSEWHERE, **outside, "layer_stplc": "", "cell": None})
    frame = pandas.DataFrame(blocks).sort_values(["tract_id", "block_id"], ignore_index=True)
    tract_frame = geopandas.GeoDataFrame(tracts, geometry="geometry", crs=4326).sort_values(
        "tract_id", ignore_index=True
    )
    frame["elsewhere"] = frame["state_id"] == ELSEWHERE
    centres = [shapely.Point(-80, 30) if cell is None else cell.centroid for cell in frame["cell"]]
    frame["lon_deg"], frame["lat_deg"] = [at.x for at in centres], [at.y for at in centres]
    frame["population"] = numpy.where(frame["elsewhere"], 0, 100)
    frame["tract_index"] = numpy.searchsorted(
        tract_frame["tract_id"].to_numpy(), frame["tract_id"].to_numpy()
    )
    inside = ~frame["elsewhere"]
    shapes = geopandas.GeoDataFrame(
        {"block_index": numpy.flatnonzero(inside)}, geometry=list(frame["cell"][inside]), crs=4326
    )
    _finish(tract_frame, frame)
    return frame.drop(columns="cell"), shapes, tract_frame


def _finish(tracts: Any, blocks: Any) -> None:
    """The remaining columns of `tracts`, in place."""
    for level in ("puma", "superpuma"):
        ids = numpy.unique(tracts[f"{level}_id"].to_numpy(dtype=str))
        tracts[f"{level}_index"] = numpy.searchsorted(ids, tracts[f"{level}_id"].to_numpy(dtype=str))
    by_tract = blocks.groupby("tract_id", sort=True)
    tracts["population"] = by_tract["population"].sum().to_numpy()
    tracts["lon_deg"], tracts["lat_deg"] = (
        by_tract["lon_deg"].mean().to_numpy(),
        by_tract["lat_deg"].mean().to_numpy(),
    )
    tracts["elsewhere"] = tracts["state_id"] == ELSEWHERE
    tracts["derived"] = False


def _units(tracts: Any, level: str) -> Any:
    rows = []
    for unit_id, part in tracts.groupby(f"{level}_id", sort=True):
        shapes = [shape for shape in part.geometry if shape is not None]
        row = part.iloc[0]
        name = "Far Away" if row["elsewhere"] else f"{level.title()} {unit_id}"
        rows.append(
            {
                f"{level}_id": unit_id,
                "superpuma_id": row["superpuma_id"],
                "state_id": row["state_id"],
                "name": name,
                "population": part["population"].sum(),
                "lon_deg": part["lon_deg"].mean(),
                "lat_deg": part["lat_deg"].mean(),
                "elsewhere": row["elsewhere"],
                "geometry": shapely.union_all(shapes) if shapes else None,
            }
        )
    frame = geopandas.GeoDataFrame(rows, geometry="geometry", crs=4326)
    return frame if level in ("puma", "superpuma") else frame.drop(columns="superpuma_id")


def _jobs(blocks: Any, n_pairs: int, random: numpy.random.Generator) -> Any:
    work = numpy.flatnonzero(blocks["state_id"] == "10")
    frame = pandas.DataFrame(
        {
            "destination_index": random.choice(work, n_pairs),
            "origin_index": random.integers(0, len(blocks), n_pairs),
            **{name: random.integers(1, 4, n_pairs) for name in ("age", "earnings", "industry")},
            "count": random.integers(1, 4, n_pairs),
        }
    )
    keys = list(frame.columns[:-1])
    return frame.groupby(keys, as_index=False)["count"].sum()


def _points(blocks: Any, jobs: Any) -> Any:
    rows = jobs.loc[jobs.index.repeat(jobs["count"])].reset_index(drop=True)
    lon, lat = blocks["lon_deg"].to_numpy(), blocks["lat_deg"].to_numpy()
    home, work = rows["origin_index"].to_numpy(), rows["destination_index"].to_numpy()
    outside = blocks["elsewhere"].to_numpy()[home]
    return pandas.DataFrame(
        {
            "destination_index": work,
            "origin_index": home,
            "segment": (rows["age"] - 1) * 9 + (rows["earnings"] - 1) * 3 + rows["industry"] - 1,
            "home_lon_deg": numpy.where(outside, numpy.nan, lon[home]),
            "home_lat_deg": numpy.where(outside, numpy.nan, lat[home]),
            "work_lon_deg": lon[work],
            "work_lat_deg": lat[work],
        }
    )
