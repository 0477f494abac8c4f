"""The ledger from the command line: what is spent, what a budget refuses, what does not count."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from mapapp.cli import run
from mapapp.ledger import Ledger
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


def test_the_test_key_spends_nothing(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["synthesize", str(dataset), str(dataset.parent / "r"), "-q", "--test-key"]) == 0
    assert spent(dataset, capsys)["epsilon"] == 0
    certificate = json.loads((dataset.parent / "r" / "certificate.json").read_text())
    assert certificate["status"] == "not for release"


def test_a_release_past_the_budget_is_refused_and_leaves_nothing(dataset: Path) -> None:
    Ledger(dataset).set_budget(epsilon="10", delta="1e-5")
    assert run(["synthesize", str(dataset), str(dataset.parent / "r1"), "-q"]) == 0
    message = refused("synthesize", dataset, dataset.parent / "r2", "-q")
    assert "epsilon" in message
    assert sorted(entry.name for entry in dataset.parent.iterdir()) == ["d", "r1"]


def test_two_at_once_cannot_both_pass(dataset: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    Ledger(dataset).set_budget(epsilon="10", delta="1e-5")
    with ThreadPoolExecutor(2) as pool:
        places = [dataset.parent / name for name in ("r1", "r2")]
        done = list(pool.map(lambda place: commutemap("synthesize", dataset, place, "-q"), places))
    assert sorted(each.code for each in done) == [0, 2], [each.err for each in done]


def test_a_budget_needs_both_numbers_and_sense(tmp_path: Path) -> None:
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


def test_an_import_with_a_budget_has_it_from_the_start(
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
