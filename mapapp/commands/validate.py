"""`commutemap validate`: measure a release against the dataset it was drawn from."""

from __future__ import annotations

from pathlib import Path

import click

from mapapp.commands.options import (
    STORE,
    config_option,
    csv_option,
    json_option,
    naming_what_is_kept,
    picture_option,
    print_result,
    quiet_option,
)
from mapapp.progress import show_progress


@click.command()
@click.argument("dataset", type=STORE)
@click.argument("release", type=STORE)
@csv_option
@picture_option("the measures")
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

    The output compares the expected values in closed form with what was drawn: KL divergence, IMSE, mass by commute
    range, support points, commute distances, and flows. All of it is CONFIDENTIAL: it is computed from confidential
    counts, for the analyst only. Do not publish it. docs/validity.md explains each number.

    \b
    Examples:
      commutemap validate ri.dataset ri.release
      commutemap validate ri.dataset ri.release --csv ri-validity --picture ri-validity.png
    """
    from mapapp.measuring.validity import AnalystData, measure_release
    from mapapp.measuring.validity_report import require_places, validity_lines, write_csv, write_picture

    require_places(csv_path, picture_path)
    with naming_what_is_kept(csv_path, picture_path):
        with show_progress(quiet=quiet) as report:
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
