"""Expected errors of the numbers and rows of an answer about worker records.

A work area that consists of whole tracts, and a home area that consists of whole PUMAs, are combinations of values of
attributes, whose errors the certificate states. Homes within a PUMA were placed by public population, not by the
records, so errors of smaller home areas are not stated. A number without an error has a mark, which leads to a note
that says why.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from string import ascii_lowercase
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pandas

from geodata.store.store import Store
from mapapp.answers.analyses.about import Note
from mapapp.answers.analyses.entries import entry_of
from mapapp.answers.analyses.entry import Entry
from mapapp.answers.analyses.measures import MEASURES, Miles, Number, Row
from mapapp.answers.analyses.picks_of_numbers import Counts, PickOf, by_band
from mapapp.answers.analyses.results import Result
from mapapp.answers.analyses.short_tables import shortened
from mapapp.answers.areas.areas import Areas
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.pick import Blocks, Pick
from mapapp.answers.errors.answer_errors import ROWS, Errors, rows_with_errors
from mapapp.answers.errors.certificate_terms import ErrorTerms
from mapapp.answers.records.certificate import derived_from
from mapapp.answers.records.claims import records_claims
from mapapp.question.fields import Side
from mapapp.question.filters import CHARACTERISTICS, Filters, values_by_attribute

NO_ERROR: Final = "no-error"
"""Code of the notes that say why a number has no ±."""
NOT_STATED: Final = "The certificate states no expected errors, so no number has a ±."
PARTS_OF_TRACTS: Final = (
    "A work area has a ± if it is made of whole census tracts, as a county is. Within a tract, workplaces were placed "
    "by public population, so smaller areas have none."
)
PARTS_OF_PUMAS: Final = (
    "A home area has a ± if it is made of whole PUMAs, which are census areas of about 100,000 people or more. Within "
    "a PUMA, homes were placed by public population and distance, so smaller areas have none."
)
UNCOVERED: Final = (
    "The certificate states errors for some combinations of attributes, work areas, and home areas. This combination "
    "is not one of them, so it has no ±."
)
PUBLIC_NUMBER: Final = "The number of all records is public and fixed in advance, so it has no ±."
DISTANCES: Final = "Distances have no ±: homes were placed to fit a range of distances, not at the real ones."
DIFFERENCES: Final = "A difference of two counts has no ±: the errors of the two are not independent."
SUMS: Final = "The certificate states no error for the sum of all other rows, so it has no ±."
FIRST_ROWS: Final = "Expected errors were computed for the first rows of a long table only."
_IN_ORDER: Final = (
    NOT_STATED,
    PUBLIC_NUMBER,
    PARTS_OF_TRACTS,
    PARTS_OF_PUMAS,
    UNCOVERED,
    DISTANCES,
    DIFFERENCES,
    SUMS,
    FIRST_ROWS,
)
_LOOKED_AT: Final = 3
"""Rows without an error of each table whose areas are looked at; all rows of a table are areas of one layer."""


Level = Literal["puma", "tract"]
_PLACES: Final[tuple[tuple[Level, Side], ...]] = (("puma", "work"), ("tract", "work"), ("puma", "home"))


class RecordErrors(Errors):
    """Expected errors for worker records, from the terms of their certificate."""

    def __init__(self, store: Store, areas: Areas, flows: Flows, certificate: Mapping[str, object]) -> None:
        super().__init__(store, areas, flows, certificate)
        claims = records_claims(certificate)
        self._terms = ErrorTerms(claims.expected_error or (), claims.attributes)
        self._derived = derived_from(claims)
        self._values_of_places = {
            claim.name: [value.code for value in claim.values] for claim in claims.attributes
        }

    @property
    def is_known(self) -> bool:
        """Whether the certificate states expected errors."""
        return self._terms.are_stated

    def prepare(self) -> None:
        """Do nothing: the terms are read already."""

    def of_answer(
        self,
        answer: Result,
        rows: int = ROWS,
        tables: Collection[str] | None = None,
        shown: int | None = None,
    ) -> Result:
        """Return the answer with errors as for a release; every number without one has a mark that leads to a note."""
        entry = entry_of(answer)
        shown = max(rows, 0) if shown is None else shown
        if rows > 0:
            rows = max(
                rows, entry.n_error_rows or 0
            )  # these terms are cheap, unlike the formula for releases
        with_errors = super().of_answer(answer, rows, tables, shown)
        wanted = {name for name in with_errors.tables() if tables is None or name in tables}
        numbers, row_picks = self._counts(entry, with_errors)
        reasons = self._reasons_of_numbers(with_errors, numbers)
        for name in sorted(wanted):
            table = with_errors.tables()[name]
            if "expected_error" in table.columns:
                n_rows = rows_with_errors(entry, name, table, max(rows, 0))
                first = table.head(n_rows)
                texts = self._reasons_of_rows(first, row_picks.get(name))
                if texts and len(first) < len(table) and first["expected_error"].notna().any():
                    texts |= {FIRST_ROWS}
                reasons[name] = texts or _reasons_of_rest(table, shown)
        notes, marks = _marked_notes(reasons)
        kept = tuple(note for note in with_errors.about.notes if note.code != NO_ERROR)
        return replace(with_errors, about=replace(with_errors.about, notes=kept + notes, no_errors=marks))

    def _reasons_of_numbers(self, answer: Result, picks: Mapping[str, Pick]) -> dict[str, set[str]]:
        """Return why numbers of an answer have no error; numbers derived from counts have the reasons of these."""
        reasons: dict[str, set[str]] = {}
        of_counts = {reason for pick in picks.values() for reason in self._reasons_of(pick)}
        for name, number in answer.numbers().items():
            if not isinstance(number, MEASURES) or number.value is None or number.expected_error is not None:
                continue
            if not self.is_known:
                reasons[name] = {NOT_STATED}
            elif isinstance(number, Miles):
                reasons[name] = {DISTANCES}
            elif name in picks:
                reasons[name] = self._reasons_of(picks[name])
            else:
                reasons[name] = {DIFFERENCES} if isinstance(number, Number) else of_counts
        return reasons

    def _reasons_of_rows(self, rows: pandas.DataFrame, pick_of: PickOf | None) -> set[str]:
        """Return why some rows of a table have no error; their areas are in one layer, so a few rows are enough."""
        without = rows[rows["expected_error"].isna()].head(_LOOKED_AT)
        if not len(without):
            return set()
        if not self.is_known:
            return {NOT_STATED}
        if pick_of is None:
            return {DISTANCES}
        picks = [pick_of(row) for row in without.itertuples()]
        return {reason for pick in picks if pick is not None for reason in self._reasons_of(pick)}

    def _reasons_of(self, pick: Pick) -> set[str]:
        """Return why the count of a pick has no error, if it has none."""
        if not self.is_known:
            return {NOT_STATED}
        if self._values_of(pick) == {}:
            return {PUBLIC_NUMBER}
        work, home = self._is_whole(pick)
        parts = ([] if work else [PARTS_OF_TRACTS]) + ([] if home else [PARTS_OF_PUMAS])
        return set(parts) or {UNCOVERED}

    def _is_whole(self, pick: Pick) -> tuple[bool, bool]:
        """Return whether the work area consists of whole tracts, and the home area of whole PUMAs."""
        work = pick.work is None or self._n_whole(pick.work, "tract", "work") is not None
        return work, pick.home is None or self._n_whole(pick.home, "puma", "home") is not None

    def of_counts(
        self, picks: Sequence[Pick], values: Sequence[int | None] | None = None
    ) -> list[float | None]:
        """Return the errors of several picks; None for those that the certificate does not cover."""
        known = values or [None] * len(picks)
        return [self._of_pick(pick, value) for pick, value in zip(picks, known, strict=True)]

    def _of_pick(self, pick: Pick, value: int | None) -> float | None:
        values = self._values_of(pick)
        if not self.is_known or not values:  # {}: all records, whose number is public
            return None
        count = int(self._flows.by_segment(pick).sum()) if value is None else value
        return self._terms.error(count, values)

    def _values_of(self, pick: Pick) -> dict[str, int] | None:
        """Return how many values of each attribute a pick covers; None if it is no combination of values."""
        values = self._count_filtered(pick.filters)
        if pick.work is not None:
            pumas, tracts = (self._n_whole(pick.work, level, "work") for level in ("puma", "tract"))
            if pumas is None and tracts is None:
                return None
            values |= {"work_puma": pumas} if pumas is not None else {"work_tract": tracts or 0}
        if pick.home is not None:
            pumas = self._n_whole(pick.home, "puma", "home")
            if pumas is None:
                return None
            values["home_puma"] = pumas
        return values

    def _count_filtered(self, filters: Filters) -> dict[str, int]:
        """Return how many values of each attribute filters include; a derived attribute counts as its source."""
        n_values: dict[str, int] = {}
        for name in CHARACTERISTICS:
            bands = getattr(filters, name)
            source, groups = self._derived.get(name, (name, ()))
            if bands:
                n_values[source] = sum(group in bands for group in groups) if groups else len(bands)
        return n_values | {
            name: len(codes) for name, codes in values_by_attribute(filters.attributes).items()
        }

    def _n_whole(self, blocks: Blocks, level: Level, end: Side) -> int | None:
        """Return how many values of an end's PUMA or tract some blocks are; None if they are only parts of one.

        At least 1: places where nobody can work or live are counted as one of them.
        """
        code, sizes, is_value = self._unit_codes[level, end]
        inside = np.bincount(code[blocks], minlength=sizes.size)
        held = inside > 0
        if (inside[held] != sizes[held]).any():
            return None
        return max(int((held & is_value).sum()), 1)

    @cached_property
    def _unit_codes(
        self,
    ) -> dict[tuple[Level, Side], tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]]:
        """The unit of every block, the blocks of every unit, and whether it is a value of records, by level and end."""
        blocks = self._store.table("blocks", ["puma_id", "tract_id"])
        by_level = {}
        for level, end in _PLACES:
            ids, code = np.unique(blocks[f"{level}_id"].to_numpy(dtype=str), return_inverse=True)
            code = code.astype(np.int64)
            is_value = np.isin(ids, self._values_of_places.get(f"{end}_{level}", ids))
            by_level[level, end] = code, np.bincount(code), is_value
        return by_level

    def _counts(self, entry: Entry, answer: Result) -> Counts:
        """Return what an answer counts; who comes in is a count of its own, because no count here is exact."""
        numbers, rows = super()._counts(entry, answer)
        if "inflow" not in numbers:
            return numbers, rows
        stay = numbers["stay"]
        every = np.arange(len(self._areas.places), dtype=np.int32)
        inside = every if stay.home is None else stay.home
        come = replace(stay, home=np.setdiff1d(every, inside, assume_unique=True))

        def group(row: Row) -> Pick | None:
            return come if row.group == "inflow" else rows["groups"](row)

        def segment(row: Row) -> Pick | None:
            return by_band(come)(row) if row.group == "inflow" else rows["segments"](row)

        changed: dict[str, PickOf] = {"groups": group, "segments": segment}
        # The net flow is the difference of those who work and those who live here.
        return {name: pick for name, pick in numbers.items() if name != "net_inflow"} | {
            "inflow": come
        }, changed


def _marked_notes(reasons: Mapping[str, Iterable[str]]) -> tuple[tuple[Note, ...], dict[str, str]]:
    """Return a note for each reason, and the mark of every number and table that lacks expected errors.

    Parameters
    ----------
    reasons : mapping of str to iterable of str
        Reasons, such as `DISTANCES`, by the name of the number or the table.
    """
    given = {name: set(texts) for name, texts in reasons.items()}
    used = [text for text in _IN_ORDER if any(text in texts for texts in given.values())]
    mark_of = dict(zip(used, ascii_lowercase, strict=False))
    marks = {
        name: f"({', '.join(mark_of[text] for text in used if text in texts)})"
        for name, texts in given.items()
        if texts
    }
    return tuple(Note(NO_ERROR, text, mark_of[text]) for text in used), marks


def _reasons_of_rest(table: pandas.DataFrame, rows: int) -> set[str]:
    """Return why the sums of the rows after the first ones of a table of areas have no error, if one has none."""
    if not {"kind", "home_kind"} & set(table.columns) or len(table) <= rows:
        return set()
    sums = shortened(table, rows).iloc[rows:]
    return {SUMS} if sums["expected_error"].isna().any() else set()
