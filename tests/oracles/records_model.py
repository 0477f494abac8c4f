"""Tables and draws of a Bayesian network, written from their definitions."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import product

from engine.records.structure import Structure

Record = tuple[int, ...]


def configuration(structure: Structure, child: int, record: Sequence[int]) -> int:
    """The number of a record's configuration: its parents' buckets, the last one varying fastest."""
    number = 0
    sizes = structure.bucket_sizes(child)
    for size, parent, bucket in zip(sizes, structure.parents[child], structure.buckets[child], strict=True):
        value = record[parent]
        number = number * size + (value if bucket is None else int(bucket[value]))
    return number


def family_counts(structure: Structure, records: Sequence[Record], child: int) -> Counter[tuple[int, int]]:
    """How many records are in each (configuration, value)."""
    return Counter((configuration(structure, child, record), record[child]) for record in records)


def record_chance(
    structure: Structure, weights: Sequence[list[list[int]]], record: Record, kept: int
) -> Fraction:
    """The chance of a record given its first ``kept`` attributes (P17 equations 2 and 3)."""
    chance = Fraction(1)
    for child in range(kept, len(record)):
        row = weights[child][configuration(structure, child, record)]
        chance *= Fraction(row[record[child]], sum(row))
    return chance


def all_records(structure: Structure) -> list[Record]:
    return list(product(*(range(size) for size in structure.domain)))


def noisy_count_chance(count: int, value: int, q: Fraction) -> Fraction:
    """The chance that a count plus discrete Laplace noise, P(z) ∝ q^|z|, cut at 0, is a value."""
    if value == 0:
        return q**count / (1 + q)
    return (1 - q) / (1 + q) * q ** abs(value - count)
