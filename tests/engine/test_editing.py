import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from engine.errors import ParameterError, SupportError
from engine.kernels.arrays import Floats
from engine.support.coarsening import LEVEL_REMAINDER, Coarsening, coarsen
from engine.support.editing import DEFAULT_ELIMINATION, EditingMode, edit_domain
from tests.engine.worlds import KEY, make_world, points_of_tracts, tracts_in_a_row
from tests.oracles.domain import coarsen_one, eliminated_points

SEED = st.integers(0, 10**9)
FALSE_ALARM = 1e-6


@pytest.mark.jit_off
@given(SEED, st.sampled_from(["drop", "pool"]))
def test_edited_domains_are_the_twin_s(seed: int, mode: EditingMode) -> None:
    world = make_world(seed, mode=mode)
    coarse, edited = world.coarsening, world.edited
    mass, members = world.mass, points_of_tracts(edited.coarsening)
    for tract, number in enumerate(world.destination_tract.tolist()):
        old = slice(coarse.support_ptr[tract], coarse.support_ptr[tract + 1])
        points = coarsen_one(
            world.distance_mi[tract].tolist(),
            world.tracts.puma.tolist(),
            world.tracts.superpuma.tolist(),
            world.tracts.population.tolist(),
            20.0,
            90.0,
        )
        gone = eliminated_points(number, points, mass[old].tolist(), DEFAULT_ELIMINATION)
        kept = [point for position, point in enumerate(points) if position not in gone]
        new = edited.coarsening
        at = slice(new.support_ptr[tract], new.support_ptr[tract + 1])
        remainder = [(LEVEL_REMAINDER, -1)] if gone and mode == "pool" else []
        found = list(zip(new.support_level[at].tolist(), new.support_unit[at].tolist(), strict=True))
        assert found == [(point.level, point.unit) for point in kept] + remainder
        assert edited.n_eliminated[tract] == len(gone)
        lost = len(kept) if mode == "pool" else -1
        for position, point in enumerate(points):
            wanted = lost if position in gone else kept.index(point)
            assert edited.new_point[old][position] == wanted
            assert {int(members[tract, member]) for member in point.tracts} == {wanted}


@given(SEED)
def test_pooling_keeps_population_and_mass(seed: int) -> None:
    world = make_world(seed)
    before, after = world.coarsening, world.edited.coarsening
    for tract in range(before.n_destination_tracts):
        old = slice(before.support_ptr[tract], before.support_ptr[tract + 1])
        new = slice(after.support_ptr[tract], after.support_ptr[tract + 1])
        assert before.support_population[old].sum() == after.support_population[new].sum()
    carried = world.edited.carry(world.mass)
    assert carried.sum() == pytest.approx(world.mass.sum())
    assert not carried[after.support_level == LEVEL_REMAINDER].any()


def lone_pumas(miles: list[float]) -> Coarsening:
    """Support points of the first of some tracts in a row, each other one a PUMA of its own."""
    units = np.arange(len(miles))
    row = tracts_in_a_row(miles, units, units, np.ones_like(units))
    return coarsen(row, np.array([0]), q50_mi=1.0, q90_mi=1e4)[0]


def far_coarsening(n_tracts: int) -> tuple[Coarsening, Floats]:
    """One near tract, and n_tracts lone PUMAs at 50, 150, 250 and 550 miles."""
    distance = np.concatenate(([0.0], np.tile([50.0, 150.0, 250.0, 550.0], n_tracts // 4)))
    return lone_pumas(distance.tolist()), distance


def test_elimination_probabilities_are_those_of_the_paper() -> None:
    coarse, distance = far_coarsening(40_000)
    mass = np.zeros(distance.size)
    mass[0] = 1.0
    edited = edit_domain(KEY, coarse, mass, np.array([7]))
    gone = edited.new_point == edited.new_point.max()
    for miles, probability in ((150.0, 0.5), (250.0, 0.9), (550.0, 0.98)):
        at = distance == miles
        assert stats.binomtest(int(gone[at].sum()), int(at.sum()), probability).pvalue > FALSE_ALARM
    assert not gone[distance <= 100].any()


def test_points_with_mass_and_points_at_the_limit_stay() -> None:
    coarse = lone_pumas([0.0, 99.999, 199.999, 499.999])
    always = ((500.0, 1.0), (200.0, 1.0), (100.0, 1.0))
    assert edit_domain(KEY, coarse, np.ones(4), np.array([7]), elimination=always).n_eliminated.tolist() == [
        0
    ]
    some = edit_domain(KEY, coarse, np.array([1.0, 0, 0, 0]), np.array([7]), elimination=always)
    assert some.new_point.tolist() == [0, 1, 2, 2]  # what is no farther than 100 miles stays
    assert some.coarsening.support_distance_mi[-1] == pytest.approx(349.999)


@pytest.mark.jit_off
def test_none_changes_nothing() -> None:
    world = make_world(3, mode="none")
    assert world.edited.coarsening is world.coarsening
    assert world.edited.n_eliminated.sum() == 0


@pytest.mark.jit_off
def test_an_emptied_destination_tract_is_refused() -> None:
    coarse = lone_pumas([0.0, 600.0])
    coarse.support_distance_mi[0] = 700.0
    with pytest.raises(SupportError, match="destination tract 4242"):
        edit_domain(KEY, coarse, np.zeros(2), np.array([4242]), elimination=((500.0, 1.0),))


@pytest.mark.jit_off
def test_bad_input_is_refused() -> None:
    world = make_world(5)
    coarse, mass = world.coarsening, world.mass
    with pytest.raises(ParameterError, match="allowed are none, drop, pool"):
        edit_domain(KEY, coarse, mass, world.destination_tract, mode="trim")  # type: ignore[arg-type]  # wrong on purpose
    with pytest.raises(ParameterError, match="probability of 0 to 1"):
        edit_domain(KEY, coarse, mass, world.destination_tract, elimination=((100.0, 1.5),))
    with pytest.raises(ParameterError, match="one per"):
        edit_domain(KEY, coarse, mass[:-1], world.destination_tract)
    for seed in range(100):
        again = make_world(seed)
        if again.edited.n_eliminated.any():
            break
    with pytest.raises(ParameterError, match="one each"):
        again.edited.carry(again.mass[:-1])
    new = again.edited.coarsening
    with pytest.raises(ParameterError, match="edited already"):
        edit_domain(KEY, new, np.ones(new.support_level.size), again.destination_tract)
