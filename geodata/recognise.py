"""Which file is what: by its header and its columns, never by its name alone."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Files to import, by role. Each may be plain or gzipped text, or a zip, GeoPackage or GeoJSON of polygons.

    Attributes
    ----------
    od : tuple of Path
        LODES OD files, main and aux.
    crosswalks : tuple of Path
        LODES geography crosswalks.
    tracts, blocks : tuple of Path
        Polygons.
    tract_puma, puma_names : tuple of Path
        Tract-to-PUMA relationship files, and the names of PUMAs.
    population : tuple of Path
        Centers of population (tract or block group), or tables of block populations.
    prior_flows : tuple of Path
        CTPP tract-to-tract flows.
    """

    od: tuple[Path, ...] = ()
    crosswalks: tuple[Path, ...] = ()
    tracts: tuple[Path, ...] = ()
    blocks: tuple[Path, ...] = ()
    tract_puma: tuple[Path, ...] = ()
    puma_names: tuple[Path, ...] = ()
    population: tuple[Path, ...] = ()
    prior_flows: tuple[Path, ...] = ()

    def roles(self) -> dict[str, tuple[Path, ...]]:
        """Role to files, in the order of the fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def sources_in(directory: Path) -> tuple[Sources, dict[Path, str]]:
    """Recognise the files of a directory and of the directories in it.

    Returns
    -------
    Sources
        What was recognised.
    dict of Path to str
        What was not, and why.

    Raises
    ------
    SourceFileError
        When the directory is not there or nothing in it was recognised.
    """
    raise NotImplementedError


def role_of(path: Path) -> str:
    """Role of one file: a field of `Sources`.

    Raises
    ------
    SourceFileError
        When it is none of the known files, or cannot be read.
    """
    raise NotImplementedError
