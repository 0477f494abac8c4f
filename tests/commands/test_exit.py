"""The command exits as any Python program does, completely and promptly."""

from __future__ import annotations

import ast
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.commands.running import commutemap

ROOT = Path(__file__).parents[2]
MAIN = """
import atexit, sys
import mapapp.cli
atexit.register(print, "exit functions are called")
"""


def ended(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", MAIN + code, *arguments], capture_output=True, text=True, timeout=120
    )


def test_no_module_calls_os_exit() -> None:
    """`os._exit` calls no exit function, writes no buffer and waits for no thread."""
    for package in ("engine", "geodata", "mapapp"):
        for file in sorted((ROOT / package).rglob("*.py")):
            names = {
                node.attr
                for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
                if isinstance(node, ast.Attribute)
            }
            assert "_exit" not in names, f"{file.relative_to(ROOT)} calls os._exit"


@pytest.mark.parametrize(("argument", "code"), [("--version", 0), ("--nonsense", 2)])
def test_exit_functions_are_called(argument: str, code: int) -> None:
    done = ended("mapapp.cli.main()", argument)
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == "exit functions are called"


def test_exit_functions_are_called_after_ctrl_c_too() -> None:
    done = ended(
        "import os, signal\n"
        "mapapp.cli.commutemap.main = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        "mapapp.cli.main()"
    )
    assert done.returncode == 130
    assert done.stderr.splitlines() == ["commutemap: stopped; nothing was kept"]
    assert done.stdout.splitlines() == ["exit functions are called"]


def test_a_closed_pipe_is_not_an_error() -> None:
    shell = f"{sys.executable} -m mapapp.cli certify --help | head -1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_unwritable_output_gives_one_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "mapapp.cli", "certify", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            cwd=ROOT,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines() == ["commutemap: No space left on device"]


def test_a_server_stopped_during_startup_ends_cleanly(demo_release: Path) -> None:
    """Its threads are in native code then, and Python must not end under them."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mapapp.cli", "serve", str(demo_release), "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    assert "CommuteMap is at" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (0, "")


def test_a_command_that_used_duckdb_prints_nothing_at_exit(demo_release: Path) -> None:
    done = commutemap("analyze", demo_release, "--analysis", "destinations", "--json")
    assert done.code == 0, done.err
    assert "nanobind" not in done.err
