"""What is written belongs to one run, known by its lock and not by its process number."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from geodata.errors import StoreError
from geodata.store import atomic_writes
from geodata.store.atomic_writes import (
    claim_place,
    clear_abandoned,
    name_of_partial,
    partial_name,
    write_beside,
)
from geodata.store.schema import JOBS, TABLES
from geodata.store.store import open_store, write_store
from tests.geodata.test_store import empty, write

SAME_NUMBER = 4242

# Writes a dataset as a process of the same number; says so when half of it is there, and goes on when asked.
OTHER_RUN = f"""
import os, sys
from pathlib import Path
os.getpid = lambda: {SAME_NUMBER}
from geodata.errors import StoreError
from geodata.store.schema import JOBS, TABLES
from geodata.store.store import write_store
from tests.geodata.test_store import empty
try:
    with write_store(Path(sys.argv[1]), "dataset") as writer:
        for number, table in enumerate(TABLES["dataset"]):
            if number == 5:
                print("half", flush=True)
                sys.stdin.readline()
            writer.table(table.name, empty(table))
        writer.facts(title="the other run's")
except StoreError as error:
    sys.exit(str(error))
"""


@pytest.fixture
def other_run(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has written half of `d`."""
    with subprocess.Popen(
        [sys.executable, "-c", OTHER_RUN, str(tmp_path / "d")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        yield process
        process.kill()


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_two_runs_with_one_process_number_do_not_mix(
    tmp_path: Path, other_run: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getpid", lambda: SAME_NUMBER)
    with pytest.raises(StoreError, match=f"already being written by process {SAME_NUMBER} on .*; wait"):
        write(tmp_path / "d")
    _, errors = other_run.communicate("\n", timeout=60)
    assert other_run.returncode == 0, errors
    assert open_store(tmp_path / "d", "dataset").manifest["title"] == "the other run's"
    assert names(tmp_path) == ["d"]


def test_a_killed_run_holds_nothing(tmp_path: Path, other_run: subprocess.Popen[str]) -> None:
    other_run.send_signal(signal.SIGKILL)
    other_run.wait()
    assert any(name_of_partial(entry) == "d" for entry in tmp_path.iterdir())
    write(tmp_path / "d")
    assert names(tmp_path) == ["d"]


def test_a_place_that_was_taken_meanwhile_is_refused(tmp_path: Path) -> None:
    with write_beside(tmp_path / "d") as partial:
        (tmp_path / "d").mkdir()
        with pytest.raises(StoreError, match="already exists"):
            partial.put_in_place()
    with pytest.raises(StoreError, match="already exists"), write_beside(tmp_path / "d"):
        pytest.fail("a run that comes second must be refused before it does anything")
    assert names(tmp_path) == ["d"]


def foreign(path: Path, host: str, boot: str, *, age_s: float = 0.0) -> Path:
    """What a run on some machine left half-written some time ago."""
    folder = path.parent / f".{path.name}.partial-{host}-{boot}-{'0' * 16}"
    folder.mkdir()
    file = folder / "jobs.parquet"
    file.write_bytes(b"half")
    for entry in (file, folder):
        changed = entry.stat().st_mtime - age_s
        os.utime(entry, (changed, changed))
    return folder


def test_another_machines_folder_is_left_alone_and_named(tmp_path: Path) -> None:
    folder = foreign(tmp_path / "d", "elsewhere", "1" * 8)
    with pytest.raises(StoreError, match=f"by a run on elsewhere, in {folder}; wait, or remove that folder"):
        write(tmp_path / "d")
    assert names(tmp_path) == [folder.name]
    write(tmp_path / "e")


def test_another_machines_folder_is_removed_once_it_is_old(tmp_path: Path) -> None:
    foreign(tmp_path / "d", "elsewhere", "1" * 8, age_s=atomic_writes.ABANDONED_S + 60)
    write(tmp_path / "d")
    assert names(tmp_path) == ["d"]


def test_another_container_of_this_machine_shares_its_locks(tmp_path: Path) -> None:
    boot = atomic_writes._machine()[1]
    if boot == atomic_writes._NO_BOOT:
        pytest.skip("this system does not number its starts")
    foreign(tmp_path / "d", "container", boot)
    write(tmp_path / "d")
    assert names(tmp_path) == ["d"]


def replace_by_link(folder: Path) -> None:
    (folder / "jobs.parquet").unlink()
    (folder / "jobs.parquet").symlink_to("prior.parquet")


def replace_folder(folder: Path) -> None:
    os.rename(folder, folder.with_name("gone"))
    folder.mkdir()


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "jobs.parquet").write_bytes(b"another's"),
        lambda folder: (folder / "more.parquet").write_bytes(b"another's"),
        lambda folder: (folder / "jobs.parquet").unlink(),
        lambda folder: os.replace(folder / "prior.parquet", folder / "jobs.parquet"),
        replace_by_link,
        replace_folder,
    ],
    ids=["rewritten", "added", "removed", "replaced", "linked", "folder"],
)
def test_files_of_another_process_are_not_published(tmp_path: Path, change: Callable[[Path], object]) -> None:
    def written() -> None:
        with write_store(tmp_path / "d", "dataset") as writer:
            for table in TABLES["dataset"]:
                writer.table(table.name, empty(table))
            change(writer.directory)

    with pytest.raises(StoreError, match="another process changed"):
        written()
    assert not (tmp_path / "d").exists()


def test_a_file_that_is_there_already_is_not_written_over(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")

    def written() -> None:
        with write_store(tmp_path / "d", "dataset") as writer:
            (writer.directory / "jobs.parquet").symlink_to(tmp_path / "precious")
            writer.table("jobs", empty(JOBS))

    with pytest.raises(StoreError, match="cannot write here"):
        written()
    assert (tmp_path / "precious").read_text() == "kept"


def test_a_dataset_is_for_its_owner_file_by_file_whatever_the_umask_is(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        dataset = write(tmp_path / "d")
        public = [write(tmp_path / "r", "release"), write(tmp_path / "t", "table")]
    finally:
        os.umask(before)
    modes = {stat.S_IMODE(file.stat().st_mode) for file in dataset.iterdir()}
    assert (stat.S_IMODE(dataset.stat().st_mode), modes) == (0o700, {0o600})
    assert {stat.S_IMODE(file.stat().st_mode) for each in public for file in each.iterdir()} == {0o666}


def test_a_place_is_claimed_once(tmp_path: Path) -> None:
    with claim_place(tmp_path / "d"):
        with pytest.raises(StoreError, match="already being written"), claim_place(tmp_path / "d"):
            pass
        with claim_place(tmp_path / "e"):
            pass
    with claim_place(tmp_path / "d"):
        pass
    assert names(tmp_path) == []


def test_what_is_abandoned_is_cleared_and_what_is_written_is_kept(tmp_path: Path) -> None:
    partial_name(tmp_path / "d").mkdir()
    with write_beside(tmp_path / "e") as partial:
        clear_abandoned(tmp_path)
        assert [entry for entry in tmp_path.iterdir() if name_of_partial(entry)] == [partial.folder]


@pytest.mark.parametrize("name", ["d", ".d.partial-4242", "d.partial-host-00000000-0000000000000000"])
def test_other_names_are_not_taken_for_partials(tmp_path: Path, name: str) -> None:
    assert name_of_partial(tmp_path / name) is None
    assert name_of_partial(partial_name(tmp_path / "a.b-c")) == "a.b-c"
