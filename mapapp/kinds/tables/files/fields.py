"""The columns of a table's files, what each means, and its rows with every field."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, cast

import numpy
import pandas

from mapapp.answers.publication import DIGEST_NOTE
from mapapp.answers.words import BAND_LABELS, BAND_TITLES
from mapapp.kinds.tables.read.published import Cell, OneTable, PublishedTable
from mapapp.kinds.tables.read.words import REASON_TITLES, star_reason

__all__ = ["CodebookRow", "codebook", "long_frame", "plain_rows"]

_KINDS: Final = {
    "cell": "a cell: the people of one row in one column",
    "row_total": "a row's total",
    "column_total": "a column's total",
    "grand_total": "the total of all",
    "remainder": "what is left of a row: its suppressed cells together",
}
_STATES: Final = {
    "released": "the count is printed",
    "suppressed": "the count is a star",
    "derived": "no decision of its own: the printed counts determine it",
}
_PRIOR: Final = ["prior_numerator", "prior_denominator"]


@dataclass(frozen=True, slots=True)
class CodebookRow:
    """What a column of the files means, or one of its codes.

    Attributes
    ----------
    table : str
        Title of the table that has the code; empty for all tables.
    column, code, meaning : str
        Without a code, the meaning is that of the column.
    """

    table: str
    column: str
    code: str
    meaning: str


def codebook(published: PublishedTable) -> list[CodebookRow]:
    """Every column of the files, every code, and its label."""
    columns = [CodebookRow("", name, "", meaning) for name, meaning in _meanings().items()]
    codes = [
        CodebookRow("", column, code, meaning)
        for column, meanings in (("kind", _KINDS), ("state", _STATES), ("reason", REASON_TITLES))
        for code, meaning in meanings.items()
        if code
    ]
    return [*columns, *codes, *(row for table in published.tables for row in _of_table(table))]


def _meanings() -> dict[str, str]:
    return {
        "table": "title of the table",
        "kind": "what the row of the file is",
        "row_id": "identifier of the row's unit; empty for totals of columns",
        "row": "name of the row's unit",
        "column_id": "codes of the column, joined by a dot; for flows the identifier of the home unit",
        "column": "label of the column",
        "people": "workers of the cell; public",
        "value": "workers who are counted; empty where suppressed",
        "state": "whether the count is printed",
        "reason": "why a count is suppressed; never a statement about the count",
        "why": "the same in a sentence",
        "safe_low": "least count that would have been safe to print; empty if none would",
        "safe_high": "largest count that would have been safe to print; empty if none would",
        "prior_numerator": "the prior: chance that a worker of the cell is counted, as a fraction",
        "prior_denominator": "the same fraction's denominator; empty for sums",
        "table_sha256": f"digest of the published table. {DIGEST_NOTE}",
        "certificate_sha256": "SHA-256 of its certificate",
    }


def _of_table(table: OneTable) -> list[CodebookRow]:
    title = table.title
    rows = [
        CodebookRow(title, "people", "", f"workers of the cell with jobs of this kind only: {table.jobs}")
    ]
    rows = rows * bool(table.jobs)
    rows.append(CodebookRow(title, "row_id", "", f"{table.row_label}: codes as in the census geography"))
    rows += [
        CodebookRow(title, f"column_id, part {place}", str(code), f"{BAND_TITLES[name]}: {label}")
        for place, name in enumerate(table.columns, start=1)
        for code, label in enumerate(BAND_LABELS[name], start=1)
    ]
    rows += [CodebookRow(title, "column_id", code, label) for code, label in table.column_labels.items()]
    rows += [CodebookRow(title, "row_id", code, name) for code, name in table.rows.items()]
    return rows


def long_frame(published: PublishedTable, table: OneTable) -> pandas.DataFrame:
    """One row for each cell, total and remainder in the order of decision; all fields of the codebook but the digests.

    Numbers are of pandas' nullable type `Int64`; values of suppressed cells are missing.
    """
    cells = table.cells
    never = (cells["low"] > cells["high"]).to_numpy()
    starred = (cells["value"] < 0).to_numpy()
    why = [
        star_reason(cell.reason, cell, published.promise) if cell.value < 0 else ""
        for cell in cast(list[Cell], list(cells.itertuples()))
    ]
    frame = pandas.DataFrame(
        {
            "table": table.title,
            **{name: cells[name] for name in ("kind", "row_id", "row", "column_id", "column")},
            "people": cells["people"].astype("Int64"),
            "value": _mask_missing(cells["value"], starred),
            **{name: cells[name] for name in ("state", "reason")},
            "why": why,
            "safe_low": _mask_missing(cells["low"], never),
            "safe_high": _mask_missing(cells["high"], never),
        }
    )
    return frame.merge(_prior(published, table), on=["row_id", "column_id"], how="left").pipe(_only_of_cells)


def plain_rows(frame: pandas.DataFrame) -> Iterator[tuple[str | int | None, ...]]:
    """Rows as plain texts and whole numbers; None where a value is missing."""
    for row in frame.itertuples(index=False, name=None):
        yield tuple(
            None if value is pandas.NA else value if isinstance(value, str) else int(value) for value in row
        )


def _prior(published: PublishedTable, table: OneTable) -> pandas.DataFrame:
    prior = published.store.table("table_prior")
    prior = prior[prior["table"] == table.position]
    return pandas.DataFrame(
        {
            "row_id": prior["row_id"],
            "column_id": prior["column_id"],
            "prior_numerator": prior["numerator"].astype("Int64"),
            "prior_denominator": prior["denominator"].astype("Int64"),
        }
    )


def _only_of_cells(frame: pandas.DataFrame) -> pandas.DataFrame:
    frame.loc[frame["kind"] != "cell", _PRIOR] = pandas.NA
    return frame


def _mask_missing(numbers: pandas.Series, missing: numpy.typing.NDArray[numpy.bool_]) -> pandas.Series:
    return numbers.astype("Int64").mask(missing)
