"""CTPP tract-to-tract commuting flows, which serve as the public prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas
import pyarrow.compute

from geodata.errors import SourceFileError
from geodata.sources.reading import TextTable, read_header, read_table

_PARTS = (("STATE", 2), ("COUNTY", 3), ("TRACT", 6))
_SIDES = ("RESIDENCE", "WORKPLACE")
_WORKERS = ("EST", "ESTIMATE", "WORKERS")
_SMALLEST_TRACT = 100  # tract 1 has the code 000100
BY_NAME = "CTPP flows that name their tracts; give a table with columns of state, county and tract codes"


@dataclass(frozen=True, slots=True)
class Flows:
    """Workers from tract to tract.

    Attributes
    ----------
    table : DataFrame
        origin_tract_id, destination_tract_id (eleven digits), weight (workers).
    files : tuple of TextTable
        The files, for the record.
    """

    table: pandas.DataFrame
    files: tuple[TextTable, ...]


def is_flows(header: Sequence[str]) -> bool:
    """Whether a header is that of a tract flow table."""
    return len(_columns(header)) == 7


def is_flows_by_name(header: Sequence[str]) -> bool:
    """Whether a header is that of newer CTPP flows, which name their tracts instead of coding them."""
    return {side.lower() for side in _SIDES} <= {name.lower() for name in header}


def read_flows(paths: Sequence[Path]) -> Flows:
    """Read CTPP flows, whose codes may lack their leading zeros; rows of the same pair are added up later.

    Raises
    ------
    SourceFileError, SourceRowError
        A column is missing, tracts are given by name, a code is not a number or too long, or a number of workers is
        not whole.
    """
    texts, parts = [], []
    for path in sorted(paths):
        header = read_header(path)
        if is_flows_by_name(header):
            raise SourceFileError(f"{path}: {BY_NAME}")
        column = _columns(header)
        text = read_table(
            path,
            required=[column.get((side, part), f"{side}_{part}") for side in _SIDES for part, _ in _PARTS],
            whole=[column.get(("", "WORKERS"), "EST")],
        )
        texts.append(text)
        parts.append(
            pandas.DataFrame(
                {
                    "origin_tract_id": _tract(text, column, "RESIDENCE"),
                    "destination_tract_id": _tract(text, column, "WORKPLACE"),
                    "weight": text.column(column["", "WORKERS"]).to_numpy().astype(np.float64),
                }
            )
        )
    if not parts:
        names = ["origin_tract_id", "destination_tract_id"]
        return Flows(pandas.DataFrame(columns=names, dtype="str").assign(weight=np.empty(0)), ())
    return Flows(pandas.concat(parts, ignore_index=True), tuple(texts))


def prior_table(
    flows: Flows, tract_index: pandas.Series, state_index: dict[str, int]
) -> tuple[pandas.DataFrame, int]:
    """Flows on rows of `tracts`: the schema's PRIOR.

    Parameters
    ----------
    flows : Flows
        As read.
    tract_index : Series
        Row of `tracts` by tract identifier (and by every other name that a tract has).
    state_index : dict of str to int
        Row of each state's elsewhere unit, by state code: homes there are counted for the whole state.

    Returns
    -------
    DataFrame
        destination_tract_index, origin_tract_index, weight; sorted, one row a pair.
    int
        Flows left out: a workplace or home that is not in the imported geography.
    """
    table = flows.table
    destination = tract_index.reindex(table["destination_tract_id"]).to_numpy(np.float64)
    origin = tract_index.reindex(table["origin_tract_id"]).to_numpy(np.float64)
    state = table["origin_tract_id"].str[:2].map(state_index).to_numpy(np.float64)
    origin = np.where(np.isnan(origin), state, origin)
    placed = ~np.isnan(destination) & ~np.isnan(origin) & (table["weight"].to_numpy() > 0)
    prior = pandas.DataFrame(
        {
            "destination_tract_index": destination[placed].astype(np.int32),
            "origin_tract_index": origin[placed].astype(np.int32),
            "weight": table["weight"].to_numpy()[placed],
        }
    )
    keys = ["destination_tract_index", "origin_tract_index"]
    return prior.groupby(keys, sort=True, as_index=False)[["weight"]].sum(), int((~placed).sum())


def _columns(header: Sequence[str]) -> dict[tuple[str, str], str]:
    """Find the columns: (side, part) and ("", "WORKERS") to the name in the file."""
    column_names: dict[tuple[str, str], str] = {}
    for name in header:
        upper = name.upper()
        if upper in _WORKERS:
            column_names.setdefault(("", "WORKERS"), name)
        for side in _SIDES:
            for part, _ in _PARTS:
                if upper.startswith(f"{side}_{part}"):
                    column_names.setdefault((side, part), name)
    return column_names


def _tract(text: TextTable, column: dict[tuple[str, str], str], side: str) -> pandas.Series | None:
    tract = None
    for part, digits in _PARTS:
        name = column[side, part]
        codes = text.column(name)
        good = pyarrow.compute.match_substring_regex(codes, f"^[0-9]{{1,{digits}}}$")
        row = pyarrow.compute.index(good, False).as_py()
        if row >= 0:
            text.refuse(
                row,
                f"{name} is {codes[row].as_py()!r}; it must be a number of at most {digits} digits",
                "write tract 101.02 as 10102" if part == "TRACT" else "correct the row",
            )
        if part == "TRACT":
            _check_tract_codes(text, name, codes)
        padded = pyarrow.compute.utf8_lpad(codes, digits, "0").to_pandas()
        tract = padded if tract is None else tract + padded
    return tract


def _check_tract_codes(text: TextTable, name: str, codes: pyarrow.Array) -> None:
    """Refuse a number that cannot be a code: tract 1 written as its name."""
    number = codes.cast("int64").to_numpy()
    wrong = np.flatnonzero((number > 0) & (number < _SMALLEST_TRACT))
    if wrong.size:
        row = int(wrong[0])
        text.refuse(
            row,
            f"{name} is {codes[row].as_py()!r}; the code of a tract is {_SMALLEST_TRACT} or more",
            "write the code of tract 1 as 100",
        )
