"""`commutemap analyze`: the analyses of the map without a browser, of many areas and releases in one run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click

from mapapp.commands.options import STORE, config_option, quiet_option
from mapapp.commands.question import (
    AnalysisName,
    error_rows_of,
    errors_option,
    print_notes_on_names,
    question_options,
    questions_of_options,
    refuse_beside_setup,
)
from mapapp.commands.whole_file import whole_file
from mapapp.errors import UsageError
from mapapp.progress import shown
from mapapp.question.fields import QUESTION

if TYPE_CHECKING:
    from mapapp.answers.analyses import Release
    from mapapp.answers.results import Result
    from mapapp.question.question import Question
    from mapapp.question.questions import Questions
    from mapapp.question.setup_file import Setup

    Asked = Question | Questions

_FORMATS: Final = ("text", "json", "csv", "xlsx", "geojson", "gpkg", "shp", "kml")
_SUFFIXES: Final = {
    ".json": "json",
    ".csv": "csv",
    ".xlsx": "xlsx",
    ".geojson": "geojson",
    ".gpkg": "gpkg",
    ".zip": "shp",
    ".kml": "kml",
    ".txt": "text",
}
_FILES: Final = ("xlsx", "gpkg", "shp", "kml")
_SHAPED: Final = ("geojson", "gpkg", "shp", "kml")
_TEXT_ROWS: Final = 10


@click.command()
@click.argument("releases", type=STORE, nargs=-1, required=True)
@click.option(
    "--analysis",
    type=AnalysisName(),
    default=QUESTION["analysis"].default,
    show_default=True,
    help="What to ask; see docs/analyses.md. The beginning of a name is enough if no other name begins so.",
)
@click.option(
    "--setup", type=STORE, default=None, help="A view kept as a file by the page, instead of a question here."
)
@question_options
@errors_option(10)
@click.option("--change", is_flag=True, help="What changed from each release to the next.")
@click.option(
    "--table", default=None, help="Table of CSV: one of the answer's, or numbers (a row for each answer)."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default=None,
    help="How to write the answers.  [default: (by the suffix of --output, else text)]",
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option("-o", "--output", type=STORE, default=None, help="File to write; standard output without it.")
@quiet_option
@config_option
def analyze(releases: tuple[Path, ...], **options: Any) -> None:
    """Ask RELEASES: the numbers of the map's pages, for many areas and years in one run.

    \b
    Examples:
      commutemap analyze ri.release --area Providence --layer town
      commutemap analyze ri.release --analysis inflow-outflow --area "Providence County, RI"
      commutemap analyze ri-2018.release ri-2019.release --analysis inflow-outflow --each county \\
        --table numbers -o counties.csv
      commutemap analyze ri.release --analysis flow-matrix --home-layer tract --work-layer county -o flows.csv
      commutemap analyze ri.release --setup commutemap-setup.json -o answer.xlsx
    """
    form, output = _form(options), options["output"]
    question = _question(options)
    if options["change"] and len(releases) < 2:
        raise UsageError("--change needs two releases or more, the earlier first")
    with shown(quiet=options["quiet"]) as report:
        opened = _opened(releases, report)
    asked = question(opened)
    if form in _SHAPED and output is not None:
        _write_shapes(form, output, opened, asked, options)
    else:
        with whole_file(output, binary=form == "xlsx") as stream:
            _write(form, stream, opened, asked, options)
        if form == "csv" and output is not None:
            _write_sources(_beside(output), opened)
    if output is not None:
        click.echo(f"{output}: written", err=True)


def _form(options: dict[str, Any]) -> str:
    """Which format; UsageError where options do not fit each other."""
    form, output = options["form"], options["output"]
    if options["as_json"]:
        if form not in (None, "json"):
            raise UsageError(f"--json and --format {form}; give one of them")
        form = "json"
    if form is None:
        form = _SUFFIXES.get(output.suffix.lower(), "text") if output is not None else "text"
    if form in _FILES and output is None:
        raise UsageError(f"--format {form} needs a file; name one with --output")
    if options["table"] is not None and form != "csv":
        raise UsageError(f"--table chooses a table of CSV; {form} has all of them")
    if form in _SHAPED and options["change"]:
        raise UsageError(f"--change has no shapes for {form}; write csv, xlsx or json")
    if form == "csv" and output is not None:
        _check_free(_beside(output))
    return str(form)


def _question(options: dict[str, Any]) -> Callable[[list[Release]], Asked]:
    """What is asked, by options or by a setup; UsageError if it is asked by both."""
    if options["setup"] is None:
        questions = questions_of_options(options, options["analysis"])
        return lambda releases: _noted(questions, releases)
    from mapapp.question.setup_file import read

    refuse_beside_setup()
    setup = read(options["setup"])
    return lambda releases: _question_of(setup, releases)


def _noted(questions: Questions, releases: list[Release]) -> Questions:
    """The same questions; on which areas their names mean, there are notes on standard error."""
    print_notes_on_names(releases[0], questions)
    return questions


def _question_of(setup: Setup, releases: list[Release]) -> Question:
    """What a setup asks of every release; its notes go to standard error."""
    from mapapp.question.setup_file import fitted

    for release in releases:
        address, notes = fitted(setup, release)
        for note in notes:
            click.echo(note, err=True)
    return address.question


def _opened(paths: tuple[Path, ...], report: Any) -> list[Release]:
    from mapapp.answers.analyses import open_release

    return [open_release(path, report=report) for path in paths]


def _write(
    form: str, stream: IO[Any], releases: list[Release], asked: Asked, options: dict[str, Any]
) -> None:
    from mapapp.files import answer_files
    from mapapp.files.exports.provenance import Provenance

    sources = [Provenance.of(release.store) for release in releases]
    results = _results(releases, asked, options)
    if form == "json":
        answer_files.write_json(results, stream, sources)
    elif form == "xlsx":
        answer_files.write_xlsx(results, stream, sources)
    elif form == "csv":
        answer_files.write_csv(_tables(releases, asked, options), stream)
    elif form == "geojson":
        from mapapp.files.exports.answers import answer_layer
        from mapapp.files.exports.text_files import write_geojson

        write_geojson(answer_layer(_only(form, releases), results), sources[0], stream)
    else:
        for result in results:
            stream.write("\n".join(_lines(result)) + "\n\n")


def _beside(output: Path) -> Path:
    """Where the file says where it comes from that stands beside CSV, which has no place for it."""
    return output.with_name(f"{output.name}-metadata.json")


def _check_free(path: Path) -> None:
    if path.exists():
        raise UsageError(f"{path}: already exists; name another file, or remove it first")


def _write_sources(path: Path, releases: list[Release]) -> None:
    import json

    from mapapp.files.exports.provenance import Provenance

    sources = [Provenance.of(release.store).to_dict() for release in releases]
    with whole_file(path, binary=False) as stream:
        json.dump({"sources": sources}, stream, ensure_ascii=False, indent=1)
        stream.write("\n")


def _write_shapes(
    form: str, output: Path, releases: list[Release], asked: Asked, options: dict[str, Any]
) -> None:
    from mapapp.answers.asking import answers
    from mapapp.files.exports.answers import write_answers
    from mapapp.files.exports.placing import new_place

    release = _only(form, releases)
    with shown(quiet=options["quiet"]) as report, new_place(output, folder=False) as place:
        found = answers(release, asked, error_rows_of(options))
        write_answers(release, found, form, place, report=report)


def _only(form: str, releases: list[Release]) -> Release:
    if len(releases) > 1:
        raise UsageError(f"{len(releases)} releases; {form} is written of one")
    return releases[0]


def _results(releases: list[Release], asked: Asked, options: dict[str, Any]) -> Iterator[Result]:
    from mapapp.answers.asking import answers, changes

    error_rows = error_rows_of(options)
    if options["change"]:
        yield from changes(releases, asked, error_rows)
        return
    for release in releases:
        yield from answers(release, asked, error_rows)


def _tables(releases: list[Release], asked: Asked, options: dict[str, Any]) -> Iterator[Any]:
    """Tables for CSV; a flow matrix in parts, so that its size does not matter."""
    from mapapp.answers.asking import matrix_parts
    from mapapp.files.answer_files import main_table, table_of
    from mapapp.question.questions import Questions

    name = options["table"]
    question = asked.question if isinstance(asked, Questions) else asked
    if question.analysis == "flow-matrix" and not options["change"] and name in (None, "cells"):
        for release in releases:
            for part in matrix_parts(release, asked):
                part.insert(0, "release", release.title)
                part.insert(1, "year", release.year)
                yield part
        return
    for result in _results(releases, asked, options):
        yield table_of(result, name or main_table(result))


def _lines(result: Result) -> list[str]:
    """An answer for people: what it is about, its numbers, and the first rows of its main table."""
    from mapapp.answers.results import shortened

    about = result.about
    side = {"work": "workers of ", "home": "residents of ", None: ""}[about.side]
    lines = [f"{about.title}: {side}{about.area}{f' ({about.filters})' if about.filters else ''}"]
    lines.append(f"  {about.release}")
    lines += [f"  {name.replace('_', ' '):<18} {_said(value)}" for name, value in result.numbers().items()]
    for name, table in list(result.tables().items())[:1]:
        short = (
            shortened(table, _TEXT_ROWS)
            if {"workers", "share"} <= set(table.columns)
            else table.head(_TEXT_ROWS)
        )
        empty = [name for name in short.columns if short[name].isna().all()]
        hidden = [each for each in ("lon_deg", "lat_deg", "kind", *empty) if each in short.columns]
        text = short.drop(columns=hidden).to_string(index=False, float_format=lambda value: f"{value:.3f}")
        lines += [f"  {name}:", *(f"    {line}" for line in text.splitlines())]
    return [*lines, *(f"  {note}" for note in about.notes)]


def _said(value: Any) -> str:
    """One number for people; for a change the earlier, the later and the difference."""
    from mapapp.answers import words
    from mapapp.answers.results import Miles, Number, Ratio

    if isinstance(value, Ratio):
        error = words.ratio_error(value.expected_error)
        return f"{words.ratio(value.value)} {error or value.caution}".rstrip()
    if isinstance(value, Miles):
        return f"{words.miles(value.value)} {words.miles_error(value.expected_error)}".rstrip()
    if isinstance(value, Number):
        error = "" if value.expected_error is None else f" ± {value.expected_error:,.0f}"
        return f"{value.value:,}{error}{f' ({value.caution})' if value.caution else ''}"
    if isinstance(value, dict):
        known = value["expected_error"]
        error = "" if known is None else f" ± {known:.3g}"
        return f"{_said(value['before'])} → {_said(value['after'])} (change {_said(value['change'])}{error})"
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
