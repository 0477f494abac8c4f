"""Tables with two sides: the profile's 27 joint segments with their margins, and a flow matrix with its totals.

A grid is a frame. Its first columns are texts that name a row; the others are counts, or the expected errors of the
count before, whose names end with `ERROR`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas

from geodata.store.schema import AGE_BANDS, EARNINGS_BANDS, INDUSTRY_GROUPS
from mapapp.answers.analyses.results import AreaProfile, FlowMatrix
from mapapp.answers.findings.words import spoken_names
from mapapp.base.errors import UsageError
from mapapp.question.filters import BANDS, CHARACTERISTICS

ERROR: Final = " ±"
TOTAL: Final = "Total"
ALL_INDUSTRIES: Final = "All industries"
MOST_CELLS: Final = 1_000_000
"""Largest number of cells of a whole matrix: more would take gigabytes, and no spreadsheet could open them."""

_ALL: Final = 0  # the margin, among bands 1 to 3


@dataclass(frozen=True, slots=True)
class Limit:
    """The most rows and columns of a grid for readers; all others are counted together."""

    rows: int
    columns: int


def of_profile(answer: AreaProfile, limit: Limit | None = None) -> pandas.DataFrame:
    """Return a profile as a grid: a row for each age and earnings, a column for each industry, and all margins."""
    counts, errors = cube(answer)
    industries = (*INDUSTRY_GROUPS, ALL_INDUSTRIES)
    ages, earnings = (*AGE_BANDS, "All ages"), (*EARNINGS_BANDS, "All earnings")
    of_age, of_pay, of_industry = (order_of(answer, name) for name in CHARACTERISTICS)
    keys = [(age, pay) for age in of_age for pay in of_pay]
    columns: dict[str, object] = {
        "Age": [ages[age - 1] for age, _ in keys],
        "Earnings": [earnings[pay - 1] for _, pay in keys],
    }
    has_errors = bool((errors > 0).any())
    for industry in of_industry:
        name = industries[industry - 1]
        columns[name] = [int(counts[age, pay, industry]) for age, pay in keys]
        if has_errors:
            columns[f"{name}{ERROR}"] = [float(errors[age, pay, industry]) for age, pay in keys]
    return pandas.DataFrame(columns)


def order_of(answer: AreaProfile, characteristic: str) -> tuple[int, ...]:
    """Return the bands of a characteristic in a grid, the margin last; the margin alone if it is not shown."""
    is_shown = bool((answer.bands["characteristic"] == characteristic).any())
    return (*BANDS, _ALL) if is_shown else (_ALL,)


def is_exact(answer: AreaProfile) -> bool:
    """Return whether every count of a profile has the expected error 0."""
    return bool((answer.segments["expected_error"] == 0).all())


def cube(answer: AreaProfile) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return workers and expected errors by band of age, earnings and industry; position 0 is the margin."""
    counts = np.zeros((4, 4, 4), dtype=np.int64)
    errors = np.full((4, 4, 4), 0.0 if is_exact(answer) else math.nan)
    at = tuple(answer.segments[name].to_numpy(np.int64) for name in ("age", "earnings", "industry"))
    counts[at] = answer.segments["workers"]
    errors[at] = answer.segments["expected_error"]
    between = tuple(answer.margins[name].to_numpy(np.int64) for name in ("age", "earnings", "industry"))
    errors[between] = answer.margins["expected_error"].fillna(0.0 if is_exact(answer) else math.nan)
    for axis, name in enumerate(CHARACTERISTICS):
        if len(order_of(answer, name)) == 1:
            continue
        inner = [slice(None)] * 3
        margin: list[slice | int] = list(inner)
        inner[axis], margin[axis] = slice(1, 4), _ALL
        counts[tuple(margin)] = counts[tuple(inner)].sum(axis=axis)
    for place, name in enumerate(("age", "earnings", "industry")):
        bands = answer.bands[answer.bands["characteristic"] == name]
        for band, error in zip(bands["band"].tolist(), bands["expected_error"].tolist(), strict=True):
            where = [_ALL, _ALL, _ALL]
            where[place] = band
            errors[tuple(where)] = error
    whole = answer.workers.expected_error
    errors[_ALL, _ALL, _ALL] = math.nan if whole is None else whole
    return counts, errors


def of_flow_matrix(answer: FlowMatrix, limit: Limit | None = None) -> pandas.DataFrame:
    """Return a flow matrix with one row per home unit, one column per workplace unit, and totals, largest first.

    A grid for readers has short names; a whole one has full names and identifiers. If both layers are the same, rows
    and columns have one order, so that people who stay are on the diagonal.

    Raises
    ------
    UsageError
        If the whole matrix has more than `MOST_CELLS` cells.
    """
    counts, homes, works = matrix(answer, limit)
    columns: dict[str, object] = {"Live in": [*homes["name"], TOTAL]}
    if limit is None:
        columns["Identifier"] = [*homes["unit_id"], ""]
    for place, name in enumerate(
        _make_unique(works["name"].tolist(), works["unit_id"].tolist(), list(columns))
    ):
        columns[name] = counts[:, place]
    columns[TOTAL] = counts[:, -1]
    return pandas.DataFrame(columns)


def matrix(
    answer: FlowMatrix, limit: Limit | None = None
) -> tuple[npt.NDArray[np.int64], pandas.DataFrame, pandas.DataFrame]:
    """Return the counts of a flow matrix with a row and a column of totals at the end, and its home and work units.

    Units beyond the limit are one row, or one column, whose `kind` is "other".
    """
    homes, works = _order_units(answer)
    most = limit or Limit(len(homes), len(works))
    if limit is None and len(homes) * len(works) > MOST_CELLS:
        raise UsageError(
            f"a matrix of {len(homes):,} by {len(works):,} units has {len(homes) * len(works):,} cells "
            f"(at most {MOST_CELLS:,}); write one row for each pair, or choose larger units or smaller areas"
        )
    row_of, n_rows = _places(homes, most.rows)
    column_of, n_columns = _places(works, most.columns)
    counts = np.zeros((n_rows + 1, n_columns + 1), dtype=np.int64)
    cells = answer.cells
    at = (
        row_of.reindex(_keys(cells["home_kind"], cells["home_id"])).to_numpy(np.int64),
        column_of.reindex(_keys(cells["work_kind"], cells["work_id"])).to_numpy(np.int64),
    )
    np.add.at(counts, at, cells["workers"].to_numpy(np.int64))
    counts[-1] = counts.sum(axis=0)
    counts[:, -1] = counts.sum(axis=1)
    is_short = limit is not None
    return counts, _name_units(homes, n_rows, short=is_short), _name_units(works, n_columns, short=is_short)


def units_at(answer: FlowMatrix, limit: Limit) -> tuple[list[pandas.DataFrame], list[pandas.DataFrame]]:
    """Return the home units of each row and the work units of each column of :func:`matrix`, without the totals."""
    homes, works = _order_units(answer)
    return _split(homes, limit.rows), _split(works, limit.columns)


def _split(units: pandas.DataFrame, most: int) -> list[pandas.DataFrame]:
    n_alone = _n_alone(len(units), most)
    alone = [units.iloc[[place]] for place in range(n_alone)]
    return [*alone, units.iloc[n_alone:]] if n_alone < len(units) else alone


def _n_alone(n_units: int, most: int) -> int:
    """Return how many units have a row or a column of their own."""
    return n_units if n_units <= most else most - 1


def _order_units(answer: FlowMatrix) -> tuple[pandas.DataFrame, pandas.DataFrame]:
    """Return the units of both ends; if both have one layer, in one order, homes without workplaces last."""
    homes, works = answer.homes, answer.works
    if answer.home_layer != answer.work_layer:
        return homes, works
    both = pandas.concat([works, homes]).groupby(["kind", "unit_id"], sort=False)["workers"].sum()
    order = both.sort_values(ascending=False, kind="stable").index
    n_both = {key: place for place, key in enumerate(order)}
    has_jobs = set(zip(works["kind"], works["unit_id"], strict=True))

    def place_margin(margin: pandas.DataFrame) -> pandas.DataFrame:
        keys = list(zip(margin["kind"], margin["unit_id"], strict=True))
        by = sorted(range(len(keys)), key=lambda at: (keys[at] not in has_jobs, n_both[keys[at]]))
        return margin.iloc[by]

    return place_margin(homes), place_margin(works)


def _keys(kinds: pandas.Series, ids: pandas.Series) -> list[tuple[str, str]]:
    return list(zip(kinds.tolist(), ids.tolist(), strict=True))


def _places(units: pandas.DataFrame, most: int) -> tuple[pandas.Series, int]:
    """Return the position of each unit, by kind and identifier, and the number of positions."""
    place = np.minimum(np.arange(len(units)), _n_alone(len(units), most))
    index = pandas.MultiIndex.from_tuples(_keys(units["kind"], units["unit_id"]), names=["kind", "id"])
    return pandas.Series(place, index=index), min(len(units), most)


def _name_units(units: pandas.DataFrame, n_places: int, *, short: bool) -> pandas.DataFrame:
    names = units["name"].tolist()
    if short:
        names = spoken_names(names)
    all_units = units[["unit_id", "kind"]].assign(name=names)
    if n_places == len(units):
        return all_units.reset_index(drop=True)
    n_rest = len(units) - n_places + 1
    rest = pandas.DataFrame({"unit_id": [""], "kind": ["other"], "name": [f"All other ({n_rest:,})"]})
    return pandas.concat([all_units.head(n_places - 1), rest], ignore_index=True)


def _make_unique(names: Sequence[str], ids: Sequence[str], taken: Sequence[str]) -> list[str]:
    """Return unique column names: a repeated name gets its identifier."""
    n_same = Counter([*names, *taken, TOTAL])
    return [
        name if n_same[name] == 1 else f"{name} [{unit_id}]" for name, unit_id in zip(names, ids, strict=True)
    ]
