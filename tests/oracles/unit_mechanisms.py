"""Plain twins of keep-or-redraw and of geometric noise projected on the public total, with their exact laws."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from tests.oracles.mechanisms import Law, clamped_law, joint_law

Table = tuple[int, ...]


def stay_chance(k: int, growth: Fraction) -> Fraction:
    """Chance of a worker's true point under k-ary randomized response with e^epsilon = growth."""
    return growth / (growth - 1 + k)


def keep_or_redraw_law(table: Table, growth: Fraction) -> Law:
    """Each worker, independently, is redrawn uniformly over k points with chance k/(e^epsilon - 1 + k)."""
    k = len(table)
    stays, goes = stay_chance(k, growth), (1 - stay_chance(k, growth)) / (k - 1)
    law: Law = {(0,) * k: Fraction(1)}
    for home, count in enumerate(table):
        for _ in range(count):
            law = _one_more(law, [stays if point == home else goes for point in range(k)])
    return law


def _one_more(law: Law, chances: Sequence[Fraction]) -> Law:
    found: Law = {}
    for counts, chance in law.items():
        for point, share in enumerate(chances):
            more = (*counts[:point], counts[point] + 1, *counts[point + 1 :])
            found[more] = found.get(more, Fraction(0)) + chance * share
    return found


def level_and_surplus(noisy: Sequence[int], n: int) -> tuple[int, int]:
    """Highest level above which the counts hold at least n workers, and how many more than n; it may be below 0."""
    level = max(noisy)
    while sum(max(count - level, 0) for count in noisy) < n:
        level -= 1
    return level, sum(max(count - level, 0) for count in noisy) - n


def projections(noisy: Sequence[int], n: int) -> list[Table]:
    """Tables of n workers at the least squared distance: one for each choice of the points that lose one more.

    What is above the level stays, except that as many points as there are surplus workers lose one; a mechanism draws
    these points uniformly. Only the noisy counts and n are read.
    """
    level, surplus = level_and_surplus(noisy, n)
    above = [point for point, count in enumerate(noisy) if count > level]
    return [
        tuple(max(count - level, 0) - (point in chosen) for point, count in enumerate(noisy))
        for chosen in combinations(above, surplus)
    ]


def geometric_law(table: Table, q: Fraction, top: int) -> Law:
    """Noise proportional to q^|z|, q = e^(-epsilon/2), on every count, clamped to 0 ... top, then projected on n."""
    law: Law = {}
    for noisy, chance in joint_law([clamped_law(count, q, top) for count in table]).items():
        found = projections(noisy, sum(table))
        for released in found:
            law[released] = law.get(released, Fraction(0)) + chance / len(found)
    return law
