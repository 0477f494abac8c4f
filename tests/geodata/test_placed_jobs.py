"""Jobs of several OD files in one table: sorted by ranges of workplaces, the table is that of sorting all at once."""

from __future__ import annotations

import numpy as np
import pandas
import pytest

from geodata.sources import placed_jobs
from geodata.sources.placed_jobs import PlacedJobs, jobs_table, sort_by_workplace
from geodata.store.schema import JOBS, N_SEGMENTS, segment_code

N_BLOCKS = 40


def some_jobs(seed: int, first: int, after: int, n_rows: int) -> PlacedJobs:
    """Jobs of a file whose workplaces are rows `first` to before `after` of blocks."""
    random = np.random.default_rng(seed)
    return sort_by_workplace(
        random.integers(first, after, n_rows).astype(np.int32),
        random.integers(0, N_BLOCKS, n_rows).astype(np.int32),
        random.integers(0, N_SEGMENTS, n_rows).astype(np.int8),
        random.integers(1, 5, n_rows).astype(np.int32),
    )


def at_once(parts: list[PlacedJobs]) -> pandas.DataFrame:
    """The table, with pandas."""
    columns = ["destination_index", "origin_index", "segment", "count"]
    rows = pandas.concat([pandas.DataFrame(dict(zip(columns, part, strict=True))) for part in parts])
    keys = ["destination_index", "segment", "origin_index"]
    summed: pandas.DataFrame = rows.groupby(keys, sort=True, as_index=False)[["count"]].sum()
    return summed


@pytest.mark.parametrize("rows_at_once", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize(
    "reaches",
    [
        [(0, 20), (20, 40)],  # states follow each other
        [(20, 40), (0, 20)],
        [(0, 25), (15, 39), (3, 4)],  # the state line was corrected
        [(0, 40), (0, 40)],  # a main and an aux file
        [(5, 6)],
    ],
)
def test_ranges_of_workplaces_give_the_table_of_all_at_once(
    monkeypatch: pytest.MonkeyPatch, rows_at_once: int, reaches: list[tuple[int, int]]
) -> None:
    monkeypatch.setattr(placed_jobs, "_ROWS_AT_ONCE", rows_at_once)
    parts = [some_jobs(seed, first, after, 300) for seed, (first, after) in enumerate(reaches)]
    wanted = at_once(parts)
    table = jobs_table(parts, N_BLOCKS)
    assert parts == []  # a file's rows are given back
    assert table.dtypes.astype(str).to_dict() == JOBS.columns
    assert list(table.columns) == list(JOBS.columns)
    for name in ("destination_index", "origin_index", "count"):
        assert table[name].tolist() == wanted[name].tolist()
    segment = segment_code(*(table[name].to_numpy() for name in ("age", "earnings", "industry")))
    assert segment.tolist() == wanted["segment"].tolist()


def test_files_without_jobs() -> None:
    none, one = some_jobs(1, 0, 5, 0), some_jobs(2, 3, 5, 20)
    assert len(jobs_table([none], N_BLOCKS)) == 0
    wanted = at_once([one])
    assert jobs_table([none, one], N_BLOCKS)["count"].tolist() == wanted["count"].tolist()


def test_rows_of_a_file_are_sorted_by_workplace_only_if_they_are_not() -> None:
    destination = np.array([2, 0, 2, 1], np.int32)
    origin, segment = np.arange(4, dtype=np.int32), np.arange(4, dtype=np.int8)
    jobs = sort_by_workplace(destination, origin, segment, origin + 1)
    assert jobs.destination.tolist() == [0, 1, 2, 2]
    assert jobs.origin.tolist() == jobs.segment.tolist() == [1, 3, 0, 2]
    again = sort_by_workplace(*jobs)
    assert again.destination is jobs.destination
