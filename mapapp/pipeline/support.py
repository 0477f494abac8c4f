"""Every destination tract's support points, prior shares and retention, from public data alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from engine.coarsening import Coarsening, coarsen
from engine.editing import EditedDomain, edit_domain
from engine.errors import ParameterError
from engine.parameters import PrivacyParameters, SynthesisParameters
from engine.prior import (
    fill_missing_mass,
    fit_gravity_decay,
    flow_mass,
    gravity_mass,
    prior_share,
    prior_weight,
    support_mass,
    uniform_share,
)
from engine.pruning import retention_threshold
from engine.streams import PublicSeed
from engine.synthesis import SupportTable
from geodata.distance import distance_matrix_mi
from mapapp.pipeline.inputs import Inputs

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """Support points of every destination tract after coarsening and domain editing.

    Attributes
    ----------
    coarsening : Coarsening
        After editing.
    share : float64[K]
        Public prior share; sums to 1 in each destination tract.
    table : SupportTable
        The same as integers, with retention thresholds.
    facts : dict
        What the certificate says about the prior and about editing.
    """

    coarsening: Coarsening
    share: Floats
    table: SupportTable
    facts: dict[str, Any]


def build_support(
    seed: PublicSeed, inputs: Inputs, privacy: PrivacyParameters, parameters: SynthesisParameters
) -> Support:
    """Coarsen, weigh by the prior, edit, and set retention for every destination tract.

    Source: METHOD sections 2, 3, 4 and 6. Reads no confidential count, and draws only from the public seed, so that
    a reader of the release can make the same support again.
    """
    distance_mi = _distances(inputs)
    q50_mi, q90_mi = parameters.coarsening_radii_mi
    coarse = coarsen(
        distance_mi,
        inputs.tracts["puma_index"].to_numpy(np.int64),
        inputs.tracts["superpuma_index"].to_numpy(np.int64),
        inputs.tracts["population"].to_numpy(np.int64),
        q50_mi=q50_mi,
        q90_mi=q90_mi,
    )
    mass, facts = _prior_mass(inputs, distance_mi, parameters)
    edited = _edit(seed, coarse, mass, inputs, parameters)
    share = uniform_share(edited.coarsening) if mass is None else prior_share(edited.coarsening, mass)
    table = SupportTable(
        support_ptr=edited.coarsening.support_ptr,
        prior_weight=prior_weight(share, strength=parameters.strength),
        retention_threshold=retention_threshold(
            edited.coarsening,
            share,
            scale=parameters.retention_scale,
            min_retention=float(privacy.min_retention),
        ),
    )
    return Support(
        coarsening=edited.coarsening,
        share=share,
        table=table,
        facts=facts | {"editing_seed": seed.digits, "n_eliminated": int(edited.n_eliminated.sum())},
    )


def _distances(inputs: Inputs) -> Floats:
    lon = inputs.tracts["lon_deg"].to_numpy(np.float64)
    lat = inputs.tracts["lat_deg"].to_numpy(np.float64)
    chosen = inputs.destination_tract
    return distance_matrix_mi(lon[chosen], lat[chosen], lon, lat)


def _prior_mass(
    inputs: Inputs, distance_mi: Floats, parameters: SynthesisParameters
) -> tuple[Floats | None, dict[str, Any]]:
    if parameters.prior == "uniform":
        return None, {"prior": "uniform"}
    population = inputs.tracts["population"].to_numpy(np.int64)
    percentiles = [(0.5, parameters.q50_mi), (0.9, parameters.q90_mi)]
    if parameters.q75_mi is not None:
        percentiles.insert(1, (0.75, parameters.q75_mi))
    # Workplace counts by destination are public, so they may weigh the fit.
    weight = np.bincount(inputs.tract, weights=inputs.count, minlength=inputs.destination_tract.size)
    decay = fit_gravity_decay(distance_mi, population, weight, percentiles_mi=percentiles)
    gravity = gravity_mass(distance_mi, population, decay)
    facts: dict[str, Any] = {
        "prior": parameters.prior,
        "gravity": {
            "scale_mi": decay.scale_mi,
            "shape": decay.shape,
            "percentiles_mi": [list(row) for row in decay.percentiles_mi],
        },
    }
    if parameters.prior == "gravity":
        return gravity, facts
    if inputs.prior.empty:
        raise ParameterError(
            "prior is 'flows', but the dataset has no public flow table; import one with --prior-flows, "
            "or use --prior gravity"
        )
    mass, fell_back = fill_missing_mass(_flows(inputs, distance_mi.shape), gravity)
    facts["tracts_without_flows"] = int(fell_back.sum())
    return mass, facts


def _flows(inputs: Inputs, shape: tuple[int, ...]) -> Floats:
    destination = inputs.prior["destination_tract_index"].to_numpy(np.int64)
    position = np.searchsorted(inputs.destination_tract, destination)
    position = np.minimum(position, inputs.destination_tract.size - 1)
    used = inputs.destination_tract[position] == destination
    origin = inputs.prior["origin_tract_index"].to_numpy(np.int64)[used]
    weight = inputs.prior["weight"].to_numpy(np.float64)[used]
    return flow_mass(position[used], origin, weight, shape=(shape[0], shape[1]))


def _edit(
    seed: PublicSeed, coarse: Coarsening, mass: Floats | None, inputs: Inputs, parameters: SynthesisParameters
) -> EditedDomain:
    point_mass = np.ones(coarse.support_level.size) if mass is None else support_mass(coarse, mass)
    return edit_domain(
        seed,
        coarse,
        point_mass,
        inputs.destination_tract,
        mode=parameters.editing,
        elimination=parameters.elimination,
    )
