"""Publications of the same jobs beside each other: which are refused, and how the later one names the earlier.

A release and a table with suppressed cells have no joint promise, and neither have two tables. So a second table of the
same jobs is refused (tables belong in one file, where one decision knows of the other), and a table beside a release,
or a release beside a table, is made only on purpose. Its certificate then names the other by digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

from geodata.errors import StoreError
from geodata.json_objects import JsonMapping, JsonObject
from geodata.manifest import read_manifest
from geodata.store import Store, open_store, store_digest
from mapapp.answers.publication import CERTIFICATE
from mapapp.errors import UsageError
from mapapp.publishing.certificate.certificate import keyed_file_hash
from mapapp.publishing.certificate.terms import CertificateCheck, require_hashes
from mapapp.publishing.ledger_entry import LedgerEntry

__all__ = ["BESIDE_FIELDS", "beside_claims", "check_beside", "confidential_hashes", "publications_beside"]

Kind = Literal["release", "table"]

BESIDE_FIELDS: Final = ("beside", "beside_in_words")
BESIDE_IN_WORDS: Final = (
    "This certificate is about this publication alone. Other publications of the same jobs, earlier or later, are "
    "further knowledge: promises of releases add up, and a table with suppressed cells has no joint promise with "
    "anything beside it. `beside` names those that were known when this one was made."
)


def publications_beside(
    dataset: Store, kind: Kind, entries: Iterable[LedgerEntry], given: Sequence[Path]
) -> list[JsonObject]:
    """Return the publications that a new one is made beside, for its certificate.

    Parameters
    ----------
    dataset : Store
    kind : {"release", "table"}
        Of the new publication, which is for release.
    entries : iterable of LedgerEntry
        The dataset's ledger.
    given : sequence of Path
        Publications that the analyst named (`--beside-release`).

    Returns
    -------
    list of dict
        `kind`, `name` and `digest`; the digest is None for one that is in the ledger but was not given.

    Raises
    ------
    UsageError
        The ledger has a table, and the new one is a table, too; it has a publication of the other kind, and none was
        given; or a given one was not made from this dataset.
    """
    published = [entry for entry in entries if entry.kind in ("release", "table") and entry.for_release]
    tables = [entry.release for entry in published if entry.kind == "table"]
    if kind == "table" and tables:
        raise UsageError(
            f"{dataset.path}: its ledger has the table {tables[0]!r} of the same jobs, and two tables have no joint "
            "promise; tables of the same jobs must be made together, as [[table]] entries of one TOML file"
        )
    found = [_named(dataset, path) for path in given]
    others = [entry for entry in published if entry.kind != kind]
    if others and not found:
        raise UsageError(
            f"{dataset.path}: its ledger has the {others[0].kind} {others[0].release!r} of the same jobs; a table and "
            f"a release beside each other have no joint promise; to publish both on purpose, add --beside-release "
            f"{others[0].kind.upper()}, and the certificate will say so"
        )
    names = {each["name"] for each in found}
    found += [
        {"kind": entry.kind, "name": entry.release, "digest": None}
        for entry in others
        if entry.release not in names
    ]
    return found


def beside_claims(publications: Sequence[JsonMapping]) -> JsonObject:
    """Return the fields of a certificate about publications beside it."""
    return {"beside": [dict(each) for each in publications], "beside_in_words": BESIDE_IN_WORDS}


def check_beside(certificate: JsonMapping) -> CertificateCheck:
    """Check that a certificate names publications beside it by kind, name and digest, and has the standing sentence."""
    listed = certificate["beside"]
    digests = [each["digest"] for each in listed if each["digest"] is not None]
    require_hashes({str(number): digest for number, digest in enumerate(digests)})
    ok = certificate["beside_in_words"] == BESIDE_IN_WORDS and all(
        set(each) == {"kind", "name", "digest"} and each["kind"] in ("release", "table") for each in listed
    )
    names = ", ".join(f"{each['kind']} {each['name']}" for each in listed)
    return CertificateCheck("publications beside it", ok, names or "none known when it was made")


def confidential_hashes(dataset: Store) -> dict[str, str]:
    """Keyed hash of the confidential jobs: anyone who holds the dataset can show what was made from it."""
    return {"jobs": keyed_file_hash(bytes.fromhex(dataset.manifest["commitment_key"]), dataset.file("jobs"))}


def _named(dataset: Store, path: Path) -> JsonObject:
    kind = read_manifest(path).get("kind")
    if kind not in ("release", "table"):
        raise UsageError(f"--beside-release {path}: this is a {kind}; give a release or a table")
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
    return {"kind": kind, "name": path.name, "digest": store_digest(path)}
