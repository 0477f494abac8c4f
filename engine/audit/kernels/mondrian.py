"""Kernel of the Mondrian-like tree: boxes are cut at medians while both halves meet a rule.

Symbols: N people, d attributes, V values of the sensitive attribute, L leaves. Rows, values and order are permuted so
that the people of each node are side by side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.jit import jit
from engine.kernels.arrays import Floats, Indices, Ints

# Kernels that decide whether a group's counts of sensitive values meet a criterion.
#
# Symbols: V values; counts [V] of a group, ``total`` their sum; share [V] of each value in the whole table.

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


_FEW = 4
"""A range of codes is counted if it has at most this many codes per person, and sorted otherwise."""


class People(NamedTuple):
    """Codes [N, d], sensitive values [N], and the person of each row [N]; all three are permuted together."""

    rows: Indices
    value: Ints
    order: Ints


class Leaves(NamedTuple):
    """Bounds [most leaves, d], where the people of each leaf begin [most leaves + 1]."""

    lo: Indices
    hi: Indices
    start: Ints


class _Scratch(NamedTuple):
    """Least and greatest code of the node [d], attributes by width [d], counts of codes, counts of values [V] each."""

    least: Ints
    greatest: Ints
    attribute: Ints
    of_code: Ints
    node: Ints
    left: Ints
    right: Ints


class _Cut(NamedTuple):
    """The left half has codes up to ``code`` of an attribute, and ``n_left`` people; no cut has n_left = 0."""

    attribute: int
    code: int
    n_left: int


@jit
def _measure(people: People, start: int, stop: int, sizes: Ints, scratch: _Scratch) -> None:
    """Fill the least and greatest codes, and sort the attributes by relative width, widest first."""
    least, greatest, attribute = scratch.least, scratch.greatest, scratch.attribute
    least[:] = people.rows[start]
    greatest[:] = people.rows[start]
    for row in range(start + 1, stop):
        for j in range(sizes.size):
            code = people.rows[row, j]
            least[j] = min(least[j], code)
            greatest[j] = max(greatest[j], code)
    width = np.empty(sizes.size)
    for j in range(sizes.size):
        width[j] = (greatest[j] - least[j]) / max(sizes[j] - 1, 1)
        place = j
        while place > 0 and width[attribute[place - 1]] < width[j]:
            attribute[place] = attribute[place - 1]
            place -= 1
        attribute[place] = j


@jit
def _cut_of_counts(count: Ints, n_people: int) -> tuple[int, int]:
    """The last place of the left half and its people, of counts whose last is above 0; the most equal halves."""
    best, best_left, n_left = -1, 0, 0
    for place in range(count.size - 1):
        if count[place] > 0:
            n_left += count[place]
            if best < 0 or abs(2 * n_left - n_people) < abs(2 * best_left - n_people):
                best, best_left = place, n_left
    return best, best_left


@jit
def _median(people: People, start: int, stop: int, attribute: int, scratch: _Scratch) -> _Cut:
    """The cut of an attribute whose halves are most equal, both with people; ties go to the lower code."""
    low, n_people = scratch.least[attribute], stop - start
    n_codes = scratch.greatest[attribute] - low + 1
    if n_codes <= _FEW * n_people:
        count = scratch.of_code[:n_codes]
        count[:] = 0
        for row in range(start, stop):
            count[people.rows[row, attribute] - low] += 1
        place, n_left = _cut_of_counts(count, n_people)
        return _Cut(attribute, low + place, n_left)
    code = np.sort(people.rows[start:stop, attribute].astype(np.int64))
    count = np.zeros(n_people, dtype=np.int64)
    last = 0
    for place in range(n_people):
        if code[place] != code[last]:
            last = place
        count[last] += 1
    place, n_left = _cut_of_counts(count[: last + 1], n_people)
    return _Cut(attribute, code[place], n_left)


@jit
def _halves_meet(
    people: People, start: int, stop: int, cut: _Cut, share: Floats, rule: Rule, scratch: _Scratch
) -> bool:
    """Whether both halves of a cut meet the rule."""
    n_right = stop - start - cut.n_left
    if min(cut.n_left, n_right) < rule.k:
        return False
    if rule.diversity == NO_DIVERSITY and (rule.t < 0.0 or not rule.of_children):
        return True
    scratch.left[:] = 0
    for row in range(start, stop):
        if people.rows[row, cut.attribute] <= cut.code:
            scratch.left[people.value[row]] += 1
    for value in range(scratch.node.size):
        scratch.right[value] = scratch.node[value] - scratch.left[value]
    return meets(scratch.left, cut.n_left, share, rule) and meets(scratch.right, n_right, share, rule)


@jit
def _find_cut(
    people: People, start: int, stop: int, sizes: Ints, share: Floats, rule: Rule, scratch: _Scratch
) -> _Cut:
    """The median cut of the widest attribute whose halves meet the rule."""
    nothing = _Cut(-1, -1, 0)
    if stop - start < 2 * rule.k:
        return nothing
    if rule.diversity != NO_DIVERSITY or rule.t >= 0.0:
        scratch.node[:] = 0
        for row in range(start, stop):
            scratch.node[people.value[row]] += 1
        if not rule.of_children and not is_close(scratch.node, stop - start, share, rule):
            return nothing
    _measure(people, start, stop, sizes, scratch)
    for attribute in scratch.attribute:
        if scratch.greatest[attribute] > scratch.least[attribute]:
            cut = _median(people, start, stop, attribute, scratch)
            if _halves_meet(people, start, stop, cut, share, rule, scratch):
                return cut
    return nothing


@jit
def _divide(people: People, start: int, stop: int, cut: _Cut) -> None:
    """Put the people of the left half before those of the right half."""
    left, right = start, stop - 1
    while left <= right:
        if people.rows[left, cut.attribute] <= cut.code:
            left += 1
            continue
        if people.rows[right, cut.attribute] <= cut.code:
            for j in range(people.rows.shape[1]):
                people.rows[left, j], people.rows[right, j] = people.rows[right, j], people.rows[left, j]
            people.value[left], people.value[right] = people.value[right], people.value[left]
            people.order[left], people.order[right] = people.order[right], people.order[left]
        right -= 1


@jit
def grow_tree(people: People, sizes: Ints, share: Floats, rule: Rule, height: int, leaves: Leaves) -> int:
    """Fill the leaves from left to right; return how many there are. The first comes as the whole attribute space."""
    n_people, n_attributes = people.rows.shape
    scratch = _Scratch(
        np.empty(n_attributes, dtype=np.int64),
        np.empty(n_attributes, dtype=np.int64),
        np.empty(n_attributes, dtype=np.int64),
        np.empty(int(min(sizes.max(), _FEW * n_people)), dtype=np.int64),
        np.empty(share.size, dtype=np.int64),
        np.empty(share.size, dtype=np.int64),
        np.empty(share.size, dtype=np.int64),
    )
    waiting = [(n_people, height, leaves.lo[0].copy(), leaves.hi[0].copy())]
    start, n_leaves = 0, 0
    while len(waiting) > 0:
        stop, left_height, lo, hi = waiting.pop()
        cut = _Cut(-1, -1, 0)
        if left_height > 0:
            cut = _find_cut(people, start, stop, sizes, share, rule, scratch)
        if cut.n_left == 0:
            leaves.lo[n_leaves] = lo
            leaves.hi[n_leaves] = hi
            leaves.start[n_leaves] = start
            n_leaves += 1
            start = stop
            continue
        _divide(people, start, stop, cut)
        right_lo, left_hi = lo.copy(), hi.copy()
        right_lo[cut.attribute] = cut.code + 1
        left_hi[cut.attribute] = cut.code
        waiting.append((stop, left_height - 1, right_lo, hi))
        waiting.append((start + cut.n_left, left_height - 1, lo, left_hi))
    leaves.start[n_leaves] = n_people
    return n_leaves
