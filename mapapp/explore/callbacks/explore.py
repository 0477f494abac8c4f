"""The callbacks that show a view on the Explore page.

Every action of a visitor first changes the address (:mod:`mapapp.explore.callbacks.choices`), and the page shows what
the address says. So a view takes the same path whether it comes from a click, a link or the back button.

Each part of the page carries the address that it was drawn for (`data-drawn`). The page's script dims a part until it
matches the address of the newest choice (`assets/versions.js`).
"""

from __future__ import annotations

from collections.abc import Callable

import plotly.graph_objects as go
from dash import ClientsideFunction, Dash, Input, Output, Patch, State, no_update

from geodata.errors import GeodataError
from mapapp.answers import served_answers, served_years, words
from mapapp.answers.results import Result
from mapapp.answers.served_release import ServedRelease, names_of
from mapapp.drawing import map_content
from mapapp.errors import UsageError
from mapapp.explore import color_scheme
from mapapp.explore.callbacks import draw
from mapapp.explore.callbacks.setup_file import bounds_for
from mapapp.explore.callbacks.views import Views
from mapapp.explore.cell_routes import cells_url
from mapapp.explore.downloads.routes import file_address
from mapapp.explore.page_heads import page_head
from mapapp.explore.pages import (
    answer,
    answer_charts,
    answer_matrix,
    answer_tables,
    area_controls,
    attribute_menus,
    certificate,
    controls,
    explore,
    layer_menus,
)
from mapapp.question.address import Address, to_query
from mapapp.question.question import OTHER_END
from mapapp.question.view import Bounds


def register(app: Dash, views: Views) -> None:
    """Attach the callbacks of the page to an app."""
    _map(app, views)
    _answering(app, views)
    _keeping_up(app, views)
    _looking_for_releases(app, views)


def _map(app: Dash, views: Views) -> None:
    in_browser: Callable[..., object] = app.clientside_callback
    in_browser(ClientsideFunction("commutemap", "look"), Output("look", "data"), Input("url", "search"))

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
    def show_map(look: object, on_map: object, opened: object) -> tuple[object, ...]:
        look, on_map = (given if isinstance(given, dict) else {} for given in (look, on_map))
        query = look.get("search")
        address, _ = views.parse(query)
        kind = map_content.drawn_as(
            views.release(address), address.question, address.view, views.before(address)
        )
        placed = {
            "drawn": query,
            "values": {"show": controls.show_value(address.question, address.view, kind)},
        }
        return (
            *_map_figure(views, address, look, on_map, bounds_for(query, opened)),
            controls.show_options(address.question, address.view, kind),
            controls.show_note(address.question, address.view, kind),
            placed,
        )


def _map_figure(
    views: Views, address: Address, look: dict[str, object], on_map: dict[str, object], bounds: Bounds | None
) -> tuple[go.Figure | Patch, dict[str, str]]:
    """The whole map or the changes to the map on the page, and what the map then shows."""
    release = views.release(address)
    size = _pixels(look.get("width")), _pixels(look.get("height"))
    before, view = views.before(address), color_scheme.seen(address.view)
    figure = draw.map_figure(
        release, address.question, view, views.prefix, *size, bounds=bounds, before=before
    )
    figure.layout.meta = {**figure.layout.meta, "address": look.get("search")}
    now = {
        "release": release.slug,
        "theme": view.theme,
        "view": draw.revision(release, address.question),
    }
    if on_map.get("release") != release.slug:
        return figure, now
    move = bounds is not None or (look.get("moved_by") != "map" and on_map.get("view") != now["view"])
    return draw.changes(figure, move=move, restyle=on_map.get("theme") != view.theme), now


def _pixels(given: object) -> int:
    """A plausible width or height; a forged request may contain anything."""
    return min(max(given, 100), 10_000) if isinstance(given, int) else 700


def _answering(app: Dash, views: Views) -> None:
    in_browser: Callable[..., object] = app.clientside_callback
    in_browser(
        ClientsideFunction("commutemap", "fill"), Output("table-card", "hidden"), Input("area-data", "data")
    )

    @app.callback(
        Output("answer", "children"),
        Output("area-data", "data"),
        Output("certificate", "children"),
        Output("glance", "children"),
        Output("notes", "children"),
        Output("answered", "data"),
        *_drawn("answer", "certificate", "glance"),
        Input("url", "search"),
    )
    def show_answer(query: str | None) -> tuple[object, ...]:
        address, notes = views.parse(query)
        release = views.release(address)
        found, missing, more = answer_of(views, address)
        return (
            answer.answer(release, address, found, missing),
            answer_tables.table(found, every=address.view.every) | {"drawn": query},
            certificate.card(release, views.releases.values(), views.tables.values()),
            answer.glance(found),
            explore.notes((*notes, *more)),
            query,
            *[query] * 3,
        )

    @app.callback(
        Output("answer", "children", allow_duplicate=True),
        Output("area-data", "data", allow_duplicate=True),
        Input("answered", "data"),
        prevent_initial_call=True,
    )
    def show_errors(query: str | None) -> tuple[object, ...]:
        """The same answer with its expected errors, which take longer and so arrive later."""
        address, _ = views.parse(query)
        if not address.question.is_complete:
            return no_update, no_update
        release = views.release(address)
        found = _with_errors(views, release, address)
        table = answer_tables.table(found, every=address.view.every) | {"drawn": query}
        over = served_years.years_of(release, views.releases.values(), address.question)
        return answer.answer(release, address, found, "", over), table

    in_browser(
        ClientsideFunction("commutemap", "fillMatrix"),
        Output("matrix-card", "hidden"),
        Input("matrix-data", "data"),
    )

    @app.callback(
        Output("matrix-data", "data"),
        Output("matrix-csv", "href"),
        *_drawn("matrix-card", "matrix-csv"),
        Input("url", "search"),
    )
    def show_matrix(query: str | None) -> tuple[object, ...]:
        address, _ = views.parse(query)
        release = views.release(address)
        place = file_address(views, release, "matrix.csv", to_query(address))
        found = answer_matrix.matrix(served_answers.result(release, address.question))
        if found is None:
            return None, place, query, query
        cells = cells_url(views.prefix, release, address)
        return found | {"drawn": query, "cells": cells}, place, query, query

    @app.callback(
        Output("chart-card", "hidden"),
        Output("chart-title", "children"),
        Output("chart-text", "children"),
        Output("chart", "figure"),
        Output("chart", "style"),
        *_drawn("chart-card"),
        Input("url", "search"),
    )
    def show_chart(query: str | None) -> tuple[object, ...]:
        address, _ = views.parse(query)
        nothing: tuple[object, ...] = (True, "", "", {}, {}, query)
        if not address.question.is_complete:
            return nothing
        title, text, figure = answer_charts.drawn_chart(
            served_answers.result(views.release(address), address.question),
            color_scheme.shown_theme(address.view),
        )
        if not title:
            return nothing
        figure.layout.meta = {"address": query}
        return False, title, text, figure, {"height": f"{figure.layout.height}px"}, query


def _drawn(*parts: str) -> list[Output]:
    """The attributes that say which address each part of the page was drawn for."""
    return [Output(part, "data-drawn") for part in parts]


def _with_errors(views: Views, release: ServedRelease, address: Address) -> Result:
    before = views.releases[address.against] if address.against else release
    if before is not release:
        try:
            return served_answers.changed_with_errors(before, release, address.question)
        except (UsageError, GeodataError):  # the answer without errors has already said so
            pass
    return served_answers.with_errors(release, address.question)


def answer_of(views: Views, address: Address) -> tuple[Result, str, tuple[str, ...]]:
    """The answer, what the visitor still has to choose, and notes."""
    release, missing = views.release(address), area_controls.missing(address.question)
    if address.against and views.releases[address.against] is release:
        return (
            served_answers.result(release, address.question),
            missing,
            ("Compare with: choose another release; this one is already shown.",),
        )
    if address.against and not missing and views.releases[address.against] is not release:
        try:
            return served_answers.changed(views.releases[address.against], release, address.question), "", ()
        except (UsageError, GeodataError) as error:
            return (
                served_answers.result(release, address.question),
                "",
                (f"The comparison cannot be shown: {error}.",),
            )
    return served_answers.result(release, address.question), missing, ()


def _keeping_up(app: Dash, views: Views) -> None:
    in_browser: Callable[..., object] = app.clientside_callback
    for name in ("placed", "shown"):
        in_browser(ClientsideFunction("commutemap", "place"), Input(name, "data"))

    @app.callback(
        output={
            "placed": Output("placed", "data"),
            "hidden": [Output(f"field-{name}", "hidden") for name in (*controls.FIELDS, "target")],
            "show_label": Output("show-label", "children"),
            "targets": Output("target", "data"),
            "against": Output("against", "data"),
            "layers": {name: Output(name, "data") for name in layer_menus.MENUS},
            "attributes": {name: Output(name, "data") for name in attribute_menus.MENUS},
            "filters": [Output("filters-label", "children"), Output("field-attributes", "hidden")],
            "drawn": _drawn("asked"),
        },
        inputs={"query": Input("url", "search")},
    )
    def show_controls(query: str | None) -> dict[str, object]:
        address, _ = views.parse(query)
        release = views.release(address)
        menus = layer_menus.layer_menus(release, address.question, views.layers(address))
        return {
            "placed": {"drawn": query, "values": controls.values(address) | {"release": release.slug}},
            "hidden": [
                *controls.hidden_fields(address.question, address.view),
                address.question.entry.n_needed != 2,
            ],
            "show_label": words.drawn_label(address.question),
            "targets": area_controls.target_options(address.question),
            "against": controls.options_of(controls.other_releases(views.releases, address)),
            "layers": {name: controls.options_of(menu) for name, menu in menus.items()},
            "attributes": attribute_menus.attribute_menus(release),
            "filters": [controls.filters_label(release), not release.attributes.further],
            "drawn": [query],
        }

    @app.callback(
        Output("chips", "children"),
        Output("chips", "className"),
        Output("other-chips", "children"),
        Output("other-chips", "className"),
        Output("area-size", "children"),
        *_drawn("chosen"),
        Input("url", "search"),
    )
    def show_areas(query: str | None) -> tuple[object, ...]:
        address, _ = views.parse(query)
        release = views.release(address)
        first, second = area_controls.areas_label(address.question)
        return (
            [
                *area_controls.chips(release, address.question.areas, "areas", first),
                *area_controls.filter_chips(release, address.question),
            ],
            f"chips {address.question.side}",
            area_controls.chips(release, address.question.others, "others", second),
            f"chips {OTHER_END[address.question.side]}",
            area_controls.size_words(release, address.question),
            query,
        )

    in_browser(ClientsideFunction("commutemap", "entitle"), Input("page-title", "data"))

    @app.callback(
        Output("banner", "children"),
        Output("release-title", "children"),
        Output("theme-provider", "forceColorScheme"),
        Output("app", "className"),
        Output("page-title", "data"),
        *_drawn("banner", "release-title"),
        Input("url", "search"),
        Input("url", "pathname"),
    )
    def show_release(query: str | None, pathname: str | None) -> tuple[object, ...]:
        head = page_head(views, pathname, query)
        theme = color_scheme.shown_theme_of(head.theme)
        return (
            certificate.banner(head.publication),
            head.name,
            theme,
            f"app {theme}",
            head.title,
            query,
            query,
        )


def _looking_for_releases(app: Dash, views: Views) -> None:
    """Offer releases that have been made since the page was opened; the page looks only while it awaits any."""

    @app.callback(
        Output("release", "data"),
        Output("against", "data", allow_duplicate=True),
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
        return (
            controls.options_of(names),
            controls.options_of(controls.other_releases(views.releases, address)),
            len(names) < 2,
            names[release.slug],
            controls.awaited_text(awaited),
            not awaited,
        )
