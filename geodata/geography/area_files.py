"""Areas from files that visitors upload: GeoJSON, zipped shapefile, GeoPackage, KML, GPX and other formats.

An uploaded file may be malicious. It is therefore checked before any library reads it: its size, packed and unpacked;
no document type in XML; only the files that a format needs, saved under names that we choose (`area_formats`). A
separate process then reads it, with at most one GDAL format enabled and with limits on time and memory. It returns only
polygons and lines (`area_reader`).
"""

from __future__ import annotations

import glob
import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyogrio
import shapely

from geodata.errors import GeometryError, SourceFileError
from geodata.geography.area_formats import (
    ASK,
    DRIVERS,
    MAX_UNPACKED_BYTES,
    SHAPEFILE,
    clean_name,
    unpack_upload,
)
from geodata.json_objects import JsonObject

MAX_BYTES: Final = 20 << 20
SECONDS: Final = 15
"""Processor time of the reader."""
_WAIT_S: Final = 3 * SECONDS
"""How long the reader may take on a busy machine, where a second of its processor time takes longer than a second."""
_POLL_S: Final = 0.2
_SIGNALS_OF_TIME: Final = (-signal.SIGXCPU, -signal.SIGKILL)


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
    """Read a file, a layer of it as FILE!LAYER, a .shp with the files beside it, or a folder of a geodatabase.

    Other arguments and errors are those of :func:`read_area_upload`.
    """
    layer = ""
    if not path.exists() and "!" in path.name:
        name, _, layer = path.name.rpartition("!")
        path = path.with_name(name)
    if path.is_dir() and path.suffix.lower() == ".gdb":
        return read_area_upload(
            f"{path.name}.zip", _zip_of(path.name, path.iterdir()), layer=layer, with_lines=with_lines
        )
    if not path.is_file():
        raise SourceFileError(f"{path}: no such file; check the path")
    if path.suffix.lower() == ".shp":
        beside = [
            part
            for part in path.parent.glob(f"{glob.escape(path.stem)}.*")
            if part.suffix.lower() in SHAPEFILE
        ]
        return read_area_upload(path.name, _zip_of("", beside), layer=layer, with_lines=with_lines)
    with path.open("rb") as stream:
        return read_area_upload(path.name, stream.read(MAX_BYTES + 1), layer=layer, with_lines=with_lines)


def _zip_of(folder: str, files: Iterable[Path]) -> bytes:
    """The files as a visitor would zip them, up to more than may be read."""
    buffer, size = io.BytesIO(), 0
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(files):
            size += file.stat().st_size
            if size > MAX_UNPACKED_BYTES:
                raise SourceFileError(
                    f"{file}: with the files beside it more than {MAX_UNPACKED_BYTES >> 20} MiB; simplify its shapes"
                )
            if file.is_file():
                archive.write(file, f"{folder}/{file.name}")
    return buffer.getvalue()


def read_area_upload(
    name: str,
    content: bytes,
    should_stop: Callable[[], bool] = lambda: False,
    *,
    layer: str = "",
    with_lines: bool = False,
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
    layer : str
        The layer to read, or the file in a zip; "" for all layers.
    with_lines : bool
        Whether a file that has lines and no polygons is accepted.

    Raises
    ------
    SourceFileError
        The file is too large, in another format, incomplete or malicious.
    GeometryError
        The file has no coordinate reference system, lies off the globe, has no area, or cannot be repaired.
    """
    shown = clean_name(name)
    if len(content) > MAX_BYTES:
        raise SourceFileError(f"{shown}: more than {MAX_BYTES >> 20} MiB; simplify its shapes")
    upload = unpack_upload(shown, content, layer)
    main = upload.main
    with tempfile.TemporaryDirectory(prefix="commutemap-area-") as folder:
        for file, data in upload.files.items():
            (Path(folder) / file).parent.mkdir(exist_ok=True)
            (Path(folder) / file).write_bytes(data)
        answer = _read(shown, Path(folder) / main, (DRIVERS[main], upload.layer), should_stop)
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


def _read(shown: str, path: Path, source: tuple[str, str], should_stop: Callable[[], bool]) -> JsonObject:
    """What the reading process printed about a driver and a layer."""
    driver, layer = source
    others = [name for name in pyogrio.list_drivers() if name != driver]
    environment = {
        name: os.environ[name] for name in ("PATH", "HOME", "LANG", "SYSTEMROOT") if name in os.environ
    }
    environment |= {
        "PYTHONPATH": os.pathsep.join(part for part in sys.path if part),
        "GDAL_SKIP": ",".join(others),
        "OGR_SQLITE_LOAD_EXTENSIONS": "",
        "PYTHONDONTWRITEBYTECODE": "1",
        "ARROW_DEFAULT_MEMORY_POOL": "system",  # another would reserve more address space than it uses
        "OPENBLAS_NUM_THREADS": "1",  # each thread would take address space, which is limited
    }
    command = [sys.executable, "-m", "geodata.geography.area_reader", str(path), driver, layer, str(SECONDS)]
    status, output = _output(shown, command, environment, path.parent, should_stop)
    if status in _SIGNALS_OF_TIME:
        raise _late(shown)
    try:
        answer: JsonObject = json.loads(output)
    except ValueError:
        raise SourceFileError(
            f"{shown}: cannot be read as {driver} (the reader ended with status {status}); try again, or {ASK} "
            "that is complete"
        ) from None
    return answer


def _output(
    shown: str, command: list[str], environment: dict[str, str], folder: Path, should_stop: Callable[[], bool]
) -> tuple[int, bytes]:
    """Exit status and output of a process; it is ended if it takes too long or the caller has stopped waiting."""
    until = time.monotonic() + _WAIT_S
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=folder
    ) as process:
        while True:
            try:
                output = process.communicate(timeout=_POLL_S)[0]
                return process.returncode, output
            except subprocess.TimeoutExpired:
                if time.monotonic() > until or should_stop():
                    process.kill()
                    process.communicate()
                    raise _late(shown) from None


def _late(shown: str) -> SourceFileError:
    return SourceFileError(f"{shown}: reading it took more than {SECONDS} seconds; simplify its shapes")
