"""The map of Tune: divergence by workplace tract, or the support points of the chosen one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import plotly.graph_objects as go
from dash import Patch

from mapapp.drawing import camera, map_layers, palette
from mapapp.drawing.plotly import commute_map
from mapapp.measuring.validity_tract import LEVELS, TractPoints
from mapapp.workbench import figures
from mapapp.workbench.bench import Look
from mapapp.workbench.ground import Ground
from mapapp.workbench.panels import percent

_BELOW: Final = "tract-lines"
_CAPTION_PIXELS: Final = 240  # leaves room for the legend on a narrow map
_SHARES: Final = {"prior": "prior", "likelihood": "real", "posterior": "posterior"}


def ground_figure(ground: Ground) -> go.Figure:
    """The map before its first numbers: the ground, and the camera in place."""
    addresses = {name: map_layers.layer_url(ground.prefix, ground, name) for name in map_layers.BASE_LAYERS}
    return commute_map.commute_map(
        style=commute_map.base_style(f"workbench-{ground.version}", addresses),
        camera=camera.fitted(map_layers.home_bounds(ground)),
        traces=[go.Choroplethmap(), go.Scattermap()],
        ground=palette.GROUNDS["light"],
        layers=figures.outline_layers(None),
        caption=[ground.title, "CONFIDENTIAL, NOT FOR PUBLICATION"],
        revision="workbench",
    )


def changes(trace: go.Choroplethmap, outline: dict[str, Any] | None, caption: Sequence[str]) -> Patch:
    """The parts of the map that differ between settings; the camera is never among them."""
    patch = Patch()
    patch["data"][commute_map.UNITS] = trace
    patch["layout"]["map"]["layers"] = figures.outline_layers(outline)
    lines = commute_map.caption_lines([*caption, "CONFIDENTIAL, NOT FOR PUBLICATION"], _CAPTION_PIXELS)
    patch["layout"]["annotations"] = [commute_map.caption_box(lines, palette.GROUNDS["light"])]
    return patch


def kl_trace(ground: Ground, look: Look) -> go.Choroplethmap:
    """KL of every measured workplace tract."""
    found = look.found.tables["tracts"]
    names = ground.areas.tracts.set_index("tract_id")["name"].reindex(found["tract_id"])
    before = _before(look)
    labels = [
        f"<b>{name}</b><br>KL {kl:.4f}{then}<br>IMSE {imse:.4f}<br>{workers:,} workers, {support:,} support points"
        for name, kl, then, imse, workers, support in zip(
            names, found["kl"], before, found["imse"], found["n_workers"], found["n_support"], strict=True
        )
    ]
    return figures.tract_trace(
        found["tract_id"],
        figures.kl_classes(found["kl"].to_numpy(float)),
        labels,
        figures.KL_CLASSES,
        geojson_url=map_layers.layer_url(ground.prefix, ground, "tracts"),
        below=_BELOW,
    )


def kl_caption(look: Look) -> list[str]:
    """What the map of divergence is."""
    scope = look.found.facts["scope"]
    part = "a sample of " if scope["is_sample"] else ""
    return [f"KL between real and expected commutes, {part}{scope['tracts_measured']:,} workplace tracts"]


def points_trace(ground: Ground, found: TractPoints, shows: str) -> go.Choroplethmap:
    """Origin tracts coloured by the support point they belong to: by its level, or by a share of workers."""
    tracts = ground.areas.tracts
    chosen = np.flatnonzero(tracts["drawn"].to_numpy() & (found.point_of_tract >= 0))
    point = found.point_of_tract[chosen]
    texts = np.array([_point_text(row) for row in found.points.to_dict("records")], dtype=object)
    if shows == "level":
        meaning = figures.LEVEL_CLASSES
        classes = figures.level_classes(found.points["level"].to_numpy()[point], point)
    else:
        meaning = figures.SHARE_CLASSES
        classes = figures.share_classes(found.points[shows].to_numpy()[point])
    return figures.tract_trace(
        tracts["tract_id"].to_numpy()[chosen],
        classes,
        texts[point],
        meaning,
        geojson_url=map_layers.layer_url(ground.prefix, ground, "tracts"),
        below=_BELOW,
    )


def points_caption(ground: Ground, found: TractPoints, shows: str) -> list[str]:
    """What the map of support points is."""
    name = ground.areas.tracts["name"].iloc[found.tract_index]
    if shows == "level":
        return [f"Support points of {name}, by level"]
    return [f"Support points of {name}: share of workers, {_SHARES[shows]}"]


def clicked_tract(click: Any) -> str | None:
    """Identifier of the tract under a click; None where it hit none."""
    points = (click or {}).get("points") or []
    found = next((point.get("location") for point in points if point.get("location")), None)
    return str(found) if found else None


def _before(look: Look) -> list[str]:
    """What to say of the setting before, tract by tract."""
    found = look.found.tables["tracts"]
    if look.previous is None:
        return [""] * len(found)
    kl = look.previous.tables["tracts"].set_index("tract_id")["kl"].reindex(found["tract_id"])
    return ["" if np.isnan(value) else f" (before {value:.4f})" for value in kl]


def _point_text(row: dict[str, Any]) -> str:
    return (
        f"<b>{row['name']}</b><br>{LEVELS[row['level']]}, {row['distance_mi']:.1f} mi<br>"
        f"prior {percent(row['prior'])}, real {percent(row['likelihood'])}, posterior {percent(row['posterior'])}"
    )
