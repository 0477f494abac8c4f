"""What the map of a published table shows: printed counts or shares by class, and the units with a star."""

from __future__ import annotations

import html
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

import numpy
import numpy.typing as npt

from mapapp.kinds.tables.read import words
from mapapp.kinds.tables.read.published import TablePromise
from mapapp.kinds.tables.read.served_table import Shown
from mapapp.kinds.tables.read.sheet import people_of_rows
from mapapp.kinds.tables.read.view import Shade
from mapapp.show.content import palette
from mapapp.show.content.area_classes import area_classes
from mapapp.show.content.labels import Ticks, class_ticks
from mapapp.show.content.legend import Item, Legend
from mapapp.show.content.palette import ColorScheme

STAR_TEXT: Final = "* suppressed"
EMPTY_TEXT: Final = "no workers"
_CLEAR: Final = "rgba(0,0,0,0)"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMap:
    """Row units by class.

    Attributes
    ----------
    unit_ids : list of str
    labels : list of str
        What the pointer shows over each unit, as HTML.
    of : int64[units]
        The class of each unit.
    texts, colors : tuple of str
        What a legend says for each class, and its color.
    sizes : tuple of int
        Number of units in each class.
    n_special : int
        Number of classes before those on the scale.
    ticks : tuple of (float, str)
        Limits and extremes along the ramp, and their place from 0 to 1.
    title : tuple of str
        The lines above the legend.
    what : str
        What the map shows, in a line.
    """

    unit_ids: list[str]
    labels: list[str]
    of: npt.NDArray[numpy.int64]
    texts: tuple[str, ...]
    colors: tuple[str, ...]
    sizes: tuple[int, ...]
    n_special: int
    ticks: Ticks
    title: tuple[str, ...]
    what: str


def table_map(shown: Shown, promise: TablePromise, color: str, shade: Shade, scheme: ColorScheme) -> TableMap:
    """Return the map of one column of a table.

    Parameters
    ----------
    shown : Shown
    promise : TablePromise
    color : str
        Identifier of the column.
    shade : {"share", "value", "stars"}
    scheme : ColorScheme
    """
    values, is_starred = _values(shown, color, shade)
    has_people = shown.column("people", color) > 0 if shade != "stars" else people_of_rows(shown) > 0
    unit = "" if shade == "value" else "%"
    classes = area_classes(numpy.nan_to_num(values), people_of_rows(shown), whole=shade == "value", unit=unit)
    special = [
        (EMPTY_TEXT, _CLEAR, ~has_people & ~is_starred),
        (STAR_TEXT, scheme.suppressed, is_starred),
        (f"0{unit}", scheme.same, (values == 0) & has_people & ~is_starred),
    ]
    special = [group for group in special if group[2].any()]
    of = (classes.of - 1 + len(special)).astype(numpy.int64)
    for place, (_, _, rows) in enumerate(special):
        of[rows] = place
    of_values = classes.texts[1:] if classes.of.any() else ()
    texts = (*(text for text, _, _ in special), *of_values)
    ramp = palette.class_colors(len(of_values), scheme.ramp)
    colors = (*(color_of for _, color_of, _ in special), *ramp)
    sizes = numpy.bincount(of, minlength=len(texts)).tolist()
    label = "" if shown.table.is_flows else shown.columns[color]
    return TableMap(
        unit_ids=list(shown.rows),
        labels=_labels(shown, promise, color),
        of=of,
        texts=texts,
        sizes=tuple(sizes),
        n_special=len(special),
        ticks=class_ticks(classes.limits, values[values > 0], unit=unit) if classes.of.any() else (),
        colors=colors,
        title=_title(shown, shade),
        what=": ".join(part for part in (shown.table.title, label if shade != "stars" else "") if part),
    )


def table_legend(drawn: TableMap) -> Legend:
    """Return the legend of a table's map: the classes on the scale as a ramp, and others that occur below it."""
    listed = [
        Item(text, "" if color == _CLEAR else color, more=f"{size:,}", is_hatched=text == STAR_TEXT)
        for text, color, size in zip(drawn.texts, drawn.colors, drawn.sizes, strict=True)
    ]
    ramp, others = listed[drawn.n_special :], listed[: drawn.n_special]
    title, line = drawn.title
    return Legend("classes", title, tuple(ramp), drawn.ticks, line=line, extras=tuple(others))


def starred_units(shown: Shown, color: str) -> list[str]:
    """Return the row units whose count in a column is suppressed."""
    starred = (shown.column("value", color) < 0) & (shown.column("people", color) > 0)
    return [unit for unit, star in zip(shown.rows, starred, strict=True) if star]


def _values(
    shown: Shown, color: str, shade: Shade
) -> tuple[npt.NDArray[numpy.float64], npt.NDArray[numpy.bool_]]:
    """Return the number of each unit, and whether it has a star instead."""
    people, value = shown.column("people", color), shown.column("value", color)
    if shade == "stars":
        of_all, counts = numpy.nan_to_num(shown.numbers("people")), shown.numbers("value")
        total = of_all.sum(axis=1)
        inside = (of_all * (counts < 0)).sum(axis=1)
        return 100 * inside / numpy.maximum(total, 1), numpy.zeros(len(total), dtype=numpy.bool_)
    starred = (value < 0) & (people > 0)
    printed = numpy.where(starred, 0.0, value)
    return (printed if shade == "value" else 100 * printed / numpy.maximum(people, 1)), starred


def _labels(shown: Shown, promise: TablePromise, color: str) -> list[str]:
    column = list(shown.columns).index(color)
    labels = []
    for name, at in zip(shown.rows.values(), shown.at[:, column], strict=True):
        cell = shown.table.cell(int(at)) if at >= 0 else None
        lines = [] if cell is None else [*short_lines(words.cell_lines(cell, promise))]
        labels.append("<br>".join([f"<b>{html.escape(name, quote=False)}</b>", *lines]))
    return labels


def short_lines(sentences: list[str], width: int = 46) -> list[str]:
    """Return sentences as lines of HTML that fit a label on the map."""
    return [html.escape(line, quote=False) for sentence in sentences for line in wrap(sentence, width)]


def _title(shown: Shown, shade: Shade) -> tuple[str, ...]:
    if shade == "stars":
        return "Share of people", "in suppressed cells"
    if shown.table.is_flows:
        return ("Workers" if shade == "value" else "Share of the workers"), "who live there"
    return ("Count" if shade == "value" else "Share of people"), "who are counted"
