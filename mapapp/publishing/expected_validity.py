"""What a setting is expected to cost in validity: the measures of `engine.validity` on some destination tracts.

Measured on the grid of 29 cells between tract centres. Whose homes they are is up to the caller: the confidential
ones, for the analyst alone, or homes made from public data, by which `design` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.accountant import PriorTable, SynthesizerClasses
from engine.coarsening import Coarsening
from engine.errors import ParameterError
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from engine.tracts import OriginTracts, great_circle_mi
from engine.validity import (
    SMALL_WORKPLACE,
    MeasuredWorkers,
    PriorClasses,
    cell_shares,
    grid_cells,
    imse,
    kl_divergence,
    point_cells,
    weighted_mean,
)
from geodata.distance import bearing_deg
from mapapp.publishing.geography import Ints
from mapapp.publishing.inputs import Inputs
from mapapp.publishing.prior import PublicPrior
from mapapp.publishing.promise import certify, prunes_of
from mapapp.publishing.support import build_support

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkplaceCounts:
    """Workers of every synthesizer of some destination tracts: all of it public.

    Attributes
    ----------
    destination_tract : int64[T]
        Rows of `tracts`, rising.
    destination : int64[S]
        Row of `blocks` of each synthesizer's workplace, rising.
    tract : int32[S]
        Position in `destination_tract`.
    count : int64[S]
        n of each synthesizer.
    """

    destination_tract: Ints
    destination: Ints
    tract: npt.NDArray[np.int32]
    count: Ints

    @classmethod
    def of(cls, inputs: Inputs) -> WorkplaceCounts:
        """The public part of a batch."""
        return cls(
            destination_tract=inputs.destination_tract,
            destination=inputs.destination,
            tract=inputs.tract,
            count=inputs.count,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Homes:
    """Home tracts of the workers, and the grid around every destination tract.

    Attributes
    ----------
    cell : int8[T, n_tracts]
        Cell of each origin tract, seen from each destination tract.
    origin_tract : int64[W]
        Row of `tracts` of each worker's home, synthesizer by synthesizer.
    """

    cell: npt.NDArray[np.int8]
    origin_tract: Ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """Measures of one setting, one entry per destination block with workers.

    Attributes
    ----------
    kl, imse : float64[D]
        KL divergence in nats, and IMSE.
    n_workers : int64[D]
        Public.
    n_support : float
        Mean support points of a destination tract.
    """

    kl: Floats
    imse: Floats
    n_workers: Ints
    n_support: float

    @property
    def is_small(self) -> npt.NDArray[np.bool_]:
        """Destinations of 1 to 9 workers."""
        return self.n_workers <= SMALL_WORKPLACE

    @property
    def kl_all(self) -> float:
        """Mean KL over destinations, weighted by workers."""
        return weighted_mean(self.kl, self.n_workers)

    @property
    def kl_small(self) -> float:
        """The same over small destinations; NaN where there are none."""
        return weighted_mean(self.kl, self.n_workers, self.is_small)


def grid_around(tracts: OriginTracts, destination_tract: Ints) -> npt.NDArray[np.int8]:
    """Cell of every origin tract seen from each destination tract: int8[T, n_tracts]. A full matrix: for batches."""
    lon, lat = tracts.lon_deg, tracts.lat_deg
    bearing = bearing_deg(lon[destination_tract, None], lat[destination_tract, None], lon, lat)
    distance = great_circle_mi(tracts, destination_tract)
    # Two tracts with one centre have no bearing, whatever rounding makes of their distance.
    return grid_cells(np.where(np.isnan(bearing), 0.0, distance), bearing)


def expected_validity(
    seed: PublicSeed,
    tracts: OriginTracts,
    prior: PublicPrior,
    workplaces: WorkplaceCounts,
    homes: Homes,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
) -> Expected:
    """Certify a setting and measure it, without drawing anything.

    Parameters
    ----------
    seed : PublicSeed
        For domain editing.
    tracts : OriginTracts
    prior : PublicPrior
        The one that `parameters` ask for.
    workplaces : WorkplaceCounts
    homes : Homes
        Who lives where.
    privacy, parameters
        The setting.

    Returns
    -------
    Expected

    Raises
    ------
    EngineError
        The setting cannot be certified, or it drops workers, which have no support point then.

    Source: docs/method.md, section 10.
    """
    if parameters.editing == "drop":
        raise ParameterError(
            "editing is 'drop'; workers without a support point are not measured: use 'pool'"
        )
    support = build_support(seed, tracts, workplaces.destination_tract, prior, privacy, parameters)
    table = PriorTable(
        support_ptr=support.table.support_ptr,
        base_weight=support.table.prior_weight,
        retention=support.table.retention_threshold,
    )
    classes, class_of = _classes(workplaces)
    accounting = certify(table, classes, privacy)
    point_of_tract = _point_of_tract(support.coarsening)
    start = np.flatnonzero(np.diff(workplaces.destination, prepend=-1))
    tract = np.repeat(workplaces.tract, workplaces.count)
    cells = cell_shares(
        PriorClasses(
            prior=table, tract=classes.tract, min_weight=accounting.min_weight, prunes=prunes_of(accounting)
        ),
        MeasuredWorkers(
            destination_ptr=np.append(start, workplaces.destination.size),
            class_of=class_of,
            worker_ptr=np.append(0, np.cumsum(workplaces.count)),
            worker_point=table.support_ptr[tract] + point_of_tract[tract, homes.origin_tract],
        ),
        point_cells(table.support_ptr, point_of_tract, homes.cell, tracts.population),
        homes.cell[tract, homes.origin_tract],
    )
    return Expected(
        kl=kl_divergence(cells.likelihood, cells.posterior),
        imse=imse(cells),
        n_workers=np.add.reduceat(workplaces.count, start),
        n_support=float(np.diff(table.support_ptr).mean()),
    )


def _point_of_tract(coarsening: Coarsening) -> npt.NDArray[np.int32]:
    """Local support point of every origin tract: int32[T, n_tracts]."""
    shape = (coarsening.n_destination_tracts, coarsening.tracts.n_tracts)
    position, origin = np.indices(shape, dtype=np.int32, sparse=True)
    both = (np.broadcast_to(place, shape).ravel() for place in (position, origin))
    return coarsening.find(*both).reshape(shape)


def _classes(workplaces: WorkplaceCounts) -> tuple[SynthesizerClasses, Ints]:
    """Distinct (destination tract, n), and the class of every synthesizer."""
    base = int(workplaces.count.max()) + 1
    distinct, class_of = np.unique(
        workplaces.tract.astype(np.int64) * base + workplaces.count, return_inverse=True
    )
    n = distinct % base
    return SynthesizerClasses(tract=distinct // base, likelihood_count=n, published_count=n), class_of
