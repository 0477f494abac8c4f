"""From a state to the map figure, and from a figure to the parts of it that changed."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
from dash import Patch

from mapapp import layers
from mapapp.density import MAX_POINTS, DensityImage, draw_density
from mapapp.figures import camera, commute_map, palette
from mapapp.pages import words
from mapapp.queries.release import ServedRelease, caution
from mapapp.url_state import Side, ViewState, drawn_end, to_query

COLOURS: dict[Side, str] = {"home": palette.HOME, "work": palette.WORK}


def drawn_as(release: ServedRelease, state: ViewState) -> str:
    """`points`, `tracts` or `density`: what was asked, unless there are too many points, or no areas yet."""
    if not state.areas and state.show == "points":
        return "tracts"
    if state.show == "points" and release.summary(state).workers > MAX_POINTS:
        return "density"
    return state.show


def whole(
    release: ServedRelease, state: ViewState, prefix: str, width: int = 700, height: int = 700
) -> go.Figure:
    """The map of a state, looking at its areas and most of its workers; the size is in pixels."""
    kind, end = drawn_as(release, state), drawn_end(state)
    points = release.points(state) if kind == "points" else {"lon_deg": (), "lat_deg": ()}
    density = density_image(release, state) if kind == "density" else None
    picture = density_url(prefix, release, state) if density else None
    caption = words.caption(release, what_is_drawn(release, state))
    look = camera.fitted(
        view_bounds(release, state), (width, height), commute_map.caption_height(caption, width)
    )
    return commute_map.commute_map(
        style=_style(release, prefix),
        camera=look,
        tracts=commute_map.tract_trace(
            tract_frame(release, state),
            geojson_url=layers.layer_url(prefix, release, "tracts"),
            title=f"Workers who {words.VERB[end]}<br>in each tract",
            coloured=kind == "tracts",
        ),
        points=commute_map.density_legend(density.lowest, density.highest, look["center"])
        if density
        else commute_map.point_trace(points["lon_deg"], points["lat_deg"], colour=COLOURS[end]),
        layers=[
            *commute_map.outline_layers(
                layers.outline_url(prefix, release, state.areas) if state.areas else None, COLOURS[state.side]
            ),
            commute_map.density_layer(picture, density.bounds)
            if density
            else commute_map.density_layer(None),
        ],
        caption=caption,
        revision=release.slug + to_query(ViewState(areas=state.areas, side=state.side)),
        size=(width, height),
    )


def ground(release: ServedRelease, state: ViewState, prefix: str) -> go.Figure:
    """The map before its first answer: the ground, and the camera already in place."""
    return commute_map.commute_map(
        style=_style(release, prefix),
        camera=camera.fitted(view_bounds(release, state)),
        tracts=go.Choroplethmap(),
        points=go.Scattermap(),
        layers=[*commute_map.outline_layers(None, COLOURS[state.side]), commute_map.density_layer(None)],
        caption=words.caption(release, release.title),
        revision=release.slug,
    )


def _style(release: ServedRelease, prefix: str) -> dict[str, Any]:
    addresses = {name: layers.layer_url(prefix, release, name) for name in layers.BASE_LAYERS}
    return commute_map.base_style(f"commutemap-{release.slug}-{release.version}", addresses)


def changes(figure: go.Figure, *, move: bool) -> Patch:
    """What of a figure differs between states; the camera stays where the visitor put it unless `move`."""
    patch = Patch()
    for position in (commute_map.TRACTS, commute_map.POINTS):
        patch["data"][position] = figure.data[position]
    plain = figure.layout.map.to_plotly_json()
    for name in ("layers", *(("center", "zoom", "uirevision") if move else ())):
        patch["layout"]["map"][name] = plain[name]
    patch["layout"]["annotations"] = [note.to_plotly_json() for note in figure.layout.annotations]
    return patch


def tract_frame(release: ServedRelease, state: ViewState) -> Any:
    """Drawn tracts with `tract_id`, `workers` at the drawn end, and `label`."""
    tracts = release.areas.tracts
    counts = release.summary(state).tracts.set_index("tract_index")["workers"]
    workers = counts.reindex(range(len(tracts)), fill_value=0).to_numpy()
    verb = words.VERB[drawn_end(state)]
    frame = tracts[["tract_id"]].assign(
        workers=workers,
        label=[
            f"<b>{name}</b><br>{county}<br>{_count(count, verb)}"
            for name, county, count in zip(tracts["name"], tracts["county"], workers, strict=True)
        ],
    )
    return frame[tracts["drawn"].to_numpy()].reset_index(drop=True)


def view_bounds(release: ServedRelease, state: ViewState) -> camera.Bounds:
    """What the camera should hold: the chosen areas, and the tracts of most workers at the drawn end.

    Elsewhere homes are only as near as the middle of their state; the camera does not go there.
    """
    if not state.areas:
        return layers.home_bounds(release)
    counts = release.summary(state).tracts
    tracts = release.areas.tracts.iloc[counts["tract_index"]]
    near = ~tracts["elsewhere"].to_numpy()
    weights = counts["workers"].to_numpy()[near]
    box = layers.bounds(release, state.areas)
    if not weights.size:
        return box or layers.home_bounds(release)
    return camera.around(tracts["lon_deg"].to_numpy()[near], tracts["lat_deg"].to_numpy()[near], weights, box)


def what_is_drawn(release: ServedRelease, state: ViewState) -> str:
    """The picture in one line."""
    end = "Homes" if drawn_end(state) == "home" else "Workplaces"
    if not state.areas:
        whose = "all workers"
    else:
        whose = f"those who {words.VERB[state.side]} in {words.place_name(release, state)}"
    kind = drawn_as(release, state)
    if kind != "density":
        how = {"points": "1 point = 1 worker", "tracts": "workers by tract"}[kind]
        return f"{end} of {whose} · {how}"
    why = f"more than {MAX_POINTS:,} points, so their density" if state.show == "points" else "density"
    return f"{end} of {whose} · {why}, smoothed over {density_image(release, state).spread_mi:.1g} mi"


def density_image(release: ServedRelease, state: ViewState) -> DensityImage:
    """The density picture of a state's points."""

    def make() -> DensityImage:
        points = release.points(state)
        return draw_density(points["lon_deg"], points["lat_deg"])

    return release.once(("density", to_query(state)), make)


def density_url(prefix: str, release: ServedRelease, state: ViewState) -> str:
    """Address of a state's density picture."""
    return f"{prefix}density/{release.slug}/{release.version}.png{to_query(state)}"


def _count(workers: int, verb: str) -> str:
    if workers == 0:
        return f"no synthetic worker {verb}s here"
    warning = caution(workers)
    text = f"1 worker {verb}s here" if workers == 1 else f"{workers:,} workers {verb} here"
    return f"{text} ({warning})" if warning else text
