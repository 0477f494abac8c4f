"""The picks of commutes that the numbers and rows of each answer count, for their expected errors."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas

from mapapp.answers.analyses.measures import Row
from mapapp.answers.analyses.results import (
    AreaComparison,
    AreaProfile,
    Destinations,
    DistanceDirection,
    FlowMatrix,
    InflowOutflow,
    Kind,
    PairedAreas,
    Result,
)
from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.layer_units import LayerUnits
from mapapp.answers.commutes.pick import Blocks, Pick
from mapapp.question.fields import Side
from mapapp.question.filters import BANDS, CHARACTERISTICS, Filters
from mapapp.question.question import OTHER_END

PickOf = Callable[[Row], Pick | None]
"""Returns what a row counts."""
Counts = tuple[dict[str, Pick], dict[str, PickOf]]
"""What the numbers count, by name; and what the rows count, by table."""


def of_area(areas: Areas, answer: Result) -> Pick:
    """Return everything that an answer about one area counts."""
    blocks = areas.select(answer.about.area_text).blocks
    return Pick.at(answer.about.area_side, blocks, kept_by(answer))


def kept_by(answer: Result) -> Filters:
    """Return the filters of an answer."""
    return Filters(*answer.about.kept_bands, answer.about.kept_attributes)


def of_profile(areas: Areas, answer: AreaProfile) -> Counts:
    """Return the counts of an area profile."""
    pick = of_area(areas, answer)
    by_segment = _by_segment(pick)
    tables = {"bands": by_band(pick), "segments": by_segment, "margins": by_segment}
    return {"workers": pick}, tables | ({"attributes": by_value(pick)} if len(answer.attributes) else {})


def of_comparison(areas: Areas, answer: AreaComparison) -> Counts:
    """Return the counts of an area comparison."""
    pick = of_area(areas, answer)
    return {"workers": pick}, {"units": by_unit(pick, answer.about.area_side, areas.units(answer.layer))}


def of_destinations(areas: Areas, answer: Destinations) -> Counts:
    """Return the counts of destinations."""
    pick = of_area(areas, answer)
    end = OTHER_END[answer.about.area_side]
    return {"workers": pick}, {"units": by_unit(pick, end, areas.units(answer.layer))}


def of_distance_direction(areas: Areas, answer: DistanceDirection) -> Counts:
    """Return the counts of distances and directions; the errors of their rows have a separate formula."""
    return {"workers": of_area(areas, answer)}, {}


def of_inflow_outflow(areas: Areas, answer: InflowOutflow) -> Counts:
    """Return the counts of inflow and outflow."""
    blocks = areas.select(answer.about.area_text).blocks
    n_blocks = len(areas.places)
    inside = np.arange(n_blocks, dtype=np.int32) if blocks is None else blocks
    outside = np.setdiff1d(np.arange(n_blocks, dtype=np.int32), inside, assume_unique=True)
    stay = Pick(home=blocks, work=blocks, filters=kept_by(answer))
    # The total of workers is published unchanged, so inflow is as uncertain as the workers who stay.
    groups = {"inflow": stay, "outflow": replace(stay, work=outside), "stay": stay}
    living = replace(stay, work=None)
    numbers = {**groups, "living": living, "employed": replace(stay, home=None), "net_inflow": living}
    return numbers, {
        "groups": lambda row: groups[row.group],
        "segments": lambda row: by_band(groups[row.group])(row),
    }


def of_paired(areas: Areas, answer: PairedAreas) -> Counts:
    """Return the counts of paired areas."""
    pick = _of_two_areas(areas, answer)
    numbers = {"workers": pick, "living": replace(pick, work=None), "employed": replace(pick, home=None)}
    return numbers, {"bands": by_band(pick)}


def of_flow_matrix(areas: Areas, answer: FlowMatrix) -> Counts:
    """Return the counts of a flow matrix."""
    pick = _of_two_areas(areas, answer)
    homes = by_unit(pick, "home", areas.units(answer.home_layer))
    works = by_unit(pick, "work", areas.units(answer.work_layer))

    return {"workers": pick}, {"cells": CellPicks(pick, homes, works), "homes": homes, "works": works}


class CellPicks:
    """The picks of the cells of a flow matrix.

    Attributes
    ----------
    pick : Pick
        The whole matrix.
    """

    def __init__(self, pick: Pick, homes: PickOf, works: PickOf) -> None:
        self.pick = pick
        self._homes, self._works = homes, works

    def __call__(self, row: Row) -> Pick:
        """Return the pick of a cell."""
        home, work = _unit_of(self._homes, row, "home").home, _unit_of(self._works, row, "work").work
        return replace(self.pick, home=home, work=work)


def _of_two_areas(areas: Areas, answer: Result) -> Pick:
    home, work = (areas.select(text).blocks for text in answer.about.area_text.split(" | "))
    return Pick(home=home, work=work, filters=kept_by(answer))


def by_band(pick: Pick) -> PickOf:
    """Return the picks of rows with ``characteristic`` and ``band``."""
    return lambda row: narrow_to_bands(pick, {row.characteristic: row.band})


def _by_segment(pick: Pick) -> PickOf:
    """Return the picks of rows with ``age``, ``earnings`` and ``industry``; band 0 is every band."""
    return lambda row: narrow_to_bands(
        pick, {name: band for name in CHARACTERISTICS if (band := getattr(row, name))}
    )


def by_value(pick: Pick) -> PickOf:
    """Return the picks of rows with ``attribute`` and ``code``."""
    return lambda row: narrow_to_values(pick, [f"{row.attribute}:{row.code}"])


def narrow_to_values(pick: Pick, values: Iterable[str]) -> Pick:
    """Return a pick narrowed to one value of some further attributes; an empty pick if a filter excludes one."""
    kept = list(pick.filters.attributes)
    for value in values:
        name = value.partition(":")[0]
        own_values = [text for text in kept if text.startswith(f"{name}:")]
        if own_values and value not in own_values:
            return replace(pick, work=np.empty(0, dtype=np.int32))
        kept = [text for text in kept if text not in own_values] + [value]
    return replace(pick, filters=replace(pick.filters, attributes=tuple(kept)))


def narrow_to_bands(pick: Pick, wanted: dict[str, int]) -> Pick:
    """Return the pick narrowed to these bands; an empty pick if it excludes one of them."""
    kept = {name: getattr(pick.filters, name) or BANDS for name in CHARACTERISTICS}
    if any(band not in kept[name] for name, band in wanted.items()):
        return replace(pick, work=np.empty(0, dtype=np.int32))
    bands = kept | {name: (band,) for name, band in wanted.items()}
    filters = Filters(bands["age"], bands["earnings"], bands["industry"], pick.filters.attributes)
    return replace(pick, filters=filters)


class UnitPicks:
    """The picks of rows with ``kind`` and ``unit_id``: the workers whose `end` is in that unit."""

    def __init__(self, pick: Pick, end: Side, units: LayerUnits) -> None:
        self._pick, self._end, self._units = pick, end, units

    def __call__(self, row: Row) -> Pick | None:
        """Return the pick of a row; None if the layer does not have its unit."""
        return self.together([(row.kind, row.unit_id)])

    def together(self, keys: Iterable[tuple[Kind, str]]) -> Pick | None:
        """Return the pick of several units, by kind and identifier; None if the layer does not have one of them."""
        wanted = list(keys)
        rows = [row for kind, unit_id in wanted if (row := self._units.row_of(unit_id, kind)) is not None]
        if len(rows) < len(wanted):
            return None
        blocks = self._blocks_of(rows)
        if self._end == "work":
            return replace(self._pick, work=blocks)
        return replace(self._pick, home=blocks)

    def _blocks_of(self, rows: list[int]) -> Blocks:
        """Return the blocks of some units that the pick has at its end."""
        chosen: Blocks | None = getattr(self._pick, self._end)
        if len(rows) == 1:
            blocks = self._units.blocks_of(rows[0])
            return blocks if chosen is None else blocks[self._has_block[blocks]]
        wanted = np.zeros(len(self._units.rows), dtype=np.bool_)
        wanted[rows] = True
        if chosen is None:
            return np.flatnonzero(wanted[self._units.code]).astype(np.int32)
        return chosen[wanted[self._units.code[chosen]]]

    @cached_property
    def _has_block(self) -> npt.NDArray[np.bool_]:
        """Whether the pick has each block at its end."""
        marks = np.zeros(self._units.code.size, dtype=np.bool_)
        marks[getattr(self._pick, self._end)] = True
        return marks


def pick_of_rows(pick_of: PickOf, rest: pandas.DataFrame) -> Pick | None:
    """Return the pick of all rows that a short table leaves out; None if no single pick counts them."""
    if not isinstance(pick_of, UnitPicks) or rest.empty:
        return None
    return pick_of.together(zip(rest["kind"], rest["unit_id"], strict=True))


def by_unit(pick: Pick, end: Side, units: LayerUnits) -> PickOf:
    """Return the picks of rows with ``kind`` and ``unit_id``: the workers whose `end` is in that unit."""
    return UnitPicks(pick, end, units)


class _Row:
    """A unit in the form that `by_unit` expects."""

    def __init__(self, kind: str, unit_id: str) -> None:
        self.kind = kind
        self.unit_id = unit_id


def _unit_of(of: PickOf, row: object, end: Side) -> Pick:
    """Return the pick of one end of a cell of a flow matrix."""
    pick = of(_Row(getattr(row, f"{end}_kind"), getattr(row, f"{end}_id")))
    assert pick is not None
    return pick
