"""Source files as other states, vintages and hands shape them: read the same, or refused; never silently wrong."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import shapely

from geodata.errors import GeodataError, GeometryError, SourceFileError, SourceRowError
from geodata.importing.importing import Imported, import_dataset, write_dataset
from geodata.sources.boundaries import levels_of, read_boundaries
from geodata.sources.flows import read_flows
from geodata.sources.lodes import read_od
from geodata.sources.placed_jobs import PlacedJobs, jobs_table
from geodata.sources.pumas import read_pumas
from geodata.sources.recognize import roles_of, sources_in
from geodata.sources.vintage import vintage_of_polygons, vintage_of_table
from tests.geodata import samples

KEY = "0f" * 32
MAIN, XWALK = "ri_od_main_JT00_2019.csv.gz", "ri_xwalk.csv.gz"
SEVEN = ",7,2,4,1,3,3,1,0,2,5"


def imported(folder: Path) -> Imported:
    return import_dataset(sources_in(folder)[0], commitment_key=KEY)


def refusal(action: Callable[[], object], kind: type[GeodataError] = GeodataError) -> str:
    with pytest.raises(kind) as caught:
        action()
    message = str(caught.value)
    assert "\n" not in message
    assert ";" in message, "no remedy"
    return message


def rewrite(path: Path, change: Callable[[str], str]) -> None:
    samples.write_text(path, change(samples.read_text(path)))


def rows(change: Callable[[list[list[str]]], list[list[str]]]) -> Callable[[str], str]:
    def changed(text: str) -> str:
        mark = "\ufeff" if text.startswith("\ufeff") else ""
        out = io.StringIO()
        table = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"))))
        csv.writer(out, lineterminator="\n").writerows(change(table))
        return mark + out.getvalue()

    return changed


def shuffled(table: list[list[str]]) -> list[list[str]]:
    order = np.random.default_rng(9).permutation(len(table) - 1) + 1
    return [table[0], *(table[row] for row in order)]


SHAPES: dict[str, Callable[[str], str]] = {
    "crlf": lambda text: text.replace("\r\n", "\n").replace("\n", "\r\n"),
    "byte-order mark": lambda text: "\ufeff" + text.removeprefix("\ufeff"),
    "upper case": lambda text: re.sub("^.*", lambda head: head[0].upper(), text, count=1),
    "blank lines": lambda text: text + "\n\n",
    "quoted": lambda text: re.sub(r"(?m)(?<=,)(\d+)(?=,)", r'"\1"', text),
    "columns reversed": rows(lambda table: [row[::-1] for row in table]),
    "another column": rows(lambda t: [[*row, "é" if k else "note, long"] for k, row in enumerate(t)]),
    "rows shuffled": rows(shuffled),
}


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The dataset of the unchanged folder."""
    folder = tmp_path_factory.mktemp("plain")
    write_dataset(folder / "ri.dataset", imported(samples.write_sources(folder / "files")))
    return folder / "ri.dataset"


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_content_gives_the_same_files(shape: str, plain: Path, tmp_path: Path) -> None:
    folder = samples.write_sources(tmp_path / "files")
    for path in folder.iterdir():
        if path.suffix != ".zip" and (shape != "another column" or "_od_" in path.name):
            rewrite(path, SHAPES[shape])
    write_dataset(tmp_path / "ri.dataset", imported(folder))
    for file in plain.glob("*.parquet"):
        assert (tmp_path / "ri.dataset" / file.name).read_bytes() == file.read_bytes(), file.name


def test_names_of_a_unit_do_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    names = []
    for number, change in enumerate((lambda table: table, lambda table: [table[0], *table[:0:-1]])):
        folder = samples.write_sources(tmp_path / str(number))
        rewrite(folder / XWALK, lambda text: text.replace("County 001", "Older name", 1))
        rewrite(folder / XWALK, rows(change))
        counties = imported(folder).tables["counties"].set_index("county_id")
        names.append(counties["name"]["44001"])
    assert names[0] == names[1] == "County 001, RI"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (SEVEN, ",5000000000,5000000000,0,0,5000000000,0,0,5000000000,0,0", "S000 is too large"),
        (SEVEN, ",9" + "0" * 18 + SEVEN[2:], "S000 is too large"),
        (SEVEN, ",9" + "0" * 30 + SEVEN[2:], "S000 is too large"),
        (SEVEN, ",7.0" + SEVEN[2:], "S000 is not whole"),
        (SEVEN, ",7E0" + SEVEN[2:], "S000 is in scientific notation"),
        (SEVEN, ',"7,777"' + SEVEN[2:], "S000 is written with commas"),
        (SEVEN, ",seven" + SEVEN[2:], "S000 is not a number"),
        (SEVEN, ",7,777,4,1" + SEVEN[8:], "SA01 + SA02 + SA03 is not S000"),
    ],
)
def test_counts_that_are_refused_are_not_quoted(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = samples.write_sources(tmp_path) / MAIN
    samples.replace_text(path, old, new)
    message = refusal(lambda: read_od(path), SourceRowError)
    assert message.startswith(f"{path}: line 6: {words}")
    found = message.removeprefix(str(path)).replace("line 6", "")
    assert not re.search(r"777|5000000000|90000|7\.0|7E0|seven|782", found)


def test_sums_that_a_store_has_no_room_for(tmp_path: Path) -> None:
    place, other = np.array([0, 0], np.int32), np.array([1, 1], np.int32)
    part = PlacedJobs(place, other, np.array([0, 0], np.int8), np.array([2**31 - 1, 1], np.int32))
    assert "2,147,483,647" in refusal(lambda: jobs_table([part], 2), SourceFileError)
    assert jobs_table([part.rows(slice(1))], 2)["count"].tolist() == [2**31 - 1]


def test_files_without_a_single_job(tmp_path: Path) -> None:
    folder = samples.write_sources(tmp_path)
    for path in folder.glob("*_od_*"):
        rewrite(path, lambda text: re.sub(r"(?m)^(\d{15},\d{15}),.*$", r"\1" + ",0" * 10 + ",2021", text))
    result = imported(folder)
    assert result.facts["n_jobs"] == len(result.tables["jobs"]) == 0


def test_large_files_are_placed_in_portions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = samples.write_sources(tmp_path)
    whole = imported(folder).tables["jobs"]
    monkeypatch.setattr("geodata.sources.lodes._ROWS_AT_ONCE", 2)
    pandas.testing.assert_frame_equal(whole, imported(folder).tables["jobs"])


def test_two_states_with_their_mains(tmp_path: Path) -> None:
    folder = samples.write_sources(tmp_path)
    a, b = (samples.block_id(tract, 1) for tract in samples.CT_TRACTS)
    text = f"{samples.OD_HEADER}\n{samples.od_row(a, b, '1 0 1 0 0 0 1 0 0 1')}\n"
    samples.write_text(folder / "ct_od_main_JT00_2019.csv", text)
    result = imported(folder)
    assert result.facts["destination_states"] == ["09", "44"]
    assert result.facts["n_jobs"] == samples.N_MAIN_JOBS + samples.N_AUX_JOBS + 1 + 4
    assert result.facts["outflow"] == {}


def test_lost_leading_zeros_are_an_error(tmp_path: Path) -> None:
    folder = samples.write_sources(tmp_path)
    for name, column in (("ct_xwalk.csv.gz", "tabblk2010"),):
        rewrite(folder / name, lambda text: re.sub(r"(?m)^0", "", text))
        message = refusal(lambda: imported(folder), SourceRowError)
        assert f"{name}: line 2: {column} is '9011700100100" in message
        assert "leading zeros" in message
        rewrite(folder / name, lambda text: re.sub(r"(?m)^9", "09", text))
    imported(folder)


@pytest.mark.parametrize(
    "name", [MAIN, XWALK, "ct_xwalk.csv.gz", "CenPop2010_Mean_BG.txt", "2010_Census_Tract_to_2010_PUMA.txt"]
)
@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"<!DOCTYPE html>\n<title>404</title>", "a web page, as after a failed download"),
        (gzip.compress(b"<html>"), "a web page"),
        (b"", "the file is empty"),
        ("w_geocode".encode("utf-16"), "not the table that its name promises"),
        (b"\x1f\x8b\x08\x00\xff\xff\xff\xff\xff\xff\xff\xff", "damaged"),
    ],
    ids=["page", "zipped page", "empty", "utf-16", "damaged"],
)
def test_a_failed_download_does_not_pass_for_a_file_not_given(
    name: str, content: bytes, words: str, tmp_path: Path
) -> None:
    folder = samples.write_sources(tmp_path)
    (folder / name).write_bytes(content)
    message = refusal(lambda: sources_in(folder), SourceFileError)
    assert message.startswith(f"{folder / name}: ")
    assert words in message


def test_folders_with_odd_things_in_them(tmp_path: Path) -> None:
    folder = samples.write_sources(tmp_path / "áccents & späces #1 [x] 100%")
    (folder / "loop").symlink_to(folder)
    (folder / "self").symlink_to(folder / "self")
    (folder / "gone").symlink_to("/nowhere")
    (folder / "folder.csv.gz").mkdir()
    (folder / "folder.zip").mkdir()
    (folder / "sources.json").write_text('{"files": {}}')
    (folder / "ri_wac_S000_JT00_2019.csv").write_text("w_geocode,C000\n440010101001000,3\n")
    sources, unknown = sources_in(folder)
    assert {path.name for path in unknown} == {"ri_wac_S000_JT00_2019.csv"}
    assert "not the table that its name promises" in refusal(
        lambda: sources_in(folder, characteristics=True), SourceFileError
    )
    assert len(sources.od) == 3
    assert import_dataset(sources).facts["n_jobs"] == samples.N_MAIN_JOBS + samples.N_AUX_JOBS


def test_a_folder_that_cannot_be_read_is_not_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = samples.write_sources(tmp_path) / "closed"
    closed.mkdir()
    scan = os.scandir

    def refuse(path: Any) -> Any:
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", refuse)
    message = refusal(lambda: sources_in(tmp_path), SourceFileError)
    assert message.startswith(f"{closed}: cannot be read (Permission denied)")


def test_puma_files_with_the_suffix_of_their_census(tmp_path: Path) -> None:
    folder = samples.write_sources(tmp_path, lodes=8)
    relation, names = folder / "2020_Census_Tract_to_2020_PUMA.txt", folder / "2020_PUMA_Names.csv"
    heads = "STATEFP,COUNTYFP,TRACTCE,PUMA5CE", "STATEFP20,COUNTYFP20,TRACTCE20,PUMACE20"
    samples.replace_text(relation, *heads)
    samples.replace_text(names, "STATEFP,PUMA5CE,PUMA NAME", "STATEFP20,PUMACE20,NAMELSAD20")
    assert (roles_of(relation), roles_of(names)) == (("tract_puma",), ("puma_names",))
    read = read_pumas([relation], [names], 2020)
    assert read.of_tract[samples.RI_TRACTS[2]] == "4400102"
    assert read.names["4400102"] == "North"


@pytest.mark.parametrize(
    ("name", "other", "what"),
    [
        ("2020_Census_Tract_to_2020_PUMA.txt", "2010_Census_Tract_to_2010_PUMA.txt", "PUMAs of tracts"),
        ("CenPop2020_Mean_TR.txt", "CenPop2010_Mean_TR.txt", "centers of population"),
        ("tl_2010_44_tract20.zip", "cb_2019_44_tract_500k.zip", "tract polygons"),
    ],
)
def test_files_of_another_census_are_left_aside_or_refused(
    name: str, other: str, what: str, tmp_path: Path
) -> None:
    folder = samples.write_sources(tmp_path, lodes=8)
    before = imported(folder)
    if what == "tract polygons":
        frame = samples.tract_frame()
        frame["geometry"] = frame.geometry.translate(0.001)
        samples.write_zip(folder / other, frame)
    else:
        samples.write_text(folder / other, samples.read_text(folder / name).replace("00101", "00109"))
    both = imported(folder)
    for table in ("tracts", "pumas"):
        pandas.testing.assert_frame_equal(before.tables[table], both.tables[table])
    for path in folder.glob("CenPop2020*" if "Cen" in name and "Pop" in name else name):
        path.unlink()
    message = refusal(lambda: imported(folder), SourceFileError)
    assert message.startswith(
        f"{folder / other}: {what} of 2010, but the crosswalk has 2020 blocks; give those"
    )


def test_what_tells_the_census() -> None:
    polygons = [("tl_2010_44_tract10.zip", "GEOID10"), ("tl_2020_44_tract10.zip", "GEOID10")]
    polygons += [
        ("cb_2019_44_tract_500k.zip", "GEOID"),
        ("tl_2023_44_tract.zip", "GEOID"),
        ("a.gpkg", "GEOID"),
    ]
    polygons += [("tl_2009_44_tract00.zip", "CTIDFP00")]
    found = [vintage_of_polygons(Path(name), column) for name, column in polygons]
    assert found == [2010, 2010, 2010, 2020, None, 2000]
    tables = ["CenPop2020_Mean_BG44.txt", "2010_Census_Tract_to_2010_PUMA.txt.gz", "2020_PUMA_Names.txt"]
    tables += ["cenpop2010_block_group_ct_ma_ri.csv.gz", "people of 2020.csv", "2020.csv"]
    assert [vintage_of_table(Path(name)) for name in tables] == [2020, 2010, 2020, 2010, None, None]


NEW_FLOWS = "RESIDENCE,WORKPLACE,Output,Workers 16 and Over\nA,B,Estimate,20\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (",10100,", ",101.02,", "line 2: Residence_Tract_FIPS_Code is '101.02'"),
        (",10100,", ",1,", "line 2: Residence_Tract_FIPS_Code is '1'; the code of a tract is 100 or more"),
        (",1350,", ',"1,350",', "line 6: EST is written with commas"),
        (samples.flows(), NEW_FLOWS, "CTPP flows that name their tracts"),
    ],
    ids=["name of a tract", "number of a tract", "commas", "newer format"],
)
def test_flows_of_other_formats_are_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    path = tmp_path / "flows.csv"
    path.write_text(samples.flows().replace(old, new, 1), newline="")
    assert refusal(lambda: read_flows([path])).startswith(f"{path}: {words}")


def test_flows_by_name_in_a_folder_are_told(tmp_path: Path) -> None:
    (samples.write_sources(tmp_path) / "ctpp_flows.csv").write_text(NEW_FLOWS)
    _, unknown = sources_in(tmp_path)
    assert unknown[tmp_path / "ctpp_flows.csv"].startswith("CTPP flows that name their tracts; give")


def zipped(
    path: Path, layers: dict[str, Any], *, inside: str = "", more: dict[str, bytes] | None = None
) -> Path:
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path, "w") as archive:
        for stem, frame in layers.items():
            frame.to_file(Path(folder) / f"{stem}.shp", engine="pyogrio")
        for part in sorted(Path(folder).iterdir()):
            archive.write(part, inside + part.name)
        for name, content in (more or {}).items():
            archive.writestr(name, content)
    return path


def county() -> Any:
    return samples.tract_frame().iloc[:1].assign(GEOID="44001")


def test_shapefiles_deep_in_a_zip_and_beside_others(tmp_path: Path) -> None:
    whole = samples.tract_frame()
    folder = tmp_path / "a {b}.zip"
    folder.mkdir()
    paths = [
        zipped(folder / "deep é #?&%20.zip", {"tract": whole}, inside="a/b c/"),
        zipped(tmp_path / "mac.zip", {"tract": whole}, more={"__MACOSX/._tract.shp": b"\0\5"}),
        zipped(tmp_path / "several.zip", {"aa_county": county(), "zz_tract": whole, "mm_county": county()}),
        zipped(tmp_path / "parts.zip", {"north": whole.iloc[:1], "south": whole.iloc[1:]}),
    ]
    for path in paths:
        assert levels_of(path) == ("tracts",), path.name
        assert list(read_boundaries([path], "tracts").polygon.index) == list(samples.RI_TRACTS)


def test_a_geopackage_with_several_layers(tmp_path: Path) -> None:
    path = tmp_path / "all.gpkg"
    tracts = samples.tract_frame()
    blocks = tracts.assign(GEOID=[samples.block_id(tract, 0) for tract in samples.RI_TRACTS])
    for layer, frame in {"counties": county(), "tracts": tracts, "blocks": blocks}.items():
        frame.to_file(path, layer=layer, driver="GPKG", engine="pyogrio")
    assert roles_of(path) == ("tracts", "blocks")
    assert list(read_boundaries([path], "blocks").polygon.index) == list(blocks["GEOID"])
    path = tmp_path / "counties.gpkg"
    for layer in ("one", "two"):
        county().to_file(path, layer=layer, driver="GPKG", engine="pyogrio")
    assert "no layer of tracts (found one, two)" in refusal(lambda: read_boundaries([path], "tracts"))


@pytest.mark.parametrize("crs", ["EPSG:3857", "EPSG:4267", "EPSG:26919"])
def test_other_reference_systems(crs: str, tmp_path: Path) -> None:
    path = tmp_path / "tracts.gpkg"
    samples.tract_frame().to_crs(crs).to_file(path, driver="GPKG", engine="pyogrio")
    polygon = read_boundaries([path], "tracts").polygon
    for tract, square in zip(samples.RI_TRACTS, samples.tract_frame().geometry, strict=True):
        assert polygon[tract].bounds == pytest.approx(square.bounds, abs=1e-3)


def test_a_reference_system_without_a_place_on_the_globe(tmp_path: Path) -> None:
    path = tmp_path / "tracts.gpkg"
    local = 'LOCAL_CS["site",UNIT["metre",1]]'
    frame = samples.tract_frame().set_crs(local, allow_override=True)
    frame.to_file(path, driver="GPKG", engine="pyogrio")
    message = refusal(lambda: read_boundaries([path], "tracts"), GeometryError)
    assert "cannot be converted to degrees" in message


def test_geojson_without_a_reference_system_is_wgs84(tmp_path: Path) -> None:
    path = tmp_path / "tracts.geojson"
    content = json.loads(samples.tract_frame().to_json())
    content.pop("crs", None)
    path.write_text(json.dumps(content))
    assert read_boundaries([path], "tracts").polygon.size == 3


@pytest.mark.parametrize("kind", ["int64", "float64"])
def test_identifiers_that_are_numbers(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "tl_2010_44_tract10.gpkg"
    frame = samples.tract_frame().astype({"GEOID": kind})
    frame.to_file(path, driver="GPKG", engine="pyogrio")
    assert list(read_boundaries([path], "tracts").polygon.index) == list(samples.RI_TRACTS)
    frame.assign(GEOID=np.array([9011700100, 9011700200, 9011700300], dtype=kind)).to_file(
        path, driver="GPKG", engine="pyogrio"
    )
    message = refusal(lambda: sources_in(tmp_path), SourceFileError)
    assert "GEOID is the number 9011700100, which has lost its leading zero" in message


@pytest.mark.parametrize("lost", [".dbf", ".shx"])
def test_tracts_of_the_bureau_that_say_nothing_are_not_passed_over(lost: str, tmp_path: Path) -> None:
    path = samples.write_sources(tmp_path, polygons="none") / "tl_2010_44_tract10.zip"
    samples.write_zip(path, samples.tract_frame(), leave_out=lost)
    assert refusal(lambda: sources_in(tmp_path), SourceFileError).startswith(f"{path}: ")


def test_a_tract_that_cartographic_files_leave_out(tmp_path: Path) -> None:
    """Water tracts have no polygon there: theirs is derived, and whatever contains them still gets one."""
    folder = samples.write_sources(tmp_path, polygons="none")
    frame = samples.tract_frame()
    frame["AFFGEOID"] = "1400000US" + frame["GEOID"]
    samples.write_zip(folder / "cb_2019_44_tract_500k.zip", frame.iloc[:2])
    tables = imported(folder).tables
    tracts = tables["tracts"].set_index("tract_id")
    assert tracts["derived"][list(samples.RI_TRACTS)].tolist() == [False, False, True]
    state = tables["states"].set_index("state_id").geometry["44"]
    assert shapely.is_valid(state)
    for tract in samples.RI_TRACTS:
        assert state.covers(shapely.buffer(tracts.geometry[tract], -1e-9))
