"""The confidential side of a dataset, as the measures of validity read it: in parts, which are cached if small.

A part (:class:`Panel`) is some destination tracts with their workers and with what no setting changes: distance and
grid cell of every origin tract. A sample of tracts is one part and stays in memory, so that the next setting is
measured at once; a whole dataset is read part by part, so that a nation never has to fit in memory.

Everything here but the geography is confidential: for the analyst alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.parameters import SynthesisParameters
from geodata.store.manifest import read_manifest
from geodata.store.store import Store, open_store
from mapapp.analyst.validity.prepared_part import PreparedPart
from mapapp.analyst.validity.tract_workers import Panel, TractReader, TractWorkers, home_tracts, read_panel
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, silent
from mapapp.base.result_cache import ResultCache
from mapapp.kinds.base.compared_homes import Places
from mapapp.kinds.base.geography import Geography, Ints, Workplaces, read_geography, read_workplaces
from mapapp.kinds.release.make.margin_options import ShownMargins
from mapapp.kinds.release.make.marginal_segments import add_joint_segments, assigns_from_margins
from mapapp.kinds.release.make.prior import PublicPrior, public_prior
from mapapp.kinds.release.make.shown_margins import add_shown_margins

Floats = npt.NDArray[np.float64]

_PAIRS_OF_PART: Final = 4_000_000  # of destination and origin tracts: about 40 MB a part
_KEPT_PAIRS: Final = 8_000_000  # of one request: more are read anew each time
_KEPT_PANELS: Final = 2  # such requests: a sample and the whole
_KEPT_PRIORS: Final = 8
_KEPT_PREPARED: Final = 16_000_000  # numbers, most of them of 8 bytes


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
    def open(cls, path: Path, releases: Sequence[Path] = ()) -> AnalystData:
        """Open and verify a dataset, with its jobs summed to the numbers of workers that releases show.

        Raises
        ------
        StoreError
            It is not a dataset, or one of the releases is not there.
        UsageError
            The releases show different numbers of workers.
        """
        store = open_store(path, "dataset")
        shown = {ShownMargins.of_facts(read_manifest(release)) for release in releases}
        if len(shown) > 1:
            raise UsageError(
                f"{' and '.join(map(str, releases))} do not show the same numbers of workers (--segments, "
                "--workplaces); give one at a time"
            )
        return cls(add_shown_margins(store, shown.pop()) if shown else store)

    def select_drawn_data(self, parameters: SynthesisParameters) -> AnalystData:
        """Return the data that a setting draws from: for larger units than cells, segments may come from margins."""
        return self._marginal if assigns_from_margins(self.store, (parameters.unit,)) else self

    @cached_property
    def _marginal(self) -> AnalystData:
        return AnalystData(add_joint_segments(self.store))

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
        chosen = (
            np.arange(self.tract.size) if positions is None else _check_positions(positions, self.tract.size)
        )
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
        chosen = (
            np.arange(self.tract.size) if positions is None else _check_positions(positions, self.tract.size)
        )
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


def _check_positions(positions: Ints, n_tracts: int) -> Ints:
    chosen = np.asarray(positions)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu" or not chosen.size:
        raise ParameterError(f"tracts is {chosen.dtype}{chosen.shape}: give positions of destination tracts")
    rising = np.unique(chosen).astype(np.int64)
    if rising.size != chosen.size or rising[0] < 0 or rising[-1] >= n_tracts:
        raise ParameterError(
            f"tracts runs from {rising[0]} to {rising[-1]}: give positions 0 to {n_tracts - 1}, each once"
        )
    return rising
