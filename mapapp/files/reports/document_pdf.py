"""Documents of chapters and tables as PDF, in the type of reports."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from mapapp.answers.chapters import Chapter
from mapapp.files.reports.content import Paper, Table
from mapapp.files.reports.pdf_report import MOST_ROWS, table_data, typeset

__all__ = ["Document", "document_pdf"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A document that is no report of a release.

    Attributes
    ----------
    title, subtitle : str
    label, footer : str
        What kind of document it is, above the title and on every page; a line below every page.
    parts : tuple of Chapter or Table
        In their order.
    """

    title: str
    subtitle: str
    label: str
    footer: str
    parts: tuple[Chapter | Table, ...]


def document_pdf(document: Document, *, paper: Paper = "a4") -> bytes:
    """Return a document as PDF/UA-1; the same document gives the same bytes."""
    return typeset(
        "document",
        {
            "title": document.title,
            "subtitle": document.subtitle,
            "label": document.label,
            "footer": document.footer,
            "parts": [_part(part) for part in document.parts],
        },
        paper=paper,
    )


def _part(part: Chapter | Table) -> dict[str, object]:
    if isinstance(part, Table):
        return {"kind": "table", **table_data(part, MOST_ROWS)}
    return {"kind": "chapter", **dataclasses.asdict(part)}
