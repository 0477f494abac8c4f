"""Kernel of the private trees: cut every box of a level, at its middle, near its median, or at a noisy grid's median.

Symbols: N people, d attributes, M boxes of the level; C cells of the noisy grid, 0 without one. The people of a box are
side by side.
"""

from typing import NamedTuple

import numpy as np

from engine._jit import jit
from engine._kernels.arrays import Floats, Indices, Ints

__all__ = ["AT_MIDDLE", "BY_GRID", "NEAR_MEDIAN", "Level", "People", "Space", "cut_level"]

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
def _near_median(weight: Floats, epsilon: float, uniform: float) -> int:
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
def _at_median(weight: Floats) -> int:
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
                place = _at_median(share)
            else:
                _add_people(people, start, stop, attribute, lo[attribute], share)
                place = _near_median(share, epsilon, uniform[box])
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
