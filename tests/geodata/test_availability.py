"""Which state-years are published: by the server's list of a folder, or by the table where it shows none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from geodata.errors import SourceFileError
from geodata.sources.availability import Availability, left_out_lines, unpublished_groups, year_spans
from geodata.sources.downloading import Retry
from geodata.sources.fetch import fetch, look_ahead
from geodata.sources.sources_catalog import JOB_TYPES, Wanted, postal_of
from tests.geodata.serving import Site, serving

QUICK = Retry(attempts=1, pause_s=0.0, timeout_s=5.0)
OD = "/data/lodes/LODES8/ri/od/ri_od_{part}_{job_type}_{year}.csv.gz"
TABLE = {
    7: "ak 2017-2019 ar 2002 ar 2019 az 2002-2003 dc 2002-2009 ma 2002-2010 ms 2002-2003 ms 2019 nh 2002",
    8: "nh 2002 az 2002-2003 ms 2002-2003 ar 2002 dc 2002-2009 ma 2002-2010 ak 2017-2023 ar 2019-2021 ms 2019-2021 "
    "mi 2022-2023",
}
"""Written down anew from the documentation, and from what users of LODES 8 list."""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A server that lists Rhode Island's OD files of three years, one of them without its aux file."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    names = [
        OD.format(part=part, job_type="JT00", year=year) for part in ("main", "aux") for year in (2015, 2019)
    ]
    with serving(dict.fromkeys([*names, OD.format(part="main", job_type="JT00", year=2017)], b"")) as served:
        yield served


def lines(wanted: Wanted) -> list[str]:
    availability = Availability(wanted)
    return [
        str(each) for state in wanted.states for each in availability.list_unpublished(state, wanted.years)
    ]


def without_list(site: Site) -> str:
    site.indexes = False
    return site.base


@pytest.mark.parametrize("lodes", [7, 8])
def test_the_table_lacks_the_state_years_of_the_documents_and_no_others(site: Site, lodes: int) -> None:
    expected = set()
    words = TABLE[lodes].split()
    for postal, span in zip(words[::2], words[1::2], strict=True):
        first, _, last = span.partition("-")
        expected |= {(postal, year) for year in range(int(first), int(last or first) + 1)}
    base, last_year = without_list(site), {7: 2019, 8: 2023}[lodes]
    found = set()
    for postal in ("ak", "ar", "az", "dc", "ma", "mi", "ms", "nh", "ri", "ca", "wy"):
        wanted = Wanted(states=(postal,), years=tuple(range(2002, last_year + 1)), lodes=lodes, base=base)
        availability = Availability(wanted)
        found |= {(each.state, each.year) for each in availability.list_unpublished(postal, wanted.years)}
        assert availability.by == {postal: "table"}
    assert found == expected


@pytest.mark.parametrize(
    ("state", "year", "nearest"),
    [("ma", 2005, 2011), ("nh", 2002, 2003), ("ar", 2020, 2022), ("ak", 2023, 2016), ("ms", 2020, 2022)],
)
def test_the_nearest_year_is_named_the_later_of_two(site: Site, state: str, year: int, nearest: int) -> None:
    (line,) = lines(Wanted(states=(state,), years=(year,), base=without_list(site)))
    assert line.startswith(f"{state} {year} was not published: LODES 8 has no OD files of ")
    assert line.endswith(f"the nearest year is {nearest}")


@pytest.mark.parametrize("job_type", ["JT04", "JT05"])
def test_federal_jobs_begin_in_2010(site: Site, job_type: str) -> None:
    """Earlier files do not exist; no file is not a file without federal jobs."""
    (line,) = lines(Wanted(states=("ri",), years=(2009, 2010), job_type=job_type, base=without_list(site)))
    assert f"LODES has {job_type} from 2010 on" in line
    assert line.endswith("the nearest year is 2010")


@pytest.mark.parametrize(("year", "counts"), [(2009, (8, 40, 40)), (2010, (12, 60, 60))])
def test_a_state_year_has_as_many_files_as_the_documentation_says(
    site: Site, year: int, counts: tuple[int, int, int]
) -> None:
    base, found = without_list(site), dict.fromkeys(("od", "rac", "wac"), 0)
    for job_type in JOB_TYPES:
        wanted = Wanted(states=("ri",), years=(year,), job_type=job_type, segments=True, base=base)
        if not lines(wanted):
            for role, _ in wanted.tables:
                found[role] += 1
    assert tuple(found.values()) == counts


@pytest.mark.parametrize(
    ("state", "words"), [("pr", "only RAC files"), ("vi", "only RAC files"), ("gu", "no files of Guam")]
)
def test_territories_have_no_od_files_in_any_year(site: Site, state: str, words: str) -> None:
    (line,) = lines(Wanted(states=(state,), years=(2019,), base=site.base))
    assert words in line
    assert "no other year" in line
    assert site.asked == []


def test_the_list_of_the_server_decides_over_the_table(site: Site) -> None:
    """State-years are repaired, and withdrawn: the table, which is of one day, would be wrong about both."""
    wanted = Wanted(states=("ri",), years=(2015, 2016, 2017, 2018, 2019), base=site.base)
    availability = Availability(wanted)
    found = {each.year: each.nearest for each in availability.list_unpublished("ri", wanted.years)}
    assert found == {2016: 2015, 2017: 2019, 2018: 2019}  # 2017 has no aux file
    assert availability.by == {"ri": "list"}
    assert len(site.asked) == 1
    site.files |= {
        OD.format(part=part, job_type="JT00", year=2024).replace("ri", "mi"): b"" for part in ("main", "aux")
    }
    assert lines(Wanted(states=("mi",), years=(2024,), base=site.base)) == []


@pytest.mark.parametrize("change", ["job_type", "characteristics"])
def test_a_list_is_read_for_the_files_that_are_wanted(site: Site, change: str) -> None:
    """Years of all jobs say nothing of federal jobs, nor those of OD files of WAC and RAC."""
    for year in (2015, 2019):
        names = [f"/data/lodes/LODES8/ri/{role}/ri_{role}_S000_JT00_{year}.csv.gz" for role in ("wac", "rac")]
        site.files |= dict.fromkeys(names if year == 2019 else names[:1], b"")
    options = {"job_type": "JT05"} if change == "job_type" else {"characteristics": True}
    found = lines(Wanted(states=("ri",), years=(2015,), base=site.base, **options))
    assert len(found) == 1
    assert ("no other year" if change == "job_type" else "the nearest year is 2019") in found[0]


@pytest.mark.parametrize("answer", ["404", "403", "page", "empty"])
def test_a_server_that_shows_no_list_leaves_it_to_the_table(site: Site, answer: str) -> None:
    """A web page for every address, as of a hotel's network, must not say that nothing was published."""
    folder = "/data/lodes/LODES8/ri/od/"
    site.indexes = False
    if answer == "403":
        site.errors[folder] = [403]
    elif answer != "404":
        site.files[folder] = b"<html><a href='login.html'>Sign in</a></html>" if answer == "page" else b""
    assert lines(Wanted(states=("ri",), years=(2019,), base=site.base)) == []


def test_what_was_not_published_is_said_before_anything_is_fetched_or_made(
    site: Site, tmp_path: Path
) -> None:
    wanted = Wanted(states=("ri",), years=(2016, 2018, 2019), base=site.base)
    with pytest.raises(
        SourceFileError, match=r"ri 2016 was not published.*nearest year is 2015 \(and 1 more"
    ):
        fetch(tmp_path / "d", wanted, retry=QUICK)
    assert site.paths() == ["/data/lodes/LODES8/ri/od/"]
    assert not (tmp_path / "d").exists()


def test_a_year_in_the_folder_needs_no_server(site: Site, tmp_path: Path) -> None:
    """An older file that the server has withdrawn is still a published one."""
    wanted = Wanted(states=("ri",), years=(2018,), base=site.base)
    for part in ("main", "aux"):
        (tmp_path / f"ri_od_{part}_JT00_2018.csv.gz").write_bytes(b"x")
    assert look_ahead(tmp_path, wanted).unpublished == []
    assert site.asked == []


def test_without_a_network_the_table_still_says_what_was_not_published(tmp_path: Path) -> None:
    with serving({}) as gone:
        pass
    outlook = look_ahead(tmp_path, Wanted(states=("ma", "ri"), years=(2009,), base=gone.base))
    assert [(each.state, each.nearest) for each in outlook.unpublished] == [("ma", 2011)]
    assert outlook.no_connection is not None


def test_of_a_year_after_the_table_the_server_is_asked(site: Site, tmp_path: Path) -> None:
    wanted = Wanted(states=("ri",), years=(2031,), base=without_list(site))
    with pytest.raises(SourceFileError, match=r"404.*the last year known to be published is 2023"):
        fetch(tmp_path, wanted, retry=QUICK)


def test_columns_without_counts_are_named() -> None:
    """Their zeros in the files mean "not published"."""
    assert len(unpublished_groups(2008, "JT00")) == 2
    assert unpublished_groups(2009, "JT02") == ["firm age and firm size begin in 2011"]
    assert unpublished_groups(2019, "JT02") == []
    assert unpublished_groups(2019, "JT00") == [
        "firm age and firm size are published for JT02 (all private jobs) only"
    ]


def test_years_are_written_as_spans(site: Site) -> None:
    assert year_spans([2005, 2003, 2002, 2004, 2010, 2004]) == "2002 to 2005, 2010"
    wanted = Wanted(states=("ri",), years=(2014, 2015, 2016, 2017), base=site.base)
    (line,) = left_out_lines(look_ahead(Path("/nowhere"), wanted).unpublished)
    assert line == "ri 2014, 2016 to 2017 left out: the server lists no JT00 OD files of Rhode Island for it"


def test_states_are_named_as_people_write_them() -> None:
    assert [postal_of(text) for text in ("RI", " rhode  island", "District of Columbia")] == [
        "ri",
        "ri",
        "dc",
    ]
    with pytest.raises(SourceFileError, match="'Road Island': no such postal code or name"):
        postal_of("Road Island")
