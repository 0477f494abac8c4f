"""Anybody's tables are read, and what is no table is refused in one line that names the row and the column."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.suppression.tables_given import SUPPRESSED, GivenTable
from mapapp.analyst.attack import table_file
from mapapp.analyst.attack.cell_text import Conventions
from mapapp.analyst.attack.labels import add_knowledge
from mapapp.analyst.attack.table_file import read_people
from mapapp.base.errors import UsageError

S = SUPPRESSED
PLAIN = "eyes,blonde,brown,Total\nblue,*,8,10\nnot blue,3,*,1200\nTotal,5,1205,1210\n"
VALUES = [[S, 8, 10], [3, S, 1200], [5, 1205, 1210]]


def read_table(path: Path, conventions: Conventions | None = None) -> GivenTable:
    """A table without subtotals."""
    table, subtotals = table_file.read_table(path, conventions)
    assert subtotals is None
    return table


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "table.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (PLAIN, "utf-8"),
        (PLAIN, "utf-8-sig"),
        (PLAIN.replace(",", ";"), "utf-8-sig"),
        (PLAIN.replace(",", "\t"), "utf-16"),
        (PLAIN.replace("\n", "\r\n") + "\r\n,,,\r\n", "utf-8"),
        (PLAIN.replace("1200", '"1,200"').replace("1205", "1 205").replace("1210", "1'210"), "utf-8"),
        (PLAIN.replace("1200", "1\u00a0200").replace("*", " * "), "utf-8"),
        (PLAIN.replace("Total", "ALL"), "utf-8"),
        (PLAIN.replace("Total", " total "), "utf-8"),
        ("eyes,Total,blonde,brown\nTotal,1210,5,1205\nblue,10,*,8\nnot blue,1200,3,*\n", "utf-8"),
    ],
)
def test_tables_as_people_save_them(tmp_path: Path, text: str, encoding: str) -> None:
    table = read_table(written(tmp_path, text, encoding))
    assert table.values.tolist() == VALUES
    assert table.row_names[:2] == ("blue", "not blue")
    assert table.column_names[:2] == ("blonde", "brown")
    assert (table.total_row, table.total_column) == (True, True)


@pytest.mark.parametrize(
    ("text", "row", "column"),
    [
        ("x,a,b\nr,1,*\ns,2,3\n", False, False),
        ("x,a,b\nr,1,*\nTotal,2,3\n", True, False),
        ("x,a,Total\nr,1,*\n", False, True),
        ("x,a\nr,*\n", False, False),
    ],
)
def test_tables_with_some_totals_or_none(tmp_path: Path, text: str, row: bool, column: bool) -> None:
    table = read_table(written(tmp_path, text))
    assert (table.total_row, table.total_column) == (row, column)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PLAIN.replace("8", "-8"), r"row blue, column brown: -8 is negative"),
        (PLAIN.replace("8", "(8)"), r"row blue, column brown: \(8\) is negative"),
        (PLAIN.replace("8", "8.5"), r"row blue, column brown: 8\.5 is not a whole number"),
        (PLAIN.replace("8", "1.234"), r"row blue, column brown: 1\.234 is not a whole number"),
        (PLAIN.replace("8", "1e3"), r"row blue, column brown: 1e3 is not a whole number"),
        (
            PLAIN.replace(",", ";").replace("8", "1,234"),
            r"row blue, column brown: 1,234 is not a whole number",
        ),
        (PLAIN.replace("8", ""), r"row blue, column brown: empty; write \* for a suppressed cell"),
        (PLAIN.replace("8", "n/a"), r"row blue, column brown: 'n/a' is no count"),
        (PLAIN.replace("8", "\x1b[2J"), r"row blue, column brown: 'U\+001B\[2J' is no count"),
        (PLAIN.replace("8", "9" * 13), r"row blue, column brown: 9+ is too large"),
        (PLAIN.replace("8,", ""), r"line 2 has 3 fields, but the first has 4"),
        (PLAIN.replace("not blue", "blue"), r"two rows are labeled 'blue'"),
        (PLAIN.replace("brown", "blonde"), r"two columns are labeled 'blonde'"),
        (PLAIN.replace("brown", " "), r"a column has no label"),
        (PLAIN.replace("not blue", "All"), r"All and Total are both labeled as totals"),
        (
            PLAIN.replace("blonde", "x").replace("brown", "Sum").replace("x,Sum,Total", "x,Sum,y"),
            "neither first nor last",
        ),
        ("", "no table"),
        ("a\n1\n", "no table"),
        ("x,Total\nTotal,5\n", "only totals"),
        ('x,a\nr,"5\n', "not a CSV file"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as caught:
        read_table(written(tmp_path, text))
    assert "\n" not in str(caught.value)


def test_what_a_row_s_suppressed_cells_add_up_to_gives_its_total(tmp_path: Path) -> None:
    """As `commutemap export` writes a table as printed; one star alone has no remainder of its own."""
    path = written(
        tmp_path,
        "town,a,b,c,Suppressed cells together\nN,*,*,5,9\nS,*,*,6,*\nE,*,7,8,\nW,1,2,3,\n",
    )
    table = read_table(path)
    assert (table.total_row, table.total_column) == (False, True)
    assert table.column_names == ("a", "b", "c", "Total")
    assert table.values.tolist() == [[S, S, 5, 14], [S, S, 6, S], [S, 7, 8, S], [1, 2, 3, 6]]


def test_more_stars_than_can_be_attacked_are_refused(tmp_path: Path) -> None:
    lines = [",".join(["x", *map(str, range(101))])] + [f"r{row}" + ",*" * 101 for row in range(200)]
    with pytest.raises(
        UsageError, match="20,200 suppressed cells; give a part of the table with 20,000 at most"
    ):
        read_table(written(tmp_path, "\n".join(lines)))


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        read_table(written(tmp_path, PLAIN.replace("blue", "blé"), "latin-1"))


def test_marks_that_reorder_text_are_shown_as_code_points(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, PLAIN.replace("not blue", "\u202eeulb")))
    assert table.row_names[1] == "U+202Eeulb"


def test_people_are_matched_by_label(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, PLAIN))
    people = written(tmp_path, "x,brown,blonde\nnot blue,1300,4\nblue,9,7\n")
    assert read_people(people, table).tolist() == [[7, 9, S], [4, 1300, S], [S, S, S]]
    with pytest.raises(UsageError, match="no row not blue, column blonde"):
        read_people(written(tmp_path, "x,brown,blonde\nblue,9,7\n"), table)


@pytest.mark.parametrize(
    ("known", "least", "most"),
    [("not blue,brown=100", 100, 100), ("NOT BLUE , brown <= 7", 0, 7), ("not blue,brown>=7", 7, S)],
)
def test_knowledge_about_a_cell(tmp_path: Path, known: str, least: int, most: int) -> None:
    table = add_knowledge(read_table(written(tmp_path, PLAIN)), (known,))
    assert table.least is not None
    assert table.most is not None
    assert (table.least[1, 1], table.most[1, 1]) == (least, most)


def test_labels_may_contain_commas(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, 'x,"a, b"\n"r, s",*\n'))
    known = add_knowledge(table, ("r, s,a, b=4",))
    assert known.most is not None
    assert known.most.tolist() == [[4]]


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ("blue=3", "no such cell; the rows are blue, not blue, Total"),
        ("blue,red=3", "no such cell"),
        ("blue,brown", "give ROW,COLUMN=NUMBER"),
        ("blue,brown=-3", "give ROW,COLUMN=NUMBER"),
        ("blue,brown=3.5", "give ROW,COLUMN=NUMBER"),
        ("blue,brown==3", "give ROW,COLUMN=NUMBER"),
    ],
)
def test_knowledge_that_cannot_be_read_is_refused(tmp_path: Path, known: str, message: str) -> None:
    table = read_table(written(tmp_path, PLAIN))
    with pytest.raises(UsageError, match=message):
        add_knowledge(table, (known,))


FLAGGED = "town,men,men flag,women,women flag\nA,0,D,7,\nB,0,,0,D\nTotal,9,,12,\n"


def test_a_zero_with_a_flag_is_suppressed(tmp_path: Path) -> None:
    """Finds a suppressed cell that is taken for zero, which would contradict the totals, or a true zero for a star."""
    conventions = Conventions()
    table = read_table(written(tmp_path, FLAGGED), conventions)
    assert table.values.tolist() == [[S, 7], [0, S], [9, 12]]
    assert table.column_names == ("men", "women")
    assert conventions.read_as() == {"0 with the flag D as suppressed": 2}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (FLAGGED.replace("0,D,7", "5,D,7"), "row A, column men: 5 with the flag D is shown and suppressed"),
        (FLAGGED.replace("0,D,7", "5,e,7"), "the flag e can mean suppressed or not"),
        ("town,flag,men\nA,D,0\nB,,3\n", "no column of counts is before it"),
    ],
)
def test_flags_that_can_be_read_in_two_ways_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """Finds a guess where the publisher's flag may mean something else."""
    with pytest.raises(UsageError, match=message):
        read_table(written(tmp_path, text))


def test_a_flag_can_be_said_to_mean_that_a_count_is_shown(tmp_path: Path) -> None:
    """Finds an option that is not heeded."""
    text = FLAGGED.replace("0,D,7", "5,e,7")
    assert read_table(written(tmp_path, text), Conventions(shown=("e",))).values[0, 0] == 5
    marked = FLAGGED.replace("0,D,7", "0,e,7")
    assert read_table(written(tmp_path, marked), Conventions(marks=("e",))).values[0, 0] == S
