"""A release has the base map of its dataset, and its certificate binds it."""

from __future__ import annotations

import shutil
from pathlib import Path

from geodata.store.schema import BASE_TABLES
from geodata.store.store import open_store
from mapapp.kinds.release.certificate.recheck import check_release
from tests.releases import rewrite_table


def test_a_release_has_the_base_map_of_its_dataset(demo_dataset: Path, demo_release: Path) -> None:
    for table in BASE_TABLES:
        name = f"{table.name}.parquet"
        assert (demo_release / name).read_bytes() == (demo_dataset / name).read_bytes()
        assert len(open_store(demo_release, "release").table(table.name)) > 0


def test_a_changed_base_map_is_not_the_certified_one(demo_release: Path, tmp_path: Path) -> None:
    release = Path(shutil.copytree(demo_release, tmp_path / "r"))
    rewrite_table(release, "landmarks", lambda rows: rows.assign(name="Elsewhere"))
    wrong = [check for check in check_release(release) if not check.ok]
    assert any("landmarks.parquet" in check.detail for check in wrong)
