"""Options that make up a choice of worker records, shared by `records` and by commands that try out choices."""

from __future__ import annotations

from collections.abc import Collection
from functools import reduce
from typing import TYPE_CHECKING, Final

import click

from mapapp.commands.options import Function, Options

if TYPE_CHECKING:
    from mapapp.publishing.records.choice import Choice

__all__ = ["CHOICE_OPTIONS", "read_choice", "record_options"]

_CHOICE: Final = {
    "kept": click.option(
        "--kept",
        metavar="NAMES|none",
        default="none",
        show_default=True,
        help="Attributes that a candidate keeps from a real worker, its seed: the first ones in the order work_puma, "
        "home_puma, industry, earnings, ..., separated by commas. none draws every record from the model.",
    ),
    "epsilon": click.option(
        "--epsilon",
        default=None,
        help="Epsilon if one worker's record is added or taken away; the ledger charges the larger epsilon of a record "
        "that is replaced, which is printed beside it. With seeds, the number of plausible seeds and the noise are "
        "chosen to keep it, unless both are given.  [default: 1; with seeds, what they cost]",
    ),
    "delta": click.option(
        "--delta",
        default=None,
        help="Chance that epsilon may fail. Needed for seeds and for a learned structure only.  [default: 1e-6]",
    ),
    "n_records": click.option(
        "--records",
        "n_records",
        type=int,
        default=None,
        help="Number of records in all, which is public.  [default: the number of workers]",
    ),
    "tries": click.option(
        "--tries",
        type=int,
        default=None,
        help="Number of candidates made from seeds, passed or not; every one is charged.  [default: as --n-min]",
    ),
    "min_seeds": click.option(
        "--min-seeds",
        type=int,
        default=None,
        help="How many workers must share the kept attributes of a candidate, before noise.  [default: 1000]",
    ),
    "threshold_epsilon": click.option(
        "--threshold-epsilon",
        default=None,
        help="Epsilon of the noise on --min-seeds for each candidate.  [default: with the least --epsilon]",
    ),
    "similarity": click.option(
        "--similarity",
        default="1",
        show_default=True,
        help="Greatest ratio of the chances with which plausible seeds make a candidate. Kept attributes make them "
        "equal.",
    ),
    "forced_fail": click.option(
        "--forced-fail",
        default="0.02",
        show_default=True,
        help="Chance that a candidate fails whatever its seeds, so that the number of failures says little.",
    ),
    "seed_floor": click.option(
        "--seed-floor",
        type=int,
        default=None,
        help="Never release a candidate with fewer plausible seeds than this.",
    ),
    "split": click.option(
        "--split",
        metavar="SEEDS,PARAMETERS[,STRUCTURE]",
        default=None,
        help="Shares of the workers that are seeds, that fill the model's tables, and from which its structure is "
        "learned. [default: 0.6,0.4 with seeds; otherwise 0,1]",
    ),
    "n_min": click.option(
        "--n-min",
        type=int,
        default=None,
        help="The promise holds for any dataset with at least this many seeds; fewer are refused.  [default: from "
        "--split and the number of workers]",
    ),
    "structure": click.option(
        "--structure",
        type=click.Choice(["public", "learned"]),
        default="public",
        show_default=True,
        help="Which attributes depend on which: chosen from public numbers, or learned from workers, with noise.",
    ),
    "accountant": click.option(
        "--accountant",
        type=click.Choice(["sound", "paper"]),
        default="sound",
        show_default=True,
        help="sound charges all tries together. paper adds up Theorem 1 of Bindschaedler et al. for each try.",
    ),
    "top_up": click.option(
        "--top-up/--no-top-up",
        default=True,
        show_default=True,
        help="Draw records of the model in place of candidates that failed, so that maps count everybody.",
    ),
    "anyway": click.option(
        "--anyway",
        is_flag=True,
        help="Learn a structure from fewer than 100,000 workers, where noise decides.",
    ),
}
CHOICE_OPTIONS: Final = tuple(_CHOICE)
"""Names of the parameters of these options."""


def record_options(function: Function, *, leave_out: Collection[str] = ()) -> Function:
    """Add the options that make up a choice, but for some that the command has; :func:`read_choice` reads them."""
    options = [add for name, add in _CHOICE.items() if name not in leave_out]
    return reduce(lambda inner, option: option(inner), reversed(options), function)


def read_choice(options: Options) -> Choice:
    """Return the choice that some options ask for; UsageError if they do not go together."""
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
        accountant=options["accountant"] or "sound",
        top_up=options["top_up"],
        given_segments=options.get("given_segments", False),
        beside=options.get("beside", ()),
        anyway=options["anyway"],
        test_key=options.get("test_key", False),
    )
