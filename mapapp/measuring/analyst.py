"""The confidential side of a dataset, as the measures of validity read it: in parts, which are cached if small.

A part (:class:`Panel`) is some destination tracts with their workers and with what no setting changes: distance and
grid cell of every origin tract. A sample of tracts is one part and stays in memory, so that the next setting is
measured at once; a whole dataset is read part by part, so that a nation never has to fit in memory.

Everything here but the geography is confidential: for the analyst alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.parameters import SynthesisParameters
from geodata.store import Store, open_store
from mapapp.answers.result_cache import ResultCache
from mapapp.progress import Report, silent
from mapapp.publishing.compared_homes import Places
from mapapp.publishing.expected_validity import grid_around
from mapapp.publishing.geography import Geography, Ints, Workplaces, read_geography, read_workplaces
from mapapp.publishing.inputs import Inputs, read_inputs
from mapapp.publishing.marginal_segments import assigns_from_margins, with_marginal_segments
from mapapp.publishing.prior import PublicPrior, public_prior

if TYPE_CHECKING:
    from mapapp.measuring.prepared_part import PreparedPart

Floats = npt.NDArray[np.float64]

_PAIRS_OF_PART: Final = 4_000_000  # of destination and origin tracts: about 40 MB a part
_KEPT_PAIRS: Final = 8_000_000  # of one request: more are read anew each time
_KEPT_PANELS: Final = 2  # such requests: a sample and the whole
_KEPT_PRIORS: Final = 8
_KEPT_PREPARED: Final = 16_000_000  # numbers, most of them of 8 bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TractWorkers:
    """Some destination tracts with their confidential workers.

    T destination tracts, W workers.

    Attributes
    ----------
    position : int64[T]
        Positions in the dataset's destination tracts (:attr:`AnalystData.tract`), rising.
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


class AnalystData:
    """A dataset opened for measuring. Safe to use from several threads.

    Parameters
    ----------
    store : Store
        A dataset; :meth:`open` opens one from its path.

    Attributes
    ----------
    store : Store
    geography : Geography
    workplaces : Workplaces
        All destination tracts and their workers: public.
    prepared : ResultCache of PreparedPart
        Parts prepared for settings that have the same support points.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.geography: Geography = read_geography(store)
        self.workplaces: Workplaces = read_workplaces(store, self.geography)
        self._priors: ResultCache[PublicPrior] = ResultCache(max_entries=_KEPT_PRIORS)
        self._panels: ResultCache[Panel] = ResultCache(
            max_size=_KEPT_PANELS * _KEPT_PAIRS, size_of=lambda panel: panel.distance_mi.size
        )

        self.prepared: ResultCache[PreparedPart] = ResultCache(
            max_size=_KEPT_PREPARED, size_of=lambda part: part.size
        )

    @classmethod
    def open(cls, path: Path) -> AnalystData:
        """Open and verify a dataset; StoreError if it is not one."""
        return cls(open_store(path, "dataset"))

    def drawn_from(self, parameters: SynthesisParameters) -> AnalystData:
        """Return the data that a setting draws from: for larger units than cells, segments may come from margins."""
        return self._marginal if assigns_from_margins(self.store, (parameters.unit,)) else self

    @cached_property
    def _marginal(self) -> AnalystData:
        return AnalystData(with_marginal_segments(self.store))

    @cached_property
    def places(self) -> Places:
        """Where blocks are, and the areas that they belong to; read on first use."""
        return Places.read(self.store)

    @cached_property
    def block_id(self) -> npt.NDArray[np.object_]:
        """The id of every block; read on first use."""
        return np.asarray(self.store.table("blocks", ["block_id"])["block_id"], dtype=np.object_)

    @cached_property
    def tract_id(self) -> npt.NDArray[np.object_]:
        """The id of every tract; read on first use."""
        return np.asarray(self.store.table("tracts", ["tract_id"])["tract_id"], dtype=np.object_)

    @property
    def tract(self) -> Ints:
        """Row of `tracts` of every destination tract: int64[T]. Positions below count in this array."""
        return self.workplaces.tract

    def sample(self, n_tracts: int) -> Ints:
        """Positions of about `n_tracts` destination tracts, evenly spaced in their order: the same at every call."""
        n = self.tract.size
        return np.unique(np.linspace(0, n - 1, min(max(n_tracts, 1), n)).round().astype(np.int64))

    def prior(self, parameters: SynthesisParameters) -> PublicPrior:
        """The public prior that a setting asks for, fitted once."""
        key = (parameters.prior, parameters.q50_mi, parameters.q75_mi, parameters.q90_mi)
        return self._priors.get_or_make(
            key, lambda: public_prior(self.geography, self.workplaces, parameters)
        )

    def panels(self, positions: Ints | None = None, report: Report = silent) -> Iterator[Panel]:
        """Yield the destination tracts at some positions (all by default) in parts; small ones stay in memory.

        Raises
        ------
        ParameterError
            A position is out of range or occurs twice.
        """
        chosen = np.arange(self.tract.size) if positions is None else _checked(positions, self.tract.size)
        parts = list(self._parts(chosen))
        keeps = self.keeps(chosen)
        for done, part in enumerate(parts):
            report("measuring workplace tracts", done, len(parts))
            read = partial(read_panel, self.store, self.geography, self.workplaces, part)
            yield self._panels.get_or_make(part.tobytes(), read) if keeps else read()
        report("measuring workplace tracts", len(parts), len(parts))

    def workers(self, positions: Ints | None = None, report: Report = silent) -> Iterator[TractWorkers]:
        """Yield the same parts as :meth:`panels`, without distances where they are not kept.

        Each batch is read once, whatever the number of its parts.

        Raises
        ------
        ParameterError
            As :meth:`panels`.
        """
        chosen = np.arange(self.tract.size) if positions is None else _checked(positions, self.tract.size)
        if self.keeps(chosen):
            yield from self.panels(chosen, report)
            return
        parts = list(self._parts(chosen))
        reader = TractReader(self.store, self.geography, self.workplaces)
        for done, part in enumerate(parts):
            report("measuring workplace tracts", done, len(parts))
            inputs = reader.read(part)
            yield TractWorkers(position=part, inputs=inputs, home_tract=home_tracts(self.geography, inputs))
        report("measuring workplace tracts", len(parts), len(parts))

    def n_workers(self, positions: Ints | None = None) -> int:
        """Number of workers of the destination tracts at some positions (all by default), which is public."""
        n_workers = self.workplaces.n_workers
        return int((n_workers if positions is None else n_workers[positions]).sum())

    def keeps(self, positions: Ints | None) -> bool:
        """Whether the destination tracts at some positions (all by default) are few enough to stay in memory."""
        n_chosen = self.tract.size if positions is None else positions.size
        return n_chosen * self.geography.tracts.n_tracts <= _KEPT_PAIRS

    def _parts(self, chosen: Ints) -> Iterator[Ints]:
        """Chosen positions, cut where a batch ends, and again if there are too many pairs of tracts."""
        most = max(_PAIRS_OF_PART // self.geography.tracts.n_tracts, 1)
        batch = np.searchsorted(self.workplaces.tract_ptr, chosen, side="right")
        whole = chosen.size <= most and chosen.size < self.tract.size
        for of_batch in [chosen] if whole else np.split(chosen, np.flatnonzero(np.diff(batch)) + 1):
            for start in range(0, of_batch.size, most):
                yield of_batch[start : start + most]


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
            mine = positions[batch == number] - first[number]
            parts.append(inputs if mine.size == inputs.destination_tract.size else _only(inputs, mine))
        return parts[0] if len(parts) == 1 else _joined(parts)

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


def _only(inputs: Inputs, tracts: Ints) -> Inputs:
    """Workers of some of the destination tracts of a batch."""
    place = np.full(inputs.destination_tract.size, -1, dtype=np.int32)
    place[tracts] = np.arange(tracts.size, dtype=np.int32)
    mine = place[inputs.tract] >= 0
    count = inputs.count
    return replace(
        inputs,
        destination_tract=inputs.destination_tract[tracts],
        destination=inputs.destination[mine],
        segment=inputs.segment[mine],
        tract=place[inputs.tract[mine]],
        worker_ptr=np.append(0, np.cumsum(count[mine])).astype(np.int64),
        worker_origin=inputs.worker_origin[np.repeat(mine, count)],
    )


def _joined(parts: list[Inputs]) -> Inputs:
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


def _checked(positions: Ints, n_tracts: int) -> Ints:
    chosen = np.asarray(positions)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or not chosen.size:
        raise ParameterError(f"tracts is {chosen.dtype}{chosen.shape}: give positions of destination tracts")
    rising = np.unique(chosen).astype(np.int64)
    if rising.size != chosen.size or rising[0] < 0 or rising[-1] >= n_tracts:
        raise ParameterError(
            f"tracts runs from {rising[0]} to {rising[-1]}: give positions 0 to {n_tracts - 1}, each once"
        )
    return rising
