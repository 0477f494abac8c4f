"""Random cells, and what the definition says of them, value by value."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from engine.suppression.rates import Rates


class Cells(NamedTuple):
    """People and rates of some cells."""

    people: list[int]
    rates: list[Fraction]


def random_cells(n: int, *, most_people: int, seed: int) -> Cells:
    """Cells of 0 to ``most_people`` people, with rates of small and large denominators."""
    random = np.random.default_rng(seed)
    denominators = np.where(random.random(n) < 0.5, random.integers(2, 12, n), random.integers(2, 2**31, n))
    numerators = 1 + (random.random(n) * (denominators - 1)).astype(np.int64)
    return Cells(
        random.integers(0, most_people + 1, n).tolist(),
        [Fraction(int(a), int(d)) for a, d in zip(numerators, denominators, strict=True)],
    )


def rates_of(*rates: Fraction) -> Rates:
    """Rates as arrays."""
    return Rates(
        numerator=np.array([rate.numerator for rate in rates], dtype=np.int64),
        denominator=np.array([rate.denominator for rate in rates], dtype=np.int64),
    )


def plain_interval(people: int, rate: Fraction, epsilon: Fraction) -> list[int]:
    """Values of a cell after which everyone's chance of a yes, and of a no, has moved by at most epsilon."""
    if people == 0:
        return [0]
    posteriors = [Fraction(value, people) for value in range(people + 1)]
    return [
        value
        for value, posterior in enumerate(posteriors)
        if abs(1 - posterior / rate) <= epsilon and abs(1 - (1 - posterior) / (1 - rate)) <= epsilon
    ]


def plain_unsafe(people: int, rate: Fraction, safe: list[int]) -> Fraction:
    """Chance of a value that is not safe."""
    return 1 - sum(
        (math.comb(people, v) * rate**v * (1 - rate) ** (people - v) for v in safe), start=Fraction(0)
    )
