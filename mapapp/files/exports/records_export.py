"""The rows of worker records with readable columns, and a codebook that says what every code means."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pandas
import pyarrow
import pyarrow.csv
import pyarrow.parquet

from geodata.progress import Progress
from geodata.store import Store
from mapapp.answers.attributes import Attributes
from mapapp.answers.records.certificate import read_attributes
from mapapp.answers.records.record_words import NO_PERSON
from mapapp.files.exports.layer import Kind, arrow_column
from mapapp.files.exports.provenance import Provenance
from mapapp.files.exports.spreadsheet import harmless

WRITING_RECORDS: Final = "writing records"
CODEBOOK: Final = "codebook.csv"
_BLOCKS: Final = {
    "work_block": "census block of the workplace",
    "home_block": "census block of the home; two digits are a whole state outside the mapped area",
}


def record_fields(attributes: Attributes) -> dict[str, Kind]:
    """Return the columns of exported records, and what each holds."""
    return dict.fromkeys((*_BLOCKS, *(each.name for each in attributes)), "text")


def records_in_parts(store: Store, attributes: Attributes) -> Iterator[pandas.DataFrame]:
    """Yield the records as frames of texts: blocks, and the code of each attribute's value."""
    block_id = store.table("blocks", ["block_id"])["block_id"].to_numpy(dtype=object)
    codes = {each.name: pandas.Series(each.codes, dtype=object).to_numpy() for each in attributes}
    for batch in store.batches("records"):
        frame = batch.to_pandas()
        yield pandas.DataFrame(
            {
                "work_block": block_id[frame["destination_index"]],
                "home_block": block_id[frame["origin_index"]],
                **{each.name: codes[each.name][frame[each.name] - each.first] for each in attributes},
            }
        )


def codebook_rows(attributes: Attributes) -> Iterator[tuple[str, str, str]]:
    """Yield column, code, and meaning; a column without codes has one row."""
    for name, meaning in _BLOCKS.items():
        yield name, "", meaning
    for each in attributes:
        yield each.name, "", each.title
        yield from ((each.name, code, label) for code, label in zip(each.codes, each.labels, strict=True))


def write_records(store: Store, folder: Path, form: str, report: Progress) -> list[str]:
    """Write the records and their codebook to a folder, as CSV or Parquet; returns notes.

    The same records give the same bytes. Parquet carries the provenance in its metadata.
    """
    attributes = read_attributes(store, store.document("certificate.json"))
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
        for frame in records_in_parts(store, attributes):
            texts = frame if parquet else frame.map(harmless)
            columns = {name: arrow_column(texts[name], "text") for name in fields}
            writer.write_table(pyarrow.table(columns).cast(schema if parquet else schema.remove_metadata()))
            done += len(frame)
            report(WRITING_RECORDS, done, n_rows)
    with (folder / CODEBOOK).open("w", encoding="utf-8", newline="") as stream:
        book = csv.writer(stream, lineterminator="\n")
        book.writerow(("column", "code", "meaning"))
        book.writerows([[harmless(value) for value in row] for row in codebook_rows(attributes)])
    return [
        f"records.{form}: one row for each synthetic worker. {NO_PERSON}",
        f"{CODEBOOK}: what every column and code means",
    ]
