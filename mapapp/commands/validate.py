"""`commutemap validate`: measure a release or worker records against the dataset they were made from."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from geodata.store.manifest import read_manifest
from mapapp.base.errors import UsageError
from mapapp.base.progress import Report, show_progress
from mapapp.commands.options import (
    STORE,
    config_option,
    csv_option,
    json_option,
    picture_option,
    print_result,
    quiet_option,
)

if TYPE_CHECKING:
    from mapapp.analyst.validity.result import Validity
    from mapapp.kinds.records.measure.validity_result import RecordsValidity


class Measured(NamedTuple):
    """What was measured: the result, its lines for a person, and how to draw it into a file."""

    validity: Validity | RecordsValidity
    lines: list[str]
    draw: Callable[[Path], None]


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
    """Measure RELEASE (or worker records) against the confidential DATASET that it was drawn from.

    The output for a release compares the expected values in closed form with what was drawn: KL divergence, IMSE,
    mass by commute range, support points, commute distances, and flows. For worker records it has the total
    variation distance of every attribute, of every pair of attributes, and of larger combinations, each beside the
    distance of a resample of the real workers. All of it is CONFIDENTIAL: it is computed from confidential counts, for
    the analyst only. Do not publish it. docs/validity.md explains each number.

    \b
    Examples:
      commutemap validate ri.dataset ri.release
      commutemap validate ri.dataset ri.release --csv ri-validity --picture ri-validity.png
      commutemap validate ri.dataset ri.records --picture ri-records.png
    """
    from mapapp.analyst.validity.report import require_places, write_csv

    require_places(csv_path, picture_path)
    with show_progress(quiet=quiet) as report:
        report("reading the dataset", 0, 0)
        measured = measure(dataset, release, n_tracts, report)
        if csv_path is not None:
            report("writing tables", 0, 0)
            write_csv(measured.validity, csv_path)
        if picture_path is not None:
            report("drawing the picture", 0, 0)
            measured.draw(picture_path)
    print_result(measured.validity.to_dict(), measured.lines, as_json=as_json)


def measure(dataset: Path, publication: Path, n_tracts: int | None, report: Report) -> Measured:
    """Measure a release, or worker records, against the dataset that it was drawn from."""
    of_kind = _measure_records if read_manifest(publication).get("kind") == "records" else _measure_release
    return of_kind(dataset, publication, n_tracts, report)


def _measure_release(dataset: Path, release: Path, n_tracts: int | None, report: Report) -> Measured:
    from mapapp.analyst.validity.report import validity_lines, write_picture
    from mapapp.analyst.validity.validity import AnalystData, measure_release

    data = AnalystData.open(dataset, (release,))
    validity = measure_release(
        data, release, tracts=None if n_tracts is None else data.sample(n_tracts), report=report
    )
    return Measured(validity, validity_lines(validity), partial(write_picture, validity))


def _measure_records(dataset: Path, records: Path, n_tracts: int | None, report: Report) -> Measured:
    from mapapp.analyst.validity.report import write_records_picture
    from mapapp.kinds.records.measure.validity import measure_records

    if n_tracts is not None:
        raise UsageError(
            f"--sample {n_tracts}: worker records are always measured whole; leave the option out for {records}"
        )
    validity = measure_records(dataset, records, report=report)
    return Measured(validity, validity.lines(), partial(write_records_picture, validity))
