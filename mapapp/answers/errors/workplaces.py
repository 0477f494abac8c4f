"""The synthesizers of a work area, by tract and size, from public numbers of workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from geodata.schema import N_SEGMENTS

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
WorkplaceArrays = tuple[Ints, Ints, Floats, Floats | None]

__all__ = ["UnitsOfTracts", "WorkplaceCells", "Workplaces", "synthesizers_of"]


class WorkplaceCells(NamedTuple):
    """Workers of the (block, segment) pairs of a work area.

    Attributes
    ----------
    tract, block, segment, workers : int64[C]
    """

    tract: Ints
    block: Ints
    segment: Ints
    workers: Ints


class UnitsOfTracts(NamedTuple):
    """How workers were drawn together.

    Attributes
    ----------
    unit : {"cell", "block", "tract"}
    tract_workers : int64[n_tracts]
        All workers of each workplace tract.
    """

    unit: str
    tract_workers: Ints


class Workplaces(NamedTuple):
    """Synthesizers by workplace tract and number of workers.

    Attributes
    ----------
    tract, n_workers : int64[P]
    by_segment : float64[P, 27]
        Their number by segment. Of a synthesizer of several segments, each counts by its part of the workers.
    n_units : float64[P] or None
        Number of synthesizers, if they have several segments or blocks.
    """

    tract: Ints
    n_workers: Ints
    by_segment: Floats
    n_units: Floats | None

    def of_segments(self, segments: Sequence[int]) -> Floats:
        """Return the number of synthesizers in some segments: float64[P]."""
        return np.asarray(self.by_segment[:, segments].sum(axis=1))

    def arrays(self, segments: Sequence[int]) -> WorkplaceArrays:
        """Return tract, workers per synthesizer, number of synthesizers in some segments, and number of units."""
        return self.tract, self.n_workers, self.of_segments(segments), self.n_units


def synthesizers_of(cells: WorkplaceCells, units: UnitsOfTracts) -> Workplaces:
    """Return the synthesizers to which the workers of some cells belong."""
    n, number = _sizes(cells, units)
    most = int(n.max(initial=0)) + 1
    made, row = np.unique(cells.tract * most + n, return_inverse=True)
    row = row.reshape(-1)
    part = cells.workers / np.maximum(n, 1)
    times = np.bincount(row * N_SEGMENTS + cells.segment, part, made.size * N_SEGMENTS)
    together = None
    if units.unit != "cell":
        first = np.unique(number, return_index=True)[1]
        together = np.bincount(row[first], minlength=made.size).astype(np.float64)
    return Workplaces(made // most, made % most, times.reshape(-1, N_SEGMENTS).astype(np.float64), together)


def _sizes(cells: WorkplaceCells, units: UnitsOfTracts) -> tuple[Ints, Ints]:
    """Return the workers of each cell's synthesizer, and which one it is."""
    if units.unit == "tract":
        return units.tract_workers[cells.tract], cells.tract
    if units.unit == "block":
        number = np.unique(cells.block, return_inverse=True)[1].reshape(-1)
        return np.bincount(number, cells.workers).astype(np.int64)[number], number
    return cells.workers, np.arange(cells.workers.size)
