"""Releases that the tests of reports share."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapapp.queries.release import ServedRelease, open_releases
from tests.reports.making import hostile_release


@pytest.fixture(scope="session")
def report_paths(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("reports")
    return [hostile_release(folder / f"{seed}.release", n_pairs=400, seed=seed) for seed in (1, 2)]


@pytest.fixture(scope="session")
def releases(report_paths: list[Path]) -> list[ServedRelease]:
    return list(open_releases(report_paths).values())
