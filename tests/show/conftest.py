"""Releases that the tests of reports share."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapapp.answers.release import Release, open_releases
from tests.sharing import made_once
from tests.show.making import hostile_release


@pytest.fixture(scope="session")
def report_paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    names = {seed: f"{seed}.release" for seed in (1, 2)}

    def make(folder: Path) -> None:
        for seed, name in names.items():
            hostile_release(folder / name, n_pairs=400, seed=seed)

    folder = made_once(tmp_path_factory, "reports", make)
    return [folder / name for name in names.values()]


@pytest.fixture(scope="session")
def releases(report_paths: list[Path]) -> list[Release]:
    return list(open_releases(report_paths).values())
