"""The answer to a question: its sentence, its key numbers, and what to do if no worker matches."""

from __future__ import annotations

import itertools
from base64 import b64encode
from string import Formatter
from typing import Final

from dash import dcc, html
from dash.development.base_component import Component

from geodata.text import list_names
from mapapp.answers import served_answers, words
from mapapp.answers.analyses.about import About, Note
from mapapp.answers.analyses.entries import (
    clause_of,
    counted_unit,
    entry_of,
    headline_of,
    n_about,
    numbers_of,
)
from mapapp.answers.analyses.entry import text_of
from mapapp.answers.analyses.measures import Miles, Number, Ratio, Row, Value
from mapapp.answers.analyses.over_years import OverYears, YearValue
from mapapp.answers.analyses.results import Change, Result, error_of_change, published_sides
from mapapp.answers.areas.unit_names import name_parts
from mapapp.answers.asking import characteristics_of
from mapapp.answers.errors.error_marks import has_row_errors
from mapapp.answers.findings.findings import added_findings
from mapapp.answers.findings.words import and_work, covered_in
from mapapp.answers.opened_release import COVERAGE
from mapapp.answers.publication import is_published
from mapapp.answers.release import Release
from mapapp.answers.words import aria
from mapapp.explore import color_scheme
from mapapp.explore.pages import area_controls
from mapapp.explore.pages.answer_charts import bar_table, charts, inflow_card, mark
from mapapp.explore.pages.folding import folding_card
from mapapp.explore.pages.side_by_side import side_card
from mapapp.question.address import Address, to_query
from mapapp.question.fields import Theme
from mapapp.question.filters import Filters
from mapapp.question.question import EVERYTHING, OTHER_END, Question, SettledQuestion
from mapapp.show.content.bar_groups import bars_of
from mapapp.show.content.palette import COLOR_SCHEMES
from mapapp.show.content.side_by_side import SideBySide
from mapapp.show.content.year_lines import HEIGHT_PX, WIDTH_PX, year_lines

# The mark beside a number that has no expected error: a link to the note that says why.


def note_id(mark: str) -> str:
    """The id of the note that a mark refers to."""
    return f"no-error-{mark}"


def without_error(about: About, name: str) -> Component | None:
    """The marks beside a number, or a row of a table, that has no expected error; None without a stated reason."""
    return marks(about, about.no_errors.get(name, ""))


def marks(about: About, text: str) -> Component | None:
    """A link for each letter in a text such as ``(a, b)``, with the reason as its name and its tip."""
    notes = about.marked_notes
    letters = [letter for letter in text.strip("()").split(", ") if letter in notes]
    if not letters:
        return None
    links = [
        html.A(
            f"({letter})",
            href=f"#{note_id(letter)}",
            title=notes[letter],
            className="no-error",
            **aria(label=f"No ±, note {letter}: {notes[letter]}"),
        )
        for letter in letters
    ]
    return html.Span([" no ± ", *links], className="error")


def note_item(note: Note) -> Component:
    """A note in a list; marks lead to it if it has one."""
    return html.Li(str(note), id=note_id(note.mark), tabIndex=-1) if note.mark else html.Li(str(note))


# The card that shows an answer over the years, if several years of a place are served.

_N_PICTURES: Final = 3


def year_card(over: OverYears | None, theme: Theme) -> Component | None:
    """Lines of the key numbers over the years, each with a table of the same numbers."""
    if over is None:
        return None
    lines = over.lines()
    return folding_card(
        "years",
        f"Over the years, {over.years[0]} to {over.years[-1]}",
        [
            *[html.P(sentence) for sentence in over.findings()],
            *[_picture(label, values, theme) for label, values in lines[:_N_PICTURES]],
            html.Details([html.Summary("All years as a table"), _table(lines)]),
            html.P(" ".join(map(str, over.about.notes)), className="quiet small"),
        ],
        className="years",
    )


def _picture(label: str, values: list[YearValue], theme: Theme) -> Component:
    svg = year_lines(values, label, COLOR_SCHEMES[theme])
    described = "; ".join(f"{year_value.year}: {year_value.text}" for year_value in values)
    return html.Figure(
        [
            html.Figcaption(label),
            html.Img(
                src=f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}",
                alt=f"{label} over the years. {described}",
                width=WIDTH_PX,
                height=HEIGHT_PX,
            ),
        ]
    )


def _table(lines: list[tuple[str, list[YearValue]]]) -> Component:
    head = html.Tr([html.Th("Year", scope="col"), *[html.Th(label, scope="col") for label, _ in lines]])
    by_year = [
        html.Tr([html.Th(row[0].year, scope="row"), *[html.Td(year_value.text) for year_value in row]])
        for row in zip(*(values for _, values in lines), strict=True)
    ]
    return html.Div(html.Table([html.Thead(head), html.Tbody(by_year)]), className="scroll", tabIndex="0")


N_SUGGESTIONS: Final = 5

Child = Component | str | None
Tile = tuple[str | list[Child], str]


def answer(
    release: Release,
    address: Address,
    result: Result,
    missing: str,
    over: OverYears | None = None,
    sides: SideBySide | None = None,
) -> list[Component | None]:
    """The cards above the table.

    `missing` says what the visitor still has to choose, `over` has the other years, `sides` the parts of the area.
    """
    shown, question = main_result(result), address.question
    n = n_about(shown)
    return [
        headline(release, question, result, missing),
        as_published() if entry_of(shown).is_published else promise(release),
        asking_for(missing) if missing and question.areas else None,
        suggestions(release, question) if missing and not question.areas else None,
        inflow_card(shown, color_scheme.shown_theme(address.view)) if n and not missing else None,
        tiles(result) if n and not missing else None,
        side_card(sides),
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
    characteristics = characteristics_of(release, question)
    if characteristics is None:
        return None
    parts: list[Component] = [
        html.P(f"{characteristics.jobs:,} jobs. {characteristics.source}", className="quiet")
    ]
    for title, rows in characteristics.classes.groupby("title", sort=False):
        parts += [html.H3(str(title)), bar_table(bars_of(rows), str(title))]
    return folding_card("characteristics", characteristics.title, parts, id="characteristics")


def later_alone(result: Result) -> Component | None:
    """A note that the charts below a comparison show one release."""
    if not isinstance(result, Change):
        return None
    return html.P(f"The charts show {result.names[1]} only.", className="quiet")


def headline(release: Release, question: Question, result: Result, missing: str) -> Component:
    """The number that the question asks for, whom it counts, and at most two sentences that say more."""
    shown = main_result(result)
    about, of_file = shown.about, entry_of(shown).is_published
    sentences = added_findings(result)
    return html.Section(
        [
            html.P(_title(question, result, missing), className="analysis-name"),
            *_first_numbers(release, question, shown),
            html.P(" ".join(sentences), className="findings") if sentences else None,
            html.P(f"Only: {about.filters}", className="quiet") if about.filters else None,
            html.P(_coverage(release, question, shown), className="quiet small")
            if not of_file and (question.areas or about.has_note(COVERAGE))
            else None,
        ],
        className="headline",
        **aria(live="polite", label="Number of workers"),
    )


def _first_numbers(release: Release, question: Question, shown: Result) -> list[Component]:
    """The count in large letters and whom it counts; in place of the count, the ratio that was asked for."""
    number, asked = headline_of(shown), shown.numbers().get(entry_of(shown).asked)
    unit = counted_unit(shown, number.value, words.subject(release.certificate))
    who = _who(release, question, shown, number.value)
    if not isinstance(asked, Ratio):
        return [html.P(_count(shown, unit, "big"), className="count"), html.P(who)]
    label = next(text_of(entry.tile, shown) for entry, value in numbers_of(shown) if value is asked)
    ratio = html.Span(words.ratio(asked.value), className="big", id="asked-ratio")
    more = words.ratio_error(asked.expected_error) if asked.value is not None else asked.caution
    return [
        html.P([ratio, html.Span(f" {more}", className="error"), f" {label}"], className="count"),
        html.P([*_count(shown, unit, "counted"), " ", *who]),
    ]


def _count(shown: Result, unit: str, size: str) -> list[Child]:
    """The first number with its caution, its expected error, and what it counts."""
    number = headline_of(shown)
    return [
        mark(number.caution if number.value else ""),
        html.Span(f"{number.value:,}", className=size, id="worker-count"),
        *_error_and_unit(number.expected_error, unit, _headline_mark(shown)),
    ]


def _title(question: Question, result: Result, missing: str) -> str:
    return result.about.title if question.areas or not missing else "All workers"


def _who(release: Release, question: Question, shown: Result, n: int) -> list[Child]:
    """The rest of the sentence that begins with the number."""
    s = "s" if n == 1 else ""
    covered = list_names(words.covered_states(release)) or "all covered states"
    is_everything = question.areas in ((), (EVERYTHING,))
    here = "" if is_everything else words.place_name(release, question)
    names = {"here": here or covered} | {end: getattr(shown, f"{end}_area", "") for end in ("home", "work")}
    clause = [(text, name) for text, name, _, _ in Formatter().parse(clause_of(shown))]
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
        html.P(
            dcc.Link(
                f"{'As published' if is_published(release.certificate) else 'Privacy protected'}: how",
                href=href,
            )
        ),
        className="promise",
        **aria(
            label="Where these counts are from" if is_published(release.certificate) else "Privacy summary"
        ),
    )


def as_published() -> Component:
    """That the numbers are copied from published files, in place of the release's promise."""
    text = f"{words.AS_PUBLISHED}; nothing is drawn."
    return html.Section(html.P(text, className="quiet"), className="promise", **aria(label="Source"))


def glance(result: Result) -> str:
    """The answer in one line, shown over the map on a small screen."""
    shown = main_result(result)
    glance = entry_of(shown).glance
    return f"{headline_of(shown).value:,} workers" if glance is None else glance(shown)


def tiles(result: Result) -> Component | None:
    """The other key numbers, each with its expected error."""
    key_tiles = _change_tiles(result) if isinstance(result, Change) else _tiles(result)
    if not key_tiles:
        return None
    return html.Dl(
        [html.Div([html.Dt(text), html.Dd(value)], className="tile") for value, text in key_tiles],
        className="tiles three" if len(key_tiles) == 3 else "tiles",
    )


def _tiles(result: Result) -> list[Tile]:
    return [
        (_tile(value, number.kind, without_error(result.about, number.name)), text_of(number.tile, result))
        for number, value in numbers_of(result)
        if number.tile and number.name != entry_of(result).asked
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
    known = error_of_change(before, number, published_sides(result.before, result.after))
    error = "" if known is None else words.error_text(known)
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
    changed_numbers = [
        (number, changes[number.name]) for number in entry_of(result.after).numbers if number.changed
    ]
    return [
        (
            _describe_change(number.kind, change["change"], change["expected_error"]),
            f"{result.words.noun} in {number.changed}",
        )
        for number, change in changed_numbers
        if change["change"] is not None
    ]


def _describe_change(kind: str, change: float, error: float | None) -> list[Child]:
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
    return folding_card("remarks", "About these numbers", [html.Ul(notes, className="remarks")])


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
    question, other_end = address.question, OTHER_END[address.question.side]
    turned = address.having(side=other_end)
    turns = bool(question.areas) and question.entry.n_areas == 1 and "side" in question.entry.fields
    links = [(f"Show who {'lives' if other_end == 'home' else 'works'} here instead", turned)] * turns
    if question.analysis == "characteristics":
        title, text = "No jobs are counted here", "The files have no jobs at the blocks of this area."
    elif question.side == "work" and not release.covers(question.areas):
        title = "Workplaces in this area are not covered"
        text = "So it is not known here how many people work there."
    elif question.filters != Filters():
        title, text = "No workers match", "No worker in this area matches these filters."
        unfiltered = address.having(age=(), earnings=(), industry=(), attributes=())
        links.insert(0, ("Clear the filters", unfiltered))
    elif turns:
        title = f"No workers {words.VERB[question.side]} in this area"
        text = f"Add another area, or show who {words.VERB[other_end]}s here."
    else:
        title, text = "No workers match", "Choose another area, or swap the two areas."
    choices = [html.Li(dcc.Link(name, href=f"./{to_query(to)}")) for name, to in links]
    return html.Section([html.H2(title), html.P(text), html.Ul(choices)], className="card")


def _coverage(release: Release, question: Question, shown: Result) -> str:
    """The answer's own note on which workplaces are covered, or else that of the release."""
    noted = next((note.text for note in shown.about.notes if note.code == COVERAGE), "")
    if noted:
        return noted
    stated = words.coverage(words.covered_states(release), of_residents=question.side == "home")
    return stated or "It is not stated which workplaces are covered."
