"""Publications of the same jobs beside each other: which are refused, and how the later one names the earlier.

A table with suppressed cells has no joint promise with a release, with records, or with another table. So a second
table of the same jobs is refused (tables belong in one file, where one decision knows of the other), and a table beside
another publication, or the other way round, is made only on purpose. Its certificate then names the other by digest.

The promises of a release and of records add up. But a release shows exact numbers of workers by workplace and segment,
so beside it, records protect a worker's record only given workplace and segment. They, too, are made only on purpose.
A table shows such numbers for its rows and columns, and exact values in its released cells, so it leaves even less.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal, cast

from geodata.errors import StoreError
from geodata.json_objects import JsonMapping
from geodata.store.manifest import read_manifest
from geodata.store.store import Store, open_store, store_digest
from mapapp.answers.claims import BesideClaim
from mapapp.answers.publication import CERTIFICATE
from mapapp.base.errors import UsageError
from mapapp.kinds.base.certificate import CertificateCheck, keyed_file_hash
from mapapp.kinds.base.ledger_entry import (
    LedgerEntry,
    exact_amount,
    known_publications,
    promised_amounts,
    withdrawals,
)

__all__ = [
    "GIVEN_CELLS",
    "GIVEN_SEGMENTS",
    "beside_in_words",
    "check_beside",
    "confidential_hashes",
    "known_of_records",
    "publications_beside",
]

Kind = Literal["release", "table", "records"]
_PUBLICATIONS: Final = ("release", "table", "records")

BESIDE_IN_WORDS: Final = (
    "This certificate is about this publication alone. Other publications of the same jobs, earlier or later, are "
    "further knowledge: promises of releases add up, and a table with suppressed cells has no joint promise with "
    "anything beside it. `beside` names those that were known when this one was made."
)
GIVEN_SEGMENTS: Final = "given workplace and segment"
GIVEN_CELLS: Final = "given workplace, segment, and the cells of a table"
_NOT_WHOLE: Final = {
    GIVEN_SEGMENTS: (
        "One of these publications is worker records, and another one is a release, whose numbers of workers by "
        "workplace and segment are exact. For a reader of both, the records do not protect a worker's whole record, "
        "but only what is in it beside workplace and segment."
    ),
    GIVEN_CELLS: (
        "One of these publications is worker records, and another one is a table with suppressed cells, whose numbers "
        "of workers in its cells are exact, as are the values of released cells. For a reader of both, the records do "
        "not protect a worker's whole record, but only what the table leaves open of it, given workplace and segment."
    ),
}


def publications_beside(
    dataset: Store,
    kind: Kind,
    entries: Iterable[LedgerEntry],
    given: Sequence[Path],
    *,
    on_purpose: bool = False,
) -> list[BesideClaim]:
    """Return the publications that a new one is made beside, for its certificate.

    Parameters
    ----------
    dataset : Store
    kind : {"release", "table", "records"}
        Of the new publication, which is for release.
    entries : iterable of LedgerEntry
        The dataset's ledger.
    given : sequence of Path
        Publications that the analyst named (`--beside-release`); the name in the ledger of one that was withdrawn.
    on_purpose : bool
        Whether the analyst accepts publications that were not named.

    Returns
    -------
    list of BesideClaim
        The digest is None for one that is in the ledger but was not given.

    Raises
    ------
    UsageError
        The ledger has a table, and the new one is a table, too; it has a publication of the other kind, and none was
        given; or a given one was not made from this dataset.
    """
    entries = tuple(entries)
    published = known_publications(entries)
    withdrawn = {entry.release for entry in withdrawals(entries).values() if not entry.unpublished}
    tables = [entry.release for entry in published if entry.kind == "table"]
    if kind == "table" and tables:
        raise UsageError(
            f"{dataset.path}: its ledger has the table {tables[0]!r} of the same jobs, and two tables have no joint "
            "promise; tables of the same jobs must be made together, as [[table]] entries of one TOML file"
        )
    # What was withdrawn may be gone, but people may have read it: its name in the ledger is enough.
    there = [path for path in given if path.exists() or path.name not in withdrawn]
    claims = [_claim_of(dataset, path) for path in there]
    others = [entry for entry in published if entry.kind != kind]
    if others and not given and not on_purpose:
        raise UsageError(_refusal(dataset, kind, others[0], others[0].release in withdrawn))
    claims += [
        BesideClaim(kind=cast(Kind, entry.kind), name=entry.release, digest=None)
        for entry in _leave_out_given(others, dict(zip(there, claims, strict=True)))
    ]
    return claims


def _leave_out_given(entries: Sequence[LedgerEntry], given: Mapping[Path, BesideClaim]) -> list[LedgerEntry]:
    """Return the entries of publications that were not given.

    One that was renamed is recognized by what it spent, if only one entry spent as much.
    """
    left = list(entries)
    renamed = []
    for path, named in given.items():
        same = [entry for entry in left if (entry.kind, entry.release) == (named.kind, named.name)]
        left = [entry for entry in left if entry not in same]
        renamed += [(named.kind, path)] * (not same)
    for kind, path in renamed:
        if kind == "records":  # their line has two readings, and their certificate need not have both
            continue
        spent = _amounts_of(open_store(path, kind, verify=False).document(CERTIFICATE), kind)
        alike = [entry for entry in left if entry.kind == kind and (entry.epsilon, entry.delta) == spent]
        if len(alike) == 1:
            left.remove(alike[0])
    return left


def _amounts_of(certificate: JsonMapping, kind: Kind) -> tuple[Fraction, Fraction]:
    """What a publication spent, as its entry in the ledger has it."""
    if kind == "table":
        return Fraction(0), Fraction(0)
    amounts = promised_amounts(certificate)
    return exact_amount(amounts["epsilon"], "epsilon"), exact_amount(amounts["delta"], "delta")


def check_beside(listed: Sequence[BesideClaim], said: str, kind: Kind = "release") -> CertificateCheck:
    """Name the publications beside another, and check that its certificate has the standing sentence about them."""
    names = ", ".join(f"{claim.kind} {claim.name}" for claim in listed)
    ok = said == beside_in_words(listed, kind)
    return CertificateCheck("publications beside it", ok, names or "none known when it was made")


def known_of_records(publications: Iterable[BesideClaim], kind: Kind) -> str | None:
    """Return what readers know exactly of the workers of records, from what is beside them; None if nothing."""
    kinds = {kind, *(publication.kind for publication in publications)}
    if "records" not in kinds or kinds == {"records"}:
        return None
    return GIVEN_CELLS if "table" in kinds else GIVEN_SEGMENTS


def beside_in_words(publications: Sequence[BesideClaim], kind: Kind) -> str:
    """Return what a certificate says of publications beside it."""
    known = known_of_records(publications, kind)
    return BESIDE_IN_WORDS if known is None else f"{BESIDE_IN_WORDS} {_NOT_WHOLE[known]}"


def _refusal(dataset: Store, kind: Kind, entry: LedgerEntry, is_withdrawn: bool) -> str:
    """Why a publication of this kind is refused beside another of the ledger, and how to make it on purpose."""
    has = f"{dataset.path}: its ledger has the {entry.kind} {entry.release!r} of the same jobs"
    if is_withdrawn:
        has += " (withdrawn, but people may have read it)"
    if {kind, entry.kind} == {"release", "records"}:
        accept = "--given-segments, or " if kind == "records" else ""
        return (
            f"{has}; beside a release, records do not protect a worker's workplace and segment; to publish both on "
            f"purpose, add {accept}--beside-release {entry.kind.upper()}, and the certificate will say so"
        )
    what = "records" if "records" in (kind, entry.kind) else "a release"
    return (
        f"{has}; a table and {what} beside each other have no joint promise{_void(what)}; to publish both on purpose, "
        f"add --beside-release {entry.kind.upper()}, and the certificate will say so"
    )


def _void(beside_table: str) -> str:
    return ", and records then do not protect whole records" if beside_table == "records" else ""


def confidential_hashes(dataset: Store) -> dict[str, str]:
    """Keyed hash of the confidential jobs: anyone who holds the dataset can show what was made from it."""
    return {"jobs": keyed_file_hash(bytes.fromhex(dataset.manifest["commitment_key"]), dataset.file("jobs"))}


def _claim_of(dataset: Store, path: Path) -> BesideClaim:
    kind = read_manifest(path).get("kind")
    if kind not in _PUBLICATIONS:
        raise UsageError(f"--beside-release {path}: this is a {kind}; give a release, a table, or records")
    store = open_store(path, kind)
    try:
        stated = store.document(CERTIFICATE)["confidential_inputs"]["jobs"]
    except (OSError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path}/{CERTIFICATE}: does not say what it was made from ({type(error).__name__}); give one that "
            "`commutemap certify` accepts"
        ) from error
    if stated != confidential_hashes(dataset)["jobs"]:
        raise UsageError(
            f"--beside-release {path}: was not made from the jobs of {dataset.path}; leave it out"
        )
    return BesideClaim(kind=kind, name=path.name, digest=store_digest(path))
