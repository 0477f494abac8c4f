"""The map: own base layers, the tracts, and the other ends of the commutes as points, classes or a density.

The traces and layers always stand in one order (`TRACTS`, `POINTS`; `HALO`, `OUTLINE`, `DENSITY`), so that a page can
exchange them one by one and leave the camera alone.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from typing import Any, Final

import numpy
import plotly.graph_objects as go

from mapapp.figures import palette

TRACTS, POINTS = 0, 1  # positions in `data`
HALO, OUTLINE, DENSITY = 0, 1, 2  # positions in `layout.map.layers`
CONFIG: Final[dict[str, Any]] = {
    "displaylogo": False,
    "displayModeBar": True,  # zoom buttons for those who neither scroll nor pinch
    "scrollZoom": True,
    "responsive": True,
    "showSendToCloud": False,  # plotly ≥ 7 would offer to upload the data
    "plotlyServerURL": "",
    "modeBarButtonsToRemove": ["sendChartToCloud", "select2d", "lasso2d", "pan"],
    "toImageButtonOptions": {"format": "png", "filename": "commutemap", "scale": 2},
}
_LETTER_PIXELS: Final = 6.4  # of the caption, on average
_LINE_PIXELS: Final = 15
_NARROW_PIXELS: Final = 600
_BELOW: Final = "tract-lines"  # fills lie under the borders


def base_style(name: str, layer_urls: dict[str, str]) -> dict[str, Any]:
    """MapLibre style of the ground: land, and borders that come out as one zooms in. It needs no network.

    Parameters
    ----------
    name : str
        Changes when the addresses do, so that the map knows to read them again.
    layer_urls : dict of str to str
        GeoJSON addresses of `states`, `counties` and `tracts`.
    """
    return {
        "version": 8,
        "id": name,
        "sources": {layer: {"type": "geojson", "data": url} for layer, url in layer_urls.items()},
        "layers": [
            {"id": "outside", "type": "background", "paint": {"background-color": palette.OUTSIDE}},
            {"id": "land", "type": "fill", "source": "states", "paint": {"fill-color": palette.LAND}},
            _border("tract-lines", "tracts", palette.TRACT_LINE, (7.0, 0.15, 12.0, 1.1)),
            _border("county-lines", "counties", palette.COUNTY_LINE, (5.0, 0.4, 12.0, 1.8)),
            _border("state-lines", "states", palette.STATE_LINE, (4.0, 0.7, 12.0, 2.4)),
        ],
    }


def _border(name: str, source: str, colour: str, widths: tuple[float, ...]) -> dict[str, Any]:
    return {
        "id": name,
        "type": "line",
        "source": source,
        "layout": {"line-join": "round"},
        "paint": {"line-color": colour, "line-width": ["interpolate", ["linear"], ["zoom"], *widths]},
    }


def commute_map(
    *,
    style: dict[str, Any],
    camera: dict[str, Any],
    tracts: go.Choroplethmap,
    points: go.Scattermap,
    layers: Sequence[dict[str, Any]],
    caption: Sequence[str],
    revision: str,
    size: tuple[int, int] = (700, 700),
) -> go.Figure:
    """Put the parts together.

    Parameters
    ----------
    style, camera, tracts, points, layers
        What the functions of this module and `figures.camera` return.
    caption : sequence of str
        What stands on the picture itself; each text begins a line.
    revision : str
        Changes when the camera should move although the visitor has moved it.
    size : tuple of int
        Width and height of the picture, pixels: on a narrow one the legend stands above the caption.
    """
    width, height = size
    lines = caption_lines(caption, width)
    figure = go.Figure([tracts, points])
    figure.update_layout(
        map={"style": style, "layers": list(layers), "uirevision": revision, **camera},
        uirevision="kept",
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        paper_bgcolor=palette.OUTSIDE,
        font={"family": "system-ui, sans-serif", "size": 12, "color": palette.INK},
        showlegend=False,
        annotations=[caption_box(lines)],
        hoverlabel={
            "bgcolor": "white",
            "bordercolor": palette.COUNTY_LINE,
            "font": {"size": 13, "color": palette.INK},
        },
        modebar={"orientation": "v", "bgcolor": palette.PAPER, "color": palette.STATE_LINE},
    )
    if width < _NARROW_PIXELS:
        above = caption_height(caption, width) / max(height, 1)
        figure.data[TRACTS].colorbar.y = above
        if points.marker.showscale:  # plain points would get a bar by its being named
            figure.data[POINTS].marker.colorbar.y = above
    return figure


def caption_height(texts: Sequence[str], width: int) -> int:
    """Pixels that the caption takes at the lower edge of a picture so wide."""
    return _LINE_PIXELS * len(caption_lines(texts, width)) + 8


def caption_lines(texts: Sequence[str], width: int) -> list[str]:
    """The texts, broken where a line would be longer than the picture is wide."""
    n_letters = max(int(width / _LETTER_PIXELS), 24)
    return [line for text in texts for line in textwrap.wrap(text, n_letters)]


def caption_box(lines: Sequence[str]) -> dict[str, Any]:
    """What the picture is, at its lower right: it goes along when the picture is saved."""
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
        "bgcolor": palette.PAPER,
        "borderpad": 4,
        "font": {"size": 11, "color": palette.INK},
    }


def tract_trace(frame: Any, *, geojson_url: str, title: str, coloured: bool) -> go.Choroplethmap:
    """Tracts that can be clicked, and coloured by class of count where that is asked for.

    Parameters
    ----------
    frame : pandas.DataFrame
        `tract_id`, `label` (hover text) and `workers`, one row a drawn tract.
    geojson_url : str
        Address of the tracts' shapes.
    title : str
        What the colours say, for the legend; `<br>` breaks a line.
    coloured : bool
        Without it the tracts are there for the pointer, and not seen.
    """
    workers = frame["workers"].to_numpy()
    positive = workers[workers > 0]
    classes = palette.count_classes(int(positive.min(initial=1 << 30)), int(positive.max(initial=0)))
    shown = (
        numpy.searchsorted([low for low, _ in classes], workers, side="right") if coloured else workers * 0
    )
    return go.Choroplethmap(
        geojson=geojson_url,
        locations=frame["tract_id"].to_numpy(),
        z=shown.astype(numpy.int8),
        zmin=-0.5,
        zmax=len(classes) + 0.5,
        customdata=frame["label"].to_numpy(),
        hovertemplate="%{customdata}<extra></extra>",
        colorscale=_steps(len(classes)) if coloured else [[0, "rgba(0,0,0,0)"], [1, "rgba(0,0,0,0)"]],
        marker={"opacity": 0.95 if coloured else 1, "line": {"width": 0}},
        below=_BELOW,
        showscale=coloured,
        colorbar=_class_legend(classes, title),
    )


def point_trace(lon_deg: Any, lat_deg: Any, *, colour: str) -> go.Scattermap:
    """One point a worker; more of them are drawn smaller and fainter, so that places still stand out."""
    n_points = len(lon_deg)
    size = 7.0 if n_points < 500 else 5.0 if n_points < 5_000 else 3.6 if n_points < 30_000 else 2.8
    return go.Scattermap(
        lon=numpy.asarray(lon_deg, dtype=numpy.float32),
        lat=numpy.asarray(lat_deg, dtype=numpy.float32),
        mode="markers",
        marker={"size": size, "color": colour, "opacity": 0.75 if n_points < 5_000 else 0.5},
        hoverinfo="skip",  # the tract below tells more
    )


def density_legend(lowest: float, highest: float, place: dict[str, float]) -> go.Scattermap:
    """No points, but the colour bar of a density picture; `place` is any `lon`, `lat` in view."""
    low, high = numpy.log10(lowest), numpy.log10(highest)
    ticks = numpy.arange(numpy.ceil(low), numpy.floor(high) + 1)
    scale = [[at / (len(palette.RAMP) - 1), colour] for at, colour in enumerate(palette.RAMP)]
    bar = _bar("workers per<br>square mile<br>\u00a0", 150) | {
        "tickvals": ticks,
        "ticktext": [f"{10**tick:,.0f}" if tick >= 0 else f"{10**tick:g}" for tick in ticks],
    }
    marker = {"size": 0.1, "opacity": 0, "color": [high], "cmin": low, "cmax": high, "colorscale": scale}
    return go.Scattermap(
        lon=[place["lon"]],
        lat=[place["lat"]],
        mode="markers",
        hoverinfo="skip",
        marker=marker | {"showscale": True, "colorbar": bar},
    )


def outline_layers(url: str | None, colour: str) -> list[dict[str, Any]]:
    """Border of the chosen areas on a light ground, which sets it off from any colour below; or nothing."""
    shown = {"source": url, "visible": True} if url else {"visible": False}
    strokes = ((6, "white", 0.85), (3, colour, 1.0))
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


def density_layer(
    url: str | None, bounds: tuple[float, float, float, float] = (0, 0, 1, 1)
) -> dict[str, Any]:
    """A density picture laid on the ground, or nothing; bounds are west, south, east, north."""
    west, south, east, north = bounds
    corners = [[west, north], [east, north], [east, south], [west, south]]
    layer = {"sourcetype": "image", "type": "raster", "coordinates": corners, "below": _BELOW, "opacity": 0.9}
    return {**layer, "source": url, "visible": True} if url else {**layer, "visible": False}


def _steps(n_classes: int) -> list[list[Any]]:
    """Colour scale of equal steps, the first of them not seen."""
    last = min(len(palette.RAMP) - 1, n_classes + 1)  # few classes need not go down to the darkest
    ramp = [palette.RAMP[round(step * last / max(n_classes - 1, 1))] for step in range(n_classes)]
    colours = ["rgba(0,0,0,0)", *ramp]
    edges = numpy.linspace(0, 1, len(colours) + 1)
    return [[float(edge), colour] for i, colour in enumerate(colours) for edge in edges[i : i + 2]]


def _class_legend(classes: list[tuple[int, int | None]], title: str) -> dict[str, Any]:
    texts = [f"{low:,} or more" if high is None else f"{low:,}–{high:,}" for low, high in classes]
    return _bar(title, 21 * (len(classes) + 1) + 18) | {
        "tickvals": [0, *range(1, len(classes) + 1)],
        "ticktext": ["none", *texts],
    }


def _bar(title: str, pixels: int) -> dict[str, Any]:
    return {
        "title": {"text": title, "side": "top", "font": {"size": 12}},
        "x": 0,
        "y": 0,
        "xanchor": "left",
        "yanchor": "bottom",
        "xpad": 10,
        "ypad": 8,
        "len": pixels,
        "lenmode": "pixels",
        "thickness": 14,
        "outlinewidth": 1,
        "outlinecolor": palette.TRACT_LINE,
        "bgcolor": palette.PAPER,
        "tickfont": {"size": 11},
        "ticks": "",
    }
