"""Every worker is a dot: pictures agree with a plain count, tiles with a whole picture, and mornings with answers."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Sequence
from typing import Any

import numpy
import pytest
from PIL import Image

from mapapp.answers import served_answers
from mapapp.answers.commutes.pick import Places
from mapapp.answers.release import Release
from mapapp.show.content import dots as dots_of_places
from mapapp.show.content.dot_map import png_of
from mapapp.show.content.dots import DotLayer, Window, draw_dots, sorted_dots, tile_window
from mapapp.show.content.map_content import MapContent
from mapapp.show.content.map_legends import map_legend
from mapapp.show.content.morning import morning
from mapapp.show.content.palette import COLOR_SCHEMES
from tests.addresses import settled, shown
from tests.map_contents import content_of
from tests.releases import write_release

COLORS = ("#ff0000", "#0000ff", "#00ff00")
COUNTY = ("county:10001",)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return Release.open(write_release(tmp_path_factory.mktemp("made") / "squareland"), "squareland")


def places(n: int, seed: int = 3) -> Places:
    random = numpy.random.default_rng(seed)
    lon, lat = random.normal(-71.4, 0.2, n), random.normal(41.8, 0.2, n)
    segment = random.integers(0, 27, n).astype(numpy.int8)
    return {
        "lon_deg": lon.astype(numpy.float32),
        "lat_deg": lat.astype(numpy.float32),
        "segment": segment,
    }


def layer_of(given: Places) -> DotLayer:
    return DotLayer(sorted_dots(given), numpy.arange(27) % 3)


def plain_counts(given: Places, window: Window) -> Any:
    """Count dots one by one: int[groups, rows, columns]."""
    counts = numpy.zeros((3, window.n_rows, window.n_columns), dtype=int)
    for lon, lat, segment in zip(given["lon_deg"], given["lat_deg"], given["segment"], strict=True):
        x = (float(lon) + 180) / 360
        y = 0.5 - numpy.arcsinh(numpy.tan(numpy.radians(float(lat)))) / (2 * numpy.pi)
        column, row = (int((x - window.west) // window.pixel), int((y - window.north) // window.pixel))
        if 0 <= column < window.n_columns and 0 <= row < window.n_rows:
            counts[segment % 3, row, column] += 1
    return counts


@pytest.mark.parametrize("window", [tile_window(6, 19, 23, 64), Window(0.3, 0.371, 1.7e-6, 900, 700)])
def test_a_picture_counts_as_one_by_one(window: Window) -> None:
    given = places(2_000)
    found = dots_of_places._counts([layer_of(given)], 3, window, 0)
    expected = plain_counts(given, window)
    assert expected.sum() > 300
    # Places are kept to 2^-32 of the world, so that a dot on an edge may be in the next pixel.
    assert numpy.abs(found - expected).sum() <= 4
    assert found.sum() == pytest.approx(expected.sum(), abs=1)


def test_opacity_adds_up_and_colors_mix() -> None:
    def drawn(segments: Sequence[int]) -> Any:
        n = len(segments)
        given: Places = {
            "lon_deg": numpy.full(n, 0.7, dtype=numpy.float32),
            "lat_deg": numpy.full(n, -0.7, dtype=numpy.float32),
            "segment": numpy.array(segments, dtype=numpy.int8),
        }
        layer = layer_of(given)
        opacity = dots_of_places.dot_opacity([layer], 5)
        picture = draw_dots([layer], COLORS, tile_window(6, 32, 32, 256), 5, 1)
        (seen,) = picture[picture[:, :, 3] > 0]
        return seen, opacity

    seen, opacity = drawn([0])
    assert seen.tolist() == [255, 0, 0, int(255 * opacity + 0.5)]
    seen, opacity = drawn([0, 1, 1, 1])
    assert seen[:3].tolist() == [64, 0, 191]
    assert seen[3] == pytest.approx(255 * (1 - (1 - opacity) ** 4), abs=1)


def test_tiles_join_without_a_seam() -> None:
    layer = layer_of(places(3_000))
    z, x, y = 15, 9884, 12220
    zoom = 16  # dots of several pixels
    own = numpy.concatenate(
        [draw_dots([layer], COLORS, tile_window(z, x + right, y, 64), zoom, 2) for right in (0, 1)], axis=1
    )
    both = Window(x / 2**z, y / 2**z, 1 / (64 * 2**z), 128, 64)
    assert numpy.array_equal(own, draw_dots([layer], COLORS, both, zoom, 2))


@pytest.mark.parametrize("diameter", [1.0, 2.0, 6.4])
def test_crowds_are_spread_as_few_dots_are(diameter: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Finds a crowded tile whose dots lie elsewhere, or are of another size, than those of the tile beside it."""
    counts = numpy.random.default_rng(5).poisson(0.2, (3, 40, 50)).astype(numpy.float32)
    spread = []
    for most in (0, 10**9):
        monkeypatch.setattr(dots_of_places, "_DENSE", most)
        spread.append(dots_of_places._spread(counts, diameter))
    assert numpy.array_equal(spread[0], spread[1])
    cut = dots_of_places._reach(diameter)
    assert spread[0].shape == (3, 40 - 2 * cut, 50 - 2 * cut)


def test_a_png_file_has_the_pixels_of_its_picture() -> None:
    """Finds a file that browsers refuse, or one with swapped colors, rows, or columns."""
    picture = numpy.random.default_rng(6).integers(0, 256, (5, 7, 4), dtype=numpy.uint8)
    with Image.open(io.BytesIO(png_of(picture))) as opened:
        opened.verify()
    with Image.open(io.BytesIO(png_of(picture))) as opened:
        assert numpy.array_equal(numpy.asarray(opened), picture)


def test_nobody_is_an_empty_picture() -> None:
    picture = draw_dots([layer_of(places(0))], COLORS, tile_window(3, 2, 2, 32), 4, 1)
    assert picture.shape == (32, 32, 4)
    assert not picture.any()


def test_the_order_of_places_does_not_matter() -> None:
    given = places(500)
    plain: Any = given
    back: Any = {name: values[::-1] for name, values in plain.items()}
    window = tile_window(8, 77, 95, 256)
    pictures = [draw_dots([layer_of(each)], COLORS, window, 7, 1) for each in (given, back)]
    assert pictures[0].any()
    assert numpy.array_equal(pictures[0], pictures[1])


def drawn_dots(content: MapContent) -> int:
    return sum(len(layer.dots.x) for layer in content.dots.layers)


def test_every_worker_with_a_place_is_a_dot_and_the_legend_counts_it(release: Release) -> None:
    content = content_of(release, *shown(areas=COUNTY))
    units = served_answers.units(release, content.question)
    elsewhere = units.loc[units["kind"] == "elsewhere", "workers"].sum()
    assert drawn_dots(content) == units["workers"].sum() - elsewhere
    for color in ("plain", "age", "earnings", "industry"):
        colored = content_of(release, *shown(areas=COUNTY, color=color))
        items = map_legend(colored).items
        assert len(items) == (1 if color == "plain" else 3)
        assert sum(int(item.more.replace(",", "")) for item in items) == drawn_dots(content)


@pytest.mark.parametrize("color", ["age", "earnings", "industry"])
def test_a_group_has_the_workers_that_a_filter_leaves(release: Release, color: str) -> None:
    groups = content_of(release, *shown(areas=COUNTY, color=color)).dots.groups
    for band, group in enumerate(groups, 1):
        alone: Any = {color: (band,)}
        assert group.n_dots == drawn_dots(content_of(release, *shown(areas=COUNTY, **alone)))


def test_without_an_area_both_ends_are_dots(release: Release) -> None:
    content = content_of(release, *shown())
    assert content.kind == "points"
    assert [group.name for group in content.dots.groups] == ["Homes", "Workplaces"]
    jobs = content_of(release, *shown(color="industry"))
    assert jobs.dots.title == "Workplaces by industry"
    assert jobs.dots.n_dots == content.dots.groups[1].n_dots


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_tile_is_a_png_in_the_colors_of_the_theme(release: Release, theme: Any) -> None:
    content = content_of(release, *shown(areas=COUNTY, color="earnings", theme=theme))
    picture = Image.open(io.BytesIO(content.dots.tile(0, 0, 0, 2)))
    assert picture.size == (512, 512)
    assert picture.mode == "RGBA"
    assert tuple(group.color for group in content.dots.groups) == COLOR_SCHEMES[theme].dots.earnings


def moved(release: Release, most: int, **fields: Any) -> Any:
    question, view = shown(**fields)
    found = morning(release, settled(release, question), view, COLOR_SCHEMES["light"], most)
    return json.loads(found.as_json())


def test_a_morning_moves_a_sample_that_is_the_same_each_time(release: Release) -> None:
    all_of_them, some = (moved(release, most, areas=COUNTY) for most in (20_000, 10))
    assert some == moved(release, 10, areas=COUNTY)
    n_all, n_some = (len(base64.b64decode(each["group"])) for each in (all_of_them, some))
    assert n_some == 10 < n_all
    assert len(base64.b64decode(some["steps"])) == 10 * 4 * 2
    assert some["note"].startswith(f"10 of {n_all:,} synthetic workers, in straight lines.")
    assert all_of_them["note"].startswith(f"All {n_all:,} ")


def test_the_ends_of_a_morning_are_places_of_the_answer(release: Release) -> None:
    found = moved(release, 20_000, areas=COUNTY)
    west, north, east, south = found["box"]
    steps = numpy.frombuffer(base64.b64decode(found["steps"]), dtype="<u2").reshape(-1, 4) / 65_535
    x = numpy.sort(west + steps[:, 2] * (east - west))
    works = served_answers.places(release, settled(release, shown(areas=COUNTY)[0]), "work")
    assert len(x) <= len(works["lon_deg"])
    ends = [(float(pick(works["lon_deg"])) + 180) / 360 for pick in (numpy.min, numpy.max)]
    assert x[0] >= ends[0] - 1e-6
    assert x[-1] <= ends[1] + 1e-6
    assert 0 <= north < south <= 1


def test_a_morning_counts_who_lives_and_who_works_in_the_area(release: Release) -> None:
    question = settled(release, shown(areas=COUNTY, analysis="inflow-outflow")[0])
    both: Any = served_answers.result(release, question)
    n_all = both.inflow.value + both.stay.value
    found = moved(release, 10, areas=COUNTY)
    assert found["night"].startswith(f"{both.stay.value:,} of {n_all:,} live in ")
    assert found["day"].startswith(f"{n_all:,} of {n_all:,} work in ")
    homes = moved(release, 10, areas=COUNTY, side="home")
    assert homes["day"].startswith(f"{both.stay.value:,} of ")
