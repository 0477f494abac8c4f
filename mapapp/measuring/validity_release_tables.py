"""From measured parts of a release to its result: the tables of a setting with what was drawn beside them, and more."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from engine.validity import weighted_mean
from mapapp.measuring.analyst import AnalystData
from mapapp.measuring.validity_drawn import DrawnPart, DrawnRelease
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
from mapapp.publishing.plain_measures import plain_tables

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
        **plain_tables([part.homes for part in drawn], is_sample=closed.facts["scope"]["is_sample"]),
    }
    summary = dict(closed.summary)
    for name in ("kl_drawn", "imse_drawn", "moved"):
        summary |= by_size(destinations, name)
    summary |= by_size(destinations.assign(infinite=is_infinite), "infinite")
    for who in ("real", "drawn"):
        summary[f"distance_blocks_{who}_mi"] = weighted_mean(
            destinations[f"{who}_block_mi"], destinations["n_workers"]
        )
    n_lone = sum(part.lone_workers for part in drawn)
    summary["lone_in_tract"] = sum(part.lone_in_tract for part in drawn) / n_lone if n_lone else math.nan
    chances = closed.facts["certificate"]["lone_worker"]["true_tract"]
    summary["lone_in_tract_expected"] = float(chances["typical"]) if isinstance(chances, dict) else math.nan
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
    return {
        "path": str(release.store.path),
        "status": certificate["status"],
        "epsilon_final": float(certificate["epsilon_final"]["value"]),
        "delta": float(certificate["delta"]["value"]),
        "is_of_these_counts": release.is_of_these_counts,
    }
