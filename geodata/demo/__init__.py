"""A generated country that exercises everything at once, made from a seed without any download.

A long island of four states, a bay and a river between two of them with a twin city at the bay's head, and a
fifth state on an island more than 500 miles away; states beyond the sea of which only the name is known. People
thin out from the centres, jobs crowd into centres and strips, and commutes follow gravity with a long tail.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from geodata.demo.country import make_country
from geodata.demo.sizes import Size
from geodata.errors import GeodataError
from geodata.progress import Progress, silent
from geodata.schema import TABLES
from geodata.store import refuse_existing, writing_store

__all__ = ["Size", "generate", "write_demo"]


def generate(size: str, seed: int, progress: Progress = silent) -> tuple[dict[str, Any], dict[str, Any]]:
    """Generate a country.

    Parameters
    ----------
    size : {"small", "metro"}
        "small" has about 50 tracts and 3,000 workers, "metro" about 380 and 312,000.
    seed : int
        At least 0; the same seed gives the same country.
    progress : callable
        Called with (stage, done, total).

    Returns
    -------
    tables : dict of str to DataFrame or GeoDataFrame
        Every table of a dataset, `schema.TABLES["dataset"]`, by name.
    facts : dict
        For the manifest.

    Raises
    ------
    GeodataError
        When there is no such size, or the seed is negative.
    """
    if size not in get_args(Size):
        raise GeodataError(f"size {size!r}: there is no such demo yet; choose small or metro")
    if seed < 0:
        raise GeodataError(f"seed {seed}: must be 0 or more; choose another")
    return make_country(size, seed, progress)  # type: ignore[arg-type]


def write_demo(
    path: Path, *, size: str = "metro", seed: int = 1, progress: Progress = silent
) -> dict[str, Any]:
    """Generate a country and write it as a dataset, byte for byte the same for the same size and seed.

    Returns
    -------
    dict
        The facts of its manifest.

    Raises
    ------
    GeodataError
        As `generate`.
    StoreError
        When the place is taken or cannot be written.
    """
    refuse_existing(path)
    tables, facts = generate(size, seed, progress)
    with writing_store(path, "dataset") as writer:
        for table in TABLES["dataset"]:
            writer.table(table.name, tables[table.name])
        writer.facts(**facts)
    return facts
