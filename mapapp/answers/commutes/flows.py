"""Counts of commutes, read from the prepared files. Every analysis is built from the few queries here.

Commutes are added up in mapped columns (`mapapp.answers.commutes.columns`).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from geodata.store.store import Store
from mapapp.answers.commutes.attributes import JOB_ATTRIBUTES, Attributes
from mapapp.answers.commutes.columns import CommuteColumns, PickedCommutes
from mapapp.answers.commutes.pick import (
    ENDS,
    MEAN_LIMIT_MI,
    Blocks,
    Distances,
    Ends,
    Ints,
    Pick,
    Places,
    all_others,
    is_kept,
)
from mapapp.answers.commutes.places import WorkerPlaces
from mapapp.answers.commutes.prepared import N_OCTANTS, Prepared
from mapapp.answers.commutes.rows import most_first, parts_of
from mapapp.base import memory_limits, watch
from mapapp.base.result_cache import ResultCache
from mapapp.question.fields import Side
from mapapp.question.filters import Filters

_PART_ROWS: Final = 100_000
"""Rows of one part of a matrix."""


class Flows:
    """The commutes of one release; safe to use from several threads at once."""

    def __init__(self, prepared: Prepared, store: Store, attributes: Attributes) -> None:
        self._attributes = attributes
        self._n_blocks = int(store.manifest["files"]["blocks.parquet"]["rows"])
        self._last: tuple[Pick, PickedCommutes] | None = None
        further = [attribute.name for attribute in attributes.further]
        self._columns = CommuteColumns(prepared.by_work, prepared.by_home, self._n_blocks, further)
        self._places = WorkerPlaces(store, attributes, self._n_blocks)
        self._of_everywhere: ResultCache[Ints] = ResultCache(
            max_size=memory_limits.SUMS_BYTES, size_of=lambda sums: sums.nbytes
        )

    def by_segment(self, pick: Pick) -> Ints:
        """Return workers of each joint segment: int64[27]."""
        return self._sum(pick, "segment", PickedCommutes.by_segment) * is_kept(pick.filters)

    def by_segment_at_ends(self, blocks: Blocks | None, filters: Filters) -> tuple[Ints, Ints, Ints]:
        """Return who work in some blocks (None: all), who live there, and who do both, by joint segment: int64[27]."""
        work, home = (self.by_segment(Pick.at(side, blocks, filters)) for side in ENDS)
        pick = Pick(work=blocks, filters=filters)
        if blocks is None:
            return work, home, work
        fewer = self._fewer(pick)
        if fewer is None:
            return work, home, self.by_segment_within(pick, "home", blocks)[1]
        # Of all, those that begin or end elsewhere are left out; they are fewer.
        neither = self.by_segment_within(fewer, "home", all_others(blocks, self._n_blocks))[1]
        return work, home, work + home + neither - self.by_segment(Pick(filters=filters))

    def of_pair(self, pick: Pick, edges_mi: Sequence[float]) -> tuple[Ints, Ints, float | None]:
        """Return workers by joint segment, int64[27], and by distance band, and their median distance in miles."""
        picked = self._pick_commutes(pick)
        by_mile = picked.by_mile()
        bands = (
            _by_band(by_mile, edges_mi)
            if _are_whole(edges_mi)
            else picked.by_band(picked.bands(edges_mi), len(edges_mi) + 1)
        )
        return picked.by_segment(), bands, _median_of(by_mile, picked)

    def by_values(self, pick: Pick, names: Sequence[str]) -> Ints:
        """Return workers by the values of some attributes: int64, with one axis for each attribute.

        Raises
        ------
        UsageError
            If the publication does not have an attribute.
        """
        attributes = [self._attributes[name] for name in names]
        if any(attribute.is_further for attribute in attributes):
            return self._pick_commutes(pick).by_values(attributes)
        cube = self.by_segment(pick).reshape([attribute.size for attribute in JOB_ATTRIBUTES])
        axes = [[attribute.name for attribute in JOB_ATTRIBUTES].index(name) for name in names]
        return np.asarray(np.einsum(cube, [0, 1, 2], axes))

    def rows(self, pick: Pick, *, first: int, n: int) -> tuple[Blocks, Blocks, Ints]:
        """Return some of the picked commutes, ordered by workplace, then home and values.

        Returns
        -------
        work, home : int32[n]
            Blocks.
        values : int64[n, attributes]
            Position of the value of each attribute of the publication.
        """
        work, home, values = self._pick_commutes(pick).first_rows(first + n, tuple(self._attributes))
        return work[first:], home[first:], values[first:]

    def by_segment_within(self, pick: Pick, end: Side, blocks: Blocks) -> Ints:
        """Return workers with their `end` outside and within `blocks`, by joint segment: int64[2, 27]."""
        return self._pick_commutes(_drop_bands(pick)).by_segment_within(end, blocks) * is_kept(pick.filters)

    def by_block(self, pick: Pick, end: Side) -> tuple[Blocks, Ints]:
        """Return the blocks with an `end` of the picked commutes, ascending, and their numbers of workers."""
        return self._pick_commutes(pick).by_block(end)

    def by_block_and_segment(self, pick: Pick, end: Side) -> tuple[Blocks, npt.NDArray[np.int8], Ints]:
        """Return workers by the block of their `end` and by joint segment: three arrays of equal length."""
        return self._pick_commutes(pick).by_block_and_segment(end)

    def by_code_and_segment(self, pick: Pick, end: Side, code: Blocks, n_codes: int) -> Ints:
        """Return workers by the code of their block at an `end` and by joint segment: int64[codes, 27].

        Parameters
        ----------
        pick : Pick
        end : {"work", "home"}
        code : int32[blocks]
            Of every block, such as its unit; at least 0.
        n_codes : int
            No code is as large.
        """
        workers = self._sum(
            pick, (end, _Same(code), n_codes), lambda some: some.by_code_and_segment(end, code, n_codes)
        )
        return workers * is_kept(pick.filters)

    def by_pair(self, pick: Pick) -> tuple[Blocks, npt.NDArray[np.int8], Blocks, Ints]:
        """Return workers by workplace block, joint segment and home block: four arrays of equal length."""
        return self._pick_commutes(pick).by_pair()

    def distances(self, pick: Pick, side: Side, edges_mi: Sequence[float], *, own_block: bool) -> Distances:
        """Return workers by distance band and by direction from the `side` end to the other.

        Parameters
        ----------
        pick : Pick
        side : {"work", "home"}
        edges_mi : sequence of float
            Increasing and above 0; a band includes its lower edge.
        own_block : bool
            Whether a distance of exactly 0 is a separate first band.
        """
        picked = self._pick_commutes(pick)
        ways = (
            self._sum(pick, ("ways", side), lambda some: some.by_mile_and_octant(side))
            if pick.filters == Filters()
            else picked.by_mile_and_octant(side)
        )
        by_mile = ways.sum(axis=1)
        if _are_whole(edges_mi) and not own_block:
            cells = _by_band(ways, edges_mi)
        else:
            bands = picked.bands(edges_mi)
            if own_block:
                bands = np.where(picked.distance_mi == 0, 0, bands + 1).astype(np.int8)
            n_bands = len(edges_mi) + 1 + own_block
            cells = picked.by_cell(bands, n_bands, picked.column(f"octant_{side}"), N_OCTANTS + 1)
        return Distances(
            cells,
            int(by_mile[:MEAN_LIMIT_MI].sum()),
            picked.miles_below(MEAN_LIMIT_MI),
            _median_of(by_mile, picked),
        )

    def distances_by_workplace(
        self, pick: Pick, side: Side, edges_mi: Sequence[float]
    ) -> tuple[Blocks, Ints, Ints, Ints]:
        """Return workers by workplace block, distance band and direction (8: none): four arrays of equal length."""
        pieces = [
            some.by_workplace_and_cell(
                some.bands(edges_mi), len(edges_mi) + 1, some.column(f"octant_{side}"), N_OCTANTS + 1
            )
            for some in self._pick_commutes(pick).pieces()
        ]
        work, band, octant, n = (np.concatenate(parts) for parts in zip(*pieces, strict=True))
        return work, band, octant, n

    def distance_sums(self, pick: Pick, median_mi: float) -> tuple[Blocks, list[npt.NDArray[np.float64]]]:
        """Return sums by workplace block for the errors of a median and a mean.

        Returns
        -------
        blocks, sums
            Workplace blocks, and for each of them: workers, workers closer than the median, workers under 100 miles,
            and the miles and squared miles of the latter.
        """
        blocks, sums = [], []
        for some in self._pick_commutes(pick).pieces():
            n, miles = some.column("workers"), some.distance_mi
            near = n * (miles < MEAN_LIMIT_MI)
            work, of_work = some.by_workplace(
                n, n * (miles < median_mi), near, near * miles, near * miles * miles
            )
            blocks.append(work)
            sums.append(of_work)
        return np.concatenate(blocks), [np.concatenate(parts) for parts in zip(*sums, strict=True)]

    def quantiles_mi(self, pick: Pick, shares: Sequence[float]) -> list[float]:
        """Return the quantiles of the picked workers' distances, in miles, to a hundredth of a mile."""
        step, n = self._pick_commutes(pick).by_step(100.0)
        running = np.cumsum(n)
        at = np.searchsorted(running, np.clip(shares, 0.0, 1.0) * running[-1], side="left")
        return [float(step[place]) / 100 for place in at]

    def median_mi(self, pick: Pick) -> float | None:
        """Return the median distance of the picked workers, in miles; None without workers.

        Only the mile that contains it is read in detail, so that distances are never all in memory.
        """
        picked = self._pick_commutes(pick)
        return _median_of(picked.by_mile(), picked)

    def matrix(self, pick: Pick, home_code: Blocks, work_code: Blocks) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield workers by the codes of their home and work block, most first: (home, work, workers), in parts.

        Parameters
        ----------
        pick : Pick
        home_code, work_code : int32[blocks]
            Code of each block in the result; no code of a picked commute is below 0.
        """
        picked = self._pick_commutes(pick)
        if (
            pick.filters == Filters()
            and self._fewer(pick) is not None
            and home_code.min() >= 0 <= work_code.min()
        ):
            codes = _Same(home_code), _Same(work_code)
            whole = most_first(self._sum(pick, codes, lambda some: some.by_codes(home_code, work_code)))
        else:
            whole = picked.matrix(home_code, work_code)
        for part_of_all in parts_of(whole, _PART_ROWS):
            watch.check()
            yield part_of_all

    def places(self, pick: Pick, end: Side) -> Places:
        """Return the place and the segment of each worker's `end`, without homes outside the area."""
        return self._places.of(pick, end)

    def ends(self, pick: Pick) -> Ends:
        """Return both places and the segment of each worker, without those whose home is outside the area."""
        return self._places.ends(pick)

    def _pick_commutes(self, pick: Pick) -> PickedCommutes:
        """Return the picked commutes as columns."""
        watch.check()
        last = self._last
        if last is not None and last[0].is_same(pick):
            return last[1]
        marks = self._attributes.marks(pick.filters)
        picked = self._columns.pick(pick.sorted_side, pick.work, pick.home, pick.filters.segments, marks)
        if picked.size <= memory_limits.LAST_COMMUTES:
            self._last = pick, picked
        return picked

    def _sum(self, pick: Pick, what: Hashable, sum_of: Callable[[PickedCommutes], Ints]) -> Ints:
        """Return a sum of commutes, whatever the bands that their pick includes; the sums of everywhere are kept.

        Of an area with most commutes, only those of all others are read, and taken from those of everywhere.
        """
        pick = _drop_bands(pick)
        is_everywhere = pick.work is None and pick.home is None and not pick.filters.attributes
        fewer = None if is_everywhere else self._fewer(pick)
        if fewer is None and not is_everywhere:
            return sum_of(self._pick_commutes(pick))
        everywhere = self._of_everywhere.get_or_make(what, lambda: sum_of(self._pick_commutes(Pick())))
        return everywhere if fewer is None else everywhere - sum_of(self._pick_commutes(fewer))

    def _fewer(self, pick: Pick) -> Pick | None:
        """Return the pick of all other commutes, if it is by one end alone and has most of them."""
        if pick.filters.attributes or (pick.work is None) == (pick.home is None):
            return None
        side: Side = "work" if pick.home is None else "home"
        blocks = pick.work if pick.home is None else pick.home
        assert blocks is not None, "one of the ends has blocks"
        if 2 * self._columns.n_rows(side, blocks) <= self._columns.n_all(side):
            return None
        return Pick.at(side, all_others(blocks, self._n_blocks), pick.filters)


class _Same:
    """An array as part of a key: equal to itself alone."""

    def __init__(self, array: Blocks) -> None:
        self._array = array  # kept, so that no other array has its identity

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._array is self._array

    def __hash__(self) -> int:
        return id(self._array)


def _drop_bands(pick: Pick) -> Pick:
    return replace(pick, filters=replace(pick.filters, age=(), earnings=(), industry=()))


def _are_whole(edges_mi: Sequence[float]) -> bool:
    return all(float(edge).is_integer() for edge in edges_mi)


def _by_band(by_mile: Ints, edges_mi: Sequence[float]) -> Ints:
    """Return sums by distance band from those by whole miles, if the edges are whole miles."""
    ends = [0, *map(int, edges_mi), by_mile.shape[0]]
    return np.stack([by_mile[low:high].sum(axis=0) for low, high in pairwise(ends)])


def _median_of(workers: Ints, picked: PickedCommutes) -> float | None:
    """Return the median distance of picked workers, whose numbers by whole mile are given; None without workers."""
    n, running = int(workers.sum()), np.cumsum(workers)
    if n == 0:
        return None
    ranks = np.array([(n - 1) // 2, n // 2])  # of the middle workers, from 0
    places = np.searchsorted(running, ranks, side="right")
    middle = [
        picked.within_mile(int(place), ranks[places == place] - running[place] + workers[place])
        for place in np.unique(places)
    ]
    return float(np.concatenate(middle).mean())
