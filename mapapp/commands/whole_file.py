"""Output files that are written completely or not at all."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeAlias

Stream: TypeAlias = IO[Any]
"""A stream of text, or of bytes if it was opened as binary."""


@contextmanager
def whole_file(output: Path | None, *, binary: bool) -> Iterator[Stream]:
    """Yield a stream to write to: standard output, or a file that appears only when it is complete."""
    if output is None:
        yield sys.stdout
        return
    from mapapp.files.exports.placing import new_place

    with (
        new_place(output, folder=False) as place,
        place.open("wb") if binary else place.open("w", encoding="utf-8", newline="") as stream,
    ):
        yield stream
