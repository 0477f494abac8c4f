"""From a state to the map figure, and from a figure to the parts of it that changed."""

from __future__ import annotations

import html
from typing import Any

import plotly.graph_objects as go
from dash import Patch

from mapapp.answers import view_answers, words
from mapapp.answers.served_release import ServedRelease, caution
from mapapp.drawing import camera, map_content, map_layers
from mapapp.drawing.palette import GROUNDS, Ground
from mapapp.drawing.plotly import commute_map, flow_lines
from mapapp.question.address import Side, ViewState, drawn_end, to_query
from mapapp.question.view import Bounds


def whole(
    release: ServedRelease,
    state: ViewState,
    prefix: str,
    width: int = 700,
    height: int = 700,
    *,
    bounds: Bounds | None = None,
    before: ServedRelease | None = None,
) -> go.Figure:
    """The map of a state, looking at `bounds`, or its areas and most of its workers; the size is in pixels.

    With an earlier release before it, units are coloured by their change where the analysis is drawn by unit.
    """
    kind, ground = map_content.drawn_as(release, state, before), GROUNDS[state.theme]
    caption = words.caption(release, map_content.what_is_drawn(release, state, before))
    below = commute_map.caption_height(caption, width)
    look = (
        camera.fitted(bounds, (width, height), margin=0)
        if bounds
        else camera.fitted(map_content.view_bounds(release, state), (width, height), below)
    )
    traces, labels = (
        (_change_traces(before, release, state, prefix), [])
        if before is not None and kind == "change"
        else _traces(release, state, prefix, kind, look["center"])
    )
    density = map_content.density_image(release, state) if kind == "density" else None
    picture = (density_url(prefix, release, state), density.bounds) if density else (None,)
    colours: dict[Side, str] = {"home": ground.home, "work": ground.work}
    others = map_content.others_of(state)
    return commute_map.commute_map(
        style=_style(release, prefix),
        camera=look,
        traces=traces,
        layers=[
            *_outline(prefix, release, state.areas, colours[state.side], ground),
            commute_map.density_layer(*picture),
            *_outline(prefix, release, others, colours[view_answers.OTHER[state.side]], ground),
        ],
        caption=caption,
        revision=revision(release, state) + (str(bounds) if bounds else ""),
        ground=ground,
        size=(width, height),
        labels=labels,
    )


def revision(release: ServedRelease, state: ViewState) -> str:
    """What changes when the camera should move: the release, the areas and the analysis."""
    others = map_content.others_of(state)
    view = ViewState(areas=state.areas, side=state.side, others=others, analysis=state.analysis)
    return release.slug + to_query(view)


def ground(release: ServedRelease, state: ViewState, prefix: str) -> go.Figure:
    """The map before its first answer: the ground, and the camera already in place."""
    colours = GROUNDS[state.theme]
    return commute_map.commute_map(
        style=_style(release, prefix),
        camera=camera.fitted(map_layers.home_bounds(release)),
        traces=commute_map.no_traces(),
        layers=[
            *_outline(prefix, release, (), "", colours),
            commute_map.density_layer(None),
            *_outline(prefix, release, (), "", colours),
        ],
        caption=words.caption(release, release.title),
        revision=release.slug,
        ground=colours,
    )


def _style(release: ServedRelease, prefix: str) -> dict[str, Any]:
    addresses = {name: map_layers.layer_url(prefix, release, name) for name in map_layers.BASE_LAYERS}
    name = f"commutemap-{release.slug}-{release.version}"
    return commute_map.base_style(name, addresses)


def _outline(
    prefix: str, release: ServedRelease, areas: tuple[str, ...], colour: str, ground: Ground
) -> list[dict[str, Any]]:
    url = map_layers.outline_url(prefix, release, areas) if areas else None
    return commute_map.outline_layers(url, colour or ground.ink, ground.halo)


def changes(figure: go.Figure, *, move: bool, restyle: bool = False) -> Patch:
    """What of a figure differs between states; the camera stays where the visitor put it unless `move`."""
    patch = Patch()
    for position, trace in enumerate(figure.data):
        patch["data"][position] = trace
    plain = figure.layout.map.to_plotly_json()
    moved = ("center", "zoom", "uirevision") if move else ()
    for name in ("layers", *moved):
        patch["layout"]["map"][name] = plain[name]
    patch["layout"]["annotations"] = [note.to_plotly_json() for note in figure.layout.annotations]
    patch["layout"]["selections"] = []
    patch["layout"]["dragmode"] = "pan"
    names = (
        "showlegend",
        "legend",
        "meta",
        *(("paper_bgcolor", "font", "hoverlabel", "modebar") if restyle else ()),
    )
    for name in names:
        value = figure.layout[name]
        patch["layout"][name] = value.to_plotly_json() if hasattr(value, "to_plotly_json") else value
    return patch


def _change_traces(before: ServedRelease, release: ServedRelease, state: ViewState, prefix: str) -> list[Any]:
    frame = map_content.change_frame(before, release, state)
    verb = words.VERB[drawn_end(state)]
    label = [
        f"<b>{html.escape(name, quote=False)}</b><br>{change:+,} workers who {verb} here<br>{earlier:,} → {later:,}"
        for name, change, earlier, later in zip(
            frame["name"], frame["change"], frame["before"], frame["after"], strict=True
        )
    ]
    traces = commute_map.no_traces()
    traces[commute_map.UNITS] = commute_map.change_trace(
        frame.assign(label=label),
        geojson_url=map_layers.unit_url(prefix, release, state.layer),
        title=f"Change in workers<br>who {verb} in each {words.level_word(state.layer)}",
        ground=GROUNDS[state.theme],
    )
    return traces


def _traces(
    release: ServedRelease, state: ViewState, prefix: str, kind: str, middle: dict[str, float]
) -> tuple[list[Any], list[dict[str, Any]]]:
    ground, end = GROUNDS[state.theme], drawn_end(state)
    colours: dict[Side, str] = {"home": ground.home, "work": ground.work}
    traces = commute_map.no_traces()
    labels: list[dict[str, Any]] = []
    frame = unit_labels(release, state)
    traces[commute_map.UNITS] = commute_map.unit_trace(
        frame,
        geojson_url=map_layers.unit_url(prefix, release, state.layer),
        title=f"Workers who {words.VERB[end]}<br>in each {words.level_word(state.layer)}",
        coloured=kind == "areas",
        ground=ground,
    )
    if kind == "density":
        image = map_content.density_image(release, state)
        traces[commute_map.POINTS] = commute_map.density_legend(image.lowest, image.highest, middle, ground)
    elif kind == "points" and state.analysis == "paired-area":
        pair: tuple[tuple[int, Side], ...] = ((commute_map.POINTS, "home"), (commute_map.MORE_POINTS, "work"))
        for position, each in pair:
            found = map_content.thinned(view_answers.places(release, state, each))
            name = {"home": "Homes", "work": "Workplaces"}[each]
            traces[position] = commute_map.point_trace(
                found["lon_deg"], found["lat_deg"], colour=colours[each], name=name
            )
    elif kind == "points":
        found = view_answers.places(release, state, end)
        traces[commute_map.POINTS] = commute_map.point_trace(
            found["lon_deg"], found["lat_deg"], colour=colours[end]
        )
    elif kind == "lines":
        flows = view_answers.lines(release, state).frame
        flows = flows.assign(label=[_escaped(text) for text in flows["label"]])
        found_lines = flow_lines.line_traces(flows, "Workers a line", ground)
        for position, trace in zip((*commute_map.LINES, commute_map.MIDDLES), found_lines, strict=True):
            traces[position] = trace
    elif kind == "arrows":
        labels = _arrows(release, state, traces, ground)
    return traces, labels


def _arrows(
    release: ServedRelease, state: ViewState, traces: list[Any], ground: Ground
) -> list[dict[str, Any]]:
    """Put the three arrows into the traces; returns their labels."""
    box, answer = map_layers.bounds(release, state.areas), view_answers.result(release, state)
    if box is None:
        return []
    groups: Any = answer
    found, places = flow_lines.arrow_traces(
        box,
        [groups.inflow.value, groups.outflow.value, groups.stay.value],
        [ground.work, ground.home, ground.stay],
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


def density_url(prefix: str, release: ServedRelease, state: ViewState) -> str:
    """Address of a state's density picture."""
    return f"{prefix}density/{release.slug}/{release.version}.png{to_query(state)}"


def unit_labels(release: ServedRelease, state: ViewState) -> Any:
    """Units that are on the map, as `drawn.unit_frame` has them, with `label`: what they say when pointed at."""
    frame = map_content.unit_frame(release, state)
    verb = words.VERB[drawn_end(state)]
    label = [
        f"<b>{html.escape(name, quote=False)}</b><br>{_count(count, verb)}"
        for name, count in zip(frame["name"], frame["workers"], strict=True)
    ]
    return frame[["unit_id", "workers"]].assign(label=label)


def _count(workers: int, verb: str) -> str:
    if workers == 0:
        return f"no synthetic worker {verb}s here"
    warning = caution(workers)
    text = f"1 worker {verb}s here" if workers == 1 else f"{workers:,} workers {verb} here"
    return f"{text} ({warning})" if warning else text


def _escaped(text: str) -> str:
    """Names are text, the breaks between lines are ours."""
    return "<br>".join(html.escape(line, quote=False) for line in text.split("<br>"))
