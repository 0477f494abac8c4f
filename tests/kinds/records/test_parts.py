"""Records drawn and written in parts: the same as all at once, and nothing is left of the parts."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from threading import Event
from time import sleep

import numpy as np
import pandas
import pytest

from engine.streams import SecretKey
from geodata.store.store import open_store, store_digest
from mapapp.kinds.base.block_cells import read_cells
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.records.make import run, runner, sorted_parts, tasks, workers
from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.placement import job_rows, place_codes, point_columns, sort_rows
from mapapp.kinds.records.make.run import make_records, read_plan
from mapapp.kinds.records.make.workers import read_codes
from tests.commands.running import refused
from tests.oracles.records_at_once import records_at_once

KEY = SecretKey.for_tests()
SEEDED = Choice(test_key=True, kept=("work_puma", "home_puma"), min_seeds=100)


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "d"))


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of 333 records, and parts of about 500 workers."""
    monkeypatch.setattr(runner, "_MOST_AT_ONCE", 333)
    monkeypatch.setattr(workers, "_WORKERS_AT_ONCE", 500)


@pytest.mark.parametrize("kind", ["seedless", "seeded"])
def test_records_are_those_that_are_drawn_all_at_once(
    kind: str, request: pytest.FixtureRequest, demo_dataset: Path
) -> None:
    records = open_store(request.getfixturevalue(f"{kind}_records"), "records")
    dataset = open_store(demo_dataset, "dataset")
    plan = read_plan(dataset, Choice(test_key=True) if kind == "seedless" else SEEDED)
    codes = np.concatenate(list(read_codes(dataset, plan.attributes)))
    placed = place_codes(KEY, records_at_once(codes, plan, KEY)[0], plan.attributes)
    rows = sort_rows(placed, plan.attributes)
    n_blocks = plan.attributes.geography.n_blocks
    tables = {
        "records": rows.columns,
        "jobs": job_rows(rows),
        "points": point_columns(KEY, rows, read_cells(dataset, np.ones(n_blocks, dtype=np.bool_))),
    }
    for name, columns in tables.items():
        pandas.testing.assert_frame_equal(records.table(name), pandas.DataFrame(columns))


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("kind", ["seedless", "seeded"])
def test_the_digest_does_not_depend_on_the_size_of_the_parts(
    kind: str, request: pytest.FixtureRequest, dataset: Path, tmp_path: Path
) -> None:
    whole = store_digest(request.getfixturevalue(f"{kind}_records"))
    choice = Choice(test_key=True) if kind == "seedless" else SEEDED
    stages = dict[str, int]()
    made = make_records(
        dataset, tmp_path / "r", choice, report=lambda stage, _, total: stages.update({stage: total})
    )
    assert made.digest == whole
    assert {"reading the workers", "learning the model", "cutting block cells", "expecting errors"} < set(
        stages
    )
    chunks = "drawing records" if kind == "seedless" else "topping up"
    assert stages[chunks] > 3
    assert stages["writing the records"] > 3
    assert ("trying candidates" in stages) == (kind == "seeded")


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("task", ["try_part", "draw_part", "collect_range"])
def test_an_interrupted_run_stays_charged_and_leaves_no_parts(
    task: str, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = list[set[int]]()
    plain = getattr(runner, task)

    def interrupted(work: tasks.RecordWork, item: object) -> object:
        if len(found) == 2:
            raise KeyboardInterrupt
        made = plain(work, item)
        folder = work.files.folder
        assert folder.parent.parent == tmp_path, "parts are on the file system of the records"
        found.append({file.stat().st_mode & 0o777 for file in (folder, *folder.iterdir())})
        return made

    monkeypatch.setattr(runner, task, interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_records(dataset, tmp_path / "r", SEEDED, threads=1)
    assert found == [{0o700, 0o600}] * 2, "parts are for their owner alone"
    assert [each.name for each in tmp_path.iterdir()] == ["d"]
    assert len(Ledger(dataset).entries()) == 1


@pytest.mark.parametrize("stage", ["writing the records", "expecting errors"])
def test_an_interrupt_ends_the_expecting_of_errors_too(
    stage: str, dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors are expected beside the drawing, for 18 s where the workers are a nation's; nobody waits for them."""
    asked = Event()

    def endless(source: object, *, threads: int, check: Callable[[], object]) -> None:
        while True:
            check()
            asked.set()
            sleep(0.001)

    def interrupt(found: str, done: int, total: int) -> None:
        if found == stage:
            asked.wait()
            raise KeyboardInterrupt

    monkeypatch.setattr(run, "error_terms", endless)
    with pytest.raises(KeyboardInterrupt):
        make_records(dataset, tmp_path / "r", Choice(test_key=True), report=interrupt)
    assert [each.name for each in tmp_path.iterdir()] == ["d"]


def test_a_full_disk_is_said_in_one_line(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tasks, "write_sorted", full)
    message = refused("records", dataset, tmp_path / "r", "--test-key", "-q")
    assert message.endswith("cannot write here (No space left on device); nothing was kept")
    assert [each.name for each in tmp_path.iterdir()] == ["d"]


def test_ranges_hold_whole_workplaces_and_every_record() -> None:
    random = np.random.default_rng(3)
    for most in (1, 4, 10, 1000):
        working = random.integers(0, 9, 50) * (random.random(50) < 0.4)
        ranges = sorted_parts.cut_ranges(working, most)
        assert all(stop == start for (_, stop), (start, _) in pairwise(ranges))
        assert sum(working[first:stop].sum() for first, stop in ranges) == working.sum()
        assert ranges[0][0] == 0
        for first, stop in ranges:
            n = working[first:stop]
            assert 0 < n.sum() <= most or np.count_nonzero(n) == 1
    assert sorted_parts.cut_ranges(np.zeros(4, dtype=np.int64), 5) == []


def test_parts_come_back_range_by_range(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    columns: sorted_parts.Columns = {
        "destination_index": random.integers(0, 20, 90).astype(np.int32),
        "origin_index": random.integers(0, 30, 90).astype(np.int32),
        "age": random.integers(1, 4, 90).astype(np.int8),
    }
    files = [tmp_path / "a", tmp_path / "b", tmp_path / "empty"]
    for file, rows in zip(files, (slice(0, 40), slice(40, 90), slice(0, 0)), strict=True):
        sorted_parts.write_sorted(file, {name: values[rows] for name, values in columns.items()})
    blocks = sorted_parts.PlacedBlocks(30)
    for file in files:
        blocks.add(file)
    work = columns["destination_index"]
    assert (blocks.n_working == np.bincount(work, minlength=30)).all()
    assert set(np.flatnonzero(blocks.used)) == {*work.tolist(), *columns["origin_index"].tolist()}
    for low, high in ((0, 20), (3, 9), (19, 20), (25, 30)):
        found = pandas.DataFrame(sorted_parts.read_range(files, (low, high)))
        inside = np.isin(work, np.arange(low, high))
        wanted = pandas.DataFrame({name: each[inside] for name, each in columns.items()})
        names = list(columns)
        pandas.testing.assert_frame_equal(
            found.sort_values(names, ignore_index=True), wanted.sort_values(names, ignore_index=True)
        )
