"""Attackers who look a victim up among the workers of a workplace tract or block, in one pass and without sorting.

Values of greatest count are found by counting in an array that is emptied after each group, so the time is proportional
to workers. A rank is the two values of a group that come first by count, then by prior, then by lower code.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.jit import jit
from engine.kernels.arrays import Floats, Ints

RELEASE, OTHERS, ALL = 0, 1, 2
"""Rows of what is found: among released workers, among the other real workers, and among all real workers."""


class Workplaces(NamedTuple):
    """Cells of each tract and workers of each cell: CSR offsets [T + 1] and [S + 1]."""

    cell_ptr: Ints
    worker_ptr: Ints


class Margins(NamedTuple):
    """Cells of each margin (workplace block and known bands), and the asked band of each cell: CSR and [S]."""

    cell_ptr: Ints
    cell: Ints
    band: Ints
    worker_ptr: Ints


class ValueSpace(NamedTuple):
    """Scratch space: counts by value, all 0 before and after, and the values that occur."""

    times: npt.NDArray[np.int32]
    seen: Ints


class LookedUp(NamedTuple):
    """Values and beliefs [3, N], by the rows above."""

    value: Ints
    belief: Floats


@jit
def _is_ahead(value: int, count: int, rival: int, rival_count: int, prior: Floats) -> bool:
    """Whether a value comes before another one, which may be -1 for none."""
    if rival < 0 or count != rival_count:
        return rival < 0 or count > rival_count
    if prior[value] != prior[rival]:
        return bool(prior[value] > prior[rival])
    return value < rival


@jit
def _rank_values(n_seen: int, space: ValueSpace, prior: Floats) -> tuple[int, int, int, int]:
    """The first and the second value of what was counted, each with its count; -1 and 0 for none."""
    first, first_count, second, second_count = -1, 0, -1, 0
    for place in range(n_seen):
        value = space.seen[place]
        count = space.times[value]
        if _is_ahead(value, count, first, first_count, prior):
            second, second_count = first, first_count
            first, first_count = value, count
        elif _is_ahead(value, count, second, second_count, prior):
            second, second_count = value, count
    return first, first_count, second, second_count


@jit
def _count(values: Ints, start: int, stop: int, space: ValueSpace) -> int:
    """Count the values from start to stop; return how many are distinct."""
    n_seen = 0
    for worker in range(start, stop):
        value = values[worker]
        if space.times[value] == 0:
            space.seen[n_seen] = value
            n_seen += 1
        space.times[value] += 1
    return n_seen


@jit
def _empty_counts(n_seen: int, space: ValueSpace) -> None:
    for place in range(n_seen):
        space.times[space.seen[place]] = 0


@jit
def _drop_victim(own: int, rank: tuple[int, int, int, int], prior: Floats) -> tuple[int, int]:
    """The first value of a group, and its count, after one worker with the value ``own`` has left."""
    first, first_count, second, second_count = rank
    if first == own:
        first_count -= 1
    if second_count > 0 and _is_ahead(second, second_count, first, first_count, prior):
        return second, second_count
    return first, first_count


@jit
def look_up_cells(
    groups: Workplaces, truth: Ints, released: Ints, prior: Floats, space: ValueSpace, looked_up: LookedUp
) -> None:
    """Look every worker up in the cell; without the victim, one who is alone in the cell in the tract."""
    fallback = int(np.argmax(prior))
    ptr = groups.worker_ptr
    for tract in range(groups.cell_ptr.size - 1):
        begin, end = groups.cell_ptr[tract], groups.cell_ptr[tract + 1]
        n_tract = ptr[end] - ptr[begin]
        n_seen = _count(truth, ptr[begin], ptr[end], space)
        of_tract = _rank_values(n_seen, space, prior)
        _empty_counts(n_seen, space)
        for cell in range(begin, end):
            n = ptr[cell + 1] - ptr[cell]
            n_seen = _count(released, ptr[cell], ptr[cell + 1], space)
            made, made_count, _, _ = _rank_values(n_seen, space, prior)
            _empty_counts(n_seen, space)
            n_seen = _count(truth, ptr[cell], ptr[cell + 1], space)
            rank = _rank_values(n_seen, space, prior)
            _empty_counts(n_seen, space)
            for worker in range(ptr[cell], ptr[cell + 1]):
                looked_up.value[RELEASE, worker], looked_up.belief[RELEASE, worker] = made, made_count / n
                looked_up.value[ALL, worker], looked_up.belief[ALL, worker] = rank[0], rank[1] / n
                value, belief = fallback, prior[fallback]
                if n > 1:
                    value, count = _drop_victim(truth[worker], rank, prior)
                    belief = count / (n - 1)
                elif n_tract > 1:
                    value, count = _drop_victim(truth[worker], of_tract, prior)
                    belief = count / (n_tract - 1)
                looked_up.value[OTHERS, worker], looked_up.belief[OTHERS, worker] = value, belief


@jit
def _rank_bands(counts: npt.NDArray[np.int32], prior: Floats) -> tuple[int, int, int, int]:
    """The first and the second band, each with its count; -1 and 0 for none."""
    first, first_count, second, second_count = -1, 0, -1, 0
    for band in range(counts.size):
        count = counts[band]
        if count == 0:
            continue
        if _is_ahead(band, count, first, first_count, prior):
            second, second_count = first, first_count
            first, first_count = band, count
        elif _is_ahead(band, count, second, second_count, prior):
            second, second_count = band, count
    return first, first_count, second, second_count


@jit
def _count_bands(groups: Margins, margin: int, home: Ints, counts: npt.NDArray[np.int32], by: int) -> None:
    """Add a number to the counts [units, bands] of the homes and bands of a margin's workers."""
    for place in range(groups.cell_ptr[margin], groups.cell_ptr[margin + 1]):
        cell = groups.cell[place]
        for worker in range(groups.worker_ptr[cell], groups.worker_ptr[cell + 1]):
            if by == 0:
                counts[home[worker]] = 0
            else:
                counts[home[worker], groups.band[cell]] += by


@jit
def look_up_bands(
    groups: Margins,
    homes: tuple[Ints, Ints],
    prior: Floats,
    counts: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]],
    looked_up: LookedUp,
) -> None:
    """Look every worker up by margin and home, real and released [N] each, and where there is nobody by the margin.

    Scratch ``counts`` [units, bands] of real and of released workers are 0 before and after.
    """
    fallback = int(np.argmax(prior))
    real, made = counts
    for margin in range(groups.cell_ptr.size - 1):
        _count_bands(groups, margin, homes[0], real, 1)
        _count_bands(groups, margin, homes[1], made, 1)
        whole = np.zeros(prior.size, dtype=np.int32)
        for place in range(groups.cell_ptr[margin], groups.cell_ptr[margin + 1]):
            cell = groups.cell[place]
            whole[groups.band[cell]] += groups.worker_ptr[cell + 1] - groups.worker_ptr[cell]
        of_margin, n_margin = _rank_bands(whole, prior), whole.sum()
        for place in range(groups.cell_ptr[margin], groups.cell_ptr[margin + 1]):
            cell = groups.cell[place]
            for worker in range(groups.worker_ptr[cell], groups.worker_ptr[cell + 1]):
                home = homes[0][worker]
                rank, n = _rank_bands(real[home], prior), real[home].sum()
                looked_up.value[ALL, worker], looked_up.belief[ALL, worker] = rank[0], rank[1] / n
                n_made = made[home].sum()
                if n_made > 0:
                    of_made = _rank_bands(made[home], prior)
                    looked_up.value[RELEASE, worker], looked_up.belief[RELEASE, worker] = (
                        of_made[0],
                        of_made[1] / n_made,
                    )
                else:
                    looked_up.value[RELEASE, worker] = of_margin[0]
                    looked_up.belief[RELEASE, worker] = of_margin[1] / n_margin
                value, belief = fallback, prior[fallback]
                if n > 1:
                    value, count = _drop_victim(groups.band[cell], rank, prior)
                    belief = count / (n - 1)
                elif n_margin > 1:
                    value, count = _drop_victim(groups.band[cell], of_margin, prior)
                    belief = count / (n_margin - 1)
                looked_up.value[OTHERS, worker], looked_up.belief[OTHERS, worker] = value, belief
        _count_bands(groups, margin, homes[0], real, 0)
        _count_bands(groups, margin, homes[1], made, 0)


# The public share of every unit of origin tracts around every destination tract.


@jit
def spread_shares(
    support_ptr: Ints,
    share: Floats,
    point_of_tract: npt.NDArray[np.int32],
    population: Ints,
    unit: Ints,
    of_unit: Floats,
) -> None:
    """Add the share [K] of every support point to the units [n] of its tracts by population: ``of_unit`` [T, U].

    Symbols: T destination tracts with points from ``support_ptr`` [T + 1], n origin tracts, U units.
    """
    people = np.empty(share.size)
    for tract in range(support_ptr.size - 1):
        first = support_ptr[tract]
        people[first : support_ptr[tract + 1]] = 0.0
        for origin in range(population.size):
            point = point_of_tract[tract, origin]
            if point >= 0:
                people[first + point] += population[origin]
        for origin in range(population.size):
            point = point_of_tract[tract, origin]
            if point >= 0:
                at = first + point
                of_unit[tract, unit[origin]] += share[at] * population[origin] / people[at]
