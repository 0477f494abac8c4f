"""Outlines of chosen areas: of units as they are published, or of the blocks in an area."""

from __future__ import annotations

import shapely

from mapapp.answers.areas.layer_units import TABLES
from mapapp.answers.opened_publication import OpenedPublication
from mapapp.base import watch
from mapapp.question.view import Bounds
from mapapp.show.content.map_layers import GRID_DEG, pack_shapes, surroundings_of


def outlines(release: OpenedPublication, areas: tuple[str, ...]) -> bytes:
    """Gzipped GeoJSON of the chosen areas' shapes, without areas that have none."""

    def make() -> bytes:
        shape_by_area = shapes(release, areas)
        return pack_shapes(list(shape_by_area), list(shape_by_area.values()))

    return release.once(("outlines", areas), make)


def shapes(release: OpenedPublication, areas: tuple[str, ...]) -> dict[str, shapely.Geometry]:
    """Simplified polygons of each unit, or of the whole area for other steps; units without shapes are left out."""

    def make() -> dict[str, shapely.Geometry]:
        if all("," not in area and area.partition(":")[0] in release.areas.columns for area in areas):
            shape_by_area = unit_outlines(release, areas)
        else:
            shape_by_area = {"area": selected_shape(release, areas)}
        return {
            area: cut_at_shore(release, shape) for area, shape in shape_by_area.items() if shape is not None
        }

    return release.once(("shapes", areas), make)


def cut_at_shore(release: OpenedPublication, shape: shapely.Geometry) -> shapely.Geometry:
    """Return the part of an area that is not the sea of the packaged base map; the whole if nothing is left."""
    on_land = shapely.difference(shape, surroundings_of(release).wide_sea)
    return shape if on_land.is_empty else on_land


def unit_outlines(release: OpenedPublication, keys: tuple[str, ...]) -> dict[str, shapely.Geometry | None]:
    """Simplified polygons of units: published boundaries, or unions of their blocks' cells, or None."""
    outline_by_key: dict[str, shapely.Geometry | None] = {}
    for key in keys:
        watch.check()
        level, _, unit_id = key.partition(":")
        outlines = release.areas.outlines
        outline_by_key[key] = _simplify_outline(
            outlines.of_unit(level, unit_id)
            if level in TABLES
            else outlines.of_blocks(release.areas.blocks([key]))
        )
    return outline_by_key


def _simplify_outline(shape: shapely.Geometry) -> shapely.Geometry:
    if shape is None or shape.is_empty:
        return None
    return shapely.set_precision(shapely.simplify(shape, 1.5e-4), GRID_DEG)


def selected_shape(release: OpenedPublication, areas: tuple[str, ...]) -> shapely.Geometry:
    """Polygon of the blocks in an area, or None."""
    shape = release.areas.outlines.of_blocks(release.areas.select(" ".join(areas)).blocks)
    if shape is None or shape.is_empty:
        return None
    return shapely.set_precision(shapely.simplify(shape, 5e-5), GRID_DEG)


def bounds(release: OpenedPublication, areas: tuple[str, ...]) -> Bounds | None:
    """West, south, east and north of the areas' shapes, degrees; None if no area has a shape."""
    shape_by_area = shapes(release, areas)
    if not shape_by_area:
        return None
    west, south, east, north = shapely.total_bounds(list(shape_by_area.values()))
    return float(west), float(south), float(east), float(north)
