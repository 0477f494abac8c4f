"""The first rows of a long table, with one row for all others, and one for states outside the area."""

from __future__ import annotations

import math
from typing import Final

import pandas

from mapapp.answers.layer_units import KINDS
from mapapp.answers.measures import caution
from mapapp.errors import UsageError

_REST_ERROR: Final = "rest_error"


def with_rest_errors(table: pandas.DataFrame, rows: int, errors: dict[str, float]) -> pandas.DataFrame:
    """Return a table that knows the expected error of each sum of :func:`rest_of`, by its kind."""
    found = table.copy(deep=False)
    found.attrs = {**table.attrs, _REST_ERROR: {rows: errors}}
    return found


def rest_of(table: pandas.DataFrame, rows: int) -> dict[str, pandas.DataFrame]:
    """Return the rows after the first `rows` rows of a table, by kind, without empty kinds.

    In a table of units only units count as first rows. Workers in no unit, and states outside the area, always come
    after them, so that a whole state never looks like a large unit.
    """
    if len(table) <= rows:
        return {}
    if not {"unit_id", "kind"} <= set(table.columns):
        return {"": table.iloc[rows:]}
    found = {kind: table[table["kind"] == kind] for kind in KINDS}
    found["unit"] = found["unit"].iloc[rows:]
    return {kind: part for kind, part in found.items() if len(part)}


def shortened(table: pandas.DataFrame, rows: int, name: str = "All other") -> pandas.DataFrame:
    """Return the first `rows` rows of a table of workers, and one row for each kind of row in the rest.

    Rows that are sums have the kind "other". Their errors are not independent, so such a row has an expected error only
    if `with_rest_errors` gave the table one for the same rows.

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
    rest, errors = rest_of(table, rows), table.attrs.get(_REST_ERROR, {}).get(rows, {})
    n_first = len(table) - sum(map(len, rest.values()))
    sums: list[dict[str, object]] = []
    for kind, part in rest.items():
        label = f"{'Other states' if kind == 'elsewhere' else name} ({len(part):,})"
        is_itself = len(part) == 1 and kind not in ("", "unit")
        row = {str(column): part[column].iloc[0] for column in part} if is_itself else _sum(part, label)
        if "expected_error" in table.columns and kind in errors:
            row["expected_error"] = errors[kind]
        sums.append(row)
    # Column by column: a frame for each sum, and all of them one below the other, would take several times as long.
    return pandas.DataFrame(
        {
            column: pandas.Series(
                [*table[column].iloc[:n_first].tolist(), *(row[column] for row in sums)],
                dtype=table[column].dtype,
            )
            for column in map(str, table.columns)
        }
    )


def _sum(rest: pandas.DataFrame, label: str) -> dict[str, object]:
    """Return one row with the sums of some rows, by column."""
    row: dict[str, object] = {}
    for column, dtype in rest.dtypes.items():
        kind, name = dtype.kind, str(column)
        row[name] = (
            rest[name].sum() if kind in "iu" else math.nan if kind == "f" else False if kind == "b" else ""
        )
    row |= {"share": float(rest["share"].sum()), "caution": caution(int(rest["workers"].sum()))}
    shown = next((each for each in ("name", "label", "home_name") if each in rest.columns), None)
    if shown is not None:
        row |= {shown: label}
    if "kind" in rest.columns:
        row |= {"kind": "other"}
    return row
