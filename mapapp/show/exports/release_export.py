"""Exports a whole release: to a self-contained folder, or to one file if the format can hold everything."""

from __future__ import annotations

import csv
import datetime
import gzip
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Literal, get_args

import pyarrow
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from geodata.progress import Progress, silent, yield_in_order
from geodata.store.store import Store
from geodata.store.zones import is_of_zones
from mapapp.answers.areas.levels import level_named
from mapapp.answers.certificate_reader import read_certificate
from mapapp.answers.commutes.attributes import Attributes, attributes_of
from mapapp.answers.commutes.prepared import attribute_columns
from mapapp.answers.publication import RELEASED, open_publication
from mapapp.answers.records.words import NO_PERSON
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.base.whole_files import new_place
from mapapp.question.fields import USUAL
from mapapp.show.exports.answers import readme, sidecar
from mapapp.show.exports.layer import Kind, Layer, arrow_column, safe_name
from mapapp.show.exports.lodes import write_lodes
from mapapp.show.exports.provenance import Provenance
from mapapp.show.exports.release_layers import (
    POINT_FIELDS,
    base_layers,
    field_notes,
    flow_layer,
    point_layer,
    points_in_parts,
    shown_fields,
    subject,
    unit_layer,
)
from mapapp.show.exports.spreadsheet import harmless, harmless_texts

# The rows of worker records with readable columns, and a codebook that says what every code means.

WRITING_RECORDS: Final = "writing records"
CODEBOOK: Final = "codebook.csv"
_END: Final = {"work_block": "destination", "home_block": "origin"}
_THREADS: Final = 2
_BLOCKS: Final = {
    "work_block": "census block of the workplace",
    "home_block": "census block of the home; two digits are a whole state outside the mapped area",
}


def record_fields(attributes: Attributes) -> dict[str, Kind]:
    """Return the columns of exported records, and what each holds."""
    return dict.fromkeys((*_BLOCKS, *(attribute.name for attribute in attributes)), "text")


def records_in_parts(store: Store, attributes: Attributes, *, safe: bool) -> Iterator[pyarrow.Table]:
    """Yield the records as tables of texts: blocks, and the code of each attribute's value.

    If they must be `safe` for a spreadsheet, no text begins like a formula.
    """
    listed: dict[str, pyarrow.Array] = {
        attribute.name: pyarrow.array(attribute.codes) for attribute in attributes
    }
    texts = {**listed, **dict.fromkeys(_BLOCKS, _block_ids(store))}
    if safe:
        texts = {name: harmless_texts(array) for name, array in texts.items()}

    def in_words(batch: pyarrow.Table) -> pyarrow.Table:
        place = {name: batch[f"{_END[name]}_index"] for name in _BLOCKS}
        place |= {
            attribute.name: pyarrow.compute.subtract(
                batch[attribute.name].cast(pyarrow.int32()), attribute.first
            )
            for attribute in attributes
        }
        return pyarrow.table({name: texts[name].take(at.combine_chunks()) for name, at in place.items()})

    with ThreadPoolExecutor(max_workers=_THREADS) as pool:
        yield from yield_in_order(pool, in_words, store.batches("records"), ahead=_THREADS)


def _block_ids(store: Store) -> pyarrow.Array:
    """The identifier of each block: not as objects of Python, since a nation has eight million blocks."""
    chunks = [chunk for batch in store.batches("blocks", ["block_id"]) for chunk in batch["block_id"].chunks]
    return pyarrow.chunked_array(chunks).cast(pyarrow.string()).combine_chunks()


def codebook_rows(attributes: Attributes) -> Iterator[tuple[str, str, str]]:
    """Yield column, code, and meaning; a column without codes has one row."""
    for name, meaning in _BLOCKS.items():
        yield name, "", meaning
    for attribute in attributes:
        yield attribute.name, "", attribute.title
        yield from (
            (attribute.name, code, label)
            for code, label in zip(attribute.codes, attribute.labels, strict=True)
        )


def write_records(store: Store, folder: Path, form: str, report: Progress) -> list[str]:
    """Write the records and their codebook to a folder, as CSV or Parquet; returns notes.

    The same records give the same bytes. Parquet carries the provenance in its metadata.
    """
    attributes = attributes_of(read_certificate(store), attribute_columns(store), store.manifest)
    fields, n_rows, done = (
        record_fields(attributes),
        int(store.manifest["files"]["records.parquet"]["rows"]),
        0,
    )
    schema = pyarrow.schema([(name, pyarrow.string()) for name in fields]).with_metadata(
        {name: text for name, text in Provenance.of(store).texts().items() if text}
    )
    file = folder / f"records.{form}"
    parquet = form == "parquet"
    opened = (
        pyarrow.parquet.ParquetWriter(file, schema, compression="zstd")
        if parquet
        else pyarrow.csv.CSVWriter(file, schema.remove_metadata())
    )
    with opened as writer:
        for part in records_in_parts(store, attributes, safe=not parquet):
            writer.write_table(part.cast(schema if parquet else schema.remove_metadata()))
            done += part.num_rows
            report(WRITING_RECORDS, done, n_rows)
    with (folder / CODEBOOK).open("w", encoding="utf-8", newline="") as stream:
        book = csv.writer(stream, lineterminator="\n")
        book.writerow(("column", "code", "meaning"))
        book.writerows([[harmless(value) for value in row] for row in codebook_rows(attributes)])
    return [
        f"records.{form}: one row for each synthetic worker. {NO_PERSON}",
        f"{CODEBOOK}: what every column and code means",
    ]


Form = Literal["lodes", "gpkg", "shp", "kml", "geojson", "csv", "xlsx", "points", "parquet"]
With = Literal["points", "flows", "basemap"]
FORMS: Final[tuple[Form, ...]] = tuple(form for form in get_args(Form) if form != "parquet")
"""Formats of every publication; worker records can be written as Parquet, too."""
ONE_FILE: Final[dict[str, str]] = {"gpkg": ".gpkg", "shp": ".zip", "kml": ".kml", "xlsx": ".xlsx"}
"""Suffixes of formats that hold several layers and their provenance in one file."""

_OF_FILES: Final = (
    *ONE_FILE.values(),
    *(".shp", ".csv", ".json", ".geojson", ".parquet", ".geoparquet", ".feather", ".txt", ".pdf", ".html"),
)
"""Suffixes that nobody gives a folder."""

LAYERS: Final = ("state", "county", "tract")
WRITING_POINTS: Final = "writing points"
_DECIMALS: Final = 6  # of a degree; coordinates are kept with about seven digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """The files that an export wrote.

    Attributes
    ----------
    path : Path
        The folder or file.
    files : dict of str to int
        Size of each file in bytes, by name.
    notes : tuple of str
        What readers must know, one sentence per note.
    """

    path: Path
    files: dict[str, int]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """Plain values."""
        return {"path": str(self.path), "files": self.files, "notes": list(self.notes)}


def export_release(
    release: Path,
    form: Form,
    target: Path,
    *,
    layers: Sequence[str] = (),
    more: Sequence[With] = (),
    date: datetime.date | None = None,
    report: Progress = silent,
) -> Exported:
    """Write a release in another format, completely or not at all; the same release gives the same bytes.

    Parameters
    ----------
    release : Path
        Directory of the release; a dataset is refused.
    form : {"lodes", "gpkg", "shp", "kml", "geojson", "csv", "xlsx", "points", "parquet"}
        Of worker records, "csv" has their rows and a codebook, too, and "parquet" only these.
    target : Path
        A new folder, or a new file with the suffix of `ONE_FILE`.
    layers : sequence of str
        Geographic layers whose units are written with their counts, by their keys or everyday words; "all" for every
        layer except blocks; by default those of `LAYERS`, and all layers of zones of another country. Not for "lodes"
        and "points".
    more : sequence of {"points", "flows", "basemap"}
        Adds a point for each worker's home and workplace, a line for each pair of blocks, or water, roads, rails, and
        landmarks as far as the release has them.
    date : date, optional
        Value of the column `createdate` of "lodes".
    report : callable
        Called with (stage, done, total). If it raises, the export ends and leaves no files.

    Raises
    ------
    UsageError
        If options, format and release do not go together.
    StoreError
        If the input is not a release, or the target exists.
    """
    if form not in get_args(Form):
        raise UsageError(f"--to {form}: choose {', '.join(FORMS)}")
    as_file = _is_file(target, form)
    with new_place(target, folder=not as_file) as place:
        store = open_publication(release, *RELEASED)
        provenance = Provenance.of(store)
        if form == "parquet":
            notes, said = _write_parquet(store, place, layers, more, report)
        elif form in ("lodes", "points"):
            notes, said = _WHOLE[form](store, place, date, report)
        else:
            file_layers = _layers(store, form, layers, more, report)
            notes, said = field_notes(store), []
            _write_layers(form, file_layers, provenance, notes, place, as_file=as_file, report=report)
            if form == "csv" and store.kind == "records":
                notes = [*notes, *write_records(store, place, form, report)]
        if not as_file:
            _write_texts(place, provenance, notes)
        files = {file.name: file.stat().st_size for file in ([place] if as_file else sorted(place.iterdir()))}
    return Exported(path=target, files=files, notes=tuple(said))


def _is_file(target: Path, form: Form) -> bool:
    """Return whether the target is one file; refuse a name that promises another format than is written."""
    suffix, own = target.suffix.lower(), ONE_FILE.get(form)
    if suffix in _OF_FILES and suffix != own:
        one_file = f", or a file name that ends in {own}" if own else ""
        raise UsageError(f"{target}: --to {form} does not write {suffix}; name a folder{one_file}")
    return suffix == own


def _write_parquet(
    store: Store, folder: Path, layers: Sequence[str], more: Sequence[With], report: Progress
) -> tuple[list[str], list[str]]:
    if store.kind != "records":
        raise UsageError("--to parquet is for worker records; write a release as csv or gpkg instead")
    if layers or more:
        raise UsageError(
            "--layer and --with do not apply to --to parquet, which writes the records; leave them out"
        )
    return write_records(store, folder, "parquet", report), []


def _write_texts(folder: Path, provenance: Provenance, notes: Sequence[str]) -> None:
    (folder / "README.txt").write_text(readme(provenance, notes), encoding="utf-8")
    (folder / "provenance.json").write_text(sidecar(provenance, notes), encoding="utf-8")


def _layers(
    store: Store, form: Form, names: Sequence[str], more: Sequence[With], report: Progress
) -> list[Layer]:
    if form == "xlsx" and "flows" in more:
        raise UsageError("--with flows: the flows do not fit in a sheet; write csv or gpkg instead")
    release = Release(store, report=report)
    known, usual = list(release.areas.columns), release.areas.usual
    names = names or (("all",) if is_of_zones(store.manifest) else LAYERS)
    wanted = [
        usual.of("work") if level == USUAL else level
        for name in names
        for level in (known if name == "all" else [level_named(name)])
    ]
    layers = [unit_layer(release, level) for level in dict.fromkeys(wanted)]
    if "points" in more:
        layers += [point_layer(store, "home"), point_layer(store, "work")]
    if "flows" in more:
        layers.append(flow_layer(store))
    return layers + (base_layers(store) if "basemap" in more else [])


def _write_layers(
    form: Form,
    layers: Sequence[Layer],
    provenance: Provenance,
    notes: Sequence[str],
    place: Path,
    *,
    as_file: bool,
    report: Progress,
) -> None:
    from mapapp.show.exports import gdal_files, spreadsheet, text_files

    if form in ("geojson", "csv"):
        for layer in layers:
            with (place / f"{layer.name}.{form}").open("w", encoding="utf-8", newline="") as stream:
                if form == "csv":
                    text_files.write_csv(layer, stream, report=report)
                else:
                    text_files.write_geojson(layer, provenance, stream, report=report)
        return
    file = place if as_file else place / f"{safe_name(provenance.title)}{ONE_FILE[form]}"
    writers: dict[str, Callable[[], None]] = {
        "gpkg": partial(gdal_files.write_gpkg, layers, provenance, file, report=report),
        "shp": partial(
            gdal_files.write_shapefiles,
            layers,
            provenance,
            file,
            readme=readme(provenance, notes),
            report=report,
        ),
        "xlsx": partial(spreadsheet.write_workbook, layers, provenance, notes, file, report=report),
    }
    if form == "kml":
        with file.open("w", encoding="utf-8") as stream:
            text_files.write_kml(layers, provenance, stream, report=report)
    else:
        writers[form]()


def _write_lodes(
    store: Store, folder: Path, date: datetime.date | None, report: Progress
) -> tuple[list[str], list[str]]:
    written = write_lodes(store, folder, date=date, report=report)
    blocks = str(store.manifest.get("vintage", {}).get("blocks", ""))
    version = {"2010": "LODES 7", "2020": "LODES 8"}.get(blocks)
    warnings = written.notes()
    notes = [
        f"layout of {version}, with {blocks} blocks" if version else "layout of LODES 7 and 8",
        *(f"{name}: {n:,} jobs" for name, n in written.jobs.items()),
        *warnings,
        "createdate is the last day of the year of the jobs"
        if date is None
        else "createdate was set with --date",
        "rows have counts by age, by earnings and by industry, as in LODES; joint segments are only in the release",
    ]
    return notes, warnings


def _write_points(
    store: Store, folder: Path, _date: datetime.date | None, report: Progress
) -> tuple[list[str], list[str]]:
    total, done = int(store.manifest["files"]["points.parquet"]["rows"]), 0
    kinds = shown_fields(POINT_FIELDS, store.manifest) | {
        f"{end}_{axis}_deg": "number" for end in ("work", "home") for axis in ("lon", "lat")
    }
    with gzip.GzipFile(folder / "points.csv.gz", "wb", compresslevel=6, mtime=0) as stream:
        stream.write((",".join(kinds) + "\n").encode())
        options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
        for frame in points_in_parts(store):
            columns = {name: arrow_column(frame[name], kind) for name, kind in kinds.items()}
            columns = {
                name: pyarrow.compute.round(column, _DECIMALS) if kinds[name] == "number" else column
                for name, column in columns.items()
            }
            pyarrow.csv.write_csv(pyarrow.table(columns), stream, options)
            done += len(frame)
            report(WRITING_POINTS, done, total)
    return [
        f"points.csv.gz: one row per {subject(store).removesuffix('s')}; coordinates are WGS 84",
        *field_notes(store),
    ], []


_WHOLE: Final = {"lodes": _write_lodes, "points": _write_points}
