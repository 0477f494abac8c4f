"""A file that a command writes: there whole, or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from mapapp.errors import UsageError


@contextmanager
def whole_file(output: Path | None, *, binary: bool) -> Iterator[IO[Any]]:
    """Yield where to write; a file appears whole or not at all."""
    if output is None:
        yield sys.stdout
        return
    if output.exists():
        raise UsageError(f"{output}: already exists; name another file, or remove it first")
    partial = output.with_name(f".{output.name}.partial-{os.getpid()}")
    try:
        with partial.open("wb") if binary else partial.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        os.replace(partial, output)
    finally:
        partial.unlink(missing_ok=True)
