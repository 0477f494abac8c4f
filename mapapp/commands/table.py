"""`commutemap table`: make a table with suppressed cells from a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mapapp.base.errors import UsageError
from mapapp.base.progress import show_progress
from mapapp.commands.declared_options import declared_options
from mapapp.commands.options import (
    ENTRIES,
    STORE,
    beside_option,
    config_option,
    json_option,
    print_result,
    quiet_option,
)
from mapapp.kinds.tables.make.options import ONE_TABLE, DecisionOptions, TableOptions

if TYPE_CHECKING:
    from mapapp.kinds.tables.make.expected import ExpectedForest
    from mapapp.kinds.tables.make.run import Choice
    from mapapp.kinds.tables.make.spec import TableSpec


@click.command()
@click.argument("dataset", type=STORE)
@click.argument("table", type=STORE)
@declared_options(options=TableOptions, decision=DecisionOptions)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Print what can be expected to be released, from public data; spend, decide, and write nothing.",
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
    context: click.Context,
    /,
    dataset: Path,
    table: Path,
    options: TableOptions,
    decision: DecisionOptions,
    dry_run: bool,
    beside: tuple[Path, ...],
    test_key: bool,
    as_json: bool,
    quiet: bool,
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
    from mapapp.kinds.tables.make import run

    specs = _specs(options, context.meta.get(ENTRIES, ()))
    choice = replace(_choice(specs, decision), beside=beside, test_key=test_key)
    if dry_run:
        with show_progress(quiet=quiet) as report:
            expected = run.dry_run(dataset, choice, report=report)
        print_result(_expected_data(expected), _expected_lines(expected), as_json=as_json)
        return
    with show_progress(quiet=quiet) as report:
        outcome = run.make_table(dataset, table, choice, report=report)
    print_result(outcome.to_dict(), outcome.lines(), as_json=as_json)
    if outcome.breach is not None:
        raise UsageError(f"{table}: {outcome.breach}")


def _specs(options: TableOptions, entries: Sequence[Mapping[str, object]]) -> tuple[TableSpec, ...]:
    """The tables of the options, or of the `[[table]]` entries of a file."""
    from mapapp.kinds.tables.make.spec import TableSpec

    given = {option.flag: getattr(options, name) for name, option in ONE_TABLE.items()}
    if not entries:
        return (TableSpec.from_options(given),)
    for name, option in ONE_TABLE.items():
        if getattr(options, name) != option.default:
            raise UsageError(f"--{option.flag} with [[table]] entries: each entry has its own; leave it out")
    return tuple(map(TableSpec.from_entry, entries))


def _choice(specs: tuple[TableSpec, ...], decision: DecisionOptions) -> Choice:
    """What the analyst chose, but for what makes a table another publication."""
    from mapapp.kinds.tables.make.run import Choice
    from mapapp.kinds.tables.make.spec import check_epsilon_and_delta

    epsilon, delta = check_epsilon_and_delta(decision.epsilon, decision.delta)
    if decision.prior is None:
        raise UsageError(
            "--prior is missing: give an earlier release, or a CSV file with a rate for each cell; it must not be made "
            "from the jobs of the table"
        )
    return Choice(
        specs=specs,
        remainders=decision.remainder,
        prior=decision.prior,
        epsilon=epsilon,
        delta=delta,
        decide=decision.decide,
        anyway=decision.anyway,
    )


def _expected_data(expected: ExpectedForest) -> dict[str, object]:
    return {
        "cells": expected.n_cells,
        "decisions": expected.n_decisions,
        "expected_released": int(expected.releasable.sum()),
        "share_of_cells": expected.share_of_cells,
        "share_of_people": expected.share_of_people,
    }


def _expected_lines(expected: ExpectedForest) -> list[str]:
    tables = [f"{part.plan.spec.shown_title}: {part.plan.n_cells:,} cells" for part in expected.parts]
    return [
        *tables,
        f"  expected         {int(expected.releasable.sum()):,} cells released ({expected.share_of_cells:.1%}), with "
        f"{expected.share_of_people:.1%} of the people, if the prior fits",
        "  dry run: nothing was spent, decided, or written, and no home was read",
    ]
