"""Make the packaged base map, `world.geojson.gz`, from public-domain files.

Run it as ``python -m geodata.geography.make_world FOLDER US_ATLAS``. FOLDER has Natural Earth's layers as gzipped
GeoJSON, clipped to the United States (`ne_10m_…`) or of the world (`ne_50m_…`); US_ATLAS is the npm package
`us-atlas` 3.0.1, as `npm pack` downloads it, with the Census Bureau's outlines as TopoJSON. The same files give the
same bytes.

Everything is simplified and rounded to about 100 m, so the result is no copy of its sources.

Source: Natural Earth, 1:10 million and 1:50 million physical and cultural vectors; U.S. Census Bureau, cartographic
boundary files of 2017, in the `us-atlas` package.
"""

from __future__ import annotations

import gzip
import json
import sys
import tarfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import shapely

from geodata.geography.world import DETAILED, WORLD_FILE
from geodata.json_objects import JsonMapping, JsonObject

MOST_BYTES: Final = 1 << 20
_DECIMALS: Final = 3  # about 100 m
_TOLERANCE_DEG: Final = {
    "land": 0.003,
    "coarse-land": 0.03,
    "lake": 0.006,
    "river": 0.01,
    "rail": 0.01,
    "border": 0.003,
}
_LEAST_DEG2: Final = {"land": 2e-5, "coarse-land": 2e-3, "lake": 6e-4}
_LAST_RANK: Final = {"lake": 9, "river": 8}  # Natural Earth's scale ranks; higher ones are too small to draw
_INLAND_DEG: Final = 0.06  # a border of the nation that is farther from the sea is one with another country
_LEAST_PEOPLE: Final = {"USA": 5_000, "CAN": 20_000, "MEX": 50_000}
_LEAST_PEOPLE_ELSEWHERE: Final = 300_000
_WIDEST_SEA_DEG: Final = 40.0  # of the room for a name

Shapes = npt.NDArray[np.object_]
_Arcs: TypeAlias = "Sequence[int | _Arcs]"


class Feature(NamedTuple):
    """A shape of the base map and what is said of it."""

    layer: str
    shape: shapely.Geometry
    about: dict[str, object]


class Source(NamedTuple):
    """Features of a Natural Earth file."""

    shapes: Shapes
    about: list[JsonObject]

    def chosen(self, kept: npt.NDArray[np.bool_]) -> Source:
        """Return the features where `kept` is true."""
        return Source(self.shapes[kept], [self.about[at] for at in np.flatnonzero(kept)])


def make_world(folder: Path, us_atlas: Path) -> bytes:
    """Return the packaged base map.

    Parameters
    ----------
    folder : Path
        Natural Earth's files.
    us_atlas : Path
        The npm package.

    Raises
    ------
    ValueError
        The result is too large for the source tree.
    """
    land = shapely.union_all(
        shapely.make_valid(
            np.concatenate(
                [_read(folder / f"{name}_us").shapes for name in ("ne_10m_land", "ne_10m_minor_islands")]
            )
        )
    )
    coarse = shapely.make_valid(_read(folder / "ne_50m_land_world").shapes)
    features = [
        *_polygons("land", shapely.get_parts(land)),
        *_polygons("coarse-land", shapely.get_parts(coarse)),
        *_lakes(folder),
        *_rivers(folder),
        *_lines("rail", _read(folder / "ne_10m_railroads_us").shapes),
        *_states(us_atlas, land),
        *_seas(folder),
        *_cities(folder),
    ]
    packed = _packed(features)
    if len(packed) > MOST_BYTES:
        raise ValueError(f"the packaged base map has {len(packed):,} bytes; raise the tolerances")
    return packed


def _read(path: Path) -> Source:
    features = json.loads(gzip.decompress(path.with_name(f"{path.name}.geojson.gz").read_bytes()))["features"]
    features = [feature for feature in features if feature["geometry"]]
    shapes = shapely.from_geojson([json.dumps(feature["geometry"]) for feature in features])
    return Source(shapes, [feature["properties"] for feature in features])


def _polygons(layer: str, shapes: Shapes) -> Iterator[Feature]:
    """Simplify polygons of one rank without names, and leave out the smallest."""
    for shape in _generalized(layer, shapes):
        yield Feature(layer, shape, {})


def _generalized(layer: str, shapes: Shapes) -> list[shapely.Geometry]:
    """Simplify shapes and round their corners; those that vanish are left out."""
    parts = shapely.get_parts(shapely.simplify(shapes, _TOLERANCE_DEG[layer]))
    rounded = shapely.set_precision(parts, 10.0**-_DECIMALS)
    parts = shapely.get_parts(rounded)
    size = shapely.area(parts) if layer in _LEAST_DEG2 else shapely.length(parts)
    return list(parts[(size > _LEAST_DEG2.get(layer, 0.0)) & ~shapely.is_empty(parts)])


def _lakes(folder: Path) -> Iterator[Feature]:
    """Lakes, the larger ones first where two files have the same."""
    detailed = [_read(folder / f"ne_10m_lakes{part}_us") for part in ("", "_north_america")]
    coarse = _read(folder / "ne_50m_lakes_world")
    known: list[shapely.Geometry] = []
    for source in (*detailed, coarse.chosen(~shapely.intersects(coarse.shapes, DETAILED))):
        tree = shapely.STRtree(known)
        fresh: list[shapely.Geometry] = []
        for shape, about in zip(shapely.make_valid(source.shapes), source.about, strict=True):
            rank = int(about["scalerank"])
            if rank > _LAST_RANK["lake"] or tree.query(shape, predicate="intersects").size:
                continue
            fresh.append(shape)
            for part in _generalized("lake", np.array([shape])):
                yield Feature("lake", part, {"rank": rank})
        known += fresh


def _rivers(folder: Path) -> Iterator[Feature]:
    """Rivers, joined where they have the same name and rank."""
    by_key: dict[tuple[int, str], list[shapely.Geometry]] = {}
    for part in ("", "_north_america"):
        source = _read(folder / f"ne_10m_rivers{part}_us")
        for shape, about in zip(source.shapes, source.about, strict=True):
            rank = int(about["scalerank"])
            if rank <= _LAST_RANK["river"]:
                by_key.setdefault((rank, str(about.get("name") or "")), []).append(shape)
    for (rank, _), shapes in sorted(by_key.items()):
        merged = shapely.line_merge(shapely.multilinestrings(shapely.get_parts(np.array(shapes))))
        for shape in _generalized("river", np.array([merged])):
            yield Feature("river", shape, {"rank": rank})


def _lines(layer: str, shapes: Shapes) -> Iterator[Feature]:
    merged = shapely.line_merge(shapely.multilinestrings(shapely.get_parts(shapes)))
    for shape in _generalized(layer, np.array([merged])):
        yield Feature(layer, shape, {})


def _states(us_atlas: Path, land: shapely.Geometry) -> Iterator[Feature]:
    """Borders between states and with other countries, never along the sea; and the names of the states."""
    with tarfile.open(us_atlas) as package:
        member = package.extractfile("package/states-10m.json")
        if member is None:
            raise ValueError(f"{us_atlas}: has no package/states-10m.json")
        topology = json.load(member)
    arcs = _arcs(topology)
    states = topology["objects"]["states"]["geometries"]
    uses = Counter(arc if arc >= 0 else ~arc for state in states for arc in set(_flat(state["arcs"])))
    shared = np.array([arcs[arc] for arc, n_states in sorted(uses.items()) if n_states > 1], dtype=object)
    alone = np.array([arcs[arc] for arc, n_states in sorted(uses.items()) if n_states == 1], dtype=object)
    inland = shapely.buffer(land, -_INLAND_DEG, quad_segs=2)
    abroad = shapely.intersection(shapely.multilinestrings(list(alone)), inland)
    yield from _lines("border", shared)
    yield from _lines("border", np.array([_only_lines(abroad)]))
    for state in states:
        rings = [shapely.polygons(_ring(part[0], arcs)) for part in _polygons_of(state)]
        yield Feature(
            "state", *_label(shapely.make_valid(max(rings, key=shapely.area)), state["properties"]["name"])
        )


def _only_lines(shape: shapely.Geometry) -> shapely.Geometry:
    parts = shapely.get_parts(shape)
    return shapely.multilinestrings(list(parts[shapely.get_dimensions(parts) == 1]))


def _arcs(topology: JsonMapping) -> list[shapely.Geometry]:
    """Arcs of a TopoJSON file in degrees: its coordinates are quantized differences."""
    scale, origin = (np.array(topology["transform"][key]) for key in ("scale", "translate"))
    return [shapely.linestrings(np.cumsum(arc, axis=0) * scale + origin) for arc in topology["arcs"]]


def _flat(arcs: _Arcs) -> Iterator[int]:
    for arc in arcs:
        if isinstance(arc, int):
            yield arc
        else:
            yield from _flat(arc)


def _polygons_of(state: JsonMapping) -> list[list[list[int]]]:
    return [state["arcs"]] if state["type"] == "Polygon" else list(state["arcs"])


def _ring(numbers: Sequence[int], arcs: Sequence[shapely.Geometry]) -> npt.NDArray[np.float64]:
    """Corners of a ring; a negative number is the complement of an arc that runs backward."""
    lines = [shapely.get_coordinates(arcs[at if at >= 0 else ~at])[:: 1 if at >= 0 else -1] for at in numbers]
    return np.concatenate([lines[0], *(line[1:] for _, line in pairwise(lines))])


def _label(shape: shapely.Geometry, name: str) -> tuple[shapely.Geometry, dict[str, object]]:
    """Place and room of a name: the middle and width of the largest circle inside the shape."""
    largest = max(shapely.get_parts(shape), key=shapely.area)
    circle = shapely.maximum_inscribed_circle(largest, 0.02)
    width_deg = min(3 * float(shapely.length(circle)), _WIDEST_SEA_DEG)
    return shapely.Point(shapely.get_coordinates(circle)[0]), {"name": name, "width_deg": round(width_deg, 2)}


def _seas(folder: Path) -> Iterator[Feature]:
    source = _read(folder / "ne_10m_marine_us")
    for shape, about in zip(shapely.make_valid(source.shapes), source.about, strict=True):
        name = " ".join(str(about["name"] or "").split())
        if name:
            yield Feature("sea", *_label(shape, name.title() if name.isupper() else name))


def _cities(folder: Path) -> Iterator[Feature]:
    """Cities with their inhabitants, the largest first."""
    source = _read(folder / "ne_10m_places")
    rows = sorted(
        zip(source.shapes, source.about, strict=True),
        key=lambda row: (-int(row[1]["pop_max"]), str(row[1]["name"])),
    )
    for shape, about in rows:
        people = int(about["pop_max"])
        if people >= _LEAST_PEOPLE.get(about["adm0_a3"], _LEAST_PEOPLE_ELSEWHERE):
            yield Feature("city", shape, {"name": str(about["name"]), "people": people})


def _packed(features: Sequence[Feature]) -> bytes:
    """Gzipped GeoJSON; its bytes follow from the features alone."""
    lines = [
        json.dumps(
            {
                "type": "Feature",
                "properties": {"layer": layer, **about},
                "geometry": json.loads(shapely.to_geojson(shapely.set_precision(shape, 10.0**-_DECIMALS))),
            },
            separators=(",", ":"),
            ensure_ascii=False,
        )
        for layer, shape, about in features
    ]
    text = '{"type":"FeatureCollection","features":[\n' + ",\n".join(lines) + "\n]}\n"
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


if __name__ == "__main__":
    WORLD_FILE.write_bytes(make_world(Path(sys.argv[1]), Path(sys.argv[2])))
