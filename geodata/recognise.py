"""Which file is what: by its header and its columns, never by its name alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from geodata.boundaries import SUFFIXES, level_of
from geodata.crosswalk import FIRST_COLUMN
from geodata.errors import SourceFileError
from geodata.flows import is_flows
from geodata.lodes import HEADER
from geodata.population import is_population
from geodata.pumas import is_puma_names, is_tract_puma
from geodata.reading import read_header

_CENSUS_POLYGONS = ("tl_", "cb_", "gz_")  # how the bureau's boundary files are named


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
    """Recognise the files of a directory and of the directories in it; hidden ones are passed over.

    Returns
    -------
    Sources
        What was recognised.
    dict of Path to str
        What was not, and why.

    Raises
    ------
    SourceFileError
        When the directory is not there, nothing in it was recognised, or a file that is named like one of
        the bureau's boundary files cannot be read.
    """
    if not directory.is_dir():
        raise SourceFileError(f"{directory}: no such directory; check the path given to --from")
    found: dict[str, list[Path]] = {field.name: [] for field in fields(Sources)}
    unknown: dict[Path, str] = {}
    for path in sorted(directory.rglob("*")):
        inside = path.relative_to(directory).parts
        if not path.is_file() or any(part.startswith(".") for part in inside):
            continue
        try:
            found[role_of(path)].append(path)
        except SourceFileError as error:
            if (
                path.name.startswith(_CENSUS_POLYGONS)
                and path.suffix.lower() in SUFFIXES
                and not _is_other_level(path)
            ):
                raise
            unknown[path] = str(error).removeprefix(f"{path}: ")
    if not any(found.values()):
        raise SourceFileError(
            f"{directory}: no file in it was recognised; expected LODES OD and crosswalk files, tract polygons "
            "and the like"
        )
    return Sources(**{role: tuple(paths) for role, paths in found.items()}), unknown


def role_of(path: Path) -> str:
    """Role of one file: a field of `Sources`.

    Raises
    ------
    SourceFileError
        When it is none of the known files, or cannot be read.
    """
    if path.suffix.lower() in SUFFIXES:
        level = level_of(path)
        if level is None:
            raise SourceFileError(f"{path}: holds neither tracts nor blocks; not used")
        return level
    role = _text_role(read_header(path))
    if role is None:
        raise SourceFileError(f"{path}: not one of the known tables; not used")
    return role


def _text_role(header: Sequence[str]) -> str | None:
    names = set(header)
    if set(HEADER[:2]) <= names:
        return "od"
    if header and FIRST_COLUMN.match(header[0]):
        return "crosswalks"
    if is_tract_puma(header):
        return "tract_puma"
    if is_puma_names(header):
        return "puma_names"
    if is_population(header):
        return "population"
    return "prior_flows" if is_flows(header) else None


def _is_other_level(path: Path) -> bool:
    try:
        return level_of(path) is None
    except SourceFileError:
        return False
