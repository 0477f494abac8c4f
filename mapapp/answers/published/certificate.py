"""The certificate of published counts as types: an import writes it so, and `serve` and `certify` read it so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from geodata.store.store import Store
from mapapp.answers.claims import Claim, Hash, PublicationClaim, read_claims

STATEMENT: Final = "CommuteMap promises nothing about these counts; they were public before."
POINTS: Final = (
    "Nothing is drawn but the position of each dot within its block, from a key that everybody knows: it says nothing "
    "about anybody."
)
SEGMENTS: Final = (
    "For a pair of blocks, LODES publishes age, earnings, and industry one at a time. How they go together was "
    "assigned so that each published count is kept (docs/data.md); so counts by two of them at once are not published "
    "ones."
)


JOINT: Final = (
    "Age, earnings, and industry are published together, so counts by two of them at once are published ones."
)
NO_SEGMENTS: Final = "The counts say nothing of age, earnings, or industry."


class PublisherClaim(Claim, frozen=True, kw_only=True):
    """Who published the counts, what they are called, where they are, and what protects the people in them."""

    name: str
    title: str
    address: str
    protection: str
    reference: str
    declared: bool


DECLARED_PROTECTION: Final = (
    "Whoever imported them declared them public. "
    "Their publisher's own description says how people are protected."
)
LODES: Final = PublisherClaim(
    name="U.S. Census Bureau",
    title="LEHD Origin-Destination Employment Statistics (LODES)",
    address="https://lehd.ces.census.gov/data/",
    protection="The Census Bureau changed the number of jobs at each workplace by random noise. The home of each "
    "worker was replaced by one drawn from a statistical model of commutes, so no pair of blocks shows where a person "
    "lives.",
    reference="Machanavajjhala, Kifer, Abowd, Gehrke, and Vilhuber (2008), Privacy: Theory Meets Practice on the Map; "
    "LODES technical documentation",
    declared=False,
)


GENERATED: Final = PublisherClaim(
    name="CommuteMap",
    title="A generated country",
    address="commutemap demo",
    protection="Nobody in it is real.",
    reference="",
    declared=False,
)
"""The demo's counts, which have no files: its dataset, from which releases are drawn, stands for a confidential one."""


class SourceClaim(Claim, frozen=True, kw_only=True):
    """A file that was read, with its own sha256; the one that its publisher lists for it, and, of OD files, their jobs.

    The Bureau lists the sha256 of the decompressed text, so that of a compressed file is another one.
    """

    file: str
    role: str
    bytes: int
    rows: int
    sha256: Hash
    listed_sha256: Hash | None
    totals: dict[str, int] | None

    @property
    def checksum(self) -> str:
        """Whether the file was compared with its publisher's list, in words."""
        return "not compared" if self.listed_sha256 is None else "equals the publisher's"


class PublishedCertificate(Claim, frozen=True, kw_only=True):
    """The whole certificate, in the order in which it is written.

    `homes_left_out` lists the states of work whose workers who live in other states are not in the counts; `totals` has
    the jobs of all OD files by column.
    """

    schema_version: int
    kind: Literal["published"]
    status: Literal["for release"]
    statement: str
    publisher: PublisherClaim
    format_version: str | None
    data_vintage: str | None
    homes_left_out: list[str]
    sources: list[SourceClaim]
    totals: dict[str, int]
    segments_in_words: str
    points_in_words: str
    versions: dict[str, str]
    publication: PublicationClaim | msgspec.UnsetType = msgspec.UNSET

    @property
    def n_compared(self) -> int:
        """Number of files whose sha256 equals the publisher's."""
        return sum(source.listed_sha256 is not None for source in self.sources)

    @property
    def is_unproven(self) -> bool:
        """Whether a file of jobs was not compared with a list, although its publisher is not the importer's word."""
        od = [source for source in self.sources if source.totals is not None]
        return not self.publisher.declared and any(source.listed_sha256 is None for source in od)


def published_certificate(document: Mapping[str, object]) -> PublishedCertificate:
    """Return a certificate with its types; msgspec.ValidationError if a field is missing or has another type."""
    return msgspec.convert(document, PublishedCertificate)


def read_published_certificate(store: Store) -> PublishedCertificate:
    """Read the certificate of published counts.

    Raises
    ------
    StoreError
        A field is missing or holds something else than it should.
    """
    return read_claims(store, PublishedCertificate, "do not use these counts")
