"""The base map of pictures: land, water, borders, roads, and rail, in Web Mercator as on the page.

Shapes come from the release, simplified as for the page, and are cached with the release once projected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy
import numpy.typing as npt
import shapely
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from geodata.geography.distance import EARTH_RADIUS_MI, mercator_y
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.question.view import Bounds
from mapapp.show.content import map_layers
from mapapp.show.content.map_content import MapContent
from mapapp.show.content.palette import ColorScheme
from mapapp.show.paper.sheet import PIXELS_PER_INCH, POINTS_PER_PIXEL, Sheet
from mapapp.show.plotly.commute_map import (
    FAR_FADES,
    FAR_FILLS,
    POPULATED_LAYERS,
    ROAD_LAYERS,
    WIDTHS,
    unit_line_pixels,
)

Shapes = npt.NDArray[numpy.object_]

_TILE_PIXELS: Final = 512
_SMALL_IN: Final = 0.16  # an area smaller than this gets a ring around it
_UNSEEN_PIXELS: Final = 0.15  # detail of a border that is invisible even at four times the size


@dataclass(frozen=True, slots=True)
class Frame:
    """The extent and size of a map.

    Attributes
    ----------
    west, south, east, north : float
        Edges in Web Mercator on the unit sphere.
    width_in, height_in : float
        Size of the map on the sheet.
    """

    west: float
    south: float
    east: float
    north: float
    width_in: float
    height_in: float

    @property
    def per_inch(self) -> float:
        """Mercator units per inch."""
        return (self.east - self.west) / self.width_in

    @property
    def zoom(self) -> float:
        """The MapLibre zoom at which the page looks the same."""
        return math.log2(2 * math.pi / _TILE_PIXELS / (self.per_inch / PIXELS_PER_INCH))

    @property
    def middle_lat_deg(self) -> float:
        """Latitude of the middle."""
        return math.degrees(math.atan(math.sinh((self.south + self.north) / 2)))

    @property
    def mi_per_inch(self) -> float:
        """Miles on the ground per inch in the middle."""
        return self.per_inch * EARTH_RADIUS_MI * math.cos(math.radians(self.middle_lat_deg))

    @property
    def box(self) -> tuple[float, float, float, float]:
        """West, south, east and north, with a margin so that cut lines end out of sight."""
        margin = 0.05 * max(self.east - self.west, self.north - self.south)
        return self.west - margin, self.south - margin, self.east + margin, self.north + margin


@dataclass(frozen=True, slots=True)
class Units:
    """Shapes of a layer in Web Mercator.

    Attributes
    ----------
    ids : list of str
    shapes : object[N]
    bounds : float64[N, 4]
    """

    ids: list[str]
    shapes: Shapes
    bounds: npt.NDArray[numpy.float64]

    def inside(self, frame: Frame) -> npt.NDArray[numpy.int64]:
        """Positions of the shapes inside the frame."""
        west, south, east, north = frame.box
        b = self.bounds
        return numpy.flatnonzero(
            (b[:, 0] <= east) & (b[:, 2] >= west) & (b[:, 1] <= north) & (b[:, 3] >= south)
        )


def frame_of(bounds: Bounds, width_in: float, height_in: float, margin: float = 0.03) -> Frame:
    """The frame that just contains bounds in degrees, with a margin that is a share of its size."""
    west, south, east, north = bounds
    left, right = math.radians(west), math.radians(east)
    bottom, top = (float(mercator_y(max(min(lat, 85.0), -85.0))) for lat in (south, north))
    room = 1 - 2 * margin
    per_inch = max((right - left) / (width_in * room), (top - bottom) / (height_in * room), 2e-6)
    x, y = (left + right) / 2, (bottom + top) / 2
    half = per_inch * width_in / 2, per_inch * height_in / 2
    return Frame(x - half[0], y - half[1], x + half[0], y + half[1], width_in, height_in)


def mercator(shapes: Shapes) -> Shapes:
    """Project shapes from degrees to Web Mercator."""

    def project(places: npt.NDArray[numpy.float64]) -> npt.NDArray[numpy.float64]:
        return numpy.column_stack([numpy.radians(places[:, 0]), mercator_y(places[:, 1])])

    projected: Shapes = shapely.transform(shapes, project)
    return projected


def base_units(release: OpenedPublication, name: str) -> Units:
    """States, counties or tracts."""
    return release.once(("picture base", name), lambda: _units(*map_layers.base_shapes(release, name)))


def layer_units(release: OpenedPublication, level: str) -> Units:
    """Units of a layer that can be colored."""

    def make() -> Units:
        shape_by_unit = map_layers.unit_shapes(release, level)
        return _units(list(shape_by_unit), list(shape_by_unit.values()))

    return release.once(("picture units", level), make)


def shown_units(content: MapContent) -> Units:
    """Units of an answer that can be colored; of a unit partly in the chosen area, only that part."""
    if not content.cut_shapes:
        return layer_units(content.release, content.question.layer)
    return _units(list(content.shapes), list(content.shapes.values()))


def _units(ids: list[str], shapes: Sequence[shapely.Geometry]) -> Units:
    mercator_shapes = mercator(numpy.array([*shapes, None], dtype=object)[:-1])
    return Units(list(ids), mercator_shapes, shapely.bounds(mercator_shapes).reshape(-1, 4))


def outline(shapes: Shapes, frame: Frame | None = None) -> Path | None:
    """Polygons as one path, clipped well outside the frame; None if there are none."""
    if frame is not None and len(shapes):
        shapes = shapely.clip_by_rect(shapes, *frame.box)
        fine = _UNSEEN_PIXELS * frame.per_inch / PIXELS_PER_INCH
        shapes = shapely.simplify(shapes, fine, preserve_topology=False)
    parts = shapely.get_parts(shapely.get_parts(shapes))
    parts = parts[(shapely.get_type_id(parts) == 3) & ~shapely.is_empty(parts)]
    if not len(parts):
        return None
    _, places, (ring_ptr, _) = shapely.to_ragged_array(parts)
    codes = numpy.full(len(places), Path.LINETO, dtype=Path.code_type)
    codes[ring_ptr[:-1]] = Path.MOVETO
    codes[ring_ptr[1:] - 1] = Path.CLOSEPOLY
    return Path(places, codes)


def lines(shapes: Shapes, frame: Frame) -> Path | None:
    """Lines as one path, clipped well outside the frame; None if there are none."""
    if not len(shapes):
        return None
    cut = shapely.get_parts(shapely.clip_by_rect(shapes, *frame.box))
    fine = _UNSEEN_PIXELS * frame.per_inch / PIXELS_PER_INCH
    parts = shapely.simplify(cut[(shapely.get_type_id(cut) == 1) & ~shapely.is_empty(cut)], fine)
    if not len(parts):
        return None
    _, places, (line_ptr,) = shapely.to_ragged_array(parts)
    codes = numpy.full(len(places), Path.LINETO, dtype=Path.code_type)
    codes[line_ptr[:-1]] = Path.MOVETO
    return Path(places, codes)


def draw_land(axes: Axes, release: OpenedPublication, frame: Frame, scheme: ColorScheme) -> None:
    """Draw the sea, the land around the release's states, the states, and where people live on them."""
    axes.set_xlim(frame.west, frame.east)
    axes.set_ylim(frame.south, frame.north)
    axes.fill(
        [frame.west, frame.east, frame.east, frame.west],
        [frame.south, frame.south, frame.north, frame.north],
        color=scheme.water,
        zorder=0,
    )
    fill(axes, outline(_far(release, "land", frame), frame), scheme.outside, zorder=0.5)
    path = lines(_far(release, "border", frame), frame)
    stroke(axes, path, scheme.far_line, _width(frame.zoom, *WIDTHS["far-borders"]), zorder=0.6)
    states = base_units(release, "states")
    fill(axes, outline(states.shapes[states.inside(frame)], frame), scheme.land, zorder=1)
    populated = _ground(release, "populated")
    rank, near = map_layers.ground_of(release, "populated").rank, populated.inside(frame)
    colors = {"populated": scheme.populated, "crowded": scheme.crowded}
    for place, (layer, wanted) in enumerate(POPULATED_LAYERS):
        path = outline(populated.shapes[near[rank[near] == wanted]], frame)
        fill(axes, path, colors[layer], zorder=1.1 + place / 100)


def fill(axes: Axes, path: Path | None, color: str, **options: object) -> None:
    """Fill a path unless it is None."""
    if path is not None:
        axes.add_artist(PathPatch(path, facecolor=color, **({"edgecolor": "none", "linewidth": 0} | options)))


def stroke(axes: Axes, path: Path | None, color: str, pixels: float, **options: object) -> None:
    """Draw a line along a path unless it is None."""
    if path is not None:
        look: dict[str, object] = {
            "facecolor": "none",
            "edgecolor": color,
            "linewidth": pixels * POINTS_PER_PIXEL,
        }
        look |= {"joinstyle": "round", "capstyle": "round"}
        axes.add_artist(PathPatch(path, **(look | options)))


def draw_borders(axes: Axes, release: OpenedPublication, frame: Frame, scheme: ColorScheme) -> None:
    """Draw borders of counties and states, thicker at higher zoom."""
    counties = _county_lines(release)
    path = lines(counties.shapes[counties.inside(frame)], frame)
    stroke(axes, path, scheme.county_line, _width(frame.zoom, *WIDTHS["county-lines"]), zorder=4)
    path = lines(_far(release, "state-line", frame), frame)
    stroke(axes, path, scheme.state_line, _width(frame.zoom, *WIDTHS["state-lines"]), zorder=4.1)


def _county_lines(release: OpenedPublication) -> Units:
    def make() -> Units:
        shapes = map_layers.county_lines(release)
        return _units([str(at) for at in range(len(shapes))], list(shapes))

    return release.once(("picture county lines",), make)


def draw_unit_borders(axes: Axes, units: Units, frame: Frame, scheme: ColorScheme) -> None:
    """Draw thin borders of the units that are counted; the more units in the frame, the thinner the borders."""
    near = units.inside(frame)
    width = unit_line_pixels(len(near))
    stroke(axes, outline(units.shapes[near], frame), scheme.tract_line, width, zorder=3.5)


def draw_ground(axes: Axes, release: OpenedPublication, frame: Frame, scheme: ColorScheme) -> None:
    """Draw water over fills and borders, so that they end at the shore, then rail and main roads.

    What the packaged base map adds fades at high zoom as it does on the page.
    """
    faint = 1 - _width(frame.zoom, FAR_FADES[0], 0.0, FAR_FADES[1], 1.0)
    for _, kind in FAR_FILLS:
        alpha = faint if kind == "lake" else 1.0
        fill(axes, outline(_far(release, kind, frame), frame), scheme.water, zorder=4.25, alpha=alpha)
    if faint:
        for kind, color in (("river", scheme.river), ("rail", scheme.far_rail)):
            width = _width(frame.zoom, *WIDTHS[f"far-{kind}s"])
            stroke(axes, lines(_far(release, kind, frame), frame), color, width, zorder=4.27, alpha=faint)
    water = _ground(release, "water")
    path = outline(water.shapes[water.inside(frame)], frame)
    fill(axes, path, scheme.water, zorder=4.3)
    stroke(axes, path, scheme.water, _width(frame.zoom, *WIDTHS["shore"]), zorder=4.3)
    rails = _ground(release, "rails")
    path = lines(rails.shapes[rails.inside(frame)], frame)
    stroke(axes, path, scheme.rail, _width(frame.zoom, *WIDTHS["rails"]), zorder=4.4)
    roads = _ground(release, "roads")
    rank = map_layers.ground_of(release, "roads").rank
    near = roads.inside(frame)
    for place, (layer, wanted) in enumerate(ROAD_LAYERS):
        width = _width(frame.zoom, *WIDTHS[layer])
        if width:
            color = scheme.road_edge if layer.endswith("edges") else scheme.road
            path = lines(roads.shapes[near[rank[near] == wanted]], frame)
            stroke(axes, path, color, width, zorder=4.5 + place / 100)


def _ground(release: OpenedPublication, name: str) -> Units:
    def make() -> Units:
        shapes = map_layers.ground_of(release, name).shapes
        return _units([str(at) for at in range(len(shapes))], list(shapes))

    return release.once(("picture ground", name), make)


def _far(release: OpenedPublication, kind: str, frame: Frame) -> Shapes:
    """Shapes of a kind around the release that are inside the frame."""

    def make() -> Units:
        shapes = map_layers.surroundings_of(release).of(kind)
        return _units([str(at) for at in range(len(shapes))], list(shapes))

    units = release.once(("picture surroundings", kind), make)
    inside: Shapes = units.shapes[units.inside(frame)]
    return inside


def _width(zoom: float, low: float, thin: float, high: float, thick: float) -> float:
    share = min(max((zoom - low) / (high - low), 0.0), 1.0)
    return thin + share * (thick - thin)


def draw_frame(sheet: Sheet, left: float, top: float, width: float, height: float) -> None:
    """Draw a thin line around the map."""
    x, y = [left, left + width], [top, top + height]
    corners = [x[0], x[1], x[1], x[0], x[0]], [y[0], y[0], y[1], y[1], y[0]]
    sheet.line(*corners, sheet.scheme.county_line, 0.6)


def draw_ring(axes: Axes, shapes: Shapes, frame: Frame, color: str) -> None:
    """Draw a ring around an area that is too small to see."""
    west, south, east, north = shapely.total_bounds(shapes)
    if max(east - west, north - south) / frame.per_inch > _SMALL_IN:
        return
    axes.plot(
        [(west + east) / 2],
        [(south + north) / 2],
        marker="o",
        markersize=13,
        markerfacecolor="none",
        markeredgecolor=color,
        markeredgewidth=1.6,
        zorder=8,
    )
