"""What attackers learn from worker records, as one picture drawn by matplotlib without a browser or the network.

One panel for each membership game: how often the attacker says rightly that the worker is in the data, against false
alarms: what the promise allows, the best attacker by the exact law, and draws. One panel for each attribute that was
asked about: how often workers are named right, by the number of workers who share what is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy
import pandas
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mapapp.show.content.palette import INK, RAMP, WORK
from mapapp.show.content.tradeoff import MARK_COLORS

__all__ = ["records_audit_picture"]

_CONTROLS: Final = {
    "majority": ("most frequent value", RAMP[0]),
    "public_prior": ("public data", RAMP[1]),
    "lookup_without_victim": ("the other real workers", RAMP[3]),
}
_CEILING: Final = {"memorised": ("everything memorized", INK)}
_GAMES: Final = {
    ("seeds", "exposed"): "the most exposed seed",
    ("seeds", "alone"): "a seed alone in its group",
    ("parameters", "any"): "a worker in the model's tables",
}
_PER_ROW: Final = 3


def records_audit_picture(
    tables: Mapping[str, pandas.DataFrame], names: Sequence[str], *, titles: Mapping[str, str], note: str
) -> Figure:
    """Draw the tables of an audit of worker records.

    Parameters
    ----------
    tables : mapping of str to DataFrame
        The tables of :class:`mapapp.kinds.records.audit.result.RecordsAudit`.
    names : sequence of str
        The records in order.
    titles : mapping of str to str
        Of the attributes, by name.
    note : str
        Text below the panels.
    """
    power, attackers = tables["power"], tables["attackers"]
    games = list(power[["part", "target"]].drop_duplicates().itertuples(index=False, name=None))
    targets = list(attackers["target"].drop_duplicates())
    n_panels = len(games) + len(targets)
    n_columns = min(n_panels, _PER_ROW)
    n_rows = -(-n_panels // n_columns)
    figure = Figure(figsize=(5 * n_columns, 4.2 * n_rows), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
    for axes, game in zip(panels, games, strict=False):
        game_rows = power[(power["part"] == game[0]) & (power["target"] == game[1])]
        _draw_power(axes, game_rows, _GAMES[game], names)
    for axes, target in zip(panels[len(games) :], targets, strict=False):
        _draw_bars(axes, attackers[attackers["target"] == target], titles[str(target)], names)
    handles, labels = panels[len(games)].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=6, fontsize=8, frameon=False)
    for axes in panels[n_panels:]:
        axes.set_visible(False)
    figure.supxlabel(note, fontsize=8, color=WORK, wrap=True)
    return figure


def _draw_power(axes: Axes, power: pandas.DataFrame, who: str, names: Sequence[str]) -> None:
    axes.plot([0, 1], [0, 1], color=RAMP[2], linewidth=1, label="guessing")
    for number, name in enumerate(names):
        curve = power[power["release"] == name].sort_values("false_alarms")
        if curve.empty:
            continue  # seedless records have no games of seeds
        color, of = MARK_COLORS[number % len(MARK_COLORS)], f", {name}" if len(names) > 1 else ""
        axes.plot(
            curve["false_alarms"], curve["most_right"], color=color, linestyle="--", label=f"promised{of}"
        )
        drawn = curve.dropna(subset=["exact"])
        axes.plot(
            drawn["false_alarms"], drawn["exact"], color=color, linewidth=1.4, label=f"best attacker{of}"
        )
        axes.scatter(
            curve["drawn_false_alarms"], curve["drawn"], s=12, color=color, zorder=3, label=f"drawn{of}"
        )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("said to be in the data, of draws without the worker")
    axes.set_ylabel("of draws with the worker")
    axes.set_title(f"Was the worker in the data? {who[0].upper()}{who[1:]}", fontsize=10)
    axes.legend(fontsize=7, frameon=False, loc="lower right")


def _draw_bars(axes: Axes, rows: pandas.DataFrame, title: str, names: Sequence[str]) -> None:
    classes = list(rows["n"].drop_duplicates())
    series = [(attacker, names[0], *look) for attacker, look in _CONTROLS.items()]
    series += [
        ("lookup", name, f"looked up in {name}", MARK_COLORS[number % len(MARK_COLORS)])
        for number, name in enumerate(names)
    ]
    series += [(attacker, names[0], *look) for attacker, look in _CEILING.items()]
    shown = [bar for bar in series if (rows["attacker"] == bar[0]).any()]
    width, place = 0.86 / len(shown), numpy.arange(len(classes))
    for number, (attacker, name, label, color) in enumerate(shown):
        bar_rows = rows[(rows["attacker"] == attacker) & (rows["release"] == name)]
        accuracy = bar_rows.set_index("n")["accuracy"].reindex(classes).fillna(0.0)
        axes.bar(place + (number + 0.5) * width - 0.43, accuracy, width, label=label, color=color)
    axes.set_xticks(place, [f"n = {n}" if n != "all" else "all" for n in classes])
    axes.set_ylim(0, 1)
    axes.set_title(f"{title}: share of workers named right", fontsize=10)
