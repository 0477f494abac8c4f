"""What a line of the ledger says, and what lines add up to; :mod:`mapapp.kinds.base.ledger` keeps the file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import TypedDict

from engine.errors import ParameterError
from engine.parameters import Number, exact_fraction
from geodata.json_objects import JsonMapping, JsonObject
from mapapp.base.errors import LedgerError
from mapapp.kinds.base.certificate import RUN_ID, Certificate, are_liftable, has_run_id, is_charged

__all__ = [
    "LedgerEntry",
    "LedgerError",
    "Reading",
    "RecordsSpent",
    "SpentPart",
    "amounts_in_words",
    "at_least",
    "at_most",
    "budget_fact",
    "exact_amount",
    "known_publications",
    "parse_entry",
    "promised_amounts",
    "release_entry",
    "require_within_budget",
    "running_total",
    "sum_readings",
    "sum_spent",
    "withdrawals",
]

SCHEMA_VERSION = 1

_INFINITE = "infinite"
_KINDS = ("budget", "records", "release", "settlement", "table", "withdrawal")
PUBLICATIONS = ("records", "release", "table")
"""Kinds of entries that are about something published, which can be withdrawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One reading of a promise.

    Attributes
    ----------
    name : str
        As the certificate names it: "differential_privacy" or "probabilistic_differential_privacy".
    epsilon, delta : Fraction
    holds_for : str
        What it is said of: the whole release, or each group of workers drawn together, by itself.
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
                epsilon=exact_amount(values["epsilon"]["exact"], "epsilon"),
                delta=exact_amount(values["delta"]["exact"], "delta"),
                holds_for=str(values["holds_for"]),
            )
            for name, values in readings.items()
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpentPart:
    """What one disjoint subset of the workers is used for, and what that costs a worker in it (replace-one reading).

    Attributes
    ----------
    name : str
        "seeds", "parameters", or "structure".
    share : Fraction
        Chance that a worker is in the subset.
    epsilon, delta : Fraction
    """

    name: str
    share: Fraction
    epsilon: Fraction
    delta: Fraction


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsSpent:
    """What the entry of worker records says beside what it spends, which is in the replace-one reading.

    Attributes
    ----------
    epsilon, delta : Fraction
        In the add/remove reading.
    n_tries, n_min : int or None
        Candidates, and the least number of seeds; None without seeds.
    parts : tuple of SpentPart
        A worker is in one of them, so the largest epsilon and delta are what is spent.
    """

    epsilon: Fraction
    delta: Fraction
    n_tries: int | None
    n_min: int | None
    parts: tuple[SpentPart, ...]

    def to_fields(self) -> JsonObject:
        """Plain values for the line, fractions as exact text."""
        parts = [
            {
                "name": part.name,
                "share": str(part.share),
                "epsilon": str(part.epsilon),
                "delta": str(part.delta),
            }
            for part in self.parts
        ]
        amounts = {"epsilon": str(self.epsilon), "delta": str(self.delta)}
        return {"add_remove": amounts, "tries": self.n_tries, "n_min": self.n_min, "parts": parts}

    @classmethod
    def from_fields(cls, fields: JsonMapping) -> RecordsSpent:
        """Read the values of a line; ValueError, KeyError or TypeError if they are not there."""
        tries, least = fields["tries"], fields["n_min"]
        return cls(
            epsilon=exact_fraction(str(fields["add_remove"]["epsilon"]), "epsilon"),
            delta=exact_fraction(str(fields["add_remove"]["delta"]), "delta"),
            n_tries=None if tries is None else int(tries),
            n_min=None if least is None else int(least),
            parts=tuple(
                SpentPart(
                    name=str(part["name"]),
                    share=exact_fraction(str(part["share"]), "share"),
                    epsilon=exact_fraction(str(part["epsilon"]), "epsilon"),
                    delta=exact_fraction(str(part["delta"]), "delta"),
                )
                for part in fields["parts"]
            ),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One line of the ledger.

    Attributes
    ----------
    kind : {"budget", "records", "release", "settlement", "table", "withdrawal"}
        What the line says. A table with suppressed cells has neither epsilon nor delta to add up. A settlement
        replaces a line that a crash cut short, and a withdrawal says that an earlier publication is no longer
        published. What that one spent stays spent.
    epsilon, delta : Fraction
        Spent by the entry, or allowed by the budget; 0 for what counts nothing, and for a table.
    release : str
        Name or identifier of the publication; empty for a budget. Of a withdrawal, the release that is withdrawn.
    for_release : bool
        False for the fixed test key, replication, and whatever else may not be published.
    liftable : bool
        Whether it is not for release for reasons that can cease to hold, so that it may be published after all.
    reasons : tuple of str
        Why it is not for release, or why it was withdrawn.
    written_at : str
        Time of writing, UTC.
    is_private : bool
        False where nothing is promised: what it spends, had it left the house, has no bound, and its line says
        "infinite". Such a release is never for release.
    readings : tuple of Reading
        In which the promise holds; empty where nothing is promised, for a budget and for a settlement.
    withdraws : int or None
        Of a withdrawal: which entry of the ledger it is about, counted from 0.
    unpublished : bool
        Of a withdrawal: the program wrote it, because it failed before anything of the publication could be seen.
    beside : tuple of str
        Publications of the same jobs that this one has no joint promise with: their digests, or names in the ledger.
    records : RecordsSpent or None
        Of worker records: the other reading, and how they were made.
    run_id : str
        Public id of the run, which its certificate states, too; empty in a line written before there was one.
    before : str
        SHA-256 of everything before the line; empty in a line written before this was recorded.
    """

    kind: str
    epsilon: Fraction
    delta: Fraction
    release: str = ""
    for_release: bool = True
    liftable: bool = False
    reasons: tuple[str, ...] = ()
    written_at: str = ""
    is_private: bool = True
    readings: tuple[Reading, ...] = ()
    withdraws: int | None = None
    unpublished: bool = False
    beside: tuple[str, ...] = ()
    records: RecordsSpent | None = None
    run_id: str = ""
    before: str = ""

    def to_line(self) -> bytes:
        """The entry as one line of JSON, fractions as exact text."""
        fields = {
            "schema_version": SCHEMA_VERSION,
            "kind": self.kind,
            "epsilon": self._amount(self.epsilon),
            "delta": self._amount(self.delta),
            "release": self.release,
            "for_release": self.for_release,
            **({"liftable": True} if self.liftable else {}),
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
            **({} if self.withdraws is None else {"withdraws": self.withdraws}),
            **({"unpublished": True} if self.unpublished else {}),
            **({"beside": list(self.beside)} if self.beside else {}),
            **({} if self.records is None else {"records": self.records.to_fields()}),
            **({"run_id": self.run_id} if self.run_id else {}),
            "before": self.before,
        }
        return json.dumps(fields, ensure_ascii=True).encode() + b"\n"

    @property
    def counts(self) -> bool:
        """Whether what the entry spends adds up, and others must know of it: it is published, or may be later."""
        return self.for_release or self.liftable

    @property
    def has_amounts(self) -> bool:
        """Whether the entry has an epsilon and a delta; a table with suppressed cells has none."""
        return self.kind != "table"

    def _amount(self, amount: Fraction) -> str | None:
        if not self.has_amounts:
            return None
        return str(amount) if self.is_private else _INFINITE

    @classmethod
    def from_line(cls, line: bytes) -> LedgerEntry:
        """Read one line; ValueError, KeyError or TypeError if it does not hold one."""
        fields = json.loads(line)
        if fields["schema_version"] != SCHEMA_VERSION or fields["kind"] not in _KINDS:
            raise ValueError("unknown schema version or kind")
        amounts = (fields["epsilon"], fields["delta"])
        is_private = amounts != (_INFINITE, _INFINITE)
        if (amounts == (None, None)) != (fields["kind"] == "table"):
            raise ValueError("only a table has neither epsilon nor delta")
        has_amounts = is_private and fields["kind"] != "table"
        entry = cls(
            kind=fields["kind"],
            epsilon=exact_fraction(str(fields["epsilon"]) if has_amounts else 0, "epsilon"),
            delta=exact_fraction(str(fields["delta"]) if has_amounts else 0, "delta"),
            release=str(fields["release"]),
            for_release=fields["for_release"] is True,
            liftable=fields.get("liftable") is True,
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
            withdraws=fields.get("withdraws"),
            unpublished=fields.get("unpublished") is True,
            beside=tuple(map(str, fields.get("beside", ()))),
            records=RecordsSpent.from_fields(fields["records"]) if "records" in fields else None,
            run_id=str(fields.get("run_id", "")),
            before=str(fields.get("before", "")),
        )
        if (entry.kind == "records") != (entry.records is not None):
            raise ValueError("only records have two readings")
        if (entry.kind == "withdrawal") != (type(entry.withdraws) is int):
            raise ValueError("only a withdrawal names an entry")
        if entry.unpublished and entry.kind != "withdrawal":
            raise ValueError("only a withdrawal says that nothing was published")
        if entry.liftable and (entry.for_release or not entry.reasons):
            raise ValueError("only reasons not to release can be lifted")
        if not is_private and (entry.kind != "release" or entry.counts):
            raise ValueError("only a release that stays in the house can promise nothing")
        if entry.epsilon < 0 or entry.delta < 0:
            raise ValueError("negative spend")
        return entry


def parse_entry(line: bytes) -> LedgerEntry | None:
    """The entry of a line; None if the line does not hold one."""
    try:
        return LedgerEntry.from_line(line)
    except (ValueError, KeyError, TypeError, AttributeError, ZeroDivisionError, RecursionError):
        return None


class PromisedAmounts(TypedDict):
    """What a certificate promises, as arguments of :func:`release_entry`; amounts as exact texts."""

    epsilon: str | None
    delta: str | None
    reasons: tuple[str, ...]
    readings: tuple[Reading, ...]
    run_id: str


def promised_amounts(certificate: Certificate) -> PromisedAmounts:
    """Return what a certificate says of its promise, as arguments of :func:`release_entry`."""
    promised = certificate["epsilon_final"] is not None
    return {
        "epsilon": certificate["epsilon_final"]["exact"] if promised else None,
        "delta": certificate["delta"]["exact"] if promised else None,
        "reasons": tuple(map(str, certificate["status_reasons"])),
        "readings": Reading.of_certificate(certificate["readings"]),
        "run_id": certificate[RUN_ID] if RUN_ID in certificate and has_run_id(certificate) else "",
    }


def release_entry(
    *,
    epsilon: Number | None,
    delta: Number | None,
    release: str,
    reasons: tuple[str, ...] = (),
    readings: tuple[Reading, ...] = (),
    records: RecordsSpent | None = None,
    run_id: str = "",
    written_at: str = "",
) -> LedgerEntry:
    """Return the entry of a release, or of records: what it spends, and why it is not for release if it is not.

    What is not for release spends nothing, unless its reasons can cease to hold (see `LedgerEntry.liftable`).

    Raises
    ------
    LedgerError
        An amount is missing or negative, or the release promises nothing and no reason says so.
    """
    counts = is_charged(reasons)
    is_private = epsilon is not None or delta is not None
    if counts and not is_private:
        raise LedgerError(f"release {release!r} promises nothing: no budget allows that")
    return LedgerEntry(
        kind="release" if records is None else "records",
        epsilon=exact_amount(epsilon, "epsilon") if counts else Fraction(0),
        delta=exact_amount(delta, "delta") if counts else Fraction(0),
        release=release,
        for_release=not reasons,
        liftable=are_liftable(reasons),
        reasons=reasons,
        written_at=written_at,
        is_private=is_private,
        readings=readings if counts else (),
        records=records,
        run_id=run_id,
    )


def withdrawals(entries: Sequence[LedgerEntry]) -> dict[int, LedgerEntry]:
    """Return the withdrawals of a ledger by the position of the release that each one is about.

    Raises
    ------
    LedgerError
        A withdrawal is not about an earlier release of the same name, or a release was withdrawn twice.
    """
    by_place: dict[int, LedgerEntry] = {}
    for position, entry in enumerate(entries):
        if entry.withdraws is None:
            continue
        place = entry.withdraws
        if place in by_place or not (
            0 <= place < position
            and entries[place].kind in PUBLICATIONS
            and entries[place].release == entry.release
        ):
            raise LedgerError(
                f"the withdrawal of {entry.release!r}, written {entry.written_at}, names no earlier release or table "
                "of the ledger that is still published; restore the ledger from a copy"
            )
        by_place[place] = entry
    return by_place


def known_publications(entries: Sequence[LedgerEntry]) -> list[LedgerEntry]:
    """Return the publications that somebody can have seen or may see, also those that were withdrawn later.

    Left out are those of which the program itself noted that it failed before anything could be seen.
    """
    unseen = {place for place, entry in withdrawals(entries).items() if entry.unpublished}
    return [
        entry
        for place, entry in enumerate(entries)
        if entry.kind in PUBLICATIONS and entry.counts and place not in unseen
    ]


def amounts_in_words(pair: tuple[Fraction, Fraction]) -> str:
    """Return an epsilon and a delta for a person, rounded up."""
    return f"epsilon {at_least(pair[0])}, delta {at_least(pair[1])}"


def running_total(spent: tuple[Fraction, Fraction]) -> str:
    """Return what all publications of a dataset have spent, as a line for a person."""
    return f"  ledger           all publications of this dataset: {amounts_in_words(spent)}"


def sum_spent(entries: Sequence[LedgerEntry]) -> tuple[Fraction, Fraction]:
    """Sum of (epsilon, delta) over all lines but the budget."""
    spending = [entry for entry in entries if entry.kind != "budget"]
    return sum((e.epsilon for e in spending), Fraction(0)), sum((e.delta for e in spending), Fraction(0))


def require_within_budget(entries: Sequence[LedgerEntry], entry: LedgerEntry) -> None:
    """Refuse an entry (LedgerError) that would pass the budget with which a ledger begins, if it begins with one."""
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
                f"release {entry.release!r} needs {name} {at_least(more)}, but {at_least(spent)} of the "
                f"dataset's {at_least(limit)} is spent; ask for at most {left}, "
                "or publish what has been released already"
            )


def sum_readings(entries: Sequence[LedgerEntry]) -> tuple[Reading, ...]:
    """The readings in which the promises of all that was spent add up: those that every entry notes.

    The ordinary one is said of all releases together. The probabilistic one is said of the draws of one (destination
    block, segment): none of them fails but with a probability of at most the sum of their deltas. Where releases draw
    larger groups of workers together, it is said of the draws of the groups to which one worker belongs.
    """
    spending = [entry for entry in entries if entry.kind != "budget" and (entry.epsilon or entry.delta)]
    noted = [{reading.name: reading for reading in entry.readings} for entry in spending]
    return tuple(
        Reading(
            name=name,
            epsilon=sum((readings[name].epsilon for readings in noted), Fraction(0)),
            delta=sum((readings[name].delta for readings in noted), Fraction(0)),
            holds_for=f"{_each_or(readings[name].holds_for for readings in noted)}, over all releases",
        )
        for name in (noted[0] if noted else {})
        if all(name in readings for readings in noted)
    )


def _each_or(texts: Iterable[str]) -> str:
    """Join what a reading holds for in each release; the same text is said once."""
    return " or ".join(dict.fromkeys(texts))


def budget_fact(epsilon: Fraction, delta: Fraction) -> dict[str, str]:
    """A budget as the dataset's manifest has it, exact."""
    return {"epsilon": str(epsilon), "delta": str(delta)}


def at_most(amount: Fraction) -> str:
    """An amount to six digits, rounded down: what may still be asked for."""
    return _round_amount(amount, ROUND_FLOOR)


def at_least(amount: Fraction) -> str:
    """Return an amount to six digits, rounded up: what is spent or needed."""
    return _round_amount(amount, ROUND_CEILING)


def _round_amount(amount: Fraction, rounding: str) -> str:
    digits = Context(prec=6, rounding=rounding)
    return f"{float(digits.divide(Decimal(amount.numerator), Decimal(amount.denominator))):g}"


def exact_amount(value: Number | None, name: str) -> Fraction:
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
