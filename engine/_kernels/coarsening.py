"""Coarsening loops: number the support points of each destination tract and sum what they hold."""

from typing import Any

import numpy as np
import numpy.typing as npt

from engine._jit import jit

__all__ = ["count_points", "fill_points", "sum_over_points"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]


@jit
def _level(distance: float, q50_mi: float, q90_mi: float) -> int:
    if distance < q50_mi:
        return 0
    if distance < q90_mi:
        return 1
    return 2


@jit
def count_points(
    distance_mi: Floats, puma: Indices, superpuma: Indices, percentiles: tuple[float, float], n_support: Ints
) -> None:
    """Count each destination tract's support points into ``n_support`` (int64[T])."""
    q50_mi, q90_mi = percentiles
    # The destination tract that last met a unit: no clearing between destination tracts.
    puma_met = np.full(puma.max() + 1, -1, dtype=np.int64)
    superpuma_met = np.full(superpuma.max() + 1, -1, dtype=np.int64)
    for tract in range(distance_mi.shape[0]):
        n_points = 0
        for origin in range(distance_mi.shape[1]):
            level = _level(distance_mi[tract, origin], q50_mi, q90_mi)
            if level == 0:
                n_points += 1
            elif level == 1:
                if puma_met[puma[origin]] != tract:
                    puma_met[puma[origin]] = tract
                    n_points += 1
            elif superpuma_met[superpuma[origin]] != tract:
                superpuma_met[superpuma[origin]] = tract
                n_points += 1
        n_support[tract] = n_points


@jit
def _number_points(
    distances: Floats,
    puma: Indices,
    superpuma: Indices,
    percentiles: tuple[float, float],
    point_of_unit: tuple[Indices, Indices],
    support: tuple[Any, Any],
    points: Indices,
) -> None:
    """Number one destination tract's points: tracts, then PUMAs, then SuperPUMAs, each by index."""
    q50_mi, q90_mi = percentiles
    point_of_puma, point_of_superpuma = point_of_unit
    support_level, support_unit = support
    point_of_puma[:] = -1
    point_of_superpuma[:] = -1
    n_points = 0
    for origin in range(distances.size):
        level = _level(distances[origin], q50_mi, q90_mi)
        if level == 0:
            support_level[n_points] = 0
            support_unit[n_points] = origin
            points[origin] = n_points
            n_points += 1
        elif level == 1:
            point_of_puma[puma[origin]] = 0
        else:
            point_of_superpuma[superpuma[origin]] = 0
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
    for origin in range(distances.size):
        level = _level(distances[origin], q50_mi, q90_mi)
        if level == 1:
            points[origin] = point_of_puma[puma[origin]]
        elif level == 2:
            points[origin] = point_of_superpuma[superpuma[origin]]


@jit
def _sum_points(
    distances: Floats, population: Ints, points: Indices, mean_distance: Floats, point_population: Ints
) -> None:
    """Population of each of one destination tract's points, and their mean distances, in tract order."""
    n_points = mean_distance.size
    plain_sum = np.zeros(n_points)
    members = np.zeros(n_points, dtype=np.int64)
    for origin in range(distances.size):
        point = points[origin]
        mean_distance[point] += population[origin] * distances[origin]
        point_population[point] += population[origin]
        plain_sum[point] += distances[origin]
        members[point] += 1
    for point in range(n_points):
        if point_population[point] > 0:
            mean_distance[point] /= point_population[point]
        else:
            mean_distance[point] = plain_sum[point] / members[point]


@jit
def fill_points(
    support_ptr: Ints,
    puma: Indices,
    superpuma: Indices,
    distance_mi: Floats,
    population: Ints,
    percentiles: tuple[float, float],
    out: tuple[Any, Any, Any, Any, Any],
) -> None:
    """Fill level, unit, mean distance, population (each [K], zeroed) and point_of_tract [T, n_tracts]."""
    support_level, support_unit, support_distance, support_population, point_of_tract = out
    point_of_unit = (
        np.empty(puma.max() + 1, dtype=np.int32),
        np.empty(superpuma.max() + 1, dtype=np.int32),
    )
    for tract in range(distance_mi.shape[0]):
        first, last = support_ptr[tract], support_ptr[tract + 1]
        distances = distance_mi[tract]
        points = point_of_tract[tract]
        support = (support_level[first:last], support_unit[first:last])
        _number_points(distances, puma, superpuma, percentiles, point_of_unit, support, points)
        _sum_points(
            distances, population, points, support_distance[first:last], support_population[first:last]
        )


@jit
def sum_over_points(
    support_ptr: Ints, point_of_tract: npt.NDArray[np.int32], mass: Floats, out: Floats
) -> None:
    """Add tract mass [T, n_tracts] to support points [K, zeroed]; dropped tracts (-1) are left out."""
    for tract in range(mass.shape[0]):
        for origin in range(mass.shape[1]):
            if point_of_tract[tract, origin] >= 0:
                out[support_ptr[tract] + point_of_tract[tract, origin]] += mass[tract, origin]
