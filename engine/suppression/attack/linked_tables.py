"""Published tables that are linked: a cell of one is a cell, or a sum of cells, of another.

A link is an equation over whole numbers like that of a row or a column. Tables whose suppressed cells are in one link
hang together, and what follows from one reaches the others; other tables are attacked apart from each other.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

from engine.errors import ParameterError
from engine.suppression.tables_given import SUPPRESSED, ContradictionError, GivenTable, Star, Sums

__all__ = ["CellOf", "Link", "LinkedTables"]


class CellOf(NamedTuple):
    """A cell of one of several tables, by positions."""

    table: int
    row: int
    column: int


class Link(NamedTuple):
    """The cells on the left add up to the same number as those on the right."""

    left: tuple[CellOf, ...]
    right: tuple[CellOf, ...]

    @property
    def is_within_one_table(self) -> bool:
        """Whether a table itself says so, as one with subtotals does."""
        return len({cell.table for cell, _ in self.list_signed()}) == 1

    def list_signed(self) -> list[tuple[CellOf, int]]:
        """Return the cells with their signs: 1 on the left, -1 on the right."""
        return [*((cell, 1) for cell in self.left), *((cell, -1) for cell in self.right)]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LinkedTables:
    """One table, or several and the links between them.

    Attributes
    ----------
    tables : tuple of GivenTable
    names : tuple of str
        How messages name the tables; empty for one table.
    links : tuple of Link
    attacked : tuple of int
        Positions of the tables whose suppressed cells are looked for; see :meth:`groups`.

    Raises
    ------
    ParameterError
        A link names a cell twice.
    """

    tables: tuple[GivenTable, ...]
    names: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    attacked: tuple[int, ...]

    def __post_init__(self) -> None:
        for number, link in enumerate(self.links):
            cells = [cell for cell, _ in link.list_signed()]
            if len(set(cells)) < len(cells):
                raise ParameterError(
                    f"{self.line_name(self.first_link + number)}: name each cell once in a link"
                )

    @classmethod
    def of(cls, table: GivenTable) -> Self:
        """Return one table by itself."""
        return cls(tables=(table,), attacked=(0,))

    @property
    def starts(self) -> list[int]:
        """Where the equations of each table begin among all."""
        sizes = [sum(table.values.shape) for table in self.tables]
        return [0, *np.cumsum(sizes[:-1]).tolist()]

    @property
    def first_link(self) -> int:
        """Where the equations of the links begin among all."""
        return sum(sum(table.values.shape) for table in self.tables)

    def sums(self) -> Sums:
        """Return the equations over the suppressed cells: those of each table in order, then those of the links.

        Raises
        ------
        ContradictionError
            A table does not add up, or a link between shown cells does not.
        """
        stars, rest = list[Star](), [0] * (self.first_link + len(self.links))
        for number in self.attacked:
            start = self.starts[number]
            own = self._own_sums(number)
            stars += [
                star._replace(table=number, lines=tuple((line + start, sign) for line, sign in star.lines))
                for star in own.stars
            ]
            rest[start : start + len(own.rest)] = own.rest
        place = {CellOf(star.table, star.row, star.column): at for at, star in enumerate(stars)}
        for number, link in enumerate(self.links):
            line, shown, is_used = self.first_link + number, 0, False
            for cell, sign in link.list_signed():
                if not self._is_star(cell):
                    shown -= sign * self.value(cell)
                elif cell in place:
                    at, is_used = place[cell], True
                    stars[at] = stars[at]._replace(lines=(*stars[at].lines, (line, sign)))
            self._check_shown(link, shown)
            rest[line] = shown if is_used else 0
        return Sums(tuple(stars), tuple(rest))

    def groups(self) -> list[LinkedTables]:
        """Return the tables in groups: two are in one group if links join their suppressed cells."""
        group = list(range(len(self.tables)))
        for link in self.links:
            joined = {group[cell.table] for cell, _ in link.list_signed() if self._is_star(cell)}
            group = [min(joined) if table_group in joined else table_group for table_group in group]
        return [
            replace(
                self,
                attacked=tuple(table for table, table_group in enumerate(group) if table_group == number),
            )
            for number in sorted(set(group))
        ]

    def used_links(self) -> list[Link]:
        """Return the links that suppressed cells of the attacked tables are in."""
        return [
            link
            for link in self.links
            if any(self._is_star(cell) and cell.table in self.attacked for cell, _ in link.list_signed())
        ]

    def value(self, cell: CellOf) -> int:
        """Return what is shown in a cell; ``SUPPRESSED`` for a star."""
        return int(self.tables[cell.table].values[cell.row, cell.column])

    def name_of(self, cell: CellOf) -> str:
        """Return a cell for readers, with its table if there are several."""
        table = self.tables[cell.table]
        ahead = f"{self.names[cell.table]}: " if self.names else ""
        return f"{ahead}{table.row_name(cell.row)}, {table.column_name(cell.column)}"

    def link_name(self, link: Link) -> str:
        """Return a link for readers."""
        return " = ".join(" + ".join(self.name_of(cell) for cell in side) for side in link)

    def star_name(self, star: Star) -> str:
        """Return how messages name a suppressed cell."""
        within = f" of {self.names[star.table]}" if self.names else ""
        return self.tables[star.table].cell_name(star.row, star.column) + within

    def line_name(self, line: int) -> str:
        """Return how messages name an equation: its row, its column, or its link."""
        if line >= self.first_link:
            return f"the link {self.link_name(self.links[line - self.first_link])}"
        number = int(np.searchsorted(self.starts, line, side="right")) - 1
        within = f" of {self.names[number]}" if self.names else ""
        return self.tables[number].line_name(line - self.starts[number]) + within

    def _own_sums(self, number: int) -> Sums:
        try:
            return self.tables[number].sums()
        except ContradictionError as error:
            raise ContradictionError(f"{self.names[number]}: {error}" if self.names else str(error)) from None

    def _is_star(self, cell: CellOf) -> bool:
        return self.value(cell) == SUPPRESSED

    def _check_shown(self, link: Link, rest: int) -> None:
        if rest == 0 or any(self._is_star(cell) for cell, _ in link.list_signed()):
            return
        sides = []
        for side in link:
            total = sum(self.value(cell) for cell in side)
            are = "is" if len(side) == 1 else "add up to"
            sides.append(f"{' and '.join(self.name_of(cell) for cell in side)} {are} {total:,}")
        which = "a row is the sum of others" if link.is_within_one_table else "these are linked"
        raise ContradictionError(
            f"{', but '.join(sides)}; {which}, so correct one of them or what joins them"
        )
