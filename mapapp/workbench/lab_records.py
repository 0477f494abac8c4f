"""The method lab's page on worker records: what one candidate shows of one worker, exactly, beside Theorem 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from dash import html
from dash.development.base_component import Component

from mapapp.answers.words import aria
from mapapp.workbench import lab_records_tables
from mapapp.workbench.fields import choice, slider
from mapapp.workbench.lab_pages import lab_page
from mapapp.workbench.lab_records_example import (
    ATTRIBUTES,
    FEWEST,
    MOST,
    Record,
    RecordsExample,
    compare,
    noise_fraction,
)

__all__ = ["CONTROLS", "PRESETS", "SLIDERS", "answer", "example_of", "page", "shown_values", "start"]

_SLIDERS: Final = {
    "n": (
        "Other workers n",
        (FEWEST, MOST, 1),
        "Besides W, the worker in question.",
    ),
    "k": ("Plausible seeds k", (2, MOST, 1), "At most n, as the theorem needs."),
    "similarity": ("Similarity γ", (1, 4, 0.5), ""),
    "rate": ("Threshold ε₀", (0.1, 3, 0.1), "Noise on k; less noise for larger ε₀."),
    "t": ("The theorem's t", (1, MOST - 1, 1), "Any number below k: a larger one lowers ε and raises δ."),
    "forced": ("Forced failure β", (0, 0.2, 0.01), ""),
}
SLIDERS: Final = tuple(_SLIDERS)
CONTROLS: Final = (*SLIDERS, "kept", "failures")
_KEPT: Final = {"0": "0", "1": "1", "2": "2", "3": "All", "any": "Random"}
_FAILURES: Final = {"hidden": "No", "seen": "Yes"}
_SAME: Final[Record] = (0, 0, 1)
_ODD: Final[Record] = (1, 1, 2)
_MIXED: Final[tuple[Record, ...]] = (
    (0, 0, 1),
    (0, 0, 2),
    (0, 1, 2),
    (0, 1, 0),
    (0, 0, 2),
    (1, 0, 0),
    (1, 0, 0),
    (1, 0, 1),
    (0, 1, 1),
    _ODD,
)
_CARD: Final[dict[str, float | str]] = {
    "n": 9,
    "k": 6,
    "similarity": 2,
    "rate": 2,
    "t": 1,
    "forced": 0,
    "kept": "3",
    "failures": "seen",
}
_START: Final[dict[str, float | str]] = {
    "n": 8,
    "k": 4,
    "similarity": 2,
    "rate": 1,
    "t": 2,
    "forced": 0,
    "kept": "2",
    "failures": "hidden",
}
_ALONE: Final = (*((_SAME,) * MOST), _ODD)
PRESETS: Final[dict[str, tuple[str, dict[str, float | str], tuple[Record, ...]]]] = {
    "mixed": ("Nine workers of two places", _START, _MIXED),
    "random": ("Kept at random: γ matters", {**_START, "n": 9, "kept": "any"}, _MIXED),
    "hidden": ("One unlike nine, failures hidden", {**_CARD, "failures": "hidden"}, _ALONE),
    "seen": ("The same, failures seen", _CARD, _ALONE),
    "forced": ("The same, with forced failure", {**_CARD, "forced": 0.05}, _ALONE),
}


def page() -> Component:
    """The page with the values that it starts from."""
    values, records = start("mixed")
    return lab_page("/lab-records", _controls(values), _text(values, records))


def start(preset: str) -> tuple[dict[str, float | str], tuple[Record, ...]]:
    """The controls and the records of a preset."""
    _, values, records = PRESETS[preset]
    return values, records


def _controls(values: Mapping[str, float | str]) -> Component:
    buttons = [
        html.Button(label, id={"type": "records-preset", "name": name}, n_clicks=0, className="preset")
        for name, (label, _, _) in PRESETS.items()
    ]
    return html.Div(
        [
            html.Section([html.H2("Start from"), *buttons], className="presets", **aria(label="Start from")),
            choice("records-failures", "“No output” is visible", str(values["failures"]), _FAILURES),
            choice(
                "records-kept",
                "Attributes kept from the seed",
                str(values["kept"]),
                _KEPT,
                "The first ones; the public model draws the others. Random: 0 to 3, and the test does not know.",
            ),
            *(
                slider(f"records-{name}", label, float(values[name]), bounds, hint)
                for name, (label, bounds, hint) in _SLIDERS.items()
            ),
        ],
        className="controls",
    )


def _text(values: Mapping[str, float | str], records: Sequence[Record]) -> list[Component]:
    return [
        html.H1("Plausible deniability in a few records"),
        html.P(
            "A synthesizer picks one of n workers as the seed, copies some attributes, and draws the others from a "
            "public model. The result is a candidate. It is published only if enough workers could have been its seed: "
            "at least k, give or take some noise. Theorem 1 says how little a published record reveals about any one "
            "worker. Change the records below: the numbers are exact."
        ),
        lab_records_tables.editor(records, int(values["n"])),
        html.P(lab_records_tables.model_said(), className="quiet small"),
        html.Div(answer(values, records), id="records-answer"),
        html.H2("What the theorem leaves out"),
        html.P(
            "The theorem is about published records. A candidate that fails publishes nothing, and the proof does not "
            "count that. But a worker unlike all others is the seed of one try in n + 1, and then the candidate nearly "
            "always fails. So anybody who sees the failure, or only notices how long the run took, learns that such a "
            "worker is there."
        ),
        html.P(
            "Forced failure mends this: each candidate fails with chance β whatever its seeds. Then a failure is never "
            "rare, and one worker changes its chance only by a factor that ε covers. The cost is a share β of the "
            "candidates. CommuteMap's own accountant charges every try and needs β above 0 where failures can be seen."
        ),
        html.P(
            "See docs/theory/synthetic-records.md, “Theorem 1”, for the proof and the example of nine equal records.",
            className="quiet",
        ),
    ]


def shown_values(values: Mapping[str, object]) -> dict[str, float]:
    """The sliders' values as the example takes them: inside their bounds, with k at most n and t below k."""
    inside = {}
    for name, (_, (least, most, _), _) in _SLIDERS.items():
        inside[name] = min(max(float(str(values[name])), least), most)
    inside["n"] = int(inside["n"])
    inside["k"] = min(int(inside["k"]), inside["n"])
    inside["t"] = min(int(inside["t"]), inside["k"] - 1)
    return inside


def example_of(values: Mapping[str, object], records: Sequence[Record]) -> RecordsExample:
    """The example that controls and records describe; the last record is the worker in question."""
    given, kept = shown_values(values), str(values["kept"])
    inside = [
        tuple(
            min(max(value, 0), len(names) - 1)
            for value, names in zip(record, ATTRIBUTES.values(), strict=True)
        )
        for record in records
    ]
    return RecordsExample(
        others=tuple(inside[: int(given["n"])]),
        worker=inside[-1],
        kept=tuple(range(len(ATTRIBUTES) + 1)) if kept == "any" else (int(kept),),
        k=int(given["k"]),
        t=int(given["t"]),
        similarity=Fraction(str(given["similarity"])),
        noise=noise_fraction(given["rate"]),
        forced_fail=Fraction(str(given["forced"])),
    )


def answer(values: Mapping[str, object], records: Sequence[Record]) -> list[Component]:
    """Everything that follows from the controls and the records.

    Raises
    ------
    ParameterError
        A value is outside what the mechanism has.
    """
    example = example_of(values, records)
    compared = compare(example, failures_seen=values["failures"] == "seen")
    return [
        lab_records_tables.numbers(compared),
        html.P(lab_records_tables.verdict(compared, example), className="said", role="status"),
        html.P(lab_records_tables.noise_said(compared, example), className="quiet small"),
        html.H2("1. Who could have been the seed"),
        html.P(
            "For each candidate, the workers are put into groups by their chance p of making it: group i holds chances "
            "from γ^−i down to, but not including, γ^−(i+1). Only the seed's own group counts as plausible. W is the "
            "worker in question."
        ),
        lab_records_tables.partition_table(example),
        html.H2("2. What comes out"),
        html.P(
            "The probability of each output of one try, without and with the worker. The last column is what the "
            "output adds to δ at the theorem's ε, in the direction that is worse."
        ),
        lab_records_tables.law_table(compared),
    ]
