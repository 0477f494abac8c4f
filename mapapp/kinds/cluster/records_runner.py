"""Worker records, drawn by a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TypeVar, cast

from engine.streams import SecretKey
from geodata.store.store import Store
from mapapp.base.progress import Report, silent
from mapapp.kinds.cluster.coordinator import ClusterRun, open_run
from mapapp.kinds.cluster.dask_types import Client
from mapapp.kinds.cluster.worker import (
    Answer,
    Job,
    KeyNeeded,
    Run,
    answer_of,
    read_part,
    shared_source,
    write_part,
)
from mapapp.kinds.records.make.drawing import Fitted, RecordSource
from mapapp.kinds.records.make.tasks import PartFiles, Range, RecordWork, RowsOfRange, collect_range

# What a Dask worker does for worker records: the tasks of `mapapp.kinds.records.make.tasks`.


def part_files(job: Job) -> PartFiles:
    """Where the parts of a run are."""
    return PartFiles(job.parts, job.run)


def do_task(job: Job, task: Callable[[RecordWork, object], int], item: object) -> Answer:
    """Do one task of a stage: the number that it returns."""
    return answer_of(job, lambda run: task(_work(run, job), item))


def collect_part(job: Job, item: Range) -> Answer:
    """Collect the rows of a range of workplaces, and leave them: number of records."""

    def work(run: Run) -> int:
        rows = collect_range(_work(run, job), item)
        for table, columns in rows._asdict().items():
            write_part(job.rows_part(table, item.number), columns)
        return int(rows.records["destination_index"].size)

    return answer_of(job, work)


def _work(run: Run, job: Job) -> RecordWork:
    """What this worker holds of the run; all of its threads share it."""
    if (key := run.key) is None:
        raise KeyNeeded
    source = shared_source(run, job)
    assert isinstance(source, RecordSource)
    with run.opening:
        if run.records is None:
            threads = int(import_module("distributed").get_worker().state.nthreads)
            run.records = RecordWork(source, key, part_files(job), threads=threads)
        return run.records


_Item = TypeVar("_Item")


class ClusterRecordRunner(ClusterRun):
    """The workers of a Dask cluster, drawing the records of one run; parameters as for `ClusterRun`."""

    @property
    def files(self) -> PartFiles:
        """As in `RecordRunner`: on the shared path."""
        return part_files(self._job)

    @property
    def threads(self) -> int:
        """As in `RecordRunner`: those of all workers."""
        return max(sum(self._client.nthreads(callback_timeout=None).values()), 1)

    def begin(self, fitted: Fitted, key: SecretKey) -> None:
        """As in `RecordRunner`. The seeds stay here: each worker that needs them reads them from the dataset."""
        self.share(fitted.source)
        self._key = key
        self._give_key(self._workers(), needed=False)  # a worker that misses it here asks for it

    def each(
        self, stage: str, task: Callable[[RecordWork, _Item], int], items: Sequence[_Item]
    ) -> Iterator[int]:
        """As in `RecordRunner`."""
        yield from cast(Iterator[int], self._stage(stage, do_task, [(task, item) for item in items]))

    def rows(self, stage: str, ranges: Sequence[Range]) -> Iterator[RowsOfRange]:
        """As in `RecordRunner`."""
        done = self._stage(stage, collect_part, [(span,) for span in ranges])
        for span, _ in zip(ranges, done, strict=True):
            parts = [self._job.rows_part(table, span.number) for table in RowsOfRange._fields]
            yield RowsOfRange(*(read_part(part) for part in parts))
            for part in parts:
                part.unlink()


@contextmanager
def cluster_record_runner(
    client: Client, dataset: Store, directory: Path, *, secret: bool, report: Report = silent
) -> Iterator[ClusterRecordRunner]:
    """Yield the workers of a cluster, ready; whatever happens, nothing of the run is left with them afterwards."""
    with open_run(ClusterRecordRunner(client, dataset, directory, secret=secret, report=report)) as runner:
        yield runner
