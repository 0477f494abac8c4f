"""How far typical numbers of a release are off, by its expected errors: flows between tracts, and the inflow of towns.

Everything follows from the release and its certificate, so it may be printed in a report. Up to a hundred numbers of
each kind represent the others. They differ widely, so a mean would say little: a few flows are off by as much as they
count, and most by a few workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from geodata.store.zones import ZONE
from mapapp.answers.areas.layer_units import LayerUnits
from mapapp.answers.commutes.pick import Ints, Pick
from mapapp.answers.publication import is_of_records
from mapapp.answers.release import Release

__all__ = ["FLOW_CLASSES", "MOST_FLOWS", "MOST_TOWNS", "TypicalErrors", "typical_errors"]

FLOW_CLASSES: Final = {100: (50, 199), 10: (5, 19)}
"""Typical flows, and the least and most workers of those that represent them."""

MOST_FLOWS: Final = 100
MOST_TOWNS: Final = 40
_WORKPLACE_TRACTS: Final = 64
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
    flows, inflow = _flow_errors(release), _inflow_error(release, release.areas.units(layer))
    if not flows and inflow is None:
        return None
    return TypicalErrors(flows=flows, inflow_layer=layer, inflow=inflow)


def _flow_errors(release: Release) -> dict[int, tuple[float, float]]:
    tracts = release.areas.units("tract")
    is_unit = (tracts.rows["kind"] == "unit").to_numpy(np.bool_)
    block, _ = release.flows.by_block(Pick(), "work")
    work_tracts = np.unique(tracts.code[block]).astype(np.int64)
    chosen = np.isin(tracts.code, _spread(work_tracts[is_unit[work_tracts]], _WORKPLACE_TRACTS))
    least = min(first for first, _ in FLOW_CLASSES.values())
    parts = []
    for part in release.flows.matrix(
        Pick(work=np.flatnonzero(chosen).astype(np.int32)), tracts.code, tracts.code
    ):
        home, work, workers = part  # the largest first
        parts.append(np.stack(part)[:, is_unit[home] & is_unit[work] & (workers >= least)])
        if workers[-1] < least:
            break
    flows = np.concatenate(parts, axis=1) if parts else np.zeros((3, 0), dtype=np.int64)
    errors = {}
    for size, (first, last) in FLOW_CLASSES.items():
        of_size = flows[:, (flows[2] >= first) & (flows[2] <= last)]
        picks = [
            Pick(home=tracts.blocks_of(int(home)), work=tracts.blocks_of(int(work)))
            for home, work in _spread(of_size[:2].T, MOST_FLOWS)
        ]
        if picks:
            errors[size] = _half_and_most(release.errors.of_counts(picks))
    return errors


def _inflow_error(release: Release, towns: LayerUnits) -> tuple[float, float] | None:
    """Of areas with an inflow of 100 or more; the error of the inflow is that of the workers who stay."""
    is_unit = (towns.rows["kind"] == "unit").to_numpy(np.bool_)
    employed = towns.of(*release.flows.by_block(Pick(), "work")) * is_unit
    by_size = np.argsort(-employed, kind="stable")
    shares = []
    for row in _spread(by_size[employed[by_size] >= _LEAST_INFLOW], MOST_TOWNS):
        blocks = towns.blocks_of(int(row))
        stay = Pick(home=blocks, work=blocks)
        inflow = int(employed[row]) - int(release.flows.by_segment(stay).sum())
        error = release.errors.of_count(stay)
        if inflow >= _LEAST_INFLOW and error is not None:
            shares.append(error / inflow)
    return _half_and_most(shares) if shares else None


def _spread(values: Ints, most: int) -> Ints:
    """A limited number of values, evenly spaced in their order."""
    places = np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(np.int64)
    return values[places]


def _half_and_most(values: Sequence[float | None]) -> tuple[float, float]:
    half, most = np.quantile([value for value in values if value is not None], (0.5, 0.9))
    return float(half), float(most)
