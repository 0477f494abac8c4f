"""Boxes with counts in exact fractions: counting queries and the naive Bayes attacker of C13, section II."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

Row = Sequence[int]


@dataclass(frozen=True)
class Box:
    """A box, both bounds inclusive, and its count of each sensitive value."""

    lo: Row
    hi: Row
    counts: Sequence[int | Fraction]


def cells(lo: Row, hi: Row) -> list[tuple[int, ...]]:
    return list(product(*(range(first, last + 1) for first, last in zip(lo, hi, strict=True))))


def answer(boxes: Sequence[Box], lo: Row, hi: Row, values: Sequence[bool]) -> Fraction:
    """Sum, over the cells of the query, of the people who are in each cell if boxes are filled evenly."""
    asked, total = set(cells(lo, hi)), Fraction(0)
    for box in boxes:
        inside = cells(box.lo, box.hi)
        people = sum(
            (Fraction(n) for n, wanted in zip(box.counts, values, strict=True) if wanted), Fraction(0)
        )
        total += people * len(asked.intersection(inside)) / len(inside)
    return total


def posterior(boxes: Sequence[Box], row: Row) -> list[Fraction]:
    """The attacker's belief in each sensitive value for one row."""
    n_values = len(boxes[0].counts)
    weight = [
        sum((max(Fraction(box.counts[v]), Fraction(0)) for box in boxes), Fraction(0))
        for v in range(n_values)
    ]
    prior = [one / sum(weight) for one in weight]
    scores = []
    for v in range(n_values):
        score = prior[v]
        for j, code in enumerate(row):
            joint = sum(
                (
                    max(Fraction(box.counts[v]), Fraction(0)) / (box.hi[j] - box.lo[j] + 1)
                    for box in boxes
                    if box.lo[j] <= code <= box.hi[j]
                ),
                Fraction(0),
            )
            score *= joint / weight[v] if weight[v] else 0
        scores.append(score)
    return [score / sum(scores) for score in scores] if sum(scores) else prior


def predicted(belief: Sequence[Fraction], prior: Sequence[Fraction]) -> int:
    """The value of greatest belief; ties to the greater prior, then to the lower code."""
    return max(range(len(belief)), key=lambda v: (belief[v], prior[v], -v))
