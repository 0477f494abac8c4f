"""The expected chance that a lone worker is shown in the true home tract, against every home and release in turn."""

from __future__ import annotations

import math
from typing import cast

import numpy as np
import pytest

from engine.accountant.lone_worker import stay_apart
from engine.parameters import Prior, PrivacyParameters, SynthesisParameters
from engine.streams import PublicSeed
from engine.support.coarsening import LEVEL_REMAINDER
from engine.support.gravity import GravityDecay, decay_at
from engine.support.tracts import OriginTracts
from geodata.geography.distance import distance_matrix_mi
from mapapp.kinds.release.make.lone_worker import true_tract_weights
from mapapp.kinds.release.make.prior import PublicPrior
from mapapp.kinds.release.make.support import Support, build_support
from tests.engine.worlds import add_far_states, make_tracts
from tests.oracles.domain import Point, coarsen_one
from tests.oracles.synthesis import state_weights

RADII_MI = (20.0, 90.0)
FAR_MI = 300.0
EPSILON = 3.0


def world(seed: int) -> OriginTracts:
    rng = np.random.default_rng(seed)
    return add_far_states(rng, make_tracts(rng, int(rng.integers(6, 30))), 7)


def prior_of(name: Prior, tracts: OriginTracts, destination: int) -> PublicPrior:
    """Gravity, flows from every third tract, or neither."""
    origin = np.arange(0, tracts.n_tracts, 3) if name == "flows" else np.arange(0)
    return PublicPrior(
        decay=None if name == "uniform" else GravityDecay(scale_mi=40.0, shape=0.8),
        flow_destination=np.full(origin.size, destination),
        flow_origin=origin,
        flow_weight=(origin + 1).astype(np.float64),
        facts={"prior": name},
    )


def supported(
    tracts: OriginTracts, destination: int, prior: PublicPrior, *, editing: str = "none"
) -> Support:
    parameters = SynthesisParameters.from_dict(
        {
            "mechanism": "exponential",
            "prior": prior.facts["prior"],
            "editing": editing,
            "tract_radius_mi": RADII_MI[0],
            "puma_radius_mi": RADII_MI[1],
            "far_state_miles": FAR_MI,
        }
    )
    privacy = PrivacyParameters(epsilon=EPSILON, delta="1e-6", accountant="sound")
    return build_support(PublicSeed.for_tests(), tracts, np.array([destination]), prior, privacy, parameters)


def miles_from(tracts: OriginTracts, destination: int) -> list[float]:
    lon, lat = tracts.lon_deg, tracts.lat_deg
    at = [destination]
    return cast(list[float], distance_matrix_mi(lon[at], lat[at], lon, lat)[0].tolist())


def points_of(tracts: OriginTracts, miles: list[float], *, pooled: bool) -> list[Point]:
    return coarsen_one(
        miles,
        tracts.puma.tolist(),
        tracts.superpuma.tolist(),
        tracts.population.tolist(),
        *RADII_MI,
        far_group=tracts.far_group.tolist(),
        far_state_miles=FAR_MI if pooled else math.inf,
    )


def chance_to_place(tracts: OriginTracts, miles: list[float], point: Point) -> dict[int, float]:
    """Chance of every tract to be shown for a worker drawn in a point: a state first, then a home by population."""
    apart = [one for one in points_of(tracts, miles, pooled=False) if set(one.tracts) <= set(point.tracts)]
    weights = state_weights([one.population for one in apart], [one.distance_mi for one in apart])
    people = tracts.population.tolist()
    shown = {}
    for one, weight in zip(apart, weights, strict=True):
        for tract in one.tracts:
            within = people[tract] / one.population if one.population else 1 / len(one.tracts)
            shown[tract] = weight / sum(weights) * within
    return shown


def homes_by(name: Prior, tracts: OriginTracts, miles: list[float], points: list[Point]) -> list[float]:
    """The prior's share of homes in every tract."""
    every = range(tracts.n_tracts)
    if name == "flows":
        mass = [tract + 1.0 if tract % 3 == 0 else 0.0 for tract in every]
    elif name == "gravity":
        decay = GravityDecay(scale_mi=40.0, shape=0.8)
        mass = [int(tracts.population[at]) * float(decay_at(np.array([miles[at]]), decay)[0]) for at in every]
    else:
        placed: dict[int, float] = {}
        for point in points:
            placed |= chance_to_place(tracts, miles, point)
        mass = [placed[tract] for tract in every]
    return [one / sum(mass) for one in mass]


@pytest.mark.parametrize("name", ["gravity", "flows", "uniform"])
@pytest.mark.parametrize("seed", range(12))
def test_the_true_tract_is_shown_as_often_as_in_all_releases_of_all_homes(seed: int, name: Prior) -> None:
    tracts, destination = world(seed), 1
    miles = miles_from(tracts, destination)
    points = points_of(tracts, miles, pooled=True)
    home = homes_by(name, tracts, miles, points)
    e, k = math.exp(EPSILON), len(points)
    shown = 0.0
    for own in points:
        for tract in own.tracts:
            for drawn in points:
                chance = (e if drawn is own else 1.0) / (e + k - 1)
                shown += home[tract] * chance * chance_to_place(tracts, miles, drawn).get(tract, 0.0)
    weights = true_tract_weights(supported(tracts, destination, prior_of(name, tracts, destination)), 0)
    assert weights.size == k
    assert stay_apart(e, k, 1) * weights.sum() == pytest.approx(
        shown, rel=1e-3 if name == "gravity" else 1e-9
    )


def test_homes_of_the_remainder_are_never_shown() -> None:
    tracts = world(3)
    support = supported(tracts, 1, prior_of("gravity", tracts, 1), editing="pool")
    is_remainder = support.coarsening.support_level == LEVEL_REMAINDER
    assert is_remainder.any()
    weights = true_tract_weights(support, 0)
    assert (weights[is_remainder] == 0).all()
    assert 0 < weights.sum() <= 1
