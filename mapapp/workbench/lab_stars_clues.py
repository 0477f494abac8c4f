"""The clues of the six stars: which tables are still possible after each of them.

Source: Nabar and Mishra, "Releasing Private Contingency Tables", Figure 1; docs/attack.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from engine.suppression.consistent import list_consistent
from engine.suppression.ordinary import Layout, OrdinarySuppressor, Rule
from engine.suppression.rule_check import agrees_with_rule, stars_of
from engine.suppression.tables_given import SUPPRESSED, GivenTable

__all__ = ["CLUES", "COLUMNS", "ROWS", "TOTALS", "Clue", "intervals", "tables_after"]

Tables = NDArray[np.int64]
"""Tables one below the other, each with its six cells row by row."""
Kept = NDArray[np.bool_]

ROWS: Final = ("Blue-eyed", "Not blue-eyed")
COLUMNS: Final = ("Blonde", "Brown", "Black")
TOTALS: Final = ((110, 105), (55, 105, 55))
"""Of the rows and of the columns."""
_SMALL: Final = 5
_PEOPLE: Final = 100
_CELL: Final = 4  # not blue-eyed and brown-haired


@dataclass(frozen=True, slots=True)
class Clue:
    """Something that a reader knows or reads in print.

    Attributes
    ----------
    title : str
    text : str
        What it is, in plain words.
    follows : str
        What follows from it.
    keeps : callable
        Of some tables, which agree with it.
    """

    title: str
    text: str
    follows: str
    keeps: Callable[[Tables], Kept]


def _all_starred() -> GivenTable:
    """The table as it is printed: six stars and their totals."""
    row_totals, column_totals = TOTALS
    values = np.full((len(ROWS) + 1, len(COLUMNS) + 1), SUPPRESSED, dtype=np.int64)
    values[:-1, -1], values[-1, :-1], values[-1, -1] = row_totals, column_totals, sum(row_totals)
    return GivenTable(values=values)


def _all_tables() -> Tables:
    """All tables of numbers that are not negative and have the printed totals."""
    return list_consistent(_all_starred().sums())


def _is_small(tables: Tables) -> Kept:
    return tables <= _SMALL


def _all_six_starred(tables: Tables) -> Kept:
    """Whether an agency that stars as few cells as it can stars all six."""
    given = _all_starred()
    suppressor = OrdinarySuppressor(Layout.of(given), Rule(low=0, high=_SMALL))
    return agrees_with_rule(tables, stars_of(given, given.sums()), suppressor)


CLUES: Final = (
    Clue(
        "The totals",
        "The totals are printed beside the stars. A cell cannot exceed the total of its row or of its column, and "
        "the cells of each row and column must add up.",
        "Each cell can still be anything from 0 to the total of its column. By the usual check, which looks at the "
        "range of each cell, this table is as safe as a table can be.",
        lambda tables: np.ones(len(tables), dtype=np.bool_),
    ),
    Clue(
        "The rule",
        "The agency stars a cell because its value is 0 to 5. This rule is known: agencies print it, or somebody who "
        "worked there remembers it.",
        "A table without any cell from 0 to 5 would have no star at all. So at least one of the six cells is that "
        "small. No range has moved, and yet most tables are gone: a check of ranges sees nothing of this.",
        lambda tables: np.logical_or.reduce(_is_small(tables), axis=1),
    ),
    Clue(
        "As few stars as possible",
        "A single star in a row could be computed by subtraction, so the agency adds more stars. It adds no more than "
        "it needs, because each star costs its readers a number.",
        "One or two small cells need four stars at most. Six stars are needed only if there are three small cells, one "
        "in each column: the first, third, and fifth cell, or the second, fourth, and sixth. Every cell is now "
        "within 5 of 0 or within 5 of the most it can be. The ranges have still not moved; the gaps inside them "
        "say it.",
        _all_six_starred,
    ),
    Clue(
        "A number of people",
        f"{_PEOPLE} people in the study are brown-haired and not blue-eyed. How many people a cell has is public; "
        "the stars were about how many of them have the gene.",
        f"No more than {_PEOPLE} of {_PEOPLE} can have the gene. So this cell is 0 to 5, or exactly {_PEOPLE}. The "
        "paper says that all of them must have it; that follows only with the next clue.",
        lambda tables: tables[:, _CELL] <= _PEOPLE,
    ),
    Clue(
        "Common sense",
        "The gene is common among blue-eyed, blonde people: more than 5 of them certainly have it. The agency did not "
        "print that. A reader knows it.",
        f"All {_PEOPLE} brown-haired people who are not blue-eyed have the gene. The table has a star in this cell, "
        "and its readers know the secret of each person in it.",
        lambda tables: tables[:, 0] > _SMALL,
    ),
)


def tables_after(n_clues: int) -> Tables:
    """The tables that agree with the first clues; all that the totals allow before the first."""
    tables = _all_tables()
    for clue in CLUES[:n_clues]:
        tables = tables[clue.keeps(tables)]
    return tables


def intervals(values: NDArray[np.int64]) -> list[tuple[int, int]]:
    """The runs of whole numbers among some values, in order: first and last of each."""
    distinct = np.unique(values)
    parts = np.split(distinct, np.flatnonzero(np.diff(distinct) > 1) + 1)
    return [(int(part[0]), int(part[-1])) for part in parts]
