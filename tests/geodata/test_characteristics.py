"""Published characteristics of places (WAC and RAC): read only on request, and refused where they do not fit."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from geodata.errors import GeodataError
from geodata.importing.importing import import_dataset, write_dataset
from geodata.sources.characteristics import read_characteristics
from geodata.sources.recognize import roles_of, sources_in
from geodata.store.characteristic_counts import CharacteristicCounts
from geodata.store.characteristic_groups import BANDS, GROUPS, SEGMENTS, TOTAL, segments_of
from geodata.store.schema import CHARACTERISTIC_CODES
from geodata.store.store import open_store
from tests.commands.running import refused, run_here
from tests.geodata.samples import CT_TRACTS, RI_TRACTS, block_id, characteristics, write_sources

WORK = {block_id(RI_TRACTS[1], 2): 7, block_id(RI_TRACTS[0], 1): 5}
HOME = {block_id(RI_TRACTS[0], 2): 3, block_id(RI_TRACTS[2], 5): 9}
WAC, RAC = "ri_wac_S000_JT00_2019.csv", "ri_rac_S000_JT00_2019.csv"


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
    block = store.table("blocks")["block_id"].to_numpy(dtype=object)
    counts = CharacteristicCounts.of(store)
    found = counts.cells("work", "S000").blocks_of_code("C000")
    assert dict(zip(block[found[0]], found[1], strict=True)) == WORK
    found = counts.cells("home", "S000").blocks_of_code("CT02")
    assert dict(zip(block[found[0]], found[1], strict=True)) == HOME
    assert not counts.cells("work", "S000").blocks_of_code("CT01")[0].size
    assert not counts.cells("work", "SA01").block.size
    table = store.table("characteristic_counts")
    assert table.equals(table.sort_values(["end", "segment", "code", "block_index"], ignore_index=True))
    assert (
        store.row_ptr("characteristic_counts").size - 1
        == len(store.group_keys("characteristic_counts"))
        == 16
    )
    facts = [
        (each["end"], each["file"], each["state"], each["year"]) for each in store.manifest["characteristics"]
    ]
    assert facts == [("home", RAC, "44", 2019), ("work", WAC, "44", 2019)]
    assert all(
        each["job_type"] == "JT00" and len(each["sha256"]) == 64 for each in store.manifest["characteristics"]
    )


def test_without_the_option_they_are_left_alone(folder: Path, tmp_path: Path) -> None:
    done = run_here("import", tmp_path / "d", "--from", folder)
    assert done.code == 0, done.err
    assert f"{WAC}: characteristics of places are read only with --public-characteristics" in done.out
    store = open_store(tmp_path / "d", "dataset")
    assert not store.has_table("characteristic_counts")
    assert "characteristics" not in store.manifest
    named = ("--from", folder, "--characteristics", folder / RAC)
    assert "counts real homes" in refused("import", tmp_path / "e", *named)
    done = run_here("import", tmp_path / "e", *named, "--public-characteristics")
    assert done.code == 0, done.err
    assert [each["end"] for each in open_store(tmp_path / "e", "dataset").manifest["characteristics"]] == [
        "home"
    ]


def test_segment_files_are_read_beside_those_of_all_workers(folder: Path, tmp_path: Path) -> None:
    (folder / "ri_wac_SA01_JT00_2019.csv").write_text(characteristics(WORK, "work"))
    (folder / "ri_wac_SE03_JT00_2019.csv").write_text(characteristics({ROW: 2}, "work"))
    imported = import_dataset(sources_in(folder)[0], public_characteristics=True)
    write_dataset(tmp_path / "d", imported)
    counts = CharacteristicCounts.of(open_store(tmp_path / "d", "dataset"))
    assert [file["segment"] for file in counts.files] == ["S000", "S000", "SA01", "SE03"]
    assert counts.cells("work", "SA01").blocks_of_code("C000")[1].sum() == 12
    assert counts.cells("work", "SE03").blocks_of_code("C000")[1].sum() == 2
    note = "ri_wac_SE03_JT00_2019.csv: 2 jobs, but the file of all workers has 12 in this segment"
    assert any(text.startswith(note) for text in imported.facts["notes"])
    assert not any("SA01" in text for text in imported.facts["notes"])


def test_bands_of_segments_partition_the_sectors() -> None:
    assert len(SEGMENTS) == 10
    assert segments_of("age", (1, 3)) == ("SA01", "SA03")
    sectors = [code for name in segments_of("industry", (1, 2, 3)) for code in BANDS[name].codes]
    assert sorted(sectors) == [f"CNS{n:02d}" for n in range(1, 21)]


def test_a_header_without_rows_is_a_state_without_jobs(folder: Path) -> None:
    (folder / WAC).write_text(characteristics({}, "work"))
    found = read_characteristics(folder / WAC)
    assert (found.state_id, found.number.size) == ("44", 0)
    imported = import_dataset(sources_in(folder)[0], public_characteristics=True)
    assert any("WAC" in text and "a header and no rows" in text for text in imported.facts["notes"])
    (folder / "jobs.csv").write_text(characteristics({}, "work"))
    with pytest.raises(GeodataError, match="a header and no rows; download it again"):
        read_characteristics(folder / "jobs.csv")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("ri_wac_S000_JT00_2018.csv", "WAC of 2018, but the jobs are of 2019; give WAC of 2019"),
        ("ri_wac_S000_JT02_2019.csv", "WAC of job type JT02, but the jobs are JT00; give WAC of JT00"),
        ("ri_rac_S000_JT00_2019.csv", "named RAC, but its column w_geocode is that of WAC"),
        ("ri_wac_SA02_JT00_2019.csv", "line 2: named SA02, but CA02 do not add up to C000"),
    ],
)
def test_a_name_that_does_not_fit_is_refused_in_one_line(folder: Path, name: str, words: str) -> None:
    (folder / WAC).unlink()
    (folder / name).write_text(characteristics(WORK, "work"))
    with pytest.raises(GeodataError) as caught:
        import_dataset(sources_in(folder)[0], public_characteristics=True)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_totals_are_compared_with_those_of_the_jobs(folder: Path, tmp_path: Path) -> None:
    """Jobs as the OD files have them give no note; others give one with the likely reason."""
    first = import_dataset(sources_in(folder)[0])
    block = first.tables["blocks"]["block_id"].to_numpy(dtype=object)
    elsewhere = first.tables["blocks"]["elsewhere"].to_numpy()
    jobs = first.tables["jobs"].groupby("destination_index")["count"].sum()
    as_od = {str(block[index]): int(n) for index, n in zip(jobs.index.to_numpy(), jobs, strict=True)}
    (folder / WAC).write_text(characteristics(as_od, "work"))
    homes = first.tables["jobs"].groupby("origin_index")["count"].sum()
    lives = {
        str(block[index]): int(n)
        for index, n in zip(homes.index.to_numpy(), homes, strict=True)
        if not elsewhere[index] and str(block[index]).startswith("44")
    }
    some = next(iter(lives))
    lives[some] += sum(first.facts["outflow"].values())
    (folder / RAC).write_text(characteristics(lives, "home"))

    def notes() -> list[str]:
        found = import_dataset(sources_in(folder)[0], public_characteristics=True).facts["notes"]
        return [text for text in found if text not in first.facts["notes"]]

    assert notes() == []
    lives[some] += 3
    (folder / RAC).write_text(characteristics(lives, "home"))
    assert ["add the aux files of those states" in text for text in notes()] == [True]
    lives[some] = 0
    (folder / RAC).write_text(characteristics(lives, "home"))
    assert ["more in 1 block: one of the files is probably of another" in text for text in notes()] == [True]
    (folder / RAC).unlink()
    as_od[next(iter(as_od))] += 1
    (folder / WAC).write_text(characteristics(as_od, "work"))
    assert ["differ in 1 block: one of the files is probably of another" in text for text in notes()] == [
        True
    ]
    sources = sources_in(folder)[0]
    main, places = (folder / f"ri_{name}.csv.gz" for name in ("od_main_JT00_2019", "xwalk"))
    sources = replace(sources, od=(main,), crosswalks=(places,))
    found = import_dataset(sources, public_characteristics=True, residents_only=True).facts["notes"]
    assert any("ri_od_aux is missing, with the workers who live in other states" in text for text in found)


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
    (folder / "ri_wac_S000_JT00_2019.copy.csv").write_text(characteristics(WORK, "work"))
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


@pytest.mark.parametrize("segment", SEGMENTS[1:])
def test_every_segment_of_the_documentation_is_recognized(segment: str, tmp_path: Path) -> None:
    """The names of the documentation, such as ia_wac_SE03_JT03_2008.csv.gz."""
    path = tmp_path / f"ct_rac_{segment}_JT05_2021.csv.gz"
    text = characteristics(HOME, "home")
    code = BANDS[segment].codes[0]
    own = {"CA": "CA01", "CE": "CE03", "CN": "CNS05"}[code[:2]]
    text = text.replace(own, "X").replace(code, own).replace("X", code) if own != code else text
    path.write_bytes(gzip.compress(text.encode()))
    assert roles_of(path) == ("characteristics",)
    found = read_characteristics(path)
    assert (found.segment, found.job_type, found.year) == (segment, "JT05", 2021)
