"""A year of the demo, a prior from the year before, and a table made of them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mapapp.kinds.tables.make.run import Choice, make_table
from mapapp.kinds.tables.make.spec import TableSpec, check_epsilon_and_delta
from tests.sharing import made_once
from tests.tables import write_later_jobs, write_prior

SPEC = TableSpec.from_options({"rows": "county", "columns": "industry,earnings", "counts": "same-unit"})


def choice(prior: Path, **options: object) -> Choice:
    """What an analyst chooses: the usual table, except for what is given."""
    epsilon, delta = check_epsilon_and_delta(options.pop("epsilon", "0.5"), options.pop("delta", "0.1"))
    given = {"specs": (SPEC,), "prior": prior, "epsilon": epsilon, "delta": delta, **options}
    return Choice(**given)  # type: ignore[arg-type]  # of the right types, by name


@pytest.fixture(scope="session")
def later_dataset(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo of a later year. Read only; see `later_copy`."""

    def make(folder: Path) -> None:
        write_later_jobs(folder / "later.dataset", demo_dataset)

    return made_once(tmp_path_factory, "later", make) / "later.dataset"


@pytest.fixture
def later_copy(later_dataset: Path, tmp_path: Path) -> Path:
    """A copy of it with a ledger of its own."""
    return Path(shutil.copytree(later_dataset, tmp_path / "later.dataset"))


@pytest.fixture(scope="session")
def prior_file(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Counts of the year before, for the usual table."""
    return write_prior(tmp_path_factory.mktemp("prior") / "prior.csv", demo_dataset, SPEC)


@pytest.fixture(scope="session")
def demo_table(later_dataset: Path, prior_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The usual table."""
    folder = tmp_path_factory.mktemp("table")
    dataset = Path(shutil.copytree(later_dataset, folder / "later.dataset"))
    make_table(dataset, folder / "demo.table", choice(prior_file))
    return folder / "demo.table"
