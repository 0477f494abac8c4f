import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.coarsening import LEVEL_PUMA, LEVEL_SUPERPUMA, LEVEL_TRACT, coarsen
from engine.errors import ParameterError
from tests.engine.worlds import make_world
from tests.oracles.domain import coarsen_one

SEED = st.integers(0, 10**9)


@given(SEED)
def test_support_points_are_the_twin_s(seed):
    world = make_world(seed)
    coarse = world.coarsening
    for tract in range(coarse.n_destination_tracts):
        twin = coarsen_one(
            world.distance_mi[tract].tolist(),
            world.puma.tolist(),
            world.superpuma.tolist(),
            world.population.tolist(),
            20.0,
            90.0,
        )
        points = slice(coarse.support_ptr[tract], coarse.support_ptr[tract + 1])
        assert coarse.support_level[points].tolist() == [point.level for point in twin]
        assert coarse.support_unit[points].tolist() == [point.unit for point in twin]
        assert coarse.support_population[points].tolist() == [point.population for point in twin]
        np.testing.assert_allclose(
            coarse.support_distance_mi[points], [point.distance_mi for point in twin], rtol=1e-12
        )
        # An exact partition: every origin tract in exactly one point.
        for number, point in enumerate(twin):
            assert np.flatnonzero(coarse.point_of_tract[tract] == number).tolist() == point.tracts


def test_boundaries_are_as_the_method_says():
    coarse = coarsen(
        [[0.0, 6.22, 6.23, 21.53, 21.54, 900.0]],
        np.array([0, 0, 0, 1, 1, 1]),
        np.array([0, 0, 0, 0, 0, 0]),
        np.array([1, 1, 1, 1, 1, 1]),
        q50_mi=6.23,
        q90_mi=21.54,
    )
    assert coarse.support_level.tolist() == [
        LEVEL_TRACT,
        LEVEL_TRACT,
        LEVEL_PUMA,
        LEVEL_PUMA,
        LEVEL_SUPERPUMA,
    ]
    # PUMA 0 is cut by the q50 ring: its near tracts stand alone, the point holds the far part only.
    assert coarse.point_of_tract.tolist() == [[0, 1, 2, 3, 4, 4]]
    assert coarse.support_distance_mi[-1] == pytest.approx((21.54 + 900.0) / 2)


@given(SEED)
def test_renumbering_origin_tracts_keeps_the_partition(seed):
    world = make_world(seed)
    order = np.random.default_rng(seed).permutation(world.population.size)
    again = coarsen(
        world.distance_mi[:, order],
        world.puma[order],
        world.superpuma[order],
        world.population[order],
        q50_mi=20.0,
        q90_mi=90.0,
    )
    for tract in range(world.coarsening.n_destination_tracts):
        before = world.coarsening.point_of_tract[tract][order]
        after = again.point_of_tract[tract]
        pairs = set(zip(before.tolist(), after.tolist(), strict=True))
        assert len(pairs) == len(set(before.tolist())) == len(set(after.tolist()))


@given(SEED)
def test_batches_do_not_matter(seed):
    world = make_world(seed)
    coarse = world.coarsening
    for tract in range(coarse.n_destination_tracts):
        alone = coarsen(
            world.distance_mi[tract : tract + 1],
            world.puma,
            world.superpuma,
            world.population,
            q50_mi=20.0,
            q90_mi=90.0,
        )
        points = slice(coarse.support_ptr[tract], coarse.support_ptr[tract + 1])
        assert alone.point_of_tract[0].tolist() == coarse.point_of_tract[tract].tolist()
        assert alone.support_distance_mi.tolist() == coarse.support_distance_mi[points].tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"distance_mi": [[0.0, np.nan]]}, "distance_mi runs from"),
        ({"distance_mi": [[0.0, np.inf]]}, "distance_mi runs from"),
        ({"distance_mi": [0.0, 1.0]}, "has 1 dimensions"),
        ({"puma_of_tract": np.array([0])}, "all must have the 2"),
        ({"puma_of_tract": np.array([0, -1])}, "puma_of_tract runs from -1"),
        ({"tract_population": np.array([0.5, 1.0])}, "integer array"),
        ({"q50_mi": 30.0}, "0 <= q50_mi <= q90_mi"),
        ({"q50_mi": np.nan}, "0 <= q50_mi <= q90_mi"),
    ],
)
def test_bad_input_is_refused(change, message):
    two = np.array([0, 0])
    given_input = {
        "distance_mi": [[0.0, 1.0]],
        "puma_of_tract": two,
        "superpuma_of_tract": two,
        "tract_population": two,
        "q50_mi": 6.23,
        "q90_mi": 21.54,
    }
    with pytest.raises(ParameterError, match=message):
        coarsen(**(given_input | change))


def test_no_tracts_give_no_points():
    none = np.zeros(0, np.int64)
    assert coarsen(np.zeros((3, 0)), none, none, none, q50_mi=1.0, q90_mi=2.0).n_support.tolist() == [0, 0, 0]
