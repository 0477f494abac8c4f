"""`commutemap sweep` from the user's side: the table, the files, stopping, and one line for every error."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mapapp.analyst.sweep import sweep as pipeline
from mapapp.commands.cli import run
from mapapp.kinds.records.measure import sweep as of_records
from mapapp.kinds.records.measure.draws import draw_plan
from tests.commands.running import refused

PUBLISHED = ("--preset", "onthemap-v3")
EPSILONS = (*PUBLISHED, "--over", "epsilon=4.6,2", "--sample", "3", "-q")


def test_the_table_and_the_files(
    demo_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ("--csv", tmp_path / "s.csv", "--picture", tmp_path / "s.svg")
    arguments = ["sweep", demo_dataset, *EPSILONS, "--seeds", "2", *files]
    assert run([str(one) for one in arguments]) == 0
    out = capsys.readouterr().out.splitlines()
    assert "3 of" in out[0]
    assert out[1].split()[:2] == ["epsilon", "epsilon_final"]
    assert [line.split()[0] for line in out[2:4]] == ["4.6", "2"]
    assert out[2].split()[1] == "8.982"
    assert "not for publication" in out[-1]
    with (tmp_path / "s.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["epsilon"] for row in rows] == ["4.6", "2"]
    assert {row["confidential"] for row in rows} == {"not for publication"}
    assert "not for publication" in (tmp_path / "s.svg").read_text()
    for name in ("s.csv", "s.svg"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["s.csv", "s.svg"]


def test_a_stopped_sweep_keeps_its_rows_and_resumes(
    demo_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    original = pipeline.run_sweep

    def stopped(*arguments: Any, **options: Any) -> Iterator[Any]:
        yield next(original(*arguments, **options))
        raise KeyboardInterrupt

    arguments = ["sweep", str(demo_dataset), *EPSILONS, "--csv", str(tmp_path / "s.csv"), "--json"]
    monkeypatch.setattr(pipeline, "run_sweep", stopped)
    assert run(arguments) == 130
    said = capsys.readouterr()
    assert "stopped after 1 of 2" in said.err
    assert [row["asked"]["epsilon"] for row in json.loads(said.out)["rows"]] == ["4.6"]
    monkeypatch.setattr(pipeline, "run_sweep", original)
    assert run(arguments) == 0
    result = json.loads(capsys.readouterr().out)
    assert [row["asked"]["epsilon"] for row in result["rows"]] == ["4.6", "2"]
    assert result["over"] == {"epsilon": ["4.6", "2"]}
    assert "not for publication" in result["confidential"]
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 3


def test_a_setting_that_cannot_be_certified_does_not_stop_the_sweep(
    demo_dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    over = [*PUBLISHED, "--over", "epsilon-final=1e-18,8", "--sample", "3", "-q"]
    assert run(["sweep", str(demo_dataset), *over]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[2].split()[2:] == ["–"] * 5
    assert out[3].startswith("    no release: ")
    assert out[4].split()[0] == "8"


def test_options_may_come_from_a_file(
    demo_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.toml").write_text(
        '[sweep]\npreset = "onthemap-v3"\nover = ["strength=0.0,3"]\nsample = 3\ndelta = 1e-5\nprior = "gravity"\n'
    )
    assert run(["sweep", str(demo_dataset), "--config", str(tmp_path / "c.toml"), "--json", "-q"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["strength"] for row in rows] == [0.0, 3.0]
    assert {(row["delta"], row["prior"]) for row in rows} == {(1e-5, "gravity")}


def test_the_base_setting_is_the_recommended_preset(
    demo_dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    over = ["--over", "epsilon=4,6.5", "--sample", "3", "--design", "none", "--json", "-q"]
    assert run(["sweep", str(demo_dataset), *over]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["epsilon_final"] for row in rows] == [4.0, 6.5]
    assert {(row["mechanism"], row["unit"], row["delta"]) for row in rows} == {("exponential", "cell", 0.0)}
    assert {(row["tract_radius_mi"], row["puma_radius_mi"]) for row in rows} == {(6.23, 21.54)}, (
        "nothing is chosen where --design none says so"
    )
    assert "--preset onthemap-v3" in refused("sweep", demo_dataset, "--over", "delta=1e-6,1e-5", "-q")


def test_last_years_release_may_be_the_prior(
    demo_dataset: Path, demo_release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    over = [*PUBLISHED, "--over", "delta=1e-6", "--sample", "3", "--json", "-q"]
    results = []
    for more in ([], ["--prior-release", str(demo_release)]):
        assert run(["sweep", str(demo_dataset), *over, *more]) == 0
        results += json.loads(capsys.readouterr().out)["rows"]
    assert {row["prior"] for row in results} == {"flows"}
    assert results[0]["kl_all"] != results[1]["kl_all"]
    assert results[0]["fingerprint"] != results[1]["fingerprint"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], ["--over", "missing"]),
        (["--over", "epsilon"], ["epsilon", "NAME=V1"]),
        (["--over", "seed=1,2"], ["seed=1,2", "min-retention"]),
        (["--over", "epsilon=1,,2"], ["a value is missing"]),
        (["--over", "epsilon=2,3,2"], ["2 is listed twice"]),
        (["--over", "epsilon=2", "--over", "epsilon=3"], ["epsilon", "given twice"]),
        (["--over", "epsilon=two"], ["--over epsilon=two", "finite number"]),
        (["--over", "epsilon=4,0"], ["--over epsilon=0", "above 0"]),
        (["--over", "strength=weak"], ["weak", "--strength"]),
        (["--over", "far-state-miles=100,far"], ["'far'", "number, or none"]),
        (["--over", "far-state-miles=0"], ["--over far-state-miles=0", "far_state_miles"]),
        (["--over", "clean=maybe"], ["maybe", "boolean"]),
        (["--over", "clean=on"], ["--over clean=on", "exponential mechanism only"]),
        (["--over", "editing=burn"], ["burn", "pool"]),
        (["--over", "editing=pool,drop"], ["drop", "replication"]),
        (["--over", "epsilon=2", "--epsilon-final", "8"], ["give one"]),
        (["--over", "strength=2", "--design", "auto"], ["--design auto", "--strength"]),
        (["--over", "epsilon=2", "--sample", "0"], ["--sample"]),
        (["--over", "epsilon=2", "--seeds", "0"], ["--seeds"]),
        (["--over", "epsilon=2", "--picture", "p.gif"], [".png or .svg"]),
        (["--over", "epsilon=2", "--picture", "none/p.png"], ["no such directory"]),
        (["--over", "epsilon=2", "--csv", "none/p.csv"], ["no such directory"]),
        (["--over", "epsilon=2", "--csv", "p.png", "--picture", "./p.png"], ["both"]),
    ],
)
def test_errors_of_sweep_are_one_line(
    demo_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    message = refused("sweep", demo_dataset, *PUBLISHED, *options, "-q")
    for word in words:
        assert word in message, message
    assert not list(tmp_path.iterdir())


def test_worker_records_are_swept_without_charging_anything(
    demo_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = ["sweep", str(demo_dataset), "--worker-records", "--seeds", "1", "-q"]
    files = ["--csv", str(tmp_path / "s.csv"), "--picture", str(tmp_path / "s.svg")]
    assert run([*base, "--over", "kept=1,2", "--min-seeds", "100", *files]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].startswith("CONFIDENTIAL, not for publication")
    assert out[1].split()[:5] == ["kept", "epsilon", "replaced", "delta", "passed"]
    assert [line.split()[0] for line in out[2:6]] == ["1", "before", "2", "before"]
    with (tmp_path / "s.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["kept"] for row in rows] == ["work_puma", "work_puma, home_puma"]
    assert {row["confidential"] for row in rows} == {"not for publication"}
    assert "CONFIDENTIAL" in (tmp_path / "s.svg").read_text()
    for name in ("s.csv", "s.svg"):
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert not (demo_dataset / "ledger.jsonl").exists()
    assert run([*base, "--over", "epsilon=1,2", "--csv", str(tmp_path / "s.csv"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [row["epsilon_replace_one"] for row in result["rows"]] == [2.0, 4.0]
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 5, "rows of both sweeps are in the file"
    assert "is no sweep" in refused("sweep", demo_dataset, *EPSILONS, "--csv", tmp_path / "s.csv")


def test_a_stopped_sweep_of_records_keeps_its_rows_and_resumes(
    demo_dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(workers: Any, plan: Any, key: Any) -> Any:
        if plan.model_epsilon == 2:
            raise KeyboardInterrupt
        return draw_plan(workers, plan, key)

    arguments = [
        "sweep",
        str(demo_dataset),
        "--worker-records",
        "--over",
        "epsilon=1,2",
        "--seeds",
        "1",
        "-q",
    ]
    arguments += ["--csv", str(tmp_path / "s.csv"), "--json"]
    monkeypatch.setattr(of_records, "draw_plan", stopped)
    assert run(arguments) == 130
    assert "stopped after 1 of 2" in capsys.readouterr().err
    first = (tmp_path / "s.csv").read_text()
    monkeypatch.setattr(of_records, "draw_plan", draw_plan)
    assert run(arguments) == 0
    assert (tmp_path / "s.csv").read_text().startswith(first)
    assert len(json.loads(capsys.readouterr().out)["rows"]) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], ["--over is missing"]),
        (["--over", "min-retention=0.1"], ["min-retention=0.1", "min-seeds"]),
        (["--over", "kept=work_puma"], ["--over kept=work_puma", "none, or 1 to"]),
        (["--over", "min-seeds=many"], ["many"]),
        (["--over", "epsilon=0"], ["--over epsilon=0", "above 0"]),
        (["--over", "min-seeds=100"], ["--over min-seeds=100", "--kept none"]),
        (["--over", "epsilon=1", "--min-seeds", "9"], ["--min-seeds with --kept none"]),
        (["--over", "epsilon=1", "--sample", "3"], ["--sample is an option of releases"]),
        (["--over", "epsilon=1", "--preset", "recommended"], ["--preset is an option of releases"]),
        (["--over", "epsilon=1", "--n-min", "3", "--seeds", "0"], ["--seeds"]),
        (["--over", "records=10000000000"], ["more than the dataset has workers"]),
    ],
)
def test_errors_of_sweeps_of_records_are_one_line(
    demo_dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    message = refused("sweep", demo_dataset, "--worker-records", *options, "-q")
    for word in words:
        assert word in message, message
    assert not list(tmp_path.iterdir())


def test_options_of_records_need_worker_records(demo_dataset: Path) -> None:
    message = refused("sweep", demo_dataset, "--over", "epsilon=2", "--kept", "work_puma")
    assert "--kept is an option of worker records; add --worker-records" in message


def test_what_is_there_is_not_overwritten(demo_dataset: Path, demo_release: Path, tmp_path: Path) -> None:
    for name, option in (("p.png", "--picture"), ("s.csv", "--csv")):
        (tmp_path / name).write_text("mine")
        assert "already exists" in refused(
            "sweep", demo_dataset, "--over", "epsilon=2", option, tmp_path / name
        )
        assert (tmp_path / name).read_text() == "mine"
    assert "dataset" in refused("sweep", demo_release, "--over", "epsilon=2")


def test_nothing_is_written_into_a_dataset_or_release(
    demo_dataset: Path, demo_release: Path, tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to(demo_release)
    for folder in (demo_dataset, demo_release, tmp_path / "link"):
        for option, name in (("--csv", "s.csv"), ("--picture", "s.png")):
            there = refused("sweep", demo_dataset, "--over", "epsilon=2", option, folder / name)
            assert "lies within a" in there
