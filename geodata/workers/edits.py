"""The edit report of worker records: which rows are faulty, and why. CONFIDENTIAL, all of it.

Counts are for the analyst's standard output; rows, columns, and values are in a file that only its owner reads. What
is done about a faulty row is public, and follows from rules alone.
"""

from __future__ import annotations

import csv
import io
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from geodata.store.atomic_writes import name_failed_place
from geodata.store.private_files import write_private
from geodata.workers.columns import PlaceColumn
from geodata.workers.file import Fault

EDIT_RULES: Final = "edit_rules"
"""Fact of a manifest: what was done about faulty rows, in public words."""
HOME_RULE: Final = "A row whose home is faulty or missing keeps its job; its home is unknown."
DROP_RULE: Final = "A row with any other fault was left out."
"""What is done about faulty rows, as certificates say it."""

_HEADER: Final = ("file", "row", "column", "value", "reason")


@dataclass(frozen=True, slots=True, kw_only=True)
class Editing:
    """What becomes of faulty rows of worker records.

    Attributes
    ----------
    drop_faulty : bool
        Import the others. A row whose home alone is faulty keeps its job, and its home is unknown.
    report : Path, optional
        Where faulty rows are listed, if there are any; only its owner can read it.
    """

    drop_faulty: bool = False
    report: Path | None = None

    def rules(self, home: PlaceColumn) -> list[str]:
        """What is done about faulty rows and missing homes, in public words."""
        if self.drop_faulty:
            return [HOME_RULE, DROP_RULE]
        return [HOME_RULE] if home.missing else []


class EditReport:
    """Collects faults while worker records are read.

    Parameters
    ----------
    path : Path, optional
        The file to write, where there are faults; by default none is written.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._counts: Counter[tuple[str, str]] = Counter()
        self.n_left_out = 0
        """Rows whose workplace is in a state that is not imported. They are no faults."""
        self.n_dropped = 0
        """Rows that a fault other than one of the home keeps out."""
        self._rows = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as this object); nameless, and its owner's
        self._text = io.TextIOWrapper(self._rows, encoding="utf-8", newline="", write_through=True)
        self._csv = csv.writer(self._text)
        self._csv.writerow(_HEADER)
        weakref.finalize(self, self._rows.close)

    def add(self, file: Path, faults: Sequence[Fault]) -> None:
        """Add the faults of some rows of a file."""
        for fault in faults:
            self._counts[fault.column, fault.reason] += len(fault.numbers)
            self._csv.writerows(
                (file.name, number, fault.column, value, fault.reason)
                for number, value in zip(fault.numbers, fault.values, strict=True)
            )

    @property
    def has_faults(self) -> bool:
        """Whether any cell is faulty."""
        return bool(self._counts)

    def write(self) -> None:
        """Write the file if there are faults; StoreError if it cannot be written."""
        if self._path is None or not self.has_faults:
            return
        self._text.flush()
        self._rows.seek(0)
        with name_failed_place(self._path.parent), write_private(self._path) as stream:
            shutil.copyfileobj(self._rows, stream)

    def lines(self) -> list[str]:
        """Counts by kind, for the analyst's eyes; none where nothing is faulty and nothing was left out."""
        if not self.has_faults and not self.n_left_out:
            return []
        lines = ["CONFIDENTIAL, not for publication: what is wrong with the worker records"]
        lines += [f"  {n:>11,}  {column} {reason}" for (column, reason), n in sorted(self._counts.items())]
        if self.has_faults:
            lines.append(f"  {self.n_dropped:>11,}  rows have a fault other than one of the home")
        if self.n_left_out:
            lines.append(f"  {self.n_left_out:>11,}  rows have a workplace in a state that is not imported")
        if self.has_faults and self._path is not None:
            lines.append(f"  rows and values: {self._path}, which only you can read")
        return lines

    def to_dict(self) -> dict[str, object]:
        """The same as plain values for `--json`."""
        return {
            "confidential": "not for publication",
            "faults": [
                {"column": column, "reason": reason, "cells": n}
                for (column, reason), n in sorted(self._counts.items())
            ],
            "rows_with_another_fault_than_the_home": self.n_dropped,
            "rows_with_a_workplace_in_another_state": self.n_left_out,
            "file": str(self._path) if self._path is not None and self.has_faults else None,
        }

    def where(self) -> str:
        """Where the rows are listed, as a clause for a message."""
        return "" if self._path is None else f" {self._path} lists them;"
