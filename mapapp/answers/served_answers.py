"""Cached answers of a served release, and the frames that a map draws from them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

import numpy
import numpy.typing as npt
import pandas

from mapapp.answers.asking import ask
from mapapp.answers.change import change, main_table
from mapapp.answers.counted import most_first
from mapapp.answers.entries import ENTRIES
from mapapp.answers.flows import Pick, Places
from mapapp.answers.measures import Number, caution
from mapapp.answers.results import Change, FlowMatrix, InflowOutflow, Result, with_fields
from mapapp.answers.served_release import ServedRelease
from mapapp.question.fields import Side
from mapapp.question.question import Question

ROWS_WITH_ERRORS: Final = 12  # as many as the table shows initially
MAX_LINES: Final = 1_500  # drawn on a map; a table has every row
SHOWN_TABLES: Final = ("units", "bands", "segments", "groups", "cells")


def result(release: ServedRelease, question: Question) -> Result:
    """Return the answer to a question; while its analysis lacks an area, a simpler answer."""
    return release.once(("result", question), lambda: ask(release.analyses, question))


def with_errors(release: ServedRelease, question: Question) -> Result:
    """Return the answer with expected errors of its numbers and of the rows that a page shows first."""
    rows = ENTRIES[question.analysis].n_error_rows or ROWS_WITH_ERRORS
    return release.once(
        ("errors", question),
        lambda: release.analyses.with_errors(result(release, question), rows, SHOWN_TABLES),
    )


def changed(before: ServedRelease, release: ServedRelease, question: Question) -> Change:
    """Return the change of an answer since an earlier release."""
    return change(result(before, question), result(release, question))


def changed_with_errors(before: ServedRelease, release: ServedRelease, question: Question) -> Change:
    """Return the change with combined expected errors, for numbers and for the rows that changed most."""

    def make() -> Change:
        found = changed(before, release, question)
        table, keys = main_table(found.after)
        first = largest_change(found.rows).head(ROWS_WITH_ERRORS).set_index(keys).index
        parts = [_rows_with_errors(opened, question, table, keys, first) for opened in (before, release)]
        errors = change(*parts).rows.set_index(keys)["expected_error"]
        error = errors.reindex(found.rows.set_index(keys).index).to_numpy()
        return dataclasses.replace(
            found,
            before=with_errors(before, question),
            after=with_errors(release, question),
            rows=found.rows.assign(expected_error=error),
        )

    return release.once(("change errors", before.slug, question), make)


def largest_change(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return the rows of a change, largest increase or decrease first."""
    return rows.loc[rows["change"].abs().sort_values(ascending=False, kind="stable").index]


def _rows_with_errors(
    release: ServedRelease, question: Question, table: str, keys: list[str], first: pandas.Index
) -> Result:
    """Return an answer with only some rows of its table, and their expected errors."""
    answer = result(release, question)
    frame = answer.tables()[table]
    kept = frame[frame.set_index(keys).index.isin(first)]
    fewer = with_fields(answer, {table: kept})
    return release.analyses.with_errors(fewer, len(kept))


def units(release: ServedRelease, question: Question) -> pandas.DataFrame:
    """Return workers at the shown end by unit, most first, with the columns of an analysis's `units`."""

    def make() -> pandas.DataFrame:
        analyses, kept, where = release.analyses, question.filters, question.area
        if question.shown_end == question.side:
            return analyses.comparison(where, kept, side=question.side, layer=question.layer).units
        return analyses.destinations(where, kept, side=question.side, layer=question.layer).units

    return release.once(("units", question), make)


def places(release: ServedRelease, question: Question, end: Side) -> Places:
    """Return the place of each worker's `end`: float32 arrays `lon_deg` and `lat_deg`."""
    return release.analyses.flows.places(pick(release, question), end)


def pick(release: ServedRelease, question: Question) -> Pick:
    """Return the commutes that a question covers."""
    chosen = {end: release.areas.select(where).blocks for end, where in question.ends.items()}
    return Pick(work=chosen["work"], home=chosen["home"], filters=question.filters)


@dataclass(frozen=True, slots=True)
class Lines:
    """Flows as lines.

    Attributes
    ----------
    frame : pandas.DataFrame
        In the form that `mapapp.drawing.plotly.flow_lines.line_traces` takes, most workers first.
    workers, total : int
        Workers on the drawn lines, and in the whole answer.
    within : int or None
        Workers with both ends in the chosen area, by block; for a flow matrix, with both ends in one unit, and None if
        homes and workplaces are counted by different layers.
    n_left_out : int
        Number of lines beyond the maximum.
    """

    frame: pandas.DataFrame
    workers: int
    within: int | None
    total: int
    n_left_out: int


def lines(release: ServedRelease, question: Question) -> Lines:
    """Return the largest flows between different places."""

    def make() -> Lines:
        flows = (_matrix_lines if ENTRIES[question.analysis].pairs else _star)(release, question)
        kept = flows.frame.dropna(subset=["from_lon_deg", "to_lon_deg"])
        shown = kept.head(MAX_LINES)
        names = flows.names(shown.index)
        label = [f"{name}<br>{_counted(n)}" for name, n in zip(names, shown["workers"], strict=True)]
        workers = int(shown["workers"].sum())
        return Lines(shown.assign(label=label), workers, flows.within, flows.total, len(kept) - len(shown))

    return release.once(("lines", question), make)


@dataclass(frozen=True, slots=True)
class _Flows:
    """All flows: a frame without labels, the names of rows by index, and the counts of :class:`Lines`."""

    frame: pandas.DataFrame
    names: Callable[[pandas.Index], pandas.Series]
    within: int | None
    total: int


def _star(release: ServedRelease, question: Question) -> _Flows:
    """Return lines from the middle of the chosen area to each unit, for the commutes that leave the area.

    Blocks decide which commutes leave: a unit that the area cuts has a line for the part outside the area.
    """
    picked, end = pick(release, question), question.shown_end
    chosen = release.areas.select(question.area).blocks
    block, workers = release.analyses.flows.by_block(picked, end)
    layer, everywhere = release.areas.units(question.layer), release.areas.places
    inside = numpy.ones(len(everywhere), dtype=bool)
    if chosen is not None:
        inside[:] = False
        inside[chosen] = True
    leaves = ~inside[block]
    rows = layer.rows.assign(workers=layer.of(block[leaves], workers[leaves]))
    outer = most_first(rows[(rows["workers"] > 0) & (rows["kind"] == "unit")], "unit_id")
    cut = set(layer.rows["unit_id"].to_numpy()[layer.code[inside]])
    middle = everywhere[inside]
    frame = pandas.DataFrame(
        {
            "from_lon_deg": float(middle["lon_deg"].mean()),
            "from_lat_deg": float(middle["lat_deg"].mean()),
            "to_lon_deg": outer["lon_deg"],
            "to_lat_deg": outer["lat_deg"],
            "workers": outer["workers"],
        }
    )

    def names(index: pandas.Index) -> pandas.Series:
        listed = outer.loc[index]
        found: pandas.Series = listed["name"].where(
            ~listed["unit_id"].isin(cut), "the rest of " + listed["name"]
        )
        return found

    return _Flows(frame, names, int(workers[~leaves].sum()), int(workers.sum()))


def _matrix_lines(release: ServedRelease, question: Question) -> _Flows:
    matrix = cast(FlowMatrix, result(release, question))
    cells = matrix.cells[(matrix.cells["home_kind"] == "unit") & (matrix.cells["work_kind"] == "unit")]
    one_layer = matrix.home_layer == matrix.work_layer
    same = (cells["home_id"] == cells["work_id"]) & one_layer
    within, cells = int(cells.loc[same, "workers"].sum()) if one_layer else None, cells[~same]
    columns: dict[str, npt.NDArray[numpy.float64]] = {}
    for name, end, margin in (("from", "home", matrix.homes), ("to", "work", matrix.works)):
        at = margin[margin["kind"] == "unit"].set_index("unit_id").reindex(cells[f"{end}_id"])
        columns |= {f"{name}_{axis}": at[axis].to_numpy() for axis in ("lon_deg", "lat_deg")}
    frame = pandas.DataFrame(columns | {"workers": cells["workers"].to_numpy()}, index=cells.index)

    def names(index: pandas.Index) -> pandas.Series:
        both: pandas.Series = cells.loc[index, "home_name"] + " → " + cells.loc[index, "work_name"]
        return both

    return _Flows(frame, names, within, matrix.workers.value)


def _counted(workers: int) -> str:
    warning = caution(int(workers))
    text = f"{workers:,} worker{'s' * (workers != 1)}"
    return f"{text} ({warning})" if warning else text


def n_places(release: ServedRelease, question: Question) -> int:
    """Return the number of workers that a question covers."""
    answer = result(release, question)
    number: Number | None = getattr(answer, "workers", None)
    if number is None:
        both = cast(InflowOutflow, answer)
        return both.inflow.value + both.stay.value
    return int(number.value)


def weights(
    frame: pandas.DataFrame,
) -> tuple[npt.NDArray[numpy.float64], npt.NDArray[numpy.float64], npt.NDArray[numpy.float64]]:
    """Return longitude, latitude and workers of the units that have a place on the map."""
    near = (
        frame[(frame["kind"] == "unit") & frame["lon_deg"].notna()] if "lon_deg" in frame else frame.head(0)
    )
    if not len(near):
        return numpy.empty(0), numpy.empty(0), numpy.empty(0)
    lon, lat, workers = (near[name].to_numpy(numpy.float64) for name in ("lon_deg", "lat_deg", "workers"))
    return lon, lat, workers
