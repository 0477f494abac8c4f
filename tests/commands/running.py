"""Running commands the way a user does: in another process, looking at exit code, output and what is left."""

from __future__ import annotations

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
        """The last line on standard error: what the user is told."""
        return self.err.strip().splitlines()[-1] if self.err.strip() else ""


def commutemap(
    *arguments: object, cwd: Path | None = None, environment: dict[str, str] | None = None
) -> Done:
    """Run `commutemap` with arguments and wait for it."""
    done = subprocess.run(
        [sys.executable, "-m", "mapapp.cli", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        timeout=240,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def refused(*arguments: object, **options: object) -> str:
    """Run a command in this process that must refuse; return its one line."""
    import contextlib
    import io

    from mapapp.cli import run

    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        code = run([str(argument) for argument in arguments])
    lines = errors.getvalue().strip().splitlines()
    assert code == 2, f"exit code {code}: {errors.getvalue()}"
    assert "Traceback" not in errors.getvalue()
    said = [line for line in lines if line.startswith("commutemap: ")]
    assert len(said) == 1, lines
    return said[0]
