"""Counts of commutes by DuckDB, from the prepared files: what `mapapp.answers.commutes.flows` does not read from
columns.

Nothing is held in memory: a query reads only the columns and row groups that it needs. Outside text never becomes SQL:
areas arrive as block positions, bands as integers, edges as bound parameters.

The methods of :class:`CommuteDatabase` return what the methods of `Flows` with the same names do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow

from geodata.store.schema import N_SEGMENTS
from geodata.store.store import Store
from mapapp.answers.commutes.attributes import Attribute, Attributes
from mapapp.answers.commutes.pick import (
    ENDS,
    MEAN_LIMIT_MI,
    Blocks,
    Ints,
    Pick,
    Places,
    all_others,
    is_kept,
    is_most,
)
from mapapp.answers.commutes.prepared import ATTRIBUTE, N_OCTANTS, Prepared
from mapapp.base import watch
from mapapp.question.fields import Side

_Fetched: TypeAlias = dict[str, npt.NDArray[Any]]
"""Columns of a result by name; their types are those of the query."""
_NEAR: Final = f"WHERE distance_mi < {MEAN_LIMIT_MI}"
_OF_SEGMENT: Final = {"age": "segment // 9", "earnings": "segment // 3 % 3", "industry": "segment % 3"}


class CommuteDatabase:
    """The commutes of one release as views of its prepared files; safe to use from several threads at once."""

    def __init__(self, prepared: Prepared, store: Store, attributes: Attributes, n_blocks: int) -> None:
        self._attributes = attributes
        self._n_blocks = n_blocks
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
        """Return workers of each joint segment.

        Of an area with most blocks, only the workers of all others are read, and taken from those of everywhere.
        """
        if pick.work is None and pick.home is None and not pick.filters.attributes:
            return self._of_everywhere * is_kept(pick.filters)
        if pick.home is None and pick.work is not None and is_most(pick.work, self._n_blocks):
            others = replace(pick, work=all_others(pick.work, self._n_blocks))
            return self.by_segment(replace(pick, work=None)) - self._by_segment(others)
        if pick.work is None and pick.home is not None and is_most(pick.home, self._n_blocks):
            others = replace(pick, home=all_others(pick.home, self._n_blocks))
            return self.by_segment(replace(pick, home=None)) - self._by_segment(others)
        return self._by_segment(pick)

    @cached_property
    def _of_everywhere(self) -> Ints:
        return self._by_segment(Pick())

    def _by_segment(self, pick: Pick) -> Ints:
        found = self._ask(pick, "segment, sum(workers)::BIGINT AS n", "GROUP BY segment")
        return _spread(found["segment"], found["n"], N_SEGMENTS)

    def of_pair(self, pick: Pick, edges_mi: Sequence[float]) -> tuple[Ints, Ints, tuple[Ints, Ints]]:
        """Return workers by joint segment, by distance band, and by whole mile: miles, ascending, and workers."""
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
        return segments, bands, (columns["mile"][mine["mile"]], found["n"][mine["mile"]])

    def by_values(self, pick: Pick, attributes: Sequence[Attribute]) -> Ints:
        """Return workers by the values of some attributes."""
        columns = [f"{_value_of(each)} AS value_{place}" for place, each in enumerate(attributes)]
        found = self._ask(pick, f"{', '.join(columns)}, sum(workers)::BIGINT AS n", "GROUP BY ALL")
        counts = np.zeros([each.size for each in attributes], dtype=np.int64)
        places = range(len(attributes))
        counts[tuple(found[f"value_{place}"].astype(np.int64) for place in places)] = found["n"]
        return counts

    def rows(self, pick: Pick, *, first: int, n: int) -> tuple[Blocks, Blocks, Ints]:
        """Return some of the picked commutes."""
        columns = [f"{_value_of(each)} AS value_{place}" for place, each in enumerate(self._attributes)]
        found = self._ask(
            pick, f"work, home, {', '.join(columns)}", f"ORDER BY ALL LIMIT {int(n)} OFFSET {int(first)}"
        )
        values = [found[f"value_{place}"].astype(np.int64) for place in range(len(columns))]
        return found["work"], found["home"], np.stack(values, axis=1)

    def by_segment_within(self, pick: Pick, end: Side, blocks: Blocks) -> Ints:
        """Return workers with their `end` outside and within blocks, by joint segment."""
        found = self._ask(
            pick,
            f"{end} IN (SELECT block FROM within) AS inside, segment, sum(workers)::BIGINT AS n",
            "GROUP BY ALL",
            within=blocks,
        )
        row = found["inside"].astype(np.int64) * N_SEGMENTS + found["segment"]
        return _spread(row, found["n"], 2 * N_SEGMENTS).reshape(2, N_SEGMENTS)

    def by_block(self, pick: Pick, end: Side) -> tuple[Blocks, Ints]:
        """Return the blocks with an `end`, and their numbers of workers."""
        found = self._ask(pick, f"{end} AS block, sum(workers)::BIGINT AS n", "GROUP BY block ORDER BY block")
        return found["block"], found["n"]

    def by_block_and_segment(self, pick: Pick, end: Side) -> tuple[Blocks, npt.NDArray[np.int8], Ints]:
        """Return workers by the block of their `end` and by joint segment."""
        found = self._ask(pick, f"{end} AS block, segment, sum(workers)::BIGINT AS n", "GROUP BY ALL")
        return found["block"], found["segment"], found["n"]

    def by_pair(self, pick: Pick) -> tuple[Blocks, npt.NDArray[np.int8], Blocks, Ints]:
        """Return workers by workplace block, joint segment and home block."""
        found = self._ask(pick, "work, segment, home, sum(workers)::BIGINT AS n", "GROUP BY ALL")
        return found["work"], found["segment"], found["home"], found["n"]

    def distances(
        self, pick: Pick, side: Side, edges_mi: Sequence[float], *, own_block: bool
    ) -> tuple[Ints, int, float]:
        """Return workers by distance band and direction; workers below 100 miles, and the miles of these."""
        n_bands = len(edges_mi) + 1 + own_block
        band = _band(len(edges_mi), own_block=own_block)
        found = self._ask(
            pick,
            f"{band} AS band, octant_{side} AS octant, sum(workers)::BIGINT AS n, "
            f"coalesce(sum(workers) FILTER ({_NEAR}), 0)::BIGINT AS near, "
            f"coalesce(sum(workers * distance_mi) FILTER ({_NEAR}), 0) AS miles",
            "GROUP BY ALL",
            edges_mi,
        )
        cell = found["band"].astype(np.int64) * (N_OCTANTS + 1) + found["octant"] % (N_OCTANTS + 1)
        workers = _spread(cell, found["n"], n_bands * (N_OCTANTS + 1)).reshape(n_bands, N_OCTANTS + 1)
        return workers, int(found["near"].sum()), float(found["miles"].sum())

    def distances_by_workplace(
        self, pick: Pick, side: Side, edges_mi: Sequence[float]
    ) -> tuple[Blocks, Ints, Ints, Ints]:
        """Return workers by workplace block, distance band and direction."""
        band = _band(len(edges_mi), own_block=False)
        found = self._ask(
            pick,
            f"work, {band} AS band, octant_{side} AS octant, sum(workers)::BIGINT AS n",
            "GROUP BY ALL",
            edges_mi,
        )
        octant = found["octant"].astype(np.int64) % (N_OCTANTS + 1)
        return found["work"], found["band"].astype(np.int64), octant, found["n"]

    def distance_sums(self, pick: Pick, median_mi: float) -> tuple[Blocks, list[npt.NDArray[np.float64]]]:
        """Return sums by workplace block for the errors of a median and a mean."""
        found = self._ask(
            pick,
            "work, sum(workers)::BIGINT AS n, "
            "coalesce(sum(workers) FILTER (WHERE distance_mi < $1), 0)::BIGINT AS below, "
            f"coalesce(sum(workers) FILTER ({_NEAR}), 0)::BIGINT AS near, "
            f"coalesce(sum(workers * distance_mi) FILTER ({_NEAR}), 0) AS miles, "
            f"coalesce(sum(workers * distance_mi * distance_mi) FILTER ({_NEAR}), 0) AS squares",
            "GROUP BY work",
            [median_mi],
        )
        return found["work"], [found[name] for name in ("n", "below", "near", "miles", "squares")]

    def by_step(self, pick: Pick, steps_per_mile: int) -> tuple[Ints, Ints]:
        """Return the distances of workers in whole steps, ascending, and the workers of each."""
        found = self._ask(
            pick,
            f"floor(distance_mi * {int(steps_per_mile)})::INTEGER AS step, sum(workers)::BIGINT AS n",
            "GROUP BY step ORDER BY step",
        )
        return found["step"], found["n"]

    def within_mile(self, pick: Pick, mile: int, ranks: Ints) -> npt.NDArray[np.float64]:
        """Return the distances of workers with distances from `mile` to `mile` + 1 miles, by their ranks, from 0."""
        found = self._ask(
            pick,
            "distance_mi, sum(workers)::BIGINT AS n",
            f"AND distance_mi >= {mile} AND distance_mi < {mile + 1} GROUP BY distance_mi ORDER BY distance_mi",
        )
        at = np.searchsorted(np.cumsum(found["n"]), ranks, side="right")
        return np.asarray(found["distance_mi"][at])

    def matrix(
        self, pick: Pick, home_code: Blocks, work_code: Blocks, n_vectors: int
    ) -> Iterator[tuple[Ints, Ints, Ints]]:
        """Yield workers by the codes of their home and work block, in parts of some of DuckDB's vectors."""
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
            while len(part := cursor.fetch_df_chunk(n_vectors)):
                watch.check()
                yield (
                    part["home_code"].to_numpy(np.int64),
                    part["work_code"].to_numpy(np.int64),
                    part["n"].to_numpy(np.int64),
                )

    def places(self, pick: Pick, end: Side) -> Places:
        """Return the place of each worker's `end`."""
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

    def _ask(
        self, pick: Pick, columns: str, clauses: str, miles: Sequence[float] = (), **blocks: Blocks
    ) -> _Fetched:
        """Return columns of the picked commutes; `miles` are bound as $1, $2, …, and `blocks` as in `_cursor`."""
        with self._cursor(pick, **blocks) as cursor:
            return _fetched(
                cursor.execute(
                    f"SELECT {columns} FROM by_{pick.sorted_side} WHERE {self._where(pick)} {clauses}",
                    [float(each) for each in miles],
                )
            )

    @contextmanager
    def _cursor(self, pick: Pick, **blocks: Blocks) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a cursor with a table per selection of blocks: the selected ones, or the others if they are fewer."""
        watch.check()
        cursor = self._connection.cursor()
        try:
            for end in ENDS:
                chosen = getattr(pick, end)
                if chosen is not None and is_most(chosen, self._n_blocks):
                    blocks[f"not_{end}_blocks"] = all_others(chosen, self._n_blocks)
                elif chosen is not None:
                    blocks[f"{end}_blocks"] = chosen
            for name, chosen in blocks.items():
                cursor.register(name, pyarrow.table({"block": np.asarray(chosen, dtype=np.int32)}))
            yield cursor
        finally:
            cursor.close()

    def _where(self, pick: Pick) -> str:
        """Return the SQL conditions of a pick; bounds on the blocks let DuckDB skip row groups."""
        conditions = ["true"]
        for end in ENDS:
            blocks: Blocks | None = getattr(pick, end)
            if blocks is None:
                continue
            if not blocks.size:
                return "false"
            first, last = int(blocks[0]), int(blocks[-1])
            conditions.append(f"{end} BETWEEN {first} AND {last}")
            if is_most(blocks, self._n_blocks):
                conditions.append(f"{end} NOT IN (SELECT block FROM not_{end}_blocks)")
            elif blocks.size < last - first + 1:
                conditions.append(f"{end} IN (SELECT block FROM {end}_blocks)")
        kept = pick.filters.segments
        if len(kept) < N_SEGMENTS:
            conditions.append(f"segment IN ({', '.join(map(str, kept))})")
        for name, places in self._attributes.chosen(pick.filters).items():
            conditions.append(f'"{ATTRIBUTE}{name}" IN ({", ".join(map(str, places))})')
        return " AND ".join(conditions)


def _band(n_edges: int, *, own_block: bool) -> str:
    """Return SQL for the distance band of a row; the edges are the first parameters."""
    cases = " ".join(f"WHEN distance_mi < ${place + 1} THEN {place}" for place in range(n_edges))
    band = f"CASE {cases} ELSE {n_edges} END" if n_edges else "0"
    return f"CASE WHEN distance_mi = 0 THEN 0 ELSE 1 + ({band}) END" if own_block else band


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
