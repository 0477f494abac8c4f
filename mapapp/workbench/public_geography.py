"""The geography of a dataset for the map. It is public, and all of the workbench that has addresses of its own."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable
from typing import Final, TypeVar, cast

import flask
import geopandas
import shapely

from geodata.store import Store
from mapapp.answers.areas import Areas
from mapapp.answers.publication import title_with_year
from mapapp.answers.result_cache import ResultCache
from mapapp.drawing import map_layers
from mapapp.explore import web_app
from mapapp.workbench.figures import Feature

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
        manifest = self.store.manifest
        return title_with_year(str(manifest.get("title") or "dataset"), str(manifest.get("year") or ""))

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

        found = self.once(("shapes",), shapes).get(tract_id)
        if found is None or found.is_empty:
            return None
        geometry = shapely.geometry.mapping(shapely.simplify(found, 1.5e-4))
        return {"type": "Feature", "properties": {}, "geometry": geometry}


def serve_layers(server: flask.Flask, geography: PublicGeography) -> None:
    """Serve the base layers as GeoJSON."""

    @server.get(f"{geography.prefix}geo/{geography.slug}/{geography.version}/<name>.geojson")
    def shapes(name: str) -> flask.Response:
        if name not in map_layers.LAYERS:
            flask.abort(404)
        return web_app.geojson(map_layers.base_layer(geography, name))
