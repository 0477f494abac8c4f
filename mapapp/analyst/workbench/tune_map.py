"""The map of Tune: divergence by workplace tract, or the support points of the chosen one."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple, TypeVar, cast

import flask
import geopandas
import numpy as np
import plotly.graph_objects as go
import shapely
from dash import Patch

from geodata.store.store import Store
from mapapp.analyst.validity.tract import LEVELS, TractPoints
from mapapp.analyst.workbench import figures
from mapapp.analyst.workbench.fields import Click
from mapapp.analyst.workbench.figures import Feature
from mapapp.analyst.workbench.panels import before_cleaning, percent
from mapapp.analyst.workbench.results import MeasuredSetting
from mapapp.answers.areas.areas import Areas
from mapapp.answers.publication import title_of
from mapapp.base.result_cache import ResultCache
from mapapp.explore import web_app
from mapapp.show.content import camera, map_layers, palette
from mapapp.show.plotly import commute_map
from mapapp.show.plotly.plain_figures import Figure

# The geography of a dataset for the map. It is public, and all of the workbench that has addresses of its own.

Value = TypeVar("Value")

_KEPT_SHAPES: Final = 64  # base layers and tracts: far fewer are ever asked for


class PublicGeography:
    """Tracts, counties and states of a dataset.

    Parameters
    ----------
    store : Store
        The dataset; nothing confidential of it is read.
    prefix : str
        Path under which the workbench is served, with a slash at both ends.
    """

    def __init__(self, store: Store, prefix: str = "/") -> None:
        self.store = store
        self.prefix = prefix
        self.slug = "dataset"
        self.version = secrets.token_hex(6)  # of this run: nothing in an address may follow from the jobs
        self.areas = Areas(store)
        self._kept: ResultCache[object] = ResultCache(max_entries=_KEPT_SHAPES)

    @property
    def title(self) -> str:
        """Name of the dataset for people, with the year."""
        return title_of(self.store.manifest, "dataset")

    @property
    def covered_states(self) -> list[str]:
        """Identifiers of the states whose workplaces are in the dataset."""
        given = self.store.manifest.get("destination_states")
        return [str(state) for state in given] if isinstance(given, list) else []

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """What `make` returns, kept for the next callers with the same key."""
        return cast(Value, self._kept.get_or_make(key, make))

    def outline(self, tract_id: str) -> Feature | None:
        """GeoJSON of one tract, for the map; None if it has no shape."""

        def shapes() -> geopandas.GeoSeries:
            return self.store.table("tracts", ["tract_id", "geometry"]).set_index("tract_id").geometry

        shape = self.once(("shapes",), shapes).get(tract_id)
        if shape is None or shape.is_empty:
            return None
        geometry = shapely.geometry.mapping(shapely.simplify(shape, 1.5e-4))
        return {"type": "Feature", "properties": {}, "geometry": geometry}


def serve_layers(server: flask.Flask, geography: PublicGeography) -> None:
    """Serve the base layers as GeoJSON."""

    @server.get(f"{geography.prefix}geo/{geography.slug}/{geography.version}/<name>.geojson")
    def shapes(name: str) -> flask.Response:
        if name not in map_layers.LAYERS:
            flask.abort(404)
        return web_app.geojson(map_layers.base_layer(geography, name))


_MAP_SHOWS: Final = {
    "kl": "KL",
    "level": "Levels",
    "prior": "Prior",
    "likelihood": "Real",
    "posterior": "Posterior",
}


def map_choices(*, has_tract: bool) -> list[dict[str, object]]:
    """What the map can show; all but KL are of the support points of one tract, so they wait until one is chosen."""
    return [
        {"value": name, "label": text, "disabled": name != "kl" and not has_tract}
        for name, text in _MAP_SHOWS.items()
    ]


_CAPTION_PIXELS: Final = 240  # leaves room for the legend on a narrow map
_SHARES: Final = {"prior": "prior", "likelihood": "real", "posterior": "posterior"}


def base_map_figure(geography: PublicGeography) -> Figure:
    """The map before its first numbers: base layers, and the camera in place."""
    addresses = map_layers.style_urls(geography.prefix, geography)
    return commute_map.commute_map(
        style=commute_map.base_style(f"workbench-{geography.version}", addresses),
        camera=camera.fit_bounds(map_layers.home_bounds(geography)),
        traces=commute_map.no_traces()[:2],
        scheme=palette.COLOR_SCHEMES["light"],
        layers=figures.outline_layers(None),
        caption=[geography.title, "CONFIDENTIAL, NOT FOR PUBLICATION"],
        revision="workbench",
    )


def changes(trace: go.Choroplethmap, outline: figures.Feature | None, caption: Sequence[str]) -> Patch:
    """The parts of the map that differ between settings; the camera is never among them."""
    patch = Patch()
    patch["data"][commute_map.UNITS] = trace
    patch["layout"]["map"]["layers"] = figures.outline_layers(outline)
    lines = commute_map.caption_lines([*caption, "CONFIDENTIAL, NOT FOR PUBLICATION"], _CAPTION_PIXELS)
    patch["layout"]["annotations"] = [commute_map.caption_box(lines, palette.COLOR_SCHEMES["light"])]
    return patch


def kl_trace(geography: PublicGeography, measured: MeasuredSetting) -> go.Choroplethmap:
    """KL of every measured workplace tract."""
    tracts = measured.validity.tables["tracts"]
    names = geography.areas.tracts.set_index("tract_id")["name"].reindex(tracts["tract_id"])
    before = _previous_texts(measured)
    is_enough = tracts["n_workers"].to_numpy() >= figures.LEAST_FOR_KL
    labels = [
        f"<b>{name}</b><br>"
        + (
            f"KL {kl:.4f}{then}<br>IMSE {imse:.4f}"
            if workers >= figures.LEAST_FOR_KL
            else "too few workers for a KL"
        )
        + f"<br>{workers:,} workers, {support:,} support points"
        for name, kl, then, imse, workers, support in zip(
            names, tracts["kl"], before, tracts["imse"], tracts["n_workers"], tracts["n_support"], strict=True
        )
    ]
    return figures.tract_trace(
        tracts["tract_id"],
        np.where(is_enough, figures.kl_classes(tracts["kl"].to_numpy(float)), 0),
        labels,
        figures.KL_CLASSES,
        geojson_url=map_layers.layer_url(geography.prefix, geography, "tracts"),
        below=commute_map.ABOVE_FILLS,
    )


def kl_caption(measured: MeasuredSetting) -> list[str]:
    """What the map of divergence is."""
    scope = measured.validity.facts["scope"]
    part = "a sample of " if scope["is_sample"] else ""
    kl = before_cleaning(measured, "KL between real and expected commutes")
    return [f"{kl}, {part}{scope['tracts_measured']:,} workplace tracts"]


def points_trace(geography: PublicGeography, tract_points: TractPoints, shows: str) -> go.Choroplethmap:
    """Origin tracts colored by the support point they belong to: by its level, or by a share of workers."""
    tracts = geography.areas.tracts
    chosen = np.flatnonzero(tracts["drawn"].to_numpy() & (tract_points.point_of_tract >= 0))
    point = tract_points.point_of_tract[chosen]
    rows = tract_points.points[list(SupportPoint._fields)].itertuples(index=False)
    texts = np.array([_point_text(SupportPoint(*row)) for row in rows], dtype=object)
    if shows == "level":
        meaning = figures.LEVEL_CLASSES
        classes = figures.level_classes(tract_points.points["level"].to_numpy()[point], point)
    else:
        meaning = figures.SHARE_CLASSES
        classes = figures.share_classes(tract_points.points[shows].to_numpy()[point])
    return figures.tract_trace(
        tracts["tract_id"].to_numpy()[chosen],
        classes,
        texts[point],
        meaning,
        geojson_url=map_layers.layer_url(geography.prefix, geography, "tracts"),
        below=commute_map.ABOVE_FILLS,
    )


def points_caption(geography: PublicGeography, tract_points: TractPoints, shows: str) -> list[str]:
    """What the map of support points is."""
    name = geography.areas.tracts["name"].iloc[tract_points.tract_index]
    if shows == "level":
        return [f"Support points of {name}, by level"]
    return [f"Support points of {name}: share of workers, {_SHARES[shows]}"]


def clicked_tract(click: Click | None) -> str | None:
    """Identifier of the tract under a click; None if there is no tract."""
    points = (click or {}).get("points") or []
    tract_id = next((point.get("location") for point in points if point.get("location")), None)
    return str(tract_id) if tract_id else None


def _previous_texts(measured: MeasuredSetting) -> list[str]:
    """What to say about the previous setting, tract by tract."""
    tracts = measured.validity.tables["tracts"]
    if measured.previous is None:
        return [""] * len(tracts)
    kl = measured.previous.tables["tracts"].set_index("tract_id")["kl"].reindex(tracts["tract_id"])
    return ["" if np.isnan(value) else f" (before {value:.4f})" for value in kl]


class SupportPoint(NamedTuple):
    """What the map says of a support point; fields as in `TractPoints.points`."""

    name: str
    level: int
    distance_mi: float
    prior: float
    likelihood: float
    posterior: float


def _point_text(point: SupportPoint) -> str:
    return (
        f"<b>{point.name}</b><br>{LEVELS[point.level]}, {point.distance_mi:.1f} mi<br>"
        f"prior {percent(point.prior)}, real {percent(point.likelihood)}, posterior {percent(point.posterior)}"
    )
