"""Homes read alone, where the synthesizers are known, are those of the whole rows."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from geodata.demo import write_demo
from geodata.store.store import Store, open_store
from mapapp.kinds.base import geography as reading
from mapapp.kinds.base.geography import read_geography, read_workplaces
from mapapp.kinds.base.inputs import RowCounts, WorkplaceCounts, read_counts, read_homes, read_inputs
from mapapp.kinds.release.choose.public_part import public_part_of


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
        shuffled = dataset.replace_table("jobs", jobs.sort_values(order, ascending=rising))
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


@pytest.mark.parametrize("threads", [1, 3])
def test_listed_synthesizers_are_those_read_batch_by_batch(
    dataset: Store, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    geography = read_geography(dataset)
    whole = read_workplaces(dataset, geography, n_batches=4)
    small = in_small_groups(dataset, monkeypatch)
    listed = read_workplaces(small, geography, n_batches=4, listed=True, threads=threads)
    assert whole.synthesizers is None
    assert listed.synthesizers is not None
    assert listed.synthesizers.count.sum() == whole.n_workers.sum()
    for field in fields(whole):
        if field.name != "synthesizers":
            assert np.array_equal(getattr(listed, field.name), getattr(whole, field.name))
    for batch in range(whole.n_batches):
        wanted = WorkplaceCounts.of(read_inputs(dataset, geography, whole, batch))
        for workplaces in (listed, whole):
            found = read_counts(dataset, geography, workplaces, batch)
            assert found.in_order
            assert_same(found, wanted)


def in_small_groups(dataset: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """The same jobs, in row groups that are read one by one."""
    monkeypatch.setattr(reading, "_GROUPS_AT_ONCE", 1)
    monkeypatch.setattr("geodata.store.table_stream.ROW_GROUP_ROWS", 1000)
    small = dataset.replace_table("jobs", dataset.table("jobs"))
    assert small.row_ptr("jobs").size >= 5
    return small


def assert_same(found: WorkplaceCounts, wanted: WorkplaceCounts) -> None:
    for field in fields(wanted):
        if field.name != "in_order":
            mine, whole = getattr(found, field.name), getattr(wanted, field.name)
            assert mine.dtype == whole.dtype
            assert mine.tolist() == whole.tolist()


def test_the_public_sample_is_the_same_as_listed(dataset: Store) -> None:
    geography = read_geography(dataset)
    samples = [
        public_part_of(dataset, geography, read_workplaces(dataset, geography, listed=listed)).sample
        for listed in (False, True)
    ]
    assert samples[0].count.size > 100
    assert_same(*samples)


@pytest.mark.parametrize("falling", ["destination_index", "age"])
def test_rows_that_are_not_sorted_are_not_listed(dataset: Store, falling: str) -> None:
    geography = read_geography(dataset)
    order = ["destination_index", "age", "earnings", "industry"]
    jobs = dataset.table("jobs").sort_values(order, ascending=[name != falling for name in order])
    shuffled = dataset.replace_table("jobs", jobs)
    found = read_workplaces(shuffled, geography, listed=True)
    plain = read_workplaces(dataset, geography)
    assert found.synthesizers is None
    assert found.in_order == (falling != "destination_index")
    assert found.tract.tolist() == plain.tract.tolist()
    assert found.n_workers.tolist() == plain.n_workers.tolist()
    wanted = WorkplaceCounts.of(read_inputs(dataset, geography, plain, 0))
    if plain.n_batches == found.n_batches == 1:
        assert_same(read_counts(shuffled, geography, found, 0), wanted)
