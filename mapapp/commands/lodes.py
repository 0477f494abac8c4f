"""`commutemap lodes`: from the names of states to a map of the counts that the Census Bureau has published."""

from __future__ import annotations

from pathlib import Path

import click

from mapapp.base.errors import UsageError
from mapapp.base.paths import cache_home, data_home
from mapapp.base.progress import show_progress
from mapapp.commands.options import STORE, Option, config_option, json_option, print_result, quiet_option
from mapapp.commands.source_options import missing_line, plain_file, read_wanted, source_options


@click.command()
@click.argument("states", nargs=-1, required=True, metavar="STATE...")
@click.option("--year", type=int, default=None, help="Year of the jobs, such as 2023.")
@click.option("--years", "span", default=None, metavar="FIRST-LAST", help="Several years, such as 2002-2023.")
@source_options
@click.option(
    "--cache",
    type=STORE,
    default=None,
    help="Folder that keeps the downloaded files.  [default: (the user's cache folder)]",
)
@click.option(
    "-o",
    "--output",
    type=STORE,
    default=None,
    help="Folder for the published counts, one for each year.  [default: (the user's data folder)]",
)
@click.option("--no-serve", is_flag=True, help="Make the published counts, and do not serve them.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=None,
    help="Port of the map.  [default: (8050, or any free port)]",
)
@config_option
@json_option
@quiet_option
def lodes(
    states: tuple[str, ...],
    year: int | None,
    span: str | None,
    cache: Path | None,
    output: Path | None,
    no_serve: bool,
    port: int | None,
    as_json: bool,
    quiet: bool,
    **options: Option,
) -> None:
    """Show the commutes of STATES that the Census Bureau has published as LODES, on a map.

    Download what is missing into a cache, open each year as published, serve the map, and print its address. All
    states are on one map for each year. Nothing is drawn, and nothing else needs the network: what is in the cache is
    not downloaded again.

    \b
    Examples:
      commutemap lodes ri --year 2023
      commutemap lodes ri --years 2002-2023 --basemap
      commutemap lodes ny nj ct --year 2019 --job-type JT01 --characteristics
    """
    from mapapp.kinds.published.make.lodes_years import make_years, plan_years, years_in

    if (year is None) == (span is None):
        raise UsageError("give --year, such as --year 2023, or --years, such as --years 2002-2023")
    if as_json and not no_serve:
        raise UsageError("--json: a server has no result; add --no-serve")
    years = (year,) if year is not None else years_in(str(span))
    plan = plan_years(cache or cache_home(), read_wanted(states, years, options), every=year is not None)
    if not as_json:
        for line in plan.left_out:
            click.echo(line)
    with show_progress(quiet=quiet) as report:
        made, files = make_years(
            plan, output or data_home() / "lodes", refresh=options["refresh"], progress=report
        )
    paths = [publication.path for publication in made]
    result = {
        "publications": [
            {
                "path": str(publication.path),
                "year": publication.year,
                "is_new": publication.is_new,
                "notes": list(publication.notes),
            }
            for publication in made
        ],
        "left_out": plan.left_out,
        "cache": str(plan.folder),
        "files": [plain_file(file) for file in files],
    }
    lines = [
        line
        for publication in made
        for line in (
            f"{publication.path}: {'made' if publication.is_new else 'present'}",
            *(f"  note  {note}" for note in publication.notes),
        )
    ]
    lines += missing_line(files)
    if no_serve:
        print_result(result, [*lines, f"next: commutemap serve {' '.join(map(str, paths))}"], as_json=as_json)
        return
    from mapapp.commands.serve import serve_publications

    click.echo("\n".join(lines))
    serve_publications(paths, port=port)
