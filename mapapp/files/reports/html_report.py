"""Writes a report as one HTML file, without scripts or outside resources, suitable for printing."""

from __future__ import annotations

from typing import IO

from mapapp.files.reports.content import Report
from mapapp.files.reports.page_templates import write_page


def write_html(report: Report, stream: IO[bytes]) -> None:
    """Write a report; the same report gives the same bytes."""
    write_page(stream, "report.html", title=f"{report.title} – {report.subtitle}", report=report)
