"""`commutemap ledger`: what a dataset's releases have spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mapapp.commands.options import STORE, json_option, print_result
from mapapp.errors import UsageError


@click.command()
@click.argument("dataset", type=STORE)
@click.option(
    "--settle", nargs=2, default=None, help="Record a line that a crash cut short as EPSILON DELTA spent."
)
@json_option
def ledger(dataset: Path, settle: tuple[str, str] | None, as_json: bool) -> None:
    """Show what the releases made from DATASET have spent of its privacy budget.

    Releases of the same workers add up. What was made with the test key, or for replication, is listed and
    counts nothing: it must not be published. Nor does what is not private at all (--mechanism plug-in), shown as
    infinite.

    \b
    Example:
      commutemap ledger ri.dataset
    """
    from geodata.store import open_store
    from mapapp.ledger import Ledger

    open_store(dataset, "dataset", verify=False)
    book = Ledger(dataset)
    if settle is not None:
        if book.torn_line() is None:
            raise UsageError(f"{book.path}: no line was cut short, so there is nothing to settle")
        book.settle_torn_line(epsilon=settle[0], delta=settle[1], release="settled by hand")
    print_result(*_told(book), as_json=as_json)


def _told(book: Any) -> tuple[dict[str, Any], list[str]]:
    """The ledger for machines, and as lines for people."""
    budget = book.budget()
    epsilon, delta = book.spent()
    rows = [entry for entry in book.entries() if entry.kind != "budget"]
    result = {
        "budget": budget and {"epsilon": float(budget[0]), "delta": float(budget[1])},
        "spent": {"epsilon": float(epsilon), "delta": float(delta), "exact": [str(epsilon), str(delta)]},
        "entries": [
            {
                "written_at": row.written_at,
                "release": row.release,
                "epsilon": float(row.epsilon) if row.is_private else None,
                "delta": float(row.delta) if row.is_private else None,
                "is_private": row.is_private,
                "for_release": row.for_release,
                "reasons": list(row.reasons),
            }
            for row in rows
        ],
    }
    allowed = "no budget set" if budget is None else f"of {float(budget[0]):g} and {float(budget[1]):g}"
    lines = [f"spent epsilon {float(epsilon):.6g}, delta {float(delta):.6g} ({allowed})"]
    for row in rows:
        stamp = "" if row.for_release else "  not for release: " + "; ".join(row.reasons)
        amounts = (
            f"{float(row.epsilon):.6g}  {float(row.delta):.6g}" if row.is_private else "infinite  infinite"
        )
        lines.append(f"  {row.written_at}  {row.release}  {amounts}{stamp}")
    return result, lines
