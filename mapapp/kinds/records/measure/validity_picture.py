"""Distances of worker records as one picture: a heat map of pairs of attributes, and box plots of distances.

Drawn by matplotlib without a browser or the network.

Source: P17, Figures 3 and 4, which are box plots of the distances of single attributes and of pairs.
"""

from __future__ import annotations

from typing import Final

import numpy
import pandas
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from mapapp.show.content.palette import HOME, INK, RAMP, WORK

_COLORS: Final = LinearSegmentedColormap.from_list("distances", RAMP)
_DARK: Final = 0.5  # of the scale: white digits above it
_LABEL: Final = "Total variation distance"


def records_validity_picture(
    matrix: pandas.DataFrame,
    attributes: pandas.DataFrame,
    pairs: pandas.DataFrame,
    *,
    title: str,
    note: str,
) -> Figure:
    """Draw the distances of measured worker records.

    Parameters
    ----------
    matrix : DataFrame
        Distances by attribute and attribute: of the records below the diagonal, of the noise floor above it, and of
        single attributes on it.
    attributes, pairs : DataFrame
        The tables that `mapapp.kinds.records.measure.validity` makes.
    title, note : str
        Texts above and below the panels.
    """
    figure = Figure(figsize=(14, 8), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(2, 2, width_ratios=(1.5, 1.0), height_ratios=(1.0, 1.6))
    titles = dict(zip(attributes["attribute"], attributes["title"], strict=True))
    _heat_map(figure, figure.add_subplot(grid[:, 0]), matrix, titles)
    _all_boxes(figure.add_subplot(grid[0, 1]), attributes, pairs)
    _boxes_by_attribute(figure.add_subplot(grid[1, 1]), pairs, titles)
    figure.suptitle(title, color=INK)
    figure.supxlabel(note, fontsize=9, color=WORK)
    return figure


def _heat_map(figure: Figure, axes: Axes, matrix: pandas.DataFrame, titles: dict[str, str]) -> None:
    values = matrix.to_numpy()
    most = max(float(values.max()), 1e-3)
    image = axes.imshow(values, cmap=_COLORS, vmin=0.0, vmax=most)
    names = [titles[name] for name in matrix.index]
    axes.set_xticks(range(len(names)), names, rotation=60, ha="right", rotation_mode="anchor", fontsize=8)
    axes.set_yticks(range(len(names)), names, fontsize=8)
    size = min(9.0, 90.0 / len(names))
    for (down, across), value in numpy.ndenumerate(values):
        color = "white" if value > _DARK * most else INK
        axes.text(across, down, f"{value:.3f}", ha="center", va="center", fontsize=size, color=color)
    axes.set_title(
        "Pairs of attributes: records below the diagonal, noise floor above it,\nsingle attributes on it",
        fontsize=10,
    )
    figure.colorbar(image, ax=axes, shrink=0.7, label=_LABEL)


def _all_boxes(axes: Axes, attributes: pandas.DataFrame, pairs: pandas.DataFrame) -> None:
    """Records beside the noise floor, for single attributes and for pairs."""
    groups = [
        (f"{name}\n{who}", table[column], color)
        for name, table in (("single", attributes), ("pairs", pairs))
        for who, column, color in (("records", "distance", WORK), ("noise floor", "noise_floor", HOME))
    ]
    _boxes(axes, groups)
    axes.set_ylabel(_LABEL)
    axes.set_title("Distances of single attributes and of pairs", fontsize=10)


def _boxes_by_attribute(axes: Axes, pairs: pandas.DataFrame, titles: dict[str, str]) -> None:
    """Distances of the pairs that each attribute is in."""
    groups = [
        (title, pairs.loc[(pairs["first"] == name) | (pairs["second"] == name), "distance"], WORK)
        for name, title in reversed(titles.items())
    ]
    _boxes(axes, groups, vertical=False)
    axes.set_xlabel(_LABEL)
    axes.set_title("Pairs with each attribute", fontsize=10)


def _boxes(axes: Axes, groups: list[tuple[str, pandas.Series, str]], *, vertical: bool = True) -> None:
    """Boxes from the lower to the upper quartile, with the median; whiskers reach the least and the largest."""
    drawn = axes.boxplot(
        [values.to_numpy() for _, values, _ in groups],
        whis=(0, 100),
        orientation="vertical" if vertical else "horizontal",
        patch_artist=True,
        widths=0.6,
        medianprops={"color": INK},
    )
    for box, (_, _, color) in zip(drawn["boxes"], groups, strict=True):
        box.set(facecolor=color, alpha=0.55)
    set_ticks, set_limit = (axes.set_xticks, axes.set_ylim) if vertical else (axes.set_yticks, axes.set_xlim)
    set_ticks(range(1, len(groups) + 1), [label for label, _, _ in groups], fontsize=8)
    set_limit(0.0)
