"""`commutemap lodes` against a server on the loopback interface, with a stand-in for the import of published files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dash import Dash

import commutemap
from geodata.sources.availability import LAST_YEAR
from geodata.sources.recognize import Sources
from geodata.sources.sources_catalog import Wanted
from mapapp.base.errors import UsageError
from mapapp.explore.server import _views_of
from mapapp.kinds.published.make.lodes_years import years_in
from tests.commands.running import Done, refused, run_here
from tests.geodata.lodes_site import BASE, site_files
from tests.geodata.samples import N_AUX_JOBS, N_MAIN_JOBS
from tests.geodata.serving import Site, described, serving

MAIN = "/data/lodes/LODES8/ri/od/ri_od_main_JT00_2022.csv.gz"
YEARS = (2020, 2021, 2022)


@dataclass
class Imports:
    """What the stand-in was asked to import, and the year at which it fails."""

    calls: list[tuple[Path, Sources, Path | None]] = field(default_factory=list)
    fails_at: str = ""
    error: type[BaseException] = KeyboardInterrupt

    def __call__(
        self, path: Path, sources: Sources, *, geography: Path | None, progress: object
    ) -> SimpleNamespace:
        if self.fails_at and self.fails_at in path.name:
            raise self.error
        self.calls.append((path, sources, geography))
        listed = [file for files in sources.roles().values() for file in files]
        claims = [{"file": file.name, "sha256": sha256(file.read_bytes()).hexdigest()} for file in listed]
        path.mkdir()
        (path / "certificate.json").write_text(json.dumps({"sources": claims}))
        return SimpleNamespace(facts={"notes": ["something was noticed"]})


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> Imports:
    stand_in = Imports()
    monkeypatch.setattr("mapapp.kinds.published.make.run.import_published", stand_in)
    return stand_in


@pytest.fixture(scope="module")
def published() -> dict[str, bytes]:
    wanted = Wanted(states=("ri", "ct"), years=YEARS, segments=True, base_map=True, base=BASE)
    return site_files(wanted)


@pytest.fixture
def site(published: dict[str, bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("COMMUTEMAP_HOME", str(tmp_path / "home"))
    with serving(dict(published)) as served:
        yield served


def lodes(site: Site, *arguments: object) -> Done:
    done = run_here("lodes", *arguments, "--base-url", site.base, "--no-serve", "-q")
    assert done.code == 0, done.err
    return done


def refusal(site: Site, *arguments: object) -> str:
    return refused("lodes", *arguments, "--base-url", site.base, "--no-serve", "-q")


def names(paths: tuple[Path, ...]) -> list[str]:
    return [path.name for path in paths]


def test_one_state_and_year_is_fetched_and_opened(site: Site, imports: Imports, tmp_path: Path) -> None:
    done = lodes(site, "ri", "--year", 2022)
    ((path, sources, geography),) = imports.calls
    assert path == tmp_path / "home" / "lodes" / "ri-2022-JT00-lodes8.published"
    assert geography is None
    assert names(sources.od) == ["ri_od_main_JT00_2022.csv.gz", "ri_od_aux_JT00_2022.csv.gz"]
    assert names(sources.crosswalks) == ["ri_xwalk.csv.gz"]
    assert names(sources.checksums) == ["lodes_ri.sha256sum"]
    assert names(sources.versions) == ["version.txt"]
    assert names(sources.tracts) == ["tl_2020_44_tract.zip"]
    assert names(sources.population) == ["CenPop2020_Mean_TR44.txt", "CenPop2020_Mean_BG44.txt"]
    assert sources.characteristics == sources.blocks == sources.base_map == ()
    assert {file.parent for file in sources.od} == {tmp_path / "home" / "cache" / "lodes8"}
    assert f"{path}: made" in done.out
    assert f"next: commutemap serve {path}" in done.out


def test_a_second_run_asks_and_makes_nothing(site: Site, imports: Imports) -> None:
    lodes(site, "ri", "--year", 2022)
    site.asked.clear()
    done = lodes(site, "Rhode Island", "--years", "2022")
    assert "present" in done.out
    assert len(imports.calls) == 1
    assert site.asked == []


def test_years_share_one_geography_and_further_ones_join_it(site: Site, imports: Imports) -> None:
    """Twenty-two years would otherwise cut the cells of a state twenty-two times."""
    lodes(site, "ri", "--year", 2021)
    lodes(site, "ri", "--years", "2020-2022")
    shared = [(path.name[:7], geography and geography.name[:7]) for path, _, geography in imports.calls]
    assert shared == [("ri-2021", None), ("ri-2020", "ri-2021"), ("ri-2022", "ri-2021")]
    for path, sources, _ in imports.calls:
        assert all(path.name[3:7] in file.name for file in sources.od)
        assert len(sources.od) == 2


def test_several_states_are_on_one_map_of_each_year(site: Site, imports: Imports) -> None:
    lodes(site, "ri", "ct", "--years", "2021-2022")
    assert [path.name for path, _, _ in imports.calls] == [
        "ct-ri-2021-JT00-lodes8.published",
        "ct-ri-2022-JT00-lodes8.published",
    ]
    sources = imports.calls[1][1]
    assert [name[:10] for name in names(sources.od)] == [
        "ri_od_main",
        "ri_od_aux_",
        "ct_od_main",
        "ct_od_aux_",
    ]
    assert names(sources.crosswalks) == ["ri_xwalk.csv.gz", "ct_xwalk.csv.gz"]
    assert [file.parent.name for file in sources.versions] == ["ri", "ct"]


def test_homes_beyond_the_border_are_placed_only_if_asked(site: Site, imports: Imports) -> None:
    lodes(site, "ri", "--year", 2022, "--origin-state", "ct")
    ((path, sources, _),) = imports.calls
    assert path.name == "ri-2022-JT00-lodes8-homes-ct.published"
    assert names(sources.crosswalks) == ["ri_xwalk.csv.gz", "ct_xwalk.csv.gz"]
    assert len(sources.od) == 2


@pytest.mark.parametrize(("option", "n_files"), [("--characteristics", 2), ("--segments", 20)])
def test_characteristics_are_of_all_workers_or_of_each_segment(
    site: Site, imports: Imports, option: str, n_files: int
) -> None:
    done = lodes(site, "ri", "--year", 2022, option)
    ((path, sources, _),) = imports.calls
    assert option[2:] in path.name
    assert len(sources.characteristics) == n_files
    # Their columns of firms hold only zeros, which are no counts.
    assert "characteristics of 2022: firm age and firm size are published for JT02" in done.out


def test_a_base_map_is_of_the_same_cache(site: Site, imports: Imports) -> None:
    lodes(site, "ri", "--year", 2022, "--basemap")
    assert names(imports.calls[0][1].base_map) == ["tl_2020_44_prisecroads.zip"]
    site.asked.clear()
    lodes(site, "ri", "--year", 2021, "--basemap")
    assert {path.rpartition("/")[2] for path in site.paths() if path[-1] != "/"} == {
        *("ri_od_main_JT00_2021.csv.gz", "ri_od_aux_JT00_2021.csv.gz", "lodes_ri.sha256sum", "version.txt"),
    }


def test_the_result_as_json(site: Site, imports: Imports) -> None:
    done = lodes(site, "ri", "--year", 2022, "--json")
    result = json.loads(done.out)
    assert [(each["year"], each["is_new"]) for each in result["publications"]] == [(2022, True)]
    assert {file["role"] for file in result["files"]} >= {"od", "crosswalk", "checksums", "version"}
    assert all(file["published"] for file in result["files"] if file["role"] in ("od", "crosswalk"))


def test_years_that_were_not_published_are_named_first_and_left_out(site: Site, imports: Imports) -> None:
    """A map without them would otherwise look like one of a year without jobs."""
    done = lodes(site, "ri", "--years", "2019-2023")
    assert done.out.splitlines()[0] == (
        "ri 2019, 2023 left out: the server lists no JT00 OD files of Rhode Island for it"
    )
    assert [path.name[:7] for path, _, _ in imports.calls] == ["ri-2020", "ri-2021", "ri-2022"]


def test_a_year_that_one_state_lacks_has_no_map_of_both(site: Site, imports: Imports) -> None:
    for part in ("main", "aux"):
        del site.files[f"/data/lodes/LODES8/ct/od/ct_od_{part}_JT00_2021.csv.gz"]
    done = lodes(site, "ri", "ct", "--years", "2020-2022")
    assert done.out.startswith(
        "ct 2021 left out: the server lists no JT00 OD files of Connecticut for it, so that"
    )
    assert [path.name[:10] for path, _, _ in imports.calls] == ["ct-ri-2020", "ct-ri-2022"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["zz", "--year", "2022"], "state 'zz': no such postal code or name"),
        (["ri", "--year", "2001"], "year 2001: LODES version 8 has 2002 or later; the nearest year is 2002"),
        (["ri", "--year", "2022", "--lodes", "7"], "the nearest year is 2019, or choose version 8"),
        (
            ["ri", "--year", "2008", "--lodes", "5"],
            "version 5 (2000 blocks) and others before 7 are not fetched",
        ),
        (["ri", "--years", "2023-2002"], "the first year is after the last; write 2002-2023"),
        (["ri", "--years", "2002 to 2023"], "give a first and a last year, such as 2002-2023"),
        (["ri", "--years", "2002-9999"], "more than a hundred years"),
        (["ri"], "give --year, such as --year 2023, or --years"),
        (["ri", "--year", "2022", "--years", "2002-2023"], "give --year, such as --year 2023, or --years"),
        (["ri", "--year", "2024"], "ri 2024 was not published"),
        (["ri", "--years", "2010-2012"], "the nearest year is 2020 (and 2 more state-years)"),
        (["pr", "--year", "2022"], "only RAC files"),
        (["gu", "--year", "2022"], "LODES has no files of Guam"),
        (["ri", "--year", "2022", "--origin-state", "gu"], "LODES has no files of Guam"),
        (["ri", "--year", "2022", "--job-type", "JT06"], "choose JT00 (all jobs) to JT05"),
        (["ri", "--year", "2022", "--job-type", "JT04"], "the server lists no JT04 OD files"),
    ],
)
def test_what_does_not_exist_is_one_line_before_anything_is_fetched(
    site: Site, imports: Imports, tmp_path: Path, arguments: list[str], words: str
) -> None:
    assert words in refusal(site, *arguments)
    assert all(path.endswith("/") for path in site.paths())
    assert not (tmp_path / "home").exists()
    assert imports.calls == []


def test_years_after_those_of_the_table_are_left_out_of_several(
    site: Site, imports: Imports, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a list, the first 404 would end a run over years of which nearly all exist."""
    site.indexes = False
    monkeypatch.setitem(LAST_YEAR, 8, 2022)
    done = lodes(site, "ri", "--years", "2021-2024")
    assert done.out.startswith("ri 2023 to 2024 left out: LODES 8 is known to end in 2022")


def test_options_come_from_a_file_too(site: Site, imports: Imports, tmp_path: Path) -> None:
    """The command has an option of its own name, which a file without sections has at its top."""
    (tmp_path / "flat.toml").write_text("lodes = 8\nyear = 2021\n")
    (tmp_path / "section.toml").write_text("[lodes]\nlodes = 8\nyear = 2022\n")
    for name in ("flat", "section"):
        lodes(site, "ri", "--config", tmp_path / f"{name}.toml")
    assert [path.name[:7] for path, _, _ in imports.calls] == ["ri-2021", "ri-2022"]


def test_json_needs_no_serve(site: Site) -> None:
    assert "add --no-serve" in refused("lodes", "ri", "--year", 2022, "--base-url", site.base, "--json")


def test_a_wrong_checksum_is_one_line_and_makes_nothing(site: Site, imports: Imports) -> None:
    site.files[MAIN] = site.files[MAIN.replace("2022", "2021")]
    assert "its sha256 is" in refusal(site, "ri", "--year", 2022)
    assert imports.calls == []


def test_a_server_of_web_pages_is_one_line(site: Site, imports: Imports) -> None:
    """A hotel's network answers every address with its own page."""
    page = b"<!DOCTYPE html><a href='login'>Sign in</a>"
    site.files = dict.fromkeys(site.files, page) | {MAIN.rpartition("/")[0] + "/": page}
    site.indexes = False
    assert "a web page instead of" in refusal(site, "ri", "--year", 2022)
    assert imports.calls == []


def test_a_full_disk_is_one_line(site: Site, imports: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None: ...

        def write(self, _: bytes) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("geodata.sources.downloading._open_partial", lambda *_: Full())
    assert "cannot write here (No space left on device)" in refusal(site, "ri", "--year", 2022)
    assert imports.calls == []


def test_without_a_network_a_filled_cache_is_enough_and_an_empty_one_says_what_to_put_where(
    site: Site, imports: Imports, tmp_path: Path
) -> None:
    with serving({}) as gone:
        pass
    said = refusal(gone, "ri", "--year", 2022, "--cache", tmp_path / "c")
    assert (
        f"put these files into {tmp_path / 'c' / 'lodes8'} (sources.json in it has their addresses)" in said
    )
    assert (
        "ri_od_main_JT00_2022.csv.gz, ri_od_aux_JT00_2022.csv.gz, ri_xwalk.csv.gz, tl_2020_44_tract.zip"
        in said
    )
    for name, entry in json.loads((tmp_path / "c" / "lodes8" / "sources.json").read_text())["files"].items():
        if name in said:
            (tmp_path / "c" / "lodes8" / name).write_bytes(site.files[entry["url"].removeprefix(gone.base)])
    lodes(gone, "ri", "--year", 2022, "--cache", tmp_path / "c")
    assert len(imports.calls) == 1


def test_ctrl_c_leaves_whole_years_and_a_cache_to_go_on_from(
    site: Site, imports: Imports, tmp_path: Path
) -> None:
    imports.fails_at = "2021"
    done = run_here("lodes", "ri", "--years", "2020-2022", "--base-url", site.base, "--no-serve", "-q")
    assert done.code == 130
    assert len(done.err.strip().splitlines()) == 1
    assert [path.name[:7] for path in (tmp_path / "home" / "lodes").iterdir()] == ["ri-2020"]
    imports.fails_at = ""
    site.asked.clear()
    lodes(site, "ri", "--years", "2020-2022")
    assert [path.name[:7] for path, _, _ in imports.calls] == ["ri-2020", "ri-2021", "ri-2022"]
    assert site.asked == []


def test_counts_of_files_that_were_published_anew_are_not_shown_as_theirs(
    site: Site, imports: Imports
) -> None:
    lodes(site, "ri", "--year", 2022)
    site.files[MAIN] = site.files[MAIN.replace("2022", "2021")]
    site.files = described({path: file for path, file in site.files.items() if "sha256sum" not in path})
    said = refusal(site, "ri", "--years", "2021-2022")  # needs a file of 2021, so the list is read anew
    assert "was made of an earlier ri_od_main_JT00_2022.csv.gz, which was published anew; remove it" in said
    assert len(imports.calls) == 1


def test_a_folder_that_is_not_counts_is_not_served(site: Site, imports: Imports, tmp_path: Path) -> None:
    (tmp_path / "out" / "ri-2022-JT00-lodes8.published").mkdir(parents=True)
    assert "not complete published counts" in refusal(site, "ri", "--year", 2022, "-o", tmp_path / "out")


def test_the_map_is_served(site: Site, imports: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[tuple[list[Path], int | None]] = []
    monkeypatch.setattr(
        "mapapp.commands.serve.serve_publications", lambda paths, *, port: served.append((paths, port))
    )
    done = run_here("lodes", "ri", "--years", "2021-2022", "--base-url", site.base, "--port", 0, "-q")
    assert done.code == 0
    assert served == [([path for path, _, _ in imports.calls], 0)]


def test_real_publications_say_what_they_were_made_of_and_are_served(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the stand-in: roles, lists, and versions must arrive where the import looks for them."""
    served: list[tuple[list[int | None], str, int]] = []

    def listen(app: Dash, host: str, port: int) -> None:
        releases = _views_of(app).releases.values()
        served.append(([release.year for release in releases], host, port))

    monkeypatch.setattr("mapapp.commands.serve._listen", listen)
    arguments = ("ri", "--years", "2021-2022", "--origin-state", "ct", "--basemap", "-o", tmp_path / "out")
    done = run_here("lodes", *arguments, "--base-url", site.base, "--port", 0, "-q")
    assert done.code == 0, done.err
    assert served == [([2021, 2022], "127.0.0.1", 0)]
    earlier, later = sorted((tmp_path / "out").iterdir())
    for place, n_more in ((earlier, 20), (later, 21)):
        certificate = json.loads((place / "certificate.json").read_text())
        assert (certificate["format_version"], certificate["data_vintage"]) == ("8.4", "20251202")
        compared = {source["role"] for source in certificate["sources"] if source["listed_sha256"]}
        assert compared == {"od", "crosswalks"}
        manifest = json.loads((place / "manifest.json").read_text())
        assert manifest["files"]["points.parquet"]["rows"] == N_MAIN_JOBS + N_AUX_JOBS + n_more
        assert (place / "roads.parquet").is_file()
    assert (earlier / "blocks.parquet").samefile(later / "blocks.parquet")


def test_python_opens_the_years_that_it_is_asked_for(site: Site, tmp_path: Path) -> None:
    """A function that opens other years than asked, or in another order."""
    options: Any = {"cache": tmp_path / "cache", "output": tmp_path / "out", "base_url": site.base}
    opened = commutemap.lodes("ri", [2022, 2021], origin_state=("ct",), **options)
    assert [release.year for release in opened] == [2021, 2022]
    for release in opened:
        jobs = max(release.certificate["totals"].values())
        assert release.profile().workers == jobs > 0


def test_years_are_a_first_and_a_last() -> None:
    assert years_in("2002-2004") == years_in(" 2002 – 2004 ") == (2002, 2003, 2004)
    assert years_in("2019") == (2019,)
    for wrong in ("", "-", "2002-", "-2002", "2002-2004-2006", "²⁰⁰²", "twenty"):
        with pytest.raises(UsageError):
            years_in(wrong)
