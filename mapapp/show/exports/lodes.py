"""Writes a release in the layout of LODES origin-destination files.

Source: LODES Technical Document 7.5, Origin-Destination files: one main and one aux file for each state of work, 13
columns, geocodes of 15 digits. Departure: a home known only by its state has the state's code and 13 zeros as its
geocode, which is not a census block; the published files have the block.
"""

from __future__ import annotations

import datetime
import gzip
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute
import pyarrow.csv

from geodata.geography.elsewhere import states
from geodata.progress import Progress, silent
from geodata.sources.lodes import COUNTS, HEADER
from geodata.store.residents_only import RESIDENTS_ONLY
from geodata.store.schema import N_SEGMENTS, segment_code
from geodata.store.shown_margins import SEGMENTS_BY
from geodata.store.store import Store, sha256_of
from geodata.store.zones import is_of_zones
from mapapp.answers.analyses.counts import band_sums
from mapapp.base.errors import UsageError
from mapapp.show.exports.provenance import Provenance

# Jobs of a release by pair of blocks, with the margins that LODES publishes, in parts.

Ints = npt.NDArray[np.int64]
_COLUMNS = ["destination_index", "origin_index", "age", "earnings", "industry", "count"]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Some pairs of blocks with jobs, each once, ordered by workplace, then home.

    Attributes
    ----------
    work, home : int64[N]
        Rows of `blocks`.
    counts : int64[N, 10]
        Columns as `geodata.sources.lodes.COUNTS`.
    """

    work: Ints
    home: Ints
    counts: Ints


def pairs_in_parts(store: Store) -> Iterator[tuple[Pairs, int, int]]:
    """Yield the pairs of a release in parts of whole workplaces, with the rows of `jobs` read so far and in total."""
    n_blocks = int(store.manifest["files"]["blocks.parquet"]["rows"])
    total, done = int(store.manifest["files"]["jobs.parquet"]["rows"]), 0
    for batch in store.batches("jobs", _COLUMNS):
        columns = {name: batch[name].to_numpy().astype(np.int64) for name in _COLUMNS}
        done += batch.num_rows
        yield _pairs(columns, n_blocks), done, total


def _pairs(jobs: dict[str, Ints], n_blocks: int) -> Pairs:
    key, row = np.unique(jobs["destination_index"] * n_blocks + jobs["origin_index"], return_inverse=True)
    segment = segment_code(jobs["age"], jobs["earnings"], jobs["industry"])
    cell = row.astype(np.int64) * N_SEGMENTS + segment
    summed = np.bincount(cell, weights=jobs["count"], minlength=key.size * N_SEGMENTS)  # exact below 2**53
    by_segment = summed.astype(np.int64).reshape(key.size, N_SEGMENTS)
    counts = np.column_stack([by_segment.sum(axis=1), band_sums(by_segment)])
    return Pairs(key // n_blocks, key % n_blocks, counts)


COLUMNS: Final = (*HEADER, "createdate")
WRITING: Final = "writing OD files"
_DIGITS: Final = 15
_STATE: Final = 10**13  # a block's number divided by this is its state's code
_MADE_UP: Final = "x"  # first letter of the files of a state that the census does not list
_LEVEL: Final = 6  # gzip compression level


@dataclass(frozen=True, slots=True, kw_only=True)
class LodesFiles:
    """The written files.

    Attributes
    ----------
    jobs : dict of str to int
        Jobs in each OD file, by file name.
    elsewhere : dict of str to int
        Jobs whose home is known only by state, by state code.
    """

    jobs: Mapping[str, int] = field(default_factory=dict)
    elsewhere: Mapping[str, int] = field(default_factory=dict)

    def notes(self) -> list[str]:
        """What readers of the files must know, one sentence per note."""
        notes = []
        n = sum(self.elsewhere.values())
        if n:
            notes.append(
                f"{n:,} jobs have homes in {_several(len(self.elsewhere), 'state')} outside the mapped area: their "
                f"h_geocode is the state's code and 13 zeros, such as {next(iter(self.elsewhere))}{'0' * 13}, which is "
                "not a census block"
            )
        missing = _aux_names(self.jobs) - set(self.jobs)
        notes += [f"{name} was not written: it would have no rows" for name in sorted(missing)]
        notes += [f"{name} has a header and no rows" for name, n_jobs in self.jobs.items() if not n_jobs]
        return notes


def write_lodes(
    store: Store, folder: Path, *, date: datetime.date | None = None, report: Progress = silent
) -> LodesFiles:
    """Write the OD files of a release, and a list of their SHA-256 for each state.

    The same release gives the same bytes. Rows follow the release's order of workplaces, which is the order of their
    geocodes except for blocks that the crosswalk assigns to a tract with another code.

    Parameters
    ----------
    store : Store
        A release.
    folder : Path
        An existing folder.
    date : date, optional
        Value of the column `createdate`; by default the last day of the year of the jobs.
    report : callable
        Called with (stage, done, total).

    Raises
    ------
    UsageError
        If the release is of zones of another country, does not state its year, does not show all of age, earnings, and
        industry, or its blocks have no codes of 15 digits.
    """
    if is_of_zones(store.manifest):
        raise UsageError(
            f"{store.path}: LODES files have census blocks and job types of the United States, and zones of another "
            "country have neither; export another format"
        )
    origin = Provenance.of(store)
    if not re.fullmatch(r"\d{4}", origin.year):
        raise UsageError(
            f"{store.path}: this release does not state the year of its jobs, which LODES file names need"
        )
    if SEGMENTS_BY in store.manifest:
        raise UsageError(
            f"{store.path}: this release does not show all of age, earnings, and industry, which LODES files have; "
            "export another format"
        )
    number, elsewhere = _block_numbers(store)
    stamp = f"{date or datetime.date(int(origin.year), 12, 31):%Y%m%d}"
    kind = f"{origin.job_type or 'JT00'}_{origin.year}"
    jobs: dict[str, int] = {}
    away = np.zeros(number.size, dtype=np.int64)
    with ExitStack() as files:
        streams: dict[str, gzip.GzipFile] = {}
        for pairs, done, total in pairs_in_parts(store):
            np.add.at(away, pairs.home, pairs.counts[:, 0])
            for (state, main), part in _by_file(number, pairs).items():
                name = f"{_letters(state, origin)}_od_{'main' if main else 'aux'}_{kind}.csv.gz"
                if name not in streams:
                    streams[name] = files.enter_context(_open_file(folder / name))
                streams[name].write(_rows(number, part, stamp))
                jobs[name] = jobs.get(name, 0) + int(part.counts[:, 0].sum())
            report(WRITING, done, total)
    if not store.manifest.get(RESIDENTS_ONLY):
        jobs |= _write_without_rows(folder, _aux_names(jobs) - set(jobs))
    _write_checksums(folder, sorted(jobs))
    known = {f"{number[row] // _STATE:02d}": int(away[row]) for row in np.flatnonzero(elsewhere & (away > 0))}
    return LodesFiles(jobs=dict(sorted(jobs.items())), elsewhere=dict(sorted(known.items())))


def _aux_names(jobs: Mapping[str, int]) -> set[str]:
    return {name.replace("_main_", "_aux_") for name in jobs if "_main_" in name}


def _write_without_rows(folder: Path, names: set[str]) -> dict[str, int]:
    """Write aux files that say that nobody commutes in; an import knows only those of real states by their names."""
    written = sorted(name for name in names if not name.startswith(_MADE_UP))
    for name in written:
        _open_file(folder / name).close()
    return dict.fromkeys(written, 0)


def _several(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"


def _block_numbers(store: Store) -> tuple[Ints, npt.NDArray[np.bool_]]:
    """Geocode of each block as a number, and which rows are states outside the map."""
    blocks = store.table("blocks", ["block_id", "elsewhere"])
    code, elsewhere = blocks["block_id"], blocks["elsewhere"].to_numpy(dtype=bool)
    wrong = code[~(code.str.fullmatch(r"\d{15}") | (elsewhere & code.str.fullmatch(r"\d{2}")))]
    if len(wrong):
        raise UsageError(
            f"{store.path}: block {str(wrong.iloc[0])[:30]!r} has no {_DIGITS}-digit code, which LODES needs"
        )
    return np.asarray(code.str.ljust(_DIGITS, "0").astype(np.int64), dtype=np.int64), elsewhere


def _letters(state: int, origin: Provenance) -> str:
    """Two letters for a state: its postal code, or x and another letter for a state the census does not list."""
    known = states().get(f"{state:02d}")
    if known is not None:
        return known.postal.lower()
    made_up = [code for code in origin.workplaces_in if code not in states()]
    place = made_up.index(f"{state:02d}") if f"{state:02d}" in made_up else state
    return f"{_MADE_UP}{chr(ord('a') + place % 26)}"


def _by_file(number: Ints, pairs: Pairs) -> dict[tuple[int, bool], Pairs]:
    """Pairs grouped by state of work and by whether the home is in the same state, sorted by code."""
    work, home = number[pairs.work], number[pairs.home]
    order = np.lexsort((home, work))
    state, main = (work // _STATE)[order], (work // _STATE == home // _STATE)[order]
    pairs_by_file = {}
    for code in np.unique(state):
        for kind in (True, False):
            rows = order[(state == code) & (main == kind)]
            if rows.size:
                pairs_by_file[int(code), kind] = Pairs(pairs.work[rows], pairs.home[rows], pairs.counts[rows])
    return pairs_by_file


def _rows(number: Ints, pairs: Pairs, stamp: str) -> bytes:
    codes = [
        pyarrow.compute.utf8_lpad(pyarrow.array(number[block_index]).cast(pyarrow.string()), _DIGITS, "0")
        for block_index in (pairs.work, pairs.home)
    ]
    counts = [pyarrow.array(column) for column in pairs.counts.T]
    last = pyarrow.array([stamp]).take(pyarrow.array(np.zeros(pairs.work.size, dtype=np.int64)))
    out = pyarrow.BufferOutputStream()
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    table = pyarrow.table([*codes, *counts, last], names=[*HEADER[:2], *COUNTS, "createdate"])
    pyarrow.csv.write_csv(table, out, options)
    content: bytes = out.getvalue().to_pybytes()
    return content


def _open_file(file: Path) -> gzip.GzipFile:
    stream = gzip.GzipFile(file, "wb", compresslevel=_LEVEL, mtime=0)
    stream.write((",".join(COLUMNS) + "\n").encode())
    return stream


def _write_checksums(folder: Path, names: list[str]) -> None:
    """Write one list per state in the format of `sha256sum`, as the Census Bureau does."""
    for letters in sorted({name[:2] for name in names}):
        state_files = [name for name in names if name.startswith(letters)]
        text = "".join(f"{sha256_of(folder / name)}  {name}\n" for name in state_files)
        (folder / f"lodes_{letters}.sha256sum").write_text(text, encoding="ascii")
