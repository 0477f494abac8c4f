"""Copies of a release's commutes and cells on disk, in a layout that makes queries fast.

A release stores its `jobs` sorted by workplace, which suits questions about the workers of an area. Questions about
residents, and all questions about distance, would have to read and compute everything each time. So the first process
that opens a release writes two copies of its jobs, sorted by workplace and by home, with the distance and direction of
each commute, as columns that can be mapped into memory (`mapapp.answers.commutes.columns`). The cells of the blocks,
with their bounds and in small row groups, are copied once for all publications that share a geography. The copies
contain only what the release contains. They are in the user's data folder, have checksums, and are named after the
manifest of the release, or after the digest of the geography. They can be removed at any time and are then made again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.parquet
import shapely

from geodata.geography.distance import bearing_deg, distance_mi
from geodata.progress import Progress, silent
from geodata.store.atomic_writes import clear_abandoned, name_failed_place, partial_name, write_beside
from geodata.store.schema import BASE_TABLES, GEOGRAPHY, segment_code
from geodata.store.store import Store, sha256_of, store_digest
from mapapp.answers.commutes.columns import attribute_column, write_columns
from mapapp.answers.commutes.rows import Column
from mapapp.base.errors import UsageError
from mapapp.base.paths import data_home
from mapapp.question.filters import CHARACTERISTICS

# The disk space for prepared copies of releases, and their eviction.
#
# A process that uses copies holds a shared lock on the file `in-use` in their folder. Copies that no process uses are
# evicted, least recently used first, until the rest fit.

LIMIT: Final = "COMMUTEMAP_PREPARED_GB"
"""Environment variable: gigabytes (10⁹ bytes) that the copies of all releases may take together."""

_DEFAULT_GB: Final = 10.0
_IN_USE: Final = "in-use"
_COPIES: Final = re.compile(r"[0-9a-f]{32}-\d+")  # folder names given by `prepared`


class Lease:
    """Protects copies from eviction as long as it exists.

    Parameters
    ----------
    file : int
        Descriptor of the locked file; the lease closes it.
    """

    def __init__(self, file: int) -> None:
        self._close = weakref.finalize(self, os.close, file)

    def end(self) -> None:
        """Allow the copies to be evicted."""
        self._close()


def lease(place: Path) -> Lease | None:
    """Mark copies as used now and protect them from eviction; return None if they do not exist.

    Raises
    ------
    OSError
        If they cannot be locked.
    """
    file = _open_mark(place)
    if file is None:
        return None
    held = Lease(file)
    fcntl.flock(file, fcntl.LOCK_SH)
    with suppress(OSError):  # copies on a read-only disk can be used, too
        os.utime(file, ns=(time.time_ns(), time.time_ns()))  # more precise than the system's own timestamp
    return held if _is_at(file, place) else None


def limit_bytes() -> int:
    """Return the size limit for all copies together, in bytes.

    Raises
    ------
    UsageError
        If the environment variable is not a size.
    """
    text = os.environ.get(LIMIT, "")
    try:
        gigabytes = float(text) if text else _DEFAULT_GB
    except ValueError:
        gigabytes = -1.0
    if not 0 <= gigabytes < 1e9:
        raise UsageError(
            f"{LIMIT} is {text!r}; give a number of gigabytes, 0 or more, or unset it for {_DEFAULT_GB:g}"
        )
    return int(gigabytes * 1e9)


def evict(folder: Path, limit: int) -> None:
    """Remove the least recently used copies that no process uses, until the rest take at most `limit` bytes."""
    clear_abandoned(folder)
    sizes = {place: _size(place) for place in folder.iterdir() if _COPIES.fullmatch(place.name)}
    total = sum(sizes.values())
    for place in sorted(sizes, key=_used_at):
        if total <= limit:
            return
        if _is_removed(place):
            total -= sizes[place]


def _is_removed(place: Path) -> bool:
    file = _open_mark(place)
    if file is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not _is_at(file, place):
            return False
        # Rename first, so that no process opens half-removed copies.
        gone = partial_name(place)
        os.rename(place, gone)
        shutil.rmtree(gone, ignore_errors=True)
    except OSError:  # another process uses it, or we may not remove it
        return False
    finally:
        os.close(file)
    return True


def _open_mark(place: Path) -> int | None:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    with suppress(FileNotFoundError, NotADirectoryError):
        return os.open(place / _IN_USE, flags, 0o600)
    return None


def _is_at(file: int, place: Path) -> bool:
    """Return whether the copies are still where they were when the file was opened."""
    try:
        return os.path.samestat(os.fstat(file), os.lstat(place / _IN_USE))
    except FileNotFoundError:
        return False


def _used_at(place: Path) -> float:
    with suppress(OSError):
        return (place / _IN_USE).stat().st_mtime
    return 0.0


def _size(place: Path) -> int:
    total = 0
    for file in place.iterdir():
        with suppress(OSError):
            total += file.lstat().st_size
    return total


LAYOUT: Final = 6
"""Version of the files below; increase it when they change."""

N_OCTANTS: Final = 8
NO_OCTANT: Final = -1
"""Direction of a commute between two blocks at one place."""
DIRECTIONS: Final = ("N", "NE", "E", "SE", "S", "SW", "W", "NW", "")
"""Names of the octants in answers; the last is for no direction."""
_VOUCHER: Final = "prepared.json"
_JOBS: Final = ("by_work.columns", "by_home.columns")
_CELLS: Final = "cells.parquet"
_CELL_GROUP_ROWS: Final = 4_096  # a drawn border needs few cells, all close together
_CELL_SCHEMA: Final = pyarrow.schema(
    [
        ("block_index", pyarrow.int32()),
        *((name, pyarrow.float64()) for name in ("west_deg", "south_deg", "east_deg", "north_deg")),
        ("geometry", pyarrow.binary()),  # WKB
    ]
)


@dataclass(frozen=True, slots=True)
class PreparedCells:
    """The prepared cells of a publication.

    Attributes
    ----------
    cells : Path
        The rows of `cells`, in their order, with their bounds.
    lease : Lease
        Protects the copies from eviction; hold it as long as they are used.
    """

    cells: Path
    lease: Lease = field(compare=False, repr=False)

    @property
    def folder(self) -> Path:
        """Folder of the copy and of other files made once per geography."""
        return self.cells.parent


@dataclass(frozen=True, slots=True)
class Prepared:
    """The prepared copies of a release.

    Attributes
    ----------
    by_work, by_home : Path
        Files of `mapapp.answers.commutes.columns` with the same rows, sorted by workplace and by home.
    lease : Lease or None
        Protects the copies from eviction; hold it as long as they are used. None if they are not kept.
    """

    by_work: Path
    by_home: Path
    lease: Lease | None = field(default=None, compare=False, repr=False)

    @property
    def folder(self) -> Path:
        """Folder of the copies."""
        return self.by_work.parent


def prepare(store: Store, *, home: Path | None = None, report: Progress = silent) -> Prepared:
    """Return the copies of the jobs of a verified release; make them if they are missing or damaged.

    Parameters
    ----------
    store : Store
        Store of a release.
    home : Path, optional
        Folder for the copies; the user's data folder by default.
    report : callable
        Called with (stage, done, total).

    Raises
    ------
    StoreError
        If the copies cannot be written.
    UsageError
        If the size limit in the environment is not a size.
    """
    place, held = _find_copies(store, store_digest(store.path), _JOBS, home, report)
    by_work, by_home = (place / name for name in _JOBS)
    return Prepared(by_work=by_work, by_home=by_home, lease=held)


@contextmanager
def prepared_for_a_while(store: Store) -> Iterator[Prepared]:
    """Make copies of jobs that nobody else can open, and that are gone after the block: in memory where there is room.

    For jobs that may be confidential, or that are nobody's release. What was mapped before the block ends stays mapped.
    """
    with ExitStack() as kept:
        if hasattr(os, "memfd_create"):
            files = [os.memfd_create(name) for name in _JOBS]
            for file in files:
                kept.callback(os.close, file)
            by_work, by_home = (Path(f"/dev/fd/{file}") for file in files)
        else:  # not Linux
            by_work, by_home = (
                Path(kept.enter_context(tempfile.TemporaryDirectory())) / name for name in _JOBS
            )
        _write_jobs(store, by_work, by_home)
        yield Prepared(by_work=by_work, by_home=by_home)


def prepare_cells(store: Store, *, home: Path | None = None, report: Progress = silent) -> PreparedCells:
    """Return the copy of the cells of a verified publication, as :func:`prepare` does; same geography, same copy."""
    place, held = _find_copies(store, geography_digest(store), (_CELLS,), home, report)
    return PreparedCells(cells=place / _CELLS, lease=held)


def geography_digest(store: Store) -> str:
    """Return a digest of the geography of a publication: the sha256 of its tables, base map included."""
    listed = store.manifest["files"]
    tables = [table.name for table in (*GEOGRAPHY, *BASE_TABLES) if store.has_table(table.name)]
    digests = {name: listed[f"{name}.parquet"]["sha256"] for name in tables}
    return hashlib.sha256(json.dumps(digests, sort_keys=True).encode()).hexdigest()


def _find_copies(
    store: Store, version: str, names: tuple[str, ...], home: Path | None, report: Progress
) -> tuple[Path, Lease]:
    """Return the folder with some copies, which are made if any is missing or damaged, and its lease."""
    limit = limit_bytes()
    place = (home or data_home()) / "prepared" / f"{version[:32]}-{LAYOUT}"
    while (held := _lease_copies(place, version, names)) is None:
        report(f"preparing the {store.kind} for questions", 0, 0)
        _make(store, place, version, names)
    evict(place.parent, limit)
    return place, held


def octant(bearing: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Return the octants of bearings in degrees: 0 is north ± 22.5, then clockwise; `NO_OCTANT` for NaN.

    The result is int64 so that callers can combine it with other keys; only files hold it as int8.
    """
    turned = np.floor(np.nan_to_num((bearing + 22.5) % 360.0) / 45.0)
    return np.where(np.isnan(bearing), NO_OCTANT, turned % N_OCTANTS).astype(np.int64)


def _lease_copies(place: Path, version: str, names: tuple[str, ...]) -> Lease | None:
    """Return a lease of the copies; None if they are missing, damaged, or of another publication."""
    with name_failed_place(place):
        held = lease(place)
    if held is None or _holds(place, version, names):
        return held
    held.end()
    return None


def _holds(place: Path, version: str, names: tuple[str, ...]) -> bool:
    """Return whether the copies exist, are undamaged, and are of this publication."""
    try:
        voucher = json.loads((place / _VOUCHER).read_text(encoding="utf-8"))
        digests = {name: sha256_of(place / name) for name in names}
    except (OSError, ValueError, RecursionError):
        return False
    return bool(voucher == {"release": version, "layout": LAYOUT, "files": digests})


def _make(store: Store, place: Path, version: str, names: tuple[str, ...]) -> None:
    with name_failed_place(place):
        place.parent.mkdir(parents=True, exist_ok=True)
    with write_beside(place, replace=True) as partial:
        if _holds(place, version, names):  # another process was quicker
            return
        if names == _JOBS:
            _write_jobs(store, *(partial.folder / name for name in _JOBS))
        if _CELLS in names:
            _write_cells(store, partial.folder / _CELLS)
        files = {name: sha256_of(partial.folder / name) for name in names}
        voucher = {"release": version, "layout": LAYOUT, "files": files}
        (partial.folder / _VOUCHER).write_text(json.dumps(voucher), encoding="utf-8")
        partial.put_in_place()


def _write_jobs(store: Store, by_work: Path, by_home: Path) -> None:
    further = attribute_columns(store)
    n_rows = int(store.manifest["files"][f"{'records' if further else 'jobs'}.parquet"]["rows"])
    write_columns(_rows(store, further), n_rows, further, by_work, by_home)


def attribute_columns(store: Store) -> list[str]:
    """Return the columns of further attributes in the table `records`; none for a publication without it."""
    if store.kind != "records":
        return []
    known = ("destination_index", "origin_index", *CHARACTERISTICS)
    return [name for name in pyarrow.parquet.read_schema(store.file("records")).names if name not in known]


def _rows(store: Store, further: Sequence[str]) -> Iterator[dict[str, Column]]:
    """Yield the jobs of a release, or the workers of a publication of worker records, one each."""
    blocks = store.table("blocks", ["lon_deg", "lat_deg"])
    lon, lat = blocks["lon_deg"].to_numpy(), blocks["lat_deg"].to_numpy()
    for batch in store.batches("records" if further else "jobs"):
        jobs = {name: batch[name].to_numpy() for name in batch.column_names}
        work, home = jobs["destination_index"], jobs["origin_index"]
        places = lon[work], lat[work], lon[home], lat[home]
        yield {
            "work": work,
            "home": home,
            "segment": segment_code(jobs["age"], jobs["earnings"], jobs["industry"]),
            "workers": jobs["count"] if "count" in jobs else np.ones(len(work), dtype=np.int32),
            "distance_mi": np.where(work == home, 0.0, distance_mi(*places)),
            "octant_work": octant(bearing_deg(*places)),
            "octant_home": octant(bearing_deg(*places[2:], *places[:2])),
            **{attribute_column(name): jobs[name] for name in further},
        }


def _write_cells(store: Store, file: Path) -> None:
    names = [field.name for field in _CELL_SCHEMA][1:5]
    with pyarrow.parquet.ParquetWriter(file, _CELL_SCHEMA, compression="lz4", use_dictionary=False) as writer:
        for group in store.batches("cells", ["block_index", "geometry"]):
            shape = group["geometry"].cast(pyarrow.binary()).combine_chunks()
            bounds = shapely.bounds(shapely.from_wkb(shape.to_numpy(zero_copy_only=False)))
            columns = {"block_index": group["block_index"], **dict(zip(names, bounds.T, strict=True))}
            rows = pyarrow.table(columns | {"geometry": shape}, schema=_CELL_SCHEMA)
            writer.write_table(rows, row_group_size=_CELL_GROUP_ROWS)
