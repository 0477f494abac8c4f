"""Kernels over boxes of the attribute space: counting queries, and the tables of the naive Bayes attacker.

Symbols: L boxes, d attributes, V values of the sensitive attribute, E entries (a value of a box with its count), Q
queries, N victims. Bounds are inclusive.
"""

from typing import NamedTuple

import numpy as np

from engine._jit import jit
from engine._kernels.arrays import Bools, Floats, Indices, Ints

__all__ = [
    "Beliefs",
    "Boxes",
    "Entries",
    "add_marginal",
    "answer_queries",
    "count_codes",
    "largest_counts",
    "predict_values",
]

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
def _covered(boxes: Boxes, box: int, queries: Boxes, query: int) -> float:
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
            share = _covered(boxes, box, queries, query)
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
            people, other = entries.people[entry], entries.value[entry]
            total += max(people, 0.0)
            if people > most or (people == most and people > 0.0 and prior[other] > prior[best]):
                best, most = other, people
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
def _largest(scores: Floats, log_prior: Floats) -> int:
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
    for other in range(scores.size):
        # Of many home tracts, most are impossible at any one workplace.
        if scores[other] > -np.inf:
            total += np.exp(scores[other] - highest)
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
        best = _largest(scores, beliefs.log_prior)
        if scores[best] == -np.inf:
            scores = beliefs.log_prior
            best = _largest(scores, beliefs.log_prior)
        if value[victim] < 0:
            value[victim] = best
        if belief.size > 0:
            belief[victim] = _belief(scores, value[victim])
