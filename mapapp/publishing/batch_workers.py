"""Runners for the batches of a run: the threads of this process. `mapapp.publishing.cluster` has that of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from engine.streams import SecretKey
from geodata.in_order import work_in_order
from mapapp.base.progress import Report, silent
from mapapp.publishing.batch import (
    DrawnBatch,
    PreparedBatch,
    SynthesisSource,
    draw_batch,
    jobs_of,
    points_of,
    prepare_batch,
)
from mapapp.publishing.block_cells import read_cells
from mapapp.publishing.certificate.exponential import find_laws
from mapapp.publishing.promise import CertifiedBatch

Columns = dict[str, npt.NDArray[np.generic]]

_Result = TypeVar("_Result")


class BatchRunner(Protocol):
    """Works on every batch, in three stages one after the other; the rows are the same for every runner."""

    def certify(self) -> list[CertifiedBatch]:
        """Prepare and certify every batch."""
        ...

    def jobs(self, key: SecretKey) -> Iterator[Columns]:
        """Draw every batch: columns of `jobs`, in the order of the batches."""
        ...

    def points(self, key: SecretKey) -> Iterator[Columns]:
        """Draw the points of every batch, after `jobs`: columns of `points`, in the order of the batches."""
        ...


class ThreadRunner:
    """Threads of this process, each working on one batch.

    Parameters
    ----------
    source : SynthesisSource
    threads : int
    report : callable
        Progress.
    """

    def __init__(self, source: SynthesisSource, *, threads: int, report: Report = silent) -> None:
        self._source = source
        self._threads = threads
        self._report = report
        self._prepared: dict[int, PreparedBatch] = {}
        self._drawn: list[DrawnBatch] = []
        self._ones: npt.NDArray[np.int64] = np.ones(0, dtype=np.int64)

    def certify(self) -> list[CertifiedBatch]:
        """As in `BatchRunner`."""
        certified = []
        for number, batch in enumerate(prepare_all(self._source, threads=self._threads, report=self._report)):
            certified.append(batch.certified)
            self._prepared[number] = self._kept(batch)
        return certified

    def jobs(self, key: SecretKey) -> Iterator[Columns]:
        """As in `BatchRunner`."""
        draws = self._in_order(
            "drawing synthetic workers",
            # Gigabytes of support points are needed until their workers are drawn.
            lambda batch: _with_rows(draw_batch(key, self._source, batch, self._prepared.pop(batch))),
        )
        for drawn, rows in draws:
            self._drawn.append(drawn)
            yield rows

    def _kept(self, batch: PreparedBatch) -> PreparedBatch:
        """What drawing needs of a batch."""
        parameters = self._source.parameters
        weighted, n_points = parameters.mechanism != "exponential", batch.support.share.size
        if not weighted and self._ones.size < n_points:
            self._ones = np.ones(2 * n_points, dtype=np.int64)
        return replace(
            batch, support=batch.support.as_drawn(weighted=weighted, clean=parameters.clean, ones=self._ones)
        )

    def points(self, key: SecretKey) -> Iterator[Columns]:
        """As in `BatchRunner`."""
        self._report("cutting block cells", 0, 0)
        used = np.zeros(self._source.geography.n_blocks, dtype=np.bool_)
        for drawn in self._drawn:
            used[drawn.home_block] = True
            used[drawn.destination] = True
        cells = read_cells(self._source.store, used, threads=self._threads)
        return self._in_order("drawing points", lambda batch: points_of(key, self._drawn[batch], cells))

    def _in_order(self, stage: str, work: Callable[[int], _Result]) -> Iterator[_Result]:
        return _in_order(work, range(self._source.workplaces.n_batches), self._threads, self._report, stage)


def _with_rows(drawn: DrawnBatch) -> tuple[DrawnBatch, Columns]:
    """A batch with its rows of `jobs`, which the threads that draw make as well: the caller writes meanwhile."""
    return drawn, jobs_of(drawn)


def prepare_all(source: SynthesisSource, *, threads: int, report: Report = silent) -> Iterator[PreparedBatch]:
    """Prepare and certify every batch, and find the laws that the certificate will state."""

    def prepare(batch: int) -> PreparedBatch:
        prepared = prepare_batch(source, batch)
        find_laws(source.privacy, source.parameters, prepared.certified.rows)
        return prepared

    return _in_order(prepare, range(source.workplaces.n_batches), threads, report, "certifying prior weights")


def _in_order(
    work: Callable[[int], _Result], numbers: range, threads: int, report: Report, stage: str
) -> Iterator[_Result]:
    """Results of batches in the order of their numbers, with progress."""
    report(stage, 0, len(numbers))
    for done, result in enumerate(work_in_order(work, numbers, threads), 1):
        yield result
        report(stage, done, len(numbers))
