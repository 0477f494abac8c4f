"""`commutemap records`: make synthetic worker records from a dataset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.commands.declared_options import declared_options
from mapapp.commands.options import (
    STORE,
    beside_option,
    config_option,
    json_option,
    print_result,
    quiet_option,
)
from mapapp.kinds.records.make.choice import Choice


@click.command()
@click.argument("dataset", type=STORE)
@click.argument("records", type=STORE)
@declared_options(choice=Choice)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print the promise, the structure, and the errors to be expected, from public data; spend, draw, and write "
    "nothing.",
)
@beside_option
@click.option(
    "--test-key",
    is_flag=True,
    help="Use the published test key: the result is reproducible and marked not for release.",
)
@click.option(
    "--threads",
    type=click.IntRange(1, 1024),
    default=None,
    help="Number of threads of this machine; the result does not depend on it.",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    default=None,
    help="Draw with the workers of this Dask cluster (tls://HOST:PORT, or an address on this machine). They must see "
    "DATASET and RECORDS at the same paths. The result does not depend on it. Needs commutemap[cluster]; see "
    "docs/cluster.md.",
)
@config_option
@json_option
@quiet_option
def records(
    dataset: Path,
    records: Path,
    choice: Choice,
    dry_run: bool,
    beside: tuple[Path, ...],
    test_key: bool,
    threads: int | None,
    scheduler: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make synthetic worker RECORDS from a confidential DATASET.

    One row is one synthetic worker, with all attributes of the dataset's workers; no row is a person. The promise
    covers a worker's whole record. It is entered in the dataset's ledger before the first record is drawn: by default
    epsilon 1, which the ledger charges as 2, and delta 0. See docs/records.md.

    \b
    Examples:
      commutemap records ri.dataset ri.records
      commutemap records ri.dataset ri.records --epsilon 2 --dry-run
      commutemap records ri.dataset ri.records --kept work_puma,home_puma --min-seeds 500
      commutemap records ri.dataset ri.records --kept work_puma,home_puma,industry,earnings --epsilon 3
    """
    choice = replace(choice, beside=beside, test_key=test_key)
    if dry_run:
        if scheduler is not None:
            raise UsageError("--dry-run with --scheduler: a dry run draws nothing; leave one out")
        from mapapp.kinds.records.make.expected import plan_only

        with show_progress(quiet=quiet) as report:
            expected = plan_only(dataset, choice, report=report)
        print_result(expected.to_dict(), expected.lines(), as_json=as_json)
        return
    from mapapp.kinds.records.make.run import make_records

    with show_progress(quiet=quiet) as report:
        outcome = make_records(
            dataset,
            records,
            choice,
            threads=threads,
            scheduler=scheduler,
            report=report,
        )
    print_result(outcome.to_dict(), outcome.lines(), as_json=as_json)
