"""Runs of `records` that are killed, or that run at once: what is charged stays charged, nothing is half-written."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import pytest

from geodata.store.store import open_store
from mapapp.commands import records
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.tables.make.spec import TableSpec
from tests.commands.running import run_here
from tests.commands.test_killed import killed_at
from tests.commands.test_table import OPTIONS, USUAL
from tests.tables import write_prior

CHARGED = "the ledger of {dataset} was charged epsilon 2 and delta 0 for 'r'"


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "d"))


@pytest.mark.parametrize(
    ("stage", "n_charged"),
    [("checking the workers", 0), ("reading the workers", 1), ("drawing", 1), ("expecting errors", 1)],
)
def test_a_killed_run_stays_charged_and_the_next_one_clears_up(
    dataset: Path, stage: str, n_charged: int
) -> None:
    """At four moments: before the charge, after it, while records are drawn, and while the rest is written."""
    killed_at(stage, "records", dataset, dataset.parent / "r")
    assert not (dataset.parent / "r").exists()
    assert len(Ledger(dataset).entries()) == n_charged
    done = run_here("records", dataset, dataset.parent / "r", "-q")
    assert done.code == 0, done.err
    assert Ledger(dataset).spent() == (Fraction(2 * (n_charged + 1)), Fraction(0))
    assert f"epsilon {2 * (n_charged + 1)}, delta 0" in done.out, "what earlier runs spent is said, too"
    open_store(dataset.parent / "r", "records")
    assert sorted(each.name for each in dataset.parent.iterdir()) == ["d", "r"]


@pytest.mark.parametrize(
    ("stage", "failure", "said"),
    [
        ("checking the workers", KeyboardInterrupt(), "stopped; nothing was kept"),
        ("learning the model", KeyboardInterrupt(), f"stopped; nothing was kept; {CHARGED}"),
        (
            "expecting errors",
            OSError(28, "full"),
            f"r: cannot write here (full); nothing was kept; {CHARGED}",
        ),
        ("expecting errors", MemoryError(), f"more; {CHARGED}"),
        ("expecting errors", RuntimeError(), f"report them; {CHARGED}"),
    ],
    ids=["before", "stopped", "disk", "memory", "bug"],
)
def test_a_run_that_ends_after_its_charge_says_what_was_charged(
    dataset: Path, monkeypatch: pytest.MonkeyPatch, stage: str, failure: BaseException, said: str
) -> None:
    @contextmanager
    def failing(*, quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
        def report(found: str, done: int, total: int) -> None:
            if found == stage:
                raise failure

        yield report

    monkeypatch.setattr(records, "show_progress", failing)
    message = run_here("records", dataset, dataset.parent / "r").message
    assert message.endswith(said.format(dataset=dataset))
    assert len(Ledger(dataset).entries()) == (CHARGED in said)


def test_a_run_that_is_stopped_after_its_files_are_in_place_names_them(
    dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("mapapp.kinds.records.make.run.store_digest", interrupted)
    done = run_here("records", dataset, dataset.parent / "r", "-q")
    assert done.message == f"commutemap: stopped after writing {dataset.parent / 'r'}; " + CHARGED.format(
        dataset=dataset
    )
    assert run_here("records", dataset, dataset.parent / "r", "-q").message.endswith("or remove it first")


def at_once(*commands: tuple[object, ...]) -> list[tuple[int, str]]:
    """Run commands at the same time: exit code of each, and what it said."""
    runs = [
        subprocess.Popen(
            [sys.executable, "-m", "mapapp.commands.cli", *map(str, command), "-q"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for command in commands
    ]
    said = [run.communicate(timeout=240)[1] for run in runs]
    return [(run.returncode, message) for run, message in zip(runs, said, strict=True)]


def test_two_runs_at_once_cannot_both_pass_the_budget(dataset: Path) -> None:
    Ledger(dataset).set_budget(epsilon=3, delta=0)
    folder = dataset.parent
    found = sorted(at_once(("records", dataset, folder / "a"), ("records", dataset, folder / "b")))
    assert [code for code, _ in found] == [0, 2]
    assert "needs epsilon 2, but 2 of the dataset's 3 is spent" in found[1][1]
    assert len(Ledger(dataset).entries()) == 2, "the budget, and one set of records"
    assert len([each for each in folder.iterdir() if each.name != "d"]) == 1


def test_records_a_release_and_a_table_at_once_know_of_each_other(dataset: Path) -> None:
    """They are not meant to be published beside each other, so the first that is charged is the only one."""
    folder = dataset.parent
    prior = write_prior(folder / "prior.csv", dataset, TableSpec.from_options(OPTIONS))
    found = at_once(
        ("records", dataset, folder / "records"),
        ("synthesize", dataset, folder / "release"),
        ("table", dataset, folder / "table", *USUAL, "--prior", prior),
    )
    assert sorted(code for code, _ in found) == [0, 2, 2], found
    assert all("--beside-release" in message for code, message in found if code)
    (entry,) = Ledger(dataset).entries()
    assert sorted(each.name for each in folder.iterdir()) == sorted(["d", "prior.csv", entry.release])
