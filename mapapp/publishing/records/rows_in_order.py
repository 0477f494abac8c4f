"""The three tables of worker records, read side by side: all rows of some workplaces at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pandas

from geodata.store import Store
from mapapp.publishing.certificate.rows_in_order import NotInOrder, frames_by_workplace

__all__ = ["NotInOrder", "WorkplaceRows", "rows_by_workplace"]


class WorkplaceRows(NamedTuple):
    """All rows of some workplaces: the same ones in each table."""

    records: pandas.DataFrame
    jobs: pandas.DataFrame
    points: pandas.DataFrame


def rows_by_workplace(store: Store) -> Iterator[WorkplaceRows]:
    """Yield the rows of all workplaces, some row groups' worth at a time.

    Raises
    ------
    NotInOrder
        A table is not in the order of workplaces.
    """
    for frames in frames_by_workplace(store, WorkplaceRows._fields):
        yield WorkplaceRows(*frames)
