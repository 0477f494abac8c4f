"""How far typical numbers of a release are off, by its expected errors: flows between tracts, and the inflow of towns.

Everything follows from the release and its certificate, so it may be printed in a report. Up to a hundred numbers of
each kind represent the others. They differ widely, so a mean would say little: a few flows are off by as much as they
count, and most by a few workers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from geodata.store.zones import ZONE
from mapapp.answers.errors.stated_errors import MOST_FLOWS, Counted, Floats, flow_errors, inflow_errors
from mapapp.answers.publication import is_of_records
from mapapp.answers.release import Release

__all__ = ["FLOW_CLASSES", "MOST_FLOWS", "MOST_TOWNS", "TypicalErrors", "typical_errors"]

FLOW_CLASSES: Final = {100: (50, 199), 10: (5, 19)}
"""Typical flows, and the least and most workers of those that represent them."""

MOST_TOWNS: Final = 40
_LEAST_INFLOW: Final = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class TypicalErrors:
    """Expected errors: what half of the numbers are off by at most, and nine in ten of them.

    Attributes
    ----------
    flows : dict of int to pair of float
        Of a flow from tract to tract, by about how many workers it has.
    inflow_layer : str
        "ctycsub" if the release has towns (county subdivisions), otherwise "county", or "zone" of another country.
    inflow : pair of float or None
        Of an area's inflow, as a share of it; None if no area has an inflow of 100.
    """

    flows: dict[int, tuple[float, float]]
    inflow_layer: str
    inflow: tuple[float, float] | None


def typical_errors(release: Release) -> TypicalErrors | None:
    """Return how far typical numbers are off; None if the release or the model of its mechanism lacks them.

    Worker records have none: their certificate does not cover flows between tracts.
    """
    if not release.errors.is_known or is_of_records(release.certificate):
        return None
    layer = next((name for name in ("ctycsub", "county") if name in release.areas.columns), ZONE)
    counted = Counted(release.errors, release.flows)
    flows = flow_errors(counted, release.areas.units("tract"), FLOW_CLASSES)
    inflow, error = inflow_errors(counted, release.areas.units(layer), MOST_TOWNS, least=_LEAST_INFLOW)
    if not flows and not inflow.size:
        return None
    return TypicalErrors(
        flows={size: _half_and_most(errors) for size, errors in flows.items()},
        inflow_layer=layer,
        inflow=_half_and_most(error / inflow) if inflow.size else None,
    )


def _half_and_most(values: Floats) -> tuple[float, float]:
    half, most = np.quantile(values, (0.5, 0.9))
    return float(half), float(most)
