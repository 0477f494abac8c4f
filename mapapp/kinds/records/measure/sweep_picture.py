"""Worker records against a parameter: distances from the real workers, before and after topping up, and what passes.

Drawn by matplotlib without a display. Rows come as plain values, see `mapapp.kinds.records.measure.sweep`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from geodata.json_objects import JsonObject
from mapapp.analyst.sweep.picture import LINE_LOOKS, WIDE, as_number, axis_places
from mapapp.show.content import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["records_sweep_figure"]

_INCHES: Final = (13.0, 7.4)
_PANELS: Final = ("work_home", "home_earnings", "band_industry", "work_tract", "four_way", "pairs")
_FAINT: Final = 0.45


def records_sweep_figure(
    names: Sequence[str], rows: Sequence[JsonObject], *, margins: Mapping[str, str], title: str, stamp: str
) -> Figure:
    """Draw distances against the first parameter of a sweep, one line for each combination of the others.

    Below each value of the first parameter is epsilon, or its range over the lines. Faint hollow marks are what
    passed, before the model tops it up; bars are 95% intervals over draws; the dotted line is the noise floor.

    Parameters
    ----------
    names : sequence of str
        Parameters of the sweep; the first is the x axis.
    rows : sequence of mapping
        `asked` (text by parameter), `epsilon_add_remove`, `pass_rate`, and the margins with `_low`, `_high`, `_before`,
        `_floor`; None for a missing value.
    margins : mapping of str to str
        Titles of the margins by name.
    title, stamp : str
        Texts above the chart and along its lower edge.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    measured = [row for row in rows if row.get("pairs") is not None]
    place = axis_places(names[0], rows)
    lines: dict[str, list[JsonObject]] = {}
    for row in measured:
        lines.setdefault(", ".join(f"{name} {row['asked'][name]}" for name in names[1:]), []).append(row)
    shown = [name for name in _PANELS if any(row.get(name) is not None for row in measured)]
    figure = Figure(figsize=_INCHES, dpi=110, layout="constrained")
    panels = figure.subplots(2, 3, squeeze=False).ravel()
    for axes, margin in zip(panels, shown, strict=False):
        for number, (label, line_rows) in enumerate(lines.items()):
            _draw_line(axes, names[0], place, line_rows, margin, label, LINE_LOOKS[number % len(LINE_LOOKS)])
        floor = next(
            (row[f"{margin}_floor"] for row in measured if row.get(f"{margin}_floor") is not None), None
        )
        if floor is not None:
            axes.axhline(floor, color=palette.INK, linewidth=0.9, linestyle=(0, (1, 3)), label="chance alone")
        _dress(axes, names[0], place, measured, margins[margin])
    for axes in panels[len(shown) :]:
        axes.set_visible(False)
    if shown:
        panels[0].legend(fontsize=7, frameon=False)
    figure.suptitle(title, fontsize=11, color=palette.INK)
    figure.supxlabel(stamp, fontsize=8, color=palette.WORK)
    return figure


def _draw_line(
    axes: Axes,
    name: str,
    place: Mapping[str, float],
    rows: Sequence[JsonObject],
    margin: str,
    label: str,
    look: JsonObject,
) -> None:
    for key, faint in ((margin, False), (f"{margin}_before", True)):
        points = sorted((place[row["asked"][name]], row) for row in rows if row.get(key) is not None)
        if not points:
            continue
        mean = [row[key] for _, row in points]
        ends = [
            [
                abs((row[f"{key}_{end}"] if row[f"{key}_{end}"] is not None else row[key]) - row[key])
                for _, row in points
            ]
            for end in ("low", "high")
        ]
        axes.errorbar(
            [x for x, _ in points],
            mean,
            yerr=ends,
            label=f"{label or 'records'}{', before topping up' if faint else ''}",
            alpha=_FAINT if faint else 1.0,
            markerfacecolor="none" if faint else look["color"],
            markersize=5,
            linewidth=1.0 if faint else 1.6,
            capsize=2,
            **look,
        )


def _dress(axes: Axes, name: str, place: Mapping[str, float], rows: Sequence[JsonObject], title: str) -> None:
    """Set title, scales, and ticks, with the promise below each value."""
    x = list(place.values())
    if all(as_number(text) is not None for text in place) and min(x) > 0 and max(x) / min(x) > WIDE:
        axes.set_xscale("log")
    labels = [f"{text}\n{_epsilons(name, text, rows)}" for text in place]
    axes.set_xticks(x, labels=labels, fontsize=8)
    axes.minorticks_off()
    axes.tick_params(axis="y", labelsize=8)
    axes.set_xlabel(name, fontsize=9)
    axes.set_ylabel("distance from the real workers", fontsize=9)
    axes.set_title(title, fontsize=10)
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color=palette.OUTSIDE)


def _epsilons(name: str, text: str, rows: Sequence[JsonObject]) -> str:
    """Epsilon at a value of the first parameter, or its range."""
    epsilons = [row["epsilon_add_remove"] for row in rows if row["asked"][name] == text]
    ends = dict.fromkeys(f"{end:.3g}" for end in (min(epsilons), max(epsilons))) if epsilons else {}
    return f"ε {' to '.join(ends)}" if ends else ""
