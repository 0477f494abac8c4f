"""The public prior: where prior mass comes from, and the gravity model behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from engine.errors import ParameterError
from engine.parameters import SynthesisParameters
from engine.support.coarsening import Coarsening
from engine.support.gravity import GravityDecay, fit_gravity_decay
from engine.support.prior import fill_missing_mass, flow_mass
from engine.support.tracts import great_circle_mi
from mapapp.kinds.base.geography import Geography, Ints, Workplaces

Floats = npt.NDArray[np.float64]

_FITTED_TRACTS: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPrior:
    """Where prior mass comes from.

    Attributes
    ----------
    decay : GravityDecay or None
        Of the gravity model, which the flows fall back on; None under the uniform prior.
    flow_destination, flow_origin : int64[F]
        Rows of `tracts`; the destinations never fall.
    flow_weight : float64[F]
        Workers. No flows under the gravity prior.
    facts : dict
        What the certificate says about the prior.
    """

    decay: GravityDecay | None
    flow_destination: Ints
    flow_origin: Ints
    flow_weight: Floats
    facts: dict[str, object]

    def mass(self, coarse: Coarsening, gravity_mass: Floats) -> tuple[Floats | None, npt.NDArray[np.bool_]]:
        """Prior mass of every support point before editing, and which destination tracts have no flows.

        Returns
        -------
        mass : float64[K] or None
            None under the uniform prior.
        fell_back : bool[T]
        """
        none = np.zeros(coarse.n_destination_tracts, dtype=np.bool_)
        if self.decay is None:
            return None, none
        if self.facts["prior"] == "gravity":
            return gravity_mass, none
        ends = np.searchsorted(self.flow_destination, coarse.destination, side="left")
        n_flows = np.searchsorted(self.flow_destination, coarse.destination, side="right") - ends
        position = np.repeat(np.arange(coarse.destination.size), n_flows)
        at = np.repeat(ends - (np.cumsum(n_flows) - n_flows), n_flows) + np.arange(position.size)
        mass = flow_mass(coarse, position, self.flow_origin[at], self.flow_weight[at])
        return fill_missing_mass(coarse, mass, gravity_mass)


FittedDecays: TypeAlias = dict[tuple[tuple[float, float], ...], GravityDecay]
"""Decays of one geography by the percentiles that they were fitted to."""


def fit_decay(
    geography: Geography,
    workplaces: Workplaces,
    parameters: SynthesisParameters,
    fitted: FittedDecays | None = None,
    *,
    threads: int = 1,
) -> GravityDecay:
    """Fit the gravity decay to public percentiles, unless it is among those `fitted` before; others are added.

    The result does not depend on the number of threads.
    """
    percentiles = [(0.5, parameters.q50_mi), (0.9, parameters.q90_mi)]
    if parameters.q75_mi is not None:
        percentiles.insert(1, (0.75, parameters.q75_mi))
    known: FittedDecays = {} if fitted is None else fitted
    if tuple(percentiles) not in known:
        # Evenly spaced destination tracts represent all: only two numbers are fitted. Workplace counts by destination
        # are public, so they may weigh it.
        chosen = _fitted_tracts(workplaces)
        known[tuple(percentiles)] = fit_gravity_decay(
            great_circle_mi(geography.tracts, workplaces.tract[chosen], threads=threads),
            geography.tracts.population,
            workplaces.n_workers[chosen],
            percentiles_mi=percentiles,
            threads=threads,
        )
    return known[tuple(percentiles)]


def _fitted_tracts(workplaces: Workplaces) -> Ints:
    """Positions of the destination tracts that represent all, evenly spaced."""
    n_tracts = workplaces.tract.size
    return np.arange(0, n_tracts, -(-n_tracts // _FITTED_TRACTS))


def public_prior(
    geography: Geography,
    workplaces: Workplaces,
    parameters: SynthesisParameters,
    *,
    fitted: FittedDecays | None = None,
    threads: int = 1,
) -> PublicPrior:
    """Make the prior that `parameters` ask for: the gravity decay is fitted to public percentiles only.

    `fitted` and `threads` as in :func:`fit_decay`.

    Raises
    ------
    ParameterError
        When the prior is "flows" and the store lacks flows.
    """
    if parameters.prior == "uniform":
        return _prior(None, geography, {"prior": "uniform"}, with_flows=False)
    decay = fit_decay(geography, workplaces, parameters, fitted, threads=threads)
    facts: dict[str, object] = {
        "prior": parameters.prior,
        "gravity": {
            "scale_mi": decay.scale_mi,
            "shape": decay.shape,
            "percentiles_mi": [list(row) for row in decay.percentiles_mi],
            "fitted_tracts": _fitted_tracts(workplaces).size,
        },
    }
    if parameters.prior == "flows" and geography.flows.empty:
        raise ParameterError(
            "prior is 'flows', but the dataset has no public flow table; import one with --prior-flows, "
            "or use --prior gravity"
        )
    if geography.last_release is not None:
        # The sum is taken from the table that is used, so that what is said of it cannot drift from it.
        matched = int(geography.flows["weight"].sum())
        facts["last_release"] = {**geography.last_release, "workers_matched": matched}
    return _prior(decay, geography, facts, with_flows=parameters.prior == "flows")


def _prior(
    decay: GravityDecay | None, geography: Geography, facts: dict[str, object], *, with_flows: bool
) -> PublicPrior:
    flows = geography.flows if with_flows else geography.flows.iloc[:0]
    destination = flows["destination_tract_index"].to_numpy(np.int64)
    origin = flows["origin_tract_index"].to_numpy(np.int64)
    weight = flows["weight"].to_numpy(np.float64)
    # By weight too: the order in which equal pairs are added up must not depend on the order of the rows.
    order = np.lexsort((weight, origin, destination))
    return PublicPrior(
        decay=decay,
        flow_destination=destination[order],
        flow_origin=origin[order],
        flow_weight=weight[order],
        facts=facts,
    )
