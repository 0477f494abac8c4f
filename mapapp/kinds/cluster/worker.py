"""What a Dask worker does for a run: the tasks as the run does them itself, with rows left on the shared path.

A task gets and returns public facts only, and never raises, since Dask logs errors and keeps them with their arguments.
Rows go into files that only their owner reads. The key comes straight from the run by `take_key`, outside any task, and
stays in this process's memory: attached to the worker, dropped when the run ends or has not been heard of for a while.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np
import pyarrow
import pyarrow.parquet

import engine
import geodata
import mapapp
from engine.errors import EngineError
from engine.placement.points import CellTriangles
from engine.streams import SecretKey
from geodata.errors import GeodataError
from geodata.store.private_files import write_private
from geodata.store.store import store_digest
from mapapp.base.errors import UsageError
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.base.certificate import software_versions
from mapapp.kinds.base.inputs import synthesizers_of
from mapapp.kinds.cluster.dask_types import Addressed
from mapapp.kinds.records.make.drawing import RecordSource
from mapapp.kinds.records.make.tasks import RecordWork
from mapapp.kinds.release.make.batch import (
    Columns,
    DrawnBatch,
    PreparedBatch,
    SynthesisSource,
    draw_batch,
    jobs_of,
    points_of,
    prepare_batch,
)
from mapapp.kinds.release.make.promise import CertifiedBatch
from mapapp.kinds.release.make.support import Support

LEASE_S: Final = 120.0
"""A worker that hears nothing of a run for this long drops it with its key: the program that started it was killed."""

SOURCE: Final = "source.pickle"
USED: Final = "used.parquet"

Source: TypeAlias = SynthesisSource | RecordSource
"""What all tasks of a run are made from."""

_RUNS: Final = "commutemap_runs"
_OVER: Final = "commutemap_runs_over"
_COMPARED: Final = ("pandas", "pyarrow", "shapely")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A run, as it is described to workers: the scheduler sees this, and nothing here is confidential.

    Attributes
    ----------
    run : str
        A name that no other run has.
    dataset : Path
        On the shared path.
    manifest_sha256, source_sha256 : str
        Of the dataset's manifest, and of what the run read from it for all its workers.
    parts : Path
        Where workers leave rows, on the shared path.
    versions : mapping of str to str
        What :func:`program_versions` must say here too.
    """

    run: str
    dataset: Path
    manifest_sha256: str
    source_sha256: str
    parts: Path
    versions: Mapping[str, str]

    def mark_of(self, worker: str) -> Path:
        """What the worker of that address leaves to show that it sees this directory."""
        return self.parts / f"seen-{hashlib.sha256(worker.encode()).hexdigest()[:16]}"

    # A task of an earlier run that was killed may still be at work, with another key and for another promise, and the
    # directory may have the same name: so parts have the name of their run.

    def jobs_part(self, batch: int) -> Path:
        """The synthetic jobs of a batch."""
        return self.rows_part("jobs", batch)

    def points_part(self, batch: int) -> Path:
        """The points of a batch."""
        return self.rows_part("points", batch)

    def rows_part(self, table: str, number: int) -> Path:
        """Rows of a table that the run collects."""
        return self.parts / f"{self.run}-{table}-{number:06}.parquet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a task comes back with.

    Attributes
    ----------
    worker : str
        Its address.
    value : object
        The result, if there is one.
    refusal : str
        What is wrong, where a person can mend it.
    bug : str
        Type of an unforeseen error; its text could carry a confidential value.
    needs_key : bool
        The worker has not been given the key, or has dropped it.
    """

    worker: str
    value: object = None
    refusal: str = ""
    bug: str = ""
    needs_key: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Certified:
    """What is certified about a batch, and a digest of the support points that it holds for."""

    batch: CertifiedBatch
    fingerprint: str


class KeyNeeded(Exception):
    """This worker has no key."""


@dataclass(slots=True)
class Run:
    """What a worker holds of one run."""

    key: SecretKey | None = None
    source: Source | None = None
    records: RecordWork | None = None
    cells: CellTriangles | None = None
    opening: threading.Lock = field(default_factory=threading.Lock)
    leasing: threading.Lock = field(default_factory=threading.Lock)
    lease: threading.Timer | None = None

    def renew(self, timer: threading.Timer | None) -> None:
        """Begin a lease, or end it."""
        with self.leasing:
            if self.lease is not None:
                self.lease.cancel()
            self.lease = timer
            if timer is not None:
                timer.daemon = True
                timer.start()


# Called by the run on a worker, outside any task.


def admit(job: Job, secret: bool, dask_worker: Addressed) -> str:
    """See whether this worker can take part; return what is wrong, or nothing.

    Leaves a file named after the worker among the parts, for the run to find: so both see the same directory.
    """
    try:
        _check(job)
        job.mark_of(dask_worker.address).touch(mode=0o600)
    except UsageError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename}: {error.strerror}; dataset and release must be on a path that all workers share"
    if secret and logging.getLogger("distributed.core").isEnabledFor(logging.DEBUG):
        return "its log is set to DEBUG, where Dask writes down every message, the key's too; raise the level"
    return ""


def take_key(job: Job, key: SecretKey, dask_worker: Addressed) -> None:
    """Take the key of a run: a `KeyParcel` when it left."""
    run = _run_of(dask_worker, job.run)
    run.key = key


def keep(name: str, dask_worker: Addressed) -> None:
    """Hear that a run is still alive."""
    if name in vars(dask_worker).get(_RUNS, {}):
        _run_of(dask_worker, name)


def forget(name: str, dask_worker: Addressed) -> None:
    """Drop a run that is over: its key, and what was read for it."""
    vars(dask_worker).setdefault(_OVER, set()).add(name)
    _drop(name, dask_worker)


def _drop(name: str, worker: Addressed) -> None:
    run = vars(worker).get(_RUNS, {}).pop(name, None)
    if run is not None:
        run.key = run.source = run.records = run.cells = None
        run.renew(None)


# Tasks of a release; those of records are in `record_tasks`.


def certify_part(job: Job, batch: int) -> Answer:
    """Certify the prior weights of one batch: a `Certified`."""

    def work(run: Run) -> Certified:
        prepared = prepare_batch(_source(run, job), batch)
        return Certified(batch=prepared.certified, fingerprint=_fingerprint(prepared.support))

    return answer_of(job, work)


def draw_part(job: Job, batch: int, certified: Certified) -> Answer:
    """Draw the workers of one batch and leave its jobs: number of rows."""

    def work(run: Run) -> int:
        if (key := run.key) is None:
            raise KeyNeeded
        source = _source(run, job)
        # Cheaper made again than kept or sent.
        first, last = source.workplaces.tract_ptr[batch : batch + 2]
        support = source.support(source.workplaces.tract[first:last])
        if _fingerprint(support) != certified.fingerprint:
            raise UsageError(
                "makes other support points than the worker that certified them: the machines compute differently; "
                "use workers of one kind"
            )
        drawn = draw_batch(key, source, batch, PreparedBatch(support=support, certified=certified.batch))
        return write_part(job.jobs_part(batch), jobs_of(drawn))

    return answer_of(job, work)


def place_part(job: Job, batch: int) -> Answer:
    """Draw points for the jobs of one batch and leave them: number of rows."""

    def work(run: Run) -> int:
        if (key := run.key) is None:
            raise KeyNeeded
        cells = _cells(run, job)
        jobs = read_part(job.jobs_part(batch))
        return write_part(job.points_part(batch), points_of(key, _rebuild_batch(jobs), cells))

    return answer_of(job, work)


# Parts.


def write_part(file: Path, columns: Columns) -> int:
    """Write rows where only their owner reads them, whole or not at all; return their number.

    A task that runs twice writes the same rows twice, each time beside their place, so nothing is torn.
    """
    table = pyarrow.table(columns)
    with write_private(file) as stream:
        pyarrow.parquet.write_table(
            table, stream, compression="zstd", compression_level=1, use_dictionary=False
        )
    return int(table.num_rows)


def read_part(file: Path) -> Columns:
    """Rows of a part."""
    table = pyarrow.parquet.read_table(file, use_threads=False)
    return {name: table[name].to_numpy() for name in table.column_names}


def _read_versions() -> dict[str, str]:
    versions = software_versions()
    for name in _COMPARED:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    text = hashlib.sha256()
    for package in (engine, geodata, mapapp):
        root = Path(str(package.__file__)).parent
        for file in sorted(root.rglob("*.py")):
            text.update(f"{file.relative_to(root)}\0".encode() + file.read_bytes())
    return versions | {"source text": text.hexdigest()[:12]}


_VERSIONS: Final = _read_versions()


def program_versions() -> dict[str, str]:
    """Everything that must be the same on all workers, the program's own text included.

    As it was when this process began: a worker goes on with what it has imported, whatever is installed since.
    """
    return dict(_VERSIONS)


def answer_of(job: Job, work: Callable[[Run], object]) -> Answer:
    """Do something for a run; whatever goes wrong is in the answer."""
    worker: Addressed = import_module("distributed").get_worker()
    address = str(worker.address)
    try:
        if not job.parts.is_dir():
            raise UsageError(f"{job.parts}: not there; the run is over, or this is not the shared path")
        return Answer(worker=address, value=work(_run_of(worker, job.run)))
    except KeyNeeded:
        return Answer(worker=address, needs_key=True)
    except (EngineError, GeodataError) as error:
        return Answer(worker=address, refusal=str(error))
    except UsageError as error:
        return Answer(worker=address, refusal=f"worker {address}: {error}")
    except OSError as error:
        return Answer(
            worker=address, refusal=f"worker {address}: {error.filename}: {error.strerror or error}"
        )
    except MemoryError:
        return Answer(
            worker=address,
            refusal=f"worker {address}: not enough memory; give it fewer threads or more memory",
        )
    except Exception as error:
        if os.environ.get("COMMUTEMAP_DEBUG"):
            raise
        return Answer(worker=address, bug=type(error).__name__)


def _run_of(worker: Addressed, name: str) -> Run:
    """What the worker holds of a run, with its lease begun again."""
    run: Run = vars(worker).setdefault(_RUNS, {}).setdefault(name, Run())
    run.renew(threading.Timer(LEASE_S, _drop, (name, worker)))
    # After the entry is there, so that whichever comes second, this or `forget`, removes it.
    if name in vars(worker).get(_OVER, ()):
        _drop(name, worker)
        raise UsageError("the run is over")
    return run


def _check(job: Job) -> None:
    """Refuse another program, or another dataset at the same path."""
    versions = program_versions()
    for name, wanted in job.versions.items():
        if versions[name] != wanted:
            raise UsageError(
                f"it has {name} {versions[name]}, the run has {wanted}; install the same versions on every machine, "
                "and start workers again after that"
            )
    if store_digest(job.dataset) != job.manifest_sha256:
        raise UsageError(
            f"another dataset is at {job.dataset} there; it must be on a path that all workers share"
        )


def shared_source(run: Run, job: Job) -> Source:
    """Read what all tasks of a run are made from, once."""
    with run.opening:
        if run.source is None:
            _check(job)
            content = (job.parts / SOURCE).read_bytes()
            if hashlib.sha256(content).hexdigest() != job.source_sha256:
                raise UsageError(f"{job.parts / SOURCE}: altered since it was written; run again")
            run.source = pickle.loads(content)
        assert run.source is not None
        return run.source


def _source(run: Run, job: Job) -> SynthesisSource:
    source = shared_source(run, job)
    assert isinstance(source, SynthesisSource)
    return source


def _cells(run: Run, job: Job) -> CellTriangles:
    source = _source(run, job)
    with run.opening:
        if run.cells is None:
            used = read_part(job.parts / USED)
            threads = int(import_module("distributed").get_worker().state.nthreads)
            run.cells = read_cells(source.store, used["used"].astype(np.bool_, copy=False), threads=threads)
        return run.cells


def _fingerprint(support: Support) -> str:
    """Digest of everything about a batch's support points that the draw and its certificate depend on."""
    points, table = support.coarsening, support.table
    digest = hashlib.sha256()
    for array in (
        points.support_ptr,
        points.support_level,
        points.support_unit,
        support.share,
        table.base_weight,
        table.retention,
    ):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _rebuild_batch(jobs: Columns) -> DrawnBatch:
    """The synthetic workers of a batch again, from its jobs: every synthesizer has some."""
    destination, segment, synthetic_ptr, home_block = synthesizers_of(jobs)
    return DrawnBatch(
        destination=destination.astype(np.int32),
        segment=segment.astype(np.int8),
        synthetic_ptr=synthetic_ptr,
        home_block=home_block,
    )
