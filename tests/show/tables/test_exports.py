"""A table as CSV and as a workbook: what is read back is what is published, and stars say nothing about counts."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import openpyxl
import pandas
import pytest

from geodata.store.manifest import MANIFEST
from geodata.store.store import sha256_of
from mapapp.base.errors import UsageError
from mapapp.kinds.tables.files.csv import printed_csv, table_csv
from mapapp.kinds.tables.files.export import export_table
from mapapp.kinds.tables.files.fields import codebook
from mapapp.kinds.tables.files.grid import grid_of
from mapapp.kinds.tables.files.xlsx import table_xlsx
from mapapp.kinds.tables.read.published import PublishedTable
from mapapp.kinds.tables.read.words import STAR
from tests.commands.running import refused


def rows_of(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode())))


def sheet_rows(content: bytes, sheet: str) -> list[dict[str, Any]]:
    head, *rows = openpyxl.load_workbook(io.BytesIO(content))[sheet].iter_rows(values_only=True)
    return [dict(zip(map(str, head), row, strict=True)) for row in rows]


def test_csv_has_every_cell_in_the_order_of_decision(published: PublishedTable, table_path: Path) -> None:
    for table in published.tables:
        rows = rows_of(table_csv(published, table.position))
        assert [(row["kind"], row["row_id"], row["column_id"]) for row in rows] == [
            (cell.kind, cell.row_id, cell.column_id) for cell in table.cells.itertuples()
        ]
        for row, cell in zip(rows, table.cells.to_dict("records"), strict=True):
            assert row["value"] == ("" if cell["value"] < 0 else str(cell["value"]))
            assert int(row["people"]) == cell["people"]
            assert bool(row["why"]) == (row["state"] == "suppressed")
            assert row["table_sha256"] == sha256_of(table_path / MANIFEST)


def test_the_prior_is_exact_and_only_on_cells(published: PublishedTable) -> None:
    known = {
        (row["table"], row["row_id"], row["column_id"]): (row["numerator"], row["denominator"])
        for row in published.store.table("table_prior").to_dict("records")
    }
    for table in published.tables:
        for row in rows_of(table_csv(published, table.position)):
            if row["kind"] != "cell":
                assert row["prior_numerator"] == row["prior_denominator"] == ""
                continue
            stated = (int(row["prior_numerator"]), int(row["prior_denominator"]))
            assert stated == known[table.position, row["row_id"], row["column_id"]]


def test_the_printed_table_has_a_star_for_each_suppressed_count(published: PublishedTable) -> None:
    table = published.tables[0]
    head, *lines = csv.reader(io.StringIO(printed_csv(published, 0).decode()))
    assert len(lines) == len(table.rows)
    assert all(len(line) == len(head) for line in lines)
    stars = sum(line.count(STAR) for line in lines)
    assert stars == int((table.cells["value"] < 0).sum())


def test_headings_stand_over_their_columns(published: PublishedTable) -> None:
    grid = grid_of(published.tables[0])
    upper, lower = grid.headings
    assert [heading.width for heading in upper[:3]] == [3, 3, 3]
    assert sum(heading.width for heading in upper) == len(lower) == len(grid.labels)
    at = 0
    for heading in upper[:3]:
        for place in range(at, at + heading.width):
            assert grid.labels[place] == f"{heading.text}, {lower[place].text}"
        at += heading.width


def test_a_workbook_has_the_same_numbers_and_a_reason_for_each_star(published: PublishedTable) -> None:
    content = table_xlsx(published)
    book = openpyxl.load_workbook(io.BytesIO(content))
    assert book.sheetnames == [
        *(table.title for table in published.tables),
        "Every field",
        "Stars",
        "Codebook",
        "About",
    ]
    every = sheet_rows(content, "Every field")
    cells = pandas.concat([table.cells for table in published.tables])
    assert [row["value"] for row in every] == [None if value < 0 else value for value in cells["value"]]
    assert [row["people"] for row in every] == cells["people"].tolist()
    stars = sheet_rows(content, "Stars")
    assert len(stars) == int((cells["value"] < 0).sum())
    assert all(row["why"] for row in stars)
    grid = grid_of(published.tables[0])
    printed = list(book[published.tables[0].title].iter_rows(min_row=6, values_only=True))
    assert [tuple("" if each is None else each for each in row[1:]) for row in printed] == [
        entries for _, entries in grid.rows
    ]


def test_the_codebook_has_every_column_and_code(published: PublishedTable) -> None:
    rows = codebook(published)
    explained = {row.column for row in rows if not row.code and not row.table}
    assert explained == set(rows_of(table_csv(published, 0))[0])
    for table in published.tables:
        found = {
            row.code: row.meaning for row in rows if (row.table, row.column) == (table.title, "column_id")
        }
        assert found == table.column_labels


def test_the_promise_its_limits_and_the_digest_are_in_the_workbook(published: PublishedTable) -> None:
    about = openpyxl.load_workbook(io.BytesIO(table_xlsx(published)))["About"]
    said = [(row[0], row[1]) for row in about.iter_rows(values_only=True)]
    assert dict(said)["table sha256"] == published.digest
    assert [text for name, text in said if name == "not promised"] == published.certificate[
        "does_not_promise"
    ]


def test_no_file_says_anything_about_a_suppressed_count(published: PublishedTable) -> None:
    """Of a starred cell, files have only what follows from people, prior, and earlier counts."""
    for row in rows_of(table_csv(published, 0)):
        if row["state"] == "suppressed":
            assert row["value"] == ""


def test_text_that_looks_like_a_formula_stays_text(demo_dataset: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    from tests.tables import write_table

    published = PublishedTable.open(write_table(tmp_path / "x.table", demo_dataset))
    cells = published.tables[0].cells.assign(row='=HYPERLINK("x")')
    published.tables = (replace(published.tables[0], cells=cells),)
    assert {row["row"] for row in rows_of(table_csv(published, 0))} == {'\'=HYPERLINK("x")'}
    assert printed_csv(published, 0).decode().count("\n\"'=HYPERLINK") == len(cells["row_id"].unique())
    book = openpyxl.load_workbook(io.BytesIO(table_xlsx(published)))
    types = {cell.data_type for cell in book["Every field"]["D"][1:]}
    assert types == {"s"}


@pytest.mark.parametrize(("form", "suffix"), [("csv", ""), ("xlsx", ""), ("xlsx", ".xlsx")])
def test_an_export_is_whole_and_has_the_same_bytes_every_time(
    table_path: Path, tmp_path: Path, form: str, suffix: str
) -> None:
    first, second = tmp_path / f"first{suffix}", tmp_path / f"second{suffix}"
    made = export_table(table_path, form, first)
    export_table(table_path, form, second)
    if suffix:
        assert first.read_bytes() == second.read_bytes()
        return
    assert {file.name: file.stat().st_size for file in first.iterdir()} == made.files
    assert {file.name: file.read_bytes() for file in first.iterdir()} == {
        file.name: file.read_bytes() for file in second.iterdir()
    }
    provenance = json.loads((first / "provenance.json").read_text(encoding="utf-8"))
    assert provenance["table_sha256"] == sha256_of(table_path / MANIFEST)
    readme = (first / "README.txt").read_text(encoding="utf-8")
    assert "are bound by this digest alone" in readme
    assert "not differential privacy" in provenance["promise"]


def test_what_a_table_cannot_be_written_as_is_refused(table_path: Path, tmp_path: Path) -> None:
    assert "csv or xlsx" in refused("export", str(table_path), str(tmp_path / "x"), "--to", "kml")
    said = refused("export", str(table_path), str(tmp_path / "x"), "--to", "csv", "--layer", "county")
    assert "do not apply to a table" in said
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match="there are 2 tables"):
        table_csv(PublishedTable.open(table_path), 2)
