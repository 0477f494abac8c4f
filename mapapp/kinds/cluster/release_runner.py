"""The batches of a release, worked on by a Dask cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import numpy as np

from engine.streams import SecretKey
from mapapp.base.progress import Report, silent
from mapapp.kinds.cluster import worker
from mapapp.kinds.cluster.coordinator import ClusterRun, open_run
from mapapp.kinds.cluster.dask_types import Client
from mapapp.kinds.cluster.worker import USED, Certified, read_part, write_part
from mapapp.kinds.release.make.batch import Columns, SynthesisSource
from mapapp.kinds.release.make.promise import CertifiedBatch

__all__ = ["ClusterRunner", "cluster_runner"]


class ClusterRunner(ClusterRun):
    """The workers of a Dask cluster, working on the batches of one release.

    Parameters
    ----------
    client, directory, secret, report
        As for `ClusterRun`.
    source : SynthesisSource
        The workers read the same one.
    """

    def __init__(
        self,
        client: Client,
        source: SynthesisSource,
        directory: Path,
        *,
        secret: bool,
        report: Report = silent,
    ) -> None:
        super().__init__(client, source.store, directory, secret=secret, report=report)
        self._n_blocks = source.geography.n_blocks
        self._batches = [(batch,) for batch in range(source.workplaces.n_batches)]
        self._certified: list[Certified] = []
        self.share(source)

    def certify(self) -> list[CertifiedBatch]:
        """Prepare and certify every batch."""
        batches = self._stage("certifying prior weights", worker.certify_part, self._batches)
        self._certified = list(cast(Iterator[Certified], batches))
        return [certified.batch for certified in self._certified]

    def jobs(self, key: SecretKey) -> Iterator[Columns]:
        """Draw every batch: columns of `jobs`, in the order of the batches."""
        self._key = key
        self._give_key(self._workers(), needed=False)  # a worker that misses it here asks for it
        used = np.zeros(self._n_blocks, dtype=np.bool_)
        done = self._stage(
            "drawing synthetic workers",
            worker.draw_part,
            # The rest of it is for the certificate, and under the paper accountant large.
            [(batch, _drop_rows(certified)) for batch, certified in enumerate(self._certified)],
        )
        for batch, _ in enumerate(done):
            rows = read_part(self._job.jobs_part(batch))
            used[rows["origin_index"]] = True
            used[rows["destination_index"]] = True
            yield rows
        write_part(self._job.parts / USED, {"used": used})

    def points(self, key: SecretKey) -> Iterator[Columns]:
        """Draw the points of every batch, after `jobs`: columns of `points`, in the order of the batches."""
        self._key = key
        done = self._stage("drawing points", worker.place_part, self._batches)
        for batch, _ in enumerate(done):
            file = self._job.points_part(batch)
            rows = read_part(file)
            file.unlink()
            yield rows


@contextmanager
def cluster_runner(
    client: Client, source: SynthesisSource, directory: Path, *, secret: bool, report: Report = silent
) -> Iterator[ClusterRunner]:
    """Yield the workers of a cluster, ready; whatever happens, nothing of the run is left with them afterwards."""
    with open_run(ClusterRunner(client, source, directory, secret=secret, report=report)) as runner:
        yield runner


def _drop_rows(certified: Certified) -> Certified:
    return replace(certified, batch=replace(certified.batch, rows=[], tails=None))
