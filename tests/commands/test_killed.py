"""A run killed at any moment leaves no half-written store, parallel runs do no harm, and the next run succeeds."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from engine.parameters import PrivacyParameters, SynthesisParameters
from geodata.errors import StoreError
from geodata.store.atomic_writes import claim_place
from geodata.store.store import open_store
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.release.make.run import run_synthesis
from tests.commands.running import refused, run_here
from tests.geodata.samples import write_sources

# The command is killed when it reports the stage; a stage is reported when it begins.
CODE = """
import os, signal, sys
import mapapp.base.progress as progress
from contextlib import contextmanager
stage_to_die_at = sys.argv[1]
def report(stage, done, total):
    if stage.startswith(stage_to_die_at):
        os.kill(os.getpid(), signal.SIGKILL)
@contextmanager
def shown(*, quiet=False):
    yield report
progress.show_progress = shown
from mapapp.commands.cli import run
sys.exit(run(sys.argv[2:]))
"""


def killed_at(stage: str, *arguments: object) -> None:
    command = [sys.executable, "-c", CODE, stage, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240)
    assert done.returncode == -signal.SIGKILL, f"never reached {stage!r}: {done.stderr}"


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "d"))


@pytest.mark.parametrize(
    "stage", ["certifying", "drawing synthetic", "drawing points", "writing the release"]
)
def test_synthesis(dataset: Path, stage: str) -> None:
    release = dataset.parent / "r"
    killed_at(stage, "synthesize", dataset, release)
    assert not release.exists()
    done = run_here("synthesize", dataset, release, "-q")
    assert done.code == 0, done.err
    open_store(release, "release")
    assert sorted(entry.name for entry in dataset.parent.iterdir()) == ["d", "r"], (
        "the partial was cleared away"
    )


def test_spending_is_recorded_even_if_the_run_dies_later(dataset: Path) -> None:
    """The ledger is written before the draw, so that everything that may have been seen is counted."""
    ledger = Ledger(dataset)
    ledger.set_budget(epsilon="10", delta="1e-5")
    command = ("synthesize", dataset, dataset.parent / "r", "--preset", "onthemap-v3")
    killed_at("drawing synthetic", *command)
    assert [entry.kind for entry in ledger.entries()] == ["budget", "release"]
    assert float(ledger.spent()[0]) == pytest.approx(8.98202663, abs=1e-8)
    assert "at most 1.01797" in refused(*command, "-q")
    assert not (dataset.parent / "r").exists()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)], ids=["term", "hup"]
)
def test_a_run_ended_by_a_signal_leaves_nothing(dataset: Path, number: int, code: int) -> None:
    """The command sends itself the signal when it draws, as `kill`, a service manager or a closed terminal would."""
    program = CODE.replace("SIGKILL", signal.Signals(number).name).replace(
        "from mapapp.commands.cli import run\nsys.exit(run(sys.argv[2:]))",
        "from mapapp.commands.cli import main\nsys.argv[1:] = sys.argv[2:]\nmain()",
    )
    command: list[str | Path] = [
        sys.executable,
        "-c",
        program,
        "drawing points",
        "synthesize",
        dataset,
        dataset.parent / "r",
    ]
    # Where a shell started the tests in the background or under nohup, signals are ignored by all that they start.
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=240,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    charged = f"the ledger of {dataset} was charged epsilon 6.5 and delta 0 for 'r'"
    assert (done.returncode, done.stderr.strip()) == (
        code,
        f"commutemap: stopped; nothing was kept; {charged}",
    )
    assert [entry.name for entry in dataset.parent.iterdir()] == ["d"]


def test_only_one_of_several_runs_to_the_same_place_spends(dataset: Path) -> None:
    """All runs wait for each other; all but the first are refused before they spend."""
    release = dataset.parent / "r"
    command: list[str | Path] = [
        sys.executable,
        "-m",
        "mapapp.commands.cli",
        "synthesize",
        dataset,
        release,
        "-q",
    ]
    runs = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    said = [run.communicate(timeout=240)[1] for run in runs]
    assert sorted(run.returncode for run in runs) == [0, 2, 2], said
    for run, message in zip(runs, said, strict=True):
        assert message.count("\n") == (run.returncode == 2)
    assert len(Ledger(dataset).entries()) == 1, "one release, one spend"
    open_store(release, "release")
    assert sorted(entry.name for entry in dataset.parent.iterdir()) == ["d", "r"]


def test_a_run_to_a_place_being_written_spends_nothing(dataset: Path) -> None:
    with claim_place(dataset.parent / "r"):
        assert "already being written" in refused("synthesize", dataset, dataset.parent / "r", "-q")
    assert Ledger(dataset).entries() == ()


@pytest.mark.parametrize("what", ["a file", "the dataset"])
def test_a_dataset_replaced_during_reading_spends_nothing(dataset: Path, what: str) -> None:
    """It may be replaced by a dataset whose ledger is still empty."""
    parameters = SynthesisParameters(prior="flows")
    privacy = PrivacyParameters(epsilon="4.6", delta="1e-6", min_retention="0.025")
    old, other = dataset.with_name("old"), dataset.with_name("other")

    def replaced(stage: str, _done: int, _total: int) -> None:
        if not stage.startswith("certifying") or other.exists():
            return
        shutil.copytree(dataset, other)
        if what == "a file":
            os.replace(other / "jobs.parquet", dataset / "jobs.parquet")
        else:
            os.rename(dataset, old)
            shutil.copytree(other, dataset)

    with pytest.raises(StoreError, match="was changed or replaced while it was read; run again"):
        run_synthesis(
            dataset, dataset.with_name("r"), privacy, parameters, test_key=True, workers=1, report=replaced
        )
    assert not any(
        (each / "ledger.jsonl").read_bytes() for each in (dataset, old) if (each / "ledger.jsonl").exists()
    )
    assert not dataset.with_name("r").exists()


def test_import(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources")
    for stage in ("reading", "cutting", "placing", "writing"):
        killed_at(stage, "import", tmp_path / "d", "--from", tmp_path / "sources")
        assert not (tmp_path / "d").exists()
    done = run_here("import", tmp_path / "d", "--from", tmp_path / "sources", "-q")
    assert done.code == 0, done.err
    open_store(tmp_path / "d", "dataset")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["d", "sources"]


def test_killed_at_any_time(dataset: Path) -> None:
    """Kill it from outside, at arbitrary moments."""
    release = dataset.parent / "r"
    for wait_s in (0.7, 1.5, 2.5):
        process = subprocess.Popen(
            [sys.executable, "-m", "mapapp.commands.cli", "synthesize", str(dataset), str(release), "-q"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(wait_s)
        process.kill()
        process.wait()
        if release.exists():
            open_store(release, "release")
            shutil.rmtree(release)
    open_store(dataset, "dataset")
