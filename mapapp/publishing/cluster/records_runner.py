"""Worker records, drawn by a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar, cast

from engine.streams import SecretKey
from geodata.store import Store
from mapapp.base.progress import Report, silent
from mapapp.publishing.cluster import record_tasks
from mapapp.publishing.cluster.cluster_worker import read_part
from mapapp.publishing.cluster.coordinator import ClusterRun, running
from mapapp.publishing.cluster.dask_types import Client
from mapapp.publishing.records.drawing import Fitted
from mapapp.publishing.records.tasks import PartFiles, Range, RecordWork, RowsOfRange

__all__ = ["ClusterRecordRunner", "cluster_record_runner"]

_Item = TypeVar("_Item")


class ClusterRecordRunner(ClusterRun):
    """The workers of a Dask cluster, drawing the records of one run; parameters as for `ClusterRun`."""

    @property
    def files(self) -> PartFiles:
        """As in `RecordRunner`: on the shared path."""
        return record_tasks.part_files(self._job)

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
        found = self._stage(stage, record_tasks.do_task, [(task, item) for item in items])
        yield from cast(Iterator[int], found)

    def rows(self, stage: str, ranges: Sequence[Range]) -> Iterator[RowsOfRange]:
        """As in `RecordRunner`."""
        done = self._stage(stage, record_tasks.collect_part, [(each,) for each in ranges])
        for each, _ in zip(ranges, done, strict=True):
            parts = [self._job.rows_part(table, each.number) for table in RowsOfRange._fields]
            yield RowsOfRange(*(read_part(part) for part in parts))
            for part in parts:
                part.unlink()


@contextmanager
def cluster_record_runner(
    client: Client, dataset: Store, directory: Path, *, secret: bool, report: Report = silent
) -> Iterator[ClusterRecordRunner]:
    """Yield the workers of a cluster, ready; whatever happens, nothing of the run is left with them afterwards."""
    with running(ClusterRecordRunner(client, dataset, directory, secret=secret, report=report)) as runner:
        yield runner
