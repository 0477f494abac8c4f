"""What a reader of a release is shown besides its numbers, and how its certificate binds that.

The certificate's claims are made before anything is drawn. When the tables are written, the claims are completed by a
`publication` field (certificate schema 2): the public facts of the manifest, and the sha256, size and rows of every
table. So nothing that a reader is shown can be changed without the certificate, and the certificate cannot be changed
without the manifest, whose sha256 is the release digest (`geodata.store.store_digest`).

A certificate of schema 1 has no such field. Its release opens as before, and `UNBOUND_NOTE` says what that leaves open.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

PUBLIC_FACTS: Final = (
    "title",
    "year",
    "job_type",
    "vintage",
    "destination_states",
    "layers",
    "last_release",
)
"""What a release's manifest repeats of its dataset's. None of it is counted from confidential homes."""

CERTIFICATE: Final = "certificate.json"
CLAIMS_SCHEMA: Final = 1
"""Schema of the claims alone: as they are before anything is drawn, and in releases of earlier versions."""
BOUND_SCHEMA: Final = 2
"""Schema of a certificate that binds its publication."""
BOUND_FIELD: Final = "publication"

UNBOUND_NOTE: Final = (
    "This certificate (schema 1) does not bind the title, year, job type, vintage, states, layers and row counts shown "
    "with the release: they could be changed and it would still hold. Compare the release digest with one published "
    "elsewhere."
)


def public_facts(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Facts of a dataset's or release's manifest that a release shows."""
    return {name: manifest[name] for name in PUBLIC_FACTS if name in manifest}


def listed_tables(files: Mapping[str, Any]) -> dict[str, Any]:
    """What a manifest's list of files says of everything but the certificate itself."""
    return {name: facts for name, facts in sorted(files.items()) if name != CERTIFICATE}


def bind_publication(
    claims: Mapping[str, Any], facts: Mapping[str, Any], files: Mapping[str, Any]
) -> dict[str, Any]:
    """Complete a certificate's claims with what is published beside them.

    Parameters
    ----------
    claims : mapping
        As `mapapp.publishing.certificate.certificate.build_certificate` writes them.
    facts : mapping
        From `public_facts`.
    files : mapping of str to mapping
        By file name: `sha256`, `bytes` and `rows` of every table; from `StoreWriter.listed`.

    Returns
    -------
    dict
        The certificate, of schema 2.
    """
    publication = {"facts": dict(facts), "files": listed_tables(files)}
    return {**claims, "schema_version": BOUND_SCHEMA, BOUND_FIELD: publication}


def is_bound(certificate: Mapping[str, Any]) -> bool:
    """Whether a certificate binds what is published beside it."""
    return BOUND_FIELD in certificate
