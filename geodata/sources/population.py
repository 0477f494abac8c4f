"""Public residents: centers of population, block populations, and how populations are spread over blocks.

The Census Bureau's centers of population stop at the block group. A block group's people are spread over its
blocks evenly, in whole persons by largest remainder: every block gets the same number, and the people left over
go one each to the first blocks in order of identifier. Block groups are found by the first twelve digits of the
block's own identifier, which is how the census nests them, whatever tract the crosswalk puts a block in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas

from geodata.errors import SourceFileError, SourceRowError
from geodata.sources.reading import (
    FIRST_DATA_LINE,
    LARGEST,
    TextTable,
    check_codes,
    code_numbers,
    read_header,
    read_table,
)

TRACT_HEADER = ("STATEFP", "COUNTYFP", "TRACTCE", "POPULATION", "LATITUDE", "LONGITUDE")
BLOCK_GROUP_COLUMN = "BLKGRPCE"
BLOCK_COLUMNS = ("block", "block_id", "geoid", "geoid10", "geoid20", "geocode")
PEOPLE_COLUMNS = ("population", "pop", "pop10", "pop20", "pop100")
_DIGITS = {"STATEFP": (2, "state"), "COUNTYFP": (3, "county"), "TRACTCE": (6, "tract")}
_LEVELS = {11: "tract", 12: "block group", 15: "block"}
_WITH_CENTRES = (11, 12)
_BLOCK_DIGITS = 15
_TIMES = 10  # files of one census agree exactly

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Residents:
    """People by unit and centres of tracts, as the population files state them.

    Attributes
    ----------
    counts : dict of int to Series
        People by identifier, by length of identifier (11 tract, 12 block group, 15 block).
    centres : DataFrame
        Population-weighted centres of tracts and block groups by identifier: lon_deg, lat_deg (EPSG:4326).
    files : tuple of TextTable
        The files without their columns, for the record.
    """

    counts: dict[int, pandas.Series]
    centres: pandas.DataFrame
    files: tuple[TextTable, ...]

    def drop_people(self) -> Residents:
        """The same without counts and centres, whose memory is given back."""
        return replace(self, counts={}, centres=self.centres.iloc[:0].copy())


def is_population(header: Sequence[str]) -> bool:
    """Whether a header is that of a population file."""
    names = {name.lower() for name in header}
    centres = {name.lower() for name in TRACT_HEADER} <= names
    return centres or bool(names & set(BLOCK_COLUMNS) and names & set(PEOPLE_COLUMNS))


def read_population(paths: Sequence[Path]) -> Residents:
    """Read population files of any level.

    Raises
    ------
    SourceFileError, SourceRowError
        A column is missing, a code has the wrong length, a number of people is not whole, or a unit occurs twice.
        Nobody lives anywhere, more than 2³¹ − 1 people live there, or two levels differ ten times.
    """
    texts, parts = [], []
    for path in sorted(paths):
        text, part = _read(path)
        texts.append(text.drop_columns())
        parts.append(part)
    counts: dict[int, pandas.Series] = {}
    centres = pandas.DataFrame(
        columns=["lon_deg", "lat_deg"], index=pandas.Index([], dtype="str"), dtype=np.float64
    )
    for digits in _LEVELS:
        of_level = [part for part in parts if part["digits"].iloc[0] == digits]
        if not of_level:
            continue
        people = pandas.concat(of_level)
        _check_twice(people)
        people = people.set_index("unit_id")
        counts[digits] = people["population"]
        if digits in _WITH_CENTRES:
            centres = pandas.concat([centres, people[["lon_deg", "lat_deg"]].dropna()])
    _check_people(counts)
    return Residents(counts, centres, tuple(texts))


def block_population(block_id: pandas.Series, residents: Residents) -> tuple[Ints, str]:
    """People of each block, and one sentence on the source of these numbers.

    Parameters
    ----------
    block_id : Series of str
        Fifteen digits each, all distinct, ascending or not.
    residents : Residents
        The finest level given is used for each block; coarser ones fill in.

    Returns
    -------
    int64[blocks]
        People; each spread unit's total is kept exactly.
    str
        For the notes of the dataset.
    """
    people = np.full(len(block_id), -1, dtype=np.int64)
    number = code_numbers(block_id)
    notes = []
    for digits in sorted(residents.counts, reverse=True):
        unit = number // 10 ** (_BLOCK_DIGITS - digits)
        given = _people_of(unit, residents.counts[digits])
        wanted = np.flatnonzero((people < 0) & ~np.isnan(given))
        if wanted.size:
            people[wanted] = _spread_evenly(number[wanted], unit[wanted], given[wanted])
            how = "as given" if digits == 15 else f"spread evenly from {_LEVELS[digits]}s"
            notes.append(f"{wanted.size:,} blocks {how}")
    missing = int((people < 0).sum())
    if missing == len(people) and residents.counts:
        raise SourceFileError(
            "population files: none has a block of the crosswalks; give those of the imported states"
        )
    if missing == len(people):
        return np.ones(len(people), dtype=np.int64), "no population file: every block counts as one person"
    if missing:
        notes.append(f"{missing:,} blocks in no population file have no people")
    return np.maximum(people, 0), "block population: " + ", ".join(notes)


def _people_of(units: Ints, counts: pandas.Series) -> npt.NDArray[np.float64]:
    """People of each unit; NaN where none are given."""
    known = counts.index.to_numpy(dtype=object).astype(np.int64)
    order = np.argsort(known)
    place = np.minimum(np.searchsorted(known, units, sorter=order), known.size - 1)
    row = order[place]
    return np.where(known[row] == units, counts.to_numpy(np.float64)[row], np.nan)


def _spread_evenly(block: Ints, unit: Ints, people: npt.NDArray[np.float64]) -> Ints:
    order = np.argsort(block)  # the blocks of a unit begin with its digits
    _, first, size = np.unique(unit[order], return_index=True, return_counts=True)
    total = people[order][first].astype(np.int64)
    place = np.arange(order.size) - np.repeat(first, size)
    share = np.repeat(total // size, size) + (place < np.repeat(total % size, size))
    result = np.empty(order.size, dtype=np.int64)
    result[order] = share
    return result


def _read(path: Path) -> tuple[TextTable, pandas.DataFrame]:
    header = read_header(path)
    upper = {name.upper(): name for name in header}
    if "STATEFP" in upper:
        return _read_centres(path, upper)
    block = next((name for name in header if name.lower() in BLOCK_COLUMNS), None)
    people = next((name for name in header if name.lower() in PEOPLE_COLUMNS), None)
    if block is None or people is None:
        raise SourceFileError(
            f"{path}: neither centers of population ({', '.join(TRACT_HEADER)}) nor block populations "
            "(block, population); check that this is a population file"
        )
    text = read_table(path, required=[block], whole=[people])
    part = {"unit_id": check_codes(text, block, 15, "block").to_pandas()}
    return text, _part(text, part, text.column(people).to_numpy())


def _read_centres(path: Path, upper: dict[str, str]) -> tuple[TextTable, pandas.DataFrame]:
    group = [BLOCK_GROUP_COLUMN] if BLOCK_GROUP_COLUMN in upper else []
    column = {name: upper.get(name, name) for name in (*TRACT_HEADER, *group)}
    text = read_table(
        path,
        required=[name for key, name in column.items() if key != "POPULATION"],
        whole=[column["POPULATION"]],
    )
    unit = None
    for name, (digits, meaning) in _DIGITS.items():
        codes = check_codes(text, column[name], digits, meaning).to_pandas()
        unit = codes if unit is None else unit + codes
    if BLOCK_GROUP_COLUMN in upper:
        unit = unit + check_codes(text, column[BLOCK_GROUP_COLUMN], 1, "block group").to_pandas()
    part: dict[str, object] = {
        "unit_id": unit,
        "lon_deg": _degrees(text, column["LONGITUDE"], 180),
        "lat_deg": _degrees(text, column["LATITUDE"], 90),
    }
    return text, _part(text, part, text.column(column["POPULATION"]).to_numpy())


def _part(text: TextTable, columns: dict[str, object], population: npt.NDArray[np.int64]) -> pandas.DataFrame:
    part = pandas.DataFrame(columns)
    part["population"] = population
    part["digits"] = part["unit_id"].str.len()
    part["path"] = str(text.path)
    part["line"] = np.arange(len(part)) + FIRST_DATA_LINE
    return part


def _degrees(text: TextTable, name: str, limit: int) -> npt.NDArray[np.float64]:
    column = text.column(name)
    number = pandas.to_numeric(column.to_pandas(), errors="coerce").to_numpy(np.float64)
    wrong = np.flatnonzero(~(np.abs(number) <= limit))
    if wrong.size:
        cell = column[int(wrong[0])].as_py()
        text.refuse(
            int(wrong[0]), f"{name} is {cell!r}, degrees within ±{limit} are needed", "correct the row"
        )
    return np.asarray(number)


def _check_people(counts: dict[int, pandas.Series]) -> None:
    """Refuse people who cannot be: none at all, more than a store has room for, or ten times another level's."""
    for digits, people in counts.items():
        total = int(people.sum())
        if not 0 < total <= LARGEST:
            raise SourceFileError(
                f"populations of {_LEVELS[digits]}s: {total:,} people in all; give files with 1 to {LARGEST:,} people"
            )
    for coarse, fine in combinations(sorted(counts), 2):
        units = counts[fine].index.str[:coarse]
        both = pandas.DataFrame(
            {"coarse": counts[coarse], "fine": counts[fine].groupby(units).sum()}
        ).dropna()
        both["apart"] = _differ(both)
        states = both.groupby(both.index.str[:2]).agg({"coarse": "sum", "fine": "sum", "apart": "mean"})
        wrong = states[_differ(states) | (states["apart"] > 0.5)]
        for state, coarse_people, fine_people in wrong[["coarse", "fine"]].astype(np.int64).itertuples():
            raise SourceFileError(
                f"populations of {_LEVELS[coarse]}s and {_LEVELS[fine]}s of state {state} differ by a factor of "
                f"{_TIMES} or more ({coarse_people:,} and {fine_people:,} people in the same {_LEVELS[coarse]}s); "
                "give files of one census"
            )


def _differ(both: pandas.DataFrame) -> pandas.Series:
    pair = both[["coarse", "fine"]]
    apart: pandas.Series = pair.max(axis=1) >= _TIMES * pair.min(axis=1).clip(lower=1)
    return apart


def _check_twice(people: pandas.DataFrame) -> None:
    twice = people[people["unit_id"].duplicated()]
    if len(twice):
        row = twice.iloc[0]
        raise SourceRowError(
            f"{row['path']}: line {row['line']}: {_LEVELS[int(row['digits'])]} {row['unit_id']} is "
            "repeated; remove one"
        )
