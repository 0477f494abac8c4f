"""Plain twin of the tests and accountants of `engine.records`: every outcome of tiny datasets, in fractions.

Written from P17 §2 (Definition 1, Mechanism 1, Tests 1 and 2) and docs/theory/synthetic-records.md. Nothing here uses
the engine.

A *kernel* has a row for each type of record and a column for each output; a dataset is a list of types.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

Kernel = Sequence[Sequence[Fraction]]
Law = dict[tuple[int, int] | None, Fraction]
"""Chance of each output through each partition, and of no output (None)."""


class Rule(NamedTuple):
    """k, gamma, a = e^-eps0 (None for the deterministic test), forced failure, and the seed floor."""

    k: int
    gamma: Fraction
    a: Fraction | None
    beta: Fraction = Fraction(0)
    floor: int = 1


def index_of(p: Fraction, gamma: Fraction) -> int | None:
    """The partition of a chance, found by trying one after the other."""
    if p == 0:
        return None
    index = 0
    while not gamma ** -(index + 1) < p <= gamma**-index:
        index += 1
    return index


def chance_to_pass(c: int, rule: Rule) -> Fraction:
    """Sum of the noise's law over the thresholds that c plausible seeds reach, and forced failure."""
    if c < rule.floor:
        return Fraction(0)
    if rule.a is None:
        return (1 - rule.beta) * (c >= rule.k)
    # Z <= c - k: above 0 one minus the tail, else the tail itself, each a geometric series.
    z = c - rule.k
    share = (1 - rule.a) / (1 + rule.a)
    series = Fraction(1) / (1 - rule.a)
    below = share * rule.a**-z * series if z <= 0 else 1 - share * rule.a ** (z + 1) * series
    return (1 - rule.beta) * below


def law(kernel: Kernel, data: Sequence[int], rule: Rule) -> Law:
    """Law of one try: every seed, every output, and whether it passes."""
    found: Law = {None: Fraction(0)}
    for seed, output in itertools.product(data, range(len(kernel[0]))):
        p = kernel[seed][output]
        index = index_of(p, rule.gamma)
        if index is None:
            continue
        c = sum(index_of(kernel[other][output], rule.gamma) == index for other in data)
        q = chance_to_pass(c, rule)
        made = p / len(data)
        found[output, index] = found.get((output, index), Fraction(0)) + made * q
        found[None] += made * (1 - q)
    return found


def merged(one: Law, n_outputs: int) -> list[Fraction]:
    """Chance of each output, and last of no output."""
    sums = [Fraction(0)] * (n_outputs + 1)
    for outcome, p in one.items():
        sums[-1 if outcome is None else outcome[0]] += p
    return sums


def exact_delta(p: Sequence[float], q: Sequence[float], epsilon: float) -> float:
    """Least delta with q <= e^epsilon p + delta for every set."""
    return sum(max(0.0, float(y) - math.exp(epsilon) * float(x)) for x, y in zip(p, q, strict=True))


def product(one: Sequence[float], times: int) -> list[float]:
    """Law of independent repetitions, an entry for each sequence of outcomes."""
    return [math.prod(choice) for choice in itertools.product(one, repeat=times)]
