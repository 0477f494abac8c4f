"""The answer on the map: points, colored areas, a density, or lines."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Final

import numpy
import shapely
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgba_array
from PIL import Image

from geodata.geography.distance import mercator_y
from mapapp.answers.commutes.lines import Lines
from mapapp.show.content import flow_shapes, palette
from mapapp.show.content.colored_units import colored_units
from mapapp.show.content.dots import Window
from mapapp.show.content.map_content import MapContent
from mapapp.show.content.palette import HATCH_HALO_OPACITY, ColorScheme
from mapapp.show.content.unit_circles import HALO_PIXELS, OPACITY, unit_circles
from mapapp.show.paper.base_map import Frame, Units, draw_unit_borders, fill, outline, shown_units
from mapapp.show.paper.sheet import PIXELS_PER_INCH, POINTS_PER_PIXEL

# Hatching of areas whose values are uncertain: diagonal lines cut off at the areas' borders.

_APART_IN: Final = 0.07
_STROKES: Final = ((1.5, HATCH_HALO_OPACITY), (0.55, 1.0))  # points and opacity: a halo, then the line


def hatch(
    axes: Axes,
    shapes: Sequence[shapely.Geometry],
    frame: Frame,
    scheme: ColorScheme,
    *,
    is_quiet: bool = False,
) -> None:
    """Draw diagonal lines over shapes in Web Mercator; quiet ones say that there is nothing to know."""
    path = outline(numpy.array([*shapes, None], dtype=object)[:-1], frame) if shapes else None
    if path is None:
        return
    height = frame.north - frame.south
    starts = numpy.arange(frame.west - height, frame.east, _APART_IN * 2**0.5 * frame.per_inch)
    lines = [[(x, frame.south), (x + height, frame.north)] for x in starts]
    colors = (scheme.land, scheme.county_line) if is_quiet else (scheme.hatch_halo, scheme.hatch)
    for (width, opacity), color in zip(_STROKES, colors, strict=True):
        drawn = LineCollection(lines, colors=color, linewidths=width, alpha=opacity, zorder=2.5)
        axes.add_collection(drawn, autolim=False)
        drawn.set_clip_path(path, axes.transData)


DOT_PIXELS_PER_INCH: Final = 288
"""Resolution of the picture of dots, even in a vector file: three times that of a screen."""


def draw_answer(axes: Axes, content: MapContent, frame: Frame, zoom: float | None = None) -> None:
    """Draw an answer as `content.kind` says."""
    if content.kind == "lines":
        _lines(axes, content.lines(zoom), frame, content.scheme)
        return
    draw = {"density": _density, "points": _points, "circles": _circles}.get(content.kind, _units)
    draw(axes, content, frame)


def _units(axes: Axes, content: MapContent, frame: Frame) -> None:
    colored, scheme = colored_units(content), content.scheme
    class_of = dict(zip(colored.units.ids, colored.of.tolist(), strict=True))
    units = shown_units(content)
    colors = {place: color for place, color in enumerate(colored.colors) if color}
    fill_units(axes, units, class_of, colors, frame, scheme)
    _hatch_units(axes, content, units, colored.not_covered, frame)


def _hatch_units(
    axes: Axes, content: MapContent, units: Units, not_covered: Sequence[str], frame: Frame
) -> None:
    """Hatch the units that are not covered, and those whose count is uncertain."""
    unsure = content.uncertain if content.is_hatched else ()
    for ids, is_quiet in ((frozenset(not_covered), True), (frozenset(unsure), False)):
        shapes = [shape for unit, shape in zip(units.ids, units.shapes, strict=True) if unit in ids]
        hatch(axes, shapes, frame, content.scheme, is_quiet=is_quiet)


def _circles(axes: Axes, content: MapContent, frame: Frame) -> None:
    circles, scheme, units = unit_circles(content), content.scheme, shown_units(content)
    draw_unit_borders(axes, units, frame, scheme)
    _hatch_units(axes, content, units, circles.not_covered, frame)
    x, y = numpy.radians(circles.lon_deg), mercator_y(circles.lat_deg)
    points = circles.pixels * POINTS_PER_PIXEL
    axes.scatter(
        x,
        y,
        s=points**2,
        c=circles.color,
        alpha=OPACITY,
        edgecolors=scheme.halo,
        linewidths=HALO_PIXELS * POINTS_PER_PIXEL,
        zorder=6,
    )
    axes.set_xlim(frame.west, frame.east)
    axes.set_ylim(frame.south, frame.north)


def fill_units(
    axes: Axes,
    units: Units,
    class_of: dict[str, int],
    colors: dict[int, str],
    frame: Frame,
    scheme: ColorScheme,
) -> None:
    """Fill the units of each class with its color, and draw borders; units without a class stay unfilled."""
    near = units.inside(frame)
    near_classes = numpy.array([class_of.get(units.ids[at], -1) for at in near], dtype=int)
    for place, color in colors.items():
        # Slightly beyond the edge, so that no gap shows between neighbors.
        path = outline(units.shapes[near[near_classes == place]], frame)
        fill(axes, path, color, edgecolor=color, linewidth=0.3, zorder=2)
    draw_unit_borders(axes, units, frame, scheme)


def _density(axes: Axes, content: MapContent, frame: Frame) -> None:
    image = content.density
    west, south, east, north = image.bounds
    bottom, top = (float(mercator_y(lat)) for lat in (south, north))
    with Image.open(io.BytesIO(image.png)) as opened:
        seen, extent = _cut(opened, (math.radians(west), bottom, math.radians(east), top), frame)
        pixels = numpy.asarray(seen.convert("RGBA"))
    axes.imshow(
        pixels,
        extent=extent,
        aspect="auto",
        interpolation="bilinear",
        zorder=2,
    )
    axes.set_xlim(frame.west, frame.east)
    axes.set_ylim(frame.south, frame.north)


def _cut(
    image: Image.Image, edges: tuple[float, float, float, float], frame: Frame
) -> tuple[Image.Image, tuple[float, float, float, float]]:
    """The part of a picture near the frame, with its west, east, south and north."""
    (west, south, east, north), (columns, rows) = edges, image.size
    per_column, per_row = (east - west) / columns, (north - south) / rows
    box = frame.box
    left, right = (min(max(round((x - west) / per_column), 0), columns) for x in (box[0], box[2]))
    upper, lower = (min(max(round((north - y) / per_row), 0), rows) for y in (box[3], box[1]))
    right, lower = max(right, left + 1), max(lower, upper + 1)  # at least one pixel, even if none is in view
    extent = (
        west + left * per_column,
        west + right * per_column,
        north - lower * per_row,
        north - upper * per_row,
    )
    return image.crop((left, upper, right, lower)), extent


def _points(axes: Axes, content: MapContent, frame: Frame) -> None:
    """Draw every worker as a dot, as one picture with the page's dots at the resolution of print."""
    ratio = DOT_PIXELS_PER_INCH / PIXELS_PER_INCH
    side = frame.per_inch / DOT_PIXELS_PER_INCH / (2 * math.pi)
    window = Window(
        west=0.5 + frame.west / (2 * math.pi),
        north=0.5 - frame.north / (2 * math.pi),
        pixel=side,
        n_columns=max(round(frame.width_in * DOT_PIXELS_PER_INCH), 1),
        n_rows=max(round(frame.height_in * DOT_PIXELS_PER_INCH), 1),
    )
    axes.imshow(
        content.dots.picture(window, frame.zoom, ratio),
        extent=(frame.west, frame.east, frame.south, frame.north),
        aspect="auto",
        interpolation="antialiased",
        zorder=6,
    )
    axes.set_xlim(frame.west, frame.east)
    axes.set_ylim(frame.south, frame.north)


def _lines(axes: Axes, drawn: Lines, frame: Frame, scheme: ColorScheme) -> None:
    flows = drawn.frame.iloc[::-1]  # the largest on top
    workers = flows["workers"].to_numpy()
    ends = [
        numpy.column_stack([numpy.radians(flows[f"{end}_lon_deg"]), mercator_y(flows[f"{end}_lat_deg"])])
        for end in ("from", "to")
    ]
    pixel = frame.per_inch / PIXELS_PER_INCH
    widths = flow_shapes.flow_widths(workers, drawn.wide)
    places = drawn.places
    radii = {way: flow_shapes.circle_radii(places[way], drawn.largest_place) for way in ("come", "go")}
    outer = numpy.maximum(radii["come"], radii["go"])
    rims = outer[flows[["home_group", "work_group"]].to_numpy()]
    strengths = flow_shapes.flow_strengths(workers, drawn.wide, drawn.n_flows)
    colors = [palette.blend_colors(scheme.faint_line, scheme.line, strength) for strength in strengths]
    axes.add_collection(
        PolyCollection(
            list(flow_shapes.flow_outlines(ends[0], ends[1], widths, rims, pixel)),
            facecolors=to_rgba_array(colors, flow_shapes.flow_opacity(strengths)),
            edgecolors=scheme.halo,
            linewidths=0 if scheme.is_dark else 0.4,
            zorder=6,
        ),
        autolim=False,
    )
    centers = numpy.column_stack([numpy.radians(places["lon_deg"]), mercator_y(places["lat_deg"])])
    _place_circles(axes, centers, radii, scheme)


def _place_circles(
    axes: Axes, centers: flow_shapes.Numbers, radii: dict[str, flow_shapes.Numbers], scheme: ColorScheme
) -> None:
    """Draw a disc for each place and way, the smaller on the larger."""
    colors = {"come": scheme.come, "go": scheme.go}
    for is_upper in (False, True):
        for way, opposite in (("come", "go"), ("go", "come")):
            is_drawn = (radii[way] > 0) & ((radii[way] <= radii[opposite]) == is_upper)
            if way == "go":  # of equal discs, that of those who come in is above
                is_drawn = (radii[way] > 0) & ((radii[way] < radii[opposite]) == is_upper)
            axes.scatter(
                centers[is_drawn, 0],
                centers[is_drawn, 1],
                s=(2 * radii[way][is_drawn] * POINTS_PER_PIXEL) ** 2,
                c=colors[way],
                edgecolors=scheme.halo,
                linewidths=0.6,
                zorder=7 + is_upper * 0.1,
            )
