"""`commutemap analyze`: the numbers of the Python API in every format, and one-line errors."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import geopandas
import pandas
import pyarrow.dataset
import pytest
import shapely

from commutemap import Filters, Near, Release, change, open_release
from mapapp.commands.cli import run
from mapapp.question.analyses import ANALYSES
from mapapp.show.files import answers
from tests.commands.running import refused
from tests.releases import rewrite_table, write_release


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("releases")
    return [write_release(folder / f"{seed}.release", n_pairs=400, seed=seed) for seed in (1, 2)]


@pytest.fixture(scope="module")
def release(paths: list[Path]) -> Release:
    return open_release(paths[0])


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    capsys.readouterr()
    assert run(["analyze", *map(str, arguments), "-q"]) == 0
    return capsys.readouterr().out


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


ASKS: list[tuple[list[str], Any]] = [
    (["profile", "--area", "county:10001"], lambda r: r.profile("county:10001")),
    (
        ["comparison", "--layer", "tract", "--side", "home"],
        lambda r: r.comparison(side="home", layer="tract"),
    ),
    (
        ["destinations", "--area", "County 10001", "--layer", "stplc", "--age", "1,2"],
        lambda r: r.destinations("county:10001", Filters(age=(1, 2)), layer="stplc"),
    ),
    (
        ["distance-direction", "--area", "circle:-70.9,42.1,6", "--bands", "1,5"],
        lambda r: r.distance_direction("circle:-70.9,42.1,6", edges_mi=(1, 5)),
    ),
    (
        ["cross-table", "--area", "county:10001", "--by", "age,industry", "--side", "home"],
        lambda r: r.cross_table("county:10001", ("age", "industry"), side="home"),
    ),
    (
        ["inflow-outflow", "--area", "county:10001 -stplc:4459", "--earnings", "3"],
        lambda r: r.inflow_outflow("county:10001 -stplc:4459", Filters(earnings=(3,))),
    ),
    (
        ["job-balance", "--area", "county:10001", "--layer", "tract", "--age", "1,2"],
        lambda r: r.job_balance("county:10001", Filters(age=(1, 2)), layer="tract"),
    ),
    (
        [
            "characteristics",
            "--area",
            "county:10001",
            "--layer",
            "tract",
            "--characteristic",
            "female",
            "--age",
            "2",
        ],
        lambda r: r.characteristics("county:10001", "CS02", Filters(age=(2,)), layer="tract"),
    ),
    (
        ["paired", "--home-area", "county:10003", "--work-area", "county:10001", "--industry", "2"],
        lambda r: r.paired("county:10003", "county:10001", Filters(industry=(2,))),
    ),
    (
        ["flow-matrix", "--home-layer", "tract", "--work-layer", "county"],
        lambda r: r.flow_matrix("tract", "county"),
    ),
]


def test_every_analysis_is_asked() -> None:
    assert {options[0] for options, _ in ASKS} == set(ANALYSES)


@pytest.mark.parametrize(("options", "ask"), ASKS, ids=[options[0] for options, _ in ASKS])
def test_the_same_numbers_as_python(
    paths: list[Path], release: Release, capsys: pytest.CaptureFixture[str], options: list[str], ask: Any
) -> None:
    arguments = [paths[0], "--analysis", *options]
    answer = ask(release)
    (document,) = json.loads(said(capsys, *arguments, "--json"))["answers"]
    assert document == json.loads(json.dumps(answer.to_dict()))
    name, table = next(iter(answer.tables().items()))
    written = rows(said(capsys, *arguments, "--format", "csv"))
    assert [int(row["workers"]) for row in written] == table["workers"].tolist()
    text = said(capsys, *arguments)
    assert answer.about.title in text
    assert f"  {name}:" in text
    (numbers,) = rows(said(capsys, *arguments, "--format", "csv", "--table", "numbers"))
    for key, value in answer.numbers().items():
        if hasattr(value, "value"):
            assert float(numbers[key]) == pytest.approx(value.value, rel=1e-9)


def test_one_run_answers_many_areas_and_releases(
    paths: list[Path], release: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    written = rows(
        said(
            capsys,
            *paths,
            "--analysis",
            "inflow-outflow",
            "--each",
            "county",
            "--format",
            "csv",
            "--table",
            "numbers",
        )
    )
    assert len(written) == 2 * 3
    assert [row["area_text"] for row in written[:3]] == ["county:10001", "county:10003", "county:11001"]
    assert int(written[1]["stay"]) == release.inflow_outflow("county:10003").stay.value
    two = json.loads(
        said(
            capsys,
            paths[0],
            "--analysis",
            "profile",
            "--area",
            "county:10001",
            "--area",
            "puma:1000001",
            "--json",
        )
    )
    assert [answer["about"]["area_text"] for answer in two["answers"]] == ["county:10001", "puma:1000001"]
    within = rows(
        said(
            capsys,
            paths[0],
            "--analysis",
            "profile",
            "--area",
            "county:10001",
            "--each",
            "tract",
            "--format",
            "csv",
            "--table",
            "numbers",
        )
    )
    assert sum(int(row["workers"]) for row in within) == release.profile("county:10001").workers.value


def test_change_between_releases(paths: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        *paths,
        "--analysis",
        "destinations",
        "--area",
        "county:10001",
        "--layer",
        "tract",
        "--change",
    ]
    before, after = (open_release(path).destinations("county:10001", layer="tract") for path in paths)
    expected = change(before, after)
    written = rows(said(capsys, *arguments, "--format", "csv"))
    assert [int(row["change"]) for row in written] == expected.rows["change"].tolist()
    assert "change" in said(capsys, *arguments)
    (document,) = json.loads(said(capsys, *arguments, "--json"))["answers"]
    assert document["numbers"]["workers"]["change"] == after.workers.value - before.workers.value


def test_a_workbook_has_every_table_and_no_formula(paths: list[Path], tmp_path: Path) -> None:
    book = tmp_path / "a.xlsx"
    assert (
        run(
            [
                "analyze",
                str(paths[0]),
                "--analysis",
                "destinations",
                "--layer",
                "stplc",
                "-o",
                str(book),
                "-q",
            ]
        )
        == 0
    )
    with zipfile.ZipFile(book) as archive:
        sheets = [archive.read(name).decode() for name in archive.namelist() if "worksheets/" in name]
        assert len(sheets) == 4  # provenance, about, numbers, units
        assert not any("<f>" in sheet or "<hyperlink" in sheet for sheet in sheets)
        texts = archive.read("xl/sharedStrings.xml").decode()
    assert "Naïve &amp; &lt;b&gt;Bold&lt;/b&gt; town" in texts


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1+2", "@SUM(A1)", "\tx", "\rx", '=HYPERLINK("http://x")'])
def test_no_text_becomes_a_formula(release: Release, text: str, tmp_path: Path) -> None:
    stream = io.StringIO()
    answers.write_csv([pandas.DataFrame({"name": [text], "workers": [-3]})], stream)
    (row,) = rows(stream.getvalue().replace("\r", "\\r"))
    assert row["name"].startswith("'")
    assert row["workers"] == "-3"


def test_geojson_has_outlines_and_flows(
    paths: list[Path], release: Release, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(
        said(capsys, paths[0], "--analysis", "destinations", "--layer", "county", "--format", "geojson")
    )
    by_id = {feature["properties"]["unit_id"]: feature for feature in document["features"]}
    assert shapely.area(shapely.from_geojson(json.dumps(by_id["10001"]["geometry"]))) == pytest.approx(0.02)
    assert by_id["90"]["geometry"] is None
    flows = json.loads(said(capsys, paths[0], "--analysis", "flow-matrix", "--format", "geojson"))["features"]
    assert {feature["geometry"]["type"] for feature in flows if feature["geometry"]} == {"LineString"}
    assert sum(feature["properties"]["workers"] for feature in flows) == release.profile().workers.value
    (one,) = json.loads(
        said(
            capsys, paths[0], "--analysis", "inflow-outflow", "--area", "county:10001", "--format", "geojson"
        )
    )["features"]
    assert one["properties"]["employed"] == release.inflow_outflow("county:10001").employed.value
    assert shapely.area(shapely.from_geojson(json.dumps(one["geometry"]))) == pytest.approx(0.02)


@pytest.mark.parametrize(("options", "ask"), ASKS, ids=[options[0] for options, _ in ASKS])
def test_columns_of_parquet_and_feather_are_those_of_the_table(
    paths: list[Path], release: Release, tmp_path: Path, options: list[str], ask: Any
) -> None:
    """A suffix that wrote text, codes that became numbers, or an origin that is lost."""
    answer = release.with_errors(ask(release), 10)
    name, table = next(iter(answer.tables().items()))
    for suffix, read in ((".parquet", pandas.read_parquet), (".feather", pandas.read_feather)):
        file = tmp_path / f"m{suffix}"
        assert run(["analyze", str(paths[0]), "--analysis", *options, "-o", str(file), "-q"]) == 0
        written = read(file)
        for column in table.columns:
            assert written[column].isna().tolist() == table[column].isna().tolist()
            assert written[column].dropna().tolist() == table[column].dropna().tolist(), (name, column)
        metadata = pyarrow.dataset.dataset(file, format=suffix[1:]).schema.metadata
        (source,) = json.loads(metadata[b"PANDAS_ATTRS"])["sources"]
        assert source["release_sha256"] == release.digest


def test_several_answers_are_one_parquet_file(paths: list[Path], tmp_path: Path) -> None:
    """Answers after the first that are lost, also of a second release, and other bytes each time."""
    asked = ["analyze", *map(str, paths), "--analysis", "inflow-outflow", "--each", "county", "--table"]
    files = [tmp_path / name for name in ("a.csv", "a.parquet", "b.parquet")]
    for file in files:
        assert run([*asked, "numbers", "-o", str(file), "-q"]) == 0
    text, frame = pandas.read_csv(files[0]), pandas.read_parquet(files[1])
    assert frame["area"].tolist() == text["area"].tolist()
    assert frame["inflow"].tolist() == text["inflow"].tolist()
    assert len(frame.attrs["sources"]) == 2
    assert files[1].read_bytes() == files[2].read_bytes()


def test_geoparquet_has_the_rows_and_shapes_of_geojson(paths: list[Path], tmp_path: Path) -> None:
    """A file that no reader of GeoParquet opens, and shapes beside other rows than theirs."""
    files = [tmp_path / name for name in ("a.geojson", "a.geoparquet")]
    asked = ["analyze", str(paths[0]), "--analysis", "comparison", "--layer", "tract"]
    for file in files:
        assert run([*asked, "-o", str(file), "-q"]) == 0
    text, frame = geopandas.read_file(files[0]), geopandas.read_parquet(files[1])
    assert frame["unit_id"].tolist() == text["unit_id"].tolist()
    assert frame["workers"].tolist() == text["workers"].tolist()
    assert frame.crs.to_epsg() == 4326
    assert frame.geometry.isna().tolist() == text.geometry.isna().tolist()
    pairs = zip(frame.geometry.dropna(), text.geometry.dropna(), strict=True)
    assert all(shape.symmetric_difference(rounded).area < 1e-6 for shape, rounded in pairs)
    assert frame.attrs["sources"][0]["status"] == "for release"


def test_an_area_from_a_file(
    paths: list[Path], release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "area.geojson"
    file.write_text(shapely.to_geojson(shapely.box(-71, 42, -70.9, 42.2)).replace("'", '"'))
    (row,) = rows(
        said(
            capsys,
            paths[0],
            "--analysis",
            "profile",
            "--area-file",
            file,
            "--format",
            "csv",
            "--table",
            "numbers",
        )
    )
    assert int(row["workers"]) == release.profile("county:10001").workers.value


def test_corridors_around_areas_and_lines(
    paths: list[Path], release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def workers(*arguments: object, analysis: str = "profile") -> int:
        given = ("--analysis", analysis, *arguments, "--format", "csv", "--table", "numbers")
        (row,) = rows(said(capsys, paths[0], *given))
        return int(row["workers"])

    near = release.profile("near:stplc:4459,1.5").workers.value
    assert release.profile("stplc:4459").workers.value < near < release.profile().workers.value
    assert workers("--area", "near:stplc:4459,1.5") == near
    assert workers("--area", "Old Harbour city", "--within", "1.5") == near
    places = [(-71.0, 42.05), (-70.9, 42.06)]
    road = release.profile(Near(shapely.LineString(places), 0.75)).workers.value
    assert road > 0
    assert workers("--area", "line:-71,42.05,-70.9,42.06,0.75") == road
    file = tmp_path / "road.geojson"
    file.write_text(shapely.to_geojson(shapely.LineString(places)))
    assert workers("--area-file", file, "--within", "0.75") == road
    assert "distance in miles" in refused(
        "analyze", paths[0], "--analysis", "profile", "--area-file", file, "-q"
    )
    pair = release.paired("near:stplc:4459,1.5").workers.value
    assert pair == release.paired("near:stplc:4459,1.5", "near:stplc:4459,1.5").workers.value > 0
    assert workers("--both-ends", "stplc:4459", "--within", "1.5", analysis="paired") == pair
    both = release.paired(Near(shapely.LineString(places), 0.75)).workers.value
    assert workers("--area-file", file, "--within", "0.75", analysis="paired") == both


def test_files_are_complete_and_never_overwritten(paths: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    assert run(["analyze", str(paths[0]), "--analysis", "profile", "-o", str(file), "-q"]) == 0
    assert "already exists" in refused("analyze", paths[0], "--analysis", "profile", "-o", file, "-q")
    refused(
        "analyze", paths[0], "--analysis", "profile", "--area", "county:1", "-o", tmp_path / "b.csv", "-q"
    )
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.csv", "a.csv-metadata.json"]
    (tmp_path / "a.json").write_text("mine")
    assert "already exists" in refused(
        "analyze", paths[0], "--analysis", "profile", "-o", tmp_path / "a.json", "-q"
    )
    assert (tmp_path / "a.json").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["profile", "--area", "county:99"], "no County 99"),
        (["profile", "--area", "nowhere"], "no area has that name"),
        (["profile", "--area", "county"], "units have that name"),
        (["profile", "--age", "4"], "bands are 1, 2, and 3"),
        (["profile", "--age", "x"], "give numbers separated by commas"),
        (["distance-direction", "--bands", "5,1"], "increasing distances"),
        (["destinations", "--layer", "nonsense"], "this release has"),
        (["profile", "--each", "nonsense"], "this release has"),
        (["paired", "--area", "county:10001"], "has two areas"),
        (["profile", "--home-area", "county:10001"], "do not apply to profile"),
        (["profile", "--change"], "at least two releases"),
        (["profile", "--format", "xlsx"], "needs a file"),
        (["profile", "--table", "bands"], "chooses a table for csv, parquet, or feather"),
        (["profile", "-o", "/tmp/none/m.parquets"], "no format has the suffix .parquets; choose .json, .csv"),
        (["profile", "-o", "/tmp/none/m.shp"], "name the .zip that will hold them all"),
        (["profile", "--format", "feather"], "needs a file"),
        (
            ["profile", "--table", "nonsense", "--format", "csv"],
            "Area profile has bands, segments, margins, numbers",
        ),
        (["profile", "--json", "--format", "csv"], "give one of them"),
        (["profile", "--area-file", "/nowhere.geojson"], "no such file"),
        (["profile", "--area", "county:10001", "--within", "wide"], "give a distance in miles"),
        (["profile", "--area", "county:10001", "--within", "0"], "above 0 and at most 50"),
        (["profile", "--area", "county:10001", "--within", "nan"], "above 0 and at most 50"),
        (["profile", "--area", "circle:-70.9,42.1,6", "--within", "1"], "radius of its own"),
        (["profile", "--within", "1"], "needs an area"),
        (["profile", "--both-ends", "county:10001"], "does not apply to profile"),
        (["paired", "--both-ends", "county:10001", "--home-area", "county:10001"], "leave out --home-area"),
    ],
)
def test_errors_are_one_line(paths: list[Path], options: list[str], message: str) -> None:
    assert message in refused("analyze", paths[0], "--analysis", *options, "-q")


def test_a_dataset_is_refused(demo_dataset: Path) -> None:
    assert "this is a dataset" in refused("analyze", demo_dataset, "--analysis", "profile", "-q")


def test_the_default_analysis_is_destinations(paths: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, paths[0]) == said(capsys, paths[0], "--analysis", "destinations")


@pytest.mark.parametrize(("beginning", "title"), [("in", "Inflow and outflow"), ("pro", "Area profile")])
def test_a_unique_prefix_of_an_analysis_is_enough(
    paths: list[Path], capsys: pytest.CaptureFixture[str], beginning: str, title: str
) -> None:
    assert said(capsys, paths[0], "--analysis", beginning).startswith(f"{title}: ")


@pytest.mark.parametrize("beginning", ["", "d", "xyz"])
def test_an_ambiguous_or_unknown_prefix_is_refused_with_a_list(paths: list[Path], beginning: str) -> None:
    message = refused("analyze", paths[0], "--analysis", beginning, "-q")
    assert "destinations" in message
    assert "distance-direction" in message
    assert ("could be destinations or distance-direction" in message) == (beginning == "d")


def test_layers_can_be_given_by_everyday_words(paths: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    cities = said(capsys, paths[0], "--layer", "Cities", "--each", "counties", "--json")
    assert cities == said(capsys, paths[0], "--layer", "stplc", "--each", "county", "--json")
    matrix = ("--analysis", "flow-matrix", "--format", "csv")
    tracts = said(capsys, paths[0], *matrix, "--home-layer", "census tract", "--work-layer", "counties")
    assert tracts == said(capsys, paths[0], *matrix, "--home-layer", "tract", "--work-layer", "county")


@pytest.mark.parametrize("command", ["analyze", "report"])
def test_a_note_lists_other_areas_with_the_same_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = write_release(tmp_path / "a.release", n_pairs=100)
    rewrite_table(path, "layers", lambda units: units.assign(name=["Harbour city", "Ferry town"]))
    counties = ["Harbour County", "Ferry Valley", "Hill County", "Far Away"]
    rewrite_table(path, "counties", lambda units: units.assign(name=counties))
    for area, note in (
        ("Harbour", ["area 'Harbour': using stplc:4459 (Harbour city)"]),
        ("Harbour city", []),
    ):
        output = tmp_path / f"{area}.{'csv' if command == 'analyze' else 'html'}"
        arguments = [command, path, "--area", area, "--layer", "county", "-o", output, "-q", "--errors", -1]
        assert run([str(each) for each in arguments]) == 0
        lines = capsys.readouterr().err.splitlines()
        assert [line.partition("; other areas with that name: ")[0] for line in lines] == [
            *note,
            f"{output}: written",
        ]


def test_a_batch_says_what_else_has_the_name_of_an_area(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_release(tmp_path / "a.release", n_pairs=100)
    rewrite_table(path, "layers", lambda units: units.assign(name=["Harbour city", "Ferry town"]))
    counties = ["Harbour County", "Ferry Valley", "Hill County", "Far Away"]
    rewrite_table(path, "counties", lambda units: units.assign(name=counties))
    batch = tmp_path / "batch.toml"
    batch.write_text(
        'formats = "xlsx"\nlayer = "county"\nerrors = -1\n[[report]]\narea = "Harbour city"\n'
        '[[report]]\narea = "Harbour"\nanalysis = ["destinations", "profile"]\n'
    )
    arguments = ["report", path, "--batch", batch, "-o", tmp_path / "out", "-q", "--workers", 1]
    assert run([str(each) for each in arguments]) == 0
    note, written = capsys.readouterr().err.splitlines()
    chosen, _, others = note.partition("; other areas with that name: ")
    assert chosen == f"{batch}, line 6: area 'Harbour': using stplc:4459 (Harbour city)"
    assert "(Harbour County)" in others
    assert "2 files written" in written


def test_text_answers_of_a_publication_not_for_release_say_so_and_what_it_promises(
    demo_release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Finds numbers that are printed, or returned as sentences, without the reason not to publish them."""
    why = "Not for release: test key: it is public, so anyone can undo the release."
    printed = said(capsys, demo_release, "--analysis", "profile", "--area", "all")
    assert f"  {why} Its certificate states ε = " in printed
    answer = open_release(demo_release).profile("all")
    assert answer.findings()[-1].startswith(why)
    assert change(answer, answer).findings()[-1].startswith(why)
    assert answer.to_dict()["about"]["promise"]["status_reasons"]


def test_a_profile_of_records_lists_every_attribute(
    capsys: pytest.CaptureFixture[str], seedless_records: Path
) -> None:
    lines = said(capsys, seedless_records, "--analysis", "profile", "--area", "all").splitlines()
    sectors = lines.index("  Industry (NAICS sector) (largest 10 of 20):")
    assert len(lines[sectors + 2].split()) > 3
    sexes = lines.index("  Sex:")
    assert sexes == sectors + 12
    assert lines[sexes + 1].split() == ["label", "workers", "share", "expected_error"]
    counts = [int(line.split()[1]) for line in lines[sexes + 2 : sexes + 4]]
    assert sum(counts) == int(open_release(seedless_records).profile("all").workers.value)
