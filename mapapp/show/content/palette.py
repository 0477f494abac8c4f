"""Colors of maps. Every scale is ordered by lightness, so it works for color-blind readers and in print."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy
import numpy.typing as npt

RAMP: Final = ("#e6f2c9", "#b7dfb9", "#72c3be", "#359cbd", "#2370ac", "#243e92", "#131b54")
"""Of statistical pictures, whose other series are warm. Maps have the ramps of their schemes."""
MOST_CLASSES: Final = 6
"""Of a map: readers cannot tell more colors apart."""
OUTSIDE: Final = "#efece4"  # land beyond the release's states
HOME: Final = "#1d4f9c"  # blue: where people live
WORK: Final = "#b3430e"  # vermilion: where people work
INK: Final = "#1c2630"
TRACT_LINE: Final = "#c3c8cf"
PAPER: Final = "rgba(255,255,255,0.9)"  # behind text on the picture


RATIO_LIMITS: Final = (0.5, 0.8, 1.25, 2.0)
"""Lower limit of each ratio class except the first, symmetric around 1, so that half and double look equally strong."""
_CHANGE_COLORS: Final = 4  # on each side of no change
_CHANGE_CLASSES: Final = 3  # on each side at most
_DARK: Final = 0.2  # relative luminance below which white contrasts more with a color than ink does
HATCH_HALO_OPACITY: Final = 0.7
"""Of the stroke beside hatching; the hatching itself is opaque."""


class DotColors(NamedTuple):
    """Colors of dots by the three bands of an attribute; color-blind readers can distinguish them.

    Age and earnings are ordered, and so are their colors by lightness; groups of industries are not.
    """

    age: tuple[str, str, str]
    earnings: tuple[str, str, str]
    industry: tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ColorScheme:
    """The CSS colors of a light or dark map.

    Attributes
    ----------
    ramp : tuple of str
        Colors from few to many, starting near the color of the land: sand to plum, or plum to sand on a dark map, in
        equal steps of lightness (OKLab). No water has them, and color-blind readers see their order.
    outside, land, water : str
        Land outside and inside the release's states, and water, which no color of a count resembles. The sea reaches to
        every edge of the window.
    populated, crowded : str
        Land where most people live, and the densest of it: close to the color of land, so that answers stand out.
    water_name : str
        Names of water.
    road, road_edge, rail : str
        Main roads, the edges along them, and rail.
    river, far_line, far_rail : str
        Rivers, borders, and railroads of the packaged base map: thin and quiet.
    tract_line, county_line, state_line : str
        Borders.
    ink, paper : str
        Text on the picture, and its background.
    home, work, stay : str
        Homes, workplaces, and workers who live and work in the same area.
    line, faint_line, halo : str
        Large and small flows, and the halo around outlines.
    hatch, hatch_halo : str
        Hatching of uncertain areas, and the stroke beside it that contrasts with it: one of them shows on any color.
    fewer, more : tuple of str
        Decreases and increases, small to large: orange and blue, which color-blind readers can distinguish, with the
        same lightness.
    same : str
        No change.
    suppressed : str
        Units whose count is suppressed: a gray that no class has, under hatching.
    warmth : tuple of str
        The ramp of densities from few to many: no color of it is that of water.
    dots : DotColors
    """

    ramp: tuple[str, ...]
    outside: str
    land: str
    water: str
    populated: str
    crowded: str
    water_name: str
    road: str
    road_edge: str
    rail: str
    river: str
    far_line: str
    far_rail: str
    tract_line: str
    county_line: str
    state_line: str
    ink: str
    paper: str
    home: str
    work: str
    stay: str
    line: str
    faint_line: str
    halo: str
    hatch: str
    hatch_halo: str
    fewer: tuple[str, ...]
    same: str
    more: tuple[str, ...]
    suppressed: str
    warmth: tuple[str, ...]
    dots: DotColors

    @property
    def come(self) -> str:
        """Workers who come into a place: the color of their homes."""
        return self.home

    @property
    def go(self) -> str:
        """Workers who go out of a place: the color of their workplaces."""
        return self.work

    @property
    def is_dark(self) -> bool:
        """Whether the ground is dark, so that what is drawn on it glows."""
        return int(self.land[1:3], 16) < 128


COLOR_SCHEMES: Final = {
    "light": ColorScheme(
        ramp=("#f6e5bd", "#efae75", "#e07351", "#bb424e", "#86224e", "#491544"),
        outside=OUTSIDE,
        land="#fbfaf6",
        water="#c3d4e1",
        populated="#f2eee4",
        crowded="#e8e2d4",
        water_name="#476577",
        road="#ffffff",
        road_edge="#94897a",
        rail="#8d949c",
        river="#b4c9d6",
        far_line="#c4beb2",
        far_rail="#cfc9bd",
        tract_line=TRACT_LINE,
        county_line="#8f98a3",
        state_line="#59626e",
        ink=INK,
        paper=PAPER,
        home=HOME,
        work=WORK,
        stay="#5b3a86",
        line="#083f4b",
        faint_line="#14606e",
        halo="#ffffff",
        hatch="#1c2630",
        hatch_halo="#ffffff",
        fewer=("#fbd9b5", "#f2a65e", "#cf6a17", "#843c05"),
        same="#dfdeda",
        more=("#c2cbf6", "#7fb2e0", "#2f78bd", "#0f3f7c"),
        suppressed="#d9d4cf",
        warmth=("#fee3a6", "#fdbb63", "#f5823f", "#d63a24", "#8c1320", "#4d0a1c"),
        dots=DotColors(
            age=("#e39a00", "#c2346d", "#38208f"),
            earnings=("#e39a00", "#c2346d", "#38208f"),
            industry=("#c2500a", "#0a6fb4", "#0b8a62"),
        ),
    ),
    "dark": ColorScheme(
        ramp=("#512c57", "#903763", "#ca4c58", "#ee794f", "#fab167", "#fce7a6"),
        outside="#181c21",
        land="#20252b",
        water="#0b1926",
        populated="#282e35",
        crowded="#30373f",
        water_name="#8fb6d3",
        road="#8a96a2",
        road_edge="#0d1218",
        rail="#76818c",
        river="#1b3448",
        far_line="#39424b",
        far_rail="#333b43",
        tract_line="#343f4a",
        county_line="#56636f",
        state_line="#8794a1",
        ink="#e8edf2",
        paper="rgba(18,25,32,0.9)",
        home="#7db4ff",
        work="#ff9a5c",
        stay="#c9a6f5",
        line="#b4f4f8",
        faint_line="#4fb0bd",
        halo="#0d1218",
        hatch="#e8edf2",
        hatch_halo="#0d1218",
        fewer=("#573a20", "#9a5f22", "#e0933f", "#ffd3a1"),
        same="#2b343d",
        more=("#23405f", "#2f6aa8", "#5fa3e6", "#c0e0ff"),
        suppressed="#4a4745",
        warmth=("#4f1830", "#94283f", "#d4513c", "#f78d3c", "#fdc765", "#fff3c4"),
        dots=DotColors(
            age=("#ffd84d", "#f4728a", "#9a8cff"),
            earnings=("#ffd84d", "#f4728a", "#9a8cff"),
            industry=("#ff9d4d", "#5cb8ff", "#3fdcae"),
        ),
    ),
}
COLOR_SCHEMES["system"] = COLOR_SCHEMES["light"]  # for a reader whose preference is unknown


def count_classes(smallest: int, largest: int) -> list[tuple[int, int | None]]:
    """Classes `(from, to)` that cover all counts from `smallest` to `largest`; the last has no upper limit.

    Small counts that call for caution, 1 to 2 and 3 to 9, are separate classes if they occur. The other classes have
    round limits, as close together as `MOST_CLASSES` allows.
    """
    lower = [1]
    for factors, decades in (((1, 2, 5), 1), ((1, 3), 1), ((1,), 1), ((1,), 2)):
        limits = [1, 3, *(factor * 10**power for power in range(1, 10, decades) for factor in factors)]
        reached = [limit for limit in limits if limit <= max(largest, 1)]
        n_below = sum(limit <= smallest for limit in reached)
        lower = reached[max(n_below - 1, 0) :]
        if len(lower) <= MOST_CLASSES:
            break
    upper = [limit - 1 for limit in lower[1:]]
    return list(zip(lower, [*upper, None], strict=True))


def change_limits(smallest: int, largest: int) -> list[int]:
    """Lower limit of each class of increases from `smallest` to `largest`, at most three; decreases use the same."""
    least = _round_below(max(smallest, 1))
    for factors in ((1, 2, 5), (1, 3), (1,)):
        steps = [factor * 10**power for power in range(10) for factor in factors]
        limits = [least, *(step for step in steps if least < step <= largest)]
        if len(limits) <= _CHANGE_CLASSES:
            return limits
    return [least, *limits[1 - _CHANGE_CLASSES :]]


def _round_below(count: int) -> int:
    """The count with all but its first digit 0."""
    power = int(10 ** (len(str(count)) - 1))
    return count // power * power


def change_classes(change: npt.NDArray[numpy.int64], limits: Sequence[int]) -> npt.NDArray[numpy.int64]:
    """Class of each change: 0 for the largest decreases, the number of limits for no change, then increases."""
    sides = numpy.sign(change) * numpy.searchsorted(limits, numpy.abs(change), side="right")
    return numpy.asarray(sides + len(limits))


def ratio_classes(ratio: npt.ArrayLike) -> npt.NDArray[numpy.intp]:
    """Class of each ratio: 1 for the least to 5 for the largest, 3 for those about 1; 0 for NaN."""
    of = numpy.searchsorted(RATIO_LIMITS, ratio, side="right") + 1
    return numpy.where(numpy.isnan(numpy.asarray(ratio, dtype=float)), 0, of)


def ratio_colors(scheme: ColorScheme) -> list[str]:
    """Colors of the classes of ratios, from the least to the largest; those about 1 have that of no change."""
    return change_colors(len(RATIO_LIMITS) // 2, scheme)


def change_colors(n_classes: int, scheme: ColorScheme) -> list[str]:
    """Colors from the largest decrease to the largest increase, with `n_classes` on each side of no change."""
    places = [round((step + 1) * _CHANGE_COLORS / n_classes) - 1 for step in range(n_classes)]
    fewer, more = ([colors[place] for place in places] for colors in (scheme.fewer, scheme.more))
    return [*fewer[::-1], scheme.same, *more]


def class_colors(n_classes: int, ramp: Sequence[str]) -> list[str]:
    """Colors of `n_classes` classes along a ramp; a few classes do not reach its strongest color."""
    last = min(len(ramp) - 1, n_classes + 1)
    return [ramp[round(step * last / max(n_classes - 1, 1))] for step in range(n_classes)]


def blend_colors(first: str, second: str, share: float) -> str:
    """The color between two `#rrggbb` colors; a share of 0 is the first, of 1 the second."""
    parts = zip(rgb_of(first), rgb_of(second), strict=True)
    return "#" + "".join(f"{round(start + (end - start) * share):02x}" for start, end in parts)


def rgb_of(color: str) -> tuple[int, ...]:
    """Red, green, and blue of a `#rrggbb` color, 0 to 255."""
    return tuple(bytes.fromhex(color[1:]))


def ink_on(color: str) -> str:
    """White or the darkest ink, whichever contrasts more with a `#rrggbb` color."""
    red, green, blue = (part / 255 for part in rgb_of(color))
    linear = 0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2
    return "#ffffff" if linear < _DARK else INK


def band_colors(n_bands: int, ramp: Sequence[str]) -> list[str]:
    """Colors of `n_bands` bands, near to far."""
    span = max(n_bands - 1, 1)
    return [ramp[round(1 + step * (len(ramp) - 2) / span)] for step in range(n_bands)]
