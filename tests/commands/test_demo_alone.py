"""`commutemap` without a command: the demo's map at once, its release by the other preset behind it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from geodata.store.atomic_writes import claim_place
from geodata.store.store import open_store
from mapapp.answers.release import names_of
from mapapp.commands import serve
from mapapp.commands import serve as build_behind
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.release.make.demo import Demo


@pytest.fixture
def demo(demo_dataset: Path, tmp_path: Path) -> Demo:
    """A data folder that has the small country in place of the larger one."""
    found = Demo(tmp_path / "home")
    shutil.copytree(demo_dataset, found.dataset)
    return found


def served(home: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "mapapp.commands.cli", "--port", "0"],
        env=os.environ | {"COMMUTEMAP_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL),
    )


def stop(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)


def test_both_presets_are_made_once_and_the_second_start_makes_nothing(
    demo: Demo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    process = served(demo.home)
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(5)]
    stop(process)
    assert lines[0].startswith("CommuteMap is at http://127.0.0.1:")
    named = [f"The demo with the {words}" for words in ("published counts", "OnTheMap V3 preset")]
    assert lines[1:3] == [f"{each} is being made behind the map, to compare with\n" for each in named]
    assert sorted(lines[3:]) == sorted(
        f"{each} is ready: choose it under Release, or compare the two\n" for each in named
    )
    promised = {}
    for preset in ("recommended", "onthemap-v3"):
        certificate = open_store(demo.release(preset), "release").document("certificate.json")
        assert certificate["construction"]["preset"] == preset
        assert certificate["status"] == "for release"
        promised[demo.release(preset).name] = certificate["epsilon_final"]["value"]
    entries = Ledger(demo.dataset).entries()
    assert {str(entry.release): float(entry.epsilon) for entry in entries if entry.epsilon} == promised
    listened: list[tuple[Any, Callable[[], object]]] = []

    def listen(app: Any, _host: str, _port: int, *, meanwhile: Callable[[], object]) -> None:
        listened.append((app, meanwhile))

    monkeypatch.setenv("COMMUTEMAP_HOME", str(demo.home))
    monkeypatch.setattr(serve, "_listen", listen)
    monkeypatch.setattr(Demo, "make", lambda demo, preset, _report: demo.release(preset))
    monkeypatch.setattr(build_behind, "build_behind", lambda *_, **__: pytest.fail("both are there"))
    serve.serve_demo(port=0)
    ((app, meanwhile),) = listened
    meanwhile()
    assert capsys.readouterr().out == ""
    views = app.server.extensions["commutemap"]
    names = list(names_of(list(views.releases.values())).values())
    kinds = [release.store.kind for release in views.releases.values()]
    assert kinds == ["release", "published", "release"]
    assert ["recommended preset" in names[0], "OnTheMap V3 preset" in names[2]] == [True, True]
    assert views.awaited == ()


def test_what_failed_is_said_in_one_line(demo: Demo) -> None:
    release = demo.release("onthemap-v3")
    ended, messages = threading.Event(), []

    def failed(reason: str) -> None:
        messages.append(reason)
        ended.set()

    with claim_place(release):
        command = ["synthesize", str(demo.dataset), str(release), "--preset", "onthemap-v3"]
        build_behind.build_behind(command, done=ended.set, failed=failed)
        assert ended.wait(120)
    (line,) = messages
    assert "already being written" in line
    assert "\n" not in line
    assert Ledger(demo.dataset).entries() == (), "nothing was spent"


def test_the_other_release_ends_with_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the server ends, the process that makes the release ends, and no message follows."""
    started: list[subprocess.Popen[str]] = []
    messages: list[str] = []
    work: list[Callable[[], object]] = []
    ends: list[Callable[[], object]] = []
    original = subprocess.Popen

    def popen(_command: list[str], **options: object) -> subprocess.Popen[str]:
        sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
        started.append(original(sleeping, **options))  # type: ignore[call-overload]  # options as the program gives them
        return started[0]

    def in_background(given: Callable[[], object], *, stop: Callable[[], object]) -> None:
        work.append(given)
        ends.append(stop)

    monkeypatch.setattr(subprocess, "Popen", popen)
    monkeypatch.setattr(build_behind, "run_in_background", in_background)
    build_behind.build_behind(
        ["synthesize", str(tmp_path / "d"), str(tmp_path / "r")],
        done=lambda: messages.append("done"),
        failed=messages.append,
    )
    thread = threading.Thread(target=work[0])
    thread.start()
    ends[0]()
    thread.join(timeout=120)
    assert not thread.is_alive()
    assert started[0].returncode == -signal.SIGTERM
    assert os.getsid(0) != started[0].pid
    assert messages == []
