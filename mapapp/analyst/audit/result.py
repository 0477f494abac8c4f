"""The result of an audit: flat tables, one row for each release, question, attacker, and class of workers.

CONFIDENTIAL. All of it is computed from real homes. It is for the analyst's screen and files, never for publication,
logs, or addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypedDict, get_args

import pandas

from mapapp.analyst.audit.questions import Target
from mapapp.analyst.validity.result import CONFIDENTIAL, Plain, plain_values

__all__ = ["ATTACKERS", "CLASSES", "LIMITS", "Attacker", "Audit", "AuditFacts", "ReleaseFacts"]

Attacker = Literal[
    "majority",
    "public_prior",
    "naive_bayes",
    "lookup_without_victim",
    "lookup",
    "memorised",
    "informed_without_release",
    "informed",
]
"""Attackers and controls, as docs/audit.md lists them."""

ATTACKERS: Final[tuple[Attacker, ...]] = get_args(Attacker)

CLASSES: Final = {"all": (1, None), "1": (1, 1), "2-9": (2, 9), "10+": (10, None)}
"""Classes of workers by n, the number of workers in their workplace block and segment: least and largest n.

Where a release is compared by block and margin, n is of the workplace block or, for earnings and industry, of block and
band.
"""

LIMITS: Final = (
    "These numbers are a lower bound on what can be learned: a better attacker may exist. They complement epsilon and "
    "never replace it."
)


class ReleaseFacts(TypedDict):
    """One release or setting that was audited.

    `left_out` says in a sentence each which attackers could not be run, or know less, and why.
    """

    name: str
    is_release: bool
    mechanism: str
    unit: str
    compared_by: Literal["block and segment", "block and margin"]
    epsilon_final: float | None
    delta: float | None
    left_out: list[str]


class AuditFacts(TypedDict):
    """What was audited."""

    dataset: str
    workers: int
    lone_workers: int
    releases: list[ReleaseFacts]


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What attackers would learn from one or several releases of the same workers.

    Attributes
    ----------
    facts : AuditFacts
    tables : dict of str to DataFrame
        `attackers`: release, target, attacker, n (class), workers, accuracy, empirical_privacy, baseline_accuracy,
        breach_increase, mean_belief.
        `confidence`: release, target, attacker, most_certain (share of workers), workers, accuracy, least_belief,
        tied.
        `calibration`: release, target, attacker, belief_from, belief_to, workers, mean_belief, accuracy.
        `leakage`: release, target, attacker, n, population (what the others teach), individual (with the victim or the
        release, less without).
        `spread`: release, epsilon_final, delta, pairs, untested, largest, exceeding, allowed, is_broken: greatest
        spread of log likelihood ratios of the informed attacker, over (workplace block, segment) pairs; None where
        nothing was tested.
        `lone_workers`: release, workers, expected, standard_error, found, is_off: share of lone workers whose synthetic
        home is in the true support point, by the closed form and as drawn, and whether these are too far apart.
        `schemes` and `tradeoff` where other schemes were asked for: see docs/audit.md.
    sentences : tuple of str
        The headline, for a person.
    """

    facts: AuditFacts
    tables: dict[str, pandas.DataFrame]
    sentences: tuple[str, ...]

    @property
    def is_broken(self) -> bool:
        """Whether some release is not what its certificate says: a bug of ours.

        Its likelihood ratios exceed what it promises, or its lone workers do not follow the law of its mechanism.
        """
        flags = (self.tables["spread"]["is_broken"], self.tables["lone_workers"]["is_off"])
        return any(
            bool(flag.eq(True).any()) for flag in flags
        )  # what was not tested is neither True nor False

    def accuracy(self, release: str, target: Target, attacker: Attacker, n: str = "all") -> float | None:
        """Accuracy of one attacker; None if the attacker was left out."""
        table = self.tables["attackers"]
        rows = table[
            (table["release"] == release)
            & (table["target"] == target)
            & (table["attacker"] == attacker)
            & (table["n"] == n)
        ]
        return float(rows["accuracy"].iloc[0]) if len(rows) else None

    def to_dict(self) -> dict[str, Plain]:
        """Plain values for JSON: missing numbers become None."""
        return {
            "confidential": CONFIDENTIAL,
            "limits": LIMITS,
            "sentences": list(self.sentences),
            "facts": plain_values(self.facts),
            "tables": {
                name: [plain_values(row) for row in table.to_dict("records")]
                for name, table in self.tables.items()
            },
        }
