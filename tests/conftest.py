"""Stores that many tests share: the small demo country and a release of it under the published test key."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from tests.sharing import group_of, made_once, rank_of
from tests.tiers import second_tier

# Tests assert no clock times: a busy machine takes longer over one example than over another, and to make examples.
hypothesis.settings.register_profile(
    "commutemap", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("commutemap")


@pytest.fixture(scope="session", autouse=True)
def _data_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What the program keeps for itself goes to a folder of the test run, commands in other processes included."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COMMUTEMAP_HOME", str(tmp_path_factory.mktemp("home")))
        yield


def pytest_configure() -> None:
    """Heed signals that a shell makes background jobs ignore, as nohup does: programs under test would inherit that."""
    for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, usual)


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name cases of bytes by number: archives hold the time they were made at, and workers must agree on names."""
    return argname if isinstance(val, bytes) else None


@pytest.hookimpl(tryfirst=True)  # before `-m` deselects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the second tier, and begin with the tests that take longest."""
    of_second_tier = second_tier(item.nodeid for item in items)
    for item in items:
        if item.nodeid in of_second_tier:
            item.add_marker(pytest.mark.second_tier)
    items.sort(key=lambda item: rank_of(group_of(item.nodeid)))


@pytest.hookimpl(optionalhook=True)  # pytest-xdist may be switched off
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep the tests that share fixtures on one worker."""
    from tests.scheduling import GroupScheduling

    return GroupScheduling(config, log)


@pytest.fixture(scope="session")
def demo_dataset(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The small demo dataset. Treat it as read-only; copy it where a test may write (its ledger, for one)."""
    from geodata.demo import write_demo

    def make(folder: Path) -> None:
        write_demo(folder / "demo.dataset", size="small", seed=1)

    dataset = made_once(tmp_path_factory, "demo", make) / "demo.dataset"
    yield dataset
    assert not (dataset / "ledger.jsonl").exists(), "a test released from the shared dataset; give it a copy"


@pytest.fixture(scope="session")
def demo_release(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of the small demo dataset under the test key: the same bytes in every run."""
    from engine.parameters import PrivacyParameters, SynthesisParameters
    from mapapp.kinds.release.make.run import run_synthesis

    def make(folder: Path) -> None:
        # A copy, because a release is entered in its dataset's ledger.
        dataset = Path(shutil.copytree(demo_dataset, folder / "demo.dataset"))
        privacy = PrivacyParameters(epsilon="4.6", delta="1e-6", min_retention="0.025")
        parameters = SynthesisParameters(prior="flows")
        run_synthesis(dataset, folder / "demo.release", privacy, parameters, test_key=True)

    return made_once(tmp_path_factory, "release", make) / "demo.release"


@pytest.fixture(scope="session")
def demo_table(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two invented tables over the demo's counties, published together: counts, and flows from towns."""
    from tests.tables import write_table

    def make(folder: Path) -> None:
        write_table(folder / "demo.table", demo_dataset, flows="ctycsub")

    return made_once(tmp_path_factory, "table", make) / "demo.table"


@pytest.fixture(scope="session")
def demo_records(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Invented worker records over the geography of the demo."""
    from tests.records_store import write_records

    def make(folder: Path) -> None:
        write_records(folder / "demo.records", demo_dataset)

    return made_once(tmp_path_factory, "records", make) / "demo.records"


@pytest.fixture(scope="session")
def seedless_records(demo_dataset: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Worker records of the demo that were drawn from the model alone, under the test key."""
    from mapapp.kinds.records.make.choice import Choice
    from mapapp.kinds.records.make.run import make_records

    def make(folder: Path) -> None:
        dataset = Path(shutil.copytree(demo_dataset, folder / "d"))
        make_records(dataset, folder / "x.records", Choice(test_key=True))

    return made_once(tmp_path_factory, "seedless_records", make) / "x.records"
