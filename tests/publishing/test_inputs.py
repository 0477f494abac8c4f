"""Homes read alone, where the synthesizers are known, are those of the whole rows."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from geodata.demo import write_demo
from geodata.store import Store, open_store
from mapapp.publishing.geography import read_geography, read_workplaces
from mapapp.publishing.inputs import RowCounts, read_counts, read_homes, read_inputs


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Store:
    path = tmp_path_factory.mktemp("inputs") / "small.dataset"
    write_demo(path, size="small", seed=5)
    return open_store(path, "dataset")


def test_homes_read_alone_are_those_of_the_rows(dataset: Store) -> None:
    geography = read_geography(dataset)
    workplaces = read_workplaces(dataset, geography)
    for batch in range(workplaces.n_batches):
        counts = RowCounts.of(read_counts(dataset, geography, workplaces, batch))
        assert counts is not None
        found = read_homes(dataset, workplaces, batch, counts)
        wanted = read_inputs(dataset, geography, workplaces, batch)
        assert found is not None
        for field in fields(wanted):
            mine, whole = getattr(found, field.name), getattr(wanted, field.name)
            assert mine.dtype == whole.dtype
            assert mine.tolist() == whole.tolist()


def test_rows_in_another_order_are_read_whole(dataset: Store) -> None:
    geography = read_geography(dataset)
    jobs = dataset.table("jobs")
    by_destination = ["destination_index"]
    # Homes that fall within a synthesizer, and synthesizers that fall within a destination.
    segments = ["age", "earnings", "industry"]
    for order, in_order in (
        ([*by_destination, *segments, "origin_index"], True),
        ([*by_destination, "origin_index", *segments], False),
    ):
        rising = [name != "origin_index" or not in_order for name in order]
        shuffled = dataset.with_table("jobs", jobs.sort_values(order, ascending=rising))
        workplaces = read_workplaces(shuffled, geography, n_batches=1)
        counts = read_counts(shuffled, geography, workplaces, 0)
        assert counts.in_order == in_order
        known = RowCounts.of(counts)
        if known is not None:
            assert read_homes(shuffled, workplaces, 0, known) is None
        wanted = read_inputs(dataset, geography, workplaces, 0)
        found = read_inputs(shuffled, geography, workplaces, 0)
        assert found.worker_origin.tolist() == wanted.worker_origin.tolist()


def test_counts_that_are_not_those_of_the_rows_are_not_used(dataset: Store) -> None:
    geography = read_geography(dataset)
    workplaces = read_workplaces(dataset, geography, n_batches=1)
    counts = RowCounts.of(read_counts(dataset, geography, workplaces, 0))
    assert counts is not None
    more = replace(counts, count=counts.count + np.int32(1))
    assert read_homes(dataset, workplaces, 0, more) is None
