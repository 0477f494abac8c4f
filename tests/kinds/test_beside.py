"""Publications of the same jobs: the ledger under the lock counts, and a renamed publication is still the same one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from geodata.errors import StoreError
from geodata.store.store import open_store
from mapapp.answers.claims import BesideClaim
from mapapp.base.errors import UsageError
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.overlapping_publications import publications_beside
from mapapp.kinds.release.make.options import ReleaseOptions
from mapapp.kinds.release.make.run import run_synthesis
from mapapp.kinds.release.make.settings import parameters_of

SETTING = ReleaseOptions(epsilon="6", design="none")


@pytest.fixture
def dataset_copy(demo_dataset: Path, tmp_path: Path) -> Path:
    """The demo with a ledger of its own."""
    return Path(shutil.copytree(demo_dataset, tmp_path / "d.dataset"))


def test_a_table_made_while_a_release_was_prepared_is_seen_under_the_lock(
    dataset_copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other run enters its table after this one read the ledger, and before it takes the lock."""
    read, n_read = Ledger.entries, 0

    def entries(self: Ledger) -> Any:
        nonlocal n_read
        found = read(self)
        n_read += 1
        if n_read == 1:
            Ledger(dataset_copy).enter_table("t", beside=lambda _: (), check=lambda: None)
        return found

    monkeypatch.setattr(Ledger, "entries", entries)
    privacy, parameters = parameters_of(dataset_copy, SETTING)
    with pytest.raises(UsageError, match=r"the table 't'.*--beside-release TABLE"):
        run_synthesis(dataset_copy, tmp_path / "r", privacy, parameters)
    assert not (tmp_path / "r").exists()
    assert [entry.kind for entry in Ledger(dataset_copy).entries()] == ["table"]


def test_a_renamed_release_is_listed_once(dataset_copy: Path, tmp_path: Path) -> None:
    privacy, parameters = parameters_of(dataset_copy, SETTING)
    run_synthesis(dataset_copy, tmp_path / "r", privacy, parameters)
    (tmp_path / "r").rename(tmp_path / "renamed")
    store, ledger = open_store(dataset_copy, "dataset"), Ledger(dataset_copy)
    found = publications_beside(store, "table", ledger.entries(), [tmp_path / "renamed"])
    assert [(each.kind, each.name) for each in found] == [("release", "renamed")]
    ledger.spend(epsilon="1", delta=0, release="other")
    found = publications_beside(store, "table", ledger.entries(), [tmp_path / "renamed"])
    assert [(each.name, each.digest is None) for each in found] == [("renamed", False), ("other", True)]


def test_a_withdrawn_release_is_named_although_its_files_are_gone(dataset_copy: Path, tmp_path: Path) -> None:
    """People who read it still know it."""
    store, ledger = open_store(dataset_copy, "dataset"), Ledger(dataset_copy)
    ledger.spend(epsilon="1", delta=0, release="r")
    with pytest.raises(StoreError, match="no such directory"):
        publications_beside(store, "table", ledger.entries(), [tmp_path / "r"])
    ledger.withdraw("r", reason="wrong year")
    with pytest.raises(UsageError, match=r"'r' of the same jobs \(withdrawn, but people may have read it\)"):
        publications_beside(store, "table", ledger.entries(), [])
    (named,) = publications_beside(store, "table", ledger.entries(), [tmp_path / "r"])
    assert named == BesideClaim(kind="release", name="r", digest=None)
