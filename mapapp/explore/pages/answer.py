"""The answer to a question: its words, its key numbers, and what to do where there is none."""

from __future__ import annotations

import itertools
import math
from typing import Any

from dash import dcc, html

from mapapp.answers import served_answers, words
from mapapp.answers.analyses import COVERAGE
from mapapp.answers.entries import numbers_of, text_of
from mapapp.answers.results import (
    Change,
    InflowOutflow,
    Miles,
    Number,
    PairedAreas,
    Result,
)
from mapapp.answers.served_release import ServedRelease
from mapapp.answers.unit_names import name_parts
from mapapp.answers.words import aria
from mapapp.explore.pages.answer_charts import charts
from mapapp.explore.pages.bars import mark
from mapapp.question.address import Address, to_query
from mapapp.question.question import OTHER_END, Question

Tile = tuple[Any, str]


def answer(release: ServedRelease, address: Address, result: Result, missing: str) -> list[Any]:
    """What stands above the table; `missing` says what must still be chosen."""
    told, question = main_result(result), address.question
    n = main_number(told).value
    return [
        headline(release, question, result, missing),
        promise(release),
        asking_for(missing) if missing and question.areas else None,
        suggestions(release, question) if missing and not question.areas else None,
        tiles(result) if n and not missing else None,
        nobody(release, address) if not n else None,
        later_alone(result),
        *(charts(told) if n and not missing else []),
        remarks(result),
    ]


def main_result(result: Result) -> Result:
    """The answer itself; of a change, the later one."""
    return result.after if isinstance(result, Change) else result


def later_alone(result: Result) -> Any:
    """That the charts below a change are about the later release."""
    if not isinstance(result, Change):
        return None
    return html.P(f"The charts show {result.names[1]} alone.", className="quiet")


def main_number(result: Result) -> Number:
    """The number that stands first."""
    if isinstance(result, InflowOutflow):
        n = result.inflow.value + result.outflow.value + result.stay.value
        return Number(n)
    found = getattr(result, "workers", None)
    return found if isinstance(found, Number) else Number(0)


def headline(release: ServedRelease, question: Question, result: Result, missing: str) -> Any:
    """How many workers, and who they are."""
    told = main_result(result)
    number = main_number(told)
    unit = "synthetic worker" if number.value == 1 else "synthetic workers"
    about = told.about
    covered = about.has_note(COVERAGE)
    return html.Section(
        [
            html.P(_title(question, result, missing), className="analysis-name"),
            html.P(
                [
                    mark(number.caution if number.value else ""),
                    html.Span(f"{number.value:,}", className="big", id="worker-count"),
                    html.Span(f" {words.error_text(number.expected_error)}", className="error"),
                    f" {unit}",
                ],
                className="count",
            ),
            html.P(_who(release, question, told, number.value)),
            html.P(f"Only: {about.filters}", className="quiet") if about.filters else None,
            html.P(_coverage(release, question), className="quiet")
            if question.areas and not covered
            else None,
        ],
        className="headline",
        **aria(live="polite", label="Number of workers"),
    )


def _title(question: Question, result: Result, missing: str) -> str:
    return result.about.title if question.areas or not missing else "All workers"


def _who(release: ServedRelease, question: Question, told: Result, n: int) -> list[Any]:
    """The sentence that the number begins."""
    s = "s" if n == 1 else ""
    here = html.Strong(words.place_name(release, question)) if question.areas else None
    if isinstance(told, InflowOutflow):
        return [f"live{s} or work{s} in ", here]
    if isinstance(told, PairedAreas):
        return [f"live{s} in ", html.Strong(told.home_area), f" and work{s} in ", html.Strong(told.work_area)]
    covered = html.Strong(words.listed(words.covered_states(release)) or "all covered states")
    if here is None:
        return [f"work{s} in ", covered, ", wherever they live" if question.side == "home" else ""]
    return [words.VERB[question.side] + s + " in ", here]


def promise(release: ServedRelease) -> Any:
    """The certificate in one line, with the way to what it means."""
    certificate = release.certificate
    said = (
        "Nobody here is a real person. "
        if words.is_private(certificate)
        else "Dots lie where real workers live. "
    )
    return html.Section(
        [
            html.P(
                [
                    html.Strong(said),
                    dcc.Link("What is promised", href=f"./method?release={release.slug}"),
                ]
            ),
            html.P(f"{words.promise(certificate)} · {words.grounds(certificate)}"),
        ],
        className="promise",
        **aria(label="Privacy in short"),
    )


def glance(result: Result) -> str:
    """The answer in one line, for the picture on a small screen."""
    told = main_result(result)
    text = f"{main_number(told).value:,} workers"
    median = getattr(told, "median_mi", None)
    if isinstance(told, InflowOutflow):
        return f"{told.inflow.value:,} in · {told.outflow.value:,} out · {told.stay.value:,} stay"
    return text if median is None else f"{text} · median {words.miles(median.value)}"


def tiles(result: Result) -> Any:
    """Key numbers beside the first, each with its expected error."""
    found = _change_tiles(result) if isinstance(result, Change) else _tiles(result)
    if not found:
        return None
    return html.Dl(
        [html.Div([html.Dt(text), html.Dd(value)], className="tile") for value, text in found],
        className="tiles three" if len(found) == 3 else "tiles",
    )


def _tiles(result: Result) -> list[Tile]:
    return [
        (_tile(value, number.kind), text_of(number.tile, result))
        for number, value in numbers_of(result)
        if number.tile
    ]


def _tile(value: Any, kind: str) -> Any:
    """A key number as the page shows it."""
    if isinstance(value, Number):
        return _number(value, signed=kind == "change")
    if isinstance(value, Miles):
        return _miles(value)
    return words.percent(value) if kind == "share" else f"{value:,}"


def _change_tiles(result: Change) -> list[Tile]:
    number = main_number(result.after)
    before = main_number(result.before)
    step = number.value - before.value
    errors = [each.expected_error for each in (before, number) if each.expected_error is not None]
    error = words.error_text(math.hypot(*errors)) if len(errors) == 2 else ""
    share = step / before.value if before.value else None
    return [
        (_number(before), f"before: {result.names[0]}"),
        ([f"{step:+,}", html.Span(f" {error}", className="error")], "change"),
        ("–" if share is None else f"{100 * share:+.1f} %", "of before"),
        *_changed_miles(result),
    ]


def _changed_miles(result: Change) -> list[Tile]:
    """Changes of distances, each with its expected error."""
    told = {"median_mi": "change of the median distance", "mean_under_100_mi": "of the mean under 100 miles"}
    found = [(text, result.numbers()[name]) for name, text in told.items() if name in result.numbers()]
    return [
        (
            [
                f"{number['change']:+.1f} mi",
                html.Span(f" {words.miles_error(number['expected_error'])}", className="error"),
            ],
            text,
        )
        for text, number in found
        if number["change"] is not None
    ]


def _number(number: Number, *, signed: bool = False) -> list[Any]:
    text = f"{number.value:+,}" if signed else f"{number.value:,}"
    return [
        mark("" if signed else number.caution),
        text,
        html.Span(f" {words.error_text(number.expected_error)}", className="error"),
    ]


def _miles(distance: Miles) -> list[Any]:
    error = html.Span(f" {words.miles_error(distance.expected_error)}", className="error")
    return [words.miles(distance.value), error]


def remarks(result: Result) -> Any:
    """What must be read with the numbers."""
    notes = [note.text for note in result.about.notes]
    told = main_result(result)
    number = told.stay if isinstance(told, InflowOutflow) else main_number(told)
    if number.expected_error is not None:
        notes.append(
            "± is the expected error: how far a count is from the confidential one, as a rule. Counts by workplace "
            "alone have ± 0: they are published as they are."
        )
    if not notes:
        return None
    return html.Section(
        [html.H2("Read with the numbers"), html.Ul([html.Li(note) for note in notes], className="remarks")],
        className="card",
    )


def asking_for(missing: str) -> Any:
    """What the analysis still needs."""
    return html.Section([html.H2("One more choice"), html.P(missing)], className="card start", role="status")


def suggestions(release: ServedRelease, question: Question) -> Any:
    """A way in: the largest workplaces, or the tracts with most homes."""
    start = "one of the largest workplaces" if question.side == "work" else "where most workers live"
    choices = [
        (level, row)
        for level, n_rows in (("county", 1), ("tract", 3))
        for row in _largest(release, Question(side=question.side, layer=level), n_rows)
    ]
    steps: tuple[Any, ...] = (
        ["Choose an area: ", html.Strong("click the map"), ", search by name, or take one of these."],
        ["Choose what to ask: where its workers live, who they are, who comes and goes."],
        ["Read the map, the numbers and the table; the address keeps it all as a link."],
    )
    return html.Section(
        [
            html.H2("Three steps to an answer"),
            html.Ol([html.Li(step) for step in steps], className="steps"),
            html.P(f"Start with {start}:", className="quiet"),
            html.Ul([html.Li(_suggestion(level, row)) for level, row in choices], className="suggestions"),
        ],
        className="card start",
    )


def _largest(release: ServedRelease, question: Question, n_rows: int) -> list[Any]:
    units = served_answers.units(release, question)
    rows = units[units["kind"] == "unit"].itertuples()
    known = (row for row in rows if f"{question.layer}:{row.unit_id}" in release.areas)
    return list(itertools.islice(known, n_rows))


def _suggestion(level: str, row: Any) -> Any:
    name, within = name_parts(row.name)
    return html.Button(
        [
            html.Span([html.Strong(name), html.Span(f" {within}", className="quiet")]),
            html.Span(f"{row.workers:,}", className="number"),
        ],
        id={"type": "suggest", "area": f"{level}:{row.unit_id}"},
        className="suggestion",
        n_clicks=0,
    )


def nobody(release: ServedRelease, address: Address) -> Any:
    """Why the question picks no one, as far as that is known, and what to ask instead."""
    question, other = address.question, OTHER_END[address.question.side]
    turned = address.having(side=other)
    turns = bool(question.areas) and question.entry.n_areas == 1 and "side" in question.entry.fields
    links = [(f"Show who {'lives' if other == 'home' else 'works'} here instead", turned)] * turns
    if question.side == "work" and not release.covers(question.areas):
        title = "Workplaces in this area are not in the release"
        text = "That says nothing about how many people work there."
    elif words.filter_words(question):
        title, text = "No synthetic worker fits", "There is nobody here with these filters."
        everybody = address.having(age=(), earnings=(), industry=())
        links.insert(0, ("Take the filters away", everybody))
    elif turns:
        title = f"No synthetic worker {'works' if question.side == 'work' else 'lives'} in this area"
        text = "Add another area, or ask for the other side."
    else:
        title, text = "No synthetic worker fits", "Choose another area, or turn the two areas round."
    choices = [html.Li(dcc.Link(name, href=f"./{to_query(to)}")) for name, to in links]
    return html.Section([html.H2(title), html.P(text), html.Ul(choices)], className="card")


def _coverage(release: ServedRelease, question: Question) -> str:
    states = words.covered_states(release)
    covered = f"Workplaces in {words.listed(states)} are covered" if states else "Coverage is not stated"
    tail = "; other workplaces of these residents are not in the release." if question.side == "home" else "."
    return covered + tail
