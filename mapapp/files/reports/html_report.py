"""A report as one HTML file: no script, nothing from elsewhere, pictures inside, made to be printed, too."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from html import escape as escape_markup
from pathlib import Path
from typing import IO, Final

from mapapp.answers.method_words import Chapter
from mapapp.files.reports.content import (
    NUMERIC,
    Answer,
    Column,
    KeyNumber,
    Picture,
    Report,
    Source,
    Table,
    shown,
    upright,
)

_MIME: Final = {"svg": "image/svg+xml", "png": "image/png"}
_ROWS_AT_ONCE: Final = 1_000


def write_html(report: Report, stream: IO[bytes]) -> None:
    """Write a report; the same bytes for the same report."""
    for part in document(f"{report.title} – {report.subtitle}", _parts(report)):
        stream.write(part.encode())


def escape(text: str) -> str:
    """Text as it stands in a page: no markup, and nothing that turns what follows."""
    return escape_markup(upright(text))


def document(title: str, parts: Iterable[str]) -> Iterator[str]:
    """A whole page around parts of its body, with nothing from elsewhere."""
    css = _css()
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="generator" content="CommuteMap">\n'
        f"<title>{escape(title)}</title>\n<style>{css}</style>\n</head>\n<body>\n"
    )
    yield from parts
    yield "</body>\n</html>\n"


def _parts(report: Report) -> Iterator[str]:
    yield _head(report)
    yield _contents(report)
    yield "<main>\n"
    for answer in report.answers:
        yield from _answer(answer)
    if report.comparison:
        yield '<section id="comparison" class="chapter">\n<h2>Comparison</h2>\n'
        for table in report.comparison:
            yield from _table(table, f"comparison-{table.name}")
        yield "</section>\n"
    yield '<section id="method" class="chapter">\n<h2>Method and certificate</h2>\n'
    for source in report.sources:
        yield from _source(source, several=len(report.sources) > 1)
    yield "</section>\n"
    yield from _remake(report)
    yield f"</main>\n<footer><p>{escape(_foot(report))}</p></footer>\n"


@cache
def _css() -> str:
    return Path(__file__).with_name("report.css").read_text(encoding="utf-8")


def _foot(report: Report) -> str:
    parts = ["Synthetic workers", *(source.title for source in report.sources), report.promise]
    return " · ".join(part for part in parts if part)


def _head(report: Report) -> str:
    warning = f'<p class="warning" role="note">{escape(report.warning)}</p>\n' if report.warning else ""
    date = f'<p class="quiet">Report of {_day(report)}</p>\n' if report.date else ""
    return (
        f'<header>\n<p class="kind">CommuteMap report</p>\n<h1>{escape(report.title)}</h1>\n'
        f'<p class="subtitle">{escape(report.subtitle)}</p>\n{date}{warning}'
        f'<p class="promise">{escape(_nobody(report))}{escape(report.promise)}</p>\n</header>\n'
    )


def _nobody(report: Report) -> str:
    private = all(source.is_private for source in report.sources)
    return "Nobody here is a real person. " if private else ""


def _day(report: Report) -> str:
    return f'<time datetime="{report.date}">{report.date:%-d %B %Y}</time>'


def _contents(report: Report) -> str:
    links = [(answer.name, answer.heading) for answer in report.answers]
    links += [("comparison", "Comparison")] if report.comparison else []
    links += [("method", "Method and certificate"), ("remake", "How to make this report again")]
    items = "".join(f'<li><a href="#{escape(name)}">{escape(text)}</a></li>' for name, text in links)
    return f'<nav aria-label="Contents"><ul>{items}</ul></nav>\n'


def _answer(answer: Answer) -> Iterator[str]:
    name = escape(answer.name)
    only = f'<p class="quiet">Only: {escape(answer.filters)}</p>\n' if answer.filters else ""
    empty = f'<p class="empty">{escape(answer.empty)}</p>\n' if answer.empty else ""
    yield (
        f'<section id="{name}" class="answer">\n<div class="lead">\n<div>\n<h2>{escape(answer.heading)}</h2>\n'
        f'<p class="quiet">{escape(answer.release)}</p>\n<p class="sentence">{escape(answer.sentence)}</p>\n'
        f"{only}{empty}</div>\n"
    )
    yield (_picture(answer.locator, "locator") if answer.locator else "") + "</div>\n"
    if answer.map:
        yield _picture(answer.map, "map")
    if not answer.empty:
        yield _numbers(answer.numbers, escape(answer.heading))
    if answer.charts:
        charts = "".join(_picture(chart, "chart") for chart in answer.charts)
        yield f'<h3>Charts</h3>\n<div class="charts">\n{charts}</div>\n'
    if answer.notes:
        items = "".join(f"<li>{escape(note)}</li>" for note in answer.notes)
        yield f'<h3>Read with the numbers</h3>\n<ul class="notes">{items}</ul>\n'
    if answer.tables:
        yield "<h3>Tables</h3>\n"
    for table in answer.tables:
        yield from _table(table, f"{answer.name}-{table.name}", level=4)
    yield "</section>\n"


def _picture(picture: Picture, kind: str) -> str:
    data = base64.b64encode(picture.content).decode()
    source = f"data:{_MIME[picture.form]};base64,{data}"
    caption = f"<figcaption>{escape(picture.title)}</figcaption>" if picture.title else ""
    return f'<figure class="{kind}"><img src="{source}" alt="{escape(picture.words)}">{caption}</figure>\n'


def _numbers(numbers: Sequence[KeyNumber], name: str) -> str:
    careful = any(each.caution for each in numbers)
    rows = "".join(
        f'<tr><th scope="row">{escape(each.label)}</th><td class="number">{escape(shown(each.kind, each.value))}</td>'
        f'<td class="error">{escape(shown("error", each.error))}</td>'
        + (f'<td class="caution">{escape(each.caution)}</td></tr>\n' if careful else "</tr>\n")
        for each in numbers
    )
    caution = '<th scope="col">Caution</th>' if careful else ""
    return (
        f'<h3>Key numbers</h3>\n<div class="wide" tabindex="0" role="region" aria-label="Key numbers of {name}">'
        f'<table class="key"><caption class="unseen">Key numbers of {name}</caption><thead><tr>'
        '<th scope="col">Number</th><th scope="col" class="number">Value</th>'
        f'<th scope="col" class="error">Expected error</th>{caution}'
        f"</tr></thead><tbody>\n{rows}</tbody></table></div>\n"
    )


def _table(table: Table, name: str, level: int = 3) -> Iterator[str]:
    words = f'<p class="quiet">{escape(table.words)}</p>\n' if table.words else ""
    yield (
        f'<section class="table" id="{escape(name)}">\n<h{level}>{escape(table.title)}</h{level}>\n{words}'
    )
    parts = table.parts
    for number, places in enumerate(parts, 1):
        about = f"{table.title}, part {number} of {len(parts)}" if len(parts) > 1 else table.title
        yield from _part(table, [(place, table.columns[place]) for place in places], about)
    yield "</section>\n"


def _part(table: Table, cells: list[tuple[int, Column]], about: str) -> Iterator[str]:
    heads = "".join(
        f'<th scope="col"{_class(column, None)}>{escape(column.head)}</th>' for _, column in cells
    )
    yield (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(about)}">'
        f'<table><caption class="unseen">{escape(about)}, {len(table.rows):,} rows</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>\n"
    )
    for start in range(0, len(table.rows), _ROWS_AT_ONCE):
        yield "".join(_row(row, cells) for row in table.rows[start : start + _ROWS_AT_ONCE])
    yield "</tbody></table></div>\n"


def _row(row: tuple[object, ...], cells: list[tuple[int, Column]]) -> str:
    (first, head), *others = cells
    text = f'<tr><th scope="row">{escape(shown(head.kind, row[first]))}</th>'
    for place, column in others:
        text += f"<td{_class(column, row[place])}>{escape(shown(column.kind, row[place]))}</td>"
    return text + "</tr>\n"


def _class(column: Column, value: object) -> str:
    if column.name == "caution" and value:
        return ' class="caution"'
    if column.kind in NUMERIC:
        return ' class="error"' if column.kind == "error" else ' class="number"'
    return ' class="code"' if column.kind == "code" else ""


def _source(source: Source, *, several: bool) -> Iterator[str]:
    level = 4 if several else 3
    name = escape(source.name)
    yield f"<h3>{escape(source.title)}</h3>\n" if several else ""
    if source.warning:
        yield f'<p class="warning" role="note">{escape(source.warning)}</p>\n'
    yield f'<h{level} id="certificate-{name}">Certificate</h{level}>\n{_facts(source.certificate)}'
    yield f'<h{level} id="provenance-{name}">Where the numbers come from</h{level}>\n{_facts(source.provenance)}'
    for chapter in source.method:
        yield _chapter(chapter, level)


def _facts(rows: Iterable[tuple[str, str]]) -> str:
    items = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(value)}</dd></div>" for term, value in rows)
    return f'<dl class="facts">{items}</dl>\n'


def _chapter(chapter: Chapter, level: int) -> str:
    parts = [
        f"<p>{escape(part)}</p>"
        if isinstance(part, str)
        else "<ul>" + "".join(f"<li>{escape(item)}</li>" for item in part) + "</ul>"
        for part in chapter.parts
    ]
    return f"<h{level}>{escape(chapter.title)}</h{level}>\n{''.join(parts)}\n"


def _remake(report: Report) -> Iterator[str]:
    remake = report.remake
    command = remake.command_for("html")
    yield (
        '<section id="remake" class="chapter">\n<h2>How to make this report again</h2>\n'
        "<p>The same release, question and program make the same file, byte for byte. With the command line:</p>\n"
        f"<pre>{escape(command)}</pre>\n"
    )
    if remake.links:
        items = "".join(
            f"<li>{escape(text)}: <code>{escape(link or '?')}</code></li>" for text, link in remake.links
        )
        yield f"<p>On a map that serves the release, put this behind its address:</p>\n<ul>{items}</ul>\n"
    for name, text in remake.setups:
        yield (
            f"<p>A setup for <code>--setup</code>, to be saved as {escape(name)}:</p>\n<pre>{escape(text)}</pre>\n"
        )
    yield "</section>\n"
