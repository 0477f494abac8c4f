"""`commutemap fetch`: download the public files of one state and year."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

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
from mapapp.commands.source_options import plain_file, read_wanted, source_options

if TYPE_CHECKING:
    from geodata.sources.fetch import Fetched


@click.command()
@click.argument("directory", type=STORE)
@click.option("--state", required=True, help="Postal code or name of the state, such as ri.")
@click.option("--year", required=True, type=int, help="Year of the jobs, such as 2019.")
@source_options
@config_option
@json_option
@quiet_option
def fetch(directory: Path, state: str, year: int, as_json: bool, quiet: bool, **options: Option) -> None:
    """Download LODES, crosswalk, TIGER, PUMA, and population files into DIRECTORY.

    An interrupted download resumes. Every file is checked against its published sha256, if there is one. Besides
    `lodes`, this is the only command that uses the network.

    \b
    Example:
      commutemap fetch census-files --state ri --year 2019 --origin-state ma --origin-state ct
    """
    from geodata.sources.fetch import fetch as fetch_files

    with show_progress(quiet=quiet) as report:
        wanted = read_wanted([state], [year], options)
        files = fetch_files(directory, wanted, refresh=options["refresh"], progress=report)
    result = {"directory": str(directory), "files": [plain_file(file) for file in files]}
    lines = [*map(_line, files), f"next: commutemap import DATASET --from {directory}"]
    print_result(result, lines, as_json=as_json)


def _line(file: Fetched) -> str:
    compared = file.published or file.status == "missing" or file.role in ("checksums", "version")
    note = "" if compared else "  (no published sha256; this one is recorded for next time)"
    return f"{file.status:<10}  {file.file.name}  {file.n_bytes:,} bytes{note}"
