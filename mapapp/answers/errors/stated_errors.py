"""What a page states, on average, as errors of inflow and of flows between tracts: one figure for all who say it.

The same formula makes the ± beside a number (`mapapp.answers.errors.release_errors`). A report, `validate`, and a dry
run take its root mean square from here, over numbers of a kind. Up to a hundred numbers of each kind represent the
others. A dry run has no release; its workers are drawn in place of homes simulated from public data.

Source: docs/theory/expected-errors.md, "One figure".
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from geodata.store.store import Store
from mapapp.answers.areas.areas import Areas
from mapapp.answers.areas.layer_units import LayerUnits
from mapapp.answers.commutes.attributes import Attributes
from mapapp.answers.commutes.flows import Flows
from mapapp.answers.commutes.pick import Ints, Pick
from mapapp.answers.commutes.prepared import prepared_for_a_while
from mapapp.answers.errors.answer_errors import Errors
from mapapp.answers.errors.release_errors import ReleaseErrors

__all__ = [
    "MOST_FLOWS",
    "Counted",
    "InflowErrors",
    "StatedErrors",
    "flow_errors",
    "inflow_errors",
    "stated_errors",
]

Floats = npt.NDArray[np.float64]
Size = TypeVar("Size", bound=Hashable)

MOST_FLOWS: Final = 100
_WORKPLACE_TRACTS: Final = 64
_MOST_AREAS: Final = 100
_LAYERS: Final = {"tract": "tract", "town": "ctycsub", "county": "county"}
"""Layers by the levels of areas that `validate` compares."""


class Counted(NamedTuple):
    """The commutes of a release, or of what may become one, and the errors of their counts."""

    errors: Errors
    flows: Flows


class InflowErrors(NamedTuple):
    """Inflow of some areas, and its expected errors: float64[areas]."""

    inflow: Floats
    error: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedErrors:
    """Root mean squares of expected errors.

    Attributes
    ----------
    inflow : dict of str to float
        By level of area, as a share of the mean inflow.
    flows : dict of str to float
        Of a flow between tracts, in workers, by the size that is read.
    """

    inflow: Mapping[str, float]
    flows: Mapping[str, float]


def stated_errors(
    store: Store,
    certificate: Mapping[str, object],
    sizes: Mapping[str, tuple[int, int | None]],
    *,
    of_inflow: bool = True,
) -> StatedErrors | None:
    """Return the errors that pages would state of jobs; None if the certificate lacks what they need.

    Parameters
    ----------
    store : Store
        A release; or a dataset whose jobs were replaced by drawn ones. Nothing is written to a disk.
    certificate : mapping
    sizes : mapping of str to (int, int or None)
        Least and most workers of the flows of each size, by name; no most where it is None.
    of_inflow : bool
        Whether the jobs are those of all workplaces, so that areas have an inflow.
    """
    with prepared_for_a_while(store) as prepared:
        flows, areas = Flows(prepared, store, Attributes()), Areas(store)
        errors = ReleaseErrors(store, areas, flows, certificate)
        if not errors.is_known:
            return None
        counted = Counted(errors, flows)
        layers = {level: layer for level, layer in _LAYERS.items() if of_inflow and layer in areas.columns}
        by_level = {
            level: inflow_errors(counted, areas.units(layer), _MOST_AREAS, least=1)
            for level, layer in layers.items()
        }
        return StatedErrors(
            inflow={
                level: _root_mean_square(found.error) / float(found.inflow.mean())
                for level, found in by_level.items()
                if found.inflow.size
            },
            flows={
                size: _root_mean_square(error)
                for size, error in flow_errors(counted, areas.units("tract"), sizes).items()
            },
        )


def inflow_errors(counted: Counted, units: LayerUnits, most: int, *, least: int) -> InflowErrors:
    """Return the errors of the inflow of up to `most` units with at least so many workers and so large an inflow.

    The error of the inflow is that of the workers who stay, because the number of all who work in a unit is exact.
    """
    employed = units.of(*counted.flows.by_block(Pick(), "work")) * units.is_unit
    by_size = np.argsort(-employed, kind="stable")
    inflows, errors = [], []
    for row in _spread(by_size[employed[by_size] >= least], most):
        blocks = units.blocks_of(int(row))
        stay = Pick(home=blocks, work=blocks)
        inflow = int(employed[row]) - int(counted.flows.by_segment(stay).sum())
        error = counted.errors.of_count(stay)
        if inflow >= least and error is not None:
            inflows.append(inflow)
            errors.append(error)
    return InflowErrors(np.array(inflows, dtype=np.float64), np.array(errors, dtype=np.float64))


def flow_errors(
    counted: Counted, tracts: LayerUnits, sizes: Mapping[Size, tuple[int, int | None]]
) -> dict[Size, Floats]:
    """Return the errors of up to :data:`MOST_FLOWS` flows between tracts of each size; sizes without any are left out.

    Up to 64 workplace tracts represent the others.
    """
    block, _ = counted.flows.by_block(Pick(), "work")
    work_tracts = np.unique(tracts.code[block]).astype(np.int64)
    chosen = np.isin(tracts.code, _spread(work_tracts[tracts.is_unit[work_tracts]], _WORKPLACE_TRACTS))
    least = min(first for first, _ in sizes.values())
    parts = []
    work = Pick(work=np.flatnonzero(chosen).astype(np.int32))
    for part in counted.flows.matrix(work, tracts.code, tracts.code):
        home, destination, workers = part  # the largest first
        are_units = tracts.is_unit[home] & tracts.is_unit[destination]
        parts.append(np.stack(part)[:, are_units & (workers >= least)])
        if workers[-1] < least:
            break
    flows = np.concatenate(parts, axis=1) if parts else np.zeros((3, 0), dtype=np.int64)
    errors = {}
    for size, (first, last) in sizes.items():
        is_of_size = (flows[2] >= first) & (flows[2] <= (math.inf if last is None else last))
        picks = [
            Pick(home=tracts.blocks_of(int(home)), work=tracts.blocks_of(int(place)))
            for home, place in _spread(flows[:2, is_of_size].T, MOST_FLOWS)
        ]
        if picks:
            known = [error for error in counted.errors.of_counts(picks) if error is not None]
            errors[size] = np.array(known, dtype=np.float64)
    return errors


def _spread(values: Ints, most: int) -> Ints:
    """A limited number of values, evenly spaced in their order."""
    places = np.linspace(0, len(values) - 1, min(most, len(values))).round().astype(np.int64)
    return values[places]


def _root_mean_square(values: Sequence[float] | Floats) -> float:
    return math.sqrt(float(np.mean(np.square(values))))
