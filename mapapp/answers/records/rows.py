"""The rows of worker records in an area, a page at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mapapp.answers import served_answers
from mapapp.answers.served_release import ServedRelease
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


def record_rows(release: ServedRelease, question: Question, page: int = 1) -> RecordRows:
    """Return one page of the rows that a question covers, ordered by workplace; a page that is too high is the last.

    Raises
    ------
    UsageError, GeometryError
        If the release does not have an area or an attribute of the question.
    """
    pick = served_answers.pick(release, question)
    flows, attributes = release.analyses.flows, tuple(release.attributes)
    n_rows = int(flows.by_segment(pick).sum())
    n_pages = min(max(-(-n_rows // ROWS_PER_PAGE), 1), MOST_PAGES)
    number = min(max(page, 1), n_pages)
    work, home, values = flows.rows(pick, first=(number - 1) * ROWS_PER_PAGE, n=ROWS_PER_PAGE)
    units = release.areas.units(release.areas.usual.named)
    names = units.rows["name"].to_numpy(dtype=object)
    columns = [
        [str(names[units.code[block]]) for block in work],
        [str(names[units.code[block]]) for block in home],
        *([each.labels[place] for place in values[:, column]] for column, each in enumerate(attributes)),
    ]
    return RecordRows(
        n_rows=n_rows,
        page=number,
        n_pages=n_pages,
        heads=("Works in", "Lives in", *(each.title for each in attributes)),
        rows=tuple(zip(*columns, strict=True)),
    )
