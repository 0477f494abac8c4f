"""`commutemap fetch`: download the public files of one state and year."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from mapapp.base.progress import show_progress
from mapapp.commands.options import (
    STORE,
    Option,
    config_option,
    json_option,
    print_result,
    quiet_option,
)

if TYPE_CHECKING:
    from geodata.sources.fetch import Fetched


@click.command()
@click.argument("directory", type=STORE)
@click.option("--state", required=True, help="Postal code of the state, such as ri.")
@click.option("--year", required=True, type=int, help="Year of the jobs, such as 2019.")
@click.option(
    "--origin-state", multiple=True, help="Neighboring state whose homes to place by block. Repeatable."
)
@click.option(
    "--lodes",
    type=click.Choice(["7", "8"]),
    default="8",
    show_default=True,
    help="LODES version: 7 uses 2010 blocks, 8 uses 2020 blocks.",
)
@click.option(
    "--blocks",
    is_flag=True,
    help="Also download block polygons (large); without them, block cells are derived.",
)
@click.option(
    "--basemap",
    is_flag=True,
    help="Also download boundaries that end at the shore, water, main roads, and rails.",
)
@click.option("--job-type", default="JT00", show_default=True, help="LODES job type; JT00 is all jobs.")
@click.option("--base-url", default=None, help="URL of a mirror with the same paths.")
@config_option
@json_option
@quiet_option
def fetch(directory: Path, as_json: bool, quiet: bool, **options: Option) -> None:
    """Download LODES, crosswalk, TIGER, PUMA, and population files into DIRECTORY.

    An interrupted download resumes. Every file is checked against its published sha256, if there is one. This is the
    only command that uses the network.

    \b
    Example:
      commutemap fetch census-files --state ri --year 2019 --origin-state ma --origin-state ct
    """
    from geodata.sources.fetch import Also
    from geodata.sources.fetch import fetch as fetch_files

    with show_progress(quiet=quiet) as report:
        files = fetch_files(
            directory,
            state=options["state"],
            year=options["year"],
            origin_states=options["origin_state"],
            lodes=int(options["lodes"]),
            also=[name for name in get_args(Also) if options[name]],
            job_type=options["job_type"],
            base=options["base_url"],
            progress=report,
        )
    lines = [
        f"{file.status:<10}  {file.file.name}  {file.n_bytes:,} bytes"
        + (
            ""
            if file.published or file.status == "missing"
            else "  (no published sha256; this one is recorded for next time)"
        )
        for file in files
    ]
    result = {"directory": str(directory), "files": [_plain(file) for file in files]}
    print_result(result, [*lines, f"next: commutemap import DATASET --from {directory}"], as_json=as_json)


def _plain(file: Fetched) -> dict[str, object]:
    names = ("url", "role", "status", "sha256", "n_bytes", "published")
    return {"file": file.file.name, **{name: getattr(file, name) for name in names}}
