import fcntl
import json
import multiprocessing
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from fractions import Fraction
from multiprocessing.synchronize import Event as ProcessEvent
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from geodata.store.manifest import MANIFEST
from mapapp.kinds.base.ledger import LEDGER_NAME, Ledger
from mapapp.kinds.base.ledger_entry import (
    LedgerEntry,
    LedgerError,
    Reading,
    at_most,
    budget_fact,
    sum_readings,
    withdrawals,
)

PDP, DP = "probabilistic_differential_privacy", "differential_privacy"


def _spend(ledger: Ledger, epsilon: Any = "1", delta: Any = "1e-6", **more: Any) -> LedgerEntry:
    return ledger.spend(epsilon=epsilon, delta=delta, release="a", **more)


def test_a_new_dataset_has_spent_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    assert ledger.entries() == ()
    assert ledger.spent() == (Fraction(0), Fraction(0))
    assert ledger.budget() is None
    assert ledger.torn_line() is None
    assert not ledger.path.exists()


def test_releases_add_up_exactly(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    for _ in range(10):
        _spend(ledger, epsilon=0.1, delta="1e-7")
    assert ledger.spent() == (Fraction(1), Fraction(1, 10**6))
    assert len(ledger.path.read_bytes().splitlines()) == 10


@settings(max_examples=20, deadline=None)
@given(spends=st.lists(st.fractions(0, 20), max_size=6))
def test_entries_read_back_as_written(
    tmp_path_factory: pytest.TempPathFactory, spends: list[Fraction]
) -> None:
    ledger = Ledger(tmp_path_factory.mktemp("dataset"))
    written = [_spend(ledger, epsilon=epsilon) for epsilon in spends]
    assert list(ledger.entries()) == written
    assert ledger.spent()[0] == sum(spends)


def test_what_is_not_for_release_is_recorded_and_spends_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.set_budget(epsilon=1, delta="1e-6")
    entry = _spend(ledger, epsilon=50, reasons=("test key",))
    assert not entry.for_release
    assert entry.reasons == ("test key",)
    assert ledger.spent() == (Fraction(0), Fraction(0))
    assert ledger.entries()[1] == entry


def test_the_budget_is_kept_to_the_last_digit(tmp_path: Path) -> None:
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


def test_a_budget_comes_first_or_not_at_all(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    _spend(ledger)
    with pytest.raises(LedgerError, match="first line"):
        ledger.set_budget(epsilon=1, delta=1)
    with ledger.path.open("ab") as file:
        file.write(LedgerEntry(kind="budget", epsilon=Fraction(99), delta=Fraction(1)).to_line())
    with pytest.raises(LedgerError, match="line 2 is a second budget"):
        ledger.spent()


@pytest.mark.parametrize("amount", ["-1", "nan", "much", None])
def test_impossible_amounts_are_refused(tmp_path: Path, amount: str | None) -> None:
    with pytest.raises(LedgerError, match="epsilon"):
        _spend(Ledger(tmp_path), epsilon=amount)
    assert not (tmp_path / LEDGER_NAME).exists()


def test_every_cut_of_the_last_line_is_noticed(tmp_path: Path) -> None:
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
def test_a_torn_line_is_settled_by_saying_what_it_counts_as(tmp_path: Path, end: bytes) -> None:
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


def test_a_settlement_that_is_cut_short_itself_can_be_settled(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    _spend(ledger)
    with ledger.path.open("ab") as file:
        file.write(b'{"torn\n{"settlement torn')
    ledger.settle_torn_line(epsilon=2, delta=0, release="a")
    assert ledger.spent()[0] == 3


def test_a_line_altered_in_the_middle_is_refused(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    for _ in range(3):
        _spend(ledger)
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    for broken in (
        b"rubbish\n",
        b"\n",
        lines[1].replace(b'"1"', b'"-1"'),
        lines[1].replace(b'"1"', b'"1/0"'),
        b"[" * 100_000 + b"\n",
        b"[]\n",
        lines[1].replace(b'"readings": {}', b'"readings": [1]'),
    ):
        ledger.path.write_bytes(lines[0] + broken + lines[2])
        with pytest.raises(LedgerError, match="line 2 is no entry"):
            ledger.spent()
        with pytest.raises(LedgerError, match="line 2 is no entry"):
            _spend(ledger)


def test_unknown_versions_are_not_guessed_at(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    _spend(ledger)
    fields = json.loads(ledger.path.read_bytes()) | {"schema_version": 2}
    ledger.path.write_bytes(json.dumps(fields).encode() + b"\n")
    with pytest.raises(LedgerError, match="cut short"):
        ledger.spent()


def test_only_the_owner_may_read_it(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    _spend(ledger)
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_no_dataset_no_ledger(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="cannot be opened"):
        _spend(Ledger(tmp_path / "nowhere"))


def test_an_entry_is_on_the_disk_before_spend_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = []
    write, fsync = os.write, os.fsync

    def noted_write(file: int, content: bytes) -> int:
        events.append("write")
        return write(file, content)

    def noted_fsync(file: int) -> None:
        events.append("fsync")
        fsync(file)

    monkeypatch.setattr(os, "write", noted_write)
    monkeypatch.setattr(os, "fsync", noted_fsync)
    _spend(Ledger(tmp_path))
    assert events == ["write", "fsync", "fsync"]


SPENDER = """
import sys
from pathlib import Path
from mapapp.kinds.base.ledger import Ledger
from mapapp.kinds.base.ledger_entry import LedgerError
sys.stdout.write("ready\\n")
sys.stdout.flush()
sys.stdin.readline()
try:
    Ledger(Path(sys.argv[1])).spend(epsilon="0.3", delta=0, release="a")
    print("spent")
except LedgerError:
    print("refused")
"""


def test_five_processes_cannot_together_pass_the_budget(tmp_path: Path) -> None:
    Ledger(tmp_path).set_budget(epsilon=1, delta=1)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", SPENDER, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(5)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert sorted(writer.communicate()[0] for writer in writers) == ["refused\n"] * 2 + ["spent\n"] * 3
    assert Ledger(tmp_path).spent()[0] == Fraction(9, 10)


def _try_to_spend(path: Path, start: threading.Event, outcomes: list[str]) -> None:
    start.wait(10)
    try:
        Ledger(path).spend(epsilon="0.6", delta=0, release="a")
        outcomes.append("spent")
    except LedgerError:
        outcomes.append("refused")


def test_threads_cannot_together_pass_the_budget(tmp_path: Path) -> None:
    for _ in range(10):
        Ledger(tmp_path).path.unlink(missing_ok=True)
        Ledger(tmp_path).set_budget(epsilon=1, delta=1)
        start = threading.Event()
        outcomes: list[str] = []
        writers = [threading.Thread(target=_try_to_spend, args=(tmp_path, start, outcomes)) for _ in range(4)]
        for writer in writers:
            writer.start()
        start.set()
        for writer in writers:
            writer.join()
        assert sorted(outcomes) == ["refused"] * 3 + ["spent"]
        assert Ledger(tmp_path).spent()[0] == Fraction(3, 5)


# Each step of an entry's way to the disk, at which the process dies: what is done before, and whether it is then spent.
DEATHS = {
    "before the lock": ("fcntl.flock = die", "unspent"),
    "before the line": ("os.write = die", "unspent"),
    "within the line": ("os.write = lambda file, line: (write(file, line[:40]), die())", "torn"),
    "before the line end": ("os.write = lambda file, line: (write(file, line[:-1]), die())", "spent"),
    "before the line is on the disk": ("os.fsync = die", "spent"),
    "after it": ("draw = die", "spent"),
}
DYING = """
import fcntl, os, signal, sys
from pathlib import Path
from mapapp.kinds.base.ledger import Ledger
def die(*_):
    os.kill(os.getpid(), signal.SIGKILL)
write, draw = os.write, print
{step}
Ledger(Path(sys.argv[1])).spend(epsilon="0.6", delta=0, release="a")
draw("drawn")
"""


@pytest.mark.parametrize("point", DEATHS)
def test_killed_at_every_step_nothing_is_drawn_that_is_not_counted(tmp_path: Path, point: str) -> None:
    step, state = DEATHS[point]
    ledger = Ledger(tmp_path)
    ledger.set_budget(epsilon=1, delta=1)
    done = subprocess.run(
        [sys.executable, "-c", DYING.format(step=step), str(tmp_path)], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (-signal.SIGKILL, "")
    if state == "torn":
        with pytest.raises(LedgerError, match="cut short"):
            _spend(ledger, epsilon="0.1", delta=0)
        ledger.settle_torn_line(epsilon="0.6", delta=0, release="a")
    assert ledger.spent()[0] == (0 if state == "unspent" else Fraction(3, 5))
    if state == "unspent":
        _spend(ledger, epsilon=1, delta=0)
    else:
        with pytest.raises(LedgerError, match="at most 0"):
            _spend(ledger, epsilon="0.6", delta=0)
        _spend(ledger, epsilon="0.4", delta=0)
    assert ledger.spent()[0] == 1


def _spend_for_ever(path: Path, started: ProcessEvent) -> NoReturn:
    ledger = Ledger(path)
    ledger.spend(epsilon=1, delta=0, release="a")
    started.set()
    while True:
        ledger.spend(epsilon=1, delta=0, release="a")


def test_a_killed_writer_loses_nothing_that_was_spent(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    writer = context.Process(target=_spend_for_ever, args=(tmp_path, started))
    writer.start()
    assert started.wait(30)
    assert writer.pid is not None
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    writer.close()
    ledger = Ledger(tmp_path)
    if ledger.torn_line() is not None:
        ledger.settle_torn_line(epsilon=1, delta=0, release="a")
    assert ledger.spent()[0] == len(ledger.entries()) >= 1
    _spend(ledger)


def test_a_torn_budget_is_settled_as_a_budget(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.path.write_bytes(b'{"schema_version": 1, "ki')
    ledger.settle_torn_line(epsilon="9", delta="1e-6", release="")
    assert ledger.budget() == (Fraction(9), Fraction(1, 10**6))
    with pytest.raises(LedgerError, match="epsilon"):
        ledger.spend(epsilon="10", delta="0", release="r")


def test_a_short_write_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(tmp_path)
    ledger.spend(epsilon="1", delta="0", release="r")
    before = ledger.path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:10]))
    with pytest.raises(LedgerError, match="nothing was spent"):
        ledger.spend(epsilon="2", delta="0", release="s")
    assert ledger.path.read_bytes() == before


@pytest.mark.parametrize("number", ["1e-20000000", "Infinity", "1/0", "nan"])
def test_a_number_that_is_none_is_a_broken_line(tmp_path: Path, number: str) -> None:
    ledger = Ledger(tmp_path)
    ledger.spend(epsilon="1", delta="0", release="r")
    line = ledger.path.read_text().replace('"epsilon": "1"', f'"epsilon": "{number}"')
    ledger.path.write_text(line + line)
    with pytest.raises(LedgerError, match="cut short"):
        ledger.entries()


def _readings(*names: str) -> tuple[Reading, ...]:
    return tuple(
        Reading(name=name, epsilon=Fraction(3, 2), delta=Fraction(1, 10**6), holds_for=f"holders of {name}")
        for name in names
    )


def test_a_release_notes_its_readings_and_they_add_up(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    written = [
        ledger.spend(epsilon="1.5", delta="1e-6", release="r", readings=_readings(PDP, DP)) for _ in range(2)
    ]
    ledger.spend(epsilon=9, delta=1, release="t", reasons=("test key",), readings=_readings(DP))
    entries = ledger.entries()
    assert list(entries[:2]) == written
    assert [reading.name for reading in entries[0].readings] == [PDP, DP]
    assert entries[2].readings == ()
    for reading in sum_readings(entries):
        assert (reading.epsilon, reading.delta) == (Fraction(3), Fraction(2, 10**6)) == ledger.spent()
        assert reading.holds_for == f"holders of {reading.name}, over all releases"
    # What holds in the ordinary reading alone (a sparse histogram) leaves the sum with that one.
    ledger.spend(epsilon="1.5", delta="1e-6", release="s", readings=_readings(DP))
    assert [reading.name for reading in sum_readings(ledger.entries())] == [DP]


def test_readings_come_from_the_certificate(demo_release: Path) -> None:
    certificate = json.loads((demo_release / "certificate.json").read_text())
    readings = {reading.name: reading for reading in Reading.of_certificate(certificate["readings"])}
    assert set(readings) == {PDP, DP}
    for reading in readings.values():
        assert reading.epsilon == Fraction(certificate["epsilon_final"]["exact"])
        assert reading.delta == Fraction(certificate["delta"]["exact"])
    assert readings[DP].holds_for == "the whole release"
    assert readings[PDP].holds_for == "each (destination block, segment) by itself"


@pytest.mark.parametrize(
    ("edit", "noticed_at"),
    [
        (lambda lines: [lines[0], lines[2]], 2),
        (lambda lines: [lines[0], lines[1].replace(b'"1"', b'"1/1000"'), lines[2]], 3),
        (lambda lines: [lines[1], lines[0], lines[2]], 1),
        (lambda lines: [lines[0], lines[0], lines[1], lines[2]], 2),
        (lambda lines: [lines[0].replace(b" ", b"  "), *lines[1:]], 2),
    ],
)
def test_a_line_changed_or_taken_out_is_noticed_by_the_next(
    tmp_path: Path, edit: Callable[[list[bytes]], list[bytes]], noticed_at: int
) -> None:
    ledger = Ledger(tmp_path)
    for _ in range(3):
        _spend(ledger)
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    ledger.path.write_bytes(b"".join(edit(lines)))
    for call in (ledger.spent, lambda: _spend(ledger)):
        with pytest.raises(LedgerError, match=f"altered before line {noticed_at};"):
            call()


def test_lines_that_do_not_note_what_stands_before_them_are_read(tmp_path: Path) -> None:
    """Ledgers begun by earlier versions go on."""
    ledger = Ledger(tmp_path)
    entry = LedgerEntry(kind="release", epsilon=Fraction(1), delta=Fraction(0), release="old")
    fields = json.loads(entry.to_line())
    del fields["before"], fields["readings"]
    ledger.path.write_bytes(2 * (json.dumps(fields).encode() + b"\n"))
    _spend(ledger)
    assert ledger.spent()[0] == 3
    assert sum_readings(ledger.entries()) == ()


def test_a_file_put_in_its_place_meanwhile_takes_no_spend_away(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    _spend(ledger)
    refused = []

    def spend() -> None:
        try:
            _spend(ledger, epsilon=5)
        except LedgerError as error:
            refused.append(str(error))

    with ledger.path.open("rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        writer = threading.Thread(target=spend)
        writer.start()
        while writer.is_alive() and not _waits_for(ledger.path):
            time.sleep(0.01)
        copy = tmp_path / "copy"
        copy.write_bytes(ledger.path.read_bytes())
        copy.replace(ledger.path)
    writer.join()
    assert len(refused) == 1
    assert "took its place" in refused[0]
    assert ledger.spent()[0] == 1


def _waits_for(path: Path) -> bool:
    """Whether somebody waits for the lock on a file."""
    inode = f":{path.stat().st_ino} "
    return any("->" in line and inode in line for line in Path("/proc/locks").read_text().splitlines())


def test_a_dataset_imported_with_a_budget_is_not_used_without_it(tmp_path: Path) -> None:
    budget = budget_fact(Fraction(9), Fraction(1, 10**6))
    (tmp_path / MANIFEST).write_text(json.dumps({"budget": budget}))
    ledger = Ledger(tmp_path)
    for content in (None, b"", b'{"schema_version": 1, "kind'):
        if content is not None:
            ledger.path.write_bytes(content)
        with pytest.raises(LedgerError, match=r"imported with|cut short"):
            ledger.entries()
        with pytest.raises(LedgerError, match=r"imported with|cut short"):
            _spend(ledger)
    with pytest.raises(LedgerError, match="epsilon 9 and delta 1/1000000"):
        ledger.settle_torn_line(epsilon=10, delta="1e-6", release="")
    ledger.settle_torn_line(epsilon=9, delta="1e-6", release="")
    _spend(ledger, epsilon=9)
    ledger.path.unlink()
    higher = LedgerEntry(kind="budget", epsilon=Fraction(90), delta=Fraction(1, 10**6))
    ledger.path.write_bytes(higher.to_line())
    with pytest.raises(LedgerError, match="imported with"):
        ledger.budget()


def test_an_amount_that_cannot_be_read_back_is_not_written(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    _spend(ledger)
    with pytest.raises(LedgerError, match="fewer digits"):
        _spend(ledger, epsilon=10**400)
    assert ledger.spent()[0] == 1


def test_what_may_be_asked_for_is_rounded_down(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.set_budget(epsilon=1, delta=1)
    _spend(ledger, epsilon="1/7", delta=0)
    with pytest.raises(LedgerError, match=r"but 0\.142858 .* at most 0\.857142,"):
        _spend(ledger, epsilon=1, delta=0)
    _spend(ledger, epsilon="0.857142", delta=0)
    assert at_most(Fraction(2, 3 * 10**9)) == "6.66666e-10"


@pytest.mark.parametrize("make", [os.mkfifo, Path.mkdir, lambda path: path.symlink_to("elsewhere")])
def test_what_is_no_regular_file_is_refused(tmp_path: Path, make: Callable[[Path], object]) -> None:
    """A pipe would be waited for, and a link would have another file written."""
    (tmp_path / "elsewhere").write_text("")
    make(tmp_path / LEDGER_NAME)
    for call in (Ledger(tmp_path).entries, lambda: _spend(Ledger(tmp_path))):
        with pytest.raises(LedgerError, match=r"cannot be opened|not a regular file"):
            call()
    assert (tmp_path / "elsewhere").read_text() == ""


def test_what_a_check_refuses_is_not_spent(tmp_path: Path) -> None:
    def refuse() -> None:
        raise ValueError("another dataset")

    with pytest.raises(ValueError, match="another dataset"):
        _spend(Ledger(tmp_path), check=refuse)
    assert Ledger(tmp_path).entries() == ()


def test_of_releases_of_one_name_the_time_says_which_is_withdrawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path)
    times = iter(["2020-01-01T00:00:00+00:00", "2021-01-01T00:00:00+00:00", "2022-01-01T00:00:00+00:00"])
    monkeypatch.setattr("mapapp.kinds.base.ledger._now", lambda: next(times))
    first, second = _spend(ledger), _spend(ledger)
    with pytest.raises(LedgerError, match=r"2 published releases .*2020-01-01.*2021-01-01"):
        ledger.withdraw("a", reason="wrong year")
    withdrawal = ledger.withdraw(second.written_at, reason=" wrong year ")
    assert (withdrawal.release, withdrawal.reasons) == ("a", ("wrong year",))
    entries = ledger.entries()
    assert withdrawals(entries) == {1: withdrawal}
    assert entries == (first, second, withdrawal)
    assert ledger.spent() == (Fraction(2), Fraction(2, 10**6))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'"withdraws": 0', b'"withdraws": 1'),
        (b'"withdraws": 0', b'"withdraws": -1'),
        (b'"withdraws": 0', b'"withdraws": 7'),
        (b'"release": "a"', b'"release": "b"'),
    ],
)
def test_a_withdrawal_of_no_release_is_refused(tmp_path: Path, before: bytes, after: bytes) -> None:
    ledger = Ledger(tmp_path)
    _spend(ledger)
    kept = ledger.path.read_bytes()
    ledger.withdraw("a", reason="wrong year")
    line = ledger.path.read_bytes().removeprefix(kept)
    ledger.path.write_bytes(kept + line.replace(before, after))
    for call in (ledger.spent, lambda: _spend(ledger)):
        with pytest.raises(LedgerError, match="names no earlier release"):
            call()


def test_a_withdrawal_that_names_no_entry_is_no_line(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    _spend(ledger)
    ledger.withdraw("a", reason="wrong year")
    ledger.path.write_bytes(ledger.path.read_bytes().replace(b'"withdraws": 0', b'"withdraws": "0"'))
    with pytest.raises(LedgerError, match="cut short"):
        ledger.spent()


def test_threads_withdraw_a_release_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    _spend(ledger)
    outcomes: list[str] = []

    def withdraw() -> None:
        try:
            Ledger(tmp_path).withdraw("a", reason="wrong year")
            outcomes.append("withdrawn")
        except LedgerError as error:
            outcomes.append("refused" if "withdrawn already" in str(error) else str(error))

    writers = [threading.Thread(target=withdraw) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(outcomes) == ["refused"] * 3 + ["withdrawn"]
    assert [entry.kind for entry in ledger.entries()] == ["release", "withdrawal"]


def test_a_withdrawal_that_is_cut_short_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path)
    _spend(ledger)
    before = ledger.path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda file, line: write(file, line[:10]))
    with pytest.raises(LedgerError, match="cannot be written"):
        ledger.withdraw("a", reason="wrong year")
    assert ledger.path.read_bytes() == before
