"""How often a worker who keeps the true support point is shown in the true home tract, from public quantities.

A support point may hold many tracts, and a home is placed in one of them by population. So a lone worker's true tract
is shown if the worker keeps the point and the place falls into the tract. Where the worker lives is not known; the
prior's homes stand for it.

Source: docs/theory/method.md, section 7g.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from engine.coarsening import LEVEL_REMAINDER, Coarsening, coarsen
from engine.tracts import OriginTracts
from mapapp.publishing.prior import PublicPrior
from mapapp.publishing.support import Support

__all__ = ["true_tract_weights"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_WHOLE_EARTH_MI: Final = 12_500.0


def true_tract_weights(support: Support, position: int) -> Floats:
    """Weights of the support points of one destination tract in the chance that the true tract is shown.

    Parameters
    ----------
    support : Support
    position : int
        Of the destination tract among those of `support`.

    Returns
    -------
    float64[k]
        For each point, the sum over its tracts of the prior's share of homes in the tract times the chance that a
        worker of the point is placed there. 0 for the remainder, whose workers are drawn again.
    """
    coarsening = support.coarsening
    first, last = coarsening.support_ptr[position : position + 2]
    point = _point_of_tracts(coarsening, position)
    kept = np.flatnonzero(point >= 0)
    kept = kept[coarsening.support_level[first + point[kept]] != LEVEL_REMAINDER]
    placed = _placed(support, position, kept)
    mass = _prior_mass(support.prior, coarsening.tracts, int(coarsening.destination[position]))
    # Without mass all points are alike, and within a point homes are where people live.
    home = support.share[first + point[kept]] * placed if mass is None else mass[kept] / mass.sum()
    return np.bincount(point[kept], home * placed, int(last - first)).astype(np.float64)


def _prior_mass(prior: PublicPrior, tracts: OriginTracts, destination: int) -> Floats | None:
    """The prior's mass in every tract, seen from one destination tract; None under the uniform prior."""
    apart, gravity_mass = coarsen(
        tracts,
        np.array([destination], dtype=np.int64),
        q50_mi=_WHOLE_EARTH_MI,
        q90_mi=_WHOLE_EARTH_MI,
        decay=prior.decay,
    )
    mass = prior.mass(apart, gravity_mass)[0]
    if mass is None:
        return None
    of_tract = np.zeros(tracts.n_tracts)
    of_tract[apart.support_unit] = mass
    return of_tract


def _placed(support: Support, position: int, kept: Ints) -> Floats:
    """Chance that a worker of a tract's support point is placed in the tract: float64, one entry for each of `kept`."""
    apart = support.coarsening_of_homes
    people = apart.tracts.population[kept].astype(np.float64)
    point = _point_of_tracts(apart, position)[kept]
    people[np.bincount(point, people)[point] == 0] = 1.0
    share = people / np.bincount(point, people)[point]
    if support.far_split is None:
        return np.asarray(share)
    return np.asarray(share * support.far_split.chance[apart.support_ptr[position] + point])


def _point_of_tracts(coarsening: Coarsening, position: int) -> npt.NDArray[np.int32]:
    """Local support point of every tract for one destination tract; -1 where editing dropped it."""
    every = np.arange(coarsening.tracts.n_tracts, dtype=np.int64)
    return coarsening.find(np.full(every.size, position, dtype=np.int32), every)
