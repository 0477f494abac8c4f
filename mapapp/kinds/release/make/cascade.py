"""A release drawn as a cascade: labels of all batches first, then workers dealt by what all of them show.

Batches draw their labels apart from each other. Dealing needs sums of whole numbers over all of them, so it follows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.kernels.arrays import PointLists
from engine.mechanisms.cascade import (
    Cascade,
    CascadePoints,
    cascade_points,
    class_factors,
    count_kinds,
    deal_labels,
    draw_labels,
    sum_classes,
)
from engine.mechanisms.dirichlet_multinomial import Synthesizers, SyntheticPoints
from engine.mechanisms.unit import Pooled, deal_to_cells, pool_cells
from engine.streams import PublicSeed, SecretKey
from engine.support.far_states import split_far_states
from engine.support.tracts import OriginTracts
from mapapp.kinds.base.geography import Ints
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.release.make.batch import (
    Columns,
    DrawnBatch,
    PreparedBatch,
    SynthesisSource,
    ThreadRunner,
    add_rows,
    likelihood_of,
    place_workers,
    read_batch,
)
from mapapp.kinds.release.make.support import Support

Floats = npt.NDArray[np.float64]

__all__ = ["CascadeRunner", "LabeledTracts", "deal_tracts", "labels_of", "tract_factors"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabeledTracts:
    """The released labels of a batch of destination tracts, and what follows from them: public.

    Attributes
    ----------
    cascade : Cascade
    points : CascadePoints
    destination_tract : int64[T]
        Rows of `tracts`.
    """

    cascade: Cascade
    points: CascadePoints
    destination_tract: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class _LabeledBatch:
    """A batch whose labels are drawn; its homes are not read any more."""

    tracts: LabeledTracts
    cells: Synthesizers
    pooled: Pooled
    inputs: Inputs
    support: Support


def tract_factors(batches: Sequence[LabeledTracts], tracts: OriginTracts) -> Floats:
    """By how many times more workers all labels show at support points of each kind than the prior has."""
    sums = [sum_classes(batch.cascade, batch.points, count_kinds(tracts)) for batch in batches]
    return class_factors(sums)


def deal_tracts(seed: PublicSeed, batch: LabeledTracts, factors: Floats) -> SyntheticPoints:
    """Deal the workers of a batch to support points: those of its units."""
    return deal_labels(seed, batch.cascade, batch.points, factors, batch.destination_tract)


def labels_of(labels: PointLists, units: Synthesizers) -> dict[str, npt.NDArray[np.generic]]:
    """Count labels by unit and cluster, in this order: columns of the release's `labels`."""
    unit = np.repeat(np.arange(units.destination.size), np.diff(labels.ptr))
    (unit, cluster), count = np.unique(np.stack([unit, labels.point]), axis=1, return_counts=True)
    return {
        "destination_index": units.destination[unit].astype(np.int32),
        "segment": units.segment[unit].astype(np.int8),
        "cluster": cluster.astype(np.int32),
        "count": count.astype(np.int32),
    }


class CascadeRunner(ThreadRunner):
    """Threads of this process, which draw the labels of every batch, and then deal its workers."""

    def labels(self, key: SecretKey) -> Iterator[Columns]:
        """Draw the labels of every batch, before `jobs`: columns of `labels`, in the order of the batches."""
        self._labeled: list[_LabeledBatch] = []
        for labeled in self._run_in_order(
            "drawing groups of homes",
            lambda batch: _label_batch(key, self._source, batch, self._prepared.pop(batch)),
        ):
            self._labeled.append(labeled)
            yield labels_of(labeled.tracts.cascade.labels, labeled.pooled.units)

    def jobs(self, key: SecretKey) -> Iterator[Columns]:
        """Deal the workers of every batch, after `labels`: columns of `jobs`, in the order of the batches."""
        tracts = [labeled.tracts for labeled in self._labeled]
        factors = tract_factors(tracts, self._source.geography.tracts)
        yield from self._keep_drawn(
            self._run_in_order(
                "drawing synthetic workers",
                lambda batch: add_rows(_deal_batch(key, self._source, self._labeled[batch], factors)),
            )
        )


def _label_batch(
    key: SecretKey, source: SynthesisSource, batch: int, prepared: PreparedBatch
) -> _LabeledBatch:
    inputs, support = read_batch(source, batch, prepared), prepared.support
    cells = likelihood_of(source.geography, inputs, support, prepared.certified.weights)
    pooled = pool_cells(cells, source.parameters.unit, None)
    points = cascade_points(support.coarsening, support.share)
    cascade = draw_labels(key, pooled.units, points, epsilon=source.privacy.epsilon)
    return _LabeledBatch(
        tracts=LabeledTracts(cascade=cascade, points=points, destination_tract=inputs.destination_tract),
        cells=cells,
        pooled=pooled,
        inputs=inputs,
        support=support,
    )


def _deal_batch(
    key: SecretKey, source: SynthesisSource, labeled: _LabeledBatch, factors: Floats
) -> DrawnBatch:
    cells, support = labeled.cells, labeled.support
    drawn = deal_tracts(source.seed, labeled.tracts, factors)
    drawn = deal_to_cells(key, cells, labeled.pooled, drawn)
    if support.far_split is not None:
        drawn = split_far_states(key, cells, drawn, support.far_split)
    return place_workers(key, labeled.inputs, source.geography, support, cells, drawn, source.parameters)
