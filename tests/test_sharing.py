"""The workers of a test run share what is slow to make."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.conftest import pytest_xdist_make_scheduler
from tests.scheduling import GroupScheduling
from tests.sharing import BROWSER_GROUPS, SLOWEST_FIRST, group_of, made_once, rank_of
from tests.tiers import ONE_CASE, SECOND_TIER, in_second_tier, second_tier

ROOT = Path(__file__).parents[1]


def test_a_folder_is_filled_once_for_all_who_ask(tmp_path_factory: pytest.TempPathFactory) -> None:
    calls: list[Path] = []

    def make(folder: Path) -> None:
        calls.append(folder)
        (folder / "file").write_text("made")

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: made_once(tmp_path_factory, "counted", make), range(8)))
    assert len(calls) == len(set(found)) == 1
    assert [file.name for file in found[0].iterdir()] == ["file"]


def test_a_folder_that_could_not_be_filled_is_begun_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    def fail(folder: Path) -> None:
        (folder / "half").touch()
        raise ValueError("stopped")

    with pytest.raises(ValueError, match="stopped"):
        made_once(tmp_path_factory, "failed", fail)
    assert list(made_once(tmp_path_factory, "failed", lambda folder: None).iterdir()) == []


def test_browser_tests_are_two_groups_and_come_first(request: pytest.FixtureRequest) -> None:
    assert group_of("tests/browser/test_a.py::test_b[x]") == group_of("tests/browser/test_c.py::test_d")
    explore, rest = BROWSER_GROUPS
    assert group_of(f"{explore}::test_a") == explore
    assert (
        rank_of(explore) < rank_of(rest) < rank_of("tests/test_wheel.py") < rank_of("tests/test_sharing.py")
    )
    for name in SLOWEST_FIRST:
        assert (ROOT / name).exists(), name
    ranks = [rank_of(group_of(item.nodeid)) for item in request.session.items]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize("test", SECOND_TIER + ONE_CASE)
def test_what_the_second_tier_lists_exists(test: str) -> None:
    """A test that got another name must not slip into the first tier, which everybody waits for."""
    file, _, name = test.partition("::")
    assert (ROOT / file).exists()
    assert (
        f"def {name.split('[')[0]}" in (ROOT / file).read_text(encoding="utf-8")
        if name
        else in_second_tier(file)
    )


def test_the_second_tier_is_marked(request: pytest.FixtureRequest) -> None:
    """Finds a slow test that everybody waits for, and a test of many cases that the first tier runs more than once."""
    tests = [item.nodeid for item in request.session.items]
    marked = {item.nodeid for item in request.session.items if item.get_closest_marker("second_tier")}
    assert marked >= {test for test in tests if in_second_tier(test)}
    functions = [test.partition("[")[0] for test in tests if test not in marked]
    assert all(functions.count(name) <= 1 for name in ONE_CASE)
    name = ONE_CASE[0]
    assert second_tier([f"{name}[a]", f"{name}[b]", "tests/a.py::b[c]", SECOND_TIER[0]]) == {
        f"{name}[b]",
        SECOND_TIER[0],
    }


def test_the_tests_of_a_group_run_on_one_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler asks one method for the group of a test; every part of the run must know that method."""
    monkeypatch.setattr(GroupScheduling, "__init__", lambda self, *given: None)
    scheduler = pytest_xdist_make_scheduler(config=Mock(), log=Mock())
    assert "_split_scope" in vars(LoadScopeScheduling)
    for test in ("tests/browser/test_a.py::test_b[x::y]", "tests/engine/test_c.py::test_d"):
        assert scheduler._split_scope(test) == group_of(test)
