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


def count_classes(smallest: int, largest: int) -> list[tuple[int, int | None]]:
    """Classes `(from, to)` that hold every count from `smallest` to `largest`; the last has no upper end.

    The small counts a reader must be careful with, 1 to 2 and 3 to 9, are classes of their own where there are
    any. The others have round limits, as close together as the number of colours allows.
    """
    lower = [1]
    for factors in ((1, 2, 5), (1, 3), (1,)):
        limits = [1, 3, *(factor * 10**power for power in range(1, 10) for factor in factors)]
        reached = [limit for limit in limits if limit <= max(largest, 1)]
        n_below = sum(limit <= smallest for limit in reached)
        lower = reached[max(n_below - 1, 0) :]
        if len(lower) <= len(RAMP):
            break
    upper = [limit - 1 for limit in lower[1:]]
    return list(zip(lower, [*upper, None], strict=True))
