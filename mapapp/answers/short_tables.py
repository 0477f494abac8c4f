"""The first rows of a long table, with one row for all others."""

from __future__ import annotations

import math
from typing import Final

import pandas

from mapapp.answers.measures import caution
from mapapp.errors import UsageError

_REST_ERROR: Final = "rest_error"


def with_rest_error(table: pandas.DataFrame, rows: int, error: float) -> pandas.DataFrame:
    """Return a table that knows the expected error of the sum of all rows but the first `rows`."""
    found = table.copy(deep=False)
    found.attrs = {**table.attrs, _REST_ERROR: {rows: error}}
    return found


def shortened(table: pandas.DataFrame, rows: int, name: str = "All other") -> pandas.DataFrame:
    """Return the first `rows` rows of a table of workers, and one row of kind "other" for the rest.

    Errors of combined rows are not independent, so that row has an expected error only if `with_rest_error` gave the
    table one for the same rows.

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
    rest = table.iloc[rows:]
    workers = int(rest["workers"].sum())
    row: dict[str, object] = {
        column: "" for column in table.columns if table[column].dtype.kind not in "iufb"
    }
    row |= {column: math.nan for column in table.columns if table[column].dtype.kind == "f"}
    row |= {column: rest[column].sum() for column in table.columns if table[column].dtype.kind in "iu"}
    row |= {column: False for column in table.columns if table[column].dtype.kind == "b"}
    row |= {"share": float(rest["share"].sum()), "caution": caution(workers)}
    shown = next((each for each in ("name", "label", "home_name") if each in table.columns), None)
    if shown is not None:
        row |= {shown: f"{name} ({len(rest):,})"}
    if "expected_error" in table.columns:
        row |= {"expected_error": table.attrs.get(_REST_ERROR, {}).get(rows, math.nan)}
    if "kind" in table.columns:
        row |= {"kind": "other"}
    other = pandas.DataFrame([row])[list(table.columns)]
    return pandas.concat([table.head(rows), other.astype(table.dtypes)], ignore_index=True)
