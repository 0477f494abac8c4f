"""Kernels that decide whether a group's counts of sensitive values meet a criterion.

Symbols: V values; counts [V] of a group, ``total`` their sum; share [V] of each value in the whole table.
"""

from typing import NamedTuple

import numpy as np

from engine._jit import jit
from engine._kernels.arrays import Floats, Ints

__all__ = ["DISTINCT", "ENTROPY", "FREQUENCY", "NO_DIVERSITY", "RECURSIVE", "Rule", "is_close", "meets"]

NO_DIVERSITY, DISTINCT, ENTROPY, FREQUENCY, RECURSIVE = 0, 1, 2, 3, 4
_SLACK = 1e-12


class Rule(NamedTuple):
    """A criterion: least group k, kind of l-diversity with its l and c, and greatest distance t (negative: any).

    ``ordered`` picks the distance of ordinal values. ``of_children`` says that both halves of a split must be close to
    the whole table; otherwise the group that is split must be.
    """

    k: int
    diversity: int
    least: float
    c: float
    t: float
    ordered: bool
    of_children: bool


@jit
def _distance(counts: Ints, total: int, share: Floats, ordered: bool) -> float:
    """The earth mover's distance between the shares of a group and those of the table."""
    moved, ahead = 0.0, 0.0
    for value in range(counts.size):
        gap = counts[value] / total - share[value]
        ahead += gap
        moved += abs(ahead) if ordered else abs(gap)
    return moved / max(counts.size - 1, 1) if ordered else moved / 2.0


@jit
def is_close(counts: Ints, total: int, share: Floats, rule: Rule) -> bool:
    """Whether a group is within t of the table, if the rule limits that."""
    return rule.t < 0.0 or _distance(counts, total, share, rule.ordered) <= rule.t + _SLACK


@jit
def _is_recursive(positive: Ints, least: float, c: float) -> bool:
    """Whether the largest count is below c times the sum of all but the l - 1 largest."""
    rising = np.sort(positive)
    kept = rising.size - int(least) + 1
    return kept > 0 and rising[-1] < c * rising[:kept].sum()


@jit
def _is_diverse(counts: Ints, total: int, rule: Rule) -> bool:
    positive = counts[counts > 0]
    if rule.diversity == DISTINCT:
        return bool(positive.size >= rule.least)
    if rule.diversity == FREQUENCY:
        return bool(positive.max() * rule.least <= total * (1.0 + _SLACK))
    if rule.diversity == RECURSIVE:
        return _is_recursive(positive, rule.least, rule.c)
    entropy = 0.0
    for count in positive:
        entropy -= count / total * np.log(count / total)
    return bool(entropy >= np.log(rule.least) - _SLACK)


@jit
def meets(counts: Ints, total: int, share: Floats, rule: Rule) -> bool:
    """Whether a group with these counts [V] may be one of the halves of a split."""
    if total < rule.k:
        return False
    if rule.diversity != NO_DIVERSITY and not _is_diverse(counts, total, rule):
        return False
    return not rule.of_children or is_close(counts, total, share, rule)
