"""Short texts on pictures: classes of counts, directions, names beside a chart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy
import numpy.typing as npt

from mapapp.answers.areas.unit_names import name_parts
from mapapp.show.content.palette import RATIO_LIMITS

DIRECTIONS: Final = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
_NAME_LETTERS: Final = 16
_FULL_NAME_LETTERS: Final = 32


def class_text(low: int, high: int | None) -> str:
    """Legend text of a class of counts."""
    return f"{low:,} or more" if high is None else f"{low:,}" if low == high else f"{low:,}–{high:,}"


def change_texts(limits: list[int], same: str) -> list[str]:
    """Legend texts of classes of changes, from the largest decrease to the largest increase; `same` is between them."""
    highs = [*(limit - 1 for limit in limits[1:]), None]
    classes = list(zip(limits, highs, strict=True))
    fewer, more = ([_change_text(sign, *bounds) for bounds in classes] for sign in "−+")
    return [*fewer[::-1], same, *more]


def _change_text(sign: str, low: int, high: int | None) -> str:
    return f"{sign}{low:,} or more" if high is None else f"{sign}{low:,} to {sign}{high:,}"


Ticks = tuple[tuple[float, str], ...]
"""Texts below a ramp, and their place from 0 to 1."""


def class_ticks(lower: Sequence[float], values: npt.NDArray[numpy.float64], *, unit: str = "") -> Ticks:
    """Ticks of a ramp of classes: the least and the largest value at its ends, and limits between.

    Parameters
    ----------
    lower : sequence of float
        Lower limit of each class.
    values : float64[units]
        What is drawn.
    unit : str
        Follows each number.
    """
    if not len(values):
        return ()
    texts = [extreme_text(float(values.min())), *map(tick_text, lower[1:]), extreme_text(float(values.max()))]
    return tuple((place / len(lower), f"{text}{unit}") for place, text in enumerate(texts))


def change_ticks(limits: Sequence[int], changes: npt.NDArray[numpy.integer]) -> Ticks:
    """Ticks of a ramp of changes: the largest decrease and increase at its ends, and limits between."""
    n_classes, ticks = 2 * len(limits), dict[float, str]()
    for sign in (-1, 1):
        most = int((sign * changes).max(initial=0))
        ends = [*limits, most] if most > 0 else []
        for step, value in enumerate(ends):
            place = 0.5 + sign * step / n_classes
            ticks[place] = "" if step == 0 else f"{'+' if sign > 0 else '−'}{tick_text(value)}"
    return tuple(sorted((place, text) for place, text in ticks.items() if text))


def extreme_text(value: float) -> str:
    """The least or the largest value; a tiny one has a single digit."""
    return tick_text(float(f"{value:.1g}") if value < 0.1 else value)


def tick_text(value: float) -> str:
    """A number that fits below a ramp, such as "0.25", "850", "1,200" or "12k"."""
    for power, letter in ((9, "B"), (6, "M"), (3, "k")):
        if value >= 10 ** (power + 1) * 0.9995 or (power > 3 and value >= 10**power * 0.9995):
            return f"{float(f'{value / 10**power:.3g}'):g}{letter}"
    return f"{value:,.0f}" if value >= 10 else f"{float(f'{value:.3g}'):g}"


def ratio_texts() -> list[str]:
    """Classes of ratios as a legend says them, from the least to the largest."""
    first, *_, last = RATIO_LIMITS
    between = [f"{low:g}–{high:g}{' (even)' * (low < 1 < high)}" for low, high in pairwise(RATIO_LIMITS)]
    return [f"under {first:g}", *between, f"{last:g} or more"]


def short_names(names: list[str]) -> list[str]:
    """Names shortened to fit beside a heat map; names that begin alike keep what distinguishes them."""
    bare = [_cut(name_parts(name)[0], _NAME_LETTERS) for name in names]
    return [
        bare_name if bare.count(bare_name) == 1 else _cut(name, _FULL_NAME_LETTERS)
        for bare_name, name in zip(bare, names, strict=True)
    ]


def _cut(name: str, letters: int) -> str:
    return name if len(name) <= letters else f"{name[: letters - 1]}…"
