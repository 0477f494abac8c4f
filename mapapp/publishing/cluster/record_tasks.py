"""What a Dask worker does for worker records: the tasks of `mapapp.publishing.records.tasks`."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from mapapp.publishing.cluster.cluster_worker import (
    Answer,
    Job,
    KeyNeeded,
    Run,
    answer_of,
    shared_source,
    write_part,
)
from mapapp.publishing.records.drawing import RecordSource
from mapapp.publishing.records.tasks import PartFiles, Range, RecordWork, collect_range

__all__ = ["collect_part", "do_task", "part_files"]


def part_files(job: Job) -> PartFiles:
    """Where the parts of a run are."""
    return PartFiles(job.parts, job.run)


def do_task(job: Job, task: Callable[[RecordWork, object], int], item: object) -> Answer:
    """Do one task of a stage: the number that it returns."""
    return answer_of(job, lambda run: task(_work(run, job), item))


def collect_part(job: Job, item: Range) -> Answer:
    """Collect the rows of a range of workplaces, and leave them: number of records."""

    def work(run: Run) -> int:
        found = collect_range(_work(run, job), item)
        for table, columns in found._asdict().items():
            write_part(job.rows_part(table, item.number), columns)
        return int(found.records["destination_index"].size)

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
