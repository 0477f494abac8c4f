"""Expected errors of the numbers and rows of an answer about worker records.

A work area that consists of whole tracts, and a home area that consists of whole PUMAs, are combinations of values of
attributes, whose errors the certificate states. Homes within a PUMA were placed by public population, not by the
records, so errors of smaller home areas are not stated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from geodata.errors import StoreError
from geodata.store import Store
from mapapp.answers.about import Note
from mapapp.answers.answer_errors import ROWS, Errors
from mapapp.answers.areas import Areas
from mapapp.answers.entries import entry_of
from mapapp.answers.entry import Entry
from mapapp.answers.flows import Blocks, Flows, Pick
from mapapp.answers.picks import Counts, PickOf, by_band
from mapapp.answers.records.certificate import derived_from
from mapapp.answers.records.error_terms import ErrorTerms
from mapapp.answers.records.missing_errors import NO_ERROR, NOT_STATED, reasons
from mapapp.answers.results import DistanceDirection, PairedAreas, Result
from mapapp.answers.table_rows import Row
from mapapp.question.filters import CHARACTERISTICS, Filters, values_by_attribute

_LOOKED_AT: Final = 3
"""Rows of each table whose areas are looked at; all rows of a table are areas of one layer."""
_NOT_STATED: Final = Note(NO_ERROR, NOT_STATED)
_UNREADABLE = (KeyError, TypeError, ValueError, AttributeError)


class RecordErrors(Errors):
    """Expected errors for worker records, from the terms of their certificate."""

    def __init__(self, store: Store, areas: Areas, flows: Flows, certificate: Mapping[str, object]) -> None:
        super().__init__(store, areas, flows, certificate)
        try:
            self._terms, self._derived = ErrorTerms(certificate), derived_from(certificate)
        except _UNREADABLE as error:
            raise StoreError(
                f"{store.path / 'certificate.json'}: its expected errors cannot be read ({type(error).__name__}: "
                f"{str(error)[:80]}); do not use these records"
            ) from error

    @cached_property
    def is_known(self) -> bool:
        """Whether the certificate states expected errors."""
        return self._terms.are_stated

    def of_answer(
        self,
        answer: Result,
        rows: int = ROWS,
        tables: Collection[str] | None = None,
        shown: int | None = None,
    ) -> Result:
        """Return the answer with errors as for a release, and with notes on why some numbers have none."""
        found = super().of_answer(answer, rows, tables, shown)
        entry = entry_of(found)
        has_distances = bool(entry.distance_tables) or any(each.kind == "miles" for each in entry.numbers)
        notes: tuple[Note, ...] = (_NOT_STATED,)
        if self.is_known:
            notes = reasons(self._looked_at(found), self._is_whole, has_distances=has_distances)
        kept = tuple(note for note in found.about.notes if note.code != NO_ERROR)
        return replace(found, about=replace(found.about, notes=kept + notes))

    def _looked_at(self, answer: Result) -> Iterator[Pick | None]:
        """Yield what the numbers of an answer and the first rows of its tables count."""
        numbers, row_picks = self._counts(entry_of(answer), answer)
        yield from numbers.values()
        for name, pick_of in row_picks.items():
            yield from (pick_of(row) for row in getattr(answer, name).head(_LOOKED_AT).itertuples())

    def _is_whole(self, pick: Pick) -> tuple[bool, bool]:
        """Return whether the work area consists of whole tracts, and the home area of whole PUMAs."""
        work = pick.work is None or self._n_whole(pick.work, "tract") is not None
        return work, pick.home is None or self._n_whole(pick.home, "puma") is not None

    def of_counts(
        self, picks: Sequence[Pick], values: Sequence[int | None] | None = None
    ) -> list[float | None]:
        """Return the errors of several picks; None for those that the certificate does not cover."""
        known = values or [None] * len(picks)
        return [self._of_pick(pick, value) for pick, value in zip(picks, known, strict=True)]

    def _of_pick(self, pick: Pick, value: int | None) -> float | None:
        values = self._values_of(pick)
        if not self.is_known or values is None:
            return None
        count = int(self._flows.by_segment(pick).sum()) if value is None else value
        return self._terms.error(count, values)

    def _values_of(self, pick: Pick) -> dict[str, int] | None:
        """Return how many values of each attribute a pick covers; None if it is no combination of values."""
        found = self._filtered(pick.filters)
        if pick.work is not None:
            pumas, tracts = self._n_whole(pick.work, "puma"), self._n_whole(pick.work, "tract")
            if pumas is None and tracts is None:
                return None
            found |= {"work_puma": pumas} if pumas is not None else {"work_tract": tracts or 0}
        if pick.home is not None:
            pumas = self._n_whole(pick.home, "puma")
            if pumas is None:
                return None
            found["home_puma"] = pumas
        return found

    def _filtered(self, filters: Filters) -> dict[str, int]:
        """Return how many values of each attribute filters include; a derived attribute counts as its source."""
        found: dict[str, int] = {}
        for name in CHARACTERISTICS:
            bands = getattr(filters, name)
            source, groups = self._derived.get(name, (name, ()))
            if bands:
                found[source] = sum(group in bands for group in groups) if groups else len(bands)
        return found | {name: len(codes) for name, codes in values_by_attribute(filters.attributes).items()}

    def _n_whole(self, blocks: Blocks, level: str) -> int | None:
        """Return how many units of a level some blocks are; None if they are only parts of one."""
        code, sizes = self._unit_codes[level]
        inside = np.bincount(code[blocks], minlength=sizes.size)
        held = inside > 0
        return int(held.sum()) if (inside[held] == sizes[held]).all() else None

    @cached_property
    def _unit_codes(self) -> dict[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        """The unit of every block, and the number of blocks of every unit, by level."""
        blocks = self._store.table("blocks", ["puma_id", "tract_id"])
        found = {}
        for level in ("puma", "tract"):
            code = np.unique(blocks[f"{level}_id"].to_numpy(dtype=str), return_inverse=True)[1].astype(
                np.int64
            )
            found[level] = code, np.bincount(code)
        return found

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

    def _of_other_flows(self, every: Pick, shown: Sequence[Pick]) -> float:
        """Return NaN: the terms do not cover what is left of a matrix."""
        return float("nan")

    def _of_distances(
        self, answer: DistanceDirection | PairedAreas, tables: Collection[str]
    ) -> DistanceDirection | PairedAreas:
        """Return the answer unchanged: homes were placed to fit a band of distance, so these errors are not stated."""
        return answer

    def _of_miles(self, answer: DistanceDirection | PairedAreas) -> Result:
        """Return the answer unchanged, as for tables of distances."""
        return answer
