"""Coarsening loops: list the support points of each destination tract, sum what they hold, and find them again.

A tract belongs to level 0, 1 or 2 by the square of its chord to the destination tract. Sums go through the origin
tracts SuperPUMA by SuperPUMA; one that lies wholly beyond q90 is one point, and needs no comparison of its tracts.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from engine._jit import lean_jit
from engine._kernels.sorting import sort_values

__all__ = [
    "TABLE_STEPS",
    "count_points",
    "fill_points",
    "find_points",
    "is_beyond",
    "level_of",
    "square_chord",
]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]

TABLE_STEPS = 1 << 17
"""Steps of the table of miles and decay over chords from 0 to 2, each 0.06 miles near the destination."""

_EXACT_STEPS = 512  # 31 miles: nearer than this nothing is read from the table
_EARTH_DIAMETER_MI = 2.0 * 3958.7613
_LARGEST_EXPONENT = 600.0


@lean_jit
def square_chord(place: Floats, one: int, other: int) -> float:
    """Square of the chord between two tracts."""
    x = place[one, 0] - place[other, 0]
    y = place[one, 1] - place[other, 1]
    z = place[one, 2] - place[other, 2]
    return x * x + y * y + z * z  # type: ignore[no-any-return]


@lean_jit
def level_of(square: float, near: float, far: float) -> int:
    """0 tract, 1 PUMA, 2 SuperPUMA; ``near`` and ``far`` are the squared chords of q50 and q90."""
    if square < near:
        return 0
    if square < far:
        return 1
    return 2


@lean_jit
def _miles_and_decay(square: float, decay: tuple[float, float], table: Floats) -> tuple[float, float]:
    """Distance in miles, and the prior's decay there: exact when near, else between two entries of the table."""
    chord = math.sqrt(square)
    step = chord * (TABLE_STEPS / 2)
    if step < _EXACT_STEPS:
        miles = _EARTH_DIAMETER_MI * math.asin(min(chord / 2, 1.0))
        return miles, math.exp(-min((miles / decay[0]) ** decay[1], _LARGEST_EXPONENT))
    below = min(int(step), TABLE_STEPS - 1)
    part = step - below
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
    tracts: tuple[Any, Any, Any],
    superpumas: tuple[Any, Any, Any],
    limits: tuple[float, float],
    puma_met: Ints,
    n_support: Ints,
) -> None:
    """Count each destination tract's support points into ``n_support`` (int64[T]).

    ``tracts`` holds place [n, 3], PUMA [n] and population [n]; ``superpumas`` their CSR offsets, members and reach;
    ``limits`` the squared chords of q50 and q90; ``puma_met`` is room for a mark of each PUMA, -1 at first.
    """
    place, puma, _ = tracts
    ptr, member, reach = superpumas
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
def _add(point: int, people: int, miles: float, pull: float, sums: tuple[Any, Any, Any, Any]) -> None:
    population, miles_of_people, pulled, plain = sums
    population[point] += people
    miles_of_people[point] += people * miles
    pulled[point] += people * pull
    plain[point, 0] += miles
    plain[point, 1] += 1.0


@lean_jit
def _add_whole_unit(
    point: int,
    place: Floats,
    tract: int,
    span: tuple[int, int],
    ordered: tuple[Any, Any],
    table: Floats,
    room: Floats,
    sums: tuple[Any, Any, Any, Any],
) -> None:
    """Add a SuperPUMA that lies beyond the exact range as a whole; measuring and adding apart, each is fast."""
    there, people = ordered
    first, last = span
    x, y, z = place[tract, 0], place[tract, 1], place[tract, 2]
    for position in range(first, last):
        dx, dy, dz = x - there[position, 0], y - there[position, 1], z - there[position, 2]
        step = math.sqrt(dx * dx + dy * dy + dz * dz) * (TABLE_STEPS / 2)
        below = min(int(step), TABLE_STEPS - 1)
        part = step - below
        miles, pull = table[below, 0], table[below, 1]
        room[position - first, 0] = miles + part * (table[below + 1, 0] - miles)
        room[position - first, 1] = pull + part * (table[below + 1, 1] - pull)
    total, miles_of_people, pulled, plain = np.int64(0), 0.0, 0.0, 0.0
    for position in range(first, last):
        count, miles = people[position], room[position - first, 0]
        total += count
        miles_of_people += count * miles
        pulled += count * room[position - first, 1]
        plain += miles
    sums[0][point], sums[1][point], sums[2][point] = total, miles_of_people, pulled
    sums[3][point, 0], sums[3][point, 1] = plain, last - first


@lean_jit
def _number(
    position: int,
    tract: int,
    tracts: tuple[Any, Any, Any],
    superpumas: tuple[Any, Any, Any],
    limits: tuple[float, float],
    scratch: tuple[Any, Any, Any, Any],
    support: tuple[Any, Any],
) -> int:
    """Number one destination tract's points: tracts, then PUMAs, then SuperPUMAs, each by index.

    Returns the number of tract points. ``scratch`` begins with the point of each PUMA and of each SuperPUMA (-1
    where there is none), written here.
    """
    place, puma, _ = tracts
    ptr, member, reach = superpumas
    support_level, support_unit = support
    point_of_puma, point_of_superpuma, _, _ = scratch
    beyond = math.sqrt(limits[1])
    for unit in range(point_of_puma.size):
        point_of_puma[unit] = -1
    for unit in range(point_of_superpuma.size):
        point_of_superpuma[unit] = -1
    n_near = 0
    for unit in range(ptr.size - 1):
        if ptr[unit] == ptr[unit + 1]:
            continue
        if is_beyond(place, tract, reach, unit, beyond):
            point_of_superpuma[unit] = 0
            continue
        for place_in_list in range(ptr[unit], ptr[unit + 1]):
            origin = member[place_in_list]
            level = level_of(square_chord(place, tract, origin), limits[0], limits[1])
            if level == 0:
                support_unit[n_near] = origin
                n_near += 1
            elif level == 1:
                point_of_puma[puma[origin]] = 0
            else:
                point_of_superpuma[unit] = 0
    sort_values(support_unit[:n_near])
    for point in range(n_near):
        support_level[point] = 0
    n_points = n_near
    for unit in range(point_of_puma.size):
        if point_of_puma[unit] == 0:
            point_of_puma[unit] = n_points
            support_level[n_points] = 1
            support_unit[n_points] = unit
            n_points += 1
    for unit in range(point_of_superpuma.size):
        if point_of_superpuma[unit] == 0:
            point_of_superpuma[unit] = n_points
            support_level[n_points] = 2
            support_unit[n_points] = unit
            n_points += 1
    return n_near


@lean_jit
def fill_points(
    bounds: tuple[int, int],
    destination: Ints,
    support_ptr: Ints,
    tracts: tuple[Any, Any, Any],
    superpumas: tuple[Any, Any, Any],
    ordered: tuple[Any, Any],
    limits: tuple[float, float],
    decay: tuple[float, float],
    table: Floats,
    scratch: tuple[Any, Any, Any, Any],
    out: tuple[Any, Any, Any, Any, Any],
) -> None:
    """Fill level, unit, mean distance, population and gravity mass (each [K], zeroed) of some destination tracts.

    ``ordered`` holds place and population of the tracts in the order of the SuperPUMAs' members, ``decay`` scale and
    shape of the prior's decay, ``table`` miles and decay by chord [TABLE_STEPS + 1, 2]. ``scratch`` is room for
    the point of each PUMA and of each SuperPUMA, for two numbers of each tract of the largest SuperPUMA, and for two
    of each point of a destination tract.
    """
    place, puma, population = tracts
    ptr, member, reach = superpumas
    support_level, support_unit, mean_distance, point_population, point_mass = out
    point_of_puma, point_of_superpuma, room, plain = scratch
    # Beyond both: one point, and its miles and decay are read from the table.
    beyond = max(math.sqrt(limits[1]), (_EXACT_STEPS + 1) * (2.0 / TABLE_STEPS))
    for position in range(bounds[0], bounds[1]):
        tract = destination[position]
        first, last = support_ptr[position], support_ptr[position + 1]
        support = (support_level[first:last], support_unit[first:last])
        n_near = _number(position, tract, tracts, superpumas, limits, scratch, support)
        sums = (point_population[first:last], mean_distance[first:last], point_mass[first:last], plain)
        for point in range(last - first):
            plain[point, 0], plain[point, 1] = 0.0, 0.0
        for point in range(n_near):
            origin = support_unit[first + point]
            miles, pull = _miles_and_decay(square_chord(place, tract, origin), decay, table)
            _add(point, population[origin], miles, pull, sums)
        for unit in range(ptr.size - 1):
            if ptr[unit] == ptr[unit + 1]:
                continue
            if is_beyond(place, tract, reach, unit, beyond):
                point = point_of_superpuma[unit]
                span = (ptr[unit], ptr[unit + 1])
                _add_whole_unit(point, place, tract, span, ordered, table, room, sums)
                continue
            for place_in_list in range(ptr[unit], ptr[unit + 1]):
                origin = member[place_in_list]
                square = square_chord(place, tract, origin)
                level = level_of(square, limits[0], limits[1])
                if level > 0:
                    point = point_of_puma[puma[origin]] if level == 1 else point_of_superpuma[unit]
                    miles, pull = _miles_and_decay(square, decay, table)
                    _add(point, population[origin], miles, pull, sums)
        for point in range(last - first):
            if sums[0][point] > 0:
                sums[1][point] /= sums[0][point]
            else:
                sums[1][point] = plain[point, 0] / plain[point, 1]


@lean_jit
def _find(level: int, unit: int, first: int, last: int, support_level: Any, support_unit: Indices) -> int:
    """Position of a point among [first, last), which rise by level and unit; -1 where it is not there."""
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
def find_points(
    position: Indices,
    origin: Ints,
    destination: Ints,
    tracts: tuple[Any, Any, Any],
    limits: tuple[float, float],
    support: tuple[Any, Any, Any],
    found: Indices,
) -> None:
    """Local support point of each (position of a destination tract, origin tract) into ``found``.

    ``tracts`` holds place, PUMA and SuperPUMA of every tract; ``support`` the offsets, levels and units. What editing
    took is in the remainder (level 3, the last point) where there is one, else -1.
    """
    place, puma, superpuma = tracts
    support_ptr, support_level, support_unit = support
    for worker in range(position.size):
        at, home = position[worker], origin[worker]
        level = level_of(square_chord(place, destination[at], home), limits[0], limits[1])
        unit = home
        if level == 1:
            unit = puma[home]
        elif level == 2:
            unit = superpuma[home]
        first, last = support_ptr[at], support_ptr[at + 1]
        point = _find(level, unit, first, last, support_level, support_unit)
        if point < 0 and last > first and support_level[last - 1] == 3:
            point = last - 1
        found[worker] = point - first if point >= 0 else -1
