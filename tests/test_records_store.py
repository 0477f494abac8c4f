"""The invented worker records that tests share follow the schema of stores."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

from geodata.errors import StoreError
from geodata.store.store import open_store
from tests.records_store import FURTHER, write_records
from tests.releases import rewrite_table


@pytest.fixture
def records(tmp_path: Path, demo_dataset: Path) -> Path:
    return write_records(tmp_path / "x.records", demo_dataset, n_workers=300)


def test_row_i_of_records_is_the_worker_of_row_i_of_points(records: Path) -> None:
    store = open_store(records, "records")
    rows, points = store.table("records"), store.table("points")
    for name in ("destination_index", "origin_index"):
        assert (rows[name] == points[name]).all()
    assert store.table("jobs")["count"].sum() == len(rows) == 300


def test_further_attributes_are_columns_of_two_bytes(records: Path) -> None:
    rows = open_store(records, "records").table("records")
    assert {name: str(rows[name].dtype) for name in FURTHER} == dict.fromkeys(FURTHER, "int16")


def test_a_further_attribute_of_another_type_is_refused(records: Path) -> None:
    rewrite_table(records, "records", lambda rows: rows.assign(sex=rows["sex"].astype(numpy.float64)))
    with pytest.raises(StoreError, match="column 'sex' is double, must be int16"):
        open_store(records, "records")


def test_a_dataset_given_as_records_names_the_command_that_makes_them(demo_dataset: Path) -> None:
    with pytest.raises(StoreError, match="records are needed here: make them with `commutemap records"):
        open_store(demo_dataset, "records")
