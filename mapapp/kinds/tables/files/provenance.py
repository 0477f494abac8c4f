"""The provenance that every file of a table with suppressed cells carries."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from typing import Final, Self

from geodata.store.store import sha256_of
from mapapp.answers.publication import CERTIFICATE, DIGEST_NOTE
from mapapp.kinds.tables.read.published import PublishedTable
from mapapp.show.exports.provenance import readable_texts

__all__ = ["TableProvenance"]

_WHAT: Final = "counts of real workers, exact where they are printed; suppressed cells are stars"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableProvenance:
    """The table that a file comes from, and its privacy promise.

    Attributes
    ----------
    title, year, job_type, vintage_blocks : str
        As the table states them; empty if it does not.
    table_sha256 : str
        The table digest (`geodata.store.store.store_digest`): the SHA-256 of the manifest, which lists all other files.
    certificate_sha256 : str
        SHA-256 of `certificate.json`.
    status : str
        As the certificate states it.
    promise : str
    epsilon, delta : str
        Exact, such as "1/2".
    program : str
        Name and version of the program that wrote the file.
    """

    title: str
    year: str
    job_type: str
    vintage_blocks: str
    table_sha256: str
    certificate_sha256: str
    status: str
    promise: str
    epsilon: str
    delta: str
    program: str

    @classmethod
    def of(cls, published: PublishedTable) -> Self:
        """Provenance of a verified table."""
        facts, vintage = published.facts, published.facts.get("vintage")
        return cls(
            title=published.title,
            year=published.year,
            job_type=str(facts.get("job_type") or ""),
            vintage_blocks=str(vintage.get("blocks", "")) if isinstance(vintage, dict) else "",
            table_sha256=published.digest,
            certificate_sha256=sha256_of(published.store.path / CERTIFICATE),
            status=str(published.certificate.get("status") or ""),
            promise="epsilon-semantic privacy, if the prior is right; not differential privacy",
            epsilon=str(published.promise.epsilon),
            delta=str(published.promise.delta),
            program=f"CommuteMap {version('commutemap')}",
        )

    @property
    def publication(self) -> str:
        """What the publication is called, with its article."""
        return "a CommuteMap table"

    def to_dict(self) -> dict[str, object]:
        """Plain values, in reading order."""
        return {
            "what": _WHAT,
            "table": self.title,
            "year": self.year,
            "job_type": self.job_type,
            "vintage_blocks": self.vintage_blocks,
            "table_sha256": self.table_sha256,
            "digest_note": DIGEST_NOTE,
            "certificate_sha256": self.certificate_sha256,
            "status": self.status,
            "promise": self.promise,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "made_by": self.program,
        }

    def texts(self) -> dict[str, str]:
        """The same as short texts, with readable names."""
        return readable_texts(self.to_dict())

    def lines(self) -> list[str]:
        """The same as lines of text."""
        return [f"{name}: {value}" for name, value in self.texts().items()]
