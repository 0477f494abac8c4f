"""Units in the colors of their classes: by density, by change, by ratio, or by share."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

import numpy
import numpy.typing as npt

from mapapp.answers import words
from mapapp.answers.analyses.entry import text_of
from mapapp.answers.errors.error_marks import EXCEEDS, WITHIN
from mapapp.show.content import map_layers, palette
from mapapp.show.content.area_classes import RULE_WORDS, AreaClasses, area_classes
from mapapp.show.content.labels import change_texts, change_ticks, class_ticks, ratio_texts
from mapapp.show.content.legend import Item, Legend
from mapapp.show.content.map_content import DrawnUnits, MapContent, land_square_miles

PARTLY: Final = "Cut off at the border of the chosen area"
NO_WORKERS: Final = "no workers"
NOT_COVERED: Final = "not covered by this release"

Numbers = npt.NDArray[numpy.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitClass:
    """A class of units.

    Attributes
    ----------
    text : str
        What a legend says of it.
    color : str
        Empty if its units are not filled.
    size : int
        Number of its units of which something is known.
    is_on_scale : bool
        Whether it is part of the ramp.
    is_hatched : bool
        Whether its units are hatched as not covered.
    """

    text: str
    color: str
    size: int = 0
    is_on_scale: bool = True
    is_hatched: bool = False

    @property
    def item(self) -> Item:
        """Its entry in a legend."""
        return Item(self.text, self.color, more=f"{self.size:,}", is_hatched=self.is_hatched)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColoredUnits:
    """Units in the colors of their classes.

    Attributes
    ----------
    units : DrawnUnits
    value : float64[units]
        What the color of each unit shows.
    of : int[units]
        Class of each unit, from 0.
    classes : tuple of UnitClass
    title, line : str
        Title of the legend, and the line below it.
    notes : tuple of str
    ticks : tuple of (float, str)
        Limits and extremes along the ramp, and their place from 0 to 1.
    """

    units: DrawnUnits
    value: Numbers
    of: npt.NDArray[numpy.integer]
    classes: tuple[UnitClass, ...]
    title: str
    line: str
    notes: tuple[str, ...] = ()
    ticks: tuple[tuple[float, str], ...] = ()

    @property
    def colors(self) -> tuple[str, ...]:
        """Color of each class, empty for one that is not filled."""
        return tuple(unit_class.color for unit_class in self.classes)

    @property
    def not_covered(self) -> list[str]:
        """Identifiers of the units that the release does not cover."""
        hatched = numpy.array([unit_class.is_hatched for unit_class in self.classes])[self.of]
        return [unit for unit, is_missing in zip(self.units.ids, hatched.tolist(), strict=True) if is_missing]

    @property
    def legend(self) -> Legend:
        """The legend: the classes on the scale as a ramp, and the others that occur below it."""
        ramp = [unit_class.item for unit_class in self.classes if unit_class.is_on_scale]
        extras = [
            unit_class.item for unit_class in self.classes if unit_class.size and not unit_class.is_on_scale
        ]
        return Legend(
            "classes",
            self.title,
            tuple(ramp),
            self.ticks if ramp else (),
            notes=self.notes,
            line=self.line,
            extras=tuple(extras),
        )


def colored_units(content: MapContent) -> ColoredUnits:
    """Return the units of a map that is drawn as `areas`, `change`, `ratio` or `share`."""
    make = {"areas": _by_density, "change": _by_change, "ratio": _by_ratio, "share": _by_share}[content.kind]
    return content.once("colored units", lambda: make(content))


def ink_of_names(content: MapContent, places_deg: list[tuple[float, float]]) -> str:
    """Return the ink for a name on the fills at some places (longitude, latitude); empty if they need different ones.

    Also empty where nothing is filled: there, names have a halo.
    """
    if content.kind not in ("areas", "change", "ratio", "share"):
        return ""
    colored, level = colored_units(content), content.question.layer
    color_of = content.once(
        "unit fills",
        lambda: dict(
            zip(
                colored.units.ids, numpy.array(colored.colors, dtype=object)[colored.of].tolist(), strict=True
            )
        ),
    )
    fills = [
        color_of.get(map_layers.unit_at(content.release, level, *place) or "", "") for place in places_deg
    ]
    inks = {palette.ink_on(color) if color else "" for color in fills}
    return inks.pop() if len(inks) == 1 else ""


def _by_density(content: MapContent) -> ColoredUnits:
    """Units by workers per square mile of land."""
    workers = numpy.array(content.workers, dtype=numpy.float64)
    cut = content.question.area if content.cut_shapes else ""
    land = land_square_miles(content.release, (content.question.layer, cut), content.shapes)
    value = workers / numpy.array([land[unit] for unit in content.units.ids])
    classes = area_classes(value, workers, whole=False)
    return _on_ramp(
        content,
        value,
        classes,
        NO_WORKERS,
        content.counted,
        title="Workers per square mile",
        line=who_by_unit(content),
        notes=(RULE_WORDS[classes.rule], *hatching_notes(content), *(PARTLY,) * bool(content.cut_shapes)),
    )


def _by_share(content: MapContent) -> ColoredUnits:
    """Units by the share of an analysis."""
    rows, how = content.ratio_rows, content.ratio_map
    shares = [0.0 if row is None else 100 * getattr(row, how.column) for row in rows]
    value = numpy.nan_to_num(numpy.array(shares, dtype=numpy.float64))
    jobs = numpy.array([0 if row is None else row.jobs for row in rows], dtype=numpy.float64)
    classes = area_classes(value, jobs, whole=False, unit="%")
    title, line = _ratio_title(content)
    return _on_ramp(
        content,
        value,
        classes,
        how.blank,
        numpy.array([row is not None for row in rows], dtype=bool),
        title=title,
        line=line,
        notes=(RULE_WORDS[classes.rule], *(PARTLY,) * bool(content.cut_shapes)),
        unit="%",
    )


def _on_ramp(
    content: MapContent,
    value: Numbers,
    classes: AreaClasses,
    blank: str,
    known: npt.NDArray[numpy.bool_],
    *,
    title: str,
    line: str,
    notes: tuple[str, ...],
    unit: str = "",
) -> ColoredUnits:
    """Units in classes along the ramp; `blank` names those of value 0, and only `known` units count."""
    ramp = palette.class_colors(classes.n_classes, content.scheme.ramp)
    on_scale = [
        UnitClass(text=text, color=color) for text, color in zip(classes.texts[1:], ramp, strict=True)
    ]
    off_scale = UnitClass(text=blank, color="", is_on_scale=False)
    of, sized_classes = _with_sizes(content, classes.of, [off_scale, *on_scale], known)
    counted = value[known & (value > 0)]
    return ColoredUnits(
        units=content.units,
        value=value,
        of=of,
        classes=sized_classes,
        title=title,
        line=line,
        notes=notes,
        ticks=class_ticks(classes.limits, counted, unit=unit),
    )


def _by_change(content: MapContent) -> ColoredUnits:
    """Units by the change of their workers since the earlier release; gray unless it is significant."""
    change = numpy.array(content.workers, dtype=numpy.int64) - content.earlier_workers
    known = content.counted | (numpy.array(content.earlier_workers, dtype=numpy.int64) > 0)
    is_sure = known & (change != 0) & ~numpy.isin(content.units.ids, list(content.uncertain))
    sure, noun = change[is_sure], content.comparison.noun
    size = numpy.abs(sure)
    limits = palette.change_limits(int(size.min(initial=size.max(initial=1))), int(size.max(initial=0)))
    of: npt.NDArray[numpy.integer] = palette.change_classes(numpy.where(is_sure, change, 0), limits)
    same = f"{noun} {WITHIN}" if content.has_errors else f"no {noun}"
    texts = change_texts(limits, same)
    listed = [
        UnitClass(text=text, color=color, is_on_scale=place != len(limits))
        for place, (text, color) in enumerate(
            zip(texts, palette.change_colors(len(limits), content.scheme), strict=True)
        )
    ]
    of, classes = _with_sizes(content, of, listed, known)
    if not len(sure):  # without a significant change there is no scale
        classes = tuple(unit_class for unit_class in classes if not unit_class.is_on_scale)
        of = numpy.where(of == len(limits), 0, of - 2 * len(limits)).clip(0)
    return ColoredUnits(
        units=content.units,
        value=change.astype(numpy.float64),
        of=of,
        classes=classes,
        title=f"{noun.capitalize()} in workers",
        line=who_by_unit(content),
        notes=() if len(sure) else (f"{no_difference_words(content)}.",),
        ticks=change_ticks(limits, sure),
    )


def has_no_difference(content: MapContent) -> bool:
    """Return whether no unit of a map of changes differs significantly."""
    return not any(unit_class.is_on_scale for unit_class in colored_units(content).classes)


def no_difference_words(content: MapContent) -> str:
    """Return the sentence, without its period, for a map of changes on which none is significant."""
    level = words.level_word(content.question.layer)
    return f"No {level} differs by more than twice its ±" if content.has_errors else f"No {level} differs"


def _by_ratio(content: MapContent) -> ColoredUnits:
    """Units by the ratio of an analysis."""
    rows, how = content.ratio_rows, content.ratio_map
    ratio = numpy.array(
        [math.nan if row is None else getattr(row, how.column) for row in rows], dtype=numpy.float64
    )
    on_scale = [
        UnitClass(text=text, color=color)
        for text, color in zip(ratio_texts(), palette.ratio_colors(content.scheme), strict=True)
    ]
    known = numpy.array([row is not None for row in rows], dtype=bool)
    blank = UnitClass(text=how.blank, color="", is_on_scale=False)
    of, classes = _with_sizes(content, palette.ratio_classes(ratio), [blank, *on_scale], known)
    title, line = _ratio_title(content)
    return ColoredUnits(
        units=content.units,
        value=ratio,
        of=of,
        classes=classes,
        title=title,
        line=line,
        ticks=class_ticks((0.0, *palette.RATIO_LIMITS), ratio[numpy.isfinite(ratio)]),
    )


def _with_sizes(
    content: MapContent,
    of: npt.NDArray[numpy.integer],
    classes: list[UnitClass],
    known: npt.NDArray[numpy.bool_],
) -> tuple[npt.NDArray[numpy.integer], tuple[UnitClass, ...]]:
    """Add a class of the units that the release does not cover, and count the known units of the other classes."""
    missing = ~content.covered & ~known
    of = numpy.where(missing, len(classes), of)
    sizes = numpy.bincount(of[known], minlength=len(classes)).tolist()
    counted = [replace(unit_class, size=size) for unit_class, size in zip(classes, sizes, strict=True)]
    uncovered = UnitClass(
        text=NOT_COVERED, color="", size=int(missing.sum()), is_on_scale=False, is_hatched=True
    )
    return of, (*counted, uncovered)


def _ratio_title(content: MapContent) -> tuple[str, str]:
    """The title and the line below it that say what a ratio or a share is."""
    legend = text_of(content.ratio_map.legend, content.ratio_answer)
    title, *lines = legend.format(unit=words.level_word(content.question.layer)).split("<br>")
    return title, ", ".join(lines)


def who_by_unit(content: MapContent) -> str:
    """Return whose workers a legend counts, such as "who live in each town"."""
    return f"who {words.VERB[content.question.shown_end]} in each {words.level_word(content.question.layer)}"


def hatching_notes(content: MapContent) -> tuple[str, ...]:
    """Return the line of a legend that says what is hatched, if anything can be."""
    return (f"Hatched: {EXCEEDS}",) if content.is_hatched else ()
