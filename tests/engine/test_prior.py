from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ParameterError, SupportError
from engine.kernels.arrays import Floats, Ints
from engine.kernels.units import WEIGHT_UNITS
from engine.support.coarsening import coarsen
from engine.support.editing import EditingMode
from engine.support.gravity import GravityDecay, _simplex_minimum, decay_at, fit_gravity_decay
from engine.support.prior import (
    fill_missing_mass,
    flow_mass,
    prior_share,
    prior_weight,
    quantise_weight_up,
    redraw_weight,
    uniform_share,
)
from tests.engine.worlds import make_world, points_of_tracts, tracts_in_a_row

pytestmark = pytest.mark.jit_off

SEED = st.integers(0, 10**9)
MINNESOTA = ((0.5, 6.23), (0.75, 13.1), (0.9, 21.54))


@given(SEED, st.sampled_from(["pool", "drop"]))
def test_mass_and_shares_are_plain_sums(seed: int, mode: EditingMode) -> None:
    world = make_world(seed, mode=mode)
    coarse = world.edited.coarsening
    found, share = world.edited.carry(world.mass), world.share
    members = points_of_tracts(coarse)
    for tract in range(coarse.n_destination_tracts):
        at = slice(coarse.support_ptr[tract], coarse.support_ptr[tract + 1])
        points = members[tract]
        twin = [world.flow[tract][points == point].sum() for point in range(coarse.n_support[tract])]
        np.testing.assert_allclose(found[at], twin, rtol=1e-12)
        np.testing.assert_allclose(share[at], np.array(twin) / sum(twin), rtol=1e-12)
        assert share[at].sum() == pytest.approx(1.0)
    assert uniform_share(coarse).sum() == pytest.approx(coarse.n_destination_tracts)


@given(st.lists(st.floats(0, 2.0**40) | st.floats(0, 2.0), max_size=20))
def test_weights_are_rounded_up_exactly(alphas: list[float]) -> None:
    weights = quantise_weight_up(np.array(alphas, dtype=np.float64))
    assert weights.dtype == np.int64
    assert weights.tolist() == [ceil(Fraction(alpha) * WEIGHT_UNITS) for alpha in alphas]


def test_weights_keep_shares_in_order_and_zero_at_zero() -> None:
    share = np.array([0.0, 1e-9, 0.25, 0.75 - 1e-9])
    assert prior_weight(share, strength=4.0).tolist() == [0, 1, WEIGHT_UNITS, 3 * WEIGHT_UNITS]
    assert redraw_weight(share)[:3].tolist() == [0, 1100, 1 << 38]
    assert redraw_weight(np.array([1e-300])).tolist() == [1]


def test_flows_add_up_and_missing_tracts_fall_back() -> None:
    units = np.arange(3)
    row = tracts_in_a_row([0.0, 50.0, 100.0], units, units, units)
    coarse, _ = coarsen(row, units, q50_mi=1.0, q90_mi=1e4)
    flows = flow_mass(coarse, np.array([0, 0, 2]), np.array([1, 1, 0]), [1.5, 2.0, 4.0])
    assert flows.reshape(3, 3).tolist() == [[0.0, 3.5, 0.0], [0.0, 0.0, 0.0], [0.0, 4.0, 0.0]]
    assert coarse.support_unit.reshape(3, 3)[2].tolist() == [2, 0, 1]
    filled, fell_back = fill_missing_mass(coarse, flows, np.full(9, 0.5))
    assert fell_back.tolist() == [False, True, False]
    assert filled.reshape(3, 3).tolist() == [[0.0, 3.5, 0.0], [0.5, 0.5, 0.5], [0.0, 4.0, 0.0]]
    none = flow_mass(coarse, np.zeros(0, np.int64), np.zeros(0, np.int64), [])
    assert none.dtype == np.float64
    assert not none.any()


def weighted_percentile(values: Floats, weights: Floats, probability: float) -> float:
    """Least value below or at which the given share of the weight lies."""
    order = np.argsort(values, axis=None)
    running = np.cumsum(weights.ravel()[order])
    return float(values.ravel()[order][np.searchsorted(running, probability * running[-1])])


def plain_country(seed: int = 0, n_destinations: int = 25, n_tracts: int = 1500) -> tuple[Floats, Ints, Ints]:
    """Tracts spread evenly over a square of 120 miles."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(-60, 60, (n_tracts, 2))
    distance = np.linalg.norm(place[:n_destinations, None] - place[None], axis=2)
    return distance, rng.integers(0, 6000, n_tracts), rng.integers(1, 900, n_destinations)


@pytest.mark.parametrize(
    "wanted", [(MINNESOTA[0], MINNESOTA[2]), ((0.5, 3.0), (0.9, 30.0)), ((0.5, 15.0), (0.9, 40.0))]
)
def test_the_gravity_fit_reaches_its_percentiles(
    wanted: tuple[tuple[float, float], tuple[float, float]],
) -> None:
    distance, population, jobs = plain_country()
    decay = fit_gravity_decay(distance, population, jobs, percentiles_mi=wanted)
    # The percentiles of the model itself, from every pair of tracts rather than from distance bins.
    mass = population * decay_at(distance, decay)
    commutes = mass / mass.sum(axis=1, keepdims=True) * jobs[:, None]
    for (probability, miles), (_, target, achieved) in zip(wanted, decay.percentiles_mi, strict=True):
        assert target == miles
        assert weighted_percentile(distance, commutes, probability) == pytest.approx(achieved, rel=0.04)
        assert achieved == pytest.approx(miles, rel=0.01)


def test_threads_fit_the_same_decay() -> None:
    distance, population, jobs = plain_country()
    fits = [
        fit_gravity_decay(distance, population, jobs, percentiles_mi=MINNESOTA, threads=threads)
        for threads in (1, 3)
    ]
    assert fits[0] == fits[1]


def test_three_percentiles_are_met_as_closely_as_two_parameters_allow() -> None:
    distance, population, jobs = plain_country()
    decay = fit_gravity_decay(distance, population, jobs, percentiles_mi=MINNESOTA)
    for _, wanted, achieved in decay.percentiles_mi:
        assert achieved == pytest.approx(wanted, rel=0.1)


@pytest.mark.parametrize("start", [(3.0, -2.0), (0.0, 0.5), (-1.2, 1.0)])
def test_the_simplex_search_takes_the_steps_of_scipy(start: tuple[float, float]) -> None:
    def banana(point: Floats) -> float:
        return float((1.0 - point[0]) ** 2 + 100.0 * (point[1] - point[0] ** 2) ** 2)

    wanted = scipy.optimize.minimize(
        banana, start, method="Nelder-Mead", options={"xatol": 1e-7, "fatol": 1e-12, "maxiter": 1000}
    )
    assert _simplex_minimum(banana, np.array(start)) == pytest.approx(wanted.x, abs=1e-9)


def test_decay_never_vanishes_with_distance_alone() -> None:
    decay = decay_at(np.array([0.0, 12_000.0]), GravityDecay(scale_mi=0.01, shape=3.0))
    assert decay[0] == 1.0
    assert 0 < decay[1] < 1e-200
    assert np.all(np.diff(decay_at(np.linspace(0, 50, 20), GravityDecay(scale_mi=5.0, shape=0.8))) < 0)


def test_bad_input_is_refused() -> None:
    world = make_world(1)
    coarse = world.edited.coarsening
    with pytest.raises(SupportError, match="fill_missing_mass"):
        prior_share(coarse, np.zeros_like(world.share))
    with pytest.raises(ParameterError, match="one each"):
        prior_share(coarse, world.share[:-1])
    with pytest.raises(ParameterError, match="allowed are 0 to 2"):
        quantise_weight_up(np.array([-1.0]))
    with pytest.raises(ParameterError, match="allowed are 0 to 2"):
        quantise_weight_up(np.array([0.5, np.nan]))
    with pytest.raises(ParameterError, match="strength"):
        prior_weight(np.array([0.5]), strength=-1.0)
    with pytest.raises(ParameterError, match="position runs"):
        flow_mass(world.coarsening, np.array([99]), np.array([0]), [1.0])
    with pytest.raises(ParameterError, match="one each per flow"):
        flow_mass(world.coarsening, np.array([0]), np.array([0]), [1.0, 2.0])
    with pytest.raises(ParameterError, match="fallback_mass"):
        fill_missing_mass(coarse, world.share, world.share[:-1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"percentiles_mi": ((0.5, 6.0), (0.9, 5.0))}, "rising"),
        ({"percentiles_mi": ((1.0, 6.0),)}, "between 0 and 1"),
        ({"percentiles_mi": ()}, "give"),
        ({"population": np.zeros(2, int)}, "zero everywhere"),
        ({"destination_weight": [1.0, 2.0]}, "need"),
    ],
)
def test_bad_fits_are_refused(change: dict[str, Any], message: str) -> None:
    good: dict[str, Any] = {
        "distance_mi": [[0.0, 5.0]],
        "population": np.array([1, 1]),
        "destination_weight": [1.0],
    }
    with pytest.raises(ParameterError, match=message):
        fit_gravity_decay(**(good | {"percentiles_mi": MINNESOTA} | change))
