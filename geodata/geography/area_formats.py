"""Formats of files of areas: what an uploaded file is, and the parts of it that may be read.

Nothing here interprets shapes. A file is recognized by its content; a zip or gzip is unpacked within limits; text in
UTF-16 becomes UTF-8; and the parts get names that we choose, so that no name in the file decides what is written.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zipfile
import zlib
from collections.abc import Container
from dataclasses import dataclass
from typing import Final

from geodata.errors import GeodataError, GeometryError, SourceFileError

MAX_UNPACKED_BYTES: Final = 100 << 20
MAX_ENTRIES: Final = 1_000
SUFFIXES: Final = (
    *(".geojson", ".json", ".topojson", ".geojsonl", ".geojsons", ".ndjson", ".zip", ".kmz", ".gz", ".gpkg"),
    *(".kml", ".gpx", ".fgb", ".parquet", ".geoparquet", ".wkt", ".wkb"),
)
"""Suffixes of the file dialog; :func:`unpack_upload` itself looks at the content."""
DRIVERS: Final = {
    "area.geojson": "GeoJSON",
    "area.geojsons": "GeoJSONSeq",
    "area.topojson": "TopoJSON",
    "area.esrijson": "ESRIJSON",
    "area.shp": "ESRI Shapefile",
    "area.gdb": "OpenFileGDB",
    "area.gpkg": "GPKG",
    "area.kml": "KML",
    "area.gpx": "GPX",
    "area.fgb": "FlatGeobuf",
    "area.parquet": "Parquet",
    "area.wkt": "WKT",
}
"""What reads each file. GDAL reads all except Parquet and WKT, which pyarrow and Shapely read in the same process."""
SHAPEFILE: Final = (".shp", ".shx", ".dbf", ".prj", ".cpg")
ASK: Final = "give a GeoJSON, a zipped shapefile, a GeoPackage, a KML or a GPX file"
_CONVERT: Final = "open it in QGIS and save it as a GeoPackage"
_IN_ZIP: Final = (
    (".shp",),
    (".gdb",),
    (".kml",),
    tuple(end for end in SUFFIXES if end not in (".zip", ".kmz", ".gz")),
)
"""Main files of a zip; the first kind that occurs counts, so that notes beside a shapefile do no harm."""
_GEODATABASE_PART = re.compile(r"a[0-9a-f]{8}\.[a-z_]{3,20}|gdb|timestamps")
_WKT = re.compile(
    rb"\s*\"?(SRID=\d{1,6};)?\s*(MULTI)?(POLYGON|LINESTRING|POINT|GEOMETRYCOLLECTION)\b", re.IGNORECASE
)
_HEX_WKB = re.compile(rb"0[01][0-9A-Fa-f]{16}")
_BINARY_WKB = re.compile(
    rb"\x01[\x02\x03\x05\x06\x07]\0\0[\0\x20\x80\xa0]|\0[\0\x20\x80\xa0]\0\0[\x02\x03\x05\x06\x07]"
)
_XML_ENCODING = re.compile(rb"(<\?xml[^>]{0,100}?encoding=)([\"'])[^\"']{1,20}\2")
_REFUSED: Final = (
    (
        b"\0\0\x27\x0a",
        "a .shp alone, without its .shx, .dbf, and .prj; zip the files of the shapefile together",
    ),
    (b"%PDF", f"a PDF has no places on the globe that can be read; {ASK}"),
    (b"Rar!", "a RAR archive; unpack it, and zip it"),
    (b"7z\xbc\xaf", "a 7z archive; unpack it, and zip it"),
    (b"AC10", f"an AutoCAD drawing; {_CONVERT}"),
    (b"ARROW1", "a Feather file; save it as GeoParquet"),
    (b"!table", f"a MapInfo table; {_CONVERT}"),
    (b"Version ", f"a MapInfo file; {_CONVERT}"),
    (b"\x89PNG", f"a picture; {ASK}"),
    (b"\xff\xd8\xff", f"a picture; {ASK}"),
    (b"II*\0", f"a picture; {ASK}"),
)
_REFUSED_XML: Final = (
    (b"<osm", "OpenStreetMap's own XML"),
    (b"opengis.net/gml", "GML"),
    (b"<svg", "a drawing without places on the globe"),
)


@dataclass(frozen=True, slots=True)
class Upload:
    """What is read of an uploaded file.

    Attributes
    ----------
    files : dict of str to bytes
        Content by a name that we choose; one name is a key of `DRIVERS`, or in a folder of such a name.
    layer : str
        The layer to read; "" for all.
    """

    files: dict[str, bytes]
    layer: str = ""

    @property
    def main(self) -> str:
        """The file or folder that is opened, a key of `DRIVERS`."""
        (main,) = {name.partition("/")[0] for name in self.files} & DRIVERS.keys()
        return main


def unpack_upload(shown: str, content: bytes, layer: str = "", *, is_packed: bool = False) -> Upload:
    """Recognize a file and unpack it.

    Parameters
    ----------
    shown : str
        Its name for messages.
    content : bytes
        Its content.
    layer : str
        The layer that is asked for, or the file in a zip; "" for all.
    is_packed : bool
        Whether it was itself in a zip or gzip, so that it may not be another.

    Raises
    ------
    SourceFileError
        The format is not supported, or the file is damaged or unpacks to too much.
    GeometryError
        A shapefile without its reference system.
    """
    content = _utf8(shown, content)
    is_archive = content[:4] == b"PK\x03\x04" or content[:2] == b"\x1f\x8b"
    if is_archive and is_packed:
        raise SourceFileError(f"{shown}: an archive in an archive; unpack it once")
    if is_archive:
        return (
            _read_zip(shown, content, layer)
            if content[:1] == b"P"
            else unpack_upload(shown, _gunzip(shown, content), layer, is_packed=True)
        )
    return Upload({_kind(shown, content): _binary_as_text(content)}, layer)


def _kind(shown: str, content: bytes) -> str:
    """The key of `DRIVERS` for a file that is not packed."""
    head = content[:4096].lstrip(b" \t\r\n\x1e")
    if content[:16] == b"SQLite format 3\0":
        return "area.gpkg"
    if content[:3] == b"fgb":
        return "area.fgb"
    if content[:4] == b"PAR1":
        return "area.parquet"
    if head[:1] == b"{":
        return _json_kind(content)
    if head[:1] == b"<":
        return _xml_kind(shown, content)
    if _WKT.match(head) or _HEX_WKB.match(head) or _BINARY_WKB.match(content):
        return "area.wkt"
    if content[257:262] == b"ustar":
        raise SourceFileError(f"{shown}: a tar archive; unpack it, and zip it")
    reason = next((reason for mark, reason in _REFUSED if content.startswith(mark)), "")
    raise SourceFileError(
        f"{shown}: {reason}" if reason else f"{shown}: the format is not supported; {ASK}, or {_CONVERT}"
    )


def _json_kind(content: bytes) -> str:
    """GeoJSON, one object a line, TopoJSON, or the JSON of Esri's servers; by marks alone, in linear time."""
    first, _, rest = content.strip(b" \t\r\n\x1e").partition(b"\n")
    if first.rstrip().endswith(b"}") and rest.lstrip()[:1] in (b"{", b"\x1e"):
        return "area.geojsons"
    if b'"FeatureCollection"' not in content:
        if b'"Topology"' in content and b'"arcs"' in content:
            return "area.topojson"
        if b'"esriGeometry' in content or (b'"attributes"' in content and b'"rings"' in content):
            return "area.esrijson"
    return "area.geojson"


def _xml_kind(shown: str, content: bytes) -> str:
    lowered = content.lower()
    if b"\0" in content:
        raise SourceFileError(f"{shown}: XML that is neither UTF-8 nor UTF-16; save it as UTF-8")
    if b"<!doctype" in lowered or b"<!entity" in lowered:
        raise SourceFileError(
            f"{shown}: XML with a document type, which could name other files; save it without one"
        )
    for mark, name in ((b"<kml", "area.kml"), (b"<gpx", "area.gpx")):
        if mark in lowered[:10_000]:
            return name
    reason = next((name for mark, name in _REFUSED_XML if mark in lowered[:10_000]), "")
    raise SourceFileError(
        f"{shown}: {reason}, which is not supported; {_CONVERT}"
        if reason
        else f"{shown}: XML that is neither KML nor GPX; {ASK}"
    )


def _utf8(shown: str, content: bytes) -> bytes:
    """Text in UTF-16, with or without its mark, as UTF-8; anything else as it is, without UTF-8's mark."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif content[1:2] == b"\0" and content[:1] in (b"{", b"<"):
        encoding = "utf-16-le"
    elif content[:1] == b"\0" and content[1:2] in (b"{", b"<"):
        encoding = "utf-16-be"
    else:
        return content.removeprefix(b"\xef\xbb\xbf")
    try:
        text = content.decode(encoding).encode()
    except UnicodeError:
        raise SourceFileError(f"{shown}: text in UTF-16 that is damaged; save it as UTF-8") from None
    return _XML_ENCODING.sub(rb"\1\2UTF-8\2", text, count=1)


def _binary_as_text(content: bytes) -> bytes:
    """Binary WKB as digits, so that WKB has one form; anything else as it is."""
    return content.hex().encode() if _BINARY_WKB.match(content) else content


def _gunzip(shown: str, content: bytes) -> bytes:
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
            unpacked = stream.read(MAX_UNPACKED_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise SourceFileError(f"{shown}: cannot be read as gzip (damaged); pack it again") from error
    if len(unpacked) > MAX_UNPACKED_BYTES:
        raise _too_large(shown)
    return unpacked


def _too_large(shown: str) -> SourceFileError:
    return SourceFileError(
        f"{shown}: it unpacks to more than {MAX_UNPACKED_BYTES >> 20} MiB; simplify its shapes"
    )


def _read_zip(shown: str, content: bytes, layer: str) -> Upload:
    """The one shapefile, geodatabase, KML or other file in a zip; folders in it are ignored."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            if len(entries) > MAX_ENTRIES:
                raise SourceFileError(
                    f"{shown}: {len(entries):,} files in it; at most {MAX_ENTRIES:,} are allowed"
                )
            seen = [entry for entry in entries if not (entry.is_dir() or _is_hidden(entry.filename))]
            chosen, layer = _choose_entries(shown, seen, layer)
            left, parts = MAX_UNPACKED_BYTES, {}
            for name, entry in chosen.items():
                with archive.open(entry) as stream:
                    parts[name] = stream.read(left + 1)  # the size that an entry states may be wrong
                left -= len(parts[name])
                if left < 0:
                    raise _too_large(shown)
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
    if "" in parts:
        return unpack_upload(shown, parts[""], layer, is_packed=True)
    return Upload(parts, layer)


def _choose_entries(
    shown: str, entries: list[zipfile.ZipInfo], layer: str
) -> tuple[dict[str, zipfile.ZipInfo], str]:
    """Entries of one main file under names that we choose, "" for one to be recognized; and the layer left to find."""
    mains: list[str] = []
    for ends in _IN_ZIP:
        mains = sorted(
            {main for entry in entries if (main := _main_of(entry.filename)).lower().endswith(ends)}
        )
        if mains:
            break
    if not mains:
        raise SourceFileError(f"{shown}: no shapefile, geodatabase, KML or GeoJSON in the zip; {ASK}")
    named = [main for main in mains if layer in (main, _title(main))]
    if len(named) == 1:
        mains, layer = named, ""
    if len(mains) > 1:
        titles = [clean_name(_title(main)) for main in mains]
        raise SourceFileError(
            f"{shown}: {len(mains):,} files of areas in the zip ({', '.join(titles[:4])}"
            f"{', …' if len(mains) > 4 else ''}); zip one alone, or name it on the command line, such as "
            f"{shown}!{titles[0]}"
        )
    (main,) = mains
    if main.lower().endswith(".gdb"):
        return {
            f"area.gdb/{part}": entry
            for entry in entries
            if _main_of(entry.filename) == main
            and _GEODATABASE_PART.fullmatch(part := entry.filename.rpartition("/")[2].lower())
        }, layer
    if main.lower().endswith(".shp"):
        stem = os.path.splitext(main)[0]
        parts = {
            os.path.splitext(entry.filename)[1].lower(): entry
            for entry in entries
            if os.path.splitext(entry.filename)[0] == stem
        }
        _check_shapefile(shown, parts)
        return {f"area{end}": parts[end] for end in SHAPEFILE if end in parts}, layer
    return {"": next(entry for entry in entries if entry.filename == main)}, layer


def _check_shapefile(shown: str, present: Container[str]) -> None:
    """Raise if the files of a shapefile, given by their suffixes, do not suffice."""
    if ".prj" not in present:
        raise GeometryError(
            f"{shown}: no coordinate reference system; put the shapefile's .prj beside the .shp"
        )
    if ".shx" not in present:
        raise SourceFileError(f"{shown}: no .shx beside the .shp; put all of the shapefile's files there")


def _main_of(name: str) -> str:
    """The geodatabase that an entry belongs to, or the entry itself."""
    folder = name.rpartition("/")[0]
    return folder if folder.lower().endswith(".gdb") else name


def _title(main: str) -> str:
    """Name of a file without folders and suffix."""
    return os.path.splitext(main.rpartition("/")[2])[0]


def _is_hidden(name: str) -> bool:
    # A Mac adds __MACOSX/._name.shp to the zips it writes.
    folders = name.split("/")
    return "__MACOSX" in folders or folders[-1].startswith(".")


def clean_name(name: str) -> str:
    """The name of an uploaded file, made safe to show."""
    plain = "".join(character if character.isprintable() else "�" for character in name.replace("\\", "/"))
    return plain.rpartition("/")[2][-60:] or "the file"
