"""Turns a visitor's choices into the address of a view.

The page's script numbers the choices and sends those without an answer in order (`assets/choices.js`). An answer has
the number of the last choice that it includes, and the script ignores the answer if there is a newer choice. So no
choice is lost, and no late answer replaces a newer one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypedDict

from dash import ClientsideFunction, Dash, Input, Output, State

from geodata.errors import GeodataError
from mapapp.answers import words
from mapapp.answers.areas.levels import LEVEL_LABELS
from mapapp.answers.asking import asked_in
from mapapp.answers.downtowns import downtown_named
from mapapp.answers.release import Release
from mapapp.answers.served_answers import releases_of_years
from mapapp.base.errors import UsageError
from mapapp.explore.callbacks import events, setup_file
from mapapp.explore.callbacks.views import Views
from mapapp.explore.pages import area_controls
from mapapp.explore.pages.menus import click_level
from mapapp.question.address import Address, to_query
from mapapp.question.fields import USUAL
from mapapp.question.question import EVERYTHING, Question
from mapapp.question.sentence.asked import Asked

# Questions that a visitor types as a sentence into the search box.

PREFIX: Final = "ask:"
"""Begins the value of a search result that is a question."""
_LEAST_WORDS: Final = 2


def question_option(
    release: Release, text: str, *, is_name: bool, chosen: tuple[str, ...] = ()
) -> dict[str, object] | None:
    """The search result for a typed sentence; None if the sentence is only a name that the search has found."""
    try:
        asked = asked_in(release, text, chosen)
    except UsageError:
        return None
    if len(text.split()) < _LEAST_WORDS and not (asked.question.attributes or asked.question.by):
        return None  # a single word is a name, unless it is one of workers, such as "women"
    parts = [phrase.label for phrase in asked.understood]
    is_only_name = is_name and len(parts) == 2 and asked.understood[0].said == ""
    if asked.is_empty or is_only_name or len(asked.unknown) > len(parts):
        return None
    return {"group": "Ask", "items": [{"value": PREFIX + text, "label": " · ".join(parts)}]}


def asked_address(views: Views, address: Address, text: str) -> tuple[Address, str]:
    """The address of what a sentence asks, and what was understood, assumed, and left out.

    Raises
    ------
    UsageError
        If the sentence is empty or too long, or if it asks nothing.
    """
    release = views.release(address)
    asked = asked_in(release, text, address.question.areas)
    if asked.is_empty:
        raise UsageError("Nothing in this sentence names a place or asks for something.")
    view = address.view if asked.show is None else replace(address.view, show=asked.show)
    shown, against, notes = _of_years(views, release, asked)
    question, kept = _with_area(asked, address)
    new_address = Address(
        release=address.release if shown is release else shown.slug,
        against=against.slug if against is not None else "",
        question=question,
        view=replace(view, every=False),
    )
    unknown = [f"“{words[:40]}” was not understood and was left out." for words in asked.unknown]
    understood = " · ".join(phrase.label for phrase in asked.understood)
    return new_address, " ".join([f"Understood: {understood}.", *kept, *asked.notes, *notes, *unknown])


def _with_area(asked: Asked, address: Address) -> tuple[Question, list[str]]:
    """The question of a sentence, and a note if it names no area.

    The chosen area is kept: `women in this town`. Without one, everything is counted.
    """
    question = asked.question
    chosen = address.question.areas
    if question.areas or question.entry.n_areas != 1:
        return question, []
    note = (
        "The sentence names no area, so the chosen one is kept."
        if chosen
        else ("The sentence names no area, so everybody is counted.")
    )
    everything = (EVERYTHING,) * question.entry.n_needed  # the others count everybody without an area
    return replace(question, areas=chosen or everything), [note]


def _of_years(views: Views, release: Release, asked: Asked) -> tuple[Release, Release | None, list[str]]:
    """The release of the year that a sentence names, the release to compare it with, and notes on years not served."""
    by_year = {
        dated_release.year: dated_release
        for dated_release in releases_of_years(release, views.releases.values())
    }
    notes = [
        f"No release of {year} is served."
        for year in (asked.year, asked.against_year)
        if year is not None and year not in by_year
    ]
    shown = by_year.get(asked.year, release) if asked.year is not None else release
    against = by_year.get(asked.against_year) if asked.against_year is not None else None
    return shown, against if against is not shown else None, notes


MAX_CHOICES: Final = 50
MAX_TYPED: Final = 300
READ: Final = ("pick", "sign", "target", "center", "radii", "within")
"""Controls that the script reads together with a choice; their values are not part of the address."""
OFFERS: Final = ("offered", "found", "found-centers")
"""Stores of entries of menus, by menu, which the script puts into the menus."""


class Followed(TypedDict):
    """What the page's script gets for its choices; see :func:`apply_choices`."""

    n: object
    search: str | None
    said: str
    setup: dict[str, object] | None


def register(app: Dash, views: Views) -> None:
    """Attach the callbacks that turn choices into an address."""
    in_browser: Callable[..., object] = app.clientside_callback
    in_browser(
        ClientsideFunction("commutemap", "choose"),
        *[Input(name, "value") for name in (*events.CONTROLS, "release", "search")],
        *[Input(name, "n_submit") for name in ("radii", "within")],
        prevent_initial_call=True,
    )
    in_browser(ClientsideFunction("commutemap", "follow"), Input("followed", "data"))
    in_browser(ClientsideFunction("commutemap", "turn"), Input("url", "search"))
    in_browser(ClientsideFunction("commutemap", "markPlace"), Input("center", "value"))
    for name in OFFERS:
        in_browser(ClientsideFunction("commutemap", "offer"), Input(name, "data"))

    @app.callback(Output("followed", "data"), Input("choices", "data"), prevent_initial_call=True)
    def follow_choices(choices: object) -> Followed:
        return apply_choices(views, choices if isinstance(choices, dict) else {})

    _register_lookups(app, views)


def _register_lookups(app: Dash, views: Views) -> None:
    @app.callback(
        Output("found", "data"),
        Output("search", "nothingFoundMessage"),
        Input("search", "searchValue"),
        State("url", "search"),
    )
    def look_up(text: str | None, query: str | None) -> tuple[dict[str, object], str]:
        address, _ = views.parse(query)
        release, typed = views.release(address), _cut_typed_text(text)
        matching_areas, is_guess = release.areas.search_or_guess(typed)
        question = question_option(
            release, typed, is_name=bool(matching_areas) and not is_guess, chosen=address.question.areas
        )
        options = area_controls.search_options(matching_areas, is_guess=is_guess)
        place = events.place_of(typed)
        core = downtown_named(release, typed)
        first = [
            *([area_controls.core_option(core)] if core else []),
            *([area_controls.place_option(*place)] if place else [question] if question else []),
        ]
        return {"search": [*first, *options], "of": typed.strip()}, area_controls.nothing_found(
            release, typed
        )

    @app.callback(
        Output("found-centers", "data"),
        Input("center", "searchValue"),
        State("center", "value"),
        State("url", "search"),
    )
    def look_up_center(text: str | None, chosen: str | None, query: str | None) -> dict[str, object]:
        address, _ = views.parse(query)
        areas = views.release(address).areas
        typed = _cut_typed_text(text).removeprefix(
            area_controls.TYPED
        )  # the control adds the prefix of a chosen entry
        if events.place_of(typed):
            return {"center": [{"value": typed, "label": area_controls.TYPED + typed}], "of": typed.strip()}
        matching_areas, is_guess = areas.search_or_guess(typed)
        if chosen and chosen in areas and chosen not in [area.key for area in matching_areas]:
            matching_areas.insert(0, areas[chosen])  # the chosen entry must stay in the list
        options = area_controls.search_options(matching_areas, is_guess=is_guess)
        return {"center": options, "of": typed.strip()}


def _cut_typed_text(text: object) -> str:
    """The typed text; a forged request may contain anything."""
    return text[:MAX_TYPED] if isinstance(text, str) else ""


def apply_choices(views: Views, choices: dict[str, object]) -> Followed:
    """The address after some choices.

    Parameters
    ----------
    views : Views
    choices : dict
        `search`: the address before; `choices`: a list of dicts with `trigger`, `value` and `read`, as
        :func:`mapapp.explore.callbacks.events.after` takes them; and `n`, the number of the last one. A forged request
        may contain anything.

    Returns
    -------
    dict
        `n`; `search`, None if the address stays the same; `said`, a line on choices that did not work; `setup`, what an
        opened setup file adds, or None.
    """
    before, _ = views.parse(choices.get("search"))
    address, said, setup = before, "", None
    given = choices.get("choices")
    for choice in given[:MAX_CHOICES] if isinstance(given, list) else ():
        if not isinstance(choice, dict):
            continue
        if choice.get("trigger") == "open-setup":
            address, setup = _open_setup(views, address, choice.get("value"))
        else:
            address, said = _after(views, address, choice)
    search = to_query(address) if address != before else None
    return {"n": choices.get("n"), "search": search, "said": said, "setup": setup}


def _after(views: Views, address: Address, choice: dict[str, object]) -> tuple[Address, str]:
    """Address after one choice, and a line that says why the choice did not work, or nothing."""
    trigger, value, read = (choice.get(name) for name in ("trigger", "value", "read"))
    read = {name: _string(read.get(name)) if isinstance(read, dict) else None for name in READ}
    if not isinstance(trigger, str | dict) or (trigger == "release" and _string(value) not in views.releases):
        return address, ""
    try:
        if trigger == "search" and isinstance(value, str) and value.startswith(PREFIX):
            new_address, said = asked_address(views, address, _cut_typed_text(value.removeprefix(PREFIX)))
            return views.parse(to_query(new_address))[0], said
        if trigger == "open-area":
            value = views.uploads.area(value.get("token") if isinstance(value, dict) else None)
        asked_for = events.after(address, views.release(address), trigger, value, read)
    except (UsageError, GeodataError) as error:
        return address, str(error)
    level = click_level(views.release(address), address.question) if read["pick"] == USUAL else read["pick"]
    if trigger == "clicked" and asked_for == address and level in LEVEL_LABELS:
        return address, f"There is no {words.level_word(level)} here."
    kept, said = fit_address(views, asked_for)
    return views.parse(to_query(kept))[0], said


def _string(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _open_setup(views: Views, address: Address, file: object) -> tuple[Address, dict[str, object]]:
    """The view in an opened file, and notes on it; the address before if the file cannot be opened."""
    try:
        opened_address, notes, bounds = setup_file.open_setup(views, file)
    except UsageError as error:
        return address, {"said": str(error)}
    return opened_address, {
        "said": " ".join(notes),
        "view": {"search": to_query(opened_address), "bounds": bounds},
    }


def fit_address(views: Views, address: Address) -> tuple[Address, str]:
    """The address with only the area parts that exist in its release, and a line on the parts left out."""
    slug = views.release(address).slug if address.release in ("", *views.releases) else ""
    kept = [
        tuple(step for step in steps if views.has_area(slug, step))
        for steps in (address.question.areas, address.question.others)
    ]
    n_lost = len(address.question.areas) + len(address.question.others) - len(kept[0]) - len(kept[1])
    lost = f"{n_lost} part{'s' * (n_lost != 1)} of the area left out: not in this release."
    known = {
        name: tuple(text for text in address.value(name) if views.has_attribute(slug, text))
        for name in events.ATTRIBUTES
    }
    return address.having(areas=kept[0], others=kept[1], **known), lost if n_lost else ""
