"""How a cross table is computed, which errors it has, and how it is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pandas

from mapapp.answers import finding_sentences, words
from mapapp.answers.areas import Areas
from mapapp.answers.attributes import Attribute, in_sentence
from mapapp.answers.commute_pick import Pick
from mapapp.answers.cross_table import ALL, KEYS, CrossTable
from mapapp.answers.distance_shares import compared_distances
from mapapp.answers.entry import BarsEntry, Entry, NumberEntry, PageTable, TableEntry, WideTable
from mapapp.answers.finding_words import LEAST_WORKERS, ranked, residents, share_text
from mapapp.answers.grids import ERROR, TOTAL, Limit
from mapapp.answers.picks import Counts, PickOf, narrowed, of_area, with_values
from mapapp.answers.table_rows import Row
from mapapp.question.filters import CHARACTERISTICS

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
    found = {(ALL,) * len(KEYS): (answer.workers.value, float("nan") if whole is None else whole)}
    for frame in (answer.cells, answer.totals):
        keys = zip(*(frame[name] for name in KEYS), strict=True)
        values = zip(frame["workers"].tolist(), frame["expected_error"].tolist(), strict=True)
        found |= dict(zip(keys, values, strict=True))
    return found


def _with_all(attribute: Attribute) -> list[tuple[str, str]]:
    """Return code and label of every value, and of all of them together."""
    return [*zip(attribute.codes, attribute.labels, strict=True), (ALL, "All")]


def _cells(
    layout: Layout, chosen: Mapping[int, str], columns: Sequence[str], counts: Keyed
) -> list[tuple[int, float]]:
    """Return the counts of one row: `chosen` has the codes of its group and of itself, by position."""
    found = []
    for code in columns:
        here = dict(chosen) if layout.column is None else {**chosen, layout.column: code}
        found.append(counts[tuple(here.get(place, ALL) for place in range(len(KEYS)))])
    return found


def _columns(answer: CrossTable, layout: Layout) -> list[tuple[str, str]]:
    return [(ALL, "Workers")] if layout.column is None else _with_all(answer.attributes[layout.column])


def wide_table(answer: CrossTable) -> WideTable:
    """Return a cross table as the page shows it: with a heading for each value of the first of three attributes."""
    layout, counts = layout_of(answer.attributes), counts_by_key(answer)
    columns = _columns(answer, layout)
    groups = [("", "")] if layout.group is None else _with_all(answer.attributes[layout.group])
    rows: list[tuple[str, str, list[tuple[int, float]]]] = []
    for code, label in groups:
        if layout.group is not None:
            rows.append((f"{answer.attributes[layout.group].title}: {label}", "", []))
        for value, name in _with_all(answer.attributes[layout.row]):
            chosen = {layout.row: value} | ({} if layout.group is None else {layout.group: code})
            rows.append((name, "", _cells(layout, chosen, [each for each, _ in columns], counts)))
    return WideTable(
        tuple(label for _, label in columns),
        pandas.DataFrame(rows, columns=["label", "sub", "counts"]),
        has_row_shares=layout.column is not None,
    )


def grid(answer: CrossTable, limit: Limit | None = None) -> pandas.DataFrame:
    """Return a cross table with two sides and totals, as text, CSV, workbooks, and reports show it."""
    layout, counts = layout_of(answer.attributes), counts_by_key(answer)
    columns = _columns(answer, layout)
    groups = [("", "")] if layout.group is None else _with_all(answer.attributes[layout.group])
    rows = _with_all(answer.attributes[layout.row])
    keys = [(group, row) for group in groups for row in rows]
    found: dict[str, object] = {}
    if layout.group is not None:
        found[answer.attributes[layout.group].title] = [label for (_, label), _ in keys]
    found[answer.attributes[layout.row].title] = [label for _, (_, label) in keys]
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
        name = f"{name} " if name in found else name  # a value may be called like an attribute
        found[name] = [line[place][0] for line in lines]
        if has_errors:
            found[f"{name}{ERROR}"] = [line[place][1] for line in lines]
    return pandas.DataFrame(found)


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
        return with_values(narrowed(pick, bands), values)

    return of_row


def _counts(areas: Areas, answer: CrossTable) -> Counts:
    pick = of_area(areas, answer)
    of_row = _pick_of(answer, pick)
    return {"workers": pick}, {"cells": of_row, "totals": of_row}


def _titles(answer: CrossTable) -> str:
    return words.listed([in_sentence(each.title) for each in answer.attributes])


def _title(answer: CrossTable) -> str:
    first, *others = (each.title for each in answer.attributes)
    return " by ".join([first, *map(in_sentence, others)])


def _caption(answer: CrossTable) -> str:
    named = [f"{key}: {each.title}" for key, each in zip(KEYS, answer.attributes, strict=False)]
    return f"Shares are of all workers counted. {'; '.join(named)}."


def _who(answer: CrossTable) -> str:
    if answer.about.area_side == "home":
        return residents("Workers who live in the area", answer.about)
    return "Workers who work in the area"


def _findings(answer: CrossTable) -> tuple[str, ...]:
    """Return how many people there are, which group commutes farther if that is asked, and the largest group."""
    first = finding_sentences.of_people(answer, answer.workers)
    n = answer.workers.value
    if n < LEAST_WORKERS:
        return first
    rows = ranked(answer.cells.sort_values("workers", ascending=False, kind="stable"), "label")
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
