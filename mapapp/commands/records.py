"""`commutemap records`: make synthetic worker records from a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from mapapp.commands.options import (
    STORE,
    Option,
    Options,
    beside_option,
    config_option,
    json_option,
    print_result,
    quiet_option,
)
from mapapp.progress import show_progress

if TYPE_CHECKING:
    from mapapp.publishing.records.choice import Choice


@click.command()
@click.argument("dataset", type=STORE)
@click.argument("records", type=STORE)
@click.option(
    "--kept",
    metavar="NAMES|none",
    default="none",
    show_default=True,
    help="Attributes that a candidate keeps from a real worker, its seed: the first ones in the order work_puma, "
    "home_puma, industry, earnings, ..., separated by commas. none draws every record from the model.",
)
@click.option(
    "--epsilon",
    default=None,
    help="Epsilon if one worker's record is added or taken away; the ledger charges the larger epsilon of a record "
    "that is replaced, which is printed beside it. With seeds, the number of plausible seeds and the noise are chosen "
    "to keep it, unless both are given.  [default: 1; with seeds, what they cost]",
)
@click.option(
    "--delta",
    default=None,
    help="Chance that epsilon may fail. Needed for seeds and for a learned structure only.  [default: 1e-6]",
)
@click.option(
    "--records",
    "n_records",
    type=int,
    default=None,
    help="Number of records in all, which is public.  [default: the number of workers]",
)
@click.option(
    "--tries",
    type=int,
    default=None,
    help="Number of candidates made from seeds, passed or not; every one is charged.  [default: as --n-min]",
)
@click.option(
    "--min-seeds",
    type=int,
    default=None,
    help="How many workers must share the kept attributes of a candidate, before noise.  [default: 1000]",
)
@click.option(
    "--threshold-epsilon",
    default=None,
    help="Epsilon of the noise on --min-seeds for each candidate.  [default: 0.0175]",
)
@click.option(
    "--similarity",
    default="1",
    show_default=True,
    help="Greatest ratio of the chances with which plausible seeds make a candidate. Kept attributes make them equal.",
)
@click.option(
    "--forced-fail",
    default="0.02",
    show_default=True,
    help="Chance that a candidate fails whatever its seeds, so that the number of failures says little.",
)
@click.option(
    "--seed-floor",
    type=int,
    default=None,
    help="Never release a candidate with fewer plausible seeds than this.",
)
@click.option(
    "--split",
    metavar="SEEDS,PARAMETERS[,STRUCTURE]",
    default=None,
    help="Shares of the workers that are seeds, that fill the model's tables, and from which its structure is learned. "
    "[default: 0.6,0.4 with seeds; otherwise 0,1]",
)
@click.option(
    "--n-min",
    type=int,
    default=None,
    help="The promise holds for any dataset with at least this many seeds; fewer are refused.  [default: from --split "
    "and the number of workers]",
)
@click.option(
    "--structure",
    type=click.Choice(["public", "learned"]),
    default="public",
    show_default=True,
    help="Which attributes depend on which: chosen from public numbers, or learned from workers, with noise.",
)
@click.option(
    "--accountant",
    type=click.Choice(["sound", "paper"]),
    default="sound",
    show_default=True,
    help="sound charges all tries together. paper adds up Theorem 1 of Bindschaedler et al. for each try.",
)
@click.option(
    "--top-up/--no-top-up",
    default=True,
    show_default=True,
    help="Draw records of the model in place of candidates that failed, so that maps count everybody.",
)
@click.option(
    "--given-segments",
    is_flag=True,
    help="Publish beside a release of the same jobs, on purpose: the promise then holds given workplace and segment.",
)
@click.option(
    "--anyway", is_flag=True, help="Learn a structure from fewer than 100,000 workers, where noise decides."
)
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
    help="Number of threads; the result does not depend on it.",
)
@config_option
@json_option
@quiet_option
def records(dataset: Path, records: Path, as_json: bool, quiet: bool, **options: Option) -> None:
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
    choice = _choice(options)
    if options["dry_run"]:
        from mapapp.publishing.records.expected import plan_only

        with show_progress(quiet=quiet) as report:
            expected = plan_only(dataset, choice, report=report)
        print_result(expected.to_dict(), expected.lines(), as_json=as_json)
        return
    from mapapp.publishing.records.run import make_records

    with show_progress(quiet=quiet) as report:
        outcome = make_records(dataset, records, choice, threads=options["threads"], report=report)
    print_result(outcome.to_dict(), outcome.lines(), as_json=as_json)


def _choice(options: Options) -> Choice:
    from fractions import Fraction

    from mapapp.publishing.records.choice import Choice, exact_option, kept_names, split_shares

    return Choice(
        kept=kept_names(options["kept"]),
        n_tries=options["tries"],
        n_records=options["n_records"],
        epsilon=exact_option(options["epsilon"], "epsilon"),
        delta=exact_option(options["delta"], "delta"),
        min_seeds=options["min_seeds"],
        threshold_epsilon=exact_option(options["threshold_epsilon"], "threshold-epsilon"),
        similarity=exact_option(options["similarity"], "similarity") or Fraction(0),
        forced_fail=exact_option(options["forced_fail"], "forced-fail") or Fraction(0),
        seed_floor=options["seed_floor"],
        split=split_shares(options["split"]),
        n_min=options["n_min"],
        structure=options["structure"],
        accountant=options["accountant"],
        top_up=options["top_up"],
        given_segments=options["given_segments"],
        beside=options["beside"],
        anyway=options["anyway"],
        test_key=options["test_key"],
    )
