"""The page's map: base layers, units of a layer, and commutes as points, classes, lines or a density.

The traces and layers are always in the same order (`UNITS`, `CIRCLES`, `LINES`; `PICTURE`, `HALO`, `OUTLINE`,
`OTHER_HALO`, `OTHER_OUTLINE`, `BLOCKS`, `OTHER_BLOCKS`), so that a page can replace them one by one without moving the
camera.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, cast

import numpy
import numpy.typing as npt

from mapapp.show.content import palette
from mapapp.show.content.camera import Camera
from mapapp.show.content.palette import ColorScheme
from mapapp.show.content.unit_circles import HALO_PIXELS, OPACITY
from mapapp.show.plotly.plain_figures import Figure, Trace, figure, numbers

UNITS, CIRCLES = 0, 1  # positions in `data`
LINES = (2, 3, 4, 5)  # one for each width in the legend
PICTURE, HALO, OUTLINE, OTHER_HALO, OTHER_OUTLINE, BLOCKS, OTHER_BLOCKS = range(7)  # in `layout.map.layers`
CONFIG: Final[dict[str, object]] = {
    "displaylogo": False,
    "displayModeBar": True,  # zoom buttons for visitors who cannot scroll or pinch
    "scrollZoom": True,
    "responsive": True,
    "showSendToCloud": False,  # plotly ≥ 7 would offer to upload the data
    "plotlyServerURL": "",
    "modeBarButtonsToRemove": ["sendChartToCloud", "select2d", "lasso2d", "pan", "toImage"],
}
DOWNLOADABLE: Final = CONFIG | {"modeBarButtonsToRemove": ["sendChartToCloud", "select2d", "lasso2d", "pan"]}
"""The same, for a map whose camera button gives the picture of *Download* (`assets/take.js`)."""

_LETTER_PIXELS: Final = 6.4  # average width of a letter in the caption
_LINE_PIXELS: Final = 15
ABOVE_FILLS: Final = "county-lines"  # the lowest layer above the colored units
Width = tuple[float, float, float, float]
WIDTHS: Final[dict[str, Width]] = {  # of lines, pixels, at two zoom levels
    "county-lines": (5.0, 0.4, 12.0, 1.8),
    "state-lines": (4.0, 0.7, 12.0, 2.4),
    "tract-lines": (9.0, 0.2, 14.0, 0.9),
    "far-borders": (3.0, 0.5, 9.0, 1.1),
    "far-rivers": (4.0, 0.4, 9.0, 1.3),
    "far-rails": (6.0, 0.4, 10.0, 0.9),
    "shore": (5.0, 1.0, 12.0, 2.6),
    "rails": (8.0, 0.4, 13.0, 1.4),
    "minor-road-edges": (8.5, 0.0, 13.0, 4.6),
    "minor-roads": (8.5, 0.0, 13.0, 3.0),
    "road-edges": (6.0, 1.0, 13.0, 6.4),
    "roads": (6.0, 0.4, 13.0, 4.6),
}
POPULATED_LAYERS: Final = (("populated", 2), ("crowded", 1))
"""Layers of populated land, from the lowest, and the rank that each draws."""
FAR_FILLS: Final = (("far-sea", "sea"), ("far-lakes", "lake"))
"""Layers of water of the packaged base map, from the lowest, and the kind of shapes that each fills."""
FAR_FADES: Final = (10.0, 11.5)
"""Zoom levels between which the packaged lakes, rivers, and railroads disappear, because they are too coarse."""
_TRACTS_APPEAR: Final = 9.0  # zoom at which tracts are far enough apart to be seen
ROAD_LAYERS: Final = (("minor-road-edges", 2), ("minor-roads", 2), ("road-edges", 1), ("roads", 1))
"""Layers of roads, from the lowest, and the rank that each draws."""


class UnitLabels(NamedTuple):
    """Identifiers and hover texts of the units on a map."""

    ids: list[str]
    texts: list[str]


def base_style(name: str, layer_urls: dict[str, str]) -> dict[str, object]:
    """MapLibre style of the base map: sea, land, water, borders, main roads and rail or where people live. No network.

    The background is the sea. What the packaged base map draws lies around the release's own land, which covers it.

    Its colors are those of the light theme. A map with a new style would reload everything and break the layers above
    it, so the page's script repaints this style with the colors from `paint`.

    Parameters
    ----------
    name : str
        Changes with the addresses, so that the map reloads them.
    layer_urls : dict of str to str
        GeoJSON addresses of `states`, `counties`, `surroundings`, and `places`, and of `tract-lines` and
        `mapapp.show.content.ground.GROUND` as far as there are any. The page's script draws the names in `places`.
    """
    colors = paint(palette.COLOR_SCHEMES["light"])
    layers: list[dict[str, object]] = [
        {"id": "open-sea", "type": "background", "paint": colors["open-sea"]},
        _far("far-land", "fill", "land", colors),
        _far("far-borders", "line", "border", colors),
        {"id": "land", "type": "fill", "source": "states", "paint": colors["land"]},
    ]
    if "populated" in layer_urls:  # below the answer
        for layer, rank in POPULATED_LAYERS:
            fill = {"id": layer, "type": "fill", "source": "populated", "paint": colors[layer]}
            layers.append(fill | {"filter": _of_rank(rank)})
    if "tract-lines" in layer_urls:
        layers.append(_line("tract-lines", "tract-lines", colors) | {"minzoom": _TRACTS_APPEAR})
    layers += [_line("counties", "county-lines", colors), _far("state-lines", "line", "state-line", colors)]
    layers += [_far(layer, "fill", kind, colors) for layer, kind in FAR_FILLS]
    layers.append(_far("far-rivers", "line", "river", colors))
    if "water" in layer_urls:  # borders in the water are hidden, so that the coast is what people see
        layers.append({"id": "water", "type": "fill", "source": "water", "paint": colors["water"]})
        layers.append(_line("water", "shore", colors))
    layers.append(_far("far-rails", "line", "rail", colors))
    if "rails" in layer_urls:
        layers.append(_line("rails", "rails", colors))
    if "roads" in layer_urls:
        layers += [_line("roads", layer, colors) | {"filter": _of_rank(rank)} for layer, rank in ROAD_LAYERS]
    return {
        "version": 8,
        "id": name,
        "metadata": {"places": layer_urls["places"]},
        "sources": {
            layer: {"type": "geojson", "data": url} for layer, url in layer_urls.items() if layer != "places"
        },
        "layers": layers,
    }


def _of_rank(rank: int) -> list[object]:
    return ["==", ["get", "rank"], rank]


def _far(layer: str, form: str, kind: str, colors: dict[str, dict[str, str]]) -> dict[str, object]:
    """A layer of the packaged base map; lakes, rivers, and railroads fade where they are too coarse."""
    look: dict[str, object] = {**colors[layer]}
    if form == "line":
        look["line-width"] = ["interpolate", ["linear"], ["zoom"], *WIDTHS[layer]]
    if kind in ("lake", "river", "rail"):
        start, end = FAR_FADES
        look[f"{form}-opacity"] = ["interpolate", ["linear"], ["zoom"], start, 1, end, 0]
    return {
        "id": layer,
        "type": form,
        "source": "surroundings",
        "filter": ["==", ["get", "kind"], kind],
        "paint": look,
    }


def _line(source: str, layer: str, colors: dict[str, dict[str, str]]) -> dict[str, object]:
    width = ["interpolate", ["linear"], ["zoom"], *WIDTHS[layer]]
    layout = {"line-join": "round", "line-cap": "round"}
    look = {**colors[layer], "line-width": width}
    return {"id": layer, "type": "line", "source": source, "layout": layout, "paint": look}


def layers_of(style: dict[str, object]) -> list[str]:
    """Identifiers of the layers of a style, from the lowest."""
    return [str(layer["id"]) for layer in cast("list[dict[str, object]]", style["layers"])]


def paint(scheme: ColorScheme) -> dict[str, dict[str, str]]:
    """Colors of the style's layers."""
    return {
        "open-sea": {"background-color": scheme.water},
        "far-land": {"fill-color": scheme.outside},
        "far-borders": {"line-color": scheme.far_line},
        "far-sea": {"fill-color": scheme.water},
        "far-lakes": {"fill-color": scheme.water},
        "far-rivers": {"line-color": scheme.river},
        "far-rails": {"line-color": scheme.far_rail},
        "land": {"fill-color": scheme.land},
        "populated": {"fill-color": scheme.populated},
        "crowded": {"fill-color": scheme.crowded},
        "tract-lines": {"line-color": scheme.tract_line},
        "county-lines": {"line-color": scheme.county_line},
        "state-lines": {"line-color": scheme.state_line},
        "water": {"fill-color": scheme.water},
        "shore": {"line-color": scheme.water},
        "rails": {"line-color": scheme.rail},
        "minor-road-edges": {"line-color": scheme.road_edge},
        "minor-roads": {"line-color": scheme.road},
        "road-edges": {"line-color": scheme.road_edge},
        "roads": {"line-color": scheme.road},
    }


def commute_map(
    *,
    style: dict[str, object],
    camera: Camera,
    traces: Sequence[Trace],
    layers: Sequence[dict[str, object]],
    caption: Sequence[str],
    revision: str,
    scheme: ColorScheme,
    size: tuple[int, int] = (700, 700),
    overlays: Mapping[str, object] = MappingProxyType({}),
) -> Figure:
    """Assemble the map figure.

    Parameters
    ----------
    style, camera, layers
        Results of the functions of this module and of `mapapp.show.content.camera`.
    traces : sequence of traces
        In the order of this module's positions; `no_traces` returns an empty trace for each.
    caption : sequence of str
        Texts on the picture; each starts a new line.
    revision : str
        Changes when the camera should move even if the visitor has moved it.
    scheme : ColorScheme
        Colors.
    size : tuple of int
        Width and height of the picture, pixels.
    overlays : dict
        What else the page's script draws: `flows` as `mapapp.show.plotly.flow_lines.flow_look` returns them, with
        their `url`; `hatched`, the `url` of shapes with their look from `hatching`; `missing`, the same with the
        `units` among them that are not covered; `legend`, see `mapapp.show.content.legend`.
    """
    colors = paint(scheme)
    lines = caption_lines(caption, size[0])
    layout: dict[str, object] = {
        "map": {"style": style, "layers": list(layers), "uirevision": revision, **camera},
        "meta": {
            "paint": {layer: colors[layer] for layer in layers_of(style)},
            **overlays,
        },
        "uirevision": "kept",
        "margin": {"l": 0, "r": 0, "t": 0, "b": 0},
        "paper_bgcolor": scheme.water,
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": scheme.ink},
        "showlegend": False,
        "annotations": [caption_box(lines, scheme)],
        "hoverlabel": {
            "bgcolor": scheme.land,
            "bordercolor": scheme.county_line,
            "font": {"size": 13, "color": scheme.ink},
        },
        "modebar": {"orientation": "v", "bgcolor": scheme.paper, "color": scheme.state_line},
        "newselection": {"line": {"color": scheme.ink}},
    }
    return figure(list(traces), layout)


def hatching(scheme: ColorScheme) -> dict[str, object]:
    """The look of hatching, for the page's script."""
    return {"color": scheme.hatch, "halo": scheme.hatch_halo, "opacity": palette.HATCH_HALO_OPACITY}


def quiet_hatching(scheme: ColorScheme) -> dict[str, object]:
    """The look of hatching over units that a release does not cover."""
    return {"color": scheme.county_line, "halo": scheme.land, "opacity": 0}


def star_hatching(scheme: ColorScheme) -> dict[str, object]:
    """The look of hatching over units whose count is suppressed: quieter, because they are many and not at fault."""
    return {"color": scheme.county_line, "halo": scheme.suppressed, "opacity": 0}


def no_traces() -> list[Trace]:
    """An empty trace at every position."""
    return [{"type": "choroplethmap"}, *({"type": "scattermap"} for _ in range(LINES[-1]))]


def caption_height(texts: Sequence[str], width: int) -> int:
    """Height of the caption in pixels on a picture of this width."""
    return _LINE_PIXELS * len(caption_lines(texts, width)) + 8


def caption_lines(texts: Sequence[str], width: int) -> list[str]:
    """The texts, wrapped to the width of the picture."""
    n_letters = max(int(width / _LETTER_PIXELS), 24)
    return [line for text in texts for line in textwrap.wrap(text, n_letters)]


def caption_box(lines: Sequence[str], scheme: ColorScheme) -> dict[str, object]:
    """The caption at the lower right of the picture, which saved pictures include."""
    return {
        "text": "<br>".join(html.escape(line, quote=False) for line in lines),
        "showarrow": False,
        "xref": "paper",
        "yref": "paper",
        "x": 1,
        "y": 0,
        "xanchor": "right",
        "yanchor": "bottom",
        "align": "right",
        "bgcolor": scheme.paper,
        "borderpad": 4,
        "font": {"size": 10.5, "color": scheme.state_line},
    }


def hover_trace(labels: UnitLabels, *, geojson_url: str, scheme: ColorScheme) -> Trace:
    """Units that respond to the pointer and show only their borders; see :func:`classed_trace`."""
    return {
        "type": "choroplethmap",
        "geojson": geojson_url,
        "locations": labels.ids,
        "z": numbers(numpy.zeros(len(labels.ids), dtype=numpy.int8)),
        "customdata": labels.texts,
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorscale": [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]],
        "marker": {"opacity": 1, "line": unit_line(len(labels.ids), scheme)},
        "below": ABOVE_FILLS,
        "showscale": False,
        "showlegend": False,
        "unselected": {"marker": {"opacity": 1}},
    }


def classed_trace(
    labels: UnitLabels,
    of: npt.NDArray[numpy.integer],
    colors: Sequence[str],
    *,
    geojson_url: str,
    scheme: ColorScheme,
) -> Trace:
    """Units with hover text, in the color of their class.

    Parameters
    ----------
    labels : UnitLabels
    of : int[units]
        Class of each unit, from 0.
    colors : sequence of str
        Color of each class, empty for one that is not filled.
    geojson_url : str
        Address of the units' shapes.
    scheme : ColorScheme
        Colors.
    """
    edges = numpy.linspace(0, 1, len(colors) + 1)
    return {
        "type": "choroplethmap",
        "geojson": geojson_url,
        "locations": labels.ids,
        "z": numbers(of),
        "zmin": -0.5,
        "zmax": len(colors) - 0.5,
        "customdata": labels.texts,
        "hovertemplate": "%{customdata}<extra></extra>",
        "colorscale": [
            [float(edge), color or "rgba(0,0,0,0)"]
            for i, color in enumerate(colors)
            for edge in edges[i : i + 2]
        ],
        "marker": {"opacity": 0.95, "line": unit_line(len(labels.ids), scheme)},
        "below": ABOVE_FILLS,
        "showscale": False,
        "showlegend": False,
        "unselected": {"marker": {"opacity": 0.95}},
    }


def unit_line(n_units: int, scheme: ColorScheme) -> dict[str, object]:
    """Border of the units that are counted."""
    return {"width": unit_line_pixels(n_units), "color": scheme.tract_line}


def unit_line_pixels(n_units: int) -> float:
    """Width of the borders of units; the more units, the thinner."""
    return 0.8 if n_units < 300 else 0.4 if n_units < 3_000 else 0.15


def circle_trace(
    lon_deg: npt.NDArray[numpy.floating],
    lat_deg: npt.NDArray[numpy.floating],
    pixels: npt.NDArray[numpy.floating],
    *,
    color: str,
    halo: str,
) -> Trace:
    """Circles of some diameters in pixels, the first lowest, each with a ring around it.

    The trace has no outlines, so each circle is two points: a larger one in the color of the ring, and the circle.
    """
    twice = [
        numpy.repeat(numpy.asarray(column, dtype=numpy.float32), 2) for column in (lon_deg, lat_deg, pixels)
    ]
    twice[2][::2] += 2 * HALO_PIXELS
    return {
        "type": "scattermap",
        "lon": numbers(twice[0]),
        "lat": numbers(twice[1]),
        "mode": "markers",
        "marker": {
            "size": numbers(twice[2]),
            "sizemode": "diameter",
            "color": [halo, color] * len(pixels),
            "opacity": OPACITY,
        },
        "unselected": {"marker": {"opacity": OPACITY}},
        "hoverinfo": "skip",  # the unit below has the hover text
        "showlegend": False,
    }


def outline_layers(url: str | None, color: str, halo: str) -> list[dict[str, object]]:
    """Border of the chosen areas with a halo that contrasts with any color below; invisible without `url`."""
    shown = {"source": url, "visible": True} if url else {"visible": False}
    strokes = ((6, halo, 0.85), (3, color, 1.0))
    return [
        {
            "sourcetype": "geojson",
            "type": "line",
            "line": {"width": width},
            "color": stroke,
            "opacity": opacity,
            **shown,
        }
        for width, stroke, opacity in strokes
    ]


def blocks_layer(url: str | None, color: str) -> dict[str, object]:
    """The blocks of a drawn area, shaded below its border; invisible without `url`."""
    layer = {"sourcetype": "geojson", "type": "fill", "color": color, "opacity": 0.16, "below": ABOVE_FILLS}
    return {**layer, "source": url, "visible": True} if url else {**layer, "visible": False}


def density_layer(
    url: str | None, bounds: tuple[float, float, float, float] = (0, 0, 1, 1)
) -> dict[str, object]:
    """A density picture on the map, or an invisible layer; bounds are west, south, east, north."""
    west, south, east, north = bounds
    corners = [[west, north], [east, north], [east, south], [west, south]]
    layer = {"sourcetype": "image", "type": "raster", "coordinates": corners, "below": ABOVE_FILLS}
    return {**layer, "source": url, "visible": True} if url else {**layer, "visible": False}


def dots_layer(url: str) -> dict[str, object]:
    """The tiles of a map of dots, above the base map; the address has places for `{z}`, `{x}`, `{y}`, and `{ratio}`."""
    return {"sourcetype": "raster", "type": "raster", "source": [url], "visible": True}
