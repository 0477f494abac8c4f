"""`commutemap analyze`: run the map's analyses without a browser, for many areas and releases at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.base.whole_files import Stream, whole_file
from mapapp.commands.options import STORE, Option, Options, config_option, quiet_option
from mapapp.commands.question import (
    AnalysisName,
    Function,
    error_rows_of,
    errors_option,
    print_notes_on_names,
    question_options,
    questions_of_options,
    refuse_beside_setup,
)
from mapapp.question.fields import QUESTION

if TYPE_CHECKING:
    import pandas

    from mapapp.answers.analyses.over_years import OverYears
    from mapapp.answers.analyses.results import Result
    from mapapp.answers.release import Release
    from mapapp.base.progress import Report
    from mapapp.question.question import Question, Questions
    from mapapp.question.setup_file import Setup

    AnyQuestion = Question | Questions

_FORMATS: Final = (
    "text",
    "json",
    "csv",
    "xlsx",
    "parquet",
    "feather",
    "geojson",
    "geoparquet",
    "gpkg",
    "shp",
    "kml",
)
NOT_ASKED: Final = {"table": None, "change": False, "over_years": False, "wide": False}
"""Values of the options that `ask` lacks, because the sentence says these things."""
_SUFFIXES: Final = {
    ".json": "json",
    ".csv": "csv",
    ".xlsx": "xlsx",
    ".parquet": "parquet",
    ".feather": "feather",
    ".geojson": "geojson",
    ".geoparquet": "geoparquet",
    ".gpkg": "gpkg",
    ".zip": "shp",
    ".kml": "kml",
    ".txt": "text",
}
_FILES: Final = ("xlsx", "parquet", "feather", "geoparquet", "gpkg", "shp", "kml")
_BINARY: Final = ("xlsx", "parquet", "feather")
_SHAPED: Final = ("geojson", "geoparquet", "gpkg", "shp", "kml")
_OF_ONE_TABLE: Final = ("csv", "parquet", "feather")
_OF_SEVERAL: Final = ("change", "over_years")
"""Options that put the answers of several releases side by side."""
_TEXT_ROWS: Final = 10
_TEXT_COLUMNS: Final = 6


def output_options(function: Function) -> Function:
    """Add the format and the file of an answer."""
    output = click.option(
        "-o", "--output", type=STORE, default=None, help="File to write.  [default: (standard output)]"
    )
    as_json = click.option("--json", "as_json", is_flag=True, help="Same as --format json.")
    form = click.option(
        "--format",
        "form",
        type=click.Choice(_FORMATS),
        default=None,
        help="Output format.  [default: (from the suffix of --output; text without one)]",
    )
    return form(as_json(output(function)))


@click.command()
@click.argument("releases", type=STORE, nargs=-1, required=True)
@click.option(
    "--analysis",
    type=AnalysisName(),
    default=QUESTION["analysis"].default,
    show_default=True,
    help="Analysis to run; see docs/analyses.md. A unique prefix is enough.",
)
@click.option(
    "--setup",
    type=STORE,
    default=None,
    help="Setup file saved from the map page; replaces the question options.",
)
@question_options
@errors_option(10)
@click.option(
    "--change",
    is_flag=True,
    help="Report the change from each release to the next, or the difference of two releases of one year.",
)
@click.option(
    "--over-years",
    is_flag=True,
    help="Put the answers of several years side by side, each number with its expected error.",
)
@click.option(
    "--table",
    default=None,
    help="Table to write as CSV, Parquet, or Feather: one of the answer's tables, or numbers (one row per answer).",
)
@click.option(
    "--wide",
    is_flag=True,
    help="Write CSV as a grid with totals: a flow matrix of homes by workplaces, or a profile of all 27 groups.",
)
@output_options
@quiet_option
@config_option
def analyze(releases: tuple[Path, ...], **options: Option) -> None:
    """Answer questions about RELEASES: the map's numbers, for many areas and years in one run.

    \b
    Examples:
      commutemap analyze ri.release --area Providence --layer town
      commutemap analyze ri.release --analysis inflow-outflow --area "Providence County, RI"
      commutemap analyze ri-2018.release ri-2019.release --analysis inflow-outflow --each county \\
        --table numbers -o counties.csv
      commutemap analyze ri.release --analysis flow-matrix --home-layer tract --work-layer county -o flows.csv
      commutemap analyze ri.release --analysis flow-matrix --home-layer town --work-layer town --wide -o matrix.csv
      commutemap analyze ri.release --setup commutemap-setup.json -o answer.xlsx
    """
    form = form_of(options)
    questions_for = _questions(options)
    if options["change"] and len(releases) < 2:
        raise UsageError("--change needs at least two releases, earliest first")
    if options["over_years"] and (options["change"] or len(releases) < 2):
        raise UsageError("--over-years needs releases of at least two years, and no --change")
    with show_progress(quiet=options["quiet"]) as report:
        opened = open_releases(releases, report)
    write_answers(form, opened, questions_for(opened), options)


def write_answers(form: str, opened: list[Release], questions: AnyQuestion, options: Options) -> None:
    """Answer questions about releases, and write the answers in the form that the options give."""
    output = options["output"]
    if form in _SHAPED and output is not None:
        _write_shapes(form, output, opened, questions, options)
    else:
        with whole_file(output, binary=form in _BINARY) as stream:
            _write(form, stream, opened, questions, options)
        if form == "csv" and output is not None:
            _write_sources(_metadata_path(output), opened)
    if output is not None:
        click.echo(f"{output}: written", err=True)


def form_of(options: Options) -> str:
    """Return the output format; raise UsageError if options conflict."""
    form, output = options["form"], options["output"]
    if options["as_json"]:
        if form not in (None, "json"):
            raise UsageError(f"--json and --format {form} conflict; give one of them")
        form = "json"
    if form is None:
        form = "text" if output is None else _form_of_suffix(output)
    if form in _FILES and output is None:
        raise UsageError(f"--format {form} needs a file; name one with --output")
    if options["table"] is not None and form not in _OF_ONE_TABLE:
        raise UsageError(f"--table chooses a table for csv, parquet, or feather; {form} has every table")
    if options["wide"]:
        _check_wide(form, options)
    for name in _OF_SEVERAL:
        if form in _SHAPED and options[name]:
            raise UsageError(
                f"{_option_name(name)} cannot be written as {form}; write text, csv, xlsx, parquet, feather, or json"
            )
    if form == "csv" and output is not None:
        _check_free(_metadata_path(output))
    return str(form)


def _form_of_suffix(output: Path) -> str:
    """Return the format that a file name means; text without a suffix."""
    suffix = output.suffix.lower()
    if suffix == ".shp":
        raise UsageError(f"{output}: a Shapefile is several files; name the .zip that will hold them all")
    if suffix and suffix not in _SUFFIXES:
        raise UsageError(
            f"{output}: no format has the suffix {suffix[:20]}; choose {', '.join(_SUFFIXES)}, or add --format"
        )
    return _SUFFIXES.get(suffix, "text")


def _check_wide(form: str, options: Options) -> None:
    if form != "csv":
        raise UsageError(
            f"--wide is for CSV, not {form}; xlsx has a wide sheet, and json one row for each pair"
        )
    for name in ("table", *_OF_SEVERAL):
        if options[name]:
            raise UsageError(f"--wide and {_option_name(name)} conflict; give one of them")


def _option_name(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _questions(options: Options) -> Callable[[list[Release]], AnyQuestion]:
    """Return what makes the questions for some releases, from options or a setup; UsageError if both are given."""
    if options["setup"] is None:
        questions = questions_of_options(options, options["analysis"])
        return lambda releases: _print_notes(questions, releases)
    from mapapp.question.setup_file import read

    refuse_beside_setup()
    setup = read(options["setup"])
    return lambda releases: _question_of_setup(setup, releases)


def _print_notes(questions: Questions, releases: list[Release]) -> Questions:
    """Return the questions; print to standard error what else shares the names of their areas."""
    print_notes_on_names(releases[0], questions)
    return questions


def _question_of_setup(setup: Setup, releases: list[Release]) -> Question:
    """Return the question of a setup for every release; print its notes to standard error."""
    from mapapp.question.setup_file import fit_setup

    for release in releases:
        address, notes = fit_setup(setup, release)
        for note in notes:
            click.echo(note, err=True)
    return address.question


def open_releases(paths: tuple[Path, ...], report: Report) -> list[Release]:
    """Open releases."""
    from mapapp.answers.release import Release

    return [Release.open(path, report=report) for path in paths]


def _write(
    form: str, stream: Stream, releases: list[Release], questions: AnyQuestion, options: Options
) -> None:
    from mapapp.show.exports.provenance import Provenance
    from mapapp.show.files import answers as answer_files

    sources = [Provenance.of(release.store) for release in releases]
    results = _results(releases, questions, options)
    if form == "json":
        answer_files.write_json(results, stream, sources)
    elif form == "xlsx":
        for left_out in answer_files.write_xlsx(results, stream, sources):
            click.echo(f"note: {left_out}", err=True)
    elif form == "csv":
        answer_files.write_csv(_tables(releases, questions, options), stream)
    elif form in ("parquet", "feather"):
        from mapapp.show.exports.arrow_files import write_tables

        write_tables(_tables(releases, questions, options), form, stream, sources)
    elif form == "geojson":
        from mapapp.show.exports.answers import answer_layer
        from mapapp.show.exports.text_files import write_geojson

        write_geojson(answer_layer(_require_one_release(form, releases), results), sources[0], stream)
    else:
        lines: Callable[..., list[str]] = _lines_of_years if options["over_years"] else _lines
        for result in results:
            stream.write("\n".join(lines(result)) + "\n\n")


def _lines_of_years(over: OverYears) -> list[str]:
    lines = [over.title, *(f"  {sentence}" for sentence in over.findings())]
    for label, values in over.lines():
        lines += [f"  {label}:", *(f"    {year_value.year}  {year_value.text}" for year_value in values)]
    return [*lines, *(f"  {note}" for note in over.about.notes)]


def _metadata_path(output: Path) -> Path:
    """Path of the metadata file written beside a CSV file, which cannot hold its own source."""
    return output.with_name(f"{output.name}-metadata.json")


def _check_free(path: Path) -> None:
    if path.exists():
        raise UsageError(f"{path}: already exists; name another file, or remove it first")


def _write_sources(path: Path, releases: list[Release]) -> None:
    import json

    from mapapp.show.exports.provenance import Provenance

    sources = [Provenance.of(release.store).to_dict() for release in releases]
    with whole_file(path, binary=False) as stream:
        json.dump({"sources": sources}, stream, ensure_ascii=False, indent=1)
        stream.write("\n")


def _write_shapes(
    form: str, output: Path, releases: list[Release], questions: AnyQuestion, options: Options
) -> None:
    from mapapp.answers.asking import answers
    from mapapp.base.whole_files import new_place
    from mapapp.show.exports.answers import write_answers

    release = _require_one_release(form, releases)
    with show_progress(quiet=options["quiet"]) as report, new_place(output, folder=False) as place:
        results = answers(release, questions, error_rows_of(options))
        write_answers(release, results, form, place, report=report)


def _require_one_release(form: str, releases: list[Release]) -> Release:
    if len(releases) > 1:
        raise UsageError(f"{form} holds one release, not {len(releases)}; give one release")
    return releases[0]


def _results(releases: list[Release], questions: AnyQuestion, options: Options) -> Iterator[Result]:
    from mapapp.answers.asking import answers, changes, over_all_years

    error_rows = error_rows_of(options)
    if options["over_years"]:
        yield from over_all_years(releases, questions, error_rows)
        return
    if options["change"]:
        yield from changes(releases, questions, error_rows)
        return
    for release in releases:
        yield from answers(release, questions, error_rows)


def _tables(releases: list[Release], questions: AnyQuestion, options: Options) -> Iterator[pandas.DataFrame]:
    """Yield tables for CSV; a flow matrix comes in parts, so that any size fits in memory."""
    from mapapp.answers.analyses.entries import ENTRIES
    from mapapp.answers.asking import matrix_parts
    from mapapp.question.question import Questions
    from mapapp.show.files.answers import main_table, table_of, wide_tables

    name = options["table"]
    if options["wide"]:
        yield from wide_tables(_results(releases, questions, options))
        return
    question = questions.question if isinstance(questions, Questions) else questions
    pairs = ENTRIES[question.analysis].pairs
    if pairs and not any(map(options.get, _OF_SEVERAL)) and name in (None, pairs):
        for release in releases:
            for part in matrix_parts(release, questions, error_rows_of(options)):
                part.insert(0, "release", release.title)
                part.insert(1, "year", release.year)
                yield part
        return
    for result in _results(releases, questions, options):
        yield table_of(result, name or main_table(result))


def _lines(result: Result) -> list[str]:
    """Return an answer as text lines: its subject, what it found, its numbers, and the first rows of its main table."""
    from mapapp.answers.analyses.results import Change
    from mapapp.answers.analyses.short_tables import shortened
    from mapapp.answers.errors.error_marks import mark_of_table
    from mapapp.answers.findings.findings import findings, standings
    from mapapp.answers.wording import reader_text

    about, noun = result.about, result.words.noun if isinstance(result, Change) else ""
    side = {"work": "workers of ", "home": "residents of ", None: ""}[about.side]
    side = reader_text(side, about.nouns)
    lines = [f"{reader_text(about.title, about.nouns)}: {side}{about.area}"]
    lines[0] += f" ({about.filters})" if about.filters else ""
    lines.append(f"  {about.release}")
    lines += [f"  {sentence}" for sentence in (*standings(result), *findings(result))]
    lines += [
        f"  {reader_text(name.replace('_', ' '), about.nouns):<18} {_number_text(value, noun)} "
        f"{mark_of_table(result, name)}".rstrip()
        for name, value in result.numbers().items()
    ]
    for name, table in list(result.tables().items())[:1]:
        short = (
            shortened(table, _TEXT_ROWS)
            if {"workers", "share"} <= set(table.columns)
            else table.head(_TEXT_ROWS)
        )
        short = _add_marks(short, mark_of_table(result, name))
        empty = [name for name in short.columns if short[name].isna().all()]
        hidden = [column for column in ("lon_deg", "lat_deg", "kind", *empty) if column in short.columns]
        lines += [f"  {name}:", *_text_rows(short.drop(columns=hidden))]
    if isinstance(result, Change) and result.sizes is not None:
        lines += ["  differences by size of the published count:", *_text_rows(result.sizes)]
    lines += [*_attribute_lines(result), *_grid_lines(result)]
    return [*lines, *(f"  {note}" for note in about.notes)]


def _add_marks(table: pandas.DataFrame, mark: str) -> pandas.DataFrame:
    """Return a table with the mark of a note in place of each expected error that is missing for a stated reason."""
    if not mark or "expected_error" not in table.columns:
        return table
    errors = [mark if error != error else f"{error:.3f}" for error in table["expected_error"].tolist()]
    return table.assign(expected_error=errors)


def _attribute_lines(result: Result) -> list[str]:
    """Return the largest values of each further attribute as text lines; none unless it is a profile of records."""
    from mapapp.answers.errors.error_marks import mark_of_table

    table, mark = result.tables().get("attributes"), mark_of_table(result, "attributes")
    if table is None or not len(table):
        return []
    lines = []
    for title, rows in table.groupby("title", sort=False):
        largest = rows if len(rows) <= _TEXT_ROWS else rows.nlargest(_TEXT_ROWS, "workers")
        shown = _add_marks(largest.drop(columns=["attribute", "title", "code"]), mark)
        more = f" (largest {_TEXT_ROWS} of {len(rows)})" if len(rows) > _TEXT_ROWS else ""
        empty = [name for name in shown.columns if (shown[name].isna() | (shown[name] == "")).all()]
        lines += [f"  {title}{more}:", *_text_rows(shown.drop(columns=empty))]
    return lines


def _grid_lines(result: Result) -> list[str]:
    """Return the first rows and columns of an answer's grid as text lines; none if its analysis has no grid."""
    import pandas

    from mapapp.answers import words
    from mapapp.answers.analyses.entries import grid_of
    from mapapp.answers.analyses.grids import ERROR, Limit
    from mapapp.answers.errors.error_marks import mark_of_grid

    mark, grid = mark_of_grid(result), grid_of(result, Limit(_TEXT_ROWS, _TEXT_COLUMNS))
    if grid is None:
        return []
    first, *names = [name for name in grid.columns if not name.endswith(ERROR)]
    shown: dict[str, list[str]] = {first: grid[first].mask(grid[first] == grid[first].shift(), "").tolist()}
    for name in names:
        errors = grid[f"{name}{ERROR}"].tolist() if f"{name}{ERROR}" in grid else [None] * len(grid)
        values = zip(grid[name].tolist(), errors, strict=True)
        shown[name] = [
            value if isinstance(value, str) else f"{value:,} {words.error_text(error) or mark}".rstrip()
            for value, error in values
        ]
    return ["  grid:", *_text_rows(pandas.DataFrame(shown))]


def _text_rows(table: pandas.DataFrame) -> list[str]:
    text = table.to_string(index=False, float_format=lambda value: f"{value:.3f}", na_rep="")
    return [f"    {line}" for line in text.splitlines()]


def _number_text(value: object, noun: str) -> str:
    """Return a number as text; for a comparison, both values and the change or difference that `noun` names."""
    from mapapp.answers import words
    from mapapp.answers.analyses.measures import Miles, Number, Ratio

    if isinstance(value, Ratio):
        error = words.ratio_error(value.expected_error)
        return f"{words.ratio(value.value)} {error or value.caution}".rstrip()
    if isinstance(value, Miles):
        return f"{words.miles(value.value)} {words.miles_error(value.expected_error)}".rstrip()
    if isinstance(value, Number):
        error = words.error_text(value.expected_error)
        return f"{value.value:,} {error}{f' ({value.caution})' if value.caution else ''}".rstrip()
    if isinstance(value, dict):
        known = value["expected_error"]
        error = "" if known is None else f" ± {known:.3g}" if known else ", exact"
        before, after, change = (_number_text(value[name], noun) for name in ("before", "after", "change"))
        return f"{before} → {after} ({noun} {change}{error})"
    return "–" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
