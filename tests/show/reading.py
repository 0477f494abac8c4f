"""Exported files read back with libraries that did not write them."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import openpyxl
import shapefile

KML = "{http://www.opengis.net/kml/2.2}"


def gpkg_rows(file: Path, table: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        found = database.execute(f'SELECT * FROM "{table}"')
        names = [column[0] for column in found.description]
        return [dict(zip(names, row, strict=True)) for row in found]


def gpkg_about(file: Path) -> dict[str, Any]:
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        ((text,),) = database.execute("SELECT metadata FROM gpkg_metadata").fetchall()
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    return dict(json.loads(text))


def shapefile_rows(file: Path, layer: str) -> tuple[list[dict[str, Any]], list[Any]]:
    """Records by the long names of their fields, and the shapes."""
    with zipfile.ZipFile(file) as packed:
        assert packed.testzip() is None
        assert all("/" not in name and ".." not in name for name in packed.namelist())
        assert packed.read(f"{layer}.cpg") == b"UTF-8"
        assert b"WGS_1984" in packed.read(f"{layer}.prj")
        listed = csv.DictReader(io.StringIO(packed.read("FIELDS.csv").decode()))
        long = {row["shapefile_field"]: row["field"] for row in listed if row["layer"] == layer}
        parts = {part: io.BytesIO(packed.read(f"{layer}.{part}")) for part in ("shp", "shx", "dbf")}
    with shapefile.Reader(**parts, encoding="utf-8") as reader:
        rows = [
            {long[name]: value for name, value in record.as_dict().items()} for record in reader.records()
        ]
        return rows, reader.shapes()


def kml_rows(file: Path) -> dict[str, list[tuple[dict[str, str], Any]]]:
    """Fields and first geometry element of every placemark, by the name of its folder's schema."""
    found: dict[str, list[tuple[dict[str, str], Any]]] = {}
    for mark in ElementTree.parse(file).iter(f"{KML}Placemark"):
        (data,) = mark.iter(f"{KML}SchemaData")
        fields = {str(cell.get("name")): cell.text or "" for cell in data}
        shapes = [mark.find(f"{KML}{kind}") for kind in ("Point", "LineString", "Polygon", "MultiGeometry")]
        shape = next((one for one in shapes if one is not None), None)
        found.setdefault(str(data.get("schemaUrl"))[1:], []).append((fields, shape))
    return found


def xlsx_rows(file: Path, sheet: str) -> list[dict[str, Any]]:
    book = openpyxl.load_workbook(file)
    assert not [cell for page in book for row in page.iter_rows() for cell in row if cell.data_type == "f"]
    rows = list(book[sheet].iter_rows(values_only=True))
    return [dict(zip(map(str, rows[0]), row, strict=True)) for row in rows[1:]]
