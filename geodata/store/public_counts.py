"""Whether the numbers of jobs by workplace and segment are public, which a release shows unchanged.

Those of LODES are published, and those of a generated country are about nobody. Those of an agency's own worker records
are confidential until somebody declares, with a reference, that they have been published.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from geodata.errors import SourceFileError, StoreError
from geodata.json_objects import JsonObject, document_text
from geodata.store.atomic_writes import write_beside
from geodata.store.manifest import MANIFEST
from geodata.store.store import Store, open_store
from geodata.store.table_stream import sync

__all__ = ["COUNTS_ARE_PUBLIC", "add_public_counts", "declare_public_counts", "public_counts_reference"]

COUNTS_ARE_PUBLIC: Final = "counts_are_public"
"""Fact of a manifest: where the counts are published; None if nobody has said so. Absent where they are public."""

_OWNER_ONLY: Final = 0o700
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


def declare_public_counts(dataset: Path, text: str) -> str:
    """Write into a dataset's manifest where its numbers of jobs are published, and return the reference.

    Raises
    ------
    SourceFileError
        As :func:`public_counts_reference`.
    StoreError
        It is not a dataset made from worker records, or another reference was declared before: releases may name it.
    """
    reference = public_counts_reference(text)

    place = Path(os.path.realpath(dataset))
    # The new manifest waits beside the dataset, which may hold nothing that its manifest does not list. Readers see the
    # old one or the new one; a publication that is being made meanwhile is refused (`Store.require_unchanged`).
    with write_beside(place, mode=_OWNER_ONLY, replace=True) as partial:
        store = open_store(place, "dataset")
        _require_declarable(dataset, add_public_counts(store).manifest, reference)
        with partial.write_file(MANIFEST, _OWNER_ONLY & 0o666) as file:
            file.write_text(document_text({**store.manifest, COUNTS_ARE_PUBLIC: reference}), encoding="utf-8")
        sync(file)
        store.require_unchanged(digests=False)
        os.replace(file, place / MANIFEST)
        sync(place)
    return reference


def _require_declarable(dataset: Path, facts: JsonObject, reference: str) -> None:
    """Refuse a dataset whose counts are public without a declaration, or by another one."""
    if COUNTS_ARE_PUBLIC not in facts:
        raise StoreError(
            f"{dataset}: was not made from worker records, so its numbers of jobs are public already; there is nothing "
            "to declare"
        )
    declared = facts[COUNTS_ARE_PUBLIC]
    if declared not in (None, reference):
        raise StoreError(
            f"{dataset}: its numbers of jobs are declared public already ({declared}), and releases may name that; to "
            "name another publication, import the records again"
        )
