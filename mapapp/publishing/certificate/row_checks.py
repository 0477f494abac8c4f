"""Checks of the rows of a release: whether jobs are counts of blocks, and points those of the jobs.

Rows come workplace by workplace (`rows_in_order`), and each check remembers only what it has found wrong so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pandas
import shapely

from engine.points import CellTriangles, place_points
from engine.streams import SecretKey
from geodata.distance import KM_PER_MI, distance_mi
from geodata.schema import N_SEGMENTS
from geodata.store import Store
from mapapp.publishing.certificate.rows_in_order import frames_by_workplace
from mapapp.publishing.certificate.terms import CertificateCheck
from mapapp.publishing.inputs import segment_of, synthesizers_of

__all__ = [
    "JobsCheck",
    "KeyCheck",
    "PlacesCheck",
    "PointsCheck",
    "ReleaseRows",
    "RowsOfJobs",
    "SamePoints",
    "SynthesizerCounts",
    "compared_with_test_key",
    "release_rows",
]

Column = npt.NDArray[np.generic]

_SAMPLE: Final = 20_000
_BESIDE_DEG: Final = 2e-5  # about 2 m: points are stored in single precision
_CLOSE_M: Final = 2.0
_MOST_SAME: Final = 0.01
"""Share of points that may be within `_CLOSE_M` of those of the test key: blocks are much larger."""
_MOST_BY_CHANCE: Final = 3
"""Points that may agree in a small publication, where 1 % is less than one coincidence; at most half of them."""


class RowsOfJobs(Protocol):
    """All rows of some workplaces in `jobs` and `points`, which releases and worker records have."""

    @property
    def jobs(self) -> pandas.DataFrame:
        """Rows of `jobs`."""
        ...

    @property
    def points(self) -> pandas.DataFrame:
        """Rows of `points`."""
        ...


class ReleaseRows(NamedTuple):
    """All rows of some workplaces of a release."""

    jobs: pandas.DataFrame
    points: pandas.DataFrame


def release_rows(release: Store) -> Iterator[ReleaseRows]:
    """Yield the rows of a release, some row groups' worth at a time.

    Raises
    ------
    NotInOrder
        A table is not in the order of workplaces: read it as a whole.
    """
    for frames in frames_by_workplace(release, ReleaseRows._fields):
        yield ReleaseRows(*frames)


class JobsCheck:
    """Every row names blocks that exist, a segment that exists, and at least one worker, and no row occurs twice."""

    def __init__(self, n_blocks: int) -> None:
        self._n_blocks = n_blocks
        self._ok = True
        self._n_rows = self._n_workers = 0

    def add(self, rows: RowsOfJobs) -> None:
        """Look at the rows of some workplaces: all of these."""
        jobs = rows.jobs
        self._n_rows += len(jobs)
        self._n_workers += int(jobs["count"].sum())
        places, bands = (["destination_index", "origin_index"], ["age", "earnings", "industry"])
        self._ok &= bool(
            all(((jobs[name] >= 0) & (jobs[name] < self._n_blocks)).all() for name in places)
            and all(((jobs[name] >= 1) & (jobs[name] <= 3)).all() for name in bands)
            and (jobs["count"] >= 1).all()
        )
        # In the usual order, which is quick to compare, or else in any order.
        self._ok = self._ok and (_rises(jobs) or not jobs.drop(columns="count").duplicated().any())

    def result(self) -> CertificateCheck:
        """Say what was found."""
        detail = f"{self._n_rows:,} rows, {self._n_workers:,} synthetic workers"
        return CertificateCheck("jobs", self._ok and self._n_rows > 0, detail)


class SynthesizerCounts:
    """How many (destination block, segment) hold each number of workers."""

    def __init__(self) -> None:
        self.by_n = Counter[int]()

    def add(self, rows: RowsOfJobs) -> None:
        """Count those of some workplaces: all of these."""
        synthesizer = _synthesizers(rows.jobs)
        count = rows.jobs["count"].to_numpy(np.int64)
        if (synthesizer[1:] < synthesizer[:-1]).any():
            order = np.argsort(synthesizer, kind="stable")
            synthesizer, count = synthesizer[order], count[order]
        if synthesizer.size:
            start = np.flatnonzero(np.append(True, synthesizer[1:] != synthesizer[:-1]))
            n, times = np.unique(np.add.reduceat(count, start), return_counts=True)
            self.by_n.update(dict(zip(n.tolist(), times.tolist(), strict=True)))


class PointsCheck:
    """One point a synthetic worker, for the same destinations, origins and segments."""

    def __init__(self) -> None:
        self._ok = True
        self._n_points = self._n_workers = 0

    def add(self, rows: RowsOfJobs) -> None:
        """Look at the rows of some workplaces: all of these."""
        # In the usual order, which is quick to compare, or else in any order.
        self._ok &= _counts_in_order(rows.jobs, rows.points) or _counts_alike(rows.jobs, rows.points)
        self._n_points += len(rows.points)
        self._n_workers += int(rows.jobs["count"].sum())

    def result(self) -> CertificateCheck:
        """Say what was found."""
        return CertificateCheck(
            "points", self._ok, f"{self._n_points:,} points for {self._n_workers:,} workers"
        )


class PlacesCheck:
    """Points lie in the cells of their blocks; of many points, a regular sample."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._every = max(int(store.manifest["files"]["points.parquet"]["rows"]) // _SAMPLE, 1)
        self._chosen: list[pandas.DataFrame] = []
        self._n_points = 0

    def add(self, rows: RowsOfJobs) -> None:
        """Choose some of the points."""
        chosen = rows.points.iloc[-self._n_points % self._every :: self._every]
        self._chosen.append(chosen.copy())  # a view would keep all points in memory
        self._n_points += len(rows.points)

    def result(self) -> CertificateCheck:
        """Say what was found."""
        chosen = pandas.concat(self._chosen)
        cell_of = _cells_of(self._store, chosen)
        astray = 0
        for end, block in (("home", "origin_index"), ("work", "destination_index")):
            lon, lat = (chosen[f"{end}_{axis}_deg"].to_numpy(np.float64) for axis in ("lon", "lat"))
            cell = cell_of[chosen[block].to_numpy()]
            has_cell = ~shapely.is_missing(cell)
            place = shapely.points(np.where(has_cell, lon, 0.0), np.where(has_cell, lat, 0.0))
            astray += int((has_cell & ~shapely.dwithin(cell, place, _BESIDE_DEG)).sum())
            astray += int((~has_cell & ~np.isnan(lon)).sum())
        return CertificateCheck(
            "places", astray == 0, f"{astray} of {2 * len(chosen):,} sampled points outside their block"
        )


class KeyCheck:
    """Draw the workplace points again under the published test key: in a release of another key almost none agrees.

    Points within 2 m agree, so that nobody can hide the test key by changing the last digits, and 1 % of them are
    enough, so that nobody can hide it by moving most of them.

    Parameters
    ----------
    cells : CellTriangles
        Of all workplaces.
    """

    def __init__(self, cells: CellTriangles) -> None:
        self._cells = cells
        self._key = SecretKey.for_tests()
        self._work = SamePoints()

    def add(self, rows: RowsOfJobs) -> None:
        """Look at the rows of some workplaces: all of these."""
        jobs = {str(name): rows.jobs[name].to_numpy() for name in rows.jobs}
        destination, segment, worker_ptr, _ = synthesizers_of(jobs)
        drawn = place_points(self._key, destination, segment, worker_ptr, None, self._cells)
        if len(rows.points) == drawn.work_lon_deg.size:
            self._work.add(rows.points, drawn.work_lon_deg, drawn.work_lat_deg)

    def result(self, is_stated: bool) -> CertificateCheck:
        """Compare what was found with what the certificate says."""
        return compared_with_test_key(self._work.are_too_many, is_stated)


class SamePoints:
    """Counts workplace points of a publication that are where the test key puts them, to within 2 m."""

    def __init__(self) -> None:
        self._n_same = self._n_points = 0

    def add(self, points: pandas.DataFrame, lon_deg: Column, lat_deg: Column) -> None:
        """Compare published points with those drawn again, which are NaN where a block has no cell."""
        lon, lat = (points[f"work_{axis}_deg"].to_numpy(np.float64) for axis in ("lon", "lat"))
        drawn_lon, drawn_lat = lon_deg.astype(np.float64), lat_deg.astype(np.float64)
        away_m = 1000 * KM_PER_MI * distance_mi(lon, lat, drawn_lon, drawn_lat)
        self._n_same += int(np.count_nonzero(away_m <= _CLOSE_M))
        self._n_points += int(np.count_nonzero(~np.isnan(drawn_lon)))

    @property
    def are_too_many(self) -> bool:
        """Whether more agree than those of another key would."""
        by_chance = min(_MOST_BY_CHANCE, 0.5 * self._n_points)
        return self._n_same > max(_MOST_SAME * self._n_points, by_chance)


def compared_with_test_key(is_test: bool, is_stated: bool) -> CertificateCheck:
    """Compare whether the test key was recognized with what the certificate says."""
    detail = "made with the published test key" if is_test else "not used"
    return CertificateCheck("test key", is_test == is_stated, detail)


def _synthesizers(jobs: pandas.DataFrame) -> npt.NDArray[np.int64]:
    """A number for the (destination, segment) of every row, in this order."""
    return jobs["destination_index"].to_numpy(np.int64) * N_SEGMENTS + segment_of(jobs)


def _rises(jobs: pandas.DataFrame) -> bool:
    """Whether rows come by destination, segment, and origin, and none occurs twice."""
    synthesizer, origin = _synthesizers(jobs), jobs["origin_index"].to_numpy()
    same = synthesizer[1:] == synthesizer[:-1]
    return bool(np.all((synthesizer[1:] > synthesizer[:-1]) | (same & (origin[1:] > origin[:-1]))))


def _counts_in_order(jobs: pandas.DataFrame, points: pandas.DataFrame) -> bool:
    """Whether the points are those of each row of `jobs` after the other."""
    columns = [points[name].to_numpy() for name in ("destination_index", "segment", "origin_index")]
    changes = np.zeros(max(len(points) - 1, 0), dtype=np.bool_)
    for each in columns:
        changes |= each[1:] != each[:-1]
    start = np.flatnonzero(np.append(True, changes))[: len(points)]
    wanted = (jobs["destination_index"].to_numpy(), segment_of(jobs), jobs["origin_index"].to_numpy())
    return np.array_equal(np.diff(np.append(start, len(points))), jobs["count"]) and all(
        np.array_equal(each[start], one) for each, one in zip(columns, wanted, strict=True)
    )


def _counts_alike(jobs: pandas.DataFrame, points: pandas.DataFrame) -> bool:
    """Whether there are as many points as workers of each destination, origin, and segment."""
    names = ["destination_index", "origin_index", "segment"]
    wanted = jobs.assign(segment=segment_of(jobs)).groupby(names)["count"].sum()
    found = points.groupby(names).size()
    return wanted.size == found.size and bool((wanted == found.reindex(wanted.index)).all())


def _cells_of(store: Store, points: pandas.DataFrame) -> npt.NDArray[np.object_]:
    """Cells of the blocks of some points, by block; None for all other blocks, and for those without a cell."""
    wanted = np.zeros(store.manifest["files"]["blocks.parquet"]["rows"], dtype=np.bool_)
    wanted[points["origin_index"]], wanted[points["destination_index"]] = True, True
    cell_of = np.full(wanted.size, None, dtype=object)
    for part in store.batches("cells"):
        block = part["block_index"].to_numpy()
        found = part.filter(wanted[block])
        cell_of[block[wanted[block]]] = shapely.from_wkb(found["geometry"].to_numpy())
    return cell_of
