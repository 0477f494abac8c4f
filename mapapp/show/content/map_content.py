"""The content of an answer's map, the same on the page and in pictures."""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeVar, cast

import numpy
import numpy.typing as npt
import pandas
import shapely

from geodata.geography.area_shapes import square_miles
from mapapp.answers import served_answers, words
from mapapp.answers.analyses.comparison_words import ComparisonWords, comparison_words
from mapapp.answers.analyses.entries import ENTRIES
from mapapp.answers.analyses.entry import RatioMap, text_of
from mapapp.answers.analyses.measures import Row
from mapapp.answers.analyses.results import Result
from mapapp.answers.commutes import lines
from mapapp.answers.release import Release
from mapapp.question.question import SettledQuestion
from mapapp.question.view import Bounds, View
from mapapp.show.content import area_outlines, camera, ground, map_layers
from mapapp.show.content.density import DensityImage, draw_density
from mapapp.show.content.dot_map import DotMap, can_move, dot_map, dots_of
from mapapp.show.content.dots import degrees_of
from mapapp.show.content.map_layers import pack_shapes
from mapapp.show.content.palette import COLOR_SCHEMES, ColorScheme
from mapapp.show.content.uncertain_units import has_uncertain_units, uncertain_changes, uncertain_units

# The land area of units: that of their shapes on the map, without all water of the release, however small.

LEAST_LAND: Final = 0.02
"""Least land of a unit as a share of its shape, because shapes of water are approximate."""

Floats = npt.NDArray[numpy.float64]


def land_square_miles(
    release: Release, key: Hashable, shapes: Mapping[str, shapely.Geometry]
) -> dict[str, float]:
    """Return the land area of units, square miles, from their shapes in degrees; `key` tells the shapes apart."""

    def make() -> dict[str, float]:
        polygons = shapely.make_valid(numpy.array([*shapes.values(), None], dtype=object)[:-1])
        whole = square_miles(polygons)
        land = numpy.maximum(whole - _covered(release, polygons), LEAST_LAND * whole)
        return dict(zip(shapes, land.tolist(), strict=True))

    return release.once(("land area", key), make)


def _covered(release: Release, shapes: npt.NDArray[numpy.object_]) -> Floats:
    """Return how much of each shape is water, square miles."""
    if not ground.has_ground(release.store, "water"):
        return numpy.zeros(len(shapes))
    water = shapely.make_valid(shapely.get_parts(ground.water_of(release.store).geometry.to_numpy()))
    unit, at = shapely.STRtree(water).query(shapes, predicate="intersects")
    wet = square_miles(shapely.intersection(shapes[unit], water[at]))
    return numpy.asarray(numpy.bincount(unit, wet, len(shapes)), dtype=numpy.float64)


@dataclass(frozen=True, slots=True)
class DrawnUnits:
    """The units of a layer that have a shape: identifiers, names, and names as HTML."""

    ids: list[str]
    names: list[str]
    escaped: list[str]


Part = TypeVar("Part")


@dataclass(frozen=True, eq=False)
class MapContent:
    """What a map shows; each part is computed when it is first read.

    Attributes
    ----------
    release : Release
    question : SettledQuestion
    view : View
        As chosen, but dots have one color instead of those of an attribute that the release does not show.
    before : Release or None
        An earlier release; units are colored by their change since then if the analysis is drawn by unit.
    """

    release: Release
    question: SettledQuestion
    view: View
    before: Release | None = None

    def __post_init__(self) -> None:
        if self.view.color not in ("plain", *self.release.attributes.shown):
            object.__setattr__(self, "view", replace(self.view, color="plain"))

    @property
    def scheme(self) -> ColorScheme:
        """The colors of the map's theme."""
        return COLOR_SCHEMES[self.view.theme]

    @cached_property
    def kind(self) -> str:
        """How the map is drawn, as chosen if it can be.

        One of `points`, `areas`, `circles`, `density`, `lines`, `ratio`, and `share`. With an earlier release, `change`
        for analyses that are drawn by unit. Areas are filled by density; counts and shares of all workers are circles.
        """
        kind = self._own_kind
        return "circles" if kind == "areas" and self.view.per != "square-mile" else kind

    @property
    def has_morning(self) -> bool:
        """Whether the map shows dots that can move from home to work."""
        return self.kind == "points" and can_move(self.question)

    @property
    def _own_kind(self) -> str:
        question = self.question
        if self.before is not None and question.entry.shows:
            return "change"
        if not question.is_complete:
            kind = self.view.show_of(question)
            return "areas" if kind == "lines" else kind
        return question.entry.own_drawing or self.view.show_of(question)

    def once(self, name: str, make: Callable[[], Part]) -> Part:
        """Return a part of the map that other modules make, made when it is first read."""
        if name not in self._made:
            self._made[name] = make()
        return cast("Part", self._made[name])

    @cached_property
    def _made(self) -> dict[str, object]:
        return {}

    @property
    def n_workers(self) -> int:
        """All workers at the drawn end, wherever they are."""
        return int(self._rows["workers"].sum())

    @cached_property
    def bounds(self) -> Bounds:
        """Bounds for the camera: the chosen areas, and the units with most of the workers at the drawn end.

        Homes outside the mapped area are known only by state, so the camera ignores them.
        """
        release, question = self.release, self.question
        boxes = [area_outlines.bounds(release, steps) for steps in (question.areas, question.others) if steps]
        held = [box for box in boxes if box is not None]
        box = camera.union(held) if held else None
        if question.entry.n_needed == 2 and not question.is_complete:
            return map_layers.home_bounds(release)  # the other area is chosen from the whole region
        is_everywhere = not question.entry.n_needed and box is None and self.kind != "lines"
        if not question.is_complete or is_everywhere:
            return box or map_layers.home_bounds(release)
        if self.kind == "points" and len(self.dots.layers) == 2:
            places = [degrees_of(layer.dots) for layer in self.dots.layers]
            lon, lat = (numpy.concatenate(degrees) for degrees in zip(*places, strict=True))
            return (
                camera.around(lon, lat, numpy.ones(len(lon)), box)
                if len(lon)
                else map_layers.home_bounds(release)
            )
        if self.kind == "lines":
            lon, lat, workers = lines.flow_ends(release, question)
            return (
                camera.around(lon, lat, workers, box) if len(lon) else box or map_layers.home_bounds(release)
            )
        frame = self._rows if "lines" in question.entry.shows else pandas.DataFrame()
        lon, lat, weights = served_answers.weights(frame)
        if not len(weights):
            return box or map_layers.home_bounds(release)
        return camera.around(lon, lat, weights, box)

    @property
    def _rows(self) -> pandas.DataFrame:
        """Workers at the drawn end by unit."""
        return served_answers.units(self.release, self.question)

    @cached_property
    def units(self) -> DrawnUnits:
        """The units of the question's layer that maps draw."""

        def make() -> DrawnUnits:
            rows = self.release.areas.units(self.question.layer).rows
            shapes = map_layers.unit_shapes(self.release, self.question.layer)
            units = rows[rows["kind"] == "unit"]
            listed = zip(units["unit_id"], units["name"], strict=True)
            drawn = [(unit_id, name) for unit_id, name in listed if unit_id in shapes]
            names = [name for _, name in drawn]
            escaped = [html.escape(name, quote=False) for name in names]
            return DrawnUnits([unit_id for unit_id, _ in drawn], names, escaped)

        return self.release.once(("drawn units", self.question.layer), make)

    @cached_property
    def workers(self) -> list[int]:
        """Workers at the drawn end in each of the units."""

        def make() -> list[int]:
            workers = _workers_by_unit(self._rows)
            return [workers.get(unit_id, 0) for unit_id in self.units.ids]

        return self.release.once(("unit workers", self.question), make)

    @cached_property
    def earlier_workers(self) -> list[int]:
        """The same in the earlier release."""
        workers = _workers_by_unit(served_answers.units(self._earlier, self.question))
        return [workers.get(unit_id, 0) for unit_id in self.units.ids]

    @property
    def _earlier(self) -> Release:
        assert self.before is not None, "a map of changes has an earlier release"
        return self.before

    @cached_property
    def covered(self) -> npt.NDArray[numpy.bool_]:
        """Which units the release can have workers in at the drawn end: it lacks workplaces in other states."""
        release, question = self.release, self.question

        def make() -> npt.NDArray[numpy.bool_]:
            drawn, blocks = self.units.ids, release.areas.keep_workplaces(None)
            if question.shown_end == "home" or blocks is None:
                return numpy.ones(len(drawn), dtype=bool)
            units = release.areas.units(question.layer)
            covered_ids = units.rows["unit_id"].to_numpy(dtype=object)[numpy.unique(units.code[blocks])]
            return numpy.isin(numpy.array(drawn, dtype=object).astype(str), covered_ids.astype(str))

        return release.once(("covered units", question.shown_end, question.layer), make)

    @cached_property
    def counted(self) -> npt.NDArray[numpy.bool_]:
        """Which units the answer can have workers in: a comparison has only those with blocks in its area."""
        if self.question.analysis != "comparison" or not self.question.areas:
            return self.covered
        counted_ids = set(self._rows.loc[self._rows["kind"] == "unit", "unit_id"])
        is_counted: npt.NDArray[numpy.bool_] = self.covered & numpy.array(
            [unit in counted_ids for unit in self.units.ids], dtype=bool
        )
        return is_counted

    @cached_property
    def cut_shapes(self) -> dict[str, shapely.Geometry]:
        """Polygons of the parts that the answer counts, for the units that are only partly in its area."""
        return map_layers.cut_shapes(self.release, self.question)

    @cached_property
    def shapes(self) -> dict[str, shapely.Geometry]:
        """Polygons of the units that the map colors; of a unit partly in the chosen area, only that part."""
        whole = map_layers.unit_shapes(self.release, self.question.layer)
        return whole | self.cut_shapes if self.cut_shapes else whole

    @property
    def shapes_file(self) -> bytes:
        """Gzipped GeoJSON of the shapes, each with its `id`."""
        return pack_shapes(list(self.shapes), list(self.shapes.values()))

    @property
    def is_hatched(self) -> bool:
        """Whether the map can hatch units whose count is uncertain."""
        return self.kind in ("areas", "circles") and has_uncertain_units(self.release, self.question)

    @property
    def has_errors(self) -> bool:
        """Whether the counts that a map of changes compares have expected errors."""
        return all(has_uncertain_units(release, self.question) for release in (self._earlier, self.release))

    @cached_property
    def uncertain(self) -> tuple[str, ...]:
        """Identifiers of the units whose count is uncertain, or on a map of changes, their change."""
        if self.kind != "change":
            return uncertain_units(self.release, self.question)
        return uncertain_changes(self._earlier, self.release, self.question) if self.has_errors else ()

    @property
    def uncertain_file(self) -> bytes:
        """Gzipped GeoJSON of the shapes of the uncertain units."""

        def make() -> bytes:
            unsure = [unit for unit in self.uncertain if unit in self.shapes]
            return pack_shapes(unsure, [self.shapes[unit] for unit in unsure])

        return self.release.once(("uncertain layer", self.question), make)

    @cached_property
    def ratio_rows(self) -> list[Row | None]:
        """The row of each unit in an answer that is drawn as a ratio; None for a unit outside its area."""
        units = self.ratio_answer.tables()["units"]
        row_by_unit = {row.unit_id: row for row in units.itertuples() if row.kind == "unit"}
        return [row_by_unit.get(unit_id) for unit_id in self.units.ids]

    @property
    def ratio_answer(self) -> Result:
        """The answer of an analysis that is drawn as a ratio or a share."""
        return served_answers.result(self.release, self.question)

    def ratio_caption(self, here: str) -> str:
        """The caption of a map that is drawn as a ratio or a share; `here` is its area."""
        caption = text_of(self.ratio_map.caption, self.ratio_answer)
        return caption.format(here=here, unit=words.level_word(self.question.layer))

    @property
    def ratio_map(self) -> RatioMap:
        """How to color the map of an analysis that is drawn as a ratio."""
        ratio_map = ENTRIES[self.question.analysis].ratio_map
        assert ratio_map is not None, "an analysis that is drawn as a ratio declares its map"
        return ratio_map

    @property
    def comparison(self) -> ComparisonWords:
        """What the comparison with the earlier release is called."""
        return comparison_words(self._earlier.year, self.release.year)

    @cached_property
    def dots(self) -> DotMap:
        """The place of each worker at the drawn end, or at both, with colors."""
        return dot_map(self.release, self.question, self.view, self.scheme)

    @cached_property
    def density(self) -> DensityImage:
        """The density of the workers at the drawn end, in colors from few to many."""
        release, question, ramp = self.release, self.question, self.scheme.warmth

        def make() -> DensityImage:
            has_water = ground.has_ground(release.store, "water")
            water = list(ground.water_of(release.store).geometry) if has_water else []
            return draw_density(dots_of(release, question, question.shown_end), ramp, water)

        # Of a question, only these decide where the dots are: several analyses of an area have one picture.
        ends = question.ends
        key = ("density", ends["work"], ends["home"], question.filters, question.shown_end, ramp)
        return release.once(key, make)

    def lines(self, zoom: float | None = None) -> lines.Lines:
        """The flows that the map draws at a zoom level; without one, no places are grouped."""
        level = None if zoom is None else math.floor(zoom)
        return lines.lines(self.release, self.question, self.view.least, level)


def _workers_by_unit(rows: pandas.DataFrame) -> dict[str, int]:
    listed = zip(rows["kind"].tolist(), rows["unit_id"].tolist(), rows["workers"].tolist(), strict=True)
    return {unit_id: n for kind, unit_id, n in listed if kind == "unit"}
