"""Shapes of commutes for every renderer: widths and outlines of flows, and circles of places."""

from __future__ import annotations

import math
from typing import Final

import numpy
import numpy.typing as npt

TAPER: Final = 0.45
"""Width at home as a share of the width before the head, at the workplace."""
GAP_PX: Final = 1.0
"""From the line between two places to a flow on its right, so that both directions can be seen."""
HEAD_WIDTH: Final = (1.7, 2.0)
HEAD_LENGTH: Final = (2.0, 4.0)
"""Width and length of the head: times the width of the flow, and pixels more."""
LONGEST_HEAD: Final = 0.45
"""Of a flow's length."""
LEAST_LENGTH_PX: Final = 10.0
"""Of a flow between circles that nearly touch."""
LEAST_OPACITY: Final = 0.08
MOST_OPACITY: Final = 0.95
_FEW_FLOWS: Final = (
    500.0,
    0.3,
)  # up to so many flows, and the power of a flow's share of a wide one for strength
_MANY_FLOWS: Final = (
    5_000.0,
    0.6,
)  # from so many on: small flows recede, because together they cover the map
_FULL_PX: Final = 12.0
_THINNEST_PX: Final = 0.9
_WIDEST_PX: Final = 16.0
_LARGEST_CIRCLE_PX: Final = 22.0
_SMALLEST_CIRCLE_PX: Final = 2.0
_LEGEND_FLOWS: Final = 4
Numbers = npt.NDArray[numpy.float64]


def flow_widths(workers: npt.ArrayLike, wide: int) -> Numbers:
    """Width of flows before their heads, pixels: it grows with the square root, so that small flows can be seen.

    A flow of `wide` workers has the full width; a few are larger, as flows of groups are, and somewhat wider.
    """
    share = numpy.asarray(workers, dtype=numpy.float64) / max(wide, 1)
    return numpy.asarray(numpy.clip(_FULL_PX * numpy.sqrt(share), _THINNEST_PX, _WIDEST_PX))


def flow_strengths(workers: npt.ArrayLike, wide: int, n_flows: int) -> Numbers:
    """Strength of flows, 0 to 1, for their color and opacity: small flows are fainter, the more so the more there are.

    `n_flows` is the number of flows between units of the answer.
    """
    share = numpy.asarray(workers, dtype=numpy.float64) / max(wide, 1)
    counts, powers = zip(_FEW_FLOWS, _MANY_FLOWS, strict=True)
    power = numpy.interp(math.log(max(n_flows, 1)), numpy.log(counts), powers)
    return numpy.asarray(numpy.clip(share, 0.0, 1.0) ** power)


def flow_opacity(strength: npt.ArrayLike) -> Numbers:
    """Opacity of flows of a strength."""
    return LEAST_OPACITY + (MOST_OPACITY - LEAST_OPACITY) * numpy.asarray(strength, dtype=numpy.float64)


def circle_radii(workers: npt.ArrayLike, largest: int) -> Numbers:
    """Radius of circles, pixels, whose areas are to scale; that of the `largest` place has the full size.

    Circles of groups of places may be somewhat larger, and none of workers is too small to be seen.
    """
    counts = numpy.asarray(workers, dtype=numpy.float64)
    radius = _LARGEST_CIRCLE_PX * numpy.sqrt(counts / max(largest, 1))
    return numpy.where(counts > 0, numpy.clip(radius, _SMALLEST_CIRCLE_PX, 1.3 * _LARGEST_CIRCLE_PX), 0.0)


def flow_outlines(home: Numbers, work: Numbers, widths: Numbers, rims: Numbers, pixel: float) -> Numbers:
    """Outlines of half-arrows that lie on the right of their way and point at the workplace.

    Parameters
    ----------
    home, work : float64[N, 2]
        Ends on a plane with x to the right and y up.
    widths : float64[N]
        Widths before the head, pixels.
    rims : float64[N, 2]
        Radius of the circles at home and at work, between which a flow runs, pixels.
    pixel : float
        A pixel in units of the plane.

    Returns
    -------
    float64[N, 6, 2]
        From home along the inner side to the tip, and back along the outer side.
    """
    length = numpy.maximum(numpy.hypot(*(work - home).T) / pixel, 1e-9)
    along = (work - home) / length[:, None]  # a pixel of the way
    right = numpy.stack([along[:, 1], -along[:, 0]], axis=1)
    fit = numpy.clip((length - LEAST_LENGTH_PX) / numpy.maximum(rims.sum(axis=1), 1e-9), 0.0, 1.0)
    start, end = rims[:, 0] * fit, length - rims[:, 1] * fit
    head_wide, head_long = (by * widths + more for by, more in (HEAD_WIDTH, HEAD_LENGTH))
    neck = end - numpy.minimum(head_long, LONGEST_HEAD * (end - start))
    zero = numpy.zeros_like(widths)
    corners = (
        (start, zero),
        (end, zero),
        (neck, head_wide),
        (neck, widths),
        (start, TAPER * widths),
        (start, zero),
    )
    return numpy.stack(
        [home + at[:, None] * along + (GAP_PX + aside)[:, None] * right for at, aside in corners], axis=1
    )


def legend_flows(workers: npt.NDArray[numpy.int64]) -> list[int]:
    """Round numbers of workers for a legend of widths, small to large; empty without flows."""
    if not len(workers):
        return []
    smallest, largest = int(workers.min()), int(workers.max())
    top = 10 ** int(math.log10(largest))
    round_numbers = [largest // top * top]
    while len(round_numbers) < _LEGEND_FLOWS:
        below = 10 ** (math.ceil(math.log10(round_numbers[-1])) - 1) if round_numbers[-1] > 1 else 0
        if below < max(smallest, 1):
            break
        round_numbers.append(below)
    return round_numbers[::-1]
