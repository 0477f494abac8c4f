"""`commutemap import --zones --flows`, and what other commands make of its datasets and published counts."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from geodata.store.store import open_store
from geodata.store.zones import ELSEWHERE
from mapapp.answers.release import Release
from tests.commands.running import refused, run_here
from tests.geodata import zone_samples as samples

DOCS = Path(__file__).parents[2] / "docs" / "zones.md"
SHARED = Path(__file__).parents[3] / "shared" / "data" / "zones"
_STORES = (".published", ".dataset", ".release")
N_TRIPS = int(samples.counts().sum())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files, a dataset, a release of it, and published counts, all made by commands."""
    place = tmp_path_factory.mktemp("zones")
    samples.write_polygons(place / "zones.geojson")
    samples.write_pairs(place / "flows.csv")
    files = ("--zones", place / "zones.geojson", "--flows", place / "flows.csv", "-q")
    for arguments in (
        ("import", place / "here.published", *files, "--published", "--declare-public", samples.PUBLISHER),
        ("import", place / "here.dataset", *files, "--counts-are-public", "Trips 2020, table 3"),
        ("synthesize", place / "here.dataset", place / "here.release", "--preset", "recommended", "-q"),
    ):
        done = run_here(*arguments)
        assert done.code == 0, done.err
    return place


@pytest.mark.parametrize("name", ["here.published", "here.release"])
def test_what_is_made_of_zones_is_certified(name: str, folder: Path) -> None:
    """A fact, table, or total that the check of another kind of geography refuses would fail."""
    done = run_here("certify", folder / name)
    assert done.code == 0, done.out + done.err
    assert "FAIL" not in done.out


def test_published_flows_are_exact_by_zone_and_by_district(folder: Path) -> None:
    """A layer that mixes up zones would give other sums than the file."""
    release = Release.open(folder / "here.published")
    trips, code = samples.counts(), samples.codes()
    answer = release.destinations("zone:000", side="work", layer="zone")
    shown = {row["unit_id"]: row["workers"] for row in answer.units.to_dict("records")}
    assert shown == {code[row]: int(n) for row, n in enumerate(trips[:, 0]) if n}
    matrix = release.flow_matrix("district", "district")
    assert int(matrix.workers) == N_TRIPS
    assert list(release.areas.columns) == ["zone", "district"]


def test_a_release_keeps_the_trips_to_each_zone(folder: Path) -> None:
    """Numbers by destination are public and must not change."""
    jobs, code = (open_store(folder / "here.release", "release").table(name) for name in ("jobs", "blocks"))
    drawn = jobs.groupby(code["tract_id"].to_numpy()[jobs["destination_index"]])["count"].sum()
    wanted = {
        zone: int(n) for zone, n in zip(samples.codes(), samples.counts().sum(axis=0), strict=True) if n
    }
    assert drawn.to_dict() == wanted
    assert ELSEWHERE in set(code["tract_id"])


def test_questions_exports_and_reports_know_zones(folder: Path, tmp_path: Path) -> None:
    """A command that looks for counties or tracts would refuse, or write empty files."""
    release = folder / "here.release"
    asked = run_here("ask", release, "Where do workers of Zone 1 live?", "--json")
    assert asked.code == 0, asked.err
    assert run_here("report", release, "--area", "Zone 1", "-o", tmp_path / "r.html", "-q").code == 0
    exported = run_here("export", release, tmp_path / "csv", "--to", "csv", "--json", "-q")
    assert exported.code == 0, exported.err
    assert {"zone.csv", "district.csv"} <= set(json.loads(exported.out)["files"])
    assert not {"county.csv", "tract.csv"} & set(json.loads(exported.out)["files"])


def test_what_needs_american_files_says_so_in_one_line(folder: Path, tmp_path: Path) -> None:
    """A command that went on would make up blocks, ages, or counties."""
    release, dataset = folder / "here.release", folder / "here.dataset"
    assert "zones of another" in refused("export", release, tmp_path / "lodes", "--to", "lodes", "-q")
    assert "no attributes of people" in refused("records", dataset, tmp_path / "r", "--given-segments", "-q")
    table = ("table", dataset, tmp_path / "t", "--rows", "zone", "--columns", "age", "--counts", "same-unit")
    assert "no attributes" in refused(*table, "--prior", folder / "here.published", "-q", "--dry-run")
    assert "has zone, district" in refused("analyze", release, "--layer", "county", "-q")
    assert "no cross table" in refused("analyze", release, "--analysis", "cross-table", "-q")


def test_options_that_do_not_go_together_are_refused(folder: Path, tmp_path: Path) -> None:
    """An option that was left unheeded would make its user believe in it."""
    zones, flows = ("--zones", folder / "zones.geojson"), ("--flows", folder / "flows.csv")
    target = tmp_path / "x"
    assert "needs --flows" in refused("import", target, *zones)
    assert "--flows goes with --zones" in refused("import", target, *flows)
    assert "--from and --zones" in refused("import", target, *zones, *flows, "--from", folder)
    assert "--round goes with --published" in refused("import", target, *zones, *flows, "--round")
    assert "--declare-public 'publisher" in refused("import", target, *zones, *flows, "--published")
    assert not target.exists()


def test_undeclared_counts_make_no_release_for_release(folder: Path, tmp_path: Path) -> None:
    """Numbers by destination are shown exactly, so nobody may publish them before they are public."""
    dataset, release = tmp_path / "d", tmp_path / "r"
    done = run_here(
        "import", dataset, "--zones", folder / "zones.geojson", "--flows", folder / "flows.csv", "-q"
    )
    assert "no release of this dataset is for release" in done.out
    done = run_here("synthesize", dataset, release, "-q")
    assert "not for release: the numbers of trips to each destination" in done.out


def test_explain_only_prints(folder: Path, tmp_path: Path) -> None:
    """A look at the columns must write nothing."""
    files = ("--zones", folder / "zones.geojson", "--flows", folder / "flows.csv")
    done = run_here("import", tmp_path / "x", *files, "--explain")
    assert 'code = "zone_code"' in done.out
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "heading", ["Leeds: 107 points", "A release of confidential trips", "The districts of the United"]
)
def test_the_commands_of_the_documentation_run(heading: str, tmp_path: Path) -> None:
    """A page whose commands fail on the files that it is about would send every newcomer away."""
    if not (SHARED / "leeds_msoa_points.csv").exists():
        pytest.skip("the files of other countries are absent")
    section = DOCS.read_text(encoding="utf-8").split(f"## {heading}", 1)[1].split("\n## ", 1)[0]
    lines = [line.strip() for line in section.splitlines() if line.startswith("    commutemap ")]
    assert len(lines) == 4
    for line in lines:
        name, *arguments = shlex.split(line)[1:]
        if name == "serve":
            assert Release.open(tmp_path / arguments[0]).areas.columns["zone"]
            continue
        placed = [
            str(SHARED / word)
            if (SHARED / word).exists()
            else str(tmp_path / word)
            if word.endswith(_STORES)
            else word
            for word in arguments
        ]
        done = run_here(name, *placed, *(["-q"] if name in ("import", "synthesize") else []))
        assert done.code == 0, (line, done.out, done.err)
