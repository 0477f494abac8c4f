"""The certificate of a table as types: publishing writes it so, and `serve` and `certify` read it so."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Literal, Self

import msgspec

from geodata.errors import StoreError
from geodata.json_objects import JsonObject
from geodata.store.store import Store
from mapapp.answers.publication import CERTIFICATE

Totals = Literal["none", "rows", "columns", "both"]
Decide = Literal["exact", "sampled"]
_MaybeText = str | msgspec.UnsetType


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactNumber:
    """A number of a certificate: as a float for the eye, and exact as a fraction."""

    value: float
    exact: Annotated[str, msgspec.Meta(pattern=r"^[0-9]+(/[1-9][0-9]*)?\Z", max_length=300)]

    def __post_init__(self) -> None:
        if float(self.fraction) != self.value:
            raise ValueError(f"{self.exact} is not {self.value}")

    @classmethod
    def of(cls, number: Fraction) -> Self:
        """Write a fraction."""
        return cls(value=float(number), exact=str(number))

    @property
    def fraction(self) -> Fraction:
        """The number itself."""
        return Fraction(self.exact)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseClaim:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerClaim:
    """A layer of areas, and its label."""

    layer: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowsClaim:
    """In place of columns: the layer of the homes of flows."""

    flows: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class AreaClaim:
    """An area, as addresses spell it, and its name."""

    area: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobsClaim:
    """Which jobs a table is about."""

    age: tuple[int, ...]
    earnings: tuple[int, ...]
    industry: tuple[int, ...]
    work_area: AreaClaim | None
    in_words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableClaim:
    """One of the tables that were decided together; one about all jobs has no `jobs`."""

    title: str
    rows: LayerClaim
    columns: tuple[str, ...] | FlowsClaim
    counts: Counted
    totals: Totals
    jobs: JobsClaim | msgspec.UnsetType = msgspec.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorClaim:
    """Where a prior comes from: a file (`sha256`), or a release (all but `sha256`); and how it was smoothed."""

    origin: str
    sha256: _MaybeText = msgspec.UNSET
    digest: _MaybeText = msgspec.UNSET
    title: str | msgspec.UnsetType | None = msgspec.UNSET
    year: int | str | msgspec.UnsetType | None = msgspec.UNSET
    status: _MaybeText = msgspec.UNSET
    smoothing: JsonObject | list[JsonObject | None] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BesideClaim:
    """A publication of the same jobs that was known when the table was made; no digest if it is only in the ledger."""

    kind: str
    name: str
    digest: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BreachClaim:
    """Where a table stopped: the number of the decision, and a sentence."""

    position: int
    in_words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCertificate:
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
    public_inputs: dict[str, str]
    confidential_inputs: dict[str, str]
    versions: dict[str, str]
    beside: list[BesideClaim]
    beside_in_words: str
    run_id: Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}\Z")] | msgspec.UnsetType = msgspec.UNSET
    publication: JsonObject | msgspec.UnsetType = msgspec.UNSET


def read_table_certificate(store: Store) -> TableCertificate:
    """Read the certificate of a table.

    Raises
    ------
    StoreError
        A field is missing or holds something else than it should.
    """
    try:
        return msgspec.convert(store.document(CERTIFICATE), TableCertificate)
    except msgspec.ValidationError as error:
        raise StoreError(
            f"{store.path / CERTIFICATE}: cannot be interpreted ({error}); do not use this table"
        ) from error
