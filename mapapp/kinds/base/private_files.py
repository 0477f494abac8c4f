"""A folder of a run that only its owner reads, and that is gone when the run ends."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["PARTS", "parts_folder"]

PARTS: Final = "parts"
"""Folder within that of a publication while it is written, for what is in between."""


@contextmanager
def parts_folder(folder: Path) -> Iterator[Path]:
    """Make a folder that only its owner reads; it is gone after the block."""
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
