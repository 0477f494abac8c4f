"""The callbacks of the Explore page.

Everything a visitor does first changes the address (`ask`); everything that is shown follows from the
address. So there is one way through, whether a view comes from a click, a link or the back button.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from dash import ALL, ClientsideFunction, Dash, Input, Output, State, ctx, no_update

from geodata.errors import GeodataError
from mapapp import asked
from mapapp.callbacks import draw, events
from mapapp.callbacks.setup_file import bounds_for
from mapapp.callbacks.views import Views
from mapapp.errors import UsageError
from mapapp.pages import (
    answer,
    answer_charts,
    answer_tables,
    area_controls,
    certificate,
    controls,
    explore,
    words,
)
from mapapp.queries.areas import LEVEL_LABELS
from mapapp.queries.release import ServedRelease
from mapapp.queries.results import Result
from mapapp.url_state import ViewState, shown_as, to_query

CONTROLS = (*events.PLAIN, "edges", "against", *events.BANDS)
EVENTS = {
    "clicked": "data",
    "drawn": "data",
    "drill": "data",
    "open-area": "data",
    "search": "value",
    "release": "value",
    "radii": "n_submit",
}
CLICKS = ("add-circle", "every")
MAX_TYPED = 200
READ = ("pick", "sign", "target", "centre", "radii")


def register(app: Dash, views: Views) -> None:
    """Attach the callbacks of the page to an app."""
    _asking(app, views)
    _map(app, views)
    _answering(app, views)
    _keeping_up(app, views)


def _asking(app: Dash, views: Views) -> None:
    @app.callback(
        output={
            "search": Output("url", "search"),
            "moved_by": Output("moved-by", "data"),
            "found": Output("search", "value"),
            "said": Output("area-said", "children"),
        },
        inputs={
            "events": [Input(name, prop) for name, prop in EVENTS.items()],
            "clicks": [Input(name, "n_clicks") for name in CLICKS],
            "controls": {name: Input(name, "value") for name in CONTROLS},
            "buttons": [
                Input({"type": "remove", "area": ALL, "of": ALL}, "n_clicks"),
                Input({"type": "suggest", "area": ALL}, "n_clicks"),
            ],
            "read": {name: State(name, "value") for name in READ},
            "query": State("url", "search"),
        },
        prevent_initial_call=True,
    )
    def ask(events: Any, clicks: Any, controls: Any, buttons: Any, read: Any, query: Any) -> dict[str, Any]:
        return _step(views, query, controls | read)

    @app.callback(Output("search", "data"), Input("search", "searchValue"), State("url", "search"))
    def look_up(text: str | None, query: str | None) -> list[dict[str, Any]]:
        state, _ = views.parse(query)
        return area_controls.search_options(views.release(state).areas.search(_typed(text), near=True))

    @app.callback(
        Output("centre", "data"),
        Input("centre", "searchValue"),
        State("centre", "value"),
        State("url", "search"),
    )
    def look_up_centre(text: str | None, chosen: str | None, query: str | None) -> list[dict[str, Any]]:
        state, _ = views.parse(query)
        areas = views.release(state).areas
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


def _step(views: Views, query: Any, values: dict[str, Any]) -> dict[str, Any]:
    """The address after an event, or a line on why it cannot be followed."""
    state, _ = views.parse(query)
    nothing = dict.fromkeys(("search", "moved_by", "found", "said"), no_update)
    trigger = ctx.triggered_id
    try:
        asked_for = events.after(state, views.release(state), trigger, ctx.triggered[0]["value"], values)
    except (UsageError, GeodataError) as error:
        return nothing | {"said": str(error)}
    if asked_for == state:
        nobody = trigger == "clicked" and values["pick"] in LEVEL_LABELS
        return nothing | {"said": f"There is no {words.level_word(values['pick'])} here." if nobody else ""}
    asked_for, said = fitted(views, asked_for)
    by = "map" if trigger in ("clicked", "drawn") else "other"
    return {"search": to_query(asked_for), "moved_by": by, "found": None, "said": said}


def fitted(views: Views, state: ViewState) -> tuple[ViewState, str]:
    """A state with the parts of its areas that its release has, and a line on those left out."""
    slug = views.release(state).slug if state.release in ("", *views.releases) else ""
    kept = [
        tuple(step for step in steps if views.has_area(slug, step)) for steps in (state.areas, state.others)
    ]
    n_lost = len(state.areas) + len(state.others) - len(kept[0]) - len(kept[1])
    lost = f"{n_lost} part{'s' * (n_lost != 1)} of the area left out: this release has no such unit."
    return replace(state, areas=kept[0], others=kept[1]), lost if n_lost else ""


def _map(app: Dash, views: Views) -> None:
    in_browser: Any = app.clientside_callback
    in_browser(ClientsideFunction("commutemap", "look"), Output("look", "data"), Input("url", "search"))

    @app.callback(
        Output("map", "figure"),
        Output("on-map", "data"),
        Input("look", "data"),
        State("moved-by", "data"),
        State("on-map", "data"),
        State("opened-view", "data"),
        running=[(Output("busy", "className"), "busy on", "busy")],
        prevent_initial_call=True,
    )
    def show_map(look: Any, moved_by: str | None, on_map: Any, opened: Any) -> tuple[Any, Any]:
        look, on_map = (given if isinstance(given, dict) else {} for given in (look, on_map))
        state, _ = views.parse(look.get("search"))
        release, bounds = views.release(state), bounds_for(look.get("search"), opened)
        size = _pixels(look.get("width")), _pixels(look.get("height"))
        figure = draw.whole(release, state, views.prefix, *size, bounds=bounds)
        now = {"release": release.slug, "theme": state.theme, "view": draw.revision(release, state)}
        if on_map.get("release") != release.slug:
            return figure, now
        move = bounds is not None or (moved_by != "map" and on_map.get("view") != now["view"])
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
        Input("url", "search"),
    )
    def show_answer(query: str | None) -> tuple[Any, ...]:
        state, notes = views.parse(query)
        release = views.release(state)
        found, missing, more = answer_of(views, state)
        return (
            answer.answer(release, state, found, missing),
            answer_tables.table(found, every=state.every),
            certificate.card(release),
            answer.glance(found),
            explore.notes((*notes, *more)),
            query,
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
        if not asked.is_ready(state):
            return no_update, no_update
        release = views.release(state)
        found = _sure(views, release, state)
        return answer.answer(release, state, found, ""), answer_tables.table(found, every=state.every)

    @app.callback(
        Output("chart-card", "hidden"),
        Output("chart-title", "children"),
        Output("chart-text", "children"),
        Output("chart", "figure"),
        Output("chart", "style"),
        Input("url", "search"),
    )
    def show_chart(query: str | None) -> tuple[Any, ...]:
        state, _ = views.parse(query)
        if not asked.is_ready(state):
            return True, "", "", {}, {}
        title, text, figure = answer_charts.drawn_chart(asked.result(views.release(state), state), state)
        height = figure.layout.height if title else 0
        return not title, title, text, figure, {"height": f"{height}px"}


def _sure(views: Views, release: ServedRelease, state: ViewState) -> Result:
    before = views.releases[state.against] if state.against else release
    if before is not release:
        try:
            return asked.changed_with_errors(before, release, state)
        except (UsageError, GeodataError):  # as the answer itself has told
            pass
    return asked.with_errors(release, state)


def answer_of(views: Views, state: ViewState) -> tuple[Result, str, tuple[str, ...]]:
    """The answer, what must still be chosen for it, and notes."""
    release, missing = views.release(state), area_controls.missing(state)
    if state.against and views.releases[state.against] is release:
        return (
            asked.result(release, state),
            missing,
            ("Change since: choose another release than the one shown.",),
        )
    if state.against and not missing and views.releases[state.against] is not release:
        try:
            return asked.changed(views.releases[state.against], release, state), "", ()
        except (UsageError, GeodataError) as error:
            return asked.result(release, state), "", (f"No change can be shown: {error}.",)
    return asked.result(release, state), missing, ()


def _keeping_up(app: Dash, views: Views) -> None:
    @app.callback(
        output={
            "values": {name: Output(name, "value") for name in CONTROLS},
            "release": Output("release", "value"),
            "hidden": [Output(f"field-{name}", "hidden") for name in (*controls.FIELDS, "target")],
            "show_label": Output("show-label", "children"),
            "shows": Output("show", "data"),
            "targets": Output("target", "data"),
            "layers": {name: Output(name, "data") for name in ("layer", "home_layer", "work_layer", "pick")},
        },
        inputs={"query": Input("url", "search"), "now": {name: State(name, "value") for name in CONTROLS}},
    )
    def show_controls(query: str | None, now: dict[str, Any]) -> dict[str, Any]:
        state, _ = views.parse(query)
        wanted = _control_values(state)
        options = [{"value": level, "label": label} for level, label in views.layers(state).items()]
        return {
            # A control that stands right already is left alone: the visitor may have moved on meanwhile.
            "values": {
                name: no_update if _same(wanted[name], now[name]) else wanted[name] for name in CONTROLS
            },
            "release": views.release(state).slug,
            "hidden": [*controls.hidden_fields(state), state.analysis != "paired-area"],
            "show_label": words.drawn_label(state),
            "shows": controls.show_options(state),
            "targets": area_controls.target_options(state),
            "layers": dict.fromkeys(("layer", "home_layer", "work_layer", "pick"), options),
        }

    @app.callback(
        Output("chips", "children"),
        Output("chips", "className"),
        Output("other-chips", "children"),
        Output("other-chips", "className"),
        Output("area-size", "children"),
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
            f"chips {asked.OTHER[state.side]}",
            area_controls.size_words(release, state),
        )

    @app.callback(
        Output("banner", "children"),
        Output("release-title", "children"),
        Output("theme-provider", "forceColorScheme"),
        Output("app", "className"),
        Input("url", "search"),
    )
    def show_release(query: str | None) -> tuple[Any, ...]:
        state, _ = views.parse(query)
        release = views.release(state)
        return certificate.banner(release), release.title, state.theme, f"app {state.theme}"


def _control_values(state: ViewState) -> dict[str, Any]:
    wanted: dict[str, Any] = {name: getattr(state, name) for name in (*events.PLAIN, "against")}
    wanted["show"] = shown_as(state)
    wanted["edges"] = ", ".join(f"{edge:g}" for edge in state.edges)
    return wanted | {name: [str(band) for band in getattr(state, name)] for name in events.BANDS}


def _same(new: str | list[str], old: str | list[str] | None) -> bool:
    """Whether a control stands as it should; the order in which bands were chosen says nothing."""
    if isinstance(new, list):
        return sorted(new) == sorted(map(str, old)) if isinstance(old, list) else not new
    return new == (old or "")
