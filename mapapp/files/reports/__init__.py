"""Reports that people keep: one model of what is said, written as HTML, PDF or XLSX."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import IO, Final, Literal

from mapapp.answers.served_release import ServedRelease
from mapapp.files.reports.build import ROWS_WITH_ERRORS, build
from mapapp.files.reports.content import Report
from mapapp.files.reports.html_report import write_html
from mapapp.files.reports.part import Part
from mapapp.files.reports.pdf_report import Paper, write_pdf
from mapapp.files.reports.xlsx_report import write_xlsx
from mapapp.progress import Report as Progress
from mapapp.progress import silent

__all__ = [
    "DRAWN",
    "FORMS",
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
"""Those that have pictures."""


def write_report(
    releases: Sequence[ServedRelease],
    parts: Sequence[Part],
    form: Form,
    stream: IO[bytes],
    *,
    paper: Paper = "a4",
    date: datetime.date | None = None,
    error_rows: int | None = ROWS_WITH_ERRORS,
    progress: Progress = silent,
) -> None:
    """Write a report on what its parts ask of releases: the same bytes for the same question of the same releases.

    Parameters
    ----------
    releases : sequence of ServedRelease
        Each is asked everything; of several, the earlier first.
    parts : sequence of Part
        The questions; each is put to each release, and the answers are compared.
    form : {"html", "pdf", "xlsx"}
    stream : binary stream
    paper : {"a4", "letter"}
        Of a PDF.
    date : date, optional
        To stand on the report; none without it.
    error_rows : int or None
        Rows of each table to give an expected error, beside the key numbers; None for no errors at all.
    progress : callable
        Called with (stage, done, total).

    Raises
    ------
    UsageError, GeometryError
        In one line, when a part asks for what a release does not have.
    """
    drawn = form in DRAWN
    report = build(releases, parts, date=date, error_rows=error_rows, pictures=drawn, progress=progress)
    write(report, form, stream, paper=paper)


def write(report: Report, form: Form, stream: IO[bytes], *, paper: Paper = "a4") -> None:
    """Write a report that was built."""
    if form == "html":
        write_html(report, stream)
    elif form == "pdf":
        write_pdf(report, stream, paper=paper)
    else:
        write_xlsx(report, stream)
