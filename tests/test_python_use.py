"""A scripter's hands: numbers that behave as numbers, areas as people hold them, and commands as functions."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest
import shapely

import commutemap as cm
from tests.commands.running import refused
from tests.releases import write_release


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cm.Release:
    return cm.open_release(write_release(tmp_path_factory.mktemp("use") / "r.release", n_pairs=400))


@pytest.fixture(scope="module")
def dataset(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path_factory.mktemp("use") / "demo.dataset"))


def test_numbers_behave_as_numbers(demo_release: Path) -> None:
    """Arithmetic that raises, or that keeps an error although those of two numbers are not independent."""
    answer = cm.open_release(demo_release).inflow_outflow("Tarnwick city", errors=True)
    inflow, stay = answer.inflow, answer.stay
    assert int(inflow) == inflow.value == float(inflow) == round(inflow)
    assert inflow.error == inflow.expected_error
    assert inflow + stay == answer.employed.value == sum([inflow, stay])
    assert inflow - 1 == 1 * inflow.value - 1 == -(1 - inflow)
    assert (inflow / 2, 2 / inflow, 2 * inflow) == (inflow.value / 2, 2 / inflow.value, 2 * inflow.value)
    assert type(inflow + stay) is int
    assert (inflow > 0, inflow < 0, inflow >= inflow.value, inflow <= 0) == (True, False, True, False)
    assert inflow == inflow.value
    assert inflow != cm.Number(inflow.value)
    assert {inflow: 1}[inflow] == 1
    assert f"{inflow:,}" == f"{inflow.value:,}"
    assert numpy.array([inflow, stay], dtype=float).sum() == inflow + stay
    assert inflow + numpy.int64(1) == numpy.int64(1) + inflow == inflow.value + 1
    with pytest.raises(cm.UsageError, match="this Ratio has no value: too few; check for None"):
        cm.Ratio(None, caution="too few") + 1
    with pytest.raises(TypeError, match="unsupported operand"):
        inflow + "1"


def test_the_year_is_a_whole_number(release: cm.Release) -> None:
    """Years as text, which do not compare with those of a frame."""
    answer = release.profile()
    assert (release.year, answer.about.year, answer.to_frame("numbers")["year"].tolist()) == (
        2019,
        2019,
        [2019],
    )


def test_frames_name_their_rows(release: cm.Release) -> None:
    """A frame of numbers that does not say of which area they are, unless a flag is given."""
    numbers = release.inflow_outflow("county:10001").to_frame("numbers")
    assert numbers["area_text"].tolist() == ["county:10001"]
    assert "area" not in release.inflow_outflow("county:10001").to_frame("numbers", about=False)
    assert list(release.comparison(layer="tract").to_frame().columns[:2]) == ["unit_id", "name"]


def test_areas_are_frames_and_shapes_in_any_reference_system(release: cm.Release) -> None:
    """Meters that are taken for degrees, and a frame without a reference system that is taken for one in degrees."""
    expected = release.profile("county:10001").workers
    shapes = release.inflow_outflow("county:10001").to_geodataframe()
    meters = shapes.to_crs("EPSG:32619")
    for area in (shapes, meters, meters.geometry, [shapes, "county:10001"]):
        assert release.profile(area).workers == expected
    shape = shapely.set_srid(meters.geometry.iloc[0], 32619)
    assert release.profile(shape).workers == expected
    near = release.paired(cm.Near(meters, 1)).workers
    assert near == release.paired(cm.Near("county:10001", 1)).workers
    with pytest.raises(cm.UsageError, match=r"no reference system; set it, as in shapes\.set_crs"):
        release.profile(shapes.set_crs(None, allow_override=True))
    with pytest.raises(cm.UsageError, match="is not in degrees; give a GeoSeries with its reference system"):
        release.profile(meters.geometry.iloc[0])
    with pytest.raises(cm.UsageError, match="this GeoDataFrame has no shapes"):
        release.profile(meters.iloc[:0])


def test_bare_identifiers_are_areas(release: cm.Release) -> None:
    """Identifiers that are taken for the beginning of names: “662 units have that name”."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for unit_id, level in (("10001", "county"), ("10001000000", "tract"), ("100010000000001", "block")):
            assert release.profile(unit_id).about.area_text == f"{level}:{unit_id}"
        assert (
            release.profile(["10001", "10003"]).workers
            == release.profile("county:10001 +county:10003").workers
        )
    with pytest.raises(
        cm.UsageError, match="no unit of this release has that identifier; a state has 2 digits"
    ):
        release.profile("100")
    assert "has that identifier" in refused("analyze", release.store.path, "--area", "1000", "-q")


def test_a_sentence_is_a_question(demo_release: Path) -> None:
    """Words that are dropped silently, and a year that the release does not have."""
    release = cm.open(demo_release)
    assert isinstance(release, cm.Release)
    answer = release.ask("inflow of Tarnwick city", errors=True)
    assert isinstance(answer, cm.InflowOutflow)
    assert answer.inflow == release.inflow_outflow("Tarnwick city", errors=True).inflow
    assert isinstance(answer.to_frame(), pandas.DataFrame)
    with pytest.warns(UserWarning, match=r"“zyzzyva” was not understood and was left out") as caught:
        release.ask("Where do zyzzyva workers of Tarnwick live?")
    assert {warning.filename for warning in caught} == {__file__}
    for sentence, why in (
        ("zyzzyva", "nothing in this sentence"),
        ("inflow of Tarnwick in 2007", "this release is of 2023, not 2007"),
        ("inflow of Tarnwick compared with 2007", "about two years"),
    ):
        with pytest.raises(cm.UsageError, match=why):
            release.ask(sentence)


def test_each_unit_of_a_layer_gets_an_answer(release: cm.Release) -> None:
    """Answers of other units, or in another order, than `analyze --each` gives."""
    answers = release.answers("inflow-outflow", each="counties", errors=True)
    frame = answers.to_frame()
    assert frame["area_text"].tolist() == [answer.about.area_text for answer in answers]
    for area, inflow in zip(frame["area_text"], frame["inflow"], strict=True):
        assert release.inflow_outflow(area).inflow.value == inflow
    assert len(answers.to_geodataframe()) == len(answers) > 1
    young = release.answers("profile", area="10001", age=(1,), side="home")
    assert young[0].to_dict() == release.profile("10001", cm.Filters(age=(1,)), side="home").to_dict()
    for options, why in (
        ({"layr": "town"}, "option 'layr' does not exist; choose from area, each"),
        ({"each": "galaxy"}, "this release has"),
    ):
        with pytest.raises(cm.UsageError, match=why):
            release.answers("inflow-outflow", **options)  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(cm.UsageError, match="side: a sentence says this itself"):
        release.answers("Who works in county 10001?", side="home")


def test_importing_loads_neither_the_engine_nor_commands() -> None:
    """An import that takes seconds because it compiles kernels, or loads what makes releases."""
    code = "import commutemap, sys; print([name for name in ('numba', 'click', 'matplotlib') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_release_is_made_and_measured(dataset: Path, tmp_path: Path) -> None:
    """A function that does something else than its command, and confidential numbers that do not say so."""
    plan = cm.synthesize(dataset, tmp_path / "r", dry_run=True, epsilon=4, design="none", unit="tract")
    certificate: Any = plan.to_dict()["certificate"]
    assert certificate["epsilon"]["value"] == 4
    assert not (tmp_path / "r").exists()
    options: Any = {"epsilon": 4, "mechanism": "exponential", "unit": "tract"}
    outcome = cm.synthesize(dataset, tmp_path / "r", test_key=True, **options)
    assert outcome.to_dict()["status"] != "for release"
    for measured in (cm.validate(dataset, tmp_path / "r"), cm.audit(dataset, tmp_path / "r")):
        assert repr(measured).startswith("CONFIDENTIAL")
        assert measured._repr_html_().startswith("<pre>CONFIDENTIAL")
        assert measured.tables
    said = json.dumps(cm.validate(dataset, tmp_path / "r").to_dict())
    assert "1/1000000" not in said, "the exponential mechanism has no delta"
    for wrong, why in (
        ({"epsilom": 1}, "option 'epsilom' does not exist; choose from preset"),
        ({"preset": "loud"}, "preset: 'loud' is not one of"),
        ({"workplaces": "tracts"}, "--workplaces tracts: give block or tract"),  # showed blocks
    ):
        with pytest.raises(cm.UsageError, match=why):
            cm.synthesize(dataset, tmp_path / "x", **wrong)
    with pytest.raises(cm.UsageError, match="question 'x': choose from home"):
        cm.audit(dataset, tmp_path / "r", question="x")


def test_reports_and_exports_are_those_of_the_commands(release: cm.Release, tmp_path: Path) -> None:
    """A report on other answers, a half-written file, and an option that is ignored."""
    file = cm.report(
        tmp_path / "a.html", release.profile("county:10001"), release.inflow_outflow("county:10001")
    )
    text = file.read_text(encoding="utf-8")
    assert [title in text for title in ("Area profile", "Inflow and outflow")] == [True, True]
    exported = cm.export(release.store.path, tmp_path / "x", "csv", layers=["counties"])
    assert exported.files["county.csv"] == (tmp_path / "x" / "county.csv").stat().st_size
    for wrong in (
        lambda: cm.report(tmp_path / "a.doc", release.profile()),
        lambda: cm.report(tmp_path / "b.html"),
        lambda: cm.export(release.store.path, tmp_path / "y", "lodes", layers=["county"]),
        lambda: cm.lodes("ri", 2023, job_typ="JT01"),
    ):
        with pytest.raises(cm.UsageError):
            wrong()
    assert {path.name for path in tmp_path.iterdir()} == {"a.html", "x"}
