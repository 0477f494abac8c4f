"""The types with which an analysis declares how it is computed, what its numbers count, and what is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol, TypeAlias, TypeVar

import pandas

from mapapp.answers.analyses.measures import Number, Row, Value
from mapapp.answers.analyses.picks_of_numbers import Counts
from mapapp.answers.analyses.results import Result
from mapapp.question.fields import USUAL
from mapapp.question.question import Question

# The question that a click on a row of an answer's table asks next: each analysis declares one of these functions.

RowLink = Callable[[Question, tuple[str, ...]], dict[str, object]]
"""From the question and the units that the row names, to the fields that change; empty if the row leads nowhere."""


def to_profile(question: Question, units: tuple[str, ...]) -> dict[str, object]:
    """Return the profile of the row's unit."""
    return {"analysis": "profile", "areas": units} if len(units) == 1 else {}


def to_unit(question: Question, units: tuple[str, ...]) -> dict[str, object]:
    """Return the same question about the row's unit, by the layer that is usual within it."""
    return {"areas": units, "layer": USUAL} if len(units) == 1 else {}


def to_pair_with_area(question: Question, units: tuple[str, ...]) -> dict[str, object]:
    """Return the pair of the chosen area and the row's unit at the other end; the unit's profile without an area."""
    if len(units) == 1 and question.areas:
        return {"analysis": "paired", "others": units}
    return to_profile(question, units)


def to_pair(question: Question, units: tuple[str, ...]) -> dict[str, object]:
    """Return the pair of the two units of the row, home first; the chosen side keeps its area."""
    if len(units) != 2:
        return {}
    home, work = ((unit,) for unit in units)
    areas, others = (work, home) if question.side == "work" else (home, work)
    return {"analysis": "paired", "areas": areas, "others": others}


_T = TypeVar("_T")
NumberKind = Literal["count", "change", "share", "miles", "ratio"]
CellKind = Literal[
    "count", "change", "share", "change share", "ratio", "ratio change", "error", "ratio error"
]
Read: TypeAlias = Callable[..., _T]
"""A function of an answer; those of an entry take its analysis's own type of answer."""
Text = str | Read[str]
"""A text, or a function that makes it from the answer."""


@dataclass(frozen=True, slots=True)
class NumberEntry:
    """A key number.

    Attributes
    ----------
    name : str
        Field of the answer.
    label : str or callable
        Label in a report.
    kind : {"count", "change", "share", "miles", "ratio"}
    tile : str or callable
        Short label beside the number on the page; empty if the page shows the number elsewhere.
    value : callable or None
        Computes it from the answer, if it is not the field itself.
    changed : str
        Short name of what changes, on the page; empty if the page does not show the change.
    unit : str
        What a count counts.
    """

    name: str
    label: Text
    kind: NumberKind = "count"
    tile: Text = ""
    value: Read[Value] | None = None
    changed: str = ""
    unit: str = "workers"

    def of(self, result: Result) -> Value:
        """Return the number in an answer: a Number, Miles, Ratio, a plain value, or None."""
        return result.numbers()[self.name] if self.value is None else self.value(result)


@dataclass(frozen=True, slots=True)
class ColumnEntry:
    """A column of a table that only one analysis has.

    Attributes
    ----------
    head : str
        Heading for readers.
    kind : {"count", "change", "share", "change share", "ratio", "ratio change", "error", "ratio error"}
    """

    head: str
    kind: CellKind


WORKER_CELLS: Final = {
    "workers": ColumnEntry("Workers", "count"),
    "share": ColumnEntry("Share", "share"),
    "expected_error": ColumnEntry("±", "error"),
}
"""Columns of a table of workers that the page shows."""


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table.

    Attributes
    ----------
    title : str or callable
    words : str or callable
        Caption that must be read with it.
    columns : dict of str to ColumnEntry
        By name, columns that other analyses lack or label differently.
    bands_apart : bool
        Whether a report puts its columns by characteristic into a second table.
    every_error : bool
        Whether all of its rows have an expected error, and not only the first ones: they are no list that is cut.
    """

    title: Text
    words: Text
    columns: dict[str, ColumnEntry] = field(default_factory=dict)
    bands_apart: bool = False
    every_error: bool = False


@dataclass(frozen=True, slots=True)
class WideTable:
    """A table on the page with several counts in a row.

    Attributes
    ----------
    heads : tuple of str
        Heading of each count.
    rows : DataFrame
        ``label``, ``sub`` (more about the row; may be empty) and ``counts``: pairs of workers and expected error. A row
        without counts is the heading of those below it.
    has_row_shares : bool
        Whether each count is also shown as a share of the last count of its row.
    """

    heads: tuple[str, ...]
    rows: pandas.DataFrame
    has_row_shares: bool = False


@dataclass(frozen=True, slots=True)
class PageTable:
    """The table on the page of an analysis whose rows are not units.

    Attributes
    ----------
    title : str
    head : str
        Heading of the names of its rows.
    table : str
        Field of the answer with the rows.
    wide : callable or None
        Makes the table from the answer, if it has several counts in a row.
    """

    title: str
    head: str
    table: str = ""
    wide: Read[WideTable] | None = None


@dataclass(frozen=True, slots=True)
class MeasureEntry:
    """The measure by which the rows of two answers are compared.

    Attributes
    ----------
    name : str
        Label for readers.
    column, error : str
        Columns of the measure and of its expected error.
    kind : {"count", "ratio"}
        Rows missing from one of the answers count as 0 workers there, but have no ratio.
    """

    name: str = "Workers"
    column: str = "workers"
    error: str = "expected_error"
    kind: Literal["count", "ratio"] = "count"


@dataclass(frozen=True, slots=True)
class BarsEntry:
    """A bar chart of a table of workers.

    Attributes
    ----------
    title : str or callable
    table : str
    name : str
        Column with the names of the bars.
    by_characteristic : bool
        Whether each characteristic has its own group of bars.
    group : str
        Column with the heading of each bar's group; empty for one group.
    n_rows : int or None
        Maximum number of bars.
    by_size : bool
        Whether the bars are sorted, most workers first; tables of units are already.
    """

    title: Text
    table: str
    name: str = "label"
    by_characteristic: bool = False
    group: str = ""
    n_rows: int | None = None
    by_size: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioMap:
    """A map whose units are colored by a ratio, from far below 1 to far above it, or by a share.

    Attributes
    ----------
    column : str
        Column of the ratio in the answer's table `units`; NaN if there is no ratio.
    legend : str or callable
        Label of the ratio; `{unit}` is the word for a unit, and `<br>` marks where a line may break.
    blank : str
        Why some units have no ratio, for the legend.
    caption : str or callable
        Caption of the map; `{unit}` as above, `{here}` is the area.
    hover : callable
        Returns the lines to show, after its name, when the pointer is on a row of `units`.
    """

    column: str
    legend: Text
    blank: str
    caption: Text
    hover: Callable[[Row], tuple[str, ...]]


class HasWorkers(Protocol):
    """An answer whose first number is workers."""

    @property
    def workers(self) -> Number:
        """Workers that the answer is about."""


def _workers(result: HasWorkers) -> Number:
    return result.workers


def _nothing_more(result: Result) -> str:
    return ""


def _same(result: Result) -> Result:
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One analysis.

    Attributes
    ----------
    counts : callable
        Returns what the numbers and rows of an answer count, for their expected errors.
    with_derived_errors : callable
        Adds, to an answer whose counts have expected errors, the errors derived from them.
    numbers : tuple of NumberEntry
        In display order.
    findings : callable
        Two or three sentences that an answer begins with, made from its numbers and their expected errors.
    n_counting_sentences : int
        How many of these sentences, from the first, state key numbers that the page shows beside them.
    headline : callable
        The number shown first on the page.
    asked : str
        Name of the number that the question asks for, if it is a ratio: the page shows it before the headline.
    n_about : callable or None
        Number of workers or jobs in an answer, if it is not the first number. If it is 0, nothing is shown.
    glance : callable or None
        The answer in one line; by default the number of workers.
    clause : str or callable
        The rest of a sentence that begins with synthetic workers. `{s}` is the ending of its verbs, `{here}` the area,
        `{home}` and `{work}` the areas of an analysis that has two, `{covered}` where the counted workplaces are, with
        its preposition. Empty if the side says it.
    tail : callable
        Returns the end of the sentence.
    tables : dict of str to TableEntry
        By field name, the main table first.
    cells : dict of str to ColumnEntry
        By name, the columns of a table of units that the page shows, with their headings.
    page_title : str or callable
        Title of that table on the page; empty for the table's own title.
    page_table : PageTable or None
        The table on the page, if its rows are not units.
    row_link : callable
        The question that a click on a row of that table asks next.
    grid : callable or None
        Makes a table with two sides and their totals from an answer and a `mapapp.answers.analyses.grids.Limit` or
        None, for text, CSV, workbooks and reports.
    in_grid : tuple of str
        Tables that a printed grid replaces.
    pairs : str
        Table whose rows are pairs of units, which maps and exports show as lines; empty if it has no such table.
    n_error_rows : int or None
        Rows that the page shows with expected errors, if it is not the usual number.
    distance_tables : tuple of str
        Tables that count by ``band`` of distance, by ``direction``, or by both; their expected errors have a formula of
        their own.
    lists_largest : bool
        Whether a report lists the largest rows of `units` among the key numbers.
    is_published : bool
        Whether its numbers are copied from published files: nothing is drawn, so they have no expected error, and
        they also count the jobs of residents who work in other states.
    unit : str
        What its first number counts, in the plural; empty for what the publication counts, such as synthetic workers.
    counted : callable or None
        The same in an area, for comparisons, such as "jobs in Warwick"; by default, people who work or live there.
    characteristics : bool
        Whether published characteristics of the area, if the release has them, are shown below the answer.
    compared : str
        The table whose rows are compared between two releases.
    measure : MeasureEntry
        The measure that is compared.
    keys, names : tuple of str
        Columns of that table that identify a row, and columns that name it for readers.
    bars : tuple of BarsEntry
    chart : {"", "rose", "heat map", "inflow"}
        Chart that is not made of bars.
    ratio_map : RatioMap or None
        How to color its map, if it shows a ratio.
    """

    counts: Read[Counts]
    with_derived_errors: Read[Result] = _same
    numbers: tuple[NumberEntry, ...]
    findings: Read[tuple[str, ...]]
    n_counting_sentences: int = 1
    headline: Read[Number] = _workers
    asked: str = ""
    n_about: Read[int] | None = None
    glance: Read[str] | None = None
    clause: Text = ""
    tail: Read[str] = _nothing_more
    tables: dict[str, TableEntry]
    cells: dict[str, ColumnEntry] = field(default_factory=lambda: WORKER_CELLS)
    page_title: Text = ""
    page_table: PageTable | None = None
    row_link: RowLink = to_profile
    grid: Read[pandas.DataFrame] | None = None
    in_grid: tuple[str, ...] = ()
    pairs: str = ""
    n_error_rows: int | None = None
    distance_tables: tuple[str, ...] = ()
    lists_largest: bool = False
    is_published: bool = False
    unit: str = ""
    counted: Read[str] | None = None
    characteristics: bool = False
    compared: str
    keys: tuple[str, ...]
    names: tuple[str, ...]
    measure: MeasureEntry = MeasureEntry()
    bars: tuple[BarsEntry, ...] = ()
    chart: Literal["", "rose", "heat map", "inflow"] = ""
    ratio_map: RatioMap | None = None


def text_of(text: Text, result: Result) -> str:
    """A text of an entry, for an answer."""
    return text if isinstance(text, str) else text(result)
