"""LODES characteristics of places: how many jobs of each kind a block has (WAC), and its residents hold (RAC)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
import numpy.typing as npt
import pandas

from geodata.errors import SourceFileError
from geodata.geography.elsewhere import states
from geodata.json_objects import JsonObject
from geodata.sources.lodes import OTHER_VINTAGE_SHARE, BlockLookup, why_not_found
from geodata.sources.reading import FIRST_DATA_LINE, TextTable, check_codes, read_header, read_table
from geodata.store.schema import AGE_BANDS, CHARACTERISTIC_CODES, CHARACTERISTICS, EARNINGS_BANDS

End = Literal["work", "home"]

TOTAL: Final = "C000"
_SECTORS: Final = (
    "Agriculture, forestry, fishing, and hunting",
    "Mining, quarrying, and oil and gas extraction",
    "Utilities",
    "Construction",
    "Manufacturing",
    "Wholesale trade",
    "Retail trade",
    "Transportation and warehousing",
    "Information",
    "Finance and insurance",
    "Real estate and rental and leasing",
    "Professional, scientific, and technical services",
    "Management of companies and enterprises",
    "Administrative and support and waste management",
    "Educational services",
    "Health care and social assistance",
    "Arts, entertainment, and recreation",
    "Accommodation and food services",
    "Other services (except public administration)",
    "Public administration",
)


@dataclass(frozen=True, slots=True)
class CharacteristicGroup:
    """Classes into which every job falls, or every job of which something is known.

    Attributes
    ----------
    title : str
    codes : tuple of str
        Columns of the file.
    labels : tuple of str
        What each counts.
    """

    title: str
    codes: tuple[str, ...]
    labels: tuple[str, ...]


def _group(
    title: str, prefix: str, labels: Sequence[str], numbers: Sequence[int] = ()
) -> CharacteristicGroup:
    codes = [f"{prefix}{number:02d}" for number in numbers or range(1, len(labels) + 1)]
    return CharacteristicGroup(title, tuple(codes), tuple(labels))


GROUPS: Final = (
    _group("Age", "CA", AGE_BANDS),
    _group("Earnings", "CE", EARNINGS_BANDS),
    _group("Industry (NAICS sector)", "CNS", _SECTORS),
    _group(
        "Race",
        "CR",
        (
            "White alone",
            "Black or African American alone",
            "American Indian or Alaska Native alone",
            "Asian alone",
            "Native Hawaiian or other Pacific Islander alone",
            "Two or more race groups",
        ),
        (1, 2, 3, 4, 5, 7),
    ),
    _group("Ethnicity", "CT", ("Not Hispanic or Latino", "Hispanic or Latino")),
    _group(
        "Education (workers aged 30 or older)",
        "CD",
        (
            "Less than high school",
            "High school or equivalent, no college",
            "Some college or associate degree",
            "Bachelor's degree or advanced degree",
        ),
    ),
    _group("Sex", "CS", ("Male", "Female")),
    _group(
        "Firm age",
        "CFA",
        ("0 to 1 years", "2 to 3 years", "4 to 5 years", "6 to 10 years", "11 or more years"),
    ),
    _group(
        "Firm size",
        "CFS",
        (
            "0 to 19 employees",
            "20 to 49 employees",
            "50 to 249 employees",
            "250 to 499 employees",
            "500 or more employees",
        ),
    ),
)
"""The classes of the files, in their order; a RAC file has no firm age and size.

Source: LODES technical documentation 7.5, file structures RAC and WAC.
"""
_WORK_ONLY: Final = ("CFA", "CFS")
_EVERY_JOB: Final = ("CA", "CE", "CNS")
"""Columns that add up to the total; the others are missing for some years and jobs."""
_GEOCODE: Final[dict[End, str]] = {"work": "w_geocode", "home": "h_geocode"}
_NAME: Final = re.compile(
    r"^[a-z]{2}_(wac|rac)_(?P<segment>S[0AEI]0[0-3])_(?P<job_type>JT\d\d)_(?P<year>\d{4})", re.IGNORECASE
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
    year : int, optional
    job_type : str, optional
        As the file's name says.
    number : int64[N]
        Codes of the blocks, as numbers.
    """

    text: TextTable
    end: End
    state_id: str
    year: int | None
    job_type: str | None
    number: npt.NDArray[np.int64]

    def as_fact(self) -> JsonObject:
        """The file as manifests and certificates list it."""
        return {
            "end": self.end,
            "file": self.text.path.name,
            "job_type": self.job_type,
            "sha256": self.text.sha256,
            "state": self.state_id,
            "year": self.year,
        }


def is_characteristics(header: Sequence[str]) -> bool:
    """Return whether a table with these columns is a WAC or RAC file."""
    names = {name.upper() for name in header}
    return {TOTAL, "CA01", "CNS01"} <= names and bool(names & {"W_GEOCODE", "H_GEOCODE"})


def require_all_workers(path: Path) -> None:
    """Raise SourceFileError if the name of a file says that it is about one segment of workers."""
    named = _NAME.match(path.name)
    if named is not None and named["segment"].upper() != "S000":
        raise SourceFileError(
            f"{path}: characteristics of segment {named['segment'].upper()} only; give the file of all workers (S000)"
        )


def read_characteristics(path: Path) -> CharacteristicsFile:
    """Read and check a WAC or RAC file of any state, year, and version of LODES.

    Raises
    ------
    SourceFileError
        The file cannot be read, is truncated, or lacks a column, or its name says that it is about one segment.
    SourceRowError
        A geocode does not have 15 digits, a count is not whole, age, earnings, or sectors do not add up to the total,
        a block occurs twice, or blocks are in two states.
    """
    require_all_workers(path)
    named = _NAME.match(path.name)
    end: End = "work" if "w_geocode" in _header(path) else "home"
    text = read_table(path, required=[_GEOCODE[end]], whole=_columns(end))
    number = check_codes(text, _GEOCODE[end], 15, "block").cast("int64").to_numpy()
    _check_sums(text)
    _check_blocks(text, number, _GEOCODE[end])
    return CharacteristicsFile(
        text,
        end,
        f"{number[0] // _STATE_UNIT:02d}",
        int(named["year"]) if named else None,
        named["job_type"].upper() if named else None,
        number,
    )


def characteristics_table(
    files: Sequence[CharacteristicsFile], lookup: BlockLookup, state_ids: Sequence[str]
) -> pandas.DataFrame:
    """Put the rows of all files into the table of the schema, by end and block.

    Parameters
    ----------
    files : sequence of CharacteristicsFile
    lookup : BlockLookup
        The imported blocks.
    state_ids : sequence of str
        States with a crosswalk.

    Raises
    ------
    SourceFileError
        Two files are for the same end and state, or a file's state has no crosswalk.
    SourceRowError
        A block is not in the crosswalk.
    """
    seen: dict[tuple[str, str], Path] = {}
    for file in files:
        first = seen.setdefault((file.end, file.state_id), file.text.path)
        if first is not file.text.path:
            raise SourceFileError(
                f"{file.text.path}: a second file of these characteristics of state {file.state_id}, after {first}; "
                "keep one"
            )
        if file.state_id not in state_ids:
            known = states()
            postal = known[file.state_id].postal.lower() if file.state_id in known else "STATE"
            raise SourceFileError(
                f"{file.text.path}: no crosswalk of state {file.state_id} among the files; add {postal}_xwalk.csv.gz"
            )
    parts = [_placed(file, lookup) for file in files]
    table = pandas.concat(parts, ignore_index=True)
    # "work" first.
    order = np.lexsort((table["block_index"].to_numpy(), (table["end"] == "home").to_numpy()))
    placed: pandas.DataFrame = table.iloc[order].reset_index(drop=True)[list(CHARACTERISTICS.columns)]
    return placed


def _placed(file: CharacteristicsFile, lookup: BlockLookup) -> pandas.DataFrame:
    row = lookup.find(file.number)
    lost = np.flatnonzero(row < 0)
    if lost.size:
        geocode = f"{file.number[lost[0]]:015d}"
        if lost.size > 1 and lost.size > OTHER_VINTAGE_SHARE * file.number.size:
            raise SourceFileError(
                f"{file.text.path}: line {lost[0] + FIRST_DATA_LINE}: {_GEOCODE[file.end]} {geocode} and many more are "
                f"not in the crosswalk of {lookup.vintage} blocks: probably another vintage; LODES 7 goes with "
                "tabblk2010 crosswalks, LODES 8 with tabblk2020"
            )
        file.text.refuse(int(lost[0]), *why_not_found(_GEOCODE[file.end], geocode, int(geocode[:2]), "file"))
    columns = _columns(file.end)
    counts = {
        code: file.text.column(code).to_numpy().astype(np.int32) if code in columns else np.int32(0)
        for code in CHARACTERISTIC_CODES
    }
    return pandas.DataFrame({"block_index": row.astype(np.int32), "end": file.end, **counts})


def _header(path: Path) -> set[str]:
    return {name.lower() for name in read_header(path)}


def _columns(end: End) -> list[str]:
    """Columns of counts of a file."""
    return [code for code in CHARACTERISTIC_CODES if end == "work" or not code.startswith(_WORK_ONLY)]


def _check_sums(text: TextTable) -> None:
    total = text.column(TOTAL).to_numpy()
    for group in GROUPS:
        if group.codes[0].removesuffix("01") not in _EVERY_JOB:
            continue
        summed = sum(text.column(code).to_numpy() for code in group.codes)
        wrong = np.flatnonzero(summed != total)
        if wrong.size:
            text.refuse(
                int(wrong[0]),
                f"{group.codes[0]} to {group.codes[-1]} do not add up to {TOTAL}",
                "correct the row or download the file again",
            )


def _check_blocks(text: TextTable, number: npt.NDArray[np.int64], column: str) -> None:
    twice = np.flatnonzero(pandas.Series(number).duplicated().to_numpy())
    if twice.size:
        text.refuse(
            int(twice[0]), f"the block {number[twice[0]]:015d} is repeated", "each block may have one row"
        )
    state = number // _STATE_UNIT
    other = np.flatnonzero(state != state[0])
    if other.size:
        text.refuse(
            int(other[0]),
            f"{column} in state {state[other[0]]:02d}, but the rows above are in {state[0]:02d}",
            "give one file for each state, as published",
        )
