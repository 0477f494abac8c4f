"""A published table on a server, and the stars and shares of its row units for the map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy
import numpy.typing as npt
import pandas

from mapapp.answers.opened_publication import OpenedPublication, free_slug
from mapapp.kinds.tables.read.published import OneTable, PublishedTable

SUFFIX = ".table"


@dataclass(frozen=True, slots=True)
class Shown:
    """The cells of one table in the shape in which a page shows them.

    A table of flows is shown for one workplace: its rows are the places where the workers live.

    Attributes
    ----------
    table : OneTable
    of : str
        Identifier of the workplace; empty for a table that is not of flows.
    row_layer : str
        The layer of the rows.
    rows, columns : dict of str to str
        Names by identifier, in the published order.
    at : int64[rows, columns]
        Position in `table.cells` of each cell; -1 where the table has none.
    """

    table: OneTable
    of: str
    row_layer: str
    rows: dict[str, str]
    columns: dict[str, str]
    at: npt.NDArray[numpy.int64]

    def column(self, name: str, column_id: str) -> npt.NDArray[numpy.float64]:
        """Return one number of every cell in a column, such as `value`; NaN where there is no cell."""
        return self.numbers(name)[:, list(self.columns).index(column_id)]

    def numbers(self, name: str) -> npt.NDArray[numpy.float64]:
        """Return one number of every cell: float64[rows, columns]; NaN where there is no cell."""
        numbers = self.table.cells[name].to_numpy(dtype=numpy.float64)[self.at]
        numbers[self.at < 0] = numpy.nan
        return numbers


class ServedTable(OpenedPublication):
    """A verified published table, opened for reading.

    Parameters
    ----------
    table : Path or PublishedTable
        Directory of the table, or the open table itself.
    slug : str
        Name of the table in addresses.
    """

    def __init__(self, table: Path | PublishedTable, slug: str) -> None:
        self.published = table if isinstance(table, PublishedTable) else PublishedTable.open(table)
        opened = self.published
        super().__init__(opened.store, opened.areas, opened.certificate, opened.version, slug)

    def shown(self, part: int, of: str = "") -> Shown:
        """Return one of the tables as a page shows it; `part` counts from 1.

        Parameters
        ----------
        part : int
        of : str
            Identifier of a workplace, for a table of flows; by default the one with the most people.
        """
        table = self.published.tables[part - 1]
        chosen = (of or largest_row(table)) if table.is_flows else ""
        return self.once(("shown", part, chosen), lambda: _show_table(table, chosen))


def largest_row(table: OneTable) -> str:
    """Return the row unit with the most people in one cell."""
    cells = table.of_kind("cell")
    return str(cells["row_id"].iloc[int(cells["people"].to_numpy().argmax())])


def _show_table(table: OneTable, of: str) -> Shown:
    cells = table.of_kind("cell")
    if table.is_flows:
        flows = cells[cells["row_id"] == of]
        rows = dict(zip(flows["column_id"], flows["column"], strict=True))
        columns = {"workers": f"Workers who live there and work in {table.rows[of]}"}
        at = flows.index.to_numpy(dtype=numpy.int64)[:, None]
        return Shown(table, of, table.home_layer, rows, columns, at)
    rows, columns = table.rows, table.column_labels
    at = numpy.full((len(rows), len(columns)), -1, dtype=numpy.int64)
    row = pandas.Index(list(rows)).get_indexer(pandas.Index(cells["row_id"]))
    column = pandas.Index(list(columns)).get_indexer(pandas.Index(cells["column_id"]))
    at[row, column] = cells.index.to_numpy()
    return Shown(table, "", table.row_layer, rows, columns, at)


def open_tables(paths: Sequence[Path], taken: Iterable[str] = ()) -> dict[str, ServedTable]:
    """Open published tables, in the given order, by name in addresses; a number is added to names that are taken."""
    others, tables = set(taken), dict[str, ServedTable]()
    for path in paths:
        slug = free_slug(path, others | set(tables), SUFFIX)
        tables[slug] = ServedTable(path, slug)
    return tables
