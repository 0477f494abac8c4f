"""New files and folders that appear whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from geodata.atomic_writes import writing_beside
from geodata.store import refuse_existing
from geodata.table_stream import sync
from mapapp.errors import UsageError


@contextmanager
def new_place(target: Path, *, folder: bool) -> Iterator[Path]:
    """Yield where to write, in a hidden folder beside `target`; it is put in its place when all went well.

    Parameters
    ----------
    target : Path
        Where there is nothing yet, in a folder that is there.
    folder : bool
        Whether it is to be a folder, which is made, or a file.

    Raises
    ------
    StoreError
        When the place is taken, or cannot be written.
    UsageError
        When the folder around it is missing.
    """
    target = Path(os.path.abspath(target))
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: no such folder; make it first, or name another place")
    refuse_existing(target)
    with writing_beside(target) as partial:
        made = partial.folder if folder else partial.folder / target.name
        yield made
        for file in sorted(partial.folder.iterdir()):
            sync(file)
        partial.put_in_place(made)
