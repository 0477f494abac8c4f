"""Areas from files that visitors upload: GeoJSON, zipped shapefile, GeoPackage, KML and GPX.

An uploaded file may be malicious. This module therefore checks it before any library reads it: its size, packed and
unpacked; no document type in XML; only the files that a shapefile needs, saved under names that we choose. A separate
process then reads it, with one GDAL format enabled and with limits on time and memory. It returns only polygons
(`area_reader`).
"""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyogrio
import shapely

from geodata.errors import GeodataError, GeometryError, SourceFileError
from geodata.json_objects import JsonObject

MAX_BYTES: Final = 20 << 20
MAX_UNPACKED_BYTES: Final = 100 << 20
MAX_ENTRIES: Final = 200
SECONDS: Final = 15
_POLL_S: Final = 0.2
SUFFIXES: Final = (".geojson", ".json", ".zip", ".gpkg", ".kml", ".gpx")
_SHAPEFILE: Final = (".shp", ".shx", ".dbf", ".prj", ".cpg")
_DRIVERS: Final = {
    "area.geojson": "GeoJSON",
    "area.shp": "ESRI Shapefile",
    "area.gpkg": "GPKG",
    "area.kml": "KML",
    "area.gpx": "GPX",
}
_ASK: Final = "give a GeoJSON, a zipped shapefile, a GeoPackage, a KML or a GPX file"


@dataclass(frozen=True, slots=True)
class AreaFile:
    """What a file holds.

    Attributes
    ----------
    area : Polygon, MultiPolygon or None
        Its polygons together, EPSG:4326; None without polygons.
    shapes : tuple of (str, Polygon or MultiPolygon)
        Each feature with its name.
    notes : tuple of str
        What was repaired, closed or left out.
    lines : MultiLineString or None
        Its lines, tracks and routes together, EPSG:4326; None without them.
    is_closed : bool
        Whether the polygons are tracks or routes that were closed.
    """

    area: shapely.Geometry | None
    shapes: tuple[tuple[str, shapely.Geometry], ...]
    notes: tuple[str, ...]
    lines: shapely.Geometry | None = None
    is_closed: bool = False


def read_area_file(path: Path, *, with_lines: bool = False) -> AreaFile:
    """Read a file; arguments and errors as :func:`read_area_upload`."""
    if not path.is_file():
        raise SourceFileError(f"{path}: no such file; check the path")
    with path.open("rb") as stream:
        return read_area_upload(path.name, stream.read(MAX_BYTES + 1), with_lines=with_lines)


def read_area_upload(
    name: str, content: bytes, should_stop: Callable[[], bool] = lambda: False, *, with_lines: bool = False
) -> AreaFile:
    """Read the content of an uploaded file.

    Parameters
    ----------
    name : str
        Its name, for messages only; the format is recognized by the content.
    content : bytes
        20 MiB at most.
    should_stop : callable
        Called several times a second while another process reads the file; True ends that process.
    with_lines : bool
        Whether a file that has lines and no polygons is accepted.

    Raises
    ------
    SourceFileError
        The file is too large, in another format, incomplete or malicious.
    GeometryError
        The file has no coordinate reference system, lies off the globe, has no area, or cannot be repaired.
    """
    shown = _clean_name(name)
    if len(content) > MAX_BYTES:
        raise SourceFileError(f"{shown}: more than {MAX_BYTES >> 20} MiB; simplify its shapes")
    files = _unpack_upload(shown, content)
    (main,) = (file for file in files if file in _DRIVERS)
    with tempfile.TemporaryDirectory(prefix="commutemap-area-") as folder:
        for file, data in files.items():
            (Path(folder) / file).write_bytes(data)
        answer = _read(shown, Path(folder) / main, _DRIVERS[main], should_stop)
    if "error" in answer:
        kind = GeometryError if answer.get("geometry") else SourceFileError
        raise kind(f"{shown}: {answer['error']}")
    shapes = tuple((item["name"], shapely.from_wkb(item["wkb"])) for item in answer["shapes"])
    area, lines = (shapely.from_wkb(answer[name]) for name in ("area", "lines"))
    if area is None and not with_lines:
        raise GeometryError(
            f"{shown}: it holds no polygons, and points and lines have no area; give polygons, or a distance in miles "
            "to make a corridor around its lines"
        )
    is_closed = main == "area.gpx" and area is not None
    return AreaFile(area, shapes, tuple(answer["notes"]), lines, is_closed)


def _unpack_upload(shown: str, content: bytes) -> dict[str, bytes]:
    """Files to read, under names that we choose: one of `_DRIVERS`, and the files that belong to it."""
    head = content[:4096].lstrip(b"\xef\xbb\xbf \t\r\n")
    if content[:4] == b"PK\x03\x04":
        return _read_zip(shown, content)
    if content[:16] == b"SQLite format 3\0":
        return {"area.gpkg": content}
    if head[:1] == b"{":
        return {"area.geojson": content}
    if head[:1] == b"<":
        return _read_xml(shown, content)
    raise SourceFileError(f"{shown}: the format is not supported; {_ASK}")


def _read_zip(shown: str, content: bytes) -> dict[str, bytes]:
    """The parts of the one shapefile, or the KML, in a zip; folders in it are ignored."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_ENTRIES:
                raise SourceFileError(
                    f"{shown}: {len(entries):,} files in it; at most {MAX_ENTRIES} are allowed"
                )
            chosen = _choose_entries(shown, [entry for entry in entries if not _is_hidden(entry.filename)])
            left, parts = MAX_UNPACKED_BYTES, {}
            for name, entry in chosen.items():
                with archive.open(entry) as stream:
                    parts[name] = stream.read(left + 1)  # the size that an entry states may be wrong
                left -= len(parts[name])
                if left < 0:
                    raise SourceFileError(
                        f"{shown}: it unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB; simplify its shapes"
                    )
    except GeodataError:
        raise
    except (
        zipfile.BadZipFile,
        zlib.error,
        RuntimeError,
        NotImplementedError,
        EOFError,
        OSError,
        ValueError,
    ) as error:
        raise SourceFileError(
            f"{shown}: cannot be read as a zip (damaged, encrypted or in a rare format); zip it again"
        ) from error
    return _read_xml(shown, parts["area.kml"]) if "area.kml" in parts else parts


def _choose_entries(shown: str, entries: list[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
    main = [entry for entry in entries if entry.filename.lower().endswith((".shp", ".kml"))]
    if len(main) != 1:
        raise SourceFileError(f"{shown}: {len(main)} shapefiles or KML files in the zip; give a zip with one")
    stem, suffix = os.path.splitext(main[0].filename)
    if suffix.lower() == ".kml":
        return {"area.kml": main[0]}
    chosen = {}
    for entry in entries:
        base, suffix = os.path.splitext(entry.filename)
        if base == stem and suffix.lower() in _SHAPEFILE:
            chosen[f"area{suffix.lower()}"] = entry
    if "area.prj" not in chosen:
        raise GeometryError(f"{shown}: no coordinate reference system; put the shapefile's .prj into the zip")
    if "area.shx" not in chosen:
        raise SourceFileError(
            f"{shown}: no .shx beside the .shp in the zip; put all of the shapefile's files in it"
        )
    return chosen


def _read_xml(shown: str, content: bytes) -> dict[str, bytes]:
    lowered = content.lower()
    if b"\0" in content:
        raise SourceFileError(f"{shown}: XML that is not UTF-8; save it as UTF-8")
    if b"<!doctype" in lowered or b"<!entity" in lowered:
        raise SourceFileError(
            f"{shown}: XML with a document type, which could name other files; save it without one"
        )
    for mark, name in ((b"<kml", "area.kml"), (b"<gpx", "area.gpx")):
        if mark in lowered[:10_000]:
            return {name: content}
    raise SourceFileError(f"{shown}: XML that is neither KML nor GPX; {_ASK}")


def _read(shown: str, path: Path, driver: str, should_stop: Callable[[], bool]) -> JsonObject:
    """What the reading process printed."""
    others = [name for name in pyogrio.list_drivers() if name != driver]
    environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "SYSTEMROOT") if name in os.environ
    }
    environment |= {
        "PYTHONPATH": os.pathsep.join(part for part in sys.path if part),
        "GDAL_SKIP": ",".join(others),
        "OGR_SQLITE_LOAD_EXTENSIONS": "",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",  # each thread would take address space, which is limited
    }
    command = [sys.executable, "-m", "geodata.geography.area_reader", str(path), driver, str(SECONDS)]
    try:
        answer: JsonObject = json.loads(_output(shown, command, environment, path.parent, should_stop))
    except ValueError:
        raise SourceFileError(f"{shown}: cannot be read as {driver}; {_ASK} that is complete") from None
    return answer


def _output(
    shown: str, command: list[str], environment: dict[str, str], folder: Path, should_stop: Callable[[], bool]
) -> bytes:
    """What a process prints; it is ended if it takes too long or the caller has stopped waiting."""
    until = time.monotonic() + SECONDS
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
    ) as process:
        while True:
            try:
                return process.communicate(timeout=_POLL_S)[0]
            except subprocess.TimeoutExpired:
                if time.monotonic() > until or should_stop():
                    process.kill()
                    process.communicate()
                    raise SourceFileError(
                        f"{shown}: reading it took more than {SECONDS} seconds; simplify its shapes"
                    ) from None


def _is_hidden(name: str) -> bool:
    # A Mac adds __MACOSX/._name.shp to the zips it writes.
    folders = name.split("/")
    return "__MACOSX" in folders or folders[-1].startswith(".")


def _clean_name(name: str) -> str:
    """The name of an uploaded file, made safe to show."""
    plain = "".join(character if character.isprintable() else "�" for character in name.replace("\\", "/"))
    return plain.rpartition("/")[2][-60:] or "the file"
