"""The certificate of worker records as types: publishing writes it so, and `serve` and `certify` read it so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from geodata.json_objects import JsonObject
from mapapp.answers.claims import (
    Amount,
    Amounts,
    BesideClaim,
    Claim,
    ExactNumber,
    FractionText,
    Hash,
    PersonClaim,
    PublicationClaim,
    ReadingClaim,
    RunId,
    Whole,
)

AccountantName = Literal["sound", "paper"]
StructureName = Literal["public", "learned"]
Version = Annotated[str, msgspec.Meta(pattern=r"^([0-9][0-9A-Za-z.+!-]{0,60}|not installed)\Z")]


class RecordsPromise(Claim, frozen=True, kw_only=True):
    """The promise in both readings: with one record more or less, and with one replaced.

    `person` is about all records of a person who is replaced by another, in a dataset that knows persons.
    """

    name: str
    add_remove: Amounts
    replace_one: Amounts
    in_words: str
    person: PersonClaim | msgspec.UnsetType = msgspec.UNSET


class PartClaim(Claim, frozen=True, kw_only=True):
    """What one subset of the workers costs a worker in it; `share` is the chance to be in it, as a fraction."""

    name: str
    share: FractionText
    add_remove: Amounts
    replace_one: Amounts


class SeedClaims(Claim, frozen=True, kw_only=True):
    """How candidates were made from seeds and tested; `passed` is None before anything is drawn."""

    min_plausible_seeds: Whole
    similarity: FractionText
    threshold_epsilon: FractionText
    forced_fail: FractionText
    seed_floor: Whole | None
    kept: tuple[str, ...]
    n_min: Whole
    tries: Whole
    passed: Whole | None
    rdp_order: float | None
    records_in_words: str


class CoarserParent(Claim, frozen=True, kw_only=True):
    """A parent whose values count in groups."""

    attribute: str
    parent: str
    groups: int


class DroppedParent(Claim, frozen=True, kw_only=True):
    """A parent that the public structure would have, and why it has not."""

    attribute: str
    parent: str
    why: str


class LearnedClaims(Claim, frozen=True, kw_only=True):
    """How a structure was learned, from at least `fewest_records` records: a noisy lower bound."""

    n_entropies: int
    entropy_epsilon: str
    fewest_records: Annotated[int, msgspec.Meta(ge=2)]
    noise_bits: float


class ModelClaims(Claim, frozen=True, kw_only=True):
    """The model: its structure, and the number of cells of each attribute's table.

    `never` lists combinations of codes that no record has, by attribute, if any were declared.
    """

    epsilon: ExactNumber
    structure: StructureName
    parents: dict[str, tuple[str, ...]]
    coarser_parents: tuple[CoarserParent, ...]
    dropped_parents: tuple[DroppedParent, ...]
    missing_attributes: tuple[str, ...]
    n_parameters: int
    cells: dict[str, int]
    learned: LearnedClaims | None
    never: tuple[dict[str, tuple[str, ...]], ...] | msgspec.UnsetType = msgspec.UNSET


class ValueClaim(Claim, frozen=True, kw_only=True):
    """A value of an attribute."""

    code: str
    label: str


class AttributeClaim(Claim, frozen=True, kw_only=True):
    """An attribute; `derives` has the band of each of its values, by the attribute of the job that it gives."""

    name: str
    title: str
    values: tuple[ValueClaim, ...]
    parents: tuple[str, ...]
    derives: dict[str, tuple[int, ...]] | None


class Split(Claim, frozen=True, kw_only=True):
    """The chance of a worker to be in each subset, as fractions."""

    seeds: FractionText
    parameters: FractionText
    structure: FractionText


class RecordNumbers(Claim, frozen=True, kw_only=True):
    """Candidates and records."""

    n_tried: Whole
    n_passed: Whole
    topped_up: Whole
    n_total: Whole
    wanted: Whole
    top_up: bool


class ErrorTerm(Claim, frozen=True, kw_only=True):
    """The squared expected error of one cell of a combination of attributes.

    Attributes
    ----------
    attributes : tuple of str
    constant : float
        Squared workers.
    per_worker : float
        Squared workers for each worker that the cell counts.
    per_worker_squared : float
        Share of the squared count.
    is_covered : bool
        Whether the model draws these attributes together. If not, the error lacks what the model leaves out.
    of_empty : float
        Squared workers, of a cell that counts nobody; certificates of earlier versions lack it and the next two.
    per_worker_of_small, knee : float
        Further squared workers for each worker of a cell, divided by 1 + count/knee.
    """

    attributes: tuple[str, ...]
    constant: Amount
    per_worker: Amount
    per_worker_squared: Amount
    is_covered: bool
    of_empty: Amount | msgspec.UnsetType = msgspec.UNSET
    per_worker_of_small: Amount | msgspec.UnsetType = msgspec.UNSET
    knee: Annotated[int, msgspec.Meta(ge=1)] | msgspec.UnsetType = msgspec.UNSET

    def squared_error(self, count: int, n_cells: int) -> float:
        """Return the squared expected error of a count that is the sum of some equal cells, in squared workers."""
        n_filled = min(n_cells, count)
        empty = self.constant if self.of_empty is msgspec.UNSET else self.of_empty
        small = 0.0
        if n_filled and self.per_worker_of_small is not msgspec.UNSET and self.knee is not msgspec.UNSET:
            small = self.per_worker_of_small * count / (1.0 + count / n_filled / self.knee)
        return (
            self.constant * n_filled
            + empty * (n_cells - n_filled)
            + self.per_worker * count
            + self.per_worker_squared * count**2
            + small
        )


class RecordsCertificate(Claim, frozen=True, kw_only=True):
    """The whole certificate.

    `whole_record` is True, or says what readers of a publication beside these records know. Certificates of version 0.1
    lack `run_id`; `publication` is added once the tables are written.
    """

    schema_version: int
    kind: Literal["records"]
    status: str
    status_reasons: list[str]
    accountant: AccountantName
    epsilon: ExactNumber
    delta: ExactNumber
    epsilon_final: ExactNumber
    readings: dict[str, ReadingClaim]
    unit_of_protection: str
    promise: RecordsPromise
    parts: tuple[PartClaim, ...]
    seeds: SeedClaims | None
    model: ModelClaims
    attributes: tuple[AttributeClaim, ...]
    resampling_order: tuple[str, ...]
    split: Split
    records: RecordNumbers
    expected_error: tuple[ErrorTerm, ...] | None
    whole_record: bool | str
    whole_record_in_words: str
    does_not_promise: list[str]
    characteristics: list[JsonObject]
    public_inputs: dict[str, Hash]
    confidential_inputs: dict[str, Hash]
    versions: dict[str, Version]
    beside: list[BesideClaim]
    beside_in_words: str
    run_id: RunId | msgspec.UnsetType = msgspec.UNSET
    publication: PublicationClaim | msgspec.UnsetType = msgspec.UNSET


def records_claims(certificate: Mapping[str, object]) -> RecordsCertificate:
    """Return a certificate of worker records, which was checked when it was opened, by its types."""
    return msgspec.convert(certificate, RecordsCertificate)
