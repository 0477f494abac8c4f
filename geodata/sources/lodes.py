"""LODES origin-destination files: jobs by home and workplace, with margins by age, earnings, and industry.

A nation has more than a hundred million pairs of blocks. So a file's rows are kept in narrow columns once it has been
read: 16 bytes a pair and 9 a segment of it with jobs, then 13 for each workplace, home, and segment (`placed_jobs`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow.compute

from geodata.errors import SourceFileError
from geodata.geography.elsewhere import state_of_postal, states
from geodata.importing.assigned_segments import AssignedSegments, Margins, measure_assigned
from geodata.sources.placed_jobs import PlacedJobs, sort_by_workplace
from geodata.sources.reading import (
    FIRST_DATA_LINE,
    TextTable,
    check_codes,
    code_numbers,
    read_table,
)
from geodata.sources.segments import Ints, joint_counts
from geodata.store.schema import N_SEGMENTS

AGE = ("SA01", "SA02", "SA03")
EARNINGS = ("SE01", "SE02", "SE03")
INDUSTRY = ("SI01", "SI02", "SI03")
COUNTS = ("S000", *AGE, *EARNINGS, *INDUSTRY)
HOME = "h_geocode"
HEADER = ("w_geocode", HOME, *COUNTS)
_STATE_UNIT = 10**13  # a block's number divided by this is its state's
OTHER_VINTAGE_SHARE = 0.2
"""Share of unknown blocks from which on a file is probably of another vintage."""
_ROWS_AT_ONCE = 500_000
_NOT_MEASURED = AssignedSegments(0, 0, 0, 0, 0, 0)
OD_NAME = re.compile(
    r"^(?P<postal>[a-z]{2})_od_(?P<part>main|aux)_((?P<job_type>JT\d\d)_(?P<year>\d{4}))?", re.IGNORECASE
)
"""Begin of the name of an OD file; it may not state its job type and year."""


@dataclass(frozen=True, slots=True)
class OdFile:
    """One OD file, checked row by row.

    Attributes
    ----------
    text : TextTable
        The file without its columns.
    state_id : str
        Of the workplaces.
    main : bool
        Whether the file has the homes in that state; an aux file has the homes in all other states.
    counts_commuters : bool
        Whether the file has the workers who commute into the state: an aux file does, even without rows.
    work, home : int64[N]
        Block identifiers as numbers.
    pair : int32[R]
        Row of `work` and `home`, rising: one row for each segment of a pair with jobs.
    segment : int8[R]
        Joint segment.
    count : int32[R]
        Jobs.
    by_home_state : int64[100]
        Jobs by the number of the home's state.
    totals : int64[10]
        Jobs of all pairs by column of `COUNTS`.
    assigned : AssignedSegments
        How far its joint segments had to be assigned. Confidential.
    lost_zeros : bool
        Whether its codes had lost the zero of their state, which was put back.
    """

    text: TextTable
    state_id: str
    main: bool
    counts_commuters: bool
    work: Ints
    home: Ints
    pair: npt.NDArray[np.int32]
    segment: npt.NDArray[np.int8]
    count: npt.NDArray[np.int32]
    by_home_state: Ints
    totals: Ints
    assigned: AssignedSegments
    lost_zeros: bool = False

    def drop_rows(self) -> OdFile:
        """The same without its pairs and jobs, whose memory is given back."""
        return replace(
            self,
            work=self.work[:0].copy(),
            home=self.home[:0].copy(),
            pair=self.pair[:0].copy(),
            segment=self.segment[:0].copy(),
            count=self.count[:0].copy(),
        )


@dataclass(frozen=True, slots=True)
class BlockLookup:
    """Block identifiers as numbers, ascending, and the row of `blocks` of each."""

    number: Ints
    row: Ints
    vintage: int

    @classmethod
    def of(cls, blocks: pandas.DataFrame, vintage: int) -> BlockLookup:
        """Lookup over the blocks that are not elsewhere units."""
        row = np.flatnonzero(~blocks["elsewhere"].to_numpy(dtype=bool))
        number = code_numbers(blocks["block_id"])[row]
        order = np.argsort(number)
        return cls(number[order], row[order].astype(np.int64), vintage)

    def find(self, number: Ints) -> Ints:
        """Row of `blocks` of each; -1 if the block is not in the table."""
        place = np.minimum(np.searchsorted(self.number, number), self.number.size - 1)
        return np.where(self.number[place] == number, self.row[place], -1)


def read_od(path: Path, *, is_published: bool = False) -> OdFile:
    """Read and check one OD file, LODES 5, 7 or 8; of published counts, `assigned` is not measured.

    Raises
    ------
    SourceFileError
        The file cannot be read, is truncated, lacks a column, or has no rows and is not named as the aux file of a
        state.
    SourceRowError
        A geocode does not have 15 digits, a count is not whole, margins do not add up, a pair of blocks occurs twice,
        or workplaces are in two states.
    """
    empty_of = _state_of_aux(path)
    text = read_table(path, required=HEADER[:2], whole=COUNTS, may_be_empty=empty_of is not None)
    if empty_of is not None and not text.rows:
        return _make_empty_aux(text, empty_of)
    lost_zeros = has_lost_zeros(text, HEADER[0])
    work, home = (
        check_codes(text, name, 15, "block", quoted=name != HOME, lost_zeros=lost_zeros)
        .cast("int64")
        .to_numpy()
        for name in HEADER[:2]
    )
    counts = np.column_stack([text.column(name).to_numpy().astype(np.int32) for name in COUNTS])
    _check_margins(text, counts)
    _check_pairs(text, work, home)
    state = work // _STATE_UNIT
    elsewhere = np.flatnonzero(state != state[0])
    if elsewhere.size:
        text.refuse(
            int(elsewhere[0]),
            f"workplace in state {state[elsewhere[0]]:02d}, but the rows above are in {state[0]:02d}",
            "give one file for each state of work, as published",
        )
    is_inside = home // _STATE_UNIT == state[0]
    by_home_state = np.bincount(home // _STATE_UNIT, weights=counts[:, 0], minlength=100)  # exact below 2**53
    totals = counts.sum(axis=0, dtype=np.int64)
    margins = Margins(work, _turn(work, home), counts[:, 1:])
    assigned = _NOT_MEASURED if is_published else measure_assigned(margins)
    text = text.drop_columns()  # the largest states have fourteen million rows
    parts = [
        _split_by_segment(
            counts[n : n + _ROWS_AT_ONCE], work[n : n + _ROWS_AT_ONCE], home[n : n + _ROWS_AT_ONCE], n
        )
        for n in range(0, work.size, _ROWS_AT_ONCE)
    ]
    pair, segment, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return OdFile(
        text,
        f"{state[0]:02d}",
        main=bool(is_inside.any()),
        counts_commuters=not is_inside.all(),
        work=work,
        home=home,
        pair=pair,
        segment=segment,
        count=count,
        by_home_state=by_home_state.astype(np.int64),
        totals=totals,
        assigned=assigned,
        lost_zeros=lost_zeros,
    )


def has_lost_zeros(text: TextTable, column: str) -> bool:
    """Return whether every block code of one state lacks its zero, as after a spreadsheet took codes for numbers.

    Only codes of the states 01 to 09 lose one. A code of 14 digits may also lack its last digit, so if the name of the
    file says the state, the codes must be of it.
    """
    codes = text.column(column)
    if not pyarrow.compute.all(pyarrow.compute.match_substring_regex(codes, "^[1-9][0-9]{13}$")).as_py():
        return False
    named = state_of_postal(text.path.name.partition("_")[0])
    return named is None or named.state_id == f"0{codes[0].as_py()[0]}"


def _state_of_aux(path: Path) -> str | None:
    """Code of the state of which a file is the aux file by its name; None if the name does not say so."""
    match = OD_NAME.match(path.name)
    state = state_of_postal(match["postal"]) if match and match["part"].lower() == "aux" else None
    return state.state_id if state else None


def _make_empty_aux(text: TextTable, state_id: str) -> OdFile:
    """An aux file with a header and no rows: nobody commutes into the state."""
    none = np.zeros(0, dtype=np.int64)
    return OdFile(
        text.drop_columns(),
        state_id,
        main=False,
        counts_commuters=True,
        work=none,
        home=none,
        pair=none.astype(np.int32),
        segment=none.astype(np.int8),
        count=none.astype(np.int32),
        by_home_state=np.zeros(100, dtype=np.int64),
        totals=np.zeros(len(COUNTS), dtype=np.int64),
        assigned=_NOT_MEASURED,
    )


def check_together(files: Sequence[OdFile]) -> tuple[int | None, str | None]:
    """Year and job type according to the names of the files; None if no name says.

    Raises
    ------
    SourceFileError
        The files differ in year or job type, two are of the same kind and state, two have the workers of a state who
        live in others, or no main file is given.
    """
    stated: dict[str, tuple[str, OdFile]] = {}
    kinds: dict[tuple[str, bool], OdFile] = {}
    for file in files:
        twin = kinds.setdefault((file.state_id, file.main), file)
        if twin is not file:
            kind = "main" if file.main else "aux"
            raise SourceFileError(
                f"{file.text.path}: a second OD {kind} file of state {file.state_id}, after {twin.text.path}; keep one"
            )
        match = OD_NAME.match(file.text.path.name)
        for key in ("job_type", "year"):
            value = match[key] if match else None
            if value is None:
                continue
            before, first = stated.setdefault(key, (value.upper(), file))
            if before != value.upper():
                raise SourceFileError(
                    f"{file.text.path}: {key.replace('_', ' ')} {value}, but {first.text.path} has {before}; "
                    "import one year and job type at a time"
                )
    _check_commuters_once(files)
    if not any(file.main for file in files):
        raise SourceFileError(
            f"{files[0].text.path if files else 'no OD file given'}: no OD main file among the files; "
            "add STATE_od_main_JT00_YEAR.csv.gz"
        )
    year = stated.get("year")
    job_type = stated.get("job_type")
    return int(year[0]) if year else None, job_type[0] if job_type else None


def _check_commuters_once(files: Sequence[OdFile]) -> None:
    """Refuse a main file with the workers who live in other states beside an aux file, which has them again."""
    whole = {file.state_id: file for file in files if file.main and file.counts_commuters}
    for file in files:
        if not file.main and file.text.rows and file.state_id in whole:
            raise SourceFileError(
                f"{file.text.path}: an OD aux file of state {file.state_id}, but {whole[file.state_id].text.path} has "
                "workers who live in other states, too; they would count twice, so keep one of the files"
            )


def place_jobs(file: OdFile, lookup: BlockLookup, elsewhere: dict[int, int]) -> PlacedJobs:
    """Jobs of one file by row of `blocks` and joint segment, sorted by workplace: one row for each count above zero.

    Parameters
    ----------
    file : OdFile
        Of a state with an imported crosswalk.
    lookup : BlockLookup
        The imported blocks.
    elsewhere : dict of int to int
        Row of each state's elsewhere unit, by state number.

    Raises
    ------
    SourceRowError
        A block of an imported state that is not in the crosswalk.
    SourceFileError
        So few blocks are in the crosswalk that the file must be of the other vintage.
    """
    destination = _find_rows(file, "w_geocode", file.work, lookup, np.ones(file.work.size, dtype=bool))
    unit = np.full(100, -1, dtype=np.int64)
    unit[list(elsewhere)] = list(elsewhere.values())
    origin = unit[file.home // _STATE_UNIT]
    here = origin < 0
    origin[here] = _find_rows(file, "h_geocode", file.home, lookup, here)[here]
    return sort_by_workplace(
        destination.astype(np.int32)[file.pair],
        origin.astype(np.int32)[file.pair],
        file.segment,
        file.count,
    )


def _split_by_segment(
    counts: npt.NDArray[np.int32], work: Ints, home: Ints, first: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8], npt.NDArray[np.int32]]:
    """Pair, joint segment, and count of the jobs of some pairs, the first of which has the number `first`."""
    single, several = (np.flatnonzero(counts[:, 0] == 1), np.flatnonzero(counts[:, 0] > 1))
    # Most pairs have one job, whose margins say its segment.
    known = _place_of_job(counts[single, 1:4]) * 9 + _place_of_job(counts[single, 4:7]) * 3
    known += _place_of_job(counts[single, 7:10])
    age, earnings, industry = (counts[several, 1 + 3 * k : 4 + 3 * k].astype(np.int64) for k in range(3))
    joint = joint_counts(age, earnings, industry, _turn(work[several], home[several]))
    joint = joint.reshape(-1, N_SEGMENTS).astype(np.int32)
    row, segment = np.nonzero(joint)
    pair = np.concatenate([single, several[row]])
    order = np.argsort(pair, kind="stable")
    return (
        (pair[order] + first).astype(np.int32),
        np.concatenate([known, segment]).astype(np.int8)[order],
        np.concatenate([np.ones(single.size, dtype=np.int32), joint[row, segment]])[order],
    )


def _turn(work: Ints, home: Ints) -> Ints:
    """What decides ties: block numbers are public, and the result does not depend on the order of the rows."""
    return work % 10_000 + home % 10_000


def _place_of_job(margin: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Position 0..2 of the one job in each row of a margin, int32[R, 3]."""
    return np.asarray(margin[:, 1] + 2 * margin[:, 2])


def _check_margins(text: TextTable, counts: npt.NDArray[np.int32]) -> None:
    for position, names in enumerate((AGE, EARNINGS, INDUSTRY)):
        total = counts[:, 1 + 3 * position : 4 + 3 * position].sum(axis=1, dtype=np.int64)
        wrong = np.flatnonzero(total != counts[:, 0])
        if wrong.size:
            row = int(wrong[0])
            text.refuse(
                row,
                f"{' + '.join(names)} is not S000, but the margins must add up to the total",
                "correct the row or download the file again",
            )


def _check_pairs(text: TextTable, work: Ints, home: Ints) -> None:
    twice = np.flatnonzero(pandas.DataFrame({"w": work, "h": home}).duplicated().to_numpy())
    if twice.size:
        row = int(twice[0])
        text.refuse(
            row,
            f"the pair of w_geocode and {HOME} is repeated",
            "each pair of blocks may have one row; merge the two",
        )


def _find_rows(
    file: OdFile, column: str, number: Ints, lookup: BlockLookup, wanted: npt.NDArray[np.bool_]
) -> Ints:
    row = lookup.find(number)
    lost = np.flatnonzero((row < 0) & wanted)
    if lost.size:
        _refuse_lost(file, column, number, lost, int(wanted.sum()), lookup.vintage)
    return row


def _refuse_lost(
    file: OdFile, column: str, number: Ints, lost: npt.NDArray[np.int64], n_wanted: int, vintage: int
) -> NoReturn:
    code = None if column == HOME else f"{number[lost[0]]:015d}"
    if lost.size > 1 and lost.size > OTHER_VINTAGE_SHARE * n_wanted:
        raise SourceFileError(
            f"{file.text.path}: line {lost[0] + FIRST_DATA_LINE}: {shown_code(column, code)} and many more are "
            f"not in the crosswalk of {vintage} blocks: probably another vintage; LODES 7 goes with tabblk2010 "
            "crosswalks, LODES 8 with tabblk2020"
        )
    file.text.refuse(int(lost[0]), *why_not_found(column, code, number[lost[0]] // _STATE_UNIT, "file"))


def shown_code(column: str, code: str | None) -> str:
    """A column and its code in a message; without the code, None, if it is a home, which is confidential."""
    return column if code is None else f"{column} {code}"


def why_not_found(column: str, code: str | None, state: int, source: str) -> tuple[str, str]:
    """Say why a code, None for a home, is not among the imported places, and what to do about it."""
    shown = shown_code(column, code)
    if f"{state:02d}" not in states():
        if code is not None:
            return f"{shown} is in no state ({state:02d})", "correct the row"
        # Numbers of workers are published, so a worker who lives abroad must not be left out.
        return (
            f"{shown} is in no state",
            "correct the code; for a home abroad, give one of the nearest state, and leave nobody out",
        )
    return (
        f"{shown} is not in the crosswalk of its state",
        f"use the crosswalk published with this {source}",
    )
