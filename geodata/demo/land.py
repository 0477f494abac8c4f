"""The land: a long island of four states, a bay and a river that separate two of them, and an island far away.

Everything here is in a plane measured in kilometres: `u` along the long island, `v` across it. The bay opens
towards negative `v`, and the main city is near the origin. `Frame` turns the plane into longitude and latitude.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import shapely

from geodata.demo.curves import Floats, blob, make_noise, repair_ring, roughen_line
from geodata.demo.grouping import Ints
from geodata.demo.sizes import Scale

_EARTH_KM: Final = 6371.0
_ENDS_KM: Final = (-92.0, 560.0)  # of the long island, along u
_BORDERS_KM: Final = (0.0, 92.0, 335.0)  # between 81, 82, 83 and 84, along u


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """How the plane lies on the globe: turned, perhaps mirrored, and projected by Mercator.

    Mercator keeps angles, so that on a web map the country looks as it was drawn. Lengths are true at
    `lat_deg` and within a tenth of it elsewhere; compute distances from the degrees.

    Attributes
    ----------
    lon_deg, lat_deg : float
        Place of the plane's origin, far out at sea, so that the country is not mistaken for a real one.
    turn_rad : float
        Counter-clockwise.
    mirror : bool
        Whether `u` runs the other way.
    """

    lon_deg: float
    lat_deg: float
    turn_rad: float
    mirror: bool

    def degrees(self, plane_km: Floats) -> Floats:
        """Longitude and latitude, degrees, of points float64[n, 2] of the plane."""
        u = -plane_km[:, 0] if self.mirror else plane_km[:, 0]
        v = plane_km[:, 1]
        east = u * np.cos(self.turn_rad) - v * np.sin(self.turn_rad)
        north = u * np.sin(self.turn_rad) + v * np.cos(self.turn_rad)
        radius = _EARTH_KM * np.cos(np.radians(self.lat_deg))
        origin = np.arctanh(np.sin(np.radians(self.lat_deg)))
        lon = self.lon_deg + np.degrees(east / radius)
        lat = np.degrees(np.arcsin(np.tanh(origin + north / radius)))
        return np.column_stack([lon, lat])


@dataclass(frozen=True, slots=True, kw_only=True)
class Land:
    """Where there is land, and which state it belongs to.

    Attributes
    ----------
    shape : shapely MultiPolygon
        All of the land, plane kilometres.
    islets : list of shapely Polygon
        The small islands in it, each of which becomes one or more blocks.
    border_v, border_u : float64[m], list of float64[m]
        Each border between neighboring states as u over v; the first is the river.
    river_end_v : float
        Source of the river; beyond it that border is a line on land.
    far_island : tuple of float
        Centre (u, v) of state 85.
    frame : Frame
        Plane to degrees.
    """

    shape: shapely.Geometry
    islets: list[shapely.Geometry]
    border_v: Floats
    border_u: list[Floats]
    river_end_v: float
    far_island: tuple[float, float]
    frame: Frame

    def state_position(self, plane_km: Floats) -> Ints:
        """Position 0..4 (81..85) of the state of each point float64[n, 2]."""
        u, v = plane_km[:, 0], plane_km[:, 1]
        position = np.zeros(u.size, np.int64)
        for border in self.border_u:
            position += u > np.interp(v, self.border_v, border)
        position[v < -400.0] = 4
        return position


def make_land(scale: Scale, rng: np.random.Generator) -> Land:
    """Draw the land of a country."""
    border_v = np.arange(-130.0, 131.0, 2.0)
    border_u = _borders(border_v, rng)
    river_end_v = float(rng.uniform(22.0, 34.0))
    island = _long_island(scale, rng)
    island = shapely.difference(island, _bay(border_v, border_u[0], river_end_v, scale, rng))
    far = (float(rng.uniform(120.0, 330.0)), -1040.0)
    islets = _islets(island, far, scale, rng)
    far_island = blob(far, (62.0, 44.0), rng, finest=scale.coast_km)
    shape = shapely.union_all([island, far_island, *islets])
    frame = Frame(
        lon_deg=float(np.round(rng.uniform(-47.0, -41.0), 3)),
        lat_deg=float(np.round(rng.uniform(40.0, 43.0), 3)),
        turn_rad=float(rng.uniform(-0.9, 0.9)),
        mirror=bool(rng.random() < 0.5),
    )
    return Land(
        shape=shape,
        islets=[islet for islet in islets if not shapely.intersects(islet, island)],
        border_v=border_v,
        border_u=border_u,
        river_end_v=river_end_v,
        far_island=far,
        frame=frame,
    )


def _borders(at_v: Floats, rng: np.random.Generator) -> list[Floats]:
    river = make_noise(at_v, rng, amplitude=5.0, wavelength=75.0)
    river -= np.interp(0.0, at_v, river)  # the river passes the main city
    others = [
        make_noise(at_v, rng, amplitude=6.0, wavelength=120.0) + rng.normal(0.0, 0.08) * at_v
        for _ in _BORDERS_KM[1:]
    ]
    return [middle + line for middle, line in zip(_BORDERS_KM, [river, *others], strict=True)]


def _long_island(scale: Scale, rng: np.random.Generator) -> shapely.Geometry:
    along = np.arange(_ENDS_KM[0], _ENDS_KM[1] + 1.0, 16.0)
    share = (along - _ENDS_KM[0]) / (_ENDS_KM[1] - _ENDS_KM[0])
    taper = np.sqrt(np.clip(1.0 - (2 * share - 1.0) ** 8, 0.0, None))
    bend = make_noise(along, rng, amplitude=22.0, wavelength=620.0, octaves=2)
    bend -= np.interp(0.0, along, bend)
    upper = bend + taper * (52.0 + make_noise(along, rng, amplitude=9.0, wavelength=170.0, octaves=4))
    lower = bend - taper * (46.0 + make_noise(along, rng, amplitude=9.0, wavelength=150.0, octaves=4))
    ring = np.vstack([np.column_stack([along, lower]), np.column_stack([along[::-1], upper[::-1]])])
    return repair_ring(roughen_line(ring, rng, finest=scale.coast_km, roughness=0.23))


def _bay(
    border_v: Floats, river_u: Floats, end_v: float, scale: Scale, rng: np.random.Generator
) -> shapely.Geometry:
    v = np.arange(-110.0, end_v + 0.1, 0.5)
    middle = np.interp(v, border_v, river_u)
    sea = np.clip((-v - 3.0) / 45.0, 0.0, 1.2)  # 0 at the main city, 1 at the open coast
    half = 0.15 + 0.25 * np.clip((end_v - v) / (end_v + 10.0), 0.0, 1.0) + 14.0 * sea**1.4
    banks = []
    for side in (-1.0, 1.0):
        # Both banks of the river are smooth so that it keeps its width; those of the bay are not.
        rough = (
            make_noise(v, rng, amplitude=1.0, wavelength=21.0, octaves=6) * 2.6 * np.minimum(sea * 1.5, 1.0)
        )
        banks.append(np.column_stack([middle + side * np.maximum(half + rough, 0.12), v]))
    ring = np.vstack([banks[0], banks[1][::-1]])
    return shapely.make_valid(shapely.polygons(ring[:: 1 if scale.coast_km < 2 else 2]))


def _islets(
    island: shapely.Geometry, far: tuple[float, float], scale: Scale, rng: np.random.Generator
) -> list[shapely.Geometry]:
    islets: list[shapely.Geometry] = []
    wanted = 9
    while len(islets) < wanted:
        if len(islets) < wanted - 2:
            centre = (float(rng.uniform(-110.0, 300.0)), float(rng.uniform(-75.0, 75.0)))
        else:
            angle, reach = rng.uniform(0.0, 2 * np.pi), rng.uniform(70.0, 85.0)
            centre = (far[0] + reach * float(np.cos(angle)), far[1] + 0.75 * reach * float(np.sin(angle)))
        size = float(rng.uniform(1.8, 5.5))
        gap = float(shapely.distance(island, shapely.points(*centre)))
        if centre[1] < -400.0 or 1.3 * size < gap < 14.0:
            islets.append(blob(centre, (size, size * 0.7), rng, finest=max(scale.coast_km, 0.5)))
    return islets
