"""Every analysis written plainly in pandas, from a release's `jobs` and `blocks` alone: one row a worker."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy
import pandas
import shapely

from geodata.geography.distance import bearing_deg, distance_mi
from geodata.store.store import Store

OTHER = {"work": "home", "home": "work"}
DIRECTIONS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


def workers_of(store: Store) -> Any:
    """One row a worker: both blocks' columns with `work_` and `home_` in front, bands, distance and both directions."""
    jobs, blocks = store.table("jobs"), store.table("blocks")
    rows = jobs.loc[jobs.index.repeat(jobs["count"])].reset_index(drop=True)
    for end, name in (("work", "destination_index"), ("home", "origin_index")):
        rows[f"{end}_block"] = rows[name]
        for column in blocks.columns:
            rows[f"{end}_{column}"] = blocks[column].to_numpy()[rows[name]]
    work, home = ([rows[f"{end}_lon_deg"], rows[f"{end}_lat_deg"]] for end in ("work", "home"))
    rows["distance_mi"] = numpy.where(
        rows["work_block"] == rows["home_block"], 0.0, distance_mi(*work, *home)
    )
    rows["direction_work"] = [_direction(bearing) for bearing in bearing_deg(*work, *home)]
    rows["direction_home"] = [_direction(bearing) for bearing in bearing_deg(*home, *work)]
    return rows


def _direction(bearing: float) -> str:
    if numpy.isnan(bearing):
        return ""
    away = [abs((bearing - 45 * eighth + 180) % 360 - 180) for eighth in range(8)]
    return DIRECTIONS[int(numpy.argmin(away))]


def keeps(workers: Any, filters: Any) -> Any:
    """Workers of the kept bands."""
    keep = numpy.ones(len(workers), dtype=bool)
    for name in ("age", "earnings", "industry"):
        if getattr(filters, name):
            keep &= workers[name].isin(getattr(filters, name)).to_numpy()
    return workers[keep]


def blocks_of(blocks: Sequence[Mapping[Hashable, Any]], steps: list[tuple[str, Any]]) -> set[int]:
    """Blocks of an area by looking at the rows of `blocks` one after the other.

    A step is a sign and ("unit", column, id), ("circle", lon, lat, inner, outer) or ("polygon", shape).
    """
    everything = set(range(len(blocks)))
    area = set() if steps[0][0] == "+" else set(everything)
    for sign, part in steps:
        here = {row for row in everything if _is_in(blocks[row], part)}
        area = area | here if sign == "+" else area - here if sign == "-" else area & here
    return area


def _is_in(block: Any, part: tuple[Any, ...]) -> bool:
    kind, *facts = part
    if kind == "unit":
        column, unit_id = facts
        return bool(block[column] == unit_id)
    if block["elsewhere"]:
        return False
    if kind == "circle":
        lon, lat, inner, outer = facts
        away = float(distance_mi(lon, lat, block["lon_deg"], block["lat_deg"]))
        return bool(away <= outer and (inner == 0 or away > inner))
    return bool(facts[0].intersects(shapely.Point(block["lon_deg"], block["lat_deg"])))


def at(workers: Any, end: str, area: set[int]) -> Any:
    """Which workers have their `end` in the area."""
    return workers[f"{end}_block"].isin(area).to_numpy()


def by_band(workers: Any) -> list[int]:
    """Workers of bands 1, 2, 3 of age, earnings, and industry."""
    return [
        int((workers[name] == band).sum()) for name in ("age", "earnings", "industry") for band in (1, 2, 3)
    ]


def by_unit(workers: Any, end: str, column: str) -> dict[tuple[str, str], int]:
    """Workers by (kind, identifier) of the unit of their `end`."""
    kind = numpy.where(
        workers[f"{end}_elsewhere"],
        "elsewhere",
        numpy.where(workers[f"{end}_{column}"] == "", "none", "unit"),
    )
    unit_id = numpy.where(workers[f"{end}_elsewhere"], workers[f"{end}_state_id"], workers[f"{end}_{column}"])
    counts: Any = (
        pandas.Series(1, index=[kind, unit_id]).groupby(level=[0, 1]).size().to_dict() if len(workers) else {}
    )
    return dict(counts)


def by_band_and_direction(workers: Any, side: str, edges: tuple[float, ...]) -> dict[tuple[int, str], int]:
    """Workers by distance band and direction from their `side`."""
    counts: dict[tuple[int, str], int] = {}
    for miles, direction in zip(workers["distance_mi"], workers[f"direction_{side}"], strict=True):
        key = (sum(miles >= edge for edge in edges), direction)
        counts[key] = counts.get(key, 0) + 1
    return counts


def is_in_order(table: Any) -> bool:
    """Whether a table of units has its units first, most workers first, then those in no unit, then whole states."""
    place = {"unit": 0, "none": 1, "elsewhere": 2}
    keys = [(place[row.kind], -row.workers) for row in table.itertuples()]
    return keys == sorted(keys)
