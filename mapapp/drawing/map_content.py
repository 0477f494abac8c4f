"""The content of an answer's map, the same on the page and in pictures."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass
from typing import Final

import numpy
import numpy.typing as npt
import pandas

from mapapp.answers import commute_lines, served_answers, words
from mapapp.answers.commute_pick import Places
from mapapp.answers.comparison_words import ComparisonWords, comparison_words
from mapapp.answers.entries import ENTRIES
from mapapp.answers.entry import RatioMap
from mapapp.answers.errors.error_marks import EXCEEDS, WITHIN
from mapapp.answers.served_release import ServedRelease, names_of
from mapapp.drawing import camera, map_layers
from mapapp.drawing.area_classes import RULE_WORDS, AreaClasses, Rule, area_classes
from mapapp.drawing.density import MAX_POINTS, DensityImage, draw_density
from mapapp.drawing.land_area import land_square_miles
from mapapp.drawing.palette import COLOR_SCHEMES
from mapapp.drawing.uncertain_units import has_uncertain_units
from mapapp.question.question import Question
from mapapp.question.view import Bounds, View


def drawn_as(
    release: ServedRelease, question: Question, view: View, before: ServedRelease | None = None
) -> str:
    """How the map is drawn: `points`, `areas`, `density`, `lines`, `arrows` or `ratio`, as chosen if possible.

    With an earlier release `before`, `change` for analyses that are drawn by unit.
    """
    if before is not None and question.entry.shows:
        return "change"
    if not question.is_complete:
        return "density" if view.show == "density" else "areas"
    kind = question.entry.own_drawing or view.show_of(question)
    too_many = kind == "points" and served_answers.n_places(release, question) > MAX_POINTS
    return "density" if too_many and not question.entry.own_drawing else kind


def in_order(found: Places) -> Places:
    """Places sorted from west to east, because queries return them in any order and pictures must be reproducible."""
    keys = numpy.sort(_sortable(found["lon_deg"]) << numpy.uint64(32) | _sortable(found["lat_deg"]))
    return {"lon_deg": _degrees(keys >> numpy.uint64(32)), "lat_deg": _degrees(keys)}


def _sortable(degrees: npt.NDArray[numpy.float32]) -> npt.NDArray[numpy.uint64]:
    """Whole numbers below 2³² in the order of some numbers; one sort of them takes a fifth of a sort by two columns."""
    bits = numpy.ascontiguousarray(degrees, dtype=numpy.float32).view(numpy.uint32)
    # Of a number, all bits are inverted if it is negative, and else its sign alone.
    return (bits ^ (_SIGN | (0 - (bits >> numpy.uint32(31))))).astype(numpy.uint64)


def _degrees(sortable: npt.NDArray[numpy.uint64]) -> npt.NDArray[numpy.float32]:
    """The numbers in the last 32 bits of results of :func:`_sortable`."""
    bits = sortable.astype(numpy.uint32)
    return (bits ^ (_SIGN | ((bits >> numpy.uint32(31)) - numpy.uint32(1)))).view(numpy.float32)


_SIGN: Final = numpy.uint32(1 << 31)


def thinned(found: Places) -> Places:
    """Every n-th place if there are too many to draw."""
    step = max(-(-len(found["lon_deg"]) // MAX_POINTS), 1)
    return found if step == 1 else {name: values[::step] for name, values in in_order(found).items()}


def unit_frame(release: ServedRelease, question: Question) -> pandas.DataFrame:
    """Units on the map: `unit_id`, `name`, and `workers` at the drawn end."""
    question = release.areas.usual.settled(question)

    def make() -> pandas.DataFrame:
        drawn = drawn_units(release, question.layer)
        return pandas.DataFrame(
            {"unit_id": drawn.ids, "name": drawn.names, "workers": drawn_workers(release, question)}
        )

    return release.once(("unit frame", question), make)


def drawn_workers(release: ServedRelease, question: Question) -> list[int]:
    """Workers at the drawn end in each of the units of :func:`drawn_units`."""
    question = release.areas.usual.settled(question)

    def make() -> list[int]:
        found = served_answers.units(release, question)
        listed = zip(
            found["kind"].tolist(), found["unit_id"].tolist(), found["workers"].tolist(), strict=True
        )
        workers = {unit_id: n for kind, unit_id, n in listed if kind == "unit"}
        return [workers.get(unit_id, 0) for unit_id in drawn_units(release, question.layer).ids]

    return release.once(("unit workers", question), make)


@dataclass(frozen=True, slots=True)
class ColoredUnits:
    """What the colors of units show.

    Attributes
    ----------
    units : DrawnUnits
    value : float64[units]
        What the color of each unit shows.
    classes : AreaClasses
    title : tuple of str
        Lines of the legend's title.
    """

    units: DrawnUnits
    value: npt.NDArray[numpy.float64]
    classes: AreaClasses
    title: tuple[str, ...]


def colored_units(release: ServedRelease, question: Question, view: View) -> ColoredUnits:
    """Units with what their color shows: workers, their share of all workers, or workers per square mile."""
    question = release.areas.usual.settled(question)
    units = drawn_units(release, question.layer)
    workers = numpy.array(drawn_workers(release, question), dtype=numpy.float64)
    who, level = f"who {words.VERB[question.shown_end]}", words.level_word(question.layer)
    if view.per == "share":
        total = max(served_answers.units(release, question)["workers"].sum(), 1)
        value, head = 100 * workers / total, ("Share of all workers", f"{who} in each {level}")
    elif view.per == "square-mile":
        cut = question.area if map_layers.cut_shapes(release, question) else ""
        shapes = map_layers.shown_shapes(release, question)
        land = land_square_miles(release, (question.layer, cut), shapes)
        area = numpy.array([land[unit] for unit in units.ids])
        value, head = workers / area, ("Workers per square mile", f"{who} in each {level}")
    else:
        value, head = workers, (f"Workers {who}", f"in each {level}")
    classes = area_classes(value, workers, whole=view.per == "area", unit="%" if view.per == "share" else "")
    classes = classes.counting(counted_units(release, question))
    return ColoredUnits(units, value, classes, (*head, *legend_notes(release, question, classes.rule)))


def counted_units(release: ServedRelease, question: Question) -> npt.NDArray[numpy.bool_]:
    """Which drawn units an answer can have workers in: a comparison has only those with blocks in its area."""
    question = release.areas.usual.settled(question)
    covered = covered_units(release, question)
    if question.analysis != "comparison" or not question.areas:
        return covered
    rows = served_answers.units(release, question)
    mine = set(rows.loc[rows["kind"] == "unit", "unit_id"])
    drawn = drawn_units(release, question.layer).ids
    found: npt.NDArray[numpy.bool_] = covered & numpy.array([unit in mine for unit in drawn], dtype=bool)
    return found


def covered_units(release: ServedRelease, question: Question) -> npt.NDArray[numpy.bool_]:
    """Which drawn units the release can have workers in at the drawn end: it lacks workplaces in other states."""
    question = release.areas.usual.settled(question)

    def make() -> npt.NDArray[numpy.bool_]:
        drawn, blocks = drawn_units(release, question.layer).ids, release.areas.with_workplaces(None)
        if question.shown_end == "home" or blocks is None:
            return numpy.ones(len(drawn), dtype=bool)
        units = release.areas.units(question.layer)
        found = units.rows["unit_id"].to_numpy(dtype=object)[numpy.unique(units.code[blocks])]
        return numpy.isin(numpy.array(drawn, dtype=object).astype(str), found.astype(str))

    return release.once(("covered units", question.shown_end, question.layer), make)


def legend_notes(release: ServedRelease, question: Question, rule: Rule) -> tuple[str, ...]:
    """Lines below the title of a legend: how its limits were chosen, what is hatched."""
    hatched = (f"Hatched: {EXCEEDS}",) if has_uncertain_units(release, question) else ()
    cut = (PARTLY,) if map_layers.cut_shapes(release, question) else ()
    return (RULE_WORDS[rule], *hatched, *cut)


PARTLY: Final = "Cut off at the border of the chosen area"


def has_hatching(
    release: ServedRelease, question: Question, kind: str, before: ServedRelease | None = None
) -> bool:
    """Whether a map that is drawn as `kind` can hatch units whose count or change is uncertain."""
    drawn = {"areas": (release,), "change": (before, release)}.get(kind, ())
    return bool(drawn) and all(each is not None and has_uncertain_units(each, question) for each in drawn)


def change_notes(before: ServedRelease, release: ServedRelease, question: Question) -> tuple[str, ...]:
    """Lines below the title of a legend of changes: what is hatched."""
    if not has_hatching(release, question, "change", before):
        return ()
    return (f"Hatched: {words_of(before, release).noun} {WITHIN}",)


def ratio_frame(release: ServedRelease, question: Question) -> pandas.DataFrame:
    """Units on the map: `unit_id`, `name`, `ratio` (NaN if missing), `known` and `lines`, the hover text."""
    question = release.areas.usual.settled(question)
    units = served_answers.result(release, question).tables()["units"]
    how = ratio_map_of(question)
    found = {row.unit_id: row for row in units.itertuples() if row.kind == "unit"}
    drawn = drawn_units(release, question.layer)
    rows = [found.get(unit_id) for unit_id in drawn.ids]
    return pandas.DataFrame(
        {
            "unit_id": drawn.ids,
            "name": drawn.names,
            "ratio": [math.nan if row is None else getattr(row, how.column) for row in rows],
            "known": [row is not None for row in rows],
            "lines": [("not in the area",) if row is None else how.hover(row) for row in rows],
        }
    )


def ratio_map_of(question: Question) -> RatioMap:
    """How to color the map of an analysis that is drawn as a ratio."""
    found = ENTRIES[question.analysis].ratio_map
    assert found is not None, "an analysis that is drawn as a ratio declares its map"
    return found


def change_frame(before: ServedRelease, release: ServedRelease, question: Question) -> pandas.DataFrame:
    """Units of the later release on the map: `unit_id`, `name`, `known`, and workers `before`, `after`, `change`."""
    frame = unit_frame(release, question).rename(columns={"workers": "after"})
    found = served_answers.units(before, question)
    workers = found[found["kind"] == "unit"].set_index("unit_id")["workers"]
    earlier = workers.reindex(frame["unit_id"], fill_value=0).to_numpy()
    known = counted_units(release, question) | (earlier > 0)
    return frame.assign(before=earlier, change=frame["after"].to_numpy() - earlier, known=known)


@dataclass(frozen=True, slots=True)
class DrawnUnits:
    """The units of a layer that have a shape: identifiers, names, and names as HTML."""

    ids: list[str]
    names: list[str]
    escaped: list[str]


def drawn_units(release: ServedRelease, layer: str) -> DrawnUnits:
    """The units of a layer that maps draw."""

    def make() -> DrawnUnits:
        rows = release.areas.units(layer).rows
        shapes = map_layers.unit_shapes(release, layer)
        units = rows[rows["kind"] == "unit"]
        listed = zip(units["unit_id"], units["name"], strict=True)
        drawn = [(unit_id, name) for unit_id, name in listed if unit_id in shapes]
        names = [name for _, name in drawn]
        escaped = [html.escape(name, quote=False) for name in names]
        return DrawnUnits([unit_id for unit_id, _ in drawn], names, escaped)

    return release.once(("drawn units", layer), make)


def view_bounds(release: ServedRelease, question: Question) -> Bounds:
    """Bounds for the camera: the chosen areas, and the units with most of the workers at the drawn end.

    Homes outside the mapped area are known only by state, so the camera ignores them.
    """
    boxes = [map_layers.bounds(release, steps) for steps in (question.areas, question.others) if steps]
    held = [box for box in boxes if box is not None]
    box = camera.union(held) if held else None
    if not question.is_complete or (not question.entry.n_needed and box is None):
        return box or map_layers.home_bounds(release)
    if box and question.entry.own_drawing == "arrows":
        return camera.grown(box, 0.8)
    lon, lat, weights = (
        served_answers.weights(served_answers.units(release, question))
        if "lines" in question.entry.shows
        else served_answers.weights(pandas.DataFrame())
    )
    if not len(weights):
        return box or map_layers.home_bounds(release)
    return camera.around(lon, lat, weights, box)


def what_is_drawn(
    release: ServedRelease,
    question: Question,
    view: View,
    before: ServedRelease | None = None,
    zoom: float | None = None,
) -> str:
    """A one-line description of the picture; the zoom level decides which places are grouped (`drawn_lines`)."""
    question = release.areas.usual.settled(question)
    if before is None:
        return _answer_text(release, question, view, zoom)
    names = names_of([before, release])
    first, second = names[before.slug], names[release.slug]
    found = words_of(before, release)
    if drawn_as(release, question, view, before) != "change":
        not_drawn = f"not the {found.noun} from {first}"
        return f"{_answer_text(release, question, view, zoom)} · {second} only, {not_drawn}"
    end = "homes" if question.shown_end == "home" else "workplaces"
    where = words.place_name(release, question)
    what = (
        f"{end} of people who {words.VERB[question.side]} in {where}, by {words.level_word(question.layer)}"
    )
    between = found.between(first, second)
    return f"{between[0].upper()}{between[1:]} · {what}; small {found.noun}s may be noise"


def words_of(before: ServedRelease, release: ServedRelease) -> ComparisonWords:
    """What the comparison of two releases is called."""
    return comparison_words(before.analyses.year, release.analyses.year)


def drawn_lines(
    release: ServedRelease, question: Question, view: View, zoom: float | None = None
) -> commute_lines.Lines:
    """The flows that a map draws at a zoom level; without one, no places are grouped."""
    return commute_lines.lines(release, question, view.least, None if zoom is None else math.floor(zoom))


def _answer_text(release: ServedRelease, question: Question, view: View, zoom: float | None) -> str:
    end = "Homes" if question.shown_end == "home" else "Workplaces"
    kind = drawn_as(release, question, view)
    if kind == "ratio":
        here = words.place_name(release, question) if question.areas else release.title
        return ratio_map_of(question).caption.format(here=here, unit=words.level_word(question.layer))
    if not question.areas:
        whose = "all workers"
    else:
        whose = f"people who {words.VERB[question.side]} in {words.place_name(release, question)}"
    if kind == "arrows":
        return f"Workers who come into, leave, or stay in {words.place_name(release, question)}"
    if kind == "lines":
        return _lines_text(release, question, whose, drawn_lines(release, question, view, zoom))
    if question.entry.own_drawing == "points" and question.is_complete:
        n, most = served_answers.n_places(release, question), MAX_POINTS
        step = -(-n // most)
        return (
            f"Homes and workplaces of the pair · 1 point = {'1 worker' if step <= 1 else f'{step} workers'}"
        )
    if kind != "density":
        measure = {"area": "workers", "share": "share of workers", "square-mile": "workers per square mile"}
        by_unit = f"{measure[view.per]} by {words.level_word(question.layer)}"
        how = {"points": "1 point = 1 worker", "areas": by_unit}[kind]
        return f"{end} of {whose} · {how}"
    spread_mi = density_image(release, question, COLOR_SCHEMES[view.theme].ramp).spread_mi
    why = f" (more than {MAX_POINTS:,} points)" if view.show == "points" else ""
    return f"{end} of {whose} · density{why}, smoothed over {spread_mi:.1g}\N{NO-BREAK SPACE}mi"


def _lines_text(release: ServedRelease, question: Question, whose: str, drawn: commute_lines.Lines) -> str:
    if question.entry.n_areas == 2:
        what = (
            f"Flows from {words.level_word(question.home_layer)} to {words.level_word(question.work_layer)}"
        )
        where = f"the same {words.level_word(question.home_layer)}"
    else:
        what = f"Commutes of {whose} by {words.level_word(question.layer)}"
        where = "the area"
    total = max(drawn.total, 1)
    stay = "" if drawn.within is None else f"; {100 * drawn.within / total:.1f}% stay in {where}"
    shown = f"shows {100 * drawn.workers / total:.1f}% of {drawn.total:,} jobs"
    left_out = f" · {drawn.n_left_out:,} smaller flows not shown" if drawn.n_left_out else ""
    between = f" ({100 * drawn.between_grouped / total:.1f}% between them)" if drawn.between_grouped else ""
    grouped = f" · nearby places are grouped{between}" if drawn.n_grouped else ""
    return f"{what} · {shown}{stay}{left_out}{grouped}"


def density_image(release: ServedRelease, question: Question, ramp: tuple[str, ...]) -> DensityImage:
    """The density of the points of a question, in colors from few to many."""

    def make() -> DensityImage:
        points = served_answers.places(release, question, question.shown_end)
        return draw_density(points["lon_deg"], points["lat_deg"], ramp)

    # Of a question, only these decide where the points are: several analyses of an area have one picture.
    ends = question.ends
    key = ("density", ends["work"], ends["home"], question.filters, question.shown_end, ramp)
    return release.once(key, make)
