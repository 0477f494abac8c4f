"""How a dataset is divided into batches, and on how many threads they run, changes nothing in a release."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from engine.mechanisms import prices
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from geodata.demo import write_demo
from geodata.store.schema import BASE_TABLES, TABLES
from geodata.store.store import open_store, write_store
from mapapp.kinds.base import geography
from mapapp.kinds.base.geography import read_geography, read_workplaces
from mapapp.kinds.release.certificate.recheck import check_release
from mapapp.kinds.release.make import run
from mapapp.kinds.release.make.batch import open_source
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.kinds.release.make.settings import privacy_of

SOUND = privacy_of(accountant="sound", delta="1e-6", min_retention="0.025")
PAPER = privacy_of(accountant="paper", delta="1e-6", min_retention="0.025")


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("batches") / "small.dataset"
    write_demo(path, size="small", seed=5)
    return path


def release_files(
    dataset: Path, path: Path, privacy: PrivacyParameters, parameters: SynthesisParameters, threads: int
) -> dict[str, str]:
    run_synthesis(dataset, path, privacy, parameters, test_key=True, workers=threads)
    manifest: dict[str, Any] = json.loads((path / "manifest.json").read_text())
    return {name: facts["sha256"] for name, facts in manifest["files"].items()}


@pytest.mark.parametrize("privacy", [SOUND, PAPER], ids=["sound", "paper"])
@pytest.mark.parametrize(("prior", "far_state_miles"), [("flows", 100.0), ("uniform", None)])
def test_batches_and_threads_change_nothing(
    dataset: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    privacy: PrivacyParameters,
    prior: Any,
    far_state_miles: float | None,
) -> None:
    parameters = SynthesisParameters(prior=prior, far_state_miles=far_state_miles)
    whole = release_files(dataset, tmp_path / "whole", privacy, parameters, threads=1)
    monkeypatch.setattr(geography, "_FEWEST_WORKERS", 100)
    store = open_store(dataset, "dataset")
    assert read_workplaces(store, read_geography(store)).n_batches > 10
    assert release_files(dataset, tmp_path / "parts", privacy, parameters, threads=3) == whole


@pytest.mark.parametrize("unit", ["cell", "block", "tract"])
def test_a_cleaned_release_is_the_same_in_batches_and_keeps_its_certificate(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: Any
) -> None:
    privacy = privacy_of(accountant="sound", epsilon_final="3", delta="1e-6", min_retention="0.025")
    parameters = SynthesisParameters(
        mechanism="exponential", unit=unit, prior="flows", far_state_miles=100.0, clean=True
    )
    whole = release_files(dataset, tmp_path / "whole", privacy, parameters, threads=1)
    monkeypatch.setattr(geography, "_FEWEST_WORKERS", 100)
    assert release_files(dataset, tmp_path / "parts", privacy, parameters, threads=3) == whole
    plain = release_files(dataset, tmp_path / "plain", privacy, replace(parameters, clean=False), threads=1)
    assert plain["jobs.parquet"] != whole["jobs.parquet"]
    stated = json.loads((tmp_path / "whole" / "certificate.json").read_text())["parameters"]["synthesis"]
    assert (stated["clean"], stated["far_state_miles"]) == (True, 100.0)
    assert all(check.ok for check in check_release(tmp_path / "whole"))
    totals = [
        open_store(tmp_path / name, "release")
        .table("jobs")
        .groupby(["destination_index", "age", "earnings", "industry"])["count"]
        .sum()
        .to_dict()
        for name in ("whole", "plain")
    ]
    assert totals[0] == totals[1]


def test_batches_hold_every_tract_and_row_once(dataset: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(geography, "_FEWEST_WORKERS", 100)
    monkeypatch.setattr(geography, "_MOST_TRACTS", 3)
    store = open_store(dataset, "dataset")
    source = open_source(store, PublicSeed.for_tests(), SOUND, SynthesisParameters())
    parts = [source.inputs(number) for number in range(source.workplaces.n_batches)]
    assert max(part.destination_tract.size for part in parts) <= 4
    assert len(parts) > 10
    assert (
        np.concatenate([part.destination_tract for part in parts]).tolist()
        == source.workplaces.tract.tolist()
    )
    jobs = store.table("jobs")
    work_tract = store.table("blocks")["tract_index"].to_numpy()[jobs["destination_index"]]
    wanted = jobs["count"].groupby(work_tract).sum()
    assert source.workplaces.n_workers.tolist() == wanted.tolist()
    found = pandas.concat(
        pandas.DataFrame(
            {
                "destination_index": np.repeat(part.destination, part.count),
                "segment": np.repeat(part.segment, part.count),
                "origin_index": part.worker_origin,
            }
        )
        for part in parts
    )
    jobs["segment"] = (jobs["age"] - 1) * 9 + (jobs["earnings"] - 1) * 3 + jobs["industry"] - 1
    names = ["destination_index", "segment", "origin_index"]
    assert found.groupby(names).size().tolist() == jobs.groupby(names)["count"].sum().tolist()
    assert (found.groupby("destination_index").segment.apply(lambda s: s.is_monotonic_increasing)).all()


def test_the_order_of_rows_decides_nothing(dataset: Path, tmp_path: Path) -> None:
    store = open_store(dataset, "dataset")
    jobs = store.table("jobs")
    with write_store(tmp_path / "shuffled.dataset", "dataset") as writer:
        for table in (*TABLES["dataset"], *BASE_TABLES):
            if table.name != "jobs":
                writer.copy_table(store, table.name)
        writer.table("jobs", jobs.sample(frac=1.0, random_state=3))
        writer.facts(
            **{name: value for name, value in store.manifest.items() if name not in ("files", "kind")}
        )
    shuffled = open_store(tmp_path / "shuffled.dataset", "dataset")
    assert not read_workplaces(shuffled, read_geography(shuffled)).in_order
    parameters = SynthesisParameters(prior="flows")
    one = release_files(dataset, tmp_path / "one", SOUND, parameters, threads=2)
    other = release_files(tmp_path / "shuffled.dataset", tmp_path / "other", SOUND, parameters, threads=2)
    # The certificate commits to the confidential file itself, so it alone may differ.
    assert {name for name in one if one[name] != other[name]} == {"certificate.json"}


def test_threads_find_the_laws_that_the_certificate_states(
    dataset: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    privacy = privacy_of(accountant="sound", epsilon_final="3.25", delta="1e-6", min_retention="0.025")
    parameters = SynthesisParameters(mechanism="exponential")
    prices.law_of.cache_clear()
    misses = []
    stated = run.claimed_certificate

    def counted(*arguments: Any, **options: Any) -> Any:
        before = prices.law_of.cache_info().misses
        certificate = stated(*arguments, **options)
        misses.append(prices.law_of.cache_info().misses - before)
        return certificate

    monkeypatch.setattr(run, "claimed_certificate", counted)
    run_synthesis(dataset, tmp_path / "release", privacy, parameters, test_key=True, workers=2)
    assert misses == [0]
    assert prices.law_of.cache_info().misses > 20
