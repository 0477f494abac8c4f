"""The curves of C13 as a picture: breach against error, over every scheme's parameter, over heights and data sizes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.c13_curves import Curve

_SHOWN: Final = {
    "k-anonymity": ("#1f4e79", "o", "-"),
    "l-diversity, recursive": ("#b2541a", "s", "-"),
    "t-closeness, ordered, node": ("#3d7a3d", "^", "-"),
    "DP, kd": ("#8c2d6b", "D", "-"),
    "DP, kd, geometric": ("#8c2d6b", "v", "--"),
    "DP, cell": ("#6b6b6b", "x", ":"),
}
"""Color, marker and line of each scheme; those of C13's Figure 5 first."""
_STYLES_OF_TWO: Final = ("k-anonymity", "DP, kd")
_MOST_ERROR: Final = 1.5


def figure(
    curves: Mapping[str, Curve], by_height: tuple[Curve, Curve], by_size: tuple[Curve, Curve]
) -> Figure:
    """Three panels that share their axes: error to the right, breach increase upward."""
    drawn = Figure(figsize=(12, 4.4), layout="constrained")
    panels = drawn.subplots(1, 3, sharey=True)
    for name, style in _SHOWN.items():
        _draw(panels[0], curves[name], name, style)
    for panel, pair in ((panels[1], by_height), (panels[2], by_size)):
        for shown, curve in zip(_STYLES_OF_TWO, pair, strict=True):
            _draw(panel, curve, curve.name, _SHOWN[shown])
            _name_ends(panel, curve, _SHOWN[shown][0], 6 if curve is pair[0] else -12)
    titles = ("Figure 5(a): every parameter", "Figure 6(a): heights", "Figure 6(b): shares of the people")
    for panel, title in zip(panels, titles, strict=True):
        panel.set_title(title, fontsize=10, loc="left")
        panel.set_xlabel("median relative error of counts", fontsize=9)
        panel.axhline(0, color="#999999", linewidth=0.8)
        panel.legend(frameon=False, fontsize=8, loc="upper right" if panel is panels[0] else "lower left")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_xlim(0, _MOST_ERROR)
    panels[0].set_ylabel("breach increase (beta)", fontsize=9)
    return drawn


def _name_ends(panel: Axes, curve: Curve, color: str, offset: float) -> None:
    """Write the first and the last parameter beside their points, ``offset`` points above."""
    unit = "%" if curve.parameter == "percent" else ""
    for point in (curve.points[0], curve.points[-1]):
        panel.annotate(
            f"{point.parameter:g}{unit}",
            (point.error, point.breach),
            (4, offset),
            textcoords="offset points",
            fontsize=8,
            color=color,
        )


def _draw(panel: Axes, curve: Curve, label: str, style: tuple[str, str, str]) -> None:
    color, marker, line = style
    panel.errorbar(
        [point.error for point in curve.points],
        [point.breach for point in curve.points],
        xerr=[point.error_deviation for point in curve.points],
        yerr=[point.breach_deviation for point in curve.points],
        color=color,
        marker=marker,
        markersize=4,
        linestyle=line,
        linewidth=1.2,
        elinewidth=0.6,
        label=label,
    )
