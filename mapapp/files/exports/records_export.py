"""The rows of worker records with readable columns, and a codebook that says what every code means."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pyarrow
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from geodata.in_order import in_order
from geodata.progress import Progress
from geodata.store import Store
from mapapp.answers.attributes import Attributes
from mapapp.answers.records.certificate import read_attributes
from mapapp.answers.records.record_words import NO_PERSON
from mapapp.files.exports.layer import Kind
from mapapp.files.exports.provenance import Provenance
from mapapp.files.exports.spreadsheet import harmless, harmless_texts

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
    return dict.fromkeys((*_BLOCKS, *(each.name for each in attributes)), "text")


def records_in_parts(store: Store, attributes: Attributes, *, safe: bool) -> Iterator[pyarrow.Table]:
    """Yield the records as tables of texts: blocks, and the code of each attribute's value.

    If they must be `safe` for a spreadsheet, no text begins like a formula.
    """
    listed: dict[str, pyarrow.Array] = {each.name: pyarrow.array(each.codes) for each in attributes}
    texts = {**listed, **dict.fromkeys(_BLOCKS, _block_ids(store))}
    if safe:
        texts = {name: harmless_texts(array) for name, array in texts.items()}

    def in_words(batch: pyarrow.Table) -> pyarrow.Table:
        place = {name: batch[f"{_END[name]}_index"] for name in _BLOCKS}
        place |= {
            each.name: pyarrow.compute.subtract(batch[each.name].cast(pyarrow.int32()), each.first)
            for each in attributes
        }
        return pyarrow.table({name: texts[name].take(at.combine_chunks()) for name, at in place.items()})

    with ThreadPoolExecutor(max_workers=_THREADS) as pool:
        yield from in_order(pool, in_words, store.batches("records"), ahead=_THREADS)


def _block_ids(store: Store) -> pyarrow.Array:
    """The identifier of each block: not as objects of Python, since a nation has eight million blocks."""
    chunks = [chunk for batch in store.batches("blocks", ["block_id"]) for chunk in batch["block_id"].chunks]
    return pyarrow.chunked_array(chunks).cast(pyarrow.string()).combine_chunks()


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
