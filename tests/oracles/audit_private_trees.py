"""Boxes of private trees, one person at a time, and the chances of their cuts, as P12 describes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import exp
from typing import NamedTuple

Row = tuple[int, ...]


class Box(NamedTuple):
    lo: Row
    hi: Row
    turn: int


Cutter = Callable[[Box, int], int]
"""The last code of the left half, for a box and the attribute that is cut."""


def cut_chances(marginal: Sequence[float], epsilon: float) -> list[float]:
    """Chance of each cut of an attribute: proportional to exp(-epsilon |left - half|)."""
    half = sum(marginal) / 2
    weights = [exp(-epsilon * abs(sum(marginal[: cut + 1]) - half)) for cut in range(len(marginal) - 1)]
    return [weight / sum(weights) for weight in weights]


def drawn_cut(marginal: Sequence[float], epsilon: float, uniform: float) -> int:
    """The first cut at which the chances add up to more than a uniform number."""
    chances = cut_chances(marginal, epsilon)
    return next(
        cut for cut in range(len(chances)) if uniform < sum(chances[: cut + 1]) or cut == len(chances) - 1
    )


def median_cut(marginal: Sequence[float]) -> int:
    half = sum(marginal) / 2
    if half <= 0:
        return (len(marginal) - 1) // 2
    return min(range(len(marginal) - 1), key=lambda cut: (abs(sum(marginal[: cut + 1]) - half), cut))


def marginal_of(people: Sequence[Row], box: Box, attribute: int) -> list[float]:
    """People of a box by their code in an attribute."""
    inside = [
        row
        for row in people
        if all(low <= code <= high for low, code, high in zip(box.lo, row, box.hi, strict=True))
    ]
    return [
        float(sum(row[attribute] == code for row in inside))
        for code in range(box.lo[attribute], box.hi[attribute] + 1)
    ]


def grid_marginal(grid: dict[Row, float], box: Box, attribute: int) -> list[float]:
    """Noisy people of a box by their code in an attribute."""
    totals = [0.0] * (box.hi[attribute] - box.lo[attribute] + 1)
    for cell in product(*(range(low, high + 1) for low, high in zip(box.lo, box.hi, strict=True))):
        totals[cell[attribute] - box.lo[attribute]] += grid[cell]
    return totals


def halves(box: Box, cutter: Cutter) -> list[Box]:
    """The box cut in the attribute whose turn it is; attributes of one code are skipped, a single cell passes down."""
    for step in range(len(box.lo)):
        j = (box.turn + step) % len(box.lo)
        if box.hi[j] > box.lo[j]:
            cut, turn = cutter(box, j), (j + 1) % len(box.lo)
            return [
                Box(box.lo, (*box.hi[:j], cut, *box.hi[j + 1 :]), turn),
                Box((*box.lo[:j], cut + 1, *box.lo[j + 1 :]), box.hi, turn),
            ]
    return [box]
