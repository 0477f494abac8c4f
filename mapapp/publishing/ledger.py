"""The dataset's ledger: what every release has spent, written before anything is drawn.

`ledger.jsonl` holds one JSON object per line and is only ever added to. Two releases from the same workers
compose in sequence, so their epsilons and deltas add up; the sums are exact fractions. An optional first
line is the dataset's budget. Each release notes in which readings its promise holds: the ordinary one for the
whole release, the probabilistic one for each (destination block, segment) by itself.

Three rules keep a spend from being lost:

- **Spend first.** :meth:`Ledger.spend` writes the entry, flushes it to the disk and only then returns; what
  is drawn is drawn afterwards. A release that fails later has still spent.
- **A torn line is never skipped.** A last line that is no whole entry was cut short by a crash, a full disk or
  a bad copy. By the first rule nothing was drawn on its strength if a crash cut it, but the file alone cannot
  tell a crash from a bad copy. So every later call refuses until :meth:`Ledger.settle_torn_line` adds an entry
  behind it, in which a person states what it is to count as; zero has to be stated explicitly. Nothing is removed: the
  remains stay in the file. (If only the line end is missing the entry is whole, and counts.) A broken line that
  no settlement follows, anywhere else, means that the file was altered, and is refused.
- **Nothing before a line changes.** Each line holds the digest of everything before it. A line that was changed or
  taken out is noticed by the one that follows; a dataset imported with a budget is not used without it. (What nothing
  follows, a person who holds the dataset can take back: anyone who can copy a dataset can spend it twice.)

Readers and writers hold a lock on the file (`flock`), so that two processes cannot both pass the budget.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path

from engine.errors import ParameterError
from engine.parameters import Number, exact_fraction
from mapapp.publishing.certificate.terms import Certificate

__all__ = [
    "LEDGER_NAME",
    "Ledger",
    "LedgerEntry",
    "LedgerError",
    "Reading",
    "at_most",
    "budget_fact",
    "sum_readings",
    "sum_spent",
]

LEDGER_NAME = "ledger.jsonl"
SCHEMA_VERSION = 1

_INFINITE = "infinite"
_MANIFEST = "manifest.json"  # `geodata.store.MANIFEST`, without loading what it needs
_KINDS = ("budget", "release", "settlement")


class LedgerError(ValueError):
    """The ledger is unreadable, or a release would pass the dataset's budget."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One reading of a promise.

    Attributes
    ----------
    name : str
        As the certificate names it: "differential_privacy" or "probabilistic_differential_privacy".
    epsilon, delta : Fraction
    holds_for : str
        What it is said of: the whole release, or each (destination block, segment) by itself.
    """

    name: str
    epsilon: Fraction
    delta: Fraction
    holds_for: str

    @classmethod
    def of_certificate(cls, readings: Mapping[str, Certificate]) -> tuple[Reading, ...]:
        """The readings of a certificate (`readings`), in its order."""
        return tuple(
            cls(
                name=name,
                epsilon=Fraction(values["epsilon"]["exact"]),
                delta=Fraction(values["delta"]["exact"]),
                holds_for=values["holds_for"],
            )
            for name, values in readings.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One line of the ledger.

    Attributes
    ----------
    kind : {"budget", "release", "settlement"}
        What the line says; a settlement replaces a line that a crash cut short.
    epsilon, delta : Fraction
        Spent by the entry, or allowed by the budget; 0 for what is not for release.
    release : str
        Name or identifier of the release; empty for a budget.
    for_release : bool
        False for the fixed test key, replication, and whatever else may not be published.
    reasons : tuple of str
        Why it is not for release.
    written_at : str
        Time of writing, UTC.
    is_private : bool
        False where nothing is promised: what it spends, had it left the house, has no bound, and its line says
        "infinite". Such a release is never for release.
    readings : tuple of Reading
        In which the promise holds; empty where nothing is promised, for a budget and for a settlement.
    before : str
        SHA-256 of everything before the line; empty in a line written before this was recorded.
    """

    kind: str
    epsilon: Fraction
    delta: Fraction
    release: str = ""
    for_release: bool = True
    reasons: tuple[str, ...] = ()
    written_at: str = ""
    is_private: bool = True
    readings: tuple[Reading, ...] = ()
    before: str = ""

    def to_line(self) -> bytes:
        """The entry as one line of JSON, fractions as exact text."""
        fields = {
            "schema_version": SCHEMA_VERSION,
            "kind": self.kind,
            "epsilon": str(self.epsilon) if self.is_private else _INFINITE,
            "delta": str(self.delta) if self.is_private else _INFINITE,
            "release": self.release,
            "for_release": self.for_release,
            "reasons": list(self.reasons),
            "written_at": self.written_at,
            "readings": {
                reading.name: {
                    "epsilon": str(reading.epsilon),
                    "delta": str(reading.delta),
                    "holds_for": reading.holds_for,
                }
                for reading in self.readings
            },
            "before": self.before,
        }
        return json.dumps(fields, ensure_ascii=True).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> LedgerEntry:
        """Read one line; ValueError, KeyError or TypeError if it does not hold one."""
        fields = json.loads(line)
        if fields["schema_version"] != SCHEMA_VERSION or fields["kind"] not in _KINDS:
            raise ValueError("unknown schema version or kind")
        is_private = (fields["epsilon"], fields["delta"]) != (_INFINITE, _INFINITE)
        entry = cls(
            kind=fields["kind"],
            epsilon=exact_fraction(str(fields["epsilon"]) if is_private else 0, "epsilon"),
            delta=exact_fraction(str(fields["delta"]) if is_private else 0, "delta"),
            release=str(fields["release"]),
            for_release=fields["for_release"] is True,
            reasons=tuple(str(reason) for reason in fields["reasons"]),
            written_at=str(fields["written_at"]),
            is_private=is_private,
            readings=tuple(
                Reading(
                    name=name,
                    epsilon=exact_fraction(str(values["epsilon"]), "epsilon"),
                    delta=exact_fraction(str(values["delta"]), "delta"),
                    holds_for=str(values["holds_for"]),
                )
                for name, values in fields.get("readings", {}).items()
            ),
            before=str(fields.get("before", "")),
        )
        if not is_private and (entry.kind != "release" or entry.for_release):
            raise ValueError("only a release that stays in the house can promise nothing")
        if entry.epsilon < 0 or entry.delta < 0:
            raise ValueError("negative spend")
        return entry


class Ledger:
    """The ledger of one dataset.

    Parameters
    ----------
    dataset : Path
        Directory of the dataset; `ledger.jsonl` is made in it when first written.
    """

    def __init__(self, dataset: Path) -> None:
        self.path = Path(dataset) / LEDGER_NAME

    def entries(self) -> tuple[LedgerEntry, ...]:
        """Every line, in order; empty if there is no ledger yet.

        Raises
        ------
        LedgerError
            A line is broken, or the last one was cut short and has not been settled.
        """
        if not self.path.exists():
            self._require_promised_budget(())
            return ()
        with self._locked(write=False) as file:
            return self._read(file)

    def budget(self) -> tuple[Fraction, Fraction] | None:
        """The dataset's (epsilon, delta) budget; None if it has none."""
        entries = self.entries()
        if entries and entries[0].kind == "budget":
            return entries[0].epsilon, entries[0].delta
        return None

    def spent(self) -> tuple[Fraction, Fraction]:
        """Sum of (epsilon, delta) over what has been spent: releases compose in sequence."""
        return sum_spent(self.entries())

    def set_budget(self, *, epsilon: Number, delta: Number) -> LedgerEntry:
        """Write the budget as the first line.

        Raises
        ------
        LedgerError
            The ledger has lines already: a budget set after the fact would not be one.
        """
        entry = LedgerEntry(
            kind="budget",
            epsilon=_amount(epsilon, "budget epsilon"),
            delta=_amount(delta, "budget delta"),
            written_at=_now(),
        )
        with self._locked(write=True) as file:
            if self._read(file):
                raise LedgerError(
                    f"{self.path} has entries already; a budget can only be its first line: set it before the "
                    "first release"
                )
            return self._append(file, entry)

    def spend(
        self,
        *,
        epsilon: Number | None,
        delta: Number | None,
        release: str,
        reasons: tuple[str, ...] = (),
        readings: tuple[Reading, ...] = (),
        check: Callable[[], None] | None = None,
    ) -> LedgerEntry:
        """Record a release before anything is drawn; on return the entry is on the disk.

        Parameters
        ----------
        epsilon, delta : Fraction, str, int, float or None
            What the release spends: its final epsilon (after pruning) and its delta; None, both, where it promises
            nothing.
        release : str
            Name or identifier of the release.
        reasons : tuple of str, optional
            Why it is not for release. With any reason the entry is stamped so and spends nothing, since what
            it makes must not be published.
        readings : tuple of Reading, optional
            In which the promise holds.
        check : callable, optional
            Called under the lock, before anything is written; what it raises is raised, and nothing is spent.

        Raises
        ------
        LedgerError
            The release would pass the budget, or promises nothing and no reason says so; nothing has been written.
        """
        for_release = not reasons
        is_private = epsilon is not None or delta is not None
        if for_release and not is_private:
            raise LedgerError(f"release {release!r} promises nothing: no budget allows that")
        entry = LedgerEntry(
            kind="release",
            epsilon=_amount(epsilon, "epsilon") if for_release else Fraction(0),
            delta=_amount(delta, "delta") if for_release else Fraction(0),
            release=release,
            for_release=for_release,
            reasons=reasons,
            written_at=_now(),
            is_private=is_private,
            readings=readings if for_release else (),
        )
        with self._locked(write=True) as file:
            entries = self._read(file)
            if for_release:
                self._require_within_budget(entries, entry)
            if check is not None:
                check()
            return self._append(file, entry)

    def torn_line(self) -> bytes | None:
        """The last line if a crash cut it short, else None."""
        if not self.path.exists():
            return None
        with self._locked(write=False) as file:
            return self._split(file)[1]

    def settle_torn_line(self, *, epsilon: Number, delta: Number, release: str) -> LedgerEntry:
        """Record what a line cut short by a crash is to count as.

        Give the numbers of the release that was being written; give 0 only if it is known that nothing was
        drawn. A first line that does not say that it is a release is settled as the budget.

        Raises
        ------
        LedgerError
            No line is torn, or it was the budget, and is to be settled as another than the dataset's.
        """
        with self._locked(write=True) as file:
            whole, torn = self._split(file)
            if torn is None:
                raise LedgerError(f"{self.path} has no line that was cut short; there is nothing to settle")
            entry = LedgerEntry(
                # A first line that does not say it is a release may have been the budget, which must not get lost.
                kind="settlement" if whole or b'"kind": "release"' in torn else "budget",
                epsilon=_amount(epsilon, "epsilon"),
                delta=_amount(delta, "delta"),
                release=release,
                reasons=(f"settles a line cut short after {len(torn)} bytes",),
                written_at=_now(),
            )
            if entry.kind == "budget":
                self._require_promised_budget((entry,))
            return self._append(file, entry)

    def _require_within_budget(self, entries: tuple[LedgerEntry, ...], entry: LedgerEntry) -> None:
        if not entries or entries[0].kind != "budget":
            return
        allowed = entries[0]
        epsilon, delta = sum_spent(entries)
        for name, spent, more, limit in (
            ("epsilon", epsilon, entry.epsilon, allowed.epsilon),
            ("delta", delta, entry.delta, allowed.delta),
        ):
            if spent + more > limit:
                left = at_most(max(limit - spent, Fraction(0)))
                raise LedgerError(
                    f"release {entry.release!r} needs {name} {_at_least(more)}, but {_at_least(spent)} of the "
                    f"dataset's {_at_least(limit)} is spent; ask for at most {left}, "
                    "or publish what has been released already"
                )

    def _require_promised_budget(self, entries: tuple[LedgerEntry, ...]) -> None:
        """Refuse a ledger that does not begin with the budget that the dataset was imported with."""
        try:
            promised = json.loads((self.path.parent / _MANIFEST).read_bytes()).get("budget")
        except FileNotFoundError:  # while importing, the ledger comes first
            return
        except (OSError, ValueError, AttributeError):
            raise LedgerError(f"{self.path.parent / _MANIFEST} cannot be read; check the dataset") from None
        if promised is None:
            return
        first = entries[0] if entries else None
        if first is None or first.kind != "budget" or budget_fact(first.epsilon, first.delta) != promised:
            raise LedgerError(
                f"{self.path} does not begin with the budget that the dataset was imported with, epsilon "
                f"{promised['epsilon']} and delta {promised['delta']}; restore the file from a copy"
            )

    @contextmanager
    def _locked(self, *, write: bool) -> Iterator[int]:
        """Open the file and hold its lock; `O_APPEND` so that no write can land on an earlier line."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND if write else os.O_RDONLY
        try:
            # A link is not followed, and a pipe is not waited for.
            file = os.open(self.path, flags | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError as error:
            raise LedgerError(f"{self.path} cannot be opened: {error.strerror}; check the dataset") from None
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise LedgerError(f"{self.path} is not a regular file; restore it from a copy")
            fcntl.flock(file, fcntl.LOCK_EX if write else fcntl.LOCK_SH)
            yield file
        finally:
            os.close(file)  # releases the lock

    def _split(self, file: int) -> tuple[list[bytes], bytes | None]:
        """Lines before the remains of a line that was cut short, and those remains or None."""
        content = os.pread(file, os.fstat(file).st_size, 0)
        lines = content.split(b"\n")
        if not lines[-1]:
            lines.pop()
        if lines and _parsed(lines[-1]) is None:
            return lines[:-1], lines[-1]
        return lines, None

    def _read(self, file: int) -> tuple[LedgerEntry, ...]:
        lines, torn = self._split(file)
        entries: list[LedgerEntry] = []
        broken = 0
        before = hashlib.sha256()
        for number, line in enumerate(lines, start=1):
            entry = _parsed(line)
            expected = before.hexdigest()
            before.update(line + b"\n")
            if entry is None:
                broken = broken or number
                continue
            first = not entries and broken in (0, 1)
            if broken and entry.kind != "settlement" and not (entry.kind == "budget" and first):
                raise LedgerError(f"{self.path} line {broken} is no entry; restore the file from a copy")
            if entry.kind == "budget" and not (first and number == 1 + broken):
                raise LedgerError(f"{self.path} line {number} is a second budget; restore it from a copy")
            if entry.before not in ("", expected):
                raise LedgerError(
                    f"{self.path} was altered before line {number}; restore the file from a copy"
                )
            broken = 0
            entries.append(entry)
        if torn is not None:
            raise LedgerError(
                f"{self.path} ends in a line that was cut short ({len(torn)} bytes); state what it is to count "
                "as with `commutemap ledger DATASET --settle EPSILON DELTA` before anything else is released"
            )
        self._require_promised_budget(tuple(entries))
        return tuple(entries)

    def _append(self, file: int, entry: LedgerEntry) -> LedgerEntry:
        """Add one line and see it on the disk, with the directory entry of a new file; returns what was written."""
        size = os.fstat(file).st_size
        before = os.pread(file, size, 0)
        missing_end = b"" if before.endswith(b"\n") or not before else b"\n"
        entry = replace(entry, before=hashlib.sha256(before + missing_end).hexdigest())
        line = missing_end + entry.to_line()
        if _parsed(entry.to_line()) != entry:
            raise LedgerError(
                f"{self.path} cannot hold epsilon {entry.epsilon} and delta {entry.delta}; give fewer digits"
            )
        try:
            if os.write(file, line) != len(line):
                raise OSError(errno.ENOSPC, "it took only part of an entry; make room on the disk")
            os.fsync(file)
            directory = os.open(self.path.parent, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)
            if not os.path.samestat(os.fstat(file), os.stat(self.path)):
                raise OSError(errno.ESTALE, "another file took its place meanwhile; try again")
        except OSError as error:
            # Nothing has been drawn on its strength and the lock is still held: it can be taken back.
            os.ftruncate(file, size)
            raise LedgerError(
                f"{self.path} cannot be written ({error.strerror}); nothing was spent"
            ) from None
        return entry


def _parsed(line: bytes) -> LedgerEntry | None:
    """The entry of a line; None if the line does not hold one."""
    try:
        return LedgerEntry.from_line(line)
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError, RecursionError):
        return None


def sum_spent(entries: tuple[LedgerEntry, ...]) -> tuple[Fraction, Fraction]:
    """Sum of (epsilon, delta) over all lines but the budget."""
    spending = [entry for entry in entries if entry.kind != "budget"]
    return sum((e.epsilon for e in spending), Fraction(0)), sum((e.delta for e in spending), Fraction(0))


def sum_readings(entries: tuple[LedgerEntry, ...]) -> tuple[Reading, ...]:
    """The readings in which the promises of all that was spent add up: those that every entry notes.

    The ordinary one is said of all releases together. The probabilistic one is said of the draws of one (destination
    block, segment): none of them fails but with a probability of at most the sum of their deltas.
    """
    spending = [entry for entry in entries if entry.kind != "budget" and (entry.epsilon or entry.delta)]
    noted = [{reading.name: reading for reading in entry.readings} for entry in spending]
    return tuple(
        Reading(
            name=name,
            epsilon=sum((each[name].epsilon for each in noted), Fraction(0)),
            delta=sum((each[name].delta for each in noted), Fraction(0)),
            holds_for=f"{reading.holds_for}, over all releases",
        )
        for name, reading in (noted[0] if noted else {}).items()
        if all(name in each for each in noted)
    )


def budget_fact(epsilon: Fraction, delta: Fraction) -> dict[str, str]:
    """A budget as the dataset's manifest has it, exact."""
    return {"epsilon": str(epsilon), "delta": str(delta)}


def at_most(amount: Fraction) -> str:
    """An amount to six digits, rounded down: what may still be asked for."""
    return _rounded(amount, ROUND_FLOOR)


def _at_least(amount: Fraction) -> str:
    return _rounded(amount, ROUND_CEILING)


def _rounded(amount: Fraction, rounding: str) -> str:
    digits = Context(prec=6, rounding=rounding)
    return f"{float(digits.divide(Decimal(amount.numerator), Decimal(amount.denominator))):g}"


def _amount(value: Number | None, name: str) -> Fraction:
    """An exact amount of 0 or more."""
    if value is None:
        raise LedgerError(f"{name} is missing; a number is needed")
    try:
        amount = exact_fraction(value, name)
    except ParameterError as error:
        raise LedgerError(str(error)) from None
    if amount < 0:
        raise LedgerError(f"{name} is {float(amount):g}; it must be 0 or more")
    return amount


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
