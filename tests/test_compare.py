"""Comparing with stored ratios: what became slower is named, and chance is not."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from benchmarks import compare
from benchmarks.compare import Ratios, compared, main, measured
from benchmarks.compared_work import REFERENCE, Reference, Work


def ratios(median: float, *, least: float | None = None, spread: float = 0.0) -> Ratios:
    return Ratios(unit=REFERENCE, median=median, least=median if least is None else least, spread=spread)


def work(name: str, seconds: list[float], unit_seconds: list[float]) -> Work:
    """Work whose times are given, over and over."""
    spent, unit = itertools.cycle(seconds), itertools.cycle(unit_seconds)
    return Work(name=name, unit=REFERENCE, spent=lambda: next(spent), unit_spent=lambda: next(unit))


@pytest.mark.parametrize(
    ("now", "word"),
    [
        (ratios(2.0), "as before"),
        (ratios(2.29), "as before"),
        (ratios(2.4), "SLOWER"),
        (ratios(1.6), "faster"),
        # One undisturbed repeat shows that the program is not slower.
        (ratios(3.0, least=2.0), "as before"),
        (ratios(2.4, spread=0.05), "as before"),
        (ratios(2.7, spread=0.05), "SLOWER"),
        (ratios(1.6, least=2.4), "as before"),
    ],
)
def test_slower_is_what_neither_the_spread_nor_one_bad_repeat_explains(now: Ratios, word: str) -> None:
    assert compared(ratios(2.0), now).word == word


def test_the_spread_of_the_stored_ratios_counts_as_well() -> None:
    assert compared(ratios(2.0, spread=0.05), ratios(2.4)).word == "as before"


def test_ratios_do_not_depend_on_how_fast_the_machine_is() -> None:
    for pace in (1.0, 3.0):
        found = measured([work("a", [4 * pace], [2 * pace])], repeats=3)["a"]
        assert found == ratios(2.0)


def test_the_unit_is_measured_before_and_after_and_the_first_round_does_not_count() -> None:
    # Units 9 and 9 of the first round, then 1 and 3 beside the work of 8.
    found = measured([work("a", [1.0, 8.0], [9.0, 9.0, 1.0, 3.0])], repeats=1)["a"]
    assert found == ratios(4.0)


def test_spread_is_the_median_distance_from_the_median() -> None:
    assert Ratios.of("u", [2.0, 2.2, 1.0, 2.1, 5.0]) == Ratios(unit="u", median=2.1, least=1.0, spread=0.048)


def test_what_became_slower_is_named_and_the_exit_code_is_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "ratios.json"
    times = {"certify": 4.0, "import": 6.0}
    monkeypatch.setattr(
        compare,
        "prepared_work",
        lambda size, folder: [work(name, [spent], [2.0]) for name, spent in times.items()],
    )
    options = ["--size", "small", "--repeats", "2", "--stored", str(file)]
    with pytest.raises(SystemExit, match="run with --update"):
        main(options)
    main([*options, "--update"])
    main(options)  # the same again: no exit
    times["certify"] = 6.0
    with pytest.raises(SystemExit) as ended:
        main(options)
    # A text is what Python prints to standard error before it exits with code 1.
    assert ended.value.code == "slower: certify, 1.50 times the stored ratio (tolerance 1.15)"
    assert "| certify | 2 | 3 | 3 | reference | +50% | 15% | SLOWER |" in capsys.readouterr().out
    main([*options, "--only", "imp"])
    main([*options, "--only", "certify", "--update"])
    main(options)
    assert "| import | 3 | 3 |" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="no work has such a name"):
        main([*options, "--only", "nothing"])
    with pytest.raises(SystemExit, match="is of --size small"):
        main(["--stored", str(file)])


def test_the_reference_does_the_same_work_each_time() -> None:
    reference = Reference(1)
    assert reference._work() == reference._work() == Reference(1)._work()
    assert reference() > 0


def test_the_stored_ratios_are_those_of_the_work_that_is_measured() -> None:
    stored = compare.read_stored(compare.STORED, "metro")
    assert len(stored) > 8
    assert all(0 < each.least <= each.median for each in stored.values())
