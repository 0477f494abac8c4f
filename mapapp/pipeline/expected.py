"""What a setting is expected to cost in validity: the measures of `engine.validity` on a dataset's workplaces.

Measured on the grid of 29 cells between tract centres. Whose homes they are is up to the caller: the confidential
ones, for the analyst alone, or homes made from public data, by which `design` chooses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.accountant import PriorTable, SynthesizerClasses, certify_classes
from engine.coarsening import Coarsening
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.sound import certify_sound
from engine.streams import PublicSeed
from engine.validity import (
    SMALL_WORKPLACE,
    cell_shares,
    grid_cells,
    imse,
    kl_divergence,
    point_cells,
    weighted_mean,
)
from geodata.distance import bearing_deg, distance_matrix_mi
from mapapp.pipeline.inputs import Inputs, Ints
from mapapp.pipeline.support import build_support

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Homes:
    """Home tracts of the workers, and the grid around every destination tract.

    Attributes
    ----------
    cell : int8[T, n_tracts]
        Cell of each origin tract, seen from each destination tract.
    origin_tract : int64[W]
        Row of `tracts` of each worker's home, in the order of `Inputs.worker_ptr`.
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


def grid_of(inputs: Inputs) -> npt.NDArray[np.int8]:
    """Cell of every origin tract seen from every destination tract: int8[T, n_tracts]; for a batch of tracts."""
    lon = inputs.tracts["lon_deg"].to_numpy(np.float64)
    lat = inputs.tracts["lat_deg"].to_numpy(np.float64)
    at = inputs.destination_tract
    bearing = bearing_deg(lon[at, None], lat[at, None], lon, lat)
    return grid_cells(distance_matrix_mi(lon[at], lat[at], lon, lat), bearing)


def expected_validity(
    seed: PublicSeed,
    inputs: Inputs,
    homes: Homes,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
) -> Expected:
    """Certify a setting and measure it, without drawing anything.

    Parameters
    ----------
    seed : PublicSeed
        For domain editing.
    inputs : Inputs
        Public parts only are read; `worker_origin` is not.
    homes : Homes
        Who is where.
    privacy, parameters
        The setting.

    Returns
    -------
    Expected

    Raises
    ------
    EngineError
        The setting cannot be certified.

    Source: METHOD section 9.
    """
    support = build_support(seed, inputs, privacy, parameters)
    table = PriorTable(
        support_ptr=support.table.support_ptr,
        base_weight=support.table.prior_weight,
        retention=support.table.retention_threshold,
    )
    classes, class_of = _classes(inputs)
    certify = certify_sound if privacy.accountant == "sound" else certify_classes
    point_of_tract = _point_of_tract(support.coarsening)
    population = inputs.tracts["population"].to_numpy(np.int64)
    destination_ptr = np.flatnonzero(np.diff(inputs.destination, prepend=-1))
    tract = np.repeat(inputs.tract, inputs.count)
    cells = cell_shares(
        table,
        point_cells(table.support_ptr, point_of_tract, homes.cell, population),
        classes.tract,
        certify(table, classes, privacy).min_weight,
        class_of=class_of,
        destination_ptr=np.append(destination_ptr, inputs.destination.size),
        worker_ptr=inputs.worker_ptr,
        worker_point=table.support_ptr[tract] + point_of_tract[tract, homes.origin_tract],
        worker_cell=homes.cell[tract, homes.origin_tract],
    )
    return Expected(
        kl=kl_divergence(cells.likelihood, cells.posterior),
        imse=imse(cells),
        n_workers=np.add.reduceat(inputs.count, destination_ptr),
        n_support=float(np.diff(table.support_ptr).mean()),
    )


def _point_of_tract(coarsening: Coarsening) -> npt.NDArray[np.int32]:
    """Local support point of every origin tract: int32[T, n_tracts]."""
    return coarsening.point_of_tract


def _classes(inputs: Inputs) -> tuple[SynthesizerClasses, Ints]:
    """Distinct (destination tract, n), and the class of every synthesizer."""
    base = int(inputs.count.max()) + 1
    distinct, class_of = np.unique(inputs.tract.astype(np.int64) * base + inputs.count, return_inverse=True)
    n = distinct % base
    return SynthesizerClasses(tract=distinct // base, likelihood_count=n, published_count=n), class_of
