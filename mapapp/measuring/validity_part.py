"""A setting measured on one part of the destination tracts: domain, certified weights, expected commutes.

Confidential. What a part gives are arrays by destination, tract and class of synthesizers, and sums that add up over
parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.accountant import PriorTable
from engine.coarsening import LEVEL_REMAINDER, Coarsening
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed, SecretKey
from engine.synthesis import Synthesizers
from engine.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.validity import (
    N_CELLS,
    SMALL_WORKPLACE,
    CellShares,
    MeasuredWorkers,
    PriorClasses,
    cell_counts,
    cell_shares,
    count_points,
    expected_means,
    imse,
    kl_divergence,
    point_cells,
    positive_shares,
    prior_cells,
)
from mapapp.measuring.analyst import Panel
from mapapp.publishing.geography import Geography, Ints
from mapapp.publishing.inputs import Inputs
from mapapp.publishing.mechanisms import OWN_PROOFS, draw_support_points
from mapapp.publishing.prior import PublicPrior
from mapapp.publishing.promise import CertifiedBatch, certify_batch
from mapapp.publishing.support import Domain, Support, build_domain, weigh

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

N_DRAWS: Final = 10
"""Draws of a mechanism that has no closed form."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destinations:
    """Measures of destination blocks, one entry each.

    Attributes
    ----------
    block : int64[D]
        Row of `blocks`.
    tract : int64[D]
        Position of its tract in the part.
    n_workers : int64[D]
    kl : float64[D]
        Of the likelihood in points that editing left; NaN where that is nobody.
    imse : float64[D]
    real_mi, expected_mi, real_short_mi, expected_short_mi : float64[D]
        Average commutes between tract centres; short ones are below q50_mi, NaN where there are none.
    """

    block: Ints
    tract: Ints
    n_workers: Ints
    kl: Floats
    imse: Floats
    real_mi: Floats
    expected_mi: Floats
    real_short_mi: Floats
    expected_short_mi: Floats

    @property
    def is_small(self) -> Bools:
        """Destinations of 1 to 9 workers."""
        return self.n_workers <= SMALL_WORKPLACE


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingPart:
    """What one part gives.

    Attributes
    ----------
    position : int64[T]
        Positions of the destination tracts in the dataset.
    destinations : Destinations
    cell_sums : dict of str to float64[2, 29]
        Workers by cell in the likelihood, expected in the posterior and so on, in all and in small destinations.
    domain : dict of str to array
        Per destination tract: points by level and range before and after editing, shares with positive prior.
    n_kept : float64[T]
        Support points that a synthesizer of the tract is expected to keep where nobody lives.
    classes : dict of str to array
        Per class: n_workers, n_synthesizers, least_weight (units), prunes, prior_mass, kept_mass.
    n_edited_out : int64[2]
        Workers in eliminated points, of all and of small destinations.
    n_real : int64[2]
        Workers, of all and of small destinations, the eliminated ones included.
    certified : CertifiedBatch
    """

    position: Ints
    destinations: Destinations
    cell_sums: dict[str, Floats]
    domain: dict[str, npt.NDArray[Any]]
    n_kept: Floats
    classes: dict[str, npt.NDArray[Any]]
    n_edited_out: Ints
    n_real: Ints
    certified: CertifiedBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class Homes:
    """Real workers of a part, destination by destination, one entry each.

    Attributes
    ----------
    of_destination : int64[W]
        Their destination's number, rising.
    cell : int8[W]
    distance_mi : float64[W]
        Between tract centres.
    is_edited_out : bool[W]
        Whether domain editing eliminated their support point.
    """

    of_destination: Ints
    cell: npt.NDArray[np.int8]
    distance_mi: Floats
    is_edited_out: Bools

    def cells(self, n_destinations: int, chosen: Bools | bool = True) -> Floats:
        """Chosen workers by destination and cell: float64[D, 29]."""
        ptr = np.searchsorted(self.of_destination, np.arange(n_destinations + 1))
        counted = np.where(chosen, self.cell, -1).astype(np.int8)
        return cell_counts(ptr, counted).astype(np.float64)


class Drawn(NamedTuple):
    """What synthetic workers are expected to be like, by destination.

    Attributes
    ----------
    posterior, variance : float64[D, 29]
        Of the shares of the cells.
    means : float64[D, 3]
        Distance, share of short commutes, and their share times their distance.
    """

    posterior: Floats
    variance: Floats
    means: Floats


def measure_part(
    panel: Panel,
    geography: Geography,
    prior: PublicPrior,
    seed: PublicSeed,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
) -> SettingPart:
    """Certify a setting for some destination tracts and measure it on their workers.

    Raises
    ------
    EngineError
        No weight keeps the promise.
    """
    inputs, tracts = panel.inputs, geography.tracts
    domain = build_domain(seed, tracts, inputs.destination_tract, prior, parameters)
    support = weigh(domain, privacy, parameters)
    certified = certify_batch(inputs, support, privacy, parameters.mechanism)
    classes, class_of = prior_classes(inputs, support, certified, parameters)
    point_of_tract = points_of_tracts(support.coarsening)
    worker_tract = np.repeat(inputs.tract, inputs.count)
    local = point_of_tract[worker_tract, panel.home_tract]
    ptr = support.table.support_ptr
    start = np.flatnonzero(np.diff(inputs.destination, prepend=-1))
    workers = MeasuredWorkers(
        destination_ptr=np.append(start, inputs.destination.size),
        class_of=class_of,
        worker_ptr=inputs.worker_ptr,
        worker_point=np.where(local >= 0, ptr[worker_tract] + local, -1),
    )
    shares = point_cells(ptr, point_of_tract, panel.cell, tracts.population)
    values = _distances(panel, geography, ptr, point_of_tract, parameters.q50_mi)
    redrawn(support, shares, values)
    of_destination = np.repeat(np.arange(start.size), np.diff(inputs.worker_ptr[workers.destination_ptr]))
    home = Homes(
        of_destination=of_destination,
        cell=panel.cell[worker_tract, panel.home_tract],
        distance_mi=panel.distance_mi[worker_tract, panel.home_tract],
        is_edited_out=edited_out(support.coarsening, worker_tract, local),
    )
    if parameters.mechanism in OWN_PROOFS:
        drawn = simulated(inputs, support, certified, privacy, parameters, local, shares, values)
    else:
        cells = cell_shares(classes, workers, shares, home.cell)
        drawn = Drawn(cells.posterior, cells.variance, expected_means(classes, workers, values))
    destinations = _destinations(inputs, start, home, drawn, parameters.q50_mi)
    is_small = destinations.is_small
    return SettingPart(
        position=panel.position,
        destinations=destinations,
        cell_sums=_cell_sums(home, drawn, destinations, inputs, workers, classes, shares),
        domain=_domain(domain),
        n_kept=_n_kept(support),
        classes=_class_table(classes, class_of, inputs, ptr, with_weights=not without_weights(parameters)),
        n_edited_out=np.array([(home.is_edited_out & who).sum() for who in (True, is_small[of_destination])]),
        n_real=np.array([of_destination.size, is_small[of_destination].sum()]),
        certified=certified,
    )


def without_weights(parameters: SynthesisParameters) -> bool:
    """Whether the mechanism has no prior weights to certify."""
    return parameters.mechanism in OWN_PROOFS


def points_of_tracts(coarsening: Coarsening) -> npt.NDArray[np.int32]:
    """Local support point of every origin tract, -1 where it was dropped: int32[T, n_tracts]."""
    shape = (coarsening.n_destination_tracts, coarsening.tracts.n_tracts)
    position, origin = np.indices(shape, dtype=np.int32, sparse=True)
    both = (np.broadcast_to(place, shape).ravel() for place in (position, origin))
    return coarsening.find(*both).reshape(shape)


def edited_out(
    coarsening: Coarsening, worker_tract: npt.NDArray[np.int32], local: npt.NDArray[np.int32]
) -> Bools:
    """Whether each worker's support point was eliminated: dropped, or pooled into the remainder."""
    level = coarsening.support_level[coarsening.support_ptr[worker_tract] + np.maximum(local, 0)]
    return np.asarray((local < 0) | (level == LEVEL_REMAINDER))


def redrawn(support: Support, *of_points: Floats) -> None:
    """Let every remainder stand for where its workers go: the public prior over the other points (in place).

    Source: docs/method.md, section 4, `pool`.
    """
    coarsening = support.coarsening
    tract = coarsening.tract_of_point
    is_remainder = coarsening.support_level == LEVEL_REMAINDER
    if not is_remainder.any():
        return
    weight = np.where(is_remainder, 0.0, support.share)
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


def prior_classes(
    inputs: Inputs, support: Support, certified: CertifiedBatch, parameters: SynthesisParameters
) -> tuple[PriorClasses, Ints]:
    """Weights of every distinct (destination tract, n), and the class of every synthesizer."""
    base = int(inputs.count.max()) + 1
    distinct, first, class_of = np.unique(
        inputs.tract.astype(np.int64) * base + inputs.count, return_index=True, return_inverse=True
    )
    table = PriorTable(
        support_ptr=support.table.support_ptr,
        base_weight=support.table.prior_weight,
        retention=support.table.retention_threshold,
    )
    return PriorClasses(
        prior=table,
        tract=distinct // base,
        min_weight=np.ones_like(distinct)
        if without_weights(parameters)
        else certified.min_prior_weight[first],
        prunes=certified.prunes[first],
    ), class_of


def _class_table(
    classes: PriorClasses, class_of: Ints, inputs: Inputs, ptr: Ints, *, with_weights: bool
) -> dict[str, npt.NDArray[Any]]:
    if not with_weights:
        return {}
    one = np.ones((int(ptr[-1]), 1))
    times = np.bincount(class_of, minlength=classes.tract.size)
    n_workers = np.zeros(classes.tract.size, dtype=np.int64)
    n_workers[class_of] = inputs.count
    assert classes.prunes is not None
    return {
        "n_workers": n_workers,
        "n_synthesizers": times,
        "least_weight": classes.min_weight,
        "prunes": classes.prunes,
        "prior_mass": classes.sums(one, pruned=False)[0],
        "kept_mass": classes.sums(one)[0],
    }


def _destinations(inputs: Inputs, start: Ints, home: Homes, drawn: Drawn, short_mi: float) -> Destinations:
    """KL is of the likelihood that editing left, as in P10, or it would be infinite; all else is of everybody."""
    real, kept = home.cells(start.size), home.cells(start.size, ~home.is_edited_out)
    n, n_kept = real.sum(axis=1), kept.sum(axis=1)
    short = home.distance_mi < short_mi
    mine, near = home.of_destination, home.of_destination[short]
    likelihood = real / n[:, None]
    cells = CellShares(likelihood=likelihood, posterior=drawn.posterior, variance=drawn.variance)
    edited = kept / np.maximum(n_kept, 1)[:, None]
    return Destinations(
        block=inputs.destination[start],
        tract=inputs.tract[start].astype(np.int64),
        n_workers=n.astype(np.int64),
        kl=np.where(n_kept > 0, kl_divergence(edited, drawn.posterior), np.nan),
        imse=imse(cells),
        real_mi=np.bincount(mine, home.distance_mi, start.size) / n,
        expected_mi=drawn.means[:, 0].copy(),
        real_short_mi=ratio(
            np.bincount(near, home.distance_mi[short], start.size), np.bincount(near, minlength=start.size)
        ),
        expected_short_mi=ratio(drawn.means[:, 2], drawn.means[:, 1]),
    )


def ratio(above: npt.NDArray[Any], below: npt.NDArray[Any]) -> Floats:
    """Quotients; NaN where nothing stands below."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)


def _cell_sums(
    home: Homes,
    drawn: Drawn,
    destinations: Destinations,
    inputs: Inputs,
    workers: MeasuredWorkers,
    classes: PriorClasses,
    shares: Floats,
) -> dict[str, Floats]:
    """Workers by cell; the prior's, as if all of a synthesizer's workers came from it."""
    n, small = destinations.n_workers, destinations.is_small
    weights = np.stack([n, n * small]).astype(np.float64)
    per_synthesizer = np.diff(workers.destination_ptr)
    is_small = np.repeat(small, per_synthesizer)
    by_class = np.stack(
        [
            np.bincount(workers.class_of, inputs.count * chosen, classes.tract.size)
            for chosen in (np.ones_like(is_small), is_small)
        ]
    )
    return {
        "likelihood": np.stack([np.ones_like(small), small]).astype(np.float64) @ home.cells(n.size),
        "posterior": weights @ drawn.posterior,
        "prior": by_class @ prior_cells(classes, shares, pruned=False),
        "prior_kept": by_class @ prior_cells(classes, shares, pruned=True),
    }


def _domain(domain: Domain) -> dict[str, npt.NDArray[Any]]:
    found: dict[str, npt.NDArray[Any]] = {}
    before, after = domain.before, domain.edited.coarsening
    mass = domain.mass if domain.mass is not None else np.ones(before.support_level.size)
    for when, coarse, positive in (
        ("before", before, mass > 0),
        ("after", after, domain.edited.carry(mass) > 0),
    ):
        points = (coarse.support_ptr, coarse.support_level, coarse.support_distance_mi)
        found[f"levels_{when}"], found[f"ranges_{when}"] = count_points(*points)
        found[f"positive_{when}"] = positive_shares(*points, positive)
    return found


def _n_kept(support: Support) -> Floats:
    """Expected points kept of each destination tract's synthesizers, where nobody lives."""
    retention = support.table.retention_threshold / RETENTION_UNITS
    kept = np.where(support.table.prior_weight > WEIGHT_UNITS, 1.0, retention)
    kept_points = np.bincount(
        support.coarsening.tract_of_point, kept, support.coarsening.n_destination_tracts
    )
    return kept_points.astype(np.float64)


def simulated(
    inputs: Inputs,
    support: Support,
    certified: CertifiedBatch,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    local: npt.NDArray[np.int32],
    shares: Floats,
    values: Floats,
) -> Drawn:
    """Mean and variance of the cells' shares over some draws, and means of the points' values.

    One worker spread evenly over the cells is added to all draws together, lest a cell that none of them reached makes
    the divergence infinite.
    """
    start = np.flatnonzero(np.diff(inputs.destination, prepend=-1))
    n = np.diff(np.append(inputs.worker_ptr[start], inputs.worker_ptr[-1])).astype(np.float64)
    worker_tract = np.repeat(inputs.tract, inputs.count)
    of_destination = np.repeat(np.arange(start.size), n.astype(np.int64))
    total, square, within = (np.zeros((start.size, N_CELLS)) for _ in range(3))
    means = np.zeros((start.size, values.shape[1]))
    for draw in range(N_DRAWS):
        # Other segments have other random streams: every draw is of its own.
        synthesizers = Synthesizers(
            tract=inputs.tract,
            destination=inputs.destination,
            segment=inputs.segment + 27 * draw,
            worker_ptr=inputs.worker_ptr,
            worker_point=local,
            min_prior_weight=certified.min_prior_weight,
            published_count=inputs.count,
            prunes=certified.prunes,
        )
        drawn = draw_support_points(
            SecretKey.for_tests(),
            synthesizers,
            support.table,
            privacy,
            parameters.mechanism,
            accepted_ratio=None,
        )
        point = support.table.support_ptr[worker_tract] + drawn.synthetic_point
        share = _by_destination(of_destination, shares[point], start.size) / n[:, None]
        total += share
        square += share * share
        within += (
            _by_destination(of_destination, shares[point] * (1.0 - shares[point]), start.size)
            / n[:, None] ** 2
        )
        means += _by_destination(of_destination, values[point], start.size) / n[:, None] / N_DRAWS
    mean = total / N_DRAWS
    between = np.maximum(square / N_DRAWS - mean * mean, 0.0) * N_DRAWS / (N_DRAWS - 1)
    added = N_DRAWS * n[:, None]
    posterior = (mean * added + 1.0 / N_CELLS) / (added + 1.0)
    return Drawn(posterior, between + within / N_DRAWS, means)


def _by_destination(of_destination: Ints, values: Floats, n_destinations: int) -> Floats:
    """Sums of rows by destination, which rise."""
    start = np.searchsorted(of_destination, np.arange(n_destinations))
    return np.add.reduceat(values, start, axis=0)
