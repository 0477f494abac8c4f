"""Recognize the published files by their headers and columns, never by name alone."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NoReturn

from geodata.errors import SourceFileError
from geodata.sources.base_files import base_layer_of, is_gnis
from geodata.sources.boundaries import levels_of
from geodata.sources.characteristics import is_characteristics
from geodata.sources.checksums import is_checksums, is_version
from geodata.sources.crosswalk import is_crosswalk
from geodata.sources.flows import BY_NAME, is_flows, is_flows_by_name
from geodata.sources.lodes import HEADER
from geodata.sources.population import is_population
from geodata.sources.pumas import is_puma_names, is_tract_puma
from geodata.sources.reading import read_header
from geodata.sources.shape_files import SUFFIXES
from geodata.sources.sources_catalog import PLAN
from geodata.text import escape_to_utf8, is_utf8

_CENSUS_POLYGONS = re.compile(  # names of the bureau's boundary files
    r"^(tl|cb|gz)_\d{4}_(?P<level>.*(tract|tabblock|_140_|areawater|prisecroads|primaryroads|_rails))?",
    re.IGNORECASE,
)
_CENSUS_TABLE = re.compile(  # names of its tables that an import reads
    r"^([a-z]{2}_od_(main|aux)_jt\d\d_\d{4}|[a-z]{2}_xwalk|cenpop\d{4}_mean_(tr|bg)\d*"
    r"|\d{4}_census_tract_to_\d{4}_puma)(\W.*)?\.(csv|txt)(\.gz)?$",
    re.IGNORECASE,
)
_CHARACTERISTICS = re.compile(  # names of files that an import reads only if it is asked to
    r"^[a-z]{2}_(wac|rac)_s(000|[aei]0[1-3])_jt\d\d_\d{4}(\W.*)?\.csv(\.gz)?$", re.IGNORECASE
)


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
    base_map : tuple of Path
        TIGER/Line water, roads, and rails, and names from the GNIS.
    characteristics : tuple of Path
        LODES workplace and residence characteristics (WAC and RAC).
    checksums, versions : tuple of Path
        Lists of the sha256 of LODES files, and the version files of states.
    workers, worker_schema : tuple of Path
        Worker records instead of OD files, and the one schema file that says what their columns mean. They are named,
        never recognized.
    """

    od: tuple[Path, ...] = ()
    crosswalks: tuple[Path, ...] = ()
    tracts: tuple[Path, ...] = ()
    blocks: tuple[Path, ...] = ()
    tract_puma: tuple[Path, ...] = ()
    puma_names: tuple[Path, ...] = ()
    population: tuple[Path, ...] = ()
    prior_flows: tuple[Path, ...] = ()
    base_map: tuple[Path, ...] = ()
    characteristics: tuple[Path, ...] = ()
    checksums: tuple[Path, ...] = ()
    versions: tuple[Path, ...] = ()
    workers: tuple[Path, ...] = ()
    worker_schema: tuple[Path, ...] = ()

    def roles(self) -> dict[str, tuple[Path, ...]]:
        """Role to files, in the order of the fields."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def sources_in(directory: Path, *, characteristics: bool = False) -> tuple[Sources, dict[Path, str]]:
    """Recognize the files of a directory and of the directories in it; hidden ones are skipped.

    Parameters
    ----------
    directory : Path
    characteristics : bool
        Whether characteristics of places are to be read. Only then does a file stop the import that has the name
        of one but not the content.

    Returns
    -------
    Sources
        The recognized files.
    dict of Path to str
        The other files, and why each was not recognized.

    Raises
    ------
    SourceFileError
        The directory or one in it cannot be read, no file in it was recognized, or a file has a name of the bureau's
        but not the content (or a failed download would look as if the file had not been given).
    """
    if not directory.is_dir():
        raise SourceFileError(f"{directory}: no such directory; check the path given to --from")
    paths_by_role: dict[str, list[Path]] = {field.name: [] for field in fields(Sources)}
    unknown: dict[Path, str] = {}
    for path in _files_in(directory):
        try:
            for role in roles_of(path):
                paths_by_role[role].append(path)
        except SourceFileError as error:
            if _is_the_bureaus(path) or (characteristics and _CHARACTERISTICS.match(path.name)):
                raise
            unknown[path] = str(error).removeprefix(f"{path}: ")
    if not any(paths_by_role.values()):
        raise SourceFileError(
            f"{directory}: no file in it was recognized; expected LODES OD and crosswalk files, tract polygons "
            "and so on"
        )
    return Sources(**{role: tuple(paths) for role, paths in paths_by_role.items()}), unknown


def _files_in(directory: Path) -> list[Path]:
    """Files that are neither hidden nor the list that `fetch` keeps; links to directories are not followed."""

    def refuse(error: OSError) -> NoReturn:
        raise SourceFileError(
            f"{error.filename}: cannot be read ({error.strerror}); allow it, or take it out of the folder"
        ) from error

    paths = []
    for folder, folders, names in os.walk(directory, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths += [Path(folder, name) for name in names if not name.startswith(".") and name != PLAN]
    files = sorted(path for path in paths if path.is_file())
    wrong = next((path for path in files if not is_utf8(str(path))), None)
    if wrong is not None:
        raise SourceFileError(
            f"{escape_to_utf8(wrong)}: its name is not UTF-8; rename the file or its folder"
        )
    return files


def roles_of(path: Path) -> tuple[str, ...]:
    """Roles of one file: fields of `Sources`. Only a file of polygons may have two.

    Raises
    ------
    SourceFileError
        The file is not of a known kind, or cannot be read.
    """
    if path.suffix.lower() in SUFFIXES:
        if base_layer_of(path) is not None:
            return ("base_map",)
        levels = levels_of(path)
        if not levels:
            raise SourceFileError(
                f"{path}: its identifiers are neither those of tracts nor of blocks; not used"
            )
        return levels
    if is_checksums(path):
        return ("checksums",)
    if is_version(path):
        return ("versions",)
    header = read_header(path)
    role = _text_role(header)
    if role is None:
        raise SourceFileError(f"{path}: {_why_not(path, header)}")
    return (role,)


def _text_role(header: Sequence[str]) -> str | None:
    if is_characteristics(header):
        return "characteristics"
    if set(HEADER[:2]) <= {name.lower() for name in header}:
        return "od"
    if is_crosswalk(header):
        return "crosswalks"
    if is_tract_puma(header):
        return "tract_puma"
    if is_puma_names(header):
        return "puma_names"
    if is_population(header):
        return "population"
    if is_gnis(header):
        return "base_map"
    return "prior_flows" if is_flows(header) else None


def _why_not(path: Path, header: Sequence[str]) -> str:
    if path.stat().st_size == 0:
        return "the file is empty; download it again"
    if header and header[0].startswith("<"):
        return "a web page, as after a failed download; download it again"
    if is_flows_by_name(header):
        return BY_NAME
    if _CENSUS_TABLE.match(path.name) or _CHARACTERISTICS.match(path.name):
        return "not the table that its name promises; download it again, or rename it"
    return "not one of the known tables; not used"


def _is_the_bureaus(path: Path) -> bool:
    """Whether an unrecognized file has a name like one that an import reads."""
    if path.suffix.lower() not in SUFFIXES:
        return bool(_CENSUS_TABLE.match(path.name))
    named = _CENSUS_POLYGONS.match(path.name)
    if named is None or named["level"]:
        return named is not None
    try:
        levels_of(path)
    except SourceFileError:
        return True
    return False
