"""What certificates of several kinds hold, as types: publishing writes it so, and `serve` and `certify` read it so."""

from __future__ import annotations

import sys
from fractions import Fraction
from operator import methodcaller
from typing import Annotated, Literal, Self, TypeVar

import msgspec

from geodata.errors import StoreError
from geodata.json_objects import JsonObject
from geodata.store.store import Store
from mapapp.answers.publication import CERTIFICATE

__all__ = [
    "Amount",
    "Amounts",
    "BesideClaim",
    "Claim",
    "ExactNumber",
    "Finite",
    "FractionText",
    "Hash",
    "PublicationClaim",
    "ReadingClaim",
    "RunId",
    "Whole",
    "as_json",
    "read_claims",
    "refusal",
]

Finite = Annotated[float, msgspec.Meta(ge=-sys.float_info.max, le=sys.float_info.max)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=sys.float_info.max)]
Whole = Annotated[int, msgspec.Meta(ge=0)]
FractionText = Annotated[str, msgspec.Meta(pattern=r"^[0-9]+(/[1-9][0-9]*)?\Z", max_length=300)]
"""A number of 0 or more, exactly: "3/5", or "2"."""
Hash = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}\Z")]
"""SHA-256 in hexadecimal."""
RunId = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{32}\Z")]


C = TypeVar("C")


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a certificate, its fields in the order in which they are written."""

    @property
    def missing(self) -> list[str]:
        """The fields that this one lacks, although others of its type have them."""
        return [name for name in self.__struct_fields__ if getattr(self, name) is msgspec.UNSET]


class ExactNumber(Claim, frozen=True, kw_only=True):
    """A number of a certificate: as a float for the eye, and exact as a fraction."""

    value: float
    exact: FractionText

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


class Amounts(Claim, frozen=True, kw_only=True):
    """What is spent."""

    epsilon: ExactNumber
    delta: ExactNumber


class PersonClaim(Claim, frozen=True, kw_only=True):
    """What a promise about one job amounts to for a person with so many jobs; of datasets that know persons."""

    jobs: Annotated[int, msgspec.Meta(ge=1)]
    amounts: Amounts
    in_words: str


class ReadingClaim(Claim, frozen=True, kw_only=True):
    """What a promise amounts to in one reading of differential privacy; the last three are of releases."""

    epsilon: ExactNumber
    delta: ExactNumber
    holds_for: str
    survives_post_processing: bool | msgspec.UnsetType = msgspec.UNSET
    delta_of_all_together: float | msgspec.UnsetType = msgspec.UNSET
    person: PersonClaim | msgspec.UnsetType = msgspec.UNSET


class BesideClaim(Claim, frozen=True, kw_only=True):
    """A publication of the same jobs that was known when this one was made; no digest if it is only in the ledger."""

    kind: Literal["release", "table", "records"]
    name: Annotated[str, msgspec.Meta(min_length=1)]
    digest: Hash | None


class PublicationClaim(Claim, frozen=True, kw_only=True):
    """What a certificate binds: the public facts, and sha256, size, and rows of every table by file name."""

    facts: JsonObject
    files: JsonObject


def as_json(claims: object) -> JsonObject:
    """Return claims as JSON; numbers of NumPy become Python's."""
    document: JsonObject = msgspec.to_builtins(claims, enc_hook=methodcaller("item"))
    return document


def refusal(error: Exception) -> str:
    """Return what is wrong with a certificate in one line, in which no name that a forger chose can fake another."""
    return ascii(str(error))[1:-1][:200]


def read_claims(store: Store, kind: type[C], remedy: str) -> C:
    """Read a publication's certificate; StoreError names the field that is missing, unknown, or of another type."""
    try:
        return msgspec.convert(store.document(CERTIFICATE), kind)
    except msgspec.ValidationError as error:
        raise StoreError(
            f"{store.path / CERTIFICATE}: cannot be interpreted ({refusal(error)}); {remedy}"
        ) from error
