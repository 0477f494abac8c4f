"""Make a release in a process of its own, behind a server that is running already."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import mapapp
from mapapp.explore.background import run_in_background

__all__ = ["build_behind"]


def build_behind(
    dataset: Path, release: Path, preset: str, *, done: Callable[[], object], failed: Callable[[str], object]
) -> None:
    """Start `synthesize` on one thread, so that the server keeps the other processors; it ends with this process.

    The confidential dataset and the key are in the memory of the other process only.

    Parameters
    ----------
    dataset, release : Path
    preset : str
    done : callable
        Called on another thread when the release has been made.
    failed : callable
        Called instead, with what the command said, if it ended otherwise; not called when this process ends first.
    """
    command = [sys.executable, "-m", "mapapp.commands.cli", "synthesize", str(dataset), str(release)]
    path = (str(Path(mapapp.__file__).parents[1]), os.environ.get("PYTHONPATH"))
    process = subprocess.Popen(
        [*command, "--preset", preset, "--threads", "1", "--quiet"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, path))},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C reaches the server alone, which then ends this process
    )
    stopping = threading.Event()

    def follow() -> None:
        _, said = process.communicate()
        if stopping.is_set():
            return
        if process.returncode == 0:
            done()
        else:
            failed(" ".join(said.split()).removeprefix("commutemap: ") or f"exit code {process.returncode}")

    def stop() -> None:
        stopping.set()
        process.terminate()

    run_in_background(follow, stop=stop)
