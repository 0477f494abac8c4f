"""`synthesize --dry-run`: what a release would promise, with nothing spent, drawn or written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from geodata.store.store import store_digest
from tests.commands.running import refused, run_here


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "d.dataset"
    shutil.copytree(demo_dataset, copy)
    return copy


@pytest.mark.parametrize(
    ("options", "promise", "expected"),
    [
        ([], (6.5, 0.0), {"expected_misplaced"}),
        (["--preset", "onthemap-v3"], (8.98202663, 1e-6), {"expected_kl_all", "expected_kl_small"}),
        (["--unit", "tract", "--epsilon", "2"], (2.0, 0.0), {"expected_misplaced"}),
    ],
)
def test_a_dry_run_says_what_would_be_promised_and_leaves_nothing(
    dataset: Path, options: list[str], promise: tuple[float, float], expected: set[str]
) -> None:
    before = {path.name: path.stat().st_mtime_ns for path in dataset.iterdir()}
    digest = store_digest(dataset)
    release = dataset.parent / "r.release"
    done = run_here("synthesize", dataset, release, *options, "--dry-run", "--quiet", "--json")
    assert done.code == 0, done.err
    plan = json.loads(done.out)
    certificate = plan["certificate"]
    assert (certificate["epsilon_final"]["value"], certificate["delta"]["value"]) == pytest.approx(promise)
    assert set(plan["expected"]) == expected
    assert plan["expected_plain"]["inflow"]["county"] > 0
    assert plan["n_workers"] > 0
    assert {path.name: path.stat().st_mtime_ns for path in dataset.iterdir()} == before
    assert store_digest(dataset) == digest
    assert not release.exists()


def test_a_dry_run_repeats_what_the_choice_of_a_setting_expects(dataset: Path) -> None:
    """No simulation runs again: the numbers are those of the certificate, to their four digits."""
    options = ("--preset", "recommended", "--test-key", "--dry-run", "--quiet", "--json")
    plan = json.loads(run_here("synthesize", dataset, dataset.parent / "r.release", *options).out)
    facts = plan["certificate"]["construction"]["design"]
    assert plan["expected"] == {"expected_misplaced": facts["expected_misplaced"]}


def test_a_dry_run_certifies_what_the_run_certifies(dataset: Path) -> None:
    release = dataset.parent / "r.release"
    options = ("--preset", "recommended", "--test-key", "--quiet")
    planned = json.loads(run_here("synthesize", dataset, release, *options, "--dry-run", "--json").out)
    assert run_here("synthesize", dataset, release, *options).code == 0
    made = json.loads((release / "certificate.json").read_text())
    for name in ("epsilon_final", "delta", "readings", "accounting", "parameters", "construction", "caveats"):
        assert planned["certificate"][name] == made[name], name


def test_a_dry_run_takes_no_cluster(dataset: Path) -> None:
    line = refused(
        "synthesize", dataset, dataset.parent / "r", "--dry-run", "--scheduler", "tcp://127.0.0.1:9"
    )
    assert "--dry-run with --scheduler" in line
