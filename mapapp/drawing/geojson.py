"""Shapes as gzipped GeoJSON, the same bytes every time."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping, Sequence
from typing import cast

import shapely

from mapapp.answers import watch


def packed(
    ids: Sequence[str],
    shapes: Sequence[shapely.Geometry],
    properties: Sequence[Mapping[str, object]] | None = None,
) -> bytes:
    """Gzipped GeoJSON of shapes with an `id` and, if given, properties; coordinates have five decimals."""
    features = []
    for unit_id, shape, about in zip(ids, shapes, properties or [{} for _ in ids], strict=True):
        watch.check()
        geometry = _rounded(shapely.geometry.mapping(shape))
        features.append({"type": "Feature", "id": unit_id, "properties": about, "geometry": geometry})
    text = json.dumps({"type": "FeatureCollection", "features": features}, separators=(",", ":"))
    return gzip.compress(text.encode(), compresslevel=6, mtime=0)


def _rounded(geometry: Mapping[str, object]) -> dict[str, object]:
    def short(value: object) -> object:
        return (
            round(value, 5)
            if isinstance(value, float)
            else [short(part) for part in cast("Sequence[object]", value)]
        )

    return {"type": geometry["type"], "coordinates": short(geometry["coordinates"])}
