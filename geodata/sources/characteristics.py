"""LODES characteristics of places: how many jobs of each kind a block has (WAC), and its residents hold (RAC)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from geodata.errors import SourceFileError
from geodata.geography.elsewhere import postal_in_file_names, state_of_postal
from geodata.json_objects import JsonObject
from geodata.sources.lodes import OTHER_VINTAGE_SHARE, BlockLookup, has_lost_zeros, why_not_found
from geodata.sources.reading import (
    FIRST_DATA_LINE,
    TextTable,
    check_codes,
    read_header,
    read_table,
)
from geodata.store.characteristic_groups import (
    ALL_WORKERS,
    BANDS,
    ENDS,
    FILE_KINDS,
    GROUPS,
    SEGMENTS,
    TOTAL,
    End,
)
from geodata.store.schema import CHARACTERISTIC_CODES, CHARACTERISTIC_COUNTS

_WORK_ONLY: Final = tuple(code for group in GROUPS if group.work_only for code in group.codes)
_GEOCODE: Final[dict[End, str]] = {"work": "w_geocode", "home": "h_geocode"}
_NAME: Final = re.compile(
    r"^(?P<postal>[a-z]{2})_(?P<kind>wac|rac)_(?P<segment>S000|S[AEI]0[1-3])_(?P<job_type>JT\d\d)_(?P<year>\d{4})",
    re.IGNORECASE,
)
_STATE_UNIT: Final = 10**13


@dataclass(frozen=True, slots=True)
class CharacteristicsFile:
    """One WAC or RAC file, checked row by row.

    Attributes
    ----------
    text : TextTable
    end : {"work", "home"}
        Whose characteristics it has: of the jobs at a block (WAC) or of those its residents hold (RAC).
    state_id : str
    segment : str
        Which workers it is about, as its name says: S000 for all, or one band of age, earnings, or industry.
    year : int, optional
    job_type : str, optional
        As the file's name says.
    number : int64[N]
        Codes of the blocks, as numbers.
    """

    text: TextTable
    end: End
    state_id: str
    segment: str
    year: int | None
    job_type: str | None
    number: npt.NDArray[np.int64]

    def as_fact(self) -> JsonObject:
        """The file as manifests and certificates list it."""
        return {
            "end": self.end,
            "file": self.text.path.name,
            "job_type": self.job_type,
            "rows": self.text.rows,
            "segment": self.segment,
            "sha256": self.text.sha256,
            "state": self.state_id,
            "year": self.year,
        }

    def drop_rows(self) -> CharacteristicsFile:
        """The same without its counts, whose memory is given back."""
        return replace(self, text=self.text.drop_columns(), number=self.number[:0].copy())


def is_characteristics(header: Sequence[str]) -> bool:
    """Return whether a table with these columns is a WAC or RAC file."""
    names = {name.upper() for name in header}
    return {TOTAL, "CA01", "CNS01"} <= names and bool(names & {"W_GEOCODE", "H_GEOCODE"})


def read_characteristics(path: Path) -> CharacteristicsFile:
    """Read and check a WAC or RAC file of any state, year, segment, and version of LODES.

    A file may have no rows if its name says what it would be about: LODES publishes those without jobs, too.

    Raises
    ------
    SourceFileError
        The file cannot be read, is truncated, or lacks a column, or its name says WAC but it is RAC, or the reverse.
    SourceRowError
        A geocode does not have 15 digits, a count is not whole, age, earnings, or sectors do not add up to the total,
        a job is not in the segment that the file's name states, a block occurs twice, or blocks are in two states.
    """
    named = _NAME.match(path.name)
    end: End = "work" if "w_geocode" in _header(path) else "home"
    if named is not None and named["kind"].upper() != FILE_KINDS[end]:
        raise SourceFileError(
            f"{path}: named {named['kind'].upper()}, but its column {_GEOCODE[end]} is that of {FILE_KINDS[end]}; "
            "rename it or download it again"
        )
    state = None if named is None else state_of_postal(named["postal"])
    text = read_table(path, required=[_GEOCODE[end]], whole=_columns(end), may_be_empty=state is not None)
    segment = named["segment"].upper() if named else ALL_WORKERS
    lost_zeros = has_lost_zeros(text, _GEOCODE[end])
    number = check_codes(text, _GEOCODE[end], 15, "block", lost_zeros=lost_zeros).cast("int64").to_numpy()
    _check_sums(text, segment)
    _check_blocks(text, number, _GEOCODE[end])
    return CharacteristicsFile(
        text,
        end,
        f"{number[0] // _STATE_UNIT:02d}" if number.size or state is None else state.state_id,
        segment,
        int(named["year"]) if named else None,
        named["job_type"].upper() if named else None,
        number,
    )


def check_characteristics_together(
    files: Sequence[CharacteristicsFile], state_ids: Sequence[str], year: int | None, job_type: str | None
) -> None:
    """Check that files go with each other and with the jobs of an import.

    Parameters
    ----------
    files : sequence of CharacteristicsFile
    state_ids : sequence of str
        States with a crosswalk.
    year, job_type : int and str, or None
        Of the jobs; None if the names of their files do not say.

    Raises
    ------
    SourceFileError
        Two files are of the same end, state, and segment, one is of another year or job type than the jobs or than the
        first file, or a file's state has no crosswalk.
    """
    seen: dict[tuple[str, str, str], Path] = {}
    for file in files:
        path, kind = file.text.path, FILE_KINDS[file.end]
        first = seen.setdefault((file.end, file.state_id, file.segment), path)
        if first is not path:
            raise SourceFileError(
                f"{path}: a second file of these characteristics of state {file.state_id}, after {first}; keep one"
            )
        if file.state_id not in state_ids:
            raise SourceFileError(
                f"{path}: no crosswalk of state {file.state_id} among the files; add "
                f"{postal_in_file_names(file.state_id)}_xwalk.csv.gz"
            )
        if year and file.year and file.year != year:
            raise SourceFileError(
                f"{path}: {kind} of {file.year}, but the jobs are of {year}; give {kind} of {year}"
            )
        if job_type and file.job_type and file.job_type != job_type:
            raise SourceFileError(
                f"{path}: {kind} of job type {file.job_type}, but the jobs are {job_type}; give {kind} of {job_type}"
            )
        year, job_type = year or file.year, job_type or file.job_type


def count_rows(file: CharacteristicsFile, lookup: BlockLookup) -> pandas.DataFrame:
    """Return the counts above 0 of a file with the columns of `schema.CHARACTERISTIC_COUNTS`, by code, then block.

    Parameters
    ----------
    file : CharacteristicsFile
    lookup : BlockLookup
        The imported blocks.

    Raises
    ------
    SourceFileError
        So few blocks are in the crosswalk that the file must be of another vintage.
    SourceRowError
        A block is not in the crosswalk.
    """
    row = _rows_of_blocks(file, lookup)
    order = np.argsort(row, kind="stable")
    block, columns = row[order].astype(np.int32), _columns(file.end)
    counts = [file.text.column(code).to_numpy()[order] for code in columns]
    places = [np.flatnonzero(count) for count in counts]
    code = [CHARACTERISTIC_CODES.index(name) for name in columns]
    sizes = [place.size for place in places]
    return pandas.DataFrame(
        {
            "end": np.full(sum(sizes), ENDS.index(file.end), dtype=np.int8),
            "segment": np.full(sum(sizes), SEGMENTS.index(file.segment), dtype=np.int8),
            "code": np.repeat(np.array(code, dtype=np.int8), sizes),
            "block_index": np.concatenate([block[place] for place in places]),
            "count": np.concatenate(
                [count[place].astype(np.int32) for count, place in zip(counts, places, strict=True)]
            ),
        }
    )


def counts_table(parts: Sequence[pandas.DataFrame]) -> pandas.DataFrame:
    """Put the counts of several files together, sorted as the schema says."""
    return pandas.concat(list(_merge_parts(parts)), ignore_index=True)[list(CHARACTERISTIC_COUNTS.columns)]


def _merge_parts(parts: Sequence[pandas.DataFrame]) -> Iterator[pandas.DataFrame]:
    """Yield the counts of each end and segment; only those are sorted that several states have."""
    keyed = [(tuple(part[["end", "segment"]].iloc[0]), part) for part in parts if len(part)]
    keyed.sort(key=lambda entry: entry[0])
    for _, same in groupby(keyed, key=lambda entry: entry[0]):
        several = [part for _, part in same]
        if len(several) == 1:
            yield several[0]
            continue
        whole = pandas.concat(several, ignore_index=True)
        yield whole.iloc[np.lexsort((whole["block_index"], whole["code"]))]
    if not keyed:
        yield pandas.DataFrame(
            {name: np.empty(0, dtype=kind) for name, kind in CHARACTERISTIC_COUNTS.columns.items()}
        )


def _rows_of_blocks(file: CharacteristicsFile, lookup: BlockLookup) -> npt.NDArray[np.int64]:
    row = lookup.find(file.number)
    lost = np.flatnonzero(row < 0)
    if lost.size:
        geocode = f"{file.number[lost[0]]:015d}"
        if lost.size > 1 and lost.size > OTHER_VINTAGE_SHARE * file.number.size:
            raise SourceFileError(
                f"{file.text.path}: line {lost[0] + FIRST_DATA_LINE}: {_GEOCODE[file.end]} {geocode} and many more are "
                f"not in the crosswalk of {lookup.vintage} blocks: {FILE_KINDS[file.end]} of another vintage; "
                "LODES 7 goes with tabblk2010 crosswalks, LODES 8 with tabblk2020"
            )
        file.text.refuse(int(lost[0]), *why_not_found(_GEOCODE[file.end], geocode, int(geocode[:2]), "file"))
    return row


def _header(path: Path) -> set[str]:
    return {name.lower() for name in read_header(path)}


def _columns(end: End) -> list[str]:
    """Columns of counts of a file."""
    return [code for code in CHARACTERISTIC_CODES if end == "work" or code not in _WORK_ONLY]


def _check_sums(text: TextTable, segment: str) -> None:
    total = text.column(TOTAL).to_numpy()
    for codes in (group.codes for group in GROUPS if group.is_of_every_job):
        _check_sum(text, total, codes, f"{codes[0]} to {codes[-1]} do not add up to {TOTAL}")
    if segment in BANDS:
        codes = BANDS[segment].codes
        _check_sum(text, total, codes, f"named {segment}, but {', '.join(codes)} do not add up to {TOTAL}")


def _check_sum(text: TextTable, total: npt.NDArray[np.int64], codes: Sequence[str], problem: str) -> None:
    wrong = np.flatnonzero(sum(text.column(code).to_numpy() for code in codes) != total)
    if wrong.size:
        text.refuse(int(wrong[0]), problem, "correct the row or download the file again")


def _check_blocks(text: TextTable, number: npt.NDArray[np.int64], column: str) -> None:
    twice = np.flatnonzero(pandas.Series(number).duplicated().to_numpy())
    if twice.size:
        text.refuse(
            int(twice[0]), f"the block {number[twice[0]]:015d} is repeated", "each block may have one row"
        )
    state = number // _STATE_UNIT
    elsewhere = np.flatnonzero(state != state[:1])
    if elsewhere.size:
        text.refuse(
            int(elsewhere[0]),
            f"{column} in state {state[elsewhere[0]]:02d}, but the rows above are in {state[0]:02d}",
            "give one file for each state, as published",
        )
