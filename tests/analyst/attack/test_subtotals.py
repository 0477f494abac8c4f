"""Subtotals in one file: which rows are sums of others, and what follows from all sums together."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from engine.suppression.attack.attack import attack_linked
from engine.suppression.attack.linked_tables import LinkedTables
from mapapp.analyst.attack.subtotals import Family, How, families_of, how_of, subtotals_of
from mapapp.analyst.attack.table_file import read_table
from mapapp.base.errors import UsageError
from tests.commands.running import refused, run_here

INDENTED = """area,low,high,Total
State,12,30,42
  North,8,*,*
    Mill,*,5,9
    Ford,*,*,*
  South,4,11,15
    Dale,3,*,*
    Hill,1,*,*
"""
CODED = """industry,jobs
10 All,20
31-33 Manufacturing,12
31 Food,5
32 Paper,*
33 Metal,*
44 Retail,8
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


def solutions(
    stars: list[str], equations: list[tuple[dict[str, int], int]], most: int
) -> list[dict[str, int]]:
    """All whole numbers that agree with the equations, one by one."""
    found = []
    for numbers in itertools.product(range(most + 1), repeat=len(stars)):
        values = dict(zip(stars, numbers, strict=True))
        if all(sum(sign * values[name] for name, sign in terms.items()) == rest for terms, rest in equations):
            found.append(values)
    return found


def test_all_sums_together_are_what_a_list_of_all_tables_gives(tmp_path: Path) -> None:
    """Finds a subtotal that is one more cell, or an equation that is lost: ranges too wide, or no table at all."""
    text = "area,low,high,Total\nState,7,6,13\n  North,4,*,*\n    Mill,*,2,3\n    Ford,*,*,*\n  South,3,*,*\n"
    done = run_here("attack", written(tmp_path, text), "--subtotals", "indent", "--json")
    assert done.code == 0, done.err
    equations = [
        ({"North high": 1, "North Total": -1}, -4),
        ({"Mill low": 1}, 1),
        ({"Ford low": 1, "Ford high": 1, "Ford Total": -1}, 0),
        ({"South high": 1, "South Total": -1}, -3),
        ({"North high": 1, "South high": 1}, 6),
        ({"North Total": 1, "South Total": 1}, 13),
        ({"Mill low": 1, "Ford low": 1}, 4),
        ({"Ford high": 1, "North high": -1}, -2),
        ({"Ford Total": 1, "North Total": -1}, -3),
    ]
    # Of eight numbers, two decide the others: the list is made of these.
    expected = []
    for north_high, ford_low in itertools.product(range(14), repeat=2):
        values = {
            "North high": north_high,
            "North Total": north_high + 4,
            "Mill low": 1,
            "Ford low": ford_low,
        }
        values |= {"Ford high": north_high - 2, "Ford Total": north_high + 1, "South high": 6 - north_high}
        values |= {"South Total": 9 - north_high}
        right = (
            sum(sign * values[name] for name, sign in terms.items()) == rest for terms, rest in equations
        )
        if min(values.values()) >= 0 and all(right):
            expected.append(values)
    found = json.loads(done.out)
    assert found["tables"] == len(expected) > 1
    for cell in found["cells"]:
        numbers = [table[f"{cell['row']} {cell['column']}"] for table in expected]
        assert (cell["before"]["low"], cell["before"]["high"]) == (min(numbers), max(numbers)), cell
    assert (
        "2 rows as sums of others by indentation (State = North + South; North = Mill + Ford)"
        in found["subtotals"]
    )


def test_a_small_table_of_codes_against_all_of_its_tables(tmp_path: Path) -> None:
    """Finds a code that is taken for a part of the wrong row: 31-33 is three codes."""
    done = run_here("attack", written(tmp_path, CODED), "--subtotals", "code", "--json")
    assert done.code == 0, done.err
    expected = solutions(["32", "33"], [({"32": 1, "33": 1}, 12 - 5)], 12)
    assert json.loads(done.out)["tables"] == len(expected) == 8


@pytest.mark.parametrize(
    ("way", "texts", "cells", "families"),
    [
        ("indent", ["A", "  b", "\u00a0\u00a0c", "D", "..e", "Total"], [], [(0, (1, 2)), (3, (4,))]),
        ("level", ["A", "b", "c", "d"], ["0", "1", "2", "1"], [(0, (1, 3)), (1, (2,))]),
        ("parent", ["b", "A", "c"], ["A", "", "A"], [(1, (0, 2))]),
        ("code", ["C Making", "C10 Food", "C10.1 Meat", "C11 Drink", "G"], [], [(0, (1, 3)), (1, (2,))]),
        ("code", ["31-33 Making", "311 Food", "44 Retail", "10 to 19"], [], [(0, (1,))]),
    ],
)
def test_rows_are_parts_of_the_right_rows(
    way: str, texts: list[str], cells: list[str], families: list[tuple[int, tuple[int, ...]]]
) -> None:
    """Finds a row that is a part of another than its label or its column says."""
    found = families_of(how_of(way if way in ("indent", "code") else f"{way}=x").way, texts, cells)
    assert list(found) == [Family(*family) for family in families]


def test_labels_are_believed_if_the_numbers_bear_them_out(tmp_path: Path) -> None:
    """Finds a subtotal that is added to the total once more, or a guess where nothing is shown."""
    table, subtotals = read_table(written(tmp_path, INDENTED))
    assert subtotals is not None
    assert [family.children for family in subtotals.families] == [(1, 4), (2, 3), (5, 6)]
    assert (table.total_row, table.total_column) == (False, True)
    done = run_here("attack", written(tmp_path, INDENTED))
    assert done.out.startswith(
        "Read: 3 rows as sums of others by indentation (State = North + South; North = "
    )
    assert "Rows add up: State, high (30) = North, high + South, high (11)." in done.out
    nothing = "area,jobs\nNorth,*\n  Mill,2\n  Ford,*\n"
    with pytest.raises(UsageError, match="do not say whether it is right; give --subtotals indent"):
        read_table(written(tmp_path, nothing))
    assert read_table(written(tmp_path, nothing), how=How("none"))[1] is None
    assert read_table(written(tmp_path, nothing), how=How("indent"))[1] is not None
    with pytest.raises(UsageError, match=r"State = North \+ South does not add up"):
        read_table(written(tmp_path, INDENTED.replace("State,12", "State,13")))


def test_numbers_as_labels_are_no_codes_where_rows_do_not_add_up(tmp_path: Path) -> None:
    """Finds that row 1 of a plain table becomes the sum of rows 10 to 12."""
    months = "month,jobs\n" + "".join(f"{month},{month + 3}\n" for month in range(1, 13))
    assert read_table(written(tmp_path, months))[0].values.shape == (12, 1)
    plain = "size,jobs\n1,*\n10,*\n2,4\nTotal,9\n"
    with pytest.raises(UsageError, match="1 = 10 is what labels suggest"):
        read_table(written(tmp_path, plain))
    assert read_table(written(tmp_path, plain.replace("10,*", "10,2").replace("1,*", "1,3")))[0].total_row


def test_totals_are_the_sum_of_the_rows_that_are_parts_of_no_other(tmp_path: Path) -> None:
    """Finds that totals count subtotals and their parts."""
    text = "area,jobs\nNorth,5\n  Mill,2\n  Ford,*\nSouth,4\nTotal,9\n"
    _, subtotals = read_table(written(tmp_path, text))
    assert subtotals is not None
    assert subtotals.families[-1] == Family(4, (0, 3))
    assert "1 of 1 suppressed cell" in run_here("attack", written(tmp_path, text)).out


def test_equal_labels_are_told_apart_by_what_they_are_parts_of(tmp_path: Path) -> None:
    """Finds that two rows Men are refused, or one number."""
    text = "area,jobs\nNorth,5\n  Men,2\n  Women,*\nSouth,4\n  Men,*\n  Women,3\nTotal,9\n"
    table, _ = read_table(written(tmp_path, text))
    assert table.row_names[1:3] == ("North: Men", "North: Women")
    assert "two rows are labeled 'Men'" in refused("attack", written(tmp_path, text), "--subtotals", "none")


def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path) -> None:
    """Finds a misspelled column, a level that is no number, a circle, or a rule that does not know subtotals."""
    text = "area,level,jobs\nNorth,0,5\nMill,1,2\nFord,1,*\n"
    path = written(tmp_path, text)
    _, subtotals = read_table(path, how=How("level", "level"))
    assert subtotals is not None
    assert subtotals.families == (Family(0, (1, 2)),)
    assert "no such column; the columns are level, jobs" in refused(
        "attack", path, "--subtotals", "level=depth"
    )
    assert "give indent, code, level=COLUMN" in refused("attack", path, "--subtotals", "depth")
    assert "no row is the sum of others by indentation" in refused("attack", path, "--subtotals", "indent")
    assert "leave it out" in refused("attack", path, "--subtotals", "level=level", "--rule", "0..5")
    deep = written(tmp_path, text.replace("Mill,1", "Mill,one"))
    assert "level 'one': give a whole number" in refused("attack", deep, "--subtotals", "level=level")
    circle = written(tmp_path, "area,of,jobs\nA,B,1\nB,A,2\n")
    assert "part of itself" in refused("attack", circle, "--subtotals", "parent=of")


def test_a_table_whose_totals_come_first_has_no_subtotals() -> None:
    """Finds that totals above indented rows, which are the usual ones, need an option."""
    values = np.array([[5], [2], [3]], dtype=np.int64)
    assert subtotals_of(["Total", "  a", "  b"], values, How()) is None


def test_programs_find_what_a_list_of_all_tables_has(tmp_path: Path) -> None:
    """Finds an equation of subtotals that the programs for larger tables leave out, or an end that no table has."""
    text = "area,a,b,c,Total\nState,9,8,7,24\n  North,*,*,4,*\n    Mill,2,*,*,6\n    Ford,*,1,*,*\n  South,*,*,*,*\n"
    table, subtotals = read_table(written(tmp_path, text), how=How("indent"))
    assert subtotals is not None
    links = tuple(subtotals.links(0, table.values.shape[1]))
    linked = replace(LinkedTables.of(table), links=links)
    (listed,), (programmed,) = attack_linked(linked), attack_linked(linked, limit=1)
    assert listed.before.tables is not None
    assert len(listed.before.tables) > 10
    assert programmed.before.tables is None
    assert programmed.before.settled.all()
    assert (programmed.before.low, programmed.before.high) == (listed.before.low, listed.before.high)
