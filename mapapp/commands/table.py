"""`commutemap table`: make a table with suppressed cells from a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.commands.options import (
    ENTRIES,
    STORE,
    Option,
    Options,
    beside_option,
    config_option,
    json_option,
    print_result,
    quiet_option,
)
from mapapp.question.fields import QUESTION

if TYPE_CHECKING:
    from mapapp.publishing.tables.expected import ExpectedForest
    from mapapp.publishing.tables.run import Choice


@click.command()
@click.argument("dataset", type=STORE)
@click.argument("table", type=STORE)
@click.option(
    "--rows",
    metavar="LAYER",
    default=None,
    help="Layer of the workplaces, such as town, county, or tract: one row for each unit.",
)
@click.option(
    "--columns",
    metavar="NAMES",
    default=None,
    help="One or more of age, earnings, and industry, separated by commas: one column for each combination.",
)
@click.option(
    "--counts",
    metavar="same-unit|outside-state|beyond=MILES",
    default=None,
    help="Which workers are counted: those who live in the unit where they work, who live in another state than the "
    "one where they work, or who live more than MILES miles from where they work.",
)
@click.option(
    "--flows",
    metavar="LAYER",
    default=None,
    help="Instead of --columns and --counts: count the workers of each row by the unit of this layer where they live.",
)
@click.option("--age", default=None, metavar="BANDS", help=QUESTION["age"].help)
@click.option("--earnings", default=None, metavar="BANDS", help=QUESTION["earnings"].help)
@click.option("--industry", default=None, metavar="BANDS", help=QUESTION["industry"].help)
@click.option(
    "--work-area",
    default=None,
    metavar="AREA",
    help="Only jobs with a workplace in this area: the name of a unit, or level:identifier.",
)
@click.option(
    "--prior",
    type=STORE,
    default=None,
    metavar="RELEASE|FILE.csv",
    help="Where the expected rates come from: an earlier release, or a CSV file that you declare. It is published with "
    "the table. Never the jobs of the table; a release of the same dataset is refused.  [required]",
)
@click.option(
    "--epsilon", default="0.5", show_default=True, help="How far a belief may move, above 0 and below 1."
)
@click.option(
    "--delta",
    default="0.01",
    show_default=True,
    help="Chance that any belief may move further, above 0 and below 1.",
)
@click.option(
    "--decide",
    type=click.Choice(["exact", "sampled"]),
    default="exact",
    show_default=True,
    help="exact computes the chance that a cell is unsafe, and anyone can replay it. sampled estimates it as "
    "Algorithm 3 of the paper does, with secret coins, and releases less.",
)
@click.option(
    "--totals",
    type=click.Choice(["none", "rows", "columns", "both"]),
    default="none",
    show_default=True,
    help="Sums that are decided before the cells.",
)
@click.option(
    "--remainder/--no-remainder",
    default=True,
    show_default=True,
    help="After the cells of one table without totals, decide the sum of each row's suppressed cells.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print what can be expected to be released, from public data; spend, decide, and write nothing.",
)
@click.option(
    "--anyway", is_flag=True, help="Make flows between tracts, of which next to nothing is released."
)
@beside_option
@click.option(
    "--test-key",
    is_flag=True,
    help="Mark the table not for release, to try things out: its prior may be a release that is not for release, and "
    "sampled coins are the published ones.",
)
@config_option
@json_option
@quiet_option
@click.pass_context
def table(
    context: click.Context, /, dataset: Path, table: Path, as_json: bool, quiet: bool, **options: Option
) -> None:
    """Make a TABLE with suppressed cells from a confidential DATASET.

    Counts are exact or suppressed. A cell is released if its count is nearly certain to leave every belief
    about one worker close to the prior. The decision reads the prior, public numbers of workers, and counts released
    before, so that a suppressed cell says nothing about its count. This is not differential privacy: see
    docs/tables.md for what it promises and what it does not.

    The exit code is 2 if a released count is outside its safe interval. The table stops there, and says so.

    \b
    Examples:
      commutemap table ri.dataset ri.table --rows town --columns industry,earnings --counts same-unit \\
        --prior ri-2017.release
      commutemap table ri.dataset flows.table --rows county --flows county --prior ri-2017.release --epsilon 0.2
      commutemap table ri.dataset ri.table --rows tract --columns industry --counts beyond=25 \\
        --prior rates.csv --dry-run
    """
    from mapapp.publishing.tables.run import dry_run, make_table

    choice = _choice(options, context.meta.get(ENTRIES, ()))
    if options["dry_run"]:
        with show_progress(quiet=quiet) as report:
            found = dry_run(dataset, choice, report=report)
        print_result(_expected_data(found), _expected_lines(found), as_json=as_json)
        return
    with show_progress(quiet=quiet) as report:
        outcome = make_table(dataset, table, choice, report=report)
    print_result(outcome.to_dict(), outcome.lines(), as_json=as_json)
    if outcome.breach is not None:
        raise UsageError(f"{table}: {outcome.breach}")


def _choice(options: Options, entries: Sequence[Mapping[str, object]]) -> Choice:
    """What the analyst chose, from the options and the `[[table]]` entries of a file."""
    from mapapp.publishing.tables.jobs import JOB_OPTIONS
    from mapapp.publishing.tables.run import Choice
    from mapapp.publishing.tables.spec import TableSpec, check_epsilon_and_delta

    epsilon, delta = check_epsilon_and_delta(options["epsilon"], options["delta"])
    of_one = ("rows", "columns", "counts", "flows", *JOB_OPTIONS)
    options = {**options, "work-area": options["work_area"]}
    if entries and (given := [name for name in of_one if options[name]]):
        raise UsageError(f"--{given[0]} with [[table]] entries: each entry has its own; leave it out")
    specs = tuple(map(TableSpec.from_entry, entries)) or (TableSpec.from_options(options),)
    if options["prior"] is None:
        raise UsageError(
            "--prior is missing: give an earlier release, or a CSV file with a rate for each cell; it must not be made "
            "from the jobs of the table"
        )
    return Choice(
        specs=specs,
        remainders=options["remainder"],
        prior=options["prior"],
        epsilon=epsilon,
        delta=delta,
        decide=options["decide"],
        anyway=options["anyway"],
        beside=options["beside"],
        test_key=options["test_key"],
    )


def _expected_data(found: ExpectedForest) -> dict[str, object]:
    return {
        "cells": found.n_cells,
        "decisions": found.n_decisions,
        "expected_released": int(found.releasable.sum()),
        "share_of_cells": found.share_of_cells,
        "share_of_people": found.share_of_people,
    }


def _expected_lines(found: ExpectedForest) -> list[str]:
    tables = [f"{part.plan.spec.shown_title}: {part.plan.n_cells:,} cells" for part in found.parts]
    return [
        *tables,
        f"  expected         {int(found.releasable.sum()):,} cells released ({found.share_of_cells:.1%}), with "
        f"{found.share_of_people:.1%} of the people, if the prior fits",
        "  dry run: nothing was spent, decided, or written, and no home was read",
    ]
