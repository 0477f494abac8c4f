"""What is synthetic, what is promised, and what is not, in plain words: for the Method page and for reports."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

from mapapp.answers import words
from mapapp.answers.publication import UNBOUND_NOTE, is_bound
from mapapp.answers.served_release import ServedRelease

_HOW_DRAWN_USUALLY: Final = (
    "So for every workplace the homes were drawn anew. A lottery was set up from the true homes and from public "
    "knowledge of who usually commutes there, every worker got a home from it, and only the result was kept."
)
_HOW_DRAWN: Final = {
    "accept-reject": f"{_HOW_DRAWN_USUALLY} Results far from the truth were drawn again.",
    "laplace": (
        "So for every workplace the number of homes in every area, those without any included, was changed by chance. "
        "Workers got homes in proportion to the changed numbers, and only the result was kept."
    ),
    "sparse-histogram": (
        "So for every workplace the number of homes in every area that has some was changed by chance, and what came "
        "out small was struck. Workers got homes by the numbers that were left, or by public knowledge of who usually "
        "commutes there, and only the result was kept."
    ),
    "plug-in": "Here nothing hides it: a home was picked by chance among those of real workers of the same workplace.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A piece of text: its title, paragraphs, and lists as tuples."""

    title: str
    parts: tuple[str | tuple[str, ...], ...]


def chapters(release: ServedRelease) -> list[Chapter]:
    """Everything that is said of one release."""
    certificate = release.certificate
    promised = _promise(certificate) if words.is_private(certificate) else _NO_PROMISE
    return [
        _synthetic(certificate),
        promised,
        _reading(release),
        _authentic(certificate),
        *_stated(certificate),
    ]


def _synthetic(certificate: dict[str, Any]) -> Chapter:
    private = words.is_private(certificate)
    drawn = _HOW_DRAWN.get(words.mechanism(certificate), _HOW_DRAWN_USUALLY)
    return Chapter(
        title="Nobody on this map is a real person" if private else "Dots lie where real workers live",
        parts=(
            "The map starts from confidential records: in which census block people work, and in which block they "
            "live. How many people work in a block, by age, earnings and industry, is public already. Where each of "
            "them lives is not.",
            f"{drawn} Far-away homes were first put together into larger areas. A dot on the map is a worker drawn in "
            "this way; its exact spot within the block is chance as well.",
            "Totals at a workplace are kept. Patterns over many workers are close to the truth"
            + ("; a single dot says nothing about a single person." if private else "."),
        ),
    )


def _promise(certificate: dict[str, Any]) -> Chapter:
    epsilon = words.number(certificate, "epsilon_final") or words.number(certificate, "epsilon")
    factor = (
        ""
        if epsilon is None
        else f" Here ε is {words.plain(epsilon)}, and the factor about {_rounded(math.exp(epsilon))}."
    )
    return Chapter(
        title="What is promised",
        parts=(
            "Take any one worker, and imagine that this worker lived somewhere else. Almost every release that could "
            "have come out would have come out nearly as likely: the chances differ by no more than a factor that is "
            "set in advance, e to the power ε (epsilon)."
            + factor
            + " The smaller ε, the stronger the promise.",
            _almost(certificate),
            "The promise is about where one worker lives. It does not hide public facts, such as how many jobs a "
            "block has, and it does not cover what could be concluded about a person from the habits of everybody. "
            "When several releases are made from the same workers, their ε and δ add up.",
        ),
    )


def _almost(certificate: dict[str, Any]) -> str:
    """What delta is, and where both numbers come from."""
    delta = words.number_text(certificate, "delta")
    proof = (
        "The accountant is the proof that turns the settings of the lottery into these two numbers."
        if words.has_accountant(certificate)
        else "Both numbers follow from how the homes were drawn; no accountant is needed."
    )
    if delta == "0":
        return f"Here “almost every” is every: δ (delta), the probability of a draw outside the promise, is 0. {proof}"
    return (
        "The words “almost every” are δ (delta): the probability that a draw falls outside the promise. Here it is "
        f"{delta}. {proof}"
    )


_NO_PROMISE: Final = Chapter(
    title="What is promised",
    parts=(
        "Nothing. Whoever sees a dot knows that somebody who works there lives in that area. This exists to show "
        "what the other mechanisms pay for privacy, and must not leave the house.",
    ),
)


def _authentic(certificate: dict[str, Any]) -> Chapter:
    """How a reader finds out whether a release is the publisher's."""
    return Chapter(
        title="Is this the release that was published?",
        parts=(
            "Every release has a digest: the SHA-256 of its manifest, which lists the SHA-256 of every file, the "
            "certificate included. Compare it with the digest that the publisher gives somewhere else, such as on its "
            "own website. Somebody who changes a release can also write a new certificate for it, but cannot give it "
            "the same digest. The command “commutemap certify RELEASE --digest SHA256” makes this comparison and "
            "checks everything else.",
            *([] if is_bound(certificate) else [UNBOUND_NOTE]),
        ),
    )


def _stated(certificate: dict[str, Any]) -> list[Chapter]:
    """What the certificate itself says in words."""
    caveats = certificate.get("caveats")
    texts = [certificate.get(name) for name in ("neighbours", "composition")]
    texts += caveats if isinstance(caveats, list) else []
    given = tuple(text for text in texts if isinstance(text, str))
    return [Chapter(title="In the certificate's own words", parts=(given,))] if given else []


def _reading(release: ServedRelease) -> Chapter:
    states = ", ".join(words.covered_states(release)) or "not stated"
    return Chapter(
        title="How to read the numbers",
        parts=(
            (
                f"Workplaces covered: {states}. Jobs of residents in other states are not in the release.",
                "Homes outside the mapped area are known by state only. They are in every count and table, have no "
                "dot, and their distance is measured from the middle of the state.",
                "Distances are great-circle miles between block centres, not miles on the road; zero within one "
                "block.",
                "Counts of 10 and more are fine to use; 3 to 9 call for caution; 1 and 2 vary substantially from draw "
                "to draw.",
            ),
        ),
    )


def _rounded(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{float(f'{value:.2g}'):,.0f}"
