"""`import commutemap`: areas and layers by name, frames, maps, what a notebook shows, and errors of ours."""

from __future__ import annotations

import html
import inspect
import pickle
import re
import struct
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib
import numpy
import pandas
import pytest
import shapely

import commutemap as cm
from mapapp.answers.asking import ask, question_of
from mapapp.answers.release import Release
from mapapp.question.analyses import ANALYSES
from mapapp.question.question import Question
from mapapp.question.view import View
from mapapp.show.exports.answers import answer_layer
from mapapp.show.paper import map_picture
from tests.map_contents import content_of
from tests.releases import rewrite_table, write_release

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "api.md"
QUESTIONS: dict[str, Callable[[cm.Release], cm.Result]] = {
    "profile": lambda r: r.profile("county:10001", cm.Filters(age=(1, 2))),
    "cross-table": lambda r: r.cross_table("county:10001", ("age", "industry")),
    "comparison": lambda r: r.comparison(side="home", layer="tract"),
    "destinations": lambda r: r.destinations("county:10001", layer="city"),
    "distance-direction": lambda r: r.distance_direction("circle:-70.9,42.1,6", edges_mi=(1, 5)),
    "inflow-outflow": lambda r: r.inflow_outflow("county:10001 -stplc:4459"),
    "job-balance": lambda r: r.job_balance("county:10001", layer="tract"),
    "characteristics": lambda r: r.characteristics("county:10001", "health care", layer="tract"),
    "paired": lambda r: r.paired("county:10003", "county:10001", cm.Filters(industry=[2])),
    "flow-matrix": lambda r: r.flow_matrix("tracts", "county", home_area="state:10"),
}


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two releases whose places and counties share base names."""
    folder = tmp_path_factory.mktemp("named")
    made = [write_release(folder / f"{seed}.release", n_pairs=400, seed=seed) for seed in (1, 2)]
    for path in made:
        _rename(path, "layers", ["Harbour city, DE", "Old Ferry town (Kent, DE)"])
        counties = ["Harbour County, DE", "Ferry County, DE", "Hill County, MD", "Far Away"]
        _rename(path, "counties", counties)
    return made


def _rename(path: Path, table: str, names: list[str]) -> None:
    rewrite_table(path, table, lambda units: units.assign(name=names))


@pytest.fixture(scope="module")
def release(paths: list[Path]) -> cm.Release:
    return cm.open_release(paths[0])


@pytest.fixture(scope="module")
def later(paths: list[Path]) -> cm.Release:
    return cm.open_release(paths[1])


@pytest.fixture(params=list(QUESTIONS))
def answer(request: pytest.FixtureRequest, release: cm.Release) -> cm.Result:
    return QUESTIONS[request.param](release)


def test_every_analysis_is_asked() -> None:
    assert set(QUESTIONS) == set(ANALYSES)


@pytest.mark.parametrize("name", list(ANALYSES))
def test_every_analysis_is_a_method_that_can_add_errors(name: str) -> None:
    method = getattr(cm.Release, name.replace("-", "_"))
    assert inspect.signature(method).parameters["errors"].default is False


def test_errors_are_those_of_with_errors(demo_release: Path) -> None:
    release = cm.open_release(demo_release)
    plain = release.inflow_outflow("Tarnwick city")
    sure = release.inflow_outflow("Tarnwick city", errors=True)
    assert plain.stay.expected_error is None
    assert sure.stay == release.with_errors(plain).stay
    assert sure.stay.expected_error is not None
    assert sure.to_frame()["expected_error"].notna().all()


def test_frames_are_copies_of_the_tables(answer: cm.Result) -> None:
    name, table = next(iter(answer.tables().items()))
    frame = answer.to_frame()
    pandas.testing.assert_frame_equal(frame, table)
    first: Any = frame.iloc[0, 0]
    frame.iloc[:, 0] = first
    pandas.testing.assert_frame_equal(answer.to_frame(name), table)
    about = answer.to_frame("numbers", about=True)
    assert list(about.columns[:5]) == ["release", "year", "area", "area_text", "side"]
    assert about["release"].tolist() == [answer.about.release]
    with pytest.raises(cm.UsageError, match=rf"table 'x': .* has {name}.*numbers"):
        answer.to_frame("x")


def test_geodataframes_hold_the_shapes_of_the_exports(answer: cm.Result, release: cm.Release) -> None:
    frame = answer.to_geodataframe()
    assert frame.crs.to_epsg() == 4326
    shapes = [shape for part in answer_layer(release, [answer]).parts() for shape in part.shapes]
    assert len(frame) == len(shapes)
    for mine, theirs in zip(frame.geometry, shapes, strict=True):
        assert (mine is None and theirs is None) or shapely.equals(mine, theirs)
    has_two_areas = answer.about.analysis == "paired"
    assert frame.geometry.notna().any() or has_two_areas


def test_a_question_is_read_back_from_its_answer(answer: cm.Result, release: cm.Release) -> None:
    question = question_of(answer)
    assert question.analysis == answer.about.analysis
    again = ask(release, release.areas.usual.settle(question))
    expected = answer.to_dict()
    if answer.about.analysis != "paired":  # its map does not show its distance bands
        assert again.to_dict() == expected
    assert again.about == answer.about


def test_a_plot_is_the_picture_of_a_report(release: cm.Release, paths: list[Path], tmp_path: Path) -> None:
    image = release.destinations("county:10001", layer="city").plot("areas", theme="dark")
    question = Question(areas=("county:10001",), layer="stplc")
    view = View(show="areas", theme="dark")
    assert image.content == map_picture(content_of(Release.open(paths[0], "a"), question, view), scale=2)
    assert image.words.startswith("Map. ")
    assert image._repr_png_() == image.content
    assert image._repr_svg_() is None
    assert image.save(tmp_path / "a.PNG").read_bytes() == image.content
    width, height = struct.unpack(">II", image.content[16:24])
    assert (width, height) == (2 * 720, 2 * 672)
    assert b"content" not in repr(image).encode()


def test_a_plot_can_be_svg_and_by_another_layer(answer: cm.Result) -> None:
    image = answer.plot("areas", layer="counties", form="svg", size_in=(4, 4), title="A title of its own")
    text = image._repr_svg_()
    assert text is not None
    assert text.startswith("<?xml")
    assert "<title>A title of its own</title>" in text


def test_a_notebook_shows_numbers_rows_notes_and_promise(answer: cm.Result) -> None:
    shown = html.unescape(answer._repr_html_() or "")
    for text in (answer.about.title, "Squareland, 2019", "ε = 8.98", *map(str, answer.about.notes)):
        assert text in shown
    assert "<script" not in shown
    number = next(value for value in answer.numbers().values() if isinstance(value, cm.Number))
    assert f"{number.value:,}" in shown
    assert shown.count("<tr>") < 40


def test_names_are_shown_as_text(paths: list[Path], tmp_path: Path) -> None:
    path = write_release(tmp_path / "marked.release", n_pairs=400)
    shown = cm.open_release(path).destinations(layer="stplc")._repr_html_()
    assert shown is not None
    assert "Naïve &amp; &lt;b&gt;Bold&lt;/b&gt; town" in shown


def test_an_area_is_looked_up_by_key_or_name(release: cm.Release) -> None:
    found = release.areas.search("old ferry")[0]
    assert release.areas[found.key] == release.areas[found.name] == found
    for unknown in ("Old Fery", "stplc:Old Fery"):
        with pytest.raises(
            cm.UsageError, match=f"area '{unknown}': no area has that name; .*{re.escape(found.names[0])}"
        ):
            release.areas[unknown]
    for wrong in ("x", "county:", "all", "", 0, None):
        with pytest.raises(cm.UsageError, match=r"^area "):
            release.areas[wrong]  # type: ignore[index]  # wrong on purpose


def test_a_list_of_areas_is_their_union(release: cm.Release) -> None:
    both = release.profile("county:10001 +stplc:4460").workers
    found = release.areas.search("old ferry")[0]
    assert release.areas.search(4460)[0] == found
    assert release.profile(["county:10001", "Old Ferry town"]).workers == both
    assert release.profile(("county:10001", found)).workers == both
    assert release.profile(pandas.Series(["stplc:4460", "county:10001"])).workers == both
    assert release.profile(["county:10001"]).about == release.profile("county:10001").about
    cut = "county:10001 -stplc:4459"
    assert release.profile(["stplc:4460", cut]).workers == release.profile(f"{cut} +stplc:4460").workers
    with pytest.raises(cm.UsageError, match="only one of them may have steps with - or &"):
        release.profile([cut, "county:10003 &stplc:4460"])


def test_polygons_and_rings_are_areas(release: cm.Release) -> None:
    box = shapely.box(-71, 42, -70.9, 42.2)
    county = release.inflow_outflow("county:10001")
    assert release.profile(box).workers == county.employed
    shapes = county.to_geodataframe()
    assert release.profile(shapes.geometry.iloc[0]).workers == county.employed
    inner, outer = cm.ring_areas(-70.9, 42.1, [1, 100])
    together = release.profile([inner, outer]).workers.value
    assert together == release.profile(inner).workers.value + release.profile(outer).workers.value


def test_a_name_that_other_areas_have_is_said_where_the_question_is(release: cm.Release) -> None:
    for area in ("Harbour", ["county:10003", "Harbour"]):
        with pytest.warns(
            UserWarning, match="using stplc:4459 .*; other areas with that name: county:10001"
        ) as caught:
            release.profile(area)
        assert [Path(each.filename) for each in caught] == [Path(__file__)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert release.profile("Harbour city").about.area == "Harbour, DE"


def test_a_change_has_frames_and_maps(release: cm.Release, later: cm.Release, paths: list[Path]) -> None:
    found = cm.change(*(each.destinations("county:10001", layer="tract") for each in (release, later)))
    frame = found.to_geodataframe()
    assert frame["change"].tolist() == found.rows["change"].tolist()
    assert frame.geometry.notna().sum() > 10
    before, after = (Release.open(path, path.stem) for path in paths)
    question = Question(areas=("county:10001",), layer="tract")
    expected = map_picture(content_of(after, question, View(), before), scale=2)
    assert found.plot().content == expected
    shown = found._repr_html_()
    assert shown is not None
    assert "What differs" in shown
    flows = cm.change(release.inflow_outflow("county:10001"), later.inflow_outflow("county:10001"))
    with pytest.raises(cm.UsageError, match=r"no rows by unit.*use to_frame\(\)"):
        flows.to_geodataframe()
    assert flows.to_frame()["before"].sum() > 0


def test_a_release_and_its_answers_go_to_other_processes(release: cm.Release) -> None:
    answer = release.profile("county:10001")
    again = pickle.loads(pickle.dumps(answer))
    assert again.to_dict() == answer.to_dict()
    pandas.testing.assert_frame_equal(again.to_geodataframe(), answer.to_geodataframe())


def test_answers_of_the_pages_are_plain(paths: list[Path]) -> None:
    answer = Release.open(paths[0]).profile()
    assert answer._repr_html_() is None
    with pytest.raises(cm.UsageError, match=r"commutemap\.open_release"):
        answer.to_frame()


def test_settings_of_matplotlib_stay_as_they_are(release: cm.Release) -> None:
    before = dict(matplotlib.rcParams)
    release.profile("county:10001").plot(scale=1)
    assert dict(matplotlib.rcParams) == before


MISTAKES: dict[str, tuple[Callable[[cm.Release], object], str]] = {
    "no such name": (lambda r: r.profile("Habrour city"), "the nearest name is stplc:4459"),
    "a number": (lambda r: r.profile(44007), "give a string such as"),
    "nothing": (lambda r: r.profile(None), "give a string such as"),
    "a mapping": (lambda r: r.profile({"a": 1}), "give a string such as"),
    "no area": (lambda r: r.profile([]), "the list of areas is empty"),
    "a bad area in a list": (lambda r: r.profile(["county:10001", 3]), "give a string such as"),
    "no such unit": (lambda r: r.profile("county:99"), "no County 99"),
    "a point": (lambda r: r.profile(shapely.Point(0, 0)), "give a polygon"),
    "a line": (lambda r: r.profile(shapely.LineString([(0, 0), (1, 1)])), "give a distance in miles"),
    "a point to be near": (lambda r: r.profile(cm.Near(shapely.Point(0, 0), 1)), "give a polygon"),
    "no distance": (lambda r: cm.Near("county:10001", 0), "above 0 and at most 50"),
    "a distance as text": (lambda r: cm.Near("county:10001", "1"), "give miles, such as 0.5"),  # type: ignore[arg-type]  # wrong on purpose
    "near everything": (lambda r: r.profile(cm.Near("all", 1)), "nothing around it"),
    "two areas": (lambda r: r.paired("county:10001", "nowhere"), "no area has that name"),
    "filters": (lambda r: r.profile("all", {"age": 1}), r"give Filters, such as"),  # type: ignore[arg-type]  # wrong on purpose
    "one band": (lambda r: cm.Filters(age=1), r"such as \(1, 2\)"),  # type: ignore[arg-type]  # wrong on purpose
    "bands as text": (lambda r: cm.Filters(age="1"), r"such as \(1, 2\)"),  # type: ignore[arg-type]  # wrong on purpose
    "no such band": (lambda r: cm.Filters(age=[4]), "bands are 1, 2, and 3"),
    "side": (lambda r: r.profile(side="works"), "side 'works': choose work or home"),  # type: ignore[arg-type]  # wrong on purpose
    "layer": (lambda r: r.destinations(layer="twon"), "layer 'twon' does not exist; this release has"),
    "layer of a matrix": (
        lambda r: r.flow_matrix("Harbour"),
        "layer 'Harbour' does not exist; this release has",
    ),
    "no layer": (lambda r: r.comparison(layer=None), "such as 'county' or 'town'"),  # type: ignore[arg-type]  # wrong on purpose
    "one edge": (lambda r: r.distance_direction(edges_mi=10), "increasing distances"),  # type: ignore[arg-type]  # wrong on purpose
    "edges as text": (lambda r: r.distance_direction(edges_mi="ab"), "increasing distances"),  # type: ignore[arg-type]  # wrong on purpose
    "table": (lambda r: r.profile().to_frame("x"), "Area profile has bands, segments, margins, numbers"),
    "way to draw": (lambda r: r.profile().plot("dots"), "show 'dots': give one of points"),  # type: ignore[arg-type]  # wrong on purpose
    "theme": (lambda r: r.profile().plot(theme="red"), "give one of light, dark"),  # type: ignore[arg-type]  # wrong on purpose
    "form": (lambda r: r.profile().plot(form="pdf"), "choose png or svg"),  # type: ignore[arg-type]  # wrong on purpose
    "scale": (lambda r: r.profile().plot(scale=9), "choose 1 to 4"),
    "size": (lambda r: r.profile().plot(size_in=3), "inches; choose 1 to 40"),  # type: ignore[arg-type]  # wrong on purpose
    "layer of a plot": (lambda r: r.profile().plot(layer="x"), "this release has"),
    "file": (lambda r: r.profile().plot(scale=1).save("a.pdf"), r"a file name that ends in \.png"),
    "change of nothing": (lambda r: cm.change(1, 2), "'1' is not an answer"),  # type: ignore[arg-type]  # wrong on purpose
    "errors of nothing": (lambda r: r.with_errors(3), "'3' is not an answer"),  # type: ignore[type-var]  # wrong on purpose
    "change of others": (lambda r: cm.change(r.profile(), r.comparison()), "cannot compare"),
    "path": (lambda r: cm.open_release(3), "release '3': give the path"),  # type: ignore[arg-type]  # wrong on purpose
    "radii": (lambda r: cm.ring_areas(0, 0, 5), "rings need a longitude"),  # type: ignore[arg-type]  # wrong on purpose
    "table to shorten": (lambda r: cm.shortened(r.profile(), 3), "can be shortened"),  # type: ignore[arg-type]  # wrong on purpose
}


@pytest.mark.parametrize("name", list(MISTAKES))
def test_a_mistake_is_an_error_of_ours_in_one_line(release: cm.Release, name: str) -> None:
    ask, message = MISTAKES[name]
    with pytest.raises((cm.UsageError, cm.GeodataError), match=message) as caught:
        ask(release)
    assert "\n" not in str(caught.value)


def test_a_directory_that_is_no_release_is_refused(tmp_path: Path, demo_dataset: Path) -> None:
    for path in (tmp_path, tmp_path / "none", demo_dataset, str(demo_dataset)):
        with pytest.raises(cm.StoreError):
            cm.open_release(path)


def test_matplotlib_is_loaded_only_to_draw() -> None:
    code = "import commutemap, sys; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_package_has_exactly_the_names_that_it_lists() -> None:
    public = {
        name for name in dir(cm) if not name.startswith("_") and not inspect.ismodule(getattr(cm, name))
    }
    assert public == set(cm.__all__)
    assert (Path(cm.__file__).parent / "py.typed").is_file()
    assert numpy.all([getattr(cm, name).__doc__ for name in cm.__all__ if name != "EDGES_MI"])
