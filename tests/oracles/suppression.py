"""Plain twin of `engine.suppression`: Bayes' rule over every data set of a small population, in exact fractions.

Written from the definitions of Nabar and Mishra, "Releasing Private Contingency Tables": Definition 1 (semantic
privacy), Algorithm 1 (Safe), Algorithm 3 (cell suppressor), and from docs/theory/suppressed-tables.md where that
departs from the paper. Nothing here uses the engine.

A population consists of groups: people of one cell with the same chance of having the counted attribute. People of a
group are exchangeable, so a world is described by how many people of each group have the attribute.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import NamedTuple

Counts = tuple[int, ...]
Output = tuple[int | None, ...]
"""The value of each query, None where it is suppressed."""

Released = tuple[tuple[int, int], ...]
"""Positions of released queries and their values, in order of release."""

Law = Callable[[Counts], Mapping[Output, Fraction]]
"""The chance of each output on the worlds with these counts."""


class Group(NamedTuple):
    """People of one cell with the same chance of having the attribute."""

    people: int
    rate: Fraction


@dataclass(frozen=True)
class Population:
    """Groups, and the queries about them: each query is the set of groups whose people it counts."""

    groups: tuple[Group, ...]
    queries: tuple[frozenset[int], ...]

    def __hash__(self) -> int:
        return hash((self.groups, self.queries))

    def worlds(self) -> dict[Counts, int]:
        """Every world with its chance, in multiples of one over :meth:`whole`."""
        return _worlds(self.groups)

    def whole(self) -> int:
        """Sum of the weights of all worlds."""
        return math.prod(group.rate.denominator**group.people for group in self.groups)

    def value(self, query: int, counts: Counts) -> int:
        return sum(counts[group] for group in self.queries[query])

    def values(self, counts: Counts) -> tuple[int, ...]:
        return tuple(self.value(query, counts) for query in range(len(self.queries)))


@cache
def _worlds(groups: tuple[Group, ...]) -> dict[Counts, int]:
    laws = [[_weight(group, ones) for ones in range(group.people + 1)] for group in groups]
    return {
        counts: math.prod(law[ones] for law, ones in zip(laws, counts, strict=True))
        for counts in itertools.product(*(range(group.people + 1) for group in groups))
    }


def _weight(group: Group, ones: int) -> int:
    """Binomial weight in multiples of one over the denominator to the power of the people."""
    numerator, denominator = group.rate.numerator, group.rate.denominator
    zeros = group.people - ones
    weight: int = math.comb(group.people, ones) * numerator**ones * (denominator - numerator) ** zeros
    return weight


def worlds_by_data_sets(groups: Sequence[Group]) -> dict[Counts, Fraction]:
    """Chances of :meth:`Population.worlds`, by listing every data set of zeros and ones."""
    rates = [group.rate for group in groups for _ in range(group.people)]
    owner = [number for number, group in enumerate(groups) for _ in range(group.people)]
    found: dict[Counts, Fraction] = {}
    for data in itertools.product((0, 1), repeat=len(rates)):
        counts = [0] * len(groups)
        chance = Fraction(1)
        for value, rate, group in zip(data, rates, owner, strict=True):
            counts[group] += value
            chance *= rate if value else 1 - rate
        key = tuple(counts)
        found[key] = found.get(key, Fraction(0)) + chance
    return found


def posteriors(groups: Sequence[Group], weights: Mapping[Counts, Fraction | int]) -> list[Fraction]:
    """Chance that a person of each group has the attribute, in worlds with these weights."""
    total = sum(weights.values())
    return [
        Fraction(sum(weight * counts[number] for counts, weight in weights.items())) / (total * group.people)
        for number, group in enumerate(groups)
    ]


def largest_shift(groups: Sequence[Group], weights: Mapping[Counts, Fraction | int]) -> Fraction:
    """Definition 1: the largest |1 - posterior / prior| over people and over both values."""
    shifts = [Fraction(0)]
    for group, posterior in zip(groups, posteriors(groups, weights), strict=True):
        shifts += [abs(1 - posterior / group.rate), abs(1 - (1 - posterior) / (1 - group.rate))]
    return max(shifts)


def given(population: Population, released: Iterable[tuple[int, int]]) -> dict[Counts, int]:
    """Worlds in which the released queries have their values, with their weights."""
    known = list(released)
    return {
        counts: weight
        for counts, weight in population.worlds().items()
        if all(population.value(query, counts) == value for query, value in known)
    }


class Twin:
    """Decisions on the queries of a population, in their order; remembers the states it has met."""

    def __init__(self, population: Population, epsilon: Fraction, decision_delta: Fraction) -> None:
        self.population, self.epsilon, self.decision_delta = population, epsilon, decision_delta
        self._safe: dict[Released, bool] = {}
        self._unsafe: dict[tuple[Released, int], Fraction] = {}

    def safe(self, released: Released) -> bool:
        """Algorithm 1: nobody's belief moves by more than epsilon."""
        key = tuple(sorted(released))
        if key not in self._safe:
            weights = given(self.population, key)
            self._safe[key] = largest_shift(self.population.groups, weights) <= self.epsilon
        return self._safe[key]

    def unsafe_probability(self, released: Released, query: int) -> Fraction:
        """Chance, given the released values, that releasing the value of one more query is not safe."""
        if (released, query) not in self._unsafe:
            weights = given(self.population, released)
            unsafe = sum(
                weight
                for counts, weight in weights.items()
                if not self.safe((*released, (query, self.population.value(query, counts))))
            )
            self._unsafe[released, query] = Fraction(unsafe, sum(weights.values()))
        return self._unsafe[released, query]

    def exact(self, counts: Counts) -> Output:
        """Release a query if the chance that it is unsafe is at most the bound; stop after the first breach."""
        released: Released = ()
        output: list[int | None] = []
        for query in range(len(self.population.queries)):
            allowed = self.safe(released) and self.unsafe_probability(released, query) <= self.decision_delta
            value = self.population.value(query, counts)
            output.append(value if allowed else None)
            if allowed:
                released = (*released, (query, value))
        return tuple(output)

    def sampled(self, counts: Counts) -> dict[Output, Fraction]:
        """Chance of each output of Algorithm 3, over its samples (its count starts at 0 for each query)."""
        states: dict[tuple[Output, Released], Fraction] = {((), ()): Fraction(1)}
        for query in range(len(self.population.queries)):
            value = self.population.value(query, counts)
            following: dict[tuple[Output, Released], Fraction] = {}
            for (output, released), chance in states.items():
                release = release_chance(self.unsafe_probability(released, query), self.decision_delta)
                for one, share in (
                    (((*output, value), (*released, (query, value))), release),
                    (((*output, None), released), 1 - release),
                ):
                    if share:
                        following[one] = following.get(one, Fraction(0)) + chance * share
            states = following
        return {output: chance for (output, _), chance in states.items()}

    def peeking(self, counts: Counts) -> Output:
        """A control that reads the value before it decides: it releases what is safe, and only that."""
        released: Released = ()
        output: list[int | None] = []
        for query in range(len(self.population.queries)):
            one = (query, self.population.value(query, counts))
            allowed = self.safe((*released, one))
            output.append(one[1] if allowed else None)
            if allowed:
                released = (*released, one)
        return tuple(output)


@cache
def release_chance(unsafe_probability: Fraction, decision_delta: Fraction) -> Fraction:
    """Chance that Algorithm 3 releases a query: at most ½ ln(1/q) unsafe values among ceil((1/q) ln(1/q)).

    Rounded to a multiple of 2^-30, to keep the fractions short.
    """
    logarithm = math.log(1 / decision_delta)
    samples, unsafe = math.ceil(logarithm / decision_delta), float(unsafe_probability)
    chance = math.fsum(
        math.comb(samples, count) * unsafe**count * (1 - unsafe) ** (samples - count)
        for count in range(math.floor(logarithm / 2) + 1)
    )
    return Fraction(round(chance * 2**30), 2**30)


def certain(decide: Callable[[Counts], Output]) -> Law:
    """The law of outputs of a suppressor without coins."""
    return lambda counts: {decide(counts): Fraction(1)}


class Examined(NamedTuple):
    """What listing every world shows about a suppressor.

    Attributes
    ----------
    outputs : int
        Distinct outputs.
    moving : int
        Outputs whose pattern of stars moves someone's posterior beyond what the released values say.
    largest_move : Fraction
        The largest such difference of two posteriors.
    not_private : Fraction
        Chance that the output moves some belief by more than epsilon.
    released : Fraction
        Expected share of the queries that are released.
    """

    outputs: int
    moving: int
    largest_move: Fraction
    not_private: Fraction
    released: Fraction


def examine(population: Population, law: Law, epsilon: Fraction) -> Examined:
    """Run a suppressor on every world, and compare what its outputs say with what their values say."""
    by_output: dict[Output, dict[Counts, Fraction | int]] = {}
    for counts, weight in population.worlds().items():
        for output, share in law(counts).items():
            by_output.setdefault(output, {})[counts] = weight if share == 1 else weight * share
    moving, largest, not_private, released = 0, Fraction(0), Fraction(0), Fraction(0)
    for output, weights in by_output.items():
        values = [(query, value) for query, value in enumerate(output) if value is not None]
        by_values = posteriors(population.groups, given(population, values))
        by_pattern = posteriors(population.groups, weights)
        move = max(abs(one - other) for one, other in zip(by_values, by_pattern, strict=True))
        moving, largest = moving + (move > 0), max(largest, move)
        chance = Fraction(sum(weights.values())) / population.whole()
        released += chance * Fraction(len(values), len(output))
        if largest_shift(population.groups, weights) > epsilon:
            not_private += chance
    return Examined(len(by_output), moving, largest, not_private, released)


def ordinary(rows: int, columns: int, sensitive: int) -> Callable[[Sequence[int]], frozenset[int]]:
    """An ordinary suppressor of a table with public totals: the stars it sets on a table of values.

    Cells with values up to `sensitive` are starred, and then the fewest others (the first set in lexicographic order)
    such that the totals and the printed cells determine none of the sensitive values.
    """

    @cache
    def stars(values: tuple[int, ...]) -> frozenset[int]:
        primary = frozenset(cell for cell, value in enumerate(values) if value <= sensitive)
        others = [cell for cell in range(rows * columns) if cell not in primary]
        if not primary:
            return primary
        for extra in range(len(others) + 1):
            for chosen in itertools.combinations(others, extra):
                starred = primary | set(chosen)
                if not primary & _determined(values, starred, rows, columns):
                    return starred
        return frozenset(range(rows * columns))

    return lambda values: stars(tuple(values))


def _determined(values: tuple[int, ...], starred: frozenset[int], rows: int, columns: int) -> set[int]:
    """Starred cells that have one value only in all tables of counts with the same totals and printed cells."""
    lines = [[row * columns + column for column in range(columns)] for row in range(rows)]
    lines += [[row * columns + column for row in range(rows)] for column in range(columns)]
    left = [sum(values[cell] for cell in line if cell in starred) for line in lines]
    cells = sorted(starred)
    found: dict[int, set[int]] = {cell: set() for cell in cells}

    def fill(at: int, left: list[int], filled: list[int]) -> None:
        if at == len(cells):
            if not any(left):
                for cell, value in zip(cells, filled, strict=True):
                    found[cell].add(value)
            return
        row, column = cells[at] // columns, rows + cells[at] % columns
        for value in range(min(left[row], left[column]) + 1):
            rest = list(left)
            rest[row] -= value
            rest[column] -= value
            fill(at + 1, rest, [*filled, value])

    fill(0, left, [])
    return {cell for cell, values in found.items() if len(values) == 1}


@dataclass(frozen=True)
class Row:
    """Workers of one place, each with an origin. `shares` are those of the tried origins; the rest is the remainder."""

    workers: int
    shares: tuple[Fraction, ...]

    def all_shares(self) -> tuple[Fraction, ...]:
        """Shares of the tried origins and of the remainder, if something is left."""
        rest = 1 - sum(self.shares, Fraction(0))
        return (*self.shares, rest) if rest else self.shares

    def worlds(self) -> dict[Counts, Fraction]:
        """Chance of the workers' origins, by how many workers have each."""
        return _origins(self)

    def posteriors(self, weights: Mapping[Counts, Fraction]) -> list[Fraction]:
        """Chance that a worker has each origin, in worlds with these weights."""
        total = sum(weights.values(), Fraction(0))
        return [
            sum((weight * counts[origin] for counts, weight in weights.items()), Fraction(0))
            / (total * self.workers)
            for origin in range(len(self.all_shares()))
        ]

    def largest_shift(self, weights: Mapping[Counts, Fraction]) -> Fraction:
        """Definition 1, over all origins."""
        pairs = zip(self.posteriors(weights), self.all_shares(), strict=True)
        return max(abs(1 - posterior / share) for posterior, share in pairs)

    def given(self, output: Output) -> dict[Counts, Fraction]:
        """Worlds in which the released origins have their counts."""
        return {
            counts: chance
            for counts, chance in self.worlds().items()
            if all(value is None or counts[origin] == value for origin, value in enumerate(output))
        }

    def exact(self, counts: Counts, epsilon: Fraction, decision_delta: Fraction) -> Output:
        """The exact suppressor; it stops after the first breach."""
        output: Output = ()
        for origin in range(len(self.shares)):
            before = self.given(output)
            unsafe = Fraction(0)
            for value in range(self.workers + 1):
                after = {one: chance for one, chance in before.items() if one[origin] == value}
                if after and self.largest_shift(after) > epsilon:
                    unsafe += sum(after.values(), Fraction(0))
            safe = self.largest_shift(before) <= epsilon
            allowed = safe and unsafe / sum(before.values(), Fraction(0)) <= decision_delta
            output = (*output, counts[origin] if allowed else None)
        return output


@cache
def _origins(row: Row) -> dict[Counts, Fraction]:
    """By listing the origins of all workers."""
    shares, found = row.all_shares(), dict[Counts, Fraction]()
    for origins in itertools.product(range(len(shares)), repeat=row.workers):
        counts = tuple(origins.count(origin) for origin in range(len(shares)))
        chance = math.prod((shares[origin] for origin in origins), start=Fraction(1))
        found[counts] = found.get(counts, Fraction(0)) + chance
    return found
