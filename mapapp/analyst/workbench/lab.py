"""The method lab: the two categories of the 2010 slides, to see what a promise is about and where the slides differ.

Nothing here is confidential; it is part of the workbench because such choices are made there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, TypedDict, cast

from dash import ALL, Dash, Input, Output, State, ctx, dcc, html, no_update
from dash.development.base_component import Component

from engine.accountant.two_categories import (
    MOST_WORKERS,
    ExampleMechanism,
    Reading,
    TwoCategories,
    two_categories,
)
from mapapp.analyst.workbench.fields import Answers, choice, format_number, slider, table
from mapapp.answers.words import aria, plain

# What the method lab says: why the numbers are what they are, and where the papers depart from their definitions.

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


def explain_count(given: Choices) -> list[Component | str]:
    """What the reading counts as a failure."""
    if given["reading"] == "printed":
        return [
            "As the slides count: a release fails for a table if a neighboring table makes it more than e^ε times as "
            "likely. It does not fail for the table that makes it likelier. δ is an average: tables are drawn from the "
            "prior, so each cell holds the probability of the table times that of the release, and δ is the sum of the "
            "marked cells."
        ]
    return [
        "As the paper of 2008 defines it (Definitions 5 and 6): a release fails for a table if any two neighbors, "
        "among the table itself and those one worker away from it, differ by more than e^ε in either direction. "
        "δ is the failure probability of the ",
        html.Strong("worst"),
        " table, because any table may be the true one.",
    ]


def explain_source(given: Choices) -> list[Component]:
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
            "Theorem 4.1 of the paper of 2008, with no δ at all. If α is smaller, failing releases must be rare. The "
            "accountants of this program bound how rare they are, for tables too large to be written out.",
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

    def state_needed(mechanism: ExampleMechanism) -> str:
        return f"{example(mechanism, 'definition').epsilon_needed:.6f}"

    items = [
        (
            "The heading says Dirichlet-multinomial, but the numbers are not.",
            f"The slides print ε = {state_needed('plug-in')} = 5 ln 3 for “E[M(m, π)]”. That is the plug-in. The "
            f"Dirichlet-multinomial itself needs ε = {state_needed('dirichlet-multinomial')} = ln 11, less than half.",
        ),
        (
            "δ is averaged and counted on one side.",
            f"The slides' δ = {delta('plug-in', 'printed')} at ε = 2 can only be obtained in this way. "
            f"By Definition 6, the same table has δ = {delta('plug-in', 'definition')}, and the Dirichlet-multinomial "
            f"{delta('dirichlet-multinomial', 'definition')}.",
        ),
        (
            "The tables' own probabilities are plug-in too.",
            "The slides say that Pr[n] “is based on the prior D(α)”. The printed joint table has 1/32, 5/32, 10/32 …: "
            "binomial at the prior mean. Under D(½, ½) itself, (0, 5) would have probability 63/256, eight times as "
            "much.",
        ),
        (
            "One nine too many.",
            "The slides write “99.99999%” beside δ = 10⁻⁶, which is 99.9999%.",
        ),
        (
            "The least prior weights in the paper of 2008 do not follow from its theorem.",
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
            "The slides drop the workers of eliminated points. Then tables that differ in one worker can differ in n, "
            "and the proof of 2008 is only of tables with the same n. So eliminated points are pooled here by default.",
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


# The method lab's tables: probabilities, log ratios, and the cells where a promise fails.

_SHADE: Final = "rgba(42, 109, 181, {:.3f})"


def numbers(example: TwoCategories, given: Choices) -> Component:
    """The ε it needs, δ, and where δ is attained."""
    n = given["n"]
    worst = "none" if example.worst is None else f"({example.worst}, {n - example.worst})"
    rows = [
        (
            "lab-needed",
            digits(example.epsilon_needed),
            "the largest |ln ratio|: the ε at which nothing fails",
        ),
        (
            "lab-delta",
            digits(example.delta),
            f"δ at ε = {given['epsilon']:g}, {READINGS[given['reading']].lower()}",
        ),
        ("lab-worst", worst, "the table (n₁, n₂) that fails most often")
        if given["reading"] == "definition"
        else ("lab-worst", "averaged", "over all tables, by their prior probability"),
    ]
    tiles = [
        html.Div([html.Dt(text), html.Dd(value, id=name)], className="tile") for name, value, text in rows
    ]
    return html.Dl(tiles, className="tiles three", **aria(live="polite", label="The promise in numbers"))


def transition_table(example: TwoCategories, given: Choices) -> Component:
    """Probability of every output for every table."""
    rows = [
        (
            f"({row}, {given['n'] - row})",
            [_cell(value, shade=value, fails=False) for value in example.transition[row]],
        )
        for row in range(given["n"] + 1)
    ]
    return table("Probability of each release, by table", ["(n₁, n₂)", *_outputs(given)], rows, "numbers")


def ratio_table(example: TwoCategories, given: Choices) -> Component:
    """Log ratios of neighboring tables, those above ε marked."""
    n, epsilon = given["n"], given["epsilon"]
    rows = [
        (
            f"({row}, {n - row}) and ({row + 1}, {n - row - 1})",
            [
                _cell(value, shade=min(value / (2 * epsilon), 0.5), fails=value > epsilon + 1e-12)
                for value in example.log_ratio[row]
            ],
        )
        for row in range(n)
    ]
    return table("|ln ratio| of neighboring tables", ["Tables", *_outputs(given)], rows, "numbers")


def failure_table(example: TwoCategories, given: Choices) -> Component:
    """The failing outputs of every table and their probability."""
    n, weight = given["n"], example.table_weight
    shown = example.transition if weight is None else weight[:, None] * example.transition
    rows = []
    for row in range(n + 1):
        cells = [
            _cell(value, shade=0, fails=bool(fails))
            for value, fails in zip(shown[row], example.failing[row], strict=True)
        ]
        best = row == example.worst
        rows.append(
            (
                f"({row}, {n - row})",
                [
                    *cells,
                    html.Td(digits(float(example.failure[row])), className="number sum" + " worst" * best),
                ],
            )
        )
    caption = (
        "Probability of each release, failing ones marked"
        if weight is None
        else "Probability of table and release together, failing ones marked"
    )
    return table(caption, ["(n₁, n₂)", *_outputs(given), "fails"], rows, "numbers failures")


def _outputs(given: Choices) -> list[str]:
    return [f"({first}, {given['m'] - first})" for first in range(given["m"] + 1)]


def _cell(value: float, *, shade: float, fails: bool) -> Component:
    return html.Td(
        [html.Span("✗ ", title="fails") if fails else None, digits(float(value))],
        className="number fails" if fails else "number",
        style={"background": _SHADE.format(0.55 * float(shade))} if shade > 0 and not fails else {},
    )


def digits(value: float) -> str:
    """Six decimals as on the slides; what they cannot show, by its power of ten."""
    if value == 0 or value >= 1e-4:
        return f"{value:.6f}" if value else "0"
    return plain(value)


PRESETS: Final[dict[str, tuple[str, PartialChoices]]] = {
    "slides": ("The slides' table, as printed", {"mechanism": "plug-in", "reading": "printed"}),
    "slides-definition": ("The same table, by definition", {"mechanism": "plug-in", "reading": "definition"}),
    "meant": (
        "The synthesizer in its heading",
        {"mechanism": "dirichlet-multinomial", "reading": "definition"},
    ),
    "safe": (
        "The same with enough prior",
        {"mechanism": "dirichlet-multinomial", "reading": "definition", "alpha": 0.8},
    ),
    "noise": ("The slides' Laplace table", {"mechanism": "laplace", "reading": "printed"}),
}
CONTROLS: Final = ("mechanism", "reading", "n", "m", "alpha", "epsilon")


def page() -> Component:
    """The page, as the slides have it: choices on the left, what follows from them on the right."""
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
        *discrepancies(),
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
        numbers(example, given),
        html.H2("1. What each table may become"),
        html.P(
            "Each row is a confidential table (n₁ workers in place 1, the others in place 2), and each column is a "
            "possible release. Each number is the probability of that release for that table; every row sums to 1."
        ),
        transition_table(example, given),
        html.H2("2. What a release reveals about one worker"),
        html.P(
            "If one worker moves from place 2 to place 1, one row becomes the next, and each release becomes more or "
            "less likely by some ratio. The table shows |ln| of that ratio. The promise allows at most ε; cells above "
            "it are marked ✗."
        ),
        ratio_table(example, given),
        html.P(odds(example, given), className="said"),
        html.H2("3. How often the promise fails"),
        html.P(explain_count(given)),
        failure_table(example, given),
        html.H2("Why"),
        *explain_source(given),
    ]


# The callbacks of the method lab.

_SLIDERS = ("n", "m", "alpha", "epsilon")


def register(app: Dash) -> None:
    """Attach them to an app."""

    @app.callback(
        Output("lab-answer", "children"),
        Output("lab-m", "disabled"),
        *[Output(f"lab-{name}-shown", "children") for name in _SLIDERS],
        *[Input(f"lab-{name}", "value") for name in CONTROLS],
        prevent_initial_call=True,
    )
    def write_out(*values: object) -> Answers:
        given = example_arguments(dict(zip(CONTROLS, values, strict=True)))
        follows = given["mechanism"] == "laplace" and given["reading"] == "printed"
        return (
            answer(given),
            follows,
            *[format_number(number) for number in (given["n"], given["m"], given["alpha"], given["epsilon"])],
        )

    @app.callback(
        *[Output(f"lab-{name}", "value") for name in CONTROLS],
        Input({"type": "preset", "name": ALL}, "n_clicks"),
        *[State(f"lab-{name}", "value") for name in CONTROLS],
        prevent_initial_call=True,
    )
    def start_from(clicks: list[int], *now: object) -> Answers:
        if not any(clicks) or not isinstance(ctx.triggered_id, dict):
            return [no_update] * len(CONTROLS)
        wanted: Mapping[str, object] = {**START, **PRESETS[ctx.triggered_id["name"]][1]}
        return [
            no_update if wanted[name] == old else wanted[name]
            for name, old in zip(CONTROLS, now, strict=True)
        ]
