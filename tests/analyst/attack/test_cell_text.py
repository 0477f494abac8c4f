"""Cells of published tables as offices write them, and ranges as constraints, compared with enumeration."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from engine.suppression.attack.attack import attack_table
from engine.suppression.tables_given import SUPPRESSED, ContradictionError, GivenTable
from mapapp.analyst.attack.cell_text import MARKS, Conventions, conventions_of
from mapapp.analyst.attack.table_file import read_table
from mapapp.base.errors import UsageError

S = SUPPRESSED


def conventions(
    *, marks: tuple[str, ...] = (), zeros: tuple[str, ...] = (), ranges: tuple[str, ...] = (), **more: str
) -> Conventions:
    return conventions_of(marks, zeros, ranges, more.get("thousands", ""), more.get("rounded", ""))


@pytest.mark.parametrize(
    ("text", "delimiter", "meaning"),
    [
        ("1,234", ",", (1234, 1234, 1234)),
        ("1 234 567", ";", (1234567, 1234567, 1234567)),
        ("1'234", ";", (1234, 1234, 1234)),
        ("12.0", ",", (12, 12, 12)),
        ("12,00", ";", (12, 12, 12)),
        ("1,234.00", ",", (1234, 1234, 1234)),
        ("1e+05", ",", (100_000, 100_000, 100_000)),
        ("1.25e+05", ",", (125_000, 125_000, 125_000)),
        ("1-9", ",", (S, 1, 9)),
        ("1–9", ",", (S, 1, 9)),
        ("10 to 19", ",", (S, 10, 19)),
        ("<5", ",", (S, 0, 4)),
        ("< 5", ",", (S, 0, 4)),
        ("≤5", ",", (S, 0, 5)),
        (">=100", ",", (S, 100, S)),
        (">100", ",", (S, 101, S)),
        *((mark, ",", (S, 0, S)) for mark in sorted(MARKS)),
    ],
)
def test_a_cell_means_what_its_office_writes(text: str, delimiter: str, meaning: tuple[int, ...]) -> None:
    """Finds a mark, range, or number that is refused or read as another."""
    assert tuple(Conventions().meaning(text, delimiter)) == meaning


@pytest.mark.parametrize(
    ("text", "delimiter", "message"),
    [
        ("-", ",", "- can be zero or suppressed; say which with --zero or --mark"),
        ("–", ",", "can be zero or suppressed"),
        (
            "1.234",
            ",",
            r"1\.234 is not a whole number, unless \. separates thousands; then give --thousands \.",
        ),
        ("1,234", ";", "then give --thousands ,"),
        ("1.0e+00", ",", "not a whole number"),
        ("1.23E+05", ",", "not a whole number"),
        ("9-1", ",", "is no count"),
        ("<0", ",", "is no count"),
        ("n/a", ",", "--mark names another mark"),
        ("1-9999999999999", ",", "too large"),
    ],
)
def test_a_cell_with_two_meanings_or_none_is_refused(text: str, delimiter: str, message: str) -> None:
    """Finds a guess where the file does not say."""
    with pytest.raises(UsageError, match=message):
        Conventions().meaning(text, delimiter)


def test_options_say_what_is_ambiguous() -> None:
    """Finds an option that is ignored."""
    assert conventions(zeros=("-",)).meaning("-").value == 0
    assert conventions(marks=("-", "n/a")).meaning("-") == (S, 0, S)
    assert conventions(thousands=".").meaning("1.234.567").value == 1_234_567
    assert conventions(thousands=",").meaning("1,234", ";").value == 1_234
    assert conventions(ranges=("*=1..4", "A=20..99", "h=500..")).meaning("*") == (S, 1, 4)
    assert conventions(ranges=("h=500..",)).meaning("h") == (S, 500, S)
    assert conventions(rounded="3").meaning("9") == (S, 8, 10)
    assert conventions(rounded="5").meaning("0") == (S, 0, 2)
    assert conventions(rounded="10").meaning("20") == (S, 15, 25)
    assert conventions(rounded="random:3").meaning("9") == (S, 7, 11)
    with pytest.raises(UsageError, match="no multiple of 5"):
        conventions(rounded="5").meaning("7")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"marks": ("-",), "zeros": ("-",)}, "two meanings"),
        ({"marks": ("5",)}, "cannot be a mark"),
        ({"ranges": ("A=9..1",)}, "give MARK=LOW..HIGH"),
        ({"ranges": ("A",)}, "give MARK=LOW..HIGH"),
        ({"rounded": "1"}, "a number from 2"),
        ({"rounded": "up:5"}, "a number from 2"),
    ],
)
def test_options_that_cannot_be_used_are_refused(given: dict[str, tuple[str, ...]], message: str) -> None:
    """Finds an option that is misread in silence."""
    with pytest.raises(UsageError, match=message):
        conventions(**given)  # type: ignore[arg-type]  # options of several types


def possible_ranges(table: GivenTable, largest: int) -> list[tuple[int, int]]:
    """The range of every suppressed cell over all tables of whole numbers up to `largest`, by enumeration."""
    assert table.least is not None
    assert table.most is not None
    n_rows, n_columns = (size - 1 for size in table.values.shape)
    cells = np.array(list(product(range(largest + 1), repeat=n_rows * n_columns)))
    inner = cells.reshape(-1, n_rows, n_columns)
    rows = np.concatenate([inner, inner.sum(axis=2, keepdims=True)], axis=2)
    whole = np.concatenate([rows, rows.sum(axis=1, keepdims=True)], axis=1)
    shown = table.values != S
    agrees = (whole == table.values)[:, shown].all(axis=1)
    agrees &= (whole >= table.least)[:, ~shown].all(axis=1)
    most = np.where(table.most == S, 10**9, table.most)
    agrees &= (whole <= most)[:, ~shown].all(axis=1)
    left = whole[agrees][:, ~shown]
    return (
        [] if not len(left) else list(zip(left.min(axis=0).tolist(), left.max(axis=0).tolist(), strict=True))
    )


@pytest.mark.parametrize("limit", [20_000_000, 1], ids=["listed", "by programs"])
def test_ranges_are_constraints_as_an_enumeration_has_them(limit: int, tmp_path: Path) -> None:
    """Finds a range that is ignored, one that is taken as wider or narrower, and one of a total that is not used."""
    random, n_checked, n_narrower = np.random.default_rng(34), 0, 0
    texts = (
        str,
        str,
        lambda n: "<3" if n < 3 else str(n),
        lambda n: f"{max(n - 1, 0)}-{n + 1}",
        lambda _: "(D)",
    )
    for _ in range(12):
        inner = random.integers(0, 6, (2, 2))
        rows = np.column_stack([inner, inner.sum(axis=1)])
        whole = np.vstack([rows, rows.sum(axis=0)])
        shown = [[texts[random.integers(1, 5)](int(count)) for count in row] for row in whole]
        shown[2][2] = str(whole[2, 2])  # so that nothing is without limits
        lines = ["x,a,b,Total", *(",".join([name, *row]) for name, row in zip("rsT", shown, strict=True))]
        (tmp_path / "t.csv").write_text("\n".join(lines).replace("\nT,", "\nTotal,"))
        table = read_table(tmp_path / "t.csv")[0]
        if table.least is None:
            continue
        ranges = possible_ranges(table, int(whole[2, 2]))
        attack = attack_table(table, limit=limit)
        assert list(zip(attack.before.low, attack.before.high, strict=True)) == ranges
        n_checked += 1
        n_narrower += any(low == high for low, high in ranges)
    assert n_checked >= 8
    assert n_narrower >= 2


def test_a_rounded_table_is_one_of_ranges(tmp_path: Path) -> None:
    """Finds a rounded total that is taken as exact, so that a table that does not add up is called impossible."""
    text = "x,a,b,Total\nr,5,5,5\ns,0,5,5\nTotal,5,10,10\n"
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ContradictionError):
        attack_table(read_table(tmp_path / "t.csv")[0])
    table = read_table(tmp_path / "t.csv", conventions(rounded="5"))[0]
    attack = attack_table(table)
    assert list(zip(attack.before.low, attack.before.high, strict=True)) == possible_ranges(table, 12)
    (tmp_path / "t.csv").write_text(text.replace("r,5", "r,7"))
    with pytest.raises(UsageError, match="row r, column a: 7 is no multiple of 5"):
        read_table(tmp_path / "t.csv", conventions(rounded="5"))


def test_the_report_counts_what_was_read_as_what(tmp_path: Path) -> None:
    """Finds a mark that is read in silence."""
    (tmp_path / "t.csv").write_text("x,a,b\nr,(D),<5\ns,-,(D)\n")
    read = conventions(zeros=("-",))
    read_table(tmp_path / "t.csv", read)
    assert read.lines() == ["Read: (D) as suppressed (2 cells); - as zero (1 cell); <5 as 0 to 4 (1 cell)."]
    assert Conventions().lines() == []
