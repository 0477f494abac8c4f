"""The ledger from the command line: what is spent, what a budget refuses, what does not count."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mapapp.cli import run
from mapapp.publishing.ledger import Ledger
from tests.commands.running import commutemap, refused


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "d"))


def spent(dataset: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, float]:
    capsys.readouterr()
    assert run(["ledger", str(dataset), "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out)["spent"])


def test_two_releases_add_up(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("r1", "r2"):
        assert run(["synthesize", str(dataset), str(dataset.parent / name), "-q"]) == 0
    total = spent(dataset, capsys)
    assert total["epsilon"] == pytest.approx(2 * 8.98202663, abs=1e-8)
    assert total["delta"] == pytest.approx(2e-6)


def test_both_readings_are_shown(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synthesize", str(dataset), str(dataset.parent / "r1"), "-q"]) == 0
    Ledger(dataset).spend(epsilon="0.5", delta=0, release="a\n\x1b[2K\udcff", reasons=("for a test",))
    capsys.readouterr()
    assert run(["ledger", str(dataset)]) == 0
    lines = capsys.readouterr().out.splitlines()
    amounts = "epsilon 8.98203, delta 1e-06 for"
    assert lines[1] == f"  as PDP: {amounts} each (destination block, segment) by itself, over all releases"
    assert lines[2] == f"  as DP: {amounts} the whole release, over all releases"
    assert lines[3].endswith("  r1  8.98203  1e-06  PDP and DP")
    assert "a??[2K?  0  0  not for release: for a test" in lines[4]
    assert run(["ledger", str(dataset), "--json"]) == 0
    (entry, _) = json.loads(capsys.readouterr().out)["entries"]
    for reading in ("probabilistic_differential_privacy", "differential_privacy"):
        assert entry["readings"][reading]["exact"] == ["898202663/100000000", "1/1000000"]


def test_the_rest_of_a_budget_is_shown(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Ledger(dataset).set_budget(epsilon="10", delta="1e-5")
    Ledger(dataset).spend(epsilon="1/7", delta="1e-6", release="r1")
    assert run(["ledger", str(dataset)]) == 0
    assert "(of 10 and 1e-05; left 9.85714 and 9e-06)" in capsys.readouterr().out


def test_the_test_key_spends_nothing(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synthesize", str(dataset), str(dataset.parent / "r"), "-q", "--test-key"]) == 0
    assert spent(dataset, capsys)["epsilon"] == 0
    certificate = json.loads((dataset.parent / "r" / "certificate.json").read_text())
    assert certificate["status"] == "not for release"


def test_a_release_beyond_the_budget_is_refused_and_leaves_nothing(dataset: Path) -> None:
    Ledger(dataset).set_budget(epsilon="10", delta="1e-5")
    assert run(["synthesize", str(dataset), str(dataset.parent / "r1"), "-q"]) == 0
    message = refused("synthesize", dataset, dataset.parent / "r2", "-q")
    assert "epsilon" in message
    assert sorted(entry.name for entry in dataset.parent.iterdir()) == ["d", "r1"]


@pytest.mark.usefixtures(
    "demo_release"
)  # so that kernels are compiled, and the two reach the ledger together
def test_two_simultaneous_runs_cannot_both_pass(dataset: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    Ledger(dataset).set_budget(epsilon="10", delta="1e-5")
    with ThreadPoolExecutor(2) as pool:
        places = [dataset.parent / name for name in ("r1", "r2")]
        done = list(pool.map(lambda place: commutemap("synthesize", dataset, place, "-q"), places))
    assert sorted(each.code for each in done) == [0, 2], [each.err for each in done]


def test_a_budget_needs_two_positive_numbers(tmp_path: Path) -> None:
    assert "--budget-delta" in refused("import", tmp_path / "d", "--from", tmp_path, "--budget-epsilon", "9")
    for epsilon in ("0", "-1", "nan", "nine"):
        message = refused(
            "import",
            tmp_path / "d",
            "--from",
            tmp_path,
            "--budget-epsilon",
            epsilon,
            "--budget-delta",
            "1e-6",
        )
        assert "budget" in message


def test_an_imported_dataset_has_its_budget_from_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.geodata.samples import write_sources

    write_sources(tmp_path / "s")
    code = run(
        [
            "import",
            str(tmp_path / "d"),
            "--from",
            str(tmp_path / "s"),
            "-q",
            "--budget-epsilon",
            "9",
            "--budget-delta",
            "1e-6",
        ]
    )
    assert code == 0, capsys.readouterr().err
    budget = Ledger(tmp_path / "d").budget()
    assert budget is not None
    assert float(budget[0]) == 9
    Ledger(tmp_path / "d").path.unlink()
    message = refused("synthesize", tmp_path / "d", tmp_path / "r", "-q")
    assert "imported with, epsilon 9 and delta 1/1000000" in message
    assert not (tmp_path / "r").exists()
