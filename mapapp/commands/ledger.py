"""`commutemap ledger`: show what a dataset's releases have spent."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mapapp.commands.options import STORE, json_option, print_result
from mapapp.errors import UsageError

if TYPE_CHECKING:
    from mapapp.publishing.ledger_entry import LedgerEntry, Reading

_SHORT = {"probabilistic_differential_privacy": "PDP", "differential_privacy": "DP"}
_NO_AMOUNTS = {"epsilon": None, "delta": None, "exact": None}


@click.command()
@click.argument("dataset", type=STORE)
@click.option(
    "--settle",
    nargs=2,
    default=None,
    metavar="EPSILON DELTA",
    help="If a crash cut a line short, record EPSILON and DELTA as spent.",
)
@json_option
def ledger(dataset: Path, settle: tuple[str, str] | None, as_json: bool) -> None:
    """Show what the releases made from DATASET have spent of its privacy budget.

    The promises of releases of the same workers add up: as ordinary differential privacy (DP) over whole releases, or
    as probabilistic differential privacy (PDP) for each workplace block and segment separately. The PDP sum is shown
    if every release has a PDP promise. Releases made with the test key or for replication are listed but not counted,
    because they must not be published. Neither are releases that are not private (--mechanism plug-in), which are
    shown as infinite.

    \b
    Example:
      commutemap ledger ri.dataset
    """
    from geodata.store import open_store
    from mapapp.publishing.ledger import Ledger

    open_store(dataset, "dataset", verify=False)
    book = Ledger(dataset)
    if settle is not None:
        if book.torn_line() is None:
            raise UsageError(
                f"{book.path}: no line was cut short, so there is nothing to settle; leave out --settle"
            )
        book.settle_torn_line(epsilon=settle[0], delta=settle[1], release="settled by hand")
    print_result(*_summary(book.entries()), as_json=as_json)


def _summary(entries: tuple[LedgerEntry, ...]) -> tuple[dict[str, Any], list[str]]:
    """Return the ledger as data and as text lines."""
    from mapapp.publishing.ledger_entry import at_most, sum_readings, sum_spent

    budget = next(((entry.epsilon, entry.delta) for entry in entries if entry.kind == "budget"), None)
    spent = sum_spent(entries)
    readings = sum_readings(entries)
    rows = [entry for entry in entries if entry.kind != "budget"]
    result = {
        "budget": budget and _amounts(*budget),
        "spent": _amounts(*spent) | {"readings": _readings(readings)},
        "entries": [
            {
                "written_at": row.written_at,
                "kind": row.kind,
                "release": _printable(row.release),
                **(_amounts(row.epsilon, row.delta) if row.is_private else _NO_AMOUNTS),
                "is_private": row.is_private,
                "readings": _readings(row.readings),
                "for_release": row.for_release,
                "reasons": list(row.reasons),
            }
            for row in rows
        ],
    }
    allowed = "no budget set"
    if budget is not None:
        left = [at_most(max(limit - used, Fraction(0))) for limit, used in zip(budget, spent, strict=True)]
        allowed = f"of {float(budget[0]):g} and {float(budget[1]):g}; left {left[0]} and {left[1]}"
    lines = [f"spent epsilon {float(spent[0]):.6g}, delta {float(spent[1]):.6g} ({allowed})"]
    lines += [
        f"  as {_SHORT.get(reading.name, reading.name)}: epsilon {float(reading.epsilon):.6g}, "
        f"delta {float(reading.delta):.6g} for {reading.holds_for}"
        for reading in readings
    ]
    for row in rows:
        stamp = "" if row.for_release else "  not for release: " + "; ".join(row.reasons)
        amounts = (
            f"{float(row.epsilon):.6g}  {float(row.delta):.6g}" if row.is_private else "infinite  infinite"
        )
        names = " and ".join(_SHORT.get(reading.name, reading.name) for reading in row.readings)
        lines.append(
            f"  {row.written_at}  {_printable(row.release)}  {amounts}{names and f'  {names}'}{stamp}"
        )
    return result, lines


def _amounts(epsilon: Fraction, delta: Fraction) -> dict[str, Any]:
    return {"epsilon": float(epsilon), "delta": float(delta), "exact": [str(epsilon), str(delta)]}


def _readings(readings: tuple[Reading, ...]) -> dict[str, Any]:
    return {
        reading.name: _amounts(reading.epsilon, reading.delta) | {"holds_for": reading.holds_for}
        for reading in readings
    }


def _printable(name: str) -> str:
    """Return a release's name without characters that could break a line or a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)
