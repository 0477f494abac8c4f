"""The callbacks that show a view on the Explore page.

Every action of a visitor first changes the address (:mod:`mapapp.explore.callbacks.choices`), and the page shows what
the address says. So a view takes the same path whether it comes from a click, a link or the back button.

Each part of the page carries the address that it was drawn for (`data-drawn`). The page's script dims a part until it
matches the address of the newest choice (`assets/versions.js`).
"""

from __future__ import annotations

from collections.abc import Callable

from dash import ALL, ClientsideFunction, Dash, Input, Output, Patch, State, no_update
from dash.development.base_component import Component

from geodata.errors import GeodataError
from mapapp.answers import served_answers, words
from mapapp.answers.analyses.results import Result
from mapapp.answers.release import Release, names_of
from mapapp.answers.wording import nouns_of
from mapapp.base.errors import UsageError
from mapapp.explore import color_scheme
from mapapp.explore.answer_routes import cells_url
from mapapp.explore.callbacks import draw
from mapapp.explore.callbacks.routing import page_links
from mapapp.explore.callbacks.setup_file import bounds_for
from mapapp.explore.callbacks.views import Views
from mapapp.explore.downloads.files import file_address
from mapapp.explore.page_heads import page_head
from mapapp.explore.pages import (
    answer,
    answer_charts,
    answer_matrix,
    answer_tables,
    area_controls,
    certificate,
    controls,
    download_menu,
    explore,
    menus,
)
from mapapp.explore.pages.reader_words import in_reader_words
from mapapp.explore.response_cache import kept_for
from mapapp.question.address import Address, to_query
from mapapp.question.question import OTHER_END, Question, SettledQuestion
from mapapp.question.view import Bounds
from mapapp.show.content.map_content import MapContent
from mapapp.show.content.side_by_side import SideBySide, side_by_side
from mapapp.show.plotly.plain_figures import Figure

# The download menu that goes with the address of a page.


def files_of(views: Views, release: Release, address: Address) -> tuple[list[Component], str]:
    """Return the files that are offered for a view, and the address of its table as CSV."""
    text = to_query(address)

    def place(name: str, **more: str) -> str:
        return file_address(views, release, name, text, **more)

    ready, changes = address.question.is_complete, views.before(address) is not None
    return download_menu.menu(place, ready=ready, changes=changes), place("table.csv")


def register(app: Dash, views: Views) -> None:
    """Attach the callbacks of the page to an app."""
    _map(app, views)
    _register_answers(app, views)
    _register_updates(app, views)
    _register_release_offers(app, views)


def _map(app: Dash, views: Views) -> None:
    in_browser: Callable[..., object] = app.clientside_callback
    in_browser(ClientsideFunction("commutemap", "look"), Output("look", "data"), Input("url", "search"))

    def key(look: object, on_map: object, opened: object) -> object:
        look, on_map = (given if isinstance(given, dict) else {} for given in (look, on_map))
        query = look.get("search")
        if not views.releases or not isinstance(query, str):
            return None
        address, _ = views.parse(query)
        bounds = bounds_for(query, opened)
        return [query, _size(look), bounds, _plan_drawing(views, address, look, on_map, bounds)]

    @app.callback(
        Output("map", "figure"),
        Output("on-map", "data"),
        Output("show", "data"),
        Output("show-said", "children"),
        Output("shown", "data"),
        Input("look", "data"),
        State("on-map", "data"),
        State("opened-view", "data"),
        running=[(Output("busy", "className"), "busy on", "busy")],
        prevent_initial_call=True,
    )
    @kept_for(key)
    def show_map(look: object, on_map: object, opened: object) -> tuple[object, ...]:
        look, on_map = (given if isinstance(given, dict) else {} for given in (look, on_map))
        query = look.get("search")
        address, _ = views.parse(query)
        content = views.map_content(address, color_scheme.settle_theme(address.view))
        placed = {
            "drawn": query,
            "values": {"show": controls.show_value(address.question, address.view, content.kind)},
        }
        return (
            *_map_figure(views, address, content, look, on_map, bounds_for(query, opened)),
            controls.show_options(address.question, content.kind),
            controls.show_note(content.kind),
            placed,
        )


def _map_figure(
    views: Views,
    address: Address,
    content: MapContent,
    look: dict[str, object],
    on_map: dict[str, object],
    bounds: Bounds | None,
) -> tuple[Figure | Patch, dict[str, str]]:
    """The whole map or the changes to the map on the page, and what the map then shows."""
    figure = draw.map_figure(content, views.prefix, *_size(look), bounds=bounds)
    figure["layout"]["meta"]["address"] = look.get("search")
    drawing = _plan_drawing(views, address, look, on_map, bounds)
    now = _on_map(content.release, address)
    if drawing is None:
        return figure, now
    return draw.changes(figure, move=drawing["move"], restyle=drawing["restyle"]), now


def _on_map(release: Release, address: Address) -> dict[str, str]:
    """What a map shows, as the page remembers it."""
    return {
        "release": release.slug,
        "theme": color_scheme.shown_theme(address.view),
        "view": draw.revision(release, address.question),
    }


def _plan_drawing(
    views: Views, address: Address, look: dict[str, object], on_map: dict[str, object], bounds: Bounds | None
) -> dict[str, bool] | None:
    """How the map on the page changes: whether it moves and gets other colors; None if it is drawn anew."""
    now = _on_map(views.release(address), address)
    if on_map.get("release") != now["release"]:
        return None
    needs_other = area_controls.next_end(address.question) == "others"  # show the region to choose it from
    moved = needs_other or look.get("moved_by") != "map"
    move = bounds is not None or (moved and on_map.get("view") != now["view"])
    return {"move": move, "restyle": on_map.get("theme") != now["theme"]}


def _size(look: dict[str, object]) -> tuple[int, int]:
    return _pixels(look.get("width")), _pixels(look.get("height"))


def _pixels(given: object) -> int:
    """A plausible width or height; a forged request may contain anything."""
    return min(max(given, 100), 10_000) if isinstance(given, int) else 700


def _register_answers(app: Dash, views: Views) -> None:
    in_browser: Callable[..., object] = app.clientside_callback
    in_browser(
        ClientsideFunction("commutemap", "fill"), Output("table-card", "hidden"), Input("area-data", "data")
    )

    in_browser(
        ClientsideFunction("commutemap", "fillMatrix"),
        Output("matrix-card", "hidden"),
        Input("matrix-data", "data"),
    )

    @app.callback(
        output={
            "answer": [Output("answer", "children"), Output("area-data", "data")],
            "around": [Output(name, "children") for name in ("certificate", "glance", "notes")],
            "matrix": [Output("matrix-data", "data"), Output("matrix-csv", "href")],
            "chart": [
                *[Output("chart-card", "hidden"), Output("chart-title", "children")],
                *[Output("chart-text", "children"), Output("chart", "figure"), Output("chart", "style")],
            ],
            "answered": Output("answered", "data"),
            "drawn": _list_drawn_outputs(
                "answer", "certificate", "glance", "matrix-card", "matrix-csv", "chart-card"
            ),
        },
        inputs={"query": Input("url", "search")},
    )
    @kept_for(_texts)
    def show_answer(query: str | None) -> dict[str, object]:
        """Everything that only needs the answer, in one request."""
        address, notes = views.parse(query)
        release = views.release(address)
        view_answer, missing, more = answer_of(views, address)
        nouns = nouns_of(release.facts)
        shown: dict[str, object] = {
            "answer": [
                answer.answer(
                    release,
                    address,
                    view_answer,
                    missing,
                    sides=_sides(views, address, served_answers.result),
                ),
                answer_tables.table(view_answer, every=address.view.every) | {"drawn": query},
            ],
            "around": [
                certificate.card(release, views.releases.values(), views.tables.values()),
                answer.glance(view_answer),
                explore.notes((*notes, *more)),
            ],
            "matrix": _matrix(views, release, address, query),
            "chart": _chart(views, release, address, query),
            "answered": query,
            "drawn": [query] * 6,
        }
        return shown | {name: in_reader_words(shown[name], nouns) for name in ("answer", "around", "chart")}

    @app.callback(
        Output("answer", "children", allow_duplicate=True),
        Output("area-data", "data", allow_duplicate=True),
        Input("answered", "data"),
        prevent_initial_call=True,
    )
    @kept_for(_texts)
    def show_errors(query: str | None) -> tuple[object, ...]:
        """The same answer with its expected errors, which take longer and so arrive later."""
        address, _ = views.parse(query)
        if not address.question.is_complete:
            return no_update, no_update
        release = views.release(address)
        view_answer = _with_errors(views, release, address)
        table = answer_tables.table(view_answer, every=address.view.every) | {"drawn": query}
        over = served_answers.years_of(release, views.releases.values(), address.question)
        sides = _sides(views, address, served_answers.with_errors)
        card = answer.answer(release, address, view_answer, "", over, sides)
        return in_reader_words(card, nouns_of(release.facts)), table


def _matrix(views: Views, release: Release, address: Address, query: str | None) -> list[object]:
    """The matrix of an answer, if it has one, and the address of its file."""
    place = file_address(views, release, "matrix.csv", to_query(address))
    matrix = answer_matrix.matrix(served_answers.result(release, views.settle(address)))
    if matrix is None:
        return [None, place]
    return [matrix | {"drawn": query, "cells": cells_url(views.prefix, release, address)}, place]


def _chart(views: Views, release: Release, address: Address, query: str | None) -> list[object]:
    """The card of a chart that Plotly draws: whether it is hidden, title, text, figure, and style."""
    title = ""
    if address.question.is_complete:
        view_answer = served_answers.result(release, views.settle(address))
        title, text, figure = answer_charts.drawn_chart(view_answer, color_scheme.shown_theme(address.view))
    if not title:
        return [True, "", "", {}, {}]
    figure["layout"]["meta"] = {"address": query}
    return [False, title, text, figure, {"height": f"{figure['layout']['height']}px"}]


def _texts(*given: object) -> object:
    """The key of a callback that takes parts of an address; a forged request may contain anything."""
    return list(given) if all(text is None or isinstance(text, str) for text in given) else None


def _list_drawn_outputs(*parts: str) -> list[Output]:
    """The attributes that say which address each part of the page was drawn for."""
    return [Output(part, "data-drawn") for part in parts]


def _sides(
    views: Views, address: Address, ask: Callable[[Release, SettledQuestion], Result]
) -> SideBySide | None:
    """The parts of the chosen area side by side; None for a comparison of releases."""
    release = views.release(address)
    if views.before(address) is not None:
        return None
    return side_by_side(release.areas, views.settle(address), lambda question: ask(release, question))


def _with_errors(views: Views, release: Release, address: Address) -> Result:
    question, before = views.settle(address), views.releases.get(address.against, release)
    if before is not release:
        try:
            return served_answers.compare_with_errors(before, release, question)
        except (UsageError, GeodataError):  # the answer without errors has already said so
            pass
    return served_answers.with_errors(release, question)


def answer_of(views: Views, address: Address) -> tuple[Result, str, tuple[str, ...]]:
    """The answer, what the visitor still has to choose, and notes."""
    release, question = views.release(address), views.settle(address)
    missing, before = area_controls.missing(question), views.releases.get(address.against)
    refusal = views.refusal(address)
    notes: tuple[str, ...] = (f"{refusal[0].upper()}{refusal[1:]}.",) if refusal else ()
    if before is release:
        notes = ("Compare with: choose another release; this one is already shown.",)
    elif before is not None and not missing:
        try:
            return served_answers.compare_releases(before, release, question), "", ()
        except (UsageError, GeodataError) as error:
            notes = (f"The comparison cannot be shown: {error}.",)
    return served_answers.result(release, question), missing, notes


def _register_updates(app: Dash, views: Views) -> None:
    in_browser: Callable[..., object] = app.clientside_callback
    for name in ("placed", "shown"):
        in_browser(ClientsideFunction("commutemap", "place"), Input(name, "data"))

    @app.callback(
        output={
            "placed": Output("placed", "data"),
            "hidden": [Output(f"field-{name}", "hidden") for name in (*controls.FIELDS, "target")],
            "show_label": Output("show-label", "children"),
            "filters": [Output("filters-label", "children"), Output("field-attributes", "hidden")],
            "areas": [
                Output(f"{kind}chips", name) for kind in ("", "other-") for name in ("children", "className")
            ],
            "size": Output("area-size", "children"),
            "prompt": Output("prompt", "children"),
            "files": [Output("take-files", "children"), Output("csv", "href")],
            "drawn": _list_drawn_outputs("asked", "chosen", "take-files", "csv"),
        },
        inputs={"query": Input("url", "search")},
    )
    @kept_for(_texts)
    def show_question(query: str | None) -> dict[str, object]:
        """What was asked, and what goes with it: controls, chosen areas, and files, in one request."""
        address, _ = views.parse(query)
        release = views.release(address)
        nouns = nouns_of(release.facts)
        asked: dict[str, object] = {
            "placed": {
                "drawn": query,
                "values": controls.values(address) | {"release": release.slug},
                "menus": _menus(views, release, address),
                "next": area_controls.next_end(address.question),
            },
            "hidden": [
                *controls.hidden_fields(address.question, address.view),
                address.question.entry.n_needed != 2,
            ],
            "show_label": words.drawn_label(address.question),
            "filters": [controls.filters_label(release), not release.attributes.further],
            "areas": _chosen_areas(release, address.question),
            "size": area_controls.size_words(release, address.question),
            "prompt": area_controls.prompt(address.question),
            "files": files_of(views, release, address),
            "drawn": [query] * 4,
        }
        return asked | {
            name: in_reader_words(asked[name], nouns) for name in ("show_label", "filters", "size", "prompt")
        }

    in_browser(ClientsideFunction("commutemap", "entitle"), Input("page-title", "data"))

    @app.callback(
        output={
            "publication": [Output(name, "children") for name in ("banner", "release-title")],
            "theme": [Output("theme-provider", "forceColorScheme"), Output("app", "className")],
            "title": Output("page-title", "data"),
            "drawn": _list_drawn_outputs("banner", "release-title"),
            "links": Output({"type": "nav", "page": ALL}, "href"),
        },
        inputs={"query": Input("url", "search"), "pathname": Input("url", "pathname")},
    )
    @kept_for(_texts)
    def show_frame(query: str | None, pathname: str | None) -> dict[str, object]:
        """The frame around the page: what it is about, its colors, and links to the other pages that keep the view."""
        head = page_head(views, pathname, query)
        theme = color_scheme.shown_theme_of(head.theme)
        return {
            "publication": [certificate.banner(head.publication), head.name],
            "theme": [theme, f"app {theme}"],
            "title": head.title,
            "drawn": [query] * 2,
            "links": page_links(views, query),
        }


def _menus(views: Views, release: Release, address: Address) -> dict[str, object]:
    """The entries of each menu; the page's script changes those that differ (`assets/choices.js`)."""
    layers = menus.layer_menus(release, address.question, views.layers(address))
    return {
        "target": area_controls.target_options(address.question),
        "against": controls.options_of(controls.other_releases(views.releases, address)),
        **{name: controls.options_of(menu) for name, menu in layers.items()},
        **menus.attribute_menus(release),
    }


def _chosen_areas(release: Release, question: Question) -> list[object]:
    """The parts of the chosen areas, and of what is kept of the workers; and the class of each list."""
    first, second = area_controls.areas_label(question)
    return [
        [
            *area_controls.chips(release, question.areas, "areas", first),
            *area_controls.filter_chips(release, question),
        ],
        f"chips {question.side}",
        area_controls.chips(release, question.others, "others", second),
        f"chips {OTHER_END[question.side]}",
    ]


def _register_release_offers(app: Dash, views: Views) -> None:
    """Offer releases that have been made since the page was opened; the page looks only while it awaits any."""

    @app.callback(
        Output("offered", "data"),
        Output("releases", "hidden"),
        Output("release-title", "children", allow_duplicate=True),
        Output("awaited", "children"),
        Output("look-for-releases", "disabled"),
        Input("look-for-releases", "n_intervals"),
        State("url", "search"),
        prevent_initial_call=True,
    )
    def offer_releases(_looks: object, query: str | None) -> tuple[object, ...]:
        address, _ = views.parse(query)
        release, names = views.release(address), names_of(list(views.releases.values()))
        awaited = views.awaited
        other_names = controls.other_releases(views.releases, address)
        return (
            {"release": controls.options_of(names), "against": controls.options_of(other_names)},
            len(names) < 2,
            names[release.slug],
            controls.awaited_text(awaited),
            not awaited,
        )
