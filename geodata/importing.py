"""From the files the Census Bureau publishes to the tables of a dataset."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from geodata.progress import Progress, silent
from geodata.recognise import Sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an import made, still in memory.

    Attributes
    ----------
    tables : dict of str to DataFrame or GeoDataFrame
        Every table of a dataset (`schema.TABLES["dataset"]`) by name.
    facts : dict
        For the manifest: title, year, job_type, vintage, destination_states, n_jobs, sources, layers,
        elsewhere, outflow, notes, commitment_key. Elsewhere and outflow count homes: confidential.
    """

    tables: dict[str, Any]
    facts: dict[str, Any]


def import_dataset(
    sources: Sources,
    *,
    title: str | None = None,
    commitment_key: str | None = None,
    threads: int = 2,
    progress: Progress = silent,
) -> Imported:
    """Read the files and assemble the tables of a dataset.

    Parameters
    ----------
    sources : Sources
        Files by role, from `recognise.sources_in(directory)` or named one by one.
    title : str, optional
        Else made of states and year.
    commitment_key : str, optional
        64 hexadecimal digits; else from the operating system's secure source.
    threads : int
        Threads that read and cut; the result is the same for any number.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    SourceFileError, SourceRowError, GeometryError
        One line: file, row or key, what was expected, what to do.
    """
    raise NotImplementedError


def write_dataset(path: Path, imported: Imported) -> None:
    """Write an import as a dataset: whole or not at all.

    Raises
    ------
    StoreError
        When the place is taken or cannot be written.
    """
    raise NotImplementedError
