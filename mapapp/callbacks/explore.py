"""The callbacks of the Explore page.

Everything a visitor does first changes the address (`ask`); everything that is shown follows from the
address. So there is one way through, whether a view comes from a click, a link or the back button.
"""

from __future__ import annotations

from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, no_update

from mapapp.callbacks import draw, events
from mapapp.callbacks.views import Views
from mapapp.pages import answer, certificate, controls, explore, words
from mapapp.url_state import to_query

CONTROLS = (*events.PLAIN, *events.BANDS)


def register(app: Dash, views: Views) -> None:
    """Attach the callbacks of the page to an app."""
    _asking(app, views)
    _answering(app, views)
    _keeping_up(app, views)


def _asking(app: Dash, views: Views) -> None:
    @app.callback(
        Output("url", "search"),
        Output("moved-by", "data"),
        Output("search", "value"),
        Output("map", "clickData"),
        Input("map", "clickData"),
        Input("search", "value"),
        Input("release", "value"),
        *[Input(name, "value") for name in CONTROLS],
        Input({"type": "remove", "area": ALL}, "n_clicks"),
        Input({"type": "suggest", "area": ALL}, "n_clicks"),
        State("pick", "value"),
        State("url", "search"),
        prevent_initial_call=True,
    )
    def ask(*arguments: Any) -> tuple[Any, ...]:
        *_, pick, query = arguments
        state, _ = views.parse(query)
        values = dict(zip(CONTROLS, arguments[3 : 3 + len(CONTROLS)], strict=True)) | {"pick": pick}
        trigger = ctx.triggered_id
        asked = events.after(state, views.release(state), trigger, ctx.triggered[0]["value"], values)
        if asked == state:
            return no_update, no_update, no_update, no_update
        return to_query(asked), trigger if trigger == "map" else "other", None, None

    @app.callback(Output("search", "data"), Input("search", "searchValue"), State("url", "search"))
    def look_up(text: str | None, query: str | None) -> list[dict[str, Any]]:
        state, _ = views.parse(query)
        return controls.search_options(views.release(state).areas.search(text or ""))


def _answering(app: Dash, views: Views) -> None:
    in_browser: Any = app.clientside_callback
    in_browser(ClientsideFunction("commutemap", "look"), Output("look", "data"), Input("url", "search"))
    in_browser(
        ClientsideFunction("commutemap", "fill"), Output("table-card", "hidden"), Input("area-data", "data")
    )

    @app.callback(
        Output("map", "figure"),
        Output("on-map", "data"),
        Input("look", "data"),
        State("moved-by", "data"),
        State("on-map", "data"),
        running=[(Output("busy", "className"), "busy on", "busy")],
        prevent_initial_call=True,
    )
    def show_map(look: dict[str, Any], moved_by: str | None, on_map: str | None) -> tuple[Any, Any]:
        state, _ = views.parse(look["search"])
        release = views.release(state)
        figure = draw.whole(release, state, views.prefix, look["width"], look["height"])
        if on_map != release.slug:
            return figure, release.slug
        return draw.changes(figure, move=moved_by != "map"), no_update

    @app.callback(
        Output("answer", "children"),
        Output("area-data", "data"),
        Output("certificate", "children"),
        Output("glance", "children"),
        Output("notes", "children"),
        Input("url", "search"),
    )
    def show_answer(query: str | None) -> tuple[Any, ...]:
        state, notes = views.parse(query)
        release = views.release(state)
        return (
            answer.answer(release, state),
            answer.table(release, state),
            certificate.card(release),
            answer.glance(release.summary(state)),
            explore.notes(notes),
        )


def _keeping_up(app: Dash, views: Views) -> None:
    @app.callback(
        Output("chips", "children"),
        Output("chips", "className"),
        Output("show-label", "children"),
        Output("release", "value"),
        *[Output(name, "value") for name in CONTROLS],
        Input("url", "search"),
        *[State(name, "value") for name in CONTROLS],
    )
    def show_controls(query: str | None, *now: Any) -> tuple[Any, ...]:
        state, _ = views.parse(query)
        release = views.release(state)
        wanted = [getattr(state, name) for name in events.PLAIN]
        wanted += [[str(band) for band in getattr(state, name)] for name in events.BANDS]
        # A control that stands right already is left alone: the visitor may have moved on meanwhile.
        values = [no_update if _same(new, old) else new for new, old in zip(wanted, now, strict=True)]
        chips = controls.chips(release, state)
        return chips, f"chips {state.side}", words.drawn_label(state), release.slug, *values

    @app.callback(Output("banner", "children"), Output("release-title", "children"), Input("url", "search"))
    def show_release(query: str | None) -> tuple[Any, Any]:
        state, _ = views.parse(query)
        release = views.release(state)
        return certificate.banner(release), release.title


def _same(new: str | list[str], old: str | list[str] | None) -> bool:
    """Whether a control stands as it should; the order in which bands were chosen says nothing."""
    return sorted(new) == sorted(old or ()) if isinstance(new, list) else new == old
