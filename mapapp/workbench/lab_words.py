"""What the method lab says: why the numbers are what they are, and where the papers depart from their definitions."""

from __future__ import annotations

import math
from typing import Final, TypedDict

from dash import dcc, html
from dash.development.base_component import Component

from engine.two_categories import ExampleMechanism, Reading, TwoCategories, two_categories

MECHANISMS: Final = {
    "plug-in": "Plug-in",
    "dirichlet-multinomial": "Dirichlet",
    "laplace": "Laplace",
}
READINGS: Final[dict[Reading, str]] = {"printed": "As printed", "definition": "By definition"}


class Choices(TypedDict):
    """What the controls of the method lab say."""

    mechanism: ExampleMechanism
    reading: Reading
    n: int
    m: int
    alpha: float
    epsilon: float


class PartialChoices(TypedDict, total=False):
    """Choices that a preset changes."""

    mechanism: ExampleMechanism
    reading: Reading
    alpha: float


START: Final[Choices] = {
    "mechanism": "plug-in",
    "reading": "printed",
    "n": 5,
    "m": 5,
    "alpha": 0.5,
    "epsilon": 2.0,
}


def odds(example: TwoCategories, given: Choices) -> str:
    """What the most revealing release reveals, as odds."""
    n, m = given["n"], given["m"]
    row, column = divmod(int(example.log_ratio.argmax()), m + 1)
    above = example.transition[row + 1, column] > example.transition[row, column]
    ratio = math.exp(example.log_ratio[row, column])
    known = (
        f"that {n - 1} of the {n} workers are ({row}, {n - 1 - row})"
        if n > 1
        else "that the workplace has one worker"
    )
    return (
        f"The most revealing release: if ({column}, {m - column}) comes out, and you know {known}, the odds are "
        f"{ratio:,.3g} : 1 that the {'remaining' if n > 1 else 'only'} worker lives in place {1 if above else 2}."
    )


def how_counted(given: Choices) -> list[Component | str]:
    """What the reading counts as a failure."""
    if given["reading"] == "printed":
        return [
            "As the slides count: a release fails for a table if a neighboring table makes it more than e^ε times as "
            "likely. It does not fail for the table that makes it likelier. δ is an average: tables are drawn from the "
            "prior, so each cell holds the probability of the table times that of the release, and δ is the sum of the "
            "marked cells."
        ]
    return [
        "As P08 defines it (Definitions 5 and 6): a release fails for a table if any two neighbors, among the table "
        "itself and those one worker away from it, differ by more than e^ε in either direction. δ is the failure "
        "probability of the ",
        html.Strong("worst"),
        " table, because any table may be the true one.",
    ]


def why(given: Choices) -> list[Component]:
    """Where the numbers come from."""
    epsilon, m, n, alpha = given["epsilon"], given["m"], given["n"], given["alpha"]
    texts: dict[str, list[str]] = {
        "plug-in": [
            "The plug-in draws every worker independently from the posterior mean: place 1 has probability "
            "(n₁ + α)/(n + 2α). Evidence from independent draws multiplies: the largest ratio is ((1 + α)/α)^m = "
            f"{math.exp(m * math.log1p(1 / alpha)):,.4g}, so the ε it needs grows in proportion to m.",
            f"For ε = {epsilon:g}, nothing fails if α is at least 1/(e^(ε/m) − 1) = {1 / math.expm1(epsilon / m):.3f}.",
        ],
        "dirichlet-multinomial": [
            "Here one unknown share π is drawn first, and all m workers follow it. A run of workers from place 1 can "
            "mean chance or a high π, and nobody can tell which. So the largest ratio is only "
            f"(α + m)/α = {1 + m / alpha:,.4g}: its logarithm hardly grows with m.",
            f"For ε = {epsilon:g}, nothing fails if α is at least m/(e^ε − 1) = {m / math.expm1(epsilon):.3f}. That is "
            "P08's Theorem 4.1, with no δ at all. If α is smaller, failing releases must be rare. The accountants of "
            "this program bound how rare they are, for tables too large to be written out.",
        ],
        "laplace": [
            "Noise is added to the number of workers itself, and its probability falls by a factor of at most e^ε from "
            "one number to the next. So no release can reveal more than that, whatever the table: δ is 0, and α "
            "matters only if no noisy worker is left at all.",
            "The price is noise on every place, including those where nobody lives. With two places, that costs "
            "little; with ten thousand, noise alone makes thousands of workers.",
        ],
    }
    if given["mechanism"] == "laplace":
        texts["laplace"].append(
            "As printed: continuous noise of scale 1/ε on n₁ alone, rounded and clamped to 0 … n (so m = n here). The "
            "slides say scale 2/ε, and their numbers have 1/ε, which is right for two places: n is public, so one "
            "number says all."
            if given["reading"] == "printed"
            else "By definition here: discrete noise of scale 2/ε on both, since a worker who moves changes two "
            "numbers; then m workers in proportion, as can be drawn for any number of places."
        )
    if n == 1:
        texts[given["mechanism"]].append("With a single worker the neighboring table is the opposite one.")
    return [html.P(text) for text in texts[given["mechanism"]]]


def discrepancies() -> list[Component]:
    """Where the papers depart from their definitions, with the numbers recomputed."""

    def example(mechanism: ExampleMechanism, reading: Reading) -> TwoCategories:
        n, m, alpha, epsilon = START["n"], START["m"], START["alpha"], START["epsilon"]
        return two_categories(mechanism, reading, n=n, m=m, alpha=alpha, epsilon=epsilon)

    def delta(mechanism: ExampleMechanism, reading: Reading) -> str:
        return f"{example(mechanism, reading).delta:.4g}"

    def needed(mechanism: ExampleMechanism) -> str:
        return f"{example(mechanism, 'definition').epsilon_needed:.6f}"

    items = [
        (
            "The heading says Dirichlet-multinomial, but the numbers are not.",
            f"P10 prints ε = {needed('plug-in')} = 5 ln 3 for “E[M(m, π)]”. That is the plug-in. The "
            f"Dirichlet-multinomial itself needs ε = {needed('dirichlet-multinomial')} = ln 11, less than half.",
        ),
        (
            "δ is averaged and counted on one side.",
            f"P10's δ = {delta('plug-in', 'printed')} at ε = 2 can only be obtained in this way. "
            f"By Definition 6, the same table has δ = {delta('plug-in', 'definition')}, and the Dirichlet-multinomial "
            f"{delta('dirichlet-multinomial', 'definition')}.",
        ),
        (
            "The tables' own probabilities are plug-in too.",
            "P10 says that Pr[n] “is based on the prior D(α)”. The printed joint table has 1/32, 5/32, 10/32 …: "
            "binomial at the prior mean. Under D(½, ½) itself, (0, 5) would have probability 63/256, eight times as "
            "much.",
        ),
        (
            "One nine too many.",
            "P10 writes “99.99999%” beside δ = 10⁻⁶, which is 99.9999%.",
        ),
        (
            "P08's least prior weights do not follow from its theorem.",
            "It reports 0.01245 (k = 233,726) and 0.039764 (k = 120,690) for about 15 workers. Theorem 4.4 as stated "
            "gives 0.0386 and 0.0433 at δ = 10⁻⁵. For up to 3 workers it has no solution at all; the small workplaces "
            "need Theorem 4.1.",
        ),
        (
            "Pruning does not leave δ alone.",
            "Theorem 5.2 keeps δ while pruning makes the prior smaller. By enumeration with k = 3, n = 4, α = (0.512, "
            "0.856, 0.976), retention 0.025, ε = 1.95: δ = 0.0166 before pruning and 0.0283 after it, at the ε′ that "
            "the theorem states. The sound accountant certifies drawing and pruning as one.",
        ),
        (
            "Dropping workers changes n.",
            "P10 drops the workers of eliminated points. Then tables that differ in one worker can differ in n, and "
            "P08's proof covers only tables with the same n. So eliminated points are pooled here by default.",
        ),
    ]
    return [
        html.H2("Where the papers depart from their definitions"),
        html.Ol(
            [html.Li([html.Strong(head + " "), text]) for head, text in items], className="discrepancies"
        ),
        html.P(
            [
                "docs/theory/method.md, section 9, explains all of these, and you can recompute them. ",
                dcc.Link("Back to the workbench", href="./"),
            ]
        ),
    ]
