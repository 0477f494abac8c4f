"""kill -9 at any moment of import or synthesis leaves no half-written store, and the next run succeeds."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from geodata.store import open_store
from mapapp.ledger import Ledger
from tests.commands.running import commutemap, refused
from tests.geodata.samples import write_sources

# The command is killed when it reports the stage; a stage is reported when it begins.
CODE = """
import os, signal, sys
import mapapp.progress as progress
from contextlib import contextmanager
stage_to_die_at = sys.argv[1]
def report(stage, done, total):
    if stage.startswith(stage_to_die_at):
        os.kill(os.getpid(), signal.SIGKILL)
@contextmanager
def shown(*, quiet=False):
    yield report
progress.shown = shown
from mapapp.cli import run
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
    done = commutemap("synthesize", dataset, release, "-q")
    assert done.code == 0, done.err
    open_store(release, "release")
    assert sorted(entry.name for entry in dataset.parent.iterdir()) == ["d", "r"], (
        "the partial was cleared away"
    )


def test_a_spend_is_kept_when_the_run_dies_after_it(dataset: Path) -> None:
    """The ledger is written before the draw: what may have been seen is counted, and the next run sees it."""
    ledger = Ledger(dataset)
    ledger.set_budget(epsilon="10", delta="1e-5")
    killed_at("drawing synthetic", "synthesize", dataset, dataset.parent / "r")
    assert [entry.kind for entry in ledger.entries()] == ["budget", "release"]
    assert float(ledger.spent()[0]) == pytest.approx(8.98202663, abs=1e-8)
    assert "at most 1.01797" in refused("synthesize", dataset, dataset.parent / "r", "-q")
    assert not (dataset.parent / "r").exists()


def test_import(tmp_path: Path) -> None:
    write_sources(tmp_path / "sources")
    for stage in ("reading", "cutting", "placing", "writing"):
        killed_at(stage, "import", tmp_path / "d", "--from", tmp_path / "sources")
        assert not (tmp_path / "d").exists()
    done = commutemap("import", tmp_path / "d", "--from", tmp_path / "sources", "-q")
    assert done.code == 0, done.err
    open_store(tmp_path / "d", "dataset")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["d", "sources"]


def test_killed_at_any_time(dataset: Path) -> None:
    """From outside, at moments nobody chose."""
    release = dataset.parent / "r"
    for wait_s in (0.7, 1.5, 2.5):
        process = subprocess.Popen(
            [sys.executable, "-m", "mapapp.cli", "synthesize", str(dataset), str(release), "-q"],
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
