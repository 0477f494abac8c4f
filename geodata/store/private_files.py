"""A file that only its owner reads: complete or not there at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter
from pathlib import Path


@contextmanager
def write_private(file: Path) -> Iterator[BufferedWriter]:
    """Yield a stream to a new file beside `file`, which takes its place when all is written.

    If two tasks write the same file, each writes its own, and the later one takes the place: nothing is torn.
    """
    beside = file.with_name(f".{uuid.uuid4().hex}")
    try:
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            yield stream
        os.replace(beside, file)
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside)
