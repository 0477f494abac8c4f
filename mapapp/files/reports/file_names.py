"""Unique file names from area names, safe on every system."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Final

LONGEST: Final = 80
_RESERVED: Final = re.compile(
    r"(con|prn|aux|nul|com\d|lpt\d|index)", re.IGNORECASE
)  # reserved by Windows, or used by us


def file_stem(name: str, taken: Collection[str]) -> str:
    """A name as letters, digits and hyphens that differs from all in `taken`, regardless of case."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-")[:LONGEST].strip("-") or "report"
    if _RESERVED.fullmatch(stem):
        stem = f"report-{stem}"
    used = {each.lower() for each in taken}
    found, number = stem, 2
    while found.lower() in used:
        found, number = f"{stem}-{number}", number + 1
    return found
