"""The census vintage of a published file, by its name or its columns, and the choice of files of one vintage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from geodata.errors import SourceFileError

_CENSUS = re.compile(r"^(?:cenpop)?(?P<year>2000|2010|2020)_?(?:census_tract_to|puma|mean|tract|block)", re.I)
_POLYGONS = re.compile(r"^(?:tl|cb|gz)_(?P<year>20\d\d)_", re.I)
_SUFFIX = re.compile(r"(?P<decade>00|10|20)$")


def vintage_of_table(path: Path) -> int | None:
    """Census of a relationship file or of centers of population, by the bureau's naming scheme."""
    match = _CENSUS.match(path.name)
    return int(match["year"]) if match else None


def vintage_of_polygons(path: Path, id_column: str | None) -> int | None:
    """Census of a file of polygons: the suffix of its column of identifiers, else the year in its name."""
    suffix = _SUFFIX.search(id_column or "")
    if suffix:
        return 2000 + int(suffix["decade"])
    match = _POLYGONS.match(path.name)
    return int(match["year"]) // 10 * 10 if match else None


def keep_vintage(census_of: dict[Path, int | None], vintage: int, what: str) -> list[Path]:
    """Keep the files of the crosswalk's census, and those whose census is not known.

    Parameters
    ----------
    census_of : dict of Path to int or None
        Census of each file, if known.
    vintage : int
        Census of the crosswalk's blocks.
    what : str
        What the files hold, for the message.

    Raises
    ------
    SourceFileError
        All files are of another census, whose codes name different places.
    """
    kept = sorted(path for path, year in census_of.items() if year in (None, vintage))
    if census_of and not kept:
        unfit_path = min(census_of)
        raise SourceFileError(
            f"{unfit_path}: {what} of {census_of[unfit_path]}, but the crosswalk has {vintage} blocks; "
            f"give those of {vintage}, or leave them out"
        )
    return kept


def keep_table_vintage(paths: Sequence[Path], vintage: int, what: str) -> list[Path]:
    """`keep_vintage` by `vintage_of_table`."""
    return keep_vintage({path: vintage_of_table(path) for path in paths}, vintage, what)
