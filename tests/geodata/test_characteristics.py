"""Published characteristics of places (WAC and RAC): read only on request, and refused where they do not fit."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from geodata.errors import GeodataError
from geodata.importing.importing import import_dataset, write_dataset
from geodata.sources.characteristics import GROUPS, TOTAL, read_characteristics
from geodata.sources.recognize import roles_of, sources_in
from geodata.store.schema import CHARACTERISTIC_CODES
from geodata.store.store import open_store
from tests.commands.running import refused, run_here
from tests.geodata.samples import CT_TRACTS, RI_TRACTS, block_id, characteristics, write_sources

WORK = {block_id(RI_TRACTS[1], 2): 7, block_id(RI_TRACTS[0], 1): 5}
HOME = {block_id(RI_TRACTS[0], 2): 3, block_id(RI_TRACTS[2], 5): 9}
WAC, RAC = "ri_wac_S000_JT00_2019.csv", "ri_rac_S000_JT00_2018.csv"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = write_sources(tmp_path / "sources", polygons="none")
    (found / WAC).write_text(characteristics(WORK, "work"))
    (found / RAC).write_text(characteristics(HOME, "home"))
    return found


def test_the_columns_are_those_of_the_groups_and_the_total() -> None:
    codes = [code for group in GROUPS for code in group.codes]
    assert [TOTAL, *codes] == list(CHARACTERISTIC_CODES)
    assert all(len(group.codes) == len(group.labels) for group in GROUPS)


def test_both_files_become_one_table(folder: Path, tmp_path: Path) -> None:
    sources = sources_in(folder)[0]
    made = import_dataset(sources, commitment_key="0f" * 32, public_characteristics=True)
    write_dataset(tmp_path / "d", made)
    store = open_store(tmp_path / "d", "dataset")
    table, block = store.table("characteristics"), store.table("blocks")["block_id"].to_numpy(dtype=object)
    assert table["end"].tolist() == ["work", "work", "home", "home"]
    assert dict(zip(block[table["block_index"][:2]], table["C000"][:2], strict=True)) == WORK
    assert dict(zip(block[table["block_index"][2:]], table["CT02"][2:], strict=True)) == HOME
    assert table["block_index"][:2].is_monotonic_increasing
    facts = [
        (each["end"], each["file"], each["state"], each["year"]) for each in store.manifest["characteristics"]
    ]
    assert facts == [("home", RAC, "44", 2018), ("work", WAC, "44", 2019)]
    assert all(
        each["job_type"] == "JT00" and len(each["sha256"]) == 64 for each in store.manifest["characteristics"]
    )


def test_without_the_option_they_are_left_alone(folder: Path, tmp_path: Path) -> None:
    done = run_here("import", tmp_path / "d", "--from", folder)
    assert done.code == 0, done.err
    assert f"{WAC}: characteristics of places are read only with --public-characteristics" in done.out
    store = open_store(tmp_path / "d", "dataset")
    assert not store.has_table("characteristics")
    assert "characteristics" not in store.manifest
    named = ("--from", folder, "--characteristics", folder / RAC)
    assert "counts real homes" in refused("import", tmp_path / "e", *named)
    done = run_here("import", tmp_path / "e", *named, "--public-characteristics")
    assert done.code == 0, done.err
    assert [each["end"] for each in open_store(tmp_path / "e", "dataset").manifest["characteristics"]] == [
        "home"
    ]


def test_a_file_about_one_segment_is_not_used(folder: Path) -> None:
    young = folder / "ri_wac_SA01_JT00_2019.csv"
    young.write_text(characteristics(WORK, "work"))
    sources, unused = sources_in(folder)
    assert young not in sources.characteristics
    assert "segment SA01 only" in unused[young]


ROW = block_id(RI_TRACTS[0], 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            characteristics({ROW: 5}, "work").replace(",5,", ",4,", 1),
            "line 2: CA01 to CA03 do not add up to C000",
        ),
        (characteristics({ROW: 5}, "work").replace("CS02", "CS03"), "column 'CS02' is missing"),
        (characteristics({ROW[:-1]: 5}, "work"), "a block has 15 digits"),
        (
            characteristics({ROW[:11] + "9999": 5}, "work"),
            "line 2: w_geocode 440010101009999 is not in the crosswalk",
        ),
        (
            characteristics({ROW: 5}, "work") + characteristics({ROW: 5}, "work").splitlines()[1] + "\n",
            "repeated",
        ),
        (
            characteristics({ROW: 5, block_id(CT_TRACTS[0], 0): 5}, "work"),
            "w_geocode in state 09, but the rows above",
        ),
        (
            characteristics({"250010101001000": 5}, "work"),
            "no crosswalk of state 25 among the files; add ma_xwalk",
        ),
    ],
)
def test_a_file_that_does_not_fit_is_refused_in_one_line(folder: Path, text: str, words: str) -> None:
    (folder / WAC).write_text(text)
    with pytest.raises(GeodataError) as caught:
        import_dataset(sources_in(folder)[0], public_characteristics=True)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{folder / WAC}: ")
    assert "\n" not in str(caught.value)


def test_two_files_of_one_kind_and_state_are_refused(folder: Path) -> None:
    (folder / "ri_wac_S000_JT02_2019.csv").write_text(characteristics(WORK, "work"))
    with pytest.raises(GeodataError, match="a second file of these characteristics of state 44"):
        import_dataset(sources_in(folder)[0], public_characteristics=True)


def test_a_file_without_a_usual_name_has_no_year(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(characteristics(WORK, "work"))
    found = read_characteristics(path)
    assert (found.end, found.year, found.job_type) == ("work", None, None)


WAC_HEADER = (
    "w_geocode,C000,CA01,CA02,CA03,CE01,CE02,CE03,CNS01,CNS02,CNS03,CNS04,CNS05,CNS06,CNS07,CNS08,CNS09,CNS10,CNS11,"
    "CNS12,CNS13,CNS14,CNS15,CNS16,CNS17,CNS18,CNS19,CNS20,CR01,CR02,CR03,CR04,CR05,CR07,CT01,CT02,CD01,CD02,CD03,"
    "CD04,CS01,CS02,CFA01,CFA02,CFA03,CFA04,CFA05,CFS01,CFS02,CFS03,CFS04,CFS05,createdate"
)
"""Columns of a WAC file in the order of the technical documentation; a RAC file ends with CS02 and createdate."""
RAC_HEADER = f"h{WAC_HEADER[1 : WAC_HEADER.index(',CFA01')]},createdate"


@pytest.mark.parametrize("quoted", [False, True])
@pytest.mark.parametrize("end", ["work", "home"])
def test_files_as_documented_are_read(end: str, quoted: bool, tmp_path: Path) -> None:
    """Compressed, of a state whose code begins with 0, quoted or not, with counts in every group."""
    header = (WAC_HEADER if end == "work" else RAC_HEADER).split(",")
    numbers = dict.fromkeys(header[1:-1], 0) | {"C000": 60, "createdate": 20231016}
    numbers |= {"CA01": 10, "CA02": 20, "CA03": 30, "CE01": 30, "CE02": 20, "CE03": 10}
    numbers |= {f"CNS{sector:02d}": 3 for sector in range(1, 21)}
    numbers |= {
        "CR07": 5,
        "CT02": 7,
        "CD04": 9,
        "CS02": 11,
        **({"CFA05": 13, "CFS05": 17} if end == "work" else {}),
    }
    block = block_id(CT_TRACTS[0], 0)
    row = [block, *(str(numbers[name]) for name in header[1:])]
    if quoted:
        header, row = [[f'"{text}"' for text in line] for line in (header, row)]
    path = tmp_path / f"ct_{'wac' if end == 'work' else 'rac'}_S000_JT00_2021.csv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.write(f"{','.join(header)}\n{','.join(row)}\n")
    assert roles_of(path) == ("characteristics",)
    found = read_characteristics(path)
    assert (found.end, found.state_id, found.year, found.job_type) == (end, "09", 2021, "JT00")
    assert [f"{number:015d}" for number in found.number.tolist()] == [block]
    for name, number in numbers.items():
        if name != "createdate":
            assert found.text.column(name).to_pylist() == [number], name


@pytest.mark.parametrize("segment", ["SA01", "SE03", "SI02"])
def test_every_segment_of_the_documentation_is_told_from_all_workers(segment: str, tmp_path: Path) -> None:
    path = tmp_path / f"ct_rac_{segment}_JT05_2021.csv.gz"
    path.write_bytes(gzip.compress(characteristics(HOME, "home").encode()))
    with pytest.raises(GeodataError, match=f"characteristics of segment {segment} only"):
        read_characteristics(path)
