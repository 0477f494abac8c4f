"""The CSV file of a sweep: one row per setting, written as soon as it is measured, and read again to go on.

Confidential: readable by its owner alone, and every row says that it is not for publication.
"""

from __future__ import annotations

import csv
import fcntl
import io
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from geodata.store.atomic_writes import name_failed_place
from geodata.store.store import refuse_within_store
from mapapp.analyst.sweep.sweep import COLUMNS, Cell, SweptRow
from mapapp.base.errors import UsageError

_STAMP: Final = {"confidential": "not for publication"}


class SweepFile:
    """Rows of a sweep on disk, by fingerprint. Rows of other sweeps stay where they are.

    Parameters
    ----------
    path : Path
        A file that such a sweep wrote, or none yet.
    columns : mapping of str to callable
        Every value of a row and how it is read from text; by default, those of a sweep of releases.

    Attributes
    ----------
    path : Path
    kept : dict of str to dict
        Values of what was measured before, by fingerprint.

    Raises
    ------
    UsageError
        There is something else at `path`, or no folder for it.
    StoreError
        It lies within a dataset or release.
    """

    def __init__(self, path: Path, columns: Mapping[str, Callable[[str], Cell]] = COLUMNS) -> None:
        self.path = path
        self._columns = columns
        self._header = (*columns, *_STAMP)
        self.kept: dict[str, dict[str, Cell]] = {}
        if not path.parent.is_dir():
            raise UsageError(f"{path.parent}: no such directory; make it first")
        refuse_within_store(path)
        if path.exists() or path.is_symlink():
            self._read()

    def _read(self) -> None:
        refusal = (
            f"{self.path}: already exists and is no sweep of this version of commutemap; name another file, or remove "
            "it first"
        )
        if not self.path.is_file():
            raise UsageError(refusal)
        try:
            text = self.path.read_bytes().decode("utf-8")
            # What a killed run left of its last row counts for nothing.
            lines = csv.reader(io.StringIO(text[: text.rfind("\n") + 1], newline=""), strict=True)
            if tuple(next(lines, ())) != self._header:
                raise UsageError(refusal)
            for cells in lines:
                values = self._values(cells)
                self.kept[str(values["fingerprint"])] = values
        except (UnicodeDecodeError, csv.Error, ValueError) as error:
            raise UsageError(refusal) from error

    def append(self, row: SweptRow) -> None:
        """Write a row that is not there yet, and see it on the disk."""
        mark = str(row.values["fingerprint"])
        if mark in self.kept:
            return
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        with name_failed_place(self.path), os.fdopen(os.open(self.path, flags, 0o600), "r+b") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)  # another sweep may write to it, too
            whole = stream.read()
            end = whole.rfind(b"\n") + 1
            stream.seek(end)
            stream.truncate()
            text = io.StringIO(newline="")
            lines = csv.writer(text, lineterminator="\n")
            if not end:
                lines.writerow(self._header)
            lines.writerow([*(_text(row.values[name]) for name in self._columns), *_STAMP.values()])
            stream.write(text.getvalue().encode())
            stream.flush()
            os.fsync(stream.fileno())
        self.kept[mark] = row.values

    def _values(self, cells: Iterable[str]) -> dict[str, Cell]:
        """A row as it was measured; ValueError where a cell cannot be read."""
        texts = dict(zip(self._header, cells, strict=True))
        return {name: read(texts[name]) if texts[name] else None for name, read in self._columns.items()}


def _text(value: Cell) -> str:
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)
