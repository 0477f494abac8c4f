"""What a lone worker risks under a setting, from public quantities: to keep the true support point, or the true tract.

The chance that the true home tract is shown is expected for homes as the public prior has them.

For units of drawing larger than a block and segment, the chance depends on where the others live. It is then given for
an example: units whose workers all live in different support points.

Source: docs/theory/method.md, section 7g; docs/privacy-promise.md, "What a lone worker risks".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from engine.accountant.lone_worker import stay_apart, stay_weighted
from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.mechanisms.cascade import count_clusters
from engine.mechanisms.prices import LAWS, PRICE_UNITS, LawVersion
from engine.mechanisms.thetas import THETA_BITS
from engine.mechanisms.unit import sizes_of_units
from engine.parameters import Mechanism, PrivacyParameters, SynthesisParameters
from engine.support.coarsening import LEVEL_REMAINDER, Coarsening, coarsen
from engine.support.tracts import OriginTracts
from mapapp.kinds.release.make.certified_weights import CertifiedClasses
from mapapp.kinds.release.make.prior import PublicPrior
from mapapp.kinds.release.make.support import Support

# How often a worker who keeps the true support point is shown in the true home tract, from public quantities.
#
# A support point may hold many tracts, and a home is placed in one of them by population. So a lone worker's true tract
# is shown if the worker keeps the point and the place falls into the tract. Where the worker lives is not known; the
# prior's homes stand for it.
#
# Source: docs/theory/method.md, section 7g.

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
    placed = _chance_of_placing(support, position, kept)
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


def _chance_of_placing(support: Support, position: int, kept: Ints) -> Floats:
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


Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


Case = Literal["lone workers", "apart", "lone workers in clusters", "apart in clusters"]
"""Lone workers; or an example: workers drawn together who all live in different points."""

_MOST_TRACTS: Final = 2_000


class PlacedSynthesizers(Protocol):
    """The public part of some synthesizers, with the block of each workplace."""

    @property
    def destination(self) -> Ints:
        """Row of `blocks`: int64[S]."""
        ...

    @property
    def tract(self) -> npt.NDArray[np.int32]:
        """Position of the destination tract: int32[S]."""
        ...

    @property
    def count(self) -> Ints:
        """n of each synthesizer: int64[S]."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class LoneWorkers:
    """Chances to keep the true support point, and to be shown in the true tract, in one batch.

    Attributes
    ----------
    stay : float64[C]
        Chance, by class of workers.
    true_tract : float64[C]
        Expected chance that the true home tract is shown; NaN where only other tracts are looked at.
    workers : int64[C]
        Number of workers of each class: lone ones or, in an example, all.
    n_workers : int
        All lone workers or, in an example, all workers; more than those above if only some tracts are looked at.
    """

    stay: Floats
    true_tract: Floats
    workers: Ints
    n_workers: int


class _LonePoints(NamedTuple):
    """Support points of one destination tract, for one worker."""

    alpha: Floats
    retention: Floats
    home: Floats


def lone_workers(
    certified: CertifiedClasses,
    synthesizers: PlacedSynthesizers,
    support: Support,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    is_sample: bool = False,
    laws: LawVersion = "by number",
) -> LoneWorkers:
    """Return the chances of the lone workers of a batch or, for larger units, of an example.

    Of more than 4,000 tracts, about 2,000 evenly spaced ones stand for all, unless the batch is a sample. They are
    chosen by row, so the result does not depend on batches. ``laws`` says which laws the exponential mechanism has.
    """
    if parameters.cascade:
        return _chances_in_clusters(certified, synthesizers, privacy, parameters)
    every = 1 if is_sample else max(support.coarsening.tracts.n_tracts // _MOST_TRACTS, 1)
    is_looked_at = support.coarsening.destination % every == 0
    if parameters.unit != "cell":
        return _chances_apart(certified, synthesizers, support, privacy, parameters, is_looked_at, laws)
    mechanism = parameters.mechanism
    times = np.bincount(certified.class_of, minlength=certified.classes.tract.size)
    is_alone = certified.classes.likelihood_count == 1
    alone = np.flatnonzero(is_alone & is_looked_at[certified.classes.tract])
    stay = [stay_chance(certified, int(number), privacy, mechanism) for number in alone]
    weights = (true_tract_weights(support, tract) for tract in certified.classes.tract[alone].tolist())
    true_tract = [
        stay_chance(certified, number, privacy, mechanism, of_point)
        for number, of_point in zip(alone.tolist(), weights, strict=True)
    ]
    return LoneWorkers(
        stay=np.array(stay, dtype=np.float64),
        true_tract=np.array(true_tract, dtype=np.float64),
        workers=times[alone].astype(np.int64),
        n_workers=int(times[is_alone].sum()),
    )


def lone_worker_facts(parts: Sequence[LoneWorkers], parameters: SynthesisParameters) -> dict[str, object]:
    """Return what the certificate says of lone workers.

    Returns
    -------
    dict
        `workers`, how many there are; `stay`, with the `least`, the mean over workers (`typical`) and the `greatest`
        chance to keep the true support point, None without workers; `true_tract`, with the same of the chance that the
        true tract is shown; `is_bound`, false, since these are no upper bounds; `case`, of whom the chances are.
    """
    workers = np.concatenate([part.workers for part in parts])
    case: Case = "lone workers" if parameters.unit == "cell" else "apart"
    if parameters.cascade:
        case = "lone workers in clusters" if parameters.unit == "cell" else "apart in clusters"
    return {
        "workers": sum(part.n_workers for part in parts),
        "stay": _chances(np.concatenate([part.stay for part in parts]), workers),
        "true_tract": _chances(np.concatenate([part.true_tract for part in parts]), workers),
        "is_bound": False,
        "case": case,
    }


def _chances(chance: Floats, workers: Ints) -> dict[str, float] | None:
    """Return least, mean over workers, and greatest of the chances that are known; None without any."""
    mean = mean_chance(chance, workers)
    if mean is None:
        return None
    known = chance[~np.isnan(chance) & (workers > 0)]
    return {"least": float(known.min()), "typical": mean, "greatest": float(known.max())}


def mean_chance(chance: Floats, workers: Ints) -> float | None:
    """Return the mean over workers of the chances that are known; None without any."""
    known = np.flatnonzero(~np.isnan(chance) & (workers > 0))
    if not known.size:
        return None
    # Exact before it is rounded, so that the division into batches does not matter.
    total = sum(map(_share, chance[known].tolist(), workers[known].tolist()))
    return float(total / int(workers[known].sum()))


def _share(chance: float, workers: int) -> Fraction:
    return Fraction(chance) * workers


def _lone_points_of(certified: CertifiedClasses, number: int) -> _LonePoints:
    """Return the support points of the destination tract of a class."""
    tract = int(certified.classes.tract[number])
    points = slice(*certified.prior.support_ptr[tract : tract + 2])
    base = certified.prior.base_weight[points].astype(np.float64)
    alpha = np.maximum(base, certified.min_weight[number]) / WEIGHT_UNITS
    retention = certified.prior.retention[points] / RETENTION_UNITS
    # As drawn: what weighs more than one worker is never pruned.
    kept = np.where(certified.prunes[number] & (alpha <= 1.0), retention, 1.0)
    home = base if base.any() else np.ones_like(base)
    return _LonePoints(alpha, kept, home / home.sum())


def stay_chance(
    certified: CertifiedClasses,
    number: int,
    privacy: PrivacyParameters,
    mechanism: Mechanism,
    home: Floats | None = None,
) -> float:
    """Return the chance of a class's lone workers to keep the true support point.

    Parameters
    ----------
    certified, number
        The class.
    privacy, mechanism
        What the release is made of.
    home : float64[k], optional
        Weights of the support points over whose chances it is summed; by default the prior's shares.
    """
    if mechanism == "exponential":
        n_points = np.diff(certified.prior.support_ptr)[certified.classes.tract[number]]
        return _stay_apart(privacy, int(n_points), 1) * (1.0 if home is None else float(home.sum()))
    points = _lone_points_of(certified, number)
    return stay_weighted(points.alpha, points.retention, points.home if home is None else home)


def _stay_apart(
    privacy: PrivacyParameters, n_points: int, n_workers: int, laws: LawVersion = "by number"
) -> float:
    law = LAWS[laws](privacy.epsilon, n_points, n_workers)
    return stay_apart(
        law.inverse_theta / (1 << THETA_BITS), n_points, n_workers, price=law.price / PRICE_UNITS
    )


def _chances_apart(
    certified: CertifiedClasses,
    synthesizers: PlacedSynthesizers,
    support: Support,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    is_looked_at: Bools,
    laws: LawVersion,
) -> LoneWorkers:
    """Return the chances in units of several blocks or segments whose workers all live in different points."""
    tract, n = sizes_of_units(
        parameters.unit, synthesizers.destination, synthesizers.tract, synthesizers.count
    )
    k = np.diff(certified.prior.support_ptr)
    # No more workers than points can live apart.
    pairs, of_pair = np.unique(np.stack([tract, np.minimum(n, k[tract])]), axis=1, return_inverse=True)
    stay = np.array(
        [_stay_apart(privacy, int(k[at]), int(apart), laws) for at, apart in pairs.T], dtype=np.float64
    )
    return LoneWorkers(
        stay=stay,
        true_tract=stay * _true_tract_shares(support, is_looked_at)[pairs[0]],
        workers=np.bincount(of_pair.reshape(-1), n, pairs.shape[1]).astype(np.int64),
        n_workers=int(synthesizers.count.sum()),
    )


def _chances_in_clusters(
    certified: CertifiedClasses,
    synthesizers: PlacedSynthesizers,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
) -> LoneWorkers:
    """Return the chances of lone workers to keep the true cluster, or in larger units of workers in different ones.

    Which support point of the cluster they are dealt depends on all other workers, so no chance of it is stated.
    """
    tract, n = sizes_of_units(
        parameters.unit, synthesizers.destination, synthesizers.tract, synthesizers.count
    )
    if parameters.unit == "cell":
        tract, n = tract[n == 1], n[n == 1]
    clusters = count_clusters(privacy.epsilon, np.diff(certified.prior.support_ptr)[tract], n)
    pairs, of_pair = np.unique(np.stack([clusters, np.minimum(n, clusters)]), axis=1, return_inverse=True)
    stay = np.array([_stay_apart(privacy, int(c), int(apart)) for c, apart in pairs.T], dtype=np.float64)
    return LoneWorkers(
        stay=stay,
        true_tract=np.full(stay.size, np.nan),
        workers=np.bincount(of_pair.reshape(-1), n, pairs.shape[1]).astype(np.int64),
        n_workers=int(n.sum()),
    )


def _true_tract_shares(support: Support, is_looked_at: Bools) -> Floats:
    """Return the chance that who keeps the point is shown in the true tract; NaN for tracts not looked at."""
    return np.array(
        [
            true_tract_weights(support, position).sum() if is_known else np.nan
            for position, is_known in enumerate(is_looked_at.tolist())
        ]
    )
