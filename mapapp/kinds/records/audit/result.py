"""The result of an audit of worker records: flat tables, and sentences.

CONFIDENTIAL. All of it is computed from real workers. It is for the analyst's screen and files, never for publication,
logs, or addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypedDict

import pandas

from mapapp.analyst.validity.result import CONFIDENTIAL, Plain, plain_values

__all__ = ["RECORDS_LIMITS", "AuditedRecords", "RecordsAudit", "RecordsAuditFacts"]

RECORDS_LIMITS: Final = (
    "What attackers do is a lower bound on what can be learned: a better attacker may exist. The numbers complement "
    "epsilon and never replace it."
)


class AuditedRecords(TypedDict):
    """One set of worker records that was audited; epsilon and delta of both readings.

    `left_out` says in a sentence each what could not be attacked, and why.
    """

    name: str
    status: str
    epsilon_add_remove: float
    epsilon_replace_one: float
    delta: float
    kept: list[str]
    is_of_these_workers: bool
    left_out: list[str]


class RecordsAuditFacts(TypedDict):
    """What was audited: `draws` of each side of a membership game; `titles` of the attributes by name."""

    dataset: str
    workers: int
    draws: int
    records: list[AuditedRecords]
    titles: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordsAudit:
    """What attackers would learn from one or several sets of worker records of the same workers.

    Attributes
    ----------
    facts : RecordsAuditFacts
    tables : dict of str to DataFrame
        `attackers`, `confidence`, `calibration`, `leakage`: as of :class:`mapapp.analyst.audit.result.Audit`, with
        attributes as targets; n is the number of workers who share all that is known of the victim.
        `membership`: release, part (seeds, parameters), target (exposed, alone, any), others, epsilon and delta of the
        promise (one record added or taken away), exact_epsilon of the best attacker at that delta, shown_epsilon (95%)
        and sure_epsilon (all but 1 in 10^9) by draws, most_right, exact_right, shown_right, draws, measured_draws,
        threshold, is_above, with_worker, without_worker, is_broken.
        `power`: release, part, target, threshold, false_alarms, most_right (what the promise allows), exact, and as
        drawn: drawn_false_alarms, drawn. Rows without a threshold are those of the promise alone.
        `promise`: release, delta, certified, exact, one_candidate: epsilon of all tries by the certificate, of the best
        attacker on the most exposed worker, and of one candidate in the worst case; only with seeds.
        `law`: release, what, of, expected, standard_error, found, is_off.
        `linkage`: as :func:`mapapp.kinds.records.audit.attackers.linkage_row` says.
    sentences : tuple of str
        The headline, for a person.
    """

    facts: RecordsAuditFacts
    tables: dict[str, pandas.DataFrame]
    sentences: tuple[str, ...]

    @property
    def is_broken(self) -> bool:
        """Whether draws break the promise, or do not follow the law of their mechanism: a bug of ours."""
        return bool(self.tables["membership"]["is_broken"].any() or self.tables["law"]["is_off"].any())

    def to_dict(self) -> dict[str, Plain]:
        """Plain values for JSON: missing numbers become None."""
        return {
            "confidential": CONFIDENTIAL,
            "limits": RECORDS_LIMITS,
            "sentences": list(self.sentences),
            "facts": plain_values(self.facts),
            "tables": {
                name: [plain_values(row) for row in table.to_dict("records")]
                for name, table in self.tables.items()
            },
        }
