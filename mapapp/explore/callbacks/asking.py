"""From what a visitor chooses to the address of a view.

The page's script numbers the choices and sends those that have no answer yet, in order (`assets/choices.js`). An answer
carries the number of the last choice that it follows; the script ignores it if there is a newer one. So no choice is
lost, and no late answer overtakes a newer choice.
"""

from __future__ import annotations

from typing import Any, Final

from dash import ALL, ClientsideFunction, Dash, Input, Output, State

from geodata.errors import GeodataError
from mapapp.answers import words
from mapapp.answers.areas import LEVEL_LABELS
from mapapp.errors import UsageError
from mapapp.explore.callbacks import events, setup_file
from mapapp.explore.callbacks.views import Views
from mapapp.explore.pages import area_controls
from mapapp.question.address import Address, to_query

MAX_CHOICES: Final = 50
MAX_TYPED: Final = 200
READ: Final = ("pick", "sign", "target", "centre", "radii")
"""Controls that are read together with a choice; what they say is no part of the address."""


def register(app: Dash, views: Views) -> None:
    """Attach the callbacks that turn choices into an address."""
    in_browser: Any = app.clientside_callback
    in_browser(
        ClientsideFunction("commutemap", "choose"),
        *[Input(name, "value") for name in (*events.CONTROLS, "release", "search")],
        *[Input(name, "n_clicks") for name in ("add-circle", "every")],
        Input("radii", "n_submit"),
        Input({"type": "remove", "area": ALL, "of": ALL}, "n_clicks"),
        Input({"type": "suggest", "area": ALL}, "n_clicks"),
        prevent_initial_call=True,
    )
    in_browser(ClientsideFunction("commutemap", "follow"), Input("followed", "data"))
    in_browser(ClientsideFunction("commutemap", "turn"), Input("url", "search"))

    @app.callback(Output("followed", "data"), Input("choices", "data"), prevent_initial_call=True)
    def follow_choices(choices: Any) -> dict[str, Any]:
        return followed(views, choices if isinstance(choices, dict) else {})

    _looking_up(app, views)


def _looking_up(app: Dash, views: Views) -> None:
    @app.callback(Output("search", "data"), Input("search", "searchValue"), State("url", "search"))
    def look_up(text: str | None, query: str | None) -> list[dict[str, Any]]:
        address, _ = views.parse(query)
        return area_controls.search_options(views.release(address).areas.search(_typed(text), near=True))

    @app.callback(
        Output("centre", "data"),
        Input("centre", "searchValue"),
        State("centre", "value"),
        State("url", "search"),
    )
    def look_up_centre(text: str | None, chosen: str | None, query: str | None) -> list[dict[str, Any]]:
        address, _ = views.parse(query)
        areas = views.release(address).areas
        typed = _typed(text).removeprefix(area_controls.TYPED)  # what is chosen the control types itself
        if events.place_of(typed):
            return [{"value": typed, "label": area_controls.TYPED + typed}]
        found = areas.search(_typed(text), near=True)
        if chosen and chosen in areas and chosen not in [area.key for area in found]:
            found.insert(0, areas[chosen])  # what is chosen must stay among what can be
        return area_controls.search_options(found)


def _typed(text: Any) -> str:
    """What was typed; a forged request holds anything."""
    return text[:MAX_TYPED] if isinstance(text, str) else ""


def followed(views: Views, choices: dict[str, Any]) -> dict[str, Any]:
    """The address after some choices.

    Parameters
    ----------
    views : Views
    choices : dict
        `search`: the address before; `choices`: a list of dicts of `trigger`, `value` and `read`, as
        :func:`mapapp.explore.callbacks.events.after` takes them; and `n`, the number of the last one. A forged request
        holds anything.

    Returns
    -------
    dict
        `n`; `search`, None if the address stays the same; `said`, a line on what could not be followed; `setup`, what
        an opened setup file adds, or None.
    """
    before, _ = views.parse(choices.get("search"))
    address, said, setup = before, "", None
    given = choices.get("choices")
    for choice in given[:MAX_CHOICES] if isinstance(given, list) else ():
        if not isinstance(choice, dict):
            continue
        if choice.get("trigger") == "open-setup":
            address, setup = _opened(views, address, choice.get("value"))
        else:
            address, said = _after(views, address, choice)
    search = to_query(address) if address != before else None
    return {"n": choices.get("n"), "search": search, "said": said, "setup": setup}


def _after(views: Views, address: Address, choice: dict[str, Any]) -> tuple[Address, str]:
    """Address after one choice, and a line on what cannot be followed."""
    trigger, value, read = (choice.get(name) for name in ("trigger", "value", "read"))
    read = {name: _string(read.get(name)) if isinstance(read, dict) else None for name in READ}
    if not isinstance(trigger, str | dict) or (trigger == "release" and _string(value) not in views.releases):
        return address, ""
    try:
        if trigger == "open-area":
            value = views.uploads.area(value.get("token") if isinstance(value, dict) else None)
        asked_for = events.after(address, views.release(address), trigger, value, read)
    except (UsageError, GeodataError) as error:
        return address, str(error)
    if trigger == "clicked" and asked_for == address and read["pick"] in LEVEL_LABELS:
        return address, f"There is no {words.level_word(read['pick'])} here."
    kept, said = fitted(views, asked_for)
    return views.parse(to_query(kept))[0], said


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _opened(views: Views, address: Address, file: Any) -> tuple[Address, dict[str, Any]]:
    """The view of an opened file, and what to say of it; the address before if it cannot be opened."""
    try:
        found, notes, bounds = setup_file.opened(views, file)
    except UsageError as error:
        return address, {"said": str(error)}
    return found, {"said": " ".join(notes), "view": {"search": to_query(found), "bounds": bounds}}


def fitted(views: Views, address: Address) -> tuple[Address, str]:
    """The address with the parts of its areas that its release has, and a line on those left out."""
    slug = views.release(address).slug if address.release in ("", *views.releases) else ""
    kept = [
        tuple(step for step in steps if views.has_area(slug, step))
        for steps in (address.question.areas, address.question.others)
    ]
    n_lost = len(address.question.areas) + len(address.question.others) - len(kept[0]) - len(kept[1])
    lost = f"{n_lost} part{'s' * (n_lost != 1)} of the area left out: this release has no such unit."
    return address.having(areas=kept[0], others=kept[1]), lost if n_lost else ""
