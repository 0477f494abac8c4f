"""Kernels over boxes of the attribute space: counting queries, and the tables of the naive Bayes attacker.

Symbols: L boxes, d attributes, V values of the sensitive attribute, E entries (a value of a box with its count), Q
queries, N victims. Bounds are inclusive.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from engine.jit import jit
from engine.kernels.arrays import Bools, Floats, Indices, Ints

_TIE = 1e-11
"""Log beliefs this close are equal: rounding of a sum of logs stays below it."""


class Boxes(NamedTuple):
    """First and last code of each box in each attribute, both [L, d]."""

    lo: Ints
    hi: Ints


class Entries(NamedTuple):
    """Values of each box and their counts: CSR offsets [L + 1], value [E], people [E]."""

    ptr: Ints
    value: Ints
    people: Floats


@jit
def _measure_overlap(boxes: Boxes, box: int, queries: Boxes, query: int) -> float:
    """The share of a box that a query covers."""
    share = 1.0
    for attribute in range(boxes.lo.shape[1]):
        lo, hi = boxes.lo[box, attribute], boxes.hi[box, attribute]
        first = max(lo, queries.lo[query, attribute])
        last = min(hi, queries.hi[query, attribute])
        if first > last:
            return 0.0
        if first > lo or last < hi:
            share *= (last - first + 1) / (hi - lo + 1)
    return share


@jit
def answer_queries(boxes: Boxes, entries: Entries, queries: Boxes, wanted: Bools, answers: Floats) -> None:
    """Add to the answers [Q, zeroed] counts of the wanted values [Q, V], spread over each box; V = 0 wants all."""
    counts = np.zeros(boxes.lo.shape[0])
    for box in range(boxes.lo.shape[0]):
        counts[box] = entries.people[entries.ptr[box] : entries.ptr[box + 1]].sum()
    for box in range(boxes.lo.shape[0]):
        for query in range(answers.size):
            share = _measure_overlap(boxes, box, queries, query)
            if share == 0.0:
                continue
            if wanted.shape[1] == 0:
                answers[query] += share * counts[box]
                continue
            for entry in range(entries.ptr[box], entries.ptr[box + 1]):
                if wanted[query, entries.value[entry]]:
                    answers[query] += share * entries.people[entry]


@jit
def largest_counts(entries: Entries, prior: Floats, value: Ints, belief: Floats) -> None:
    """Fill the value with the largest count of each box [L], and its share of the counts above 0.

    Ties go to the greater prior [V], then to the lower value. A box without a count above 0 keeps what it has.
    """
    for box in range(value.size):
        best, most, total = 0, 0.0, 0.0
        for entry in range(entries.ptr[box], entries.ptr[box + 1]):
            people, entry_value = entries.people[entry], entries.value[entry]
            total += max(people, 0.0)
            if people > most or (people == most and people > 0.0 and prior[entry_value] > prior[best]):
                best, most = entry_value, people
        if most > 0.0:
            value[box], belief[box] = best, most / total


@jit
def add_marginal(lo: Ints, hi: Ints, entries: Entries, n_open: Indices, joint: Floats) -> None:
    """Add each count, spread evenly over its box from lo to hi [L], to joint [D + 1, V, zeroed]; negative counts are 0.

    Steps are written first and summed afterwards; the last row takes the steps that end there. ``n_open`` [D + 1, V,
    zeroed] counts the boxes over each code: where there are none, joint is 0 and not what rounding leaves of it.
    """
    for box in range(lo.size):
        for entry in range(entries.ptr[box], entries.ptr[box + 1]):
            # Without a branch: half of the counts of a private tree are negative, at random.
            value, is_there = entries.value[entry], int(entries.people[entry] > 0.0)
            density = is_there * entries.people[entry] / (hi[box] - lo[box] + 1)
            joint[lo[box], value] += density
            joint[hi[box] + 1, value] -= density
            n_open[lo[box], value] += is_there
            n_open[hi[box] + 1, value] -= is_there
    for code in range(joint.shape[0]):
        for value in range(joint.shape[1]):
            if code > 0:
                n_open[code, value] += n_open[code - 1, value]
                joint[code, value] += joint[code - 1, value]
            if n_open[code, value] == 0:
                joint[code, value] = 0.0


@jit
def count_codes(codes: Ints, value: Ints, offset: Ints, joint: Ints, weight: Ints) -> None:
    """Count records [N] by value, in weight [V], and by code and value, in joint [sum of D_j, V] from offset [d]."""
    for record in range(value.size):
        weight[value[record]] += 1
        for attribute in range(codes.shape[1]):
            joint[offset[attribute] + codes[record, attribute], value[record]] += 1


class Beliefs(NamedTuple):
    """Log chances of the values [V], and of each attribute's codes given the value [sum of D_j, V] from offset [d]."""

    log_prior: Floats
    log_table: Floats
    offset: Ints


@jit
def _fill_scores(beliefs: Beliefs, codes: Ints, victim: int, partial: Floats) -> None:
    """Fill the partial sums [d + 1, V] of the log beliefs up to a constant; the last are those of all attributes.

    The sums of the attributes before the first in which the victim differs from the one before are there already.
    """
    same = 0
    while victim > 0 and same < codes.shape[1] and codes[victim, same] == codes[victim - 1, same]:
        same += 1
    for attribute in range(same, codes.shape[1]):
        row = beliefs.offset[attribute] + codes[victim, attribute]
        for value in range(partial.shape[1]):
            partial[attribute + 1, value] = partial[attribute, value] + beliefs.log_table[row, value]


@jit
def _find_likeliest(scores: Floats, log_prior: Floats) -> int:
    """The value of greatest belief; ties go to the greater prior, then to the lower code."""
    best = 0
    for value in range(1, scores.size):
        if scores[value] == -np.inf:
            continue
        ahead = scores[value] - scores[best]
        if ahead > _TIE or (ahead >= -_TIE and log_prior[value] > log_prior[best]):
            best = value
    return best


@jit
def _belief(scores: Floats, value: int) -> float:
    highest = scores.max()
    total = 0.0
    for candidate in range(scores.size):
        # Of many home tracts, most are impossible at any one workplace.
        if scores[candidate] > -np.inf:
            total += np.exp(scores[candidate] - highest)
    return float(np.exp(scores[value] - highest) / total)


@jit
def predict_values(beliefs: Beliefs, codes: Ints, value: Ints, belief: Floats) -> None:
    """Fill the belief [N] in a value of each victim; where the value is -1, in the likeliest, which is filled in.

    If no value is possible, the beliefs are those of the prior. An empty ``belief`` is not filled. Victims in the order
    of their codes take the least time.
    """
    partial = np.empty((codes.shape[1] + 1, beliefs.log_prior.size))
    partial[0] = beliefs.log_prior
    for victim in range(codes.shape[0]):
        _fill_scores(beliefs, codes, victim, partial)
        scores = partial[codes.shape[1]]
        best = _find_likeliest(scores, beliefs.log_prior)
        if scores[best] == -np.inf:
            scores = beliefs.log_prior
            best = _find_likeliest(scores, beliefs.log_prior)
        if value[victim] < 0:
            value[victim] = best
        if belief.size > 0:
            belief[victim] = _belief(scores, value[victim])


# Kernel of the private trees: cut every box of a level, at its middle, near its median, or at a noisy grid's median.
#
# Symbols: N people, d attributes, M boxes of the level; C cells of the noisy grid, 0 without one. The people of a box
# are side by side.

AT_MIDDLE, NEAR_MEDIAN, BY_GRID = 0, 1, 2


class People(NamedTuple):
    """Codes [N, d], and the person of each row [N]; both are permuted together."""

    rows: Indices
    order: Ints


class Level(NamedTuple):
    """Boxes of a level: bounds [M, d], the attribute whose turn it is [M], where their people begin [M + 1].

    ``parent`` [M] is the place of each box's parent in the level above.
    """

    lo: Indices
    hi: Indices
    turn: Ints
    start: Ints
    parent: Ints


class Space(NamedTuple):
    """Number of codes of each attribute [d], and noisy counts of all cells [C], the last attribute fastest."""

    sizes: Ints
    grid: Floats


@jit
def _attribute_in_turn(lo: Indices, hi: Indices, turn: int) -> int:
    """The first attribute from ``turn`` on that has two codes or more in a box; -1 for a single cell."""
    for step in range(lo.size):
        attribute = (turn + step) % lo.size
        if hi[attribute] > lo[attribute]:
            return attribute
    return -1


@jit
def _add_people(people: People, start: int, stop: int, attribute: int, first: int, weight: Floats) -> None:
    for row in range(start, stop):
        weight[people.rows[row, attribute] - first] += 1.0


@jit
def _add_cells(space: Space, lo: Indices, hi: Indices, attribute: int, weight: Floats) -> None:
    """Add the noisy counts of a box's cells by their code in one attribute."""
    n_cells = 1
    for j in range(lo.size):
        n_cells *= hi[j] - lo[j] + 1
    code = lo.copy()
    for _ in range(n_cells):
        cell = 0
        for j in range(lo.size):
            cell = cell * space.sizes[j] + code[j]
        weight[code[attribute] - lo[attribute]] += space.grid[cell]
        j = lo.size - 1
        while j > 0 and code[j] == hi[j]:
            code[j] = lo[j]
            j -= 1
        code[j] += 1


@jit
def _draw_cut(weight: Floats, epsilon: float, uniform: float) -> int:
    """Draw a cut c with chance proportional to exp(-epsilon |weight up to c - half|), by inversion."""
    half, left, best = weight.sum() / 2.0, 0.0, np.inf
    for place in range(weight.size - 1):
        left += weight[place]
        best = min(best, abs(left - half))
    total, left = 0.0, 0.0
    for place in range(weight.size - 1):
        left += weight[place]
        total += np.exp(-epsilon * (abs(left - half) - best))
    passed, left = 0.0, 0.0
    for place in range(weight.size - 2):
        left += weight[place]
        passed += np.exp(-epsilon * (abs(left - half) - best))
        if uniform * total < passed:
            return place
    return int(weight.size - 2)


@jit
def _find_median_cut(weight: Floats) -> int:
    """The cut with the most equal halves, the lower of two; the middle if there is nothing."""
    half, left = weight.sum() / 2.0, 0.0
    if half <= 0.0:
        return int((weight.size - 1) // 2)
    best, least = 0, np.inf
    for place in range(weight.size - 1):
        left += weight[place]
        if abs(left - half) < least:
            best, least = place, abs(left - half)
    return best


@jit
def _divide(people: People, start: int, stop: int, attribute: int, code: int) -> int:
    """Put the people with codes up to ``code`` first; return where the others begin."""
    left, right = start, stop - 1
    while left <= right:
        if people.rows[left, attribute] <= code:
            left += 1
            continue
        if people.rows[right, attribute] <= code:
            for j in range(people.rows.shape[1]):
                people.rows[left, j], people.rows[right, j] = people.rows[right, j], people.rows[left, j]
            people.order[left], people.order[right] = people.order[right], people.order[left]
        right -= 1
    return left


@jit
def cut_level(
    people: People, level: Level, space: Space, method: int, epsilon: float, uniform: Floats, below: Level
) -> int:
    """Fill the next level; return its number of boxes. A single cell passes down as it is."""
    weight = np.empty(int(space.sizes.max()))
    n_below, n_attributes = 0, space.sizes.size
    for box in range(level.turn.size):
        lo, hi, start, stop = level.lo[box], level.hi[box], level.start[box], level.start[box + 1]
        below.start[n_below] = start
        below.parent[n_below] = box
        below.lo[n_below] = lo
        below.hi[n_below] = hi
        attribute = _attribute_in_turn(lo, hi, level.turn[box])
        if attribute < 0:
            n_below += 1
            continue
        place = (hi[attribute] - lo[attribute]) // 2
        if method != AT_MIDDLE:
            share = weight[: hi[attribute] - lo[attribute] + 1]
            share[:] = 0.0
            if method == BY_GRID:
                _add_cells(space, lo, hi, attribute, share)
                place = _find_median_cut(share)
            else:
                _add_people(people, start, stop, attribute, lo[attribute], share)
                place = _draw_cut(share, epsilon, uniform[box])
        code = lo[attribute] + place
        below.hi[n_below, attribute] = code
        below.lo[n_below + 1] = lo
        below.hi[n_below + 1] = hi
        below.lo[n_below + 1, attribute] = code + 1
        below.parent[n_below + 1] = box
        below.start[n_below + 1] = _divide(people, start, stop, attribute, code)
        below.turn[n_below : n_below + 2] = (attribute + 1) % n_attributes
        n_below += 2
    below.start[n_below] = people.order.size
    return n_below


# Kernel of consistent counts: the least-squares fit of noisy counts of a tree's nodes.
#
# Symbols: M nodes, parents before their children; V values, each fitted alone; weight 1/variance of a node's own noise.


@jit
def _variances(parent: Ints, weight: Floats, variance: Floats, of_children: Floats) -> None:
    """Fill each node's variance after the way up, and the sum of its children's, 0 for a leaf; [M] each."""
    for node in range(parent.size - 1, -1, -1):
        known = weight[node]
        if of_children[node] > 0.0:
            known += 1.0 / of_children[node]
        variance[node] = 1.0 / known
        if parent[node] >= 0:
            of_children[parent[node]] += variance[node]


@jit
def fit_counts(parent: Ints, weight: Floats, counts: Floats) -> None:
    """Replace noisy counts [M, V] by the fit in which every node is the sum of its children.

    On the way up each node's count becomes the mean of its own and its children's sum by inverse variance. On the way
    down the children share what is left of their parent's count in proportion to their variances.
    """
    n_nodes, n_values = counts.shape
    variance, of_children = np.empty(n_nodes), np.zeros(n_nodes)
    _variances(parent, weight, variance, of_children)
    below = np.zeros((n_nodes, n_values))
    for node in range(n_nodes - 1, -1, -1):
        if of_children[node] > 0.0:
            share = variance[node] / of_children[node]
            for value in range(n_values):
                own = variance[node] * weight[node] * counts[node, value]
                counts[node, value] = own + share * below[node, value]
        if parent[node] >= 0:
            for value in range(n_values):
                below[parent[node], value] += counts[node, value]
    for node in range(n_nodes):
        above = parent[node]
        if above >= 0:
            share = variance[node] / of_children[above]
            for value in range(n_values):
                counts[node, value] += share * (counts[above, value] - below[above, value])
