"""Worker records as numbers: one batch of a file at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow
import pyarrow.compute

from geodata.errors import SourceFileError
from geodata.store.schema import segment_code
from geodata.workers.columns import Bands, CodedColumn, Values, WorkerColumns
from geodata.workers.file import WorkerBatch, text_of
from geodata.workers.places import Ints, PlaceCodes, Places, find_places, indices_of, read_codes
from geodata.workers.schema import Never, WorkerSchema, never_in_words

_NUMBER = r"^[+-]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})$"
_SHOWN_CODES = 8
_FILL: Final = "fill the cell"
_NO_WORKPLACE: Final = "fill the cell, or leave out workers without a workplace, wherever they live"
_NO_HOME: Final = (
    "estimate the home, because the number of workers of each workplace is published: without this row, it would say "
    "that somebody's home is unknown"
)


@dataclass(frozen=True, slots=True)
class CodedBatch:
    """The workers of one batch.

    Attributes
    ----------
    columns : dict of str to array
        Columns of `workers`, for those whose workplace is imported.
    n_elsewhere : int64[100]
        How many of them live in each state that is not imported, by its number.
    n_between : int64[100, 100]
        Workers by state of work and of home, also those whose workplace is not imported.
    """

    columns: dict[str, npt.NDArray[np.generic]]
    n_elsewhere: Ints
    n_between: Ints


def code_batch(
    batch: WorkerBatch, columns: WorkerColumns, places: Places, work_states: npt.NDArray[np.bool_]
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

    Raises
    ------
    SourceRowError, SourceFileError
        A cell does not hold what the schema says. The message names file, line, and column, and quotes no attribute
        of a worker.
    """
    work, home = (
        read_codes(batch, columns.workplace, if_blank=_NO_WORKPLACE),
        read_codes(batch, columns.home, if_blank=_NO_HOME),
    )
    coded = {column.name: _positions(batch, column) for column in columns.coded}
    _refuse_commuters(batch, columns, home, places)
    jobs = _job_codes(coded, columns)
    _refuse_forbidden(batch, columns.schema, jobs, coded)
    inside = work_states[work.state]
    at_home = ~_is_elsewhere(home.state, places)
    work_row = find_places(batch, columns.workplace, work, inside, places)
    home_row = find_places(batch, columns.home, home, at_home, places)
    destination = places.center[work_row] if columns.workplace.unit == "tract" else work_row
    if columns.home.unit == "tract":
        key = _worker_key(work.number, home.number, jobs)
        origin = np.where(at_home, places.draw_block(np.maximum(home_row, 0), key), 0)
    else:
        origin = home_row
    origin = np.where(at_home, origin, places.elsewhere[home.state])
    table: dict[str, npt.NDArray[np.generic]] = {
        "destination_index": destination[inside].astype(np.int32),
        "origin_index": origin[inside].astype(np.int32),
        **{name: codes[inside].astype(np.int8) for name, codes in jobs.items()},
        **{name: coded[name][inside].astype(np.int16) for name in columns.schema.domains},
    }
    between = np.bincount(work.state * 100 + home.state, minlength=10_000)
    away = np.bincount(home.state[inside & ~at_home], minlength=100)
    return CodedBatch(
        table,
        away.astype(np.int64),
        between.reshape(100, 100).astype(np.int64),
    )


def _refuse_commuters(batch: WorkerBatch, columns: WorkerColumns, home: PlaceCodes, places: Places) -> None:
    """Refuse a home in another state where the domain ends at the border."""
    outside = np.flatnonzero(~places.states[home.state])
    if outside.size and not (places.elsewhere >= 0).any():
        batch.refuse(
            int(outside[0]),
            f"{columns.home.column} is in another state, but with --residents-only nobody may live there",
            "leave out --residents-only, if the file has all who commute in",
        )


def _is_elsewhere(state: Ints, places: Places) -> npt.NDArray[np.bool_]:
    return places.elsewhere[state] >= 0


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


def _refuse_forbidden(
    batch: WorkerBatch, schema: WorkerSchema, jobs: Mapping[str, Ints], coded: Mapping[str, Ints]
) -> None:
    """Refuse records with a combination that the schema says never occurs; the message has the rule alone."""
    for number, never in enumerate(schema.never, 1):
        if _has_combination(never, schema, jobs, coded).any():
            raise SourceFileError(
                f"{batch.file.path}: some records have a combination that the schema says never occurs (never, "
                f"combination {number}: {never_in_words(never)}); correct the records or the schema"
            )


def _has_combination(
    never: Never, schema: WorkerSchema, jobs: Mapping[str, Ints], coded: Mapping[str, Ints]
) -> npt.NDArray[np.bool_]:
    """Whether each row has one of the codes in all attributes of a combination."""
    has_all: list[npt.NDArray[np.bool_]] = []
    for name, codes in never.items():
        known = schema.codes_of(name) or ()
        position = jobs[name] - 1 if name in jobs else coded[name]
        has_all.append(np.isin(position, [known.index(code) for code in codes]))
    return np.logical_and.reduce(has_all)


def _worker_key(work: Ints, home: Ints, jobs: Mapping[str, Ints]) -> npt.NDArray[np.uint64]:
    segment = segment_code(jobs["age"], jobs["earnings"], jobs["industry"])
    parts = (work, home, segment)
    key = np.zeros(work.size, dtype=np.uint64)
    for part in parts:
        key = (key ^ part.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    return key


def _positions(batch: WorkerBatch, column: CodedColumn) -> Ints:
    """Position of each row's value."""
    cells = batch.columns[column.column]
    if isinstance(column.coder, Bands) and _is_number(cells.type):
        return _band_of_numbers(batch, column, column.coder, cells)
    text = text_of(cells)
    index = indices_of(batch, text, column.column, _FILL)
    if isinstance(column.coder, Values):
        position = _value_of_words(text.dictionary, column.coder)
        expected = f"one of the codes of {column.name}: {_show_values(column.coder)}"
    else:
        position = _band_of_words(text.dictionary, column.coder)
        expected = _expected_number(column.coder)
    positions = position[index]
    wrong = np.flatnonzero(positions < 0)
    if wrong.size:
        row = int(wrong[0])
        blank = text.dictionary[index[row]].as_py() == ""
        what = f"{column.column} is blank; it must be" if blank else f"{column.column} is not"
        batch.refuse(row, f"{what} {expected}", "correct the row or the schema")
    return positions


def _value_of_words(words: pyarrow.Array, values: Values) -> Ints:
    return np.array([values.position.get(word, -1) for word in words.to_pylist()], dtype=np.int64)


def _band_of_words(words: pyarrow.Array, bands: Bands) -> Ints:
    """Band of each word; -1 if it is no number, or in no band."""
    good = pyarrow.compute.match_substring_regex(words, _NUMBER)
    number = pyarrow.compute.if_else(good, words, "nan").cast(pyarrow.float64())
    return _band(number.to_numpy(zero_copy_only=False), bands)


def _band_of_numbers(batch: WorkerBatch, column: CodedColumn, bands: Bands, cells: pyarrow.Array) -> Ints:
    numbers = cells.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)  # null becomes NaN
    band = _band(numbers, bands)
    wrong = np.flatnonzero(band < 0)
    if wrong.size:
        row = int(wrong[0])
        what = "is blank; it must be" if not cells[row].is_valid else "is not"
        batch.refuse(
            row, f"{column.column} {what} {_expected_number(bands)}", "correct the row or the schema"
        )
    return band


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
