"""Water of a generated country: the sea, the bay and its river, other rivers, and lakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import shapely

from geodata.demo.curves import Floats, blob, meander, ribbon
from geodata.demo.gazetteer import Names
from geodata.demo.land import Frame, Land
from geodata.demo.towns import Towns

_SEA_DEG: Final = 14.0  # how far the sea reaches beyond the land
_BAY_KM: Final = (46.0, -3.0)  # half its reach along the coast; where the river enters it
_RIVER_EVERY_KM: Final = 33.0
_CLEAR_KM: Final = 29.0  # of the bay, where no other river begins or ends
_WIDEST_KM: Final = 0.30  # from the middle of a river to a bank, at its mouth
_LAKES: Final = 9
_LAKE_KM: Final = (1.1, 2.6)
_LAKE_TO_TOWN_KM: Final = 6.5
_LEAST_DEG2: Final = 1e-5  # smaller parts of the sea are gaps between blocks


@dataclass(frozen=True, slots=True)
class Water:
    """One body of water: a row of the table.

    Attributes
    ----------
    name, kind : str
        The kind is one of `schema.WATER_KINDS`.
    shape : shapely geometry
        Polygons, EPSG:4326.
    """

    name: str
    kind: str
    shape: shapely.Geometry


@dataclass(frozen=True, slots=True)
class River:
    """A river as it flows.

    Attributes
    ----------
    line_km : float64[n, 2]
        From its source to its mouth, plane kilometres.
    half_km : float64[n]
        From the middle to a bank.
    tributary : bool
        Whether it flows into another river.
    """

    line_km: Floats
    half_km: Floats
    tributary: bool = False


def make_waters(
    land: Land, towns: Towns, land_deg: shapely.Geometry, names: Names, rng: np.random.Generator
) -> list[Water]:
    """Make all bodies of water.

    Parameters
    ----------
    land : Land
    towns : Towns
        Lakes keep away from them.
    land_deg : shapely geometry
        The union of the blocks, EPSG:4326: the sea ends exactly at its edge.
    names : Names
    rng : Generator
    """
    rivers = [*_rivers(land, rng), *_tributaries(land, rng)]
    named = [names.landmark() for _ in range(2)]
    waters = _sea(land, land_deg, named[0], named[1])
    for river in rivers:
        shape = shapely.intersection(ribbon(river.line_km, river.half_km), land.shape)
        kind = "Creek" if river.tributary else "River"
        waters.append(Water(f"{names.landmark()} {kind}", "river", _degrees(shape, land.frame)))
    lakes = _lakes(land, towns, rivers, rng)
    waters += [Water(f"Lake {names.landmark()}", "lake", _degrees(shape, land.frame)) for shape in lakes]
    return waters


def _sea(land: Land, land_deg: shapely.Geometry, bay: str, country: str) -> list[Water]:
    """Return the ocean, the bay and the river at its head: what the land leaves."""
    west, south, east, north = land_deg.bounds
    margin = np.array([-_SEA_DEG, -_SEA_DEG, _SEA_DEG, _SEA_DEG])
    sea = shapely.difference(shapely.box(*np.add((west, south, east, north), margin)), land_deg)
    parts = shapely.get_parts(sea)
    sea = shapely.multipolygons(parts[shapely.area(parts) > _LEAST_DEG2])
    reach, head = _BAY_KM
    banks = shapely.intersection(_main_island(land), shapely.box(-reach, -125.0, reach, 125.0))
    hull = shapely.convex_hull(banks)
    inlet = _degrees(shapely.intersection(hull, shapely.box(-reach, -125.0, reach, head)), land.frame)
    channel = _degrees(shapely.box(-12.0, head, 12.0, land.river_end_v + 2.0), land.frame)
    bay_shape, river_shape = (_largest(shapely.intersection(sea, part)) for part in (inlet, channel))
    ocean = shapely.difference(shapely.difference(sea, bay_shape), river_shape)
    return [
        Water(f"{country} Ocean", "ocean", ocean),
        Water(f"{bay} Bay", "bay", bay_shape),
        Water(f"{bay} River", "river", river_shape),
    ]


def _rivers(land: Land, rng: np.random.Generator) -> list[River]:
    """Rivers from the middle of the long island to alternate coasts, and two on the island far away."""
    island = _main_island(land)
    west, _, east, _ = island.bounds
    rivers = []
    for number, u in enumerate(np.arange(west + 26.0, east - 20.0, _RIVER_EVERY_KM).tolist()):
        source_u, mouth_u = u + rng.uniform(-9.0, 9.0, 2) + np.array([0.0, rng.uniform(-14.0, 14.0)])
        if min(abs(source_u), abs(mouth_u)) < _CLEAR_KM:
            continue
        low, high = _coasts(island, source_u)
        source_v = low + (high - low) * rng.uniform(0.42, 0.58)
        coast = _coasts(island, mouth_u)[number % 2]
        mouth_v = coast + (0.8 if number % 2 else -0.8)
        rivers.append(_river((source_u, source_v), (mouth_u, mouth_v), rng))
    far_u, far_v = land.far_island
    for side in (-1.0, 1.0):
        start = (far_u + side * 6.0, far_v + rng.uniform(-8.0, 8.0))
        rivers.append(_river(start, (far_u + side * 75.0, far_v + rng.uniform(-20.0, 20.0)), rng))
    return rivers


def _tributaries(land: Land, rng: np.random.Generator) -> list[River]:
    """Rivers that flow into the one at the head of the bay, from both sides."""
    rivers = []
    for side, share in ((-1.0, 0.35), (1.0, 0.6), (-1.0, 0.95)):
        v = share * land.river_end_v
        mouth = (float(np.interp(v, land.border_v, land.border_u[0])), v)
        source = (mouth[0] + side * rng.uniform(17.0, 28.0), v + rng.uniform(4.0, 16.0))
        rivers.append(_river(source, mouth, rng, widest_km=0.14, tributary=True))
    return rivers


def _river(
    source: tuple[float, float],
    mouth: tuple[float, float],
    rng: np.random.Generator,
    *,
    widest_km: float = _WIDEST_KM,
    tributary: bool = False,
) -> River:
    line = meander(np.array(source), np.array(mouth), rng, sway=1.9, wavelength=19.0, step=0.35)
    share = np.linspace(0.0, 1.0, len(line))
    return River(line, 0.035 + (widest_km - 0.035) * share**1.3, tributary)


def _lakes(land: Land, towns: Towns, rivers: list[River], rng: np.random.Generator) -> list[shapely.Geometry]:
    """Lakes at the upper ends of rivers, away from the towns; not more than one a river."""
    lakes: list[shapely.Geometry] = []
    for row in rng.permutation(len(rivers)).tolist():
        line = rivers[row].line_km
        at = line[int(len(line) * rng.uniform(0.0, 0.3))]
        away = np.hypot(*(towns.place_km - at).T).min()
        if len(lakes) < _LAKES and away > _LAKE_TO_TOWN_KM and not rivers[row].tributary:
            long, wide = rng.uniform(*_LAKE_KM), rng.uniform(0.45, 0.8)
            lake = blob((0.0, 0.0), (long, long * wide), rng, finest=0.15, roughness=0.12)
            angle = float(rng.uniform(0.0, np.pi))
            turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
            moved = shapely.polygons(shapely.get_coordinates(lake) @ turn + at)
            lakes.append(shapely.intersection(moved, land.shape))
    return lakes


def _main_island(land: Land) -> shapely.Geometry:
    return _largest(land.shape)


def _largest(shape: shapely.Geometry) -> shapely.Geometry:
    parts = shapely.get_parts(shape)
    return parts[int(np.argmax(shapely.area(parts)))]


def _coasts(island: shapely.Geometry, u: float) -> tuple[float, float]:
    """Least and greatest `v` of the island at `u`."""
    _, low, _, high = shapely.intersection(island, shapely.linestrings([(u, -125.0), (u, 125.0)])).bounds
    return low, high


def _degrees(shape: shapely.Geometry, frame: Frame) -> shapely.Geometry:
    turned = shapely.transform(shape, lambda plane: np.round(frame.degrees(plane), 6))
    return shapely.make_valid(turned)
