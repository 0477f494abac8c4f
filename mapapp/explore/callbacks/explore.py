"""The callbacks that show a view on the Explore page.

Everything a visitor does first changes the address (:mod:`mapapp.explore.callbacks.asking`); everything that is shown
follows from the address. So there is one way through, whether a view comes from a click, a link or the back button.

Each part of the page comes with the address that it was drawn for (`data-drawn`). The page's script dims a part while
that is not the address of the newest choice (`assets/versions.js`).
"""

from __future__ import annotations

from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, no_update

from geodata.errors import GeodataError
from mapapp.answers import view_answers, words
from mapapp.answers.results import Result
from mapapp.answers.served_release import ServedRelease, names_of
from mapapp.drawing import map_content
from mapapp.errors import UsageError
from mapapp.explore.callbacks import draw
from mapapp.explore.callbacks.setup_file import bounds_for
from mapapp.explore.callbacks.views import Views
from mapapp.explore.pages import (
    answer,
    answer_charts,
    answer_tables,
    area_controls,
    certificate,
    controls,
    explore,
)
from mapapp.question.address import ViewState
from mapapp.question.view import Bounds


def register(app: Dash, views: Views) -> None:
    """Attach the callbacks of the page to an app."""
    _map(app, views)
    _answering(app, views)
    _keeping_up(app, views)


def _map(app: Dash, views: Views) -> None:
    in_browser: Any = app.clientside_callback
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
    def show_map(look: Any, on_map: Any, opened: Any) -> tuple[Any, ...]:
        look, on_map = (given if isinstance(given, dict) else {} for given in (look, on_map))
        query = look.get("search")
        state, _ = views.parse(query)
        kind = map_content.drawn_as(views.release(state), state, views.before(state))
        placed = {"drawn": query, "values": {"show": controls.show_value(state, kind)}}
        return (
            *_map_figure(views, state, look, on_map, bounds_for(query, opened)),
            controls.show_options(state, kind),
            controls.show_note(state, kind),
            placed,
        )


def _map_figure(
    views: Views, state: ViewState, look: dict[str, Any], on_map: dict[str, Any], bounds: Bounds | None
) -> tuple[Any, dict[str, str]]:
    """The map, or what changes on the one that is there; and what is on it then."""
    release = views.release(state)
    size = _pixels(look.get("width")), _pixels(look.get("height"))
    before = views.before(state)
    figure = draw.whole(release, state, views.prefix, *size, bounds=bounds, before=before)
    figure.layout.meta = {**figure.layout.meta, "address": look.get("search")}
    now = {"release": release.slug, "theme": state.theme, "view": draw.revision(release, state)}
    if on_map.get("release") != release.slug:
        return figure, now
    move = bounds is not None or (look.get("moved_by") != "map" and on_map.get("view") != now["view"])
    return draw.changes(figure, move=move, restyle=on_map.get("theme") != state.theme), now


def _pixels(given: Any) -> int:
    """A width or height as it can be; a forged request holds anything."""
    return min(max(given, 100), 10_000) if isinstance(given, int) else 700


def _answering(app: Dash, views: Views) -> None:
    in_browser: Any = app.clientside_callback
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
    def show_answer(query: str | None) -> tuple[Any, ...]:
        state, notes = views.parse(query)
        release = views.release(state)
        found, missing, more = answer_of(views, state)
        return (
            answer.answer(release, state, found, missing),
            answer_tables.table(found, every=state.every) | {"drawn": query},
            certificate.card(release),
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
    def show_errors(query: str | None) -> tuple[Any, ...]:
        """The same answer with its expected errors, which take longer and so come behind it."""
        state, _ = views.parse(query)
        if not view_answers.is_ready(state):
            return no_update, no_update
        release = views.release(state)
        found = _sure(views, release, state)
        table = answer_tables.table(found, every=state.every) | {"drawn": query}
        return answer.answer(release, state, found, ""), table

    @app.callback(
        Output("chart-card", "hidden"),
        Output("chart-title", "children"),
        Output("chart-text", "children"),
        Output("chart", "figure"),
        Output("chart", "style"),
        *_drawn("chart-card"),
        Input("url", "search"),
    )
    def show_chart(query: str | None) -> tuple[Any, ...]:
        state, _ = views.parse(query)
        nothing: tuple[Any, ...] = (True, "", "", {}, {}, query)
        if not view_answers.is_ready(state):
            return nothing
        title, text, figure = answer_charts.drawn_chart(
            view_answers.result(views.release(state), state), state
        )
        if not title:
            return nothing
        figure.layout.meta = {"address": query}
        return False, title, text, figure, {"height": f"{figure.layout.height}px"}, query


def _drawn(*parts: str) -> list[Output]:
    """Where parts of the page say which address they were drawn for."""
    return [Output(part, "data-drawn") for part in parts]


def _sure(views: Views, release: ServedRelease, state: ViewState) -> Result:
    before = views.releases[state.against] if state.against else release
    if before is not release:
        try:
            return view_answers.changed_with_errors(before, release, state)
        except (UsageError, GeodataError):  # as the answer itself has told
            pass
    return view_answers.with_errors(release, state)


def answer_of(views: Views, state: ViewState) -> tuple[Result, str, tuple[str, ...]]:
    """The answer, what must still be chosen for it, and notes."""
    release, missing = views.release(state), area_controls.missing(state)
    if state.against and views.releases[state.against] is release:
        return (
            view_answers.result(release, state),
            missing,
            ("Change since: choose another release than the one shown.",),
        )
    if state.against and not missing and views.releases[state.against] is not release:
        try:
            return view_answers.changed(views.releases[state.against], release, state), "", ()
        except (UsageError, GeodataError) as error:
            return view_answers.result(release, state), "", (f"No change can be shown: {error}.",)
    return view_answers.result(release, state), missing, ()


def _keeping_up(app: Dash, views: Views) -> None:
    in_browser: Any = app.clientside_callback
    for name in ("placed", "shown"):
        in_browser(ClientsideFunction("commutemap", "place"), Input(name, "data"))

    @app.callback(
        output={
            "placed": Output("placed", "data"),
            "hidden": [Output(f"field-{name}", "hidden") for name in (*controls.FIELDS, "target")],
            "show_label": Output("show-label", "children"),
            "targets": Output("target", "data"),
            "against": Output("against", "data"),
            "layers": {name: Output(name, "data") for name in ("layer", "home_layer", "work_layer", "pick")},
            "drawn": _drawn("asked"),
        },
        inputs={"query": Input("url", "search")},
    )
    def show_controls(query: str | None) -> dict[str, Any]:
        state, _ = views.parse(query)
        release = views.release(state)
        options = [{"value": level, "label": label} for level, label in views.layers(state).items()]
        return {
            "placed": {"drawn": query, "values": controls.values(state) | {"release": release.slug}},
            "hidden": [*controls.hidden_fields(state), state.analysis != "paired-area"],
            "show_label": words.drawn_label(state),
            "targets": area_controls.target_options(state),
            "against": [
                {"value": slug, "label": name}
                for slug, name in controls.earlier_releases(views.releases, state).items()
            ],
            "layers": dict.fromkeys(("layer", "home_layer", "work_layer", "pick"), options),
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
    def show_areas(query: str | None) -> tuple[Any, ...]:
        state, _ = views.parse(query)
        release = views.release(state)
        first, second = area_controls.areas_label(state)
        return (
            area_controls.chips(release, state.areas, "areas", first),
            f"chips {state.side}",
            area_controls.chips(release, state.others, "others", second),
            f"chips {view_answers.OTHER[state.side]}",
            area_controls.size_words(release, state),
            query,
        )

    @app.callback(
        Output("banner", "children"),
        Output("release-title", "children"),
        Output("theme-provider", "forceColorScheme"),
        Output("app", "className"),
        *_drawn("banner", "release-title"),
        Input("url", "search"),
    )
    def show_release(query: str | None) -> tuple[Any, ...]:
        state, _ = views.parse(query)
        release = views.release(state)
        name = names_of(list(views.releases.values()))[release.slug]
        return certificate.banner(release), name, state.theme, f"app {state.theme}", query, query
