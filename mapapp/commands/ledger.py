"""`commutemap ledger`: show what the releases of one or several datasets have spent."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

import click

from mapapp.base.errors import UsageError
from mapapp.commands.options import STORE, json_option, print_result

if TYPE_CHECKING:
    from geodata.json_objects import JsonMapping
    from mapapp.kinds.base.ledger_entry import LedgerEntry, Reading
    from mapapp.kinds.base.summed_ledgers import Source

_SHORT = {"probabilistic_differential_privacy": "PDP", "differential_privacy": "DP"}
_NO_AMOUNTS = {"epsilon": None, "delta": None, "exact": None}


@click.command()
@click.argument("places", type=STORE, nargs=-1, required=True, metavar="DATASET [DATASET|RELEASE]...")
@click.option(
    "--settle",
    nargs=2,
    default=None,
    metavar="EPSILON DELTA",
    help="If a crash cut a line short, record EPSILON and DELTA as spent.",
)
@click.option(
    "--withdraw",
    default=None,
    metavar="RELEASE",
    help="Record that RELEASE is no longer published. Name it as the ledger does; if several have that name, give the "
    "time of its entry. What it spent still counts, because nobody can take back what was published.",
)
@click.option(
    "--reason", default=None, metavar="TEXT", help="With --withdraw: why it is no longer published."
)
@json_option
def ledger(
    places: tuple[Path, ...],
    settle: tuple[str, str] | None,
    withdraw: str | None,
    reason: str | None,
    as_json: bool,
) -> None:
    """Show what the releases made from DATASET have spent of its privacy budget.

    The promises of releases of the same workers add up: as ordinary differential privacy (DP) over whole releases, or
    as probabilistic differential privacy (PDP) for each workplace block and segment separately. The PDP sum is shown
    if every release has a PDP promise. Releases made with the test key or for replication are listed but not counted,
    because they must not be published. Neither are the plug-in releases of version 0.1, which promised nothing and
    are shown as infinite. A release that was withdrawn still counts.

    With several datasets or releases, such as one for each year, the promises are added up for a person who is in all
    of them. A person with two jobs counts as two workers.

    \b
    Examples:
      commutemap ledger ri.dataset
      commutemap ledger ri2018.dataset ri2019.dataset other.release
      commutemap ledger ri.dataset --withdraw ri.release --reason "wrong year"
    """
    _check_options(places, settle, withdraw, reason)
    if len(places) > 1:
        print_result(*_sum(places), as_json=as_json)
        return
    from geodata.store.store import open_store
    from mapapp.kinds.base.ledger import Ledger

    (dataset,) = places
    facts = open_store(dataset, "dataset", verify=False).manifest
    book = Ledger(dataset)
    if settle is not None:
        if book.torn_line() is None:
            raise UsageError(
                f"{book.path}: no line was cut short, so there is nothing to settle; leave out --settle"
            )
        book.settle_torn_line(epsilon=settle[0], delta=settle[1], release="settled by hand")
    if withdraw is not None:
        book.withdraw(withdraw, reason=reason or "")
    entries = book.entries()
    person, lines = _of_persons([facts], entries)
    print_result(_as_data(entries) | person, [*_as_lines(entries), *lines], as_json=as_json)


def _of_persons(
    manifests: Sequence[JsonMapping], entries: Sequence[LedgerEntry]
) -> tuple[dict[str, object], list[str]]:
    """What is spent for a person with two jobs in each dataset or year, if one of them knows persons."""
    from mapapp.kinds.base.persons import EXAMPLE_JOBS, has_persons, sum_for_person

    if not any(map(has_persons, manifests)):
        return {}, []
    spent = [(row.epsilon, row.delta) for _, row in _list_entries(tuple(entries)) if row.has_amounts]
    epsilon, delta = sum_for_person(spent, EXAMPLE_JOBS)
    line = (
        f"  for a person with {EXAMPLE_JOBS} jobs in each: epsilon {float(epsilon):.6g}, delta {float(delta):.6g}; "
        "with k jobs, k times each epsilon (persons are not matched between years, so each year adds)"
    )
    return {"person": {"jobs": EXAMPLE_JOBS, **_amounts(epsilon, delta)}}, [line]


def _check_options(
    places: tuple[Path, ...], settle: tuple[str, str] | None, withdraw: str | None, reason: str | None
) -> None:
    """Refuse options that contradict each other."""
    if (withdraw is None) != (reason is None):
        given, missing = (
            ("--reason", "--withdraw RELEASE") if withdraw is None else ("--withdraw", "--reason TEXT")
        )
        raise UsageError(f"{given} without {missing}: a withdrawal needs both")
    if settle is not None and withdraw is not None:
        raise UsageError("--settle with --withdraw: first settle the line that was cut short, then withdraw")
    if len(places) > 1 and (settle is not None or withdraw is not None):
        option = "--settle" if settle is not None else "--withdraw"
        raise UsageError(
            f"{option} with {len(places)} datasets or releases: it is about one dataset; give only that"
        )


def _sum(places: Sequence[Path]) -> tuple[dict[str, object], list[str]]:
    """Return the promises of several sources, added, as data and as text lines."""
    from mapapp.kinds.base.summed_ledgers import sum_ledgers

    total = sum_ledgers(places)
    result: dict[str, object] = {
        "spent": _amounts(*total.spent) | {"readings": _readings(total.readings)},
        "notes": list(total.notes),
        "sources": [
            {"path": str(source.path), "kind": source.kind, "title": source.title, "year": source.year}
            | _as_data(source.entries)
            for source in total.sources
        ],
    }
    epsilon, delta = total.spent
    lines = [
        f"for a person who is in all the data below: epsilon {float(epsilon):.6g}, delta {float(delta):.6g}",
        *_reading_lines(total.readings),
        *(f"note: {note}" for note in total.notes),
    ]
    from geodata.store.manifest import read_manifest

    person, of_persons = _of_persons([read_manifest(place) for place in places], total.entries)
    lines += of_persons
    for source in total.sources:
        lines += _source_lines(source)
    return result | person, lines


def _source_lines(source: Source) -> list[str]:
    """Return one source: what it is and what it has spent, then its releases."""
    title, year = str(source.title or ""), str(source.year or "")
    title = _make_printable(title if year in title else ", ".join(part for part in (title, year) if part))
    spent = f" {_spent_line(source.entries)}" if source.kind == "dataset" else ""
    return [f"{source.path} ({source.kind}{title and f': {title}'}):{spent}", *_entry_lines(source.entries)]


def _as_lines(entries: tuple[LedgerEntry, ...]) -> list[str]:
    """Return one dataset's ledger as text lines."""
    from mapapp.kinds.base.ledger_entry import sum_readings

    return [_spent_line(entries), *_reading_lines(sum_readings(entries)), *_entry_lines(entries)]


def _as_data(entries: tuple[LedgerEntry, ...]) -> dict[str, object]:
    """Return one dataset's ledger, or the promise of a release, as data."""
    from mapapp.kinds.base.ledger_entry import sum_readings, sum_spent, withdrawals

    budget, gone = _budget(entries), withdrawals(entries)
    return {
        "budget": budget and _amounts(*budget),
        "spent": _amounts(*sum_spent(entries)) | {"readings": _readings(sum_readings(entries))},
        "entries": [
            {
                "written_at": row.written_at,
                "kind": row.kind,
                "release": _make_printable(row.release),
                **(_amounts(row.epsilon, row.delta) if row.is_private and row.has_amounts else _NO_AMOUNTS),
                "is_private": row.is_private,
                **({"beside": list(row.beside)} if row.beside else {}),
                **({} if row.records is None else row.records.to_fields()),
                "readings": _readings(row.readings),
                "for_release": row.for_release,
                "reasons": list(row.reasons),
                "withdrawn": _describe_withdrawal(gone.get(place)),
            }
            for place, row in _list_entries(entries)
        ],
    }


def _budget(entries: tuple[LedgerEntry, ...]) -> tuple[Fraction, Fraction] | None:
    return next(((entry.epsilon, entry.delta) for entry in entries if entry.kind == "budget"), None)


def _spent_line(entries: tuple[LedgerEntry, ...]) -> str:
    """Return what a ledger has spent, and what is left of its budget."""
    from mapapp.kinds.base.ledger_entry import at_most, sum_spent

    budget, spent = _budget(entries), sum_spent(entries)
    allowed = "no budget set"
    if budget is not None:
        left = [at_most(max(limit - used, Fraction(0))) for limit, used in zip(budget, spent, strict=True)]
        allowed = f"of {float(budget[0]):g} and {float(budget[1]):g}; left {left[0]} and {left[1]}"
    return f"spent epsilon {float(spent[0]):.6g}, delta {float(spent[1]):.6g} ({allowed})"


def _list_entries(entries: tuple[LedgerEntry, ...]) -> list[tuple[int, LedgerEntry]]:
    """Return the entries that spend, with their positions; a withdrawal is shown with its release."""
    return [(place, row) for place, row in enumerate(entries) if row.kind not in ("budget", "withdrawal")]


def _reading_lines(readings: tuple[Reading, ...]) -> list[str]:
    return [
        f"  as {_SHORT.get(reading.name, reading.name)}: epsilon {float(reading.epsilon):.6g}, "
        f"delta {float(reading.delta):.6g} for {reading.holds_for}"
        for reading in readings
    ]


def _entry_lines(entries: tuple[LedgerEntry, ...]) -> list[str]:
    from mapapp.kinds.base.ledger_entry import withdrawals

    gone = withdrawals(entries)
    lines = []
    for place, row in _list_entries(entries):
        stamp = "" if row.for_release else "  not for release: " + "; ".join(row.reasons)
        if place in gone:
            why = _make_printable("; ".join(gone[place].reasons))
            what = "never published" if gone[place].unpublished else "withdrawn, still counted"
            stamp += f"  {what} ({gone[place].written_at}: {why})"
        amounts = _shown_amounts(row)
        names = " and ".join(_SHORT.get(reading.name, reading.name) for reading in row.readings)
        named = "  ".join(part for part in (row.written_at, _make_printable(row.release)) if part)
        lines.append(f"  {named}  {amounts}{names and f'  {names}'}{stamp}")
    return lines


def _shown_amounts(row: LedgerEntry) -> str:
    if not row.has_amounts:
        conflict = f"; conflicts with {', '.join(map(_make_printable, row.beside))}" if row.beside else ""
        return f"a table with suppressed cells: no epsilon or delta to add up{conflict}"
    if not row.is_private:
        return "infinite  infinite"
    amounts = f"{float(row.epsilon):.6g}  {float(row.delta):.6g}"
    if row.records is None:
        return amounts
    add_or_remove = f"{float(row.records.epsilon):.6g} and {float(row.records.delta):.6g}"
    beside = f"; beside {', '.join(map(_make_printable, row.beside))}" if row.beside else ""
    return f"{amounts}  records, one worker replaced (with or without one worker: {add_or_remove}{beside})"


def _describe_withdrawal(entry: LedgerEntry | None) -> dict[str, object] | None:
    if entry is None:
        return None
    is_known = not entry.unpublished
    return {"written_at": entry.written_at, "reason": "; ".join(entry.reasons), "still_counted": is_known}


def _amounts(epsilon: Fraction, delta: Fraction) -> dict[str, object]:
    return {"epsilon": float(epsilon), "delta": float(delta), "exact": [str(epsilon), str(delta)]}


def _readings(readings: tuple[Reading, ...]) -> dict[str, object]:
    return {
        reading.name: _amounts(reading.epsilon, reading.delta) | {"holds_for": reading.holds_for}
        for reading in readings
    }


def _make_printable(name: str) -> str:
    """Return a release's name without characters that could break a line or a terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in name)
