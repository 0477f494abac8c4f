"""Fetching against a server on the loopback interface that serves the bureau's paths, and misbehaves."""

from __future__ import annotations

import gc
import gzip
import io
import json
import warnings
import zipfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodata.errors import SourceFileError, StoreError
from geodata.progress import Progress, silent
from geodata.sources.checksums import parse_checksums
from geodata.sources.downloading import NoConnection, Retry, download
from geodata.sources.fetch import Fetched, fetch
from geodata.sources.sources_catalog import Wanted, sources_of
from geodata.store.atomic_writes import claim_place
from tests.geodata import samples
from tests.geodata.serving import Site, described, serving

MAIN = "/data/lodes/LODES8/ri/od/ri_od_main_JT00_2019.csv.gz"
XWALK = "/data/lodes/LODES8/ri/ri_xwalk.csv.gz"
SUMS = "/data/lodes/LODES8/ri/lodes_ri.sha256sum"
VERSION = "/data/lodes/LODES8/ri/version.txt"
INDEX = "/data/lodes/LODES8/ri/od/"
TRACTS = "/geo/tiger/TIGER2020/TRACT/tl_2020_44_tract.zip"
NAMES = "/geo/docs/reference/puma2020/2020_PUMA_Names.txt"
QUICK = Retry(attempts=3, pause_s=0.0, timeout_s=5.0)


def content_of(path: str) -> bytes:
    """Something that is what the name says, and that no compression makes short."""
    noise = np.random.default_rng(len(path)).bytes(240_000)
    if path.endswith(".gz"):
        return gzip.compress(noise, mtime=0)
    if path.endswith(".zip"):
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            archive.writestr(zipfile.ZipInfo("tract.shp"), noise)
        return out.getvalue()
    return (path.encode() + b"\n") * 4_000


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    files = {}
    for source in sources_of(Wanted(states=("ri",), years=(2019,), blocks=True, base="http://x")):
        path = source.url.removeprefix("http://x")
        files[path] = content_of(path)
    with serving(described(files)) as served:
        yield served


def wanted(site: Site, **options: Any) -> Wanted:
    usual: dict[str, Any] = {"states": ("ri",), "years": (2019,), "base": site.base}
    return Wanted(**usual | options)


def fetched(
    site: Site,
    directory: Path,
    *,
    retry: Retry = QUICK,
    progress: Progress = silent,
    cache: bool = False,
    refresh: bool = False,
    **options: Any,
) -> list[Fetched]:
    asked = wanted(site, **options)
    return fetch(directory, asked, cache=cache, refresh=refresh, retry=retry, progress=progress)


def refusal(site: Site, directory: Path, **options: Any) -> str:
    with pytest.raises(SourceFileError) as caught:
        fetched(site, directory, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def plan(directory: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((directory / "sources.json").read_text())
    return content


def test_a_fresh_directory_gets_every_file_verified(site: Site, tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    results = fetched(site, tmp_path / "d", blocks=True, progress=lambda *step: steps.append(step))
    assert {result.role for result in results} == {
        *("od", "crosswalk", "tracts", "blocks", "tract_puma", "puma_names"),
        *("tract_population", "block_group_population", "checksums", "version"),
    }
    kept = {result.file.relative_to(tmp_path / "d").parts[0] for result in results}
    assert names(tmp_path / "d") == kept | {"sources.json"}
    assert (tmp_path / "d" / "ri" / "version.txt").read_bytes() == site.files[VERSION]
    for result in results:
        content = site.files[result.url.removeprefix(site.base)]
        assert result.status == "downloaded"
        assert result.file.read_bytes() == content
        assert result.sha256 == sha256(content).hexdigest()
        assert result.n_bytes == len(content)
        assert result.published == (result.role in ("od", "crosswalk"))
    assert names(tmp_path) == {"d"}
    assert steps[-1][1] == steps[-1][2] > 0
    assert site.paths().count(SUMS) == 1


def listed(site: Site, path: str, content: bytes) -> None:
    """Let the server have a file of Rhode Island's LODES, and list it."""
    site.files[path] = content
    site.files |= described(
        {path: file for path, file in site.files.items() if path.startswith("/data/lodes/LODES8/ri/")}
    )


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_files_are_compared_with_either_spelling_of_the_list(site: Site, tmp_path: Path, suffix: str) -> None:
    """The bureau's list is of decompressed text, a mirror's may be of files: neither may pass for "no list"."""
    site.files = described(site.files, suffix=suffix)
    results = {result.file.name: result for result in fetched(site, tmp_path / "right")}
    assert results["ri_od_main_JT00_2019.csv.gz"].published
    assert results["ri_od_main_JT00_2019.csv.gz"].sha256 == sha256(site.files[MAIN]).hexdigest()
    assert {result.status for result in fetched(site, tmp_path / "right")} == {"present"}
    site.files[MAIN] = gzip.compress(b"not what the list is of", mtime=0)
    assert "its sha256 is" in refusal(site, tmp_path / "wrong")
    assert not (tmp_path / "wrong" / "ri_od_main_JT00_2019.csv.gz").exists()


@pytest.mark.parametrize("refresh", [False, True])
def test_a_file_that_was_published_anew_replaces_the_earlier_one(
    site: Site, tmp_path: Path, refresh: bool
) -> None:
    """Only corrected files are in a later vintage: an old one beside the new list would be of no vintage at all."""
    del site.files[NAMES]
    fetched(site, tmp_path)
    listed(site, MAIN, gzip.compress(b"corrected", mtime=0))
    assert "downloaded" not in {result.status for result in fetched(site, tmp_path)}  # nothing is asked
    if refresh:
        site.files[NAMES] = content_of(NAMES)
    else:
        (tmp_path / "ri_od_aux_JT00_2019.csv.gz").unlink()
    status = {result.file.name: result.status for result in fetched(site, tmp_path, refresh=refresh)}
    assert status["2020_PUMA_Names.txt"] == ("downloaded" if refresh else "missing")
    assert status["ri_od_main_JT00_2019.csv.gz"] == status["lodes_ri.sha256sum"] == "downloaded"
    assert status["ri_xwalk.csv.gz"] == "present"
    assert (tmp_path / "ri_od_main_JT00_2019.csv.gz").read_bytes() == site.files[MAIN]


def test_a_folder_of_an_earlier_version_is_verified_again_and_kept(site: Site, tmp_path: Path) -> None:
    """Its `published` says that a list was read, although the bureau's names were never found in it."""
    fetched(site, tmp_path)
    content = plan(tmp_path)
    for entry in content["files"].values():
        entry.pop("listed", None)
        entry["published"] = False
    (tmp_path / "sources.json").write_text(json.dumps(content))
    results = fetched(site, tmp_path)
    assert {result.status for result in results} == {"present"}
    assert {result.role for result in results if result.published} == {"od", "crosswalk"}


def test_a_part_damaged_on_the_way_is_downloaded_once_more(site: Site, tmp_path: Path) -> None:
    """Half of one gzip file and half of another cannot be decompressed to be compared."""
    fetched(site, tmp_path)
    file = tmp_path / "ri_od_main_JT00_2019.csv.gz"
    file.unlink()
    (tmp_path / f".{file.name}.part").write_bytes(site.files[MAIN][:10] + b"x" * 1_000)
    content = plan(tmp_path)
    content["files"][file.name]["validator"] = etag_of(site, MAIN)
    (tmp_path / "sources.json").write_text(json.dumps(content))
    fetched(site, tmp_path)
    assert file.read_bytes() == site.files[MAIN]


def test_a_base_map_has_the_water_of_every_county_of_the_crosswalk(site: Site, tmp_path: Path) -> None:
    listed(site, XWALK, gzip.compress(samples.crosswalk(samples.RI_TRACTS, 8).encode(), mtime=0))
    tiger = "/geo/tiger/TIGER2020"
    base = {
        "/geo/tiger/GENZ2020/shp/cb_2020_44_tract_500k.zip": "shore",
        f"{tiger}/PRISECROADS/tl_2020_44_prisecroads.zip": "roads",
        f"{tiger}/RAILS/tl_2020_us_rails.zip": "rails",
        f"{tiger}/AREAWATER/tl_2020_44001_areawater.zip": "water",
        f"{tiger}/AREAWATER/tl_2020_44003_areawater.zip": "water",
    }
    site.files |= {path: content_of(path) for path in list(base)[:-1]}
    results = {
        result.url.removeprefix(site.base): result for result in fetched(site, tmp_path, base_map=True)
    }
    assert {path: results[path].role for path in base} == base
    assert [results[path].status for path in base] == ["downloaded"] * 4 + [
        "missing"
    ]  # one county has no water
    assert set(plan(tmp_path)["files"]) >= {path.rpartition("/")[2] for path in base}
    site.asked.clear()
    fetched(site, tmp_path, base_map=True)
    assert site.paths() == []


def test_what_is_there_and_right_costs_no_connection(site: Site, tmp_path: Path) -> None:
    fetched(site, tmp_path)
    site.asked.clear()
    results = fetched(site, tmp_path)
    assert {result.status for result in results} == {"present"}
    assert site.asked == []


def test_a_broken_download_is_resumed_at_once(site: Site, tmp_path: Path) -> None:
    site.broken[MAIN] = 1_000
    results = fetched(site, tmp_path)
    assert results[0].file.read_bytes() == site.files[MAIN]
    assert [asked for path, asked in site.asked if path == MAIN] == ["", "bytes=1000-"]


@pytest.mark.parametrize("path", [MAIN, TRACTS])
def test_an_interrupted_run_leaves_a_part_and_the_next_goes_on(
    site: Site, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(stage: str, done: int, _total: int) -> None:
        if path.rpartition("/")[2] in stage and done:
            raise KeyboardInterrupt

    file = tmp_path / path.rpartition("/")[2]
    monkeypatch.setattr("geodata.sources.downloading._CHUNK", 5_000)
    with pytest.raises(KeyboardInterrupt):
        fetched(site, tmp_path, progress=interrupt)
    assert not file.exists()
    assert (tmp_path / f".{file.name}.part").stat().st_size == 5_000
    site.asked.clear()
    fetched(site, tmp_path)
    assert file.read_bytes() == site.files[path]
    assert (path, "bytes=5000-") in site.asked
    assert not list(tmp_path.glob(".*"))


def test_a_file_that_changed_meanwhile_is_not_joined_to_its_old_part(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(stage: str, done: int, _total: int) -> None:
        if "tract.zip" in stage and done:
            raise KeyboardInterrupt

    monkeypatch.setattr("geodata.sources.downloading._CHUNK", 5_000)
    with pytest.raises(KeyboardInterrupt):
        fetched(site, tmp_path, progress=interrupt)
    site.files[TRACTS] = content_of("another edition.zip")
    fetched(site, tmp_path)
    assert (tmp_path / "tl_2020_44_tract.zip").read_bytes() == site.files[TRACTS]


def test_a_server_without_ranges_sends_all_of_it_again(site: Site, tmp_path: Path) -> None:
    site.ranges = False
    site.broken[MAIN] = 1_000
    fetched(site, tmp_path)
    assert (tmp_path / "ri_od_main_JT00_2019.csv.gz").read_bytes() == site.files[MAIN]


@pytest.mark.parametrize("left", [b"x" * 300_000, b"x" * 100])
def test_a_spoiled_part_is_thrown_away(site: Site, tmp_path: Path, left: bytes) -> None:
    fetched(site, tmp_path)
    file = tmp_path / "ri_od_main_JT00_2019.csv.gz"
    file.unlink()
    (tmp_path / f".{file.name}.part").write_bytes(left)
    content = plan(tmp_path)
    content["files"][file.name]["validator"] = etag_of(site, MAIN)
    (tmp_path / "sources.json").write_text(json.dumps(content))
    fetched(site, tmp_path)
    assert file.read_bytes() == site.files[MAIN]
    assert not list(tmp_path.glob(".*"))


def etag_of(site: Site, path: str) -> str:
    from hashlib import md5

    return f'"{md5(site.files[path]).hexdigest()}"'


def test_a_wrong_published_checksum_removes_the_file_and_says_so(site: Site, tmp_path: Path) -> None:
    digest = sha256(gzip.decompress(site.files[XWALK])).hexdigest()
    site.files[SUMS] = site.files[SUMS].replace(digest.encode(), b"0" * 64)
    message = refusal(site, tmp_path)
    assert "ri_xwalk.csv.gz" in message
    assert "000000000000" in message
    assert "removed" in message
    assert not any("xwalk" in name for name in names(tmp_path))
    assert (tmp_path / "ri_od_main_JT00_2019.csv.gz").exists()


def test_a_file_altered_since_it_came_is_removed_and_fetched_by_the_next_run(
    site: Site, tmp_path: Path
) -> None:
    fetched(site, tmp_path)
    file = tmp_path / "tl_2020_44_tract.zip"
    file.write_bytes(b"altered")
    assert "removed" in refusal(site, tmp_path)
    assert not file.exists()
    fetched(site, tmp_path)
    assert file.read_bytes() == site.files[TRACTS]


def test_a_file_put_there_by_hand_is_compared_with_the_published_checksum(site: Site, tmp_path: Path) -> None:
    (tmp_path / "ri_xwalk.csv.gz").write_bytes(site.files[XWALK])
    results = {result.file.name: result for result in fetched(site, tmp_path)}
    assert results["ri_xwalk.csv.gz"].status == "present"
    assert results["ri_xwalk.csv.gz"].published
    assert XWALK not in site.paths()


def test_without_published_checksums_they_are_recorded(site: Site, tmp_path: Path) -> None:
    del site.files[SUMS]
    results = fetched(site, tmp_path)
    assert not any(result.published for result in results)
    assert plan(tmp_path)["files"]["ri_xwalk.csv.gz"]["sha256"] == sha256(site.files[XWALK]).hexdigest()


def test_what_is_not_there_is_said_with_its_address(site: Site, tmp_path: Path) -> None:
    del site.files[MAIN]
    site.indexes = False
    message = refusal(site, tmp_path)
    assert MAIN in message
    assert "404" in message
    assert site.paths().count(MAIN) == 1


def test_names_of_pumas_can_be_missing(site: Site, tmp_path: Path) -> None:
    del site.files[NAMES]
    status = {result.role: result.status for result in fetched(site, tmp_path)}
    assert status["puma_names"] == "missing"
    assert status["tract_puma"] == "downloaded"


def test_a_server_error_is_tried_again(site: Site, tmp_path: Path) -> None:
    site.errors[MAIN] = [503, 500]
    site.errors[SUMS] = [503]
    fetched(site, tmp_path)
    assert site.paths().count(MAIN) == 3


def test_a_server_that_stays_down_is_given_up(site: Site, tmp_path: Path) -> None:
    site.errors[TRACTS] = [503] * 9
    message = refusal(site, tmp_path)
    assert "503" in message
    assert "3 attempts" in message
    assert site.paths().count(TRACTS) == 3


def test_a_refusal_is_not_tried_again(site: Site, tmp_path: Path) -> None:
    site.errors[TRACTS] = [403]
    assert "403" in refusal(site, tmp_path)
    assert site.paths().count(TRACTS) == 1


def test_nobody_there_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving({}) as gone:
        pass
    message = refusal(gone, tmp_path)
    assert "refused" in message.lower()


@pytest.mark.parametrize("optional", [False, True])
def test_without_a_network_it_says_which_files_to_put_where(
    site: Site, tmp_path: Path, optional: bool
) -> None:
    """A user who can bring files on a stick must learn their names, addresses, and place; and they must then do."""
    listed(site, XWALK, gzip.compress(samples.crosswalk(samples.RI_TRACTS, 8).encode(), mtime=0))
    with serving({}) as gone:
        pass
    message = refusal(gone, tmp_path / "d")
    assert f"put these files into {tmp_path / 'd'} (sources.json in it has their addresses)" in message
    needed = message.rpartition("addresses): ")[2].split(", ")
    needed.sort(key=lambda name: "Names" in name)
    assert needed[:3] == ["ri_od_main_JT00_2019.csv.gz", "ri_od_aux_JT00_2019.csv.gz", "ri_xwalk.csv.gz"]
    assert not any("sha256sum" in name or "version" in name for name in needed)
    for name in needed[:-1] if optional else needed:
        path = plan(tmp_path / "d")["files"][name]["url"].removeprefix(gone.base)
        (tmp_path / "d" / name).write_bytes(site.files[path])
    results = {result.file.name: result.status for result in fetched(gone, tmp_path / "d")}
    missing = {name for name, status in results.items() if status != "present"}
    assert missing == {"lodes_ri.sha256sum", "version.txt"} | ({needed[-1]} if optional else set())
    assert "cb_2020_44_tract_500k.zip" in refusal(gone, tmp_path / "d", base_map=True)


def test_a_cache_keeps_shared_files_once_for_all_states_and_years(site: Site, tmp_path: Path) -> None:
    """Twenty years would otherwise download the polygons twenty times."""
    everything = Wanted(states=("ri", "ct"), years=(2018, 2019), base=site.base)
    for source in sources_of(everything):
        path = source.url.removeprefix(site.base)
        site.files.setdefault(path, content_of(path))
    site.files = described(site.files)
    fetched(site, tmp_path, cache=True)
    site.asked.clear()
    results = fetched(site, tmp_path, cache=True, states=("ri", "ct"), years=(2018, 2019))
    again = {result.url.removeprefix(site.base) for result in results if result.status == "downloaded"}
    assert {path for path in again if "/ri/" in path} == {
        *(f"/data/lodes/LODES8/ri/od/ri_od_{part}_JT00_2018.csv.gz" for part in ("main", "aux")),
        *(SUMS, VERSION),  # anew, as they describe the files that are new
    }
    assert not any("puma" in path.lower() or "_44_" in path for path in again)
    assert (tmp_path / "ct" / "version.txt").is_file()
    site.asked.clear()
    fetched(site, tmp_path, cache=True, states=("ct",), years=(2019,))
    assert site.asked == []


def test_what_a_network_lost_for_a_moment_is_not_left_out(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A base map without the water of one county would stay so, as publications are not made again."""
    lost = ""

    def lose(url: str, *arguments: Any, **options: Any) -> None:
        if url.endswith(lost):
            raise NoConnection(f"{url}: Network is unreachable; gave up after 3 attempts")
        download(url, *arguments, **options)

    monkeypatch.setattr("geodata.sources.fetch.download", lose)
    listed(site, XWALK, gzip.compress(samples.crosswalk(samples.RI_TRACTS, 8).encode(), mtime=0))
    lost = "PUMA_Names.txt"
    assert "cannot be reached (Network is unreachable)" in refusal(site, tmp_path)
    assert {result.status for result in fetched(site, tmp_path)} == {"present", "missing"}
    lost = "tract_500k.zip"
    for _ in range(2):
        assert "cb_2020_44_tract_500k.zip" in refusal(site, tmp_path, base_map=True)


def test_only_one_run_at_a_time_writes_into_a_folder(site: Site, tmp_path: Path) -> None:
    """Two runs would append to one partial file."""
    with claim_place(tmp_path / "sources.json"), pytest.raises(StoreError, match="already being written"):
        fetched(site, tmp_path)
    fetched(site, tmp_path)


def test_a_redirect_within_the_host_is_followed(site: Site, tmp_path: Path) -> None:
    site.files["/moved.zip"] = site.files[TRACTS]
    site.redirects[TRACTS] = "/moved.zip"
    fetched(site, tmp_path)
    assert (tmp_path / "tl_2020_44_tract.zip").read_bytes() == site.files[TRACTS]


@pytest.mark.parametrize(
    "target", ["http://elsewhere.invalid/x", "https://127.0.0.1:1/x", "file:///etc/passwd"]
)
def test_a_redirect_to_another_host_is_not_followed(site: Site, tmp_path: Path, target: str) -> None:
    site.redirects[TRACTS] = target
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        message = refusal(site, tmp_path)
        gc.collect()  # a connection that was left open would warn here
    assert "not followed" in message or "refused" in message
    assert not (tmp_path / "tl_2020_44_tract.zip").exists()


def test_a_circle_of_redirects_is_one_line(site: Site, tmp_path: Path) -> None:
    site.redirects[TRACTS] = TRACTS
    assert "refused (HTTP 302" in refusal(site, tmp_path)


def part_of(site: Site, directory: Path, n: int, *, marked: bool) -> Path:
    """Leave the first bytes of the tracts, as a run that was killed does; return where the whole file goes."""
    fetched(site, directory)
    file = directory / "tl_2020_44_tract.zip"
    content = plan(directory)
    del content["files"][file.name]["sha256"]
    if marked:
        content["files"][file.name]["validator"] = etag_of(site, TRACTS)
    (directory / "sources.json").write_text(json.dumps(content))
    (directory / f".{file.name}.part").write_bytes(site.files[TRACTS][:n] if marked else b"stale" * n)
    file.unlink()
    return file


def test_a_server_that_sends_less_than_the_rest_is_asked_again(site: Site, tmp_path: Path) -> None:
    """A part of what was asked for, with its own length right: not the end of the file."""
    file = part_of(site, tmp_path, 1_000, marked=True)
    site.parts[TRACTS] = 100_000
    fetched(site, tmp_path)
    assert file.read_bytes() == site.files[TRACTS]


@pytest.mark.parametrize(
    "content_range", ["bytes 999-239999/240000", "bytes 1000-2000/*", "bytes */1000", "", "bytes 1000-²/²"]
)
def test_a_part_that_is_not_the_one_asked_for_is_not_joined(
    site: Site, tmp_path: Path, content_range: str
) -> None:
    file = part_of(site, tmp_path, 1_000, marked=True)
    site.headers[TRACTS] = {"Content-Range": content_range.replace("²", "\xb2")}
    fetched(site, tmp_path)
    assert file.read_bytes() == site.files[TRACTS]


def test_a_part_that_nobody_asked_for_is_not_joined_to_what_lies_there(site: Site, tmp_path: Path) -> None:
    file = part_of(site, tmp_path, 50, marked=False)
    site.unasked.add(TRACTS)
    assert "a different part" in refusal(site, tmp_path)
    assert not file.exists()


@pytest.mark.parametrize("length", ["abc", "-5", "1e3", "\xb2"])
def test_a_length_that_is_none(site: Site, tmp_path: Path, length: str) -> None:
    site.headers[TRACTS] = {"Content-Length": length}
    fetched(site, tmp_path)
    assert (tmp_path / "tl_2020_44_tract.zip").read_bytes() == site.files[TRACTS]


@pytest.mark.parametrize("length", ["10", "999999"])
def test_a_length_that_is_wrong(site: Site, tmp_path: Path, length: str) -> None:
    site.headers[TRACTS] = {"Content-Length": length}
    message = refusal(site, tmp_path)
    assert "not a whole zip file" in message or "broke off" in message
    assert not (tmp_path / "tl_2020_44_tract.zip").exists()


@pytest.mark.parametrize(
    ("path", "content", "words"),
    [
        (TRACTS, b"<!DOCTYPE html><p>Down for maintenance", "a web page"),
        (TRACTS, b"PK\x03\x04 and no end", "not a whole zip file"),
        (NAMES, b"\xef\xbb\xbf\n <html>", "a web page"),
        (XWALK, b"tabblk2020,st\n", "not a gzip file"),
        (NAMES, b"", "nothing"),
    ],
)
def test_what_is_not_what_its_name_says_is_removed(
    site: Site, tmp_path: Path, path: str, content: bytes, words: str
) -> None:
    del site.files[SUMS]
    site.files[path] = content
    message = refusal(site, tmp_path)
    name = path.rpartition("/")[2]
    assert f"sent {words} instead of {name}" in message
    assert not any(name in found for found in names(tmp_path))


def test_a_server_that_crawls_is_left(site: Site, tmp_path: Path) -> None:
    site.crawl[TRACTS] = 0.05
    quick = Retry(attempts=2, pause_s=0.0, timeout_s=0.3)
    message = refusal(site, tmp_path, retry=quick)
    assert "less than 1,024 bytes in 0.3 s" in message
    assert "gave up after 2 attempts" in message


def test_nothing_is_written_through_a_link(site: Site, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    directory = tmp_path / "d"
    directory.mkdir()
    (directory / ".tl_2020_44_tract.zip.part").symlink_to(outside)
    assert "cannot write" in refusal(site, directory)
    assert outside.read_text() == "untouched"


def test_one_directory_holds_one_state_year_and_version(site: Site, tmp_path: Path) -> None:
    fetched(site, tmp_path)
    site.indexes = False
    assert "ri 2019 8" in refusal(site, tmp_path, years=(2018,))
    for source in sources_of(wanted(site, origin_states=("ct",))):
        site.files.setdefault(source.url.removeprefix(site.base), content_of(source.url))
    site.files = described(site.files)
    results = fetched(site, tmp_path, origin_states=("CT", "ct"))
    assert [result.file.name for result in results if result.status == "downloaded"] == [
        "ct_xwalk.csv.gz",
        "lodes_ct.sha256sum",
        "version.txt",
        "tl_2020_09_tract.zip",
        "CenPop2020_Mean_TR09.txt",
        "CenPop2020_Mean_BG09.txt",
    ]


@pytest.mark.parametrize("content", ["", "[]", '{"files": 3}', '{"files": {"a": 1}}', "{}"])
def test_a_damaged_list_is_refused(site: Site, tmp_path: Path, content: str) -> None:
    (tmp_path / "sources.json").write_text(content)
    assert "sources.json" in refusal(site, tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {"states": ("zz",)},
        {"states": ("rhode iland",)},
        {"origin_states": ("../..",)},
        {"origin_states": ("gu",)},
        {"years": (2001,)},
        {"lodes": 7, "years": (2020,)},
        {"lodes": 5},
        {"job_type": "JT9"},
        {"base": "file:///etc"},
        {"base": "http://"},
        {"base": "http://[::1"},
        {"base": "http://a b/"},
    ],
)
def test_what_does_not_exist_is_refused_before_anything_is_made(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    refusal(Site({}, base="http://127.0.0.1:9"), tmp_path / "d", **options)
    assert not (tmp_path / "d").exists()


def test_the_addresses_are_the_bureaus() -> None:
    asked = Wanted(
        states=("RI",), years=(2019,), lodes=7, origin_states=("Massachusetts",), segments=True, blocks=True
    )
    urls = [source.url for source in sources_of(asked)]
    # The documentation's template of RAC names ends in _1, its example does not.
    assert "https://lehd.ces.census.gov/data/lodes/LODES7/ri/rac/ri_rac_SA01_JT00_2019.csv.gz" in urls
    assert "https://lehd.ces.census.gov/data/lodes/LODES7/ri/wac/ri_wac_SE03_JT00_2019.csv.gz" in urls
    assert "https://lehd.ces.census.gov/data/lodes/LODES7/ma/version.txt" in urls
    assert "https://lehd.ces.census.gov/data/lodes/LODES7/ri/od/ri_od_aux_JT00_2019.csv.gz" in urls
    assert "https://lehd.ces.census.gov/data/lodes/LODES7/ma/ma_xwalk.csv.gz" in urls
    assert "https://www2.census.gov/geo/tiger/TIGER2010/TRACT/2010/tl_2010_25_tract10.zip" in urls
    assert "https://www2.census.gov/geo/docs/reference/cenpop2010/blkgrp/CenPop2010_Mean_BG44.txt" in urls
    assert not any("ma_od" in url for url in urls)
    assert len(set(urls)) == len(urls)


@given(st.binary(min_size=32, max_size=32), st.sampled_from(["", "*", "./od/", "*od/"]))
def test_checksum_lists_are_read_however_they_are_written(digest: bytes, prefix: str) -> None:
    text = f"# a remark\n\n{digest.hex().upper()}  {prefix}ri_xwalk.csv.gz\nshort  x\n"
    assert parse_checksums(text) == {"ri_xwalk.csv.gz": digest.hex()}
