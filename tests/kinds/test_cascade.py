"""Releases drawn as a cascade: from options to labels, certificate, answers, and refusals."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.parameters import SynthesisParameters
from engine.streams import PublicSeed
from geodata.demo import write_demo
from geodata.store.store import open_store
from mapapp.answers.promise.lone_worker import lone_worker_sentence
from mapapp.answers.release import open_releases
from mapapp.commands.cli import run
from mapapp.kinds.base import geography
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.release.certificate.labels_check import LabelsCheck
from mapapp.kinds.release.certificate.recheck import check_release
from mapapp.kinds.release.make.batch import open_source, prepare_all
from mapapp.kinds.release.make.options import ReleaseOptions
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.kinds.release.make.settings import parameters_of, privacy_of
from tests.commands.running import refused
from tests.releases import rewrite_table

CASCADE = ("--cascade", "on", "--editing", "none", "--epsilon", "2")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cascade") / "d"
    write_demo(path, size="small", seed=5)
    return path


@pytest.fixture(scope="module")
def releases(dataset: Path) -> dict[str, Path]:
    """One release of each unit, with a secret key, from the command line."""
    paths = {unit: dataset.parent / unit for unit in ("cell", "block")}
    for unit, path in paths.items():
        assert run(["synthesize", str(dataset), str(path), "-q", "--unit", unit, *CASCADE]) == 0
    return paths


def labels_result(release: Path) -> tuple[bool, str]:
    """What the check of labels says, whatever the certificate says of the files."""
    store = open_store(release, "release", verify=False)
    stated = json.loads((release / "certificate.json").read_text())
    privacy, parameters = parameters_of_certificate(stated)
    source = open_source(store, PublicSeed(stated["construction"]["editing_seed"]), privacy, parameters)
    check = LabelsCheck(store, source)
    for number, batch in enumerate(prepare_all(source, threads=1)):
        check.add(source.inputs(number), batch.support)
    (result,) = check.result()
    return result.ok, result.detail


def parameters_of_certificate(stated: dict[str, Any]) -> tuple[Any, Any]:
    synthesis = SynthesisParameters.from_dict(stated["parameters"]["synthesis"])
    epsilon = stated["parameters"]["privacy"]["epsilon"]
    privacy = privacy_of(accountant="sound", epsilon_final=epsilon, delta="1e-6", min_retention="1")
    return privacy, synthesis


@pytest.mark.parametrize("unit", ["cell", "block"])
def test_a_release_certifies_keeps_numbers_of_workers_and_is_charged_once(
    dataset: Path, releases: dict[str, Path], unit: str
) -> None:
    """Finds a lost worker, a certificate that is not made again alike, and labels that homes do not follow from."""
    checks = {check.check: check for check in check_release(releases[unit])}
    assert [name for name, check in checks.items() if not check.ok] == []
    assert "follow from" in checks["labels"].detail
    by = ["destination_index", "age", "earnings", "industry"]
    stores = open_store(dataset, "dataset"), open_store(releases[unit], "release")
    real, drawn = (store.table("jobs").groupby(by)["count"].sum() for store in stores)
    assert real.equals(drawn)
    labels = open_store(releases[unit], "release").table("labels")
    assert labels["count"].sum() == real.sum()
    assert [entry.epsilon for entry in Ledger(dataset).entries()] == [2, 2]


@pytest.mark.parametrize("unit", ["cell", "block"])
def test_the_certificate_lists_numbers_of_workers_by_clusters(releases: dict[str, Path], unit: str) -> None:
    """Finds rows of support points, whose theta is another than that of the clusters drawn over."""
    certificate = json.loads((releases[unit] / "certificate.json").read_text())
    rows = {row["n_support"]: row["n_workers"].split() for row in certificate["accounting"]["rows"]}
    assert "1" in rows[10]  # 8 + e^2 / 3 groups for small units
    assert certificate["parameters"]["synthesis"]["cascade"] is True
    assert "groups of support points" in " ".join(certificate["caveats"])
    sentence = lone_worker_sentence(certificate["lone_worker"])
    assert sentence is not None
    assert "group" in sentence
    assert certificate["lone_worker"]["true_tract"] is None


def test_batches_and_threads_change_nothing(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finds labels or points that depend on how tracts are divided, or on which thread is faster."""
    privacy, parameters = parameters_of(
        dataset, ReleaseOptions(cascade="on", editing="none", epsilon="2", unit="block")
    )
    files = []
    for number, (fewest, threads) in enumerate(((10**9, 1), (100, 3))):
        monkeypatch.setattr(geography, "_FEWEST_WORKERS", fewest)
        path = tmp_path / str(number)
        run_synthesis(dataset, path, privacy, parameters, test_key=True, workers=threads)
        manifest = json.loads((path / "manifest.json").read_text())
        files.append({name: facts["sha256"] for name, facts in manifest["files"].items()})
    assert files[0] == files[1]


def number_clusters(labels: Any) -> Any:
    """Other clusters of the same units: the first ones."""
    return labels.assign(cluster=labels.groupby(["destination_index", "segment"]).cumcount())


@pytest.mark.parametrize(
    ("change", "detail"),
    [
        (lambda labels: labels.iloc[::-1], "not in the order"),
        (lambda labels: labels.assign(count=labels["count"] + 1), "another number of labels"),
        (lambda labels: labels.iloc[1:], "another number of labels"),
        (number_clusters, "elsewhere"),
    ],
)
def test_changed_labels_are_noticed(
    releases: dict[str, Path], tmp_path: Path, change: Callable[[Any], Any], detail: str
) -> None:
    """Finds a check that labels pass from which other homes follow."""
    spoiled = Path(shutil.copytree(releases["cell"], tmp_path / "r"))
    rewrite_table(spoiled, "labels", change)
    ok, said = labels_result(spoiled)
    assert not ok
    assert re.search(detail, said), said


def test_changed_homes_are_noticed(releases: dict[str, Path], tmp_path: Path) -> None:
    """Finds a check that homes pass which were not dealt, as the real ones would be."""
    spoiled = Path(shutil.copytree(releases["cell"], tmp_path / "r"))

    def move(jobs: Any) -> Any:
        near = jobs["origin_index"].to_numpy().copy()
        at = np.flatnonzero(near != near[0])[:40]
        near[at] = near[0]
        jobs["origin_index"] = near
        by = ["destination_index", "age", "earnings", "industry", "origin_index"]
        return jobs.groupby(by, as_index=False)["count"].sum()[list(jobs.columns)].astype(jobs.dtypes)

    rewrite_table(spoiled, "jobs", move)
    ok, said = labels_result(spoiled)
    assert not ok
    assert "live elsewhere" in said


def test_answers_state_no_errors_that_the_plain_formula_would_get_wrong(releases: dict[str, Path]) -> None:
    """Finds expected errors of the plain mechanism under counts that were dealt."""
    (release,) = open_releases([releases["block"]]).values()
    assert not release.errors.is_known


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--cascade", "on", "--mechanism", "dirichlet-multinomial"), "cascade"),
        (("--cascade", "on", "--editing", "none", "--unit", "tract"), "unit is 'tract'"),
        (("--cascade", "on", "--editing", "none", "--clean"), "clean"),
        (("--cascade", "on"), "editing is 'pool'"),
        (("--cascade", "on", "--editing", "none", "--design", "auto"), "--tract-radius"),
        (("--cascade", "auto"), "editing is 'pool'"),
        (("--cascade", "auto", "--editing", "none", "--design", "auto"), "--tract-radius"),
        (("--cascade", "on", "--editing", "none", "--scheduler", "tcp://127.0.0.1:1"), "one machine"),
        (("--cascade", "auto", "--editing", "none", "--scheduler", "tcp://127.0.0.1:1"), "one machine"),
    ],
)
def test_what_is_not_defined_is_refused_in_one_line_and_nothing_is_written(
    dataset: Path, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    """Finds a combination that is accepted and then drawn in another way than its words say."""
    path = tmp_path / "r"
    assert said in refused("synthesize", str(dataset), str(path), *options)
    assert not path.exists()


def test_the_cascade_is_chosen_by_simulation_and_certify_chooses_again(
    dataset: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Finds a choice that reads homes, so that certify cannot repeat it, and one that the words get wrong."""
    options = ["--cascade", "auto", "--editing", "none", "--epsilon", "1", "--unit", "block", "--test-key"]
    assert run(["synthesize", str(dataset), str(tmp_path / "r"), "-q", *options]) == 0
    said = capsys.readouterr().out
    certificate = json.loads((tmp_path / "r" / "certificate.json").read_text())
    facts, synthesis = certificate["construction"]["design"], certificate["parameters"]["synthesis"]
    assert facts["expected_misplaced"] <= facts["expected_misplaced_of_runner_up"]
    assert synthesis.get("cascade", False) == (facts["runner_up"] == "no cascade")
    assert ("a cascade;" in said) == synthesis.get("cascade", False)
    assert [check.check for check in check_release(tmp_path / "r") if not check.ok] == []


def test_a_dry_run_expects_errors_of_a_cascade(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Finds a plan that draws the plain mechanism in place of the cascade, or names points that are groups."""
    assert run(["synthesize", str(dataset), str(dataset.parent / "none"), "-q", *CASCADE, "--dry-run"]) == 0
    assert "keeps the true group of home areas" in capsys.readouterr().out


def test_an_audit_refuses_a_cascade(dataset: Path, releases: dict[str, Path]) -> None:
    """Finds an attacker on single points who is told of clusters, and would say that nothing is learned."""
    assert "--cascade on" in refused("audit", str(dataset), str(releases["cell"]))
