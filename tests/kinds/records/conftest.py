"""Records of the demo that several tests of this folder read."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path

import pytest

from mapapp.kinds.records.make.choice import Choice
from mapapp.kinds.records.make.run import make_records
from tests.sharing import made_once


@pytest.fixture(scope="session")
def seeded_records(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of the demo, some of them made from seeds, under the test key."""

    def make(folder: Path) -> None:
        dataset = Path(shutil.copytree(demo_dataset, folder / "d"))
        choice = Choice(test_key=True, kept=("work_puma", "home_puma"), min_seeds=100)
        make_records(dataset, folder / "x.records", choice)

    return made_once(tmp_path_factory, "seeded_records", make) / "x.records"


@pytest.fixture(scope="session")
def learned_records(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records of the demo whose structure was learned, published beside a release of the same jobs."""

    def make(folder: Path) -> None:
        dataset = Path(shutil.copytree(demo_dataset, folder / "d"))
        choice = Choice(
            test_key=True, structure="learned", anyway=True, epsilon=Fraction(8), given_segments=True
        )
        make_records(dataset, folder / "x.records", choice)

    return made_once(tmp_path_factory, "learned_records", make) / "x.records"
