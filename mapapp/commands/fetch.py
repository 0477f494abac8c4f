"""`commutemap fetch`: the public files of one state and year."""

from __future__ import annotations

from pathlib import Path

import click

from mapapp.commands.options import STORE, config_option, json_option, quiet_option


@click.command()
@click.argument("directory", type=STORE)
@click.option("--state", required=True, help="Postal code of the state, such as ri.")
@click.option("--year", required=True, type=int, help="Year of the jobs, such as 2019.")
@click.option(
    "--origin-state", multiple=True, help="A further state whose homes to place (crosswalk and geography)."
)
@click.option(
    "--lodes",
    type=click.Choice(["7", "8"]),
    default="8",
    show_default=True,
    help="LODES version: 7 has 2010 blocks, 8 has 2020.",
)
@click.option("--blocks/--no-blocks", default=False, help="Also the block polygons (large).")
@config_option
@json_option
@quiet_option
def fetch(
    directory: Path,
    state: str,
    year: int,
    origin_state: tuple[str, ...],
    lodes: str,
    blocks: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Download LODES, crosswalk, TIGER, PUMA and population files into DIRECTORY.

    Resumes, and checks every file's sha256. This is the only command that uses the network.

    \b
    Example:
      commutemap fetch census-files --state ri --year 2019 --origin-state ma --origin-state ct
    """
