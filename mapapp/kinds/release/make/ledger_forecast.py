"""What the ledger would say of a release that is not made: refused or not, and the running total."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from geodata.store.store import Store
from mapapp.base.errors import LedgerError, UsageError
from mapapp.kinds.base.certificate import Certificate
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.ledger_entry import (
    amounts_in_words,
    at_most,
    promised_amounts,
    release_entry,
    require_within_budget,
    sum_spent,
)
from mapapp.kinds.base.overlapping_publications import publications_beside

__all__ = ["LedgerForecast", "ledger_forecast"]

_NAME = "RELEASE"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerForecast:
    """What the ledger would say.

    Attributes
    ----------
    refusal : str
        Why the release would be refused; empty if it would not.
    more : tuple of (epsilon, delta)
        What it would spend; 0 and 0 for what is not for release for good.
    spent : tuple of (epsilon, delta)
        By the publications before.
    budget : tuple of (epsilon, delta), or None
        Of the dataset, if it has one.
    """

    refusal: str
    more: tuple[Fraction, Fraction]
    spent: tuple[Fraction, Fraction]
    budget: tuple[Fraction, Fraction] | None

    def to_dict(self) -> dict[str, object]:
        """Plain values for `--json`, fractions as exact text."""
        amounts = {"more": self.more, "spent": self.spent, "budget": self.budget}
        return {
            "refusal": self.refusal or None,
            **{
                name: None if pair is None else {"epsilon": str(pair[0]), "delta": str(pair[1])}
                for name, pair in amounts.items()
            },
        }

    @property
    def words(self) -> str:
        """What the ledger would say, for a person."""
        if self.refusal:
            return f"would be refused: {self.refusal}"
        if not any(self.more):
            return f"would spend nothing; {amounts_in_words(self.spent)} spent so far"
        after = (self.spent[0] + self.more[0], self.spent[1] + self.more[1])
        if self.budget is None:
            left = "no budget is set"
        else:
            rest = (self.budget[0] - after[0], self.budget[1] - after[1])
            left = f"of {amounts_in_words(self.budget)}; left epsilon {at_most(rest[0])}, delta {at_most(rest[1])}"
        return f"would be at {amounts_in_words(after)} with this release ({left})"


def ledger_forecast(dataset: Store, certificate: Certificate, beside: Sequence[Path]) -> LedgerForecast:
    """Say what the ledger of a dataset would say of a release with a certificate; nothing is written.

    Raises
    ------
    LedgerError
        The ledger cannot be read.
    """
    entries = Ledger(dataset.path).entries()
    entry = release_entry(**promised_amounts(certificate), release=_NAME)
    refusal = ""
    try:
        publications_beside(dataset, "release", entries if entry.counts else (), beside)
        if entry.counts:
            require_within_budget(entries, entry)
    except (LedgerError, UsageError) as error:
        refusal = str(error)
    has_budget = bool(entries) and entries[0].kind == "budget"
    return LedgerForecast(
        refusal=refusal,
        more=(entry.epsilon, entry.delta),
        spent=sum_spent(entries),
        budget=(entries[0].epsilon, entries[0].delta) if has_budget else None,
    )
