"""A generated country that exercises every feature, made from a seed without any download.

It has a long island of four states, with a bay and a river between two of them and a twin city at the head of the
bay; a fifth state on an island more than 500 miles away; and states overseas that are known only by name. Population
thins out from the centres, jobs crowd into centres and strips, and commutes follow gravity with a long tail.
"""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pandas

from geodata.demo.country import make_country
from geodata.demo.sizes import Size
from geodata.errors import GeodataError
from geodata.json_objects import JsonObject
from geodata.progress import Progress, silent
from geodata.store.schema import OPTIONAL_TABLES, TABLES
from geodata.store.store import refuse_existing, write_store

__all__ = ["SIZES", "Size", "generate", "write_demo"]

SIZES = get_args(Size)
"""What `write_demo` can make."""


def generate(
    size: str, seed: int, progress: Progress = silent
) -> tuple[dict[str, pandas.DataFrame], JsonObject]:
    """Generate a country.

    Parameters
    ----------
    size : {"small", "metro", "state"}
        "small" has about 50 tracts and 3,000 workers, "metro" about 380 and 312,000, "state" 2,400 and 5 million.
    seed : int
        At least 0; the same seed gives the same country.
    progress : callable
        Called with (stage, done, total).

    Returns
    -------
    tables : dict of str to DataFrame or GeoDataFrame
        Every table of a dataset, `schema.TABLES["dataset"]`, by name, the base map, and `workers`.
    facts : dict
        For the manifest.

    Raises
    ------
    GeodataError
        The size is unknown, or the seed is negative.
    """
    if size not in SIZES:
        raise GeodataError(f"size {size!r}: no such demo; choose {' or '.join(SIZES)}")
    if seed < 0:
        raise GeodataError(f"seed {seed}: must be 0 or more; choose another")
    return make_country(size, seed, progress)  # type: ignore[arg-type]  # checked above


def write_demo(path: Path, *, size: str = "metro", seed: int = 1, progress: Progress = silent) -> JsonObject:
    """Generate a country and write it as a dataset, byte for byte the same for the same size and seed.

    Parameters
    ----------
    path : Path
        Where there is nothing yet.
    size, seed
        As for `generate`.
    progress : callable
        Called with (stage, done, total).

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
    with write_store(path, "dataset") as writer:
        writer.facts(**facts)
        kinds = (*TABLES["dataset"], *OPTIONAL_TABLES["dataset"])
        for name in (table.name for table in kinds if table.name in tables):
            writer.table(name, tables[name])
    return facts
