"""Releases of the same jobs beside a table, which the table's promise does not account for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from mapapp.answers.opened_publication import OpenedPublication
from mapapp.answers.publication import is_of_records, is_published

_SAME: Final = ("year", "job_type", "vintage")


def same_jobs(table: OpenedPublication, releases: Iterable[OpenedPublication]) -> list[OpenedPublication]:
    """Return the releases of the jobs that a table counts.

    They are those that one of the certificates names beside the other, those made from the same file of jobs, and those
    of the same year, job type, vintage, and of a state in common. Published counts are public without any of them.
    Two imports of one file have different keys, so different hashes do not tell them apart.
    """
    tests = (_is_named, _has_same_jobs, _is_alike)
    drawn = [release for release in releases if not is_published(release.certificate)]
    return [release for release in drawn if any(test(table, release) for test in tests)]


def beside_sentences(table: OpenedPublication, releases: Iterable[OpenedPublication]) -> list[str]:
    """Return a sentence for each release of the same jobs."""
    return [
        f"This server also shows {_kind(release)} of the same jobs, {release.title} (digest {release.version}…). "
        "The promise of this table does not account for it: a reader of both may learn more than either promises."
        for release in same_jobs(table, releases)
    ]


def _kind(release: OpenedPublication) -> str:
    return "synthetic worker records" if is_of_records(release.certificate) else "a synthetic release"


def _is_named(table: OpenedPublication, release: OpenedPublication) -> bool:
    return _names(table.certificate, release.version) or _names(release.certificate, table.version)


def _names(certificate: Mapping[str, object], version: str) -> bool:
    beside = certificate.get("beside")
    return isinstance(beside, list) and any(
        isinstance(claim, Mapping) and str(claim.get("digest", "")).startswith(version) for claim in beside
    )


def _has_same_jobs(table: OpenedPublication, release: OpenedPublication) -> bool:
    """Return whether both certificates have the same keyed hash of the jobs."""
    stated = [publication.certificate.get("confidential_inputs") for publication in (table, release)]
    hashes = [inputs.get("jobs") if isinstance(inputs, Mapping) else None for inputs in stated]
    return hashes[0] is not None and hashes[0] == hashes[1]


def _is_alike(table: OpenedPublication, release: OpenedPublication) -> bool:
    facts = [[str(publication.facts.get(name) or "") for name in _SAME] for publication in (table, release)]
    states = set(table.covered_states), set(release.covered_states)
    return facts[0] == facts[1] and bool(states[0] & states[1])
