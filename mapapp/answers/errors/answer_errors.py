"""What other rooms ask about expected errors: those of counts, and those of the numbers and rows of an answer.

An answer is fast, but its errors take several times as long. So they are computed separately, for the rows that a
reader sees. The picks that made a row also say what it counts. Releases (`release_errors`) and worker records
(`record_errors`) have formulas of their own.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final, cast

import numpy as np
import pandas

from geodata.store.store import Store
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.entry import Entry
from mapapp.answers.analyses.measures import Number
from mapapp.answers.analyses.picks_of_numbers import CellPicks, Counts, pick_of_rows
from mapapp.answers.analyses.results import DistanceDirection, PairedAreas, Result, replace_fields
from mapapp.answers.analyses.short_tables import note_rest_errors, rest_of
from mapapp.answers.areas.areas import Areas
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.pick import Pick

WithDistances = DistanceDirection | PairedAreas
"""Answers with tables of distances and a median distance."""

ROWS: Final = 10
"""Default number of rows of a table that get an expected error."""


class Errors(ABC):
    """Expected errors of a publication; safe to use from several threads.

    Each kind of publication says which counts have one (:meth:`of_counts`), and may know those of distances and of the
    rest of a flow matrix. Errors of ratios and of other numbers that follow from counts are declared by the entry of an
    analysis.
    """

    def __init__(self, store: Store, areas: Areas, flows: Flows, certificate: Mapping[str, object]) -> None:
        self._store = store
        self._areas = areas
        self._flows = flows
        self._certificate = certificate

    @property
    @abstractmethod
    def is_known(self) -> bool:
        """Whether the certificate has what expected errors need."""

    @abstractmethod
    def of_counts(
        self, picks: Sequence[Pick], values: Sequence[int | None] | None = None
    ) -> list[float | None]:
        """Return the expected root mean squared errors of the counts of some picks, in workers; None if unknown.

        `values` are their counts where these are known already.
        """

    @abstractmethod
    def prepare(self) -> None:
        """Read in advance what first questions would wait for."""

    def of_count(self, pick: Pick) -> float | None:
        """Return the expected error of the count of one pick; see :meth:`of_counts`."""
        return self.of_counts([pick])[0]

    def of_pairs(self, pairs: pandas.DataFrame, pick_of: CellPicks, rows: int) -> pandas.DataFrame:
        """Return a table of pairs with the errors of its first rows; none if `rows` is 0 or less."""
        first = [pick_of(row) for row in pairs.head(max(rows, 0)).itertuples()]
        column = pairs["expected_error"].to_numpy(np.float64).copy()
        known = self.of_counts(first)
        column[: len(known)] = [math.nan if error is None else error for error in known]
        return pairs.assign(expected_error=column)

    def of_answer(
        self,
        answer: Result,
        rows: int = ROWS,
        tables: Collection[str] | None = None,
        shown: int | None = None,
    ) -> Result:
        """Return the answer with errors for its numbers and for the first rows of all or some of its tables.

        The sums of the rows after the `shown` ones (by default `rows`) of a table of units have them, too, for
        `mapapp.answers.analyses.short_tables`.
        """
        if not self.is_known:
            return answer
        rows = max(rows, 0)
        shown = rows if shown is None else shown
        entry = entry_of(answer)
        if entry.distance_tables:
            answer = self._of_distances(cast(WithDistances, answer), entry.distance_tables)
        if any(number.kind == "miles" for number in entry.numbers):
            answer = self._of_miles(cast(WithDistances, answer))
        numbers, row_picks = self._counts(entry, answer)
        of_rows = {
            name: [
                pick_of(row) for row in table.head(rows_with_errors(entry, name, table, rows)).itertuples()
            ]
            for name, pick_of in row_picks.items()
            if tables is None or name in tables
            for table in (getattr(answer, name),)
        }
        rests = {
            (name, kind): pick_of_rows(row_picks[name], rest)
            for name in of_rows
            for kind, rest in rest_of(getattr(answer, name), shown).items()
        }
        every = itertools.chain(numbers.values(), rests.values(), *of_rows.values())
        picks = {id(pick): pick for pick in every if pick}
        values = _known_values(answer, numbers, of_rows)
        in_order = self.of_counts(list(picks.values()), [values.get(key) for key in picks])
        errors = dict(zip(picks, in_order, strict=True))
        changed: dict[str, Number | pandas.DataFrame] = {
            name: replace(getattr(answer, name), expected_error=errors[id(pick)])
            for name, pick in numbers.items()
        }
        for name, listed in of_rows.items():
            table = getattr(answer, name)
            column = table["expected_error"].to_numpy(np.float64).copy()
            known = [None if pick is None else errors[id(pick)] for pick in listed]
            column[: len(known)] = [math.nan if error is None else error for error in known]
            sums = {kind: errors[id(pick)] for (of, kind), pick in rests.items() if of == name and pick}
            of_rest = {kind: error for kind, error in sums.items() if error is not None}
            cells = row_picks[name]
            if isinstance(cells, CellPicks) and len(table) > shown:
                of_rest = {
                    "": self._of_other_flows(
                        cells.pick, [cells(row) for row in table.head(shown).itertuples()]
                    )
                }
            changed[name] = note_rest_errors(table.assign(expected_error=column), shown, of_rest)
        return entry.with_derived_errors(replace_fields(answer, changed))

    def _counts(self, entry: Entry, answer: Result) -> Counts:
        """Return what the numbers and rows of an answer count."""
        counts: Counts = entry.counts(self._areas, answer)
        return counts

    def _of_other_flows(self, every: Pick, shown: Sequence[Pick]) -> float:
        """Return the error of a matrix's workers outside the cells that are shown; NaN by default."""
        return math.nan

    def _of_distances(self, answer: WithDistances, tables: Collection[str]) -> WithDistances:
        """Return an answer with the errors of its tables of distances and directions; unchanged by default."""
        return answer

    def _of_miles(self, answer: WithDistances) -> Result:
        """Return an answer with the errors of its median and mean distance; unchanged by default."""
        return answer


def rows_with_errors(entry: Entry, name: str, table: pandas.DataFrame, rows: int) -> int:
    """Return how many rows of a table get an expected error if `rows` are asked for."""
    stated = entry.tables.get(name)
    return len(table) if rows and stated is not None and stated.every_error else rows


def _known_values(
    answer: Result, numbers: Mapping[str, Pick], of_rows: Mapping[str, Sequence[Pick | None]]
) -> dict[int, int | None]:
    """Return the counts that an answer states, by the identity of their picks; a pick of several counts has None."""
    pairs = [(id(pick), int(getattr(answer, name).value)) for name, pick in numbers.items()]
    for name, listed in of_rows.items():
        workers = getattr(answer, name)["workers"].head(len(listed)).tolist()
        pairs += [(id(pick), int(n)) for pick, n in zip(listed, workers, strict=True) if pick]
    by_pick: dict[int, int | None] = {}
    for key, value in pairs:
        by_pick[key] = value if by_pick.get(key, value) == value else None
    return by_pick
