"""The sorted copies beside a release: made once, vouched for, made again when they do not hold."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy
import pandas
import pytest

from geodata.store.atomic_writes import partial_name
from geodata.store.store import Store, open_store
from mapapp.answers.commutes.columns import mapped_columns
from mapapp.answers.commutes.prepared import LIMIT, NO_OCTANT, octant, prepare
from mapapp.base.errors import UsageError
from tests.releases import write_release


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return open_store(write_release(tmp_path_factory.mktemp("made") / "squareland.release"), "release")


def test_both_copies_hold_the_jobs_sorted(store: Store, tmp_path: Path) -> None:
    prepared = prepare(store, home=tmp_path)
    by_work, by_home = (
        pandas.DataFrame(mapped_columns(file, ())) for file in (prepared.by_work, prepared.by_home)
    )
    jobs = store.table("jobs")
    assert by_work["work"].tolist() == jobs["destination_index"].tolist()
    assert by_work["workers"].sum() == jobs["count"].sum()
    assert by_home["home"].is_monotonic_increasing
    keys = ["work", "home", "segment"]
    pandas.testing.assert_frame_equal(
        by_work.sort_values(keys, ignore_index=True), by_home.sort_values(keys, ignore_index=True)
    )
    assert (by_work.loc[by_work["work"] == by_work["home"], "distance_mi"] == 0).all()


def test_they_are_made_once_and_again_when_altered(store: Store, tmp_path: Path) -> None:
    stages: list[str] = []

    def report(stage: str, _done: int, _total: int) -> None:
        stages.append(stage)

    prepared = prepare(store, home=tmp_path, report=report)
    whole = prepared.by_home.read_bytes()
    assert prepare(store, home=tmp_path, report=report) == prepared
    assert len(stages) == 1
    for damage in (whole[:-1], b"", whole[:100] + b"x" + whole[101:]):
        prepared.by_home.write_bytes(damage)
        prepare(store, home=tmp_path, report=report)
        assert prepared.by_home.read_bytes() == whole
    (prepared.by_home.parent / "prepared.json").write_text("[]")
    prepare(store, home=tmp_path)
    prepared.by_work.unlink()
    prepare(store, home=tmp_path)
    assert prepared.by_work.exists()
    assert [entry.name for entry in (tmp_path / "prepared").iterdir()] == [prepared.by_work.parent.name]


def test_other_releases_have_other_copies(store: Store, tmp_path: Path) -> None:
    other = open_store(write_release(tmp_path / "other.release", seed=8), "release")
    assert prepare(store, home=tmp_path) != prepare(other, home=tmp_path)


def test_the_least_recently_used_copies_are_evicted_and_never_those_in_use(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = [
        open_store(write_release(tmp_path / f"{seed}.release", seed=seed), "release") for seed in (8, 9)
    ]
    used, old = prepare(store, home=tmp_path), prepare(others[0], home=tmp_path)
    partial_name(old.folder).mkdir()  # of a killed run
    os.utime(old.folder / "in-use", (1, 1))
    os.utime(used.folder / "in-use", (0, 0))
    monkeypatch.setenv(LIMIT, "0")
    newer = prepare(others[1], home=tmp_path)
    assert {place.name for place in newer.folder.parent.iterdir()} == {
        each.folder.name for each in (used, old, newer)
    }, "this process uses all of them"
    for copies in (old, newer):
        assert copies.lease is not None
        copies.lease.end()
    del used, old, newer
    size = sum(file.stat().st_size for file in prepare(store, home=tmp_path).folder.iterdir())
    assert len(list((tmp_path / "prepared").iterdir())) == 1, "the one that was asked for last"
    monkeypatch.setenv(LIMIT, str(2.5 * size / 1e9))
    names = [prepare(each, home=tmp_path).folder.name for each in (store, others[0], store, others[1])]
    assert {each.name for each in (tmp_path / "prepared").iterdir()} == {names[2], names[3]}


def test_copies_that_another_process_uses_stay(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = (
        "import sys; from pathlib import Path; from geodata.store.store import open_store; "
        "from mapapp.answers.commutes.prepared import prepare; "
        "held = prepare(open_store(Path(sys.argv[1]), 'release'), home=Path(sys.argv[2])); "
        "print(held.folder.name, flush=True); sys.stdin.readline()"
    )
    other = open_store(write_release(tmp_path / "other.release", seed=8), "release")
    monkeypatch.setenv(LIMIT, "0")
    with subprocess.Popen(
        [sys.executable, "-c", code, str(store.path), str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        theirs = process.stdout.readline().strip()
        ours = prepare(other, home=tmp_path).folder.name
        assert {each.name for each in (tmp_path / "prepared").iterdir()} == {theirs, ours}
        process.kill()
    prepare(other, home=tmp_path)
    assert [each.name for each in (tmp_path / "prepared").iterdir()] == [ours]


@pytest.mark.parametrize("text", ["-1", "much", "nan", "inf"])
def test_a_limit_that_is_no_size_is_refused(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv(LIMIT, text)
    with pytest.raises(UsageError, match=f"{LIMIT} is '{text}'; give a number of gigabytes"):
        prepare(store, home=tmp_path)


def test_a_full_disk_is_named(store: Store, tmp_path: Path) -> None:
    """A limit on the size of files simulates a full disk."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))\n"
        "from pathlib import Path; from geodata.store.store import open_store\n"
        "from geodata.errors import StoreError; from mapapp.answers.commutes.prepared import prepare\n"
        "try: prepare(open_store(Path(sys.argv[1]), 'release'), home=Path(sys.argv[2]))\n"
        "except StoreError as error: print(error)"
    )
    limit = prepare(store, home=tmp_path / "whole").by_work.stat().st_size // 2
    done = subprocess.run(
        [sys.executable, "-c", code, str(store.path), str(tmp_path), str(limit)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert str(tmp_path / "prepared") in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1
    assert list((tmp_path / "prepared").iterdir()) == []


def test_nothing_is_written_into_the_release(store: Store, tmp_path: Path) -> None:
    before = sorted(entry.name for entry in store.path.iterdir())
    prepare(store, home=tmp_path)
    assert sorted(entry.name for entry in store.path.iterdir()) == before


def test_octants_are_centred_on_their_direction() -> None:
    bearing = numpy.array([0.0, 22.4, 22.6, 90.0, 180.0, 270.0, 337.4, 337.6, 359.999, numpy.nan])
    assert octant(bearing).tolist() == [0, 0, 1, 2, 4, 6, 7, 0, 0, NO_OCTANT]
