"""What a setting is expected to cost in validity: the measures of `engine.validity` on some destination tracts.

Measured on the grid of 29 cells between tract centres. The caller supplies the homes: the confidential ones, for the
analyst alone, or homes simulated from public data, on which `design` bases its choice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from engine.support.tracts import OriginTracts, great_circle_mi
from engine.validity import (
    SMALL_WORKPLACE,
    MeasuredWorkers,
    cell_shares,
    grid_cells,
    imse,
    kl_divergence,
    point_cells,
    weighted_mean,
)
from engine.validity.grid import BAND_EDGES_MI
from geodata.geography.distance import bearing_deg
from mapapp.kinds.base.geography import Ints
from mapapp.kinds.base.inputs import WorkplaceCounts, destination_ptr
from mapapp.kinds.release.make.certified_weights import certify_weights
from mapapp.kinds.release.make.prior import PublicPrior
from mapapp.kinds.release.make.support import build_support

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeTracts:
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
        """The same over small destinations; NaN without small destinations."""
        return weighted_mean(self.kl, self.n_workers, self.is_small)


def grid_around(tracts: OriginTracts, destination_tract: Ints) -> tuple[Floats, npt.NDArray[np.int8]]:
    """Distance and grid cell of every origin tract seen from each destination tract: full matrices, for batches.

    Returns
    -------
    distance_mi : float64[T, n_tracts]
        Between tract centres; 0 within a tract.
    cell : int8[T, n_tracts]
    """
    lon, lat = tracts.lon_deg, tracts.lat_deg
    bearing = bearing_deg(lon[destination_tract, None], lat[destination_tract, None], lon, lat)
    # Two tracts with the same centre have no bearing, and rounding can make their distance positive.
    distance = np.where(np.isnan(bearing), 0.0, great_circle_mi(tracts, destination_tract))
    return distance, grid_cells(distance, bearing)


def ranges_around(tracts: OriginTracts, destination_tract: Ints) -> npt.NDArray[np.int8]:
    """Commute range of every origin tract seen from each destination tract: int8[T, n_tracts].

    Positions in `engine.validity.grid.RANGES`, the same as of :func:`grid_around` without its directions.
    """
    lon, lat = np.radians(tracts.lon_deg), np.radians(tracts.lat_deg)
    ranges = np.empty((len(destination_tract), tracts.n_tracts), dtype=np.int8)
    for row, tract in enumerate(destination_tract):
        miles = great_circle_mi(tracts, destination_tract[row : row + 1])[0]
        miles[(lon == lon[tract]) & (lat == lat[tract])] = 0.0
        ranges[row] = np.where(miles > 0, 1 + np.searchsorted(BAND_EDGES_MI, miles, side="right"), 0)
    return ranges


def expected_validity(
    seed: PublicSeed,
    tracts: OriginTracts,
    prior: PublicPrior,
    workplaces: WorkplaceCounts,
    homes: HomeTracts,
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
    homes : HomeTracts
        The home tract of every worker.
    privacy, parameters
        The setting.

    Returns
    -------
    Expected

    Raises
    ------
    EngineError
        The setting cannot be certified, or it drops workers, which have no support point then.

    Source: docs/theory/method.md, section 10.
    """
    if parameters.editing == "drop":
        raise ParameterError(
            "editing is 'drop'; workers without a support point are not measured: use 'pool'"
        )
    support = build_support(seed, tracts, workplaces.destination_tract, prior, privacy, parameters)
    certified = certify_weights(workplaces, support, privacy)
    support_ptr, point_of_tract = support.table.support_ptr, support.point_of_tract
    destinations = destination_ptr(workplaces.destination)
    tract = np.repeat(workplaces.tract, workplaces.count)
    cells = cell_shares(
        certified.prior_classes(),
        MeasuredWorkers(
            destination_ptr=destinations,
            class_of=certified.class_of,
            worker_ptr=np.append(0, np.cumsum(workplaces.count)),
            worker_point=support_ptr[tract] + point_of_tract[tract, homes.origin_tract],
        ),
        point_cells(support_ptr, point_of_tract, homes.cell, tracts.population),
        homes.cell[tract, homes.origin_tract],
    )
    return Expected(
        kl=kl_divergence(cells.likelihood, cells.posterior),
        imse=imse(cells),
        n_workers=np.add.reduceat(workplaces.count, destinations[:-1]),
        n_support=float(np.diff(support_ptr).mean()),
    )
