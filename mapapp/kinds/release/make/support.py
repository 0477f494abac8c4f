"""The support points of a batch of destination tracts, their prior shares and retention, from public data alone."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from engine.support.coarsening import Coarsening, coarsen
from engine.support.editing import EditedDomain, edit_domain
from engine.support.far_states import FarPools, FarSplit, pool_far_states
from engine.support.prior import prior_share, prior_weight, uniform_share
from engine.support.pruning import retention_threshold
from engine.support.support_table import SupportTable
from engine.support.tracts import OriginTracts
from mapapp.kinds.release.make.prior import PublicPrior

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Support points of some destination tracts after coarsening and domain editing.

    Attributes
    ----------
    coarsening : Coarsening
        After editing.
    share : float64[K]
        Public prior share; sums to 1 in each destination tract.
    table : SupportTable
        The same as integers, with retention thresholds.
    n_eliminated : int
        Points that editing took.
    n_without_flows : int
        Destination tracts that fell back on gravity under the flows prior.
    far_split : FarSplit or None
        How workers in pooled far states get a state; None where no state is pooled.
    prior : PublicPrior
        What the shares come from.
    """

    coarsening: Coarsening
    share: Floats
    table: SupportTable
    n_eliminated: int
    n_without_flows: int
    prior: PublicPrior
    far_split: FarSplit | None = None

    def as_drawn(self, *, weighted: bool, placed: bool, ones: npt.NDArray[np.int64]) -> Support:
        """What a draw reads, in less than half of the memory: a nation has up to 135 million support points.

        Parameters
        ----------
        weighted : bool
            Whether the mechanism reads prior weights and retentions.
        placed : bool
            Whether distances and prior shares are read, as cleaning and the cascade do.
        ones : int64[K or more]
            Ones that several supports share; taken for weights that are not read.
        """
        nobody, n_points = np.zeros(0, dtype=np.int64), self.share.size
        coarsening = replace(self.coarsening, support_population=nobody)
        if not placed:
            coarsening = replace(coarsening, support_distance_mi=np.zeros(0))
        table = self.table
        if not weighted:
            table = replace(table, base_weight=ones[:n_points], retention=ones[:n_points])
        split = self.far_split
        if split is not None:
            apart = replace(split.apart, support_population=nobody, support_distance_mi=np.zeros(0))
            split = replace(split, apart=apart)
            if split.keeps_numbers:
                split = replace(split, only=nobody.astype(np.int32))
        return replace(
            self,
            coarsening=coarsening,
            share=self.share if placed or self.n_eliminated else np.zeros(0),
            table=table,
            far_split=split,
        )

    @property
    def coarsening_of_homes(self) -> Coarsening:
        """Support points from which homes are placed: far states apart."""
        return self.coarsening if self.far_split is None else self.far_split.apart

    @property
    def point_of_tract(self) -> npt.NDArray[np.int32]:
        """Local support point of every origin tract, -1 where editing dropped it: int32[T, n_tracts]."""
        return point_of_tract(self.coarsening)


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """Support points of some destination tracts before and after editing.

    Attributes
    ----------
    before : Coarsening
        Far states pooled, if they are.
    mass : float64[K before] or None
        Public prior mass that editing depends on; None under the uniform prior, where every point has some.
    edited : EditedDomain
    share : float64[K]
        Public prior share after editing; sums to 1 in each destination tract.
    fell_back : bool[T]
        Destination tracts without flows, under the flows prior.
    prior : PublicPrior
        What mass and shares come from.
    pools : FarPools or None
        Support points before and after far states were pooled; None where none are.
    """

    before: Coarsening
    mass: Floats | None
    edited: EditedDomain
    share: Floats
    fell_back: npt.NDArray[np.bool_]
    prior: PublicPrior
    pools: FarPools | None = None


def point_of_tract(coarsening: Coarsening) -> npt.NDArray[np.int32]:
    """Local support point of every origin tract, -1 where editing dropped it: int32[T, n_tracts]."""
    n_destinations, n_tracts = coarsening.n_destination_tracts, coarsening.tracts.n_tracts
    every = np.arange(n_tracts, dtype=np.int32)
    ptr = np.arange(n_destinations + 1, dtype=np.int64) * n_tracts
    points, _ = coarsening.find_homes(
        np.arange(n_destinations, dtype=np.int32), ptr, np.tile(every, n_destinations), every
    )
    return points.reshape(n_destinations, n_tracts)


def build_domain(
    seed: PublicSeed,
    tracts: OriginTracts,
    destination_tract: npt.NDArray[np.int64],
    prior: PublicPrior,
    parameters: SynthesisParameters,
) -> Domain:
    """Coarsen, weigh by the prior, and edit, for some destination tracts; arguments as in :func:`build_support`.

    Source: docs/theory/method.md, sections 2, 3 and 4.
    """
    q50_mi, q90_mi = parameters.coarsening_radii_mi
    coarse, gravity_mass = coarsen(tracts, destination_tract, q50_mi=q50_mi, q90_mi=q90_mi, decay=prior.decay)
    pools = None
    if parameters.far_state_miles is not None:
        pools = pool_far_states(coarse, parameters.far_state_miles)
        coarse, gravity_mass = pools.pooled, pools.carry(gravity_mass)
    mass, fell_back = prior.mass(coarse, gravity_mass)
    edited = edit_domain(
        seed,
        coarse,
        np.ones(coarse.support_level.size) if mass is None else mass,
        destination_tract,
        mode=parameters.editing,
        elimination=parameters.elimination,
    )
    after = edited.coarsening
    share = uniform_share(after) if mass is None else prior_share(after, edited.carry(mass))
    return Domain(
        before=coarse,
        mass=mass,
        edited=edited,
        share=share,
        fell_back=fell_back,
        prior=prior,
        pools=pools,
    )


def build_support(
    seed: PublicSeed,
    tracts: OriginTracts,
    destination_tract: npt.NDArray[np.int64],
    prior: PublicPrior,
    privacy: PrivacyParameters,
    parameters: SynthesisParameters,
    *,
    weighted: bool = True,
) -> Support:
    """Coarsen, weigh by the prior, edit, and set retention for some destination tracts.

    Source: docs/theory/method.md, sections 2, 3, 4 and 6. Reads no confidential count, and draws only from the public
    seed, so that a reader of the release can make the same support again.

    Parameters
    ----------
    seed : PublicSeed
        Of domain editing.
    tracts : OriginTracts
    destination_tract : int64[T]
        Rows of `tracts`.
    prior : PublicPrior
    privacy, parameters
        What the release is made of.
    weighted : bool
        False for a mechanism that reads neither prior weights nor retentions: all are 1 then.
    """
    domain = build_domain(seed, tracts, destination_tract, prior, parameters)
    return weigh(domain, privacy, parameters, weighted=weighted)


def weigh(
    domain: Domain, privacy: PrivacyParameters, parameters: SynthesisParameters, *, weighted: bool = True
) -> Support:
    """Prior weights and retention of an edited domain; `weighted` as in :func:`build_support`.

    Source: docs/theory/method.md, sections 3 and 6.
    """
    after = domain.edited.coarsening
    if weighted:
        table = SupportTable(
            support_ptr=after.support_ptr,
            base_weight=prior_weight(domain.share, strength=parameters.strength),
            retention=retention_threshold(
                after,
                domain.share,
                scale=parameters.retention_scale,
                min_retention=float(privacy.min_retention),
            ),
        )
    else:
        ones = np.ones(domain.share.size, dtype=np.int64)
        table = SupportTable(support_ptr=after.support_ptr, base_weight=ones, retention=ones)
    return Support(
        coarsening=after,
        share=domain.share,
        table=table,
        n_eliminated=int(domain.edited.n_eliminated.sum()),
        n_without_flows=int(domain.fell_back.sum()),
        prior=domain.prior,
        far_split=None if domain.pools is None else FarSplit.of(domain.pools, domain.edited),
    )
