"""What an analysis declares: how it is asked, what its numbers and rows count, and what is shown of its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

from mapapp.answers.areas import Areas
from mapapp.answers.picks import Counts
from mapapp.answers.results import Number, Result
from mapapp.question.question import Question

if TYPE_CHECKING:
    from mapapp.answers.analyses import Release

NumberKind = Literal["count", "change", "share", "miles", "ratio"]
CellKind = Literal["count", "share", "ratio", "ratio change", "error", "ratio error"]
Text = str | Callable[[Any], str]
"""A text, or what makes it from the answer."""


@dataclass(frozen=True, slots=True)
class NumberEntry:
    """A key number.

    Attributes
    ----------
    name : str
        Field of the answer.
    label : str or callable
        What it is, for a report.
    kind : {"count", "change", "share", "miles", "ratio"}
    tile : str or callable
        What it is, in a few words beside the number on the page; empty if the page shows it elsewhere.
    value : callable or None
        Takes it from the answer, if it is not the field itself.
    changed : str
        What its change is, in a few words on the page; empty if the page does not show its change.
    """

    name: str
    label: Text
    kind: NumberKind = "count"
    tile: Text = ""
    value: Callable[[Any], Any] | None = None
    changed: str = ""

    def of(self, result: Result) -> Any:
        """The number in an answer: a Number, Miles, Ratio, or a plain value or None."""
        return getattr(result, self.name) if self.value is None else self.value(result)


@dataclass(frozen=True, slots=True)
class ColumnEntry:
    """A column of a table that only one analysis has.

    Attributes
    ----------
    head : str
        For people.
    kind : {"count", "share", "ratio", "ratio change", "error", "ratio error"}
    """

    head: str
    kind: CellKind


WORKER_CELLS: Final = {
    "workers": ColumnEntry("Workers", "count"),
    "share": ColumnEntry("Share", "share"),
    "expected_error": ColumnEntry("±", "error"),
}
"""The columns that the page shows of a table of workers."""


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table.

    Attributes
    ----------
    title : str or callable
    words : str or callable
        What must be read with it.
    columns : dict of str to ColumnEntry
        By name, its columns that other analyses do not have, or call something else.
    """

    title: Text
    words: Text
    columns: dict[str, ColumnEntry] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class MeasureEntry:
    """What the rows of two answers are compared by.

    Attributes
    ----------
    name : str
        What it is, for people.
    column, error : str
        Columns of the measure and of its expected error.
    kind : {"count", "ratio"}
        Rows that one of the answers does not have count 0 workers there, but have no ratio.
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
        Whether there is a group of bars for each characteristic.
    n_rows : int or None
        Bars at most.
    """

    title: Text
    table: str
    name: str = "label"
    by_characteristic: bool = False
    n_rows: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RatioMap:
    """A map whose units are colored by a ratio, from far below 1 to far above it.

    Attributes
    ----------
    column : str
        The ratio, in the table `units` of the answer; NaN where there is none.
    legend : str
        What the ratio is; `{unit}` is what a unit is called, and `<br>` breaks a line where there is little room.
    blank : str
        Why some units have no ratio, for the legend.
    caption : str
        What the map shows; `{unit}` as above, `{here}` is the area.
    hover : callable
        What a row of `units` says when it is pointed at, its name aside: lines.
    """

    column: str
    legend: str
    blank: str
    caption: str
    hover: Callable[[Any], tuple[str, ...]]


def _workers(result: Any) -> Number:
    number: Number = result.workers
    return number


def _nothing_more(result: Any) -> str:
    return ""


def _same(result: Any) -> Any:
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One analysis.

    Attributes
    ----------
    ask : callable
        Puts a question to a release.
    counts : callable
        What the numbers and the rows of an answer count, for their expected errors.
    with_derived_errors : callable
        Takes an answer whose counts have their expected errors, and adds those that follow from them.
    numbers : tuple of NumberEntry
        In the order in which they are shown.
    headline : callable
        The number that stands first on the page.
    n_about : callable or None
        How many workers or jobs an answer is about, if that is not the first number. Of none, nothing is shown.
    glance : callable or None
        The answer in one line; by default the number of workers.
    clause : str
        The rest of a sentence that begins with synthetic workers. `{s}` is the ending of its verbs, `{here}` the area,
        `{home}` and `{work}` the areas of an analysis that has two. Empty if the side says it.
    tail : callable
        What the sentence ends with.
    tables : dict of str to TableEntry
        By the name of the field, the main one first.
    cells : dict of str to ColumnEntry
        By name, the columns that the page shows of a table of units, with their heads.
    page_title : str or callable
        What the page calls that table; empty for the table's own title.
    compared : str
        The table whose rows two releases are compared by.
    measure : MeasureEntry
        What is compared in it.
    keys, names : tuple of str
        Its columns that say which row is which, and that name it for people.
    bars : tuple of BarsEntry
    ratio_map : RatioMap or None
        How its map is colored, if it is drawn as a ratio.
    """

    ask: Callable[[Release, Question], Result]
    counts: Callable[[Areas, Any], Counts]
    with_derived_errors: Callable[[Any], Any] = _same
    numbers: tuple[NumberEntry, ...]
    headline: Callable[[Any], Number] = _workers
    n_about: Callable[[Any], int] | None = None
    glance: Callable[[Any], str] | None = None
    clause: str = ""
    tail: Callable[[Any], str] = _nothing_more
    tables: dict[str, TableEntry]
    cells: dict[str, ColumnEntry] = field(default_factory=lambda: WORKER_CELLS)
    page_title: Text = ""
    compared: str
    keys: tuple[str, ...]
    names: tuple[str, ...]
    measure: MeasureEntry = MeasureEntry()
    bars: tuple[BarsEntry, ...] = ()
    ratio_map: RatioMap | None = None


def text_of(text: Text, result: Result) -> str:
    """A text of an entry, for an answer."""
    return text if isinstance(text, str) else text(result)
