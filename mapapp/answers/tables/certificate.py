"""The certificate of a table as types: publishing writes it so, and `serve` and `certify` read it so."""

from __future__ import annotations

from typing import Literal

import msgspec

from geodata.json_objects import JsonObject
from geodata.store.store import Store
from mapapp.answers.claims import BesideClaim, Claim, ExactNumber, Hash, PublicationClaim, RunId, read_claims

Totals = Literal["none", "rows", "columns", "both"]
Decide = Literal["exact", "sampled"]
_MaybeText = str | msgspec.UnsetType


class PromiseClaim(Claim, frozen=True, kw_only=True):
    """What a table promises, and how it was decided."""

    name: str
    epsilon: ExactNumber
    delta: ExactNumber
    decide: Decide
    in_words: str

    def __post_init__(self) -> None:
        for name, number in (("epsilon", self.epsilon), ("delta", self.delta)):
            if not 0 < number.fraction < 1:
                raise ValueError(f"{name} is {number.exact}; it must be between 0 and 1")


class LayerClaim(Claim, frozen=True, kw_only=True):
    """A layer of areas, and its label."""

    layer: str
    label: str


class FlowsClaim(Claim, frozen=True, kw_only=True):
    """In place of columns: the layer of the homes of flows."""

    flows: str


class Counted(Claim, frozen=True, kw_only=True):
    """What a table counts.

    Attributes
    ----------
    kind : {"same-unit", "outside-state", "beyond", "flows"}
    miles : float or None
        Of "beyond".
    in_words : str
        Such as "workers who live in the unit where they work".
    """

    kind: Literal["same-unit", "outside-state", "beyond", "flows"]
    miles: float | None
    in_words: str


class AreaClaim(Claim, frozen=True, kw_only=True):
    """An area, as addresses spell it, and its name."""

    area: str
    name: str


class JobsClaim(Claim, frozen=True, kw_only=True):
    """Which jobs a table is about."""

    age: tuple[int, ...]
    earnings: tuple[int, ...]
    industry: tuple[int, ...]
    work_area: AreaClaim | None
    in_words: str


class TableClaim(Claim, frozen=True, kw_only=True):
    """One of the tables that were decided together; one about all jobs has no `jobs`."""

    title: str
    rows: LayerClaim
    columns: tuple[str, ...] | FlowsClaim
    counts: Counted
    totals: Totals
    jobs: JobsClaim | msgspec.UnsetType = msgspec.UNSET


class PriorClaim(Claim, frozen=True, kw_only=True):
    """Where a prior comes from: a file (`sha256`), or a release (all but `sha256`); and how it was smoothed."""

    origin: str
    sha256: _MaybeText = msgspec.UNSET
    digest: _MaybeText = msgspec.UNSET
    title: str | msgspec.UnsetType | None = msgspec.UNSET
    year: int | str | msgspec.UnsetType | None = msgspec.UNSET
    status: _MaybeText = msgspec.UNSET
    smoothing: JsonObject | list[JsonObject | None] | None


class BreachClaim(Claim, frozen=True, kw_only=True):
    """Where a table stopped: the number of the decision, and a sentence."""

    position: int
    in_words: str


class KeyedHashes(Claim, frozen=True, kw_only=True):
    """Keyed hash of what is confidential: the jobs."""

    jobs: Hash


class TableCertificate(Claim, frozen=True, kw_only=True):
    """The whole certificate, in the order in which it is written.

    Certificates of version 0.1 lack `run_id`; `publication` is added once the tables are written.
    """

    schema_version: int
    kind: Literal["table"]
    status: str
    status_reasons: list[str]
    promise: PromiseClaim
    decisions: int
    decision_delta: ExactNumber
    remainders: bool
    tables: list[TableClaim]
    prior: PriorClaim
    breach: BreachClaim | None
    does_not_promise: list[str]
    public_inputs: dict[str, Hash]
    confidential_inputs: KeyedHashes
    versions: dict[str, str]
    beside: list[BesideClaim]
    beside_in_words: str
    run_id: RunId | msgspec.UnsetType = msgspec.UNSET
    publication: PublicationClaim | msgspec.UnsetType = msgspec.UNSET


def read_table_certificate(store: Store) -> TableCertificate:
    """Read the certificate of a table.

    Raises
    ------
    StoreError
        A field is missing or holds something else than it should.
    """
    return read_claims(store, TableCertificate, "do not use this table")
