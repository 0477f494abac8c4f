"""Worker records drawn by a Dask cluster: the same as on one machine, charged once, and nothing is left of a run."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.records.groups import Seeds
from engine.records.splitting import split_records
from engine.streams import SecretKey
from geodata.store.store import open_store
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.records.make.attributes import read_attributes
from mapapp.kinds.records.make.workers import read_codes
from tests.commands.running import refused
from tests.kinds.test_cluster import KNOWN_KEY, Cluster, Running, files_of, look, nothing_left, two_workers

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
]
needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None,
    reason="the extra 'cluster' is not installed: pip install 'commutemap[cluster]'",
)
SEEDED = ("--kept", "work_puma,home_puma", "--min-seeds", "100")
CHUNK = 700


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, seeded_records: Path) -> Iterator[Cluster]:
    """Two workers; after a local run, so that they find every kernel compiled."""
    assert seeded_records
    with two_workers(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture
def dataset(demo_dataset: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path / "d"))


def start(dataset: Path, cluster: Cluster, *options: str, **plan: Any) -> Running:
    settings = {"command": "records", "batch": CHUNK, **plan}
    return Running(dataset, dataset.parent / "r", cluster.address, *options, **settings)


@needs_dask
@pytest.mark.parametrize("kind", ["seedless", "seeded"])
def test_a_cluster_draws_the_records_that_one_machine_draws(
    kind: str, cluster: Cluster, dataset: Path, request: pytest.FixtureRequest
) -> None:
    options = () if kind == "seedless" else SEEDED
    local = request.getfixturevalue(f"{kind}_records")
    assert start(dataset, cluster, "--test-key", *options).end() == (0, "")
    assert files_of(dataset.parent / "r") == files_of(local)
    assert len(Ledger(dataset).entries()) == 1
    assert look(cluster, cluster.directory / "after") == "[]", "workers have forgotten the run"


@needs_dask
@pytest.mark.parametrize("stage", ["candidates-1", "the-1"])
def test_a_stopped_run_stays_charged_once_and_leaves_nothing(
    stage: str, cluster: Cluster, dataset: Path
) -> None:
    running = start(dataset, cluster, *SEEDED, key=KNOWN_KEY.hex(), stops=[stage])
    running.wait_at(stage)
    (parts,) = dataset.parent.glob(".r.partial-*/parts")
    assert parts.stat().st_mode & 0o777 == 0o700
    modes, content = read_parts(parts)
    assert modes <= {0o600}
    seeds = prefixes_of(dataset)
    assert not any(KNOWN_KEY in each for each in content), "the key is in memory alone"
    assert not any(seeds in each for each in content), "seeds are not on the shared path"
    running.interrupt()
    code, errors = running.end()
    assert code == 130
    assert f"commutemap: stopped; nothing was kept; the ledger of {dataset} was charged" in errors
    nothing_left(dataset)
    assert len(Ledger(dataset).entries()) == 1
    assert look(cluster, cluster.directory / "stopped") == "[]"


def read_parts(folder: Path) -> tuple[set[int], list[bytes]]:
    """Modes and contents of the files that workers have left.

    The stopped run gives out no more tasks, but workers finish theirs, and a file gets its name when it is whole. So a
    listing in which a file has meanwhile been renamed is read again.
    """
    while True:
        try:
            files = list(folder.iterdir())
            return {file.stat().st_mode & 0o777 for file in files}, [file.read_bytes() for file in files]
        except FileNotFoundError:
            continue


def prefixes_of(dataset: Path) -> bytes:
    """The kept attributes of some seeds, one after the other as a run holds them."""
    store = open_store(dataset, "dataset")
    attributes = read_attributes(store)
    codes = np.concatenate(list(read_codes(store, attributes)))[:, :2]
    key = SecretKey._from_bytes(KNOWN_KEY, is_test=False)
    subset = split_records(len(codes), (Fraction(3, 5), Fraction(2, 5), Fraction(0)), key=key)
    seeds = Seeds(attributes.domain[:2])
    seeds.add(codes[subset == 0])
    some = seeds.prefixes[len(seeds.prefixes) // 2 :][:40]
    assert np.unique(some).size > 2
    return bytes(some.tobytes())


@needs_dask
def test_a_worker_that_is_refused_costs_nothing(cluster: Cluster, dataset: Path) -> None:
    code, errors = start(dataset, cluster, "--test-key", versions={"numba": "0.1"}).end()
    assert code == 2
    assert "it has numba" in errors
    assert "the run has 0.1; install the same versions" in errors
    nothing_left(dataset)
    assert not (dataset / "ledger.jsonl").exists(), "nothing was drawn, nothing is spent"


def test_a_dry_run_needs_no_cluster(dataset: Path) -> None:
    message = refused(
        "records", dataset, dataset.parent / "r", "--dry-run", "--scheduler", "127.0.0.1:1", "-q"
    )
    assert "a dry run draws nothing" in message
