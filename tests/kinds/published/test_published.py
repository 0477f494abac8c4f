"""Published counts: LODES files opened as they were published, with nothing drawn but the positions of dots."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas
import pytest

from geodata.errors import SourceFileError, StoreError
from geodata.sources.recognize import sources_in
from geodata.store.schema import CHARACTERISTIC_CODES
from geodata.store.store import open_store, sha256_of
from mapapp.answers.findings.findings import findings
from mapapp.answers.promise.joint_promise import joint_promise
from mapapp.answers.promise.method import chapters
from mapapp.answers.published.words import ASSIGNED, GUIDANCE
from mapapp.answers.release import Release
from mapapp.base.errors import UsageError
from mapapp.kinds.published.make.recheck import check_published
from mapapp.kinds.published.make.run import declared_publisher, import_published
from mapapp.question.filters import Filters
from mapapp.show.exports.release_export import export_release
from tests.commands.running import refused, run_here
from tests.geodata import samples

MAIN, AUX = "ri_od_main_JT00_2019.csv.gz", "ri_od_aux_JT00_2019.csv.gz"
BANDS = {"age": "SA0", "earnings": "SE0", "industry": "SI0"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return samples.write_sources(tmp_path_factory.mktemp("sources"))


@pytest.fixture(scope="module")
def counts(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("counts") / "ri.published"
    import_published(path, sources_in(folder, characteristics=True)[0])
    return path


@pytest.fixture(scope="module")
def opened(counts: Path) -> Release:
    return Release.open(counts)


@pytest.mark.parametrize(("job_type", "jobs"), [("JT01", "primary jobs"), ("JT02", "private jobs")])
def test_counts_of_some_jobs_say_which(folder: Path, tmp_path: Path, job_type: str, jobs: str) -> None:
    """Primary or private jobs that are called all jobs, or people, in the title, a sentence, or a file."""
    sources = Path(shutil.copytree(folder, tmp_path / "sources"))
    for file in sources.glob("*_JT00_*"):
        file.rename(file.with_name(file.name.replace("JT00", job_type)))
    path = tmp_path / "ri.published"
    done = run_here("import", path, "--from", sources, "--published", "--title", "Rhode Island")
    assert done.code == 0, done.err
    assert f"{jobs}, as published by" in done.out
    counts = Release.open(path)
    assert counts.title == f"Rhode Island, 2019, {jobs}"
    answer = counts.profile()
    assert f"{answer.workers.value:,} {jobs} are held by people who work" in findings(answer)[0].lower()
    assert findings(answer)[1].startswith("Counted by jobs, of these people, ")
    export_release(path, "csv", tmp_path / "out", layers=["county"])
    text = (tmp_path / "out" / "README.txt").read_text(encoding="utf-8")
    assert text.startswith("Exported from CommuteMap published counts.")
    assert f"what: {jobs} as their publisher published them" in text
    assert "release" not in text.partition("digest note")[0]
    file = tmp_path / "m.xlsx"
    assert run_here("analyze", path, "--analysis", "profile", "-o", file).code == 0
    cells = [cell.value for row in openpyxl.load_workbook(file)["about"].iter_rows() for cell in row]
    assert f"{job_type} ({jobs})" in cells


@pytest.fixture
def copied(folder: Path, tmp_path: Path) -> Path:
    """A folder of source files to change."""
    return Path(shutil.copytree(folder, tmp_path / "changed"))


def failed(path: Path) -> list[str]:
    return [check.check for check in check_published(path) if not check.ok]


def test_characteristics_are_answered_from_their_files(copied: Path, tmp_path: Path) -> None:
    """Of all workers and of one segment; totals that differ from the OD files are noted, not refused."""
    rows = {samples.block_id(samples.RI_TRACTS[0], 1): 5, samples.block_id(samples.RI_TRACTS[1], 2): 7}
    for name in ("ri_wac_S000", "ri_wac_SA01"):
        (copied / f"{name}_JT00_2019.csv").write_text(samples.characteristics(rows, "work"))
    made = import_published(tmp_path / "ri.published", sources_in(copied, characteristics=True)[0])
    assert any("ri_wac_S000_JT00_2019.csv: 12 jobs in RI (WAC)" in note for note in made.facts["notes"])
    assert failed(tmp_path / "ri.published") == []
    opened = Release.open(tmp_path / "ri.published")
    found = opened.characteristics("all", "manufacturing", layer="tract")
    assert (found.counted.value, found.share_of_known) == (12, 1.0)
    assert sorted(found.units["workers"][found.units["workers"] > 0]) == [5, 7]
    assert opened.characteristics("all", "female", Filters(age=(1,))).counted.value == 12
    with pytest.raises(UsageError, match="ri_wac_SA02_JT00_2019"):
        opened.characteristics("all", "female", Filters(age=(2,)))


def test_each_published_count_is_kept(counts: Path) -> None:
    """A job that moved, or a margin that changed, in one pair of blocks."""
    store = open_store(counts, "published")
    blocks = store.table("blocks", ["block_id", "elsewhere"])
    wanted = pandas.concat(
        pandas.read_csv(StringIO(text), dtype={"w_geocode": str, "h_geocode": str})
        for text in (samples.od_main(), samples.od_aux())
    )
    known = set(blocks["block_id"])
    wanted["h_geocode"] = [home if home in known else home[:2] for home in wanted["h_geocode"]]
    wanted = wanted.drop(columns="createdate").groupby(["w_geocode", "h_geocode"]).sum()
    jobs = store.table("jobs")
    for end, name in (("destination", "w_geocode"), ("origin", "h_geocode")):
        jobs[name] = blocks["block_id"].to_numpy()[jobs[f"{end}_index"]]
    pairs = jobs.groupby(["w_geocode", "h_geocode"])
    found = pandas.DataFrame({"S000": pairs["count"].sum()})
    for attribute, prefix in BANDS.items():
        for band in (1, 2, 3):
            jobs["of_band"] = jobs["count"].where(jobs[attribute] == band, 0)
            found[f"{prefix}{band}"] = jobs.groupby(["w_geocode", "h_geocode"])["of_band"].sum()
    pandas.testing.assert_frame_equal(found.sort_index(), wanted.sort_index(), check_dtype=False)


def test_the_certificate_binds_the_sources_and_certify_recounts_them(counts: Path, folder: Path) -> None:
    assert failed(counts) == []
    certificate = json.loads((counts / "certificate.json").read_text())
    assert (
        certificate["statement"] == "CommuteMap promises nothing about these counts; they were public before."
    )
    listed = {source["file"]: source for source in certificate["sources"]}
    assert listed[MAIN]["sha256"] == sha256_of(folder / MAIN)
    assert listed[MAIN]["bytes"] == (folder / MAIN).stat().st_size
    assert listed[MAIN]["totals"]["S000"] == samples.N_MAIN_JOBS
    assert {source["listed_sha256"] for source in listed.values()} == {None}
    assert "epsilon" not in json.dumps(certificate)


def _seal(path: Path, name: str) -> None:
    """Make the manifest and the certificate fit a changed file, as a forger would."""
    manifest = json.loads((path / "manifest.json").read_text())
    if name != "certificate.json":
        certificate = json.loads((path / "certificate.json").read_text())
        for facts in (certificate["publication"]["files"][name], manifest["files"][name]):
            facts.update(sha256=sha256_of(path / name), bytes=(path / name).stat().st_size)
        (path / "certificate.json").write_text(json.dumps(certificate))
    file = path / "certificate.json"
    manifest["files"][file.name].update(sha256=sha256_of(file), bytes=file.stat().st_size)
    (path / "manifest.json").write_text(json.dumps(manifest))


def _first(certificate: dict[str, Any], name: str) -> dict[str, Any]:
    return next(source for source in certificate["sources"] if source["file"] == name)


FORGERIES: dict[str, tuple[Callable[[dict[str, Any]], object], str]] = {
    "a job more in a file": (lambda c: _first(c, MAIN)["totals"].update(S000=17), "sources"),
    "a job more": (lambda c: c["totals"].update(S000=25), "published totals"),
    "another band": (lambda c: c["totals"].update(SA01=8, SA02=9), "published totals"),
    "no OD file": (lambda c: c.update(sources=[]), "sources"),
    "a promise": (lambda c: c.update(statement="Formally private."), "statement"),
    "another publisher": (lambda c: c["publisher"].update(name="Somebody"), "statement"),
    "another publisher of LODES": (lambda c: c["publisher"].update(declared=True), "statement"),
    "a year of other files": (
        lambda c: c["publication"]["facts"].update(year=2023),
        "facts shown to readers",
    ),
    "a list of polygons": (lambda c: c["sources"][-1].update(listed_sha256="0" * 64), "sources"),
    "homes left out": (lambda c: c.update(homes_left_out=["44"]), "homes"),
    "another title": (lambda c: c["publication"]["facts"].update(title="Ohio"), "facts shown to readers"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_certificate_fails(name: str, counts: Path, tmp_path: Path) -> None:
    forged = Path(shutil.copytree(counts, tmp_path / "forged.published"))
    change, check = FORGERIES[name]
    certificate = json.loads((forged / "certificate.json").read_text())
    change(certificate)
    (forged / "certificate.json").write_text(json.dumps(certificate))
    _seal(forged, "certificate.json")
    assert check in failed(forged)


@pytest.mark.parametrize(
    "forge", [lambda c: _first(c, MAIN).update(rows=7.0), lambda c: c.update(epsilon=1.0)]
)
def test_a_certificate_of_another_shape_is_refused(
    forge: Callable[[dict[str, Any]], object], counts: Path, tmp_path: Path
) -> None:
    forged = Path(shutil.copytree(counts, tmp_path / "forged.published"))
    certificate = json.loads((forged / "certificate.json").read_text())
    forge(certificate)
    (forged / "certificate.json").write_text(json.dumps(certificate))
    _seal(forged, "certificate.json")
    with pytest.raises(StoreError, match="cannot be interpreted"):
        Release.open(forged)


@pytest.mark.parametrize(("table", "check"), [("jobs", "published totals"), ("points", "dots")])
def test_a_forged_table_fails(table: str, check: str, counts: Path, tmp_path: Path) -> None:
    forged = Path(shutil.copytree(counts, tmp_path / "forged.published"))
    file = forged / f"{table}.parquet"
    rows = pandas.read_parquet(file)
    if table == "jobs":
        rows["age"] = np.append(rows["age"].to_numpy()[:1] % 3 + 1, rows["age"].to_numpy()[1:])
    else:
        rows["work_lon_deg"] = rows["work_lon_deg"].to_numpy() + np.float32(1e-4)
    rows.to_parquet(file, index=False)
    _seal(forged, file.name)
    assert check in failed(forged)


def test_files_are_compared_with_the_bureau_s_list(copied: Path, tmp_path: Path) -> None:
    """The list is of the decompressed text, under names without `.gz`; a list of the files themselves is read, too."""
    text = gzip.decompress((copied / MAIN).read_bytes())
    lines = [
        f"{hashlib.sha256(text).hexdigest()}  {MAIN.removesuffix('.gz')}",
        f"{sha256_of(copied / AUX)} *od/{AUX}",
    ]
    (copied / "lodes_ri.sha256sum").write_text("\n".join(lines) + "\n")
    (copied / "version.txt").write_text("RI: format 7.5, data vintage 20211018\n")
    made = import_published(tmp_path / "ri.published", sources_in(copied)[0])
    assert made.certificate.n_compared == 2
    assert (made.certificate.format_version, made.certificate.data_vintage) == ("7.5", "20211018")
    (copied / "lodes_ri.sha256sum").write_text("0" * 64 + f"  {MAIN.removesuffix('.gz')}\n")
    with pytest.raises(
        SourceFileError, match=f"{MAIN}: its sha256 is not the one that lodes_ri.sha256sum states"
    ):
        import_published(tmp_path / "other.published", sources_in(copied)[0])
    assert not (tmp_path / "other.published").exists()


def test_files_of_unknown_origin_are_declared_public_or_refused(copied: Path, tmp_path: Path) -> None:
    (copied / MAIN).rename(copied / "commutes.csv.gz")
    sources = sources_in(copied)[0]
    with pytest.raises(UsageError, match="not named as LODES files are, so it is not known to be public"):
        import_published(tmp_path / "a.published", sources)
    publisher = declared_publisher("City of Leeds, Commuters, 2021, https://example.org/a")
    assert (publisher.name, publisher.title) == ("City of Leeds", "Commuters, 2021")
    import_published(tmp_path / "a.published", sources, declared=publisher)
    assert failed(tmp_path / "a.published") == []
    said = " ".join(
        str(part) for chapter in chapters(Release.open(tmp_path / "a.published")) for part in chapter.parts
    )
    assert "City of Leeds" in said
    assert "Whoever imported them declared them public" in said


@pytest.mark.parametrize("text", ["", "Leeds", "Leeds, Commuters", "Leeds,, https://example.org", "a,b,\nc"])
def test_a_declaration_has_three_parts(text: str) -> None:
    with pytest.raises(UsageError, match="give publisher, title, and address"):
        declared_publisher(text)


def test_of_several_years_in_a_folder_one_is_chosen(copied: Path, tmp_path: Path) -> None:
    for name in (MAIN, AUX):
        shutil.copy(copied / name, copied / name.replace("2019", "2018"))
    said = refused("import", tmp_path / "a.published", "--from", copied, "--published")
    assert "the folder has OD files of 2018, 2019; choose one with --year" in said
    said = refused("import", tmp_path / "a.published", "--from", copied, "--published", "--year", "2007")
    assert "--year 2007: no OD file is of it; the folder has 2018, 2019" in said
    command = ("import", tmp_path / "a.published", "--from", copied, "--published", "-q")
    said = refused(*command, "--year", "2018", "--job-type", "JT02")
    assert "--job-type JT02: no OD file is of it; the folder has JT00" in said
    done = run_here(*command, "--year", "2018")
    assert done.code == 0, done.err
    certificate = json.loads((tmp_path / "a.published" / "certificate.json").read_text())
    assert [source["file"] for source in certificate["sources"] if "2019" in source["file"]] == []


def test_a_main_file_alone_says_that_homes_are_in_the_state_only(copied: Path, tmp_path: Path) -> None:
    (copied / AUX).unlink()
    made = import_published(tmp_path / "ri.published", sources_in(copied)[0])
    assert made.certificate.homes_left_out == ["44"]
    assert failed(tmp_path / "ri.published") == []
    assert not any("never for release" in note for note in made.facts["notes"])
    said = str(chapters(Release.open(tmp_path / "ri.published")))
    assert "Workers in Rhode Island who live in other states are not in these counts" in said


def test_answers_are_exact_and_have_the_bureau_s_marks_in_place_of_errors(opened: Release) -> None:
    answer = opened.destinations("county:44001", errors=True)
    number = answer.workers
    assert (number.value, number.expected_error, number.caution) == (4 + 1 + 1 + 7 + 5, None, "")
    notes = {note.code: note.text for note in answer.about.notes}
    assert notes["published"] == GUIDANCE
    assert "a person with two jobs counts twice" in notes["jobs"]
    assert "assigned" not in notes
    profile = opened.profile("county:44001")
    assert profile.about.has_note("assigned")
    assert not any("joint groups" in sentence for sentence in findings(profile))


@pytest.mark.parametrize(
    ("filters", "is_assigned"), [(Filters(age=(1,)), False), (Filters(age=(1,), earnings=(2,)), True)]
)
def test_counts_by_two_attributes_say_that_they_are_assigned(
    filters: Filters, is_assigned: bool, opened: Release
) -> None:
    answer = opened.destinations("county:44001", filters)
    assert any(note.text == ASSIGNED for note in answer.about.notes) is is_assigned


def test_nothing_says_synthetic_and_nothing_is_promised(
    opened: Release, counts: Path, tmp_path: Path
) -> None:
    texts = [str(chapters(opened))]
    done = run_here("analyze", counts, "destinations", "--area", "county:44001", "--json")
    texts.append(done.out)
    done = run_here("report", counts, "--area", "county:44001", "-o", tmp_path / "r.html", "-q")
    assert done.code == 0, done.err
    texts.append((tmp_path / "r.html").read_text())
    done = run_here("export", counts, tmp_path / "csv", "--to", "csv", "-q")
    assert done.code == 0, done.err
    texts += [file.read_text() for file in (tmp_path / "csv").glob("*.txt")]
    found = [text.lower().find("synthetic") for text in texts]
    assert [text[max(at - 80, 0) : at + 120] for text, at in zip(texts, found, strict=True) if at >= 0] == []
    assert not [text for text in texts if "ε" in text]


def test_no_promise_is_added_up_with_published_counts(opened: Release, demo_release: Path) -> None:
    release = Release.open(demo_release)
    assert joint_promise(opened, [opened, release]) is None


def test_years_share_their_geography(counts: Path, folder: Path, copied: Path, tmp_path: Path) -> None:
    """On the disk by links, and in memory: 22 years of a state would otherwise take 22 times as much."""
    for file in list(copied.glob("*_2019.csv.gz")):
        file.rename(copied / file.name.replace("2019", "2018"))
    samples.replace_text(copied / MAIN.replace("2019", "2018"), "7,2,4,1,3,3,1,0,2,5", "8,3,4,1,4,3,1,0,2,6")
    later = tmp_path / "ri-2018.published"
    made = import_published(later, sources_in(copied)[0], geography=counts)
    assert made.facts["year"] == 2018
    assert failed(later) == []
    assert os.path.samefile(later / "cells.parquet", counts / "cells.parquet")
    assert not os.path.samefile(later / "jobs.parquet", counts / "jobs.parquet")
    alone = tmp_path / "alone.published"
    import_published(alone, sources_in(copied)[0])
    for name in ("jobs", "points", "cells"):
        assert sha256_of(alone / f"{name}.parquet") == sha256_of(later / f"{name}.parquet")
    first, second = Release.open(counts), Release.open(later)
    assert first.areas is second.areas
    assert (
        second.destinations("county:44001").workers.value
        == first.destinations("county:44001").workers.value + 1
    )
    samples.replace_text(copied / "ri_xwalk.csv.gz", "Rhode Island", "Rhode Islands")
    with pytest.raises(UsageError, match=r"made from another ri_xwalk\.csv\.gz"):
        import_published(tmp_path / "c.published", sources_in(copied)[0], geography=counts)


def test_the_command_makes_certifies_and_names_what_it_read(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "ri.published"
    done = run_here("import", path, "--from", folder, "--published", "-q")
    assert done.code == 0, done.err
    assert "24 jobs, as published by U.S. Census Bureau" in done.out
    assert "CommuteMap promises nothing about these counts" in done.out
    assert "nothing shows that these files are the Bureau's; add its lodes_STATE.sha256sum" in done.out
    done = run_here("certify", path)
    assert (done.code, "FAIL" in done.out) == (0, False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--published", "--residents-only"), "--residents-only and --published"),
        (("--published", "--budget-epsilon", "4"), "--budget-epsilon and --published"),
        (("--declare-public", "a, b, c"), "--declare-public goes with --published"),
        (("--published", "--declare-public", "a"), "give publisher, title, and address"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    options: tuple[str, ...], said: str, folder: Path, tmp_path: Path
) -> None:
    assert said in refused("import", tmp_path / "a", "--from", folder, *options)
    assert not (tmp_path / "a").exists()


def test_a_dataset_and_published_counts_are_not_taken_for_each_other(
    counts: Path, demo_dataset: Path, tmp_path: Path
) -> None:
    assert "these are published counts, but a dataset is needed" in refused(
        "synthesize", counts, tmp_path / "r"
    )
    with pytest.raises(StoreError, match="this is a dataset"):
        Release.open(demo_dataset)


def test_exports_of_drawn_workers_are_not_taken_for_published_files(
    copied: Path, counts: Path, tmp_path: Path
) -> None:
    """An export has a list of its own checksums, which would vouch for synthetic workers."""
    done = run_here("export", counts, tmp_path / "lodes", "--to", "lodes", "-q")
    assert done.code == 0, done.err
    for file in (*copied.glob("*xwalk*"), *copied.glob("*PUMA*"), *copied.glob("Cen*")):
        shutil.copy(file, tmp_path / "lodes")
    with pytest.raises(UsageError, match="exported by CommuteMap, so not as its publisher published it"):
        import_published(tmp_path / "a.published", sources_in(tmp_path / "lodes")[0])


def test_files_of_a_dataset_with_a_ledger_are_not_made_public_beside_it(copied: Path, tmp_path: Path) -> None:
    path = tmp_path / "ri.dataset"
    assert (
        run_here(
            "import", path, "--from", copied, "--budget-epsilon", "4", "--budget-delta", "1e-6", "-q"
        ).code
        == 0
    )
    said = refused("import", tmp_path / "ri.published", "--from", copied, "--published")
    assert "a dataset of the same files" in said


def test_a_shared_geography_is_verified_and_of_the_same_files(
    copied: Path, counts: Path, tmp_path: Path
) -> None:
    damaged = Path(shutil.copytree(counts, tmp_path / "damaged.published"))
    (damaged / "counties.parquet").write_bytes((damaged / "states.parquet").read_bytes())
    with pytest.raises(StoreError, match="sha256 differs"):
        import_published(tmp_path / "a.published", sources_in(copied)[0], geography=damaged)
    samples.replace_text(copied / "ri_xwalk.csv.gz", "County 003", "County 999")
    with pytest.raises(UsageError, match="made from another ri_xwalk"):
        import_published(tmp_path / "a.published", sources_in(copied)[0], geography=counts)


def test_a_name_that_says_another_state_or_part_is_refused(copied: Path, tmp_path: Path) -> None:
    (copied / MAIN).rename(copied / "ny_od_main_JT00_2019.csv.gz")
    with pytest.raises(SourceFileError, match="its jobs are those of an OD main file of RI"):
        import_published(tmp_path / "a.published", sources_in(copied)[0])


@pytest.mark.parametrize("title", ["red\x1b[31m", "a\nb", "x" * 201])
def test_a_title_is_one_printable_line(title: str, copied: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceFileError, match="the title: give one printable line"):
        import_published(tmp_path / "a.published", sources_in(copied)[0], title=title)


def test_the_guidance_of_lodes_is_said_of_lodes_alone(copied: Path, tmp_path: Path) -> None:
    publisher = declared_publisher("City of Leeds, Commuters, https://example.org/a")
    import_published(tmp_path / "a.published", sources_in(copied)[0], declared=publisher)
    found = Release.open(tmp_path / "a.published")
    texts = [
        note.text for note in found.profile("county:44001", Filters(age=(1,), earnings=(1,))).about.notes
    ]
    assert "Counts are as published by City of Leeds, as declared by the importer." in texts
    assert not any("Census Bureau" in text or "LODES" in text for text in [*texts, str(chapters(found))])


def test_a_cross_table_uses_the_two_way_counts_that_segment_files_publish(
    copied: Path, tmp_path: Path
) -> None:
    """Two workers of a pair of blocks change places in the files; what was assigned would not show it."""
    alone = import_published(tmp_path / "alone.published", sources_in(copied)[0])
    store = open_store(alone.path, "published")
    jobs = store.table("jobs").merge(
        store.table("blocks", ["block_id"]), left_on="destination_index", right_index=True
    )
    by = (
        jobs.groupby(["block_id", "age", "earnings"])["count"]
        .sum()
        .unstack(["age", "earnings"], fill_value=0)
    )
    full: Any = by.reindex(columns=pandas.MultiIndex.from_product([(1, 2, 3), (1, 2, 3)]), fill_value=0)
    block = next(
        name
        for name, row in full.iterrows()
        if min(row[1, 1], row[2, 2]) > 0 or min(row[1, 2], row[2, 1]) > 0
    )
    step = 1 if min(full.loc[block, (1, 1)], full.loc[block, (2, 2)]) > 0 else -1
    for cell, sign in (((1, 1), -1), ((2, 2), -1), ((1, 2), 1), ((2, 1), 1)):
        full.loc[block, cell] += sign * step
    for segment in (0, 1, 2, 3):
        lines = [",".join(["w_geocode", *CHARACTERISTIC_CODES, "createdate"])]
        for name, row in full.iterrows():
            kept = {(age, band): int(row[age, band]) for age, band in row.index if segment in (0, age)}
            n = sum(kept.values())
            cells = {"C000": n, "CNS05": n}
            for (age, band), count in kept.items():
                for code in (f"CA0{age}", f"CE0{band}"):
                    cells[code] = cells.get(code, 0) + count
            if n:
                lines.append(
                    ",".join(
                        [str(name), *(str(cells.get(code, 0)) for code in CHARACTERISTIC_CODES), "20211018"]
                    )
                )
        name = "S000" if not segment else f"SA0{segment}"
        samples.write_text(copied / f"ri_wac_{name}_JT00_2019.csv.gz", "\n".join(lines) + "\n")
    import_published(tmp_path / "a.published", sources_in(copied, characteristics=True)[0])
    assigned = Release.open(alone.path).cross_table(by=("age", "earnings"))
    published = Release.open(tmp_path / "a.published").cross_table(by=("earnings", "age"))
    assert assigned.about.has_note("assigned")
    assert not published.about.has_note("assigned")
    found: Any = published.cells.set_index(["second", "first"])["workers"]
    wanted = full.sum()
    assert {(int(age), int(band)): n for (age, band), n in found.items()} == wanted.to_dict()
    before: Any = assigned.cells.set_index(["first", "second"])["workers"]
    assert (found.sort_index() != before.sort_index()).sum() == 4
