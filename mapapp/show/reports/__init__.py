"""Reports: one content model, written as HTML, PDF or XLSX."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import IO, Final, Literal

from mapapp.answers.release import Release
from mapapp.base.progress import Report as Progress
from mapapp.base.progress import silent
from mapapp.show.reports.build import ROWS_WITH_ERRORS, build
from mapapp.show.reports.content import Paper, Report
from mapapp.show.reports.html import write_html
from mapapp.show.reports.part import Part
from mapapp.show.reports.pdf import write_pdf
from mapapp.show.reports.remake import PRINTED_ROWS
from mapapp.show.reports.xlsx import write_xlsx

__all__ = [
    "DRAWN",
    "FORMS",
    "PRINTED_ROWS",
    "ROWS_WITH_ERRORS",
    "Form",
    "Paper",
    "Part",
    "Report",
    "build",
    "write",
    "write_report",
]

Form = Literal["html", "pdf", "xlsx"]
FORMS: Final[tuple[Form, ...]] = ("html", "pdf", "xlsx")
DRAWN: Final[tuple[Form, ...]] = ("html", "pdf")
"""Formats with pictures."""


def write_report(
    releases: Sequence[Release],
    parts: Sequence[Part],
    form: Form,
    stream: IO[bytes],
    *,
    paper: Paper | None = None,
    date: datetime.date | None = None,
    error_rows: int | None = ROWS_WITH_ERRORS,
    rows: int | None = PRINTED_ROWS,
    progress: Progress = silent,
) -> Report:
    """Write a report that puts the questions of its parts to releases, and return what was written.

    The same input gives the same bytes.

    Parameters
    ----------
    releases : sequence of Release
        Releases, earliest first; each answers every question.
    parts : sequence of Part
        The questions; the report compares their answers.
    form : {"html", "pdf", "xlsx"}
    stream : binary stream
    paper : {"a4", "letter"}, optional
        Paper size of a PDF; by default letter for places in the United States, else A4.
    date : date, optional
        Date printed on the report; by default none.
    error_rows : int or None
        Rows of each table that get an expected error, in addition to the key numbers; None for no errors at all.
    rows : int or None
        Printed rows of each table of areas; None for all. XLSX always has all.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    UsageError, GeometryError
        If a part asks for something that a release does not have; the message is one line.
    """
    report = build(
        releases,
        parts,
        date=date,
        error_rows=error_rows,
        rows=rows,
        pictures=form in DRAWN,
        mornings=form == "html",
        progress=progress,
    )
    write(report, form, stream, paper=paper)
    return report


def write(report: Report, form: Form, stream: IO[bytes], *, paper: Paper | None = None) -> None:
    """Write a finished report; a PDF on its usual paper, unless another is given."""
    if form == "html":
        write_html(report, stream)
    elif form == "pdf":
        write_pdf(report, stream, paper=paper)
    else:
        write_xlsx(report, stream)
