"""Mondrian-like trees, one person at a time, as C13 and LeFevre, DeWitt and Ramakrishnan (2006) describe them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import exp, log
from typing import NamedTuple

Row = tuple[int, ...]


class Person(NamedTuple):
    row: Row
    value: int


class Leaf(NamedTuple):
    lo: Row
    hi: Row
    people: list[Person]


Test = Callable[[list[Person]], bool]
"""Whether a group may be half of a split."""


def counts(people: Sequence[Person]) -> list[int]:
    """Counts of the values that occur, largest first."""
    return sorted(Counter(person.value for person in people).values(), reverse=True)


def is_distinct(people: Sequence[Person], least: int) -> bool:
    return len(counts(people)) >= least


def is_entropy(people: Sequence[Person], least: float) -> bool:
    return exp(-sum(n / len(people) * log(n / len(people)) for n in counts(people))) >= least * (1 - 1e-12)


def is_frequent(people: Sequence[Person], least: int) -> bool:
    return Fraction(counts(people)[0], len(people)) <= Fraction(1, least)


def is_recursive(people: Sequence[Person], least: int, c: Fraction) -> bool:
    falling = counts(people)
    return falling[0] < c * sum(falling[least - 1 :])


def distance(people: Sequence[Person], everybody: Sequence[Person], n_values: int, ordered: bool) -> Fraction:
    """The earth mover's distance from everybody."""
    gaps = [
        Fraction(sum(person.value == v for person in people), len(people))
        - Fraction(sum(person.value == v for person in everybody), len(everybody))
        for v in range(n_values)
    ]
    if ordered:
        return sum((abs(sum(gaps[: v + 1], Fraction(0))) for v in range(n_values)), Fraction(0)) / max(
            n_values - 1, 1
        )
    return sum((abs(gap) for gap in gaps), Fraction(0)) / 2


def cut_of(people: list[Person], attribute: int) -> int | None:
    """The code after which halves are most equal, both with people; the lower one of two."""
    codes = sorted({person.row[attribute] for person in people})[:-1]
    return min(
        codes,
        key=lambda cut: (abs(2 * sum(person.row[attribute] <= cut for person in people) - len(people)), cut),
        default=None,
    )


def grow(
    people: list[Person], lo: Row, hi: Row, sizes: Row, halves: Test, node: Test, height: int
) -> list[Leaf]:
    """Leaves from left to right. ``node`` says whether a group may be split at all."""

    def width(attribute: int) -> Fraction:
        codes = [person.row[attribute] for person in people]
        return Fraction(max(codes) - min(codes), max(sizes[attribute] - 1, 1))

    if height > 0 and node(people):
        for attribute in sorted(range(len(sizes)), key=lambda j: (-width(j), j)):
            cut = cut_of(people, attribute)
            if cut is None:
                continue
            left = [person for person in people if person.row[attribute] <= cut]
            right = [person for person in people if person.row[attribute] > cut]
            if halves(left) and halves(right):
                left_hi = (*hi[:attribute], cut, *hi[attribute + 1 :])
                right_lo = (*lo[:attribute], cut + 1, *lo[attribute + 1 :])
                return [
                    *grow(left, lo, left_hi, sizes, halves, node, height - 1),
                    *grow(right, right_lo, hi, sizes, halves, node, height - 1),
                ]
    return [Leaf(lo, hi, people)]
