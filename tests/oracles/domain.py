"""Plain twins of coarsening, domain editing and placement: dictionaries and loops.

Written from docs/theory/method.md, sections 2, 4 and 8.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.oracles.chacha import Stream


@dataclass
class Point:
    """One support point of one destination tract."""

    level: int
    unit: int
    tracts: list[int] = field(default_factory=list)
    distance_mi: float = 0.0
    population: int = 0


def coarsen_one(
    distances: Sequence[float],
    puma: Sequence[int],
    superpuma: Sequence[int],
    population: Sequence[int],
    q50_mi: float,
    q90_mi: float,
    *,
    far_group: Sequence[int] = (),
    far_state_miles: float = math.inf,
) -> list[Point]:
    """Support points of one destination tract: grouped by (level, unit), in that order.

    Pooled far states are counted among the SuperPUMAs, after the last one.
    """
    groups: dict[tuple[int, int], list[int]] = {}
    for tract, distance in enumerate(distances):
        if distance < q50_mi:
            unit = (0, tract)
        elif distance < q90_mi:
            unit = (1, puma[tract])
        else:
            unit = (2, superpuma[tract])
        if far_group and far_group[tract] >= 0 and distance >= far_state_miles:
            unit = (2, max(superpuma) + 1 + far_group[tract])
        groups.setdefault(unit, []).append(tract)
    return [
        measure(Point(level, unit, tracts), distances, population)
        for (level, unit), tracts in sorted(groups.items())
    ]


def measure(point: Point, distances: Sequence[float], population: Sequence[int]) -> Point:
    """Fill in population and mean distance (weighted by population, plain where that is zero)."""
    point.population = sum(population[tract] for tract in point.tracts)
    weights = [population[tract] if point.population else 1 for tract in point.tracts]
    weighted = sum(weight * distances[tract] for weight, tract in zip(weights, point.tracts, strict=True))
    point.distance_mi = weighted / sum(weights)
    return point


def eliminated_points(
    number: int, points: Sequence[Point], mass: Sequence[float], elimination: Sequence[tuple[float, float]]
) -> list[int]:
    """Points that domain editing eliminates from one destination tract."""
    stream = Stream("EDIT", number, 0)
    gone = []
    for position, point in enumerate(points):
        beyond = [rule for rule in elimination if point.distance_mi > rule[0]]
        if mass[position] == 0 and beyond:
            probability = max(beyond)[1]
            if int(probability * 2**32) > 0 and stream.word() < int(probability * 2**32):
                gone.append(position)
    return gone


def block_of(
    stream: Stream, tracts: Sequence[int], block_ptr: Sequence[int], population: Sequence[int]
) -> int:
    """Block of one worker: every block of the part laid end to end by population, or alike if that is zero."""
    blocks = [block for tract in tracts for block in range(block_ptr[tract], block_ptr[tract + 1])]
    weights = [population[block] for block in blocks]
    if sum(weights) == 0:
        weights = [1] * len(blocks)
    value = stream.below(sum(weights))
    for block, weight in zip(blocks, weights, strict=True):
        if value < weight:
            return block
        value -= weight
    raise AssertionError("the value lies beyond the part")
