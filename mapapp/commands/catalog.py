"""`commutemap catalog`: what data catalogs and the registry of differential privacy read about a publication."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from mapapp.commands.options import STORE, config_option, json_option, print_result


@click.command()
@click.argument("publication", type=STORE)
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--publisher", required=True, metavar="NAME", help="Organization that publishes it.")
@click.option("--contact", required=True, metavar="EMAIL", help="Where people can ask about it.")
@click.option(
    "--issued", required=True, type=click.DateTime(["%Y-%m-%d"]), metavar="DATE", help="Day of publication."
)
@click.option(
    "--licence",
    default="",
    metavar="NAME|URL",
    help="License: an address, or CC0-1.0, CC-BY-4.0, CC-BY-SA-4.0, ODbL-1.0, or us-government-work.",
)
@click.option("--version", default="", metavar="TEXT", help="Version that the publisher gives it, such as 2.")
@click.option(
    "--supersedes", default="", metavar="DIGEST", help="Digest of the publication that it replaces."
)
@click.option("--erratum", default="", metavar="TEXT", help="What was wrong with that one, in a line.")
@config_option
@json_option
def catalog(
    publication: Path,
    folder: Path,
    publisher: str,
    contact: str,
    issued: datetime.datetime,
    licence: str,
    version: str,
    supersedes: str,
    erratum: str,
    as_json: bool,
) -> None:
    """Write what catalogs read about PUBLICATION to a new FOLDER.

    There is a dataset of DCAT-US 3.0, a dictionary of all columns in Croissant 1.0, and, unless the counts were public
    before, a draft for the public registry of deployments of differential privacy, with what only you can know marked
    FILL IN. A publication that is not for release is refused.

    \b
    Example:
      commutemap catalog ri.release ri-metadata --publisher "State of RI" --contact a@example.org --issued 2026-05-01
    """
    from mapapp.show.exports.catalog import Publisher, write_catalog

    said = Publisher(
        name=publisher,
        email=contact,
        issued=issued.date(),
        licence=licence,
        version=version,
        supersedes=supersedes,
        erratum=erratum,
    )
    done = write_catalog(publication, folder, said)
    lines = [f"{done.path}: {len(done.files)} files"]
    lines += [f"  {name}: {size:,} bytes" for name, size in done.files.items()]
    print_result(done.to_dict(), [*lines, *(f"  note  {note}" for note in done.notes)], as_json=as_json)
