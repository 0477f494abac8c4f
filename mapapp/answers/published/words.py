"""What readers are told of published counts: where they are from, what protects people, and how to read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from geodata.text import list_names
from mapapp.answers import words
from mapapp.answers.analyses.about import ASSIGNED_TOGETHER, Note
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.answers.promise.chapters import Chapter
from mapapp.answers.published.certificate import LODES, PublishedCertificate, published_certificate
from mapapp.question.filters import Filters

GUIDANCE: Final = (
    "Counts are as they were published. By the Census Bureau's guidance for OnTheMap, use counts of 10 and more as "
    "they are, and 3 to 9 with caution; counts of 1 and 2 vary substantially, because of the noise and the model that "
    "protect people."
)
ASSIGNED: Final = (
    "LODES publishes age, earnings, and industry one at a time for each pair of blocks. Counts by two of them at once "
    "are therefore not published ones: how they go together was assigned, so that each published count is kept."
)
NOT_COMPARED: Final = (
    "Not every file of jobs was compared with a list of {name}, "
    "so nothing here shows that they are as published."
)
COUNTED: Final = {
    "JT00": "All jobs count, so a person with two jobs counts twice.",
    "JT01": "The primary job of each worker counts: the one that paid most.",
    "JT02": "All private jobs count, so a person with two of them counts twice.",
    "JT03": "The primary private job of each worker counts: the one that paid most.",
    "JT04": "All federal jobs count, so a person with two of them counts twice.",
    "JT05": "The primary federal job of each worker counts: the one that paid most.",
}
"""What LODES counts, by its code of the job type."""
PUBLISHED_TOGETHER: Final = "Counts by two characteristics at once are those of the published segment files."
_TOGETHER: Final = ("age", "earnings", "industry")


def number_notes(
    analysis: str, filters: Filters, facts: Mapping[str, object], certificate: Mapping[str, object]
) -> tuple[Note, ...]:
    """Return the notes that stand beside the numbers of an answer."""
    if not is_lodes(certificate):
        return (Note("published", f"Counts are {words.promise(certificate)}."),)
    job_type = str(facts.get("job_type") or "")
    counted = (Note("jobs", COUNTED[job_type]),) if job_type in COUNTED else ()
    several = sum(bool(getattr(filters, name)) for name in _TOGETHER) > 1
    is_joint = several or analysis in ("profile", "cross-table")
    assigned = (
        (Note(ASSIGNED_TOGETHER, ASSIGNED),) if is_joint and facts.get("segments") == "assigned" else ()
    )
    return (*counted, *assigned, Note("published", GUIDANCE))


def is_lodes(certificate: Mapping[str, object]) -> bool:
    """Whether counts are said to be LODES, whose guidance and ways of counting then hold."""
    return published_certificate(certificate).publisher == LODES


def source_rows(certificate: Mapping[str, object], *, digest: str = "") -> list[tuple[str, str]]:
    """Return the facts of a certificate for a card and for reports: terms and values."""
    stated = published_certificate(certificate)
    compared = f"{stated.n_compared} of {len(stated.sources)} equal to the publisher's list of checksums"
    rows = [
        (
            "Published by",
            stated.publisher.name + (" (as declared by the importer)" if stated.publisher.declared else ""),
        ),
        ("Title", stated.publisher.title),
        ("Address", stated.publisher.address),
        ("Format and vintage", ", ".join(filter(None, (stated.format_version, stated.data_vintage)))),
        ("Files", compared if stated.sources else ""),
        ("Promise", "none of CommuteMap's: public before"),
        ("Counts digest", digest),
    ]
    return [(term, value) for term, value in rows if value]


def published_chapters(release: OpenedPublication) -> list[Chapter]:
    """Return the sections of text on published counts."""
    stated = published_certificate(release.certificate)
    publisher = stated.publisher
    states = words.covered_states(release)
    job_type = str(release.facts.get("job_type") or "")
    sources = tuple(
        f"{source.file}: {source.rows:,} rows, {source.bytes:,} bytes, SHA-256 {source.sha256}, {source.checksum}"
        for source in stated.sources
    )
    return [
        Chapter(
            title="These are published counts",
            parts=(
                f"They are from {words.by_name(publisher.name)}: {publisher.title} ({publisher.address}). "
                f"{stated.statement} "
                f"{stated.points_in_words}",
                publisher.protection,
                *([f"Source: {publisher.reference}."] if publisher.reference else []),
            ),
        ),
        Chapter(
            title="How to read the numbers",
            parts=(
                (
                    words.coverage(states, of_residents=True)
                    or "The counts do not state which workplaces they cover.",
                    *_left_out(stated, release),
                    *([COUNTED[job_type]] if job_type in COUNTED and publisher == LODES else []),
                    *([GUIDANCE, stated.segments_in_words] if publisher == LODES else []),
                    "A dot on the map is a job. It is in the right block; its position within the block is random.",
                    "Homes outside the mapped area are known by state only. They are in every count and table but have "
                    "no dot. Distances are great-circle miles between block centers, not road miles.",
                ),
            ),
        ),
        *([Chapter(title="The files", parts=(*_not_compared(stated), sources))] if sources else []),
        Chapter(
            title="Are these the counts that were published?",
            parts=(
                "The certificate lists each file with its size and SHA-256, and says whether that is the one of its "
                "publisher's own list of checksums. “commutemap certify COUNTS” checks that all files are unchanged, "
                "that jobs add up to each published column, and that each dot is where the public key puts it.",
            ),
        ),
    ]


def _not_compared(stated: PublishedCertificate) -> list[str]:
    """Say that nothing shows that the counts are their publisher's, unless each OD file was compared with its list."""
    return [NOT_COMPARED.format(name=words.by_name(stated.publisher.name))] if stated.is_unproven else []


def _left_out(stated: PublishedCertificate, release: OpenedPublication) -> list[str]:
    if not stated.homes_left_out:
        return []
    named = list_names(words.covered_states(release))
    return [f"Workers in {named} who live in other states are not in these counts: their file was not given."]
