"""What the map of a state shows, whoever draws it: the live page or a picture."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy
import pandas

from mapapp.answers import view_answers, words
from mapapp.answers.served_release import ServedRelease, names_of
from mapapp.drawing import camera, map_layers
from mapapp.drawing.density import MAX_POINTS, DensityImage, draw_density
from mapapp.drawing.palette import GROUNDS
from mapapp.question.address import SHOWN, ViewState, drawn_end, shown_as
from mapapp.question.view import Bounds

_OWN: Final = {"inflow-outflow": "arrows", "paired-area": "points", "flow-matrix": "lines"}


def drawn_as(release: ServedRelease, state: ViewState, before: ServedRelease | None = None) -> str:
    """`points`, `areas`, `density`, `lines` or `arrows`: what was asked, where that can be drawn.

    With an earlier release before it, `change` for the analyses that are drawn by unit.
    """
    if before is not None and SHOWN[state.analysis]:
        return "change"
    if not view_answers.is_ready(state):
        return "density" if state.show == "density" else "areas"
    kind = _OWN.get(state.analysis, shown_as(state))
    too_many = kind == "points" and view_answers.n_places(release, state) > MAX_POINTS
    return "density" if too_many and state.analysis != "paired-area" else kind


def others_of(state: ViewState) -> tuple[str, ...]:
    """Steps of the area at the other end, where the analysis has one."""
    return state.others if state.analysis in ("paired-area", "flow-matrix") else ()


def in_order(found: dict[str, Any]) -> dict[str, Any]:
    """Places from west to east: a query gives them in any order, and a picture must not depend on that."""
    order = numpy.lexsort((found["lat_deg"], found["lon_deg"]))
    return {name: values[order] for name, values in found.items()}


def thinned(found: dict[str, Any]) -> dict[str, Any]:
    """Every n-th place where there are more than are drawn well."""
    step = max(-(-len(found["lon_deg"]) // MAX_POINTS), 1)
    return found if step == 1 else {name: values[::step] for name, values in in_order(found).items()}


def unit_frame(release: ServedRelease, state: ViewState) -> Any:
    """Units of the state's layer that are on the map: `unit_id`, `name`, and `workers` at the drawn end."""
    names = _drawn_units(release, state.layer)
    found = view_answers.units(release, state)
    found = found[found["kind"] == "unit"]
    workers = dict(zip(found["unit_id"], found["workers"].tolist(), strict=True))
    counts = [workers.get(unit_id, 0) for unit_id in names]
    return pandas.DataFrame({"unit_id": list(names), "name": list(names.values()), "workers": counts})


def change_frame(before: ServedRelease, release: ServedRelease, state: ViewState) -> Any:
    """Units of the later release that are on the map: `unit_id`, `name`, `before`, `after` and `change`, workers."""
    frame = unit_frame(release, state).rename(columns={"workers": "after"})
    found = view_answers.units(before, state)
    found = found[found["kind"] == "unit"].set_index("unit_id")["workers"]
    earlier = found.reindex(frame["unit_id"], fill_value=0).to_numpy()
    return frame.assign(before=earlier, change=frame["after"].to_numpy() - earlier)


def _drawn_units(release: ServedRelease, layer: str) -> dict[str, str]:
    """Identifiers and names of the units of a layer that have a shape."""

    def make() -> dict[str, str]:
        rows = release.areas.units(layer).rows
        shapes = map_layers.unit_shapes(release, layer)
        units = rows[rows["kind"] == "unit"]
        listed = zip(units["unit_id"], units["name"], strict=True)
        return {unit_id: name for unit_id, name in listed if unit_id in shapes}

    return release.once(("drawn units", layer), make)


def view_bounds(release: ServedRelease, state: ViewState) -> Bounds:
    """What the camera should hold: the chosen areas, and the units of most workers at the drawn end.

    Elsewhere homes are only as near as the middle of their state; the camera does not go there.
    """
    boxes = [map_layers.bounds(release, steps) for steps in (state.areas, state.others) if steps]
    held = [box for box in boxes if box is not None]
    box = camera.union(held) if held else None
    if not view_answers.is_ready(state) or (state.analysis == "flow-matrix" and box is None):
        return box or map_layers.home_bounds(release)
    if box and state.analysis == "inflow-outflow":
        return camera.grown(box, 0.8)
    lon, lat, weights = (
        view_answers.weights(view_answers.units(release, state))
        if state.analysis in ("destination", "distance-direction")
        else view_answers.weights(pandas.DataFrame())
    )
    if not len(weights):
        return box or map_layers.home_bounds(release)
    return camera.around(lon, lat, weights, box)


def what_is_drawn(release: ServedRelease, state: ViewState, before: ServedRelease | None = None) -> str:
    """The picture in one line."""
    if before is None:
        return _answer_text(release, state)
    names = names_of([before, release])
    earlier, later = names[before.slug], names[release.slug]
    if drawn_as(release, state, before) != "change":
        return f"{_answer_text(release, state)} · {later} alone, not its change from {earlier}"
    end = "homes" if drawn_end(state) == "home" else "workplaces"
    where = words.place_name(release, state)
    what = f"{end} of those who {words.VERB[state.side]} in {where}, by {words.level_word(state.layer)}"
    return f"Change from {earlier} to {later} · {what}; small changes may be noise"


def _answer_text(release: ServedRelease, state: ViewState) -> str:
    end = "Homes" if drawn_end(state) == "home" else "Workplaces"
    kind = drawn_as(release, state)
    if not state.areas:
        whose = "all workers"
    else:
        whose = f"those who {words.VERB[state.side]} in {words.place_name(release, state)}"
    if kind == "arrows":
        return f"Workers who come into, leave, or stay in {words.place_name(release, state)}"
    if kind == "lines":
        return _lines_text(release, state, whose)
    if state.analysis == "paired-area" and view_answers.is_ready(state):
        n, most = view_answers.n_places(release, state), MAX_POINTS
        step = -(-n // most)
        return (
            f"Homes and workplaces of the pair · 1 point = {'1 worker' if step <= 1 else f'{step} workers'}"
        )
    if kind != "density":
        how = {"points": "1 point = 1 worker", "areas": f"workers by {words.level_word(state.layer)}"}[kind]
        return f"{end} of {whose} · {how}"
    why = f"more than {MAX_POINTS:,} points, so their density" if state.show == "points" else "density"
    return f"{end} of {whose} · {why}, smoothed over {density_image(release, state).spread_mi:.1g}\N{NO-BREAK SPACE}mi"


def _lines_text(release: ServedRelease, state: ViewState, whose: str) -> str:
    drawn = view_answers.lines(release, state)
    left_out = f" · {drawn.n_left_out:,} thinner lines left out" if drawn.n_left_out else ""
    if state.analysis == "flow-matrix":
        what = f"Flows from {words.level_word(state.home_layer)} to {words.level_word(state.work_layer)}"
        where = "one unit"
    else:
        what = f"Commutes of {whose} by {words.level_word(state.layer)}"
        where = "the area"
    total = max(drawn.total, 1)
    stay = "" if drawn.within is None else f"; {100 * drawn.within / total:.1f} % stay in {where}"
    shown = f"shows {100 * drawn.workers / total:.1f} % of {drawn.total:,} jobs"
    return f"{what} · {shown}{stay}{left_out}"


def density_image(release: ServedRelease, state: ViewState) -> DensityImage:
    """The density picture of a state's points."""

    def make() -> DensityImage:
        points = view_answers.places(release, state, drawn_end(state))
        return draw_density(points["lon_deg"], points["lat_deg"], GROUNDS[state.theme].ramp)

    # The address of the picture names the release, that of the page need not.
    plain = replace(state, show="density", every=False, against="", release="", layer="tract", edges=())
    return release.once(("density", plain), make)
