"""Worker records become workers and jobs; a cell that the schema does not allow is refused by line and column."""

from __future__ import annotations

import csv
import gzip
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest

from geodata.errors import FaultyRecordsError, GeodataError, SourceFileError
from geodata.geography.hierarchy import Hierarchy, arrange, assemble
from geodata.importing.commutes import Commutes, WorkerCommutes
from geodata.importing.importing import import_dataset, write_dataset
from geodata.progress import silent
from geodata.sources.boundaries import read_boundaries
from geodata.sources.crosswalk import Crosswalk, read_crosswalks
from geodata.sources.population import read_population
from geodata.sources.pumas import read_pumas
from geodata.sources.recognize import Sources, sources_in
from geodata.store.store import open_store
from geodata.workers import file
from geodata.workers.columns import read_worker_columns
from geodata.workers.edits import DROP_RULE, HOME_RULE, Editing
from geodata.workers.order import sort_workers
from geodata.workers.persons import JOB_NUMBER
from geodata.workers.schema import WorkerSchema
from geodata.workers.spool import WorkerArrays, WorkerSpool
from tests.geodata import samples
from tests.geodata.worker_samples import HEADER, JOBS, NEW_YORK, ROWS, SCHEMA, lines, write_schema

KEY = "0f" * 32


@dataclass(frozen=True)
class Ground:
    """The geography of the samples, made once."""

    sources: Sources
    hierarchy: Hierarchy
    crosswalk: Crosswalk

    def read(self, *paths: Path, schema: str = SCHEMA, drop_faulty: bool = False) -> Commutes:
        """Read files of workers; the schema and the edit report are written beside the first one."""
        columns = read_worker_columns(write_schema(paths[0].parent, schema))
        editing = Editing(drop_faulty=drop_faulty, report=paths[0].parent / "edits.csv")
        found = WorkerCommutes.of(paths, columns, scratch=paths[0].parent, threads=2, editing=editing)
        return found.place(self.hierarchy, self.crosswalk, silent)

    def read_text(
        self, folder: Path, text: str | None = None, schema: str = SCHEMA, *, drop_faulty: bool = False
    ) -> Commutes:
        """Read a file of this text."""
        path = folder / "workers.csv"
        path.write_text(lines() if text is None else text, encoding="utf-8")
        return self.read(path, schema=schema, drop_faulty=drop_faulty)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    found = sources_in(samples.write_sources(tmp_path_factory.mktemp("sources"), polygons="none"))[0]
    crosswalk = read_crosswalks(found.crosswalks)
    year = crosswalk.vintage
    tracts, blocks = (read_boundaries((), kind, vintage=year) for kind in ("tracts", "blocks"))
    pumas = read_pumas(found.tract_puma, found.puma_names, year)
    arranged = arrange(crosswalk, read_population(found.population), pumas, unknown_homes=True)
    hierarchy = assemble(arranged, crosswalk, pumas, tracts, blocks)
    return Ground(found, hierarchy, crosswalk)


def workers_of(made: Commutes) -> pandas.DataFrame:
    assert made.workers is not None
    return pandas.concat(map(pandas.DataFrame, made.workers.parts()), ignore_index=True)


def rows_of(made: Commutes, ground: Ground) -> Counter[tuple[object, ...]]:
    workers = workers_of(made)
    block = ground.hierarchy.tables["blocks"]["block_id"].to_numpy(dtype=object)
    places = (block[workers["destination_index"]], block[workers["origin_index"]])
    return Counter(zip(*places, *(workers[name].tolist() for name in workers.columns[2:]), strict=True))


def test_an_import_writes_workers_and_the_jobs_that_they_are(ground: Ground, tmp_path: Path) -> None:
    path = tmp_path / "workers.csv"
    path.write_text(lines(), encoding="utf-8")
    named = replace(ground.sources, workers=(path,), worker_schema=(write_schema(tmp_path),))
    write_dataset(tmp_path / "d", import_dataset(named, commitment_key=KEY, scratch=tmp_path))
    store = open_store(tmp_path / "d", "dataset")
    facts = store.manifest
    assert facts["n_jobs"] == len(JOBS)
    assert (facts["year"], facts["job_type"], facts["destination_states"]) == (2019, "JT00", ["44"])
    assert facts["elsewhere"] == {"36": 1}
    assert facts["outflow"] == {"25": 1}
    assert facts["title"] == "Rhode Island, 2019"
    roles = {source["role"]: source["rows"] for source in facts["sources"]}
    assert roles["workers"] == len(ROWS)
    assert "worker_schema" in roles
    assert "od" not in roles
    workers, jobs = store.table("workers"), store.table("jobs")
    keys = ["destination_index", "age", "earnings", "industry", "origin_index"]
    assert jobs["count"].sum() == len(workers) == len(JOBS)
    assert (jobs[keys].sort_values(keys).index == jobs.index).all()
    assert workers.groupby(keys).size().to_dict() == jobs.set_index(keys)["count"].to_dict()
    sector, sex = WorkerSchema.from_facts(facts).attributes
    assert (sector.title, sector.codes) == ("Industry", ("31-33", "44-45", "92"))
    assert sector.parents == ("work_puma", "home_puma")
    assert (sex.title, sex.labels) == ("Sex", ("Male", "Female", "Not stated"))
    assert sex.parents == ("sector", "age")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "d",
        "workers.csv",
        "workers.toml",
    ]


def test_every_worker_is_there_with_its_codes(ground: Ground, tmp_path: Path) -> None:
    assert rows_of(ground.read_text(tmp_path), ground) == Counter(JOBS)


def test_the_states_of_workplaces_do_not_depend_on_the_workers(ground: Ground, tmp_path: Path) -> None:
    """Publications show the list, so it must not reveal a worker: no sample works in Connecticut."""
    made = ground.read_text(tmp_path, schema=SCHEMA.replace('states = ["RI"]', ""))
    assert made.destination_states == sorted(ground.crosswalk.state_ids) == ["09", "44"]
    assert made.outflow == {"25": 1}


def test_the_order_of_the_file_does_not_matter(ground: Ground, tmp_path: Path) -> None:
    one = workers_of(ground.read_text(tmp_path))
    pandas.testing.assert_frame_equal(one, workers_of(ground.read_text(tmp_path, lines(ROWS[::-1]))))


def test_batches_and_several_files_give_the_same(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = workers_of(ground.read_text(tmp_path))
    first, second = tmp_path / "first.csv.gz", tmp_path / "second.csv"
    first.write_bytes(gzip.compress(lines(ROWS[:4]).encode()))
    second.write_text(lines(ROWS[4:]))
    monkeypatch.setattr(file, "BATCH_BYTES", 100)
    pandas.testing.assert_frame_equal(whole, workers_of(ground.read(first, second)))


def as_text(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame


def as_numbers(frame: pandas.DataFrame) -> pandas.DataFrame:
    kinds = {
        "w_block": "int64",
        "h_block": "int64",
        "years": "int16",
        "dollars": "float64",
        "naics": "float64",
    }
    return frame.astype(kinds)


def as_categories(frame: pandas.DataFrame) -> pandas.DataFrame:
    return frame.astype("category")


@pytest.mark.parametrize("typed", [as_text, as_numbers, as_categories])
def test_parquet_gives_the_same_as_text(
    ground: Ground, tmp_path: Path, typed: Callable[[pandas.DataFrame], pandas.DataFrame]
) -> None:
    names = ["W_BLOCK", "h_block", "years", "dollars", "naics", "sex"]
    frame = pandas.DataFrame(list(ROWS), columns=[name.lower() for name in names])
    path = tmp_path / "workers.parquet"
    typed(frame).rename(columns={"w_block": "W_BLOCK"}).to_parquet(path)
    assert rows_of(ground.read(path), ground) == Counter(JOBS)


def test_homes_by_tract_go_to_a_block_that_depends_on_the_worker_alone(
    ground: Ground, tmp_path: Path
) -> None:
    schema = SCHEMA.replace('column = "h_block"', 'column = "h_tract"\nunit = "tract"')
    header = "person,w_block,h_tract,years,dollars,naics,sex"

    def read(rows: tuple[tuple[str, ...], ...]) -> Commutes:
        by_tract = tuple((work, home[:11], *rest) for work, home, *rest in rows)
        return ground.read_text(tmp_path, lines(by_tract, header), schema)

    made = read(ROWS)
    every, fewer = rows_of(made, ground), rows_of(read(ROWS[1:]), ground)
    assert (every - fewer).total() == 1
    assert (fewer - every).total() == 0
    assert {str(home)[:11] for _, home, *_ in every} == {home[:11] for _, home, *_ in ROWS[:5]} | {"36"}
    assert any("homes are given by tract" in note for note in made.notes)


def test_many_homes_of_a_tract_spread_like_its_residents(ground: Ground, tmp_path: Path) -> None:
    schema = SCHEMA.replace('column = "h_block"', 'column = "h_block"\nunit = "tract"')
    tract = samples.RI_TRACTS[0]
    works = [samples.block_id(each, number) for each in samples.RI_TRACTS for number in range(6)]
    rows = tuple(
        (work, tract, str(age), str(pay), naics, "1")
        for work in works
        for age in (20, 40, 60)
        for pay in (1000, 2000, 4000)
        for naics in ("31", "44", "92")
    )
    commuter = (works[0], samples.CT_TRACTS[0], "20", "1000", "31", "1")
    workers = workers_of(ground.read_text(tmp_path, lines((*rows, commuter)), schema))
    blocks = ground.hierarchy.tables["blocks"]
    share = np.bincount(workers["origin_index"], minlength=len(blocks)) / len(rows)
    here = (blocks["tract_id"] == tract).to_numpy()
    residents = blocks["population"].to_numpy()[here]
    # 486 workers: a share of about 1/6 has a standard deviation of 0.017.
    assert np.abs(share[here] - residents / residents.sum()).max() < 0.09


def test_workplaces_by_tract_go_to_the_block_nearest_the_center(ground: Ground, tmp_path: Path) -> None:
    schema = SCHEMA.replace('column = "w_block"', 'column = "w_block"\nunit = "tract"')
    rows = tuple((work[:11], *rest) for work, *rest in ROWS)
    made = ground.read_text(tmp_path, lines(rows), schema)
    used = ground.hierarchy.tables["blocks"].loc[np.unique(workers_of(made)["destination_index"])]
    assert used["tract_id"].tolist() == list(samples.RI_TRACTS[:2])
    assert any("workplaces are given by tract" in note for note in made.notes)


def test_records_with_a_combination_that_never_occurs_are_faulty(ground: Ground, tmp_path: Path) -> None:
    """Finds a rule that is not compared with the data, or a message that says more than the rule."""
    schema = f'never = [{{ sex = 1, age = 3 }}, {{ industry = 3, age = 1, sex = "X" }}]\n{SCHEMA}'
    with pytest.raises(FaultyRecordsError, match="have faults"):
        ground.read_text(tmp_path, schema=schema)
    named = "industry 3 and age 1 and sex X"
    assert edits_in(tmp_path) == [
        ("6", "industry and age and sex", named, f"{named}: never, combination 2 of the schema")
    ]
    assert ground.read_text(tmp_path, schema=schema, drop_faulty=True).n_jobs == len(JOBS) - 1
    allowed = schema.replace('sex = "X"', "sex = 2")
    assert rows_of(ground.read_text(tmp_path, schema=allowed), ground) == Counter(JOBS)


def changed(row: int, column: int, cell: str) -> str:
    rows = [list(each) for each in ROWS]
    rows[row][column] = cell
    return lines(tuple(map(tuple, rows)))


def edits_in(folder: Path) -> list[tuple[str, ...]]:
    with (folder / "edits.csv").open(newline="", encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["file", "row", "column", "value", "reason"]
    assert {row[0] for row in rows} <= {"workers.csv", "workers.parquet"}
    return [tuple(row[1:]) for row in rows]


BAD_HOME = "is no code of a block, which has 15 digits; leading zeros may be lost"
NO_SEX = "it must be one of the codes of sex: 1, 2, X"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (changed(0, 0, "4400101"), ("2", "w_block", "4400101", BAD_HOME)),
        (
            changed(0, 0, "440010101009999"),
            ("2", "w_block", "440010101009999", "is not in the crosswalk of its state"),
        ),
        (changed(0, 0, "990010101009999"), ("2", "w_block", "990010101009999", "is in no state")),
        (changed(0, 0, ""), ("2", "w_block", "", "is blank")),
        (changed(1, 1, "4400101"), ("3", "h_block", "4400101", BAD_HOME)),
        (
            changed(1, 1, "440010101009999"),
            ("3", "h_block", "440010101009999", "is not in the crosswalk of its state"),
        ),
        (changed(1, 1, "990010101009999"), ("3", "h_block", "990010101009999", "is in no state")),
        (changed(0, 1, ""), ("2", "h_block", "", "is blank")),
        (changed(2, 2, "13"), ("4", "years", "13", "is not a number from 14")),
        (changed(2, 2, "old"), ("4", "years", "old", "is not a number from 14")),
        (changed(2, 3, ""), ("4", "dollars", "", "is blank; it must be a number")),
        (
            changed(3, 4, "99"),
            ("5", "naics", "99", "is not one of the codes of sector: 31, 32, 33, 44, 45, 92"),
        ),
        (changed(3, 5, " "), ("5", "sex", " ", f"is blank; {NO_SEX}")),
    ],
)
def test_a_fault_is_listed_and_refused_in_one_line_that_neither_counts_nor_quotes_it(
    ground: Ground, tmp_path: Path, text: str, fault: tuple[str, ...]
) -> None:
    """Finds a fault that is dropped in silence, a message with a value, and a report that others can read."""
    with pytest.raises(FaultyRecordsError) as caught:
        ground.read_text(tmp_path, text)
    assert str(caught.value) == (
        f"{tmp_path / 'workers.csv'}: the worker records have faults; {tmp_path / 'edits.csv'} lists them; correct "
        "them, or leave them out with --drop-faulty"
    )
    assert edits_in(tmp_path) == [fault]
    assert (tmp_path / "edits.csv").stat().st_mode & 0o777 == 0o600
    first, kind, *_ = caught.value.confidential_lines
    assert first.startswith("CONFIDENTIAL, not for publication")
    assert kind.split() == ["1", fault[1], *fault[3].split()]
    is_home = fault[1] == "h_block"
    kept = ground.read_text(tmp_path, text, drop_faulty=True)
    assert kept.n_jobs == len(JOBS) - (not is_home)
    assert kept.facts["edit_rules"] == [HOME_RULE, DROP_RULE]
    unknown = Counter(str(row[1]) for row in rows_of(kept, ground).elements())["99"]
    assert (unknown, kept.elsewhere) == (is_home, {"36": 1, **({"99": 1} if is_home else {})})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            lines(header="person,w_block,h_block,years,dollars,naics,SEXE"),
            "column 'sex' of the schema is missing",
        ),
        (
            lines(header="person,w_block,h_block,years,Naics,Sex,SEX"),
            "column 'dollars' of the schema is missing",
        ),
        (lines(header="dollars,w_block,h_block,years,naics,Sex,SEX"), "column 'sex' occurs twice"),
        (lines(()), "a header and no rows"),
        ("", "neither Parquet nor text with a header"),
        (changed(0, 5, "\udcff"), "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_in_one_line(
    ground: Ground, tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "workers.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(GeodataError) as caught:
        ground.read(path, drop_faulty=True)
    message = str(caught.value)
    assert words in message
    assert message.startswith(f"{path}: ")
    assert "\n" not in message


def test_everything_is_read_and_every_fault_of_a_row_is_listed(ground: Ground, tmp_path: Path) -> None:
    """Finds a reader that stops at the first fault, or at the first fault of a row."""
    rows = [list(row) for row in ROWS]
    rows[0][2:] = ["?", "?", "31", "1"]
    rows[3][1], rows[3][5] = "", "7"
    with pytest.raises(FaultyRecordsError) as caught:
        ground.read_text(tmp_path, lines(tuple(map(tuple, rows))))
    assert [fault[:3] for fault in edits_in(tmp_path)] == [
        ("5", "h_block", ""),
        ("2", "years", "?"),
        ("2", "dollars", "?"),
        ("5", "sex", "7"),
    ]
    assert any(line.split()[:2] == ["2", "rows"] for line in caught.value.confidential_lines)
    assert any("1  rows have a workplace in a state" in line for line in caught.value.confidential_lines)


def test_the_number_of_workers_of_a_workplace_does_not_depend_on_homes(
    ground: Ground, tmp_path: Path
) -> None:
    """Finds a row that is left out for its home: the counts of its workplace, which are published, would say so."""
    whole = workers_of(ground.read_text(tmp_path))
    for row in range(len(ROWS) - 1):
        for home in ("", "x", "440010101009999", "990010101009999"):
            rows = workers_of(ground.read_text(tmp_path, changed(row, 1, home), drop_faulty=True))
            for name in ("destination_index", "age", "earnings", "industry", "sector", "sex"):
                assert Counter(rows[name].tolist()) == Counter(whole[name].tolist())


def test_missing_codes_of_homes_are_no_faults(ground: Ground, tmp_path: Path) -> None:
    """Finds a home that the layout calls missing and that is refused, and a rule that certificates would lack."""
    schema = SCHEMA.replace('column = "h_block"', 'column = "h_block"\nmissing = ["", "-9", "9"]')
    for cell in ("", "-9", "9"):
        made = ground.read_text(tmp_path, changed(0, 1, cell), schema)
        assert (made.n_jobs, made.elsewhere) == (len(JOBS), {"36": 1, "99": 1})
        assert made.facts["edit_rules"] == [HOME_RULE]
    with pytest.raises(FaultyRecordsError):
        ground.read_text(tmp_path, changed(0, 1, "99"), schema)


def test_attributes_that_are_not_published_are_checked_and_left_behind(
    ground: Ground, tmp_path: Path
) -> None:
    """Finds an imputation flag among the attributes of a dataset, or one that nobody checks."""
    flag = SCHEMA.replace('\nparents = ["sector", "age"]', "\npublished = false")
    made = ground.read_text(tmp_path, schema=flag)
    assert list(workers_of(made).columns)[2:] == ["age", "earnings", "industry", "sector"]
    assert [each["name"] for each in made.facts["worker_attributes"]] == ["sector"]
    with pytest.raises(FaultyRecordsError):
        ground.read_text(tmp_path, changed(0, 5, "7"), flag)
    for text in (
        flag + '\n[attributes.x]\nvalues = [1, 2]\nparents = ["sex"]',
        "never = [{ age = 1, sex = 1 }]\n" + flag,
    ):
        with pytest.raises(SourceFileError, match="'sex', which does not exist"):
            ground.read_text(tmp_path, schema=text)


def test_codes_by_their_beginning_and_numbers_as_ranges(ground: Ground, tmp_path: Path) -> None:
    """Finds an industry of six digits, an age group, or dollars with a sign and commas that are faults."""
    schema = SCHEMA.replace('cells = ["31", "32", "33"]', 'cells = ["31*", "32*", "33*"]')
    cells = [
        ("25-29", "$1 to $1,250", "311812"),
        ("30 to 54", "$1,251.50", "33"),
        ("35–44", "2,000", "327"),
        ("55+", "$3,334 or more", "44"),
        ("14 - 19", "0-300", "92"),
        ("65 and over", "4000", "45"),
    ]
    rows = tuple((*row[:2], *own, row[5]) for row, own in zip(ROWS, cells, strict=False))
    text = lines(tuple((row[0], row[1], f'"{row[2]}"', f'"{row[3]}"', *row[4:]) for row in rows))
    assert rows_of(ground.read_text(tmp_path, text, schema), ground) == Counter(JOBS)
    for column, cell in (
        (2, "25-34"),
        (2, "34-30"),
        (2, "10-20"),
        (2, "30+"),
        (3, "1000-1251"),
        (4, "3"),
        (4, "*"),
    ):
        with pytest.raises(FaultyRecordsError):
            ground.read_text(tmp_path, changed(0, column, cell), schema)


PERSONS = SCHEMA + '\n[person]\ncolumn = "person"\n'


def of_persons(persons: str, rows: tuple[tuple[str, ...], ...] = ROWS) -> str:
    """A file whose rows are jobs of these persons, a letter each."""
    pairs = zip(persons, rows, strict=True)
    return "\n".join([HEADER, *(f"{person},{','.join(row)}" for person, row in pairs)])


def test_jobs_are_numbered_by_pay_within_a_person_and_identifiers_leave_no_trace(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finds numbers that depend on homes, on batches, or on the order of the file, and identifiers in a dataset."""
    text = of_persons("AABABBC")
    whole = workers_of(ground.read_text(tmp_path, text, PERSONS))
    assert list(whole.columns)[-1] == JOB_NUMBER
    numbers = Counter(zip(whole["earnings"].tolist(), whole[JOB_NUMBER].tolist(), strict=True))
    # A has the earnings 1, 2, and 3; B has 2, 1, and 3; C works in Massachusetts.
    assert numbers == Counter({(3, 0): 2, (2, 1): 2, (1, 2): 2})
    monkeypatch.setattr(file, "BATCH_BYTES", 100)
    turned = of_persons("CBBABAA", ROWS[::-1])
    pandas.testing.assert_frame_equal(whole, workers_of(ground.read_text(tmp_path, turned, PERSONS)))
    moved = tuple((row[0], ROWS[3][1], *row[2:]) for row in ROWS[:-1])
    others = workers_of(ground.read_text(tmp_path, of_persons("AABABB", moved), PERSONS))
    columns = [str(name) for name in whole if name != "origin_index"]
    first, second = (frame[columns].sort_values(columns, ignore_index=True) for frame in (whole, others))
    pandas.testing.assert_frame_equal(first, second)


def test_a_row_without_a_person_is_faulty(ground: Ground, tmp_path: Path) -> None:
    with pytest.raises(FaultyRecordsError):
        ground.read_text(tmp_path, of_persons("A B C D"[:7]), PERSONS)
    assert {(fault[1], fault[3]) for fault in edits_in(tmp_path)} == {("person", "is blank")}


def test_lines_are_counted_over_all_blocks_of_a_file(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "BATCH_BYTES", 100)
    every = lines(ROWS * 4).splitlines()
    for line in (2, 9, len(every)):
        ragged = [*every[: line - 1], f"{every[line - 1]},more", *every[line:]]
        wrong = [*every[: line - 1], every[line - 1].replace(",", ",x", 1), *every[line:]]
        for text in ("\n".join(ragged), "\r\n".join(wrong) + "\r\n"):
            with pytest.raises(FaultyRecordsError):
                ground.read_text(tmp_path, text)
            ((number, column, _, reason),) = edits_in(tmp_path)
            assert int(number) == line
            assert (column, "cells than the header" in reason) in {("(line)", True), ("w_block", False)}
        both = [*ragged, wrong[line - 1]]
        with pytest.raises(FaultyRecordsError):
            ground.read_text(tmp_path, "\n".join(both))
        assert sorted(int(fault[0]) for fault in edits_in(tmp_path)) == [line, len(every) + 1]
        assert ground.read_text(tmp_path, "\n".join(both), drop_faulty=True).n_jobs > 0


def test_a_line_longer_than_a_block_is_refused(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "BATCH_BYTES", 100)
    with pytest.raises(SourceFileError, match="not a table of comma-separated cells"):
        ground.read_text(tmp_path, lines(ROWS) + "1" * 400)


def test_a_truncated_gzip_file_is_refused(ground: Ground, tmp_path: Path) -> None:
    path = tmp_path / "workers.csv.gz"
    path.write_bytes(gzip.compress(lines(ROWS * 50).encode())[:-30])
    with pytest.raises(SourceFileError, match="truncated or damaged"):
        ground.read(path)


def test_a_missing_value_of_a_parquet_file_is_listed_by_row(ground: Ground, tmp_path: Path) -> None:
    names = ["w_block", "h_block", "years", "dollars", "naics", "sex"]
    frame = pandas.DataFrame(list(ROWS), columns=names).astype({"dollars": "float64"})
    path = tmp_path / "workers.parquet"
    for name in names:
        frame.assign(**{name: frame[name].where(frame.index != 3, None)}).to_parquet(path)
        with pytest.raises(FaultyRecordsError):
            ground.read(path)
        ((row, column, value, reason),) = edits_in(tmp_path)
        assert (row, column, value) == ("4", name, "")
        assert reason.startswith("is blank")


def test_workplaces_of_another_vintage_are_refused_as_such(ground: Ground, tmp_path: Path) -> None:
    rows = tuple((work[:11] + "9999", *rest) for work, *rest in ROWS)
    with pytest.raises(SourceFileError, match="probably another vintage"):
        ground.read_text(tmp_path, lines(rows))


def test_workplaces_need_a_crosswalk(ground: Ground, tmp_path: Path) -> None:
    with pytest.raises(SourceFileError, match="states lists 25, but no crosswalk"):
        ground.read_text(tmp_path, schema=SCHEMA.replace('["RI"]', '["MA"]'))
    with pytest.raises(SourceFileError, match="no workplace in RI"):
        ground.read_text(tmp_path, lines(ROWS[-1:]))
    with pytest.raises(SourceFileError, match="need one schema"):
        import_dataset(replace(ground.sources, workers=(tmp_path / "workers.csv",)), commitment_key=KEY)


def test_a_home_elsewhere_may_have_any_block(ground: Ground, tmp_path: Path) -> None:
    assert ground.read_text(tmp_path, changed(0, 1, NEW_YORK[:11] + "9999")).elsewhere == {"36": 2}


def test_a_parquet_file_that_ends_early_is_refused(ground: Ground, tmp_path: Path) -> None:
    path = tmp_path / "workers.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"w_block": ["1"] * 100}), path)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(SourceFileError, match="damaged Parquet"):
        ground.read(path)


def test_parts_have_about_as_many_workers_however_many_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory grows with a part, so a part ends where it has enough; no workplace is in two."""
    monkeypatch.setattr("geodata.workers.spool._ROWS_AT_ONCE", 1_000)
    rng = np.random.default_rng(3)
    n, n_blocks = 20_000, 50_000
    work = rng.integers(0, n_blocks // 10, n)
    work[:3_000] = 4_321  # one large workplace
    columns = {name: rng.integers(1, 4, n).astype(np.int8) for name in ("age", "earnings", "industry")}
    workers: WorkerArrays = {
        "destination_index": work.astype(np.int32),
        "origin_index": rng.integers(0, n_blocks, n).astype(np.int32),
        **columns,
    }
    spool = WorkerSpool(tmp_path, n_blocks, {})
    for first in range(0, n, 7_000):
        spool.add({name: values[first : first + 7_000] for name, values in workers.items()})
    parts = list(spool.parts())
    sizes = [part["destination_index"].size for part in parts]
    assert sum(sizes) == n
    assert len(sizes) > 15
    assert sorted(sizes)[-2] <= 1_000 < 3_000 <= max(sizes)
    joined = {name: np.concatenate([part[name] for part in parts]) for name in workers}
    for name, values in sort_workers(workers, n_blocks, {}).items():
        assert (joined[name] == values).all()
    ends = [(part["destination_index"][0], part["destination_index"][-1]) for part in parts]
    assert all(last < following for (_, last), (following, _) in pairwise(ends))
    assert list(WorkerSpool(tmp_path, n_blocks, {}).parts()) == []
