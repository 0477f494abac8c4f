"""The Jinja templates of HTML files and notebooks, and how texts enter them."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from pathlib import Path
from typing import IO, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from mapapp.show.content.palette import COLOR_SCHEMES
from mapapp.show.reports.content import ERRORS, NUMERIC, Column, Picture, Report, shown, upright

_MIME: Final = {"svg": "image/svg+xml", "png": "image/png"}
_PIECES_AT_ONCE: Final = 10_000  # of a page; a row of a table is about twenty


def render(name: str, **values: object) -> str:
    """Return a template filled with values.

    Parameters
    ----------
    name : str
        A file of `mapapp/show/reports/templates`.
    **values
        What the template names. Texts are escaped unless they are `Markup`.
    """
    return _environment().get_template(name).render(values)


def write_page(stream: IO[bytes], name: str, **values: object) -> None:
    """Write a template of a whole page to a stream, a part at a time; arguments as in :func:`render`."""
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    page = _environment().get_template(name).stream(values, style=Markup(style), style_digest=digest)
    page.enable_buffering(_PIECES_AT_ONCE)
    page.dump(stream, encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        autoescape=True,
        finalize=_as_markup,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(class_of=_class_of, data_address=_data_address, shown=shown)
    return environment


@cache
def _style() -> str:
    colors = COLOR_SCHEMES["light"]
    sheet = Path(__file__).with_name("report.css").read_text(encoding="utf-8")
    return f":root {{ --home: {colors.home}; --work: {colors.work}; }}\n{sheet}"


def _as_markup(value: object) -> Markup:
    """Escape a value, and show the marks in it that would reorder the text around it as code points."""
    return value if isinstance(value, Markup) else Markup(escape(upright(str(value))))


def _class_of(column: Column, value: object = None) -> Markup:
    """Return the class attribute of a cell; of a column's head if there is no value."""
    if column.name == "caution" and value:
        return Markup(' class="caution"')
    if column.kind in NUMERIC:
        return Markup(' class="error"' if column.kind in ERRORS else ' class="number"')
    return Markup(' class="code"' if column.kind == "code" else "")


def _data_address(picture: Picture) -> str:
    """Return a picture as a `data:` address."""
    return f"data:{_MIME[picture.form]};base64,{base64.b64encode(picture.content).decode()}"


# Writes a report as one HTML file, without scripts or outside resources, suitable for printing.


def write_html(report: Report, stream: IO[bytes]) -> None:
    """Write a report; the same report gives the same bytes."""
    write_page(stream, "report.html", title=f"{report.title} – {report.subtitle}", report=report)
