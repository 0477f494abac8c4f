"""How a cross table is computed, which errors it has, and how it is shown."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pandas

from geodata.store.schema import COMMUTE_EDGES_MI
from geodata.text import list_names
from mapapp.answers.analyses.cross_table import ALL, KEYS, CrossTable
from mapapp.answers.analyses.entry import BarsEntry, Entry, NumberEntry, PageTable, TableEntry, WideTable
from mapapp.answers.analyses.grids import ERROR, TOTAL, Limit
from mapapp.answers.analyses.measures import Row
from mapapp.answers.analyses.picks_of_numbers import (
    Counts,
    PickOf,
    narrow_to_bands,
    narrow_to_values,
    of_area,
)
from mapapp.answers.areas.areas import Areas
from mapapp.answers.commutes.attributes import Attribute, in_sentence
from mapapp.answers.commutes.pick import Pick
from mapapp.answers.findings import sentences
from mapapp.answers.findings.words import LEAST_WORKERS, capital, rank_rows, residents, share_text
from mapapp.question.filters import CHARACTERISTICS

if TYPE_CHECKING:
    from mapapp.answers.analyses.cross_table import CrossTable


# A sentence that compares how far groups of workers commute, from a cross table with the distance of commutes.
#
# Each group's share of workers who commute at least some distance is compared. The distance is the edge of bands at
# which the share of all workers is closest to a half, so it does not depend on how the groups differ.
#
# The expected error of a share follows to first order (the delta method) from those of its counts, as if the errors of
# different cells were independent: with F far and N near workers of a group, whose errors are f and n, it is
# sqrt((N f)² + (F n)²) / (F + N)².

DISTANCE: Final = "distance_band"
"""The attribute of worker records that says how far home and work are apart."""
_KEYS: Final = ("first", "second")
_COARSE: Final = 0.01
"""With at least this expected error, shares are shown in whole percent."""


@dataclass(frozen=True, slots=True)
class FarShare:
    """Which share of a group commutes at least some distance.

    Attributes
    ----------
    name : str
        The group.
    share, error : float
        Between 0 and 1; the error is NaN if it is not known.
    """

    name: str
    share: float
    error: float


def compared_distances(answer: CrossTable) -> str:
    """Return a sentence on which group commutes far most often; empty unless the table is of distance by one more."""
    at = next(
        (place for place, attribute in enumerate(answer.attributes) if attribute.name == DISTANCE), None
    )
    if at is None or len(answer.attributes) != 2:
        return ""
    groups, edge = answer.attributes[1 - at], _middle_edge(answer.cells, _KEYS[at])
    shares = far_shares(answer.cells, groups, (_KEYS[1 - at], _KEYS[at]), edge)
    if len(shares) < 2:
        return ""
    far = f"{COMMUTE_EDGES_MI[edge - 1]:g} mile{'s' * (COMMUTE_EDGES_MI[edge - 1] != 1)} or more"
    return _sentence(shares, far, groups)


def far_shares(
    cells: pandas.DataFrame, groups: Attribute, keys: tuple[str, str], edge: int
) -> list[FarShare]:
    """Return the share of each group that commutes at least to an edge, largest first.

    Parameters
    ----------
    cells : DataFrame
        Of a cross table.
    groups : Attribute
    keys : tuple of (str, str)
        Columns of the codes of groups and of distances.
    edge : int
        First band that is far, from 1.
    """
    shares = []
    for code, label in zip(groups.codes, groups.labels, strict=True):
        group_cells = cells[cells[keys[0]] == code]
        is_far = group_cells[keys[1]].astype(int) >= edge
        far, near = group_cells[is_far], group_cells[~is_far]
        n_far, n_near = int(far["workers"].sum()), int(near["workers"].sum())
        if n_far + n_near < LEAST_WORKERS:
            continue
        errors = [math.hypot(*part["expected_error"].tolist()) for part in (far, near)]
        error = math.hypot(n_near * errors[0], n_far * errors[1]) / (n_far + n_near) ** 2
        shares.append(FarShare(label, n_far / (n_far + n_near), error))
    return sorted(shares, key=lambda share: -share.share)


def _middle_edge(cells: pandas.DataFrame, key: str) -> int:
    """Return the first far band: where the share of all workers beyond is closest to a half."""
    bands, workers = cells[key].astype(int), cells["workers"]
    whole = max(int(workers.sum()), 1)
    return min(
        range(1, len(COMMUTE_EDGES_MI) + 1),
        key=lambda edge: abs(int(workers[bands >= edge].sum()) / whole - 0.5),
    )


def _sentence(shares: Sequence[FarShare], far: str, groups: Attribute) -> str:
    most, least = shares[0], shares[-1]
    difference, error = most.share - least.share, math.hypot(most.error, least.error)
    digits = 0 if error >= _COARSE or math.isnan(error) else 1
    largest, smallest = (f"“{group.name}” ({100 * group.share:.{digits}f}%)" for group in (most, least))
    extremes = f"the {in_sentence(groups.title)} groups with the largest and the smallest share"
    if math.isnan(error):
        both = f"{largest} and {smallest}"
        subject = f"{both} are {extremes}" if len(shares) > 2 else f"{both} are the shares"
        return f"{subject} that commutes {far}; no ± is known here, so chance alone may have made the difference."
    points = f"{100 * difference:.{digits}f}"
    off = f"{points} percentage point{'s' * (points != '1')}, ±{max(100 * error, 0.1):.{digits}f}"
    if difference <= 2 * error:
        pair = (
            f"{capital(extremes)} that commutes {far}, {largest} and {smallest}," if len(shares) > 2 else ""
        )
        pair = pair or f"By the share that commutes {far}, {largest} and {smallest}"
        return f"{pair} are too close to tell apart: they differ by {off}."
    if len(shares) > 2:
        return (
            f"{largest} is the {in_sentence(groups.title)} group with the largest share that commutes {far}, "
            f"and {smallest} the one with the smallest: they differ by {off}."
        )
    return f"A larger share of the group {largest} than of {smallest} commutes {far}: the shares differ by {off}."


_N_ERROR_ROWS: Final = 400
_LARGEST: Final = 8


@dataclass(frozen=True, slots=True)
class Layout:
    """Which attribute of a cross table is where: the headings of groups of rows, the rows, and the columns.

    Attributes
    ----------
    group, row, column : int or None
        Positions of the attributes; None without one.
    """

    group: int | None
    row: int
    column: int | None


def layout_of(attributes: Sequence[Attribute]) -> Layout:
    """Return the layout of a cross table: of the last two attributes, the one with fewer values heads the columns."""
    if len(attributes) == 1:
        return Layout(None, 0, None)
    last = len(attributes) - 1
    row, column = (last, last - 1) if attributes[last].size > attributes[last - 1].size else (last - 1, last)
    return Layout(0 if len(attributes) == 3 else None, row, column)


Keyed = Mapping[tuple[str, ...], tuple[int, float]]
"""Workers and expected error by the codes of a cell or a total."""


def counts_by_key(answer: CrossTable) -> dict[tuple[str, ...], tuple[int, float]]:
    """Return workers and expected error of every cell and total, by their codes."""
    whole = answer.workers.expected_error
    counts = {(ALL,) * len(KEYS): (answer.workers.value, float("nan") if whole is None else whole)}
    for frame in (answer.cells, answer.totals):
        keys = zip(*(frame[name] for name in KEYS), strict=True)
        values = zip(frame["workers"].tolist(), frame["expected_error"].tolist(), strict=True)
        counts |= dict(zip(keys, values, strict=True))
    return counts


def _values_and_all(attribute: Attribute) -> list[tuple[str, str]]:
    """Return code and label of every value, and of all of them together."""
    return [*zip(attribute.codes, attribute.labels, strict=True), (ALL, "All")]


def _cells(
    layout: Layout, chosen: Mapping[int, str], columns: Sequence[str], counts: Keyed
) -> list[tuple[int, float]]:
    """Return the counts of one row: `chosen` has the codes of its group and of itself, by position."""
    cells = []
    for code in columns:
        here = dict(chosen) if layout.column is None else {**chosen, layout.column: code}
        cells.append(counts[tuple(here.get(place, ALL) for place in range(len(KEYS)))])
    return cells


def _columns(answer: CrossTable, layout: Layout) -> list[tuple[str, str]]:
    return [(ALL, "Workers")] if layout.column is None else _values_and_all(answer.attributes[layout.column])


def wide_table(answer: CrossTable) -> WideTable:
    """Return a cross table as the page shows it: with a heading for each value of the first of three attributes."""
    layout, counts = layout_of(answer.attributes), counts_by_key(answer)
    columns = _columns(answer, layout)
    groups = [("", "")] if layout.group is None else _values_and_all(answer.attributes[layout.group])
    rows: list[tuple[str, str, list[tuple[int, float]]]] = []
    for code, label in groups:
        if layout.group is not None:
            rows.append((f"{answer.attributes[layout.group].title}: {label}", "", []))
        for value, name in _values_and_all(answer.attributes[layout.row]):
            chosen = {layout.row: value} | ({} if layout.group is None else {layout.group: code})
            rows.append((name, "", _cells(layout, chosen, [key for key, _ in columns], counts)))
    return WideTable(
        tuple(label for _, label in columns),
        pandas.DataFrame(rows, columns=["label", "sub", "counts"]),
        has_row_shares=layout.column is not None,
    )


def grid(answer: CrossTable, limit: Limit | None = None) -> pandas.DataFrame:
    """Return a cross table with two sides and totals, as text, CSV, workbooks, and reports show it."""
    layout, counts = layout_of(answer.attributes), counts_by_key(answer)
    columns = _columns(answer, layout)
    groups = [("", "")] if layout.group is None else _values_and_all(answer.attributes[layout.group])
    rows = _values_and_all(answer.attributes[layout.row])
    keys = [(group, row) for group in groups for row in rows]
    by_heading: dict[str, object] = {}
    if layout.group is not None:
        by_heading[answer.attributes[layout.group].title] = [label for (_, label), _ in keys]
    by_heading[answer.attributes[layout.row].title] = [label for _, (_, label) in keys]
    lines = [
        _cells(
            layout,
            {layout.row: row} | ({} if layout.group is None else {layout.group: group}),
            [code for code, _ in columns],
            counts,
        )
        for (group, _), (row, _) in keys
    ]
    has_errors = any(error > 0 for line in lines for _, error in line)
    for place, (code, label) in enumerate(columns):
        name = TOTAL if code == ALL and layout.column is not None else label
        name = f"{name} " if name in by_heading else name  # a value may be called like an attribute
        by_heading[name] = [line[place][0] for line in lines]
        if has_errors:
            by_heading[f"{name}{ERROR}"] = [line[place][1] for line in lines]
    return pandas.DataFrame(by_heading)


def _pick_of(answer: CrossTable, pick: Pick) -> PickOf:
    """Return what each row counts: the pick, narrowed to the values of its attributes."""

    def of_row(row: Row) -> Pick | None:
        bands, values = {}, []
        for name, key in zip(answer.by, KEYS, strict=False):
            code = getattr(row, key)
            if code == ALL:
                continue
            if name in CHARACTERISTICS:
                bands[name] = int(code)
            else:
                values.append(f"{name}:{code}")
        return narrow_to_values(narrow_to_bands(pick, bands), values)

    return of_row


def _counts(areas: Areas, answer: CrossTable) -> Counts:
    pick = of_area(areas, answer)
    of_row = _pick_of(answer, pick)
    return {"workers": pick}, {"cells": of_row, "totals": of_row}


def _titles(answer: CrossTable) -> str:
    return list_names([in_sentence(attribute.title) for attribute in answer.attributes])


def _title(answer: CrossTable) -> str:
    first, *others = (attribute.title for attribute in answer.attributes)
    return " by ".join([first, *map(in_sentence, others)])


def _caption(answer: CrossTable) -> str:
    named = [f"{key}: {attribute.title}" for key, attribute in zip(KEYS, answer.attributes, strict=False)]
    return f"Shares are of all workers counted. {'; '.join(named)}."


def _who(answer: CrossTable) -> str:
    if answer.about.area_side == "home":
        return residents("Workers who live in the area", answer.about)
    return "Workers who work in the area"


def _findings(answer: CrossTable) -> tuple[str, ...]:
    """Return how many people there are, which group commutes farther if that is asked, and the largest group."""
    first = sentences.of_people(answer, answer.workers)
    n = answer.workers.value
    if n < LEAST_WORKERS:
        return first
    rows = rank_rows(answer.cells.sort_values("workers", ascending=False, kind="stable"), "label")
    share = share_text(rows[0].workers, n, rows[0].error)
    compared = compared_distances(answer)
    first = (*first, compared) if compared else first
    return (*first, f"By {_titles(answer)}, the largest group is {rows[0].name}: {share} of them.")


ENTRY: Final = Entry(
    counts=_counts,
    findings=_findings,
    numbers=(NumberEntry("workers", _who),),
    tables={
        "cells": TableEntry(_title, _caption),
        "totals": TableEntry(
            lambda answer: f"{_title(answer)}: totals", "An empty code means all values of that attribute."
        ),
    },
    page_table=PageTable("Cross table", "Group", wide=wide_table),
    grid=grid,
    in_grid=("totals",),
    n_error_rows=_N_ERROR_ROWS,
    compared="cells",
    keys=KEYS,
    names=("label",),
    bars=(BarsEntry("The largest groups", "cells", n_rows=_LARGEST, by_size=True),),
)
