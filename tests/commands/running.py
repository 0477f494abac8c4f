"""Running commands the way a user does: looking at exit code, output and what is left."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Done:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """The last line on standard error: the message to the user."""
        return self.err.strip().splitlines()[-1] if self.err.strip() else ""


def commutemap(
    *arguments: object, cwd: Path | None = None, environment: dict[str, str] | None = None
) -> Done:
    """Run `commutemap` with arguments in a process of its own and wait for it."""
    done = subprocess.run(
        [sys.executable, "-m", "mapapp.commands.cli", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=240,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def run_here(*arguments: object) -> Done:
    """Run `commutemap` in this process, which saves the second that a process takes to start.

    For tests that look at what a command answers, not at how its process starts or ends.
    """
    from mapapp.commands.cli import run

    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = run([str(argument) for argument in arguments])
    return Done(code, out.getvalue(), errors.getvalue())


def refused(*arguments: object) -> str:
    """Run a command in this process that must refuse; return its one line."""
    done = run_here(*arguments)
    assert done.code == 2, f"exit code {done.code}: {done.err}"
    assert "Traceback" not in done.err
    lines = done.err.strip().splitlines()
    said = [line for line in lines if line.startswith("commutemap: ")]
    assert len(said) == 1, lines
    return said[0]
