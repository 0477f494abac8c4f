"""`commutemap audit`: what it prints and writes, what it refuses, and that nothing is left half-written."""

from __future__ import annotations

import json
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import pandas
import pytest

from mapapp.analyst.audit import audited
from mapapp.analyst.audit import run as attackers
from mapapp.analyst.audit.result import LIMITS
from mapapp.analyst.validity.confidential_parts import AnalystData
from mapapp.commands.cli import run
from mapapp.kinds.records.audit import run as of_records
from mapapp.kinds.records.audit.membership import law_rows
from mapapp.kinds.records.audit.result import RECORDS_LIMITS
from tests.changed_datasets import with_other_table
from tests.commands.running import refused


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert run([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_output_starts_with_sentences_and_says_what_it_cannot_say(
    demo_dataset: Path, demo_release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, "audit", demo_dataset, demo_release, "-q", "--question", "all")
    lines = text.splitlines()
    assert lines[0].startswith("CONFIDENTIAL, not for publication")
    assert "alone in their workplace block and segment" in lines[1]
    assert "keep their true home area in this release" in lines[1]
    assert lines[-1].strip() == LIMITS
    for words in ("home tract", "earnings", "industry", "most certain", "the others teach", "2-9"):
        assert words in text
    found = json.loads(printed(capsys, "audit", demo_dataset, demo_release, "-q", "--json"))
    assert "not for publication" in found["confidential"]
    assert found["limits"] == LIMITS
    assert {row["target"] for row in found["tables"]["attackers"]} == {
        "home point",
        "home tract",
        "home county",
    }


def test_several_releases_and_settings_stand_side_by_side(
    demo_dataset: Path, demo_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "coarse.toml"
    file.write_text(
        'mechanism = "dirichlet-multinomial"\nepsilon-final = 2.5\ntract-radius = 5\npuma-radius = 20\n'
    )
    found = json.loads(
        printed(
            capsys,
            "audit",
            demo_dataset,
            demo_release,
            "--setting",
            file,
            "--setting",
            "recommended",
            "-q",
            "--json",
        )
    )
    facts = {one["name"]: one for one in found["facts"]["releases"]}
    assert list(facts) == [demo_release.name, "coarse", "recommended"]
    assert facts["coarse"]["mechanism"] == "dirichlet-multinomial"
    assert facts["coarse"]["epsilon_final"] == 2.5
    assert facts["recommended"]["epsilon_final"] == 6.5
    assert not facts["coarse"]["is_release"]


def test_a_setting_is_what_a_release_with_the_test_key_would_be(
    demo_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--epsilon", "3", "--tract-radius", "10", "--puma-radius", "20"]
    dataset = Path(shutil.copytree(demo_dataset, tmp_path / "demo.dataset"))
    printed(capsys, "synthesize", dataset, tmp_path / "three.release", "--test-key", "-q", *options)
    file = tmp_path / "three.toml"
    file.write_text("epsilon = 3\ntract-radius = 10\npuma-radius = 20\n")
    found = json.loads(
        printed(capsys, "audit", dataset, tmp_path / "three.release", "--setting", file, "-q", "--json")
    )
    table = pandas.DataFrame(found["tables"]["attackers"])
    of_release, of_setting = (
        table[table["release"] == name].drop(columns="release").reset_index(drop=True)
        for name in ("three.release", "three")
    )
    pandas.testing.assert_frame_equal(of_release, of_setting)


def test_only_the_owner_can_read_tables_and_pictures(
    demo_dataset: Path, demo_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--csv", tmp_path / "tables", "--picture", tmp_path / "a.png"]
    printed(capsys, "audit", demo_dataset, demo_release, "-q", *places)
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.png", "tables"]
    note = (tmp_path / "tables" / "CONFIDENTIAL.txt").read_text()
    assert "not for publication" in note
    assert LIMITS in note
    attackers = pandas.read_csv(tmp_path / "tables" / "attackers.csv", dtype={"n": str})
    assert set(attackers["n"]) == {"all", "1", "2-9", "10+"}
    for place in (tmp_path / "tables", tmp_path / "a.png", tmp_path / "tables" / "attackers.csv"):
        assert stat.S_IMODE(place.stat().st_mode) & 0o077 == 0


def test_worker_records_are_audited_and_nothing_is_charged(
    demo_dataset: Path, seedless_records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--csv", tmp_path / "tables", "--picture", tmp_path / "a.svg"]
    arguments = ["audit", demo_dataset, seedless_records, "-q", "--draws", "100"]
    lines = printed(capsys, *arguments, *places).splitlines()
    assert lines[0].startswith("CONFIDENTIAL, not for publication")
    assert "filled the model's tables or was not in the data at all" in lines[1]
    assert lines[-1].strip() == RECORDS_LIMITS
    assert any("PUMA of home: workers named right" in line for line in lines)
    note = (tmp_path / "tables" / "CONFIDENTIAL.txt").read_text()
    assert "not for publication" in note
    assert RECORDS_LIMITS in note
    tables = {"attackers", "calibration", "confidence", "law", "leakage", "linkage", "membership", "power"}
    assert {file.stem for file in (tmp_path / "tables").glob("*.csv")} == tables
    for place in (tmp_path / "tables", tmp_path / "a.svg", tmp_path / "tables" / "membership.csv"):
        assert stat.S_IMODE(place.stat().st_mode) & 0o077 == 0
    assert "not for publication" in (tmp_path / "a.svg").read_text()
    assert not (demo_dataset / "ledger.jsonl").exists()
    found = json.loads(printed(capsys, *arguments, "--question", "earnings", "--json"))
    assert {row["target"] for row in found["tables"]["attackers"]} == {"earnings"}
    assert found["facts"]["draws"] == 100
    assert found["facts"]["records"][0]["epsilon_replace_one"] == 2.0


def test_records_that_break_their_promise_end_with_code_3(
    demo_dataset: Path,
    seedless_records: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(
        of_records, "law_rows", lambda *given: [{**row, "is_off": True} for row in law_rows(*given)]
    )
    assert run(["audit", str(demo_dataset), str(seedless_records), "-q", "--draws", "100"]) == 3
    assert "NOT DRAWN BY ITS LAW: this is a bug in commutemap" in capsys.readouterr().out


def test_what_does_not_go_with_worker_records_is_refused(
    demo_dataset: Path, demo_release: Path, demo_records: Path, seedless_records: Path, tmp_path: Path
) -> None:
    for options, words in (
        ([demo_release], "one after the other"),
        (["--setting", "recommended"], "--setting is for releases"),
        (["--against", "k=8"], "--against is for releases"),
        (["--draws", "99"], "--draws"),
        (["--question", "wealth"], "wealth"),
    ):
        assert words in refused("audit", demo_dataset, seedless_records, "-q", *options)
    assert "--draws is for worker records" in refused(
        "audit", demo_dataset, demo_release, "--draws", "100", "-q"
    )
    assert "has other attributes" in refused("audit", demo_dataset, demo_records, "-q")
    broken = Path(shutil.copytree(seedless_records, tmp_path / "broken.records"))
    certificate = json.loads((broken / "certificate.json").read_text())
    del certificate["split"]
    (broken / "certificate.json").write_text(json.dumps(certificate))
    assert "broken.records" in refused("audit", demo_dataset, broken, "-q")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["broken.records"]


def test_a_release_of_another_place_or_of_other_counts_is_refused(
    demo_dataset: Path, demo_release: Path, tmp_path: Path
) -> None:
    moved = with_other_table(
        demo_dataset,
        tmp_path / "moved",
        "blocks",
        lambda blocks: blocks.assign(population=blocks["population"] + 1),
    )
    assert "not made from the geography" in refused("audit", moved, demo_release, "-q")
    fewer = with_other_table(demo_dataset, tmp_path / "fewer", "jobs", lambda jobs: jobs.iloc[5:])
    assert "does not hold the workplaces" in refused("audit", fewer, demo_release, "-q")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--question", "age"], "--question"),
        (["--setting", "best"], "neither a preset (recommended, onthemap-v3) nor a file that ends in .toml"),
        (
            ["--setting", "nowhere.toml"],
            "nowhere.toml: No such file or directory; check the path given to --setting",
        ),
        (["--setting", "recommended", "--setting", "recommended"], "given twice"),
        (["--setting", "recommended", "--setting", "other/recommended.toml"], "recommended is given twice"),
        (["--picture", "a.pdf"], ".png or .svg"),
        (["--csv", "nowhere/tables"], "no such directory"),
    ],
)
def test_bad_options_are_refused_in_one_line(
    demo_dataset: Path,
    demo_release: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refused("audit", demo_dataset, demo_release, "-q", *options)
    assert not list(tmp_path.iterdir())


def test_a_broken_promise_is_said_in_plain_words_with_exit_code_3(
    demo_dataset: Path,
    demo_release: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real = audited.audited_release

    def too_tight(data: AnalystData, path: Path) -> audited.Audited:
        return replace(real(data, path), epsilon_final=1.0)

    monkeypatch.setattr(audited, "audited_release", too_tight)
    assert run(["audit", str(demo_dataset), str(demo_release), "-q"]) == 3
    text = capsys.readouterr().out
    assert "PROMISE BROKEN" in text
    assert "do not publish the release" in text


def test_other_schemes_are_measured_beside_the_release(
    demo_dataset: Path, demo_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    against = ["--against", "k=2,16", "--against", "kd=1:height=3"]
    picture = ["--picture", tmp_path / "a.svg"]
    text = printed(
        capsys, "audit", demo_dataset, demo_release, "-q", "--question", "earnings", *against, *picture
    )
    assert "median relative error of counts" in text
    assert "kd=1:height=3" in text
    assert f"at the error of {demo_release.name}" in text
    assert "lone workers: share named right by lookup" in (tmp_path / "a.svg").read_text()


@pytest.mark.parametrize(
    ("against", "words"),
    [
        ("m=2", "the schemes are k, l,"),
        ("k=0", "whole number from 1 to"),
        ("k=99999999999999999999", "whole number from 1 to 2,147,483,647"),
        ("l=2.5", "whole number"),
        ("exponential=0.0001", "1/1024 to 25"),
        ("l=4", "only 3 values"),
        ("t=2", "from 0 to 1"),
        ("kd=0", "above 0"),
        ("kd=1:height=40", "smaller height"),
        ("cell=1", "10,000,000"),
    ],
)
def test_bad_schemes_are_refused_in_one_line_before_the_attackers_run(
    demo_dataset: Path, demo_release: Path, monkeypatch: pytest.MonkeyPatch, against: str, words: str
) -> None:
    def too_late(*_: object, **__: object) -> NoReturn:
        pytest.fail("the attackers ran before the scheme was refused")

    monkeypatch.setattr(attackers, "audited_workers", too_late)
    options = ["--question", "earnings", "--against", against]
    assert words in refused("audit", demo_dataset, demo_release, "-q", *options)


def test_a_release_and_a_setting_with_one_name_are_refused(
    demo_dataset: Path, demo_release: Path, tmp_path: Path
) -> None:
    file = tmp_path / f"{demo_release.name}.toml"
    said = refused("audit", demo_dataset, demo_release, "--setting", file, "-q")
    assert f"{demo_release.name} is given twice" in said


def test_nothing_to_audit_is_refused(demo_dataset: Path) -> None:
    assert "nothing to audit" in refused("audit", demo_dataset, "-q")
