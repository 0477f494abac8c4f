"""Small random worlds for the engine's tests, each made from one seed."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from engine.kernels.units import RETENTION_UNITS
from engine.mechanisms.dirichlet_multinomial import Synthesizers
from engine.placement.placement import BlockTable
from engine.streams import SecretKey
from engine.support.coarsening import Coarsening, coarsen
from engine.support.editing import EditedDomain, EditingMode, edit_domain
from engine.support.prior import flow_mass, prior_share, prior_weight
from engine.support.pruning import retention_threshold
from engine.support.support_table import SupportTable
from engine.support.tracts import EARTH_RADIUS_MI, OriginTracts
from geodata.geography.distance import distance_matrix_mi

KEY = SecretKey.for_tests()
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class World:
    """Geography, prior and synthesizers of a small country."""

    tracts: OriginTracts
    distance_mi: npt.NDArray[np.float64]
    flow: npt.NDArray[np.float64]
    mass: npt.NDArray[np.float64]
    destination_tract: Ints
    coarsening: Coarsening
    edited: EditedDomain
    share: npt.NDArray[np.float64]
    support: SupportTable
    synthesizers: Synthesizers
    blocks: BlockTable


def make_world(seed: int, *, mode: EditingMode = "pool", n_synthesizers: int = 12) -> World:
    rng = np.random.default_rng(seed)
    n_tracts = int(rng.integers(2, 30))
    n_destinations = int(rng.integers(1, min(5, n_tracts + 1)))
    tracts = make_tracts(rng, n_tracts)
    destination_tract = rng.choice(n_tracts, n_destinations, replace=False)
    lon, lat = tracts.lon_deg, tracts.lat_deg
    distance_mi = distance_matrix_mi(lon[destination_tract], lat[destination_tract], lon, lat)
    flow = rng.exponential(1.0, (n_destinations, n_tracts)) * (rng.random((n_destinations, n_tracts)) < 0.4)
    flow[np.arange(n_destinations), destination_tract] = 1.0
    coarse, _ = coarsen(tracts, destination_tract, q50_mi=20.0, q90_mi=90.0)
    position, origin = np.nonzero(flow)
    mass = flow_mass(coarse, position, origin, flow[flow > 0])
    edited = edit_domain(KEY, coarse, mass, destination_tract, mode=mode)
    share = prior_share(edited.coarsening, edited.carry(mass))
    table = SupportTable(
        support_ptr=edited.coarsening.support_ptr,
        base_weight=prior_weight(share, strength=float(rng.uniform(0, 3))),
        retention=retention_threshold(
            edited.coarsening,
            share,
            scale=float(rng.uniform(0, 2)),
            min_retention=float(rng.uniform(0.01, 0.3)),
        ),
    )
    block_ptr = np.concatenate(([0], np.cumsum(rng.integers(1, 5, n_tracts))))
    block_population = rng.integers(0, 9, block_ptr[-1]) * np.repeat(
        tracts.population > 0, np.diff(block_ptr)
    )
    return World(
        tracts=tracts,
        distance_mi=distance_mi,
        flow=flow,
        mass=mass,
        destination_tract=destination_tract,
        coarsening=coarse,
        edited=edited,
        share=share,
        support=table,
        synthesizers=make_synthesizers(rng, table, n_synthesizers),
        blocks=BlockTable(block_ptr=block_ptr, block_population=block_population),
    )


def make_tracts(rng: np.random.Generator, n_tracts: int) -> OriginTracts:
    """Tracts scattered about one place, most near, some beyond 500 miles."""
    miles, angle = rng.gamma(0.6, 120.0, n_tracts), rng.uniform(0, 2 * np.pi, n_tracts)
    puma = rng.integers(0, 6, n_tracts).astype(np.int32)
    return OriginTracts(
        lon_deg=-90.0 + np.degrees(miles * np.cos(angle) / EARTH_RADIUS_MI) / np.cos(np.radians(40.0)),
        lat_deg=40.0 + np.degrees(np.minimum(miles, 2500.0) * np.sin(angle) / EARTH_RADIUS_MI),
        puma=puma,
        superpuma=puma // 2,
        population=rng.integers(0, 50, n_tracts) * rng.integers(0, 2, n_tracts),
    )


def tracts_in_a_row(miles: list[float], puma: Ints, superpuma: Ints, population: Ints) -> OriginTracts:
    """Tracts along the equator at given distances from the first."""
    return OriginTracts(
        lon_deg=np.degrees(np.array(miles) / EARTH_RADIUS_MI),
        lat_deg=np.zeros(len(miles)),
        puma=puma.astype(np.int32),
        superpuma=superpuma.astype(np.int32),
        population=population,
    )


def points_of_tracts(coarsening: Coarsening) -> npt.NDArray[np.int32]:
    """Support point of every origin tract for every destination tract: int32[T, n_tracts]."""
    shape = (coarsening.n_destination_tracts, coarsening.tracts.n_tracts)
    position, origin = np.indices(shape)
    return coarsening.find(position.ravel(), origin.ravel()).reshape(shape)


def make_synthesizers(rng: np.random.Generator, support: SupportTable, n_synthesizers: int) -> Synthesizers:
    tract = rng.integers(0, support.n_support.size, n_synthesizers).astype(np.int32)
    n_likelihood = rng.integers(0, 7, n_synthesizers)
    in_support = np.repeat(support.n_support[tract], n_likelihood)
    return Synthesizers(
        tract=tract,
        destination=rng.permutation(2**32 - np.arange(1, n_synthesizers + 1)),
        segment=rng.integers(0, 27, n_synthesizers),
        worker_ptr=np.concatenate(([0], np.cumsum(n_likelihood))),
        worker_point=rng.integers(0, in_support).astype(np.int32),
        min_prior_weight=rng.integers(1, 1 << 20, n_synthesizers),
        published_count=rng.integers(0, 7, n_synthesizers),
    )


def take(synthesizers: Synthesizers, order: Ints) -> Synthesizers:
    """The chosen synthesizers in the given order."""
    ptr = synthesizers.worker_ptr
    workers = [synthesizers.worker_point[ptr[one] : ptr[one + 1]] for one in order]
    return Synthesizers(
        tract=synthesizers.tract[order],
        destination=synthesizers.destination[order],
        segment=synthesizers.segment[order],
        worker_ptr=np.concatenate(([0], np.cumsum([part.size for part in workers], dtype=np.int64))),
        worker_point=np.concatenate([*workers, np.zeros(0, np.int32)]),
        min_prior_weight=synthesizers.min_prior_weight[order],
        published_count=synthesizers.n_synthetic[order],
        prunes=None if synthesizers.prunes is None else synthesizers.prunes[order],
    )


def same_synthesizers(
    n_copies: int, workers: list[int], n_synthetic: int, min_weight: int, first: int = 0
) -> Synthesizers:
    """Many synthesizers that differ in nothing but their address."""
    return Synthesizers(
        tract=np.zeros(n_copies, np.int32),
        destination=np.arange(first, first + n_copies),
        segment=np.full(n_copies, 3),
        worker_ptr=np.arange(n_copies + 1) * len(workers),
        worker_point=np.tile(np.array(workers, np.int32), n_copies),
        min_prior_weight=np.full(n_copies, min_weight),
        published_count=np.full(n_copies, n_synthetic),
    )


def one_table(weights: list[int], thresholds: list[int] | None = None) -> SupportTable:
    """Support of a single destination tract; nothing pruned unless thresholds are given."""
    return SupportTable(
        support_ptr=np.array([0, len(weights)]),
        base_weight=np.array(weights),
        retention=np.array(thresholds or [RETENTION_UNITS] * len(weights)),
    )


def add_far_states(rng: np.random.Generator, tracts: OriginTracts, n_states: int) -> OriginTracts:
    """The same tracts, and after them whole states: each its own PUMA and SuperPUMA, in one of three groups."""
    states = make_tracts(rng, n_states)
    own = np.arange(n_states, dtype=np.int32)
    return OriginTracts(
        lon_deg=np.append(tracts.lon_deg, states.lon_deg),
        lat_deg=np.append(tracts.lat_deg, states.lat_deg),
        puma=np.append(tracts.puma, tracts.puma.max() + 1 + own),
        superpuma=np.append(tracts.superpuma, tracts.superpuma.max() + 1 + own),
        population=np.append(tracts.population, states.population),
        far_group=np.append(np.full(tracts.n_tracts, -1), rng.integers(0, 3, n_states)),
    )
