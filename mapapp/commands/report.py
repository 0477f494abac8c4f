"""`commutemap report`: write a report on one question, or many reports listed in a file."""

from __future__ import annotations

import datetime
import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from geodata.store.manifest import read_manifest
from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.base.whole_files import whole_file
from mapapp.commands.options import STORE, Option, Options, config_option, quiet_option
from mapapp.commands.question import (
    AnalysisName,
    error_rows_of,
    errors_option,
    print_notes_on_names,
    question_options,
    questions_of_options,
    refuse_beside_setup,
)
from mapapp.question.fields import QUESTION, VIEW

if TYPE_CHECKING:
    from mapapp.answers.release import Release
    from mapapp.show.reports import Form, Part

_ROWS: Final = 25


class RowsOrAll(click.ParamType["int | None"]):
    """A number of rows, 1 or more; None for `all`."""

    name = "rows"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """Return what the option takes."""
        return "INTEGER|all"

    def convert(
        self, value: str | int | None, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | None:
        """Return the number, or None."""
        text = str(value)
        if text == "all":
            return None
        if not text.isdecimal() or int(text) < 1:
            self.fail(f"{text[:20]!r}: give a number of rows, 1 or more, or all", param, ctx)
        return int(text)


_FORMS: Final[dict[str, Form]] = {".html": "html", ".htm": "html", ".pdf": "pdf", ".xlsx": "xlsx"}


@click.command()
@click.argument("releases", type=STORE, nargs=-1, required=True)
@click.option(
    "--analysis",
    "analyses",
    type=AnalysisName(),
    multiple=True,
    default=[QUESTION["analysis"].default],
    show_default=True,
    help="Analysis to run; see docs/analyses.md. Repeat for several parts.",
)
@click.option(
    "--setup",
    "setups",
    type=STORE,
    multiple=True,
    help="Setup file saved from the map page; replaces the question options. Repeat for several parts.",
)
@question_options
@click.option(
    "--show",
    type=click.Choice(VIEW["show"].choices),
    default=VIEW["show"].default,
    show_default=True,
    help=VIEW["show"].help,
)
@errors_option(27)
@click.option(
    "--rows",
    type=RowsOrAll(),
    default=str(_ROWS),
    show_default=True,
    help="Printed rows of each table of areas, or all. XLSX always has all.",
)
@click.option(
    "--paper",
    type=click.Choice(["a4", "letter"]),
    default=None,
    help="Page size of a PDF.  [default: (letter for places in the United States, else a4)]",
)
@click.option(
    "--date",
    type=click.DateTime(["%Y-%m-%d"]),
    default=None,
    help="Date printed on the report. Without it the report is undated and has the same bytes on any day.",
)
@click.option(
    "--batch", type=STORE, default=None, help="TOML file that lists many reports; see docs/reports.md."
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=None,
    help="Number of processes for a batch; each opens the releases.  [default: (number of processors)]",
)
@click.option(
    "-o",
    "--output",
    type=STORE,
    required=True,
    help="File to write (.html, .pdf, or .xlsx), or folder for a batch.",
)
@quiet_option
@config_option
def report(releases: tuple[Path, ...], **options: Option) -> None:
    """Write a report on RELEASES: maps, numbers, complete tables, the certificate, and how to reproduce it.

    One report can have several areas, analyses, and releases (earliest first), and compares them. A batch resumes where
    it was stopped: complete reports on the same question are not made again. The report on a table with suppressed
    cells has the whole table, a map of its stars, and why they are there.

    \b
    Examples:
      commutemap report ri.release --area "Providence County, RI" --layer ctycsub -o providence.html
      commutemap report ri-2018.release ri-2019.release --analysis inflow-outflow --area county:44007 -o change.pdf
      commutemap report ri.release --setup commutemap-setup.json --paper letter --date 2026-01-31 -o view.pdf
      commutemap report ri.release --batch towns.toml -o towns
      commutemap report ri.table -o table.pdf
    """
    date = None if options["date"] is None else options["date"].date()
    if read_manifest(releases[0]).get("kind") == "table":
        _table(releases, date, options)
    elif options["batch"] is not None:
        _batch(releases, date, options)
    else:
        _write_one(releases, date, options)


def _write_one(paths: tuple[Path, ...], date: datetime.date | None, options: Options) -> None:
    from mapapp.answers.release import open_releases
    from mapapp.show.reports import write_report

    output, form = options["output"], form_of(options["output"])
    if options["workers"] is not None:
        raise UsageError("--workers applies only to a batch; add --batch or leave it out")
    if options["setups"]:
        refuse_beside_setup()
    with show_progress(quiet=options["quiet"]) as progress, whole_file(output, binary=True) as stream:
        progress("opening the release", 0, 0)
        releases = list(open_releases(list(paths)).values())
        made = write_report(
            releases,
            _parts(releases, options),
            form,
            stream,
            paper=options["paper"],
            date=date,
            error_rows=error_rows_of(options),
            rows=options["rows"],
            progress=progress,
        )
    for answer in made.answers:
        if form == "xlsx" and answer.left_out:
            click.echo(f"note: {answer.heading}: {answer.left_out}", err=True)
    click.echo(f"{output}: written", err=True)


def form_of(output: Path) -> Form:
    """Return the format of a report by the suffix of its file; UsageError for another suffix."""
    form = _FORMS.get(output.suffix.lower())
    if form is None:
        raise UsageError(f"{output}: the file name must end in .html, .pdf, or .xlsx")
    return form


def _table(paths: tuple[Path, ...], date: datetime.date | None, options: Options) -> None:
    from mapapp.kinds.tables.files.report import write_table_report
    from mapapp.kinds.tables.read.served_table import open_tables

    _refuse_others(
        {"releases", "output", "paper", "date", "quiet"},
        "{option} does not apply to a table with suppressed cells, whose report is always whole; leave it out",
    )
    if len(paths) > 1:
        raise UsageError(f"{paths[0]}: a table with suppressed cells has a report of its own; give it alone")
    output, form = options["output"], form_of(options["output"])
    with show_progress(quiet=options["quiet"]) as progress, whole_file(output, binary=True) as stream:
        progress("opening the table", 0, 0)
        (served,) = open_tables(list(paths)).values()
        write_table_report(served, form, stream, paper=options["paper"], date=date, progress=progress)
    click.echo(f"{output}: written", err=True)


def _parts(releases: list[Release], options: Options) -> list[Part]:
    """Return the parts that options or setups describe; print their notes to standard error."""
    from mapapp.question import setup_file
    from mapapp.show.reports.part import Part, parts_of

    if not options["setups"]:
        questions = [questions_of_options(options, analysis) for analysis in options["analyses"]]
        print_notes_on_names(releases[0], questions[0])
        return [part for question in questions for part in parts_of(releases[0], question, options["show"])]
    parts = []
    for path in options["setups"]:
        setup = setup_file.read(path)
        fitted = [setup_file.fit_setup(setup, release) for release in releases]
        for note in dict.fromkeys(note for _, notes in fitted for note in notes):
            click.echo(note, err=True)
        address = fitted[0][0]
        parts.append(Part(address.question, address.view.show))
    return parts


def _batch(paths: tuple[Path, ...], date: datetime.date | None, options: Options) -> None:
    from mapapp.answers.release import open_releases
    from mapapp.show.reports.batch import make_batch
    from mapapp.show.reports.batch_file import read_batch

    _refuse_beside_batch()
    folder = options["output"]
    with show_progress(quiet=options["quiet"]) as progress:
        progress("opening the release", 0, 0)
        releases = list(open_releases(list(paths)).values())
        jobs = read_batch(options["batch"], releases[0])
        for note in dict.fromkeys(note for job in jobs for note in job.notes):
            click.echo(note, err=True)
        workers = options["workers"] or os.cpu_count() or 1
        outcome = make_batch(paths, releases, jobs, folder, date=date, workers=workers, progress=progress)
    kept = f", {outcome.n_kept:,} already existed" if outcome.n_kept else ""
    click.echo(f"{folder}: {outcome.n_made:,} files written{kept}; open {folder / 'index.html'}", err=True)


def _refuse_beside_batch() -> None:
    """Raise UsageError if a question is given in addition to a batch, whose file contains all questions."""
    _refuse_others(
        {"releases", "batch", "workers", "output", "date", "quiet"},
        "--batch and {option} conflict: the batch file contains the questions; write it there",
    )


def _refuse_others(allowed: Collection[str], why: str) -> None:
    """Raise UsageError if an option is given that is not among the allowed ones; `{option}` in `why` is its name."""
    context = click.get_current_context()
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name not in allowed and source is click.core.ParameterSource.COMMANDLINE:
            raise UsageError(why.format(option=parameter.opts[0]))
