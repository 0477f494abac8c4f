"""The front page of a folder of reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from mapapp.files.reports.html_report import document, escape

_KIND: Final = '<p class="kind">CommuteMap reports</p>'
Row = tuple[str, str, Sequence[tuple[str, str]]]


def index_page(releases: Sequence[str], rows: Sequence[Row]) -> bytes:
    """A page with a row for each report: its name, what it says in a sentence, and (form, file) of its files."""
    title = f"Reports on {', '.join(releases)}"
    forms = list(dict.fromkeys(form for *_, files in rows for form, _ in files))
    heads = "".join(f'<th scope="col">{text}</th>' for text in ("Report", "In short", *map(str.upper, forms)))
    body = "".join(_row(row, forms) for row in rows)
    return "".join(
        document(
            title,
            [
                f"<header>\n{_KIND}\n<h1>{escape(title)}</h1>\n"
                f'<p class="subtitle">{len(rows):,} report{"s" * (len(rows) != 1)}</p>\n</header>\n<main>\n'
                f'<table><caption class="unseen">{escape(title)}</caption>'
                f"<thead><tr>{heads}</tr></thead><tbody>\n{body}</tbody></table>\n</main>\n"
            ],
        )
    ).encode()


def is_index(file: Path) -> bool:
    """Whether a file is such a page."""
    try:
        return _KIND.encode() in file.read_bytes()
    except OSError:
        return False


def _row(row: Row, forms: Sequence[str]) -> str:
    name, sentence, files = row
    places = dict(files)
    cells = "".join(f"<td>{_link(name, form, places.get(form))}</td>" for form in forms)
    return f'<tr><th scope="row">{escape(name)}</th><td>{escape(sentence)}</td>{cells}</tr>\n'


def _link(name: str, form: str, file: str | None) -> str:
    if file is None:
        return ""
    label = escape(f"{name} as {form.upper()}")
    return f'<a href="{quote(file)}" aria-label="{label}">{form.upper()}</a>'
