"""A generated country of any size as the files that an import reads, in the form of the Census Bureau's.

A crosswalk, PUMAs and their names, populations of blocks, and origin-destination files of each state. Rows are written
as they are read, so a nation's files need no more memory than a row group of its dataset. Homes outside the country
are written as homes in a state of the United States whose code the country does not use.
"""

from __future__ import annotations

import gzip
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow
import pyarrow.csv

from geodata.geography.elsewhere import states
from geodata.sources.lodes import COUNTS, HEADER
from geodata.store.store import Store
from mapapp.show.exports.lodes import pairs_in_parts

_DIGITS: Final = 15
_STATE: Final = 10**13  # a block's number divided by this is its state's code
_LEVELS: Final = {"state": "st", "county": "cty", "tract": "trct"}
_TABLES: Final = {"state": "states", "county": "counties", "tract": "tracts"}


def write_census_files(dataset: Store, folder: Path) -> None:
    """Write the files of a generated dataset into a new folder."""
    folder.mkdir()
    _write_blocks(dataset, folder)
    _write_pumas(dataset, folder)
    _write_jobs(dataset, folder)


def _write_blocks(dataset: Store, folder: Path) -> None:
    """The crosswalk, and the population of every block."""
    name = {
        level: dataset.table(table, [f"{level}_id", "name"]).set_index(f"{level}_id")["name"]
        for level, table in _TABLES.items()
    }
    columns = [
        "block_id",
        *(f"{level}_id" for level in _LEVELS),
        "lat_deg",
        "lon_deg",
        "population",
        "elsewhere",
    ]
    is_first = True
    with (
        (folder / "country_xwalk.csv").open("w", encoding="utf-8", newline="") as crosswalk,
        (folder / "block_population.csv").open("w", encoding="utf-8", newline="") as people,
    ):
        for batch in dataset.batches("blocks", columns):
            here = batch.to_pandas()
            here = here[~here["elsewhere"]]
            units = {
                column: values
                for level, short in _LEVELS.items()
                for column, values in (
                    (short, here[f"{level}_id"]),
                    (f"{short}name", here[f"{level}_id"].map(name[level])),
                )
            }
            places = {"blklatdd": here["lat_deg"], "blklondd": here["lon_deg"]}
            table = pandas.DataFrame({"tabblk2020": here["block_id"], **units, **places})
            table.to_csv(crosswalk, index=False, header=is_first, lineterminator="\n")
            counts = pandas.DataFrame({"geoid20": here["block_id"], "pop20": here["population"]})
            counts.to_csv(people, index=False, header=is_first, lineterminator="\n")
            is_first = False


def _write_pumas(dataset: Store, folder: Path) -> None:
    tracts = dataset.table("tracts", ["tract_id", "puma_id", "elsewhere"])
    tracts = tracts[~tracts["elsewhere"]]
    code = tracts["tract_id"]
    pandas.DataFrame(
        {
            "STATEFP": code.str[:2],
            "COUNTYFP": code.str[2:5],
            "TRACTCE": code.str[5:],
            "PUMA5CE": tracts["puma_id"].str[2:],
        }
    ).to_csv(folder / "2020_tract_to_2020_PUMA.csv", index=False)
    pumas = dataset.table("pumas", ["puma_id", "name", "elsewhere"])
    pumas = pumas[~pumas["elsewhere"]]
    pandas.DataFrame(
        {
            "STATEFP": pumas["puma_id"].str[:2],
            "PUMA5CE": pumas["puma_id"].str[2:],
            "PUMA NAME": pumas["name"],
        }
    ).to_csv(folder / "2020_PUMA_names.csv", index=False)


def _write_jobs(dataset: Store, folder: Path) -> None:
    """One main and one aux file of each state of work."""
    number = _block_numbers(dataset)
    year = dataset.manifest["year"]
    with ExitStack() as files:
        streams: dict[tuple[int, bool], gzip.GzipFile] = {}
        for pairs, _, _ in pairs_in_parts(dataset):
            work, home = number[pairs.work], number[pairs.home]
            state, is_main = work // _STATE, work // _STATE == home // _STATE
            for code in np.unique(state).tolist():
                for main in (True, False):
                    mine = (state == code) & (is_main == main)
                    if not mine.any():
                        continue
                    if (code, main) not in streams:
                        path = folder / f"{_letters(code)}_od_{'main' if main else 'aux'}_JT00_{year}.csv.gz"
                        stream = gzip.GzipFile(path, "wb", compresslevel=1, mtime=0)
                        streams[code, main] = files.enter_context(stream)
                        stream.write((",".join(HEADER) + "\n").encode())
                    streams[code, main].write(_rows(work[mine], home[mine], pairs.counts[mine]))


def _block_numbers(dataset: Store) -> npt.NDArray[np.int64]:
    """Geocode of each block as a number."""
    code = dataset.table("blocks", ["block_id"])["block_id"]
    used = set(dataset.table("states", ["state_id"])["state_id"])
    free = max(state for state in states() if state not in used)
    return np.asarray(
        code.where(code.str.len() == _DIGITS, f"{free}0010001001000").astype(np.int64), dtype=np.int64
    )


def _letters(state: int) -> str:
    return chr(ord("a") + state // 26) + chr(ord("a") + state % 26)


def _rows(work: npt.NDArray[np.int64], home: npt.NDArray[np.int64], counts: npt.NDArray[np.int64]) -> bytes:
    codes = [
        pyarrow.compute.utf8_lpad(pyarrow.array(each).cast(pyarrow.string()), _DIGITS, "0")
        for each in (work, home)
    ]
    table = pyarrow.table(
        [*codes, *(pyarrow.array(column) for column in counts.T)], names=[*HEADER[:2], *COUNTS]
    )
    out = pyarrow.BufferOutputStream()
    pyarrow.csv.write_csv(table, out, pyarrow.csv.WriteOptions(include_header=False, quoting_style="none"))
    content: bytes = out.getvalue().to_pybytes()
    return content
