import json
import multiprocessing
import os
import signal
import stat
import threading
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mapapp.ledger import LEDGER_NAME, Ledger, LedgerEntry, LedgerError


def _spend(ledger, epsilon="1", delta="1e-6", **more):
    return ledger.spend(epsilon=epsilon, delta=delta, release="a", **more)


def test_a_new_dataset_has_spent_nothing(tmp_path):
    ledger = Ledger(tmp_path)
    assert ledger.entries() == ()
    assert ledger.spent() == (0, 0)
    assert ledger.budget() is None
    assert ledger.torn_line() is None
    assert not ledger.path.exists()


def test_releases_add_up_exactly(tmp_path):
    ledger = Ledger(tmp_path)
    for _ in range(10):
        _spend(ledger, epsilon=0.1, delta="1e-7")
    assert ledger.spent() == (Fraction(1), Fraction(1, 10**6))
    assert len(ledger.path.read_bytes().splitlines()) == 10


@settings(max_examples=20, deadline=None)
@given(spends=st.lists(st.fractions(0, 20), max_size=6))
def test_entries_read_back_as_written(tmp_path_factory, spends):
    ledger = Ledger(tmp_path_factory.mktemp("dataset"))
    written = [_spend(ledger, epsilon=epsilon) for epsilon in spends]
    assert list(ledger.entries()) == written
    assert ledger.spent()[0] == sum(spends)


def test_what_is_not_for_release_is_recorded_and_spends_nothing(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.set_budget(epsilon=1, delta="1e-6")
    entry = _spend(ledger, epsilon=50, reasons=("test key",))
    assert not entry.for_release
    assert entry.reasons == ("test key",)
    assert ledger.spent() == (0, 0)
    assert ledger.entries()[1] == entry


def test_the_budget_is_kept_to_the_last_digit(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.set_budget(epsilon="0.3", delta="3e-6")
    for _ in range(3):
        _spend(ledger, epsilon="0.1", delta="1e-6")
    before = ledger.path.read_bytes()
    with pytest.raises(LedgerError, match=r"needs epsilon 1e-30, but 0\.3 .*at most 0,"):
        _spend(ledger, epsilon="1e-30", delta=0)
    with pytest.raises(LedgerError, match="needs delta"):
        _spend(ledger, epsilon=0, delta="1e-30")
    assert ledger.path.read_bytes() == before
    assert ledger.budget() == (Fraction(3, 10), Fraction(3, 10**6))
    _spend(ledger, epsilon=0, delta=0)


def test_a_budget_comes_first_or_not_at_all(tmp_path):
    ledger = Ledger(tmp_path)
    _spend(ledger)
    with pytest.raises(LedgerError, match="first line"):
        ledger.set_budget(epsilon=1, delta=1)
    with ledger.path.open("ab") as file:
        file.write(LedgerEntry(kind="budget", epsilon=Fraction(99), delta=Fraction(1)).to_line())
    with pytest.raises(LedgerError, match="line 2 is a second budget"):
        ledger.spent()


@pytest.mark.parametrize("amount", ["-1", "nan", "much", None])
def test_impossible_amounts_are_refused(tmp_path, amount):
    with pytest.raises(LedgerError, match="epsilon"):
        _spend(Ledger(tmp_path), epsilon=amount)
    assert not (tmp_path / LEDGER_NAME).exists()


def test_every_cut_of_the_last_line_is_noticed(tmp_path):
    ledger = Ledger(tmp_path)
    _spend(ledger, epsilon=1)
    first = ledger.path.read_bytes()
    _spend(ledger, epsilon=2)
    whole = ledger.path.read_bytes()
    for size in range(len(first) + 1, len(whole) - 1):
        ledger.path.write_bytes(whole[:size])
        for call in (ledger.spent, ledger.entries, lambda: _spend(ledger)):
            with pytest.raises(LedgerError, match="cut short"):
                call()
        assert ledger.torn_line() == whole[len(first) : size]
        assert ledger.path.read_bytes() == whole[:size]
    # Only the line end is missing: the entry is whole, so it counts, and the next one starts a new line.
    ledger.path.write_bytes(whole[:-1])
    assert ledger.spent()[0] == 3
    _spend(ledger, epsilon=4)
    assert ledger.spent()[0] == 7


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_torn_line_is_settled_by_saying_what_it_counts_as(tmp_path, end):
    ledger = Ledger(tmp_path)
    ledger.set_budget(epsilon=5, delta=1)
    with ledger.path.open("ab") as file:
        file.write(b'{"schema_version": 1, "kind": "rel' + end)
    entry = ledger.settle_torn_line(epsilon="4.6", delta="1e-6", release="a")
    assert entry.kind == "settlement"
    assert ledger.spent() == (Fraction(23, 5), Fraction(1, 10**6))
    assert b'"kind": "rel' in ledger.path.read_bytes()
    with pytest.raises(LedgerError, match=r"needs epsilon 1, but 4\.6"):
        _spend(ledger)
    _spend(ledger, epsilon="0.4")
    with pytest.raises(LedgerError, match="nothing to settle"):
        ledger.settle_torn_line(epsilon=0, delta=0, release="a")


def test_a_settlement_that_is_cut_short_itself_can_be_settled(tmp_path):
    ledger = Ledger(tmp_path)
    _spend(ledger)
    with ledger.path.open("ab") as file:
        file.write(b'{"torn\n{"settlement torn')
    ledger.settle_torn_line(epsilon=2, delta=0, release="a")
    assert ledger.spent()[0] == 3


def test_a_line_altered_in_the_middle_is_refused(tmp_path):
    ledger = Ledger(tmp_path)
    for _ in range(3):
        _spend(ledger)
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    for broken in (
        b"rubbish\n",
        b"\n",
        lines[1].replace(b'"1"', b'"-1"'),
        lines[1].replace(b'"1"', b'"1/0"'),
    ):
        ledger.path.write_bytes(lines[0] + broken + lines[2])
        with pytest.raises(LedgerError, match="line 2 is no entry"):
            ledger.spent()
        with pytest.raises(LedgerError, match="line 2 is no entry"):
            _spend(ledger)


def test_unknown_versions_are_not_guessed_at(tmp_path):
    ledger = Ledger(tmp_path)
    _spend(ledger)
    fields = json.loads(ledger.path.read_bytes()) | {"schema_version": 2}
    ledger.path.write_bytes(json.dumps(fields).encode() + b"\n")
    with pytest.raises(LedgerError, match="cut short"):
        ledger.spent()


def test_only_the_owner_may_read_it(tmp_path):
    ledger = Ledger(tmp_path)
    _spend(ledger)
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_no_dataset_no_ledger(tmp_path):
    with pytest.raises(LedgerError, match="cannot be opened"):
        _spend(Ledger(tmp_path / "nowhere"))


def test_an_entry_is_on_the_disk_before_spend_returns(tmp_path, monkeypatch):
    events = []
    write, fsync = os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda *given: (events.append("write"), write(*given))[1])
    monkeypatch.setattr(os, "fsync", lambda *given: (events.append("fsync"), fsync(*given))[1])
    _spend(Ledger(tmp_path))
    assert events == ["write", "fsync", "fsync"]


def _try_to_spend(path, start, outcomes):
    start.wait(10)
    try:
        Ledger(path).spend(epsilon="0.6", delta=0, release="a")
        outcomes.append("spent")
    except LedgerError:
        outcomes.append("refused")


def test_two_writers_cannot_both_pass_the_budget(tmp_path):
    for _ in range(10):
        Ledger(tmp_path).path.unlink(missing_ok=True)
        Ledger(tmp_path).set_budget(epsilon=1, delta=1)
        start, outcomes = threading.Event(), []
        writers = [threading.Thread(target=_try_to_spend, args=(tmp_path, start, outcomes)) for _ in range(4)]
        for writer in writers:
            writer.start()
        start.set()
        for writer in writers:
            writer.join()
        assert sorted(outcomes) == ["refused"] * 3 + ["spent"]
        assert Ledger(tmp_path).spent()[0] == Fraction(3, 5)


def _spend_for_ever(path, started):
    ledger = Ledger(path)
    ledger.spend(epsilon=1, delta=0, release="a")
    started.set()
    while True:
        ledger.spend(epsilon=1, delta=0, release="a")


def test_a_killed_writer_loses_nothing_that_was_spent(tmp_path):
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    writer = context.Process(target=_spend_for_ever, args=(tmp_path, started))
    writer.start()
    assert started.wait(30)
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    writer.close()
    ledger = Ledger(tmp_path)
    if ledger.torn_line() is not None:
        ledger.settle_torn_line(epsilon=1, delta=0, release="a")
    assert ledger.spent()[0] == len(ledger.entries()) >= 1
    _spend(ledger)


def test_a_torn_budget_is_settled_as_a_budget(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.path.write_bytes(b'{"schema_version": 1, "ki')
    ledger.settle_torn_line(epsilon="9", delta="1e-6", release="")
    assert ledger.budget() == (Fraction(9), Fraction(1, 10**6))
    with pytest.raises(LedgerError, match="epsilon"):
        ledger.spend(epsilon="10", delta="0", release="r")


def test_a_short_write_is_taken_back(tmp_path, monkeypatch):
    ledger = Ledger(tmp_path)
    ledger.spend(epsilon="1", delta="0", release="r")
    before = ledger.path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:10]))
    with pytest.raises(LedgerError, match="nothing was spent"):
        ledger.spend(epsilon="2", delta="0", release="s")
    assert ledger.path.read_bytes() == before


@pytest.mark.parametrize("number", ["1e-20000000", "Infinity", "1/0", "nan"])
def test_a_number_that_is_none_is_a_broken_line(tmp_path, number):
    ledger = Ledger(tmp_path)
    ledger.spend(epsilon="1", delta="0", release="r")
    line = ledger.path.read_text().replace('"epsilon": "1"', f'"epsilon": "{number}"')
    ledger.path.write_text(line + line)
    with pytest.raises(LedgerError, match="cut short"):
        ledger.entries()
