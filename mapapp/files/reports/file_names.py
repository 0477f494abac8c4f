"""Names of files from names of areas: safe on every system, and each once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Final

LONGEST: Final = 80
_RESERVED: Final = re.compile(
    r"(con|prn|aux|nul|com\d|lpt\d|index)", re.IGNORECASE
)  # of Windows, and our own


def file_stem(name: str, taken: Collection[str]) -> str:
    """Letters, digits and hyphens that remind of a name, and that no name in `taken` has, upper case or lower."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^A-Za-z0-9]+", "-", plain).strip("-")[:LONGEST].strip("-") or "report"
    if _RESERVED.fullmatch(stem):
        stem = f"report-{stem}"
    used = {each.lower() for each in taken}
    found, number = stem, 2
    while found.lower() in used:
        found, number = f"{stem}-{number}", number + 1
    return found
