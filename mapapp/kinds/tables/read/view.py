"""The address of a page that shows a published table: which table, and how it is shown.

The page stores its whole state in its address, as the map does (`mapapp.question.address`). An address can contain
anything, so it is checked here, and what a table does not have is left out with a note.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, fields, replace
from typing import Final, Literal, cast
from urllib.parse import parse_qsl, quote, urlencode

from mapapp.question.fields import ThemeChoice

Shade = Literal["share", "value", "stars"]
SHADES: Final[dict[Shade, str]] = {
    "share": "Share",
    "value": "Count",
    "stars": "Stars",
}
"""What the map of a table shows, with the words of its menu."""

TABLES_PATH: Final = "/tables"
"""Where the page of tables is."""
MAX_FIND: Final = 80
MAX_QUERY: Final = 4_000
MAX_PAGE: Final = 9_999
_THEMES: Final = ("system", "light", "dark")
BY_NAME, BY_PEOPLE = "name", "people"
"""Ways to sort that every table has; the others are the identifiers of its columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """The contents of the address of a table.

    Attributes
    ----------
    table : str
        Name of the published table in addresses; empty for the first one served.
    part : int
        Position from 1 of one of the tables that were published together.
    of : str
        Identifier of the workplace whose homes are shown, in a table of flows; empty for the largest one.
    sort : str
        Column that sorts the rows, with `-` in front for descending; empty for the published order.
    find : str
        Text that the names of the shown rows contain.
    page : int
        Which page of rows, from 1.
    color : str
        Identifier of the column on the map; empty for the one with the most people.
    shade : {"share", "value", "stars"}
        What the map shows.
    row : str
        Identifier of the chosen row; empty for none.
    theme : {"system", "light", "dark"}
    """

    table: str = ""
    part: int = 1
    of: str = ""
    sort: str = ""
    find: str = ""
    page: int = 1
    color: str = ""
    shade: Shade = "share"
    row: str = ""
    theme: ThemeChoice = "system"

    @property
    def is_descending(self) -> bool:
        """Whether the largest rows come first."""
        return self.sort.startswith("-")

    @property
    def sorted_by(self) -> str:
        """What sorts the rows, without its direction."""
        return self.sort.removeprefix("-")

    def having(self, **changes: str | int) -> TableView:
        """Return a copy with some fields changed; other rows begin with their first page."""
        moved = {"page": 1} if set(changes) & {"table", "part", "of", "sort", "find"} else {}
        return replace(self, **{**moved, **changes})  # type: ignore[arg-type]  # callers pass the fields' own types


_DEFAULT: Final = TableView()
_NAMES: Final = tuple(field.name for field in fields(TableView))


def to_query(view: TableView) -> str:
    """Return the query of a view: empty, or `?` and all values other than defaults, in a fixed order."""
    pairs = [(name, getattr(view, name)) for name in _NAMES if getattr(view, name) != getattr(_DEFAULT, name)]
    return "?" + urlencode(pairs, quote_via=quote, safe=":,.") if pairs else ""


def table_view(query: object, tables: Collection[str]) -> tuple[TableView, tuple[str, ...]]:
    """Read the query of an address; also return a note for the reader on each part that was left out.

    What depends on the table, such as its columns, is checked by :func:`fit_view`.

    Parameters
    ----------
    query : str
        With or without its `?`; it may contain anything.
    tables : collection of str
        Names of the published tables that are served.
    """
    text = query.removeprefix("?") if isinstance(query, str) else ""  # a forged request may contain anything
    if len(text) > MAX_QUERY:
        return TableView(), ("The address is too long and was ignored.",)
    given = dict(parse_qsl(text, keep_blank_values=True, errors="replace"))
    notes: list[str] = []
    values: dict[str, str | int] = {}
    for name, value in given.items():
        check = _CHECKS.get(name)
        if check is None:
            notes.append(f"The address has an unknown part, {_short(name)}, which was ignored.")
        elif (read := check(value, tables)) is None:
            notes.append(f"The address has an unknown {name}, {_short(value)}, which was ignored.")
        else:
            values[name] = read
    return replace(TableView(), **values), tuple(notes)  # type: ignore[arg-type]  # each check returns its field's type


def fit_view(
    view: TableView, *, n_parts: int, columns: Collection[str], rows: Collection[str], places: Collection[str]
) -> tuple[TableView, tuple[str, ...]]:
    """Leave out what a table does not have; also return a note on each part that was left out.

    Parameters
    ----------
    view : TableView
    n_parts : int
        Number of tables that were published together.
    columns, rows : collection of str
        Identifiers of the columns and rows of the shown table.
    places : collection of str
        Identifiers of the workplaces of a table of flows; empty for other tables.
    """
    known: dict[str, tuple[object, bool]] = {
        "part": (view.part, view.part <= n_parts),
        "of": (view.of, view.of in ("", *places)),
        "sort": (view.sort, view.sorted_by in ("", BY_NAME, BY_PEOPLE, *columns)),
        "color": (view.color, view.color in ("", *columns)),
        "row": (view.row, view.row in ("", *rows)),
    }
    lost = {name: value for name, (value, is_known) in known.items() if not is_known}
    notes = tuple(f"This table has no {_WORDS[name]} {_short(str(value))}." for name, value in lost.items())
    return replace(view, **{name: getattr(_DEFAULT, name) for name in lost}), notes


_WORDS: Final = {
    "part": "part",
    "of": "workplace",
    "sort": "column to sort by named",
    "color": "column",
    "row": "row",
}


def _one_of(allowed: Collection[str]) -> Callable[[str, Collection[str]], str | None]:
    return lambda value, _: value if value in allowed else None


def _text(most: int) -> Callable[[str, Collection[str]], str | None]:
    return lambda value, _: value if len(value) <= most and value.isprintable() else None


def _count(value: str, _: Collection[str]) -> int | None:
    is_whole = value.isascii() and value.isdigit() and len(value) <= len(str(MAX_PAGE))
    return int(value) if is_whole and int(value) >= 1 else None


_CHECKS: Final[dict[str, Callable[[str, Collection[str]], str | int | None]]] = {
    "table": lambda value, tables: value if value in ("", *tables) else None,
    "part": _count,
    "of": _text(MAX_FIND),
    "sort": _text(MAX_FIND),
    "find": _text(MAX_FIND),
    "page": _count,
    "color": _text(MAX_FIND),
    "shade": _one_of(cast("Collection[str]", SHADES)),
    "row": _text(MAX_FIND),
    "theme": _one_of(_THEMES),
}


def _short(text: str) -> str:
    """Return untrusted text in a form that is safe to show: printable and short."""
    clean = "".join(character if character.isprintable() else "�" for character in text[:40])
    return f"“{clean}{'…' if len(text) > 40 else ''}”"
