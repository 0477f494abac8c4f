"""The synthetic workers of one release as a DuckDB table, and the questions every view asks of it.

One row is one synthetic worker. A small release is held in memory; a large one is read from its files at
each question. Text from outside never becomes SQL: areas arrive as block positions, bands as bound numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import duckdb
import numpy
import pandas
import pyarrow

from geodata.distance import EARTH_RADIUS_MI
from geodata.store import Store
from mapapp.url_state import Side

BANDS: Final = (
    "Same block",
    "Under 1 mile",
    "1 to 4 miles",
    "4 to 10 miles",
    "10 to 25 miles",
    "25 to 100 miles",
    "100 to 500 miles",
    "500 miles or more",
)
BAND_EDGES_MI: Final = (1.0, 4.0, 10.0, 25.0, 100.0, 500.0)  # METHOD section 9; a band has its lower edge
IN_MEMORY_ROWS: Final = 20_000_000  # about 32 bytes a row

_COLUMNS: Final = {"work": ("destination_index", "work"), "home": ("origin_index", "home")}
_OTHER: Final[dict[Side, Side]] = {"work": "home", "home": "work"}

_PLACES: Final = """
CREATE TABLE places AS
SELECT file_row_number::INTEGER AS block_index, tract_index, elsewhere,
       radians(lon_deg) AS lon, radians(lat_deg) AS lat
FROM read_parquet($blocks, file_row_number = true)
"""
_COMMUTES: Final = """
CREATE {kind} commutes AS
SELECT p.destination_index, p.origin_index, p.segment,
       p.home_lon_deg, p.home_lat_deg, p.work_lon_deg, p.work_lat_deg,
       CASE WHEN p.destination_index = p.origin_index THEN 0.0 ELSE
       2 * {radius} * asin(sqrt(least(1.0,
           pow(sin((h.lat - w.lat) / 2), 2) + cos(h.lat) * cos(w.lat) * pow(sin((h.lon - w.lon) / 2), 2)
       ))) END AS distance_mi
FROM read_parquet('{points}') p
JOIN places w ON w.block_index = p.destination_index
JOIN places h ON h.block_index = p.origin_index
"""


@dataclass(frozen=True, slots=True)
class Question:
    """Whose commutes: those with their `side` end in `blocks`, of the kept bands.

    Attributes
    ----------
    side : {"work", "home"}
        Which end of a commute lies in `blocks`.
    blocks : numpy.ndarray of int32 or None
        Positions in `blocks`, ascending; None for every block.
    age, earnings, industry : sequence of int
        Bands 1..3 to keep; empty for all.
    """

    side: Side
    blocks: Any
    age: Sequence[int] = ()
    earnings: Sequence[int] = ()
    industry: Sequence[int] = ()

    @property
    def segments(self) -> list[int]:
        """Joint segments 0..26 that are kept."""
        every = (1, 2, 3)
        return [
            (age - 1) * 9 + (earnings - 1) * 3 + industry - 1
            for age in self.age or every
            for earnings in self.earnings or every
            for industry in self.industry or every
        ]


@dataclass(frozen=True, slots=True)
class Summary:
    """Numbers about the commutes a question picks.

    Attributes
    ----------
    workers : int
        How many synthetic workers.
    median_mi : float
        Median great-circle distance, miles; NaN without workers.
    within_10_mi : int
        Workers with a distance below 10 miles.
    inside : int
        Workers whose other end lies in the chosen blocks too.
    elsewhere : int
        Workers whose home is an elsewhere unit, so that only its state is known.
    bands : pandas.DataFrame
        `band` (text) and `workers`, one row a distance band, in order.
    tracts : pandas.DataFrame
        `tract_index` and `workers` at the other end (at the `side` end without chosen blocks), most first.
    """

    workers: int
    median_mi: float
    within_10_mi: int
    inside: int
    elsewhere: int
    bands: Any
    tracts: Any


class Commutes:
    """The workers of one release; may be asked from several threads at once."""

    def __init__(self, store: Store) -> None:
        self._connection = duckdb.connect(":memory:")
        self._connection.execute(_PLACES, {"blocks": str(store.file("blocks"))})
        rows = store.manifest["files"]["points.parquet"]["rows"]
        self.in_memory = rows <= IN_MEMORY_ROWS
        self._connection.execute(
            _COMMUTES.format(
                kind="TABLE" if self.in_memory else "VIEW",
                radius=repr(EARTH_RADIUS_MI),
                points=str(store.file("points")).replace("'", "''"),  # a view takes no parameter
            )
        )
        self._lock_down(store)

    def _lock_down(self, store: Store) -> None:
        """From here on nothing but this release's files can be read, and no setting changed."""
        for statement in (
            f"SET allowed_paths = ['{str(store.file('points')).replace(chr(39), chr(39) * 2)}']",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            self._connection.execute(statement)

    @contextmanager
    def _picked(self, question: Question) -> Iterator[Any]:
        """Yield a cursor with a table `picked`: the other end's block, the distance, one row a worker."""
        cursor = self._connection.cursor()
        try:
            where = self._where(cursor, question)
            kept = question.side if question.blocks is None else _OTHER[question.side]
            cursor.execute(
                f"CREATE TEMP TABLE picked AS SELECT {_COLUMNS[kept][0]} AS other_index, origin_index, "
                f"distance_mi FROM commutes WHERE {where}",
                {"segments": question.segments},
            )
            yield cursor
        finally:
            cursor.close()

    def _where(self, cursor: Any, question: Question) -> str:
        conditions = ["list_contains($segments, segment)"]
        if question.blocks is not None:
            chosen = pyarrow.table({"block_index": numpy.asarray(question.blocks, dtype=numpy.int32)})
            cursor.register("chosen", chosen)
            conditions.append(f"{_COLUMNS[question.side][0]} IN (SELECT block_index FROM chosen)")
        return " AND ".join(conditions)

    def summary(self, question: Question) -> Summary:
        """Count, median, bands and tracts of the commutes that a question picks."""
        with self._picked(question) as cursor:
            inside = "count(*) FILTER (other_index IN (SELECT block_index FROM chosen))"
            row = cursor.execute(
                "SELECT count(*), median(distance_mi), count(*) FILTER (distance_mi < 10), "
                + (inside if question.blocks is not None else "count(*)")
                + ", count(*) FILTER (elsewhere) FROM picked JOIN places ON block_index = origin_index"
            ).fetchone()
            return Summary(
                workers=row[0],
                median_mi=float("nan") if row[1] is None else float(row[1]),
                within_10_mi=row[2],
                inside=row[3],
                elsewhere=row[4],
                bands=_band_frame(cursor),
                tracts=cursor.execute(
                    "SELECT tract_index, count(*)::BIGINT AS workers FROM picked "
                    "JOIN places ON block_index = other_index GROUP BY tract_index ORDER BY workers DESC, tract_index"
                ).df(),
            )

    def points(self, question: Question) -> dict[str, Any]:
        """Where the other ends are: float32 arrays `lon_deg`, `lat_deg`; elsewhere homes have no place.

        Without chosen blocks they are the ends on the `side` itself, as in `summary`.
        """
        cursor = self._connection.cursor()
        try:
            where = self._where(cursor, question)
            kept = question.side if question.blocks is None else _OTHER[question.side]
            prefix = _COLUMNS[kept][1]
            found = cursor.execute(
                f"SELECT {prefix}_lon_deg AS lon_deg, {prefix}_lat_deg AS lat_deg FROM commutes "
                f"WHERE {where} AND NOT isnan({prefix}_lon_deg)",
                {"segments": question.segments},
            ).fetchnumpy()
            return {name: numpy.ascontiguousarray(array) for name, array in found.items()}
        finally:
            cursor.close()


def _band_frame(cursor: Any) -> Any:
    cases = " ".join(
        f"WHEN distance_mi < {edge!r} THEN {band}" for band, edge in enumerate(BAND_EDGES_MI, start=1)
    )
    found = dict(
        cursor.execute(
            f"SELECT CASE WHEN distance_mi = 0 THEN 0 {cases} ELSE {len(BANDS) - 1} END AS band, count(*) "
            "FROM picked GROUP BY band"
        ).fetchall()
    )
    return pandas.DataFrame({"band": BANDS, "workers": [found.get(band, 0) for band in range(len(BANDS))]})
