"""A handful of worker records, a public model, and the exact law of one candidate made from them.

Everything is a fraction: the noise of the threshold uses a fraction close to e^-ε₀, and so do Theorem 1's e^ε and δ.

Source: P17 §2, Mechanism 1, Theorem 1; docs/theory/synthetic-records.md, "Theorem 1".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Final

from engine.records.acceptance import Acceptance
from engine.records.plausible import check_similarity, output_law, partition

__all__ = [
    "ATTRIBUTES",
    "EARNS",
    "FEWEST",
    "LIVES",
    "MOST",
    "OUTPUTS",
    "WORKS",
    "Comparison",
    "Group",
    "Record",
    "RecordsExample",
    "compare",
    "log",
    "noise_fraction",
]

Record = tuple[int, ...]
"""The value of each attribute, by position."""

ATTRIBUTES: Final = {
    "Works in": ("Center", "Harbor"),
    "Lives": ("near", "far"),
    "Earnings": ("low", "middle", "high"),
}
OUTPUTS: Final[tuple[Record, ...]] = tuple(product(*(range(len(values)) for values in ATTRIBUTES.values())))
FEWEST: Final = 4
MOST: Final = 9
_QUARTER: Final = Fraction(1, 4)
WORKS: Final = (3 * _QUARTER, _QUARTER)
"""The public model's chance of each place of work."""
LIVES: Final = ((2 * _QUARTER, 2 * _QUARTER), (3 * _QUARTER, _QUARTER))
"""Chance of living near and far, by place of work."""
EARNS: Final = ((_QUARTER, _QUARTER, 2 * _QUARTER), (2 * _QUARTER, _QUARTER, _QUARTER))
"""Chance of each class of earnings, by place of work."""
_LONGEST: Final = 150
"""Largest denominator of the fraction in place of e^-ε₀; 18/133 for e^-2."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsExample:
    """The records and the rules of the mechanism.

    Attributes
    ----------
    others : tuple of Record
        The smaller dataset.
    worker : Record
        The record that the larger dataset has besides.
    kept : tuple of int
        How many attributes a candidate copies from its seed, from the first on. If there are several numbers, one is
        drawn for each candidate with equal chances, and the test does not know which.
    k, t : int
        Minimum number of plausible seeds, and the t of Theorem 1, 1 ≤ t < k.
    similarity : Fraction
        Gamma, at least 1.
    noise : Fraction
        In place of e^-ε₀; between 0 and 1.
    forced_fail : Fraction
    """

    others: tuple[Record, ...]
    worker: Record
    kept: tuple[int, ...]
    k: int
    t: int
    similarity: Fraction
    noise: Fraction
    forced_fail: Fraction

    @property
    def larger(self) -> tuple[Record, ...]:
        """The dataset with the worker, who comes last."""
        return (*self.others, self.worker)

    @property
    def acceptance(self) -> Acceptance:
        """The randomized test."""
        return Acceptance(
            min_plausible_seeds=self.k, threshold_epsilon=-log(self.noise), forced_fail=self.forced_fail
        )

    def passes(self, n_seeds: int) -> Fraction:
        """Chance that a candidate with this many plausible seeds passes."""
        return self.acceptance.exact_chance(n_seeds, self.noise)

    def chance(self, seed: Record, candidate: Record) -> Fraction:
        """Chance that a seed makes a candidate."""
        made = (_drawn(candidate, n_kept) for n_kept in self.kept if seed[:n_kept] == candidate[:n_kept])
        return sum(made, Fraction(0)) / len(self.kept)

    def law(self, records: Sequence[Record]) -> list[Fraction]:
        """Chance of each output, in the order of ``OUTPUTS``, and last of no output."""
        kernel = [[self.chance(seed, candidate) for candidate in OUTPUTS] for seed in OUTPUTS]
        rows = [OUTPUTS.index(record) for record in records]
        return output_law(kernel, rows, check_similarity(self.similarity), self.passes)

    def groups(self, candidate: Record) -> list[Group]:
        """The partitions of a candidate in the larger dataset, the one with the largest chances first."""
        chances = [self.chance(record, candidate) for record in self.larger]
        members: dict[int | Fraction, list[int]] = {}
        for row in sorted(range(len(chances)), key=lambda row: (-chances[row], row)):
            part = partition(chances[row], self.similarity)
            if part is not None:
                members.setdefault(part, []).append(row)
        return [self._group(part, tuple(sorted(rows)), chances) for part, rows in members.items()]

    def _group(self, part: int | Fraction, rows: tuple[int, ...], chances: Sequence[Fraction]) -> Group:
        n_without = sum(row < len(self.others) for row in rows)
        return Group(
            index=part if isinstance(part, int) else None,
            members=rows,
            chances=tuple(sorted({chances[row] for row in rows}, reverse=True)),
            passes_without=self.passes(n_without) if n_without else Fraction(0),
            passes_with=self.passes(len(rows)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """One partition of the seeds of a candidate.

    Attributes
    ----------
    index : int or None
        Its index i; None for gamma 1, where a partition is a single chance.
    members : tuple of int
        Rows of the larger dataset.
    chances : tuple of Fraction
        The different chances with which they make the candidate, the largest first.
    passes_without, passes_with : Fraction
        Chance that a candidate from here passes, by dataset; 0 if only the larger one has such a seed.
    """

    index: int | None
    members: tuple[int, ...]
    chances: tuple[Fraction, ...]
    passes_without: Fraction
    passes_with: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What one candidate shows of the worker, exactly, beside what Theorem 1 states.

    Attributes
    ----------
    without, with_worker : list of Fraction
        Chance of each output, last of no output.
    counted : int
        How many of them a reader sees: all but the last one if failures are hidden.
    stated_growth, stated_delta : Fraction
        Theorem 1's e^ε and δ.
    """

    without: list[Fraction]
    with_worker: list[Fraction]
    counted: int
    stated_growth: Fraction
    stated_delta: Fraction

    @property
    def seen(self) -> tuple[list[Fraction], list[Fraction]]:
        """The chances that a reader sees, without and with the worker."""
        return self.without[: self.counted], self.with_worker[: self.counted]

    @property
    def delta_added(self) -> Fraction:
        """Least δ at the stated ε if the worker is added."""
        without, with_worker = self.seen
        return _excess(with_worker, without, self.stated_growth)

    @property
    def delta_removed(self) -> Fraction:
        """Least δ at the stated ε if the worker is taken away."""
        return _excess(*self.seen, self.stated_growth)

    @property
    def delta(self) -> Fraction:
        """Least δ at the stated ε, for both directions."""
        return max(self.delta_added, self.delta_removed)

    @property
    def growth_needed(self) -> Fraction | None:
        """Least e^ε, at least 1, at the stated δ; None if no ε is enough."""
        without, with_worker = self.seen
        both = (
            _growth(with_worker, without, self.stated_delta),
            _growth(without, with_worker, self.stated_delta),
        )
        return None if both[0] is None or both[1] is None else max(both[0], both[1])

    @property
    def holds(self) -> bool:
        """Whether the theorem's statement is true of what a reader sees."""
        return self.delta <= self.stated_delta


def compare(example: RecordsExample, *, failures_seen: bool) -> Comparison:
    """Both laws of one candidate, and Theorem 1 for the same parameters.

    Parameters
    ----------
    example : RecordsExample
    failures_seen : bool
        Whether a reader sees that a candidate failed.

    Raises
    ------
    ParameterError
        A parameter is outside its range.
    """
    return Comparison(
        without=example.law(example.others),
        with_worker=example.law(example.larger),
        counted=len(OUTPUTS) + failures_seen,
        stated_growth=(1 + example.similarity / example.t) / example.noise,
        stated_delta=example.noise ** (example.k - example.t),
    )


def noise_fraction(threshold_epsilon: float) -> Fraction:
    """A fraction close to e^-threshold_epsilon with a small denominator."""
    return Fraction(math.exp(-threshold_epsilon)).limit_denominator(_LONGEST)


def log(value: Fraction) -> float:
    """Natural logarithm of a fraction above 0."""
    return math.log(value.numerator) - math.log(value.denominator)


def _drawn(candidate: Record, n_kept: int) -> Fraction:
    """Chance that the model draws the attributes after the first ones of a candidate."""
    works, lives, earns = candidate
    return math.prod((WORKS[works], LIVES[works][lives], EARNS[works][earns])[n_kept:], start=Fraction(1))


def _excess(larger: Sequence[Fraction], smaller: Sequence[Fraction], growth: Fraction) -> Fraction:
    gaps = (p - growth * q for p, q in zip(larger, smaller, strict=True))
    return sum((gap for gap in gaps if gap > 0), Fraction(0))


def _growth(larger: Sequence[Fraction], smaller: Sequence[Fraction], delta: Fraction) -> Fraction | None:
    """Least factor, at least 1, with larger ≤ factor · smaller + delta for every set of outputs.

    The worst set is always the outputs whose ratio is above some value.
    """
    pairs = [(p, q) for p, q in zip(larger, smaller, strict=True) if p > 0]
    only_larger = sum((p for p, q in pairs if q == 0), Fraction(0))
    if only_larger > delta:
        return None
    factor, sum_p, sum_q = Fraction(1), only_larger, Fraction(0)
    for p, q in sorted((pair for pair in pairs if pair[1] > 0), key=lambda pair: pair[1] / pair[0]):
        sum_p, sum_q = sum_p + p, sum_q + q
        factor = max(factor, (sum_p - delta) / sum_q)
    return factor
