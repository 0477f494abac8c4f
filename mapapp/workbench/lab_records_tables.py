"""Tables of the method lab's page on worker records: the records, their partitions, and the law of one candidate."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import dash_mantine_components as dmc
from dash import html
from dash.development.base_component import Component

from mapapp.answers.words import aria, plain
from mapapp.workbench.fields import Content, table
from mapapp.workbench.lab_records_example import (
    ATTRIBUTES,
    EARNS,
    LIVES,
    OUTPUTS,
    WORKS,
    Comparison,
    Group,
    Record,
    RecordsExample,
    log,
)
from mapapp.workbench.lab_tables import digits

__all__ = [
    "editor",
    "law_table",
    "model_said",
    "noise_said",
    "numbers",
    "partition_table",
    "row_styles",
    "verdict",
]

_HIDDEN = {"display": "none"}


def editor(records: Sequence[Record], n: int) -> Component:
    """The editable records; the last one is the worker in question."""
    styles = row_styles(len(records), n)
    rows = [
        html.Tr(
            [html.Th(_row_name(row, len(records)), scope="row"), *_fields(row, len(records), record)],
            id={"type": "records-row", "row": row},
            style=styles[row],
        )
        for row, record in enumerate(records)
    ]
    head = html.Thead(html.Tr([html.Th(name, scope="col") for name in ("Worker", *ATTRIBUTES)]))
    return html.Div(
        html.Table([head, html.Tbody(rows)], className="grid editor"),
        className="wide",
        tabIndex=0,
        role="region",
        **aria(label="Records"),
    )


def row_styles(n_rows: int, n: int) -> list[dict[str, str]]:
    """Which rows of the editor are shown: the first n, and the worker in question."""
    return [{} if row < n or row == n_rows - 1 else _HIDDEN for row in range(n_rows)]


def _fields(row: int, n_rows: int, record: Record) -> list[Component]:
    return [
        html.Td(
            dmc.SegmentedControl(
                id={"type": "records-value", "row": row, "attribute": attribute},
                data=[{"value": str(code), "label": label} for code, label in enumerate(labels)],
                value=str(record[attribute]),
                size="xs",
                fullWidth=True,
                color="blue.8",
                **aria(label=f"{name}, worker {_row_name(row, n_rows)}"),
            )
        )
        for attribute, (name, labels) in enumerate(ATTRIBUTES.items())
    ]


def _row_name(row: int, n_rows: int) -> str:
    return "W, in question" if row == n_rows - 1 else str(row + 1)


def numbers(compared: Comparison) -> Component:
    """Theorem 1's ε and δ beside the exact ones."""
    needed = compared.growth_needed
    facts = [
        (
            "records-stated",
            f"{log(compared.stated_growth):.4f}, {plain(float(compared.stated_delta))}",
            "Theorem 1 states (ε, δ)",
        ),
        ("records-delta", digits(float(compared.delta)), "the exact δ at that ε"),
        (
            "records-epsilon",
            "∞" if needed is None else digits(log(needed)),
            "the exact ε at that δ",
        ),
    ]
    return html.Dl(
        [html.Div([html.Dt(text), html.Dd(value, id=name)], className="tile") for name, value, text in facts],
        className="tiles three",
        **aria(live="polite", label="Theorem 1 and the exact numbers"),
    )


def verdict(compared: Comparison, example: RecordsExample) -> str:
    """Whether the theorem's statement is true here, and why."""
    delta, stated = compared.delta, compared.stated_delta
    seen = compared.counted > len(OUTPUTS)
    if compared.holds:
        what = "everything that can happen, “no output” included" if seen else "published records"
        times = f", {_times(stated / delta)} times the exact one" if delta else "; the exact one is 0"
        return f"The statement is true of {what}: its δ is {plain(float(stated))}{times}."
    fails_without, fails_with = compared.without[-1], compared.with_worker[-1]
    text = (
        f"The statement is false: the exact δ is {_times(delta / stated)} times the stated one. “No output” has "
        f"probability {digits(float(fails_without))} without the worker and {digits(float(fails_with))} with them."
    )
    if example.forced_fail == 0:
        return text + " Hide failures, or raise the forced failure β."
    return text + " Raise the forced failure β further."


def model_said() -> str:
    """The public model's chances in one line."""
    works, lives, earns = ATTRIBUTES.values()
    parts = [f"the workplace is {_with_chances(works, WORKS)}"]
    for place, living, earning in zip(works, LIVES, EARNS, strict=True):
        parts.append(
            f"a worker of {place} lives {_with_chances(lives, living)} and has earnings {_with_chances(earns, earning)}"
        )
    return f"Public model (chance in parentheses): {'; '.join(parts)}."


def _with_chances(names: Sequence[str], chances: Sequence[Fraction]) -> str:
    *first, last = (f"{name} ({chance})" for name, chance in zip(names, chances, strict=True))
    return f"{', '.join(first)}{',' * (len(first) > 1)} or {last}"


def noise_said(compared: Comparison, example: RecordsExample) -> str:
    """Which fraction the noise uses."""
    a = example.noise
    return (
        f"The noise falls by a factor of a = {a} per step, in place of e^−ε₀, so that every probability is a fraction; "
        f"its ε₀ is {-log(a):.5f}. Theorem 1 then has e^ε = (1 + γ/t)/a = {compared.stated_growth} and "
        f"δ = a^(k − t) = {compared.stated_delta}. The exact δ is {compared.delta}."
    )


def partition_table(example: RecordsExample) -> Component:
    """Every candidate that can be made, with the groups of its possible seeds."""
    rows: list[tuple[Content, list[Content]]] = []
    for candidate in OUTPUTS:
        for place, group in enumerate(example.groups(candidate)):
            rows.append((_words(candidate) if place == 0 else "", _group_cells(group, example)))
    return table(
        "Possible seeds of each candidate",
        ["Candidate", "Group i", "Workers", "Chance p", "Passes without W", "Passes with W"],
        rows,
        "fractions",
    )


def _group_cells(group: Group, example: RecordsExample) -> list[Content]:
    last = len(example.others)
    members = ", ".join("W" if row == last else str(row + 1) for row in group.members)
    alone = group.members == (last,)
    return [
        "equal p" if group.index is None else str(group.index),
        f"{members} ({len(group.members)})",
        ", ".join(map(str, group.chances)),
        html.Td("no such seed") if alone else _number(group.passes_without),
        _number(group.passes_with),
    ]


def law_table(compared: Comparison) -> Component:
    """The probability of each output that can come out, exactly, without and with the worker."""
    rows: list[tuple[Content, list[Content]]] = []
    for place, (without, with_worker) in enumerate(zip(compared.without, compared.with_worker, strict=True)):
        if without or with_worker:
            name = "No output" if place == len(OUTPUTS) else _words(OUTPUTS[place])
            rows.append((name, [_number(without), _number(with_worker), _share_of_delta(compared, place)]))
    return table(
        "Probability of each output", ["Output", "Without W", "With W", "Adds to δ"], rows, "fractions"
    )


def _share_of_delta(compared: Comparison, place: int) -> Component:
    if place >= compared.counted:
        return html.Td("not seen", className="quiet")
    low, high = compared.without[place], compared.with_worker[place]
    if compared.delta_removed > compared.delta_added:
        low, high = high, low
    share = high - compared.stated_growth * low
    if share <= 0:
        return html.Td("0")
    return html.Td(digits(float(share)), className="fails" if share > compared.stated_delta else "")


def _times(ratio: Fraction) -> str:
    return f"{float(ratio):,.0f}" if ratio >= 100 else plain(float(ratio))


def _words(record: Record) -> str:
    return ", ".join(labels[value] for value, labels in zip(record, ATTRIBUTES.values(), strict=True))


def _number(value: Fraction) -> Component:
    """A fraction with its decimal below it."""
    return html.Td([str(value), *([html.Small(digits(float(value)))] if value.denominator > 1 else [])])
