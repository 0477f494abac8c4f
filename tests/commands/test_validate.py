"""`commutemap validate`: what it prints and writes, what it refuses, and that nothing is left half-written."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pandas
import pytest
from matplotlib.figure import Figure
from PIL import Image

from mapapp.analyst.validity import report
from mapapp.commands.cli import run
from tests.changed_datasets import with_other_homes, with_other_table
from tests.commands.running import refused
from tests.commands.test_killed import killed_at


def printed(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert run([str(argument) for argument in arguments]) == 0
    return capsys.readouterr().out


def test_output_names_what_was_measured_and_is_marked_confidential(
    demo_dataset: Path, demo_release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = printed(capsys, "validate", demo_dataset, demo_release, "-q")
    assert text.startswith("CONFIDENTIAL, not for publication")
    for words in (
        "KL divergence",
        "IMSE",
        "[500-high]",
        "ten largest home tracts",
        "inflow",
        "epsilon_final",
        "are shown in their true home tract; expected from public data: ",
    ):
        assert words in text
    found = json.loads(printed(capsys, "validate", demo_dataset, demo_release, "-q", "--json"))
    assert "not for publication" in found["confidential"]
    assert found["basis"] == "release"
    assert found["facts"]["release"]["is_of_these_counts"] is True
    assert 0 < found["summary"]["kl_all"] < found["summary"]["kl_small"]
    sample = json.loads(
        printed(capsys, "validate", demo_dataset, demo_release, "-q", "--json", "--sample", "3")
    )
    assert sample["facts"]["scope"]["tracts_measured"] == 3
    assert "in_out" not in sample["tables"]


def test_only_the_owner_can_read_tables_and_pictures(
    demo_dataset: Path, demo_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    printed(
        capsys,
        "validate",
        demo_dataset,
        demo_release,
        "-q",
        "--csv",
        tmp_path / "tables",
        "--picture",
        tmp_path / "a.png",
    )
    printed(capsys, "validate", demo_dataset, demo_release, "-q", "--picture", tmp_path / "a.svg")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.png", "a.svg", "tables"]
    assert "not for publication" in (tmp_path / "tables" / "CONFIDENTIAL.txt").read_text()
    summary = pandas.read_csv(tmp_path / "tables" / "summary.csv").set_index("measure")["value"]
    destinations = pandas.read_csv(tmp_path / "tables" / "destinations.csv")
    weighted = (destinations["imse"] * destinations["n_workers"]).sum() / destinations["n_workers"].sum()
    assert summary["imse_all"] == pytest.approx(weighted)
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size[0] > 1000
    assert "Confidential, not for publication" in _text_of((tmp_path / "a.svg").read_text())
    for name in ("tables", "a.png", "a.svg"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) & 0o077 == 0


def test_confidential_files_are_for_their_owner_whatever_the_umask_is(tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        report.write_tables({"counts": pandas.DataFrame({"n": [1]})}, "confidential", tmp_path / "tables")
        report.write_figure(Figure(), tmp_path / "a.png")
    finally:
        os.umask(umask)
    files = [*tmp_path.iterdir(), *(tmp_path / "tables").iterdir()]
    assert sorted(file.name for file in files) == ["CONFIDENTIAL.txt", "a.png", "counts.csv", "tables"]
    assert [file.name for file in files if stat.S_IMODE(file.stat().st_mode) & 0o077] == []


def _text_of(svg: str) -> str:
    """Matplotlib draws letters as paths, and says in a comment which text they are."""
    return " ".join(
        line.strip().removeprefix("<!--").removesuffix("-->").strip()
        for line in svg.splitlines()
        if "<!--" in line
    )


def test_another_dataset_is_refused(demo_dataset: Path, demo_release: Path, tmp_path: Path) -> None:
    moved = with_other_table(
        demo_dataset,
        tmp_path / "moved",
        "blocks",
        lambda blocks: blocks.assign(population=blocks["population"] + 1),
    )
    message = refused("validate", moved, demo_release, "-q")
    assert "not made from the geography" in message
    assert "blocks" in message
    fewer = with_other_table(demo_dataset, tmp_path / "fewer", "jobs", lambda jobs: jobs.iloc[5:])
    assert "does not hold the workplaces" in refused("validate", fewer, demo_release, "-q")

    def older(jobs: Any) -> Any:
        return jobs.assign(age=jobs["age"] % 3 + 1)

    other = with_other_table(demo_dataset, tmp_path / "other", "jobs", older)
    assert "workplace and segment" in refused("validate", other, demo_release, "-q")


def test_other_homes_of_the_same_workplaces_are_measured_with_a_note(
    demo_dataset: Path, demo_release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = with_other_homes(demo_dataset, tmp_path / "other")
    text = printed(capsys, "validate", other, demo_release, "-q")
    assert "another table of jobs" in text


def test_confidential_tables_are_not_written_into_a_release(demo_dataset: Path, demo_release: Path) -> None:
    for folder in (demo_dataset, demo_release):
        for option, name in (("--csv", "tables"), ("--picture", "a.png")):
            there = refused("validate", demo_dataset, demo_release, "-q", option, folder / name)
            assert "lies within a" in there
            assert not (folder / name).exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--csv", "a.png", "--picture", "a.png"], "both"),
        (["--picture", "a.pdf"], ".png or .svg"),
        (["--picture", "nowhere/a.png"], "no such directory"),
        (["--csv", "nowhere/tables"], "no such directory"),
        (["--csv", "."], "already exists"),
        (["--sample", "0"], "--sample"),
    ],
)
def test_unwritable_places_are_refused_before_measuring(
    demo_dataset: Path,
    demo_release: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert words in refused("validate", demo_dataset, demo_release, "-q", *options)
    assert not list(tmp_path.iterdir())


def test_stores_of_the_wrong_kind_are_refused(demo_dataset: Path, demo_release: Path) -> None:
    assert "a dataset is needed" in refused("validate", demo_release, demo_release, "-q")
    assert "a release is needed" in refused("validate", demo_dataset, demo_dataset, "-q")


def test_an_empty_certificate_is_refused(demo_dataset: Path, demo_release: Path, tmp_path: Path) -> None:
    import hashlib

    broken = Path(shutil.copytree(demo_release, tmp_path / "r"))
    (broken / "certificate.json").write_text("{}")
    manifest = json.loads((broken / "manifest.json").read_text())
    manifest["files"]["certificate.json"]["sha256"] = hashlib.sha256(b"{}").hexdigest()
    (broken / "manifest.json").write_text(json.dumps(manifest))
    assert "certificate.json" in refused("validate", demo_dataset, broken, "-q")


def test_ctrl_c_names_what_was_written(
    demo_dataset: Path,
    demo_release: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(report, "write_picture", interrupted)
    tables, picture = tmp_path / "tables", tmp_path / "a.png"
    places = ["--csv", str(tables), "--picture", str(picture)]
    assert run(["validate", str(demo_dataset), str(demo_release), "-q", *places]) == 130
    assert capsys.readouterr().err.strip() == f"commutemap: stopped after writing {tables}"
    assert [entry.name for entry in tmp_path.iterdir()] == ["tables"]


def test_ctrl_c_leaves_nothing(
    demo_dataset: Path,
    demo_release: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pandas.DataFrame, "to_csv", interrupted)
    code = run(["validate", str(demo_dataset), str(demo_release), "-q", "--csv", str(tmp_path / "tables")])
    assert code == 130
    assert "stopped" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("stage", ["measuring", "drawing the picture"])
def test_killed_and_run_again(demo_dataset: Path, demo_release: Path, tmp_path: Path, stage: str) -> None:
    picture = tmp_path / "a.png"
    killed_at(stage, "validate", demo_dataset, demo_release, "--picture", picture)
    assert not list(tmp_path.iterdir())


def test_a_full_disk_gives_one_line(
    demo_dataset: Path, demo_release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    message = refused("validate", demo_dataset, demo_release, "-q", "--csv", tmp_path / "tables")
    assert "No space left" in message
    assert not list(tmp_path.iterdir())


def test_worker_records_are_measured(
    demo_dataset: Path, seedless_records: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tables, picture = tmp_path / "tables", tmp_path / "a.svg"
    text = printed(
        capsys, "validate", demo_dataset, seedless_records, "-q", "--csv", tables, "--picture", picture
    )
    assert text.startswith("CONFIDENTIAL, not for publication")
    for words in ("work_puma x home_puma x industry x earnings", "noise floor", "ten largest home tracts"):
        assert words in text
    assert "other workers" not in text
    assert "not for publication" in (tables / "CONFIDENTIAL.txt").read_text()
    assert len(pandas.read_csv(tables / "pairs.csv")) == 66
    drawn = _text_of(picture.read_text())
    assert "Confidential, not for publication" in drawn
    assert "noise floor above it" in drawn
    for path in (tables, picture):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0
    found = json.loads(printed(capsys, "validate", demo_dataset, seedless_records, "-q", "--json"))
    assert found["basis"] == "records"
    assert found["facts"]["records"]["is_of_these_workers"] is True
    assert found["summary"]["pairs"] > found["summary"]["attributes"] > 0


def test_worker_records_are_measured_whole(demo_dataset: Path, seedless_records: Path) -> None:
    message = refused("validate", demo_dataset, seedless_records, "-q", "--sample", "3")
    assert "--sample 3: worker records are always measured whole" in message
