"""Names and titles that UTF-8 can hold: those of files need not be."""

from __future__ import annotations

from pathlib import Path


def is_utf8(text: str) -> bool:
    """Whether a text can be written as UTF-8; Python keeps other bytes of a name as halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def in_utf8(name: str | Path) -> str:
    """Return a name with its other bytes written as escapes, for messages."""
    return str(name).encode(errors="backslashreplace").decode()
