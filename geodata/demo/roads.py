"""Roads and railroads of a generated country: interstates between cities, main roads between towns, and rail."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import shapely
from scipy.sparse import coo_array
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import Delaunay, cKDTree

from geodata.demo.curves import Floats, make_noise, meander, smooth_line
from geodata.demo.land import Land
from geodata.demo.towns import Highway, Towns

PRIMARY: Final = 1
SECONDARY: Final = 2
_BRIDGE_KM: Final = 2.6  # the longest bridge; a road ends where it would need a longer one
_DETOUR: Final = (
    1.45  # by the roads that are there, relative to the straight line, from which a new one is built
)
_LONGEST_KM: Final = 75.0  # of a new road, unless there is no other way
_BELTWAY_KM: Final = (8.5, 7.0)  # around the twin cities
_BEND_KM: Final = 4.5  # from bend to bend of a highway, at most
_TOLERANCE_KM: Final = 0.03
_FIRST_NUMBER: Final = 5


@dataclass(frozen=True, slots=True)
class Way:
    """One road or railroad.

    Attributes
    ----------
    name : str
    rank : int
        1 primary, 2 secondary; of a railroad, 0.
    line_km : shapely geometry
        Lines, plane kilometres.
    """

    name: str
    rank: int
    line_km: shapely.Geometry


Links = dict[tuple[int, int], Floats]
"""The road between two towns, from the first to the second, plane kilometres, by their rows in rising order."""


def make_links(land: Land, towns: Towns, rng: np.random.Generator) -> Links:
    """Join the towns: the highways among them that need no long bridge, and short cuts where the way is long."""
    links = {pair: line for pair, line in map(_smooth, towns.highways) if _water_km(line, land) <= _BRIDGE_KM}
    length = _lengths(links)
    for start, end in neighbors(towns.place_km):
        ends = towns.place_km[[start, end]]
        across = float(np.hypot(*(ends[1] - ends[0])))
        path = shortest_path(len(towns.state), length, start, end)
        by_road = sum(length[_key(*pair)] for pair in pairwise(path))
        if (start, end) in links or (path and (by_road < _DETOUR * across or across > _LONGEST_KM)):
            continue
        line = meander(ends[0], ends[1], rng, sway=1.4, wavelength=24.0, step=0.8)
        if _water_km(line, land) <= _BRIDGE_KM:
            links[start, end] = line
            length |= _lengths({(start, end): line})
    return links


def make_roads(land: Land, towns: Towns, links: Links, rng: np.random.Generator) -> list[Way]:
    """Classify the links: interstates join cities and large towns, and circle the largest; the rest are main roads."""
    length, taken = _lengths(links), set[tuple[int, int]]()
    roads: list[Way] = []
    for start, end in _interstate_towns(towns):
        path = shortest_path(len(towns.state), length, start, end)
        for run in _fresh_runs(path, taken):
            line = _join_lines([_orient_line(links, pair) for pair in pairwise(run)])
            number = _FIRST_NUMBER + 10 * len(roads)
            roads.append(Way(f"I-{number}", PRIMARY, _drop_wide_water(line, land)))
    roads += _beltways(land, towns, rng)
    rest = sorted(links.keys() - taken)
    return roads + [
        Way(f"State Rte {number + 1}", SECONDARY, _drop_wide_water(links[pair], land))
        for number, pair in enumerate(rest)
    ]


def make_rails(
    land: Land, towns: Towns, links: Links, names: list[str], rng: np.random.Generator
) -> list[Way]:
    """Build the railroads: one through the cities of the long island, and branches to the largest other towns.

    Parameters
    ----------
    names : list of str
        Of the towns.
    """
    length, taken = _lengths(links), set[tuple[int, int]]()
    rails = []
    for start, end in _rail_towns(towns):
        path = shortest_path(len(towns.state), length, start, end)
        for run in _fresh_runs(path, taken):
            line = _railroad(towns.place_km[run], rng)
            rails.append(Way(f"{names[run[0]]} and {names[run[-1]]} RR", 0, _drop_wide_water(line, land)))
    return rails


def shortest_path(n_towns: int, length: dict[tuple[int, int], float], start: int, end: int) -> list[int]:
    """Rows of the towns along the shortest way between two of them; empty if no way connects them."""
    rows = np.array(sorted(length))
    weights = np.array([length[int(a), int(b)] for a, b in rows])
    graph = coo_array((weights, (rows[:, 0], rows[:, 1])), shape=(n_towns, n_towns)).tocsr()
    _, before = dijkstra(graph, directed=False, indices=start, return_predecessors=True)
    path = [end]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
        if path[-1] < 0:
            return []
    return path[::-1]


def neighbors(place_km: Floats) -> list[tuple[int, int]]:
    """Pairs of places with no third one in the circle that has both on its diameter, the nearest pairs first.

    Source: Gabriel and Sokal, A new statistical approach to geographic variation analysis (1969).
    """
    triangles = Delaunay(place_km).simplices
    edges = np.unique(np.sort(triangles[:, [[0, 1], [1, 2], [0, 2]]].reshape(-1, 2), axis=1), axis=0)
    across = np.hypot(*np.diff(place_km[edges], axis=1)[:, 0].T)
    away = cKDTree(place_km).query(place_km[edges].mean(axis=1))[0]
    kept = away >= across / 2 - 1e-9
    order = np.argsort(across[kept], kind="stable")
    return [(int(start), int(end)) for start, end in edges[kept][order]]


def _interstate_towns(towns: Towns) -> list[tuple[int, int]]:
    """Ends of the interstates: the towns at either end of the long island, and from cities to large towns."""
    on_island = np.flatnonzero(towns.state < 4)
    u = towns.place_km[:, 0]
    ends = int(on_island[np.argmin(u[on_island])]), int(on_island[np.argmax(u[on_island])])
    cities = np.flatnonzero(towns.is_city).tolist()
    largest = [_large_towns(towns, position, 1)[0] for position in range(len(cities))]
    return [ends, *pairwise(cities[:4]), *zip(cities, largest, strict=True)]


def _rail_towns(towns: Towns) -> list[tuple[int, int]]:
    cities = np.flatnonzero(towns.is_city).tolist()
    branches = [(cities[state], town) for state in range(5) for town in _large_towns(towns, state, 2)]
    return [(cities[0], cities[1]), (cities[1], cities[2]), (cities[2], cities[3]), *branches]


def _large_towns(towns: Towns, state: int, count: int) -> list[int]:
    here = np.flatnonzero((towns.state == state) & ~towns.is_city)
    return [int(town) for town in here[np.argsort(-towns.weight[here], kind="stable")][:count]]


def _beltways(land: Land, towns: Towns, rng: np.random.Generator) -> list[Way]:
    roads = []
    cities = np.flatnonzero(towns.is_city).tolist()
    for number, (city, radius) in enumerate(zip(cities, _BELTWAY_KM, strict=False)):
        angle = np.linspace(0.0, 2 * np.pi, 181)
        reach = np.full(angle.size, radius)
        for turns in (2, 3, 5):
            reach += rng.normal(0.0, 0.5) * np.cos(turns * angle + rng.uniform(0.0, 2 * np.pi))
        ring = towns.place_km[city] + reach[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
        roads.append(Way(f"I-{295 + 200 * number}", PRIMARY, _drop_wide_water(ring, land)))
    return roads


def _railroad(stops: Floats, rng: np.random.Generator) -> Floats:
    """A line past the stops with wide curves: rail climbs and turns less than roads."""
    step = np.hypot(*np.diff(stops, axis=0).T)
    at = np.append(0.0, np.cumsum(step))
    along = np.linspace(0.0, at[-1], max(round(at[-1] / 4.0), 2) + 1)
    middle = np.column_stack([np.interp(along, at, stops[:, axis]) for axis in (0, 1)])
    sway = make_noise(along, rng, amplitude=0.9, wavelength=34.0, octaves=2)
    return smooth_line(middle + np.column_stack([sway, -sway]) * 0.7, rounds=4)


def _fresh_runs(path: list[int], taken: set[tuple[int, int]]) -> list[list[int]]:
    """The parts of a path that no earlier one took, which are taken now."""
    runs: list[list[int]] = []
    for start, end in pairwise(path):
        if _key(start, end) not in taken:
            taken.add(_key(start, end))
            if runs and runs[-1][-1] == start:
                runs[-1].append(end)
            else:
                runs.append([start, end])
    return runs


def _lengths(links: Links) -> dict[tuple[int, int], float]:
    return {pair: float(np.hypot(*np.diff(line, axis=0).T).sum()) for pair, line in links.items()}


def _key(start: int, end: int) -> tuple[int, int]:
    return (start, end) if start < end else (end, start)


def _smooth(highway: Highway) -> tuple[tuple[int, int], Floats]:
    """The towns of a highway in order, and a smooth road from the first to the second, along its rough line."""
    line = highway.line_km if highway.start < highway.end else highway.line_km[::-1]
    length = float(np.hypot(*np.diff(line, axis=0).T).sum())
    step = 1
    while (len(line) - 1) % (2 * step) == 0 and length * 2 * step / (len(line) - 1) < _BEND_KM:
        step *= 2
    return _key(highway.start, highway.end), smooth_line(line[::step])


def _orient_line(links: Links, pair: tuple[int, int]) -> Floats:
    """The line of a pair of towns, from the first to the second."""
    line = links[_key(*pair)]
    return line if pair[0] < pair[1] else line[::-1]


def _join_lines(lines: list[Floats]) -> Floats:
    return np.vstack([lines[0], *(line[1:] for line in lines[1:])])


def _water_km(line: Floats, land: Land) -> float:
    """Length of the longest stretch of a line that is over water, kilometres."""
    over = shapely.get_parts(shapely.difference(shapely.linestrings(line), land.shape))
    return float(shapely.length(over).max(initial=0.0))


def _drop_wide_water(line: Floats, land: Land) -> shapely.Geometry:
    """Return a line without the stretches over water that are too long for a bridge."""
    return shapely.simplify(
        drop_long_bridges(shapely.linestrings(line), land.shape, _BRIDGE_KM), _TOLERANCE_KM
    )


def drop_long_bridges(line: shapely.Geometry, land: shapely.Geometry, longest: float) -> shapely.Geometry:
    """Return a line without the stretches off the land that are longer than the longest bridge, in its own units."""
    over = shapely.get_parts(shapely.difference(line, land))
    wide = over[shapely.length(over) > longest]
    return shapely.difference(line, shapely.union_all(wide)) if wide.size else line
