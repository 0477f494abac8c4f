"""What the answers of one report have beside each other: areas side by side, and releases one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Final

import pandas

from mapapp.queries.change import change
from mapapp.queries.release import ServedRelease
from mapapp.queries.results import Change, FlowMatrix, Result
from mapapp.reports.content import Column, Table
from mapapp.reports.numbers import key_numbers
from mapapp.reports.tables import table_of

MOST_BESIDE: Final = 8
"""As many areas have columns of their own beside each other."""

_KEYS: Final = ("unit_id", "kind", "characteristic", "group", "band", "direction")


def comparison(found: Sequence[tuple[ServedRelease, Result]]) -> tuple[Table, ...]:
    """The tables of a comparison; none for a single answer."""
    by_analysis: dict[str, list[tuple[ServedRelease, Result]]] = {}
    for release, result in found:
        by_analysis.setdefault(result.about.title, []).append((release, result))
    made: list[Table] = []
    for number, (title, group) in enumerate(by_analysis.items(), 1):
        if len(group) > 1:
            made.append(_key_numbers(f"compare{number}", title, group))
            made += _changes(f"compare{number}_change", title, group)
            made += _beside(f"compare{number}_rows", title, group)
    return tuple(made)


def _key_numbers(name: str, title: str, group: Sequence[tuple[ServedRelease, Result]]) -> Table:
    """A row an answer, a column a key number."""
    first = key_numbers(group[0][1])
    columns = [
        Column(name="area", head="Area", kind="text"),
        Column(name="release", head="Release", kind="text", printed=len({r.slug for r, _ in group}) > 1),
    ]
    for place, number in enumerate(first):
        columns.append(Column(name=f"number_{place + 1}", head=number.label, kind=number.kind))
        if number.error is not None:
            columns.append(Column(name=f"error_{place + 1}", head="Expected error", kind="error"))
    rows = []
    for release, result in group:
        row: list[Any] = [result.about.area, release.title]
        for number, like in zip(key_numbers(result), first, strict=True):
            row.append(number.value)
            if like.error is not None:
                row.append(number.error)
        rows.append(tuple(row))
    return Table(
        name=name,
        title=f"{title}: key numbers",
        words="One row for each area and release.",
        columns=tuple(columns),
        rows=tuple(rows),
    )


def _changes(name: str, title: str, group: Sequence[tuple[ServedRelease, Result]]) -> list[Table]:
    """What changed in each area from one release to the next."""
    made: list[Table] = []
    areas: dict[str, list[Result]] = {}
    for _, result in group:
        areas.setdefault(result.about.area_text, []).append(result)
    for results in areas.values():
        for before, after in pairwise(results):
            found = change(before, after)
            made.append(_change_table(f"{name}{len(made) + 1}", title, found))
    return made


def _change_table(name: str, title: str, found: Change) -> Table:
    order = found.rows["change"].abs().sort_values(ascending=False, kind="stable").index
    about = found.about
    return table_of(
        name,
        f"{about.area}, {title}: {about.release}",
        " ".join(["Largest change first; its share is of the earlier count.", *found.about.notes]),
        found.rows.loc[order],
    )


def _beside(name: str, title: str, group: Sequence[tuple[ServedRelease, Result]]) -> list[Table]:
    """The rows of the main table, with a column of workers for each area."""
    areas = {result.about.area_text for _, result in group}
    one_release = len({release.slug for release, _ in group}) == 1
    results = [result for _, result in group]
    if not one_release or len(areas) < 2 or len(group) > MOST_BESIDE or isinstance(results[0], FlowMatrix):
        return []
    frames = [next(iter(result.tables().values())) for result in results]
    keys = [key for key in _KEYS if all(key in frame.columns for frame in frames)]
    labels = [each for each in ("name", "label", "band_label") if each in frames[0].columns]
    if not keys or any(frame.duplicated(keys).any() for frame in frames):
        return []
    parts = [frame.set_index(keys) for frame in frames]
    index = parts[0].index
    for part in parts[1:]:
        index = index.union(part.index, sort=False)
    named = pandas.concat([part[labels] for part in parts])
    named = named[~named.index.duplicated()].reindex(index)
    counts = [part["workers"].reindex(index, fill_value=0).to_numpy("int64") for part in parts]
    plain = table_of(name, f"{title}: rows beside each other", "", named.reset_index())
    heads = [
        Column(name=f"workers_{place + 1}", head=result.about.area, kind="count")
        for place, result in enumerate(results)
    ]
    order = sorted(range(len(index)), key=lambda at: -sum(int(each[at]) for each in counts))
    ranked = order if "name" in labels else range(len(index))
    return [
        Table(
            name=name,
            title=f"{title}: rows beside each other",
            words="Workers in each area; every row that any of them has.",
            columns=(*plain.columns, *heads),
            rows=tuple((*plain.rows[at], *(int(each[at]) for each in counts)) for at in ranked),
        )
    ]
