"""Colours of maps: every scale is ordered by lightness, so it reads without telling hues apart and in print."""

from __future__ import annotations

from typing import Final

RAMP: Final = ("#e6f2c9", "#b7dfb9", "#72c3be", "#359cbd", "#2370ac", "#243e92", "#131b54")
OUTSIDE: Final = "#e7eaee"  # beyond the release's states
LAND: Final = "#fbfaf6"
TRACT_LINE: Final = "#c3c8cf"
COUNTY_LINE: Final = "#8f98a3"
STATE_LINE: Final = "#59626e"
HOME: Final = "#1d4f9c"  # blue: where people live
WORK: Final = "#b3430e"  # vermilion: where they work
INK: Final = "#1c2630"
PAPER: Final = "rgba(255,255,255,0.9)"

COUNT_BREAKS: Final = (1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)


def count_classes(largest: int) -> list[tuple[int, int | None]]:
    """Classes `(from, to)` that hold every count up to `largest`; the last has no upper end.

    The first two are the small counts a reader must be careful with: 1 to 2 and 3 to 9. There are at most as
    many classes as the ramp has colours: beyond that the largest counts share the last one.
    """
    lower = [one for one in COUNT_BREAKS if one <= max(largest, 1)][: len(RAMP)]
    upper = [one - 1 for one in lower[1:]]
    return list(zip(lower, [*upper, None], strict=True))
