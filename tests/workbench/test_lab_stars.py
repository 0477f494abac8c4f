"""The game of six stars: the numbers of Figure 1, clue by clue."""

from __future__ import annotations

import pytest

from mapapp.workbench import lab_stars
from mapapp.workbench.lab_stars_clues import CLUES, intervals, tables_after
from tests.golden import golden
from tests.workbench.test_lab import cells, parts, texts


def test_each_clue_leaves_as_many_tables_as_the_figure_has() -> None:
    figure = golden("tables")["figure1"]
    assert [len(tables_after(n)) for n in (1, 3, 5)] == [
        figure["tables"],
        figure["tables_hiding_all_six"],
        figure["left_if_100_people_brown_not_blue"],
    ]
    small = tables_after(3) <= 5
    patterns = [",".join(str(cell + 1) for cell in row.nonzero()[0]) for row in small]
    assert {pattern: patterns.count(pattern) for pattern in patterns} == figure[
        "primary_patterns_hiding_all_six"
    ]


def test_the_number_of_people_alone_does_not_exclude_the_other_pattern() -> None:
    """The paper says so; 21 tables with a small fifth cell still agree with it."""
    left = tables_after(4)
    assert (len(left), int((left[:, 4] <= 5).sum()), set(left[left[:, 4] > 5, 4].tolist())) == (27, 21, {100})


def test_ranges_do_not_move_while_tables_vanish() -> None:
    for n in (1, 2, 3):
        columns = tables_after(n).T
        assert [(int(values.min()), int(values.max())) for values in columns] == [
            (0, most) for most in (55, 105, 55) * 2
        ]


@pytest.mark.parametrize("n_read", range(len(CLUES) + 1))
def test_every_step_shows_what_each_star_can_be(n_read: int) -> None:
    shown = lab_stars.answer(n_read)
    grids = [cells(table) for table in parts(shown, "Table")]
    if n_read == 0:
        assert [cell for row in grids[0] for cell in row] == ["*", "*", "*", ""] * 2
        return
    said = [cell for row in grids[0][:2] for cell in row[:3]]
    ranges = [intervals(values) for values in tables_after(n_read).T]
    assert said == [
        " or ".join(str(low) if low == high else f"{low}–{high}" for low, high in found) for found in ranges
    ]
    assert f"{len(tables_after(n_read)):,}" in texts(shown)


def test_in_the_end_one_cell_is_out_and_all_tables_are_listed() -> None:
    _, listed, shrinking = (cells(table) for table in parts(lab_stars.answer(len(CLUES)), "Table"))
    assert {row[4] for row in listed} == {"100"}
    assert len(listed) == 6
    assert [row[0] for row in shrinking] == ["3,121", "1,185", "42", "27", "6"]


def test_a_guess_is_judged() -> None:
    assert lab_stars.guess_line(42, 3) == "Right: 42."
    assert lab_stars.guess_line(1000, 3) == "You guessed 1,000. 42 tables are left."
    assert lab_stars.guess_line("", 3) == ""
