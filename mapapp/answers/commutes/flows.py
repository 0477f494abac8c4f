"""Counts of commutes, read from the prepared files. Every analysis is built from the few queries here.

Commutes of a release that is not too large are added up in mapped columns (`mapapp.answers.commutes.columns`), which
takes much less time. All others, and workers picked by further attributes, are counted by DuckDB
(`mapapp.answers.commutes.database`), with the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from geodata.store.schema import N_SEGMENTS
from geodata.store.store import Store
from mapapp.answers.commutes.attributes import JOB_ATTRIBUTES, Attributes
from mapapp.answers.commutes.columns import CommuteColumns, PickedCommutes
from mapapp.answers.commutes.database import CommuteDatabase
from mapapp.answers.commutes.pick import (
    ENDS,
    MEAN_LIMIT_MI,
    Blocks,
    Distances,
    Ints,
    Pick,
    Places,
    all_others,
    is_kept,
)
from mapapp.answers.commutes.prepared import N_OCTANTS, Prepared
from mapapp.answers.commutes.rows import most_first, parts_of
from mapapp.base import watch
from mapapp.base.result_cache import ResultCache
from mapapp.question.fields import Side
from mapapp.question.filters import Filters

_MOST_KEPT: Final = 1_000_000
"""Most commutes that are kept for the next question, which is often about the same ones: 32 bytes each at most."""
_EVERYWHERE_BYTES: Final = 64 << 20
"""Most bytes of sums of all commutes that are kept."""
_VECTORS: Final = 49
_VECTOR_ROWS: Final = 2_048
"""One part of a matrix has `_VECTORS` times as many rows."""


class Flows:
    """The commutes of one release; safe to use from several threads at once."""

    def __init__(self, prepared: Prepared, store: Store, attributes: Attributes) -> None:
        self._attributes = attributes
        self._n_blocks = int(store.manifest["files"]["blocks.parquet"]["rows"])
        self._last: tuple[Pick, PickedCommutes] | None = None
        self._columns = prepared.columns and CommuteColumns(*prepared.columns, self._n_blocks)
        self._of_everywhere: ResultCache[Ints] = ResultCache(
            max_size=_EVERYWHERE_BYTES, size_of=lambda each: each.nbytes
        )
        self._database = CommuteDatabase(prepared, store, attributes, self._n_blocks)

    def by_segment(self, pick: Pick) -> Ints:
        """Return workers of each joint segment: int64[27]."""
        if self._is_mapped(pick):
            found = self._sum(pick, "segment", PickedCommutes.by_segment)
            return np.asarray(found * is_kept(pick.filters))
        return self._database.by_segment(pick)

    def by_segment_at_ends(self, blocks: Blocks | None, filters: Filters) -> tuple[Ints, Ints, Ints]:
        """Return who work in some blocks (None: all), who live there, and who do both, by joint segment: int64[27]."""
        work, home = (self.by_segment(Pick.at(side, blocks, filters)) for side in ENDS)
        pick = Pick(work=blocks, filters=filters)
        if blocks is None:
            return work, home, work
        fewer = self._fewer(pick) if self._is_mapped(pick) else None
        if fewer is None:
            return work, home, self.by_segment_within(pick, "home", blocks)[1]
        # Of all, those that begin or end elsewhere are left out; they are fewer.
        neither = self.by_segment_within(fewer, "home", all_others(blocks, self._n_blocks))[1]
        return work, home, work + home + neither - self.by_segment(Pick(filters=filters))

    def of_pair(self, pick: Pick, edges_mi: Sequence[float]) -> tuple[Ints, Ints, float | None]:
        """Return workers by joint segment, int64[27], and by distance band, and their median distance in miles."""
        if (mapped := self._mapped(pick)) is not None:
            by_mile = mapped.by_mile()
            bands = (
                _by_band(by_mile, edges_mi)
                if _are_whole(edges_mi)
                else mapped.by_band(mapped.bands(edges_mi), len(edges_mi) + 1)
            )
            return mapped.by_segment(), bands, _median_by_mile(by_mile, mapped)
        segments, bands, miles = self._database.of_pair(pick, edges_mi)
        return segments, bands, _median_of(*miles, lambda *asked: self._database.within_mile(pick, *asked))

    def by_values(self, pick: Pick, names: Sequence[str]) -> Ints:
        """Return workers by the values of some attributes: int64, with one axis for each attribute.

        Raises
        ------
        UsageError
            If the publication does not have an attribute.
        """
        attributes = [self._attributes[name] for name in names]
        if not any(each.is_further for each in attributes) and self._is_mapped(pick):
            cube = self.by_segment(pick).reshape([each.size for each in JOB_ATTRIBUTES])
            axes = [[each.name for each in JOB_ATTRIBUTES].index(name) for name in names]
            return np.asarray(np.einsum(cube, [0, 1, 2], axes))
        return self._database.by_values(pick, attributes)

    def rows(self, pick: Pick, *, first: int, n: int) -> tuple[Blocks, Blocks, Ints]:
        """Return some of the picked commutes, ordered by workplace, then home and values.

        Returns
        -------
        work, home : int32[n]
            Blocks.
        values : int64[n, attributes]
            Position of the value of each attribute of the publication.
        """
        return self._database.rows(pick, first=first, n=n)

    def by_segment_within(self, pick: Pick, end: Side, blocks: Blocks) -> Ints:
        """Return workers with their `end` outside and within `blocks`, by joint segment: int64[2, 27]."""
        if (mapped := self._mapped(_without_filters(pick))) is not None:
            return mapped.by_segment_within(end, blocks) * is_kept(pick.filters)
        return self._database.by_segment_within(pick, end, blocks)

    def by_block(self, pick: Pick, end: Side) -> tuple[Blocks, Ints]:
        """Return the blocks with an `end` of the picked commutes, ascending, and their numbers of workers."""
        if (mapped := self._mapped(pick)) is not None:
            return mapped.by_block(end)
        return self._database.by_block(pick, end)

    def by_block_and_segment(self, pick: Pick, end: Side) -> tuple[Blocks, npt.NDArray[np.int8], Ints]:
        """Return workers by the block of their `end` and by joint segment: three arrays of equal length."""
        if (mapped := self._mapped(pick)) is not None:
            return mapped.by_block_and_segment(end)
        return self._database.by_block_and_segment(pick, end)

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
        if self._is_mapped(pick):
            found = self._sum(
                pick, (end, _Same(code), n_codes), lambda some: some.by_code_and_segment(end, code, n_codes)
            )
            return found * is_kept(pick.filters)
        block, segment, n = self.by_block_and_segment(pick, end)
        cell = code[block].astype(np.int64) * N_SEGMENTS + segment
        found = np.bincount(cell, n, n_codes * N_SEGMENTS)  # sums of whole numbers, exact
        return found.astype(np.int64).reshape(n_codes, N_SEGMENTS)

    def by_pair(self, pick: Pick) -> tuple[Blocks, npt.NDArray[np.int8], Blocks, Ints]:
        """Return workers by workplace block, joint segment and home block: four arrays of equal length."""
        if (mapped := self._mapped(pick)) is not None:
            return mapped.by_pair()
        return self._database.by_pair(pick)

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
        if (mapped := self._mapped(pick)) is None:
            return Distances(
                *self._database.distances(pick, side, edges_mi, own_block=own_block), self.median_mi(pick)
            )
        ways = (
            self._sum(pick, ("ways", side), lambda some: some.by_mile_and_octant(side))
            if pick.filters == Filters()
            else mapped.by_mile_and_octant(side)
        )
        by_mile = ways.sum(axis=1)
        if _are_whole(edges_mi) and not own_block:
            cells = _by_band(ways, edges_mi)
        else:
            bands = mapped.bands(edges_mi)
            if own_block:
                bands = np.where(mapped.distance_mi == 0, 0, bands + 1).astype(np.int8)
            n_bands = len(edges_mi) + 1 + own_block
            cells = mapped.by_cell(bands, n_bands, mapped.column(f"octant_{side}"), N_OCTANTS + 1)
        return Distances(
            cells,
            int(by_mile[:MEAN_LIMIT_MI].sum()),
            mapped.miles_below(MEAN_LIMIT_MI),
            _median_by_mile(by_mile, mapped),
        )

    def distances_by_workplace(
        self, pick: Pick, side: Side, edges_mi: Sequence[float]
    ) -> tuple[Blocks, Ints, Ints, Ints]:
        """Return workers by workplace block, distance band and direction (8: none): four arrays of equal length."""
        if (mapped := self._mapped(pick)) is not None:
            return mapped.by_workplace_and_cell(
                mapped.bands(edges_mi), len(edges_mi) + 1, mapped.column(f"octant_{side}"), N_OCTANTS + 1
            )
        return self._database.distances_by_workplace(pick, side, edges_mi)

    def distance_sums(self, pick: Pick, median_mi: float) -> tuple[Blocks, list[npt.NDArray[np.float64]]]:
        """Return sums by workplace block for the errors of a median and a mean.

        Returns
        -------
        blocks, sums
            Workplace blocks, and for each of them: workers, workers closer than the median, workers under 100 miles,
            and the miles and squared miles of the latter.
        """
        if (mapped := self._mapped(pick)) is not None:
            n, miles = mapped.column("workers"), mapped.distance_mi
            near = n * (miles < MEAN_LIMIT_MI)
            return mapped.by_workplace(n, n * (miles < median_mi), near, near * miles, near * miles * miles)
        return self._database.distance_sums(pick, median_mi)

    def quantiles_mi(self, pick: Pick, shares: Sequence[float]) -> list[float]:
        """Return the quantiles of the picked workers' distances, in miles, to a hundredth of a mile."""
        mapped = self._mapped(pick)
        step, n = mapped.by_step(100.0) if mapped is not None else self._database.by_step(pick, 100)
        running = np.cumsum(n)
        at = np.searchsorted(running, np.clip(shares, 0.0, 1.0) * running[-1], side="left")
        return [float(step[place]) / 100 for place in at]

    def median_mi(self, pick: Pick) -> float | None:
        """Return the median distance of the picked workers, in miles; None without workers.

        Only the mile that contains it is read in detail, so that distances are never all in memory.
        """
        if (mapped := self._mapped(pick)) is not None:
            return _median_by_mile(mapped.by_mile(), mapped)
        database = self._database
        return _median_of(*database.by_step(pick, 1), lambda *asked: database.within_mile(pick, *asked))

    def matrix(self, pick: Pick, home_code: Blocks, work_code: Blocks) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield workers by the codes of their home and work block, most first: (home, work, workers), in parts.

        Parameters
        ----------
        pick : Pick
        home_code, work_code : int32[blocks]
            Code of each block in the result; no code of a picked commute is below 0.
        """
        if (mapped := self._mapped(pick)) is None:
            yield from self._database.matrix(pick, home_code, work_code, _VECTORS)
            return
        if (
            pick.filters == Filters()
            and self._fewer(pick) is not None
            and home_code.min() >= 0 <= work_code.min()
        ):
            codes = _Same(home_code), _Same(work_code)
            whole = most_first(self._sum(pick, codes, lambda some: some.by_codes(home_code, work_code)))
        else:
            whole = mapped.matrix(home_code, work_code)
        for part_of_all in parts_of(whole, _VECTORS * _VECTOR_ROWS):
            watch.check()
            yield part_of_all

    def places(self, pick: Pick, end: Side) -> Places:
        """Return the place of each worker's `end` as float32 `lon_deg`, `lat_deg`, without homes outside the area."""
        return self._database.places(pick, end)

    def _is_mapped(self, pick: Pick) -> bool:
        """Return whether the commutes of a pick are in mapped columns."""
        return self._columns is not None and not pick.filters.attributes

    def _mapped(self, pick: Pick) -> PickedCommutes | None:
        """Return the picked commutes as columns; None if only the database can pick them."""
        watch.check()
        if self._columns is None or pick.filters.attributes:
            return None
        last = self._last
        if last is not None and last[0].is_same(pick):
            return last[1]
        found = self._columns.pick(pick.sorted_side, pick.work, pick.home, pick.filters.segments)
        if found.size <= _MOST_KEPT:
            self._last = pick, found
        return found

    def _sum(self, pick: Pick, what: Hashable, sum_of: Callable[[PickedCommutes], Ints]) -> Ints:
        """Return a sum of mapped commutes, whatever the filters of their pick; the sums of everywhere are kept.

        Of an area with most commutes, only those of all others are read, and taken from those of everywhere.
        """

        def summed(some: Pick) -> Ints:
            mapped = self._mapped(some)
            assert mapped is not None, "the caller has asked whether they are mapped"
            return sum_of(mapped)

        pick = _without_filters(pick)
        is_everywhere = pick.work is None and pick.home is None
        fewer = None if is_everywhere else self._fewer(pick)
        if fewer is None and not is_everywhere:
            return summed(pick)
        everywhere = self._of_everywhere.get_or_make(what, lambda: summed(Pick()))
        return everywhere if fewer is None else everywhere - summed(fewer)

    def _fewer(self, pick: Pick) -> Pick | None:
        """Return the pick of all other commutes, if it is by one end alone and has most of the mapped ones."""
        if self._columns is None or (pick.work is None) == (pick.home is None):
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


def _without_filters(pick: Pick) -> Pick:
    return replace(pick, filters=replace(pick.filters, age=(), earnings=(), industry=()))


def _are_whole(edges_mi: Sequence[float]) -> bool:
    return all(float(edge).is_integer() for edge in edges_mi)


def _by_band(by_mile: Ints, edges_mi: Sequence[float]) -> Ints:
    """Return sums by distance band from those by whole miles, if the edges are whole miles."""
    ends = [0, *map(int, edges_mi), by_mile.shape[0]]
    return np.stack([by_mile[low:high].sum(axis=0) for low, high in pairwise(ends)])


def _median_by_mile(by_mile: Ints, mapped: PickedCommutes) -> float | None:
    return _median_of(np.arange(by_mile.size), by_mile, mapped.within_mile)


def _median_of(
    mile: npt.NDArray[np.integer],
    workers: Ints,
    within_mile: Callable[[int, Ints], npt.NDArray[np.float64]],
) -> float | None:
    """Return the median distance of workers whose numbers are known for each mile, ascending.

    The last argument returns distances within a mile by their ranks.
    """
    n, running = int(workers.sum()), np.cumsum(workers)
    if n == 0:
        return None
    ranks = np.array([(n - 1) // 2, n // 2])  # of the middle workers, from 0
    places = np.searchsorted(running, ranks, side="right")
    middle = [
        within_mile(int(mile[place]), ranks[places == place] - running[place] + workers[place])
        for place in np.unique(places)
    ]
    return float(np.concatenate(middle).mean())
