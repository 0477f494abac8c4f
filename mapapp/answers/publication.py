"""The public facts shown with a release, and how its certificate binds them.

The certificate's claims are made before anything is drawn. Once the tables are written, a `publication` field completes
them (certificate schema 2): the public facts of the manifest, and the sha256, size and number of rows of every table.
Thus nothing shown to readers can change without changing the certificate, and the certificate cannot change without
changing the manifest, whose sha256 is the release digest (`geodata.store.store.store_digest`).

A schema 1 certificate lacks this field. Its release still opens, and `UNBOUND_NOTE` warns readers.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from geodata.errors import StoreError
from geodata.json_objects import JsonObject
from geodata.store.manifest import read_manifest
from geodata.store.schema import StoreKind
from geodata.store.store import Store, open_store
from mapapp.base.errors import UsageError

PUBLIC_FACTS: Final = (
    "title",
    "year",
    "job_type",
    "vintage",
    "destination_states",
    "residents_only",
    "segments",
    "segments_by",
    "workplaces_by",
    "counts_are_public",
    "edit_rules",
    "persons",
    "layers",
    "last_release",
    "characteristics",
    "zones",
)
"""Facts that a release's manifest copies from its dataset's. They do not depend on confidential homes."""

CERTIFICATE: Final = "certificate.json"
CLAIMS_SCHEMA: Final = 1
"""Schema of the claims alone: before anything is drawn, and in releases of earlier versions."""
FIRST_BOUND_SCHEMA: Final = 2
"""First schema of a certificate that binds its publication."""
BOUND_SCHEMA: Final = 3
"""Schema of certificates written now: they also have the id of their run, and lack no field."""
BOUND_FIELD: Final = "publication"

UNBOUND_NOTE: Final = (
    "This certificate (schema 1) does not bind the title, year, job type, vintage, states, layers, and row counts "
    "shown with the release: they could be changed and it would still hold. Compare the release digest with one "
    "published elsewhere."
)

DIGEST_NOTE: Final = (
    "Names, shapes, titles, and years are bound by this digest alone. Compare it with the one that the publisher "
    "states elsewhere."
)
PUBLISH_DIGEST_NOTE: Final = (
    "Names, shapes, titles, and years are bound by this digest alone: state it elsewhere, too."
)

_FORMER_MECHANISMS: Final = (
    "accept-reject",
    "geometric",
    "keep-or-redraw",
    "laplace",
    "plug-in",
    "sparse-histogram",
)
"""Mechanisms of version 0.1, whose releases this version does not open."""

RELEASED: Final[tuple[StoreKind, ...]] = ("release", "records", "published")
"""Publications that answer every analysis: synthetic jobs, synthetic worker records, and published counts."""


ALL_JOBS: Final = "JT00"
_JOBS: Final = {
    ALL_JOBS: "jobs",
    "JT01": "primary jobs",
    "JT02": "private jobs",
    "JT03": "primary private jobs",
    "JT04": "federal jobs",
    "JT05": "primary federal jobs",
}
"""What LODES calls its job types. A primary job is the one that paid a person most, so each person has one."""


def jobs_of_type(job_type: str) -> str:
    """Return which jobs a job type of LODES has, such as "private jobs"; "jobs" for another code, or none."""
    return _JOBS.get(job_type, _JOBS[ALL_JOBS])


def job_type_in_words(job_type: str) -> str:
    """Return a job type with its meaning, such as "JT02 (private jobs)"; another code, or none, as it is."""
    return f"{job_type} ({jobs_of_type(job_type)})" if job_type in _JOBS else job_type


def full_title(title: str, year: str, job_type: str = "") -> str:
    """Return the title of a dataset or publication as pages show it, such as "Rhode Island, 2019, private jobs".

    The year and the jobs follow, unless the title has them already; that all jobs are in it goes without saying.
    """
    dated = title if not year or year in title else f"{title}, {year}"
    jobs = jobs_of_type(job_type)
    return dated if jobs == _JOBS[ALL_JOBS] or jobs in title.lower() else f"{dated}, {jobs}"


def title_of(facts: Mapping[str, object], otherwise: str) -> str:
    """Return the title that the facts of a manifest give, with year and jobs; `otherwise` where they give none."""
    year, job_type = (str(facts.get(name) or "") for name in ("year", "job_type"))
    return full_title(str(facts.get("title") or otherwise), year, job_type)


def open_publication(path: str | os.PathLike[str], *kinds: StoreKind) -> Store:
    """Open and verify a publication, for :meth:`Release.open` and :meth:`PublishedTable.open`.

    Parameters
    ----------
    path : str or path
    kinds : str
        Kinds that it may have; messages name the first one.

    Raises
    ------
    StoreError
        It is not a complete, unaltered store of one of these kinds, or a release by a mechanism that has left.
    UsageError
        The path is not a path.
    """
    kind = kinds[0]
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"{kind} {str(path)[:60]!r}: give the path of the {kind}'s directory")
    stated = read_manifest(Path(path)).get("kind")
    store = open_store(Path(path), next((allowed for allowed in kinds if allowed == stated), kind))
    if store.kind == "release":
        _refuse_former_mechanism(store)
    return store


def _refuse_former_mechanism(store: Store) -> None:
    """Refuse a release that version 0.1 drew with a mechanism that is gone; other faults are found later."""
    try:
        certificate: object = store.document(CERTIFICATE)
    except (OSError, ValueError):
        return
    for name in ("parameters", "synthesis", "mechanism"):
        certificate = certificate.get(name) if isinstance(certificate, Mapping) else None
    if certificate in _FORMER_MECHANISMS:
        raise StoreError(
            f"{store.path}: drawn with the mechanism {certificate}, which this version no longer has; open it with "
            "version 0.1, or make a release with --mechanism exponential"
        )


def public_facts(manifest: Mapping[str, object]) -> JsonObject:
    """Return the facts of a dataset's or release's manifest that a release shows.

    That no state has residents only goes without saying, as it did in earlier versions.
    """
    shown = {name: manifest[name] for name in PUBLIC_FACTS if name in manifest}
    if not shown.get("residents_only"):
        shown.pop("residents_only", None)
    if not shown.get("edit_rules"):
        shown.pop("edit_rules", None)
    return shown


def listed_tables(files: Mapping[str, object]) -> JsonObject:
    """Return a manifest's list of files without the certificate itself."""
    return {name: facts for name, facts in sorted(files.items()) if name != CERTIFICATE}


def bind_publication(
    claims: Mapping[str, object], facts: Mapping[str, object], files: Mapping[str, object]
) -> JsonObject:
    """Complete a certificate's claims with what is published with them.

    Parameters
    ----------
    claims : mapping
        As `mapapp.kinds.release.certificate.certificate.build_certificate` writes them.
    facts : mapping
        From `public_facts`.
    files : mapping of str to mapping
        By file name: `sha256`, `bytes` and `rows` of every table; from `StoreWriter.list_files`.

    Returns
    -------
    dict
        The certificate, of schema 3.
    """
    publication = {"facts": dict(facts), "files": listed_tables(files)}
    return {**claims, "schema_version": BOUND_SCHEMA, BOUND_FIELD: publication}


def is_of_records(certificate: Mapping[str, object]) -> bool:
    """Return whether a certificate is one of worker records."""
    return certificate.get("kind") == "records"


def is_published(certificate: Mapping[str, object]) -> bool:
    """Return whether a certificate, or an `About.promise`, is one of counts that somebody else published."""
    return certificate.get("kind") == "published"


def is_bound(certificate: Mapping[str, object]) -> bool:
    """Return whether a certificate binds what is published with it."""
    return BOUND_FIELD in certificate
