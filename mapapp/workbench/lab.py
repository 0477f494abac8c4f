"""The method lab: P10's two categories as a page, to see what a promise is about and where the slides differ from it.

Nothing here is confidential; it is part of the workbench because such choices are made there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

from dash import html
from dash.development.base_component import Component

from engine.two_categories import MOST_WORKERS, two_categories
from mapapp.answers.words import aria
from mapapp.workbench import lab_tables, lab_words
from mapapp.workbench.fields import choice, slider
from mapapp.workbench.lab_words import MECHANISMS, READINGS, START, Choices, PartialChoices

PRESETS: Final[dict[str, tuple[str, PartialChoices]]] = {
    "slides": ("P10's table, as printed", {"mechanism": "plug-in", "reading": "printed"}),
    "slides-definition": ("The same table, by definition", {"mechanism": "plug-in", "reading": "definition"}),
    "meant": (
        "The synthesizer in its heading",
        {"mechanism": "dirichlet-multinomial", "reading": "definition"},
    ),
    "safe": (
        "The same with enough prior",
        {"mechanism": "dirichlet-multinomial", "reading": "definition", "alpha": 0.8},
    ),
    "noise": ("P10's Laplace table", {"mechanism": "laplace", "reading": "printed"}),
}
CONTROLS: Final = ("mechanism", "reading", "n", "m", "alpha", "epsilon")


def page() -> Component:
    """The page, as P10 has it: choices on the left, what follows from them on the right."""
    return html.Main(
        [
            html.Aside(_controls(), className="panel ask", **aria(label="Choices")),
            html.Div(html.Article(_text(), className="lab-text"), className="text-page"),
        ],
        className="lab",
    )


def _text() -> list[Component]:
    return [
        html.H1("The method in two categories"),
        html.P(
            "A workplace has n workers, and each lives in place 1 or in place 2. That is the "
            "confidential table. A synthesizer draws m synthetic workers from it, and only these are "
            "published. With so few numbers, everything can be written out: what may be published, "
            "what it gives away, and how often."
        ),
        html.Div(answer(START), id="lab-answer"),
        *lab_words.discrepancies(),
    ]


def _controls() -> Component:
    buttons = [
        html.Button(label, id={"type": "preset", "name": name}, n_clicks=0, className="preset")
        for name, (label, _) in PRESETS.items()
    ]
    return html.Div(
        [
            html.Section([html.H2("Start from"), *buttons], className="presets", **aria(label="Start from")),
            choice("lab-mechanism", "Synthesizer", START["mechanism"], MECHANISMS),
            choice("lab-reading", "What fails, and how δ is counted", START["reading"], READINGS),
            slider("lab-n", "Workers n", START["n"], (1, MOST_WORKERS, 1)),
            slider("lab-m", "Synthetic workers m", START["m"], (1, MOST_WORKERS, 1)),
            slider("lab-alpha", "Prior weight α of each place", START["alpha"], (0.05, 3, 0.05)),
            slider("lab-epsilon", "Promise ε", START["epsilon"], (0.1, 6, 0.1)),
        ],
        className="controls",
    )


def example_arguments(values: Mapping[str, object]) -> Choices:
    """The controls as the example takes them: Laplace noise as printed has no m of its own."""
    known = {name: value for name, value in values.items() if value is not None}
    given = cast(Choices, {**START, **known})
    given["n"], given["m"] = int(given["n"]), int(given["m"])
    if given["mechanism"] == "laplace" and given["reading"] == "printed":
        given["m"] = given["n"]
    return given


def answer(values: Mapping[str, object]) -> list[Component]:
    """Everything that follows from the controls.

    Raises
    ------
    ParameterError
        A value is outside what the example has.
    """
    given = example_arguments(values)
    example = two_categories(
        given["mechanism"],
        given["reading"],
        n=given["n"],
        m=given["m"],
        alpha=float(given["alpha"]),
        epsilon=float(given["epsilon"]),
    )
    return [
        lab_tables.numbers(example, given),
        html.H2("1. What each table may become"),
        html.P(
            "Each row is a confidential table (n₁ workers in place 1, the others in place 2), and each column is a "
            "possible release. Each number is the probability of that release for that table; every row sums to 1."
        ),
        lab_tables.transition_table(example, given),
        html.H2("2. What a release reveals about one worker"),
        html.P(
            "If one worker moves from place 2 to place 1, one row becomes the next, and each release becomes more or "
            "less likely by some ratio. The table shows |ln| of that ratio. The promise allows at most ε; cells above "
            "it are marked ✗."
        ),
        lab_tables.ratio_table(example, given),
        html.P(lab_words.odds(example, given), className="said"),
        html.H2("3. How often the promise fails"),
        html.P(lab_words.how_counted(given)),
        lab_tables.failure_table(example, given),
        html.H2("Why"),
        *lab_words.why(given),
    ]
