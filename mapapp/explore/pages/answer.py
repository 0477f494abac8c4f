"""The answer to a question: its sentence, its key numbers, and what to do if no worker matches."""

from __future__ import annotations

import itertools
import math
from string import Formatter
from typing import Final

from dash import dcc, html
from dash.development.base_component import Component

from mapapp.answers import served_answers, words
from mapapp.answers.asking import characteristics_of
from mapapp.answers.entries import entry_of, headline_of, n_about, numbers_of
from mapapp.answers.entry import text_of
from mapapp.answers.errors.error_marks import has_row_errors
from mapapp.answers.finding_words import and_work, covered_in
from mapapp.answers.findings import findings
from mapapp.answers.measures import Miles, Number, Ratio, Value
from mapapp.answers.opened_release import COVERAGE
from mapapp.answers.over_years import OverYears
from mapapp.answers.release import Release
from mapapp.answers.results import Change, Result
from mapapp.answers.table_rows import Row
from mapapp.answers.unit_names import name_parts
from mapapp.answers.words import aria
from mapapp.drawing.bar_groups import Bar
from mapapp.explore import color_scheme
from mapapp.explore.pages import area_controls
from mapapp.explore.pages.answer_charts import charts
from mapapp.explore.pages.bars import bar_table, mark
from mapapp.explore.pages.error_marks import note_item, without_error
from mapapp.explore.pages.year_card import year_card
from mapapp.question.address import Address, to_query
from mapapp.question.filters import Filters
from mapapp.question.question import EVERYTHING, OTHER_END, Question, SettledQuestion

N_SUGGESTIONS: Final = 5

Child = Component | str | None
Tile = tuple[str | list[Child], str]


def answer(
    release: Release, address: Address, result: Result, missing: str, over: OverYears | None = None
) -> list[Component | None]:
    """The cards above the table: `missing` says what the visitor still has to choose, `over` has the other years."""
    shown, question = main_result(result), address.question
    n = n_about(shown)
    return [
        headline(release, question, result, missing),
        promise(release),
        asking_for(missing) if missing and question.areas else None,
        suggestions(release, question) if missing and not question.areas else None,
        tiles(result) if n and not missing else None,
        no_match(release, address) if not n else None,
        year_card(over, color_scheme.shown_theme(address.view)) if n and not missing else None,
        later_alone(result),
        *(charts(shown) if n and not missing else []),
        place_card(release, question) if n and not missing else None,
        remarks(result),
    ]


def main_result(result: Result) -> Result:
    """The answer itself, or the later answer of a change."""
    return result.after if isinstance(result, Change) else result


def place_card(release: Release, question: Question) -> Component | None:
    """What LODES publishes about the area, below a profile; nothing if the release has no such counts."""
    found = characteristics_of(release, question)
    if found is None:
        return None
    parts: list[Component] = [html.P(f"{found.jobs:,} jobs. {found.source}", className="quiet")]
    for title, classes in found.groups.items():
        bars = [Bar(each.label, each.jobs, each.share) for each in classes]
        parts += [html.H3(title), bar_table(bars, title)]
    return html.Section([html.H2(found.title), *parts], className="card", id="characteristics")


def later_alone(result: Result) -> Component | None:
    """A note that the charts below a comparison show one release."""
    if not isinstance(result, Change):
        return None
    return html.P(f"The charts show {result.names[1]} only.", className="quiet")


def headline(release: Release, question: Question, result: Result, missing: str) -> Component:
    """What the answer found in sentences, how many workers it counts, and where they live or work."""
    shown = main_result(result)
    number = headline_of(shown)
    unit = "synthetic worker" if number.value == 1 else "synthetic workers"
    about = shown.about
    return html.Section(
        [
            html.P(_title(question, result, missing), className="analysis-name"),
            html.P(" ".join(findings(result)), className="findings"),
            html.P(
                [
                    mark(number.caution if number.value else ""),
                    html.Span(f"{number.value:,}", className="big", id="worker-count"),
                    *_error_and_unit(number.expected_error, unit, _headline_mark(shown)),
                ],
                className="count",
            ),
            html.P(_who(release, question, shown, number.value)),
            html.P(f"Only: {about.filters}", className="quiet") if about.filters else None,
            html.P(_coverage(release, question, shown), className="quiet")
            if question.areas or about.has_note(COVERAGE)
            else None,
        ],
        className="headline",
        **aria(live="polite", label="Number of workers"),
    )


def _title(question: Question, result: Result, missing: str) -> str:
    return result.about.title if question.areas or not missing else "All workers"


def _who(release: Release, question: Question, shown: Result, n: int) -> list[Child]:
    """The rest of the sentence that begins with the number."""
    s = "s" if n == 1 else ""
    covered = words.listed(words.covered_states(release)) or "all covered states"
    is_everything = question.areas in ((), (EVERYTHING,))
    here = "" if is_everything else words.place_name(release, question)
    names = {"here": here or covered} | {end: getattr(shown, f"{end}_area", "") for end in ("home", "work")}
    clause = [(text, name) for text, name, _, _ in Formatter().parse(entry_of(shown).clause)]
    plain = {"s": s, "covered": covered_in(shown.about), None: ""}
    if clause and all(name in plain or names[name] for _, name in clause if name):
        return [
            part
            for text, name in clause
            for part in (text, plain[name] if name in plain else html.Strong(names[name or ""]))
        ]
    if not here:
        return [
            f"work{s} in ",
            html.Strong(covered),
            ", wherever they live" if question.side == "home" else "",
        ]
    ending = and_work(shown.about, f"in {here}", s) if shown.about.side == "home" else ""
    return [words.VERB[question.side] + s + " in ", html.Strong(here), ending]


def promise(release: Release) -> Component:
    """Whether privacy is protected, with a link to how; epsilon and delta are on the certificate's card."""
    href = f"./method?release={release.slug}"
    return html.Section(
        html.P(dcc.Link("Privacy protected: how", href=href)),
        className="promise",
        **aria(label="Privacy summary"),
    )


def glance(result: Result) -> str:
    """The answer in one line, shown over the map on a small screen."""
    shown = main_result(result)
    glance = entry_of(shown).glance
    return f"{headline_of(shown).value:,} workers" if glance is None else glance(shown)


def tiles(result: Result) -> Component | None:
    """The other key numbers, each with its expected error."""
    found = _change_tiles(result) if isinstance(result, Change) else _tiles(result)
    if not found:
        return None
    return html.Dl(
        [html.Div([html.Dt(text), html.Dd(value)], className="tile") for value, text in found],
        className="tiles three" if len(found) == 3 else "tiles",
    )


def _tiles(result: Result) -> list[Tile]:
    return [
        (_tile(value, number.kind, without_error(result.about, number.name)), text_of(number.tile, result))
        for number, value in numbers_of(result)
        if number.tile
    ]


def _tile(value: Value, kind: str, without: Component | None) -> str | list[Child]:
    """A key number as the page shows it; `without` says why it has no expected error."""
    if isinstance(value, Number):
        return [*_number(value, signed=kind == "change"), without]
    if isinstance(value, Miles):
        return [*_miles(value), without]
    if isinstance(value, Ratio):
        return [*_ratio(value), without]
    return words.percent(value) if value is None or kind == "share" else f"{value:,}"


def _headline_mark(result: Result) -> Component | None:
    """The mark beside the headline's number, if it has no expected error."""
    number = headline_of(result)
    name = next((name for name, value in result.numbers().items() if value is number), "")
    return without_error(result.about, name)


def _error_and_unit(error: float | None, unit: str, without: Component | None) -> list[Child]:
    """What follows the headline's number: "± 14 synthetic workers", or "synthetic workers, exact"."""
    if without is not None:
        return [f" {unit}", without]
    text = words.error_text(error)
    if error == 0:
        return [f" {unit}", html.Span(f", {text}", className="error")]
    return [html.Span(f" {text}", className="error"), f" {unit}"]


def _change_tiles(result: Change) -> list[Tile]:
    number = headline_of(result.after)
    before = headline_of(result.before)
    step = number.value - before.value
    errors = [each.expected_error for each in (before, number) if each.expected_error is not None]
    error = words.error_text(math.hypot(*errors)) if len(errors) == 2 else ""
    share, noun = step / before.value if before.value else None, result.words.noun
    return [
        (_number(before), f"{result.words.sides[0]}: {result.names[0]}"),
        ([f"{step:+,}", html.Span(f" {error}", className="error")], noun),
        ("–" if share is None else f"{100 * share:+.1f}%", f"relative {noun}"),
        *_changed_measures(result),
    ]


def _changed_measures(result: Change) -> list[Tile]:
    """Changes in distances and ratios, each with its expected error."""
    changes = result.numbers()
    found = [(number, changes[number.name]) for number in entry_of(result.after).numbers if number.changed]
    return [
        (
            _changed(number.kind, change["change"], change["expected_error"]),
            f"{result.words.noun} in {number.changed}",
        )
        for number, change in found
        if change["change"] is not None
    ]


def _changed(kind: str, change: float, error: float | None) -> list[Child]:
    text, known = (
        (words.ratio_change(change), words.ratio_error(error))
        if kind == "ratio"
        else (f"{change:+.1f} mi", words.miles_error(error))
    )
    return [text, html.Span(f" {known}", className="error")]


def _number(number: Number, *, signed: bool = False) -> list[Child]:
    text = f"{number.value:+,}" if signed else f"{number.value:,}"
    return [
        mark("" if signed else number.caution),
        text,
        html.Span(f" {words.error_text(number.expected_error)}", className="error"),
    ]


def _ratio(ratio: Ratio) -> list[Child]:
    if ratio.value is None:
        return [words.ratio(None), html.Span(f" {ratio.caution}", className="quiet small")]
    return [
        words.ratio(ratio.value),
        html.Span(f" {words.ratio_error(ratio.expected_error)}", className="error"),
    ]


def _miles(distance: Miles) -> list[Child]:
    error = html.Span(f" {words.miles_error(distance.expected_error)}", className="error")
    return [words.miles(distance.value), error]


def remarks(result: Result) -> Component | None:
    """Notes that a reader needs to understand the numbers."""
    # The headline has the note on coverage.
    notes: list[Component] = [note_item(note) for note in result.about.notes if note.code != COVERAGE]
    main = main_result(result)
    numbers = main.numbers().values()
    is_known = any(getattr(number, "expected_error", None) is not None for number in numbers)
    if is_known or has_row_errors(main):
        notes.append(html.Li(words.errors_note(main.about.promise)))
    if not notes:
        return None
    return html.Section(
        [html.H2("About these numbers"), html.Ul(notes, className="remarks")],
        className="card",
    )


def asking_for(missing: str) -> Component:
    """What the analysis still needs."""
    return html.Section([html.H2("One more choice"), html.P(missing)], className="card start", role="status")


def suggestions(release: Release, question: Question) -> Component:
    """Areas to start with: those with the most jobs, or with the most homes."""
    verb = words.VERB[question.side]
    level = release.areas.usual.named
    choices = _largest(release, release.areas.usual.settle(Question(side=question.side, layer=level)))
    steps: tuple[list[Child], ...] = (
        ["Choose an area: ", html.Strong("click the map"), ", search by name, or pick one below."],
        ["Choose a question: where its workers live, who they are, who comes and goes."],
        ["Read the map, the numbers, and the table. The page's address is a link to this view."],
    )
    return html.Section(
        [
            html.H2("Three steps to an answer"),
            html.Ol([html.Li(step) for step in steps], className="steps"),
            html.P(f"Start with an area where many people {verb}:", className="quiet"),
            html.Ul([html.Li(_suggestion(level, row)) for row in choices], className="suggestions"),
        ],
        className="card start",
    )


def _largest(release: Release, question: SettledQuestion) -> list[Row]:
    units = served_answers.units(release, question)
    rows = units[units["kind"] == "unit"].itertuples()
    known = (row for row in rows if f"{question.layer}:{row.unit_id}" in release.areas)
    return list(itertools.islice(known, N_SUGGESTIONS))


def _suggestion(level: str, row: Row) -> Component:
    name, within = name_parts(row.name)
    return html.Button(
        [
            html.Span([html.Strong(name), html.Span(f" {within}", className="quiet")]),
            html.Span(f"{row.workers:,}", className="number"),
        ],
        className="suggestion",
        **area_controls.choice({"type": "suggest", "area": f"{level}:{row.unit_id}"}),
    )


def no_match(release: Release, address: Address) -> Component:
    """Why no worker matches the question, if that is known, and what to ask instead."""
    question, other = address.question, OTHER_END[address.question.side]
    turned = address.having(side=other)
    turns = bool(question.areas) and question.entry.n_areas == 1 and "side" in question.entry.fields
    links = [(f"Show who {'lives' if other == 'home' else 'works'} here instead", turned)] * turns
    if question.side == "work" and not release.covers(question.areas):
        title = "Workplaces in this area are not covered"
        text = "So it is not known here how many people work there."
    elif question.filters != Filters():
        title, text = "No synthetic workers match", "No worker in this area matches these filters."
        unfiltered = address.having(age=(), earnings=(), industry=(), attributes=())
        links.insert(0, ("Clear the filters", unfiltered))
    elif turns:
        title = f"No synthetic workers {words.VERB[question.side]} in this area"
        text = f"Add another area, or show who {words.VERB[other]}s here."
    else:
        title, text = "No synthetic workers match", "Choose another area, or swap the two areas."
    choices = [html.Li(dcc.Link(name, href=f"./{to_query(to)}")) for name, to in links]
    return html.Section([html.H2(title), html.P(text), html.Ul(choices)], className="card")


def _coverage(release: Release, question: Question, shown: Result) -> str:
    """The answer's own note on which workplaces are covered, or else that of the release."""
    noted = next((note.text for note in shown.about.notes if note.code == COVERAGE), "")
    if noted:
        return noted
    stated = words.coverage(words.covered_states(release), of_residents=question.side == "home")
    return stated or "It is not stated which workplaces are covered."
