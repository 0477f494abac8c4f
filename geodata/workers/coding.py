"""Worker records as numbers: one batch of a file at a time."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from geodata.errors import SourceFileError
from geodata.geography.elsewhere import UNKNOWN_HOME
from geodata.store.schema import segment_code
from geodata.workers.columns import Bands, CodedColumn, Values, WorkerColumns
from geodata.workers.file import Fault, WorkerBatch, text_of
from geodata.workers.persons import PersonJobs
from geodata.workers.places import (
    Bools,
    FoundPlaces,
    Ints,
    PlaceCodes,
    Places,
    blank_cells,
    find_places,
    list_faults,
    look_up,
    read_codes,
)
from geodata.workers.schema import Never, WorkerSchema, never_in_words

_NUMBER = r"^[+-]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})$"
_AMOUNT = r"\$?\s*(?P<{}>[0-9]{{1,3}}(,[0-9]{{3}})*(\.[0-9]{{1,18}})?|[0-9]{{1,18}}(\.[0-9]{{1,18}})?)"
_RANGE: Final = re.compile(
    _AMOUNT.format("low") + r"\s*((?P<open>\+|or more|and over)|(-|–|to)\s*" + _AMOUNT.format("high") + ")?"
)
_SHOWN_CODES = 8
_N_STATES: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedBatch:
    """The workers of one batch.

    Attributes
    ----------
    columns : dict of str to array
        Columns of `workers` but for numbers of jobs, for those whose workplace is imported and who have no fault but
        one of the home.
    persons : uint64[n] or None
        Hashes of whose jobs they are.
    n_elsewhere : int64[100]
        How many of them live in each state that is not imported, by its number, or have no known home.
    n_between : int64[100, 100]
        Workers by state of work and of home, also those whose workplace is not imported.
    n_left_out : int
        Rows without a fault whose workplace is not imported.
    n_dropped : int
        Rows with a fault other than one of the home.
    faults : list of Fault
        All faults.
    """

    columns: dict[str, npt.NDArray[np.generic]]
    persons: npt.NDArray[np.uint64] | None
    n_elsewhere: Ints
    n_between: Ints
    n_left_out: int
    n_dropped: int
    faults: list[Fault]


def code_batch(
    batch: WorkerBatch,
    columns: WorkerColumns,
    places: Places,
    work_states: Bools,
    person_jobs: PersonJobs | None = None,
) -> CodedBatch:
    """Check every cell of a batch and turn its rows into columns of `workers`.

    Parameters
    ----------
    batch : WorkerBatch
    columns : WorkerColumns
    places : Places
        The imported blocks and tracts.
    work_states : bool[100]
        States whose workplaces are imported, by number.
    person_jobs : PersonJobs, optional
        Where the schema names a column of persons.

    Raises
    ------
    SourceFileError
        The file is of another vintage, or somebody commutes in where the domain ends at the border.
    """
    work_codes, home_codes = (read_codes(batch, place) for place in (columns.workplace, columns.home))
    _refuse_commuters(batch, columns, home_codes, places)
    work = find_places(batch, columns.workplace, work_codes, work_states[work_codes.state], places)
    home = find_places(batch, columns.home, home_codes, places.elsewhere[home_codes.state] < 0, places)
    coded, faults = _read_attributes(batch, columns)
    jobs = _job_codes(coded, columns)
    is_good = work.good & np.logical_and.reduce([position >= 0 for position in coded.values()])
    persons = None if columns.person is None else text_of(batch.columns[columns.person])
    if persons is not None and columns.person is not None:
        is_nobody = blank_cells(persons)
        is_good &= ~is_nobody
        faults += list_faults(batch, columns.person, "is blank", is_nobody)
    faults += _forbidden(batch, columns.schema, jobs, coded, is_good)
    if places.unknown < 0:  # with --residents-only nobody can be counted as living anywhere else
        is_good &= home.good
    kept = is_good & work_states[work_codes.state]
    home_state = np.where(home.good, home_codes.state, int(UNKNOWN_HOME))
    destination = places.center[work.row] if columns.workplace.unit == "tract" else work.row
    origin = _origins(columns, work_codes, home_codes, home, jobs, places)
    table: dict[str, npt.NDArray[np.generic]] = {
        "destination_index": destination[kept].astype(np.int32),
        "origin_index": origin[kept].astype(np.int32),
        **{name: codes[kept].astype(np.int8) for name, codes in jobs.items()},
        **{name: coded[name][kept].astype(np.int16) for name in columns.schema.domains},
    }
    is_away = ~home.good | (places.elsewhere[home_codes.state] >= 0)
    between = np.bincount((work_codes.state * _N_STATES + home_state)[is_good], minlength=_N_STATES**2)
    return CodedBatch(
        columns=table,
        persons=None if persons is None or person_jobs is None else person_jobs.hashes(persons, kept),
        n_elsewhere=np.bincount(home_state[kept & is_away], minlength=_N_STATES).astype(np.int64),
        n_between=between.reshape(_N_STATES, _N_STATES).astype(np.int64),
        n_left_out=int(np.count_nonzero(is_good & ~kept)),
        n_dropped=int(np.count_nonzero(~is_good)) + len(batch.ragged),
        faults=[*_ragged(batch), *work.faults, *home.faults, *faults],
    )


def _origins(
    columns: WorkerColumns,
    work_codes: PlaceCodes,
    home_codes: PlaceCodes,
    home: FoundPlaces,
    jobs: Mapping[str, Ints],
    places: Places,
) -> Ints:
    """Row of `blocks` of each home: its own, one drawn in its tract, that of its state, or that of unknown homes."""
    row = np.maximum(home.row, 0)
    if columns.home.unit == "tract":
        row = places.draw_block(row, _worker_key(work_codes.number, home_codes.number, jobs))
    unit = places.elsewhere[home_codes.state]
    return np.where(home.good, np.where(unit < 0, row, unit), places.unknown)


def _ragged(batch: WorkerBatch) -> list[Fault]:
    if not batch.ragged:
        return []
    reason = f"the line has more or fewer cells than the header, which has {len(batch.file.header)}"
    return [Fault("(line)", reason, batch.ragged, ("",) * len(batch.ragged))]


def _refuse_commuters(batch: WorkerBatch, columns: WorkerColumns, home: PlaceCodes, places: Places) -> None:
    """Refuse homes in another state where the domain ends at the border."""
    if (places.elsewhere >= 0).any():
        return
    if (home.good & places.are_states[home.state] & ~places.states[home.state]).any():
        raise SourceFileError(
            f"{batch.file.path}: {columns.home.column} is in another state, but with --residents-only nobody may live "
            "there; leave out --residents-only, if the file has all who commute in"
        )


def _job_codes(coded: Mapping[str, Ints], columns: WorkerColumns) -> dict[str, Ints]:
    """Codes 1 to 3 of age, earnings, and industry, read or derived."""
    derived = columns.schema.derived_from
    jobs: dict[str, Ints] = {}
    for name in ("age", "earnings", "industry"):
        if name in derived:
            source = derived[name]
            jobs[name] = np.array(source.derives[name], dtype=np.int64)[coded[source.name]]
        else:
            jobs[name] = coded[name] + 1
    return jobs


def _forbidden(
    batch: WorkerBatch,
    schema: WorkerSchema,
    jobs: Mapping[str, Ints],
    coded: Mapping[str, Ints],
    is_good: Bools,
) -> list[Fault]:
    """Rows with a combination that the schema says never occurs, which are then no longer good."""
    faults = list[Fault]()
    for number, never in enumerate(schema.never, 1):
        rows = np.flatnonzero(is_good & _has_combination(never, schema, jobs, coded))
        if rows.size:
            reason = f"{never_in_words(never)}: never, combination {number} of the schema"
            numbers = tuple(batch.numbers[rows].tolist())
            faults.append(Fault(" and ".join(never), reason, numbers, (never_in_words(never),) * rows.size))
            is_good[rows] = False
    return faults


def _has_combination(
    never: Never, schema: WorkerSchema, jobs: Mapping[str, Ints], coded: Mapping[str, Ints]
) -> npt.NDArray[np.bool_]:
    """Whether each row has one of the codes in all attributes of a combination."""
    has_all: list[npt.NDArray[np.bool_]] = []
    for name, codes in never.items():
        known = schema.codes_of(name) or ()
        position = jobs[name] - 1 if name in jobs else coded[name]
        has_all.append(np.isin(position, [known.index(code) for code in codes]))
    return np.asarray(np.logical_and.reduce(has_all), dtype=np.bool_)


def _worker_key(work: Ints, home: Ints, jobs: Mapping[str, Ints]) -> npt.NDArray[np.uint64]:
    segment = segment_code(jobs["age"], jobs["earnings"], jobs["industry"])
    parts = (work, home, segment)
    key = np.zeros(work.size, dtype=np.uint64)
    for part in parts:
        key = (key ^ part.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return key


def _read_attributes(batch: WorkerBatch, columns: WorkerColumns) -> tuple[dict[str, Ints], list[Fault]]:
    """Position of each row's value in every attribute, -1 where a cell has none; and the faults."""
    coded, faults = dict[str, Ints](), list[Fault]()
    for column in columns.coded:
        position, is_blank = _positions(batch, column)
        coded[column.name] = position
        expected = _expected(column)
        faults += list_faults(
            batch, column.column, f"is blank; it must be {expected}", (position < 0) & is_blank
        )
        faults += list_faults(batch, column.column, f"is not {expected}", (position < 0) & ~is_blank)
    return coded, faults


def _positions(batch: WorkerBatch, column: CodedColumn) -> tuple[Ints, Bools]:
    """Position of each row's value, -1 where the cell has none; and whether the cell is blank."""
    cells = batch.columns[column.column]
    if isinstance(column.coder, Bands) and _is_number(cells.type):
        numbers = cells.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)  # null becomes NaN
        return _band(numbers, column.coder), cells.is_null().to_numpy(zero_copy_only=False)
    text = text_of(cells)
    of_word = (
        _value_of_words(text.dictionary, column.coder)
        if isinstance(column.coder, Values)
        else _band_of_words(text.dictionary, column.coder)
    )
    return look_up(text, of_word, -1), blank_cells(text)


def _expected(column: CodedColumn) -> str:
    if isinstance(column.coder, Values):
        return f"one of the codes of {column.name}: {_show_values(column.coder)}"
    return _expected_number(column.coder)


def _value_of_words(words: pyarrow.Array, values: Values) -> Ints:
    return np.array([values.find(word) for word in words.to_pylist()], dtype=np.int64)


def _band_of_words(words: pyarrow.Array, bands: Bands) -> Ints:
    """Band of each word, a number or a range of numbers; -1 if it is neither, or not in one band."""
    good = pyarrow.compute.match_substring_regex(words, _NUMBER)
    number = pyarrow.compute.if_else(good, words, "nan").cast(pyarrow.float64())
    band = _band(number.to_numpy(zero_copy_only=False), bands)
    for at in np.flatnonzero(band < 0).tolist():
        band[at] = _band_of_range(words[at].as_py() or "", bands)
    return band


def _band_of_range(word: str, bands: Bands) -> int:
    """The band that holds both ends of a range, such as '25-34' or '$1,251 to $3,333', or all numbers from '65+' on."""
    match = _RANGE.fullmatch(word)
    if match is None:
        return -1
    low = float(match["low"].replace(",", ""))
    high = math.inf if match["high"] is None else float(match["high"].replace(",", ""))
    first = int(_band(np.array([low]), bands)[0])
    if first < 0 or high < low:
        return -1
    if match["high"] is None and not match["open"]:  # one number, with a dollar sign or commas
        return first
    return first if high < bands.ends[first + 1] or high == bands.ends[first + 1] == math.inf else -1


def _band(numbers: npt.NDArray[np.float64], bands: Bands) -> Ints:
    ends = np.array(bands.ends)
    with np.errstate(invalid="ignore"):
        inside = np.isfinite(numbers) & (numbers >= ends[0]) & (numbers < ends[-1])
    position = np.searchsorted(ends[1:-1], np.where(inside, numbers, 0.0), side="right")
    return np.where(inside, position, -1).astype(np.int64)


def _is_number(kind: pyarrow.DataType) -> bool:
    return bool(
        pyarrow.types.is_integer(kind) or pyarrow.types.is_floating(kind) or pyarrow.types.is_decimal(kind)
    )


def _show_values(values: Values) -> str:
    codes = list(values.position)
    return ", ".join(codes[:_SHOWN_CODES]) + (", …" if len(codes) > _SHOWN_CODES else "")


def _expected_number(bands: Bands) -> str:
    low, high = bands.ends[0], bands.ends[-1]
    lower = f" from {low:g}" if np.isfinite(low) else ""
    upper = f" below {high:g}" if np.isfinite(high) else ""
    return f"a number{lower}{upper}"
