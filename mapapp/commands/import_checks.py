"""What imports of any files check and say: budgets, earlier imports of the same files, and public counts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from pathlib import Path

from engine.parameters import exact_fraction
from geodata.json_objects import JsonObject
from mapapp.base.errors import UsageError

COUNTS_OF_HOMES = ("commitment_key", "elsewhere", "outflow")
"""Facts that are not printed: a key, and numbers of homes."""


def require_never_confidential(counts: Path, files: Iterable[Path]) -> None:
    """Refuse files of jobs from which a dataset beside the counts was imported, and something published."""
    from geodata.store.manifest import read_manifest
    from geodata.store.store import sha256_of
    from mapapp.kinds.base.ledger import LEDGER_NAME

    digests = {sha256_of(path) for path in files}
    for ledger in sorted(counts.absolute().parent.glob(f"*/{LEDGER_NAME}")):
        listed = read_manifest(ledger.parent).get("sources") or ()
        if digests & {str(entry.get("sha256")) for entry in listed if isinstance(entry, dict)}:
            raise UsageError(
                f"{ledger.parent}: a dataset of the same files, from which something was published under a promise; "
                "counts that are public need none, so import them into another folder if they are"
            )


def earlier_imports(dataset: Path, facts: JsonObject) -> list[Path]:
    """Datasets beside this one from the same files whose ledgers have lines: what all of them promise adds up."""
    from geodata.store.same_files import datasets_of_same_files, source_files

    folder = dataset.absolute().parent
    datasets = [
        path for path in datasets_of_same_files(folder, source_files(facts)) if path.name != dataset.name
    ]
    if not datasets:
        return []
    from mapapp.kinds.base.ledger import LEDGER_NAME

    return [path for path in datasets if (path / LEDGER_NAME).exists()]


def budget_of(epsilon: str | None, delta: str | None) -> tuple[Fraction, Fraction] | None:
    """Return the budget, checked before any file is read; None if neither number is given."""
    if epsilon is None and delta is None:
        return None
    if epsilon is None or delta is None:
        raise UsageError("a budget needs both --budget-epsilon and --budget-delta")
    amounts = exact_fraction(epsilon, "budget epsilon"), exact_fraction(delta, "budget delta")
    if min(amounts) <= 0:
        raise UsageError(f"the budget is epsilon {epsilon}, delta {delta}; both must be greater than 0")
    return amounts


def budget_writer(budget: tuple[Fraction, Fraction] | None) -> Callable[[Path], None] | None:
    """Return what writes the budget before the dataset appears, so that it never exists without its budget."""
    if budget is None:
        return None
    from mapapp.kinds.base.ledger import Ledger

    epsilon, delta = budget

    def write(directory: Path) -> None:
        Ledger(directory).set_budget(epsilon=epsilon, delta=delta)

    return write


def undeclared_lines(facts: JsonObject) -> list[str]:
    """What follows if nobody has said that the counts of worker records, or of flows, are public."""
    from geodata.store.public_counts import COUNTS_ARE_PUBLIC
    from geodata.store.zones import is_of_zones

    if facts.get(COUNTS_ARE_PUBLIC, "") is not None:
        return []
    what = (
        "the numbers of trips to each destination" if is_of_zones(facts) else "numbers of jobs at workplaces"
    )
    return [
        f"  counts    no release of this dataset is for release, because a release shows {what} "
        "exactly, and they are confidential. If they are published, say so: commutemap declare DATASET "
        "--counts-are-public REFERENCE. Records do not show them"
    ]
