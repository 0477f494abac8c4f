"""The public tables of a dataset, which its publications have as well."""

from __future__ import annotations

from collections.abc import Sequence

from geodata.schema import COPIED_TABLES, PUBLIC_TABLES, Table
from geodata.store import Store, StoreWriter


def copy_public_tables(dataset: Store, writer: StoreWriter, tables: Sequence[Table] = PUBLIC_TABLES) -> None:
    """Copy some tables of a dataset, its base map, and its characteristics into a publication, byte for byte."""
    optional = [table for table in COPIED_TABLES if dataset.has_table(table.name)]
    for table in (*tables, *optional):
        writer.copy_table(dataset, table.name)
