"""LODES geography crosswalks: the units of every block in the hierarchy and in all other layers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas
import pyarrow
import pyarrow.compute

from geodata.errors import SourceFileError, SourceRowError
from geodata.sources.reading import TextTable, check_codes, read_table
from geodata.store.schema import GEOGRAPHY, IDENTIFIER, INDEX_OF, LAYER_LABELS

_BLOCK_COLUMN = re.compile(r"^tabblk(?P<vintage>\d{4})$", re.IGNORECASE)
_CODES = {"st": (2, "state"), "cty": (5, "county"), "trct": (11, "tract")}
_REQUIRED = ("st", "stname", "cty", "ctyname", "trct", "trctname", "blklatdd", "blklondd")
_REPEATS = re.compile(r"^(?!tabblk|blklatdd$|blklondd$)")  # all columns whose cells many blocks share
_COLUMN = re.compile(r"[a-z][a-z0-9_]{0,39}")
_TAKEN = frozenset(  # columns and layers that every dataset has anyway
    {
        *(column for table in GEOGRAPHY for column in table.columns),
        *(name.removesuffix("_id") for name in IDENTIFIER.values()),
        *INDEX_OF,
        "geometry",
    }
)
_DIGITS = {"bgrp": 12, "cbsa": 5, "zcta": 5, "necta": 5, "stplc": 7, "ctycsub": 10}
_NOT_LAYERS = {*_REQUIRED, "stusps", "createdate"}
_CONGRESS = re.compile(r"^stcd\d+$")
_STATE_UNIT = 10**13  # a block's number divided by this is its state's

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Crosswalk:
    """The blocks of all imported crosswalks.

    Attributes
    ----------
    blocks : DataFrame
        block_id, tract_id, county_id, state_id, lon_deg, lat_deg and the `layer_` columns, all text but the
        two coordinates (EPSG:4326); sorted by block_id.
    names : dict of str to Series
        Unit identifier to name, for "tract", "county" and "state".
    layers : DataFrame
        layer, unit_id, name, sorted; units of `layer_` columns.
    vintage : int
        2010 or 2020.
    state_ids : tuple of str
        The states of the crosswalks, ascending.
    files : tuple of TextTable
        The files without their columns, for the record.
    """

    blocks: pandas.DataFrame
    names: dict[str, pandas.Series]
    layers: pandas.DataFrame
    vintage: int
    state_ids: tuple[str, ...]
    files: tuple[TextTable, ...]

    def drop_blocks(self) -> Crosswalk:
        """The same without rows in `blocks`, whose memory is given back."""
        return replace(self, blocks=pandas.DataFrame(columns=self.blocks.columns))


def is_crosswalk(header: Sequence[str]) -> bool:
    """Whether a header is that of a crosswalk."""
    return any(_BLOCK_COLUMN.match(name) for name in header)


def counties_of(paths: Sequence[Path]) -> list[str]:
    """Return the five-digit codes of the counties that the blocks of some crosswalks were counted in, sorted.

    They are those in the blocks' own codes, which differ from the column of counties where counties changed since.

    Raises
    ------
    SourceFileError, SourceRowError
        As `read_crosswalks`.
    """
    files = [_read(path) for path in sorted(paths)]
    column = f"tabblk{_require_one_vintage(files)}"
    counties_by_file = [
        pyarrow.compute.unique(pyarrow.compute.utf8_slice_codeunits(text.column(column), 0, 5))
        for text in files
    ]
    return sorted({county for part in counties_by_file for county in part.to_pylist()})


def read_crosswalks(paths: Sequence[Path], *, threads: int = 2) -> Crosswalk:
    """Read crosswalks of one or more states.

    The columns `trct`, `cty` and `st` state the units of a block; if they put a block into a state whose
    crosswalk is missing, `hierarchy` decides.

    Parameters
    ----------
    paths : sequence of Path
    threads : int
        Number of files to read at a time; the result is the same for any number.

    Raises
    ------
    SourceFileError
        A file is not a crosswalk, or crosswalks are of two vintages.
    SourceRowError
        A code has the wrong length, a place is not a number in range, or a block occurs twice.
    """
    with ThreadPoolExecutor(max_workers=max(threads, 1)) as pool:
        files = list(pool.map(_read, sorted(paths)))
        vintage = _require_one_vintage(files)
        parts = list(pool.map(lambda text: _columns(text, f"tabblk{vintage}"), files))
    table = _join_tables([part.blocks for part in parts])
    number = table["block_id"].cast("int64").to_numpy()
    _check_twice(files, number)
    codes = sorted((name for name in table.column_names if name.startswith("layer_")), key=_place_of_layer)
    names = {
        unit: _names(pandas.concat([part.names[unit] for part in parts]))
        for unit in ("tract", "county", "state")
    }
    blocks = _sort_blocks(table, number, codes)
    units = [_units(code, [part.names[code] for part in parts if code in part.names]) for code in codes]
    layers = pandas.concat(units, ignore_index=True) if codes else _no_units()
    state_ids = tuple(f"{state:02d}" for state in np.unique(number // _STATE_UNIT))
    return Crosswalk(blocks, names, layers, vintage, state_ids, tuple(text.drop_columns() for text in files))


def layer_facts(crosswalk: Crosswalk) -> list[dict[str, object]]:
    """Layers with at least one unit: code, label, column and number of units, for the manifest."""
    n_units = crosswalk.layers["layer"].value_counts()
    return [
        {
            "layer": layer,
            "label": LAYER_LABELS.get(layer, layer),
            "column": f"layer_{layer}",
            "n_units": int(n_units[layer]),
        }
        for layer in (str(name).removeprefix("layer_") for name in crosswalk.blocks)
        if layer in n_units.index
    ]


def _read(path: Path) -> TextTable:
    text = read_table(path, required=_REQUIRED, repeats=_REPEATS)
    if not is_crosswalk(text.table.column_names):
        raise SourceFileError(
            f"{path}: no column of blocks (a crosswalk has tabblk2010 or tabblk2020); "
            "check that this is a LODES crosswalk"
        )
    _check_columns(path, text.table.column_names)
    return text


def _check_columns(path: Path, names: Sequence[str]) -> None:
    """Refuse columns that would be two of one kind, or of which no layer can be made."""
    for kind, what in ((_BLOCK_COLUMN, "of blocks"), (_CONGRESS, "of congressional districts")):
        same = [name for name in names if kind.match(name)]
        if len(same) > 1:
            raise SourceFileError(f"{path}: columns {same[0]} and {same[1]} are both {what}; remove one")
    for name in names:
        if not _COLUMN.fullmatch(name) or name in _TAKEN:
            raise SourceFileError(
                f"{path}: column {name[:60]!r} cannot be a layer, because of its name; rename or remove it"
            )


def _block_column(text: TextTable) -> str:
    return next(str(name) for name in text.table.column_names if _BLOCK_COLUMN.match(name))


def _require_one_vintage(files: Sequence[TextTable]) -> int:
    if not files:
        raise SourceFileError("no crosswalk given; add STATE_xwalk.csv.gz of the same LODES version")
    vintages = {_block_column(text): text.path for text in files}
    if len(vintages) > 1:
        (first, first_path), (second, second_path), *_ = vintages.items()
        raise SourceFileError(
            f"{second_path}: a crosswalk of {second}, but {first_path} is of {first}; "
            "use crosswalks of one LODES version"
        )
    return int(next(iter(vintages)).removeprefix("tabblk"))


@dataclass(frozen=True, slots=True)
class _Part:
    """One crosswalk: `block_id` to `layer_` columns of its blocks, and the distinct pairs of identifier and name.

    `names` has "tract", "county", "state" and each `layer_` column, of frames with the columns `unit_id` and `name`.
    """

    blocks: pyarrow.Table
    names: dict[str, pandas.DataFrame]


def _columns(text: TextTable, first: str) -> _Part:
    columns = {"block_id": check_codes(text, first, 15, "block")}
    names = {}
    for name, (digits, meaning) in _CODES.items():
        code = check_codes(text, name, digits, meaning)
        columns[f"{meaning}_id"] = _decode_column(code)
        names[meaning] = _pairs(code, text.column(f"{name}name"))
    columns["lon_deg"] = _degrees(text, "blklondd", 180)
    columns["lat_deg"] = _degrees(text, "blklatdd", 90)
    present = [name for name in text.table.column_names if name != first]
    for name in present:
        is_name = name.endswith("name") and name.removesuffix("name") in present
        if name in _NOT_LAYERS or is_name:
            continue
        layer = "stcd" if _CONGRESS.match(name) else name
        code = _blank_nines(text.column(name))
        _check_zeros(text, name, code)
        columns[f"layer_{layer}"] = _decode_column(code)
        called = text.column(f"{name}name") if f"{name}name" in present else code
        names[f"layer_{layer}"] = _pairs(code, called)
    return _Part(pyarrow.table(columns), names)


def _blank_nines(code: pyarrow.DictionaryArray) -> pyarrow.DictionaryArray:
    """The codes of a layer, "" where they are all nines: the block is in no such unit."""
    none = pyarrow.compute.match_substring_regex(code.dictionary, "^9*$")
    return pyarrow.DictionaryArray.from_arrays(
        code.indices, pyarrow.compute.if_else(none, "", code.dictionary)
    )


def _check_zeros(text: TextTable, name: str, code: pyarrow.DictionaryArray) -> None:
    """Refuse a code of digits that is shorter than those of its layer: a spreadsheet takes leading zeros away."""
    digits = _DIGITS.get(name)
    if digits is None or not len(code.dictionary):
        return
    good = pyarrow.compute.invert(
        pyarrow.compute.match_substring_regex(code.dictionary, f"^[0-9]{{1,{digits - 1}}}$")
    )
    row = pyarrow.compute.index(good.take(code.indices), False).as_py()
    if row >= 0:
        text.refuse(
            row,
            f"{name} is {code[row].as_py()!r}, a {LAYER_LABELS[name]} has {digits} digits",
            "check that leading zeros were kept, or download the file again",
        )


def _decode_column(column: pyarrow.DictionaryArray) -> pyarrow.Array:
    return column.dictionary.take(column.indices)


def _degrees(text: TextTable, name: str, limit: int) -> npt.NDArray[np.float64]:
    column = text.column(name)
    number: npt.NDArray[np.float64] = pandas.to_numeric(column.to_pandas(), errors="coerce").to_numpy(
        np.float64
    )
    wrong = np.flatnonzero(~(np.abs(number) <= limit))
    if wrong.size:
        cell = column[int(wrong[0])].as_py()
        text.refuse(
            int(wrong[0]), f"{name} is {cell!r}, degrees within ±{limit} are needed", "correct the row"
        )
    return number


def _join_tables(parts: Sequence[pyarrow.Table]) -> pyarrow.Table:
    """All rows; "" where a crosswalk lacks the column of another."""
    table = pyarrow.concat_tables(parts, promote_options="default")
    for place, field in enumerate(table.schema):
        if pyarrow.types.is_string(field.type) and table[place].null_count:
            table = table.set_column(place, field.name, table[place].fill_null(""))
    return table


def _sort_blocks(table: pyarrow.Table, number: Ints, codes: Sequence[str]) -> pandas.DataFrame:
    blocks = table.select(["block_id", "tract_id", "county_id", "state_id", "lon_deg", "lat_deg", *codes])
    if (number[1:] < number[:-1]).any():
        blocks = blocks.take(pyarrow.array(np.argsort(number, kind="stable")))
    frame: pandas.DataFrame = blocks.to_pandas()
    return frame


def _check_twice(files: Sequence[TextTable], number: Ints) -> None:
    twice = np.flatnonzero(pandas.Series(number).duplicated().to_numpy())
    if twice.size == 0:
        return
    row = int(twice[0])
    first = int(np.flatnonzero(number == number[row])[0])
    starts = np.cumsum([0, *(text.rows for text in files)])
    place, before = (int(np.searchsorted(starts, r, side="right")) - 1 for r in (row, first))
    raise SourceRowError(
        f"{files[place].path}: line {row - starts[place] + 2}: block {number[row]:015d} is repeated "
        f"(first in {files[before].path}, line {first - starts[before] + 2}); remove one"
    )


def _place_of_layer(column: str) -> tuple[int, str]:
    """Sort key: the bureau's order of columns, whatever the file's order; then unknown layers, by name."""
    known = list(LAYER_LABELS)
    layer = column.removeprefix("layer_")
    return (known.index(layer) if layer in known else len(known), layer)


def _pairs(code: pyarrow.DictionaryArray, name: pyarrow.DictionaryArray) -> pandas.DataFrame:
    """Distinct pairs of identifier and name."""
    n_names = len(name.dictionary)
    pair = pandas.unique(code.indices.to_numpy().astype(np.int64) * n_names + name.indices.to_numpy())
    return pandas.DataFrame(
        {
            "unit_id": code.dictionary.take(pyarrow.array(pair // n_names)).to_pandas(),
            "name": name.dictionary.take(pyarrow.array(pair % n_names)).to_pandas(),
        }
    )


def _names(pairs: pandas.DataFrame) -> pandas.Series:
    # In order of the names, not of the rows; a blank name comes last.
    named = pairs.sort_values(["unit_id", "name"])
    blank = named["name"].str.strip() == ""
    ordered = pandas.concat([named[~blank], named[blank]])
    return ordered.drop_duplicates("unit_id").set_index("unit_id")["name"]


def _units(code: str, pairs: Sequence[pandas.DataFrame]) -> pandas.DataFrame:
    units = pandas.concat(pairs).sort_values(["unit_id", "name"])
    units = units[units["unit_id"] != ""].drop_duplicates("unit_id")
    units["name"] = units["name"].where(units["name"] != "", units["unit_id"])
    units.insert(0, "layer", code.removeprefix("layer_"))
    return units


def _no_units() -> pandas.DataFrame:
    return pandas.DataFrame({"layer": [], "unit_id": [], "name": []}, dtype="str")
