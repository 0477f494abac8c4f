"""`commutemap validate`: how valid a release is, against the dataset it was drawn from."""

from __future__ import annotations

from pathlib import Path

import click

from mapapp.commands.options import STORE, config_option, json_option, print_result, quiet_option
from mapapp.interrupts import exit_code
from mapapp.progress import shown


@click.command()
@click.argument("dataset", type=STORE)
@click.argument("release", type=STORE)
@click.option(
    "--csv",
    "csv_path",
    type=STORE,
    default=None,
    metavar="DIR",
    help="Also write every table as a CSV file into a new directory.",
)
@click.option(
    "--picture",
    "picture_path",
    type=STORE,
    default=None,
    metavar="FILE",
    help="Also draw the measures: FILE.png or FILE.svg.",
)
@click.option(
    "--sample",
    "n_tracts",
    type=click.IntRange(1),
    default=None,
    metavar="N",
    help="Measure about N evenly spaced workplace tracts instead of all.",
)
@config_option
@json_option
@quiet_option
def validate(
    dataset: Path,
    release: Path,
    csv_path: Path | None,
    picture_path: Path | None,
    n_tracts: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Measure RELEASE against the confidential DATASET that it was drawn from.

    KL divergence, IMSE, mass by commute range, support points, commute distances, flows: what was to be expected of
    the release in closed form, and what was drawn. All of it is CONFIDENTIAL: computed from confidential counts, for
    the analyst, not for publication. docs/validity.md says what each number is.

    \b
    Examples:
      commutemap validate ri.dataset ri.release
      commutemap validate ri.dataset ri.release --csv ri-validity --picture ri-validity.png
    """
    from mapapp.measuring.validity import AnalystData, measure_release
    from mapapp.measuring.validity_report import require_places, validity_lines, write_csv, write_picture

    require_places(csv_path, picture_path)
    try:
        with shown(quiet=quiet) as report:
            report("reading the dataset", 0, 0)
            data = AnalystData.open(dataset)
            found = measure_release(
                data, release, tracts=None if n_tracts is None else data.sample(n_tracts), report=report
            )
            if csv_path is not None:
                report("writing tables", 0, 0)
                write_csv(found, csv_path)
            if picture_path is not None:
                report("drawing the picture", 0, 0)
                write_picture(found, picture_path)
        print_result(found.to_dict(), validity_lines(found), as_json=as_json)
    except KeyboardInterrupt as error:
        kept = [str(path) for path in (csv_path, picture_path) if path is not None and path.exists()]
        if not kept:
            raise
        click.echo(f"commutemap: stopped; {' and '.join(kept)} had been written whole", err=True)
        raise click.exceptions.Exit(exit_code(error)) from None
