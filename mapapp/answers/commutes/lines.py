"""The flows of an answer as lines from homes to workplaces; places that would overlap on the map are grouped.

A map at a zoom level has room for only so many places and flows. Places closer together than a few pixels are drawn as
one, with the sum of their flows, instead of a ball of lines; zooming in separates them. Of the flows, a first picture
has the largest, and none that is smaller than its own expected error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, cast

import numpy
import numpy.typing as npt
import pandas

from geodata.geography.distance import mercator_y
from mapapp.answers import served_answers, words
from mapapp.answers.analyses.entries import ENTRIES
from mapapp.answers.analyses.measures import caution
from mapapp.answers.analyses.results import FlowMatrix
from mapapp.answers.areas.layer_units import LayerUnits
from mapapp.answers.commutes.pick import Blocks, Pick
from mapapp.answers.release import Release
from mapapp.question.fields import Side
from mapapp.question.question import SettledQuestion

MAX_LINES: Final = 5_000  # drawn on a map; a table has every row
READABLE: Final = 200  # drawn unless a visitor asks for more
MAX_ZOOM: Final = 14  # nothing is grouped from here on
APART_PX: Final = 26.0  # places closer than this are grouped

Ints = npt.NDArray[numpy.int64]
_WIDE_RANK: Final = 3
_AREA, _HOMES, _WORKS = -1, 0, 1  # what a place is; only places of one kind are grouped with each other


@dataclass(frozen=True, slots=True)
class Lines:
    """Flows as lines.

    Attributes
    ----------
    frame : pandas.DataFrame
        `from_lon_deg`, `from_lat_deg` (homes), `to_lon_deg`, `to_lat_deg` (workplaces), `workers`, `label`,
        `home_group` and `work_group`, and `expected_error`, NaN if it is not known or was not computed; most workers
        first.
    places : pandas.DataFrame
        A row for each group: `name`, `lon_deg`, `lat_deg`, and the workers who come to work in it from the other
        groups (`come`) and who go from it to the others (`go`), whether or not their flows are drawn.
    workers, total : int
        Workers on the drawn lines, and in the whole answer.
    within : int or None
        Workers with both ends in the chosen area, by block; for a flow matrix, with both ends in one unit, and None if
        homes and workplaces are counted by different layers.
    between_grouped : int
        Workers with their ends in different units of one group, whose flows are not drawn.
    n_left_out : int
        Number of flows between units of different groups that no line has: smaller ones.
    n_between_grouped : int
        Number of flows between units of one group.
    least : int
        Workers of the smallest flow that is wanted: the number asked for, or the smallest that is drawn, rounded down
        to two digits.
    largest : int
        Workers of the largest flow between units that are not grouped, so that widths are the same at every zoom.
    largest_place : int
        Workers who come to work in, or who go from, the place with most of them, of those that are not grouped.
    n_flows : int
        Number of flows between units that are not grouped, so that shades are the same at every zoom.
    wide : int
        Workers of a flow that is drawn with the full width and shade: the third largest between units that are not
        grouped. Beside the two flows between twin cities, all others would be faint.
    """

    frame: pandas.DataFrame
    places: pandas.DataFrame
    workers: int
    within: int | None
    between_grouped: int
    total: int
    n_left_out: int
    n_between_grouped: int
    least: int
    largest: int
    largest_place: int
    n_flows: int
    wide: int


@dataclass(frozen=True, slots=True)
class _Flows:
    """All flows between places: rows of `places`, and the counts of :class:`Lines`.

    `places` has `kind` (the area, homes or workplaces), `row` of the layer's units, `name`, `lon_deg` and `lat_deg`.
    """

    places: pandas.DataFrame
    home: Ints
    work: Ints
    workers: Ints
    within: int | None
    total: int

    @property
    def largest(self) -> int:
        return int(self.workers.max(initial=0))

    @property
    def largest_place(self) -> int:
        totals = [numpy.bincount(end, self.workers, len(self.places)) for end in (self.work, self.home)]
        return int(max(total.max(initial=0) for total in totals))

    @property
    def wide(self) -> int:
        return int(numpy.sort(self.workers)[-_WIDE_RANK:].min(initial=self.largest))


def lines(release: Release, question: SettledQuestion, least: int = 0, zoom: int | None = None) -> Lines:
    """Return the largest flows between different places.

    Parameters
    ----------
    release : Release
    question : Question
    least : int
        Flows of fewer workers are left out. If 0, the largest are drawn, as many as can be read, and none
        whose expected error is as large as the flow itself.
    zoom : int, optional
        Zoom level of the map, as MapLibre counts it (the world is 512 pixels wide at 0); without it, or from
        `MAX_ZOOM` on, nothing is grouped.
    """

    def make() -> Lines:
        flows, group, names = _group_flows(release, question, zoom)
        home, work = group[flows.home], group[flows.work]
        apart = home != work
        pair, at = numpy.unique(home[apart] * len(names) + work[apart], return_inverse=True)
        workers = numpy.bincount(at, flows.workers[apart], len(pair)).astype(numpy.int64)
        order = numpy.argsort(-workers, kind="stable")
        shown = order[workers[order] >= least][: MAX_LINES if least else READABLE]
        frame = _frame(names, pair[shown], workers[shown])
        if not least:
            frame = _above_their_errors(release, question, flows, group, frame)
        drawn = frame["home_group"].to_numpy() * len(names) + frame["work_group"].to_numpy()
        is_drawn = numpy.isin(pair, drawn)[at]
        return Lines(
            frame=frame,
            places=names.assign(
                come=numpy.bincount(work[apart], flows.workers[apart], len(names)).astype(numpy.int64),
                go=numpy.bincount(home[apart], flows.workers[apart], len(names)).astype(numpy.int64),
            ),
            workers=int(frame["workers"].sum()),
            within=flows.within,
            between_grouped=int(flows.workers[~apart].sum()),
            total=flows.total,
            n_left_out=int((~is_drawn).sum()),
            n_between_grouped=int((~apart).sum()),
            least=least or _two_digits(int(frame["workers"].min() if len(frame) else 1)),
            largest=flows.largest,
            largest_place=flows.largest_place,
            n_flows=len(flows.workers),
            wide=flows.wide,
        )

    level = None if zoom is None or zoom >= MAX_ZOOM else max(zoom, 0)
    return release.once(("lines", question, least, level), make)


def _two_digits(n: int) -> int:
    """Return a number rounded down to two digits, which reads better than the smallest of the largest flows itself."""
    unit = int(10 ** max(len(str(n)) - 2, 0))
    return n // unit * unit


def error_of_line(
    release: Release, question: SettledQuestion, least: int, zoom: int | None, line: int
) -> float | None:
    """Return the expected error of one of the lines, by its position; None if it is not known.

    Raises
    ------
    IndexError
        If there is no such line.
    """
    drawn = lines(release, question, least, zoom).frame.iloc[[line]]
    flows, group, _ = _group_flows(release, question, zoom)
    return release.errors.of_count(_picks_of(release, question, flows, group, drawn)[0])


def flow_ends(
    release: Release, question: SettledQuestion
) -> tuple[npt.NDArray[numpy.float64], npt.NDArray[numpy.float64], Ints]:
    """Return longitude, latitude and workers of both ends of all flows between different units."""
    flows = _all_flows(release, question)
    at = numpy.concatenate([flows.home, flows.work])
    lon, lat = (flows.places[axis].to_numpy(numpy.float64)[at] for axis in ("lon_deg", "lat_deg"))
    return lon, lat, numpy.tile(flows.workers, 2)


def _above_their_errors(
    release: Release, question: SettledQuestion, flows: _Flows, group: Ints, frame: pandas.DataFrame
) -> pandas.DataFrame:
    """Return the flows that are larger than their expected errors, with these; unknown errors leave out nothing."""
    errors = release.errors.of_counts(_picks_of(release, question, flows, group, frame))
    known = frame.assign(expected_error=numpy.array(errors, dtype=numpy.float64))
    return known[~(known["workers"] <= known["expected_error"])].reset_index(drop=True)


def _picks_of(
    release: Release, question: SettledQuestion, flows: _Flows, group: Ints, frame: pandas.DataFrame
) -> list[Pick]:
    """Return what each line counts."""
    chosen = served_answers.pick(release, question)
    ends: dict[Side, Blocks | None] = {"home": chosen.home, "work": chosen.work}
    area = None if ENTRIES[question.analysis].pairs else ends[question.side]

    def find_blocks(end: Side, number: int) -> Blocks | None:
        blocks, within = _blocks_of(release, question, flows.places[group == number], end), ends[end]
        if blocks is None:
            return within
        if area is not None:  # the commutes that leave the area
            return numpy.setdiff1d(blocks, area)
        return blocks if within is None else numpy.intersect1d(blocks, within)

    # Lines with an end in common share its blocks, so that their errors are computed together.
    of_group = {
        end: {number: find_blocks(end, number) for number in frame[f"{end}_group"].unique().tolist()}
        for end in ends
    }
    return [
        Pick(home=of_group["home"][home], work=of_group["work"][work], filters=question.filters)
        for home, work in zip(frame["home_group"].tolist(), frame["work_group"].tolist(), strict=True)
    ]


def _blocks_of(
    release: Release, question: SettledQuestion, places: pandas.DataFrame, end: Side
) -> Blocks | None:
    """Return the blocks of grouped places, ascending; None for the chosen area."""
    if (places["kind"] == _AREA).any():
        return None
    units = _layers(release, question)[end]
    return numpy.sort(numpy.concatenate([units.blocks_of(int(row)) for row in places["row"]]))


def _layers(release: Release, question: SettledQuestion) -> dict[Side, LayerUnits]:
    """Return the units of homes and of workplaces."""
    if ENTRIES[question.analysis].pairs:
        return {
            "home": release.areas.units(question.home_layer),
            "work": release.areas.units(question.work_layer),
        }
    return {"home": release.areas.units(question.layer), "work": release.areas.units(question.layer)}


def _group_flows(
    release: Release, question: SettledQuestion, zoom: int | None
) -> tuple[_Flows, Ints, pandas.DataFrame]:
    """Return all flows, the group of each place, and the name and position of each group."""

    def make() -> tuple[_Flows, Ints, pandas.DataFrame]:
        flows = _all_flows(release, question)
        n_places = len(flows.places)
        both = numpy.concatenate([flows.home, flows.work])
        weight = numpy.bincount(both, numpy.tile(flows.workers, 2), n_places).astype(numpy.float64)
        group = _groups(flows.places, weight, zoom)
        return flows, group, _name_groups(flows.places, weight, group)

    return release.once(("grouped places", question, zoom), make)


def _groups(places: pandas.DataFrame, weight: npt.NDArray[numpy.float64], zoom: int | None) -> Ints:
    """Return the group of each place: the largest place left begins one and takes those near it."""
    n_places = len(places)
    if zoom is None or zoom >= MAX_ZOOM:
        return numpy.arange(n_places, dtype=numpy.int64)
    scale = 512 * 2.0**zoom / (2 * math.pi)
    x = numpy.radians(places["lon_deg"].to_numpy()) * scale
    y = mercator_y(places["lat_deg"].to_numpy()) * scale
    kind = places["kind"].to_numpy()
    group = numpy.full(n_places, -1, dtype=numpy.int64)
    n_groups = 0
    for at in numpy.argsort(-weight, kind="stable"):
        if group[at] >= 0:
            continue
        near = (
            (group < 0)
            & (kind == kind[at])
            & (numpy.hypot(x - x[at], y - y[at]) < (APART_PX if kind[at] != _AREA else 0.0))
        )
        near[at] = True
        group[near] = n_groups
        n_groups += 1
    return group


def _name_groups(
    places: pandas.DataFrame, weight: npt.NDArray[numpy.float64], group: Ints
) -> pandas.DataFrame:
    """Return a row for each group: its position, and the name of its largest place with the number of others."""
    ordered = places.assign(weight=weight + 1e-9, group=group).iloc[numpy.argsort(-weight, kind="stable")]
    first = ordered.drop_duplicates("group").set_index("group").sort_index()
    n_others = numpy.bincount(group, minlength=len(first)) - 1
    name = [
        f"{text} and {more:,} near it" if more else text
        for text, more in zip(first["name"], n_others, strict=True)
    ]
    columns = {
        axis: numpy.bincount(group, places[axis] * (weight + 1e-9)) / numpy.bincount(group, weight + 1e-9)
        if len(places)
        else numpy.empty(0)
        for axis in ("lon_deg", "lat_deg")
    }
    return pandas.DataFrame({"name": name} | columns)


def _frame(names: pandas.DataFrame, pair: Ints, workers: Ints) -> pandas.DataFrame:
    home, work = numpy.divmod(pair, max(len(names), 1))
    name = names["name"].to_numpy(dtype=object)
    label = [
        f"{first} → {second}<br>{_describe_count(n)}"
        for first, second, n in zip(name[home], name[work], workers.tolist(), strict=True)
    ]
    ends = {
        f"{end}_{axis}": names[axis].to_numpy()[at]
        for end, at in (("from", home), ("to", work))
        for axis in ("lon_deg", "lat_deg")
    }
    return pandas.DataFrame(
        ends
        | {"workers": workers, "label": label, "home_group": home, "work_group": work}
        | {"expected_error": numpy.full(len(pair), numpy.nan)}
    )


def _describe_count(workers: int) -> str:
    warning = caution(workers)
    text = f"{workers:,} worker{'s' * (workers != 1)}"
    return f"{text} ({warning})" if warning else text


def _all_flows(release: Release, question: SettledQuestion) -> _Flows:
    make: Callable[[Release, SettledQuestion], _Flows] = (
        _matrix_flows if ENTRIES[question.analysis].pairs else _star
    )
    return release.once(("all flows", question), lambda: make(release, question))


def _star(release: Release, question: SettledQuestion) -> _Flows:
    """Return flows between the middle of the chosen area and each unit, for the commutes that leave the area.

    Blocks decide which commutes leave: a unit that the area cuts has a flow for the part outside the area.
    """
    picked, end = served_answers.pick(release, question), question.shown_end
    chosen = release.areas.select(question.area).blocks
    block, workers = release.flows.by_block(picked, end)
    layer, everywhere = release.areas.units(question.layer), release.areas.places
    inside = numpy.ones(len(everywhere), dtype=bool)
    if chosen is not None:
        inside[:] = False
        inside[chosen] = True
    leaves = ~inside[block]
    counted = layer.of(block[leaves], workers[leaves])
    rows = layer.rows
    is_drawn = (counted > 0) & (rows["kind"] == "unit").to_numpy() & rows["lon_deg"].notna().to_numpy()
    drawn = numpy.flatnonzero(is_drawn)
    cut = numpy.isin(drawn, layer.code[inside])
    name = rows["name"].to_numpy(dtype=object)[drawn]
    middle = everywhere[inside]
    places = pandas.DataFrame(
        {
            "kind": [_AREA, *[_HOMES] * len(drawn)],
            "row": [-1, *drawn.tolist()],
            "name": [
                words.place_name(release, question) if question.areas else release.title,
                *("the rest of " + name[at] if cut[at] else name[at] for at in range(len(drawn))),
            ],
            "lon_deg": [float(middle["lon_deg"].mean()), *rows["lon_deg"].to_numpy()[drawn]],
            "lat_deg": [float(middle["lat_deg"].mean()), *rows["lat_deg"].to_numpy()[drawn]],
        }
    )
    far, here = numpy.arange(1, len(places)), numpy.zeros(len(drawn), dtype=numpy.int64)
    home, work = (far, here) if end == "home" else (here, far)
    return _Flows(places, home, work, counted[drawn], int(workers[~leaves].sum()), int(workers.sum()))


def _matrix_flows(release: Release, question: SettledQuestion) -> _Flows:
    matrix = cast(FlowMatrix, served_answers.result(release, question))
    cells = matrix.cells[(matrix.cells["home_kind"] == "unit") & (matrix.cells["work_kind"] == "unit")]
    one_layer = matrix.home_layer == matrix.work_layer
    same = (cells["home_id"] == cells["work_id"]) & one_layer
    within = int(cells.loc[same, "workers"].sum()) if one_layer else None
    margins = [(_HOMES, matrix.homes), (_HOMES if one_layer else _WORKS, matrix.works)]
    both = [
        margin[(margin["kind"] == "unit") & margin["lon_deg"].notna()].assign(of=of)[
            ["of", "unit_id", "name", "lon_deg", "lat_deg"]
        ]
        for of, margin in margins
    ]
    listed = pandas.concat(both).drop_duplicates(["of", "unit_id"]).reset_index(drop=True)
    units = _layers(release, question)
    layer_of = {of: units["home" if end == 0 else "work"] for end, (of, _) in enumerate(margins)}
    row = numpy.array(
        [layer_of[of].row_of(unit) for of, unit in zip(listed["of"], listed["unit_id"], strict=True)],
        dtype=numpy.int64,
    )
    places = listed.rename(columns={"of": "kind"}).assign(row=row)
    position = pandas.Series(
        numpy.arange(len(places)), index=pandas.MultiIndex.from_frame(places[["kind", "unit_id"]])
    )
    at = [
        position.reindex(
            pandas.MultiIndex.from_arrays([numpy.full(len(cells), of), cells[f"{end}_id"]])
        ).to_numpy()
        for end, (of, _) in zip(("home", "work"), margins, strict=True)
    ]
    drawn = ~(numpy.isnan(at[0]) | numpy.isnan(at[1]) | same.to_numpy())
    home, work = (column[drawn].astype(numpy.int64) for column in at)
    return _Flows(places, home, work, cells["workers"].to_numpy()[drawn], within, matrix.workers.value)
