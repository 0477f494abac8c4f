"""Datasets that were imported from the same files: what is made from them is about the same workers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final

from geodata.errors import StoreError
from geodata.store.manifest import read_manifest

__all__ = ["datasets_of_same_files", "source_files"]

_JOBS: Final = ("od", "workers", "flows")
"""Roles of the files from which jobs are read."""
_MOST_LOOKED_AT: Final = 1_000


def source_files(manifest: Mapping[str, object]) -> frozenset[str]:
    """Return the SHA-256 of the files from which the jobs of a dataset were read; none if it does not say."""
    sources = manifest.get("sources")
    return frozenset(
        str(source["sha256"])
        for source in (sources if isinstance(sources, list) else ())
        if isinstance(source, Mapping) and source.get("role") in _JOBS and "sha256" in source
    )


def datasets_of_same_files(folder: Path, sources: frozenset[str]) -> list[Path]:
    """Return the datasets in a folder whose jobs come from exactly these files, by name.

    Parameters
    ----------
    folder : Path
        Of its entries at most 1,000 are looked at.
    sources : frozenset of str
        As :func:`source_files`.
    """
    return sorted(_find_matching(folder, sources)) if sources else []


def _find_matching(folder: Path, sources: frozenset[str]) -> Iterator[Path]:
    for path in islice(folder.iterdir(), _MOST_LOOKED_AT):
        if path.name.startswith(".") or not path.is_dir():
            continue
        try:
            manifest = read_manifest(path)
        except (OSError, StoreError):
            continue
        if manifest.get("kind") == "dataset" and source_files(manifest) == sources:
            yield path
