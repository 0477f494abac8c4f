"""The command exits as any Python program does, completely and promptly."""

from __future__ import annotations

import ast
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from geodata.store.store import open_store
from mapapp.commands.cli import EXIT_OUTPUT

ROOT = Path(__file__).parents[2]
MAIN = """
import atexit, sys
import mapapp.commands.cli
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
    done = ended("mapapp.commands.cli.main()", argument)
    assert done.returncode == code
    assert done.stdout.splitlines()[-1] == "exit functions are called"


def test_exit_functions_are_called_after_ctrl_c_too() -> None:
    done = ended(
        "import os, signal\n"
        "mapapp.commands.cli.commutemap.main = lambda *_, **__: os.kill(os.getpid(), signal.SIGINT)\n"
        "mapapp.commands.cli.main()"
    )
    assert done.returncode == 130
    assert done.stderr.splitlines() == ["commutemap: stopped; nothing was kept"]
    assert done.stdout.splitlines() == ["exit functions are called"]


CLOSED = {"pipe": "| head -0", "closed": ">&-", "full": "> /dev/full", "no streams": "<&- >&- 2>&-"}


def in_shell(command: str, closed: str) -> tuple[int, str]:
    """Exit code of a command whose standard output is closed in this way, and what it says on standard error."""
    # The pipe has no reader any more when the command begins to print.
    waits = "(exec 2>/dev/null; sleep 0.3); " if closed == "pipe" else ""
    shell = f"({waits}{sys.executable} -m mapapp.commands.cli {command}) {CLOSED[closed]}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, timeout=240, cwd=ROOT)
    return done.returncode, done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("closed", CLOSED)
@pytest.mark.parametrize(
    "command", ["certify --help", "--version", "certify {release}", "analyze {release} -q"]
)
def test_output_that_cannot_be_written_has_one_exit_code(
    demo_release: Path, command: str, closed: str
) -> None:
    code, said = in_shell(command.format(release=demo_release), closed)
    assert code == EXIT_OUTPUT
    assert len(said.splitlines()) == (closed != "no streams")
    assert said.startswith("commutemap: standard output cannot be written (") == (closed != "no streams")


def test_a_command_that_fails_keeps_its_exit_code_without_standard_error() -> None:
    for errors in (">&- 2>&-", "2> /dev/full"):
        shell = f"{sys.executable} -m mapapp.commands.cli certify /nowhere {errors}"
        assert subprocess.run(["bash", "-c", shell], timeout=120, cwd=ROOT).returncode == 2


def test_what_is_published_is_said_if_it_cannot_be_printed(demo_dataset: Path, tmp_path: Path) -> None:
    dataset = shutil.copytree(demo_dataset, tmp_path / "d")
    code, said = in_shell(f"synthesize {dataset} {tmp_path}/r -q", "closed")
    assert code == EXIT_OUTPUT
    assert said == (
        f"commutemap: standard output cannot be written (Bad file descriptor); written: {tmp_path}/r; "
        f"the ledger of {dataset} was charged epsilon 6.5 and delta 0 for 'r'\n"
    )
    open_store(tmp_path / "r", "release")


def test_nothing_that_is_printed_gets_into_a_file_where_output_is_closed(tmp_path: Path) -> None:
    """The next file that is opened would get the number of standard output."""
    code, _ = in_shell(f"demo {tmp_path}/d --size small -q", "no streams")
    assert code == EXIT_OUTPUT
    open_store(tmp_path / "d", "dataset")


def test_a_server_stopped_during_startup_ends_cleanly(demo_release: Path) -> None:
    """Its threads are in native code then, and Python must not end under them."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mapapp.commands.cli", "serve", str(demo_release), "--port", "0"],
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
