"""New files and folders that appear complete or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

from geodata.store.atomic_writes import write_beside
from geodata.store.store import refuse_existing
from geodata.store.table_stream import sync
from mapapp.base.errors import UsageError


@contextmanager
def new_place(target: Path, *, folder: bool) -> Iterator[Path]:
    """Yield a path in a hidden folder beside `target`; on success, move the result to `target`.

    Parameters
    ----------
    target : Path
        A path that does not exist yet, in an existing folder.
    folder : bool
        Whether to make a folder; otherwise a file.

    Raises
    ------
    StoreError
        If the target exists or cannot be written.
    UsageError
        If the parent folder is missing.
    """
    target = Path(os.path.abspath(target))
    if not target.parent.is_dir():
        raise UsageError(f"{target.parent}: no such folder; create it first, or choose another")
    refuse_existing(target)
    with write_beside(target) as partial:
        made = partial.folder if folder else partial.folder / target.name
        yield made
        for file in sorted(partial.folder.iterdir()):
            sync(file)
        partial.put_in_place(made)


# Output files that are written completely or not at all.

Stream: TypeAlias = IO[Any]
"""A stream of text, or of bytes if it was opened as binary."""


@contextmanager
def whole_file(output: Path | None, *, binary: bool) -> Iterator[Stream]:
    """Yield a stream to write to: standard output, or a file that appears only when it is complete."""
    if output is None:
        yield sys.stdout
        return

    with (
        new_place(output, folder=False) as place,
        place.open("wb") if binary else place.open("w", encoding="utf-8", newline="") as stream,
    ):
        yield stream
