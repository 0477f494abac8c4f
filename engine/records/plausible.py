"""Plausible deniability by its definition: partitions, tests 1 and 2, and the law of the mechanism, in exact fractions.

For records drawn in earnest, group sizes do the same work (:mod:`engine.records.groups`). These functions are for
small examples, and for tests.

Source: P17 §2, Definition 1, Mechanism 1, Tests 1 and 2; docs/theory/synthetic-records.md, "What is promised about one
record".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

from engine.errors import ParameterError
from engine.parameters import Number, exact_fraction

__all__ = [
    "check_similarity",
    "count_plausible_seeds",
    "is_plausibly_deniable",
    "output_law",
    "partition",
    "partition_index",
    "passes_test_1",
    "passes_test_2",
]

Chances = Sequence[Fraction]


def check_similarity(similarity: Number) -> Fraction:
    """Gamma as a fraction of at least 1 (ParameterError)."""
    gamma = exact_fraction(similarity, "similarity")
    if gamma < 1:
        raise ParameterError(f"similarity is {float(gamma):g}; it is a factor: give 1 or more, such as 4")
    return gamma


def partition_index(p: Fraction, similarity: Fraction) -> int | None:
    """The only i ≥ 0 with similarity^-(i+1) < p ≤ similarity^-i; None for p = 0.

    Parameters
    ----------
    p : Fraction
        A probability, 0 to 1.
    similarity : Fraction
        Gamma, above 1.

    Notes
    -----
    Logarithms only guess i; products of integers decide.
    """
    if similarity <= 1:
        raise ParameterError(f"similarity is {similarity}; partitions have an index only above 1")
    if not 0 <= p <= 1:
        raise ParameterError(f"p is {p}; a probability is 0 to 1")
    if p == 0:
        return None
    inverse = 1 / p
    index = max(0, int(_log(inverse) / _log(similarity)))
    while index > 0 and similarity**index > inverse:
        index -= 1
    while similarity ** (index + 1) <= inverse:
        index += 1
    return index


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def partition(p: Fraction, similarity: Fraction) -> int | Fraction | None:
    """What two probabilities have in common if they are in one partition: its index, or for similarity 1 p itself."""
    if similarity == 1:
        return p if p > 0 else None
    return partition_index(p, similarity)


def count_plausible_seeds(chances: Chances, seed: int, similarity: Fraction) -> int:
    """Number k' of records in the seed's partition, the seed included; 0 if the seed cannot have made the candidate.

    Parameters
    ----------
    chances : sequence of Fraction
        Chance of each record, by row, to make the candidate.
    seed : int
        Row of the seed.
    similarity : Fraction
        Gamma, at least 1.
    """
    own = partition(chances[seed], similarity)
    if own is None:
        return 0
    return sum(partition(p, similarity) == own for p in chances)


def passes_test_1(chances: Chances, seed: int, k: int, similarity: Fraction) -> bool:
    """The deterministic test: whether the candidate has at least k plausible seeds."""
    return count_plausible_seeds(chances, seed, similarity) >= k


def passes_test_2(chances: Chances, seed: int, threshold: int, similarity: Fraction) -> bool:
    """The randomized test, given the threshold k + noise of this candidate."""
    n_seeds = count_plausible_seeds(chances, seed, similarity)
    return n_seeds > 0 and threshold <= n_seeds


def is_plausibly_deniable(chances: Chances, seed: int, k: int, similarity: Fraction) -> bool:
    """Definition 1: whether k records, the seed among them, made the candidate with chances within a factor gamma.

    Records are rows, so equal records count separately. Unlike the tests, the definition has no fixed partitions, so it
    may hold where Test 1 fails.
    """
    own = chances[seed]
    if own <= 0:
        return False
    near = sorted(p for p in chances if p > 0 and own / similarity <= p <= own * similarity)
    return any(
        sum(low <= p <= low * similarity for p in near) >= k for low in near if low <= own <= low * similarity
    )


def output_law(
    kernel: Sequence[Chances],
    records: Sequence[int],
    similarity: Fraction,
    passes: Callable[[int], Fraction],
) -> list[Fraction]:
    """Exact law of Mechanism 1 on a small dataset: the chance of each output, and last that of no output.

    Parameters
    ----------
    kernel : sequence of sequences of Fraction
        Chance of each output (column) from each type of record (row).
    records : sequence of int
        The dataset: the type of each record.
    similarity : Fraction
        Gamma, at least 1.
    passes : callable
        Chance that a candidate with this many plausible seeds passes, such as that of ``Acceptance.exact_chance``.
    """
    n = len(records)
    released = []
    for output in range(len(kernel[0])):
        chances = [kernel[one][output] for one in records]
        parts = [partition(p, similarity) for p in chances]
        sizes = Counter(part for part in parts if part is not None)
        made = (p * passes(sizes[part]) for p, part in zip(chances, parts, strict=True) if part is not None)
        released.append(sum(made, Fraction(0)) / n)
    return [*released, 1 - sum(released, Fraction(0))]
