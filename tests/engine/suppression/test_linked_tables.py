"""Linked tables: the joint list is every pair of tables that fits the links, and linear programs find its ranges."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from engine.errors import ParameterError
from engine.suppression.attack.attack import attack_linked, attack_table
from engine.suppression.attack.linked_tables import CellOf, Link, LinkedTables
from engine.suppression.attack.ordinary import Rule
from engine.suppression.tables_given import ContradictionError, GivenTable


def table(values: list[list[int]], *, total_row: bool = False) -> GivenTable:
    return GivenTable(values=np.array(values, dtype=np.int64), total_row=total_row)


def linked(tables: list[GivenTable], *links: Link) -> LinkedTables:
    names = tuple("ABC"[: len(tables)])
    return LinkedTables(tables=tuple(tables), names=names, links=links, attacked=tuple(range(len(tables))))


TOWNS = table([[-1, 4, -1, 10], [-1, -1, 3, 6]])
COUNTY = table([[-1, -1, 10]])
"""Three columns of towns; the county joins the first two, and its total leaves out the third."""
SUMS = (
    Link((CellOf(1, 0, 0),), (CellOf(0, 0, 0), CellOf(0, 1, 0))),
    Link((CellOf(1, 0, 1),), (CellOf(0, 0, 1), CellOf(0, 1, 1))),
)


def test_the_list_has_every_set_of_tables_that_fits_the_links() -> None:
    (found,) = attack_linked(linked([TOWNS, COUNTY], *SUMS))
    wanted = [
        (a, b, c, d, e, f)
        for a, b, c, d, e, f in product(range(7), range(7), range(7), range(7), range(11), range(11))
        if a + 4 + b == 10 and c + d + 3 == 6 and e + f == 10 and e == a + c and f == 4 + d
    ]
    assert found.before.tables is not None
    assert found.before.tables.tolist() == sorted(list(each) for each in wanted)
    assert 1 < len(wanted) < 7 * 4


def test_programs_find_the_ranges_of_the_list() -> None:
    both = linked([TOWNS, COUNTY], *SUMS)
    (listed,), (programmed,) = attack_linked(both), attack_linked(both, limit=0)
    assert programmed.before.tables is None
    assert (programmed.before.low, programmed.before.high) == (listed.before.low, listed.before.high)
    assert programmed.before.settled.all()


def test_a_range_whose_linear_program_has_fractions_is_settled_in_whole_numbers() -> None:
    """Any two of x, y, z add up to at most 3. So x + y + z is at most 4; the linear program says 4.5."""
    row = table([[-1, -1, -1, -1, 6]])
    slack = GivenTable(values=np.array([[-1, 3]] * 3, dtype=np.int64), total_row=False, total_column=False)
    x, y, z = (CellOf(0, 0, column) for column in range(3))
    pairs = [((x, y), 0), ((y, z), 1), ((x, z), 2)]
    odd = linked([row, slack], *(Link((*pair, CellOf(1, at, 0)), (CellOf(1, at, 1),)) for pair, at in pairs))
    (listed,), (programmed,) = attack_linked(odd), attack_linked(odd, limit=0)
    assert listed.before.low[3] == 2
    assert (programmed.before.low, programmed.before.high) == (listed.before.low, listed.before.high)
    assert programmed.before.settled.all()


def test_tables_without_common_stars_are_attacked_apart() -> None:
    other = table([[-1, -1, 10], [-1, -1, 6]])
    shown = linked([TOWNS, other], Link((CellOf(0, 0, 3),), (CellOf(1, 0, 2),)))
    found = attack_linked(shown)
    assert [one.linked.attacked for one in found] == [(0,), (1,)]
    alone = attack_table(TOWNS)
    assert (found[0].before.low, found[0].before.high) == (alone.before.low, alone.before.high)


def test_a_shown_cell_gives_a_star_of_another_table_away() -> None:
    both = linked([TOWNS, table([[6, -1, 9]])], Link((CellOf(0, 0, 0),), (CellOf(1, 0, 0),)))
    first, second = attack_linked(both)
    assert (first.before.low[:2], first.before.high[:2]) == ([6, 0], [6, 0])
    assert second.before.low == second.before.high == [3]


@pytest.mark.parametrize("limit", [20_000_000, 0])
def test_each_table_is_suppressed_by_itself(limit: int) -> None:
    """Two rectangles of stars with a common row: the rule narrows both, and one narrows the other."""
    values = [[-1, -1, 12], [-1, -1, 14], [11, 15, 26]]
    one, two = (table(values, total_row=True) for _ in range(2))
    same = Link((CellOf(0, 0, 0),), (CellOf(1, 0, 0),))
    rule = Rule(low=0, high=2)
    (alone,) = attack_linked(linked([one]), rule)
    (both,) = attack_linked(linked([one, two], same), rule, limit=limit)
    assert both.after is not None
    assert alone.after is not None
    assert (both.after.low[:4], both.after.high[:4]) == (alone.after.low, alone.after.high)
    assert (both.after.low[0], both.after.high[0]) == (both.after.low[4], both.after.high[4])
    if both.after.tables is not None:
        assert alone.after.tables is not None
        assert both.after.tables.tolist() == [[*row, *row] for row in alone.after.tables.tolist()]


def test_tables_that_contradict_each_other_are_named() -> None:
    shown = linked([TOWNS, COUNTY], Link((CellOf(0, 0, 3),), (CellOf(1, 0, 2), CellOf(0, 1, 3))))
    with pytest.raises(ContradictionError, match=r"A: 1, 4 is 10, but B: 1, 3 and A: 2, 4 add up to 16"):
        attack_linked(shown)
    stars = linked([TOWNS, table([[9, -1, 9]])], Link((CellOf(0, 0, 0),), (CellOf(1, 0, 0),)))
    with pytest.raises(ContradictionError, match=r"the link A: 1, 1 = B: 1, 1 does not add up"):
        attack_linked(stars)
    with pytest.raises(ContradictionError, match="B: row 1: the cells add up to 9, but the total is 8"):
        attack_linked(linked([TOWNS, table([[4, 5, 8]])], *SUMS[:1]))


def test_a_link_names_each_cell_once() -> None:
    with pytest.raises(ParameterError, match="name each cell once"):
        linked([TOWNS], Link((CellOf(0, 0, 0),), (CellOf(0, 0, 0),)))
