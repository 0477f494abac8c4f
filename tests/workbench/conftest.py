"""A workbench over a copy of the small demo dataset: publishing writes its ledger."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from geodata.store import open_store
from mapapp.workbench.bench import Bench


@pytest.fixture(scope="session")
def bench_dataset(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path_factory.mktemp("bench") / "demo.dataset"))


@pytest.fixture
def bench(bench_dataset: Path) -> Bench:
    return Bench(open_store(bench_dataset, "dataset", verify=False))
