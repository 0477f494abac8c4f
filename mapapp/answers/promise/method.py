"""Plain-language text on what is synthetic and what is promised, for the Method page and reports."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from mapapp.answers import words
from mapapp.answers.errors.certificate_terms import DrawnTerms
from mapapp.answers.errors.typical_errors import MOST_FLOWS, MOST_TOWNS, TypicalErrors
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.answers.promise.chapters import Chapter
from mapapp.answers.promise.joint_promise import joint_promise, joint_sentences
from mapapp.answers.promise.lone_worker import lone_worker_sentence, odds_sentence, round_factor
from mapapp.answers.promise.shown_counts import counts_sentence, workplaces_note
from mapapp.answers.publication import UNBOUND_NOTE, is_bound, is_of_records, is_published
from mapapp.answers.published.words import published_chapters
from mapapp.answers.records.words import record_chapters
from mapapp.answers.release import Release
from mapapp.answers.wording import nouns_of, reader_text

_HOW_DRAWN: Final = {
    "exponential": (
        "For each workplace and kind of worker, a lottery chose among all possible assignments of homes to the exact "
        "number of workers. The fewer workers an assignment moves from their real homes, the better its chances were; "
        "every assignment had some chance."
    ),
    "dirichlet-multinomial": (
        "So for every workplace the homes were drawn at random. A lottery was set up from the true homes and from "
        "public knowledge of usual commutes. Every worker got a home from the lottery, and only the result was kept."
    ),
}
_DEALT_OUT: Final = (
    "The homes of {unit} were drawn together and then dealt out by chance, so counts of a part of it say more about "
    "the whole than about that part. Their expected errors suppose that the part may differ by a factor of about two."
)
_UNITS: Final = {"block": "each workplace block", "tract": "each workplace tract"}


def chapters(
    release: Release,
    served: Iterable[Release] = (),
    tables: Iterable[OpenedPublication] = (),
) -> list[Chapter]:
    """Return the sections of text on one release.

    Parameters
    ----------
    release : Release
    served : iterable of Release
        All releases that readers see beside it. If there are some, the text says what the promises add up to.
    tables : iterable of OpenedPublication
        All tables that they see beside it; worker records then promise less.
    """
    return [reader_chapter(chapter, release.facts) for chapter in _chapters(release, served, tables)]


def reader_chapter(chapter: Chapter, facts: Mapping[str, object]) -> Chapter:
    """Return a section in the words of a publication with these facts."""
    nouns = nouns_of(facts)
    if nouns is None:
        return chapter
    parts = (
        reader_text(part, nouns)
        if isinstance(part, str)
        else tuple(reader_text(item, nouns) for item in part)
        for part in chapter.parts
    )
    return Chapter(title=reader_text(chapter.title, nouns), parts=tuple(parts))


def _chapters(
    release: Release, served: Iterable[Release], tables: Iterable[OpenedPublication]
) -> list[Chapter]:
    certificate = release.certificate
    if is_published(certificate):
        return published_chapters(release)
    if is_of_records(certificate):
        others = list(served)
        return [
            *record_chapters(release, (*others, *tables)),
            *_together(release, others),
            _authentic(certificate),
        ]
    return [
        _synthetic(certificate, release.facts),
        _promise(certificate),
        *_together(release, served),
        _reading(release),
        _authentic(certificate),
        *_quote_certificate(certificate),
    ]


def exactness(typical: TypicalErrors) -> Chapter:
    """Return the section that leads a report's method: how far typical numbers are off."""
    town = "town" if typical.inflow_layer == "ctycsub" else "county"
    flows = [
        f"The expected error of a flow of about {size} workers between two tracts is {words.error_text(half)} or less "
        f"for half of these flows, and {words.error_text(most)} or less for nine in ten."
        for size, (half, most) in typical.flows.items()
    ]
    inflow = (
        []
        if typical.inflow is None
        else [
            f"The expected error of the number of workers who come into a {town} is {typical.inflow[0]:.1%} of it or "
            f"less for half of the {words.plural(town)}, and {typical.inflow[1]:.1%} or less for nine in ten."
        ]
    )
    return Chapter(
        title="How far the numbers are off",
        parts=(
            (*flows, *inflow),
            "Expected errors are root mean squares, computed from this release and its certificate alone; these are of "
            f"at most {MOST_FLOWS} flows of each size and {MOST_TOWNS} areas, evenly spaced by size. Each number in "
            "this report that has an expected error shows its own, average distances included. The release alone "
            "cannot show how many of the largest home areas are truly the largest.",
        ),
    )


def _synthetic(certificate: Mapping[str, object], facts: Mapping[str, object]) -> Chapter:
    drawn = _HOW_DRAWN.get(words.mechanism(certificate), _HOW_DRAWN["dirichlet-multinomial"])
    return Chapter(
        title="Nobody on this map is a real person",
        parts=(
            "The map starts from confidential records of the census blocks in which people work and live. "
            f"{counts_sentence(facts)}",
            f"{drawn} Distant homes were first grouped into larger areas. A dot on the map is a worker drawn in this "
            "way; its exact position within the block is random, too.",
            "Totals at each workplace are exact. Patterns over many workers are close to the truth; a single dot does "
            "not represent any one person.",
        ),
    )


def _promise(certificate: Mapping[str, object]) -> Chapter:
    epsilon = words.number(certificate, "epsilon_final") or words.number(certificate, "epsilon")
    factor = (
        ""
        if epsilon is None
        else f" Here ε is {words.plain(epsilon)}, and the factor is about {round_factor(math.exp(epsilon))}."
    )
    return Chapter(
        title="What is promised",
        parts=(
            "Take any one worker, and imagine that this worker lived somewhere else. The probability of almost every "
            "possible release would then change by at most a factor that is set in advance, e to the power ε "
            "(epsilon)." + factor + " The smaller ε is, the stronger the promise.",
            _almost(certificate),
            *_risks(certificate, epsilon),
            "The promise is about where one worker lives. It does not hide the numbers of jobs at workplaces, which "
            "are shown exactly, and it does not prevent conclusions about a person from general patterns. If several "
            "releases are made from the same workers, their ε and δ add up.",
        ),
    )


def _together(release: Release, served: Iterable[Release]) -> list[Chapter]:
    """Return the section on a person who is in several releases; nothing if there is only one."""
    joint = joint_promise(release, served)
    if joint is None:
        return []
    return [Chapter(title="If a person is in several releases", parts=joint_sentences(joint))]


def _risks(certificate: Mapping[str, object], epsilon: float | None) -> list[str]:
    """Return what epsilon means in odds and what a lone worker risks, as far as the certificate says."""
    lone = lone_worker_sentence(certificate.get("lone_worker"))
    if epsilon is None or lone is None:
        return []
    return [odds_sentence(epsilon, delta_is_zero=words.number(certificate, "delta") == 0) + " " + lone]


def _almost(certificate: Mapping[str, object]) -> str:
    """Return a paragraph on delta, and on where both numbers come from."""
    delta = words.number_text(certificate, "delta")
    proof = (
        "The accountant is the proof that derives these two numbers from the settings of the lottery."
        if words.has_accountant(certificate)
        else "Both numbers follow from how the homes were drawn; no accountant is needed."
    )
    if delta == "0":
        return (
            "Here “almost every” means “every”: the probability of a draw outside the promise, δ (delta), is 0. "
            f"{proof}"
        )
    return (
        "“Almost every” is measured by δ (delta), the probability that a draw falls outside the promise. Here it is "
        f"{delta}. {proof}"
    )


def _authentic(certificate: Mapping[str, object]) -> Chapter:
    """Return the section on how to verify that a release comes from its publisher."""
    if is_of_records(certificate):
        title, name = "Are these the records that were published?", "RECORDS"
    else:
        title, name = "Is this the release that was published?", "RELEASE"
    return Chapter(
        title=title,
        parts=(
            "Every publication has a digest: the SHA-256 of its manifest, which lists the SHA-256 of every file, the "
            "certificate included. Compare it with the digest that the publisher states elsewhere, such as on its "
            "website. Anyone who changes a publication can also write a new certificate for it, but cannot give it the "
            f"same digest. The command “commutemap certify {name} --digest SHA256” makes this comparison and checks "
            "everything else.",
            *([] if is_bound(certificate) else [UNBOUND_NOTE]),
        ),
    )


def _quote_certificate(certificate: Mapping[str, object]) -> list[Chapter]:
    """Return the section that quotes the certificate."""
    caveats = certificate.get("caveats")
    texts = [certificate.get(name) for name in ("neighbours", "composition")]
    texts += caveats if isinstance(caveats, list) else []
    given = tuple(text for text in texts if isinstance(text, str))
    return [Chapter(title="In the certificate's own words", parts=(given,))] if given else []


def error_caution(certificate: Mapping[str, object]) -> str | None:
    """Return what readers should know of a release's expected errors; None if they were found to be right.

    What it says was measured on Rhode Island (docs/theory/expected-errors.md, "Under the exponential mechanism").
    """
    unit = _UNITS.get(DrawnTerms.of(certificate).unit)
    return None if unit is None else _DEALT_OUT.format(unit=unit)


def _reading(release: Release) -> Chapter:
    certificate = release.certificate
    caution = error_caution(certificate) if release.errors.is_known else None
    states = words.covered_states(release)
    return Chapter(
        title="How to read the numbers",
        parts=(
            (
                words.coverage(states, of_residents=True)
                or "The release does not state which workplaces it covers.",
                "Homes outside the mapped area are known by state only. They are in every count and table but have no "
                "dot. Their distance is measured from the middle of the state.",
                "Distances are great-circle miles between block centers, not road miles. Within one block the "
                "distance is zero.",
                words.HOW_CERTAIN,
                *([] if (by_tract := workplaces_note(release.facts)) is None else [by_tract]),
                *([] if caution is None else [caution]),
            ),
        ),
    )
