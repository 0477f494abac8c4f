"""Base layers and outlines of areas as GeoJSON under the app, so that no picture needs another machine.

Shapes are simplified together, so that neighbours keep sharing their border, and sent once: their address
has the release's version in it and may be kept for ever.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import Any, Final

import numpy
import shapely

from mapapp.queries.release import ServedRelease

BASE_LAYERS: Final = {"states": "state_id", "counties": "county_id", "tracts": "tract_id"}
_TABLES: Final = {
    "state": "states",
    "county": "counties",
    "tract": "tracts",
    "puma": "pumas",
    "superpuma": "superpumas",
}
_TOLERANCE_DEG: Final = {"states": 6e-4, "counties": 3e-4, "tracts": 1.5e-4}
_GRID_DEG: Final = 1e-5  # about a metre; shortens the text, and nobody sees it


def layer_url(prefix: str, release: ServedRelease, name: str) -> str:
    """Address of a base layer; `prefix` is where the app is mounted, with its slash at the end."""
    return f"{prefix}geo/{release.slug}/{release.version}/{name}.geojson"


def outline_url(prefix: str, release: ServedRelease, areas: tuple[str, ...]) -> str:
    """Address of the outlines of chosen areas."""
    return f"{prefix}geo/{release.slug}/{release.version}/areas.geojson?area=" + "&area=".join(areas)


def base_layer(release: ServedRelease, name: str) -> bytes:
    """Gzipped GeoJSON of every unit of a base layer that has a shape, with `id`."""
    return release.once(("layer", name), lambda: _packed(*_simplified(release, name)))


def outlines(release: ServedRelease, areas: tuple[str, ...]) -> bytes:
    """Gzipped GeoJSON of the chosen areas' shapes; an area without a shape is left out."""

    def make() -> bytes:
        shapes = [area_shape(release, area) for area in areas]
        kept = [(area, shape) for area, shape in zip(areas, shapes, strict=True) if shape is not None]
        return _packed([area for area, _ in kept], [shape for _, shape in kept])

    return release.once(("outlines", areas), make)


def area_shape(release: ServedRelease, key: str) -> Any:
    """Polygon of one area, simplified: its published one, or the union of its blocks' cells; None without."""
    level, _, unit_id = key.partition(":")
    if level in _TABLES:
        column = f"{level}_id"
        frame = release.store.table(_TABLES[level], [column, "geometry"])
        found = frame.geometry[frame[column] == unit_id]
        shape = found.iloc[0] if len(found) else None
    else:
        cells = release.store.table("cells")
        mine = numpy.isin(cells["block_index"].to_numpy(), release.areas.blocks([key]))
        shape = (
            shapely.union_all(cells.geometry[mine].to_numpy(), grid_size=_GRID_DEG) if mine.any() else None
        )
    if shape is None or shape.is_empty:
        return None
    return shapely.set_precision(shapely.simplify(shape, 1.5e-4), _GRID_DEG)


def bounds(release: ServedRelease, areas: tuple[str, ...]) -> tuple[float, float, float, float]:
    """West, south, east and north of the areas' blocks, degrees; of all that is not elsewhere without areas."""
    places = release.once(
        ("places",), lambda: release.store.table("blocks", ["lon_deg", "lat_deg", "elsewhere"])
    )
    chosen = release.areas.blocks(areas)
    frame = places[~places["elsewhere"]] if chosen is None else places.iloc[chosen]
    if frame.empty:
        frame = places
    return (
        float(frame["lon_deg"].min()),
        float(frame["lat_deg"].min()),
        float(frame["lon_deg"].max()),
        float(frame["lat_deg"].max()),
    )


def etag(body: bytes) -> str:
    """A short name of these very bytes."""
    return hashlib.sha256(body).hexdigest()[:20]


def _simplified(release: ServedRelease, name: str) -> tuple[list[str], list[Any]]:
    frame = release.store.table(name, [BASE_LAYERS[name], "geometry"])
    frame = frame[~(frame.geometry.isna() | frame.geometry.is_empty)]
    shapes = frame.geometry.to_numpy()
    tolerance = _TOLERANCE_DEG[name]
    if shapely.coverage_is_valid(shapes):
        shapes = shapely.coverage_simplify(shapes, tolerance)
    else:  # overlapping shapes have no common borders to keep
        shapes = shapely.simplify(shapes, tolerance)
    return list(frame[BASE_LAYERS[name]]), list(shapes)


def _packed(ids: list[str], shapes: list[Any]) -> bytes:
    features = [
        {
            "type": "Feature",
            "id": unit_id,
            "properties": {},
            "geometry": _rounded(shapely.geometry.mapping(shape)),
        }
        for unit_id, shape in zip(ids, shapes, strict=True)
    ]
    text = json.dumps({"type": "FeatureCollection", "features": features}, separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=6, mtime=0)


def _rounded(geometry: dict[str, Any]) -> dict[str, Any]:
    """The same geometry with five decimals a coordinate."""

    def short(value: Any) -> Any:
        return round(value, 5) if isinstance(value, float) else [short(part) for part in value]

    return {"type": geometry["type"], "coordinates": short(geometry["coordinates"])}
