"""What is checked before records are charged, so that a run that is charged can hardly fail.

The files of the dataset have been compared with their digests when it was opened, and the place of the records is held
by the run. What can still fail after the charge is named in docs/records.md, "A run that fails".
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Final

from geodata.errors import StoreError
from geodata.schema import COPIED_TABLES, PUBLIC_TABLES
from geodata.store import Store
from mapapp.publishing.records.plan import Plan
from mapapp.publishing.records.workers import check_workers

__all__ = ["require_ready"]

_BYTES_OF_RECORD: Final = 40
_BYTES_OF_CODE: Final = 4
"""What a record takes on the disk at most, finished and unfinished together; and each attribute of it."""


def require_ready(dataset: Store, plan: Plan, folder: Path) -> None:
    """Refuse a dataset whose workers cannot be read, or a disk without room for the records.

    Parameters
    ----------
    dataset : Store
        Verified.
    plan : Plan
    folder : Path
        Where the records are written.

    Raises
    ------
    StoreError
        Nothing was spent.
    """
    tables = {f"{table.name}.parquet" for table in (*PUBLIC_TABLES, *COPIED_TABLES)}
    copied = sum(facts["bytes"] for name, facts in dataset.manifest["files"].items() if name in tables)
    of_record = _BYTES_OF_RECORD + _BYTES_OF_CODE * len(plan.attributes.names)
    needed, free = copied + plan.n_total * of_record, shutil.disk_usage(folder).free
    if needed > free:
        raise StoreError(
            f"{folder.parent}: {plan.n_total:,} records need up to {needed / 1e6:,.0f} MB while they are made, and "
            f"{free / 1e6:,.0f} MB are free; make room, or write elsewhere; nothing was spent"
        )
    check_workers(dataset, plan.attributes)
