"""The provenance that every exported file carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Final, Protocol

from geodata.store.store import Store, sha256_of, store_digest
from mapapp.answers import words
from mapapp.answers.publication import ALL_JOBS, CERTIFICATE, DIGEST_NOTE, is_published, jobs_of_type

_SYNTHETIC: Final = "synthetic workers{in_jobs}: no record is a real person"
_PUBLISHED: Final = (
    "{jobs} as their publisher published them; only the positions of dots within blocks are drawn"
)
_KINDS: Final = {"records": "worker records", "published": "published counts"}
"""What publications other than releases are called."""


class Origin(Protocol):
    """The publication that a file comes from, in words."""

    @property
    def publication(self) -> str:
        """What it is called, with its article: "a CommuteMap release"."""
        ...

    def to_dict(self) -> dict[str, object]:
        """Plain values, in reading order."""
        ...

    def lines(self) -> list[str]:
        """The same as lines of text."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """The release that an export comes from, and its privacy promise.

    Attributes
    ----------
    kind : str
        "release", "records", or "published".
    what : str
        What the rows count.
    publisher : str
        Of published counts, who published them: name, title, and address; else empty.
    title, year, job_type : str
        As the release states them; empty if it does not.
    vintage_blocks, vintage_pumas : str
        Census years of the blocks and PUMAs.
    workplaces_in : tuple of str
        Two-digit codes of the states whose workplaces the release covers.
    release_sha256 : str
        The release digest (`geodata.store.store.store_digest`): the SHA-256 of the manifest, which lists all other
        files.
    certificate_sha256 : str
        SHA-256 of `certificate.json`.
    status, accountant : str
        As the certificate states them.
    epsilon_final, delta : float or None
    program : str
        Name and version of the program that wrote the export.
    """

    kind: str
    what: str
    publisher: str
    title: str
    year: str
    job_type: str
    vintage_blocks: str
    vintage_pumas: str
    workplaces_in: tuple[str, ...]
    release_sha256: str
    certificate_sha256: str
    status: str
    accountant: str
    epsilon_final: float | None
    delta: float | None
    program: str

    @classmethod
    def of(cls, store: Store) -> Provenance:
        """Provenance of a verified release."""
        facts, certificate = store.manifest, store.document(CERTIFICATE)
        vintage = facts.get("vintage")
        vintage = vintage if isinstance(vintage, dict) else {}
        return cls(
            kind=store.kind,
            what=_what(certificate, str(facts.get("job_type") or "")),
            publisher=_publisher(certificate),
            title=str(facts.get("title") or store.path.name),
            year=str(facts.get("year") or ""),
            job_type=str(facts.get("job_type") or ""),
            vintage_blocks=str(vintage.get("blocks", "")),
            vintage_pumas=str(vintage.get("pumas", "")),
            workplaces_in=tuple(str(state) for state in facts.get("destination_states") or ()),
            release_sha256=store_digest(store.path),
            certificate_sha256=sha256_of(store.path / CERTIFICATE),
            status=str(certificate.get("status") or ""),
            accountant=str(certificate.get("accountant") or ""),
            epsilon_final=_number(certificate.get("epsilon_final")),
            delta=_number(certificate.get("delta")),
            program=f"CommuteMap {version('commutemap')}",
        )

    @property
    def publication(self) -> str:
        """What the publication is called, with its article."""
        return f"CommuteMap {_KINDS[self.kind]}" if self.kind in _KINDS else "a CommuteMap release"

    def to_dict(self) -> dict[str, object]:
        """Plain values, in reading order; the names are the same for every kind of publication."""
        return {
            "what": self.what,
            "publisher": self.publisher,
            "release": self.title,
            "year": self.year,
            "job_type": self.job_type,
            "vintage_blocks": self.vintage_blocks,
            "vintage_pumas": self.vintage_pumas,
            "workplaces_in": list(self.workplaces_in),
            "release_sha256": self.release_sha256,
            "digest_note": DIGEST_NOTE,
            "certificate_sha256": self.certificate_sha256,
            "status": self.status,
            "epsilon_final": self.epsilon_final,
            "delta": self.delta,
            "accountant": self.accountant,
            "made_by": self.program,
        }

    def texts(self) -> dict[str, str]:
        """The same as short texts, with readable names."""
        return readable_texts(self.to_dict())

    def lines(self) -> list[str]:
        """The same as lines of text, which call the publication what it is."""
        kind = _KINDS.get(self.kind, "release")
        return [f"{name.replace('release', kind)}: {value}" for name, value in self.texts().items()]


def _what(certificate: Mapping[str, object], job_type: str) -> str:
    """Return what the rows count, and which jobs if these are not all jobs."""
    jobs = jobs_of_type(job_type)
    if is_published(certificate):
        return _PUBLISHED.format(jobs=jobs)
    return _SYNTHETIC.format(in_jobs="" if jobs == jobs_of_type(ALL_JOBS) else f" in {jobs}")


def _publisher(certificate: Mapping[str, object]) -> str:
    section = certificate.get("publisher")
    if not is_published(certificate) or not isinstance(section, dict):
        return ""
    named = ", ".join(str(section.get(name) or "") for name in ("name", "title", "address"))
    return f"{named}; {words.promise(certificate)}"


def readable_texts(values: Mapping[str, object]) -> dict[str, str]:
    """Short texts of plain values by readable names, without those that are empty."""
    return {
        name.replace("_", " "): ", ".join(value) if isinstance(value, list) else str(value)
        for name, value in values.items()
        if value not in (None, "", [])
    }


def _number(given: object) -> float | None:
    value = given.get("value") if isinstance(given, dict) else given
    return float(value) if isinstance(value, (int, float)) else None
