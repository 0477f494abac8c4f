"""Expected errors of the counts of a release, by the formula of `mapapp.answers.errors.expected_error`.

Counts by workplace alone, whatever the workers' homes, are published unchanged: their expected error is 0.

No single pick counts the flows of a matrix that are not shown, because which homes are left out depends on the
workplace. So they are a sum over workers: a worker counts with the part of the home tract's people who live in no shown
cell of the worker's workplace.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt
import pandas

from geodata.store.store import Store
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.results import Result, replace_fields
from mapapp.answers.areas.areas import Areas
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.pick import Blocks, Pick
from mapapp.answers.commutes.prepared import DIRECTIONS
from mapapp.answers.errors.answer_errors import Errors, WithDistances
from mapapp.answers.errors.certificate_terms import DrawnTerms
from mapapp.answers.errors.distance_errors import (
    N_DIRECTIONS,
    Tracts,
    TractWays,
    errors_of_cells,
    errors_of_miles,
    miles_within,
)
from mapapp.answers.errors.expected_error import (
    ExpectedErrors,
    Floats,
    Ints,
    UnitsOfTracts,
    WorkplaceArrays,
    WorkplaceCells,
    Workplaces,
    sample_tracts,
    synthesizers_of,
)
from mapapp.answers.errors.exponential_noise import ReleasedRows
from mapapp.answers.errors.home_values import HomeValues, ValuesOfTracts, values_of_areas
from mapapp.base import memory_limits, watch
from mapapp.base.result_cache import ResultCache
from mapapp.question.filters import Filters

_MOST_HOMES: Final = 62  # bits of a number without its sign


class ReleaseErrors(Errors):
    """Expected errors for one release; safe to use from several threads."""

    def __init__(self, store: Store, areas: Areas, flows: Flows, certificate: Mapping[str, object]) -> None:
        super().__init__(store, areas, flows, certificate)
        self._workplaces: ResultCache[Workplaces] = ResultCache(max_entries=memory_limits.WORKPLACES)

    @property
    def is_known(self) -> bool:
        """Whether the certificate has what expected errors need."""
        return "accounting" in self._certificate and not DrawnTerms.of(self._certificate).cascade

    def of_counts(
        self, picks: Sequence[Pick], values: Sequence[int | None] | None = None
    ) -> list[float | None]:
        """Return the errors of several picks; those with the same work area are computed together, much faster.

        `values` are their counts where these are known already; the formula for releases needs counts by tract.
        """
        if not self.is_known:
            return [None] * len(picks)
        by_place: list[float | None] = [0.0] * len(picks)
        groups: dict[bytes | None, list[int]] = {}
        keys = {id(pick.work): _key(pick.work) for pick in picks}
        for place, pick in enumerate(picks):
            # Workplaces are published unchanged: without a home area there is no error.
            if pick.home is not None and pick.home.size and (pick.work is None or pick.work.size):
                groups.setdefault(keys[id(pick.work)], []).append(place)
        for group in groups.values():
            watch.check()
            same_work = [picks[place] for place in group]
            workplaces = self._workplaces_of(same_work[0].work)
            if not workplaces.tract.size:
                continue
            errors = self._formula.of_counts(
                self._home_values(same_work),
                self._by_tract(same_work),
                workplaces.tract,
                workplaces.n_workers,
                np.stack([workplaces.of_segments(pick.filters.segments) for pick in same_work]),
                workplaces.n_units,
            )
            for place, error in zip(group, errors, strict=True):
                by_place[place] = error.error
        return by_place

    def prepare(self) -> None:
        """Read in advance what errors need of each workplace tract: about ten milliseconds for a tract.

        Of many tracts, those are read that represent all of them in questions about everywhere. Memory is bounded.
        """
        if self.is_known:
            block, _ = self._flows.by_block(Pick(), "work")
            tracts = sample_tracts(np.unique(self._blocks[0][block]).astype(np.int64))
            self._formula.prepare(tracts)
            self._tracts.ways.prepare(tracts)

    def _of_other_flows(self, every: Pick, shown: Sequence[Pick]) -> float:
        """Return the error of a matrix's workers outside the cells that are shown."""
        tract = self._blocks[0]
        block, workers = self._flows.by_block(every, "work")
        by_tract = np.bincount(tract[block], workers, self._n_tracts)

        def cell(pick: Pick) -> Cell:
            inside = np.isin(block, cast(Blocks, pick.work))
            here = np.bincount(tract[block[inside]], workers[inside], self._n_tracts)
            share = here / np.maximum(by_tract, 1.0)
            return Cell(self._home_share(cast(Blocks, pick.home)), share, self._by_tract([pick])[0])

        home = np.ones(self._n_tracts) if every.home is None else self._home_share(every.home)
        workplaces = self._workplaces_of(every.work).arrays(every.filters.segments)
        return error_of_other_flows(
            self._formula, home, by_tract.astype(np.float64), [cell(pick) for pick in shown], workplaces
        )

    def _of_distances(self, answer: WithDistances, tables: Collection[str]) -> WithDistances:
        """Return an answer with the errors of its tables of distances, of directions, and of both together."""
        pick = entry_of(answer).counts(self._areas, answer)[0]["workers"]
        side = answer.about.side or "home"
        workplaces = self._workplaces_of(pick.work)
        work, band_of, way_of, workers = self._flows.distances_by_workplace(pick, side, answer.edges_mi)
        shape = (self._n_tracts, len(answer.edges_mi) + 1, N_DIRECTIONS)
        counts = np.zeros(shape)
        np.add.at(counts, (self._blocks[0][work], band_of, way_of), workers)
        share = np.ones(shape[0]) if pick.home is None else self._home_share(pick.home)
        errors = errors_of_cells(
            self._formula,
            self._tracts.ways,
            (share, self._same_block_share(pick)),
            counts,
            workplaces.arrays(pick.filters.segments),
            answer.edges_mi,
            side,
        )

        def of_table(table: pandas.DataFrame) -> pandas.DataFrame:
            # By key, because the caller may have left rows out.
            n_rows = len(table)
            band = table["band"].to_numpy(np.int64) if "band" in table else np.full(n_rows, len(errors) - 1)
            way = np.full(n_rows, N_DIRECTIONS)
            if "direction" in table:
                way = np.array(
                    [DIRECTIONS.index(direction) for direction in table["direction"]], dtype=np.int64
                )
            return table.assign(expected_error=errors[band, way])

        return replace_fields(answer, {name: of_table(getattr(answer, name)) for name in tables})

    def _same_block_share(self, pick: Pick) -> Floats:
        """Return the share of each workplace tract's people who live in a worker's own block, if it is in the pick."""
        tract, people, total = self._blocks
        block, workers = self._flows.by_block(Pick(work=pick.work), "work")
        inside = np.ones(tract.size) if pick.home is None else np.bincount(pick.home, minlength=tract.size)
        at, own = tract[block], people[block] * inside[block] / total[tract[block]]
        all_workers = np.bincount(at, workers, total.size)
        return np.asarray(np.bincount(at, workers * own, total.size) / np.maximum(all_workers, 1.0))

    def _of_miles(self, answer: WithDistances) -> Result:
        """Return an answer with the errors of its median distance and, if it has one, of its mean distance."""
        pick = entry_of(answer).counts(self._areas, answer)[0]["workers"]
        mean = getattr(answer, "mean_under_100_mi", None)
        if answer.median_mi.value is None:
            return answer
        workplaces = self._workplaces_of(pick.work)
        share = np.ones(self._n_tracts) if pick.home is None else self._home_share(pick.home)
        of_median, of_mean = errors_of_miles(
            self._formula,
            self._flows,
            pick,
            self._blocks[0],
            self._tracts,
            share,
            workplaces.arrays(pick.filters.segments),
            answer.median_mi.value,
            None if mean is None else mean.value,
        )
        changed = {"median_mi": replace(answer.median_mi, expected_error=of_median)}
        if mean is not None:
            changed["mean_under_100_mi"] = replace(mean, expected_error=of_mean)
        return replace_fields(answer, changed)

    @cached_property
    def _tracts(self) -> Tracts:
        tracts = self._store.table("tracts", ["lon_deg", "lat_deg"])
        blocks = self._store.table("blocks", ["lon_deg", "lat_deg"])
        places = [(table["lon_deg"].to_numpy(), table["lat_deg"].to_numpy()) for table in (tracts, blocks)]
        return Tracts(TractWays(*places[0]), miles_within(self._blocks[0], places[1], self._blocks[1]))

    @cached_property
    def _formula(self) -> ExpectedErrors:
        columns = [
            "lon_deg",
            "lat_deg",
            "puma_index",
            "superpuma_index",
            "population",
            "state_id",
            "elsewhere",
        ]
        return ExpectedErrors(
            self._certificate,
            self._store.table("tracts", columns),
            self._store.table("prior"),
            self._read_released,
        )

    def _read_released(self, tract: int) -> ReleasedRows:
        """Read the released commutes to a workplace tract."""
        of_block = self._blocks[0]
        here = np.flatnonzero(of_block == tract).astype(np.int32)
        block, segment, home, workers = self._flows.by_pair(Pick(work=here))
        return ReleasedRows(
            block.astype(np.int64), segment.astype(np.int64), of_block[home].astype(np.int64), workers
        )

    @cached_property
    def _blocks(self) -> tuple[Blocks, Floats, Floats]:
        """Tract of every block, population of every block (1 each in an empty tract), and population of every tract."""
        blocks = self._store.table("blocks", ["tract_index", "population"])
        tract: Blocks = blocks["tract_index"].to_numpy(np.int32)
        people: Floats = blocks["population"].to_numpy(np.float64)
        people = np.where(np.bincount(tract, people)[tract] > 0, people, 1.0)
        return tract, people, np.bincount(tract, people).astype(np.float64)

    @property
    def _n_tracts(self) -> int:
        return len(self._blocks[2])

    def _home_share(self, home: Blocks) -> Floats:
        tract, people, total = self._blocks
        share: Floats = np.bincount(tract[home], people[home], total.size) / np.maximum(total, 1.0)
        return share

    def _home_values(self, picks: Sequence[Pick]) -> ValuesOfTracts:
        """Return the shares of the home areas, which picks that differ in their filters alone have in common."""
        number: dict[int, int] = {}
        of_row = [number.setdefault(id(pick.home), len(number)) for pick in picks]
        homes = {id(pick.home): cast(Blocks, pick.home) for pick in picks}
        return values_of_areas(
            np.stack([self._home_share(home) for home in homes.values()]), np.array(of_row)
        )

    def _by_tract(self, picks: Sequence[Pick]) -> Floats:
        """Return the workers of each pick by workplace tract, float64[picks, tracts]. All picks share a work area.

        Picks that share a home area, and picks with disjoint home areas, are each read with one query.
        """
        tract = self._blocks[0]
        counts = np.zeros((len(picks), self._n_tracts))
        same_home = _together(range(len(picks)), lambda place: id(picks[place].home))
        for homes in same_home:
            if len(homes) > 1:
                by_code = self._flows.by_code_and_segment(
                    replace(picks[homes[0]], filters=Filters()), "work", tract, self._n_tracts
                )
                for place in homes:
                    counts[place] = by_code[:, picks[place].filters.segments].sum(axis=1)
        alone = [homes[0] for homes in same_home if len(homes) == 1]
        for places in _together(alone, lambda place: picks[place].filters):
            counts[places] = self._of_homes([picks[place] for place in places], tract)
        return counts

    def _of_homes(self, picks: Sequence[Pick], tract: npt.NDArray[np.int32]) -> Floats:
        """Return workers by workplace tract, float64[picks, tracts], for picks that differ only in their homes."""
        homes = [cast(Blocks, pick.home) for pick in picks]
        if len(picks) == 1 or len(picks) > _MOST_HOMES:
            counts = np.zeros((len(picks), self._n_tracts))
            for place, pick in enumerate(picks):
                block, workers = self._flows.by_block(pick, "work")
                counts[place] = np.bincount(tract[block], workers, self._n_tracts)
            return counts
        # Blocks in the same homes are read as one, so that each worker is read once however the homes overlap.
        inside = np.zeros(tract.size, dtype=np.int64)
        for number, home in enumerate(homes):
            inside[home] |= 1 << number
        chosen = np.flatnonzero(inside).astype(np.int32)
        kind, kinds = pandas.factorize(inside[chosen])
        member = np.full(tract.size, -1, dtype=np.int32)
        member[chosen] = kind
        by_kind = np.zeros((kinds.size, self._n_tracts))
        for row, at, workers in self._flows.matrix(replace(picks[0], home=chosen), member, tract):
            by_kind[row, at] = workers
        return np.asarray((kinds >> np.arange(len(homes))[:, None] & 1).astype(np.float64) @ by_kind)

    def _workplaces_of(self, work: Blocks | None) -> Workplaces:
        """Return the synthesizers of a work area by tract and size, and their number by segment."""
        return self._workplaces.get_or_make(_key(work), lambda: self._read_workplaces(work))

    def _read_workplaces(self, work: Blocks | None) -> Workplaces:
        block, segment, workers = self._flows.by_block_and_segment(Pick(work=work), "work")
        cells = WorkplaceCells(
            self._blocks[0][block].astype(np.int64),
            block.astype(np.int64),
            segment.astype(np.int64),
            workers.astype(np.int64),
        )
        return synthesizers_of(cells, self._units)

    @cached_property
    def _units(self) -> UnitsOfTracts:
        """What was drawn together, and the workers of every workplace tract where that matters."""
        unit = DrawnTerms.of(self._certificate).unit
        tract_workers = np.zeros(self._n_tracts, dtype=np.int64)
        if unit == "tract":
            block, workers = self._flows.by_block(Pick(), "work")
            np.add.at(tract_workers, self._blocks[0][block], workers)
        return UnitsOfTracts(unit, tract_workers)


def _key(blocks: Blocks | None) -> bytes | None:
    return None if blocks is None else blocks.tobytes()


def _together(places: Iterable[int], key: Callable[[int], Hashable]) -> list[list[int]]:
    """Return lists of the places with the same key."""
    groups: dict[Hashable, list[int]] = {}
    for place in places:
        groups.setdefault(key(place), []).append(place)
    return list(groups.values())


class Cell(NamedTuple):
    """One end-to-end flow that is shown.

    Attributes
    ----------
    home_share : float64[n_tracts]
        Share of each tract's people who live in its home area.
    work_share : float64[n_tracts]
        Share of the matrix's workers of each workplace tract who work in its work area.
    workers : float64[n_tracts]
        Its workers by workplace tract.
    """

    home_share: Floats
    work_share: Floats
    workers: Floats


def error_of_other_flows(
    formula: ExpectedErrors,
    home_share: Floats,
    workers: Floats,
    shown: list[Cell],
    workplaces: WorkplaceArrays,
) -> float:
    """Return the expected root mean squared error of the workers in no shown cell.

    Parameters
    ----------
    formula : ExpectedErrors
    home_share, workers : float64[n_tracts]
        As in `Cell`, for the whole matrix.
    shown : list of Cell
        Cells that do not overlap.
    workplaces : tuple
        As `ExpectedErrors.of_sums` takes them.
    """
    rest = np.maximum(workers - sum(cell.workers for cell in shown), 0.0)[None]
    return formula.of_sums(_values_elsewhere(home_share, shown), rest, rest, *workplaces)[0]


def _values_elsewhere(home_share: Floats, shown: list[Cell]) -> ValuesOfTracts:
    home = np.flatnonzero(home_share)
    here = home_share[home]
    work_shares = np.array([cell.work_share for cell in shown]).reshape(len(shown), home_share.size)
    home_shares = np.array([cell.home_share[home] for cell in shown]).reshape(len(shown), home.size)
    row = np.zeros((1, home.size), dtype=np.int64)

    def of(tracts: Ints) -> HomeValues:
        value = np.clip(here - work_shares[:, tracts].T @ home_shares, 0.0, 1.0)
        return HomeValues(row, home[None], value, value)

    return ValuesOfTracts(of, np.arange(1), home.size)
