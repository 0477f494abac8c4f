"""Subtotals among the rows of a published table: which rows are sums of others, by indentation, code, or a column.

A family is a row and the rows that it is the sum of. Each family is one equation for each column, so a subtotal is no
further cell. What labels suggest is believed if the numbers that are shown bear it out; otherwise an option must say.

Source: docs/attack.md, "Subtotals".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.suppression.attack.linked_tables import CellOf, Link
from engine.suppression.tables_given import SUPPRESSED
from mapapp.base.errors import UsageError

__all__ = ["NOTHING_SAID", "Family", "How", "Subtotals", "families_of", "how_of", "is_total", "subtotals_of"]

TOTAL_LABELS: Final = frozenset({"total", "totals", "grand total", "all", "sum"})

Counts = npt.NDArray[np.int64]
Way = Literal["indent", "code", "level", "parent", "none", ""]

_CODE: Final = re.compile(r"(?P<code>[A-Z]?[0-9]+(?:\.[0-9]+)*|[A-Z])(?:-(?P<last>[0-9]+))?(?=$|[\s:.–—-])")
_INDENT: Final = " \t\u00a0\u2003."
_WORDS: Final[Mapping[str, Way]] = {"indent": "indent", "code": "code", "none": "none"}
_COLUMN_WAYS: Final[Mapping[str, Way]] = {"level=": "level", "parent=": "parent"}
_IN_WORDS: Final[dict[Way, str]] = {
    "indent": "by indentation",
    "code": "by code",
    "level": "by the column of levels",
    "parent": "by the column of parents",
}
_SHOWN_FAMILIES: Final = 3


class How(NamedTuple):
    """What an option says about subtotals.

    Attributes
    ----------
    way : str
        "" if it says nothing.
    column : str
        Label of the column of levels or of parents.
    """

    way: Way = ""
    column: str = ""


NOTHING_SAID: Final = How()


class Family(NamedTuple):
    """A row and the rows that add up to it, by position."""

    parent: int
    children: tuple[int, ...]


class Subtotals(NamedTuple):
    """The families of a table, and how they were found, in words for a person."""

    families: tuple[Family, ...]
    words: str

    def links(self, table: int, n_columns: int) -> list[Link]:
        """Return the equations of the families in each column of a table, by its position among several."""
        return [
            Link(
                (CellOf(table, family.parent, column),),
                tuple(CellOf(table, child, column) for child in family.children),
            )
            for family in self.families
            for column in range(n_columns)
        ]


def how_of(text: str | None) -> How:
    """Read the option; UsageError if it is none of its words."""
    if text is None:
        return How()
    if text in _WORDS:
        return How(_WORDS[text])
    for ahead, way in _COLUMN_WAYS.items():
        if text.startswith(ahead) and text != ahead:
            return How(way, " ".join(text.removeprefix(ahead).split()))
    raise UsageError(f"--subtotals {text[:40]}: give indent, code, level=COLUMN, parent=COLUMN, or none")


def subtotals_of(
    texts: Sequence[str], values: Counts, how: How, cells: Sequence[str] = ()
) -> Subtotals | None:
    """Find the families of a table's rows; None if no row is the sum of others, or one of totals is of all others.

    Parameters
    ----------
    texts : sequence of str
        First fields of the rows, with the spaces before them.
    values : int64[R, C]
        Counts; ``SUPPRESSED`` where none is known exactly.
    how : How
    cells : sequence of str
        Of the column of levels or of parents.

    Raises
    ------
    UsageError
        What is said cannot be read, or labels suggest families and the numbers do not say whether they are right.
    """
    if how.way == "none":
        return None
    said: tuple[Way, ...] = (how.way,) if how.way else ("indent", "code")
    for way in said:
        families = families_of(way, texts, cells)
        if not families:
            if how.way:
                raise UsageError(f"--subtotals {how.way}: no row is the sum of others {_IN_WORDS[way]}")
            continue
        tree = (*families, *_grand_total(texts, families))
        flat = _flat(texts)
        if tree == flat:
            return None
        fits, fits_flat = _fits(values, tree), _fits(values, flat) > 0 and not _broken(values, flat)
        broken = _broken(values, tree)
        if broken and (how.way or way == "indent"):
            raise UsageError(
                f"{_named(texts, broken[0])} does not add up; correct it, leave out rows that are no parts, or give "
                "--subtotals none if no row is the sum of others"
            )
        if broken or (fits_flat and not how.way and not fits):
            continue
        if not how.way and (not fits or fits_flat):
            raise UsageError(
                f"{_named(texts, families[0])} is what labels suggest, and the numbers that are shown do not say "
                f"whether it is right; give --subtotals {way}, or --subtotals none if no row is the sum of others"
            )
        return Subtotals(tree, _words(texts, tree, way))
    return None


def families_of(way: Way, texts: Sequence[str], cells: Sequence[str] = ()) -> tuple[Family, ...]:
    """Return the families that labels, or a column, suggest; arguments as of :func:`subtotals_of`."""
    finders: dict[Way, Callable[[], list[int | None]]] = {
        "indent": lambda: _by_level(_indents(texts)),
        "code": lambda: _by_code(texts),
        "level": lambda: _by_level([_level(cell) for cell in cells]),
        "parent": lambda: _by_parent(texts, cells),
    }
    children: dict[int, list[int]] = {}
    for child, parent in enumerate(finders[way]()):
        if parent is not None:
            children.setdefault(parent, []).append(child)
    return tuple(Family(parent, tuple(rows)) for parent, rows in sorted(children.items()))


def _indents(texts: Sequence[str]) -> list[int]:
    """How far each label is indented, in characters; totals at the end are parts of nothing."""
    indents = [len(text) - len(text.lstrip(_INDENT)) for text in texts]
    return [*indents[:-1], 0] if texts and is_total(texts[-1]) else indents


def _by_level(levels: Sequence[int]) -> list[int | None]:
    """The parent of each row: the last row before it that is less deep."""
    parents: list[int | None] = []
    open_rows: list[int] = []
    for row, level in enumerate(levels):
        while open_rows and levels[open_rows[-1]] >= level:
            open_rows.pop()
        parents.append(open_rows[-1] if open_rows else None)
        open_rows.append(row)
    return parents


def _level(cell: str) -> int:
    if not re.fullmatch(r"[0-9]{1,3}", cell.strip()):
        raise UsageError(
            f"level {cell[:40]!r}: give a whole number, 0 or 1 for the rows that are parts of no other"
        )
    return int(cell)


def _by_code(texts: Sequence[str]) -> list[int | None]:
    """The parent of each row: the one with the longest code that its own code begins with. 31-33 is three codes."""
    codes = [_codes(text) for text in texts]
    parents: list[int | None] = []
    for row, own in enumerate(codes):
        longest = [
            (len(code), other)
            for other, theirs in enumerate(codes)
            if other != row
            for code in theirs
            if own and all(mine.startswith(code) and (mine != code or len(own) < len(theirs)) for mine in own)
        ]
        parents.append(max(longest)[1] if longest else None)
    return parents


def _codes(text: str) -> tuple[str, ...]:
    match = _CODE.match(text.strip())
    if match is None:
        return ()
    code, last = match["code"], match["last"]
    if last is None or not code.isdecimal() or len(last) != len(code) or int(last) <= int(code):
        return (code,)
    return tuple(str(number) for number in range(int(code), int(last) + 1))


def _by_parent(texts: Sequence[str], cells: Sequence[str]) -> list[int | None]:
    labels = {" ".join(text.split()): row for row, text in enumerate(texts)}
    parents: list[int | None] = []
    for row, cell in enumerate(cells):
        parent = " ".join(cell.split())
        if parent and (parent not in labels or labels[parent] == row):
            raise UsageError(
                f"parent {parent[:40]!r} of row {texts[row].strip()[:40]}: no other row has that label"
            )
        parents.append(labels[parent] if parent else None)
    for row in range(len(texts)):
        above, seen = parents[row], {row}
        while above is not None:
            if above in seen:
                raise UsageError(f"row {texts[row].strip()[:40]} is part of itself by the column of parents")
            seen.add(above)
            above = parents[above]
    return parents


def is_total(text: str) -> bool:
    """Whether a label is that of totals."""
    return text.strip(_INDENT).casefold() in TOTAL_LABELS


def _flat(texts: Sequence[str]) -> tuple[Family, ...]:
    """One row of totals, if there is one, and all others as its parts."""
    totals = [row for row, text in enumerate(texts) if is_total(text)]
    if len(totals) != 1:
        return ()
    return (Family(totals[0], tuple(row for row in range(len(texts)) if row != totals[0])),)


def _grand_total(texts: Sequence[str], families: Sequence[Family]) -> list[Family]:
    """The family of a row of totals that is in none yet: all rows that are parts of no other."""
    parts = {child for family in families for child in family.children}
    parents = {family.parent for family in families}
    return [
        Family(total, tuple(row for row in others if row not in parts))
        for total, others in _flat(texts)
        if total not in parts | parents
    ]


def _differences(values: Counts, family: Family) -> Counts:
    """By column in which all is shown and is not 0: what the family's row is above the sum of the others."""
    rows = values[[family.parent, *family.children]]
    shown = (rows != SUPPRESSED).all(axis=0) & (rows[0] > 0)
    return np.asarray(rows[0, shown] - rows[1:, shown].sum(axis=0))


def _broken(values: Counts, families: Sequence[Family]) -> list[Family]:
    """The families that do not add up."""
    return [family for family in families if _differences(values, family).any()]


def _fits(values: Counts, families: Sequence[Family]) -> int:
    """How many equations the numbers that are shown bear out."""
    return sum(int((_differences(values, family) == 0).sum()) for family in families)


def _named(texts: Sequence[str], family: Family) -> str:
    parent, *children = (" ".join(texts[row].split()) for row in (family.parent, *family.children))
    listed = " + ".join(children[:4]) + (" + …" if len(children) > 4 else "")
    return f"{parent} = {listed}"


def _words(texts: Sequence[str], families: Sequence[Family], way: Way) -> str:
    examples = "; ".join(_named(texts, family) for family in families[:_SHOWN_FAMILIES])
    more = "; …" if len(families) > _SHOWN_FAMILIES else ""
    what = "1 row as a sum" if len(families) == 1 else f"{len(families):,} rows as sums"
    return f"{what} of others {_IN_WORDS[way]} ({examples}{more})"
