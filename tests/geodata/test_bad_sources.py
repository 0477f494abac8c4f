"""Bad input: one line that names the file and the row or key, what was expected and what to do."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from pathlib import Path

import geopandas
import pytest
import shapely

from geodata.errors import GeodataError, GeometryError, SourceFileError, SourceRowError
from geodata.importing.importing import import_dataset
from geodata.sources.boundaries import read_boundaries
from geodata.sources.crosswalk import read_crosswalks
from geodata.sources.lodes import read_od
from geodata.sources.population import read_population
from geodata.sources.pumas import read_pumas
from geodata.sources.recognize import roles_of, sources_in
from tests.geodata import samples

A, B, C = samples.RI_TRACTS
FIRST = f"{samples.block_id(A, 0)},{samples.block_id(A, 0)}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return samples.write_sources(tmp_path / "files")


def refusal(action: Callable[[], object], kind: type[GeodataError], path: Path, *words: str) -> None:
    """The action raises `kind` in one line that starts with the path and holds the words in order."""
    with pytest.raises(kind) as caught:
        action()
    message = str(caught.value)
    assert message.startswith(f"{path}: "), message
    assert "\n" not in message
    assert ";" in message, "no remedy"
    assert re.search(".*".join(re.escape(word) for word in words), message), message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (f"{FIRST},1,", f"{FIRST[1:]},1,", ("line 2", "w_geocode is '4001010100", "15 digits")),
        (f"{FIRST},1,", f"{FIRST[:-1]}X,1,", ("line 2", "h_geocode is no code of a block", "15 digits")),
        (f"{FIRST},1,0,1", f"{FIRST},-1,0,1", ("line 2", "S000 is negative", "whole number of 0 or more")),
        (f"{FIRST},1,0,1", f"{FIRST},1,0.5,1", ("line 2", "SA01 is not whole", "whole number")),
        (f"{FIRST},1,0,1", f"{FIRST},,0,1", ("line 2", "S000 is blank", "whole number")),
        (f"{FIRST},1,0,1", f"{FIRST},1,1,1", ("line 2", "SA01 + SA02 + SA03 is not S000", "add up")),
        (f"{samples.block_id(A, 3)},1", f"{samples.block_id(A, 0)},1",
         ("line 3", "the pair of w_geocode and h_geocode is repeated")),
        (f"{samples.block_id(C, 5)},{samples.block_id(B, 0)}", f"090117001001000,{samples.block_id(B, 0)}",
         ("line 8", "workplace in state 09", "44")),
    ],
    ids=["short", "letter", "negative", "fraction", "blank", "margin", "twice", "two-states"],
)  # fmt: skip
def test_od_rows(folder: Path, old: str, new: str, words: tuple[str, ...]) -> None:
    path = folder / "ri_od_main_JT00_2019.csv.gz"
    samples.replace_text(path, old, new)
    refusal(lambda: read_od(path), SourceRowError, path, *words)


def test_a_missing_column(folder: Path) -> None:
    path = folder / "ri_od_main_JT00_2019.csv.gz"
    samples.replace_text(path, ",SE02,", ",SEXX,")
    refusal(lambda: read_od(path), SourceFileError, path, "column 'SE02' is missing", "check")
    path = folder / "ri_xwalk.csv.gz"
    samples.replace_text(path, ",trct,", ",tract,")
    refusal(lambda: read_crosswalks([path]), SourceFileError, path, "column 'trct' is missing")


def test_a_column_twice(folder: Path) -> None:
    path = folder / "ri_od_main_JT00_2019.csv.gz"
    samples.replace_text(path, "SE02", "SE01")
    refusal(lambda: read_od(path), SourceFileError, path, "'SE01' occurs twice")


def test_a_truncated_gzip_file(folder: Path) -> None:
    path = folder / "ri_od_main_JT00_2019.csv.gz"
    path.write_bytes(path.read_bytes()[:-20])
    refusal(lambda: read_od(path), SourceFileError, path, "truncated or damaged", "download it again")


def test_a_gzip_file_with_a_wrong_checksum(folder: Path) -> None:
    path = folder / "ri_od_main_JT00_2019.csv.gz"
    data = bytearray(path.read_bytes())
    data[-8] ^= 1
    path.write_bytes(bytes(data))
    refusal(lambda: read_od(path), SourceFileError, path, "truncated or damaged")


def test_an_empty_file_a_header_alone_and_a_short_row(folder: Path) -> None:
    path = folder / "ri_od_main_JT00_2019.csv.gz"
    path.write_bytes(gzip.compress(b"\n"))
    refusal(lambda: read_od(path), SourceFileError, path, "empty")
    samples.write_text(path, samples.OD_HEADER + "\n")
    refusal(lambda: read_od(path), SourceFileError, path, "a header and no rows")
    samples.write_text(path, samples.od_main() + "440010101001000,4400\n")
    refusal(lambda: read_od(path), SourceFileError, path, "line 9", "2 cells, but the header has 13")


def test_a_ragged_row_is_not_quoted(folder: Path) -> None:
    """It may hold confidential counts."""
    path = folder / "ri_od_main_JT00_2019.csv.gz"
    samples.write_text(path, samples.od_main() + "440010101001000,777777\n")
    with pytest.raises(SourceFileError) as caught:
        read_od(path)
    assert "777777" not in str(caught.value)


def test_text_that_is_not_utf_8(folder: Path) -> None:
    path = folder / "ri_xwalk.csv.gz"
    text = samples.read_text(path).replace("County 001", "Doña Ana", 1)
    path.write_bytes(gzip.compress(text.encode("latin-1")))
    refusal(lambda: read_crosswalks([path]), SourceFileError, path, "not UTF-8", "save it as UTF-8")


def test_puma_names_may_be_latin_1(folder: Path) -> None:
    path = folder / "2010_PUMA_Names.csv"
    path.write_bytes(samples.puma_names().replace("North", "Doña Ana").encode("latin-1"))
    assert read_pumas([], [path], 2010).names["4400102"] == "Doña Ana"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "nowhere.csv.gz"
    refusal(lambda: read_od(path), SourceFileError, path, "cannot be read", "check the path")


def test_a_block_that_is_not_in_the_crosswalk(folder: Path) -> None:
    path = folder / "ri_od_main_JT00_2019.csv.gz"
    lost = "440010101009999"
    samples.replace_text(
        path, f"{samples.block_id(A, 0)},{samples.block_id(A, 3)}", f"{samples.block_id(A, 0)},{lost}"
    )
    refusal(
        lambda: import_dataset(sources_in(folder)[0]),
        SourceRowError, path, "line 3", "h_geocode is not in the crosswalk", "use the crosswalk",
    )  # fmt: skip


def test_a_home_in_no_state(folder: Path) -> None:
    path = folder / "ri_od_aux_JT00_2019.csv.gz"
    samples.replace_text(path, "360050001001000", "990050001001000")
    refusal(
        lambda: import_dataset(sources_in(folder)[0]),
        SourceRowError, path, "line 4", "h_geocode is in no state; correct the code; for a home abroad, give one",
    )  # fmt: skip


def test_blocks_of_the_other_vintage(folder: Path) -> None:
    path = folder / "ri_xwalk.csv.gz"
    text = re.sub(r"^(\d{12})\d", r"\g<1>9", samples.read_text(path), flags=re.MULTILINE)
    samples.write_text(path, text)
    refusal(
        lambda: import_dataset(sources_in(folder)[0]),
        SourceFileError, folder / "ri_od_aux_JT00_2019.csv.gz", "line 2", "w_geocode 440010101001000 and many more",
        "not in the crosswalk of 2010 blocks", "vintage",
        "LODES 8",
    )  # fmt: skip


def test_crosswalks_of_two_vintages(folder: Path) -> None:
    path = folder / "ri_xwalk.csv.gz"
    samples.write_text(path, samples.crosswalk(samples.RI_TRACTS, 8))
    refusal(
        lambda: read_crosswalks([folder / "ct_xwalk.csv.gz", path]),
        SourceFileError, path, "tabblk2020", "tabblk2010", "one LODES version",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("pattern", "new", "words"),
    [
        (r"^44001010100100", "4400101010010", ("line 2", "tabblk2010 is", "15 digits")),
        (r",44001010100,", ",4400101010,", ("line 2", "trct is '4400101010'", "11 digits")),
        (r",41\.\d+,", ",north,", ("line 2", "blklatdd is 'north'", "±90")),
        (r",41\.\d+,", ",141.5,", ("line 2", "blklatdd is '141.5'")),
        (
            r"^440010101001001",
            "440010101001000",
            ("line 3", "block 440010101001000 is repeated"),
        ),
    ],
    ids=["block", "tract", "text", "range", "twice"],
)
def test_crosswalk_rows(folder: Path, pattern: str, new: str, words: tuple[str, ...]) -> None:
    path = folder / "ri_xwalk.csv.gz"
    text, n = re.subn(pattern, new, samples.read_text(path), count=1, flags=re.MULTILINE)
    assert n == 1
    samples.write_text(path, text)
    refusal(lambda: read_crosswalks([path]), SourceRowError, path, *words)


def test_a_block_in_two_crosswalks(folder: Path) -> None:
    path = folder / "ri_xwalk_copy.csv"
    samples.write_text(path, samples.read_text(folder / "ri_xwalk.csv.gz"))
    refusal(
        lambda: read_crosswalks([folder / "ri_xwalk.csv.gz", path]),
        SourceRowError, path, "line 2", "repeated (first in", "ri_xwalk.csv.gz",
    )  # fmt: skip


def test_two_main_files_and_two_years(folder: Path) -> None:
    copy = folder / "sub" / "ri_od_main_JT00_2019.csv"
    copy.parent.mkdir()
    samples.write_text(copy, samples.od_main())
    refusal(
        lambda: import_dataset(sources_in(folder)[0]),
        SourceFileError,
        copy,
        "a second OD main file of state 44",
        "keep one",
    )
    copy.unlink()
    aux = folder / "ri_od_aux_JT00_2019.csv.gz"
    other = aux.rename(folder / "ri_od_aux_JT00_2018.csv.gz")
    with pytest.raises(SourceFileError, match="one year and job type at a time"):
        import_dataset(sources_in(other.parent)[0])


def test_no_main_file_and_no_crosswalk(folder: Path) -> None:
    main, crosswalk = folder / "ri_od_main_JT00_2019.csv.gz", folder / "ri_xwalk.csv.gz"
    text = samples.read_text(crosswalk)
    crosswalk.unlink()
    refusal(
        lambda: import_dataset(sources_in(folder)[0]),
        SourceFileError,
        main,
        "no crosswalk of state 44",
        "add ri_xwalk.csv.gz",
    )
    samples.write_text(crosswalk, text)
    main.unlink()
    with pytest.raises(SourceFileError, match="no OD main file among the files; add"):
        import_dataset(sources_in(folder)[0])


def test_tracts_in_two_pumas(folder: Path) -> None:
    path = folder / "2010_Census_Tract_to_2010_PUMA.txt"
    samples.write_text(path, samples.tract_puma() + "44,001,010100,00999\n")
    refusal(lambda: read_pumas([path], [], 2010), SourceRowError, path, "line 7", "44001010100 has two PUMAs")


def test_population_rows(folder: Path) -> None:
    path = folder / "CenPop2010_Mean_TR.txt"
    good = samples.centres(block_groups=False)
    samples.write_text(path, good.replace(",1001,", ",1001.5,"))
    refusal(lambda: read_population([path]), SourceRowError, path, "line 2", "POPULATION is not whole")
    samples.write_text(path, good.replace("44,001,010100", "44,1,010100"))
    refusal(lambda: read_population([path]), SourceRowError, path, "line 2", "COUNTYFP is '1'", "3 digits")
    samples.write_text(path, good.replace("010200", "010100"))
    refusal(
        lambda: read_population([path]),
        SourceRowError,
        path,
        "line 3",
        "tract 44001010100 is repeated",
    )


def bad_polygons(
    tmp_path: Path, geometry: list[object], *, ids: list[str] | None = None, crs: str | None = "EPSG:4269"
) -> Path:
    path = tmp_path / "tl_tracts.gpkg"
    frame = geopandas.GeoDataFrame({"GEOID10": ids or list(samples.RI_TRACTS)}, geometry=geometry, crs=crs)
    frame.to_file(path, driver="GPKG", engine="pyogrio")
    return path


def squares() -> list[object]:
    return list(samples.tract_frame().geometry)


def test_polygons_without_reference_system(tmp_path: Path) -> None:
    path = tmp_path / "tl_2010_44_tract10.zip"
    samples.write_zip(path, samples.tract_frame(), leave_out=".prj")
    refusal(
        lambda: read_boundaries([path], "tracts"),
        GeometryError,
        path,
        "no coordinate reference system",
        ".prj",
    )


def test_polygons_that_are_not_in_degrees(tmp_path: Path) -> None:
    far = [shapely.transform(square, lambda xy: xy * 10_000) for square in squares()]
    path = bad_polygons(tmp_path, far)
    refusal(
        lambda: read_boundaries([path], "tracts"), GeometryError, path, "are not degrees", "NAD83", "correct"
    )


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (None, ("44001010200 has no geometry",)),
        (shapely.Polygon(), ("44001010200 has no geometry, or an empty one",)),
        (shapely.LineString([(0, 0), (1, 1)]), ("44001010200 is a LineString", "polygons are needed")),
        (
            shapely.Polygon([(0, 0), (1, 1), (2, 2), (0, 0)]),
            ("44001010200 is not valid", "cannot be repaired"),
        ),
    ],
    ids=["missing", "empty", "line", "flat"],
)
def test_polygons_that_are_none(tmp_path: Path, bad: object, words: tuple[str, ...]) -> None:
    first, _, third = squares()
    path = bad_polygons(tmp_path, [first, bad, third])
    refusal(lambda: read_boundaries([path], "tracts"), GeometryError, path, *words)


def test_polygons_that_can_be_repaired_are(tmp_path: Path) -> None:
    first, _, third = squares()
    bow_tie = shapely.Polygon([(-71.4, 41.6), (-71.3, 41.7), (-71.3, 41.6), (-71.4, 41.7), (-71.4, 41.6)])
    boundaries = read_boundaries([bad_polygons(tmp_path, [first, bow_tie, third])], "tracts")
    assert boundaries.repaired == 1
    assert shapely.is_valid(boundaries.polygon.to_numpy(dtype=object)).all()
    assert boundaries.polygon[B].area == pytest.approx(0.005)


def test_polygons_given_twice(tmp_path: Path) -> None:
    path = bad_polygons(tmp_path, squares(), ids=[A, A, C])
    refusal(lambda: read_boundaries([path], "tracts"), GeometryError, path, f"tract {A} is given twice")
    zipped, package = (samples.write_tracts(tmp_path, kind) for kind in ("zip", "gpkg"))
    refusal(
        lambda: read_boundaries([zipped, package], "tracts"),
        GeometryError,
        zipped,
        f"{A} is given twice (also in",
    )


def test_polygons_of_another_level(tmp_path: Path) -> None:
    path = bad_polygons(tmp_path, squares(), ids=["44001", "44003", "44005"])
    refusal(
        lambda: read_boundaries([path], "tracts"),
        GeometryError,
        path,
        "feature 1",
        "11 digits",
        "holds tracts",
    )
    refusal(lambda: roles_of(path), SourceFileError, path, "neither those of tracts nor of blocks")


def test_polygons_without_identifiers_and_files_that_are_no_polygons(tmp_path: Path) -> None:
    path = tmp_path / "tracts.gpkg"
    samples.tract_frame().rename(columns={"GEOID": "code"}).to_file(path, driver="GPKG", engine="pyogrio")
    refusal(
        lambda: read_boundaries([path], "tracts"),
        SourceFileError,
        path,
        "no column of identifiers",
        "found code",
    )
    path = tmp_path / "tl_2010_44_tract10.zip"
    path.write_bytes(samples.write_tracts(tmp_path, "zip").read_bytes()[:500])
    refusal(
        lambda: read_boundaries([path], "tracts"),
        SourceFileError,
        path,
        "cannot be read as polygons",
        "complete",
    )
    with pytest.raises(SourceFileError, match="cannot be read as polygons"):
        sources_in(tmp_path)


def test_another_reference_system_is_brought_to_degrees(tmp_path: Path) -> None:
    """UTM zone 19 north on NAD83 comes back where it was; NAD83 degrees are taken as they are."""
    plain = read_boundaries([samples.write_tracts(tmp_path, "zip")], "tracts").polygon
    path = tmp_path / "utm.gpkg"
    samples.tract_frame().to_crs("EPSG:26919").to_file(path, driver="GPKG", engine="pyogrio")
    projected = read_boundaries([path], "tracts").polygon
    for tract in samples.RI_TRACTS:
        assert plain[tract].bounds == pytest.approx(projected[tract].bounds, abs=1e-6)
        assert plain[tract].equals(samples.tract_frame().set_index("GEOID").geometry[tract])


def test_a_folder_with_nothing_known_and_no_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello\n")
    with pytest.raises(SourceFileError, match="no file in it was recognized"):
        sources_in(tmp_path)
    with pytest.raises(SourceFileError, match="no such directory; check the path given to --from"):
        sources_in(tmp_path / "nowhere")


def test_zeros_that_a_spreadsheet_lost_are_put_back_only_where_every_code_lost_them(tmp_path: Path) -> None:
    """A code of 14 digits may also lack its last digit: only a whole column of them tells which."""
    folder = samples.write_sources(tmp_path)
    path = folder / "ct_od_aux_JT00_2019.csv.gz"
    text = samples.read_text(path)
    whole = read_od(path)
    samples.write_text(path, re.sub(r"(?m)(^|,)0(9\d{13})", r"\1\2", text))
    found = read_od(path)
    assert found.lost_zeros
    assert not whole.lost_zeros
    assert found.work.tolist() == whole.work.tolist()
    assert found.home.tolist() == whole.home.tolist()
    samples.write_text(path, text.replace("09011", "9011", 1))
    with pytest.raises(SourceRowError, match="a block has 15 digits; check that leading zeros were kept"):
        read_od(path)
