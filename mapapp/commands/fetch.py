"""`commutemap fetch`: the public files of one state and year."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mapapp.commands.options import STORE, config_option, json_option, print_result, quiet_option
from mapapp.progress import shown


@click.command()
@click.argument("directory", type=STORE)
@click.option("--state", required=True, help="Postal code of the state, such as ri.")
@click.option("--year", required=True, type=int, help="Year of the jobs, such as 2019.")
@click.option(
    "--origin-state", multiple=True, help="Another state whose homes to place; may be given several times."
)
@click.option(
    "--lodes", type=click.Choice(["7", "8"]), default="8", show_default=True, help="7: 2010 blocks; 8: 2020."
)
@click.option("--blocks", is_flag=True, help="Also the block polygons (large; otherwise cells are derived).")
@click.option("--job-type", default="JT00", show_default=True, help="LODES job type; JT00 is all jobs.")
@click.option("--base-url", default=None, help="A mirror that holds the same paths.")
@config_option
@json_option
@quiet_option
def fetch(directory: Path, as_json: bool, quiet: bool, **options: Any) -> None:
    """Download LODES, crosswalk, TIGER, PUMA and population files into DIRECTORY.

    Stops and resumes, and checks every file's sha256 against the published one where there is one. This is the only
    command that uses the network.

    \b
    Example:
      commutemap fetch census-files --state ri --year 2019 --origin-state ma --origin-state ct
    """
    from geodata.fetch import fetch as fetch_files

    with shown(quiet=quiet) as report:
        files = fetch_files(
            directory,
            state=options["state"],
            year=options["year"],
            origin_states=options["origin_state"],
            lodes=int(options["lodes"]),
            blocks=options["blocks"],
            job_type=options["job_type"],
            base=options["base_url"],
            progress=report,
        )
    lines = [
        f"{file.status:<10}  {file.file.name}  {file.n_bytes:,} bytes"
        + (
            ""
            if file.published or file.status == "missing"
            else "  (no published sha256; recorded for next time)"
        )
        for file in files
    ]
    result = {"directory": str(directory), "files": [_plain(file) for file in files]}
    print_result(result, [*lines, f"next: commutemap import DATASET --from {directory}"], as_json=as_json)


def _plain(file: Any) -> dict[str, Any]:
    names = ("url", "role", "status", "sha256", "n_bytes", "published")
    return {"file": file.file.name, **{name: getattr(file, name) for name in names}}
