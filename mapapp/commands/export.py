"""`commutemap export`: write a release or a table in common formats."""

from __future__ import annotations

import datetime
from pathlib import Path

import click

from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.commands.options import STORE, config_option, json_option, print_result, quiet_option

_FORMS = ("lodes", "gpkg", "shp", "kml", "geojson", "csv", "xlsx", "points", "parquet")


@click.command()
@click.argument("publication", type=STORE)
@click.argument("target", type=STORE, metavar="DIR_OR_FILE")
@click.option(
    "--to", "form", type=click.Choice(_FORMS), required=True, help="Output format; see docs/exports.md."
)
@click.option(
    "--layer",
    "layers",
    multiple=True,
    help="Layer of units to write with their counts, by its key or an everyday word: county, town, tract, block, …, or "
    "all (except block). Repeatable.  [default: (state, county, tract)]",
)
@click.option(
    "--with",
    "more",
    type=click.Choice(["points", "flows", "basemap"]),
    multiple=True,
    help="Also write a point for each worker's home and workplace, a line for each pair of blocks, or the water, "
    "roads, rails, and landmarks of the base map. Repeatable.",
)
@click.option(
    "--date",
    type=click.DateTime(["%Y-%m-%d"]),
    default=None,
    help="Value of createdate, for lodes.  [default: (last day of the jobs' year)]",
)
@config_option
@json_option
@quiet_option
def export(
    publication: Path,
    target: Path,
    form: str,
    layers: tuple[str, ...],
    more: tuple[str, ...],
    date: datetime.datetime | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write a publication in another format, to a new folder or (gpkg, shp, kml, xlsx) to one new file.

    Every export names its PUBLICATION. It is written completely or not at all, and has the same bytes every time. A
    table with suppressed cells is written as csv or xlsx, with the reason for every star and a codebook. Worker records
    are written as csv or parquet with one row for each synthetic worker and a codebook; the other formats work, too.

    \b
    Examples:
      commutemap export ri.release ri-lodes --to lodes
      commutemap export ri.release ri.gpkg --to gpkg --layer county --layer tract --with points
      commutemap export ri.release ri-shapes.zip --to shp
      commutemap export ri.release ri-points --to points
      commutemap export ri.table ri-table.xlsx --to xlsx
      commutemap export ri.records ri-records --to parquet
    """
    from geodata.store.manifest import read_manifest
    from mapapp.kinds.tables.files.export import export_table
    from mapapp.show.exports.release_export import export_release

    is_table = read_manifest(publication).get("kind") == "table"
    refuse_options(form, is_table=is_table, layers=layers, more=more, date=date)
    with show_progress(quiet=quiet) as report:
        if is_table:
            done = export_table(publication, form, target, report=report)
        else:
            done = export_release(
                publication,
                form,  # type: ignore[arg-type]  # checked by click
                target,
                layers=layers,
                more=more,  # type: ignore[arg-type]  # checked by click
                date=None if date is None else date.date(),
                report=report,
            )
    for note in done.notes:
        click.echo(note, err=True)
    lines = [f"{done.path}: {len(done.files)} file{'s' * (len(done.files) != 1)}"]
    print_result(
        done.to_dict(),
        [*lines, *(f"  {name}: {size:,} bytes" for name, size in done.files.items())],
        as_json=as_json,
    )


def refuse_options(
    form: str,
    *,
    is_table: bool,
    layers: tuple[str, ...],
    more: tuple[str, ...],
    date: datetime.date | None,
) -> None:
    """Raise UsageError if options do not apply to the publication or the format."""
    if is_table and (layers or more or date is not None):
        raise UsageError(
            "--layer, --with, and --date do not apply to a table with suppressed cells, which is written whole; "
            "leave them out"
        )
    if form in ("lodes", "points") and (layers or more):
        raise UsageError(
            f"--layer and --with do not apply to --to {form}, which writes the whole release; leave them out"
        )
    if form != "lodes" and date is not None:
        raise UsageError(f"--date applies only to --to lodes; leave it out for {form}")
