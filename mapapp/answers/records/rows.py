"""The rows of worker records in an area, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from mapapp.answers import served_answers
from mapapp.answers.release import Release
from mapapp.question.question import Question

ROWS_PER_PAGE: Final = 50
MOST_PAGES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRows:
    """One page of rows.

    Attributes
    ----------
    n_rows : int
        Rows that the question covers, on all pages.
    page, n_pages : int
        This page, from 1, and the number of pages that can be shown.
    heads : tuple of str
        Workplace, home, and the title of each attribute.
    rows : tuple of tuple of str
        Names and labels.
    """

    n_rows: int
    page: int
    n_pages: int
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def record_rows(release: Release, question: Question, page: int = 1) -> RecordRows:
    """Return one page of the rows that a question covers, ordered by workplace; a page that is too high is the last.

    Raises
    ------
    UsageError, GeometryError
        If the release does not have an area or an attribute of the question.
    """
    pick = served_answers.pick(release, question)
    flows, attributes = release.flows, tuple(release.attributes)
    n_rows = int(flows.by_segment(pick).sum())
    n_pages = min(max(-(-n_rows // ROWS_PER_PAGE), 1), MOST_PAGES)
    number = min(max(page, 1), n_pages)
    work, home, values = flows.rows(pick, first=(number - 1) * ROWS_PER_PAGE, n=ROWS_PER_PAGE)
    columns = [
        _names(release, work),
        _names(release, home),
        *(
            [attribute.labels[place] for place in values[:, column]]
            for column, attribute in enumerate(attributes)
        ),
    ]
    return RecordRows(
        n_rows=n_rows,
        page=number,
        n_pages=n_pages,
        heads=("Works in", "Lives in", *(attribute.title for attribute in attributes)),
        rows=tuple(zip(*columns, strict=True)),
    )


def _names(release: Release, blocks: npt.NDArray[np.int32]) -> list[str]:
    """Return the unit of the usual layer in which each block is; outside any, its county with a word on that."""
    units, counties = (release.areas.units(level) for level in (release.areas.usual.named, "county"))
    names = []
    for block in blocks:
        unit, county = units.rows.iloc[units.code[block]], counties.rows.iloc[counties.code[block]]
        outside = unit["kind"] == "none" and county["kind"] == "unit"
        names.append(f"{county['name']}, {str(unit['name']).lower()}" if outside else str(unit["name"]))
    return names
