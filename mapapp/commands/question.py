"""The options that describe a question, shared by every command that answers questions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from mapapp.base.errors import UsageError
from mapapp.commands.options import STORE, Options
from mapapp.question.analyses import ANALYSES
from mapapp.question.fields import QUESTION
from mapapp.question.options import OPTIONS, Option, questions_from
from mapapp.question.question import EVERYTHING, Questions

if TYPE_CHECKING:
    from mapapp.answers.release import Release

Function = TypeVar("Function", bound=Callable[..., object])

_AREA_FILE: Final = click.option(
    "--area-file",
    "area_files",
    type=STORE,
    multiple=True,
    help="File of polygons, or with --within of lines, that make up an area; for paired and flow-matrix the area at "
    "both ends. FILE!LAYER is one layer, or one file of a zip. Repeatable.",
)


class AnalysisName(click.Choice[str]):
    """The name of an analysis, or a unique prefix of one."""

    name = "analysis"

    def __init__(self) -> None:
        super().__init__(list(ANALYSES))

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the whole name.

        Raises
        ------
        BadParameter
            If no name begins with the value, or several do; the message lists those.
        """
        names = [name for name in ANALYSES if name.startswith(str(value))]
        if value in ANALYSES or not value or not names:
            return super().convert(value, param, ctx)
        if len(names) > 1:
            self.fail(f"{value!r} could be {' or '.join(names)}; give more of the name.", param, ctx)
        return names[0]


def _click_option(option: Option) -> Callable[[Function], Function]:
    """Return an option as a click decorator; :func:`questions_of_options` parses lists of numbers."""
    more: dict[str, Any] = {"show_default": True} if option.default else {}
    if option.kind in ("areas", "attributes"):
        more = {"multiple": True}
    elif option.name == "characteristic":
        more |= {"metavar": "COLUMN"}
    elif option.kind == "choice":
        more |= {"type": click.Choice(QUESTION[option.field].choices)}
    elif option.name == "each":
        more |= {"metavar": "LAYER"}
    elif option.kind == "distance":
        more |= {"metavar": "MILES"}
    if option.kind == "attributes":
        more |= {"metavar": "NAME:CODE"}
    elif option.kind == "names":
        more |= {"metavar": "NAMES"}
    if option.kind not in ("areas", "attributes"):
        more |= {"default": option.default}
    return click.option(f"--{option.name}", help=option.help, **more)


def errors_option(rows: int) -> Callable[[Function], Function]:
    """Return the ``--errors`` option with a default number of rows."""
    return click.option(
        "--errors",
        type=click.IntRange(-1),
        default=rows,
        show_default=True,
        help="Give expected errors for the numbers and for this many rows of each table; -1 gives none and is faster.",
    )


def question_options(function: Function) -> Function:
    """Add the options of a question, except the analysis and the setup."""
    for name, option in reversed(OPTIONS.items()):
        if name == "area":
            function = _AREA_FILE(function)
        function = _click_option(option)(function)
    return function


def refuse_beside_setup() -> None:
    """Raise UsageError if the running command got part of a question in addition to a setup."""
    context = click.get_current_context()
    names = {"analysis", "analyses", *(parameter.name for parameter in _question_parameters())}
    for parameter in context.command.params:
        source = context.get_parameter_source(str(parameter.name))
        if parameter.name in names and source is not click.core.ParameterSource.DEFAULT:
            raise UsageError(
                f"--setup and {parameter.opts[0]} conflict: the setup contains the question; leave one of them out"
            )


def _question_parameters() -> list[click.Parameter]:
    @click.command()
    @question_options
    def question(**_: object) -> None:
        """Have every option of a question; never runs."""

    return question.params


def questions_of_options(options: Options, analysis: str) -> Questions:
    """Return the questions that options describe."""
    given = {name: options[name.replace("-", "_")] for name in OPTIONS}
    within_mi = given["within"] = _distance("--within", given["within"])
    from_files = [_area_of_file(path, within_mi) for path in options["area_files"]]
    chosen = {given[name] for name in ("home-area", "work-area", "both-ends")}
    if ANALYSES[analysis].n_areas == 2 and len(from_files) == 1 and chosen == {EVERYTHING, ""}:
        given["both-ends"] = from_files[0]
    else:
        given["area"] = [*given["area"], *from_files]
    for name, option in OPTIONS.items():
        if option.kind in ("bands", "miles"):
            given[name] = _numbers(f"--{name}", given[name], int if option.kind == "bands" else float)
        elif option.kind == "names":
            given[name] = tuple(part.strip() for part in given[name].split(",") if part.strip())
    return questions_from(given, analysis)


def print_notes_on_names(release: Release, questions: Questions) -> None:
    """Print to standard error what else shares the name of an area in the questions, one line per name."""
    from mapapp.answers.asking import notes_on_names

    for note in notes_on_names(release, questions):
        click.echo(note, err=True)


def error_rows_of(options: Options) -> int | None:
    """Number of rows of each table that get an expected error; None for no errors at all."""
    return None if options["errors"] < 0 else int(options["errors"])


def _numbers(option: str, text: str, kind: type[int] | type[float]) -> tuple[float, ...]:
    try:
        return tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise UsageError(f"{option} {text[:40]!r}: give numbers separated by commas") from None


def _distance(option: str, text: str) -> float | None:
    from geodata.geography.corridors import check_miles

    if not text:
        return None
    try:
        miles = float(text)
    except ValueError:
        raise UsageError(f"{option} {text[:40]!r}: give a distance in miles, such as 0.5") from None
    check_miles(miles)
    return miles


def _area_of_file(path: Path, within_mi: float | None) -> str:
    from geodata.geography.area_files import read_area_file
    from mapapp.question.area_text import Step, area_text, geometries_of, part_of

    file = read_area_file(path, with_lines=within_mi is not None)
    return area_text([Step("+", part_of(geometry, within_mi)) for geometry in geometries_of(file, within_mi)])
