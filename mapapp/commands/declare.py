"""`commutemap declare`: say of a dataset, after it was imported, that its numbers of jobs are public."""

from __future__ import annotations

from pathlib import Path

import click

from mapapp.commands.options import STORE, json_option, print_result


@click.command()
@click.argument("dataset", type=STORE)
@click.option(
    "--counts-are-public",
    "reference",
    metavar="REFERENCE",
    required=True,
    help="Where the numbers of jobs by workplace, age, earnings, and industry are published, as for `import`.",
)
@json_option
def declare(dataset: Path, reference: str, as_json: bool) -> None:
    """Declare that the numbers of jobs of DATASET, made from worker records, are public.

    Releases made afterwards name the reference. A release that was made before remains not for release, as its
    certificate says; make it again. A declaration stays, because releases name it.

    \b
    Example:
      commutemap declare ri.dataset --counts-are-public "Quarterly Workplace Report 2019, table 4"
    """
    from geodata.store.public_counts import declare_public_counts
    from mapapp.kinds.base.ledger import Ledger

    declared = declare_public_counts(dataset, reference)
    earlier = [entry.release for entry in Ledger(dataset).entries() if entry.liftable]
    lines = [f"{dataset}: the numbers of jobs are declared public: {declared}"]
    if earlier:
        lines.append(
            f"  made before, and still not for release: {', '.join(map(repr, earlier))}. What they were charged still "
            "counts"
        )
    result = {"dataset": str(dataset), "counts_are_public": declared, "made_before": earlier}
    print_result(result, lines, as_json=as_json)
