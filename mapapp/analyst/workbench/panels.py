"""The right panel of Tune: what a setting promises and what it costs, the setting before drawn beside."""

from __future__ import annotations

import math
from typing import Final

import plotly.graph_objects as go
from dash import dcc, html
from dash.development.base_component import Component

from mapapp.analyst.validity.result import EpsilonPart, ExpectedPromise
from mapapp.analyst.workbench.fields import table
from mapapp.analyst.workbench.figures import GRAPH_CONFIG, alpha_chart
from mapapp.analyst.workbench.results import MeasuredSetting
from mapapp.answers.promise.lone_worker import odds_sentence, stay_text, true_tract_text
from mapapp.answers.words import aria, plain
from mapapp.kinds.base.count_exposure import CountExposure
from mapapp.kinds.release.make.margin_options import ShownMargins

MEASURES: Final = (
    ("kl_all", "KL, all destinations"),
    ("kl_small", "KL, small (1–9 workers)"),
    ("imse_all", "IMSE, all destinations"),
    ("imse_small", "IMSE, small (1–9 workers)"),
)
_OF_WHOM: Final = {
    "lone workers": "a worker alone in block and segment keeps the true area",
    "apart": "example: each worker of a unit keeps the true area, if all live apart",
}
_IN_TRACT: Final = {
    "lone workers": "is expected to be shown in the true tract",
    "apart": "example: is expected to be shown in the true tract, if all live apart",
}
_SHOWN_SIZES: Final = (1, 2, 3, 5, 9, 15, 30, 50, 100, 300, 1000)
_PART_COLOURS: Final = ("#1d4f9c", "#c9772b", "#6b8e3d")


def scope_lines(measured: MeasuredSetting) -> list[str]:
    """How much was measured, and how the numbers were found if not in closed form."""
    scope = measured.validity.facts["scope"]
    lines = [f"All {scope['tracts']:,} workplace tracts, {scope['workers']:,} workers."]
    if scope["is_sample"]:
        tracts = f"{scope['tracts_measured']:,} of {scope['tracts']:,} workplace tracts"
        lines = [f"A sample: {tracts}, evenly spaced; {scope['workers_measured']:,} workers."]
        if measured.job is not None and measured.job.state == "running":
            lines.append(" All tracts will follow.")
    if measured.validity.basis == "simulated":
        lines.append(" This mechanism was drawn a few times, so its numbers vary a little.")
    return lines


def glance(measured: MeasuredSetting) -> str:
    """The headline in one line, for a small screen."""
    plain, final = measured.validity.plain, measured.validity.facts["certificate"]["epsilon_final"]
    sample = " (sample)" if measured.extent == "sample" else ""
    top = "" if plain is None else f" · {plain.top_found:.1f} of 10 home tracts right"
    return f"ε′ {final:.3g}{top}{sample}"


def promise_card(measured: MeasuredSetting) -> Component:
    """ε′ and what makes it up, δ, and why a release would not be made."""
    certificate = measured.validity.facts["certificate"]
    final, delta = certificate["epsilon_final"], certificate["delta"]
    parts = [part for part in certificate["parts"] if abs(part["value"]) >= 5e-4]
    alpha = measured.validity.tables["least_alpha"]
    unpruned = certificate["accountant"] == "sound" and len(alpha) > 0 and not (alpha["prunes"] > 0).any()
    return html.Section(
        [
            html.H2("Promise"),
            html.Dl(
                [
                    _tile("epsilon-final", f"{final:.3f}", "ε′, pruning included"),
                    _tile("delta-now", plain(delta), "δ"),
                    *_lone_worker_tiles(certificate),
                ],
                className="tiles",
            ),
            html.P(
                "Nothing is pruned: at this promise, pruning would require larger weights.",
                className="quiet small",
            )
            if unpruned
            else _stack(parts, final),
            html.P(odds_sentence(final, delta_is_zero=delta == 0), className="quiet small"),
            html.P(_grounds(certificate), className="quiet small"),
            *(
                [
                    html.P(
                        ["No release would be made: ", certificate["refusal"], "."],
                        className="refusal",
                        role="status",
                    )
                ]
                if certificate["refusal"]
                else []
            ),
        ],
        className="card",
        **aria(label="Promise"),
    )


def counts_card(margins: ShownMargins, exposure: CountExposure) -> Component:
    """What a release says through exact numbers of workers, whatever the setting."""
    mark = (
        []
        if exposure.is_public
        else [html.Strong("CONFIDENTIAL: nobody has declared these numbers public. ")]
    )
    first, *others = exposure.sentences()
    return html.Section(
        [
            html.H2("Exact numbers of workers"),
            html.P(
                f"Every release made here shows the numbers of workers {margins.words} exactly. No setting protects "
                "what follows from them. To show fewer, start the workbench with --segments or --workplaces.",
                className="quiet small",
            ),
            html.P([*mark, first], id="counts-exposure"),
            *[html.P(text) for text in others],
        ],
        className="card",
        **aria(label="Exact numbers of workers"),
    )


def _lone_worker_tiles(certificate: ExpectedPromise) -> list[Component]:
    """What a lone worker risks, from public inputs: keeping the true support point, being shown in the true tract."""
    facts = certificate["lone_worker"]
    case, stay, tract = str(facts["case"]), stay_text(facts), true_tract_text(facts)
    tiles = [] if stay is None else [_tile("lone-worker", stay, _OF_WHOM[case])]
    return tiles if tract is None else [*tiles, _tile("lone-worker-tract", tract, _IN_TRACT[case])]


def _grounds(certificate: ExpectedPromise) -> str:
    bound = certificate["delta_bound"]
    proof = (
        "its own proof, no accountant needed"
        if certificate["accountant"] == "none"
        else f"the {certificate['accountant']} accountant"
    )
    certified = f"; largest bound on the failure probability {plain(bound)}" if bound is not None else ""
    return f"Certified by {proof}{certified}."


def _stack(parts: list[EpsilonPart], final: float) -> Component | None:
    """What makes ε′ up, as a bar and in words."""
    if not parts or min(part["value"] for part in parts) < 0:
        return None
    pieces = zip(parts, _PART_COLOURS, strict=False)
    return html.Div(
        [
            html.Div(
                [
                    html.Span(style={"width": f"{100 * part['value'] / final:.2f}%", "background": colour})
                    for part, colour in pieces
                ],
                className="stack",
                **aria(hidden="true"),
            ),
            html.Ul(
                [
                    html.Li(
                        [
                            html.Span(className="swatch", style={"background": colour}),
                            html.Span(part["name"]),
                            html.Span(f"{part['value']:.3f}", className="number"),
                        ]
                    )
                    for part, colour in zip(parts, _PART_COLOURS, strict=False)
                ],
                className="parts",
            ),
        ]
    )


def validity_card(measured: MeasuredSetting) -> Component:
    """KL and IMSE, all and small, beside the setting before."""
    now = measured.validity.summary
    before = measured.previous.summary if measured.previous is not None else {}
    top = max(
        (
            value
            for of in (now, before)
            for name, _ in MEASURES
            if math.isfinite(value := of.get(name, math.nan))
        ),
        default=1.0,
    )
    rows = [_measure(name, label, now.get(name, math.nan), before.get(name), top) for name, label in MEASURES]
    head = html.Tr(
        [
            html.Th("Measure", scope="col"),
            html.Th("", scope="col", **aria(hidden="true")),
            html.Th("now", scope="col"),
            html.Th("before", scope="col"),
        ]
    )
    return html.Section(
        [
            html.H2(before_cleaning(measured, "For statisticians: KL and IMSE")),
            html.Table([html.Thead(head), html.Tbody(rows)], className="measures"),
            html.P(_validity_words(measured), className="quiet small"),
        ],
        className="card",
        **aria(label="Validity"),
    )


def before_cleaning(measured: MeasuredSetting, title: str) -> str:
    """A title of numbers about draws, which says so if the release would be cleaned after the draw."""
    return f"{title}, before cleaning" if measured.setting.parameters.clean else title


def _validity_words(measured: MeasuredSetting) -> str:
    cleaned = (
        " KL and IMSE are of draws before cleaning, which moves workers after the draw; the planner's numbers above "
        "include cleaning."
        if measured.setting.parameters.clean
        else ""
    )
    return (
        "KL in nats between real and expected commutes on a grid of 29 cells, weighted by workers. 0 is perfect."
        + cleaned
    )


def _measure(name: str, label: str, now: float, before: float | None, top: float) -> Component:
    return html.Tr(
        [
            html.Th(label, scope="row"),
            html.Td(
                [_bar(now, top, "now"), *([_bar(before, top, "before")] if before is not None else [])],
                className="bars",
                **aria(hidden="true"),
            ),
            html.Td(digits(now), id=name.replace("_", "-"), className="number"),
            html.Td("" if before is None else digits(before), className="number quiet before"),
        ]
    )


def _bar(value: float, top: float, kind: str) -> Component:
    share = min(value / top, 1.0) if math.isfinite(value) and top > 0 else 0.0
    return html.Span(className=kind, style={"width": f"{100 * share:.1f}%"})


def digits(value: float) -> str:
    """A measure with four digits at most; a dash if it is missing."""
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:.4f}" if value < 10 else f"{value:,.1f}"


def weights_frame() -> Component:
    """Where least prior weights show: the chart stays while its lines change."""
    return html.Div(
        html.Section(
            [
                html.H2("Least prior weight by workforce"),
                dcc.Graph(id="alpha-chart", config=GRAPH_CONFIG, className="chart"),
                html.Div(id="weights"),
            ],
            className="card",
            id="weights-card",
            hidden=True,
            **aria(label="Least prior weight by workforce"),
        ),
        className="answer",
    )


def weights_chart(measured: MeasuredSetting) -> go.Figure | None:
    """The chart in it; None for a mechanism without least weights."""
    alpha = measured.validity.tables["least_alpha"]
    before = measured.previous.tables["least_alpha"] if measured.previous is not None else None
    return None if alpha.empty else alpha_chart(alpha, before)


def weights(measured: MeasuredSetting) -> list[Component]:
    """Prior mass that is kept, and least weights as a table."""
    alpha, summary = measured.validity.tables["least_alpha"], measured.validity.summary
    kept = f"prior workers kept, of {summary['prior_mass']:.3g}"
    share = percent(summary["prior_worker_share"])
    shown = alpha[alpha["n_workers"].isin(_SHOWN_SIZES)]
    rows = [
        (
            f"{int(row['n_workers']):,}",
            [
                html.Td(text, className="number")
                for text in (
                    f"{row['least_alpha_mean']:.4g}",
                    f"{row['prior_mass']:.4g}",
                    f"{row['kept_prior_mass']:.4g}",
                    f"{row['n_synthesizers']:,}",
                )
            ],
        )
        for row in shown.to_dict("records")
    ]
    return [
        html.Dl(
            [
                _tile("kept-mass", f"{summary['kept_prior_mass']:.3g}", kept),
                _tile("prior-share", share, "of synthetic workers come from the prior"),
            ],
            className="tiles",
        ),
        table(
            "By workers of a synthesizer: least α, prior mass before and after pruning, synthesizers",
            ["n", "least α", "prior", "kept", "number"],
            rows,
            "numbers small",
        ),
    ]


def ranges_card(measured: MeasuredSetting) -> Component:
    """Where real, synthetic and prior workers commute from, by distance, as on the last slide of 2010."""
    ranges = measured.validity.tables["ranges"]
    parts = []
    for who, title in (("all", "All destinations"), ("small", "Small destinations (1–9 workers)")):
        rows = [
            (
                row["range"],
                [_share_cell(row[f"{name}_{who}"], name) for name in ("likelihood", "posterior", "prior")],
            )
            for row in ranges.to_dict("records")
        ]
        parts.append(
            table(
                f"{title}: share of workers by miles",
                ["miles", "real", "posterior", "prior"],
                rows,
                "numbers small shares",
            )
        )
    return html.Section(
        [
            html.H2(before_cleaning(measured, "Commute ranges")),
            *parts,
            html.P("Prior: all of it, before pruning.", className="quiet small"),
        ],
        className="card",
        **aria(label="Commute ranges"),
    )


def _share_cell(value: float, kind: str) -> Component:
    if math.isnan(value):
        return html.Td("–", className="number")
    return html.Td(
        [
            html.Span(percent(value)),
            html.Span(
                className=f"share {kind}",
                style={"width": f"{100 * min(value, 1):.1f}%"},
                **aria(hidden="true"),
            ),
        ],
        className="number",
    )


def support_card(measured: MeasuredSetting) -> Component:
    """Support points by level and distance, after editing."""
    support = measured.validity.tables["support"]
    after = support[support["when"] == "after editing"]
    summary = measured.validity.summary
    rows = [
        (
            row["name"],
            [
                html.Td(f"{row['mean']:,.0f}", className="number"),
                html.Td(f"{row['min']:,}", className="number"),
                html.Td(f"{row['max']:,}", className="number"),
            ],
        )
        for row in after.to_dict("records")
        if row["max"] > 0 or row["by"] == "total"
    ]
    return html.Section(
        [
            html.H2("Support points of a workplace tract"),
            table(
                "After editing, by level and by miles",
                ["points", "mean", "least", "most"],
                rows,
                "numbers small",
            ),
            html.P(
                f"Where nobody lives, about {summary['n_support_kept']:.1f} of {summary['n_support']:.0f} are kept. "
                f"{percent(summary['edited_out_all'])} of real workers live in eliminated points.",
                className="quiet small",
            ),
        ],
        className="card",
        **aria(label="Support points"),
    )


_BEFORE_CLEANING: Final = (
    "These averages are of draws before cleaning, which moves workers from implausible homes after the draw. The "
    "averages of the release differ from them."
)


def distance_card(measured: MeasuredSetting) -> Component:
    """Average commutes by size of the destination."""
    miles = ("real_mi", "expected_mi", "real_short_mi", "expected_short_mi")
    rows = [
        (
            row["size"],
            [html.Td(_miles(row[name]), className="number") for name in miles],
        )
        for row in measured.validity.tables["distances"].to_dict("records")
        if row["n_destinations"]
    ]
    return html.Section(
        [
            html.H2(before_cleaning(measured, "Average commute, miles")),
            table(
                "By workers of the destination: all commutes, and short ones (below the median)",
                ["workers", "real", "expected", "real short", "expected"],
                rows,
                "numbers small",
            ),
            html.P(_BEFORE_CLEANING, className="quiet small") if measured.setting.parameters.clean else None,
        ],
        className="card",
        **aria(label="Average commute"),
    )


def _miles(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.1f}"


def percent(value: float) -> str:
    """A share; a dash if it is missing."""
    if math.isnan(value):
        return "–"
    return f"{100 * value:.1f}%" if value == 0 or value >= 0.0005 else "< 0.1%"


def _tile(name: str, value: str, text: str) -> Component:
    return html.Div([html.Dt(text), html.Dd(value, id=name)], className="tile")
