"""Short texts on pictures: classes of counts, directions, names beside a chart."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from mapapp.answers.areas.unit_names import name_parts
from mapapp.show.content.palette import RATIO_LIMITS

DIRECTIONS: Final = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
_NAME_LETTERS: Final = 16
_FULL_NAME_LETTERS: Final = 32


def class_text(low: int, high: int | None) -> str:
    """Legend text of a class of counts."""
    return f"{low:,} or more" if high is None else f"{low:,}" if low == high else f"{low:,}–{high:,}"


def change_texts(limits: list[int]) -> list[str]:
    """Legend texts of classes of changes, from the largest decrease to the largest increase."""
    highs = [*(limit - 1 for limit in limits[1:]), None]
    classes = list(zip(limits, highs, strict=True))
    fewer, more = ([_change_text(sign, *each) for each in classes] for sign in "−+")
    return [*fewer[::-1], "none", *more]


def _change_text(sign: str, low: int, high: int | None) -> str:
    return f"{sign}{low:,} or more" if high is None else f"{sign}{low:,} to {sign}{high:,}"


def ratio_texts() -> list[str]:
    """Classes of ratios as a legend says them, from the least to the largest."""
    first, *_, last = RATIO_LIMITS
    between = [f"{low:g}–{high:g}{' (even)' * (low < 1 < high)}" for low, high in pairwise(RATIO_LIMITS)]
    return [f"under {first:g}", *between, f"{last:g} or more"]


def short_names(names: list[str]) -> list[str]:
    """Names shortened to fit beside a heat map; names that begin alike keep what distinguishes them."""
    bare = [_cut(name_parts(name)[0], _NAME_LETTERS) for name in names]
    return [
        one if bare.count(one) == 1 else _cut(name, _FULL_NAME_LETTERS)
        for one, name in zip(bare, names, strict=True)
    ]


def _cut(name: str, letters: int) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1]}…"
