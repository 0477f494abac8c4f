"""From measured parts of a release to its result: the tables of a setting with what was drawn beside them, and more."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas

from engine.validity import FLOW_SIZES, weighted_mean
from mapapp.measuring.analyst import AnalystData
from mapapp.measuring.validity_drawn import AREA_LEVELS, DrawnPart, DrawnRelease
from mapapp.measuring.validity_part import SettingPart
from mapapp.measuring.validity_result import MeasuredRelease, Validity
from mapapp.measuring.validity_tables import (
    by_size,
    destination_table,
    distance_table,
    range_table,
    setting_result,
    tract_table,
)

Floats = npt.NDArray[np.float64]


def release_result(
    data: AnalystData,
    release: DrawnRelease,
    parts: Sequence[SettingPart],
    drawn: Sequence[DrawnPart],
) -> Validity:
    """Put the parts of a release together."""
    closed = setting_result(data, release.privacy, release.parameters, parts)
    destinations = destination_table(data, parts)
    for name in drawn[0].destinations:
        destinations[name] = np.concatenate([part.destinations[name] for part in drawn])
    is_infinite = destinations.pop("is_infinite")
    cell_sums = {name: np.asarray(sum(part.cell_sums[name] for part in parts)) for name in parts[0].cell_sums}
    cell_sums["drawn"] = np.asarray(sum(part.cells for part in drawn))
    tables = closed.tables | {
        "destinations": destinations,
        "tracts": tract_table(data, parts, destinations),
        "ranges": range_table(cell_sums),
        "distances": distance_table(destinations),
        "flows": flow_table(drawn),
        "top_areas": top_table(drawn),
    }
    if not closed.facts["scope"]["is_sample"]:
        tables["in_out"] = in_out_table(drawn)
    summary = dict(closed.summary)
    for name in ("kl_drawn", "imse_drawn", "moved"):
        summary |= by_size(destinations, name)
    summary |= by_size(destinations.assign(infinite=is_infinite), "infinite")
    for who in ("real", "drawn"):
        summary[f"distance_blocks_{who}_mi"] = weighted_mean(
            destinations[f"{who}_block_mi"], destinations["n_workers"]
        )
    return Validity(
        basis="release",
        facts={
            **closed.facts,
            "closed_form": closed.basis,
            "release": _release_facts(release),
        },
        summary=summary,
        tables=tables,
    )


def _release_facts(release: DrawnRelease) -> MeasuredRelease:
    certificate = release.certificate
    final, delta = certificate["epsilon_final"], certificate["delta"]
    return {
        "path": str(release.store.path),
        "status": certificate["status"],
        "epsilon_final": None if final is None else float(final["value"]),
        "delta": None if delta is None else float(delta["value"]),
        "is_of_these_counts": release.is_of_these_counts,
    }


def _size(first: int, last: int | None) -> str:
    if last is None:
        return f"{first} or more"
    return str(first) if first == last else f"{first}-{last}"


def flow_table(drawn: Sequence[DrawnPart]) -> pandas.DataFrame:
    """Errors of tract-to-tract flows by size: of the real count, and of the count that a user reads."""
    rows = []
    for by in ("real", "read"):
        sums = np.asarray(sum(np.stack(part.flows[by]) for part in drawn))
        for (first, last), (n, real, read, absolute, square) in zip(FLOW_SIZES, sums.T, strict=True):
            row: dict[str, object] = {
                "by": by,
                "size": _size(first, last),
                "n_flows": int(n),
                "real": int(real),
                "drawn": int(read),
            }
            row |= {
                "mean_error": (read - real) / n if n else math.nan,
                "mean_absolute_error": absolute / n if n else math.nan,
                "root_mean_square_error": math.sqrt(square / n) if n else math.nan,
            }
            rows.append(row)
    return pandas.DataFrame(rows)


def top_table(drawn: Sequence[DrawnPart]) -> pandas.DataFrame:
    """How the ten largest home tracts of workplace tracts fare, by how many workers these have in them."""
    n_top, n_found, real, absolute = (
        np.concatenate([getattr(part.top, name) for part in drawn])
        for name in ("n_top", "n_found", "real", "absolute")
    )
    rows = []
    for first, last in ((1, 99), (100, 499), (500, None), (1, None)):
        mine = (real >= first) & (real <= (last or np.inf))
        rows.append(
            {
                "workers_in_top": "all" if (first, last) == (1, None) else _size(first, last),
                "n_workplace_tracts": int(mine.sum()),
                "mean_listed": float(n_top[mine].mean()) if mine.any() else math.nan,
                "mean_found": float(n_found[mine].mean()) if mine.any() else math.nan,
                "share_found": float(n_found[mine].sum() / n_top[mine].sum()) if mine.any() else math.nan,
                "mean_absolute_error": float(absolute[mine].sum() / n_top[mine].sum())
                if mine.any()
                else math.nan,
                "relative_error": float(absolute[mine].sum() / real[mine].sum()) if mine.any() else math.nan,
            }
        )
    return pandas.DataFrame(rows)


def in_out_table(drawn: Sequence[DrawnPart]) -> pandas.DataFrame:
    """Errors of inflow, outflow and interior workers of areas, by level; areas without any are left out."""
    rows = []
    for level in AREA_LEVELS:
        residents, interior, employed = (
            np.asarray(sum(getattr(part.areas[level], name) for part in drawn))
            for name in ("residents", "interior", "employed")
        )
        for name, (real, read) in (
            ("lives and works there", interior),
            ("inflow: works there only", employed - interior),
            ("outflow: lives there only", residents - interior),
        ):
            mine = (real > 0) | (read > 0)
            error = np.abs(read - real)[mine].astype(np.float64)
            total = int(real.sum())
            rows.append(
                {
                    "level": level,
                    "count": name,
                    "n_areas": int(mine.sum()),
                    "real": total,
                    "drawn": int(read.sum()),
                    "mean_absolute_error": float(error.mean()) if error.size else math.nan,
                    "root_mean_square_error": math.sqrt(float((error**2).mean())) if error.size else math.nan,
                    "relative_error": float(error.sum() / total) if total else math.nan,
                }
            )
    return pandas.DataFrame(rows)
