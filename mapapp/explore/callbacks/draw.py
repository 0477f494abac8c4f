"""Turns the content of a map into its figure, and a new figure into the changes to the one on the page."""

from __future__ import annotations

from typing import Final

from dash import Patch

from mapapp.answers import words
from mapapp.answers.analyses.measures import caution
from mapapp.answers.release import Release
from mapapp.answers.wording import nouns_of, reader_text
from mapapp.question.address import Address, query_of, to_query
from mapapp.question.fields import Side, Theme
from mapapp.question.question import OTHER_END, Question
from mapapp.question.view import Bounds, View
from mapapp.show.content import camera, chosen_areas, map_layers
from mapapp.show.content.colored_units import colored_units
from mapapp.show.content.map_captions import map_caption
from mapapp.show.content.map_content import MapContent
from mapapp.show.content.map_legends import map_legend
from mapapp.show.content.palette import COLOR_SCHEMES, ColorScheme
from mapapp.show.content.unit_circles import unit_circles, unit_values
from mapapp.show.plotly import commute_map, flow_lines
from mapapp.show.plotly.commute_map import UnitLabels
from mapapp.show.plotly.plain_figures import Figure, Trace

DOTS_PATH: Final = "dots/"
"""Beginning of the addresses of tiles of dots."""
MORNING_PATH: Final = "morning/"
"""Beginning of the addresses of the workers who move from home to work."""
DOTS_PATHS: Final = (DOTS_PATH, MORNING_PATH)
_NARROW_PX: Final = 560
"""Width up to which a map has a short caption."""


def map_figure(
    content: MapContent, prefix: str, width: int = 700, height: int = 700, *, bounds: Bounds | None = None
) -> Figure:
    """The map of an answer; it shows `bounds`, or by default the areas and most of their workers.

    Sizes are in pixels.
    """
    release, question, scheme = content.release, content.question, content.scheme
    is_lines = content.kind == "lines"
    caption = _caption(content, map_caption(content), width)
    below = commute_map.caption_height(caption, width)
    look = (
        camera.fit_bounds(bounds, (width, height), margin=0)
        if bounds
        else camera.fit_bounds(content.bounds, (width, height), below)
    )
    if is_lines:  # the camera decides which places are grouped
        caption = _caption(content, map_caption(content, look["zoom"]), width)
    traces = _traces(content, prefix)
    flows = (
        {"url": flows_url(prefix, content)} | flow_lines.flow_look(content.lines(look["zoom"]), scheme)
        if is_lines
        else None
    )
    hatched = (
        {"url": hatching_url(prefix, content), **commute_map.hatching(scheme)} if content.is_hatched else None
    )
    missing = _not_covered(content)
    colors: dict[Side, str] = {"home": scheme.home, "work": scheme.work}
    other_areas = question.shown_others
    crosses = question.analysis == "inflow-outflow"  # both ends of the commutes can be in the area
    return commute_map.commute_map(
        style=_style(release, prefix),
        camera=look,
        traces=traces,
        layers=[
            _picture(prefix, content),
            *_outline(prefix, release, question.areas, "" if crosses else colors[question.side], scheme),
            *_outline(prefix, release, other_areas, colors[OTHER_END[question.side]], scheme),
            _blocks(prefix, release, question.areas, colors[question.side]),
            _blocks(prefix, release, other_areas, colors[OTHER_END[question.side]]),
        ],
        caption=caption,
        revision=revision(release, question) + (str(bounds) if bounds else ""),
        scheme=scheme,
        size=(width, height),
        overlays={
            "flows": flows,
            "hatched": hatched,
            "morning": _morning(prefix, content),
            "missing": {
                "url": map_layers.unit_url(prefix, release, question.layer),
                "units": missing,
                **commute_map.quiet_hatching(scheme),
            }
            if missing
            else None,
            "legend": map_legend(content, look["zoom"]).as_meta(),
        },
    )


def _caption(content: MapContent, what: str, width: int) -> list[str]:
    """The caption of a map; a narrow one has only its subject, because the page around it says the rest."""
    is_published = content.kind == "share"
    return [what] if width <= _NARROW_PX else words.caption(content.release, what, is_published=is_published)


def revision(release: Release, question: Question) -> str:
    """A text that changes when the camera should move: with the release, the areas and the analysis."""
    other_areas = question.shown_others
    moved = Question(areas=question.areas, side=question.side, others=other_areas, analysis=question.analysis)
    return release.slug + query_of(moved)


def base_figure(release: Release, theme: Theme, prefix: str) -> Figure:
    """The map before its first answer: only the base map, with the camera in place."""
    colors = COLOR_SCHEMES[theme]
    return commute_map.commute_map(
        style=_style(release, prefix),
        camera=camera.fit_bounds(map_layers.home_bounds(release)),
        traces=commute_map.no_traces(),
        layers=[
            commute_map.density_layer(None),
            *_outline(prefix, release, (), "", colors),
            *_outline(prefix, release, (), "", colors),
            *(_blocks(prefix, release, (), colors.ink) for _ in range(2)),
        ],
        caption=words.caption(release, release.title),
        revision=release.slug,
        scheme=colors,
    )


def _style(release: Release, prefix: str) -> dict[str, object]:
    name = f"commutemap-{release.slug}-{release.version}"
    return commute_map.base_style(name, map_layers.style_urls(prefix, release))


def _outline(
    prefix: str, release: Release, areas: tuple[str, ...], color: str, scheme: ColorScheme
) -> list[dict[str, object]]:
    url = map_layers.outline_url(prefix, release, areas) if areas else None
    return commute_map.outline_layers(url, color or scheme.ink, scheme.halo)


def _blocks(prefix: str, release: Release, areas: tuple[str, ...], color: str) -> dict[str, object]:
    """The blocks of an area, if its border was drawn."""
    url = map_layers.blocks_url(prefix, release, areas) if chosen_areas.is_drawn(areas) else None
    return commute_map.blocks_layer(url, color)


def changes(figure: Figure, *, move: bool, restyle: bool = False) -> Patch:
    """The parts of a figure that change between views; the camera stays where the visitor put it unless `move`."""
    patch, layout = Patch(), figure["layout"]
    for position, trace in enumerate(figure["data"]):
        patch["data"][position] = trace
    moved = ("center", "zoom", "uirevision") if move else ()
    for name in ("layers", *moved):
        patch["layout"]["map"][name] = layout["map"][name]
    patch["layout"]["annotations"] = layout["annotations"]
    patch["layout"]["selections"] = []
    patch["layout"]["dragmode"] = "pan"
    look = ("paper_bgcolor", "font", "hoverlabel", "modebar") if restyle else ()
    for name in ("meta", *look):
        patch["layout"][name] = layout[name]
    return patch


def _traces(content: MapContent, prefix: str) -> list[Trace]:
    """The traces of a map."""
    scheme, kind = content.scheme, content.kind
    traces = commute_map.no_traces()
    traces[commute_map.UNITS] = (
        _unit_trace(content, prefix)
        if kind in _HOVER
        else commute_map.hover_trace(
            _circle_labels(content) if kind == "circles" else unit_labels(content),
            geojson_url=shapes_url(prefix, content)
            if kind == "circles"
            else map_layers.unit_url(prefix, content.release, content.question.layer),
            scheme=scheme,
        )
    )
    if kind == "circles":
        circles = unit_circles(content)
        traces[commute_map.CIRCLES] = commute_map.circle_trace(
            circles.lon_deg, circles.lat_deg, circles.pixels, color=circles.color, halo=scheme.halo
        )
    elif kind == "lines":
        # The flows have the hover texts.
        traces[commute_map.UNITS]["hoverinfo"] = "skip"
        del traces[commute_map.UNITS]["hovertemplate"]
    return traces


def _unit_trace(content: MapContent, prefix: str) -> Trace:
    colored = colored_units(content)
    return commute_map.classed_trace(
        UnitLabels(colored.units.ids, _reader_texts(content, _HOVER[content.kind](content))),
        colored.of,
        colored.colors,
        geojson_url=shapes_url(prefix, content),
        scheme=content.scheme,
    )


def _not_covered(content: MapContent) -> list[str]:
    """The units that the map hatches because the release has no workers there."""
    if content.kind == "circles":
        return unit_circles(content).not_covered
    return colored_units(content).not_covered if content.kind in _HOVER else []


def _hover_by_density(content: MapContent) -> list[str]:
    return _with_values(
        unit_labels(content).texts, colored_units(content).value.tolist(), "{:,.3g} per square mile"
    )


def _circle_labels(content: MapContent) -> UnitLabels:
    labels = unit_labels(content)
    if content.view.per != "share":
        return labels
    texts = _with_values(labels.texts, unit_values(content).tolist(), "{:.2g}% of all workers")
    return UnitLabels(labels.ids, texts)


def _with_values(texts: list[str], values: list[float], words_of: str) -> list[str]:
    return [
        f"{text}<br>{words_of.format(value)}" if value else text
        for text, value in zip(texts, values, strict=True)
    ]


def _hover_by_change(content: MapContent) -> list[str]:
    verb = words.VERB[content.question.shown_end]
    return [
        f"<b>{name}</b><br>{after - before:+,} workers who {verb} here<br>{before:,} → {after:,}"
        for name, before, after in zip(
            content.units.escaped, content.earlier_workers, content.workers, strict=True
        )
    ]


def _hover_by_ratio(content: MapContent) -> list[str]:
    return [
        "<br>".join(
            [f"<b>{name}</b>", *(("not in the area",) if row is None else content.ratio_map.hover(row))]
        )
        for name, row in zip(content.units.escaped, content.ratio_rows, strict=True)
    ]


_HOVER: Final = {
    "areas": _hover_by_density,
    "change": _hover_by_change,
    "ratio": _hover_by_ratio,
    "share": _hover_by_ratio,
}
"""The hover texts of units, by the ways to draw that color them."""


def _picture(prefix: str, content: MapContent) -> dict[str, object]:
    """The layer of what the server draws: dots as tiles, or a density; invisible if the map has neither."""
    if content.kind == "points":
        return commute_map.dots_layer(dots_url(prefix, content))
    if content.kind == "density":
        return commute_map.density_layer(density_url(prefix, content), content.density.bounds)
    return commute_map.density_layer(None)


def dots_url(prefix: str, content: MapContent) -> str:
    """Address of the tiles of a map of dots, with places for the map to fill in."""
    place = f"{content.release.slug}/{content.release.version}/{{z}}/{{x}}/{{y}}{{ratio}}.png"
    return f"{prefix}{DOTS_PATH}{place}{_query_of_dots(content)}"


def _morning(prefix: str, content: MapContent) -> dict[str, object] | None:
    """Where the page's script finds the workers who move, and whether the slider is open; None without dots."""
    if not content.has_morning:
        return None
    place = f"{content.release.slug}/{content.release.version}.json"
    return {"url": f"{prefix}{MORNING_PATH}{place}{_query_of_dots(content)}", "is_open": content.view.morning}


def _query_of_dots(content: MapContent) -> str:
    """The part of an address that decides dots: another layer or other distance bands have the same ones."""
    names = ("analysis", "side", "areas", "others", "age", "earnings", "industry", "attributes")
    question = Question(**{name: getattr(content.question, name) for name in names})
    return query_of(question, View(theme=content.view.theme, color=content.view.color))


def density_url(prefix: str, content: MapContent) -> str:
    """Address of the density picture of a question."""
    query = query_of(content.question, content.view)
    return f"{prefix}density/{content.release.slug}/{content.release.version}.png{query}"


def shapes_url(prefix: str, content: MapContent) -> str:
    """Address of the shapes of the units that a map colors; few questions have shapes of their own."""
    release, question = content.release, content.question
    if not content.cut_shapes:
        return map_layers.unit_url(prefix, release, question.layer)
    shown = Question(
        analysis=question.analysis, areas=question.areas, side=question.side, layer=question.layer
    )
    return f"{prefix}geo/{release.slug}/{release.version}/shown.geojson{to_query(Address(question=shown))}"


def hatching_url(prefix: str, content: MapContent) -> str:
    """Address of the shapes of units whose count is uncertain."""
    shown = Address(question=content.question)
    return f"{prefix}geo/{content.release.slug}/{content.release.version}/uncertain.geojson{to_query(shown)}"


def flows_url(prefix: str, content: MapContent) -> str:
    """Address of the flows of a question; the page's script adds the zoom level and the width of the map."""
    # Not the theme: the figure has the colors.
    plain = View(show=content.view.show, least=content.view.least)
    shown = Address(against=_against(content), question=content.question, view=plain)
    return f"{prefix}flows/{content.release.slug}/{content.release.version}.json{to_query(shown)}"


def _against(content: MapContent) -> str:
    return content.before.slug if content.before else ""


def flow_caption(content: MapContent, zoom: int, width: int) -> str:
    """The caption of a map of flows at a zoom level, as the figure has it."""
    lines = commute_map.caption_lines(_caption(content, map_caption(content, zoom), width), width)
    return str(commute_map.caption_box(lines, COLOR_SCHEMES["light"])["text"])


def unit_labels(content: MapContent) -> UnitLabels:
    """Units on the map, and the texts shown on hover."""
    units, verb = content.units, words.VERB[content.question.shown_end]
    texts = {count: _count(count, verb) for count in set(content.workers)}
    labels = []
    for unit, name, count, is_covered, is_known in zip(
        units.ids,
        units.escaped,
        content.workers,
        content.covered.tolist(),
        content.counted.tolist(),
        strict=True,
    ):
        missing = "not in the chosen area" if is_covered else "workplaces here are not covered"
        part = "<br>only its part in the chosen area counts" * (unit in content.cut_shapes)
        labels.append(f"<b>{name}</b><br>{texts[count] if is_known else missing}{part}")
    return UnitLabels(units.ids, _reader_texts(content, labels))


def _reader_texts(content: MapContent, texts: list[str]) -> list[str]:
    """Hover texts in the words of the publication."""
    nouns = nouns_of(content.release.facts)
    return texts if nouns is None else [reader_text(text, nouns) for text in texts]


def _count(workers: int, verb: str) -> str:
    if workers == 0:
        return f"no worker {verb}s here"
    warning = caution(workers)
    text = f"1 worker {verb}s here" if workers == 1 else f"{workers:,} workers {verb} here"
    return f"{text} ({warning})" if warning else text
