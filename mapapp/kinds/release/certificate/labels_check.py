"""Whether the homes of a release that was drawn as a cascade follow from its table of labels.

Clusters, shares, and dealt support points follow from labels, public tables, and the public seed. They are made again,
and the support points of all homes are compared with those that were dealt.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.kernels.arrays import PointLists
from engine.mechanisms.cascade import cascade_points, read_labels
from engine.mechanisms.dirichlet_multinomial import Synthesizers
from engine.mechanisms.unit import pool_cells
from geodata.store.schema import N_SEGMENTS
from geodata.store.store import Store
from mapapp.kinds.base.certificate import CertificateCheck
from mapapp.kinds.base.geography import Ints
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.release.make.batch import SynthesisSource
from mapapp.kinds.release.make.cascade import LabeledTracts, deal_tracts, tract_factors
from mapapp.kinds.release.make.support import Support

__all__ = ["LabelsCheck"]


class _Shown(NamedTuple):
    """A batch made again from its labels, and the support points of its units' homes, rising."""

    tracts: LabeledTracts
    point: npt.NDArray[np.int32]


class LabelsCheck:
    """Makes the support points of all workers again from the labels of a release.

    Parameters
    ----------
    release : Store
    source : SynthesisSource
        What the release says that it is made of.
    """

    def __init__(self, release: Store, source: SynthesisSource) -> None:
        self._source = source
        self._is_cascade = source.parameters.cascade
        self._has_labels = release.has_table("labels")
        self._fault = ""
        self._shown: list[_Shown] = []
        self._n_labels = 0
        if self._is_cascade and self._has_labels:
            labels = release.table("labels")
            unit = labels["destination_index"].to_numpy(np.int64) * N_SEGMENTS
            self._unit: Ints = unit + labels["segment"].to_numpy(np.int64)
            self._cluster = labels["cluster"].to_numpy(np.int32)
            self._count = labels["count"].to_numpy(np.int64)
            key = np.stack([self._unit, self._cluster])
            later = np.diff(key, axis=1)
            if np.any((later[0] < 0) | ((later[0] == 0) & (later[1] <= 0))):
                self._fault = "rows are not in the order of units and clusters"

    def add(self, homes: Inputs, support: Support) -> None:
        """Look at the homes of a batch."""
        if not self._is_cascade or not self._has_labels or self._fault:
            return
        point, _ = support.coarsening.find_homes(
            homes.tract, homes.worker_ptr, homes.worker_origin, self._source.geography.tract_of_block
        )
        cells = Synthesizers(
            tract=homes.tract,
            destination=homes.destination,
            segment=homes.segment,
            worker_ptr=homes.worker_ptr,
            worker_point=point,
            min_prior_weight=np.ones(homes.count.size, dtype=np.int64),
        )
        units = pool_cells(cells, self._source.parameters.unit, None).units
        try:
            labels = self._labels_of(units)
            points = cascade_points(support.coarsening, support.share)
            cascade = read_labels(units.tract, labels, points, epsilon=self._source.privacy.epsilon)
        except ParameterError as error:
            self._fault = str(error)
            return
        batch = LabeledTracts(cascade=cascade, points=points, destination_tract=homes.destination_tract)
        unit = np.repeat(np.arange(units.tract.size), units.n_likelihood)
        self._shown.append(_Shown(batch, units.worker_point[np.lexsort((units.worker_point, unit))]))

    def _labels_of(self, units: Synthesizers) -> PointLists:
        """The labels of units, as many for each as it has workers.

        Raises
        ------
        ParameterError
            A unit has another number of labels than workers.
        """
        key = units.destination * N_SEGMENTS + units.segment
        first, last = (np.searchsorted(self._unit, key, side) for side in ("left", "right"))
        n_rows = last - first
        ends = np.cumsum(n_rows)
        rows = np.arange(int(ends[-1])) + np.repeat(first - (ends - n_rows), n_rows)
        count = self._count[rows]
        n_labels = np.diff(np.concatenate(([0], np.cumsum(count)))[np.concatenate(([0], ends))])
        if np.any(n_labels != units.n_likelihood):
            raise ParameterError("a unit has another number of labels than of workers")
        self._n_labels += rows.size
        return PointLists(units.worker_ptr, np.repeat(self._cluster[rows], count))

    def result(self) -> list[CertificateCheck]:
        """Say whether the homes follow; nothing for a release without a cascade and without labels."""
        if not self._is_cascade and not self._has_labels:
            return []
        if self._is_cascade != self._has_labels:
            what = (
                "has no table of labels" if self._is_cascade else "has labels, but was not drawn as a cascade"
            )
            return [CertificateCheck("labels", False, f"the release {what}")]
        if not self._fault and self._n_labels != self._unit.size:
            self._fault = "some labels are of no unit"
        if not self._fault:
            batches = [shown.tracts for shown in self._shown]
            factors = tract_factors(batches, self._source.geography.tracts)
            wrong = sum(
                int(
                    np.count_nonzero(deal_tracts(self._source.seed, tracts, factors).synthetic_point != point)
                )
                for tracts, point in self._shown
            )
            if wrong:
                self._fault = f"{wrong:,} workers live elsewhere than where they were dealt"
        detail = self._fault or f"the home areas of all workers follow from {self._n_labels:,} labels"
        return [CertificateCheck("labels", not self._fault, detail)]
