"""KL divergence against a parameter, as in P10: all workplaces on the left, small ones on the right.

Drawn by matplotlib without a display. Rows come as plain values, see `mapapp.analyst.sweep.sweep`.

Source: P10 "Varying epsilon", "Varying min_p", "Varying delta".
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from geodata.json_objects import JsonObject
from mapapp.show.content import palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

V3: Final = {"epsilon": 4.6, "min-retention": 0.025, "delta": 1e-6}
"""Final settings of OnTheMap V3 (P10)."""

_POPULATIONS: Final = (("all", "all workplaces"), ("small", "workplaces of 1 to 9 workers"))
LINE_LOOKS: Final = (  # distinguished by hue, mark and dash
    {"color": "#0b5a9d", "marker": "o", "linestyle": "-"},
    {"color": "#b3430e", "marker": "s", "linestyle": "--"},
    {"color": "#2a7f62", "marker": "^", "linestyle": "-."},
    {"color": "#7d3c98", "marker": "D", "linestyle": ":"},
    {"color": "#5d6d1e", "marker": "v", "linestyle": "-"},
    {"color": "#8d5524", "marker": "P", "linestyle": "--"},
)
_SECOND: Final = "#59626e"
WIDE: Final = 8.0  # a range of values wider than this factor gets a logarithmic scale
_INCHES: Final = (10.0, 4.2)


def sweep_figure(names: Sequence[str], rows: Sequence[JsonObject], *, title: str, stamp: str = "") -> Figure:
    """Draw KL divergence against the first parameter of a sweep, one line per combination of the others.

    If epsilon_final varies along a line although it is not the parameter, it has its own axis on the right. Means of
    several draws are hollow marks with intervals, beside the closed form.

    Parameters
    ----------
    names : sequence of str
        Parameters of the sweep; the first is the x axis.
    rows : sequence of mapping
        `asked` (text by parameter), `kl_all`, `kl_small`, `epsilon_final`, and for draws `kl_drawn_all`,
        `kl_drawn_all_low` and so on; None for a missing value.
    title, stamp : str
        Texts above the chart and along its lower edge.

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, dpi=120, layout="constrained")
    axes = figure.subplots(1, 2)
    place = axis_places(names[0], rows)
    lines = _group_by_line(names, rows)
    for ax, (who, label) in zip(axes, _POPULATIONS, strict=True):
        for number, (name, line_rows) in enumerate(lines.items()):
            look = LINE_LOOKS[number % len(LINE_LOOKS)]
            _draw_line(ax, place, line_rows, f"kl_{who}", name or "expected", look)
            _draw_draws(ax, place, line_rows, f"kl_drawn_{who}", f"{name}, drawn" if name else "drawn", look)
        _dress(ax, names[0], place, label)
        _second_axis(ax, names[0], place, next(iter(lines.values()), []))
        if any(lines):
            ax.legend(title=", ".join(names[1:]), fontsize=8, title_fontsize=8)
    figure.suptitle(title, fontsize=11, color=palette.INK)
    if stamp:
        figure.supxlabel(stamp, fontsize=8, color=palette.WORK)
    return figure


def picture_bytes(figure: Figure, kind: str) -> bytes:
    """A figure as "png" or "svg"; the same figure gives the same bytes."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "commutemap", "svg.fonttype": "none"}):
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()


def axis_places(name: str, rows: Sequence[JsonObject]) -> dict[str, float]:
    """Position of each value of a parameter: its number, or its rank if some value is not a number."""
    texts = list(dict.fromkeys(row["asked"][name] for row in rows))
    numbers = [as_number(text) for text in texts]
    if all(number is not None for number in numbers):
        return dict(
            sorted(zip(texts, (number or 0.0 for number in numbers), strict=True), key=lambda at: at[1])
        )
    return {text: float(position) for position, text in enumerate(texts)}


def as_number(text: str) -> float | None:
    """A value of an option as a number, if it is one."""
    above, _, below = text.partition("/")
    try:
        return float(above) / float(below or 1)
    except (ValueError, ZeroDivisionError):
        return None


def _group_by_line(names: Sequence[str], rows: Sequence[JsonObject]) -> dict[str, list[JsonObject]]:
    """Measured rows, grouped by the values of all parameters except the first."""
    lines: dict[str, list[JsonObject]] = {}
    for row in rows:
        if row.get("kl_all") is not None:
            lines.setdefault(", ".join(row["asked"][name] for name in names[1:]), []).append(row)
    return lines


def _draw_line(
    ax: Axes, place: Mapping[str, float], rows: Sequence[JsonObject], key: str, label: str, look: JsonObject
) -> None:
    # A value that could not be certified leaves a gap in the line.
    value_by_text = {next(iter(row["asked"].values())): row.get(key) for row in rows}
    values = [value_by_text.get(text) for text in place]
    shown = [value if isinstance(value, float) else math.nan for value in values]
    ax.plot(list(place.values()), shown, label=label, markersize=5, linewidth=1.6, **look)


def _draw_draws(
    ax: Axes, place: Mapping[str, float], rows: Sequence[JsonObject], key: str, label: str, look: JsonObject
) -> None:
    drawn = [row for row in rows if row.get(key) is not None]
    if not drawn:
        return
    x = [place[next(iter(row["asked"].values()))] for row in drawn]
    mean = [row[key] for row in drawn]
    ends = [
        [0.0 if row[f"{key}_{end}"] is None else abs(row[f"{key}_{end}"] - row[key]) for row in drawn]
        for end in ("low", "high")
    ]
    ax.errorbar(
        x,
        mean,
        yerr=ends,
        linestyle="none",
        marker=look["marker"],
        markerfacecolor="none",
        color=look["color"],
        capsize=3,
        markersize=7,
        label=label,
    )


def _dress(ax: Axes, name: str, place: Mapping[str, float], label: str) -> None:
    """Set title, scales and ticks, and mark the value of V3."""
    x = list(place.values())
    is_number = all(as_number(text) is not None for text in place)
    if is_number and min(x) > 0 and max(x) / min(x) > WIDE:
        ax.set_xscale("log")
    ax.set_xticks(x, labels=list(place), fontsize=8)
    ax.minorticks_off()
    ax.tick_params(axis="y", labelsize=8)
    ax.set_xlabel(name, fontsize=9)
    ax.set_ylabel("KL divergence, nats", fontsize=9)
    ax.set_title(label, fontsize=10)
    ax.set_ylim(bottom=0)
    ax.grid(axis="y", color=palette.OUTSIDE)
    if is_number and name in V3 and min(x) <= V3[name] <= max(x):
        ax.axvline(V3[name], color=palette.INK, linewidth=0.8, linestyle=(0, (1, 3)))
        ax.annotate(
            "V3",
            (V3[name], 0.98),
            xycoords=("data", "axes fraction"),
            fontsize=8,
            ha="right",
            va="top",
            rotation=90,
        )


def _second_axis(ax: Axes, name: str, place: Mapping[str, float], rows: Sequence[JsonObject]) -> None:
    """Add an axis for epsilon_final of the first line, if it varies and is not the parameter."""
    known = [row for row in rows if row.get("epsilon_final") is not None]
    values = [row["epsilon_final"] for row in known]
    if name.startswith("epsilon") or len(set(values)) < 2:
        return
    order = sorted(known, key=lambda row: place[row["asked"][name]])
    second = ax.twinx()
    second.plot(
        [place[row["asked"][name]] for row in order],
        [row["epsilon_final"] for row in order],
        color=_SECOND,
        linewidth=1.0,
        linestyle=(0, (5, 2)),
        marker="x",
        markersize=5,
        label="epsilon_final",
    )
    second.set_ylabel("epsilon_final (dashed, x)", fontsize=9, color=_SECOND)
    second.tick_params(axis="y", labelsize=8, colors=_SECOND)
    second.minorticks_off()
