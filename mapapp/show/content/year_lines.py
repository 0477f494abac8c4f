"""A number over the years as a small SVG picture: a line through the values, and a bar of ± at each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import isfinite
from typing import Final

from mapapp.answers.analyses.over_years import YearValue
from mapapp.show.content.palette import ColorScheme

WIDTH_PX: Final = 360
HEIGHT_PX: Final = 150
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 18.0, 12.0, 24.0
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


def year_lines(values: Sequence[YearValue], title: str, scheme: ColorScheme) -> str:
    """Draw the values of several years.

    Parameters
    ----------
    values : sequence of YearValue
        Earliest first; years without a value leave a gap.
    title : str
        What is counted, for screen readers.
    scheme : ColorScheme

    Returns
    -------
    str
        An SVG document of `WIDTH_PX` by `HEIGHT_PX`. The axis of values begins at 0, unless all values are within a
        quarter of the largest, so that small changes can be seen; its lowest label says where it begins.
    """
    known = [year_value for year_value in values if isfinite(year_value.value)]
    axes = _Axes(values[0].year, values[-1].year, *_range(known))
    line = " ".join(f"{axes.x(year_value.year):.1f},{axes.y(year_value.value):.1f}" for year_value in known)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH_PX}" height="{HEIGHT_PX}" '
        f'viewBox="0 0 {WIDTH_PX} {HEIGHT_PX}" font-family="{escape(_FONT)}" font-size="12">',
        f"<title>{escape(title)}</title>",
        *(_tick(axes, value, scheme) for value in (axes.least, (axes.least + axes.most) / 2, axes.most)),
        f'<polyline points="{line}" fill="none" stroke="{scheme.home}" stroke-width="2"/>',
        *(
            _error(axes, year_value, scheme)
            for year_value in known
            if isfinite(year_value.error) and year_value.error > 0
        ),
        *(_point(axes, year_value, scheme) for year_value in known),
        *(
            _label(axes, year, scheme)
            for year in _choose_labeled_years([year_value.year for year_value in values])
        ),
        "</svg>",
    ]
    return "".join(parts)


@dataclass(frozen=True, slots=True)
class _Axes:
    """Where years and values are in the picture, pixels."""

    first: int
    last: int
    least: float
    most: float

    def x(self, year: int) -> float:
        return _LEFT + (WIDTH_PX - _LEFT - _RIGHT) * (year - self.first) / max(self.last - self.first, 1)

    def y(self, value: float) -> float:
        share = (value - self.least) / (self.most - self.least)
        return HEIGHT_PX - _BOTTOM - (HEIGHT_PX - _TOP - _BOTTOM) * min(max(share, 0.0), 1.0)


def _tick(axes: _Axes, value: float, scheme: ColorScheme) -> str:
    y = axes.y(value)
    text = f"{value:,.0f}" if axes.most >= 20 else f"{value:,.1f}"
    return (
        f'<line x1="{_LEFT:g}" x2="{WIDTH_PX - _RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}" stroke="{scheme.tract_line}"/>'
        f'<text x="{_LEFT - 6:g}" y="{y + 4:.1f}" text-anchor="end" fill="{scheme.ink}">{text}</text>'
    )


def _error(axes: _Axes, year_value: YearValue, scheme: ColorScheme) -> str:
    x, low, high = (
        axes.x(year_value.year),
        axes.y(year_value.value - year_value.error),
        axes.y(year_value.value + year_value.error),
    )
    return (
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{low:.1f}" y2="{high:.1f}" stroke="{scheme.home}" '
        'stroke-width="6" stroke-opacity="0.35"/>'
    )


def _point(axes: _Axes, year_value: YearValue, scheme: ColorScheme) -> str:
    return (
        f'<circle cx="{axes.x(year_value.year):.1f}" cy="{axes.y(year_value.value):.1f}" r="3.5" fill="{scheme.home}">'
        f"<title>{escape(f'{year_value.year}: {year_value.text}')}</title></circle>"
    )


def _label(axes: _Axes, year: int, scheme: ColorScheme) -> str:
    anchor = "end" if year == axes.last > axes.first else "start" if year == axes.first else "middle"
    return f'<text x="{axes.x(year):.1f}" y="{HEIGHT_PX - 6}" text-anchor="{anchor}" fill="{scheme.ink}">{year}</text>'


def _range(known: Sequence[YearValue]) -> tuple[float, float]:
    """Return the ends of the axis of values."""
    errors = [year_value.error if isfinite(year_value.error) else 0.0 for year_value in known]
    least = min(
        (year_value.value - error for year_value, error in zip(known, errors, strict=True)), default=0.0
    )
    most = max(
        (year_value.value + error for year_value, error in zip(known, errors, strict=True)), default=1.0
    )
    if least >= 0 and least < 0.75 * most:
        least = 0.0
    step = _round_step((most - least) / 2 or max(abs(most), 1.0) / 20)
    low = math.floor(least / step)
    return low * step, (low + max(2, math.ceil(most / step - low))) * step


def _round_step(size: float) -> float:
    """Return the smallest of 1, 2, 2.5, 5, 10, 20, … that is not below a size, so that ticks are round numbers."""
    power = 10.0 ** math.floor(math.log10(size))
    return next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= size)


def _choose_labeled_years(years: Sequence[int]) -> list[int]:
    """Return the years that get a label: all if they are few, else about six."""
    step = -(-len(years) // 6)
    chosen = list(years[::step])
    if years[-1] not in chosen:
        chosen = [*chosen[:-1], years[-1]] if len(chosen) > 1 and step > 1 else [*chosen, years[-1]]
    return chosen
