"""A workbench over a copy of the small demo dataset: publishing writes its ledger."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from geodata.store.store import open_store
from mapapp.analyst.workbench.session import Session


@pytest.fixture(scope="session")
def tuned_dataset(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(shutil.copytree(demo_dataset, tmp_path_factory.mktemp("tuned") / "demo.dataset"))


@pytest.fixture
def session(tuned_dataset: Path) -> Session:
    return Session(open_store(tuned_dataset, "dataset", verify=False))


@pytest.fixture
def assigned_session(tuned_dataset: Path) -> Session:
    """Over the same dataset, as if import had assigned its joint segments."""
    store = open_store(tuned_dataset, "dataset", verify=False)
    return Session(replace(store, manifest={**store.manifest, "segments": "assigned"}))
