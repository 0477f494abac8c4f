"""A whole release as layers: geographic units with counts, points, flows between blocks, and the base map."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np
import pandas
import shapely

from geodata.store.shown_margins import shown_segments
from geodata.store.store import Store
from mapapp.answers.areas.levels import level_label
from mapapp.answers.release import Release
from mapapp.question.fields import Side
from mapapp.question.filters import BANDS, CHARACTERISTICS
from mapapp.show.exports.layer import Geometry, Kind, Layer, LonLat, Part, in_parts
from mapapp.show.exports.lodes import pairs_in_parts

BAND_FIELDS: Final = tuple(f"{name}_{band}" for name in CHARACTERISTICS for band in BANDS)
UNIT_FIELDS: Final[dict[str, Kind]] = {
    "unit_id": "text",
    "name": "text",
    "kind": "text",
    **{
        name: "whole"
        for end in ("workers", "residents")
        for name in (end, *(f"{end}_{band}" for band in BAND_FIELDS))
    },
}
POINT_FIELDS: Final[dict[str, Kind]] = {
    "work_block": "text",
    "home_block": "text",
    "age": "whole",
    "earnings": "whole",
    "industry": "whole",
}
FLOW_FIELDS: Final[dict[str, Kind]] = {
    "work_block": "text",
    "home_block": "text",
    **dict.fromkeys(("workers", *BAND_FIELDS), "whole"),
}
_BASE_LAYERS: Final[dict[str, tuple[str, Geometry, dict[str, Kind]]]] = {
    "water": ("water", "MultiPolygon", {"name": "text", "kind": "text"}),
    "roads": ("roads", "MultiLineString", {"name": "text", "rank": "whole"}),
    "rails": ("railroads", "MultiLineString", {"name": "text"}),
    "landmarks": ("landmarks", "Point", {"name": "text", "kind": "text", "county_id": "text"}),
}
"""Title, geometry, and fields of each table of the base map."""
_TITLES: Final[dict[Side, str]] = {"work": "workplaces", "home": "homes"}


def subject(store: Store) -> str:
    """Whom a publication counts: "synthetic workers", or "workers" if nobody was drawn."""
    return "workers" if store.kind == "published" else "synthetic workers"


def shown_fields(fields: Mapping[str, Kind], facts: Mapping[str, object]) -> dict[str, Kind]:
    """Return the fields without those of age, earnings, or industry where a release with these facts lacks them."""
    hidden = [name for name in CHARACTERISTICS if name not in shown_segments(facts)]
    return {
        field: kind
        for field, kind in fields.items()
        if not any(name == field or f"{name}_" in field for name in hidden)
    }


def unit_layer(release: Release, level: str) -> Layer:
    """Units of a layer with workers and residents by band; states outside the map have no shape.

    Raises
    ------
    UsageError
        If the release has no such layer.
    """
    frame = unit_table(release, level)
    outlines = release.outlines.of_layer(level)
    shapes = np.empty(len(frame), dtype=object)
    shapes[:] = [
        outlines.get(unit_id) if kind == "unit" else None
        for unit_id, kind in zip(frame["unit_id"], frame["kind"], strict=True)
    ]
    return Layer(
        name=level,
        title=level_label(level).split(" (")[0].lower(),
        geometry="MultiPolygon",
        fields=shown_fields(UNIT_FIELDS, release.facts),
        n_rows=len(frame),
        parts=lambda: in_parts(frame, shapes),
    )


def unit_table(release: Release, level: str) -> pandas.DataFrame:
    """Rows of `unit_layer` with the columns `UNIT_FIELDS`, ordered by kind and id; includes units without workers."""
    names = ["unit_id", "kind"]
    both = [release.comparison(side=side, layer=level).units for side in ("work", "home")]
    bands = [field for field in BAND_FIELDS if field in both[0]]  # those that the release shows
    work, home = (
        frame[["unit_id", "name", "kind", "workers", *bands]].rename(
            columns={"workers": end, **{band: f"{end}_{band}" for band in bands}}
        )
        for frame, end in zip(both, ("workers", "residents"), strict=True)
    )
    frame = work.merge(home.drop(columns="name"), on=names, how="outer", validate="one_to_one")
    order = frame["kind"].map({"unit": 0, "elsewhere": 1, "none": 2})
    frame = frame.assign(order=order).sort_values(["order", "unit_id"], ignore_index=True)
    return frame[list(shown_fields(UNIT_FIELDS, release.facts))]


def point_layer(store: Store, end: Side) -> Layer:
    """One point per synthetic worker, at home or at work; a home known only by its state has no point."""
    return Layer(
        name=f"points_{end}",
        title=f"{_TITLES[end]} of {subject(store)}",
        geometry="Point",
        fields=shown_fields(POINT_FIELDS, store.manifest),
        n_rows=int(store.manifest["files"]["points.parquet"]["rows"]),
        parts=lambda: _point_parts(store, end),
    )


def _point_parts(store: Store, end: Side) -> Iterator[Part]:
    for frame in points_in_parts(store):
        lon, lat = frame[f"{end}_lon_deg"].to_numpy(), frame[f"{end}_lat_deg"].to_numpy()
        yield Part(frame, LonLat(lon.astype(float), lat.astype(float)))


def points_in_parts(store: Store) -> Iterator[pandas.DataFrame]:
    """Yield the points of a release as frames: `POINT_FIELDS` that it shows, and the four coordinates."""
    fields = list(shown_fields(POINT_FIELDS, store.manifest))
    block_id = store.table("blocks", ["block_id"])["block_id"].astype("str").array
    for batch in store.batches("points"):
        frame = batch.to_pandas()
        segment = frame["segment"].to_numpy()
        rows = pandas.DataFrame(
            {
                "work_block": block_id.take(frame["destination_index"].to_numpy()),
                "home_block": block_id.take(frame["origin_index"].to_numpy()),
                "age": segment // 9 + 1,
                "earnings": segment // 3 % 3 + 1,
                "industry": segment % 3 + 1,
            }
        )
        yield rows[fields].join(frame[[name for name in frame.columns if name.endswith("_deg")]])


def flow_layer(store: Store) -> Layer:
    """Lines from home block to work block with their workers, ordered by workplace."""
    return Layer(
        name="flows",
        title="flows between blocks",
        geometry="LineString",
        fields=shown_fields(FLOW_FIELDS, store.manifest),
        n_rows=0,
        parts=lambda: _flow_parts(store),
    )


def _flow_parts(store: Store) -> Iterator[Part]:
    blocks = store.table("blocks", ["block_id", "lon_deg", "lat_deg", "elsewhere"])
    block_id, elsewhere = blocks["block_id"].to_numpy(dtype=object), blocks["elsewhere"].to_numpy()
    place = blocks[["lon_deg", "lat_deg"]].to_numpy()
    for pairs, _, _ in pairs_in_parts(store):
        ends = np.stack([place[pairs.home], place[pairs.work]], axis=1)
        shapes = shapely.linestrings(ends)
        shapes[elsewhere[pairs.home]] = None
        counts = dict(zip(("workers", *BAND_FIELDS), pairs.counts.T, strict=True))
        frame = {"work_block": block_id[pairs.work], "home_block": block_id[pairs.home], **counts}
        yield Part(pandas.DataFrame(frame)[list(shown_fields(FLOW_FIELDS, store.manifest))], shapes)


def base_layers(store: Store) -> list[Layer]:
    """Water, roads, rails, and landmarks, as far as the release has them."""
    return [
        Layer(
            name=name,
            title=title,
            geometry=geometry,
            fields=dict(fields),
            n_rows=int(store.manifest["files"][f"{name}.parquet"]["rows"]),
            parts=partial(_base_parts, store, name),
        )
        for name, (title, geometry, fields) in _BASE_LAYERS.items()
        if store.has_table(name)
    ]


def _base_parts(store: Store, name: str) -> Iterator[Part]:
    frame = store.table(name)
    if name == "landmarks":
        yield Part(frame, shapely.points(frame["lon_deg"].to_numpy(), frame["lat_deg"].to_numpy()))
    else:
        yield Part(pandas.DataFrame(frame.drop(columns="geometry")), frame["geometry"].to_numpy())


def field_notes(store: Store) -> list[str]:
    """One line on each field of these layers."""
    who = subject(store)
    bands = {
        name: ", ".join(f"{band} {label}" for band, label in zip(BANDS, labels, strict=True))
        for name, labels in CHARACTERISTICS.items()
    }
    return [
        "unit_id, name: identifier and name of the area; kind: unit, elsewhere (a whole state outside the mapped area, "
        "without a shape), or none (blocks that belong to no unit of the layer)",
        f"workers: {who} who work in the area (for a flow: workers who commute along it)",
        f"residents: {who} who live in the area and work in a state that the release covers",
        "work_block, home_block: census blocks; a home_block of two digits is a state, and the home has no point",
        *(
            f"{name}, and fields that end in _{name}_1 to _3: {text}"
            for name, text in bands.items()
            if name in shown_segments(store.manifest)
        ),
    ]
