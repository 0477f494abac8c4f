"""The validity measures as one picture, drawn by matplotlib without a browser or the network.

Panels: mass by commute range for all and for small workplaces (P10's last table), average commutes by workforce, all
and short (P08 Figures 1 and 2), KL divergence by workforce, and errors of tract flows by size.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy
import pandas
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mapapp.show.content.palette import HOME, INK, RAMP, WORK

_MOST_DOTS: Final = 2_000
_OF: Final = {
    "likelihood": ("real", INK),
    "posterior": ("expected", HOME),
    "drawn": ("drawn", WORK),
    "prior": ("prior", RAMP[2]),
}


def validity_picture(tables: Mapping[str, pandas.DataFrame], *, title: str, note: str) -> Figure:
    """Draw the tables of a measured release.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        The tables that `mapapp.analyst.validity.validity` makes for a release.
    title, note : str
        Texts above and below the panels.
    """
    figure = Figure(figsize=(13, 8), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(2, 3)
    destinations = tables["destinations"]
    _ranges(axes[0, 0], tables["ranges"], "all")
    _ranges(axes[1, 0], tables["ranges"], "small")
    _commutes(axes[0, 1], destinations, "block_mi", "Average commute, miles")
    _commutes(axes[1, 1], destinations, "block_short_mi", "Average short commute, miles")
    _divergence(axes[0, 2], destinations)
    _flows(axes[1, 2], tables["flows"])
    figure.suptitle(title, color=INK)
    figure.supxlabel(note, fontsize=9, color=WORK)
    return figure


def _ranges(axes: Axes, ranges: pandas.DataFrame, who: str) -> None:
    kinds = [kind for kind in _OF if f"{kind}_{who}" in ranges]
    place, width = numpy.arange(len(ranges)), 0.8 / len(kinds)
    for number, kind in enumerate(kinds):
        label, color = _OF[kind]
        axes.bar(
            place + (number + 0.5) * width - 0.4, ranges[f"{kind}_{who}"], width, label=label, color=color
        )
    axes.set_xticks(place, ranges["range"], rotation=45, ha="right", fontsize=8)
    axes.set_ylabel("Share of workers")
    axes.set_title(
        "By commute range, miles: all" if who == "all" else "Workplaces of 1-9 workers", fontsize=10
    )
    axes.legend(fontsize=8, frameon=False)


def _commutes(axes: Axes, destinations: pandas.DataFrame, column: str, label: str) -> None:
    """One dot per workplace block, real and synthetic, as P08 Figures 1 and 2."""
    shown = destinations.iloc[:: max(len(destinations) // _MOST_DOTS, 1)]
    for who, color in (("real", INK), ("drawn", WORK)):
        axes.scatter(
            shown["n_workers"],
            shown[f"{who}_{column}"],
            s=5,
            alpha=0.5,
            color=color,
            label=_OF.get(who, (who,))[0],
        )
    axes.set_xscale("log")
    if "short" not in column:
        axes.set_yscale("symlog", linthresh=1.0)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("workers of the workplace block")
    axes.set_ylabel(label.split(",")[1].strip())
    axes.set_title(label.split(",")[0], fontsize=10)
    axes.legend(fontsize=8, frameon=False)


def _divergence(axes: Axes, destinations: pandas.DataFrame) -> None:
    shown = destinations.iloc[:: max(len(destinations) // _MOST_DOTS, 1)]
    axes.scatter(shown["n_workers"], shown["kl"], s=5, alpha=0.5, color=HOME)
    axes.set_xscale("log")
    axes.set_xlabel("workers of the workplace block")
    axes.set_ylabel("nats")
    axes.set_title("Expected KL divergence", fontsize=10)


def _flows(axes: Axes, flows: pandas.DataFrame) -> None:
    read = flows[(flows["by"] == "read") & (flows["n_flows"] > 0)]
    place = numpy.arange(len(read))
    axes.bar(place - 0.2, read["mean_absolute_error"], 0.4, label="mean absolute error", color=RAMP[3])
    axes.bar(place + 0.2, read["root_mean_square_error"], 0.4, label="root mean squared error", color=RAMP[5])
    axes.set_xticks(place, read["size"], fontsize=8)
    axes.set_xlabel("workers read between two tracts")
    axes.set_ylabel("workers")
    axes.set_title("Error of tract-to-tract flows", fontsize=10)
    axes.legend(fontsize=8, frameon=False)
