"""`certify` on honest releases, and on forged ones whose manifest was made to fit."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest

from geodata.store import sha256_of
from mapapp.pipeline.recheck import check_release
from tests.commands.running import refused


@pytest.fixture(scope="module")
def honest(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a secret key, flows as prior and pooled editing."""
    from mapapp.cli import run

    place = tmp_path_factory.mktemp("honest")
    shutil.copytree(demo_dataset, place / "d")
    assert run(["synthesize", str(place / "d"), str(place / "r"), "-q"]) == 0
    return place / "r"


@pytest.fixture
def release(honest: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(honest, tmp_path / "r"))


def reseal(release: Path) -> None:
    """Make the manifest fit whatever was changed, as a forger would."""
    manifest = json.loads((release / "manifest.json").read_text())
    for name, facts in manifest["files"].items():
        file = release / name
        facts.update(sha256=sha256_of(file), bytes=file.stat().st_size)
    (release / "manifest.json").write_text(json.dumps(manifest))


def forge(release: Path, change: Callable[[dict[str, Any]], None]) -> None:
    file = release / "certificate.json"
    certificate = json.loads(file.read_text())
    change(certificate)
    file.write_text(json.dumps(certificate))
    reseal(release)


def failed(release: Path) -> list[str]:
    return [check.check for check in check_release(release) if not check.ok]


def test_an_honest_release_holds(release: Path, demo_release: Path) -> None:
    assert failed(release) == []
    assert failed(demo_release) == []


@pytest.mark.parametrize(
    "options",
    [
        ["--prior", "uniform"],
        ["--prior", "gravity", "--editing", "none"],
        ["--accountant", "paper"],
        ["--epsilon-final", "6", "--min-retention", "1"],
        ["--tract-radius", "12", "--puma-radius", "25"],
    ],
)
def test_other_settings_hold_too(demo_dataset: Path, tmp_path: Path, options: list[str]) -> None:
    from mapapp.cli import run

    shutil.copytree(demo_dataset, tmp_path / "d")
    assert run(["synthesize", str(tmp_path / "d"), str(tmp_path / "r"), "-q", *options]) == 0
    assert failed(tmp_path / "r") == []


def test_a_designed_release_is_chosen_again(demo_dataset: Path, tmp_path: Path) -> None:
    from mapapp.cli import run

    shutil.copytree(demo_dataset, tmp_path / "d")
    release = tmp_path / "r"
    options = ["--design", "auto", "--prior", "gravity", "--epsilon-final", "7"]
    assert run(["synthesize", str(tmp_path / "d"), str(release), "-q", *options]) == 0
    found = {check.check: check for check in check_release(release)}
    assert all(check.ok for check in found.values())
    assert "same setting" in found["design"].detail
    certificate = json.loads((release / "certificate.json").read_text())
    assert certificate["construction"]["design"]["priors"] == ["gravity"]
    assert certificate["epsilon_final"]["exact"] == "7"

    def praise(certificate: dict[str, Any]) -> None:
        certificate["construction"]["design"]["expected_kl_all"] /= 2

    forge(release, praise)
    assert failed(release) == ["design"]


def test_a_setting_that_was_given_cannot_pass_as_designed(release: Path) -> None:
    def boast(certificate: dict[str, Any]) -> None:
        certificate["construction"]["design"] = {"priors": ["gravity"]}

    forge(release, boast)
    assert failed(release)


def _epsilon(certificate: dict[str, Any]) -> None:
    certificate["epsilon"] = {"value": 0.01, "exact": "1/100"}
    certificate["parameters"]["privacy"]["epsilon"] = "1/100"


def _weights(certificate: dict[str, Any]) -> None:
    row = certificate["accounting"]["rows"][0]
    row["worst_min_prior_weight_units"] *= 2
    row["worst_total_prior_weight_units"] *= 2


def _retention(certificate: dict[str, Any]) -> None:
    for row in certificate["accounting"]["rows"]:
        row["least_retention_units"] = 1 << 32


def _seed(certificate: dict[str, Any]) -> None:
    certificate["construction"]["editing_seed"] = "0" * 64


def _caveats(certificate: dict[str, Any]) -> None:
    certificate["caveats"] = ["Perfectly safe."]


def _unit(certificate: dict[str, Any]) -> None:
    certificate["unit_of_protection"] = "Everything about everybody."


def _version(certificate: dict[str, Any]) -> None:
    certificate["versions"]["secret"] = "17"


def _strength(certificate: dict[str, Any]) -> None:
    certificate["parameters"]["synthesis"]["strength"] = 1.0000001


def _public(certificate: dict[str, Any]) -> None:
    certificate["public_inputs"]["prior"] = "0" * 64


def _row(certificate: dict[str, Any]) -> None:
    certificate["accounting"]["rows"].pop()


def _endless(certificate: dict[str, Any]) -> None:
    certificate["construction"]["n_eliminated"] = float("inf")


def _nonsense(certificate: dict[str, Any]) -> None:
    certificate["epsilon_final"] = {"value": 1.0, "exact": "1e-20000000"}


def _missing(certificate: dict[str, Any]) -> None:
    del certificate["accounting"]


@pytest.mark.parametrize(
    "change",
    [
        _epsilon,
        _weights,
        _retention,
        _seed,
        _caveats,
        _unit,
        _strength,
        _version,
        _public,
        _row,
        _endless,
        _nonsense,
        _missing,
    ],
)
def test_a_forged_certificate_is_noticed(release: Path, change: Callable[[dict[str, Any]], None]) -> None:
    forge(release, change)
    assert failed(release)
    assert "do not publish" in refused("certify", release)


def test_a_test_key_release_cannot_pass_as_one_for_release(demo_release: Path, tmp_path: Path) -> None:
    path = Path(shutil.copytree(demo_release, tmp_path / "r"))

    def unstamp(certificate: dict[str, Any]) -> None:
        certificate.update(status="for release", status_reasons=[])

    forge(path, unstamp)
    assert "test key" in failed(path)


def test_more_than_the_release_holds_is_noticed(release: Path) -> None:
    points = pandas.read_parquet(release / "points.parquet")
    points.assign(name="somebody").to_parquet(release / "points.parquet", index=False)
    reseal(release)
    assert failed(release) == ["files and columns"]


def test_an_unknown_fact_in_the_manifest_is_noticed(release: Path) -> None:
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["elsewhere"] = {"36": 3}
    (release / "manifest.json").write_text(json.dumps(manifest))
    assert failed(release) == ["files and columns"]


def test_moved_points_are_noticed(release: Path) -> None:
    points = pandas.read_parquet(release / "points.parquet")
    points["home_lon_deg"] += 1
    points.to_parquet(release / "points.parquet", index=False)
    reseal(release)
    assert "places" in failed(release)


def test_a_worker_more_is_noticed(release: Path) -> None:
    jobs = pandas.read_parquet(release / "jobs.parquet")
    jobs.loc[0, "count"] += 1
    jobs.to_parquet(release / "jobs.parquet", index=False)
    reseal(release)
    assert "points" in failed(release)


@pytest.mark.parametrize("text", ["[]", "{", "", "3"])
def test_a_certificate_that_is_none_is_one_line(release: Path, text: str) -> None:
    (release / "certificate.json").write_text(text)
    reseal(release)
    assert "certificate.json" in refused("certify", release)
