"""What an informed attacker believes about one victim after another: prior times likelihood ratio, normalized.

A cell is a (destination, segment). Its slots are the support points, in rising order, that hold real or published
workers. All other points, the rest, are summed up: they differ in their prior beliefs and, where points are
pruned, in their ratios.

Symbols: o_i real workers of the cell without the victim, m_i published ones, n all real ones, k support points.

Source: docs/theory/method.md, section 7h.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.jit import jit, lean_jit
from engine.kernels.arrays import Bools, Floats, Indices, Ints, PointLists
from engine.kernels.sorting import sort_values

BELIEFS = 7
"""Columns of what is found for each worker: point, belief and belief in the truth without the release; the same three
with it; and the spread of the logarithms of the likelihood ratios."""


class Cells(NamedTuple):
    """Real and published workers of each cell, the position of its tract [S], and each tract's points [T + 1]."""

    workers: PointLists
    published: PointLists
    tract: Indices
    support_ptr: Ints


class PriorBeliefs(NamedTuple):
    """Belief in point i before the release is own o_i + scale (weight_i - own if the victim lives there).

    ``weight`` [K] and ``order`` [K], local points of each tract by falling weight; ``scale`` [T]; ``own`` is 1 or 0.
    """

    weight: Floats
    order: Indices
    scale: Floats
    own: float


class CellSpace(NamedTuple):
    """Scratch space: real and published workers and slot by point [k]; point, log ratio and findings by slot."""

    real: Ints
    made: Ints
    slot: Indices
    point: Indices
    log_ratio: Floats
    found: Floats


class Rest(NamedTuple):
    """The points without real or published workers: sums and largest values of prior and posterior weights.

    Posterior weights are to be multiplied by e^scale. Points are local, -1 where there are none.
    """

    prior: float
    point: int
    best: float
    posterior: float
    posterior_point: int
    posterior_prior: float
    posterior_best: float
    scale: float
    least: float
    most: float


@lean_jit
def gather(cells: Cells, cell: int, space: CellSpace) -> int:
    """Count a cell's real and published workers by point; return the number of slots."""
    n_slots = 0
    for position in range(cells.workers.ptr[cell], cells.workers.ptr[cell + 1]):
        point = cells.workers.point[position]
        if space.real[point] == 0:
            space.point[n_slots] = point
            n_slots += 1
        space.real[point] += 1
    for position in range(cells.published.ptr[cell], cells.published.ptr[cell + 1]):
        point = cells.published.point[position]
        if space.real[point] == 0 and space.made[point] == 0:
            space.point[n_slots] = point
            n_slots += 1
        space.made[point] += 1
    sort_values(space.point[:n_slots])
    for slot in range(n_slots):
        space.slot[space.point[slot]] = slot
    return n_slots


@lean_jit
def rest_of(cells: Cells, cell: int, prior: PriorBeliefs, space: CellSpace) -> Rest:
    """Sum up the rest with equal likelihood ratios, whose logarithm is yet to be set as ``scale``."""
    tract = cells.tract[cell]
    first = cells.support_ptr[tract]
    total, point, best = 0.0, -1, 0.0
    for place in range(first, cells.support_ptr[tract + 1]):
        here = prior.order[place]
        if space.real[here] == 0 and space.made[here] == 0:
            weight = prior.scale[tract] * prior.weight[first + here]
            if point < 0:
                point, best = here, weight
            total += weight
    return Rest(total, point, best, total, point, best, best, 0.0, 0.0, 0.0)


@lean_jit
def believe(
    cells: Cells, cell: int, prior: PriorBeliefs, victim: int, n_slots: int, rest: Rest, space: CellSpace
) -> None:
    """Find what the attacker believes about a victim in slot ``victim``, from ``space.log_ratio`` and the rest."""
    tract = cells.tract[cell]
    first = cells.support_ptr[tract]
    top, least, most = -np.inf, np.inf, -np.inf
    if rest.point >= 0:
        top, least, most = rest.scale, rest.least, rest.most
    for slot in range(n_slots):
        top = max(top, space.log_ratio[slot])
        least, most = min(least, space.log_ratio[slot]), max(most, space.log_ratio[slot])
    before, before_point, before_best = rest.prior, rest.point, rest.best
    grown = np.exp(rest.scale - top) if rest.point >= 0 else 0.0
    after, after_point = rest.posterior * grown, rest.posterior_point
    after_best, after_prior = rest.posterior_best * grown, rest.posterior_prior
    truth_before = truth_after = 0.0
    for slot in range(n_slots):
        point = space.point[slot]
        own = 1.0 if slot == victim else 0.0
        belief = prior.own * (space.real[point] - own) + prior.scale[tract] * (
            prior.weight[first + point] - prior.own * own
        )
        posterior = belief * np.exp(space.log_ratio[slot] - top)
        if slot == victim:
            truth_before, truth_after = belief, posterior
        before += belief
        after += posterior
        if before_point < 0 or belief > before_best or (belief == before_best and point < before_point):
            before_point, before_best = point, belief
        if after_point < 0 or posterior > after_best:
            is_ahead = True
        elif posterior < after_best:
            is_ahead = False
        else:
            is_ahead = belief > after_prior or (belief == after_prior and point < after_point)
        if is_ahead:
            after_point, after_best, after_prior = point, posterior, belief
    believed = space.found[victim]
    believed[0], believed[1], believed[2] = before_point, before_best / before, truth_before / before
    believed[3], believed[4], believed[5] = after_point, after_best / after, truth_after / after
    believed[6] = most - least


@lean_jit
def hand_out(cells: Cells, cell: int, n_slots: int, space: CellSpace, predicted: Floats) -> None:
    """Copy what was found by slot to every worker of the cell, and empty the scratch space."""
    for position in range(cells.workers.ptr[cell], cells.workers.ptr[cell + 1]):
        slot = space.slot[cells.workers.point[position]]
        for column in range(BELIEFS):
            predicted[position, column] = space.found[slot, column]
    for slot in range(n_slots):
        point = space.point[slot]
        space.real[point] = space.made[point] = 0


# Sum up beliefs of an attacker exactly, whatever the order of the workers.
#
# A belief in single precision is a whole number, its significand, times a power of 2. Significands are summed by that
# power, so no sum is rounded.

SIGNIFICAND_BITS = 23
"""Of single precision, the leading one apart."""


class Tallies(NamedTuple):
    """Workers and right predictions by class and bin [C, B], and significands by these and exponent [C, B, 128]."""

    workers: Ints
    right: Ints
    significands: Ints


@jit
def tally_beliefs(
    belief: npt.NDArray[np.float32],
    pattern: npt.NDArray[np.uint32],
    is_right: Bools,
    size_class: npt.NDArray[np.int8],
    tallies: Tallies,
) -> None:
    """Add workers with their beliefs [N] in equal bins from 0 to 1; ``pattern`` has the bits of the beliefs."""
    n_bins = tallies.workers.shape[1]
    for worker in range(belief.size):
        worker_class = size_class[worker]
        place = min(int(np.float64(belief[worker]) * n_bins), n_bins - 1)
        bits = np.int64(pattern[worker])
        exponent = bits >> SIGNIFICAND_BITS
        significand = bits & ((1 << SIGNIFICAND_BITS) - 1)
        if exponent > 0:
            significand += 1 << SIGNIFICAND_BITS
        tallies.workers[worker_class, place] += 1
        tallies.right[worker_class, place] += int(is_right[worker])
        tallies.significands[worker_class, place, exponent] += significand
