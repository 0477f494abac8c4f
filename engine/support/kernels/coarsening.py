"""Coarsening loops: list the support points of each destination tract, sum what they hold, and find them again.

A tract belongs to level 0, 1 or 2 by the square of its chord to the destination tract. Sums go through the origin
tracts SuperPUMA by SuperPUMA; one that lies wholly beyond q90 is one point, and needs no comparison of its tracts.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.jit import lean_jit
from engine.kernels.arrays import Bools, Floats, Indices, Ints
from engine.kernels.sorting import sort_values

__all__ = [
    "REMAINDER",
    "TABLE_STEPS",
    "CoarseningSpace",
    "DecayTable",
    "FarStates",
    "Levels",
    "LocatedPoints",
    "PointValues",
    "SuperPumas",
    "TractUnits",
    "UnitNumbers",
    "count_points",
    "fill_points",
    "find_homes",
    "find_points",
    "is_beyond",
    "is_pooled",
    "level_of",
    "mark_pooled",
    "square_chord",
]

Levels = npt.NDArray[np.int8]

REMAINDER = 3
"""Level of the point that holds all points that editing removed."""

TABLE_STEPS = 1 << 17
"""Steps of the table of miles and decay over chords from 0 to 2, each 0.06 miles near the destination."""

_EXACT_STEPS = 512  # 31 miles: shorter distances are not read from the table
_EARTH_DIAMETER_MI = 2.0 * 3958.7613
_LARGEST_EXPONENT = 600.0


class TractUnits(NamedTuple):
    """Place [n, 3] of every origin tract as a unit vector, its PUMA, SuperPUMA and population [n]."""

    place: Floats
    puma: Indices
    superpuma: Indices
    population: Ints


class FarStates(NamedTuple):
    """Group of every origin tract that is a far state (-1: any other tract) [n], and when and as what it is pooled.

    States at least as far as ``square_limit``, a squared chord, are in the point of level 2 whose unit is
    ``first_unit``, the number of SuperPUMAs, plus their group.
    """

    group: Indices
    square_limit: float
    first_unit: int


class SuperPumas(NamedTuple):
    """CSR lists of the tracts of each SuperPUMA, its reach and population; then of the tracts in list order.

    These are their places [3, n], and their population as floating-point numbers, which hold it exactly.
    """

    ptr: Ints
    member: Indices
    reach: Floats
    population: Ints
    member_place: Floats
    member_population: Floats


class DecayTable(NamedTuple):
    """Scale and shape of the prior's decay, and miles and decay by chord [TABLE_STEPS + 1, 2]."""

    scale_mi: float
    shape: float
    table: Floats


class LocatedPoints(NamedTuple):
    """Support points of each destination tract: tract [T], CSR offsets [T + 1], levels and units [K]."""

    destination: Ints
    ptr: Ints
    level: Levels
    unit: Indices


class PointValues(NamedTuple):
    """What is summed over the tracts of each support point: population, mean distance and gravity mass [K]."""

    population: Ints
    mean_distance: Floats
    mass: Floats


class UnitNumbers(NamedTuple):
    """Number of the point of each tract, PUMA, and SuperPUMA (pools of far states follow these); -1: no point."""

    tract: Indices
    puma: Indices
    superpuma: Indices


class CoarseningSpace(NamedTuple):
    """Scratch space: the point of each PUMA and of each SuperPUMA (-1: no point), and two sums.

    ``step`` and ``part`` [2, n] say for each tract of a SuperPUMA, and for each of two destination tracts, between
    which entries of the table its distance lies; ``plain`` has the unweighted sum of miles and the number of tracts for
    each point of a destination tract.
    """

    point_of_puma: Indices
    point_of_superpuma: Indices
    step: Indices
    part: Floats
    plain: Floats


@lean_jit
def square_chord(place: Floats, first: int, second: int) -> float:
    """Square of the chord between two tracts."""
    x = place[first, 0] - place[second, 0]
    y = place[first, 1] - place[second, 1]
    z = place[first, 2] - place[second, 2]
    return x * x + y * y + z * z  # type: ignore[no-any-return]  # NumPy types an element as Any


@lean_jit
def level_of(square: float, near: float, far: float) -> int:
    """0 tract, 1 PUMA, 2 SuperPUMA; ``near`` and ``far`` are the squared chords of q50 and q90."""
    if square < near:
        return 0
    if square < far:
        return 1
    return 2


@lean_jit
def is_pooled(home: int, square: float, far: FarStates) -> bool:
    """Whether an origin tract at that squared chord is a state that is pooled with others of its group."""
    return bool(far.group[home] >= 0 and square >= far.square_limit)


@lean_jit
def mark_pooled(
    destination: Ints, position: Indices, origin: Ints, place: Floats, far: FarStates, marks: Bools
) -> None:
    """Say of each (position of a destination tract, origin tract) whether the origin is pooled there."""
    for pair in range(position.size):
        square = square_chord(place, destination[position[pair]], origin[pair])
        marks[pair] = is_pooled(origin[pair], square, far)


@lean_jit
def _miles_and_decay(square: float, decay: DecayTable) -> tuple[float, float]:
    """Distance in miles, and the prior's decay there: exact when near, else between two entries of the table."""
    chord = math.sqrt(square)
    step = chord * (TABLE_STEPS / 2)
    if step < _EXACT_STEPS:
        miles = _EARTH_DIAMETER_MI * math.asin(min(chord / 2, 1.0))
        return miles, math.exp(-min((miles / decay.scale_mi) ** decay.shape, _LARGEST_EXPONENT))
    below = min(int(step), TABLE_STEPS - 1)
    part = step - below
    table = decay.table
    return (
        table[below, 0] + part * (table[below + 1, 0] - table[below, 0]),
        table[below, 1] + part * (table[below + 1, 1] - table[below, 1]),
    )


@lean_jit
def is_beyond(place: Floats, tract: int, reach: Floats, unit: int, chord: float) -> bool:
    """Whether a whole SuperPUMA is farther from a tract than ``chord``, with room for rounding."""
    x = place[tract, 0] - reach[unit, 0]
    y = place[tract, 1] - reach[unit, 1]
    z = place[tract, 2] - reach[unit, 2]
    return bool(math.sqrt(x * x + y * y + z * z) > (chord + reach[unit, 3]) * (1 + 1e-9) + 1e-12)


@lean_jit
def count_points(
    destination: Ints,
    tracts: TractUnits,
    superpumas: SuperPumas,
    limits: tuple[float, float],
    puma_met: Ints,
    n_support: Ints,
) -> None:
    """Count each destination tract's support points into ``n_support`` (int64[T]).

    ``limits`` holds the squared chords of q50 and q90; ``puma_met`` has room for a mark of each PUMA, -1 at first.
    """
    place, puma = tracts.place, tracts.puma
    ptr, member, reach = superpumas.ptr, superpumas.member, superpumas.reach
    beyond = math.sqrt(limits[1])
    for position in range(destination.size):
        tract = destination[position]
        n_points = 0
        for unit in range(ptr.size - 1):
            if ptr[unit] == ptr[unit + 1]:
                continue
            if is_beyond(place, tract, reach, unit, beyond):
                n_points += 1
                continue
            has_far = 0
            for place_in_list in range(ptr[unit], ptr[unit + 1]):
                origin = member[place_in_list]
                level = level_of(square_chord(place, tract, origin), limits[0], limits[1])
                if level == 0:
                    n_points += 1
                elif level == 2:
                    has_far = 1
                elif puma_met[puma[origin]] != position:
                    puma_met[puma[origin]] = position
                    n_points += 1
            n_points += has_far
        n_support[position] = n_points


@lean_jit
def _add(point: int, people: int, miles: float, pull: float, sums: PointValues, plain: Floats) -> None:
    sums.population[point] += people
    sums.mean_distance[point] += people * miles
    sums.mass[point] += people * pull
    plain[point, 0] += miles
    plain[point, 1] += 1.0


@lean_jit
def _find_steps(
    place: Floats, tract: int, span: tuple[int, int], there: Floats, step: Indices, part: Floats
) -> None:
    """Where in the table the distances from a tract to those of a SuperPUMA lie: a loop of vector instructions."""
    first, last = span
    x, y, z = place[tract, 0], place[tract, 1], place[tract, 2]
    # Counted from 0, so that the compiler need not provide for positions from the end.
    east, north, up = there[0, first:last], there[1, first:last], there[2, first:last]
    for position in range(east.size):
        dx, dy, dz = x - east[position], y - north[position], z - up[position]
        exact = math.sqrt(dx * dx + dy * dy + dz * dz) * (TABLE_STEPS / 2)
        below = min(np.int32(exact), np.int32(TABLE_STEPS - 1))
        step[position] = below
        part[position] = exact - below


@lean_jit
def _sum_pair(
    span: tuple[int, int], people: Floats, table: Floats, step: Indices, part: Floats
) -> tuple[float, float, float, float]:
    """Miles and decay of a SuperPUMA's people, for each of two destination tracts.

    Every sum adds its numbers in the order of the tracts. Two at once, as an addition waits for the one before it.
    """
    people = people[span[0] : span[1]]
    steps, parts, other_steps, other_parts = step[0], part[0], step[1], part[1]
    miles, pull, other_miles, other_pull = 0.0, 0.0, 0.0, 0.0
    for position in range(people.size):
        count = people[position]
        # Unsigned, so that the compiler need not provide for positions from the end.
        below, share = np.uint32(steps[position]), parts[position]
        above = below + np.uint32(1)
        miles += count * (table[below, 0] + share * (table[above, 0] - table[below, 0]))
        pull += count * (table[below, 1] + share * (table[above, 1] - table[below, 1]))
        below, share = np.uint32(other_steps[position]), other_parts[position]
        above = below + np.uint32(1)
        other_miles += count * (table[below, 0] + share * (table[above, 0] - table[below, 0]))
        other_pull += count * (table[below, 1] + share * (table[above, 1] - table[below, 1]))
    return miles, pull, other_miles, other_pull


@lean_jit
def _plain_mean(n_tracts: int, table: Floats, step: Indices, part: Floats) -> float:
    """Mean miles to the tracts of a SuperPUMA where nobody lives."""
    total = 0.0
    for position in range(n_tracts):
        below = step[position]
        total += table[below, 0] + part[position] * (table[below + 1, 0] - table[below, 0])
    return total / n_tracts


@lean_jit
def _exact_beyond(limits: tuple[float, float]) -> float:
    """Chord beyond which a whole SuperPUMA is one point, and its miles and decay are read from the table."""
    return max(math.sqrt(limits[1]), (_EXACT_STEPS + 1) * (2.0 / TABLE_STEPS))


@lean_jit
def _sum_whole_units(
    pair: tuple[int, int],
    place: Floats,
    superpumas: SuperPumas,
    limits: tuple[float, float],
    table: Floats,
    space: CoarseningSpace,
    support: LocatedPoints,
    values: PointValues,
) -> None:
    """Fill the values of points that are SuperPUMAs beyond the exact range, for two destination tracts together."""
    beyond = _exact_beyond(limits)
    points = (support.ptr[pair[0]], support.ptr[pair[1]])
    for unit in range(superpumas.ptr.size - 1):
        span = (superpumas.ptr[unit], superpumas.ptr[unit + 1])
        if span[0] == span[1]:
            continue
        here = is_beyond(place, support.destination[pair[0]], superpumas.reach, unit, beyond)
        there = is_beyond(place, support.destination[pair[1]], superpumas.reach, unit, beyond)
        if not (here or there):
            continue
        for side in range(2):
            tract = support.destination[pair[side]]
            _find_steps(place, tract, span, superpumas.member_place, space.step[side], space.part[side])
        sums = _sum_pair(span, superpumas.member_population, table, space.step, space.part)
        people = superpumas.population[unit]
        for side in range(2):
            if not (there if side == 1 else here):
                continue
            point = points[side]
            # Points rise by level and unit, and this one is there.
            while support.level[point] < 2 or support.unit[point] < unit:
                point += 1
            points = (points[0], point) if side == 1 else (point, points[1])
            values.population[point] = people
            values.mass[point] = sums[2 * side + 1]
            if people > 0:
                values.mean_distance[point] = sums[2 * side] / people
            else:
                values.mean_distance[point] = _plain_mean(
                    span[1] - span[0], table, space.step[side], space.part[side]
                )


@lean_jit
def _mark_units(
    tract: int,
    tracts: TractUnits,
    superpumas: SuperPumas,
    limits: tuple[float, float],
    space: CoarseningSpace,
    near: Indices,
) -> int:
    """List the tracts near a destination tract; mark with 0 the PUMAs and SuperPUMAs that hold others.

    Returns how many tracts are listed, in no order.
    """
    place = tracts.place
    ptr, member = superpumas.ptr, superpumas.member
    beyond = math.sqrt(limits[1])
    n_near = 0
    for unit in range(ptr.size - 1):
        if ptr[unit] == ptr[unit + 1]:
            continue
        if is_beyond(place, tract, superpumas.reach, unit, beyond):
            space.point_of_superpuma[unit] = 0
            continue
        for place_in_list in range(ptr[unit], ptr[unit + 1]):
            origin = member[place_in_list]
            level = level_of(square_chord(place, tract, origin), limits[0], limits[1])
            if level == 0:
                near[n_near] = origin
                n_near += 1
            elif level == 1:
                space.point_of_puma[tracts.puma[origin]] = 0
            else:
                space.point_of_superpuma[unit] = 0
    return n_near


@lean_jit
def _number_marked(
    point_of_unit: Indices, level: int, n_points: int, support_level: Levels, support_unit: Indices
) -> int:
    """Number the marked units of one level from ``n_points`` on; return the number of points so far."""
    for unit in range(point_of_unit.size):
        if point_of_unit[unit] == 0:
            point_of_unit[unit] = n_points
            support_level[n_points] = level
            support_unit[n_points] = unit
            n_points += 1
    return n_points


@lean_jit
def _number_points(
    tract: int,
    tracts: TractUnits,
    superpumas: SuperPumas,
    limits: tuple[float, float],
    space: CoarseningSpace,
    support_level: Levels,
    support_unit: Indices,
) -> int:
    """Number one destination tract's points: tracts, then PUMAs, then SuperPUMAs, each by index.

    Returns the number of tract points. Fills the points of PUMAs and SuperPUMAs in ``space``.
    """
    for unit in range(space.point_of_puma.size):
        space.point_of_puma[unit] = -1
    for unit in range(space.point_of_superpuma.size):
        space.point_of_superpuma[unit] = -1
    n_near = _mark_units(tract, tracts, superpumas, limits, space, support_unit)
    sort_values(support_unit[:n_near])
    for point in range(n_near):
        support_level[point] = 0
    n_points = _number_marked(space.point_of_puma, 1, n_near, support_level, support_unit)
    _number_marked(space.point_of_superpuma, 2, n_points, support_level, support_unit)
    return n_near


@lean_jit
def _sum_points(
    tract: int,
    near: Indices,
    tracts: TractUnits,
    superpumas: SuperPumas,
    limits: tuple[float, float],
    decay: DecayTable,
    space: CoarseningSpace,
    sums: PointValues,
) -> None:
    """Add every origin tract but those of whole SuperPUMAs beyond the exact range to the sums of its point.

    ``near`` lists the tracts that are points themselves.
    """
    place, puma, population = tracts.place, tracts.puma, tracts.population
    ptr, member = superpumas.ptr, superpumas.member
    beyond = _exact_beyond(limits)
    for point in range(near.size):
        origin = near[point]
        miles, pull = _miles_and_decay(square_chord(place, tract, origin), decay)
        _add(point, population[origin], miles, pull, sums, space.plain)
    for unit in range(ptr.size - 1):
        if ptr[unit] == ptr[unit + 1]:
            continue
        if is_beyond(place, tract, superpumas.reach, unit, beyond):
            continue
        for place_in_list in range(ptr[unit], ptr[unit + 1]):
            origin = member[place_in_list]
            square = square_chord(place, tract, origin)
            level = level_of(square, limits[0], limits[1])
            if level > 0:
                point = space.point_of_puma[puma[origin]] if level == 1 else space.point_of_superpuma[unit]
                miles, pull = _miles_and_decay(square, decay)
                _add(point, population[origin], miles, pull, sums, space.plain)


@lean_jit
def fill_points(
    bounds: tuple[int, int],
    tracts: TractUnits,
    superpumas: SuperPumas,
    limits: tuple[float, float],
    decay: DecayTable,
    space: CoarseningSpace,
    support: LocatedPoints,
    values: PointValues,
) -> None:
    """Fill levels, units and values (zeros at first) of the support points of destination tracts ``bounds``."""
    plain = space.plain
    for position in range(bounds[0], bounds[1]):
        tract = support.destination[position]
        first, last = support.ptr[position], support.ptr[position + 1]
        level, unit = support.level[first:last], support.unit[first:last]
        n_near = _number_points(tract, tracts, superpumas, limits, space, level, unit)
        sums = PointValues(
            values.population[first:last], values.mean_distance[first:last], values.mass[first:last]
        )
        for point in range(last - first):
            plain[point, 0], plain[point, 1] = 0.0, 0.0
        _sum_points(tract, unit[:n_near], tracts, superpumas, limits, decay, space, sums)
        for point in range(last - first):
            if sums.population[point] > 0:
                sums.mean_distance[point] /= sums.population[point]
            elif plain[point, 1] > 0:
                sums.mean_distance[point] = plain[point, 0] / plain[point, 1]
    for position in range(bounds[0], bounds[1], 2):
        pair = (position, min(position + 1, bounds[1] - 1))
        _sum_whole_units(pair, tracts.place, superpumas, limits, decay.table, space, support, values)


@lean_jit
def _find(level: int, unit: int, first: int, last: int, support_level: Levels, support_unit: Indices) -> int:
    """Position of a point among [first, last), which rise by level and unit; -1 if it is not there."""
    end = last
    while first < last:
        middle = (first + last) >> 1
        if support_level[middle] < level or (support_level[middle] == level and support_unit[middle] < unit):
            first = middle + 1
        else:
            last = middle
    if first < end and support_level[first] == level and support_unit[first] == unit:
        return first
    return -1


@lean_jit
def _unit_of(
    destination: int, home: int, tracts: TractUnits, limits: tuple[float, float], far: FarStates
) -> tuple[int, int]:
    """Level and unit of the point that holds an origin tract for a destination tract before editing."""
    square = square_chord(tracts.place, destination, home)
    if is_pooled(home, square, far):
        return 2, far.first_unit + far.group[home]
    level = level_of(square, limits[0], limits[1])
    if level == 0:
        return 0, home
    return level, tracts.puma[home] if level == 1 else tracts.superpuma[home]


@lean_jit
def find_points(
    position: Indices,
    origin: Ints,
    tracts: TractUnits,
    limits: tuple[float, float],
    far: FarStates,
    support: LocatedPoints,
    points: Indices,
) -> None:
    """Local support point of each (position of a destination tract, origin tract) into ``points``.

    A tract whose point editing removed is in the remainder (level 3, the last point) if there is one; else -1.
    """
    for worker in range(position.size):
        at = position[worker]
        level, unit = _unit_of(support.destination[at], origin[worker], tracts, limits, far)
        first, last = support.ptr[at], support.ptr[at + 1]
        point = _find(level, unit, first, last, support.level, support.unit)
        if point < 0 and last > first and support.level[last - 1] == 3:
            point = last - 1
        points[worker] = point - first if point >= 0 else -1


@lean_jit
def _set_numbers(at: int, support: LocatedPoints, numbers: UnitNumbers, is_set: bool) -> int:
    """Set the number of every unit that is a point of a destination tract, or -1 again; return that of all others."""
    first, last = support.ptr[at], support.ptr[at + 1]
    without = -1
    for point in range(first, last):
        number = point - first if is_set else -1
        level = support.level[point]
        if level == 0:
            numbers.tract[support.unit[point]] = number
        elif level == 1:
            numbers.puma[support.unit[point]] = number
        elif level == 2:
            numbers.superpuma[support.unit[point]] = number
        else:
            without = number
    return without


@lean_jit
def find_homes(
    tract: Indices,
    worker_ptr: Ints,
    home: Indices,
    tract_of_home: Indices,
    tracts: TractUnits,
    limits: tuple[float, float],
    far: FarStates,
    support: LocatedPoints,
    numbers: UnitNumbers,
    points: Indices,
) -> int:
    """As :func:`find_points`, of the workers of synthesizers; return how many live in points that editing removed.

    ``home`` numbers a place, such as a block, and ``tract_of_home`` says in which origin tract it lies. Synthesizers
    of one tract follow each other, so the points of their units are looked up in ``numbers``, which are -1 before and
    after. Returns -1 if a place lies in no origin tract.
    """
    n_removed, at, without = 0, -1, -1
    for synthesizer in range(tract.size):
        if tract[synthesizer] != at:
            if at >= 0:
                _set_numbers(at, support, numbers, False)
            at = tract[synthesizer]
            without = _set_numbers(at, support, numbers, True)
        destination = support.destination[at]
        for worker in range(worker_ptr[synthesizer], worker_ptr[synthesizer + 1]):
            origin = tract_of_home[home[worker]]
            if not 0 <= origin < tracts.population.size:
                return -1
            level, unit = _unit_of(destination, origin, tracts, limits, far)
            if level == 0:
                number = numbers.tract[unit]
            elif level == 1:
                number = numbers.puma[unit]
            else:
                number = numbers.superpuma[unit]
            if number < 0:
                number = without
                n_removed += 1
            points[worker] = number
    if at >= 0:
        _set_numbers(at, support, numbers, False)
    return n_removed
