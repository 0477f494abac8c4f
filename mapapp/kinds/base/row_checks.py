"""Checks of the rows of a release: whether jobs are counts of blocks, and points those of the jobs.

Rows come workplace by workplace (`rows_in_order`), and each check remembers only what it has found wrong so far.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pandas
import shapely

from engine.placement.points import CellTriangles, place_points
from engine.streams import SecretKey
from geodata.geography.distance import KM_PER_MI, distance_mi
from geodata.store.schema import N_SEGMENTS
from geodata.store.store import Store
from mapapp.kinds.base.certificate import CertificateCheck
from mapapp.kinds.base.inputs import segment_of, synthesizers_of
from mapapp.kinds.base.rows_in_order import frames_by_workplace

# How often independent events agree by chance, with a bound that is proved.

_ROUNDING = 1e-9
"""Relative; far above the rounding of the floats below, so that no bound is taken for smaller than it is."""


def most_by_chance(n: int, mean: float, alarm: float) -> int:
    """Return a number that the sum of independent events exceeds with a probability of at most `alarm`.

    Parameters
    ----------
    n : int
        How many events.
    mean : float
        The sum of their chances, which may differ.
    alarm : float
        The false alarm rate.

    Returns
    -------
    int
        The least number for which Hoeffding's bound proves it; `n` if it proves nothing.

    Source: Hoeffding (1963), theorem 1; docs/theory/method.md, section 11.
    """
    low, high = min(math.ceil(mean), n), n
    while low < high:
        middle = (low + high) // 2
        if chance_of_sum(n, mean, middle + 1) <= alarm:
            high = middle
        else:
            low = middle + 1
    return low


def chance_of_sum(n: int, mean: float, least: float) -> float:
    """Return a bound on the chance that independent numbers between 0 and 1 add up to at least this.

    Parameters
    ----------
    n : int
        How many numbers, at least 1.
    mean : float
        At least the expected sum.
    least : float

    Source: Hoeffding (1963), theorem 1; docs/theory/method.md, section 11.
    """
    average, share = min(mean / n * (1 + _ROUNDING), 1.0), min(least / n, 1.0)
    if share <= average:
        return 1.0
    divergence = share * math.log(share / average) if average > 0 else math.inf
    if share < 1:
        divergence += (1 - share) * math.log((1 - share) / (1 - average))
    return math.exp(-n * divergence * (1 - _ROUNDING) + _ROUNDING)


Column = npt.NDArray[np.generic]

_SAMPLE: Final = 20_000
_BESIDE_DEG: Final = 2e-5  # about 2 m: points are stored in single precision
_CLOSE_M: Final = 2.0
_CLOSE_ROUNDED_M: Final = 4.0  # before both points were rounded to single precision, by less than 1 m each
_DEGREE_M: Final = 111_195.0
_MOST_SAME: Final = 0.01
"""Share of points that may be within `_CLOSE_M` of those of the test key."""
_ALARM: Final = 1e-9
"""Chance that those of a release with another key are taken for too many."""
_ENDS: Final = {"home": "origin_index", "work": "destination_index"}
_PLACES: Final = tuple(f"{end}_{axis}_deg" for end in _ENDS for axis in ("lon", "lat"))


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
        detail = f"{self._n_rows:,} rows, {self._n_workers:,} workers"
        return CertificateCheck("jobs", self._ok and self._n_rows > 0, detail)


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
        for end, block in _ENDS.items():
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
    """Draw the points again under the published test key: in a release of another key almost none agrees.

    Parameters
    ----------
    cells : CellTriangles
        Of all workplaces, and of some homes.
    """

    def __init__(self, cells: CellTriangles) -> None:
        self._cells = cells
        self._key = SecretKey.for_tests()
        self._same = SamePoints(cells)

    def add(self, rows: RowsOfJobs) -> None:
        """Look at the rows of some workplaces: all of these."""
        jobs = {str(name): rows.jobs[name].to_numpy() for name in rows.jobs}
        destination, segment, worker_ptr, home = synthesizers_of(jobs)
        drawn = place_points(self._key, destination, segment, worker_ptr, home, self._cells)
        if len(rows.points) == home.size:
            self._same.add(rows.points, {name: getattr(drawn, name) for name in _PLACES})

    def result(self, is_stated: bool, *, homes_agree: bool = False) -> CertificateCheck:
        """Compare what was found, also among home blocks, with what the certificate says."""
        return compare_with_test_key(self._same.are_too_many or homes_agree, is_stated)


class SamePoints:
    """Counts points of a publication that are where the test key puts them, to within 2 m, at work and at home.

    Points within 2 m agree, so that nobody can hide the test key by changing the last digits, and 1 % of them are
    enough, so that nobody can hide it by moving most of them. Where there are few workers, it must be more than chance
    explains, or all of them.

    Parameters
    ----------
    cells : CellTriangles
        From which points are drawn again.
    """

    def __init__(self, cells: CellTriangles) -> None:
        self._chance = _chance_in_cell(cells)
        self._n_same = dict.fromkeys(_ENDS, 0)
        self._n_points = dict.fromkeys(_ENDS, 0)
        self._by_chance = dict.fromkeys(_ENDS, 0.0)

    def add(self, points: pandas.DataFrame, drawn: Mapping[str, Column]) -> None:
        """Compare published points with those drawn again, which are NaN where a block has no cell."""
        for end, block in _ENDS.items():
            lon, lat = (points[f"{end}_{axis}_deg"].to_numpy(np.float64) for axis in ("lon", "lat"))
            again = [drawn[f"{end}_{axis}_deg"].astype(np.float64) for axis in ("lon", "lat")]
            is_drawn = ~np.isnan(again[0])
            away_m = 1000 * KM_PER_MI * distance_mi(lon, lat, *again)
            self._n_same[end] += int(np.count_nonzero(away_m <= _CLOSE_M))
            self._n_points[end] += int(np.count_nonzero(is_drawn))
            self._by_chance[end] += float(self._chance[points[block].to_numpy()[is_drawn]].sum())

    @property
    def are_too_many(self) -> bool:
        """Whether more agree than those of another key would."""
        if 0 < sum(self._n_points.values()) == sum(self._n_same.values()):
            return True
        return any(map(self._is_too_many, _ENDS))

    def _is_too_many(self, end: str) -> bool:
        n_same, n_points = self._n_same[end], self._n_points[end]
        explained = most_by_chance(n_points, self._by_chance[end], _ALARM / len(_ENDS))
        return n_same > max(_MOST_SAME * n_points, explained)


def _chance_in_cell(cells: CellTriangles) -> npt.NDArray[np.float64]:
    """Most probable a point of each block is to be as close as this to a given one: float64[blocks]."""
    x, y = cells.triangle[:, 1::2], cells.triangle[:, 2::2]
    cross = (x[:, 1] - x[:, 0]) * (y[:, 2] - y[:, 0]) - (x[:, 2] - x[:, 0]) * (y[:, 1] - y[:, 0])
    area_m2 = np.abs(cross) / 2 * np.cos(np.radians(y[:, 0])) * _DEGREE_M**2
    n_blocks = cells.triangle_ptr.size - 1
    owner = np.repeat(np.arange(n_blocks), np.diff(cells.triangle_ptr))
    area = np.bincount(owner, area_m2, n_blocks)
    return np.minimum(np.pi * _CLOSE_ROUNDED_M**2 / np.maximum(area, 1.0), 1.0)


def compare_with_test_key(is_test: bool, is_stated: bool) -> CertificateCheck:
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
    for column in columns:
        changes |= column[1:] != column[:-1]
    start = np.flatnonzero(np.append(True, changes))[: len(points)]
    wanted = (jobs["destination_index"].to_numpy(), segment_of(jobs), jobs["origin_index"].to_numpy())
    return np.array_equal(np.diff(np.append(start, len(points))), jobs["count"]) and all(
        np.array_equal(column[start], jobs_column)
        for column, jobs_column in zip(columns, wanted, strict=True)
    )


def _counts_alike(jobs: pandas.DataFrame, points: pandas.DataFrame) -> bool:
    """Whether there are as many points as workers of each destination, origin, and segment."""
    names = ["destination_index", "origin_index", "segment"]
    wanted = jobs.assign(segment=segment_of(jobs)).groupby(names)["count"].sum()
    n_points = points.groupby(names).size()
    return wanted.size == n_points.size and bool((wanted == n_points.reindex(wanted.index)).all())


def _cells_of(store: Store, points: pandas.DataFrame) -> npt.NDArray[np.object_]:
    """Cells of the blocks of some points, by block; None for all other blocks, and for those without a cell."""
    wanted = np.zeros(store.manifest["files"]["blocks.parquet"]["rows"], dtype=np.bool_)
    wanted[points["origin_index"]], wanted[points["destination_index"]] = True, True
    cell_of = np.full(wanted.size, None, dtype=object)
    for part in store.batches("cells"):
        block = part["block_index"].to_numpy()
        cells = part.filter(wanted[block])
        cell_of[block[wanted[block]]] = shapely.from_wkb(cells["geometry"].to_numpy())
    return cell_of
