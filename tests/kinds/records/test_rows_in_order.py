"""The tables of worker records read side by side, and checks that see them in parts."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from geodata.store import table_stream
from geodata.store.store import Store, open_store
from mapapp.kinds.base.row_checks import PlacesCheck
from mapapp.kinds.base.rows_in_order import NotInOrder, blocks_with_work
from mapapp.kinds.records.make.recheck import check_records
from mapapp.kinds.records.make.row_checks import WorkplaceRows, rows_by_workplace
from tests.releases import rewrite_table


@pytest.fixture
def in_small_groups(seedless_records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Records whose tables have row groups of different sizes, which end within workplaces, too."""
    path = Path(shutil.copytree(seedless_records, tmp_path / "x.records"))
    for name, size in (("records", 97), ("jobs", 60), ("points", 113)):
        file = path / f"{name}.parquet"
        pandas.read_parquet(file).to_parquet(file, index=False, row_group_size=size)
    assert table_stream.row_ptr(path / "jobs.parquet").size > 10
    return open_store(path, "records", verify=False)


def test_all_rows_come_and_workplaces_stay_together(in_small_groups: Store) -> None:
    found = list(rows_by_workplace(in_small_groups))
    assert len(found) > 10
    for place, name in enumerate(WorkplaceRows._fields):
        whole = pandas.concat([rows[place] for rows in found], ignore_index=True)
        pandas.testing.assert_frame_equal(whole, in_small_groups.table(name))
    seen = [set(rows.records["destination_index"]) for rows in found]
    assert sum(map(len, seen)) == len(set[int]().union(*seen)), "no workplace comes twice"
    assert all(set(rows.jobs["destination_index"]) == own for rows, own in zip(found, seen, strict=True))
    assert all(set(rows.points["destination_index"]) == own for rows, own in zip(found, seen, strict=True))
    used = blocks_with_work(in_small_groups, "records")
    assert set(np.flatnonzero(used)) == set[int]().union(*seen)


@pytest.mark.parametrize("table", WorkplaceRows._fields)
def test_a_table_in_another_order_is_refused(table: str, seedless_records: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(seedless_records, tmp_path / "x.records"))
    rewrite_table(path, table, lambda rows: rows.iloc[::-1])
    with pytest.raises(NotInOrder, match=table):
        list(rows_by_workplace(open_store(path, "records", verify=False)))


def test_rows_that_one_table_lacks_at_the_end_are_seen(seedless_records: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(seedless_records, tmp_path / "x.records"))
    rewrite_table(path, "points", lambda rows: rows.iloc[:-5])
    found = list(rows_by_workplace(open_store(path, "records", verify=False)))
    assert sum(len(rows.records) - len(rows.points) for rows in found) == 5


def test_checks_in_parts_say_what_they_say_of_the_whole(
    seedless_records: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = check_records(seedless_records)
    calls = list[int]()

    def in_parts(store: Store) -> Any:
        for rows in rows_by_workplace(store):
            cut = rows.records["destination_index"].iloc[len(rows.records) // 2]
            calls.append(1)
            yield WorkplaceRows(*(table[table["destination_index"] < cut] for table in rows))
            yield WorkplaceRows(
                *(table[table["destination_index"] >= cut].reset_index(drop=True) for table in rows)
            )

    monkeypatch.setattr("mapapp.kinds.records.make.recheck.rows_by_workplace", in_parts)
    monkeypatch.setattr("mapapp.kinds.base.row_checks._SAMPLE", 100)
    in_two = check_records(seedless_records)
    assert calls
    assert [(each.check, each.ok) for each in in_two] == [(each.check, each.ok) for each in whole]
    assert all(each.ok for each in whole)
    details, parts = ({each.check: each.detail for each in found} for found in (whole, in_two))
    assert "sampled points" in details.pop("places")
    assert "0 of 200" in parts.pop("places")
    assert parts == details


def test_a_sample_does_not_keep_all_points_in_memory(seedless_records: Path) -> None:
    store = open_store(seedless_records, "records", verify=False)
    check = PlacesCheck(store)
    (rows, *_) = rows_by_workplace(store)
    check.add(rows)
    (chosen,) = check._chosen
    assert len(chosen) == len(rows.points)
    assert not np.shares_memory(chosen["home_lon_deg"].to_numpy(), rows.points["home_lon_deg"].to_numpy())
