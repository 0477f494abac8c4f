"""Checks of a release's rows, some workplaces at a time, say what they say of all rows together."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas
import pytest

from geodata.store.store import Store, open_store
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.base.certificate import CertificateCheck
from mapapp.kinds.base.row_checks import (
    JobsCheck,
    KeyCheck,
    PlacesCheck,
    PointsCheck,
    ReleaseRows,
    release_rows,
)
from mapapp.kinds.base.rows_in_order import NotInOrder, blocks_with_work
from mapapp.kinds.release.certificate.recheck import check_release
from tests.releases import rewrite_table


@pytest.fixture
def in_small_groups(demo_release: Path, tmp_path: Path) -> Store:
    """A release whose tables have row groups of different sizes, which end within workplaces, too."""
    path = Path(shutil.copytree(demo_release, tmp_path / "x.release"))
    for name, size in (("jobs", 60), ("points", 113)):
        file = path / f"{name}.parquet"
        pandas.read_parquet(file).to_parquet(file, index=False, row_group_size=size)
    return open_store(path, "release", verify=False)


def found_in(store: Store, parts: list[ReleaseRows]) -> list[CertificateCheck]:
    used = blocks_with_work(store, "jobs")
    jobs, points, places, key = (
        JobsCheck(used.size),
        PointsCheck(),
        PlacesCheck(store),
        KeyCheck(read_cells(store, used)),
    )
    for rows in parts:
        for check in (jobs, points, places, key):
            check.add(rows)
    return [jobs.result(), points.result(), places.result(), key.result(True)]


def test_parts_say_what_the_whole_says(in_small_groups: Store) -> None:
    parts = list(release_rows(in_small_groups))
    assert len(parts) > 10
    whole = ReleaseRows(in_small_groups.table("jobs"), in_small_groups.table("points"))
    checks = found_in(in_small_groups, parts)
    assert checks == found_in(in_small_groups, [whole])
    assert all(check.ok for check in checks)
    assert "made with the published test key" in checks[-1].detail


@pytest.mark.parametrize("table", ["jobs", "points"])
def test_a_table_in_another_order_is_read_as_a_whole(table: str, demo_release: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(demo_release, tmp_path / "x.release"))
    rewrite_table(path, table, lambda rows: rows.iloc[::-1])
    with pytest.raises(NotInOrder, match=table):
        list(release_rows(open_store(path, "release", verify=False)))
    by_name = {check.check: check.ok for check in check_release(path)}
    # The certificate binds the file's bytes. The test key is recognized by home blocks, whatever the order of points.
    assert {name for name, ok in by_name.items() if not ok} == {"tables"}


def some_jobs() -> pandas.DataFrame:
    columns = {
        "destination_index": [0, 0, 0, 2],
        "origin_index": [1, 3, 1, 0],
        "age": [1, 1, 2, 3],
        "earnings": [1, 1, 1, 2],
        "industry": [1, 1, 1, 3],
        "count": [1, 2, 1, 4],
    }
    return pandas.DataFrame(columns).astype("int32")


def points_of(jobs: pandas.DataFrame) -> pandas.DataFrame:
    segment = (jobs["age"] - 1) * 9 + (jobs["earnings"] - 1) * 3 + jobs["industry"] - 1
    rows = np.repeat(np.arange(len(jobs)), jobs["count"])
    names = ["destination_index", "origin_index", "segment"]
    return jobs.assign(segment=segment)[names].iloc[rows].reset_index(drop=True)


def again(row: int) -> Callable[[pandas.DataFrame], pandas.DataFrame]:
    return lambda jobs: pandas.concat([jobs, jobs.iloc[[row]]], ignore_index=True)


@pytest.mark.parametrize(
    ("change", "is_right"),
    [
        (lambda jobs: jobs, True),
        (lambda jobs: jobs.iloc[::-1], True),
        (again(0), False),
        (again(3), False),
        (lambda jobs: jobs.assign(count=[1, 0, 1, 4]), False),
        (lambda jobs: jobs.assign(origin_index=[1, 4, 1, 0]), False),
        (lambda jobs: jobs.assign(age=[1, 1, 4, 3]), False),
        (lambda jobs: jobs.iloc[:0], False),
    ],
)
def test_rows_of_jobs(change: Callable[[pandas.DataFrame], pandas.DataFrame], is_right: bool) -> None:
    jobs, check = change(some_jobs()), JobsCheck(4)
    check.add(ReleaseRows(jobs, points_of(jobs)))
    assert check.result().ok == is_right


@pytest.mark.parametrize(
    ("change", "is_right"),
    [
        (lambda points: points, True),
        (lambda points: points.iloc[::-1], True),
        (lambda points: points.iloc[1:], False),
        (lambda points: pandas.concat([points, points.iloc[:1]]), False),
        (lambda points: points.assign(segment=0), False),
        (lambda points: points.assign(origin_index=points["origin_index"].to_numpy()[::-1]), False),
    ],
)
def test_points_of_the_same_workers(
    change: Callable[[pandas.DataFrame], pandas.DataFrame], is_right: bool
) -> None:
    jobs, check = some_jobs(), PointsCheck()
    check.add(ReleaseRows(jobs, change(points_of(jobs))))
    assert check.result().ok == is_right
