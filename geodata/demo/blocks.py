"""Blocks: cells of the land around relaxed seeds, small where people are many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import shapely
from scipy.spatial import Voronoi, cKDTree

from geodata.demo.curves import Floats
from geodata.demo.land import Land
from geodata.demo.sizes import Scale
from geodata.demo.towns import PEOPLE_SHARES, STATES, Towns, density, seed_places

_DRAWS_TO_BLOCK: Final = 14
_ROUNDS: Final = 4
_DECIMALS: Final = 6  # of a degree: a tenth of a metre

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """The blocks of a country, in any order.

    Attributes
    ----------
    place_km : float64[n, 2]
        A place inside each, plane kilometres.
    place_deg : float64[n, 2]
        The same, longitude and latitude.
    polygon : shapely polygons[n]
        EPSG:4326; neighbors share their corners exactly.
    area_km2 : float64[n]
        In the plane.
    state : int64[n]
        Position of the state, 0..4.
    people : int64[n]
        Residents.
    """

    place_km: Floats
    place_deg: Floats
    polygon: npt.NDArray[np.object_]
    area_km2: Floats
    state: Ints
    people: Ints


def make_blocks(land: Land, towns: Towns, scale: Scale, rng: np.random.Generator) -> Blocks:
    """Divide the land into blocks and put people into them."""
    seed, state = _seeds(land, towns, scale, rng)
    cells = _clip_cells(_cells(seed), land.shape)
    kept = ~shapely.is_empty(cells) & (shapely.area(cells) > 1e-4)
    seed, state, cells = seed[kept], state[kept], cells[kept]
    rounded = _to_degrees(cells, land)
    place = _find_inner_places(seed, cells, rounded, land)
    area = shapely.area(cells)
    return Blocks(
        place_km=place,
        place_deg=_degrees(place, land),
        polygon=rounded,
        area_km2=area,
        state=state,
        people=_people(place, state, area, towns, scale, rng),
    )


def _seeds(land: Land, towns: Towns, scale: Scale, rng: np.random.Generator) -> tuple[Floats, Ints]:
    border, border_state = _border_pairs(land, scale)
    islets = [islet.centroid.coords[0] for islet in land.islets]
    fixed = np.array([*border.tolist(), *islets])
    fixed_state = np.concatenate([border_state, land.state_position(np.array(islets))])
    parts, states = [fixed], [fixed_state]
    for position, code in enumerate(STATES):
        drawn = seed_places(towns, land, position, scale.blocks[code] * _DRAWS_TO_BLOCK, rng)
        relaxed = _relax_seeds(drawn, scale.blocks[code])
        # A seed that relaxed across the border, or up to a border pair, would bend the border.
        clear = cKDTree(fixed).query(relaxed)[0] > 0.3 * scale.border_step_km
        relaxed = relaxed[clear & (land.state_position(relaxed) == position)]
        parts.append(relaxed)
        states.append(np.full(len(relaxed), position))
    return np.vstack(parts), np.concatenate(states)


def _border_pairs(land: Land, scale: Scale) -> tuple[Floats, Ints]:
    # Two seeds mirrored in a line make an edge that lies on the line.
    pairs, states = [], []
    for position, border in enumerate(land.border_u):
        start = land.river_end_v if position == 0 else -120.0
        step = scale.border_step_km * (1.0 if position == 0 else 1.6)
        v = np.arange(start, 120.0, step)
        u = np.interp(v, land.border_v, border)
        for side in (0, 1):
            place = np.column_stack([u + (side - 0.5) * step, v])
            kept = shapely.contains_xy(land.shape, place[:, 0], place[:, 1])
            pairs.append(place[kept])
            states.append(np.full(int(kept.sum()), position + side))
    return np.vstack(pairs), np.concatenate(states)


def _relax_seeds(drawn: Floats, wanted: int) -> Floats:
    centre = drawn[:wanted]
    for _ in range(_ROUNDS):
        nearest = cKDTree(centre).query(drawn)[1]
        count = np.bincount(nearest, minlength=wanted)
        total = [np.bincount(nearest, weights=drawn[:, axis], minlength=wanted) for axis in (0, 1)]
        centre = np.column_stack(total)[count > 0] / count[count > 0, None]
        wanted = len(centre)
    return centre


def _cells(seed: Floats) -> npt.NDArray[np.object_]:
    # Seeds far outside close the cells of the outermost ones.
    angle = np.linspace(0.0, 2 * np.pi, 16, endpoint=False)
    ring = seed.mean(axis=0) + 6_000.0 * np.column_stack([np.cos(angle), np.sin(angle)])
    diagram = Voronoi(np.vstack([seed, ring]))
    region = [diagram.regions[diagram.point_region[i]] for i in range(len(seed))]
    length = np.array([len(corners) for corners in region])
    cell = np.repeat(np.arange(len(seed)), length)
    corner = diagram.vertices[np.concatenate(region)]
    away = corner - seed[cell]
    order = np.lexsort((np.arctan2(away[:, 1], away[:, 0]), cell))  # a cell is convex and holds its seed
    rings = shapely.linearrings(corner[order], indices=cell)
    cells: npt.NDArray[np.object_] = shapely.polygons(rings)
    return cells


def _clip_cells(cells: npt.NDArray[np.object_], land: shapely.Geometry) -> npt.NDArray[np.object_]:
    shapely.prepare(land)
    inside = shapely.contains_properly(land, cells)
    result = cells.copy()
    at_sea = ~inside
    # One island at a time: clipping by a small polygon is quick, and no cell spans two of them.
    pieces = np.full(int(at_sea.sum()), shapely.from_wkt("POLYGON EMPTY"))
    edge = cells[at_sea]
    for island in shapely.get_parts(land):
        near = np.flatnonzero(shapely.intersects(shapely.box(*island.bounds), edge))
        part = shapely.intersection(edge[near], island)
        larger = shapely.area(part) > shapely.area(pieces[near])
        pieces[near[larger]] = part[larger]
    result[at_sea] = pieces
    return result


def _find_inner_places(
    seed: Floats, cells: npt.NDArray[np.object_], rounded: npt.NDArray[np.object_], land: Land
) -> Floats:
    """A place inside every cell, also after rounding of both: a seed may lie right at the shore."""
    lon, lat = _degrees(seed, land).T
    held = shapely.contains_xy(cells, seed[:, 0], seed[:, 1]) & shapely.contains_xy(rounded, lon, lat)
    place = seed.copy()
    place[~held] = shapely.get_coordinates(shapely.point_on_surface(cells[~held]))
    return place


def _to_degrees(cells: npt.NDArray[np.object_], land: Land) -> npt.NDArray[np.object_]:
    turned: npt.NDArray[np.object_] = shapely.transform(cells, lambda plane: _degrees(plane, land))
    crossed = ~shapely.is_valid(turned)  # rarely: two borders that nearly touch cross once rounded
    turned[crossed] = shapely.make_valid(turned[crossed])
    return turned


def _degrees(place: Floats, land: Land) -> Floats:
    return np.round(land.frame.degrees(place), _DECIMALS)


def _people(
    place: Floats, state: Ints, area: Floats, towns: Towns, scale: Scale, rng: np.random.Generator
) -> Ints:
    part = density(towns, place, state) * area[:, None]
    luck = rng.lognormal(0.0, 0.45, area.size) * (rng.random(area.size) > 0.06)  # some have no homes
    people = np.zeros(area.size, np.int64)
    for position, code in enumerate(STATES):
        here = np.flatnonzero(state == position)
        share = part[here] / part[here].sum(axis=0) * PEOPLE_SHARES
        weight = share.sum(axis=1) * luck[here]
        people[here] = rng.multinomial(scale.people[code], weight / weight.sum())
    return people
