"""The callbacks of the page of a published table. The page shows what its address says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dash import ClientsideFunction, Dash, Input, Output, Patch, State, no_update

from mapapp.answers.promise.overlapping_releases import beside_sentences
from mapapp.answers.words import may_be_released
from mapapp.explore import color_scheme
from mapapp.explore.callbacks.draw import changes
from mapapp.explore.callbacks.views import Views
from mapapp.explore.pages import explore
from mapapp.kinds.tables.page import table_page
from mapapp.kinds.tables.page.addresses import starred_url
from mapapp.kinds.tables.page.map import TableMap, starred_units, table_legend, table_map
from mapapp.kinds.tables.read.served_table import ServedTable
from mapapp.kinds.tables.read.sheet import Sheet, make_sheet, page_of
from mapapp.kinds.tables.read.view import to_query
from mapapp.question.fields import Theme
from mapapp.show.content import camera, map_layers
from mapapp.show.content.palette import COLOR_SCHEMES
from mapapp.show.plotly import commute_map
from mapapp.show.plotly.plain_figures import Figure, Trace


def register(app: Dash, views: Views) -> None:
    """Attach the callbacks of the page to an app."""
    _answer_query(app, views)
    _map(app, views)
    _choose_rows(app, views)


def _read_sheet(views: Views, query: object) -> tuple[ServedTable, Sheet, tuple[str, ...]]:
    """The table and the rows that an address shows, and notes on what was left out of it."""
    view, notes = views.table_view(query)
    served = views.table(view)
    sheet = make_sheet(served, view)
    return served, sheet, (*notes, *sheet.notes)


def _answer_query(app: Dash, views: Views) -> None:
    parts = ("counts-head", "counts-sheet", "counts-foot", "counts-about")

    @app.callback(
        Output("counts-notes", "children"),
        *[Output(part, "children") for part in parts],
        *[Output(part, "data-drawn") for part in parts],
        Output("counts-placed", "data"),
        *[Output(f"counts-{name}", "data") for name in ("table", "of", "color", "theme")],
        *[Output(f"counts-field-{name}", "hidden") for name in ("table", "of", "color")],
        Input("url", "search"),
    )
    def show_table(query: str | None) -> tuple[object, ...]:
        served, sheet, notes = _read_sheet(views, query)
        offered = table_page.menus(views.tables, sheet)
        beside = beside_sentences(served, views.releases.values())
        return (
            explore.notes(notes),
            table_page.head(served, sheet, beside),
            table_page.sheet_part(sheet),
            table_page.foot(served, sheet, views.prefix),
            table_page.about(served),
            *[query] * len(parts),
            {"drawn": query, "values": table_page.values(served, sheet)},
            *[offered[name] for name in ("table", "of", "color", "theme")],
            *table_page.hidden_menus(offered),
        )

    in_browser: Callable[..., object] = app.clientside_callback
    in_browser(ClientsideFunction("commutemap", "placeTable"), Input("counts-placed", "data"))


def _choose_rows(app: Dash, views: Views) -> None:
    in_browser: Callable[..., object] = app.clientside_callback
    in_browser(
        ClientsideFunction("commutemap", "chooseTable"),
        *[Input(f"counts-{name}", "value") for name in table_page.CONTROLS],
        prevent_initial_call=True,
    )

    @app.callback(
        Output("url", "search", allow_duplicate=True),
        Input("counts-map", "clickData"),
        State("url", "search"),
        prevent_initial_call=True,
    )
    def choose_row(click: object, query: str | None) -> object:
        _, sheet, _ = _read_sheet(views, query)
        clicked = clicked_unit(click)
        if clicked not in sheet.shown.rows:
            return no_update
        row = "" if clicked == sheet.view.row else clicked
        page = page_of(sheet.shown, sheet.view, row) if row else sheet.view.page
        return to_query(replace(sheet.view, row=row, page=page))


def clicked_unit(click: object) -> str:
    """The unit of a click on the map; a forged request may contain anything."""
    points = click.get("points") if isinstance(click, dict) else None
    first = points[0] if isinstance(points, list) and points else None
    return str(first.get("location", "")) if isinstance(first, dict) else ""


def _map(app: Dash, views: Views) -> None:
    in_browser: Callable[..., object] = app.clientside_callback
    in_browser(
        ClientsideFunction("commutemap", "lookAtTable"), Output("counts-look", "data"), Input("url", "search")
    )

    @app.callback(
        Output("counts-map", "figure"),
        Output("counts-on-map", "data"),
        Input("counts-look", "data"),
        State("counts-on-map", "data"),
        prevent_initial_call=True,
    )
    def show_map(look: object, on_map: object) -> tuple[object, ...]:
        look, on_map = (given if isinstance(given, dict) else {} for given in (look, on_map))
        query = look.get("search")
        served, sheet, _ = _read_sheet(views, query)
        size = (_pixels(look.get("width")), _pixels(look.get("height")))
        figure = map_figure(served, sheet, views.prefix, size)
        figure["layout"]["meta"]["address"] = query
        now = {
            "table": served.slug,
            "theme": color_scheme.shown_theme_of(sheet.view.theme),
            "shown": f"{sheet.shown.table.position} {sheet.shown.of}",
        }
        drawn: Figure | Patch = figure
        if on_map.get("table") == served.slug:
            move = on_map.get("shown") != now["shown"]
            drawn = changes(figure, move=move, restyle=on_map.get("theme") != now["theme"])
        return drawn, now


def _pixels(given: object) -> int:
    return min(max(given, 100), 10_000) if isinstance(given, int) else 600


def map_figure(served: ServedTable, sheet: Sheet, prefix: str, size: tuple[int, int]) -> Figure:
    """The map of a table: its row units by class, hatched where their count is suppressed."""
    theme: Theme = color_scheme.shown_theme_of(sheet.view.theme)
    scheme = COLOR_SCHEMES[theme]
    content = table_map(sheet.shown, sheet.promise, sheet.color, sheet.view.shade, scheme)
    hatches = sheet.view.shade != "stars" and bool(starred_units(sheet.shown, sheet.color))
    chosen = (f"{sheet.shown.row_layer}:{sheet.view.row}",) if sheet.view.row else ()
    outline = map_layers.outline_url(prefix, served, chosen) if chosen else None
    work = (f"{sheet.shown.table.row_layer}:{sheet.shown.of}",) if sheet.shown.of else ()
    workplace = map_layers.outline_url(prefix, served, work) if work else None
    traces = commute_map.no_traces()
    traces[commute_map.UNITS] = unit_trace(served, sheet, content, prefix, theme)
    hatched = (
        {"url": starred_url(prefix, served, sheet), **commute_map.star_hatching(scheme)} if hatches else None
    )
    return commute_map.commute_map(
        style=commute_map.base_style(
            f"commutemap-{served.slug}-{served.version}", map_layers.style_urls(prefix, served)
        ),
        camera=camera.fit_bounds(map_layers.home_bounds(served), size),
        traces=traces,
        layers=[
            *commute_map.outline_layers(outline, scheme.ink, scheme.halo),
            commute_map.density_layer(None),
            *commute_map.outline_layers(workplace, scheme.work, scheme.halo),
        ],
        caption=_caption(served, content, size[0]),
        revision=f"{served.slug} {sheet.shown.table.position} {sheet.shown.of}",
        scheme=scheme,
        size=size,
        overlays={"flows": None, "hatched": hatched, "legend": table_legend(content).as_meta()},
    )


def unit_trace(served: ServedTable, sheet: Sheet, content: TableMap, prefix: str, theme: Theme) -> Trace:
    """The row units in the colors of their classes."""
    return commute_map.classed_trace(
        commute_map.UnitLabels(list(content.unit_ids), list(content.labels)),
        content.of,
        content.colors,
        geojson_url=map_layers.unit_url(prefix, served, sheet.shown.row_layer),
        scheme=COLOR_SCHEMES[theme],
    )


def _caption(served: ServedTable, content: TableMap, width: int) -> list[str]:
    """The lines on the picture; a narrow one has only its subject, because the page around it says the rest."""
    if width <= 560:
        return [content.what]
    warning = [] if may_be_released(served.certificate) else ["NOT FOR RELEASE"]
    return [*warning, content.what, f"{served.title} · table {served.version}…"]


def title_of(views: Views, query: object) -> str:
    """The title of the page that an address shows."""
    view, _ = views.table_view(query)
    served = views.table(view)
    part = view.part if view.part <= len(served.published.tables) else 1
    return f"{served.published.tables[part - 1].title}: {served.title}"
