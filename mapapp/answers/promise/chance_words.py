"""Small probabilities in words."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

_DIGITS: Final = 3
"""Digits of a number of times in words."""
_LARGE: Final = {10**12: "trillion", 10**9: "billion", 10**6: "million"}


def chance_in_words(chance: Fraction) -> str:
    """Return a probability as one in a number of times, rounded up: ``one in a million``; it is above 0."""
    if chance > Fraction(1, 2):
        return f"{math.ceil(1000 * chance) / 10:g}%"
    times = int(1 / chance)
    unit = 10 ** max(0, len(str(times)) - _DIGITS)
    times = times // unit * unit
    for size, name in _LARGE.items():
        if times >= size and 100 * times % size == 0:
            return f"one in a {name}" if times == size else f"one in {times / size:g} {name}"
    return f"one in {times:,}"
