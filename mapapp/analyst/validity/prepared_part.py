"""What no promise, retention, or strength changes of a setting on one part of the destination tracts.

Support points, the cells and distances that they spread over, and where the real workers are among them: prepared once
for all settings that differ in nothing else. Confidential, since the real workers are in it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, fields
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.parameters import SynthesisParameters
from engine.streams import PublicSeed
from engine.support.coarsening import LEVEL_REMAINDER, Coarsening
from engine.validity import count_points, point_cells, positive_shares
from mapapp.analyst.validity.compared_workers import RealWorkers
from mapapp.analyst.validity.tract_workers import Panel
from mapapp.kinds.base.geography import Geography, Ints
from mapapp.kinds.release.make.prior import PublicPrior
from mapapp.kinds.release.make.support import Domain, build_domain, point_of_tract

__all__ = ["DomainPair", "DomainPoints", "PreparedPart", "prepare_part", "prepared_key"]

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

_WITHOUT_EFFECT: Final = {
    "strength",
    "retention_scale",
    "placement",
    "replication",
    "mechanism",
    "unit",
    "clean",
}
"""Parameters on which nothing here depends."""


class DomainPoints(NamedTuple):
    """Support points of each destination tract, before or after editing.

    Attributes
    ----------
    levels : int64[T, 4]
        By level.
    ranges : int64[T, n_ranges]
        By distance.
    positive : float64[T, n_ranges + 1]
        Share of the points of each range, and of all, that have positive prior mass.
    """

    levels: Ints
    ranges: Ints
    positive: Floats


class DomainPair(NamedTuple):
    """Support points before and after editing."""

    before: DomainPoints
    after: DomainPoints


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedPart:
    """A part of the destination tracts, prepared for settings with the same support points. Nobody changes the arrays.

    Attributes
    ----------
    domain : Domain
        Support points before and after editing, with their prior shares.
    points : DomainPair
        How many there are of each kind.
    local : int32[W]
        Support point of each real worker within its tract; -1 where editing dropped it.
    worker_point : int64[W]
        The same, counted over all tracts.
    shares : float64[K, 29]
        Share of each support point in each cell.
    values : float64[K, 3]
        Of each point by population: mean distance, share of it that is short, and the distance of that.
    real : RealWorkers
    """

    domain: Domain
    points: DomainPair
    local: npt.NDArray[np.int32]
    worker_point: Ints
    shares: Floats
    values: Floats
    real: RealWorkers

    @property
    def size(self) -> int:
        """About how many numbers it holds."""
        return self.shares.size + 4 * self.local.size


def prepared_key(panel: Panel, seed: PublicSeed, parameters: SynthesisParameters) -> Hashable:
    """What distinguishes the prepared parts of a dataset."""
    names = [field.name for field in fields(parameters) if field.name not in _WITHOUT_EFFECT]
    return (panel.position.tobytes(), seed.digits, *(getattr(parameters, name) for name in names))


def prepare_part(
    panel: Panel,
    geography: Geography,
    prior: PublicPrior,
    seed: PublicSeed,
    parameters: SynthesisParameters,
) -> PreparedPart:
    """Coarsen and edit the domain of some destination tracts, and find their workers in it."""
    inputs, tracts = panel.inputs, geography.tracts
    domain = build_domain(seed, tracts, inputs.destination_tract, prior, parameters)
    coarsening = domain.edited.coarsening
    of_tract, ptr = point_of_tract(coarsening), coarsening.support_ptr
    worker_tract = np.repeat(inputs.tract, inputs.count)
    local = of_tract[worker_tract, panel.home_tract]
    shares = point_cells(ptr, of_tract, panel.cell, tracts.population)
    values = _distances(panel, geography, ptr, of_tract, parameters.q50_mi)
    _spread_remainders(coarsening, domain.share, shares, values)
    return PreparedPart(
        domain=domain,
        points=_domain(domain),
        local=local,
        worker_point=np.where(local >= 0, ptr[worker_tract] + local, -1),
        shares=shares,
        values=values,
        real=RealWorkers(
            destination_ptr=inputs.worker_ptr[inputs.destination_ptr],
            cell=panel.cell[worker_tract, panel.home_tract],
            distance_mi=panel.distance_mi[worker_tract, panel.home_tract],
            is_edited_out=_find_edited_out(coarsening, worker_tract, local),
        ),
    )


def _find_edited_out(
    coarsening: Coarsening, worker_tract: npt.NDArray[np.int32], local: npt.NDArray[np.int32]
) -> Bools:
    """Whether each worker's support point was eliminated: dropped, or pooled into the remainder."""
    level = coarsening.support_level[coarsening.support_ptr[worker_tract] + np.maximum(local, 0)]
    return np.asarray((local < 0) | (level == LEVEL_REMAINDER))


def _spread_remainders(coarsening: Coarsening, share: Floats, *of_points: Floats) -> None:
    """Give every remainder the mean of the other points under the public prior, from which its workers are drawn again.

    Changes the arrays, which have a row for each point, in place.

    Source: docs/theory/method.md, section 4, `pool`.
    """
    tract = coarsening.tract_of_point
    is_remainder = coarsening.support_level == LEVEL_REMAINDER
    if not is_remainder.any():
        return
    weight = np.where(is_remainder, 0.0, share)
    weight /= np.bincount(tract, weight, coarsening.n_destination_tracts)[tract]
    for values in of_points:
        for column in values.T:
            mean = np.bincount(tract, weight * column, coarsening.n_destination_tracts)
            column[is_remainder] = mean[tract[is_remainder]]


def _distances(
    panel: Panel, geography: Geography, ptr: Ints, point_of_tract: npt.NDArray[np.int32], short_mi: float
) -> Floats:
    """Of each point by population: mean distance, share of it that is short, and the distance of that: float64[K, 3].

    A tract without people counts as one person, as in the cells.
    """
    has_point = point_of_tract >= 0
    point = (ptr[:-1, None] + point_of_tract)[has_point]
    people = np.broadcast_to(np.maximum(geography.tracts.population, 1), point_of_tract.shape)[has_point]
    distance = panel.distance_mi[has_point]
    short = np.where(distance < short_mi, people, 0)
    n_points = int(ptr[-1])
    total = np.maximum(np.bincount(point, people, n_points), 1)
    columns = [
        np.bincount(point, weight, n_points) for weight in (people * distance, short, short * distance)
    ]
    return np.ascontiguousarray(np.column_stack(columns) / total[:, None])


def _domain(domain: Domain) -> DomainPair:
    mass = domain.mass if domain.mass is not None else np.ones(domain.before.support_level.size)
    return DomainPair(
        before=_points_of(domain.before, mass > 0),
        after=_points_of(domain.edited.coarsening, domain.edited.carry(mass) > 0),
    )


def _points_of(coarse: Coarsening, is_positive: Bools) -> DomainPoints:
    points = (coarse.support_ptr, coarse.support_level, coarse.support_distance_mi)
    levels, ranges = count_points(*points)
    return DomainPoints(levels=levels, ranges=ranges, positive=positive_shares(*points, is_positive))
