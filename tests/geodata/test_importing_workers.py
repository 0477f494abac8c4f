"""Worker records become workers and jobs; a cell that the schema does not allow is refused by line and column."""

from __future__ import annotations

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

from geodata.errors import GeodataError, SourceFileError, SourceRowError
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
from geodata.workers.order import sort_workers
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

    def read(self, *paths: Path, schema: str = SCHEMA) -> Commutes:
        """Read files of workers; the schema is written beside the first one."""
        columns = read_worker_columns(write_schema(paths[0].parent, schema))
        found = WorkerCommutes.of(paths, columns, scratch=paths[0].parent, threads=2)
        return found.place(self.hierarchy, self.crosswalk, silent)

    def read_text(self, folder: Path, text: str | None = None, schema: str = SCHEMA) -> Commutes:
        """Read a file of this text."""
        path = folder / "workers.csv"
        path.write_text(lines() if text is None else text, encoding="utf-8")
        return self.read(path, schema=schema)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    found = sources_in(samples.write_sources(tmp_path_factory.mktemp("sources"), polygons="none"))[0]
    crosswalk = read_crosswalks(found.crosswalks)
    year = crosswalk.vintage
    tracts, blocks = (read_boundaries((), kind, vintage=year) for kind in ("tracts", "blocks"))
    pumas = read_pumas(found.tract_puma, found.puma_names, year)
    arranged = arrange(crosswalk, read_population(found.population), pumas)
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


def test_records_with_a_combination_that_never_occurs_are_refused_without_a_count(
    ground: Ground, tmp_path: Path
) -> None:
    """Finds a rule that is not compared with the data, or a message that says more than the rule."""
    schema = f'never = [{{ sex = 1, age = 3 }}, {{ industry = 3, age = 1, sex = "X" }}]\n{SCHEMA}'
    with pytest.raises(SourceFileError) as caught:
        ground.read_text(tmp_path, schema=schema)
    assert str(caught.value) == (
        f"{tmp_path / 'workers.csv'}: some records have a combination that the schema says never occurs (never, "
        "combination 2: industry 3 and age 1 and sex X); correct the records or the schema"
    )
    allowed = schema.replace('sex = "X"', "sex = 2")
    assert rows_of(ground.read_text(tmp_path, schema=allowed), ground) == Counter(JOBS)


def changed(row: int, column: int, cell: str) -> str:
    rows = [list(each) for each in ROWS]
    rows[row][column] = cell
    return lines(tuple(map(tuple, rows)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (changed(0, 0, "4400101"), "line 2: w_block is '4400101', a block has 15 digits"),
        (changed(0, 0, "440010101009999"), "line 2: w_block 440010101009999 is not in the crosswalk"),
        (changed(1, 1, "4400101"), "line 3: h_block is no code of a block, which has 15 digits; check"),
        (changed(1, 1, "440010101009999"), "line 3: h_block is not in the crosswalk"),
        (
            changed(1, 1, "990010101009999"),
            "line 3: h_block is in no state; correct the code; for a home abroad, give one",
        ),
        (changed(2, 2, "13"), "line 4: years is not a number from 14; correct"),
        (changed(2, 2, "old"), "line 4: years is not a number from 14; correct"),
        (changed(2, 3, ""), "line 4: dollars is blank; it must be a number"),
        (changed(3, 4, "99"), "line 5: naics is not one of the codes of sector: 31, 32, 33, 44, 45, 92"),
        (changed(3, 5, ""), "line 5: sex is blank; it must be one of the codes of sex: 1, 2, X"),
        (lines(header=f"{HEADER},x"), "line 2: 7 cells, but the header has 8"),
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
        (changed(0, 0, ""), "line 2: w_block is blank; fill the cell, or leave out workers without"),
        (changed(0, 1, ""), "line 2: h_block is blank; estimate the home, because the number of workers"),
        (changed(0, 5, "\udcff"), "not UTF-8"),
    ],
)
def test_a_bad_file_is_refused_in_one_line_that_quotes_no_attribute(
    ground: Ground, tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "workers.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(GeodataError) as caught:
        ground.read(path)
    message = str(caught.value)
    assert words in message
    assert message.startswith(f"{path}: ")
    assert "\n" not in message
    assert "'13'" not in message


def test_lines_are_counted_over_all_blocks_of_a_file(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "BATCH_BYTES", 100)
    every = lines(ROWS * 4).splitlines()
    for line in (2, 9, len(every)):
        ragged = [*every[: line - 1], f"{every[line - 1]},more", *every[line:]]
        with pytest.raises(SourceFileError, match=rf"line {line}: 8 cells, but the header has 7"):
            ground.read_text(tmp_path, "\n".join(ragged))
        wrong = [*every[: line - 1], every[line - 1].replace(",", ",x", 1), *every[line:]]
        with pytest.raises(SourceRowError, match=rf"line {line}: w_block is "):
            ground.read_text(tmp_path, "\r\n".join(wrong) + "\r\n")


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


def test_a_missing_value_of_a_parquet_file_is_refused_by_row(ground: Ground, tmp_path: Path) -> None:
    names = ["w_block", "h_block", "years", "dollars", "naics", "sex"]
    frame = pandas.DataFrame(list(ROWS), columns=names).astype({"dollars": "float64"})
    path = tmp_path / "workers.parquet"
    for name in names:
        frame.assign(**{name: frame[name].where(frame.index != 3, None)}).to_parquet(path)
        with pytest.raises(SourceRowError, match=f"row 4: {name} is blank") as refused:
            ground.read(path)
        assert ("estimate the home" in str(refused.value)) == (name == "h_block")
        assert ("leave out" in str(refused.value)) == (name == "w_block")


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
