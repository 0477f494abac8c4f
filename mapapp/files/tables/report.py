"""Reports on published tables, in the look of the other reports."""

from __future__ import annotations

import datetime
import shlex
from typing import IO, Final

import numpy

from mapapp.answers.publication import DIGEST_NOTE
from mapapp.answers.tables import table_words
from mapapp.answers.tables.published import OneTable
from mapapp.answers.tables.served_table import ServedTable
from mapapp.answers.tables.table_method import table_chapters
from mapapp.base.progress import Report as Progress
from mapapp.base.progress import silent
from mapapp.drawing.paper.table_picture import stars_picture, stars_words
from mapapp.files.reports import Form, write
from mapapp.files.reports.build import usual_paper
from mapapp.files.reports.content import (
    Answer,
    Column,
    KeyNumber,
    Paper,
    Picture,
    Remake,
    Report,
    Source,
    Table,
)
from mapapp.files.reports.facts import release_warning
from mapapp.files.tables.grid import grid_of
from mapapp.files.tables.provenance import TableProvenance
from mapapp.files.tables.table_xlsx import table_xlsx

__all__ = ["table_report", "write_table_report"]

_MAP_IN: Final = (7.5, 6.3)
_SCALE: Final = 2


def write_table_report(
    served: ServedTable,
    form: Form,
    stream: IO[bytes],
    *,
    paper: Paper | None = None,
    date: datetime.date | None = None,
    progress: Progress = silent,
) -> None:
    """Write a report on all tables of a publication; the same input gives the same bytes.

    Parameters
    ----------
    served : ServedTable
    form : {"html", "pdf", "xlsx"}
        A workbook is the one that :func:`mapapp.files.tables.table_xlsx.table_xlsx` makes.
    stream : binary stream
    paper : {"a4", "letter"}, optional
        Of a PDF; by default the usual one where the places are.
    date : date, optional
        Date printed on HTML and PDF; by default none.
    progress : callable
        Called with (stage, done, total).
    """
    if form == "xlsx":
        stream.write(table_xlsx(served.published))
    else:
        write(table_report(served, date=date, progress=progress), form, stream, paper=paper)


def table_report(
    served: ServedTable, *, date: datetime.date | None = None, progress: Progress = silent
) -> Report:
    """Return the content of a report on a publication: each table with its stars explained, promise, and limits."""
    tables, answers = served.published.tables, []
    for place, table in enumerate(tables):
        progress("drawing the tables", place, len(tables))
        answers.append(_answer(served, table))
    return Report(
        title=served.title,
        subtitle="Tables with suppressed cells" if len(tables) > 1 else tables[0].title,
        date=date,
        answers=tuple(answers),
        comparison=(),
        printed_comparison=(),
        sources=(_source(served),),
        remake=Remake(command=_command(served, date), links=(), setups=(), inputs="table"),
        paper=usual_paper([served]),
        contents="Exact counts with suppressed cells",
        lead="Counts are of real workers. A printed count is exact, and a star has a public reason.",
        kept="Privacy protected if the prior is right",
    )


def _answer(served: ServedTable, table: OneTable) -> Answer:
    name = f"table-{table.position + 1}"
    sentence = table_words.counted_sentence(table)
    numbers = _numbers(table)
    return Answer(
        name=name,
        heading=table.title,
        place=served.title,
        analysis=table.title,
        release=served.title,
        filters="",
        sentence=sentence,
        findings=(sentence, table_words.printed_sentence(table)),
        empty="",
        locator=None,
        map=Picture(
            name=f"{name}-map",
            title="",
            words=stars_words(served, table.position + 1),
            content=stars_picture(served, table.position + 1, scale=_SCALE, size_in=_MAP_IN),
            form="png",
        ),
        first_numbers=numbers,
        numbers=numbers,
        charts=(),
        tables=(),
        printed=(_printed_table(table), *_star_tables(table)),
        notes=tuple(_notes(served)),
    )


def _numbers(table: OneTable) -> tuple[KeyNumber, ...]:
    return (
        KeyNumber(label="Counts printed", kind="count", value=table.n_released),
        KeyNumber(label="Counts suppressed", kind="count", value=table.n_cells - table.n_released),
        KeyNumber(label=_share_label(table), kind="share", value=table.released_share),
    )


def _share_label(table: OneTable) -> str:
    return "Workers in printed flows" if table.is_flows else "People in cells with a printed count"


def _printed_table(table: OneTable) -> Table:
    grid = grid_of(table)
    columns = [
        Column(name=f"column {place}", head=label, kind="count or star")
        for place, label in enumerate(grid.labels, start=1)
    ]
    return Table(
        name="counts",
        title=table.title,
        words=f"{table_words.STAR}: suppressed. A blank: no workers, or no suppressed cells.",
        columns=(Column(name="row", head=table.row_label, kind="text"), *columns),
        rows=tuple(
            (name, *(entry if entry != "" else None for entry in entries)) for name, entries in grid.rows
        ),
    )


def _star_tables(table: OneTable) -> list[Table]:
    """Why cells are suppressed, and how many for each reason; empty without stars."""
    cells = table.of_kind("cell")
    reasons = cells["reason"].astype(str)
    rows = []
    for reason, title in table_words.REASON_TITLES.items():
        mine = (reasons == reason).to_numpy() if reason else numpy.zeros(len(cells), dtype=numpy.bool_)
        if mine.any():
            people = cells["people"].to_numpy()[mine]
            rows.append((title, int(mine.sum()), int(people.min()), int(people.max())))
    if not rows:
        return []
    columns = (
        Column(name="reason", head="Reason", kind="text"),
        Column(name="cells", head="Cells", kind="count"),
        Column(name="fewest", head="Fewest people in one", kind="count"),
        Column(name="most", head="Most people in one", kind="count"),
    )
    return [
        Table(
            name="stars",
            title="The stars explained",
            words="Each reason follows from public numbers: people, prior, and the counts printed before. None says "
            "anything about the suppressed count. The workbook has the reason for every star.",
            columns=columns,
            rows=tuple(rows),
        )
    ]


def _notes(served: ServedTable) -> list[str]:
    published = served.published
    stopped = published.breach
    return [
        *([stopped] if stopped else []),
        table_words.how_decided(published.promise),
        table_words.prior_sentence(published.claims.prior),
    ]


def _source(served: ServedTable) -> Source:
    published, digests = served.published, TableProvenance.of(served.published)
    provenance = {
        "Table": served.title,
        "Year": published.year,
        "Jobs": str(published.facts.get("job_type") or ""),
        "Table digest (SHA-256)": digests.table_sha256,
        "What the digest is for": DIGEST_NOTE,
        "Certificate (SHA-256)": digests.certificate_sha256,
        "Written by": digests.program,
    }
    return Source(
        name=served.slug,
        title=served.title,
        warning=release_warning(served.certificate),
        certificate=(
            *table_words.facts_of(published),
            ("Status", str(served.certificate.get("status") or "not stated")),
        ),
        provenance=tuple((term, value) for term, value in provenance.items() if value),
        method=tuple(table_chapters(served)),
    )


def _command(served: ServedTable, date: datetime.date | None) -> str:
    dated = ["--date", date.isoformat()] if date is not None else []
    return shlex.join(["commutemap", "report", served.store.path.name, *dated])
