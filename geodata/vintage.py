"""Which census a published file is on, where its name or its columns tell, and keeping to one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from geodata.errors import SourceFileError

_CENSUS = re.compile(r"^(?:cenpop)?(?P<year>2000|2010|2020)_?(?:census_tract_to|puma|mean|tract|block)", re.I)
_POLYGONS = re.compile(r"^(?:tl|cb|gz)_(?P<year>20\d\d)_", re.I)
_SUFFIX = re.compile(r"(?P<decade>00|10|20)$")


def vintage_of_table(path: Path) -> int | None:
    """Census of a relationship file or of centers of population, by the bureau's way of naming them."""
    told = _CENSUS.match(path.name)
    return int(told["year"]) if told else None


def vintage_of_polygons(path: Path, id_column: str | None) -> int | None:
    """Census of a file of polygons: the suffix of its column of identifiers, else the year in its name."""
    suffix = _SUFFIX.search(id_column or "")
    if suffix:
        return 2000 + int(suffix["decade"])
    told = _POLYGONS.match(path.name)
    return int(told["year"]) // 10 * 10 if told else None


def of_vintage(told: dict[Path, int | None], vintage: int, what: str) -> list[Path]:
    """Keep the files that are on the crosswalk's census, and those that do not tell.

    Parameters
    ----------
    told : dict of Path to int or None
        The files and what they tell.
    vintage : int
        Of the crosswalk's blocks.
    what : str
        What the files hold, for the message.

    Raises
    ------
    SourceFileError
        When there are files and all are on another census: codes of one name other places on the next.
    """
    kept = sorted(path for path, year in told.items() if year in (None, vintage))
    if told and not kept:
        other = min(told)
        raise SourceFileError(
            f"{other}: {what} of {told[other]} beside a crosswalk of {vintage} blocks; give those of {vintage}, "
            "or leave them out"
        )
    return kept


def of_table_vintage(paths: Sequence[Path], vintage: int, what: str) -> list[Path]:
    """`of_vintage` by `vintage_of_table`."""
    return of_vintage({path: vintage_of_table(path) for path in paths}, vintage, what)
