"""The certificate of a release as types: publishing writes it so, and `certify` reads it so."""

from __future__ import annotations

from typing import Literal

import msgspec

from geodata.json_objects import JsonObject
from mapapp.answers.claims import (
    BesideClaim,
    Claim,
    ExactNumber,
    Hash,
    PublicationClaim,
    ReadingClaim,
    RunId,
)


class Chances(Claim, frozen=True, kw_only=True):
    """The least and the greatest chance, and the mean over workers."""

    least: float
    typical: float
    greatest: float


class LoneWorkerClaims(Claim, frozen=True, kw_only=True):
    """What a lone worker risks: see `mapapp.kinds.release.make.lone_worker.lone_worker_facts`.

    Some certificates of schema 1 and 2 lack `true_tract`.
    """

    workers: int
    stay: Chances | None
    true_tract: Chances | msgspec.UnsetType | None = msgspec.UNSET
    is_bound: bool
    case: str


class WorstSynthesizer(Claim, frozen=True, kw_only=True):
    """The row of the accounting that decides the promise."""

    published_count: int
    rule: str
    epsilon_final: ExactNumber


class Precondition(Claim, frozen=True, kw_only=True):
    """What a promise relies on, whether it holds, and the evidence."""

    name: str
    holds: bool
    evidence: str


class ParameterClaims(Claim, frozen=True, kw_only=True):
    """What was asked for; `engine.parameters` says which values they have."""

    privacy: JsonObject
    synthesis: JsonObject


class Construction(msgspec.Struct, frozen=True, kw_only=True):
    """What `certify` reads of `construction`, which has further facts about the fitted prior."""

    editing_seed: str
    design: JsonObject | msgspec.UnsetType = msgspec.UNSET


class AccountingClaims(Claim, frozen=True, kw_only=True):
    """What the promise is computed from; the rows of each accountant have fields of their own."""

    published_counts_replace_likelihood_counts: bool
    weight_units_per_worker: int | msgspec.UnsetType = msgspec.UNSET
    retention_units: int | msgspec.UnsetType = msgspec.UNSET
    rows: list[JsonObject]


class MechanismClaims(Claim, frozen=True, kw_only=True):
    """The exponential mechanism; earlier versions drew without a price, so `numbers` lack its bits."""

    name: str
    is_private: bool
    rule: str
    taken_for_granted: list[str]
    numbers: dict[str, int]


class ReleaseCertificate(Claim, frozen=True, kw_only=True):
    """The whole certificate.

    Those of the Dirichlet-multinomial have no `mechanism`. Some of schema 1 and 2 lack other fields that may be unset;
    those of schema 3 have all of them. `publication` is added once the tables are written.
    """

    schema_version: Literal[1, 2, 3]
    status: str
    status_reasons: list[str]
    accountant: Literal["none", "paper", "sound"]
    epsilon: ExactNumber
    delta: ExactNumber
    epsilon_final: ExactNumber
    readings: dict[str, ReadingClaim]
    neighbours: str
    unit_of_protection: str
    composition: str
    lone_worker: LoneWorkerClaims | msgspec.UnsetType = msgspec.UNSET
    worst_synthesizer: WorstSynthesizer | None
    preconditions: list[Precondition]
    parameters: ParameterClaims
    construction: JsonObject
    accounting: AccountingClaims
    public_inputs: dict[str, Hash]
    confidential_inputs: dict[str, Hash]
    versions: dict[str, str]
    caveats: list[str]
    mechanism: MechanismClaims | msgspec.UnsetType = msgspec.UNSET
    run_id: RunId | msgspec.UnsetType = msgspec.UNSET
    beside: list[BesideClaim] | msgspec.UnsetType = msgspec.UNSET
    beside_in_words: str | msgspec.UnsetType = msgspec.UNSET
    publication: PublicationClaim | msgspec.UnsetType = msgspec.UNSET

    @property
    def made_from(self) -> Construction:
        """How the support points came about; ValidationError if that cannot be read."""
        return msgspec.convert(self.construction, Construction)
