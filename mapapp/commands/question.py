"""The options that ask a question, the same for every command that asks one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from mapapp.commands.options import STORE
from mapapp.errors import UsageError

if TYPE_CHECKING:
    from mapapp.answers.request import Request

Function = TypeVar("Function", bound=Callable[..., Any])

ANALYSES: Final = (
    "profile",
    "comparison",
    "destinations",
    "distance-direction",
    "inflow-outflow",
    "paired",
    "flow-matrix",
)
_OPTIONS: Final = (
    click.option(
        "--area",
        "areas",
        multiple=True,
        help="An area: a unit's name, level:identifier, steps such as 'county:44007 -stplc:4459000', a circle, ring, "
        "box or shape, or all. Repeat it for several answers.  [default: (all)]",
    ),
    click.option(
        "--area-file", "area_files", type=STORE, multiple=True, help="An area from a file with polygons."
    ),
    click.option(
        "--each", default="", metavar="LAYER", help="One answer for each unit of a layer within the area."
    ),
    click.option(
        "--home-area", default="all", show_default=True, help="Where they live: paired and flow-matrix."
    ),
    click.option(
        "--work-area", default="all", show_default=True, help="Where they work: paired and flow-matrix."
    ),
    click.option(
        "--side",
        type=click.Choice(["work", "home"]),
        default="work",
        show_default=True,
        help="Whether people work or live in the area.",
    ),
    click.option(
        "--age", default="", help="Bands to keep, such as 1,2: 29 or younger, 30 to 54, 55 or older."
    ),
    click.option("--earnings", default="", help="Bands to keep: up to $1,250 a month, up to $3,333, more."),
    click.option(
        "--industry", default="", help="Groups to keep: goods producing, trade and transport, other services."
    ),
    click.option(
        "--layer", default="county", show_default=True, help="What a row of comparison or destinations is."
    ),
    click.option("--home-layer", default="county", show_default=True, help="Rows of a flow matrix."),
    click.option("--work-layer", default="county", show_default=True, help="Columns of a flow matrix."),
    click.option("--bands", default="10,25,50", show_default=True, help="Miles at which distance bands end."),
)


def errors_option(rows: int) -> Callable[[Function], Function]:
    """``--errors``, with so many rows by default."""
    return click.option(
        "--errors",
        type=click.IntRange(-1),
        default=rows,
        show_default=True,
        help="Expected errors of the numbers and of so many rows of each table; -1 for none, which is quicker.",
    )


def question_options(function: Function) -> Function:
    """Add the options of a question, but for the analysis and the setup."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def refuse_beside_setup() -> None:
    """Raise UsageError where the command that runs is given a part of a question besides a setup."""
    context = click.get_current_context()
    names = {"analysis", "analyses", *(each.name for each in _asking())}
    for each in context.command.params:
        source = context.get_parameter_source(str(each.name))
        if each.name in names and source is not click.core.ParameterSource.DEFAULT:
            raise UsageError(
                f"--setup and {each.opts[0]}: the setup says what is asked; leave one of them out"
            )


def _asking() -> list[click.Parameter]:
    @click.command()
    @question_options
    def question(**_: Any) -> None:
        """Stand for a command that asks."""

    return question.params


def request_of(options: dict[str, Any], analysis: str) -> Request:
    """The question that options ask."""
    from mapapp.answers.request import Request
    from mapapp.question.filters import Filters

    areas = [*options["areas"], *(_area_of_file(path) for path in options["area_files"])]
    bands = {name: _numbers(f"--{name}", options[name], int) for name in ("age", "earnings", "industry")}
    same = ("each", "home_area", "work_area", "side", "layer", "home_layer", "work_layer")
    return Request(
        **{name: options[name] for name in same},
        analysis=analysis,
        areas=areas or ("all",),
        filters=Filters(**bands),
        edges_mi=_numbers("--bands", options["bands"], float),
        error_rows=None if options["errors"] < 0 else options["errors"],
    )


def _numbers(option: str, text: str, kind: Any) -> tuple[Any, ...]:
    try:
        return tuple(kind(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise UsageError(f"{option} {text[:40]!r}: write numbers with commas between them") from None


def _area_of_file(path: Path) -> str:
    from geodata.area_files import read_area_file
    from mapapp.question.area_text import Shape

    return str(Shape.of(read_area_file(path).area))
