"""Who comes into an area, stays, and goes out of it: three bands to scale across the border of a box."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Final

from mapapp.answers import words
from mapapp.answers.analyses.measures import Number
from mapapp.answers.analyses.results import InflowOutflow
from mapapp.show.content.palette import ColorScheme

WIDTH_PX: Final = 360
HEIGHT_PX: Final = 190
BOX: Final = (120.0, 240.0)
"""Left and right edge of the box that stands for the area, pixels."""
TOP: Final = 10.0
TALL: Final = 170.0
"""Upper edge and height of the box: the height of all workers together, pixels."""
_THINNEST: Final = 1.5
_HEAD: Final = 14.0
_BESIDE: Final = 10.0
_LABEL: Final = 38.0  # two lines of text
_FONT: Final = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"


@dataclass(frozen=True, slots=True)
class Band:
    """One of the three groups as a band.

    Attributes
    ----------
    number, text : str
        Workers with their expected error, and what they do.
    error : str
        Expected error, or the mark of the note that says why there is none.
    color : str
    corners : tuple of (float, float)
        Outline, pixels from the upper left; its height is to scale.
    label : (float, float)
        Where the text is: its edge beside the box, and its middle.
    is_left : bool
        Whether the text ends at `label` instead of beginning there.
    """

    number: str
    error: str
    text: str
    color: str
    corners: tuple[tuple[float, float], ...]
    label: tuple[float, float]
    is_left: bool

    @property
    def words(self) -> str:
        """The band in words."""
        return f"{self.number} {self.error} {self.text}".replace("  ", " ")


def inflow_bands(answer: InflowOutflow, scheme: ColorScheme) -> tuple[Band, Band, Band]:
    """Return the bands of those who come in, stay, and go out, from the top."""
    marks = answer.about.no_errors
    total = max(answer.inflow.value + answer.stay.value + answer.outflow.value, 1)
    heights = [TALL * number.value / total for number in (answer.inflow, answer.stay, answer.outflow)]
    tops = [TOP, TOP + heights[0], TOP + heights[0] + heights[1]]
    come_y = min(max(tops[0] + heights[0] / 2, TOP + _LABEL / 2), TOP + TALL - 1.5 * _LABEL)
    stay_y = min(max(tops[1] + heights[1] / 2, come_y + _LABEL), TOP + TALL - _LABEL / 2)
    go_y = min(max(tops[2] + heights[2] / 2, TOP + _LABEL / 2), TOP + TALL - _LABEL / 2)
    left, right = BOX

    def error(name: str, number: Number) -> str:
        return words.error_text(number.expected_error) or marks.get(name, "")

    return (
        Band(
            f"{answer.inflow.value:,}",
            error("inflow", answer.inflow),
            "come in to work",
            scheme.come,
            _arrow(0.0, right - _BESIDE, tops[0], heights[0]),
            (right + _BESIDE, come_y),
            False,
        ),
        Band(
            f"{answer.stay.value:,}",
            error("stay", answer.stay),
            "live and work here",
            scheme.stay,
            _block(left + _BESIDE, right - _BESIDE, tops[1], heights[1]),
            (right + _BESIDE, stay_y),
            False,
        ),
        Band(
            f"{answer.outflow.value:,}",
            error("outflow", answer.outflow),
            "go out to work",
            scheme.go,
            _arrow(left + _BESIDE, float(WIDTH_PX), tops[2], heights[2]),
            (left - _BESIDE, go_y),
            True,
        ),
    )


def _block(start: float, end: float, top: float, tall: float) -> tuple[tuple[float, float], ...]:
    bottom = top + max(tall, _THINNEST * (tall > 0))
    return (start, top), (end, top), (end, bottom), (start, bottom)


def _arrow(start: float, end: float, top: float, tall: float) -> tuple[tuple[float, float], ...]:
    """Return the outline of a band that ends in a point."""
    (_, _, (_, bottom), _) = _block(start, end, top, tall)
    neck = end - min(_HEAD, (bottom - top) / 2 + 3)
    return (start, top), (neck, top), (end, (top + bottom) / 2), (neck, bottom), (start, bottom)


def inflow_words(answer: InflowOutflow, scheme: ColorScheme) -> str:
    """Return the diagram as a sentence for screen readers."""
    return "; ".join(band.words for band in inflow_bands(answer, scheme)) + ". Heights are to scale."


def inflow_diagram(answer: InflowOutflow, scheme: ColorScheme) -> str:
    """Return the diagram as an SVG document of `WIDTH_PX` by `HEIGHT_PX`."""
    left, right = BOX
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{WIDTH_PX}" height="{HEIGHT_PX}" '
        f'viewBox="0 0 {WIDTH_PX} {HEIGHT_PX}" font-family="{escape(_FONT)}">',
        f"<title>{escape(inflow_words(answer, scheme))}</title>",
        f'<rect x="{left}" y="{TOP - 5}" width="{right - left}" height="{TALL + 10}" rx="7" '
        f'fill="{scheme.crowded}" stroke="{scheme.county_line}"/>',
    ]
    for band in inflow_bands(answer, scheme):
        corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in band.corners)
        parts.append(f'<polygon points="{corners}" fill="{band.color}"/>')
        x, y = band.label
        anchor = "end" if band.is_left else "start"
        parts.append(
            f'<text x="{x:g}" y="{y - 2:.1f}" text-anchor="{anchor}" fill="{scheme.ink}" font-size="15" '
            f'font-weight="650">{band.number}<tspan dx="4" font-size="11.5" font-weight="400">'
            f"{escape(band.error)}</tspan></text>"
            f'<text x="{x:g}" y="{y + 13:.1f}" text-anchor="{anchor}" fill="{scheme.ink}" font-size="12">'
            f"{escape(band.text)}</text>"
        )
    return "".join([*parts, "</svg>"])
