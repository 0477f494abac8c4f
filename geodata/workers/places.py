"""Where worker records say that people work and live, as rows of `blocks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NoReturn

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow
import pyarrow.compute

from geodata.errors import SourceFileError
from geodata.sources.lodes import OTHER_VINTAGE_SHARE, shown_code, why_not_found
from geodata.workers.columns import DIGITS, PlaceColumn, PlaceUnit
from geodata.workers.file import WorkerBatch, text_of

Ints = npt.NDArray[np.int64]
_N_STATES: Final = 100
HOMES_BY_TRACT: Final = (
    "homes are given by tract: each worker is put into a block of the tract, by its residents and a number computed "
    "from the codes of workplace, tract, and segment"
)
WORKPLACES_BY_TRACT: Final = (
    "workplaces are given by tract: each is put into the block nearest to the tract's center"
)


@dataclass(frozen=True, slots=True)
class PlaceCodes:
    """The places that one column names.

    Attributes
    ----------
    number : int64[n]
        Code of each row's place, as a number.
    state : int64[n]
        Its state, as a number.
    """

    number: Ints
    state: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """The imported blocks and tracts.

    Attributes
    ----------
    number : dict of str to int64[]
        Codes of the blocks, and of the tracts, as numbers, ascending.
    row : dict of str to int64[]
        Row of each in `blocks`, or in `tracts`.
    states : bool[100]
        Whether a state has a crosswalk, by its number.
    elsewhere : int64[100]
        Row of `blocks` of each state's elsewhere unit, by its number; -1 if it has none.
    center : int64[tracts]
        The block nearest to each tract's center.
    ends : int64[tracts + 1]
        First block of each tract, and the number of blocks.
    running : int64[blocks + 1]
        Residents of the blocks before each; in a tract without any, its blocks count one each.
    vintage : int
        Of the blocks.
    """

    number: dict[PlaceUnit, Ints]
    row: dict[PlaceUnit, Ints]
    states: npt.NDArray[np.bool_]
    elsewhere: Ints
    center: Ints
    ends: Ints
    running: Ints
    vintage: int

    @classmethod
    def of(cls, tables: dict[str, pandas.DataFrame], elsewhere: dict[str, int], vintage: int) -> Places:
        """Look up the places of a hierarchy.

        Parameters
        ----------
        tables : dict of str to DataFrame
            `blocks` and `tracts`.
        elsewhere : dict of str to int
            Row of `blocks` of each state's elsewhere unit, by state code.
        vintage : int
        """
        blocks, tracts = tables["blocks"], tables["tracts"]
        codes_by_unit = {
            unit: _codes(frame, unit) for unit, frame in (("block", blocks), ("tract", tracts))
        }  # in that order
        number: dict[PlaceUnit, Ints] = {
            "block": codes_by_unit["block"][0],
            "tract": codes_by_unit["tract"][0],
        }
        row: dict[PlaceUnit, Ints] = {"block": codes_by_unit["block"][1], "tract": codes_by_unit["tract"][1]}
        inside = np.zeros(_N_STATES, dtype=bool)
        inside[number["block"] // 10**13] = True
        units = np.full(_N_STATES, -1, dtype=np.int64)
        units[[int(state) for state in elsewhere]] = list(elsewhere.values())
        ends = np.searchsorted(blocks["tract_index"].to_numpy(), np.arange(len(tracts) + 1))
        return cls(
            number=number,
            row=row,
            states=inside & (units < 0),
            elsewhere=units,
            center=center_blocks(blocks, tracts),
            ends=ends.astype(np.int64),
            running=_running_residents(blocks, ends.astype(np.int64)),
            vintage=vintage,
        )

    def find(self, unit: PlaceUnit, number: Ints) -> Ints:
        """Row of each place in `blocks` or `tracts`; -1 if it is not imported."""
        known = self.number[unit]
        place = np.minimum(np.searchsorted(known, number), known.size - 1)
        return np.where(known[place] == number, self.row[unit][place], -1)

    def draw_block(self, tract: Ints, key: npt.NDArray[np.uint64]) -> Ints:
        """Draw a block of each tract by its residents, with a number that stands for the worker."""
        before = self.running[self.ends[tract]]
        residents = self.running[self.ends[tract + 1]] - before
        person = before + (_mix_keys(key) % residents.astype(np.uint64)).astype(np.int64)
        return np.searchsorted(self.running, person, side="right") - 1


def read_codes(batch: WorkerBatch, place: PlaceColumn, *, if_blank: str) -> PlaceCodes:
    """Read the codes of a column of places; `if_blank` is the remedy for a blank cell.

    Raises
    ------
    SourceRowError
        A cell is blank, or does not have the digits of a block's or a tract's code.
    """
    digits = DIGITS[place.unit]
    column = batch.columns[place.column]
    cells = text_of(column)
    words = cells.dictionary
    if pyarrow.types.is_integer(column.type):
        words = pyarrow.compute.utf8_lpad(words, digits, "0")
    good = pyarrow.compute.match_substring_regex(words, f"^[0-9]{{{digits}}}$")
    index = indices_of(batch, cells, place.column, if_blank)
    is_empty = np.asarray(pyarrow.compute.equal(words, "").to_numpy(zero_copy_only=False), dtype=bool)
    _refuse_blank(batch, is_empty[index], place.column, if_blank)
    bad = np.flatnonzero(~np.asarray(good.to_numpy(zero_copy_only=False), dtype=bool))
    if bad.size:
        row = int(np.flatnonzero(np.isin(index, bad))[0])
        batch.refuse(
            row,
            f"{place.column} is no code of a {place.unit}, which has {digits} digits"
            if place.is_home
            else f"{place.column} is {words[index[row]].as_py()!r}, a {place.unit} has {digits} digits",
            "check that leading zeros were kept",
        )
    number = words.cast(pyarrow.int64()).to_numpy()[index]
    return PlaceCodes(number, number // 10 ** (digits - 2))


def indices_of(batch: WorkerBatch, cells: pyarrow.DictionaryArray, column: str, if_blank: str) -> Ints:
    """Position of each row's cell in the dictionary; SourceRowError with this remedy if a cell is missing."""
    _refuse_blank(batch, cells.is_null().to_numpy(zero_copy_only=False), column, if_blank)
    return np.asarray(cells.indices.to_numpy(), dtype=np.int64)


def _refuse_blank(batch: WorkerBatch, is_blank: npt.NDArray[np.bool_], column: str, if_blank: str) -> None:
    rows = np.flatnonzero(is_blank)
    if rows.size:
        batch.refuse(int(rows[0]), f"{column} is blank", if_blank)


def find_places(
    batch: WorkerBatch, place: PlaceColumn, codes: PlaceCodes, wanted: npt.NDArray[np.bool_], places: Places
) -> Ints:
    """Row of `blocks` or `tracts` of each wanted place; the others are -1.

    Raises
    ------
    SourceRowError
        A wanted place is not imported.
    SourceFileError
        So many are not that the file must be of another vintage.
    """
    row = np.where(wanted, places.find(place.unit, codes.number), -1)
    lost = np.flatnonzero((row < 0) & wanted)
    if lost.size:
        _refuse_lost(batch, place, codes, lost, int(wanted.sum()), places.vintage)
    return row


def _refuse_lost(
    batch: WorkerBatch, place: PlaceColumn, codes: PlaceCodes, lost: Ints, n_wanted: int, vintage: int
) -> NoReturn:
    row = int(lost[0])
    code = None if place.is_home else f"{codes.number[row]:0{DIGITS[place.unit]}d}"
    if lost.size > 1 and lost.size > OTHER_VINTAGE_SHARE * n_wanted:
        raise SourceFileError(
            f"{batch.file.path}: {batch.file.place(batch.first_row + row)}: {shown_code(place.column, code)} and many "
            f"more are not in the crosswalk of {vintage} blocks: probably another vintage; use the "
            "crosswalks of the blocks in the file"
        )
    batch.refuse(row, *why_not_found(place.column, code, int(codes.state[row]), "vintage of blocks"))


def _codes(frame: pandas.DataFrame, unit: str) -> tuple[Ints, Ints]:
    row = np.flatnonzero(~frame["elsewhere"].to_numpy(dtype=bool))
    number = frame[f"{unit}_id"].to_numpy(dtype=object)[row].astype(np.int64)
    order = np.argsort(number)
    return number[order], row[order].astype(np.int64)


def center_blocks(blocks: pandas.DataFrame, tracts: pandas.DataFrame) -> Ints:
    """The block nearest to each tract's center; of two, the one with the lower code."""
    tract = blocks["tract_index"].to_numpy()
    lat = tracts["lat_deg"].to_numpy()[tract]
    east = (blocks["lon_deg"].to_numpy() - tracts["lon_deg"].to_numpy()[tract]) * np.cos(np.radians(lat))
    away = np.hypot(east, blocks["lat_deg"].to_numpy() - lat)
    order = np.lexsort((away, tract))
    return order[np.searchsorted(tract[order], np.arange(len(tracts)))].astype(np.int64)


def _running_residents(blocks: pandas.DataFrame, ends: Ints) -> Ints:
    people = blocks["population"].to_numpy(dtype=np.int64)
    running = np.append(0, np.cumsum(people))
    empty = np.diff(running[ends]) == 0
    weight = np.where(np.repeat(empty, np.diff(ends)), 1, people)
    return np.append(0, np.cumsum(weight)).astype(np.int64)


def _mix_keys(key: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scatter keys over all 64-bit numbers, each to another one.

    Source: the finalizer of the generator SplitMix64 (Steele, Lea, and Flood 2014).
    """
    mixed = key.copy()
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)), dtype=np.uint64)
