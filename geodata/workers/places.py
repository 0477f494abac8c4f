"""Where worker records say that people work and live, as rows of `blocks`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow
import pyarrow.compute

from geodata.errors import SourceFileError
from geodata.geography.elsewhere import UNKNOWN_HOME, states
from geodata.sources.lodes import OTHER_VINTAGE_SHARE
from geodata.workers.columns import DIGITS, PlaceColumn, PlaceUnit
from geodata.workers.file import Fault, WorkerBatch, text_of

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
_Value = TypeVar("_Value", bound=np.generic)
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
        Code of each row's place, as a number; 0 where there is none.
    state : int64[n]
        Its state, as a number.
    good : bool[n]
        Whether a cell holds the code of a place that may exist.
    faults : list of Fault
        Of the other cells.
    """

    number: Ints
    state: Ints
    good: Bools
    faults: list[Fault]


class FoundPlaces(NamedTuple):
    """Row of `blocks` or `tracts` of each wanted place, -1 for the others; whether a place is one; and faults."""

    row: Ints
    good: Bools
    faults: list[Fault]


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
    are_states : bool[100]
        Whether there is a state of this number.
    elsewhere : int64[100]
        Row of `blocks` of each state's elsewhere unit, by its number; -1 if it has none.
    unknown : int
        Row of `blocks` of unknown homes; -1 if nobody can be counted there.
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
    states: Bools
    are_states: Bools
    elsewhere: Ints
    unknown: int
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
        of_state = {int(state): row for state, row in elsewhere.items() if state != UNKNOWN_HOME}
        units[list(of_state)] = list(of_state.values())
        ends = np.searchsorted(blocks["tract_index"].to_numpy(), np.arange(len(tracts) + 1))
        return cls(
            number=number,
            row=row,
            states=inside & (units < 0),
            are_states=inside | np.isin(np.arange(_N_STATES), [int(state) for state in states()]),
            elsewhere=units,
            unknown=elsewhere.get(UNKNOWN_HOME, -1),
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


def read_codes(batch: WorkerBatch, place: PlaceColumn) -> PlaceCodes:
    """Read the codes of a column of places."""
    digits = DIGITS[place.unit]
    column = batch.columns[place.column]
    cells = text_of(column)
    words = cells.dictionary
    if pyarrow.types.is_integer(column.type):
        words = pyarrow.compute.utf8_lpad(words, digits, "0")
    is_code_word = pyarrow.compute.match_substring_regex(words, f"^[0-9]{{{digits}}}$")
    number_of_word = pyarrow.compute.if_else(is_code_word, words, "0").cast(pyarrow.int64()).to_numpy()
    number = look_up(cells, number_of_word, 0)
    is_code = look_up(cells, is_code_word.to_numpy(zero_copy_only=False).astype(np.bool_), False)
    # Codes that stand for no known place, by the record layout, are no faults.
    is_missing = look_up(cells, np.isin(words.to_pylist(), list(place.missing)), "" in place.missing)
    is_blank = blank_cells(cells) & ~is_missing
    faults = [
        *list_faults(batch, place.column, "is blank", is_blank),
        *list_faults(
            batch,
            place.column,
            f"is no code of a {place.unit}, which has {digits} digits; leading zeros may be lost",
            ~is_code & ~is_blank & ~is_missing,
        ),
    ]
    return PlaceCodes(number, number // 10 ** (digits - 2), is_code & ~is_missing, faults)


def look_up(
    cells: pyarrow.DictionaryArray, of_word: npt.NDArray[_Value], missing: object
) -> npt.NDArray[_Value]:
    """What the word of each row's cell stands for; `missing` where there is none."""
    index: Ints = cells.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    values: npt.NDArray[_Value] = np.append(of_word, np.array([missing], dtype=of_word.dtype))
    return values[index]


def blank_cells(cells: pyarrow.DictionaryArray) -> Bools:
    """Whether each row's cell is missing or blank."""
    is_empty = pyarrow.compute.equal(cells.dictionary, "").to_numpy(zero_copy_only=False).astype(np.bool_)
    return look_up(cells, is_empty, True)


def list_faults(batch: WorkerBatch, column: str, reason: str, is_faulty: Bools) -> list[Fault]:
    """The faults of a column for one reason; an empty list if no row has one."""
    rows = np.flatnonzero(is_faulty)
    return [batch.fault(rows, column, reason)] if rows.size else []


def find_places(
    batch: WorkerBatch, place: PlaceColumn, codes: PlaceCodes, wanted: Bools, places: Places
) -> FoundPlaces:
    """Find the wanted places in `blocks` or `tracts`.

    Raises
    ------
    SourceFileError
        So many are not there that the file must be of another vintage.
    """
    is_nowhere = codes.good & ~places.are_states[codes.state]
    wanted = wanted & codes.good & ~is_nowhere
    row = np.where(wanted, places.find(place.unit, codes.number), -1)
    is_lost = wanted & (row < 0)
    n_lost = int(np.count_nonzero(is_lost))
    if n_lost > 1 and n_lost > OTHER_VINTAGE_SHARE * int(np.count_nonzero(wanted)):
        raise SourceFileError(
            f"{batch.file.path}: {place.column}: many codes are not in the crosswalk of {places.vintage} blocks: "
            "probably another vintage; use the crosswalks of the blocks in the file"
        )
    faults = [
        *codes.faults,
        *list_faults(batch, place.column, "is not in the crosswalk of its state", is_lost),
        *list_faults(batch, place.column, "is in no state", is_nowhere),
    ]
    return FoundPlaces(row, codes.good & ~is_lost & ~is_nowhere, faults)


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
