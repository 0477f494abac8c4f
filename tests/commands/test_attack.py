"""`commutemap attack`: Figure 1 to the number, files, and refusals in one line with exit code 2."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from mapapp.commands.cli import run

FIGURE_1 = "eyes,blonde,brown,black,Total\nblue,*,*,*,110\nnot blue,*,*,*,105\nTotal,55,105,55,215\n"


@pytest.fixture
def figure_1(tmp_path: Path) -> Path:
    return written(tmp_path, FIGURE_1)


def written(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


def result_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, object]:
    assert run(["attack", *map(str, arguments), "--json"]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


def cells_of(found: dict[str, object]) -> list[dict[str, dict[str, int]]]:
    return cast("list[dict[str, dict[str, int]]]", found["cells"])


def test_figure_1_to_the_number(figure_1: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = result_of(capsys, figure_1, "--rule", "0..5")
    assert (found["tables"], found["tables_left"], found["method"]) == (3121, 42, "listed")
    assert found["primary_sets"] == [
        {"tables": 21, "cells": [["blue", "blonde"], ["blue", "black"], ["not blue", "brown"]]},
        {"tables": 21, "cells": [["blue", "brown"], ["not blue", "blonde"], ["not blue", "black"]]},
    ]
    cells = cells_of(found)
    assert list(cells[0]["before"].values()) == [0, 55, [[0, 55]], True]
    assert list(cells[0]["after"].values()) == [0, 55, [[0, 5], [50, 55]], True]


@pytest.mark.parametrize(("clue", "left"), [("=100", 6), ("<=100", 27)])
def test_figure_1_with_the_clue(
    figure_1: Path, capsys: pytest.CaptureFixture[str], clue: str, left: int
) -> None:
    found = result_of(capsys, figure_1, "--rule", "0..5", "--know", f"not blue,brown{clue}")
    assert found["tables_left"] == left


def test_figure_1_in_words(figure_1: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["attack", str(figure_1), "--rule", "0..5"]) == 0
    out = capsys.readouterr().out
    assert "3,121 tables of whole numbers agree with them; all were listed." in out
    assert "42 of 3,121 get these stars (1.3%)" in out
    assert "  1,936 others would have no star, because no cell is from 0 to 5.\n" in out
    assert "  1,143 others would need only 4 stars.\n" in out
    assert "0–5 or 100–105" in out
    assert "Column blonde adds up to 55, and both of its cells are suppressed." in out
    assert out.endswith(
        "Known exactly: 0 → 0 of 6 suppressed cells; certainly 0–5: 0 → 0 (from totals → with the rule).\n"
    )


def test_steps_explain_a_cell_that_is_known_exactly(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "x,a,b,c,Total\nNorth,*,40,30,110\nSouth,*,*,20,60\nTotal,50,70,50,170\n")
    assert run(["attack", str(path)]) == 0
    out = capsys.readouterr().out
    assert (
        "  Row North adds up to 110 and shows 70, so its suppressed cell is 40.\n    So North, a is 40.\n"
        in out
    )
    assert (
        "Known exactly: 3 of 3 suppressed cells. If you know which values were suppressed, add --rule" in out
    )


def test_a_table_without_stars(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, "x,a,b\nNorth,10,40\n")
    assert run(["attack", str(path), "--rule", "0..5"]) == 0
    assert "No cell is suppressed, so there is nothing to find." in capsys.readouterr().out


def test_people_limit_the_counts(figure_1: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = tmp_path / "people.csv"
    people.write_text("eyes,blonde,brown,black\nblue,60,110,60\nnot blue,60,100,60\n", encoding="utf-8")
    assert result_of(capsys, figure_1, "--rule", "0..5", "--people", people)["tables_left"] == 27


def test_a_csv_has_one_line_per_suppressed_cell_and_is_written_once(
    figure_1: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "found.csv"
    before = set(tmp_path.iterdir())
    assert run(["attack", str(figure_1), "--rule", "0..5", "--csv", str(output)]) == 0
    assert set(tmp_path.iterdir()) - before == {output}
    with output.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 6
    assert rows[1] == {
        "row": "blue",
        "column": "brown",
        "low": "0",
        "high": "105",
        "values": "0–105",
        "range_is_exact": "yes",
        "low_with_rule": "0",
        "high_with_rule": "105",
        "values_with_rule": "0–5 or 100–105",
        "range_is_exact_with_rule": "yes",
    }
    assert run(["attack", str(figure_1), "--csv", str(output)]) == 2


def test_nothing_is_written_unless_asked_for(figure_1: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    assert run(["attack", str(figure_1), "--rule", "0..5"]) == 0
    assert sorted(tmp_path.iterdir()) == before


def test_a_large_table_is_attacked_by_programming(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(4)
    values = rng.integers(0, 400, (40, 20))
    stars = np.zeros(values.shape, dtype=np.bool_)
    stars.flat[rng.permutation(values.size)[:120]] = True
    lines = [["x", *(f"c{column}" for column in range(20)), "Total"]]
    for row in range(40):
        cells = ["*" if star else str(value) for value, star in zip(values[row], stars[row], strict=True)]
        lines.append([f"r{row}", *cells, str(values[row].sum())])
    lines.append(["Total", *map(str, values.sum(axis=0)), str(values.sum())])
    path = written(tmp_path, "\n".join(map(",".join, lines)))
    found = result_of(capsys, path)
    assert (found["method"], found["tables"], found["suppressed_cells"]) == ("programming", None, 120)
    for cell, value in zip(cells_of(found), values[stars].tolist(), strict=True):
        assert cell["before"]["low"] <= value <= cell["before"]["high"]
        assert cell["before"]["range_is_exact"]
    assert run(["attack", str(path)]) == 0
    out = capsys.readouterr().out
    assert "too many to list; the ranges were computed by linear programming" in out
    assert "… and 80 more, with wider ranges; --csv and --json have all." in out


def test_where_the_rule_is_not_used_whole_the_output_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four rectangles of stars, each with one small cell."""
    values = np.full((10, 10), 50)
    values[[0, 2, 4, 6], [0, 2, 4, 6]] = 5
    stars = np.zeros(values.shape, dtype=np.bool_)
    stars[:8, :8] = np.kron(np.eye(4), np.ones((2, 2))) > 0
    lines = [["x", *(f"c{column}" for column in range(10)), "Total"]]
    for row in range(10):
        cells = ["*" if star else str(value) for value, star in zip(values[row], stars[row], strict=True)]
        lines.append([f"r{row}", *cells, str(values[row].sum())])
    lines.append(["Total", *map(str, values.sum(axis=0)), str(values.sum())])
    path = written(tmp_path, "\n".join(map(",".join, lines)))
    assert run(["attack", str(path), "--rule", "0..5"]) == 0
    out = capsys.readouterr().out
    assert "which only uses that no star could have been left out alone; the rule may give away more" in out


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (FIGURE_1.replace("215", "216"), [], "row Total: the cells add up to 215, but the total is 216"),
        (FIGURE_1.replace("*,*,*,110", "60,*,*,110"), [], "column blonde does not add up"),
        (FIGURE_1.replace("55,105", "54,106"), ["--know", "blue,brown=500"], "does not add up"),
        (FIGURE_1.replace("*,*,*,110", "5,*,*,110"), ["--rule", "0..5"], "row blue, column blonde shows 5"),
        (FIGURE_1, ["--rule", "0..5", "--complementary", "none"], "made by another rule"),
        (FIGURE_1, ["--rule", "5..0"], "give LOW..HIGH with 0 <= LOW <= HIGH"),
        (FIGURE_1, ["--rule", "under 5"], "--rule 'under 5': give LOW..HIGH"),
        (FIGURE_1, ["--ties", "first"], "add --rule LOW..HIGH"),
        (FIGURE_1, ["--seconds", "nan"], "--seconds"),
        (FIGURE_1, ["--know", "brown=3"], "no such cell"),
        ("x,a\nr,-4\n", [], "row r, column a: -4 is negative"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, options: list[str], message: str
) -> None:
    assert run(["attack", str(written(tmp_path, text)), *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_a_folder_or_a_missing_file_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["attack", str(tmp_path)]) == 2
    assert run(["attack", str(tmp_path / "none.csv")]) == 2
    assert capsys.readouterr().err.count("\n") == 2


TOWNS = "town,low,middle,high,Total\nWarwick,*,40,*,100\nCoventry,*,*,30,60\nCranston,70,*,*,120\n"
COUNTIES = "county,low,high\nKent,35,65\nProvidence,70,*\n"


def several(folder: Path, **texts: str) -> list[Path]:
    paths = [folder / f"{name}.csv" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


def test_linked_tables_give_each_others_stars_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = several(tmp_path, towns=TOWNS, counties=COUNTIES)
    links = ["counties:Kent = towns:Warwick + towns:Coventry", "counties:Providence=towns:Cranston"]
    asked = [*paths, "--link", links[0], "--link", links[1], "--know", "counties:Providence,high<=20"]
    assert run(["attack", *map(str, asked)]) == 0
    out = capsys.readouterr().out
    assert (
        "Linked as you say: 4 equations, such as counties: Kent, low = towns: Warwick, low + towns: Cov"
        in out
    )
    assert "21 sets of tables of whole numbers agree with them; all were listed." in out
    assert "  towns: Warwick, low         25  known exactly\n" in out
    assert (
        "  The tables are linked: counties: Kent, high (65) = towns: Warwick, high + towns: Coventry, high (30).\n"
        "    So towns: Warwick, high is 35.\n"
    ) in out
    (group,) = cast("list[dict[str, object]]", result_of(capsys, *asked)["groups"])
    tables = [str(cell["table"]) for cell in cells_of(group)]
    assert tables == ["towns"] * 6 + ["counties"]
    assert group["known_exactly"] == {"before": 4, "after": None}
    path = tmp_path / "cells.csv"
    assert run(["attack", *map(str, asked), "--csv", str(path)]) == 0
    assert path.read_text().splitlines()[1].startswith("towns,Warwick,low,25,25,25,yes")


def test_tables_with_the_same_labels_share_numbers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ages = "eyes,Sum,young,old\nblue,110,*,*\nnot blue,*,60,45\n"
    paths = several(tmp_path, hair=FIGURE_1.replace("105\nT", "*\nT"), ages=ages)
    assert run(["attack", *map(str, paths)]) == 0
    out = capsys.readouterr().out
    assert "Linked by labels: 2 numbers are taken to be the same where row and column labels are" in out
    assert "such as hair: blue, Total = ages: blue, Sum. If that is wrong, say with --link what is." in out
    assert "  hair: not blue, Total   105  known exactly\n" in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "towns: no cell has the same row and column labels in another table; say how they are linked"),
        (["--link", "counties:Kent"], "give TABLE:ROW,COLUMN = TABLE:ROW,COLUMN"),
        (["--link", "Kent = towns:Warwick"], "'Kent' begins with no table; the tables are towns, counties"),
        (["--link", "counties:Kent = towns:Newport"], "towns has no cell, row, or column 'Newport'"),
        (["--link", "counties:Kent = towns:Warwick,low"], "link cells to cells, rows to rows"),
        (["--link", "counties:Kent = counties:Kent"], "name each cell once"),
        (["--link", "counties:,low = towns:,low"], "the tables share no row label"),
        (["--link", "counties:Kent,low = towns:Warwick,middle"], "Warwick, middle is 40"),
        (
            ["--link", "counties:Kent,low = towns:Cranston,low + towns:Coventry,low"],
            "the link counties: Kent",
        ),
        (["--know", "low=3"], "no such cell; the rows of towns are Warwick"),
        (["--people", "a.csv", "--people", "b.csv", "--people", "c.csv"], "give one for each table at most"),
    ],
)
def test_links_that_cannot_be_are_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    paths = several(tmp_path, towns=TOWNS, counties=COUNTIES)
    assert run(["attack", *map(str, paths), *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_one_table_has_no_links_and_is_given_once(figure_1: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["attack", str(figure_1), "--link", "a:b = a:c"]) == 2
    assert "a link joins two tables" in capsys.readouterr().err
    assert run(["attack", str(figure_1), str(figure_1)]) == 2
    assert "given twice" in capsys.readouterr().err


def test_the_rule_is_explained_in_a_few_steps(figure_1: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["attack", str(figure_1), "--rule", "0..5"]) == 0
    assert (
        "What the rule adds:\n"
        "  No table with fewer than 3 cells from 0 to 5 gets these stars, so at least 3 cells are from 0 to 5.\n"
        "  The 3 suppressed cells of row blue add up to 110, so at most 2 of them are from 0 to 5.\n"
    ) in capsys.readouterr().out
    table = "x,a,b,Total\nN,*,*,9\nS,*,*,7\nTotal,8,8,16\n"
    assert (
        run(["attack", str(written(figure_1.parent, table)), "--rule", "1..5", "--complementary", "none"])
        == 0
    )
    out = capsys.readouterr().out
    assert "  No further cells are suppressed, so every suppressed cell is from 1 to 5.\n" in out
    assert "    The other suppressed cell is at most 5, so N, a is at least 4.\n" in out


def test_marks_and_ranges_of_an_office_are_read_and_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Finds an option that does not reach the reader, a range that a rule takes as its star, and a silent guess."""
    path = written(tmp_path, "x,a,b,Total\nr,(D),<5,12\ns,1-9,-,9\nTotal,14,7,21\n")
    assert run(["attack", str(path)]) == 2
    assert "row s, column b: - can be zero or suppressed" in capsys.readouterr().err
    answer = result_of(capsys, path, "--mark=-")
    assert answer["read_as"] == {
        "(D) as suppressed": 1,
        "- as suppressed": 1,
        "1-9 as 1 to 9": 1,
        "<5 as 0 to 4": 1,
    }
    # The first cell is 12 less 0 to 4; the third is what the column lacks, at most 6 because the fourth is 3 or more.
    assert [list(cell["before"].values())[:2] for cell in cells_of(answer)] == [
        [8, 12],
        [0, 4],
        [2, 6],
        [3, 7],
    ]
    assert run(["attack", str(path), "--mark=-"]) == 0
    assert capsys.readouterr().out.startswith(
        "Read: (D) as suppressed (1 cell); - as suppressed (1 cell); 1-9 as"
    )
    assert run(["attack", str(path), "--mark=-", "--rule", "0..5"]) == 2
    assert "ranges or rounded counts, which no rule for stars explains" in capsys.readouterr().err
