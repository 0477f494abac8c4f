"""New files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from geodata.store import partial_beside, refuse_existing, remove_stale_partials
from geodata.table_stream import sync
from mapapp.errors import UsageError


@contextmanager
def new_place(target: Path, *, folder: bool) -> Iterator[Path]:
    """Yield where to write: in a hidden folder beside `target`, which takes its name when all went well.

    What a killed run left in such a hidden folder is removed first.

    Parameters
    ----------
    target : Path
        Where there is nothing yet, in a folder that is there.
    folder : bool
        Whether it is to be a folder, which is made, or a file.

    Raises
    ------
    StoreError
        When the place is taken.
    UsageError
        When the folder around it is missing.
    """
    target = Path(os.path.abspath(target))
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: no such folder; make it first, or name another place")
    refuse_existing(target)
    remove_stale_partials(target)
    partial = partial_beside(target)
    made = partial if folder else partial / target.name
    try:
        partial.mkdir()
        yield made
        for file in sorted(partial.iterdir()):
            sync(file)
        refuse_existing(target)
        os.rename(made, target)
        sync(target.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
