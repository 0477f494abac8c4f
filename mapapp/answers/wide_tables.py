"""Tables on the page with several counts in a row."""

from __future__ import annotations

import pandas

from geodata.schema import AGE_BANDS, EARNINGS_BANDS, INDUSTRY_GROUPS
from mapapp.answers import grids, words
from mapapp.answers.entry import WideTable
from mapapp.answers.results import AreaProfile, DistanceDirection, InflowOutflow


def by_direction(answer: DistanceDirection) -> WideTable:
    """Return a row for each direction and a column for each distance, and all distances together."""
    cells = answer.cells.assign(counts=_counts(answer.cells))
    wide = cells.pivot(index="direction", columns="band", values="counts")
    directions = answer.directions
    all_distances = zip(directions["direction"], _counts(directions), strict=True)
    counts = [[*wide.loc[direction], every] for direction, every in all_distances]
    rows = directions.assign(sub="", counts=pandas.Series(counts, index=directions.index))
    return WideTable((*answer.bands["label"], "All"), rows)


def by_group(answer: InflowOutflow) -> WideTable:
    """Return a row for each band of age, earnings, and industry, and columns for those who come, go, and stay."""
    segments = answer.segments.assign(counts=_counts(answer.segments))
    wide = segments.pivot(index=["characteristic", "band"], columns="group", values="counts")
    rows = segments.drop_duplicates(["characteristic", "band"])[["characteristic", "band", "label"]]
    keys = zip(rows["characteristic"], rows["band"], strict=True)
    counts = [[*wide.loc[key, ["inflow", "outflow", "stay"]]] for key in keys]
    rows = rows.assign(
        sub=rows["characteristic"].map(words.BAND_TITLES), counts=pandas.Series(counts, index=rows.index)
    )
    return WideTable(("In", "Out", "Stay"), rows)


def by_segment(answer: AreaProfile) -> WideTable:
    """Return a row for each band of earnings, under its band of age, and columns for industries; with all margins."""
    heads = (*INDUSTRY_GROUPS, grids.ALL_INDUSTRIES)
    workers, errors = grids.cube(answer)
    order = (1, 2, 3, 0)
    rows: list[tuple[str, str, list[tuple[int, float]]]] = []
    for age in order:
        rows.append((f"Age {AGE_BANDS[age - 1]}" if age else "All ages", "", []))
        for earnings in order:
            cells = [(age, earnings, industry) for industry in order]
            counts = [(int(workers[cell]), float(errors[cell])) for cell in cells]
            rows.append((EARNINGS_BANDS[earnings - 1] if earnings else "All earnings", "", counts))
    return WideTable(heads, pandas.DataFrame(rows, columns=["label", "sub", "counts"]))


def _counts(frame: pandas.DataFrame) -> pandas.Series:
    """Return the workers of each row and their expected error, as pairs."""
    pairs = zip(frame["workers"].tolist(), frame["expected_error"].tolist(), strict=True)
    return pandas.Series(list(pairs), index=frame.index)
