"""Two published tables of the demo's counties in one store: same unit by industry and earnings, and flows."""

from __future__ import annotations

from pathlib import Path

import pytest

from mapapp.kinds.tables.read.published import PublishedTable
from tests.tables import write_table


@pytest.fixture(scope="session")
def table_path(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    return write_table(folder / "demo.table", demo_dataset, rows="county", flows="county")


@pytest.fixture(scope="session")
def published(table_path: Path) -> PublishedTable:
    return PublishedTable.open(table_path)
