"""Facts about a release for a report: certificate, origin of the numbers, and method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from geodata.text import list_names
from mapapp.answers import words
from mapapp.answers.errors.typical_errors import typical_errors
from mapapp.answers.promise.method import chapters, exactness, reader_chapter
from mapapp.answers.publication import DIGEST_NOTE, is_of_records, is_published, job_type_in_words
from mapapp.answers.published.words import source_rows
from mapapp.answers.records.words import promised_rows
from mapapp.answers.release import Release
from mapapp.show.exports.provenance import Provenance
from mapapp.show.reports.content import Source

_BEFORE_PRUNING: Final = "ε before pruning"
_WITH_PRUNING: Final = "ε (epsilon), including pruning"


def source_of(release: Release, title: str, *, errors: bool) -> Source:
    """All facts about one release, which the report calls `title`; the method leads with typical errors if `errors`."""
    certificate = release.certificate
    typical = release.once(("typical errors",), lambda: typical_errors(release)) if errors else None
    lead = [] if typical is None else [reader_chapter(exactness(typical), release.facts)]
    return Source(
        name=release.slug,
        title=title,
        warning=words.why_not_for_release(certificate),
        certificate=_certificate(certificate),
        provenance=_provenance(release),
        method=(*lead, *chapters(release)),
    )


def _certificate(certificate: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    if is_published(certificate):
        return tuple(source_rows(certificate))
    protected = certificate.get("unit_of_protection")
    if is_of_records(certificate):
        stated = {
            "Mechanism": words.mechanism(certificate),
            "What is protected": protected if isinstance(protected, str) else "",
            "Status": str(certificate.get("status") or "not stated"),
        }
        return (*promised_rows(certificate), *((term, value) for term, value in stated.items() if value))
    rows = {
        "Promise": f"{words.promise(certificate)} · {words.grounds(certificate)}",
        _BEFORE_PRUNING: words.number_text(certificate, "epsilon"),
        _WITH_PRUNING: words.number_text(certificate, "epsilon_final"),
        "δ (delta)": words.number_text(certificate, "delta"),
        "Accountant": words.accountant(certificate) if words.has_accountant(certificate) else "none needed",
        "Mechanism": words.mechanism(certificate),
        "What is protected": protected if isinstance(protected, str) else "",
        "Status": str(certificate.get("status") or "not stated"),
    }
    if rows[_BEFORE_PRUNING] == rows[_WITH_PRUNING]:  # nothing is pruned
        names = {_BEFORE_PRUNING: "ε (epsilon)"}
        rows = {names.get(name, name): value for name, value in rows.items() if name != _WITH_PRUNING}
    return tuple((term, value) for term, value in rows.items() if value)


def _provenance(release: Release) -> tuple[tuple[str, str], ...]:
    facts, digests = release.facts, Provenance.of(release.store)
    sources = facts.get("sources")
    named = [source.get("name") if isinstance(source, dict) else source for source in sources or ()]
    vintage = facts.get("vintage")
    kind = {"records": "Records", "published": "Counts"}.get(str(release.certificate.get("kind")), "Release")
    rows = {
        kind: release.title,
        "Year": str(release.year or ""),
        "Jobs": job_type_in_words(release.job_type),
        "Sources": "; ".join(str(name) for name in named if name),
        "Geographic vintage": ", ".join(f"{name} {value}" for name, value in vintage.items())
        if isinstance(vintage, dict)
        else str(vintage or ""),
        "Workplaces covered": list_names(words.covered_states(release)),
        f"{kind} digest (SHA-256)": digests.release_sha256,
        "What the digest is for": DIGEST_NOTE,
        "Certificate (SHA-256)": digests.certificate_sha256,
        "Written by": digests.program,
    }
    return tuple((term, value) for term, value in rows.items() if value)
