"""The sentence that compares how far groups commute: its shares, its errors, and when it says that it is too close."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from mapapp.answers.analyses.about import About, Note
from mapapp.answers.analyses.cross_table import CrossTable, cell_rows
from mapapp.answers.analyses.cross_table_entry import compared_distances, far_shares
from mapapp.answers.analyses.measures import Number
from mapapp.answers.commutes.attributes import Attribute

SEX = Attribute(name="sex", title="Sex", codes=("F", "M"), labels=("Female", "Male"))
DISTANCE = Attribute(
    name="distance_band",
    title="Distance from home to work",
    codes=tuple("0123456"),
    labels=tuple(f"band {band}" for band in range(7)),
)
EDUCATION = Attribute(
    name="education", title="Education", codes=("0", "1", "2"), labels=("Low", "Mid", "High")
)


def table(
    counts: Sequence[Sequence[int]],
    error: float,
    groups: Attribute = SEX,
    notes: tuple[Note, ...] = (),
    *,
    turned: bool = False,
) -> CrossTable:
    """A cross table of groups (rows) by distance, in which every cell has the same expected error."""
    values = np.array(counts, dtype=np.int64)
    attributes = (DISTANCE, groups) if turned else (groups, DISTANCE)
    cells = cell_rows(attributes, values.T if turned else values).assign(expected_error=error)
    return CrossTable(
        about=About(
            analysis="cross-table", title="Cross table", release="r", version="v", side="home", notes=notes
        ),
        by=tuple(each.name for each in attributes),
        attributes=attributes,
        workers=Number(int(values.sum())),
        cells=cells,
        totals=cells.iloc[:0],
    )


FARTHER = [[100, 300, 600, 500, 300, 100, 100], [100, 200, 400, 700, 400, 100, 100]]
"""Half of all commute 10 miles or more: 50% of women, and 65% of men."""


@pytest.mark.parametrize("turned", [False, True], ids=["groups first", "distance first"])
def test_a_clear_difference_is_stated_with_its_error(turned: bool) -> None:
    said = compared_distances(table(FARTHER, 10.0, turned=turned))
    # By hand: sqrt((1000 * 20)**2 + (1000 * sqrt(300))**2) / 2000**2 = .0066, and .0063 for men; together .009.
    assert said == (
        "A larger share of the group “Male” (65.0%) than of “Female” (50.0%) commutes 10 miles or more: the shares "
        "differ by 15.0 percentage points, ±0.9."
    )


def test_a_difference_within_twice_its_error_is_too_close() -> None:
    close = [[100, 300, 600, 500, 300, 100, 100], [100, 300, 590, 510, 300, 100, 100]]
    assert compared_distances(table(close, 40.0)) == (
        "By the share that commutes 10 miles or more, “Male” (50%) and “Female” (50%) are too close to tell apart: "
        "they differ by 1 percentage point, ±4."
    )
    assert "too close" not in compared_distances(table(close, 0.5))


def test_of_several_groups_the_extremes_are_compared() -> None:
    three = [*FARTHER, [0, 0, 400, 400, 300, 0, 0]]
    said = compared_distances(table(three, 3.0, EDUCATION))
    assert said.startswith(
        "“Mid” (65.0%) is the education group with the largest share that commutes 10 miles or more"
    )
    assert "“Low” (50.0%) the one with the smallest" in said
    tied = compared_distances(table([FARTHER[0]] * 3, 3.0, EDUCATION))
    assert tied.startswith("The education groups with the largest and the smallest share that commutes")
    assert "too close to tell apart" in tied


def test_without_errors_nothing_is_called_different() -> None:
    assert "no ± is known here" in compared_distances(table(FARTHER, math.nan))


def test_other_tables_and_too_few_workers_say_nothing() -> None:
    assert compared_distances(table([[1] * 7, [0] * 7], 1.0)) == ""
    whole = table(FARTHER, 1.0)
    assert (
        compared_distances(
            CrossTable(
                about=whole.about,
                by=("sex",),
                attributes=(SEX,),
                workers=whole.workers,
                cells=whole.cells,
                totals=whole.totals,
            )
        )
        == ""
    )


def test_the_error_of_a_share_is_that_of_noisy_cells() -> None:
    """20,000 redraws: the standard deviation of a share is within 3% (six of its own standard errors)."""
    answer = table(FARTHER, 10.0)
    stated = {each.name: each.error for each in far_shares(answer.cells, SEX, ("first", "second"), 3)}
    noisy = np.array(FARTHER) + np.random.default_rng(5).normal(0, 10.0, (20_000, 2, 7))
    found = (noisy[:, :, 3:].sum(axis=2) / noisy.sum(axis=2)).std(axis=0)
    assert [stated["Female"], stated["Male"]] == pytest.approx(found, rel=0.03)
