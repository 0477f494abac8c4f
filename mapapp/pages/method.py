"""The Method page: what is synthetic, what is promised, and what is not, in plain words."""

from __future__ import annotations

import math
from typing import Any, Final

from dash import dcc, html

from mapapp.pages import certificate, words
from mapapp.queries.release import ServedRelease

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


def page(release: ServedRelease) -> Any:
    """The whole page for one release."""
    return html.Main(
        html.Article(
            [
                html.H1("What you see, and what is promised"),
                html.P(f"Release: {release.title}.", className="quiet"),
                *_synthetic(release.certificate),
                *(_promise(release) if words.is_private(release.certificate) else _no_promise()),
                *_reading(release),
                *_stated(release),
                html.H2("Certificate"),
                certificate.card(release),
                html.P("The whole certificate, as it lies in the release:"),
                certificate.in_full(release),
            ],
            className="prose",
        ),
        className="text-page",
    )


def _synthetic(certificate: dict[str, Any]) -> list[Any]:
    private = words.is_private(certificate)
    drawn = _HOW_DRAWN.get(words.mechanism(certificate), _HOW_DRAWN_USUALLY)
    return [
        html.H2("Nobody on this map is a real person" if private else "Dots lie where real workers live"),
        html.P(
            "The map starts from confidential records: in which census block people work, and in which "
            "block they "
            "live. How many people work in a block, by age, earnings and industry, is public already. "
            "Where each of "
            "them lives is not."
        ),
        html.P(
            f"{drawn} Far-away homes were first put together into larger areas. A dot on the map is a worker drawn in "
            "this way; its exact spot within the block is chance as well."
        ),
        html.P(
            "Totals at a workplace are kept. Patterns over many workers are close to the truth"
            + ("; a single dot says nothing about a single person." if private else ".")
        ),
    ]


def _promise(release: ServedRelease) -> list[Any]:
    epsilon = words.number(release.certificate, "epsilon_final") or words.number(
        release.certificate, "epsilon"
    )
    factor = (
        ""
        if epsilon is None
        else f" Here ε is {words.plain(epsilon)}, and the factor about {_rounded(math.exp(epsilon))}."
    )
    return [
        html.H2("What is promised"),
        html.P(
            "Take any one worker, and imagine that this worker lived somewhere else. Almost every release "
            "that could have come out "
            "would have come out nearly as likely: the chances differ by no more than a factor that is "
            "set in advance, "
            "e to the power ε (epsilon)." + factor + " The smaller ε, the stronger the promise."
        ),
        html.P(_almost(release.certificate)),
        html.P(
            "The promise is about where one worker lives. It does not hide public facts, such as how many "
            "jobs a "
            "block has, and it does not cover what could be concluded about a person from the habits of "
            "everybody. "
            "When several releases are made from the same workers, their ε and δ add up."
        ),
    ]


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


def _no_promise() -> list[Any]:
    return [
        html.H2("What is promised"),
        html.P(
            "Nothing. Whoever sees a dot knows that somebody who works there lives in that area. This exists to show "
            "what the other mechanisms pay for privacy, and must not leave the house."
        ),
    ]


def _stated(release: ServedRelease) -> list[Any]:
    """What the certificate itself says in words."""
    certificate = release.certificate
    caveats = certificate.get("caveats")
    texts = [certificate.get(name) for name in ("neighbours", "composition")]
    texts += caveats if isinstance(caveats, list) else []
    words_given = [html.Li(text) for text in texts if isinstance(text, str)]
    return [html.H2("In the certificate's own words"), html.Ul(words_given)] if words_given else []


def _reading(release: ServedRelease) -> list[Any]:
    states = ", ".join(words.covered_states(release)) or "not stated"
    return [
        html.H2("How to read the numbers"),
        html.Ul(
            [
                html.Li(
                    f"Workplaces covered: {states}. Jobs of residents in other states are not in the release."
                ),
                html.Li(
                    "Homes outside the mapped area are known by state only. They are in every count and "
                    "table, have no dot, "
                    "and their distance is measured from the middle of the state."
                ),
                html.Li(
                    "Distances are great-circle miles between block centres, not miles on the road; zero "
                    "within one block."
                ),
                html.Li(
                    "Counts of 10 and more are fine to use; 3 to 9 call for caution; 1 and 2 vary "
                    "substantially from draw to draw."
                ),
                html.Li(
                    "With more than 100,000 workers in view the map draws their density, in workers per "
                    "square mile, "
                    "smoothed over one or two pixels."
                ),
                html.Li(
                    "The address of the page holds the whole view: save it, or send it, and the same view "
                    "comes back."
                ),
            ]
        ),
        html.P(dcc.Link("Back to the map", href=f"./?release={release.slug}")),
    ]


def _rounded(value: float) -> str:
    return f"{value:.1f}" if value < 10 else f"{float(f'{value:.2g}'):,.0f}"
