"""Pictures of the workbench as plain functions: the map of tracts in classes, least weights, and sweeps."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

import numpy as np
import numpy.typing as npt
import pandas
import plotly.graph_objects as go
from dash import dcc

from mapapp.analyst.validity.tract import LEVELS
from mapapp.show.content import palette
from mapapp.show.plotly.commute_map import CONFIG, unit_line

Positions = npt.NDArray[np.int64]
Feature = dict[str, object]
"""A shape as GeoJSON."""

NOW: Final = "#1d4f9c"
SMALL: Final = "#b3430e"
BEFORE: Final = "#7b8794"
GRAPH_CONFIG: Final = cast(dcc.Graph.Config, {**CONFIG, "displayModeBar": False, "scrollZoom": False})

_NEAR: Final = 3.0  # ratio of values whose labels would touch on a narrow logarithmic axis
_KL_EDGES: Final = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_KL_TEXTS: Final = ("< 0.02", "0.02–0.05", "0.05–0.1", "0.1–0.2", "0.2–0.5", "0.5–1", "≥ 1")
_SHARE_EDGES: Final = (1e-9, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1)
_SHARE_TEXTS: Final = ("none", "< 0.01%", "0.01–0.1%", "0.1–0.3%", "0.3–1%", "1–3%", "3–10%", "≥ 10%")
_LEVEL_SHADES: Final = (
    ("#235a9f", "#3b76bd", "#5a92d3"),
    ("#3f9c8f", "#62b3a7", "#86c8be"),
    ("#d9b26a", "#e6c98f", "#f0dcb3"),
    ("#9aa2ab", "#9aa2ab", "#9aa2ab"),
)


@dataclass(frozen=True, slots=True)
class Classes:
    """What colours mean.

    Attributes
    ----------
    title : str
        For the legend; `<br>` breaks a line.
    colours : sequence of str
        One per class.
    texts : sequence of (class position, str)
        What the legend says, and where.
    """

    title: str
    colours: Sequence[str]
    texts: Sequence[tuple[float, str]]


LEAST_FOR_KL: Final = 10
"""Workers of a tract whose KL means something: that of fewer says only how few they are."""
KL_CLASSES: Final = Classes(
    "KL of each<br>workplace tract",
    (palette.TRACT_LINE, *palette.RAMP),
    tuple(enumerate((f"under {LEAST_FOR_KL} workers", *_KL_TEXTS))),
)
SHARE_CLASSES: Final = Classes("share of workers", ("#ffffff", *palette.RAMP), tuple(enumerate(_SHARE_TEXTS)))
LEVEL_CLASSES: Final = Classes(
    "Support points",
    tuple(shade for shades in _LEVEL_SHADES for shade in shades),
    tuple((3 * level + 1, name) for level, name in enumerate(LEVELS)),
)


def kl_classes(kl: npt.ArrayLike) -> Positions:
    """Class of each divergence in nats, from 1; the same limits for every setting, so that colours can be compared."""
    return 1 + np.searchsorted(np.array(_KL_EDGES), np.asarray(kl), side="right")


def share_classes(share: npt.ArrayLike) -> Positions:
    """Class of each share of a workplace's workers."""
    return np.searchsorted(np.array(_SHARE_EDGES), np.asarray(share), side="right")


def level_classes(level: npt.ArrayLike, point: npt.ArrayLike) -> Positions:
    """Class of each origin tract by the level of its support point; neighboring points differ in shade."""
    return np.asarray(3 * np.asarray(level) + np.asarray(point) % 3, dtype=np.int64)


def tract_trace(
    ids: npt.ArrayLike,
    classes: Positions,
    labels: npt.ArrayLike,
    meaning: Classes,
    *,
    geojson_url: str,
    below: str,
) -> go.Choroplethmap:
    """Tracts coloured by class.

    Parameters
    ----------
    ids, classes, labels : array_like[N]
        Tract identifiers, positions in `meaning.colours`, and texts for the pointer.
    meaning : Classes
    geojson_url : str
        Address of the tracts' shapes.
    below : str
        Layer of the map that stays above.
    """
    n = len(meaning.colours)
    locations = np.asarray(ids, dtype=object)
    limits = np.linspace(0, 1, n + 1)
    scale = [
        [float(limit), colour] for at, colour in enumerate(meaning.colours) for limit in limits[at : at + 2]
    ]
    return go.Choroplethmap(
        geojson=geojson_url,
        locations=locations,
        z=np.asarray(classes, dtype=np.int8),
        zmin=-0.5,
        zmax=n - 0.5,
        customdata=np.asarray(labels, dtype=object),
        hovertemplate="%{customdata}<extra></extra>",
        colorscale=scale,
        marker={"opacity": 0.92, "line": unit_line(len(locations), palette.COLOR_SCHEMES["light"])},
        below=below,
        colorbar=_bar(meaning),
    )


def _bar(meaning: Classes) -> dict[str, object]:
    return {
        "title": {"text": meaning.title, "side": "top", "font": {"size": 12}},
        "x": 0,
        "y": 0,
        "xanchor": "left",
        "yanchor": "bottom",
        "xpad": 10,
        "ypad": 8,
        "len": 21 * min(len(meaning.colours), 9) + 24,
        "lenmode": "pixels",
        "thickness": 14,
        "outlinewidth": 1,
        "outlinecolor": palette.TRACT_LINE,
        "bgcolor": palette.PAPER,
        "tickfont": {"size": 11},
        "ticks": "",
        "tickvals": [at for at, _ in meaning.texts],
        "ticktext": [text for _, text in meaning.texts],
    }


def outline_layers(shape: Feature | None, colour: str = palette.WORK) -> list[dict[str, object]]:
    """Border of the chosen tract with a light edge around it; hidden if no tract is chosen."""
    shown: dict[str, object] = {"source": shape, "visible": True} if shape else {"visible": False}
    return [
        {"sourcetype": "geojson", "type": "line", "line": {"width": width}, "color": stroke, **shown}
        for width, stroke in ((6, "white"), (3, colour))
    ]


def alpha_chart(now: pandas.DataFrame, before: pandas.DataFrame | None = None) -> go.Figure:
    """Least prior weight by the workers of a synthesizer.

    Parameters
    ----------
    now, before : DataFrame or None
        `n_workers` and `least_alpha_mean`, rising; of this setting and of the one before.
    """
    figure = chart("workers of a synthesizer", "least α")
    figure.update_layout(legend={"y": 1, "yanchor": "bottom"}, margin={"b": 42})
    if before is not None and len(before):
        figure.add_trace(
            _line(before["n_workers"], before["least_alpha_mean"], "setting before", BEFORE, dash="dot")
        )
    figure.add_trace(_line(now["n_workers"], now["least_alpha_mean"], "this setting", NOW))
    figure.update_xaxes(type="log", dtick=1)
    figure.update_yaxes(type="log", dtick=1, exponentformat="power")
    return figure


def sweep_chart(
    frame: pandas.DataFrame,
    *,
    x: str,
    title: str,
    marked: tuple[float, str],
    papers: tuple[float, float] | None,
    shows_epsilon_final: bool,
    log_x: bool,
    current: tuple[float, float, float] | None = None,
) -> go.Figure:
    """KL of all and of small destinations against one parameter, as on the slides of 2010.

    Parameters
    ----------
    frame : DataFrame
        `value` (of the parameter), `kl_all`, `kl_small`, `epsilon_final`; rows may be missing while they are measured.
    x : str
        What the parameter is.
    title : str
    marked : tuple of (float, str)
        Where the papers' setting lies, and its name.
    papers : tuple of (float, float) or None
        KL of all and of small destinations at the papers' setting, under their own accountant.
    shows_epsilon_final : bool
        Whether ε′ has an axis at the right.
    log_x : bool
    current : tuple of float or None
        The parameter of the current setting, and its KL of all and of small destinations.
    """
    figure = chart(x, "KL, nats", height=270)
    figure.update_layout(title={"text": title, "font": {"size": 13}, "x": 0, "xref": "paper", "y": 0.98})
    figure.add_trace(_line(frame["value"], frame["kl_all"], "all", NOW, markers=True))
    figure.add_trace(_line(frame["value"], frame["kl_small"], "small", SMALL, markers=True, symbol="square"))
    if shows_epsilon_final:
        second = _line(
            frame["value"], frame["epsilon_final"], "ε′ (right)", BEFORE, dash="dot", markers=True, symbol="x"
        )
        second.yaxis = "y2"
        figure.add_trace(second)
        figure.update_layout(
            yaxis2={
                "overlaying": "y",
                "side": "right",
                "title": {"text": "ε′"},
                "nticks": 5,
                "showgrid": False,
                "rangemode": "tozero",
            }
        )
    below = 0
    if log_x:
        values = [float(value) for value in frame["value"]]
        texts = [f"{value:g}" for value in values]
        if len(values) > 1 and values[-1] / values[-2] < _NEAR:  # every other one a line lower, never aslant
            texts = [text if at % 2 else f"<br>{text}" for at, text in enumerate(texts)]
            below = 16
        figure.update_xaxes(type="log", tickvals=values, ticktext=texts, tickangle=0)
    at, name = marked
    if papers is not None:
        own = _line([at, at], papers, f"{name} (paper)", palette.INK, markers=True, symbol="diamond-open")
        figure.add_trace(own.update(mode="markers"))
    if current is not None:
        own = _line([current[0]] * 2, current[1:], "this setting", palette.WORK, markers=True, symbol="star")
        figure.add_trace(own.update(mode="markers"))
    figure.add_vline(x=at, line={"width": 1, "dash": "dash", "color": palette.INK})
    figure.add_annotation(
        x=math.log10(at)
        if log_x
        else at,  # on a logarithmic axis annotations are placed by logarithm, lines by value
        y=1,
        yref="paper",
        yanchor="bottom",
        text=name,
        showarrow=False,
        font={"size": 11},
    )
    figure.update_yaxes(rangemode="tozero")
    figure.update_layout(
        legend={"y": -0.28 - below / 116, "yanchor": "top", "x": 0, "xanchor": "left"},
        margin={"b": 84 + below, "t": 40},
        height=240 + below,
    )
    return figure


def chart(x: str, y: str, height: int = 240) -> go.Figure:
    """A chart of the workbench without its lines; `height` in pixels."""
    figure = go.Figure()
    figure.update_layout(
        height=height,
        margin={"l": 52, "r": 16, "t": 30, "b": 78},
        paper_bgcolor="white",
        plot_bgcolor="white",
        font={"family": "system-ui, sans-serif", "size": 12, "color": palette.INK},
        legend={
            "orientation": "h",
            "y": 1.0,
            "yanchor": "bottom",
            "x": 1,
            "xanchor": "right",
            "font": {"size": 11},
        },
        xaxis={"title": {"text": x, "standoff": 8}, "gridcolor": "#e6eaee", "zeroline": False},
        yaxis={"title": {"text": y, "standoff": 6}, "gridcolor": "#e6eaee", "zeroline": False},
        hovermode="x unified",
    )
    return figure


def _line(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    name: str,
    colour: str,
    *,
    dash: str = "solid",
    markers: bool = False,
    symbol: str = "circle",
) -> go.Scatter:
    return go.Scatter(
        x=np.asarray(x, dtype=float),
        y=np.asarray(y, dtype=float),
        name=name,
        mode="lines+markers" if markers else "lines",
        line={"color": colour, "width": 2, "dash": dash},
        marker={"size": 8, "symbol": symbol},
        hovertemplate="%{y:.4g}",
    )
