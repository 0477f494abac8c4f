"""From a state to the answer of its analysis, and to the frames that the map draws."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy
import pandas

from mapapp.answers.analyses import EVERYTHING
from mapapp.answers.change import change, main_table
from mapapp.answers.counted import most_first
from mapapp.answers.flows import Pick
from mapapp.answers.request import Request
from mapapp.answers.results import Change, Result, caution
from mapapp.answers.served_release import ServedRelease
from mapapp.question.address import Side, ViewState, drawn_end
from mapapp.question.distance_bands import EDGES_MI
from mapapp.question.filters import Filters

OTHER: Final[dict[Side, Side]] = {"work": "home", "home": "work"}
_NAMES: Final[dict[str, str]] = {
    "area-profile": "profile",
    "area-comparison": "comparison",
    "destination": "destinations",
    "paired-area": "paired",
}
ROWS_WITH_ERRORS: Final = 12  # as many as the table shows at first
MAX_LINES: Final = 1_500  # drawn on a map; a table has every row
ROWS_OF_SEGMENTS: Final = 27  # which are shown all
SHOWN_TABLES: Final = ("units", "bands", "segments", "groups", "cells")


def is_ready(state: ViewState) -> bool:
    """Whether enough is chosen for the analysis to have an answer."""
    if state.analysis == "paired-area":
        return bool(state.areas and state.others)
    return bool(state.areas) or state.analysis == "flow-matrix"


def area(steps: tuple[str, ...]) -> str:
    """Steps as one area; everything without any."""
    return " ".join(steps) or EVERYTHING


def filters(state: ViewState) -> Filters:
    """The bands a state keeps."""
    return Filters(state.age, state.earnings, state.industry)


def ends(state: ViewState) -> dict[Side, str]:
    """The area at either end of the commutes."""
    return {state.side: area(state.areas), OTHER[state.side]: area(state.others)}


def _question(state: ViewState) -> ViewState:
    """The state without what its answer does not depend on: how it is shown, and against what."""
    return dataclasses.replace(state, show="points", theme="light", every=False, against="", release="")


def result(release: ServedRelease, state: ViewState) -> Result:
    """The answer to a state; while its analysis lacks an area, what there is already."""
    plain = _question(state)
    return release.once(("result", plain), lambda: _ask(release, plain))


def with_errors(release: ServedRelease, state: ViewState) -> Result:
    """The answer to a state with the expected errors of its numbers and of the rows a page shows first."""
    plain = _question(state)
    by_segment = state.analysis in ("area-profile", "inflow-outflow")
    rows = ROWS_OF_SEGMENTS if by_segment else ROWS_WITH_ERRORS
    return release.once(
        ("errors", plain),
        lambda: release.analyses.with_errors(result(release, state), rows, SHOWN_TABLES),
    )


def changed(before: ServedRelease, release: ServedRelease, state: ViewState) -> Change:
    """The answer of a release against that of an earlier one."""
    return change(result(before, state), result(release, state))


def changed_with_errors(before: ServedRelease, release: ServedRelease, state: ViewState) -> Change:
    """The same with the expected errors of both together, in the numbers and the rows of largest change."""
    plain = _question(state)

    def make() -> Change:
        found = changed(before, release, plain)
        table, keys = main_table(found.after)
        first = largest_change(found.rows).head(ROWS_WITH_ERRORS).set_index(keys).index
        parts = [_sure_rows(opened, plain, table, keys, first) for opened in (before, release)]
        errors = change(*parts).rows.set_index(keys)["expected_error"]
        error = errors.reindex(found.rows.set_index(keys).index).to_numpy()
        return dataclasses.replace(
            found,
            before=with_errors(before, plain),
            after=with_errors(release, plain),
            rows=found.rows.assign(expected_error=error),
        )

    return release.once(("change errors", before.slug, plain), make)


def largest_change(rows: Any) -> Any:
    """Rows of a change, the largest first, up or down."""
    return rows.loc[rows["change"].abs().sort_values(ascending=False, kind="stable").index]


def _sure_rows(release: ServedRelease, state: ViewState, table: str, keys: list[str], first: Any) -> Result:
    """An answer with some rows of its table alone, and their expected errors."""
    answer: Any = result(release, state)
    frame = getattr(answer, table)
    kept = frame[frame.set_index(keys).index.isin(first)]
    fewer: Result = dataclasses.replace(answer, **{table: kept})
    return release.analyses.with_errors(fewer, len(kept))


def _ask(release: ServedRelease, state: ViewState) -> Result:
    return next(request(state).answers(release.analyses))


def request(state: ViewState) -> Request:
    """The question of a state, as whoever has no page puts it; while its analysis lacks an area, what there is."""
    same: dict[str, Any] = {"side": state.side, "filters": filters(state), "layer": state.layer}
    if not state.areas and state.analysis != "flow-matrix":
        return Request(analysis="comparison", **same)
    if not is_ready(state):
        return Request(analysis="profile", areas=(area(state.areas),), **same)
    same["edges_mi"] = state.edges or EDGES_MI
    if state.analysis in ("paired-area", "flow-matrix"):
        both = ends(state)
        same |= {"home_area": both["home"], "work_area": both["work"]}
        same |= {"home_layer": state.home_layer, "work_layer": state.work_layer}
    else:
        same["areas"] = (area(state.areas),)
    return Request(analysis=_NAMES.get(state.analysis, state.analysis), **same)


def units(release: ServedRelease, state: ViewState) -> Any:
    """Workers at the drawn end by unit of the state's layer, most first: the columns of an analysis's `units`."""
    state = _question(state)

    def make() -> Any:
        ask, kept, where = release.analyses, filters(state), area(state.areas)
        if drawn_end(state) == state.side:
            return ask.comparison(where, kept, side=state.side, layer=state.layer).units
        return ask.destinations(where, kept, side=state.side, layer=state.layer).units

    return release.once(("units", state), make)


def places(release: ServedRelease, state: ViewState, end: Side) -> dict[str, Any]:
    """Where an end of the commutes is, one place a worker: float32 arrays `lon_deg` and `lat_deg`."""
    return release.analyses.flows.places(pick(release, state), end)


def pick(release: ServedRelease, state: ViewState) -> Pick:
    """Whose commutes a state is about."""
    chosen = {end: release.areas.select(where).blocks for end, where in ends(state).items()}
    return Pick(work=chosen["work"], home=chosen["home"], filters=filters(state))


@dataclass(frozen=True, slots=True)
class Lines:
    """Flows as lines.

    Attributes
    ----------
    frame : pandas.DataFrame
        As `mapapp.drawing.plotly.flow_lines.line_traces` takes it, most workers first.
    workers, total : int
        On the lines that are drawn, and in the whole answer.
    within : int or None
        With both ends in the chosen area, by their blocks; of a flow matrix, with both ends in one unit, and None if
        its homes and workplaces are counted by different layers.
    n_left_out : int
        Lines that are too many.
    """

    frame: Any
    workers: int
    within: int | None
    total: int
    n_left_out: int


def lines(release: ServedRelease, state: ViewState) -> Lines:
    """The largest flows between different places."""
    state = _question(state)

    def make() -> Lines:
        flows = (_matrix_lines if state.analysis == "flow-matrix" else _star)(release, state)
        kept = flows.frame.dropna(subset=["from_lon_deg", "to_lon_deg"])
        shown = kept.head(MAX_LINES)
        names = flows.names(shown.index)
        label = [f"{name}<br>{_counted(n)}" for name, n in zip(names, shown["workers"], strict=True)]
        workers = int(shown["workers"].sum())
        return Lines(shown.assign(label=label), workers, flows.within, flows.total, len(kept) - len(shown))

    return release.once(("lines", state), make)


@dataclass(frozen=True, slots=True)
class _Flows:
    """All flows: a frame without labels, how its rows are called by index, and as :class:`Lines` has them."""

    frame: Any
    names: Callable[[Any], Any]
    within: int | None
    total: int


def _star(release: ServedRelease, state: ViewState) -> _Flows:
    """A line from the middle of the chosen area to each unit, for the commutes that leave the area.

    Which commutes stay is a matter of blocks: a unit that the area cuts has a line for the part outside the area.
    """
    picked, end = pick(release, state), drawn_end(state)
    chosen = release.areas.select(area(state.areas)).blocks
    block, workers = release.analyses.flows.by_block(picked, end)
    layer, everywhere = release.areas.units(state.layer), release.areas.places
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

    def names(index: Any) -> Any:
        listed = outer.loc[index]
        return listed["name"].where(~listed["unit_id"].isin(cut), "the rest of " + listed["name"])

    return _Flows(frame, names, int(workers[~leaves].sum()), int(workers.sum()))


def _matrix_lines(release: ServedRelease, state: ViewState) -> _Flows:
    matrix: Any = result(release, state)
    cells = matrix.cells[(matrix.cells["home_kind"] == "unit") & (matrix.cells["work_kind"] == "unit")]
    one_layer = matrix.home_layer == matrix.work_layer
    same = (cells["home_id"] == cells["work_id"]) & one_layer
    within, cells = int(cells.loc[same, "workers"].sum()) if one_layer else None, cells[~same]
    columns: dict[str, Any] = {}
    for name, end, margin in (("from", "home", matrix.homes), ("to", "work", matrix.works)):
        at = margin[margin["kind"] == "unit"].set_index("unit_id").reindex(cells[f"{end}_id"])
        columns |= {f"{name}_{axis}": at[axis].to_numpy() for axis in ("lon_deg", "lat_deg")}
    frame = pandas.DataFrame(columns | {"workers": cells["workers"].to_numpy()}, index=cells.index)

    def names(index: Any) -> Any:
        return cells.loc[index, "home_name"] + " → " + cells.loc[index, "work_name"]

    return _Flows(frame, names, within, matrix.workers.value)


def _counted(workers: int) -> str:
    warning = caution(int(workers))
    text = f"{workers:,} worker{'s' * (workers != 1)}"
    return f"{text} ({warning})" if warning else text


def n_places(release: ServedRelease, state: ViewState) -> int:
    """How many workers a state is about."""
    answer: Any = result(release, state)
    number = getattr(answer, "workers", None)
    return int(number.value if number is not None else answer.inflow.value + answer.stay.value)


def weights(frame: Any) -> tuple[Any, Any, Any]:
    """Longitude, latitude and workers of the units that have a place on the map."""
    near = (
        frame[(frame["kind"] == "unit") & frame["lon_deg"].notna()] if "lon_deg" in frame else frame.head(0)
    )
    if not len(near):
        return numpy.empty(0), numpy.empty(0), numpy.empty(0)
    return near["lon_deg"].to_numpy(), near["lat_deg"].to_numpy(), near["workers"].to_numpy()
