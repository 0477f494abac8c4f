"""The first rows of a long table, with one row for all others, and one for states outside the area."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas
from pandas.api.extensions import ExtensionArray

from mapapp.answers.analyses.measures import caution
from mapapp.answers.areas.layer_units import KINDS
from mapapp.base.errors import UsageError

_REST_ERROR: Final = "rest_error"


def note_rest_errors(table: pandas.DataFrame, rows: int, errors: dict[str, float]) -> pandas.DataFrame:
    """Return a table that knows the expected error of each sum of :func:`rest_of`, by its kind."""
    copy = table.copy(deep=False)
    copy.attrs = {**table.attrs, _REST_ERROR: {rows: errors}}
    return copy


def rest_of(table: pandas.DataFrame, rows: int) -> dict[str, pandas.DataFrame]:
    """Return the rows after the first `rows` rows of a table, by kind, without empty kinds.

    In a table of units only units count as first rows. Workers in no unit, and states outside the area, always come
    after them, so that a whole state never looks like a large unit.
    """
    rest = {}
    for kind, places in _rest(table, rows).items():
        first, end = int(places[0]), int(places[-1]) + 1
        rest[kind] = table.iloc[first:end] if end - first == places.size else table.iloc[places]
    return rest


def _rest(table: pandas.DataFrame, rows: int) -> dict[str, npt.NDArray[np.intp]]:
    """Return the places of the rows of :func:`rest_of`."""
    if len(table) <= rows:
        return {}
    if not {"unit_id", "kind"} <= set(table.columns):
        return {"": np.arange(rows, len(table))}
    kind_of = table["kind"].to_numpy(dtype=object)
    places_by_kind = {kind: np.flatnonzero(kind_of == kind) for kind in KINDS}
    places_by_kind["unit"] = places_by_kind["unit"][rows:]
    return {kind: places for kind, places in places_by_kind.items() if places.size}


def shortened(table: pandas.DataFrame, rows: int, name: str = "All other") -> pandas.DataFrame:
    """Return the first `rows` rows of a table of workers, and one row for each kind of row in the rest.

    Rows that are sums have the kind "other". Their errors are not independent, so such a row has an expected error only
    if `note_rest_errors` gave the table one for the same rows.

    Raises
    ------
    UsageError
        If it is not a table of workers.
    """
    if not {"workers", "share"} <= set(getattr(table, "columns", ())):
        raise UsageError(
            "only a table with workers and shares can be shortened; give such a table of an answer"
        )
    if len(table) <= rows:
        return table
    rest, errors = _rest(table, rows), table.attrs.get(_REST_ERROR, {}).get(rows, {})
    n_first = len(table) - sum(places.size for places in rest.values())
    columns = {str(column): values.array for column, values in table.items()}
    sums: list[dict[str, object]] = []
    for kind, places in rest.items():
        is_itself = places.size == 1 and kind not in ("", "unit")
        label = f"{'Other states' if kind == 'elsewhere' else name} ({places.size:,})"
        row = (
            {column: values[places[0]] for column, values in columns.items()}
            if is_itself
            else _sum(columns, places, label)
        )
        if "expected_error" in columns and kind in errors:
            row["expected_error"] = errors[kind]
        sums.append(row)
    # Column by column: a frame for each sum, and all of them one below the other, would take several times as long.
    return pandas.DataFrame(
        {
            column: pandas.array(
                [*values[:n_first].tolist(), *(row[column] for row in sums)], dtype=values.dtype
            )
            for column, values in columns.items()
        }
    )


def _sum(
    columns: Mapping[str, ExtensionArray], places: npt.NDArray[np.intp], label: str
) -> dict[str, object]:
    """Return one row with the sums of some rows, by column."""
    row: dict[str, object] = {}
    for name, values in columns.items():
        kind = values.dtype.kind
        row[name] = (
            values.to_numpy()[places].sum()
            if kind in "iu"
            else math.nan
            if kind == "f"
            else False
            if kind == "b"
            else ""
        )
    share, workers = (columns[name].to_numpy()[places].sum() for name in ("share", "workers"))
    row |= {"share": float(share), "caution": caution(int(workers))}
    shown = next((name for name in ("name", "label", "home_name") if name in columns), None)
    if shown is not None:
        row |= {shown: label}
    if "kind" in columns:
        row |= {"kind": "other"}
    return row
