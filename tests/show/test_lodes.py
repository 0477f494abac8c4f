"""The LODES layout: what was exported is imported again, and read by a plain reader, as the same jobs."""

from __future__ import annotations

import datetime
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pandas
import pytest

from geodata.importing.importing import import_dataset
from geodata.sources.checksums import parse_checksums
from geodata.sources.lodes import AGE, COUNTS, EARNINGS, INDUSTRY, read_od
from geodata.sources.recognize import sources_in
from geodata.store.store import open_store
from mapapp.base.errors import UsageError
from mapapp.show.exports.release_export import export_release
from tests.commands.running import run_here
from tests.geodata.samples import write_sources
from tests.releases import rewrite_table, write_release

COLUMNS = ["w_geocode", "h_geocode", *COUNTS, "createdate"]


def margins(release: Path) -> Any:
    """Jobs by pair of geocodes with LODES's margins, counted from the tables in the plainest way."""
    store = open_store(release, "release")
    code = store.table("blocks", ["block_id"])["block_id"].str.ljust(15, "0")
    jobs = store.table("jobs")
    frame = pandas.DataFrame({"w": code.iloc[jobs["destination_index"]].to_numpy()})
    frame["h"] = code.iloc[jobs["origin_index"]].to_numpy()
    frame["S000"] = jobs["count"]
    for names, column in ((AGE, "age"), (EARNINGS, "earnings"), (INDUSTRY, "industry")):
        for band, name in enumerate(names, 1):
            frame[name] = jobs["count"].where(jobs[column] == band, 0)
    return frame.groupby(["w", "h"]).sum()


def plainly(folder: Path) -> dict[str, Any]:
    return {file.name: pandas.read_csv(file, dtype=str) for file in sorted(folder.glob("*.csv.gz"))}


@pytest.fixture(scope="module")
def folder(demo_release: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lodes") / "out"
    export_release(demo_release, "lodes", path)
    return path


def test_a_plain_reader_has_the_same_jobs(folder: Path, demo_release: Path) -> None:
    files = plainly(folder)
    assert list(files) == [f"x{s}_od_{kind}_JT00_2023.csv.gz" for s in "ab" for kind in ("aux", "main")]
    for name, frame in files.items():
        assert list(frame.columns) == COLUMNS
        assert set(frame["w_geocode"].str.len()) == set(frame["h_geocode"].str.len()) == {15}
        assert frame["w_geocode"].str[:2].nunique() == 1
        assert ((frame["w_geocode"].str[:2] == frame["h_geocode"].str[:2]) == ("main" in name)).all()
        assert frame[["w_geocode", "h_geocode"]].apply(tuple, axis=1).is_monotonic_increasing
        assert set(frame["createdate"]) == {"20231231"}
    found = pandas.concat(files.values()).set_index(["w_geocode", "h_geocode"])
    found = found[list(COUNTS)].astype(int).sort_index()
    pandas.testing.assert_frame_equal(found, margins(demo_release), check_names=False, check_dtype=False)


def test_checksums_are_those_of_the_files(folder: Path) -> None:
    found: dict[str, str] = {}
    for file in folder.glob("lodes_x?.sha256sum"):
        found |= parse_checksums(file.read_text(encoding="ascii"))
    files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.glob("*.csv.gz")}
    assert found == files
    header = (folder / "xa_od_main_JT00_2023.csv.gz").read_bytes()[:10]
    assert header[4:8] == b"\0\0\0\0", "no clock in a gzip header"


def test_homes_known_by_state_are_said_and_counted(demo_release: Path, tmp_path: Path) -> None:
    done = run_here("export", demo_release, tmp_path / "x", "--to", "lodes", "-q")
    assert done.code == 0
    (line,) = done.err.strip().splitlines()
    jobs = margins(demo_release).reset_index()
    n = jobs.loc[jobs["h"].str.endswith("0" * 13), "S000"].sum()
    assert n > 0
    assert line.startswith(f"{n:,} jobs have homes in 2 states outside the mapped area")
    assert line in (tmp_path / "x" / "README.txt").read_text(encoding="utf-8")


def write_crosswalk(release: Path, file: Path, *, elsewhere: bool) -> None:
    """A crosswalk of a release's blocks; for a made-up country its states elsewhere are blocks too."""
    blocks = open_store(release, "release").table("blocks")
    if not elsewhere:
        blocks = blocks[~blocks["elsewhere"]]
    frame = pandas.DataFrame({"tabblk2010": blocks["block_id"].str.ljust(15, "0")})
    code = frame["tabblk2010"]
    frame = frame.assign(st=code.str[:2], stusps="XX", stname="State " + code.str[:2])
    frame = frame.assign(cty=code.str[:5], ctyname="County", trct=code.str[:11], trctname="Tract")
    frame = frame.assign(blklatdd=blocks["lat_deg"], blklondd=blocks["lon_deg"], createdate="20200101")
    frame.to_csv(file, index=False)


def imported(folder: Path) -> Any:
    """Margins of the jobs of an import, by geocodes."""
    made = import_dataset(sources_in(folder)[0])
    code = made.tables["blocks"]["block_id"].str.ljust(15, "0")
    jobs = made.tables["jobs"]
    frame = pandas.DataFrame({"w": code.iloc[jobs["destination_index"]].to_numpy()})
    frame["h"] = code.iloc[jobs["origin_index"]].to_numpy()
    frame["S000"] = jobs["count"].to_numpy()
    for names, column in ((AGE, "age"), (EARNINGS, "earnings"), (INDUSTRY, "industry")):
        for band, name in enumerate(names, 1):
            frame[name] = jobs["count"].where(jobs[column] == band, 0).to_numpy()
    return frame.groupby(["w", "h"]).sum()


def test_our_importer_takes_the_demo_back(folder: Path, demo_release: Path, tmp_path: Path) -> None:
    for file in folder.glob("*.csv.gz"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    write_crosswalk(demo_release, tmp_path / "xwalk.csv", elsewhere=True)
    pandas.testing.assert_frame_equal(imported(tmp_path), margins(demo_release), check_dtype=False)


def test_our_importer_takes_states_elsewhere_back(tmp_path: Path) -> None:
    """Sources with homes in New York, of which there is no crosswalk: to a release, out, and in again."""
    sources = write_sources(tmp_path / "sources")
    dataset, release = tmp_path / "d", tmp_path / "r"
    for arguments in (
        ("import", dataset, "--from", sources, "-q"),
        ("synthesize", dataset, release, "--preset", "onthemap-v3", "--test-key", "-q"),
        ("export", release, tmp_path / "out", "--to", "lodes", "-q"),
    ):
        done = run_here(*arguments)
        assert done.code == 0, done.err
    for file in sources.glob("*_od_*"):
        file.unlink()
    for file in (tmp_path / "out").iterdir():  # all of it: notes and checksums are no hindrance
        (sources / file.name).write_bytes(file.read_bytes())
    again = imported(sources)
    pandas.testing.assert_frame_equal(again, margins(release), check_dtype=False)
    assert again["S000"].sum() == 24


def test_a_release_without_a_year_or_block_codes(tmp_path: Path) -> None:
    release = write_release(tmp_path / "r", n_pairs=20)
    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    manifest["year"] = None
    (release / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    with pytest.raises(UsageError, match="does not state the year"):
        export_release(release, "lodes", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_a_chosen_date_and_a_known_state(tmp_path: Path) -> None:
    release = write_release(tmp_path / "r", n_pairs=50)  # state 10 is Delaware
    export_release(release, "lodes", tmp_path / "x", date=datetime.date(2021, 10, 18))
    text = gzip.decompress((tmp_path / "x" / "de_od_main_JT00_2019.csv.gz").read_bytes()).decode()
    assert all(line.endswith(",20211018") for line in text.splitlines()[1:])


@pytest.mark.parametrize("residents_only", [False, True])
def test_that_nobody_commutes_in_is_said_by_a_file_without_rows(residents_only: bool, tmp_path: Path) -> None:
    release = write_release(tmp_path / "r", n_pairs=50)
    rewrite_table(release, "jobs", lambda jobs: jobs.assign(origin_index=jobs["destination_index"]))
    if residents_only:
        manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
        (release / "manifest.json").write_text(json.dumps(manifest | {"residents_only": ["10"]}))
    export_release(release, "lodes", tmp_path / "x")
    aux = tmp_path / "x" / "de_od_aux_JT00_2019.csv.gz"
    assert aux.exists() != residents_only
    said = "was not written" if residents_only else "has a header and no rows"
    assert f"{aux.name} {said}" in (tmp_path / "x" / "README.txt").read_text(encoding="utf-8")
    if not residents_only:
        read = read_od(aux)
        assert (read.state_id, read.text.rows, read.counts_commuters) == ("10", 0, True)
