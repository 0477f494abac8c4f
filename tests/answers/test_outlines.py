"""Outlines: published where there are any, else dissolved from cells; kept on disk only while they hold."""

from __future__ import annotations

import hashlib
import io
import threading
from pathlib import Path
from typing import Any

import geopandas
import numpy
import pytest
import shapely

from commutemap import Release, open_release
from mapapp.answers.areas.outlines import Outlines, dissolve_shapes

LAYERS = ("county", "tract", "puma", "stplc", "zcta", "bgrp", "ctycsub")


@pytest.fixture(scope="module")
def release(demo_release: Path) -> Release:
    return open_release(demo_release)


def cells_of(release: Release, blocks: Any) -> Any:
    cells = release.store.table("cells")
    return shapely.union_all(cells.geometry[cells["block_index"].isin(blocks)].to_numpy())


@pytest.mark.parametrize("layer", LAYERS)
def test_every_unit_is_the_union_of_its_cells(release: Release, layer: str) -> None:
    units = release.areas.units(layer)
    outlines = release.outlines.of_layer(layer)
    assert set(outlines) == set(units.rows.loc[units.rows["kind"] == "unit", "unit_id"])
    for unit_id, outline in list(outlines.items())[::7]:
        row = int(units.rows.index[(units.rows["unit_id"] == unit_id) & (units.rows["kind"] == "unit")][0])
        union = cells_of(release, numpy.flatnonzero(units.code == row))
        assert shapely.is_valid(outline)
        assert shapely.area(shapely.symmetric_difference(outline, union)) < 1e-6 * shapely.area(union) + 1e-9


def test_an_area_is_the_union_of_its_cells(release: Release) -> None:
    county = release.comparison(layer="county").units["unit_id"].iloc[0]
    chosen = release.areas.select(f"county:{county}")
    centre = shapely.centroid(release.outlines.of_blocks(chosen.blocks))
    for text in (f"county:{county}", f"county:{county} -circle:{centre.x:.4f},{centre.y:.4f},2", "all"):
        chosen = release.areas.select(text)
        outline = release.outlines.of_blocks(chosen.blocks)
        blocks = range(len(release.areas.places)) if chosen.blocks is None else chosen.blocks
        union = cells_of(release, blocks)
        assert shapely.area(shapely.symmetric_difference(outline, union)) < 1e-6 * shapely.area(union)
    elsewhere = numpy.flatnonzero(release.areas.places["elsewhere"])
    assert release.outlines.of_blocks(elsewhere.astype(numpy.int32)) is None


def test_a_layer_does_not_wait_for_another(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outlines = Outlines(release.store, release.areas, tmp_path)
    make, asked, goes_on = outlines._make, threading.Event(), threading.Event()

    def slow(level: str) -> Any:
        if level == "bgrp":
            asked.set()
            assert goes_on.wait(60)
        return make(level)

    monkeypatch.setattr(outlines, "_make", slow)
    other = threading.Thread(target=outlines.of_layer, args=("bgrp",))
    other.start()
    try:
        assert asked.wait(60)
        assert outlines.of_layer("stplc")  # made while block groups are still being made
        assert not list(tmp_path.glob("outlines-bgrp-*"))
    finally:
        goes_on.set()
        other.join()
    assert len(list(tmp_path.glob("outlines-bgrp-*"))) == 1


@pytest.mark.parametrize("layer", ["bgrp", "zcta", "stplc"])
def test_outlines_do_not_depend_on_how_many_cells_are_read_at_once(
    release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, layer: str
) -> None:
    expected = Outlines(release.store, release.areas, tmp_path / "whole").of_layer(layer)
    monkeypatch.setattr("mapapp.answers.areas.outlines._CELLS_AT_ONCE", 100)
    found = Outlines(release.store, release.areas, tmp_path / "parts").of_layer(layer)
    assert list(found) == list(expected)
    assert shapely.equals_exact(list(found.values()), list(expected.values())).all()


def test_cells_of_blocks_without_a_cell_are_left_out(release: Release) -> None:
    blocks = numpy.arange(len(release.areas.places), dtype=numpy.int32)
    cells, there = release.areas.cells.of_some_blocks(blocks)
    assert len(cells) == there.sum()
    assert numpy.array_equal(there, ~release.areas.places["elsewhere"].to_numpy(dtype=bool))


def test_a_damaged_layer_is_made_again(release: Release) -> None:
    release.outlines.of_layer("zcta")
    (file,) = release.outlines._folder.glob("outlines-zcta-*.parquet")
    whole = file.read_bytes()
    file.write_bytes(whole[:-50])
    again = release.outlines.of_layer("zcta")
    assert len(again) == (release.areas.units("zcta").rows["kind"] == "unit").sum()
    # PROJ words the reference system differently on another thread, such as that of a server that made the first file.
    (made,) = release.outlines._folder.glob("outlines-zcta-*.parquet")
    assert made.stem.endswith(hashlib.sha256(made.read_bytes()).hexdigest()[:32])
    first, second = (geopandas.read_parquet(source) for source in (io.BytesIO(whole), made))
    assert first["unit_id"].equals(second["unit_id"])
    assert first.geometry.to_wkb().equals(second.geometry.to_wkb())


def united(*shapes: Any, groups: list[int] | None = None) -> Any:
    group = numpy.array(groups or [0] * len(shapes), dtype=numpy.int64)
    return dissolve_shapes(numpy.array(shapes, dtype=object), group)[0]


def test_crumbs_between_cells_are_left_out() -> None:
    left = shapely.Polygon([(0, 0), (1, 0), (1, 0.4), (1, 0.6), (1, 1), (0, 1)])
    right = shapely.Polygon([(1, 0), (2, 0), (2, 1), (1, 1), (1, 0.6), (1 + 1e-10, 0.5), (1, 0.4)])
    assert len(shapely.union_all([left, right]).interiors) == 1
    (whole,) = united(left, right)
    assert whole.geom_type == "Polygon"
    assert not whole.interiors
    hole = shapely.box(0, 0, 3, 3).difference(shapely.box(1, 1, 2, 2))
    (ring,) = united(hole)
    assert len(ring.interiors) == 1
    crumb = shapely.box(5, 5, 5 + 1e-5, 5 + 1e-5)
    (square,) = united(shapely.box(0, 0, 1, 1), crumb)
    assert shapely.equals(square, shapely.box(0, 0, 1, 1))


def test_groups_whose_borders_do_not_match_are_united_all_the_same() -> None:
    matching = [shapely.box(0, 0, 1, 1), shapely.box(1, 0, 2, 1)]
    corner_on_an_edge = [shapely.box(0, 0, 1, 3), shapely.box(1, 1, 2, 2)]
    overlapping = [shapely.box(0, 0, 2, 2), shapely.box(1, 1, 3, 3)]
    apart = [shapely.box(0, 0, 1, 1), shapely.box(4, 0, 5, 1)]
    pairs = [matching, corner_on_an_edge, overlapping, apart]
    # In turn, so that the shapes of a group are not side by side.
    shapes = [pair[k] for k in (0, 1) for pair in pairs]
    for found, pair in zip(united(*shapes, groups=[0, 1, 2, 3] * 2), pairs, strict=True):
        assert shapely.is_valid(found)
        assert shapely.equals(found, shapely.union_all(pair))
    assert united().size == 0
