"""Published counts of jobs at the blocks of an area, or of its residents: copied from files of LODES, not drawn."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas

from geodata.geography.elsewhere import postal_in_file_names, state_name
from geodata.json_objects import JsonObject
from geodata.store.characteristic_counts import CharacteristicCounts, SegmentCells
from geodata.store.characteristic_groups import (
    ALL_WORKERS,
    BANDS,
    FILE_KINDS,
    GROUPS,
    TOTAL,
    CharacteristicGroup,
    segments_of,
)
from geodata.store.store import Store
from geodata.text import list_names
from mapapp.answers.analyses.about import Note
from mapapp.answers.analyses.counts import cautions
from mapapp.answers.areas.selection import Selected
from mapapp.answers.published.words import GUIDANCE
from mapapp.base import memory_limits
from mapapp.base.errors import UsageError
from mapapp.base.result_cache import ResultCache
from mapapp.question.fields import Side
from mapapp.question.filters import CHARACTERISTICS, Filters

Ints = npt.NDArray[np.int64]
Blocks = npt.NDArray[np.int32]

NOT_PUBLISHED: Final = "not-published"
"""Code of the note on groups that the files do not have."""
_FILES: Final[dict[Side, str]] = {
    "work": "workplace area characteristics (WAC)",
    "home": "residence area characteristics (RAC)",
}
_HOW: Final = "import them with --public-characteristics or --published, or use lodes --characteristics"
_HOW_ONE: Final = "import it with --public-characteristics or --published, or use lodes --segments"


_TITLES: Final[dict[Side, str]] = {
    "work": "All jobs here, as LODES publishes them",
    "home": "All jobs of residents, as LODES publishes them",
}


class PlaceJobs(NamedTuple):
    """Jobs by block of one code."""

    block: Blocks
    jobs: Blocks


class PlaceCharacteristics:
    """The published counts that a publication has; many have none. Safe to use from several threads."""

    def __init__(self, store: Store) -> None:
        self._counts = CharacteristicCounts.of(store)
        self._kept: ResultCache[SegmentCells] = ResultCache(
            max_size=memory_limits.CHARACTERISTICS_BYTES, size_of=lambda cells: cells.n_bytes
        )

    def of(self, chosen: Selected, side: Side, filters: Filters) -> AreaCounts:
        """Return the published counts of an area.

        Raises
        ------
        UsageError
            The publication has no such counts, a file of them is missing, or the filters are not those of one file.
        """
        return AreaCounts(self, chosen, side, _segments(filters))

    def has(self, side: Side) -> bool:
        """Return whether there is a file about all jobs at blocks, or about all jobs of residents."""
        return bool(self.files(side, ALL_WORKERS))

    @property
    def is_empty(self) -> bool:
        """Whether the publication has no such counts."""
        return not self._counts.files

    def files(self, side: Side, segment: str) -> list[JsonObject]:
        """Return the files of one segment."""
        return self._counts.files_of(side, segment)

    def cells(self, side: Side, segment: str, codes: tuple[str, ...]) -> SegmentCells:
        """Return the counts of some codes that follow each other; kept in memory up to a limit."""
        key = (side, segment, codes)
        return self._kept.get_or_make(key, lambda: self._counts.cells(side, segment, codes))

    def states_of(self, chosen: Selected) -> list[str]:
        """Return the states whose blocks an area has, without those outside the imported area."""
        codes, names = self._state_of
        area_codes = np.unique(codes if chosen.blocks is None else codes[chosen.blocks])
        return sorted(names[code] for code in area_codes.tolist() if code >= 0)

    def inside(self, chosen: Selected, state_ids: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Return which blocks of some states an area has: bool[blocks]."""
        codes, names = self._state_of
        inside = np.isin(codes, [names.index(state) for state in state_ids])
        if chosen.blocks is not None:
            in_area = np.zeros(codes.size, dtype=np.bool_)
            in_area[chosen.blocks] = True
            inside &= in_area
        return inside

    @cached_property
    def _state_of(self) -> tuple[npt.NDArray[np.intp], list[str]]:
        """The place of each block's state in a list, -1 outside the imported area; and the list."""
        blocks = self._counts.store.table("blocks", ["state_id", "elsewhere"])
        codes, names = pandas.factorize(blocks["state_id"])
        return np.where(blocks["elsewhere"], -1, codes), [str(name) for name in names]


class AreaCounts:
    """The published counts of one area, of one or several segments together."""

    def __init__(
        self, places: PlaceCharacteristics, chosen: Selected, side: Side, segments: tuple[str, ...]
    ) -> None:
        self._places, self._side, self.segments = places, side, segments
        if places.is_empty:
            raise UsageError(f"this publication has no counts of LODES characteristics (WAC, RAC); {_HOW}")
        self._states, self._lacking = self._split_covered(places.states_of(chosen))
        self.files = [
            file for name in segments for file in places.files(side, name) if file["state"] in self._states
        ]
        self.inside = places.inside(chosen, self._states)

    @property
    def year(self) -> int | None:
        """Year of the files; None if their names do not say."""
        return next((int(str(file["year"])) for file in self.files if file.get("year")), None)

    @property
    def job_type(self) -> str | None:
        """Job type of the files; None if their names do not say."""
        return next((str(file["job_type"]) for file in self.files if file.get("job_type")), None)

    @property
    def groups(self) -> list[CharacteristicGroup]:
        """The groups that the files have, for these segments."""
        return [group for group in GROUPS if not self.why_not_published(group)]

    def why_not_published(self, group: CharacteristicGroup) -> str:
        """Return why the files do not have a group, in a sentence's words; empty if they have it."""
        # Files have columns of zeros for what they do not publish, so the counts decide, not the columns.
        if group.is_of_every_job or any(self._of(name, group.codes).jobs.size for name in self.segments):
            return ""
        if self.segments == ("SA01",) and group.name == "education":
            return "LODES has this only for workers aged 30 or older"
        return group.why_not_published(self._side, self.year, self.job_type) or "all counts of it are 0"

    def jobs(self, codes: tuple[str, ...] = (TOTAL,)) -> Ints:
        """Return the jobs of each code in the area; codes follow each other."""
        parts = [self._of(name, codes).sum_by_code(self.inside) for name in self.segments]
        summed: Ints = np.sum(parts, axis=0)
        return summed

    def by_block(self, codes: tuple[str, ...], code: str) -> list[PlaceJobs]:
        """Return the blocks in the area that have jobs of a code, and how many, for each segment."""
        jobs = []
        for name in self.segments:
            block, count = self._of(name, codes).blocks_of_code(code)
            is_inside = self.inside[block]
            jobs.append(PlaceJobs(block[is_inside], count[is_inside]))
        return jobs

    def two_way(self) -> dict[tuple[str, str], Ints]:
        """Return the jobs of the area by two of age, earnings, and industry: int64[3, 3] by their names.

        Only pairs of which all three segment files of one are there, for all states. Without filters only.
        """
        tables: dict[tuple[str, str], Ints] = {}
        if self.segments != (ALL_WORKERS,):
            return tables
        names = list(CHARACTERISTICS)
        for place, first in enumerate(names):
            for second in names[place + 1 :]:
                rows = self._across(first, second)
                if rows is None and (columns := self._across(second, first)) is not None:
                    rows = columns.T
                if rows is not None:
                    tables[first, second] = rows
        return tables

    def _across(self, of_files: str, of_columns: str) -> Ints | None:
        """Return the jobs by the segments of one attribute and the columns of another: int64[3, 3]."""
        segments = segments_of(of_files, (1, 2, 3))
        if any(self._first_missing(state, segments) for state in self._states):
            return None
        columns = [BANDS[name].codes for name in segments_of(of_columns, (1, 2, 3))]
        group = next(group for group in GROUPS if columns[0][0] in group.codes)
        rows = []
        for name in segments:
            jobs = dict(
                zip(group.codes, self._of(name, group.codes).sum_by_code(self.inside).tolist(), strict=True)
            )
            rows.append([sum(jobs[code] for code in codes) for codes in columns])
        return np.array(rows, dtype=np.int64)

    @property
    def source(self) -> str:
        """Where the counts are from, in sentences."""
        names = sorted(str(file["file"]) for file in self.files)
        more = f" and {len(names) - 3} more" if len(names) > 4 else ""
        shown = ", ".join(names[:3]) + more if more else list_names(names)
        said = " ".join(["LODES", _FILES[self._side], *([str(self.year)] if self.year else [])])
        jobs = f", job type {self.job_type}" if self.job_type else ""
        return f"Source: {said}{jobs} ({shown}). Counts are copied as published; nothing is drawn."

    @property
    def notes(self) -> tuple[Note, ...]:
        """What must be read with the counts: their source, for whom they are, and what is not there."""
        universes = dict.fromkeys(group.note for group in self.groups if group.note)
        universes = {
            text: None
            for text in universes
            if not any(text != longer and text in longer for longer in universes)
        }
        notes = [Note("published-source", self.source), *(Note("universe", text) for text in universes)]
        reasons: dict[str, list[str]] = {}
        for group in GROUPS:
            if why := self.why_not_published(group):
                reasons.setdefault(why, []).append(group.title.split(" (")[0])
        notes.append(Note("published", GUIDANCE))
        notes += [
            Note(NOT_PUBLISHED, f"{self._not_published(titles)}: {why}.") for why, titles in reasons.items()
        ]
        if self._lacking:
            names = list_names([state_name(state) for state in self._lacking])
            kind = FILE_KINDS[self._side]
            those = "that state" if len(self._lacking) == 1 else "those states"
            what = "Jobs in" if self._side == "work" else "Jobs of residents of"
            text = f"{what} {names} are not counted: there is no {kind} file of {those} here."
            notes.append(Note("no-file", text))
        return tuple(notes)

    def refusal(self, group: CharacteristicGroup) -> str:
        """Return why a group cannot be asked for; empty if it can."""
        why = self.why_not_published(group)
        return (
            f"{self._not_published([group.title.split(' (')[0]])}: {why}; choose another characteristic"
            if why
            else ""
        )

    def _not_published(self, titles: list[str]) -> str:
        titles = [titles[0], *(title[0].lower() + title[1:] for title in titles[1:])]
        verb = "is" if len(titles) == 1 else "are"
        files = " ".join([f"{FILE_KINDS[self._side]} files", *(["of", str(self.year)] if self.year else [])])
        jobs = f" for job type {self.job_type}" if self.job_type else ""
        return f"{list_names(titles)} {verb} not published in {files}{jobs}"

    def _of(self, segment: str, codes: tuple[str, ...]) -> SegmentCells:
        return self._places.cells(self._side, segment, codes)

    def _first_missing(self, state: str, segments: Sequence[str]) -> str:
        """Return the first of some segments of which there is no file of a state; empty if there are all."""
        return next(
            (
                name
                for name in segments
                if not any(file["state"] == state for file in self._places.files(self._side, name))
            ),
            "",
        )

    def _split_covered(self, states: list[str]) -> tuple[list[str], list[str]]:
        """Return the states of the area that have the files, and those that have none.

        Raises
        ------
        UsageError
            No state has them, or a state has only some of them.
        """
        whole = [state for state in states if not self._first_missing(state, [ALL_WORKERS])]
        lacking = {state: name for state in states if (name := self._first_missing(state, self.segments))}
        wrong = [state for state in whole if state in lacking] or (
            states[:1] if len(lacking) == len(states) else []
        )
        if wrong:
            raise UsageError(
                f"{self._file_name(wrong[0], lacking[wrong[0]])} is not in this publication; {_HOW_ONE}"
            )
        if not states:
            raise UsageError("nothing is published by block for this area: it is outside the imported states")
        return [state for state in states if state not in lacking], list(lacking)

    def _file_name(self, state: str, segment: str) -> str:
        """Return the name of a missing file, as LODES spells it."""
        like = next((file for file in self._places.files(self._side, ALL_WORKERS) if file.get("year")), {})
        job_type, year = like.get("job_type") or "JT00", like.get("year") or "YEAR"
        return f"{postal_in_file_names(state)}_{FILE_KINDS[self._side].lower()}_{segment}_{job_type}_{year}.csv.gz"


def class_rows(counts: AreaCounts) -> pandas.DataFrame:
    """Return a row for each class of each group that the files have; shares are within each group.

    Columns: ``attribute``, ``title``, ``code``, ``label``, and worker columns.
    """
    rows: list[tuple[str, str, str, str, int, float]] = []
    for group in counts.groups:
        jobs = counts.jobs(group.codes)
        whole = max(int(jobs.sum()), 1)
        rows += [
            (group.name, group.title, code, label, int(n), n / whole)
            for code, label, n in zip(group.codes, group.labels, jobs.tolist(), strict=True)
        ]
    names = ["attribute", "title", "code", "label", "workers", "share"]
    return add_cautions(pandas.DataFrame(rows, columns=names))


def add_cautions(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Return rows of workers with the last two worker columns: published counts have cautions, but no error of ours."""
    return rows.assign(expected_error=np.nan, caution=cautions(rows["workers"].to_numpy(np.int64)))


class AreaCharacteristics(NamedTuple):
    """All classes of an area's jobs, for the card below its profile; `classes` are those of :func:`class_rows`."""

    title: str
    source: str
    jobs: int
    classes: pandas.DataFrame


def area_characteristics(counts: AreaCounts, side: Side) -> AreaCharacteristics:
    """Return the published classes of all jobs in an area."""
    return AreaCharacteristics(_TITLES[side], counts.source, int(counts.jobs()[0]), class_rows(counts))


def _segments(filters: Filters) -> tuple[str, ...]:
    """Return the segments of files that together have the jobs that filters include.

    Raises
    ------
    UsageError
        No files are about just these jobs.
    """
    if filters.attributes:
        raise UsageError(
            "published counts cannot be filtered by attributes of worker records; filter by age, earnings, or industry"
        )
    kept = {name: tuple(getattr(filters, name)) for name in CHARACTERISTICS if getattr(filters, name)}
    if len(kept) > 1:
        raise UsageError(
            f"published counts are filtered by one of age, earnings, and industry, not by {list_names(list(kept))}; "
            "leave one out"
        )
    return next((segments_of(name, bands) for name, bands in kept.items()), (ALL_WORKERS,))
