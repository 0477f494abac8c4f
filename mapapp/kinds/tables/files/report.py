"""Reports on published tables, in the look of the other reports."""

from __future__ import annotations

import datetime
import shlex
from typing import IO, Final

import numpy

from mapapp.answers.publication import DIGEST_NOTE, job_type_in_words
from mapapp.answers.words import may_be_released, why_not_for_release
from mapapp.base.progress import Report as Progress
from mapapp.base.progress import silent
from mapapp.kinds.tables.files.grid import grid_of
from mapapp.kinds.tables.files.provenance import TableProvenance
from mapapp.kinds.tables.files.xlsx import table_xlsx
from mapapp.kinds.tables.page.map import table_legend, table_map
from mapapp.kinds.tables.read import words
from mapapp.kinds.tables.read.published import OneTable
from mapapp.kinds.tables.read.served_table import ServedTable, Shown
from mapapp.kinds.tables.read.view import Shade
from mapapp.kinds.tables.read.words import table_chapters
from mapapp.show.content import map_layers
from mapapp.show.content.palette import COLOR_SCHEMES
from mapapp.show.paper import base_map
from mapapp.show.paper.answer_layers import fill_units
from mapapp.show.paper.legend import (
    SCALE_IN,
    Foot,
    draw_foot,
    draw_legend,
    draw_scale,
    foot_height_in,
    legend_height_in,
)
from mapapp.show.paper.map_names import draw_names, map_names
from mapapp.show.paper.map_picture import MARGIN_IN, SIZE_IN
from mapapp.show.paper.sheet import Form as PaperForm
from mapapp.show.paper.sheet import Sheet, check, drawing, encode_sheet
from mapapp.show.reports import Form, write
from mapapp.show.reports.build import usual_paper
from mapapp.show.reports.content import (
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

# The map of a table's stars: units colored by the share of people in suppressed cells, or by the counts of flows.

_TITLE_POINTS: Final = 12.5
_WHAT_POINTS: Final = 8.5
_SUPPRESSED: Final = "Share of each unit's people whose cells are suppressed"


def stars_picture(
    served: ServedTable,
    part: int,
    *,
    form: PaperForm = "png",
    scale: int = 1,
    size_in: tuple[float, float] = SIZE_IN,
) -> bytes:
    """Draw where the stars of one of the tables are; `part` counts from 1.

    A table of flows is drawn for the workplace with the most people: counts by home, and homes with a star.

    Parameters
    ----------
    served, part
    form, scale, size_in
        As for :func:`mapapp.show.paper.map_picture`.

    Raises
    ------
    UsageError
        For an invalid form, scale or size.
    """
    check(form, scale, size_in)
    shown, promise = served.shown(part), served.published.promise
    scheme = COLOR_SCHEMES["light"]
    shade: Shade = "value" if shown.table.is_flows else "stars"
    content = table_map(shown, promise, next(iter(shown.columns)), shade, scheme)
    map_names(served)  # queries first, because drawing holds a lock
    with drawing():
        sheet = Sheet(size_in, scheme)
        inner = sheet.width - 2 * MARGIN_IN
        y = sheet.block(
            MARGIN_IN, 0.1, shown.table.title, width=inner, size=_TITLE_POINTS, lines=2, bold=True
        )
        y = sheet.block(
            MARGIN_IN,
            y + 0.02,
            _what(shown),
            width=inner,
            size=_WHAT_POINTS,
            lines=2,
            color=sheet.colors.quiet,
        )
        foot, legend = _foot(served), table_legend(content)
        draw_foot(sheet, foot, MARGIN_IN)
        below_in = foot_height_in(foot, inner) + legend_height_in(legend) + 0.12
        top = y + 0.07
        height = sheet.height - top - below_in
        frame = base_map.frame_of(map_layers.home_bounds(served), inner, height, 0.05)
        axes = sheet.axes(MARGIN_IN, top, inner, height)
        base_map.draw_land(axes, served, frame, scheme)
        units = base_map.layer_units(served, shown.row_layer)
        colors = {place: color for place, color in enumerate(content.colors) if color.startswith("#")}
        fill_units(
            axes, units, dict(zip(content.unit_ids, content.of.tolist(), strict=True)), colors, frame, scheme
        )
        base_map.draw_borders(axes, served, frame, scheme)
        base_map.draw_ground(axes, served, frame, scheme)
        draw_names(axes, served, frame, scheme)
        base_map.draw_frame(sheet, MARGIN_IN, top, inner, height)
        draw_legend(sheet, legend, MARGIN_IN, top + height + 0.1, inner - SCALE_IN - 0.15)
        draw_scale(sheet, frame, sheet.width - MARGIN_IN, top + height + 0.1)
        return encode_sheet(sheet, form, scale, shown.table.title, stars_words(served, part))


def stars_words(served: ServedTable, part: int) -> str:
    """A description of the map for screen readers."""
    shown = served.shown(part)
    starred = (shown.numbers("value") < 0) & (shown.numbers("people") > 0)
    return (
        f"Map. {shown.table.title}. {_what(shown)}. {int(starred.any(axis=1).sum())} of {len(shown.rows)} units have a "
        f"suppressed cell. {_map_source(served)}."
    )


def _what(shown: Shown) -> str:
    return next(iter(shown.columns.values())) if shown.table.is_flows else _SUPPRESSED


def _foot(served: ServedTable) -> Foot:
    publication = f"Table {served.title} ({served.version}) · CommuteMap"
    return Foot((_map_source(served), publication), may_be_released(served.certificate))


def _map_source(served: ServedTable) -> str:
    promise = served.published.promise
    return (
        f"Exact counts with suppressed cells · {served.title} · epsilon-semantic privacy if the prior is right: "
        f"ε {float(promise.epsilon):g}, δ {float(promise.delta):g}"
    )


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
        A workbook is the one that :func:`mapapp.kinds.tables.files.xlsx.table_xlsx` makes.
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
    sentence = words.counted_sentence(table)
    numbers = _numbers(table)
    return Answer(
        name=name,
        heading=table.title,
        place=served.title,
        analysis=table.title,
        release=served.title,
        filters="",
        sentence=sentence,
        findings=(sentence, words.printed_sentence(table)),
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
        words=f"{words.STAR}: suppressed. A blank: no workers, or no suppressed cells.",
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
    for reason, title in words.REASON_TITLES.items():
        of_reason = (reasons == reason).to_numpy() if reason else numpy.zeros(len(cells), dtype=numpy.bool_)
        if of_reason.any():
            people = cells["people"].to_numpy()[of_reason]
            rows.append((title, int(of_reason.sum()), int(people.min()), int(people.max())))
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
        words.how_decided(published.promise),
        words.prior_sentence(published.claims.prior),
    ]


def _source(served: ServedTable) -> Source:
    published, digests = served.published, TableProvenance.of(served.published)
    provenance = {
        "Table": served.title,
        "Year": published.year,
        "Jobs": job_type_in_words(str(published.facts.get("job_type") or "")),
        "Table digest (SHA-256)": digests.table_sha256,
        "What the digest is for": DIGEST_NOTE,
        "Certificate (SHA-256)": digests.certificate_sha256,
        "Written by": digests.program,
    }
    return Source(
        name=served.slug,
        title=served.title,
        warning=why_not_for_release(served.certificate),
        certificate=(
            *words.facts_of(published),
            ("Status", str(served.certificate.get("status") or "not stated")),
        ),
        provenance=tuple((term, value) for term, value in provenance.items() if value),
        method=tuple(table_chapters(served)),
    )


def _command(served: ServedTable, date: datetime.date | None) -> str:
    dated = ["--date", date.isoformat()] if date is not None else []
    return shlex.join(["commutemap", "report", served.store.path.name, *dated])
