"""Options of the commands that download public files: `fetch` and `lodes`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import click

from mapapp.commands.options import Options

if TYPE_CHECKING:
    from geodata.sources.fetch import Fetched
    from geodata.sources.sources_catalog import Wanted

_MOST_NAMED: Final = 6

Function = TypeVar("Function", bound=Callable[..., object])

_OPTIONS = (
    click.option(
        "--origin-state",
        multiple=True,
        help="Neighboring state whose homes to place by block; other homes beyond the border are counted by state. "
        "Repeatable.",
    ),
    click.option(
        "--lodes",
        type=int,
        metavar="[7|8]",
        default=8,
        show_default=True,
        help="LODES version: 7 uses 2010 blocks, 8 uses 2020 blocks.",
    ),
    click.option("--job-type", default="JT00", show_default=True, help="LODES job type; JT00 is all jobs."),
    click.option(
        "--characteristics",
        is_flag=True,
        help="Also download workplace and residence characteristics (WAC, RAC) of all workers.",
    ),
    click.option(
        "--segments",
        is_flag=True,
        help="Also download the characteristics of each of nine segments of workers, by age, earnings, and industry.",
    ),
    click.option(
        "--blocks",
        is_flag=True,
        help="Also download block polygons (large); without them, block cells are derived.",
    ),
    click.option(
        "--basemap",
        is_flag=True,
        help="Also download boundaries that end at the shore, water, main roads, and rails.",
    ),
    click.option(
        "--refresh", is_flag=True, help="Look for files that were published anew since they were downloaded."
    ),
    click.option("--base-url", default=None, help="URL of a mirror with the same paths."),
)


def source_options(function: Function) -> Function:
    """Add the options that say which files to download."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


def usual_values() -> Options:
    """Return what these options are if none is given, by name."""
    return click.command()(source_options(lambda **_: None)).make_context("", []).params


def read_wanted(states: Sequence[str], years: Sequence[int], options: Options) -> Wanted:
    """Return the state-years that a command names, and what to have with them.

    Raises
    ------
    SourceFileError
        A state, year, version or job type does not exist.
    """
    from geodata.sources.sources_catalog import Wanted

    return Wanted(
        states=tuple(states),
        years=tuple(years),
        origin_states=options["origin_state"],
        lodes=options["lodes"],
        job_type=options["job_type"],
        characteristics=options["characteristics"],
        segments=options["segments"],
        blocks=options["blocks"],
        base_map=options["basemap"],
        base=options["base_url"],
    )


def missing_line(files: Sequence[Fetched]) -> list[str]:
    """Name files that the result does without, in at most one line."""
    names = [file.file.name for file in files if file.status == "missing"]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return [f"without files that could not be found: {', '.join(names[:_MOST_NAMED])}{more}"] if names else []


def plain_file(file: Fetched) -> dict[str, object]:
    """Return the result for one file as JSON has it."""
    names = ("url", "role", "status", "sha256", "n_bytes", "published")
    return {"file": file.file.name, **{name: getattr(file, name) for name in names}}
