"""A setting measured on one part of the destination tracts: domain, certified weights, expected commutes.

Confidential. A part is described by arrays by destination, tract and class of synthesizers, and by sums that add up
over parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.kernels.units import RETENTION_UNITS, WEIGHT_UNITS
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.validity import (
    SMALL_WORKPLACE,
    CellShares,
    MeasuredWorkers,
    PriorClasses,
    cell_shares,
    expected_means,
    imse,
    kl_divergence,
    prior_cells,
)
from mapapp.analyst.validity.compared_workers import ExpectedWorkers, RealWorkers, mean_of_draws, ratio
from mapapp.analyst.validity.prepared_part import DomainPair, PreparedPart
from mapapp.analyst.validity.simulated_draws import N_DRAWS, NO_CLOSED_FORM, simulate_points
from mapapp.analyst.validity.tract_workers import Panel
from mapapp.kinds.base.compared_homes import ComparedHomes, Places
from mapapp.kinds.base.geography import Geography, Ints
from mapapp.kinds.base.inputs import Inputs
from mapapp.kinds.release.choose.drawn_homes import drawn_homes
from mapapp.kinds.release.make.certified_weights import CertifiedClasses, certify_weights
from mapapp.kinds.release.make.lone_worker import LoneWorkers, lone_workers
from mapapp.kinds.release.make.support import Support, weigh

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


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
        Of the likelihood in points that editing left; NaN if that leaves no worker.
    imse : float64[D]
    real_mi, expected_mi, real_short_mi, expected_short_mi : float64[D]
        Average commutes between tract centres; short ones are below q50_mi, NaN without commutes.
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


class PriorMass(NamedTuple):
    """Prior workers of each class of synthesizers.

    Attributes
    ----------
    whole, kept : float64[n_classes]
        Before pruning, and as pruning is expected to leave them.
    """

    whole: Floats
    kept: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingPart:
    """The measures of one part.

    Attributes
    ----------
    position : int64[T]
        Positions of the destination tracts in the dataset.
    destinations : Destinations
    cell_sums : dict of str to float64[2, 29]
        Workers by cell in the likelihood, expected in the posterior and so on, in all and in small destinations.
    domain : DomainPair
    n_kept : float64[T]
        Support points that a synthesizer of the tract is expected to keep where nobody lives.
    n_edited_out : int64[2]
        Workers in eliminated points, of all and of small destinations.
    n_real : int64[2]
        Workers, of all and of small destinations, the eliminated ones included.
    certified : CertifiedClasses
    prior_mass : PriorMass or None
        Of the classes in `certified`; None if the mechanism has no weights to certify.
    lone_workers : LoneWorkers
    homes : ComparedHomes or None
        Real homes and those of one draw; None if none was asked for.
    """

    position: Ints
    destinations: Destinations
    cell_sums: dict[str, Floats]
    domain: DomainPair
    n_kept: Floats
    n_edited_out: Ints
    n_real: Ints
    certified: CertifiedClasses
    prior_mass: PriorMass | None
    lone_workers: LoneWorkers
    homes: ComparedHomes | None = None


def measure_part(
    panel: Panel,
    geography: Geography,
    prepared: PreparedPart,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    places: Places | None = None,
) -> SettingPart:
    """Certify a setting for some destination tracts and measure it on their workers.

    Parameters
    ----------
    panel : Panel
    geography : Geography
    prepared : PreparedPart
        Of this panel and setting.
    privacy, parameters
        The setting.
    places : Places, optional
        If given, the workers are also drawn once with the published test key, and their homes compared.

    Raises
    ------
    EngineError
        No weight keeps the promise.
    """
    inputs, real, shares, values = panel.inputs, prepared.real, prepared.shares, prepared.values
    support = weigh(prepared.domain, privacy, parameters)
    certified = certify_weights(inputs, support, privacy, parameters.mechanism)
    classes = certified.prior_classes()
    workers = MeasuredWorkers(
        destination_ptr=inputs.destination_ptr,
        class_of=certified.class_of,
        worker_ptr=inputs.worker_ptr,
        worker_point=prepared.worker_point,
    )
    if parameters.mechanism in NO_CLOSED_FORM:
        weights = certified.of_synthesizers()
        points = simulate_points(inputs, support, weights, privacy, parameters, prepared.local, N_DRAWS)
        first = np.repeat(support.table.support_ptr[inputs.tract], inputs.count)
        draws = (first + point for point in points)
        expected = mean_of_draws(real, draws, N_DRAWS, shares, values)
    else:
        cells = cell_shares(classes, workers, shares, real.cell)
        expected = ExpectedWorkers(cells.posterior, cells.variance, expected_means(classes, workers, values))
    destinations = _destinations(inputs, real, expected, parameters.q50_mi)
    is_small = destinations.is_small
    is_counted = (np.ones_like(is_small), is_small)
    return SettingPart(
        position=panel.position,
        destinations=destinations,
        cell_sums=_cell_sums(real, expected, destinations, inputs, workers, classes, shares),
        domain=prepared.points,
        n_kept=_n_kept(support),
        n_edited_out=np.array([real.is_edited_out[chosen[real.destination]].sum() for chosen in is_counted]),
        n_real=np.array([destinations.n_workers[chosen].sum() for chosen in is_counted]),
        certified=certified,
        prior_mass=None if certified.accounting is None else _prior_mass(classes),
        lone_workers=lone_workers(certified, inputs, support, privacy, parameters),
        homes=None
        if places is None
        else drawn_homes(inputs, geography, places, support, certified, privacy, parameters),
    )


def _prior_mass(classes: PriorClasses) -> PriorMass:
    ones = np.ones((classes.n_points, 1))
    return PriorMass(whole=classes.sums(ones, pruned=False)[0], kept=classes.sums(ones)[0])


def _destinations(
    inputs: Inputs, real: RealWorkers, expected: ExpectedWorkers, short_mi: float
) -> Destinations:
    """KL is of the likelihood that editing left, as in P10, or it would be infinite; all else is of all workers."""
    counts, kept = real.cells(), real.cells(~real.is_edited_out)
    n, n_kept = counts.sum(axis=1), kept.sum(axis=1)
    short = real.distance_mi < short_mi
    cells = CellShares(
        likelihood=counts / n[:, None], posterior=expected.posterior, variance=expected.variance
    )
    edited = kept / np.maximum(n_kept, 1)[:, None]
    first = inputs.destination_ptr[:-1]
    return Destinations(
        block=inputs.destination[first],
        tract=inputs.tract[first].astype(np.int64),
        n_workers=n.astype(np.int64),
        kl=np.where(n_kept > 0, kl_divergence(edited, expected.posterior), np.nan),
        imse=imse(cells),
        real_mi=real.mean_mi(),
        expected_mi=expected.means[:, 0].copy(),
        real_short_mi=real.mean_mi(short),
        expected_short_mi=ratio(expected.means[:, 2], expected.means[:, 1]),
    )


def _cell_sums(
    real: RealWorkers,
    expected: ExpectedWorkers,
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
        "likelihood": np.stack([np.ones_like(small), small]).astype(np.float64) @ real.cells(),
        "posterior": weights @ expected.posterior,
        "prior": by_class @ prior_cells(classes, shares, pruned=False),
        "prior_kept": by_class @ prior_cells(classes, shares, pruned=True),
    }


def _n_kept(support: Support) -> Floats:
    """Expected points kept of each destination tract's synthesizers, where nobody lives."""
    retention = support.table.retention / RETENTION_UNITS
    kept = np.where(support.table.base_weight > WEIGHT_UNITS, 1.0, retention)
    kept_points = np.bincount(
        support.coarsening.tract_of_point, kept, support.coarsening.n_destination_tracts
    )
    return kept_points.astype(np.float64)
