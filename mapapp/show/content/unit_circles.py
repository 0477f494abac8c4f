"""Counts as circles whose area is in proportion, at the middle of each unit: a large unit does not look like many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy
import numpy.typing as npt
import shapely

from mapapp.show.content import map_layers
from mapapp.show.content.colored_units import NOT_COVERED, PARTLY, hatching_notes, who_by_unit
from mapapp.show.content.legend import Item, Legend
from mapapp.show.content.map_content import MapContent

OPACITY: Final = 0.82
"""Of a circle: those below show through."""
HALO_PIXELS: Final = 1.0
"""Width of the ring that separates a circle from those below it."""
_COVERED: Final = 0.1  # share of a map of usual size that circles cover together, if they may be so large
_MAP_PIXELS: Final = 700.0  # side of a map of usual size
_DIAMETERS: Final = (20.0, 58.0)  # pixels, least and most, of the largest circle
_LEAST_PIXELS: Final = 2.4  # diameter of the smallest circle, so that it can be seen
_APART_PIXELS: Final = 11  # from the top of a legend's circle to the next, so that their numbers fit
_STEP: Final = 5  # between the values of a legend

Numbers = npt.NDArray[numpy.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitCircles:
    """Circles on a map, the largest first, which is below the others.

    Attributes
    ----------
    ids : list of str
        Units with workers.
    lon_deg, lat_deg : float64[circles]
    value : float64[circles]
        Workers, or their share of all workers in percent.
    pixels : float64[circles]
        Diameters.
    color : str
    not_covered : list of str
        Units whose workers the release does not have.
    """

    ids: list[str]
    lon_deg: Numbers
    lat_deg: Numbers
    value: Numbers
    pixels: Numbers
    color: str
    not_covered: list[str]


def unit_circles(content: MapContent) -> UnitCircles:
    """Return the circles of a map that is drawn as `circles`."""
    return content.once("unit circles", lambda: _circles(content))


def _circles(content: MapContent) -> UnitCircles:
    value = unit_values(content)
    places = _middles(content)
    order = numpy.argsort(-value, kind="stable")
    order = order[value[order] > 0]
    ids = content.units.ids
    missing = numpy.flatnonzero(~content.covered).tolist()
    return UnitCircles(
        ids=[ids[at] for at in order],
        lon_deg=places[order, 0],
        lat_deg=places[order, 1],
        value=value[order],
        pixels=diameters(value[order], value),
        color=_color(content),
        not_covered=[ids[at] for at in missing],
    )


def unit_values(content: MapContent) -> Numbers:
    """Return the workers of each unit, or their share of all workers in percent."""
    workers = numpy.array(content.workers, dtype=numpy.float64)
    return 100 * workers / max(content.n_workers, 1) if content.view.per == "share" else workers


def diameters(values: npt.ArrayLike, of_all: Numbers) -> Numbers:
    """Return the diameters in pixels of some values on a map of all values: areas are in proportion.

    The largest circle is as large as the map has room for, so that many units have small circles and few large ones.
    """
    largest = max(float(of_all.max(initial=0.0)), 1e-12)
    total = max(float(of_all.sum()) / largest, 1.0)
    side = 2 * numpy.sqrt(_COVERED * _MAP_PIXELS**2 / (numpy.pi * total))
    most = numpy.clip(side, *_DIAMETERS)
    return numpy.asarray(
        numpy.maximum(most * numpy.sqrt(numpy.asarray(values, dtype=float) / largest), _LEAST_PIXELS)
    )


def circle_legend(content: MapContent) -> Legend:
    """Return the legend of a map that is drawn as `circles`: three nested circles of round values."""
    value, color = unit_values(content), _color(content)
    is_share = content.view.per == "share"
    shown = legend_values(float(value.max(initial=0.0)), whole=not is_share)
    items: list[Item] = []
    for shown_value, size in zip(shown, diameters(shown, value).tolist(), strict=True):
        if not items or size <= items[-1].size - _APART_PIXELS:
            items.append(
                Item(f"{shown_value:g}%" if is_share else f"{shown_value:,.0f}", color, size, OPACITY)
            )
    n_missing = int((~content.covered).sum())
    return Legend(
        "circles",
        "Share of all workers" if is_share else "Workers",
        tuple(items),
        notes=(*hatching_notes(content), *(PARTLY,) * bool(content.cut_shapes)),
        line=who_by_unit(content),
        extras=(Item(NOT_COVERED, "", more=f"{n_missing:,}", is_hatched=True),) if n_missing else (),
    )


def legend_values(largest: float, *, whole: bool) -> list[float]:
    """Return up to three round values, the largest first: at most the largest value, a fifth, and a 25th of it."""
    values: list[float] = []
    for part in (largest, largest / _STEP, largest / _STEP**2):
        if part <= 0 or (whole and part < 1):
            continue
        power = 10.0 ** numpy.floor(numpy.log10(part))
        value = float(max(factor * power for factor in (1, 2, 5) if factor * power <= part * (1 + 1e-9)))
        if value not in values:
            values.append(value)
    return values


def _color(content: MapContent) -> str:
    scheme = content.scheme
    return scheme.home if content.question.shown_end == "home" else scheme.work


def _middles(content: MapContent) -> Numbers:
    """Return longitude and latitude of the middle of each unit's largest part, degrees."""

    def make() -> Numbers:
        shapes = map_layers.unit_shapes(content.release, content.question.layer)
        return _middles_of([shapes[unit] for unit in content.units.ids])

    middles = content.release.once(("unit middles", content.question.layer), make)
    if not content.cut_shapes:
        return middles
    middles = middles.copy()
    at = [content.units.ids.index(unit) for unit in content.cut_shapes]
    middles[at] = _middles_of(list(content.cut_shapes.values()))
    return middles


def _middles_of(shapes: list[shapely.Geometry]) -> Numbers:
    largest = [max(shapely.get_parts(shape), key=shapely.area) for shape in shapes]
    return numpy.asarray(shapely.get_coordinates([map_layers.middle(part) for part in largest]))
