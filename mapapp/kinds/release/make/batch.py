"""One batch of destination tracts: what is certified about it, and the workers drawn for it.

Batches know nothing of each other: what is drawn for a synthesizer depends on the key, on its address and on public
tables only. So they may run in any order, on threads or on other machines, and make the same release.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.mechanisms.prices import LawVersion
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.placement.placement import place_blocks
from engine.placement.points import CellTriangles, count_homes, place_points, sort_homes
from engine.streams import PublicSeed, SecretKey
from geodata.progress import work_in_order
from geodata.store.store import Store
from mapapp.base.progress import Report, silent
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.base.geography import (
    DEFAULT_BATCHES,
    Geography,
    Ints,
    Workplaces,
    read_geography,
    read_workplaces,
)
from mapapp.kinds.base.inputs import (
    Inputs,
    RowCounts,
    WorkplaceCounts,
    listed_counts,
    read_counts,
    read_homes,
    read_inputs,
)
from mapapp.kinds.release.certificate.exponential import find_laws
from mapapp.kinds.release.make.certified_weights import SynthesizerWeights
from mapapp.kinds.release.make.drawn_points import draw_points
from mapapp.kinds.release.make.prior import FittedDecays, PublicPrior, public_prior
from mapapp.kinds.release.make.promise import CertifiedBatch, certify_batch
from mapapp.kinds.release.make.support import Support, build_support


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesisSource:
    """What all batches of a dataset, or of a release under check, are made from.

    Attributes
    ----------
    store : Store
    geography : Geography
    workplaces : Workplaces
    prior : PublicPrior
    seed : PublicSeed
        Of domain editing.
    privacy, parameters
        What the release is made of.
    laws : {"unpriced", "priced to 20", "by number"}
        Which laws tables of the exponential mechanism are drawn with; a release under check may have earlier ones.
    """

    store: Store
    geography: Geography
    workplaces: Workplaces
    prior: PublicPrior
    seed: PublicSeed
    privacy: PrivacyParameters
    parameters: SynthesisParameters
    laws: LawVersion = "by number"

    def inputs(self, batch: int) -> Inputs:
        """Read the workers of one batch."""
        return read_inputs(self.store, self.geography, self.workplaces, batch)

    def counts(self, batch: int) -> WorkplaceCounts:
        """Read the public part of one batch."""
        return read_counts(self.store, self.geography, self.workplaces, batch)

    def support(self, destination_tract: Ints) -> Support:
        """Make the support points of some destination tracts."""
        return build_support(
            self.seed,
            self.geography.tracts,
            destination_tract,
            self.prior,
            self.privacy,
            self.parameters,
            weighted=self.parameters.mechanism != "exponential",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedBatch:
    """Support points of a batch and the prior weights certified for them: public.

    Attributes
    ----------
    support : Support
    certified : CertifiedBatch
    counts : RowCounts or None
        Synthesizers as they were read; without them they are as listed, or read again with the homes.
    """

    support: Support
    certified: CertifiedBatch
    counts: RowCounts | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnBatch:
    """Synthetic workers of a batch.

    Attributes
    ----------
    destination : int32[S]
        Row of `blocks` of each synthesizer's workplace.
    segment : int8[S]
    synthetic_ptr : int64[S + 1]
        Each synthesizer's workers.
    home_block : int32[workers]
        Row of `blocks`, rising within each synthesizer.
    """

    destination: npt.NDArray[np.int32]
    segment: npt.NDArray[np.int8]
    synthetic_ptr: Ints
    home_block: npt.NDArray[np.int32]


def open_source(
    store: Store,
    seed: PublicSeed,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    n_batches: int = DEFAULT_BATCHES,
    listed: bool = False,
    threads: int = 1,
) -> SynthesisSource:
    """Read what all batches share, and fit the public prior; options as in `read_workplaces`."""
    geography = read_geography(store)
    workplaces = read_workplaces(store, geography, n_batches=n_batches, listed=listed, threads=threads)
    return source_of(store, geography, workplaces, seed, privacy, parameters, threads=threads)


def source_of(
    store: Store,
    geography: Geography,
    workplaces: Workplaces,
    seed: PublicSeed,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    fitted: FittedDecays | None = None,
    threads: int = 1,
) -> SynthesisSource:
    """What all batches share where geography and workplaces have been read; options as in `public_prior`."""
    return SynthesisSource(
        store=store,
        geography=geography,
        workplaces=workplaces,
        prior=public_prior(geography, workplaces, parameters, fitted=fitted, threads=threads),
        seed=seed,
        privacy=privacy,
        parameters=parameters,
    )


def prepare_batch(source: SynthesisSource, batch: int) -> PreparedBatch:
    """Make the support points of one batch, and certify its prior weights.

    Raises
    ------
    EngineError
        When a condition of the promise does not hold.
    """
    counts = source.counts(batch)
    support = source.support(counts.destination_tract)
    return PreparedBatch(
        support=support,
        certified=certify_batch(counts, support, source.privacy, source.parameters, laws=source.laws),
        counts=None if source.workplaces.synthesizers is not None else RowCounts.of(counts),
    )


def draw_batch(key: SecretKey, source: SynthesisSource, batch: int, prepared: PreparedBatch) -> DrawnBatch:
    """Draw the synthetic workers of one batch: support points, then home blocks."""
    return draw_workers(
        key,
        read_batch(source, batch, prepared),
        source.geography,
        prepared.support,
        prepared.certified.weights,
        source.privacy,
        source.parameters,
    )


def read_batch(source: SynthesisSource, batch: int, prepared: PreparedBatch) -> Inputs:
    """Read the workers of one batch, whose synthesizers may be known."""
    inputs, counts = None, prepared.counts or listed_counts(source.geography, source.workplaces, batch)
    if counts is not None:
        inputs = read_homes(source.store, source.workplaces, batch, counts)
    return source.inputs(batch) if inputs is None else inputs


def draw_workers(
    key: SecretKey,
    inputs: Inputs,
    geography: Geography,
    support: Support,
    weights: SynthesizerWeights,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
) -> DrawnBatch:
    """Draw synthetic workers in place of `inputs`: support points, then home blocks."""
    synthesizers = likelihood_of(geography, inputs, support, weights)
    drawn = draw_points(
        key,
        synthesizers,
        support,
        privacy,
        parameters,
        destination_tract=inputs.destination_tract,
    )
    return place_workers(key, inputs, geography, support, synthesizers, drawn, parameters)


def place_workers(
    key: SecretKey,
    inputs: Inputs,
    geography: Geography,
    support: Support,
    synthesizers: Synthesizers,
    drawn: SyntheticPoints,
    parameters: SynthesisParameters,
) -> DrawnBatch:
    """Draw home blocks for workers whose support points are drawn, far states apart."""
    placed = place_blocks(
        key, synthesizers, drawn, support.coarsening_of_homes, geography.blocks, mode=parameters.placement
    )
    return DrawnBatch(
        destination=inputs.destination.astype(np.int32),
        segment=inputs.segment.astype(np.int8),
        synthetic_ptr=drawn.synthetic_ptr,
        home_block=sort_homes(drawn.synthetic_ptr, placed),
    )


def jobs_of(drawn: DrawnBatch) -> dict[str, npt.NDArray[np.generic]]:
    """Count workers by destination, segment and origin, in this order: columns of the release's `jobs`."""
    homes = count_homes(drawn.synthetic_ptr, drawn.home_block)
    n_rows = np.diff(homes.row_ptr)
    segment = drawn.segment
    return {
        "destination_index": np.repeat(drawn.destination, n_rows),
        "origin_index": homes.home_block,
        "age": np.repeat(segment // 9 + np.int8(1), n_rows),
        "earnings": np.repeat(segment // 3 % 3 + np.int8(1), n_rows),
        "industry": np.repeat(segment % 3 + np.int8(1), n_rows),
        "count": homes.count,
    }


def points_of(key: SecretKey, drawn: DrawnBatch, cells: CellTriangles) -> dict[str, npt.NDArray[np.generic]]:
    """Draw a point at home and one at work for every worker: columns of the release's `points`."""
    places = place_points(key, drawn.destination, drawn.segment, drawn.synthetic_ptr, drawn.home_block, cells)
    n_workers = np.diff(drawn.synthetic_ptr)
    return {
        "destination_index": np.repeat(drawn.destination, n_workers),
        "origin_index": drawn.home_block,
        "segment": np.repeat(drawn.segment, n_workers),
        "home_lon_deg": places.home_lon_deg,
        "home_lat_deg": places.home_lat_deg,
        "work_lon_deg": places.work_lon_deg,
        "work_lat_deg": places.work_lat_deg,
    }


def likelihood_of(
    geography: Geography, inputs: Inputs, support: Support, weights: SynthesizerWeights
) -> Synthesizers:
    """Every worker's support point. Under `drop` editing some workers have no point, and leave the likelihood."""
    n = inputs.count
    point, n_edited_out = support.coarsening.find_homes(
        inputs.tract, inputs.worker_ptr, inputs.worker_origin, geography.tract_of_block
    )
    if n_edited_out and np.any(point < 0):
        kept = point >= 0
        n = np.bincount(np.repeat(np.arange(n.size), n)[kept], minlength=n.size)
        point = point[kept]
    return Synthesizers(
        tract=inputs.tract,
        destination=inputs.destination,
        segment=inputs.segment,
        worker_ptr=np.concatenate(([0], np.cumsum(n))).astype(np.int64),
        worker_point=point,
        min_prior_weight=weights.min_prior_weight,
        published_count=inputs.count,
        prunes=weights.prunes,
    )


# Runners for the batches of a run: the threads of this process. `mapapp.kinds.cluster` has that of a cluster.

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
            self._prepared[number] = self._keep_for_drawing(batch)
        return certified

    def jobs(self, key: SecretKey) -> Iterator[Columns]:
        """As in `BatchRunner`."""
        draws = self._run_in_order(
            "drawing synthetic workers",
            # Gigabytes of support points are needed until their workers are drawn.
            lambda batch: add_rows(draw_batch(key, self._source, batch, self._prepared.pop(batch))),
        )
        yield from self._keep_drawn(draws)

    def _keep_drawn(self, draws: Iterator[tuple[DrawnBatch, Columns]]) -> Iterator[Columns]:
        """Yield the rows of all batches, and keep what their points need."""
        for drawn, rows in draws:
            self._drawn.append(drawn)
            yield rows

    def _keep_for_drawing(self, batch: PreparedBatch) -> PreparedBatch:
        """What drawing needs of a batch."""
        parameters = self._source.parameters
        weighted, n_points = parameters.mechanism != "exponential", batch.support.share.size
        if not weighted and self._ones.size < n_points:
            self._ones = np.ones(2 * n_points, dtype=np.int64)
        return replace(
            batch,
            support=batch.support.as_drawn(
                weighted=weighted, placed=parameters.clean or parameters.cascade, ones=self._ones
            ),
        )

    def points(self, key: SecretKey) -> Iterator[Columns]:
        """As in `BatchRunner`."""
        self._report("cutting block cells", 0, 0)
        used = np.zeros(self._source.geography.n_blocks, dtype=np.bool_)
        for drawn in self._drawn:
            used[drawn.home_block] = True
            used[drawn.destination] = True
        cells = read_cells(self._source.store, used, threads=self._threads)
        return self._run_in_order("drawing points", lambda batch: points_of(key, self._drawn[batch], cells))

    def _run_in_order(self, stage: str, work: Callable[[int], _Result]) -> Iterator[_Result]:
        return _run_in_order(
            work, range(self._source.workplaces.n_batches), self._threads, self._report, stage
        )


def add_rows(drawn: DrawnBatch) -> tuple[DrawnBatch, Columns]:
    """A batch with its rows of `jobs`, which the threads that draw make as well: the caller writes meanwhile."""
    return drawn, jobs_of(drawn)


def prepare_all(source: SynthesisSource, *, threads: int, report: Report = silent) -> Iterator[PreparedBatch]:
    """Prepare and certify every batch, and find the laws that the certificate will state."""

    def prepare(batch: int) -> PreparedBatch:
        prepared = prepare_batch(source, batch)
        if source.laws == "by number":
            find_laws(source.privacy, source.parameters, prepared.certified.rows)
        return prepared

    return _run_in_order(
        prepare, range(source.workplaces.n_batches), threads, report, "certifying prior weights"
    )


def _run_in_order(
    work: Callable[[int], _Result], numbers: range, threads: int, report: Report, stage: str
) -> Iterator[_Result]:
    """Results of batches in the order of their numbers, with progress."""
    report(stage, 0, len(numbers))
    for done, result in enumerate(work_in_order(work, numbers, threads), 1):
        yield result
        report(stage, done, len(numbers))
