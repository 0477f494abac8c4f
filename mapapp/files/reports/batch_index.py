"""The index page of a folder of reports."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Final
from urllib.parse import quote

from markupsafe import Markup

from mapapp.files.reports.page_templates import write_page

_MARKER: Final = '<p class="kind">CommuteMap reports</p>'
Row = tuple[str, str, Sequence[tuple[str, str]]]


def index_page(releases: Sequence[str], rows: Sequence[Row]) -> bytes:
    """Return a page with a row for each report: its name, its answer in a sentence, and (form, file) of its files."""
    page = BytesIO()
    write_page(
        page,
        "batch_index.html",
        title=f"Reports on {', '.join(releases)}",
        marker=Markup(_MARKER),
        forms=list(dict.fromkeys(form for *_, files in rows for form, _ in files)),
        rows=[(name, words, {form: quote(file) for form, file in files}) for name, words, files in rows],
    )
    return page.getvalue()


def is_index(file: Path) -> bool:
    """Whether a file is such a page."""
    try:
        return _MARKER.encode() in file.read_bytes()
    except OSError:
        return False
