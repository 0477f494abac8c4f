"""SuperPUMAs: groups of contiguous PUMAs of one state with at least 400,000 people.

Source: docs/theory/method.md, section 2, after P10 "Coarsening Steps". The grouping is greedy and deterministic: start
at the free PUMA with the fewest free neighbors, add the free neighbor nearest to the group's centre until there are
enough people, and merge a group that cannot be completed with the least populous group next to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import shapely

from geodata.geography.distance import distance_mi

MIN_POPULATION = 400_000
_TOUCHING_DEG = 0.0005  # about 50 m: polygons of two sources do not meet exactly

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def superpuma_ids(
    puma_id: Sequence[str],
    state_id: Sequence[str],
    population: Ints,
    lon_deg: Floats,
    lat_deg: Floats,
    polygon: npt.NDArray[np.object_],
    *,
    min_population: int = MIN_POPULATION,
) -> list[str]:
    """Group the PUMAs of every state.

    Parameters
    ----------
    puma_id, state_id : sequence of str
        Identifiers; the order of the rows does not matter.
    population : int64[P]
        People.
    lon_deg, lat_deg : float64[P]
        Centres, EPSG:4326.
    polygon : object array[P]
        Polygons, which determine contiguity; a PUMA that touches no other of its state (an island) counts as
        contiguous to the nearest one.
    min_population : int
        People that a group needs; a state with fewer is one group.

    Returns
    -------
    list of str
        State code, "S" and the number of the group within the state, such as 44S01.
    """
    result = [""] * len(puma_id)
    states = np.asarray(state_id, dtype=object)
    for state in np.unique(states):
        rows = np.flatnonzero(states == state)
        rows = rows[np.argsort(np.asarray(puma_id, dtype=object)[rows].astype(str))]
        near = neighbors(lon_deg[rows], lat_deg[rows], polygon[rows])
        group = group_units(
            population[rows], lon_deg[rows], lat_deg[rows], near, min_population=min_population
        )
        for row, number in zip(rows, group, strict=True):
            result[row] = f"{state}S{number + 1:02d}"
    return result


def neighbors(lon_deg: Floats, lat_deg: Floats, polygon: npt.NDArray[np.object_]) -> list[set[int]]:
    """Contiguous units of each unit; separate pieces are connected at their nearest centres."""
    near: list[set[int]] = [set() for _ in polygon]
    present = np.flatnonzero(~shapely.is_missing(polygon))
    tree = shapely.STRtree(polygon[present])
    for a, b in tree.query(polygon[present], predicate="dwithin", distance=_TOUCHING_DEG).T:
        if a != b:
            near[present[a]].add(int(present[b]))
    piece = _find_reachable(near, 0)
    while len(piece) < len(near):
        inside = np.array(sorted(piece))
        outside = np.array([row for row in range(len(near)) if row not in piece])
        gap = distance_mi(lon_deg[inside, None], lat_deg[inside, None], lon_deg[outside], lat_deg[outside])
        inside_row, outside_row = np.unravel_index(int(gap.argmin()), gap.shape)
        near[inside[inside_row]].add(int(outside[outside_row]))
        near[outside[outside_row]].add(int(inside[inside_row]))
        piece = _find_reachable(near, 0)
    return near


def group_units(
    population: Ints, lon_deg: Floats, lat_deg: Floats, near: list[set[int]], *, min_population: int
) -> Ints:
    """Number of the group of each unit, int64[P]; groups are numbered by their first unit."""
    free = set(range(population.size))
    groups: list[list[int]] = []
    while free:
        group = [min(free, key=lambda row: (len(near[row] & free), row))]
        free.discard(group[0])
        while population[group].sum() < min_population:
            beside = set().union(*(near[row] for row in group)) & free
            if not beside:
                break
            group.append(_find_nearest(group, sorted(beside), population, lon_deg, lat_deg))
            free.discard(group[-1])
        if population[group].sum() < min_population and groups:
            _join(groups, group, near, population)
        else:
            groups.append(group)
    result = np.empty(population.size, dtype=np.int64)
    for number, group in enumerate(sorted(groups, key=min)):
        result[group] = number
    return result


def _find_nearest(
    group: list[int], candidates: list[int], population: Ints, lon_deg: Floats, lat_deg: Floats
) -> int:
    weight = np.maximum(population[group], 1)
    lon, lat = np.average(lon_deg[group], weights=weight), np.average(lat_deg[group], weights=weight)
    away = distance_mi(lon, lat, lon_deg[candidates], lat_deg[candidates])
    return candidates[int(away.argmin())]


def _join(groups: list[list[int]], group: list[int], near: list[set[int]], population: Ints) -> None:
    beside = set().union(*(near[row] for row in group))
    touching = [neighbor for neighbor in groups if beside & set(neighbor)]
    min(touching, key=lambda neighbor: (int(population[neighbor].sum()), min(neighbor))).extend(group)


def _find_reachable(near: list[set[int]], start: int) -> set[int]:
    reached, frontier = {start}, [start]
    while frontier:
        new = near[frontier.pop()] - reached
        reached |= new
        frontier.extend(new)
    return reached
