from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ParameterError
from engine.support.coarsening import LEVEL_PUMA, LEVEL_REMAINDER, LEVEL_SUPERPUMA, LEVEL_TRACT, coarsen
from engine.support.editing import EditingMode
from engine.support.gravity import GravityDecay
from engine.support.tracts import OriginTracts, great_circle_mi
from geodata.geography.distance import distance_matrix_mi
from tests.engine.worlds import make_tracts, make_world, points_of_tracts, tracts_in_a_row
from tests.oracles.domain import coarsen_one

SEED = st.integers(0, 10**9)


@pytest.mark.jit_off
@given(SEED)
def test_support_points_are_the_twin_s(seed: int) -> None:
    world = make_world(seed)
    coarse = world.coarsening
    for tract in range(coarse.n_destination_tracts):
        twin = coarsen_one(
            world.distance_mi[tract].tolist(),
            world.tracts.puma.tolist(),
            world.tracts.superpuma.tolist(),
            world.tracts.population.tolist(),
            20.0,
            90.0,
        )
        points = slice(coarse.support_ptr[tract], coarse.support_ptr[tract + 1])
        assert coarse.support_level[points].tolist() == [point.level for point in twin]
        assert coarse.support_unit[points].tolist() == [point.unit for point in twin]
        assert coarse.support_population[points].tolist() == [point.population for point in twin]
        np.testing.assert_allclose(
            coarse.support_distance_mi[points], [point.distance_mi for point in twin], rtol=1e-7, atol=1e-4
        )
        # An exact partition: every origin tract in exactly one point.
        for number, point in enumerate(twin):
            assert np.flatnonzero(points_of_tracts(coarse)[tract] == number).tolist() == point.tracts


def test_gravity_mass_is_the_twin_s() -> None:
    rng = np.random.default_rng(4)
    tracts, decay = make_tracts(rng, 400), GravityDecay(scale_mi=3.0, shape=0.7)
    destination = np.arange(0, 400, 40)
    coarse, mass = coarsen(tracts, destination, q50_mi=20.0, q90_mi=90.0, decay=decay)
    lon, lat = tracts.lon_deg, tracts.lat_deg
    distance = distance_matrix_mi(lon[destination], lat[destination], lon, lat)
    points = points_of_tracts(coarse)
    for tract in range(destination.size):
        pull = tracts.population * np.exp(-np.minimum((distance[tract] / 3.0) ** 0.7, 600.0))
        wanted = np.bincount(points[tract], pull, coarse.n_support[tract])
        at = slice(coarse.support_ptr[tract], coarse.support_ptr[tract + 1])
        np.testing.assert_allclose(mass[at], wanted, rtol=1e-5)
    again, none = coarsen(tracts, destination, q50_mi=20.0, q90_mi=90.0)
    assert not none.any()
    assert again.support_distance_mi.tobytes() == coarse.support_distance_mi.tobytes()


@pytest.mark.jit_off
def test_boundaries_are_as_the_method_says() -> None:
    tracts = tracts_in_a_row(
        [0.0, 6.2299, 6.2301, 21.5399, 21.5401, 900.0],
        np.array([0, 0, 0, 1, 1, 1]),
        np.array([0, 0, 0, 0, 0, 0]),
        np.array([1, 1, 1, 1, 1, 1]),
    )
    coarse, _ = coarsen(tracts, np.array([0]), q50_mi=6.23, q90_mi=21.54)
    assert coarse.support_level.tolist() == [
        LEVEL_TRACT,
        LEVEL_TRACT,
        LEVEL_PUMA,
        LEVEL_PUMA,
        LEVEL_SUPERPUMA,
    ]
    # PUMA 0 is cut by the q50 ring: its near tracts stand alone, the point holds the far part only.
    assert points_of_tracts(coarse).tolist() == [[0, 1, 2, 3, 4, 4]]
    assert coarse.support_distance_mi[-1] == pytest.approx((21.5401 + 900.0) / 2)
    # At the limit itself a tract is far: a place is not nearer than its own distance.
    square = coarsen(tracts, np.array([0]), q50_mi=0.0, q90_mi=0.0)[0]
    assert square.support_level.tolist() == [LEVEL_SUPERPUMA]


def test_places_round_the_globe_keep_their_distance() -> None:
    tracts = OriginTracts(
        lon_deg=np.array([179.9, -179.9, 0.0, 0.0, 12.0]),
        lat_deg=np.array([10.0, 10.0, 90.0, -10.0, -89.9]),
        puma=np.arange(5, dtype=np.int32),
        superpuma=np.arange(5, dtype=np.int32),
        population=np.ones(5, np.int64),
    )
    coarse, _ = coarsen(tracts, np.array([0]), q50_mi=1.0, q90_mi=20.0)
    wanted = distance_matrix_mi([179.9], [10.0], tracts.lon_deg, tracts.lat_deg)[0]
    assert coarse.support_unit.tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_allclose(coarse.support_distance_mi, wanted, rtol=1e-3, atol=1e-6)


@given(SEED)
def test_great_circles_are_those_of_the_formula_with_any_threads(seed: int) -> None:
    tracts, destination = make_world(seed).tracts, make_world(seed).destination_tract
    found = great_circle_mi(tracts, destination)
    assert great_circle_mi(tracts, destination, threads=3).tobytes() == found.tobytes()
    lon, lat = tracts.lon_deg, tracts.lat_deg
    wanted = distance_matrix_mi(lon[destination], lat[destination], lon, lat)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-3)


@given(SEED)
def test_renumbering_origin_tracts_keeps_the_partition(seed: int) -> None:
    world = make_world(seed)
    tracts = world.tracts
    order = np.random.default_rng(seed).permutation(tracts.n_tracts)
    names = ("lon_deg", "lat_deg", "puma", "superpuma", "population")
    moved = OriginTracts(**{name: getattr(tracts, name)[order] for name in names})
    again, _ = coarsen(moved, np.argsort(order)[world.destination_tract], q50_mi=20.0, q90_mi=90.0)
    before, after = points_of_tracts(world.coarsening)[:, order], points_of_tracts(again)
    for tract in range(world.coarsening.n_destination_tracts):
        pairs = set(zip(before[tract].tolist(), after[tract].tolist(), strict=True))
        assert len(pairs) == len(set(before[tract].tolist())) == len(set(after[tract].tolist()))


@given(SEED)
def test_batches_and_threads_do_not_matter(seed: int) -> None:
    world = make_world(seed)
    coarse = world.coarsening
    decay = GravityDecay(scale_mi=5.0, shape=0.8)
    whole = coarsen(world.tracts, coarse.destination, q50_mi=20.0, q90_mi=90.0, decay=decay, threads=3)
    assert whole[0].support_distance_mi.tobytes() == coarse.support_distance_mi.tobytes()
    for tract in range(coarse.n_destination_tracts):
        alone, mass = coarsen(
            world.tracts, coarse.destination[tract : tract + 1], q50_mi=20.0, q90_mi=90.0, decay=decay
        )
        points = slice(coarse.support_ptr[tract], coarse.support_ptr[tract + 1])
        assert points_of_tracts(alone)[0].tolist() == points_of_tracts(coarse)[tract].tolist()
        assert alone.support_distance_mi.tolist() == coarse.support_distance_mi[points].tolist()
        assert mass.tolist() == whole[1][points].tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lat_deg": np.array([0.0, np.nan])}, "has no place"),
        ({"lon_deg": np.array([0.0, np.inf])}, "has no place"),
        ({"lat_deg": np.array([0.0, 91.0])}, "latitude from -90 to 90"),
        ({"puma": np.array([0])}, "1 values for 2 tracts"),
        ({"puma": np.array([0, -1])}, "puma runs from -1"),
        ({"population": np.array([0.5, 1.0])}, "integer array"),
    ],
)
def test_bad_tracts_are_refused(change: dict[str, Any], message: str) -> None:
    two = np.array([0, 0])
    given_input = {"lon_deg": two, "lat_deg": two, "puma": two, "superpuma": two, "population": two}
    with pytest.raises(ParameterError, match=message):
        OriginTracts(**(given_input | change))


@pytest.mark.jit_off
@given(SEED, st.sampled_from(["pool", "drop", "none"]), st.booleans())
def test_homes_of_workers_are_found_one_by_one_too(seed: int, mode: EditingMode, shuffled: bool) -> None:
    world, rng = make_world(seed, mode=mode), np.random.default_rng(seed + 1)
    coarse = world.edited.coarsening
    n_places = 3 * world.tracts.n_tracts
    tract_of_place = rng.integers(0, world.tracts.n_tracts, n_places).astype(np.int32)
    n_workers = rng.integers(0, 6, 15)
    position = rng.integers(0, coarse.n_destination_tracts, 15)
    position = position if shuffled else np.sort(position)
    home = rng.integers(0, n_places, n_workers.sum())
    ptr = np.concatenate(([0], np.cumsum(n_workers)))
    point, n_removed = coarse.find_homes(position, ptr, home, tract_of_place)
    part = points_of_tracts(coarse)
    wanted = part[np.repeat(position, n_workers), tract_of_place[home]]
    assert point.tolist() == wanted.tolist()
    levels = [
        LEVEL_REMAINDER if number < 0 else coarse.support_level[coarse.support_ptr[tract] + number]
        for tract, number in zip(np.repeat(position, n_workers), wanted, strict=True)
    ]
    assert n_removed == levels.count(LEVEL_REMAINDER)


def test_bad_homes_are_refused() -> None:
    coarse = make_world(1).coarsening
    one = np.zeros(1, np.int64)
    for change, message in (
        ({"position": one + coarse.n_destination_tracts}, "position runs"),
        ({"home": one + 1}, "home runs"),
        ({"tract_of_home": one - 1}, "lies in no origin tract"),
        ({"tract_of_home": one + coarse.tracts.n_tracts}, "lies in no origin tract"),
        ({"position": np.zeros(2, np.int64)}, "one each"),
        ({"worker_ptr": np.array([0, 2])}, "must end at 1"),
    ):
        given_input = {"position": one, "worker_ptr": np.array([0, 1]), "home": one, "tract_of_home": one}
        with pytest.raises(ParameterError, match=message):
            coarse.find_homes(**(given_input | change))


def test_bad_input_is_refused() -> None:
    tracts = make_world(1).tracts
    with pytest.raises(ParameterError, match="0 <= q50_mi <= q90_mi"):
        coarsen(tracts, np.array([0]), q50_mi=30.0, q90_mi=20.0)
    with pytest.raises(ParameterError, match="0 <= q50_mi <= q90_mi"):
        coarsen(tracts, np.array([0]), q50_mi=np.nan, q90_mi=20.0)
    with pytest.raises(ParameterError, match="destination runs"):
        coarsen(tracts, np.array([tracts.n_tracts]), q50_mi=10.0, q90_mi=20.0)
    coarse, _ = coarsen(tracts, np.array([0]), q50_mi=10.0, q90_mi=20.0)
    with pytest.raises(ParameterError, match="position runs"):
        coarse.find(np.array([1]), np.array([0]))
    with pytest.raises(ParameterError, match="one each"):
        coarse.find(np.array([0, 0]), np.array([0]))


def test_no_tracts_give_no_points() -> None:
    none = np.zeros(0, np.int64)
    degrees, index = np.zeros(0), np.zeros(0, np.int32)
    tracts = OriginTracts(lon_deg=degrees, lat_deg=degrees, puma=index, superpuma=index, population=none)
    assert coarsen(tracts, none, q50_mi=1.0, q90_mi=2.0)[0].n_support.size == 0
