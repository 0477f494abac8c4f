"""Writes layers with GDAL: as a GeoPackage, or as Shapefiles in a zip.

The same layers give the same bytes with the same GDAL, because the dates in both formats are fixed.
"""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

import pyarrow
import pyogrio
import shapely

from geodata.progress import Progress, silent
from geodata.store.schema import CRS
from mapapp.base.errors import UsageError
from mapapp.show.exports.layer import ARROW, Layer, LonLat, Part, Shapes, arrow_column, short_names
from mapapp.show.exports.provenance import Provenance

EPOCH: Final = "1980-01-01"  # the oldest date that a zip can store
MOMENT: Final = f"{EPOCH}T00:00:00.000Z"
MAX_TEXT_BYTES: Final = 254  # of a text field in a Shapefile
_MAX_SHAPEFILE_ROWS: Final = 5_000_000  # more rows would exceed two gigabytes of fields
_SHAPE: Final = "geometry"
_COLUMN: Final = "geom"
_WHOLE: Final = {
    "MultiPolygon": (shapely.MultiPolygon, "Polygon"),
    "MultiLineString": (shapely.MultiLineString, "LineString"),
}
"""How to make a geometry of several parts from one part, and the type of that part."""
_METADATA: Final = """
CREATE TABLE gpkg_metadata (
  id INTEGER CONSTRAINT m_pk PRIMARY KEY ASC NOT NULL,
  md_scope TEXT NOT NULL DEFAULT 'dataset',
  md_standard_uri TEXT NOT NULL,
  mime_type TEXT NOT NULL DEFAULT 'text/xml',
  metadata TEXT NOT NULL DEFAULT ''
);
CREATE TABLE gpkg_metadata_reference (
  reference_scope TEXT NOT NULL,
  table_name TEXT,
  column_name TEXT,
  row_id_value INTEGER,
  timestamp DATETIME NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ','now')),
  md_file_id INTEGER NOT NULL,
  md_parent_id INTEGER,
  CONSTRAINT crmr_mfi_fk FOREIGN KEY (md_file_id) REFERENCES gpkg_metadata(id),
  CONSTRAINT crmr_mpi_fk FOREIGN KEY (md_parent_id) REFERENCES gpkg_metadata(id)
);
"""
_EXTENSION: Final = "http://www.geopackage.org/spec/#extension_metadata"


def write_gpkg(
    layers: Sequence[Layer], provenance: Provenance, file: Path, *, report: Progress = silent
) -> None:
    """Write layers as tables of a new GeoPackage; its metadata table has their provenance."""
    for layer in layers:
        _write(layer, file, "GPKG", report, GEOMETRY_NAME=_COLUMN, IDENTIFIER=layer.title, FID="fid")
    about = json.dumps(provenance.to_dict(), ensure_ascii=False)
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("PRAGMA journal_mode = MEMORY")
        database.executescript(_METADATA)
        database.execute(
            "INSERT INTO gpkg_metadata VALUES (1, 'dataset', 'https://www.rfc-editor.org/rfc/rfc8259', "
            "'application/json', ?)",
            (about,),
        )
        database.execute(
            "INSERT INTO gpkg_metadata_reference VALUES ('geopackage', NULL, NULL, NULL, ?, 1, NULL)",
            (MOMENT,),
        )
        database.execute(
            "CREATE TABLE IF NOT EXISTS gpkg_extensions (table_name TEXT, column_name TEXT, "
            "extension_name TEXT NOT NULL, definition TEXT NOT NULL, scope TEXT NOT NULL, "
            "CONSTRAINT ge_tce UNIQUE (table_name, column_name, extension_name))"
        )
        for table in ("gpkg_metadata", "gpkg_metadata_reference"):
            database.execute(
                "INSERT INTO gpkg_extensions VALUES (?, NULL, 'gpkg_metadata', ?, 'read-write')",
                (table, _EXTENSION),
            )
        database.execute("UPDATE gpkg_contents SET last_change = ?, description = ?", (MOMENT, about))


def write_shapefiles(
    layers: Sequence[Layer],
    provenance: Provenance,
    file: Path,
    *,
    readme: str,
    report: Progress = silent,
) -> None:
    """Write layers as Shapefiles in a new zip, with `README.txt`, `provenance.json` and `FIELDS.csv` beside them.

    Raises
    ------
    UsageError
        If a layer has more rows than a Shapefile holds.
    """
    listed = io.StringIO()
    fields = csv.writer(listed, lineterminator="\n")
    fields.writerow(["layer", "shapefile_field", "field", "kind"])
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".shapefiles-") as folder:
        for layer in layers:
            if layer.n_rows > _MAX_SHAPEFILE_ROWS:
                raise UsageError(
                    f"{layer.title}: {layer.n_rows:,} rows do not fit in a Shapefile; write gpkg instead"
                )
            names = short_names(list(layer.fields))
            fields.writerows([layer.name, names[name], name, kind] for name, kind in layer.fields.items())
            _write(
                layer,
                Path(folder) / f"{layer.name}.shp",
                "ESRI Shapefile",
                report,
                ENCODING="UTF-8",
                DBF_DATE_LAST_UPDATE=EPOCH,
            )
        texts = {
            "README.txt": readme,
            "provenance.json": json.dumps(provenance.to_dict(), ensure_ascii=False, indent=1) + "\n",
            "FIELDS.csv": listed.getvalue(),
        }
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as packed:
            for name, text in texts.items():
                packed.writestr(_member(name), text.encode())
            for made in sorted(Path(folder).iterdir()):
                with (
                    packed.open(_member(made.name), "w", force_zip64=True) as target,
                    made.open("rb") as source,
                ):
                    while block := source.read(1 << 20):
                        target.write(block)
                        report(f"packing {made.stem}", 0, 0)


def _member(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # dated 1980
    info.compress_type, info.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    return info


def _write(
    layer: Layer,
    file: Path,
    driver: str,
    report: Progress,
    **options: str,
) -> None:
    """Stream a layer into a file with GDAL; errors from making the rows are raised unchanged."""
    failed: list[BaseException] = []
    narrow = driver == "ESRI Shapefile"
    names = short_names(list(layer.fields)) if narrow else {name: name for name in layer.fields}
    kinds = {name: "whole" if narrow and kind == "flag" else kind for name, kind in layer.fields.items()}
    schema = pyarrow.schema(
        [pyarrow.field(names[name], ARROW[kind]) for name, kind in kinds.items()]
        + [pyarrow.field(_SHAPE, pyarrow.binary(), metadata={"ARROW:extension:name": "geoarrow.wkb"})]
    )

    def batches() -> Iterator[pyarrow.RecordBatch]:
        try:
            for part in layer.report_parts(report):
                columns = [arrow_column(part.frame[name], kind) for name, kind in layer.fields.items()]
                columns = [_fit(column, narrow) for column in columns]
                shapes = _wkb(layer, part)
                plain = [column.cast(schema.field(at).type) for at, column in enumerate(columns)]
                yield pyarrow.record_batch([*plain, shapes], schema=schema)
        except BaseException as error:
            failed.append(error)
            raise

    try:
        pyogrio.write_arrow(
            pyarrow.RecordBatchReader.from_batches(schema, batches()),
            file,
            layer=layer.name,
            driver=driver,
            geometry_name=_SHAPE,
            geometry_type=layer.geometry if not narrow else layer.geometry.removeprefix("Multi"),
            crs=CRS,
            **options,
        )
    except BaseException as error:
        if failed:
            raise failed[0] from error
        if isinstance(error, (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError)):
            raise UsageError(f"{layer.title}: GDAL cannot write it as {driver} ({error})") from error
        raise


def _wkb(layer: Layer, part: Part) -> pyarrow.Array:
    if isinstance(part.places, LonLat):
        return part.places.wkb()
    shapes: Shapes = part.shapes
    if layer.geometry in _WHOLE:
        make, part_type = _WHOLE[layer.geometry]
        shapes = [
            shape if shape is None or shape.geom_type != part_type else make([shape]) for shape in shapes
        ]
    return pyarrow.array(shapely.to_wkb(shapes).tolist() if len(shapes) else [], pyarrow.binary())


def _fit(column: pyarrow.Array, narrow: bool) -> pyarrow.Array:
    """Text cut to whole characters within the field size of a Shapefile."""
    if not narrow or column.type != pyarrow.string():
        return column
    return pyarrow.array(
        [
            text if text is None else text.encode()[:MAX_TEXT_BYTES].decode(errors="ignore")
            for text in column.to_pylist()
        ],
        pyarrow.string(),
    )
