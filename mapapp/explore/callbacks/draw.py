"""Turns a question into the map figure, and a new figure into the changes to the one on the page."""

from __future__ import annotations

import html
from collections.abc import Sequence
from textwrap import wrap
from typing import Final, cast

from dash import Patch

from mapapp.answers import served_answers, words
from mapapp.answers.results import InflowOutflow
from mapapp.answers.served_release import ServedRelease, caution
from mapapp.drawing import camera, map_content, map_layers
from mapapp.drawing.palette import COLOR_SCHEMES, ColorScheme
from mapapp.drawing.plotly import commute_map, flow_lines
from mapapp.drawing.plotly.commute_map import UnitLabels
from mapapp.drawing.plotly.plain_figures import Figure, Trace
from mapapp.question.address import Address, query_of, to_query
from mapapp.question.fields import Side, Theme
from mapapp.question.question import OTHER_END, Question
from mapapp.question.view import Bounds, View

_NARROW_PX: Final = 560
"""Width up to which a map has a short caption."""


def map_figure(
    release: ServedRelease,
    question: Question,
    view: View,
    prefix: str,
    width: int = 700,
    height: int = 700,
    *,
    bounds: Bounds | None = None,
    before: ServedRelease | None = None,
) -> Figure:
    """The map of an answer; it shows `bounds`, or by default the areas and most of their workers. Sizes are in pixels.

    With an earlier release `before`, units are colored by their change if the analysis is drawn by unit.
    """
    question = release.areas.usual.settled(question)
    kind, scheme = map_content.drawn_as(release, question, view, before), COLOR_SCHEMES[view.theme]
    caption = _caption(release, map_content.what_is_drawn(release, question, view, before), width)
    below = commute_map.caption_height(caption, width)
    look = (
        camera.fitted(bounds, (width, height), margin=0)
        if bounds
        else camera.fitted(map_content.view_bounds(release, question), (width, height), below)
    )
    if kind == "lines":  # the camera decides which places are grouped
        drawn = map_content.what_is_drawn(release, question, view, before, look["zoom"])
        caption = _caption(release, drawn, width)
    traces, labels = (
        (_change_traces(before, release, question, view, prefix), [])
        if before is not None and kind == "change"
        else _traces(release, question, view, prefix, kind, look["center"])
    )
    flows = (
        {"url": flows_url(prefix, release, question, view, before)}
        | flow_lines.flow_look(map_content.drawn_lines(release, question, view), view.least, scheme)
        if kind == "lines"
        else None
    )
    density = map_content.density_image(release, question, scheme.ramp) if kind == "density" else None
    picture = (density_url(prefix, release, question, view), density.bounds) if density else (None,)
    colors: dict[Side, str] = {"home": scheme.home, "work": scheme.work}
    others = question.shown_others
    compared = before if kind == "change" else None
    hatched = (
        {"url": hatching_url(prefix, release, question, compared), **commute_map.hatching(scheme)}
        if map_content.has_hatching(release, question, kind, compared)
        else None
    )
    return commute_map.commute_map(
        style=_style(release, prefix),
        camera=look,
        traces=traces,
        layers=[
            *_outline(prefix, release, question.areas, colors[question.side], scheme),
            commute_map.density_layer(*picture),
            *_outline(prefix, release, others, colors[OTHER_END[question.side]], scheme),
        ],
        caption=caption,
        revision=revision(release, question) + (str(bounds) if bounds else ""),
        scheme=scheme,
        size=(width, height),
        labels=labels,
        overlays={"flows": flows, "hatched": hatched},
    )


def _caption(release: ServedRelease, what: str, width: int) -> list[str]:
    """The caption of a map; a narrow one has only its subject, because the page around it says the rest."""
    return [what] if width <= _NARROW_PX else words.caption(release, what)


def revision(release: ServedRelease, question: Question) -> str:
    """A text that changes when the camera should move: with the release, the areas and the analysis."""
    others = question.shown_others
    moved = Question(areas=question.areas, side=question.side, others=others, analysis=question.analysis)
    return release.slug + query_of(moved)


def base_figure(release: ServedRelease, theme: Theme, prefix: str) -> Figure:
    """The map before its first answer: only the base map, with the camera in place."""
    colors = COLOR_SCHEMES[theme]
    return commute_map.commute_map(
        style=_style(release, prefix),
        camera=camera.fitted(map_layers.home_bounds(release)),
        traces=commute_map.no_traces(),
        layers=[
            *_outline(prefix, release, (), "", colors),
            commute_map.density_layer(None),
            *_outline(prefix, release, (), "", colors),
        ],
        caption=words.caption(release, release.title),
        revision=release.slug,
        scheme=colors,
    )


def _style(release: ServedRelease, prefix: str) -> dict[str, object]:
    name = f"commutemap-{release.slug}-{release.version}"
    return commute_map.base_style(name, map_layers.style_urls(prefix, release))


def _outline(
    prefix: str, release: ServedRelease, areas: tuple[str, ...], color: str, scheme: ColorScheme
) -> list[dict[str, object]]:
    url = map_layers.outline_url(prefix, release, areas) if areas else None
    return commute_map.outline_layers(url, color or scheme.ink, scheme.halo)


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
    for name in ("showlegend", "legend", "meta", *look):
        patch["layout"][name] = layout[name]
    return patch


def _change_traces(
    before: ServedRelease, release: ServedRelease, question: Question, view: View, prefix: str
) -> list[Trace]:
    frame, scheme = map_content.change_frame(before, release, question), COLOR_SCHEMES[view.theme]
    verb = words.VERB[question.shown_end]
    label = [
        f"<b>{html.escape(name, quote=False)}</b><br>{change:+,} workers who {verb} here<br>{earlier:,} → {later:,}"
        for name, change, earlier, later in zip(
            frame["name"], frame["change"], frame["before"], frame["after"], strict=True
        )
    ]
    noun = map_content.words_of(before, release).noun
    traces = commute_map.no_traces()
    traces[commute_map.UNITS] = commute_map.change_trace(
        frame.assign(label=label),
        geojson_url=shapes_url(prefix, release, question),
        title=legend_title(
            (
                f"{noun.capitalize()} in workers",
                f"who {verb} in each {words.level_word(question.layer)}",
                *map_content.change_notes(before, release, question),
            ),
            scheme,
        ),
        scheme=scheme,
    )
    return traces


def _traces(
    release: ServedRelease, question: Question, view: View, prefix: str, kind: str, middle: dict[str, float]
) -> tuple[list[Trace], list[dict[str, object]]]:
    scheme, end = COLOR_SCHEMES[view.theme], question.shown_end
    colors: dict[Side, str] = {"home": scheme.home, "work": scheme.work}
    traces = commute_map.no_traces()
    labels: list[dict[str, object]] = []
    labeled = unit_labels(release, question)
    traces[commute_map.UNITS] = (
        _unit_trace(release, question, view, shapes_url(prefix, release, question))
        if kind == "areas"
        else commute_map.hover_trace(
            labeled, geojson_url=map_layers.unit_url(prefix, release, question.layer), scheme=scheme
        )
    )
    if kind == "density":
        image = map_content.density_image(release, question, scheme.ramp)
        traces[commute_map.POINTS] = commute_map.density_legend(image.lowest, image.highest, middle, scheme)
    elif kind == "points" and question.entry.own_drawing:
        pair: tuple[tuple[int, Side], ...] = ((commute_map.POINTS, "home"), (commute_map.MORE_POINTS, "work"))
        for position, each in pair:
            found = map_content.thinned(served_answers.places(release, question, each))
            name = {"home": "Homes", "work": "Workplaces"}[each]
            traces[position] = commute_map.point_trace(
                found["lon_deg"], found["lat_deg"], color=colors[each], name=name
            )
    elif kind == "points":
        found = served_answers.places(release, question, end)
        traces[commute_map.POINTS] = commute_map.point_trace(
            found["lon_deg"], found["lat_deg"], color=colors[end]
        )
    elif kind == "lines":
        # The flows have the hover texts.
        traces[commute_map.UNITS]["hoverinfo"] = "skip"
        del traces[commute_map.UNITS]["hovertemplate"]
        legend = flow_lines.legend_traces(map_content.drawn_lines(release, question, view), scheme)
        for position, trace in zip(commute_map.LINES, legend, strict=False):
            traces[position] = trace
    elif kind == "ratio":
        traces[commute_map.UNITS] = _ratio_trace(release, question, prefix, scheme)
    elif kind == "arrows":
        labels = _arrows(release, question, traces, scheme)
    return traces, labels


def _unit_trace(release: ServedRelease, question: Question, view: View, shapes: str) -> Trace:
    found = map_content.colored_units(release, question, view)
    more = {"area": None, "share": "{:.2g}% of all workers", "square-mile": "{:,.3g} per square mile"}[
        view.per
    ]
    labels = unit_labels(release, question)
    if more is not None:
        texts = [
            f"{text}<br>{more.format(value)}" if value else text
            for text, value in zip(labels.texts, found.value.tolist(), strict=True)
        ]
        labels = labels._replace(texts=texts)
    return commute_map.unit_trace(
        labels,
        found.classes,
        geojson_url=shapes,
        title=legend_title(found.title, COLOR_SCHEMES[view.theme]),
        scheme=COLOR_SCHEMES[view.theme],
    )


def legend_title(lines: Sequence[str], scheme: ColorScheme) -> str:
    """The title of a legend: two lines, and notes in small gray letters."""
    style = f"font-size:10px;color:{scheme.state_line}"
    small = [f'<span style="{style}">{note}</span>' for line in lines[2:] for note in wrap(line, 30)]
    return "<br>".join([*lines[:2], *small])


def _ratio_trace(release: ServedRelease, question: Question, prefix: str, scheme: ColorScheme) -> Trace:
    frame, how = map_content.ratio_frame(release, question), map_content.ratio_map_of(question)
    label = [
        "<br>".join([f"<b>{html.escape(name, quote=False)}</b>", *lines])
        for name, lines in zip(frame["name"], frame["lines"], strict=True)
    ]
    return commute_map.ratio_trace(
        frame.assign(label=label),
        geojson_url=shapes_url(prefix, release, question),
        title=how.legend.format(unit=words.level_word(question.layer)),
        blank=how.blank,
        scheme=scheme,
    )


def _arrows(
    release: ServedRelease, question: Question, traces: list[Trace], scheme: ColorScheme
) -> list[dict[str, object]]:
    """Add the three arrows to the traces, and return their labels."""
    box, answer = map_layers.bounds(release, question.areas), served_answers.result(release, question)
    if box is None:
        return []
    groups = cast(InflowOutflow, answer)
    found, places = flow_lines.arrow_traces(
        box,
        [groups.inflow.value, groups.outflow.value, groups.stay.value],
        [scheme.work, scheme.home, scheme.stay],
    )
    for position, trace in zip(commute_map.LINES, found, strict=False):
        traces[position] = trace
    texts = (
        ("inflow", groups.inflow, "come in to work"),
        ("outflow", groups.outflow, "go out to work"),
        ("stay", groups.stay, "live and work here"),
    )
    return [
        {**place, "kind": kind, "text": f"{number.value:,}", "more": more}
        for place, (kind, number, more) in zip(places, texts, strict=True)
    ]


def density_url(prefix: str, release: ServedRelease, question: Question, view: View) -> str:
    """Address of the density picture of a question."""
    return f"{prefix}density/{release.slug}/{release.version}.png{query_of(question, view)}"


def shapes_url(prefix: str, release: ServedRelease, question: Question) -> str:
    """Address of the shapes of the units that a map colors; few questions have shapes of their own."""
    if not map_layers.cut_shapes(release, question):
        return map_layers.unit_url(prefix, release, question.layer)
    shown = Question(
        analysis=question.analysis, areas=question.areas, side=question.side, layer=question.layer
    )
    return f"{prefix}geo/{release.slug}/{release.version}/shown.geojson{to_query(Address(question=shown))}"


def hatching_url(
    prefix: str, release: ServedRelease, question: Question, before: ServedRelease | None = None
) -> str:
    """Address of the shapes of units whose count, or change since an earlier release, is uncertain."""
    shown = Address(against=before.slug if before else "", question=question)
    return f"{prefix}geo/{release.slug}/{release.version}/uncertain.geojson{to_query(shown)}"


def flows_url(
    prefix: str, release: ServedRelease, question: Question, view: View, before: ServedRelease | None
) -> str:
    """Address of the flows of a question; the page's script adds the zoom level and the width of the map."""
    # Not the theme: the figure has the colors.
    plain = View(show=view.show, least=view.least)
    shown = Address(against=before.slug if before else "", question=question, view=plain)
    return f"{prefix}flows/{release.slug}/{release.version}.json{to_query(shown)}"


def flow_caption(
    release: ServedRelease,
    question: Question,
    view: View,
    before: ServedRelease | None,
    zoom: int,
    width: int,
) -> str:
    """The caption of a map of flows at a zoom level, as the figure has it."""
    text = map_content.what_is_drawn(release, question, view, before, zoom)
    lines = commute_map.caption_lines(_caption(release, text, width), width)
    return str(commute_map.caption_box(lines, COLOR_SCHEMES["light"])["text"])


def unit_labels(release: ServedRelease, question: Question) -> UnitLabels:
    """Units on the map, and the texts shown on hover."""
    question = release.areas.usual.settled(question)
    units, verb = map_content.drawn_units(release, question.layer), words.VERB[question.shown_end]
    counts = map_content.drawn_workers(release, question)
    texts = {count: _count(count, verb) for count in set(counts)}
    covered = map_content.covered_units(release, question).tolist()
    known = map_content.counted_units(release, question).tolist()
    cut = map_layers.cut_shapes(release, question)
    labels = []
    for unit, name, count, is_covered, is_known in zip(
        units.ids, units.escaped, counts, covered, known, strict=True
    ):
        missing = "not in the chosen area" if is_covered else "workplaces here are not covered"
        part = "<br>only its part in the chosen area counts" * (unit in cut)
        labels.append(f"<b>{name}</b><br>{texts[count] if is_known else missing}{part}")
    return UnitLabels(units.ids, labels)


def _count(workers: int, verb: str) -> str:
    if workers == 0:
        return f"no synthetic worker {verb}s here"
    warning = caution(workers)
    text = f"1 worker {verb}s here" if workers == 1 else f"{workers:,} workers {verb} here"
    return f"{text} ({warning})" if warning else text
