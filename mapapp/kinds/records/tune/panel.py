"""The Records panel: what worker records would promise and lose, and how they compare, before any is published."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from dash import dcc, html
from dash.development.base_component import Component

from mapapp.analyst.workbench.fields import choice, number_field, percent, slider, table, typed_text
from mapapp.analyst.workbench.figures import GRAPH_CONFIG
from mapapp.analyst.workbench.job_progress import cancel_row
from mapapp.answers.words import aria, plain
from mapapp.kinds.records.make.plan import Plan, usual_tries
from mapapp.kinds.records.make.run import reasons_against
from mapapp.kinds.records.measure.groups import GroupSizes
from mapapp.kinds.records.measure.workers import RecordWorkers
from mapapp.kinds.records.tune.expected import ExpectedRecords, TriesCost
from mapapp.kinds.records.tune.figures import CHART_PIXELS, pass_rates
from mapapp.kinds.records.tune.setting import (
    KIND,
    NUMBERS,
    TEXTS,
    RecordValues,
    control_of,
    start_values,
    stops,
)

__all__ = [
    "CHARTS",
    "groups_table",
    "kept_list",
    "pass_table",
    "promise_tiles",
    "records_panel",
    "tries_table",
    "tries_words",
]

CHARTS: Final = {
    "pass": (
        "Who passes",
        "Read across: the larger k, the fewer candidates pass. Each curve keeps so many attributes, in the order "
        "above; "
        "the blue one is yours. The noise ε₀ is that of the setting.",
    ),
    "groups": (
        "Group sizes",
        "Share of workers who have the same first attributes as at least so many workers. Where the blue curve has "
        "fallen, groups are too small, and their commutes are lost or drawn from the model.",
    ),
    "tries": ("What tries cost", ""),
}
"""Title of each chart that follows the controls, and what to read from it."""
_GIVEN: Final = {"k": "k", "test": "k and ε₀", "epsilon": "ε"}
_SHOWN_SIZES: Final = (500, 1_000, 2_000)
_SHOWN_K: Final = (50, 100, 200, 500, 1_000, 2_000)


def records_panel(workers: RecordWorkers) -> Component:
    """What the panel has before it is opened.

    Parameters
    ----------
    workers : RecordWorkers
        Only their attributes and their number are read, which are public.
    """
    values = start_values(workers)
    most_tries = max(usual_tries(workers.n_workers), 1)

    def number(name: str) -> Component:
        place = f"{KIND}-{name}"
        return number_field(place, control_of(name), str(values[name]), stops(name, most_tries))

    return html.Div(
        [
            html.H2("Synthetic worker records"),
            html.P(
                [html.Strong("Nothing is charged here. "), _source(workers)],
                className="quiet",
            ),
            slider(
                f"{KIND}-kept",
                "Attributes kept from a real worker, the seed",
                int(str(values["kept"])),
                (0, len(workers.attributes.names), 1),
                "The first ones, in this order. Keeping nothing is the default of commutemap records.",
            ),
            html.Div(id=f"{KIND}-kept-list"),
            choice(
                f"{KIND}-given",
                "What you choose; the rest is computed",
                str(values["given"]),
                _GIVEN,
            ),
            html.Div([number(name) for name in NUMBERS], className="two-fields"),
            _more_settings(values),
            html.Div(id=f"{KIND}-said"),
            html.Div(
                [
                    html.Div(id=f"{KIND}-promise"),
                    *(_chart_card(name) for name in CHARTS),
                    _comparison(),
                    html.Div(id=f"{KIND}-results", className="cards"),
                ],
                id=f"{KIND}-answer",
                className="cards",
                hidden=True,
            ),
        ],
        className="answer",
    )


def _more_settings(values: RecordValues) -> Component:
    """What is rarely changed, out of sight at first."""
    title = "More settings"
    return html.Details(
        [
            html.Summary(title),
            html.Div(
                [
                    *(
                        _more_choice(name, str(values[name]))
                        for name in ("structure", "anyway", "accountant")
                    ),
                    *(typed_text(f"{KIND}-{name}", control_of(name), str(values[name])) for name in TEXTS),
                ],
                className="group",
            ),
        ],
        className="filters more-settings",
        **aria(label=title),
    )


def _more_choice(name: str, value: str) -> Component:
    control = control_of(name)
    return choice(f"{KIND}-{name}", control.label, value, control.choices, control.hint)


def _source(workers: RecordWorkers) -> str:
    """Which workers the records would be made from."""
    titles = [attribute.title for attribute in workers.attributes.attributes]
    if workers.has_further_attributes:
        return (
            f"Records would be made from the dataset's {workers.n_workers:,} worker records, with {len(titles)} "
            "attributes "
            "each."
        )
    return (
        f"This dataset has no worker records of its own, so records would be made from its {workers.n_workers:,} "
        "jobs, "
        f"with {len(titles)} attributes each."
    )


def _chart_card(name: str) -> Component:
    """A card whose chart stays while its curves change."""
    title, words = CHARTS[name]
    confidential = [html.P("Confidential: counted from real workers.", className="refusal")]
    return html.Section(
        [
            html.H2(title),
            *(confidential if name != "tries" else []),
            dcc.Graph(
                id=f"{KIND}-{name}-chart",
                config=GRAPH_CONFIG,
                className="chart",
                style={"height": f"{CHART_PIXELS}px"},  # it is there before its first figure
            ),
            html.P(words, className="quiet small", id=f"{KIND}-{name}-words"),
            html.Details([html.Summary("As a table"), html.Div(id=f"{KIND}-{name}-table")]),
        ],
        className="card",
        id=f"{KIND}-{name}-card",
        **aria(label=title),
    )


def _comparison() -> Component:
    title = "Seeded, seedless, and flows"
    return html.Section(
        [
            html.H2(title),
            html.P(
                "Draws this setting, records without seeds at the same ε, marginals, and the flows of the setting "
                "on the "
                "left, once each with the test key, and compares them with the real workers. Confidential; nothing "
                "is "
                "published or charged.",
                className="caution",
            ),
            html.Button("Draw and compare", id=f"{KIND}-draw", n_clicks=0, className="button"),
            cancel_row(KIND),
            html.Div(id=f"{KIND}-progress"),
        ],
        className="card",
        **aria(label=title),
    )


def kept_list(expected: ExpectedRecords) -> Component:
    """The attributes in order, those that are kept in bold: the key to the numbers on the curves."""
    kept = expected.plan.kept
    items = [
        html.Li(html.Strong(attribute.title) if number < kept else attribute.title)
        for number, attribute in enumerate(expected.plan.attributes.attributes)
    ]
    return html.Ol(
        items, className="kept-attributes", **aria(label="Attributes in the order in which they are kept")
    )


def promise_tiles(expected: ExpectedRecords, command: str, facts: Mapping[str, object]) -> list[Component]:
    """What the setting promises in both readings, the test, and the command that would make records of a dataset."""
    plan, seeds = expected.plan, expected.plan.seeds
    tiles = [
        ("epsilon-found", f"{float(plan.add_remove.epsilon):.4g}", "ε, one worker added or removed"),
        ("epsilon-charged", f"{float(plan.replace_one.epsilon):.4g}", "ε, one record replaced: the ledger"),
    ]
    if seeds is not None:
        rate = seeds.acceptance.threshold_epsilon
        tiles += [
            ("k-found", f"{seeds.acceptance.min_plausible_seeds:,}", "plausible seeds k"),
            ("rate-found", f"{float(rate or 0):.4g}", "threshold ε₀"),
            ("pass-rate", percent(expected.pass_rate), "of the tries pass (confidential)"),
        ]
    tiles.append(("delta-found", plain(float(plan.replace_one.delta)), "δ"))
    return [
        html.Section(
            [
                html.H2("Promise"),
                html.Dl(
                    [
                        html.Div([html.Dt(text), html.Dd(value, id=f"{KIND}-{name}")], className="tile")
                        for name, value, text in tiles
                    ],
                    className="tiles",
                    **aria(live="polite", label="Promise"),
                ),
                html.P(_seeds_words(expected), className="quiet small"),
                *[
                    html.P(f"Not for release: {reason}.", className="caution")
                    for reason in reasons_against(plan.choice, facts)
                ],
                html.P("This command makes the records, and charges the ledger:", className="small"),
                html.Code(
                    _unbroken(command), id=f"{KIND}-command", className="command-output command", tabIndex=0
                ),
                html.Div(
                    [
                        html.Button(
                            "Copy the command",
                            id=f"{KIND}-copy",
                            n_clicks=0,
                            value=command,
                            className="button",
                        ),
                        html.Span(id=f"{KIND}-copied", className="quiet small", role="status"),
                    ],
                    className="row-between",
                ),
            ],
            className="card",
            **aria(label="Promise"),
        )
    ]


def _unbroken(command: str) -> list[Component | str]:
    """The command with each option and its value kept on one line."""
    head, *options = command.split(" --")
    parts: list[Component | str] = [head]
    for option in options:
        parts += [" ", html.Span(f"--{option}")]
    return parts


def _seeds_words(expected: ExpectedRecords) -> str:
    """What stands behind a record, in one sentence."""
    seeds = expected.plan.seeds
    if seeds is None:
        return "Without seeds every record is drawn from the model, nothing is tested, and nothing can fail."
    least = max(math.floor(seeds.acceptance.seeds_but_for(0.01)), 1)
    return (
        f"Except for 1% of the tries, a record that passes shares its kept attributes with at least {least:,} "
        "workers "
        "who are seeds. Records of the model take the place of those that fail."
    )


def pass_table(expected: ExpectedRecords) -> Component:
    """Share of candidates that pass, by kept attributes and k."""
    chosen = expected.test.min_plausible_seeds
    counts = sorted({*_SHOWN_K, chosen})
    rows = [
        (name, [percent(float(rate)) for rate in pass_rates(sizes, expected.test, counts)])
        for name, sizes in zip(expected.names, expected.seed_sizes, strict=True)
    ]
    return table("Candidates that pass, by k", ["kept", *(f"{k:,}" for k in counts)], rows, "numbers small")


def groups_table(groups: Sequence[GroupSizes], names: Sequence[str]) -> Component:
    """Share of all workers in large groups, by kept attributes."""
    rows = [
        (
            name,
            [f"{sizes.n_groups:,}", *(percent(float(share)) for share in sizes.share_in(_SHOWN_SIZES))],
        )
        for name, sizes in zip(names, groups, strict=True)
    ]
    columns = ["kept", "groups", *(f"≥ {size:,}" for size in _SHOWN_SIZES)]
    return table("Workers in groups of at least so many", columns, rows, "numbers small")


def tries_table(cost: TriesCost) -> Component:
    """Epsilon by both accountants."""
    rows = [
        (f"{tries:,}", [plain(float(ours)), "–" if paper is None else f"{paper:,.4g}"])
        for tries, ours, paper in zip(cost.tries, cost.ours, cost.paper, strict=True)
    ]
    return table("ε by number of tries", ["tries", "this program", "the paper"], rows, "numbers small")


def tries_words(plan: Plan) -> str:
    """What to read from the lines, with both readings of the setting; nothing without seeds."""
    if plan.seeds is None:
        return ""
    seeds = plan.parts[0]
    return (
        f"The more tries, the larger ε. {plan.seeds.n_tries:,} tries cost ε {float(seeds.add_remove.epsilon):.4g} "
        "if one "
        f"worker is added or removed (the curves), and {float(seeds.replace_one.epsilon):.4g} if one record is "
        "replaced "
        "by another, which the ledger charges. The paper's line is Theorem 1 for each try, composed the better way, "
        "with "
        "the ε₀ that suits it best; it holds only if nobody learns how many candidates failed. Public numbers only."
    )
