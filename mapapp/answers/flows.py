"""Counts of commutes, read from the prepared files. Every analysis is built from the few queries here.

Commutes of a release that is not too large are added up in mapped columns (`mapapp.answers.commute_columns`), which
takes much less time. All others, and workers picked by further attributes, are counted by DuckDB, with the same
results. Nothing is held in memory there: a query reads only the columns and row groups that it needs. Outside text
never becomes SQL: areas arrive as block positions, bands as integers, edges as bound parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias, cast

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow

from geodata.schema import N_SEGMENTS
from geodata.store import Store
from mapapp.answers import watch
from mapapp.answers.attributes import JOB_ATTRIBUTES, Attribute, Attributes
from mapapp.answers.commute_columns import CommuteColumns, PickedCommutes, parts_of
from mapapp.answers.prepared import ATTRIBUTE, N_OCTANTS, Prepared
from mapapp.errors import UsageError
from mapapp.question.fields import Side
from mapapp.question.filters import Filters, check_filters

Ints = npt.NDArray[np.int64]
Blocks = npt.NDArray[np.int32]
_Fetched: TypeAlias = dict[str, npt.NDArray[Any]]
"""Columns of a result by name; their types are those of the query."""
Places = dict[str, npt.NDArray[np.float32]]
"""Places of workers: `lon_deg` and `lat_deg`."""
"""Positions in `blocks`, ascending, without duplicates."""

_ENDS: Final[tuple[Side, Side]] = ("work", "home")
MEAN_LIMIT_MI: Final = 100.0
"""Means cover only shorter commutes; longer ones are few, and the prior draws too many of them."""
_NEAR: Final = f"WHERE distance_mi < {MEAN_LIMIT_MI}"
_MOST_KEPT: Final = 1_000_000
"""Most commutes that are kept for the next question, which is often about the same ones: 32 bytes each at most."""
_VECTORS: Final = 49
_VECTOR_ROWS: Final = 2_048
"""One part of a matrix has `_VECTORS` times as many rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    """A selection of commutes by workplace, home and characteristics.

    Attributes
    ----------
    work, home : int32 array or None
        Blocks that must contain the workplace and the home; None for anywhere.
    filters : Filters
        Which workers.
    """

    work: Blocks | None = None
    home: Blocks | None = None
    filters: Filters = field(default_factory=Filters)

    def __post_init__(self) -> None:
        check_filters(self.filters)

    @classmethod
    def at(cls, side: Side, blocks: Blocks | None, filters: Filters) -> Pick:
        """Select the commutes whose `side` end is in `blocks`; UsageError if the side does not exist."""
        if side not in _ENDS:
            raise UsageError(f"side {side!r}: choose {' or '.join(_ENDS)}")
        return cls(work=blocks, filters=filters) if side == "work" else cls(home=blocks, filters=filters)

    def is_same(self, other: Pick) -> bool:
        """Return whether another pick has the very same blocks and equal filters, without comparing blocks."""
        return self.work is other.work and self.home is other.home and self.filters == other.filters

    @property
    def sorted_side(self) -> Side:
        """The copy to read: the one sorted by the end with fewer blocks."""
        if self.work is None or (self.home is not None and self.home.size < self.work.size):
            return "work" if self.home is None else "home"
        return "work"


class Distances(NamedTuple):
    """Sums over the commutes of a pick.

    Attributes
    ----------
    workers : int64[bands, 9]
        By distance band and direction; the last column is for commutes between blocks at the same place.
    n_near : int
        Workers whose commute is under 100 miles.
    near_mi : float
        Total miles of these workers.
    """

    workers: Ints
    n_near: int
    near_mi: float

    @property
    def mean_near_mi(self) -> float | None:
        """Mean of the commutes under 100 miles; None without such commutes."""
        return self.near_mi / self.n_near if self.n_near else None


class Flows:
    """The commutes of one release; safe to use from several threads at once."""

    def __init__(self, prepared: Prepared, store: Store, attributes: Attributes) -> None:
        self._attributes = attributes
        self._n_blocks = int(store.manifest["files"]["blocks.parquet"]["rows"])
        self._last: tuple[Pick, PickedCommutes] | None = None
        self._columns = prepared.columns and CommuteColumns(*prepared.columns, self._n_blocks)
        self._connection = duckdb.connect(":memory:")
        files = {"by_work": prepared.by_work, "by_home": prepared.by_home, "points": store.file("points")}
        if attributes.further:
            files["records"] = store.file("records")
        for name, file in files.items():
            self._connection.execute(f"CREATE VIEW {name} AS FROM read_parquet({_quoted(file)})")
        if attributes.further:  # row i of `records` belongs to row i of `points`
            columns = ", ".join(f'"{each.name}" AS "{ATTRIBUTE}{each.name}"' for each in attributes.further)
            self._connection.execute(
                f"CREATE VIEW attribute_points AS FROM points POSITIONAL JOIN (SELECT {columns} FROM records)"
            )
        allowed = ", ".join(_quoted(file) for file in files.values())
        for statement in (
            # From here on, only these files can be read, and settings cannot be changed.
            "SET python_enable_replacements = false",
            f"SET allowed_paths = [{allowed}]",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            self._connection.execute(statement)

    def by_segment(self, pick: Pick) -> Ints:
        """Return workers of each joint segment: int64[27].

        Of an area with most blocks, only the workers of all others are read, and taken from those of everywhere.
        """
        if pick.work is None and pick.home is None and not pick.filters.attributes:
            kept = np.zeros(N_SEGMENTS, dtype=np.int64)
            kept[list(pick.filters.segments)] = 1
            return self._of_everywhere * kept
        if pick.home is None and pick.work is not None and self._is_most(pick.work):
            others = replace(pick, work=self._others(pick.work))
            return self.by_segment(replace(pick, work=None)) - self._by_segment(others)
        if pick.work is None and pick.home is not None and self._is_most(pick.home):
            others = replace(pick, home=self._others(pick.home))
            return self.by_segment(replace(pick, home=None)) - self._by_segment(others)
        return self._by_segment(pick)

    @cached_property
    def _of_everywhere(self) -> Ints:
        return self._by_segment(Pick())

    def _by_segment(self, pick: Pick) -> Ints:
        if (mapped := self._mapped(pick)) is not None:
            return mapped.by_segment()
        found = self._ask(pick, "segment, sum(workers)::BIGINT AS n", "GROUP BY segment")
        return _spread(found["segment"], found["n"], N_SEGMENTS)

    def of_pair(self, pick: Pick, edges_mi: Sequence[float]) -> tuple[Ints, Ints, float | None]:
        """Return workers by joint segment, int64[27], and by distance band, and their median distance in miles.

        The first two, and the mile that has the median, are read at once.
        """
        if (mapped := self._mapped(pick)) is not None:
            bands = mapped.by_band(mapped.bands(edges_mi), len(edges_mi) + 1)
            return mapped.by_segment(), bands, _median_of(*mapped.by_step(1.0), mapped.within_mile)
        with self._cursor(pick) as cursor:
            found = _fetched(
                cursor.execute(
                    "SELECT segment, band, mile, sum(workers)::BIGINT AS n FROM ("
                    f"SELECT segment, {_band(len(edges_mi), own_block=False)} AS band, "
                    "floor(distance_mi)::INTEGER AS mile, workers "
                    f"FROM by_{pick.sorted_side} WHERE {self._where(pick)}) "
                    "GROUP BY GROUPING SETS ((segment), (band), (mile)) ORDER BY mile",
                    [float(edge) for edge in edges_mi],
                )
            )
        columns = {
            name: np.ma.filled(found[name].astype(np.int64), -1) for name in ("segment", "band", "mile")
        }
        mine = {name: column >= 0 for name, column in columns.items()}
        segments, bands = (
            _spread(columns[name][mine[name]], found["n"][mine[name]], size)
            for name, size in (("segment", N_SEGMENTS), ("band", len(edges_mi) + 1))
        )
        miles = columns["mile"][mine["mile"]], found["n"][mine["mile"]]
        return segments, bands, _median_of(*miles, lambda mile: self._within_mile(pick, mile))

    def by_values(self, pick: Pick, names: Sequence[str]) -> Ints:
        """Return workers by the values of some attributes: int64, with one axis for each attribute.

        Raises
        ------
        UsageError
            If the publication does not have an attribute.
        """
        attributes = [self._attributes[name] for name in names]
        if (
            not any(each.is_further for each in attributes)
            and self._columns is not None
            and not pick.filters.attributes
        ):
            cube = self.by_segment(pick).reshape([each.size for each in JOB_ATTRIBUTES])
            axes = [[each.name for each in JOB_ATTRIBUTES].index(name) for name in names]
            return np.asarray(np.einsum(cube, [0, 1, 2], axes))
        columns = [f"{_value_of(each)} AS value_{place}" for place, each in enumerate(attributes)]
        found = self._ask(pick, f"{', '.join(columns)}, sum(workers)::BIGINT AS n", "GROUP BY ALL")
        counts = np.zeros([each.size for each in attributes], dtype=np.int64)
        counts[tuple(found[f"value_{place}"].astype(np.int64) for place in range(len(names)))] = found["n"]
        return counts

    def rows(self, pick: Pick, *, first: int, n: int) -> tuple[Blocks, Blocks, Ints]:
        """Return some of the picked commutes, ordered by workplace, then home and values.

        Returns
        -------
        work, home : int32[n]
            Blocks.
        values : int64[n, attributes]
            Position of the value of each attribute of the publication.
        """
        columns = [f"{_value_of(each)} AS value_{place}" for place, each in enumerate(self._attributes)]
        found = self._ask(
            pick, f"work, home, {', '.join(columns)}", f"ORDER BY ALL LIMIT {int(n)} OFFSET {int(first)}"
        )
        values = [found[f"value_{place}"].astype(np.int64) for place in range(len(columns))]
        return found["work"], found["home"], np.stack(values, axis=1)

    def by_segment_within(self, pick: Pick, end: Side, blocks: Blocks) -> Ints:
        """Return workers with their `end` outside and within `blocks`, by joint segment: int64[2, 27]."""
        if (mapped := self._mapped(pick)) is not None:
            return mapped.by_segment_within(end, blocks)
        with self._cursor(pick, within=blocks) as cursor:
            found = _fetched(
                cursor.execute(
                    f"SELECT {end} IN (SELECT block FROM within) AS inside, segment, sum(workers)::BIGINT AS n "
                    f"FROM by_{pick.sorted_side} WHERE {self._where(pick)} GROUP BY ALL"
                )
            )
        row = found["inside"].astype(np.int64) * N_SEGMENTS + found["segment"]
        return _spread(row, found["n"], 2 * N_SEGMENTS).reshape(2, N_SEGMENTS)

    def by_block(self, pick: Pick, end: Side) -> tuple[Blocks, Ints]:
        """Return the blocks with an `end` of the picked commutes, ascending, and their numbers of workers."""
        if (mapped := self._mapped(pick)) is not None:
            return mapped.by_block(end)
        found = self._ask(pick, f"{end} AS block, sum(workers)::BIGINT AS n", "GROUP BY block ORDER BY block")
        return found["block"], found["n"]

    def by_block_and_segment(self, pick: Pick, end: Side) -> tuple[Blocks, npt.NDArray[np.int8], Ints]:
        """Return workers by the block of their `end` and by joint segment: three arrays of equal length."""
        if (mapped := self._mapped(pick)) is not None:
            return mapped.by_block_and_segment(end)
        found = self._ask(pick, f"{end} AS block, segment, sum(workers)::BIGINT AS n", "GROUP BY ALL")
        return found["block"], found["segment"], found["n"]

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
        if (mapped := self._mapped(pick)) is not None:
            return mapped.by_code_and_segment(end, code, n_codes)
        block, segment, n = self.by_block_and_segment(pick, end)
        cell = code[block].astype(np.int64) * N_SEGMENTS + segment
        found = np.bincount(cell, n, n_codes * N_SEGMENTS)  # sums of whole numbers, exact
        return found.astype(np.int64).reshape(n_codes, N_SEGMENTS)

    def by_pair(self, pick: Pick) -> tuple[Blocks, npt.NDArray[np.int8], Blocks, Ints]:
        """Return workers by workplace block, joint segment and home block: four arrays of equal length."""
        if (mapped := self._mapped(pick)) is not None:
            return mapped.by_pair()
        found = self._ask(pick, "work, segment, home, sum(workers)::BIGINT AS n", "GROUP BY ALL")
        return found["work"], found["segment"], found["home"], found["n"]

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
        n_bands = len(edges_mi) + 1 + own_block
        if (mapped := self._mapped(pick)) is not None:
            bands = mapped.bands(edges_mi)
            if own_block:
                bands = np.where(mapped.distance_mi == 0, 0, bands + 1).astype(np.int8)
            cells = mapped.by_cell(bands, n_bands, mapped.column(f"octant_{side}"), N_OCTANTS + 1)
            return Distances(cells, *mapped.miles_below(MEAN_LIMIT_MI))
        band = _band(len(edges_mi), own_block=own_block)
        with self._cursor(pick) as cursor:
            found = _fetched(
                cursor.execute(
                    f"SELECT {band} AS band, octant_{side} AS octant, sum(workers)::BIGINT AS n, "
                    f"coalesce(sum(workers) FILTER ({_NEAR}), 0)::BIGINT AS near, "
                    f"coalesce(sum(workers * distance_mi) FILTER ({_NEAR}), 0) AS miles "
                    f"FROM by_{pick.sorted_side} WHERE {self._where(pick)} GROUP BY ALL",
                    [float(edge) for edge in edges_mi],
                )
            )
        cell = found["band"].astype(np.int64) * (N_OCTANTS + 1) + found["octant"] % (N_OCTANTS + 1)
        workers = _spread(cell, found["n"], n_bands * (N_OCTANTS + 1)).reshape(n_bands, N_OCTANTS + 1)
        return Distances(workers, int(found["near"].sum()), float(found["miles"].sum()))

    def distances_by_workplace(
        self, pick: Pick, side: Side, edges_mi: Sequence[float]
    ) -> tuple[Blocks, Ints, Ints, Ints]:
        """Return workers by workplace block, distance band and direction (8: none): four arrays of equal length."""
        if (mapped := self._mapped(pick)) is not None:
            return mapped.by_workplace_and_cell(
                mapped.bands(edges_mi), len(edges_mi) + 1, mapped.column(f"octant_{side}"), N_OCTANTS + 1
            )
        with self._cursor(pick) as cursor:
            found = _fetched(
                cursor.execute(
                    f"SELECT work, {_band(len(edges_mi), own_block=False)} AS band, octant_{side} AS octant, "
                    f"sum(workers)::BIGINT AS n FROM by_{pick.sorted_side} WHERE {self._where(pick)} GROUP BY ALL",
                    [float(edge) for edge in edges_mi],
                )
            )
        octant = found["octant"].astype(np.int64) % (N_OCTANTS + 1)
        return found["work"], found["band"].astype(np.int64), octant, found["n"]

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
        with self._cursor(pick) as cursor:
            found = _fetched(
                cursor.execute(
                    "SELECT work, sum(workers)::BIGINT AS n, "
                    "coalesce(sum(workers) FILTER (WHERE distance_mi < $1), 0)::BIGINT AS below, "
                    f"coalesce(sum(workers) FILTER ({_NEAR}), 0)::BIGINT AS near, "
                    f"coalesce(sum(workers * distance_mi) FILTER ({_NEAR}), 0) AS miles, "
                    f"coalesce(sum(workers * distance_mi * distance_mi) FILTER ({_NEAR}), 0) AS squares "
                    f"FROM by_{pick.sorted_side} WHERE {self._where(pick)} GROUP BY work",
                    [float(median_mi)],
                )
            )
        return found["work"], [found[name] for name in ("n", "below", "near", "miles", "squares")]

    def quantiles_mi(self, pick: Pick, shares: Sequence[float]) -> list[float]:
        """Return the quantiles of the picked workers' distances, in miles, to a hundredth of a mile."""
        if (mapped := self._mapped(pick)) is not None:
            step, n = mapped.by_step(100.0)
        else:
            found = self._ask(
                pick,
                "floor(distance_mi * 100)::INTEGER AS step, sum(workers)::BIGINT AS n",
                "GROUP BY step ORDER BY step",
            )
            step, n = found["step"], found["n"]
        running = np.cumsum(n)
        at = np.searchsorted(running, np.clip(shares, 0.0, 1.0) * running[-1], side="left")
        return [float(step[place]) / 100 for place in at]

    def median_mi(self, pick: Pick) -> float | None:
        """Return the median distance of the picked workers, in miles; None without workers.

        Only the mile that contains it is read in detail, so that distances are never all in memory.
        """
        if (mapped := self._mapped(pick)) is not None:
            return _median_of(*mapped.by_step(1.0), mapped.within_mile)
        found = self._ask(
            pick,
            "floor(distance_mi)::INTEGER AS mile, sum(workers)::BIGINT AS n",
            "GROUP BY mile ORDER BY mile",
        )
        return _median_of(found["mile"], found["n"], lambda mile: self._within_mile(pick, mile))

    def _within_mile(self, pick: Pick, mile: int) -> tuple[npt.NDArray[np.float64], Ints]:
        """Return the distances from `mile` to `mile` + 1 miles, ascending, and the workers of each."""
        found = self._ask(
            pick,
            "distance_mi, sum(workers)::BIGINT AS n",
            f"AND distance_mi >= {mile} AND distance_mi < {mile + 1} GROUP BY distance_mi ORDER BY distance_mi",
        )
        return found["distance_mi"], found["n"]

    def matrix(self, pick: Pick, home_code: Blocks, work_code: Blocks) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield workers by the codes of their home and work block, most first: (home, work, workers), in parts.

        Parameters
        ----------
        pick : Pick
        home_code, work_code : int32[blocks]
            Code of each block in the result; no code of a picked commute is below 0.
        """
        if (mapped := self._mapped(pick)) is not None:
            for part_of_all in parts_of(mapped.matrix(home_code, work_code), _VECTORS * _VECTOR_ROWS):
                watch.check()
                yield part_of_all
            return
        with self._cursor(pick) as cursor:
            for name, code in (("home_codes", home_code), ("work_codes", work_code)):
                cursor.register(
                    name, pyarrow.table({"block": np.arange(code.size, dtype=np.int32), "code": code})
                )
            cursor.execute(
                "SELECT h.code AS home_code, w.code AS work_code, sum(workers)::BIGINT AS n "
                f"FROM by_{pick.sorted_side} JOIN home_codes h ON h.block = home "
                f"JOIN work_codes w ON w.block = work WHERE {self._where(pick)} "
                "GROUP BY ALL ORDER BY n DESC, home_code, work_code"
            )
            while len(part := cursor.fetch_df_chunk(_VECTORS)):
                watch.check()
                yield (
                    part["home_code"].to_numpy(np.int64),
                    part["work_code"].to_numpy(np.int64),
                    part["n"].to_numpy(np.int64),
                )

    def places(self, pick: Pick, end: Side) -> Places:
        """Return the place of each worker's `end` as float32 `lon_deg`, `lat_deg`, without homes outside the area."""
        points = "attribute_points" if pick.filters.attributes else "points"
        with self._cursor(pick) as cursor:
            found = _fetched(
                cursor.execute(
                    f"SELECT {end}_lon_deg AS lon_deg, {end}_lat_deg AS lat_deg FROM "
                    f"(SELECT destination_index AS work, origin_index AS home, * FROM {points}) "
                    f"WHERE {self._where(pick)}"
                )
            )
        # Not filtered in DuckDB: it assumes that a Parquet column with numeric statistics has no NaN.
        filled = {name: np.ma.filled(array, np.nan) for name, array in found.items()}
        placed = ~np.isnan(filled["lon_deg"])
        return {name: np.ascontiguousarray(array[placed]) for name, array in filled.items()}

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

    def _ask(self, pick: Pick, columns: str, clauses: str) -> _Fetched:
        with self._cursor(pick) as cursor:
            return _fetched(
                cursor.execute(
                    f"SELECT {columns} FROM by_{pick.sorted_side} WHERE {self._where(pick)} {clauses}"
                )
            )

    @contextmanager
    def _cursor(self, pick: Pick, **blocks: Blocks) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a cursor with a table per selection of blocks: the selected ones, or the others if they are fewer."""
        watch.check()
        cursor = self._connection.cursor()
        try:
            for end in _ENDS:
                chosen = getattr(pick, end)
                if chosen is not None and self._is_most(chosen):
                    blocks[f"not_{end}_blocks"] = self._others(chosen)
                elif chosen is not None:
                    blocks[f"{end}_blocks"] = chosen
            for name, chosen in blocks.items():
                cursor.register(name, pyarrow.table({"block": np.asarray(chosen, dtype=np.int32)}))
            yield cursor
        finally:
            cursor.close()

    def _others(self, blocks: Blocks) -> Blocks:
        """Return all other blocks: ascending."""
        others = np.ones(self._n_blocks, dtype=bool)
        others[blocks] = False
        return np.flatnonzero(others).astype(np.int32)

    def _is_most(self, blocks: Blocks) -> bool:
        return 2 * blocks.size > self._n_blocks

    def _where(self, pick: Pick) -> str:
        """Return the SQL conditions of a pick; bounds on the blocks let DuckDB skip row groups."""
        conditions = ["true"]
        for end in _ENDS:
            blocks: Blocks | None = getattr(pick, end)
            if blocks is None:
                continue
            if not blocks.size:
                return "false"
            first, last = int(blocks[0]), int(blocks[-1])
            conditions.append(f"{end} BETWEEN {first} AND {last}")
            if self._is_most(blocks):
                conditions.append(f"{end} NOT IN (SELECT block FROM not_{end}_blocks)")
            elif blocks.size < last - first + 1:
                conditions.append(f"{end} IN (SELECT block FROM {end}_blocks)")
        kept = pick.filters.segments
        if len(kept) < N_SEGMENTS:
            conditions.append(f"segment IN ({', '.join(map(str, kept))})")
        for name, places in self._attributes.chosen(pick.filters).items():
            conditions.append(f'"{ATTRIBUTE}{name}" IN ({", ".join(map(str, places))})')
        return " AND ".join(conditions)


def _median_of(
    mile: npt.NDArray[np.integer],
    workers: Ints,
    within_mile: Callable[[int], tuple[npt.NDArray[np.float64], Ints]],
) -> float | None:
    """Return the median distance of workers whose numbers are known for each mile, ascending."""
    n, running = int(workers.sum()), np.cumsum(workers)
    if n == 0:
        return None
    ranks = np.array([(n - 1) // 2, n // 2])  # of the middle workers, from 0
    places = np.searchsorted(running, ranks, side="right")
    middle = []
    for place in np.unique(places):
        miles, of_mile = within_mile(int(mile[place]))
        mine = ranks[places == place] - running[place] + workers[place]
        middle.append(miles[np.searchsorted(np.cumsum(of_mile), mine, side="right")])
    return float(np.concatenate(middle).mean())


def _band(n_edges: int, *, own_block: bool) -> str:
    """Return SQL for the distance band of a row; the edges are the first parameters."""
    cases = " ".join(f"WHEN distance_mi < ${place + 1} THEN {place}" for place in range(n_edges))
    band = f"CASE {cases} ELSE {n_edges} END" if n_edges else "0"
    return f"CASE WHEN distance_mi = 0 THEN 0 ELSE 1 + ({band}) END" if own_block else band


_OF_SEGMENT: Final = {"age": "segment // 9", "earnings": "segment // 3 % 3", "industry": "segment % 3"}


def _value_of(attribute: Attribute) -> str:
    """Return SQL for the position of a row's value."""
    return _OF_SEGMENT.get(attribute.name, f'"{ATTRIBUTE}{attribute.name}"')


def _fetched(cursor: duckdb.DuckDBPyConnection) -> _Fetched:
    """Return the columns of a result; no query here asks for categories."""
    return cast(_Fetched, cursor.fetchnumpy())


def _spread(place: npt.NDArray[np.integer], values: Ints, size: int) -> Ints:
    """Return an array of `size` with `values` at their places and 0 elsewhere."""
    result = np.zeros(size, dtype=np.int64)
    result[place] = values
    return result


def _quoted(file: Path) -> str:
    """Return a path as an SQL string."""
    return "'" + str(file).replace("'", "''") + "'"
