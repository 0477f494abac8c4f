"""The confidential workers of some destination tracts, as the measures of validity read them.

Everything here but the geography is confidential: for the analyst alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from geodata.store.store import Store
from mapapp.kinds.base.geography import Geography, Ints, Workplaces
from mapapp.kinds.base.inputs import Inputs, read_inputs
from mapapp.kinds.release.choose.expected_validity import grid_around

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class TractWorkers:
    """Some destination tracts with their confidential workers.

    T destination tracts, W workers.

    Attributes
    ----------
    position : int64[T]
        Positions in the dataset's destination tracts
        (:attr:`mapapp.analyst.validity.confidential_parts.AnalystData.tract`), rising.
    inputs : Inputs
        Synthesizers and homes.
    home_tract : int64[W]
        Row of `tracts` of each worker's home.
    """

    position: Ints
    inputs: Inputs
    home_tract: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel(TractWorkers):
    """Some destination tracts with their confidential workers, and where all other tracts are from there.

    n origin tracts.

    Attributes
    ----------
    distance_mi : float64[T, n]
        Between tract centres; 0 within a tract.
    cell : int8[T, n]
        Cell of the grid of every origin tract.
    """

    distance_mi: Floats
    cell: npt.NDArray[np.int8]


def read_panel(store: Store, geography: Geography, workplaces: Workplaces, positions: Ints) -> Panel:
    """Read the workers of the destination tracts at some positions (rising), of a dataset or of a release."""
    inputs = read_tracts(store, geography, workplaces, positions)
    distance, cell = grid_around(geography.tracts, inputs.destination_tract)
    return Panel(
        position=positions,
        inputs=inputs,
        home_tract=home_tracts(geography, inputs),
        distance_mi=distance,
        cell=cell,
    )


def home_tracts(geography: Geography, inputs: Inputs) -> Ints:
    """Row of `tracts` of each worker's home: int64[W]."""
    return geography.tract_of_block[inputs.worker_origin].astype(np.int64)


class TractReader:
    """Reads the workers of some destination tracts after others, and each batch once if it is asked for in turn.

    Parameters
    ----------
    store : Store
        A dataset or a release.
    geography : Geography
    workplaces : Workplaces
        Of the store.
    """

    def __init__(self, store: Store, geography: Geography, workplaces: Workplaces) -> None:
        self._store, self._geography, self._workplaces = store, geography, workplaces
        self._last: tuple[int, Inputs] | None = None

    def read(self, positions: Ints) -> Inputs:
        """Return the workers of the destination tracts at some positions (rising), whatever batches they are in."""
        first = self._workplaces.tract_ptr
        batch = np.searchsorted(first, positions, side="right") - 1
        parts = []
        for number in np.unique(batch):
            inputs = self._batch(int(number))
            in_batch = positions[batch == number] - first[number]
            parts.append(
                inputs if in_batch.size == inputs.destination_tract.size else _take_tracts(inputs, in_batch)
            )
        return parts[0] if len(parts) == 1 else _join_batches(parts)

    def _batch(self, number: int) -> Inputs:
        last = self._last
        if last is None or last[0] != number:
            self._last = None  # so that two batches are never held at once
            last = (number, read_inputs(self._store, self._geography, self._workplaces, number))
            self._last = last
        return last[1]


def read_tracts(store: Store, geography: Geography, workplaces: Workplaces, positions: Ints) -> Inputs:
    """Read the workers of the destination tracts at some positions (rising), whatever batches they are in."""
    return TractReader(store, geography, workplaces).read(positions)


def _take_tracts(inputs: Inputs, tracts: Ints) -> Inputs:
    """Workers of some of the destination tracts of a batch."""
    place = np.full(inputs.destination_tract.size, -1, dtype=np.int32)
    place[tracts] = np.arange(tracts.size, dtype=np.int32)
    rows = place[inputs.tract] >= 0
    count = inputs.count
    return replace(
        inputs,
        destination_tract=inputs.destination_tract[tracts],
        destination=inputs.destination[rows],
        segment=inputs.segment[rows],
        tract=place[inputs.tract[rows]],
        worker_ptr=np.append(0, np.cumsum(count[rows])).astype(np.int64),
        worker_origin=inputs.worker_origin[np.repeat(rows, count)],
    )


def _join_batches(parts: list[Inputs]) -> Inputs:
    """Batches one after the other, as one."""
    shift = np.cumsum([0, *(part.destination_tract.size for part in parts[:-1])])
    return Inputs(
        destination_tract=np.concatenate([part.destination_tract for part in parts]),
        destination=np.concatenate([part.destination for part in parts]),
        segment=np.concatenate([part.segment for part in parts]),
        tract=np.concatenate([part.tract + by for part, by in zip(parts, shift, strict=True)]).astype(
            np.int32
        ),
        worker_ptr=np.append(0, np.cumsum(np.concatenate([part.count for part in parts]))).astype(np.int64),
        worker_origin=np.concatenate([part.worker_origin for part in parts]),
    )
