"""The dataset's ledger: what every release has spent, written before anything is drawn.

`ledger.jsonl` holds one JSON object per line and is only ever added to. Two releases from the same workers
compose in sequence, so their epsilons and deltas add up; the sums are exact fractions. An optional first
line is the dataset's budget. A further line can mark a release as withdrawn; what it spent stays spent, because what
was published cannot be taken back. Each release notes in which readings its promise holds: the ordinary one for the
whole release, the probabilistic one for each group of workers drawn together by itself (those of a destination block
and segment, of a destination block, or of a destination tract).

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from engine.parameters import Number
from geodata.store.atomic_writes import keep_charge
from mapapp.kinds.base.certificate import are_liftable
from mapapp.kinds.base.ledger_entry import (
    PUBLICATIONS,
    LedgerEntry,
    LedgerError,
    Reading,
    RecordsSpent,
    at_least,
    budget_fact,
    exact_amount,
    parse_entry,
    release_entry,
    require_within_budget,
    sum_spent,
    withdrawals,
)

__all__ = ["LEDGER_NAME", "Ledger"]

LEDGER_NAME = "ledger.jsonl"

_MANIFEST = "manifest.json"  # `geodata.store.store.MANIFEST`, without loading what it needs


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
        with self._lock_file(write=False) as file:
            return self._read(file)

    def budget(self) -> tuple[Fraction, Fraction] | None:
        """The dataset's (epsilon, delta) budget; None if nobody has set one."""
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
            epsilon=exact_amount(epsilon, "budget epsilon"),
            delta=exact_amount(delta, "budget delta"),
            written_at=_now(),
        )
        with self._lock_file(write=True) as file:
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
        records: RecordsSpent | None = None,
        run_id: str = "",
        beside: Callable[[tuple[LedgerEntry, ...]], tuple[str, ...]] | None = None,
        check: Callable[[], None] | None = None,
    ) -> LedgerEntry:
        """Record a release, or records, before anything is drawn; on return the entry is on the disk.

        Parameters
        ----------
        epsilon, delta : Fraction, str, int, float or None
            What the release spends: its final epsilon (after pruning) and its delta; None, both, where it promises
            nothing.
        release : str
            Name or identifier of the release.
        reasons : tuple of str, optional
            Why it is not for release. With any reason the entry is stamped so. It spends nothing, since what it makes
            must not be published, unless every reason can cease to hold later.
        readings : tuple of Reading, optional
            In which the promise holds.
        records : RecordsSpent, optional
            For worker records: the other reading, and how they are made.
        run_id : str, optional
            Public id of the run.
        beside : callable, optional
            As in :meth:`enter_table`.
        check : callable, optional
            Called under the lock, before anything is written; what it raises is raised, and nothing is spent.

        Raises
        ------
        LedgerError
            The release would pass the budget, or promises nothing and no reason says so; nothing has been written.
        """
        entry = release_entry(
            epsilon=epsilon,
            delta=delta,
            release=release,
            reasons=reasons,
            readings=readings,
            records=records,
            run_id=run_id,
            written_at=_now(),
        )
        with self._lock_file(write=True) as file:
            entries = self._read(file)
            if beside is not None:
                entry = replace(entry, beside=beside(entries))
            if entry.counts:
                require_within_budget(entries, entry)
            if check is not None:
                check()
            size = os.fstat(file).st_size
            try:
                return self._append(file, entry)
            finally:  # an interrupt may arrive after the line is written
                if entry.counts and os.fstat(file).st_size > size:
                    keep_charge(
                        f"{self.path.parent} was charged epsilon {at_least(entry.epsilon)} and delta "
                        f"{at_least(entry.delta)} for {release!r}"
                    )

    def enter_table(
        self,
        table: str,
        *,
        reasons: tuple[str, ...] = (),
        run_id: str = "",
        beside: Callable[[tuple[LedgerEntry, ...]], tuple[str, ...]],
        check: Callable[[], None],
    ) -> LedgerEntry:
        """Record a table with suppressed cells before it is decided; it spends nothing.

        Parameters
        ----------
        table : str
            Name of the table.
        reasons : tuple of str, optional
            Why it is not for release.
        run_id : str, optional
            Public id of the run.
        beside : callable
            Called under the lock with the ledger's entries. Returns digests, or else names, of the publications that
            the table has no joint promise with, or raises; then nothing is written.
        check : callable
            Called under the lock, before anything is written.
        """
        with self._lock_file(write=True) as file:
            entry = LedgerEntry(
                kind="table",
                epsilon=Fraction(0),
                delta=Fraction(0),
                release=table,
                for_release=not reasons,
                liftable=are_liftable(reasons),
                reasons=reasons,
                written_at=_now(),
                run_id=run_id,
                beside=beside(self._read(file)),
            )
            check()
            return self._append(file, entry)

    def withdraw(self, release: str, *, reason: str) -> LedgerEntry:
        """Record that a release is no longer published; what it spent stays spent.

        Parameters
        ----------
        release : str
            Its name in the ledger. If several have that name, the time of its entry (`written_at`).
        reason : str
            Why it was withdrawn.

        Raises
        ------
        LedgerError
            The ledger has no such release, several, or one that is not for release or was withdrawn before; or the
            reason is blank. Nothing has been written.
        """
        if not reason.strip():
            raise LedgerError(f"withdrawing {release!r} needs a reason; say why it is no longer published")
        if not self.path.exists():
            raise LedgerError(f"{self.path} does not exist: nothing has been released from this dataset")
        with self._lock_file(write=True) as file:
            entries = self._read(file)
            place = self._place_of(entries, release)
            return self._append(
                file,
                LedgerEntry(
                    kind="withdrawal",
                    epsilon=Fraction(0),
                    delta=Fraction(0),
                    release=entries[place].release,
                    reasons=(reason.strip(),),
                    written_at=_now(),
                    withdraws=place,
                ),
            )

    def give_back(self, entered: LedgerEntry, *, reason: str) -> None:
        """Record that nothing of a table was ever seen, because making it failed; another one may then be made.

        Only the program that entered the table may say so, before it has shown a decision to anybody. What somebody
        withdraws stays known.

        Parameters
        ----------
        entered : LedgerEntry
            As :meth:`enter_table` returned it.
        reason : str
            How it failed, without any value.
        """
        with self._lock_file(write=True) as file:
            entries = self._read(file)
            self._append(
                file,
                LedgerEntry(
                    kind="withdrawal",
                    epsilon=Fraction(0),
                    delta=Fraction(0),
                    release=entered.release,
                    reasons=(reason,),
                    written_at=_now(),
                    withdraws=entries.index(entered),
                    unpublished=True,
                ),
            )

    def _place_of(self, entries: tuple[LedgerEntry, ...], release: str) -> int:
        """Return the position of the one published release with a name, or with a time of writing."""
        gone = withdrawals(entries)
        releases = {place: entry for place, entry in enumerate(entries) if entry.kind in PUBLICATIONS}
        named = [place for place, entry in releases.items() if release in (entry.release, entry.written_at)]
        published = [place for place in named if releases[place].counts and place not in gone]
        if not named:
            names = ", ".join(dict.fromkeys(repr(entry.release) for entry in releases.values())) or "none"
            raise LedgerError(f"{self.path} has no release {release!r}; its releases: {names}")
        if not published:
            why = (
                f"was withdrawn already ({gone[named[0]].written_at})"
                if named[0] in gone
                else "was made not for release and counts nothing"
            )
            raise LedgerError(f"{self.path}: release {release!r} {why}, so there is nothing to withdraw")
        known = {(releases[place].release, releases[place].written_at) for place in published}
        if len(known) > 1:
            listed = ", ".join(f"{name!r} of {time}" for name, time in sorted(known))
            raise LedgerError(
                f"{self.path} has {len(known)} published releases that match {release!r} ({listed}); give the name or "
                "the time that only one of them has"
            )
        return published[0]

    def torn_line(self) -> bytes | None:
        """The last line if a crash cut it short, else None."""
        if not self.path.exists():
            return None
        with self._lock_file(write=False) as file:
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
        with self._lock_file(write=True) as file:
            whole, torn = self._split(file)
            if torn is None:
                raise LedgerError(f"{self.path} has no line that was cut short; there is nothing to settle")
            entry = LedgerEntry(
                # A first line that does not say it is a release may have been the budget, which must not get lost.
                kind="settlement" if whole or b'"kind": "release"' in torn else "budget",
                epsilon=exact_amount(epsilon, "epsilon"),
                delta=exact_amount(delta, "delta"),
                release=release,
                reasons=(f"settles a line cut short after {len(torn)} bytes",),
                written_at=_now(),
            )
            if entry.kind == "budget":
                self._require_promised_budget((entry,))
            return self._append(file, entry)

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
    def _lock_file(self, *, write: bool) -> Iterator[int]:
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
        if lines and parse_entry(lines[-1]) is None:
            return lines[:-1], lines[-1]
        return lines, None

    def _read(self, file: int) -> tuple[LedgerEntry, ...]:
        lines, torn = self._split(file)
        entries: list[LedgerEntry] = []
        broken = 0
        before = hashlib.sha256()
        for number, line in enumerate(lines, start=1):
            entry = parse_entry(line)
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
        withdrawals(entries)
        return tuple(entries)

    def _append(self, file: int, entry: LedgerEntry) -> LedgerEntry:
        """Add one line and see it on the disk, with the directory entry of a new file; returns what was written."""
        size = os.fstat(file).st_size
        before = os.pread(file, size, 0)
        missing_end = b"" if before.endswith(b"\n") or not before else b"\n"
        entry = replace(entry, before=hashlib.sha256(before + missing_end).hexdigest())
        line = missing_end + entry.to_line()
        if parse_entry(entry.to_line()) != entry:
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
