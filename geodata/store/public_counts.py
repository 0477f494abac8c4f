"""Whether the numbers of jobs by workplace and segment are public, which a release shows unchanged.

Those of LODES are published, and those of a generated country are about nobody. Those of an agency's own worker records
are confidential until somebody declares, with a reference, that they have been published.
"""

from __future__ import annotations

from typing import Final

from geodata.errors import SourceFileError
from geodata.store.store import Store

__all__ = ["COUNTS_ARE_PUBLIC", "add_public_counts", "public_counts_reference"]

COUNTS_ARE_PUBLIC: Final = "counts_are_public"
"""Fact of a manifest: where the counts are published; None if nobody has said so. Absent where they are public."""

_LONGEST: Final = 300
_WORKER_ROLE: Final = "workers"


def public_counts_reference(text: str) -> str:
    """Return a reference to the publication of the counts, as a manifest has it.

    Raises
    ------
    SourceFileError
        The text is blank, longer than 300 characters, or not one printable line.
    """
    reference = text.strip()
    if not reference or not reference.isprintable() or len(reference) > _LONGEST:
        raise SourceFileError(
            f"--counts-are-public: give one printable line of at most {_LONGEST} characters that says where the "
            "numbers of jobs are published, such as 'Quarterly Workplace Report 2019, table 4'"
        )
    return reference


def add_public_counts(dataset: Store) -> Store:
    """Return the dataset with this fact if it was imported from worker records, whatever its version.

    Nothing on disk changes.
    """
    sources = dataset.manifest.get("sources") or ()
    of_workers = any(source.get("role") == _WORKER_ROLE for source in sources)
    if COUNTS_ARE_PUBLIC in dataset.manifest or not of_workers:
        return dataset
    return dataset.add_facts(**{COUNTS_ARE_PUBLIC: None})
