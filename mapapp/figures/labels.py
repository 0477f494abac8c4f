"""Short texts on pictures: classes of counts, directions, names beside a chart."""

from __future__ import annotations

from typing import Final

DIRECTIONS: Final = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
_NAME_LETTERS: Final = 16


def class_text(low: int, high: int | None) -> str:
    """A class of counts as a legend says it."""
    return f"{low:,} or more" if high is None else f"{low:,}" if low == high else f"{low:,}–{high:,}"


def short_names(names: list[str]) -> list[str]:
    """Names as they fit beside a heat map."""
    bare = [name.split(", ")[0] for name in names]
    return [name if len(name) <= _NAME_LETTERS else f"{name[: _NAME_LETTERS - 1]}…" for name in bare]
