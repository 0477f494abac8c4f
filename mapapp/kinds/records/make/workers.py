"""Workers as codes, part by part: a dataset's, from `workers` or from `jobs` where it has none, and synthetic records.

Those of a dataset are confidential.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from engine.records.placing import commute_bands
from geodata.errors import StoreError
from geodata.progress import work_in_order
from geodata.store.schema import JOB_LABELS
from geodata.store.store import Store
from geodata.workers.persons import JOB_NUMBER
from mapapp.kinds.records.make.attributes import BAND, HOME_PUMA, WORK_PUMA, WORK_TRACT, RecordAttributes

__all__ = [
    "RECORDS",
    "WORKERS",
    "check_workers",
    "count_first_jobs",
    "count_workers",
    "has_workers",
    "read_codes",
    "workers_file",
]

Codes = npt.NDArray[np.int32]
Ints = npt.NDArray[np.int64]

WORKERS = "workers"
RECORDS = "records"
_PLACES = ("destination_index", "origin_index")
_WORKERS_AT_ONCE = 1 << 20


def has_workers(dataset: Store) -> bool:
    """Return whether a dataset has one row a worker; otherwise its workers are its jobs, without further attributes."""
    return dataset.has_table(WORKERS)


def workers_file(store: Store) -> str:
    """Return the table that holds the workers of a dataset, or the rows of worker records."""
    if store.kind == "records":
        return RECORDS
    return WORKERS if has_workers(store) else "jobs"


def count_workers(dataset: Store) -> int:
    """Return the number of a dataset's workers.

    Raises
    ------
    StoreError
        The dataset holds none.
    """
    if has_workers(dataset):
        n = int(dataset.manifest["files"][f"{WORKERS}.parquet"]["rows"])
    else:
        n = sum(int(part["count"].to_numpy().sum()) for part in dataset.batches("jobs", ["count"]))
    if not n:
        raise StoreError(f"{dataset.path}: no workers in it, so there is nothing to synthesize; import some")
    return n


def read_codes(
    store: Store,
    attributes: RecordAttributes,
    *,
    table: str | None = None,
    jobs_per_person: int | None = None,
    threads: int = 1,
) -> Iterator[Codes]:
    """Yield the workers of a dataset, or worker records, in parts: int32[n, m] each, columns in resampling order.

    The distance band of a record is the one that was drawn; that of a real worker follows from the two blocks.

    Parameters
    ----------
    store : Store
    attributes : RecordAttributes
    table : str, optional
        The table that holds them; by default that of :func:`workers_file`. `jobs` has no further attributes.
    jobs_per_person : int, optional
        Leave out the other jobs of a person, in a dataset that knows persons.
    threads : int
        Threads to use. Only a few row groups are in memory at a time.

    Raises
    ------
    StoreError
        A workplace lies outside the states that the dataset says it covers.
    """
    table = table or workers_file(store)
    placed = (WORK_PUMA, HOME_PUMA, WORK_TRACT, *([] if table == RECORDS else [BAND]))
    own = [name for name in attributes.names if name not in placed]
    columns = [*_PLACES, *own, *(["count"] if table == "jobs" else [])]
    encode = _Encoder(store, attributes)
    rows = store.batches(table, [*columns, *([] if jobs_per_person is None else [JOB_NUMBER])])
    if jobs_per_person is not None:
        rows = (_first_jobs(part, jobs_per_person) for part in rows)
    parts = (cut for part in rows if part.num_rows for cut in _cut(part))
    yield from work_in_order(lambda part: encode.codes(part, own), parts, threads)


def count_first_jobs(dataset: Store, jobs_per_person: int) -> int:
    """Return how many workers are left with at most so many jobs of a person: confidential."""
    parts = dataset.batches(WORKERS, [JOB_NUMBER])
    return sum(_first_jobs(part, jobs_per_person).num_rows for part in parts)


def _first_jobs(part: pyarrow.Table, jobs_per_person: int) -> pyarrow.Table:
    return part.filter(pyarrow.compute.less(part[JOB_NUMBER], jobs_per_person))


def check_workers(store: Store, attributes: RecordAttributes) -> None:
    """Read every value of a dataset's workers that records are made from, so that none is refused after the charge.

    Raises
    ------
    StoreError
        A value is not possible, or a workplace lies outside the states that the dataset says it covers.
    """
    table = workers_file(store)
    placed = (WORK_PUMA, HOME_PUMA, WORK_TRACT, BAND)
    own = [name for name in attributes.names if name not in placed]
    encode = _Encoder(store, attributes)
    for part in store.batches(table, [*_PLACES, *own, *(["count"] if table == "jobs" else [])]):
        encode.require_covered(part)


def _cut(part: pyarrow.Table) -> Iterator[pyarrow.Table]:
    """Cut rows that stand for very many workers into pieces of about as many as are encoded at a time."""
    if "count" not in part.column_names:
        yield part
        return
    piece = np.cumsum(part["count"].to_numpy(), dtype=np.int64) // _WORKERS_AT_ONCE
    start = np.flatnonzero(np.append(True, piece[1:] != piece[:-1])).tolist()
    for first, stop in pairwise([*start, part.num_rows]):
        yield part.slice(first, stop - first)


class _Encoder:
    """Codes of workers, from blocks and values."""

    def __init__(self, store: Store, attributes: RecordAttributes) -> None:
        self._path = store.path
        self._attributes = attributes
        geography = attributes.geography
        tracts = geography.tracts
        self._tract = geography.tract_of_block
        self._puma = tracts.puma[geography.tract_of_block]
        self._work_tract = _numbers(attributes.work_tract, tracts.n_tracts)
        self._work_puma = _numbers(attributes.work_puma, tracts.puma_members[0].size - 1)

    def codes(self, part: pyarrow.Table, own: list[str]) -> Codes:
        work, home = (part[name].to_numpy() for name in _PLACES)
        columns: dict[str, npt.NDArray[np.integer]] = {
            WORK_PUMA: self._work_puma[self._puma[work]],
            HOME_PUMA: self._puma[home],
            WORK_TRACT: self._work_tract[self._tract[work]],
        }
        if BAND not in own:
            columns[BAND] = commute_bands(self._attributes.ground, work, home)
        self._refuse_uncovered(columns[WORK_TRACT])
        columns |= {name: part[name].to_numpy() - (1 if name in JOB_LABELS else 0) for name in own}
        codes = np.stack([columns[name] for name in self._attributes.names], axis=1).astype(np.int32)
        return np.repeat(codes, part["count"].to_numpy(), axis=0) if "count" in part.column_names else codes

    def require_covered(self, part: pyarrow.Table) -> None:
        """Refuse workplaces outside the states that the dataset says it covers."""
        self._refuse_uncovered(self._work_tract[self._tract[part[_PLACES[0]].to_numpy()]])

    def _refuse_uncovered(self, work_tract: npt.NDArray[np.integer]) -> None:
        if work_tract.min(initial=0) < 0:
            raise StoreError(
                f"{self._path}: a workplace lies outside the states that its manifest says are covered; import it again"
            )


def _numbers(rows: Ints, n: int) -> npt.NDArray[np.int32]:
    """Position of each of n rows in a list of rows, -1 for the others."""
    numbers = np.full(n, -1, dtype=np.int32)
    numbers[rows] = np.arange(rows.size)
    return numbers
