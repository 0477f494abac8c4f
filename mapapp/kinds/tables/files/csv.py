"""A table with suppressed cells as CSV: with every field, or as it is printed."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from mapapp.base.errors import UsageError
from mapapp.kinds.tables.files.fields import codebook, long_frame, plain_rows
from mapapp.kinds.tables.files.grid import grid_of
from mapapp.kinds.tables.files.provenance import TableProvenance
from mapapp.kinds.tables.read.published import PublishedTable
from mapapp.show.exports.spreadsheet import harmless

__all__ = ["codebook_csv", "printed_csv", "table_csv"]


def table_csv(published: PublishedTable, position: int) -> bytes:
    """One of the published tables with every field, a line for each cell, total, and remainder, as UTF-8.

    The same table gives the same bytes. Text that a spreadsheet would read as a formula gets an apostrophe in front.

    Raises
    ------
    UsageError
        If there is no table of that position.
    """
    if not 0 <= position < len(published.tables):
        raise UsageError(f"table {position}: there are {len(published.tables)} tables, counted from 0")
    provenance = TableProvenance.of(published)
    digests = (provenance.table_sha256, provenance.certificate_sha256)
    frame = long_frame(published, published.tables[position])
    lines = ([*row, *digests] for row in plain_rows(frame))
    return _csv([*frame.columns, "table_sha256", "certificate_sha256"], lines)


def printed_csv(published: PublishedTable, position: int) -> bytes:
    """The same table as it is printed: a line for each row unit, `*` for suppressed counts."""
    table = published.tables[position]
    grid = grid_of(table)
    return _csv([table.row_label, *grid.labels], ([name, *entries] for name, entries in grid.rows))


def codebook_csv(published: PublishedTable) -> bytes:
    """What every column and code means."""
    rows = ((row.table, row.column, row.code, row.meaning) for row in codebook(published))
    return _csv(["table", "column", "code", "meaning"], rows)


def _csv(head: Sequence[str], rows: Iterable[Iterable[object]]) -> bytes:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([harmless(name) for name in head])
    writer.writerows([[harmless(value) for value in row] for row in rows])
    return stream.getvalue().encode()
