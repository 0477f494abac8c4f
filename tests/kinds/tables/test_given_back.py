"""A dataset has one table. A run that failed before anybody could see a decision gives it back; nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from geodata.errors import StoreError
from mapapp.base.errors import UsageError
from mapapp.commands.ledger import _as_data, _entry_lines
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.tables.make import run
from mapapp.kinds.tables.make.recheck import check_table
from mapapp.kinds.tables.make.run import make_table
from tests.kinds.tables.conftest import choice

ONE_ONLY = "two tables have no joint promise"


def stopping(monkeypatch: pytest.MonkeyPatch, function: str, error: BaseException) -> pytest.MonkeyPatch:
    def stop(*_: object) -> None:
        raise error

    monkeypatch.setattr(run, function, stop)
    return monkeypatch


@pytest.mark.parametrize(
    ("error", "seen"),
    [
        (OSError("disk full"), StoreError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (MemoryError(), MemoryError),
    ],
    ids=["disk", "interrupt", "memory"],
)
def test_a_table_that_nobody_saw_is_given_back(
    later_copy: Path,
    prior_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    seen: type[BaseException],
) -> None:
    with monkeypatch.context() as patch:
        stopping(patch, "_write", error)
        with pytest.raises(seen):
            make_table(later_copy, tmp_path / "t", choice(prior_file))
    first, given_back = Ledger(later_copy).entries()
    assert (given_back.kind, given_back.withdraws, given_back.unpublished) == ("withdrawal", 0, True)
    assert seen.__name__ in given_back.reasons[0]
    assert given_back.release == first.release == "t"
    (line,) = _entry_lines((first, given_back))
    assert "never published" in line
    data = _as_data((first, given_back))["entries"]
    assert isinstance(data, list)
    assert data[0]["withdrawn"]["still_counted"] is False
    make_table(later_copy, tmp_path / "t", choice(prior_file))
    assert all(check.ok for check in check_table(tmp_path / "t"))
    with pytest.raises(UsageError, match=ONE_ONLY):
        make_table(later_copy, tmp_path / "second", choice(prior_file))


def test_a_table_whose_decisions_failed_is_not_given_back(
    later_copy: Path, prior_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        stopping(patch, "decide_forest", AssertionError("a decision depended on a suppressed value"))
        with pytest.raises(AssertionError):
            make_table(later_copy, tmp_path / "t", choice(prior_file))
    with pytest.raises(UsageError, match=ONE_ONLY):
        make_table(later_copy, tmp_path / "t", choice(prior_file))


def test_a_table_that_somebody_withdraws_stays_known(
    later_copy: Path, prior_file: Path, tmp_path: Path
) -> None:
    make_table(later_copy, tmp_path / "t", choice(prior_file))
    Ledger(later_copy).withdraw("t", reason="wrong year")
    with pytest.raises(UsageError, match=ONE_ONLY):
        make_table(later_copy, tmp_path / "second", choice(prior_file))
