"""The cascade: its promise by enumeration, its public parts against a plain twin, and what it must not read."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ParameterError
from engine.kernels.arrays import PointLists
from engine.mechanisms import cascade as mechanism
from engine.mechanisms.cascade import (
    Cascade,
    CascadePoints,
    cascade_points,
    class_factors,
    count_clusters,
    count_kinds,
    deal_labels,
    draw_labels,
    read_labels,
    sum_classes,
)
from engine.mechanisms.dirichlet_multinomial import Synthesizers
from engine.mechanisms.exponential import draw_units, exponential
from engine.mechanisms.kernels.cascade import SHARE_UNITS, TractPoints
from engine.mechanisms.prices import PRICE_UNITS, law_of
from engine.mechanisms.thetas import THETA_UNITS
from engine.parameters import SynthesisParameters
from engine.streams import PublicSeed
from engine.support.support_table import SupportTable
from tests.engine.examples import examples
from tests.engine.test_exponential_twin import e_to
from tests.engine.worlds import KEY, make_world
from tests.oracles import cascade as twin
from tests.oracles.exponential import Table, moves, tables
from tests.oracles.priced import priced_law

pytestmark = pytest.mark.jit_off

SEED = PublicSeed.for_tests()
N_KINDS = 5


def points_of(rng: np.random.Generator, sizes: list[int]) -> CascadePoints:
    """Support points of some tracts, with prior shares and places by chance."""
    ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    share = np.concatenate([rng.dirichlet(np.full(size, 0.4)) for size in sizes])
    n = int(ptr[-1])
    table = TractPoints(
        ptr=ptr,
        prior=np.maximum(np.rint(share * SHARE_UNITS).astype(np.int64), 1),
        log_distance=rng.integers(0, 600_000, n),
        bearing=rng.integers(0, 400_000, n),
    )
    return CascadePoints(table, rng.integers(0, N_KINDS, n))


def units_of(tract: list[int], homes: list[list[int]]) -> Synthesizers:
    n = len(tract)
    return Synthesizers(
        tract=np.array(tract, dtype=np.int32),
        destination=np.arange(n) + 50,
        segment=np.arange(n) % 27,
        worker_ptr=np.concatenate(([0], np.cumsum([len(home) for home in homes]))).astype(np.int64),
        worker_point=np.array([point for home in homes for point in home], dtype=np.int32),
        min_prior_weight=np.ones(n, dtype=np.int64),
    )


def world_of(seed: int) -> tuple[CascadePoints, Synthesizers]:
    """Three tracts, and units of all tiers."""
    rng = np.random.default_rng(seed)
    sizes = [70, 90, 40]
    n_workers = [1, 1, 2, 3, 5, 8, 12, 25, 28, 40, 110, 320, 1, 4, 33, 9, 1, 1, 6]
    tract = [number % 3 for number in range(len(n_workers))]
    homes = [rng.integers(0, sizes[at] // 3, n).tolist() for at, n in zip(tract, n_workers, strict=True)]
    return points_of(rng, sizes), units_of(tract, homes)


def labels_of(cascade: Cascade) -> list[list[int]]:
    ptr = cascade.labels.ptr
    return [cascade.labels.point[first:last].tolist() for first, last in pairwise(ptr.tolist())]


def spread(table: Table) -> list[int]:
    return [point for point, count in enumerate(table) for _ in range(count)]


def law(epsilon: Fraction, table: Table) -> dict[Table, Fraction]:
    drawn = law_of(epsilon, len(table), sum(table))
    return priced_law(table, Fraction(THETA_UNITS, drawn.inverse_theta), Fraction(drawn.price, PRICE_UNITS))


def small_cascade(epsilon: Fraction) -> dict[tuple[Table, Table], dict[tuple[Table, Table], Fraction]]:
    """Chances of all labels of three workers over 4 points, and then two over 2 clusters, for all pairs of homes."""
    points = points_of(np.random.default_rng(5), [4])
    cluster_of: dict[Table, list[int]] = {}
    for released in tables(3, 4):
        labels = PointLists(np.array([0, 3, 5]), np.array([*spread(released), 0, 1], dtype=np.int32))
        made = read_labels(np.zeros(2, dtype=np.int32), labels, points, epsilon=epsilon)
        cluster_of[released] = made.classes.cluster[made.classes.ptr[1] : made.classes.ptr[2]].tolist()
    assert len({tuple(clusters) for clusters in cluster_of.values()}) > 1
    first = {table: law(epsilon, table) for table in tables(3, 4)}
    second = {table: law(epsilon, table) for table in tables(2, 2)}
    joint: dict[tuple[Table, Table], dict[tuple[Table, Table], Fraction]] = {}
    for x, y in product(tables(3, 4), tables(2, 4)):
        joint[x, y] = {}
        for released, chance in first[x].items():
            near = sum(count for point, count in enumerate(y) if cluster_of[released][point] == 0)
            for labels_drawn, after in second[near, 2 - near].items():
                joint[x, y][released, labels_drawn] = chance * after
    return joint


@pytest.mark.parametrize("epsilon", ["1", "2", "4"])
def test_a_small_cascade_keeps_its_promise_for_all_neighbors(
    epsilon: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finds a second unit whose clusters, chosen by the first's labels, cost more than epsilon: all tables, exactly."""
    monkeypatch.setattr(mechanism, "_TIERS", (3, 1))
    monkeypatch.setattr(mechanism, "count_clusters", lambda _e, _k, n: np.where(n == 3, 4, 2))
    joint = small_cascade(Fraction(epsilon))
    assert all(sum(chances.values()) == 1 for chances in joint.values())
    neighbors = [((x, y), (moved, y)) for x, y in joint for moved in moves(x)]
    neighbors += [((x, y), (x, moved)) for x, y in joint for moved in moves(y)]
    worst = max(
        chance / joint[other][labels] for one, other in neighbors for labels, chance in joint[one].items()
    )
    assert Fraction(9, 10) * e_to(epsilon) < worst <= e_to(epsilon)


@pytest.mark.parametrize("epsilon", ["1", "2", "4", "6.5"])
def test_numbers_of_clusters_are_the_twin_s(epsilon: str) -> None:
    """Finds a wrong constant, or one that only large units show."""
    for k in (1, 7, 60, 219, 900):
        n = np.array([1, 2, 5, 9, 24, 29, 30, 99, 299, 300, 5000])
        found = count_clusters(epsilon, np.full(n.size, k), n).tolist()
        assert found == [twin.number_of_clusters(float(epsilon), k, number) for number in n.tolist()]


@given(st.integers(0, 10**6))
@settings(max_examples=examples(10), deadline=None)
def test_clusters_and_shares_are_the_twin_s(seed: int) -> None:
    """Finds a cut at another median, a class that gets another's clusters, and a step that forgets a unit."""
    points, units = world_of(seed)
    drawn = draw_labels(KEY, units, points, epsilon=4)
    classes, table = drawn.classes, points.table
    number_of_last = drawn.units.of_class[np.diff(units.worker_ptr) == 1]
    labels = labels_of(drawn)
    for tract in range(3):
        here = slice(table.ptr[tract], table.ptr[tract + 1])
        of_tract = [at for at in range(units.tract.size) if units.tract[at] == tract]

        def shown(
            least: int, tract: int = tract, members: list[int] = of_tract, here: slice = here
        ) -> list[float]:
            units_before = [
                (
                    classes.cluster[classes.ptr[number] : classes.ptr[number + 1]].tolist(),
                    labels[at],
                    float(drawn.units.noise[at]),
                )
                for at in members
                if len(labels[at]) >= least
                for number in [drawn.units.of_class[at]]
            ]
            n_workers = sum(len(labels[at]) for at in members)
            return twin.estimate(table.prior[here].tolist(), units_before, n_workers)

        final = shown(1)
        assert drawn.share[here] / SHARE_UNITS == pytest.approx(final, rel=1e-6, abs=1e-9)
        before = [max(1, int(one * SHARE_UNITS)) for one in shown(4)]
        places = list(zip(table.log_distance[here].tolist(), table.bearing[here].tolist(), strict=True))
        for number in set(number_of_last[units.tract[np.diff(units.worker_ptr) == 1] == tract].tolist()):
            cut = twin.cut(before, table.prior[here].tolist(), places, int(classes.n_clusters[number]))
            assert classes.cluster[classes.ptr[number] : classes.ptr[number + 1]].tolist() == cut


def test_labels_alone_make_everything_again() -> None:
    """Finds a cluster, share, or dealt point that depends on homes in another way than by labels."""
    points, units = world_of(1)
    drawn = draw_labels(KEY, units, points, epsilon=4)
    again = read_labels(units.tract, drawn.labels, points, epsilon=4)
    assert np.array_equal(drawn.share, again.share)
    for name in ("tract", "n_clusters", "ptr", "cluster"):
        assert np.array_equal(getattr(drawn.classes, name), getattr(again.classes, name))
    for name in ("ptr", "unit", "of_class", "noise"):
        assert np.array_equal(getattr(drawn.units, name), getattr(again.units, name))
    factors = class_factors([sum_classes(drawn, points, N_KINDS)])
    dealt = [
        deal_labels(SEED, made, points, factors, np.arange(3)).synthetic_point for made in (drawn, again)
    ]
    assert np.array_equal(dealt[0], dealt[1])
    assert drawn.classes.n_clusters.min() < 30


def test_no_draw_reads_homes_of_other_units() -> None:
    """Finds a unit's draw that homes of others reach but through labels: those of other tiers are spoiled."""
    points, units = world_of(2)
    drawn = labels_of(draw_labels(KEY, units, points, epsilon=4))
    sizes = np.diff(units.worker_ptr)
    for least, above in zip((1, 4, 10, 30, 100, 300), (4, 10, 30, 100, 300, 10**6), strict=True):
        is_tier = (sizes >= least) & (sizes < above)
        spoiled = units.worker_point.copy()
        spoiled[np.repeat(is_tier, sizes)] = 0
        others = labels_of(
            draw_labels(
                KEY,
                units_of(
                    units.tract.tolist(),
                    [
                        spoiled[first:last].tolist()
                        for first, last in zip(units.worker_ptr[:-1], units.worker_ptr[1:], strict=True)
                    ],
                ),
                points,
                epsilon=4,
            )
        )
        larger = np.flatnonzero(sizes >= above)
        assert [drawn[at] for at in larger] == [others[at] for at in larger]


def test_within_a_tier_each_unit_is_drawn_from_its_own_homes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finds a draw that is given a neighbor's homes: one unit's homes are spoiled, its released labels kept."""
    points, units = world_of(3)
    real, spoiled = draw_units, 13
    kept: dict[int, npt.NDArray[np.int32]] = {}

    def draw(key: Any, chosen: Synthesizers, *rest: Any) -> Any:
        drawn = real(key, chosen, *rest)
        at = np.flatnonzero(chosen.destination == 50 + spoiled)
        if at.size:
            here = slice(chosen.worker_ptr[at[0]], chosen.worker_ptr[at[0] + 1])
            kept.setdefault(0, drawn.synthetic_point[here].copy())
            drawn.synthetic_point[here] = kept[0]
        return drawn

    monkeypatch.setattr(mechanism, "draw_units", draw)
    homes = [
        units.worker_point[a:b].tolist()
        for a, b in zip(units.worker_ptr[:-1], units.worker_ptr[1:], strict=True)
    ]
    first = labels_of(draw_labels(KEY, units, points, epsilon=4))
    homes[spoiled] = [0] * len(homes[spoiled])
    assert labels_of(draw_labels(KEY, units_of(units.tract.tolist(), homes), points, epsilon=4)) == first


def test_the_order_of_workers_and_of_threads_changes_nothing() -> None:
    """Finds a label that says which worker of a unit it came from."""
    points, units = world_of(4)
    rng = np.random.default_rng(4)
    homes = [
        rng.permutation(units.worker_point[a:b]).tolist()
        for a, b in zip(units.worker_ptr[:-1], units.worker_ptr[1:], strict=True)
    ]
    drawn = [
        labels_of(draw_labels(KEY, chosen, points, epsilon=4, threads=threads))
        for chosen, threads in ((units, 1), (units_of(units.tract.tolist(), homes), 3))
    ]
    assert drawn[0] == drawn[1]


def test_batches_change_nothing() -> None:
    """Finds a label or point that depends on the other tracts of its batch, but through the factors."""
    points, units = world_of(5)
    whole = draw_labels(KEY, units, points, epsilon=4)
    factors = class_factors([sum_classes(whole, points, N_KINDS)])
    dealt = deal_labels(SEED, whole, points, factors, np.array([7, 8, 9]))
    sums = []
    for tract in range(3):
        here = slice(points.table.ptr[tract], points.table.ptr[tract + 1])
        part = CascadePoints(
            TractPoints(
                np.array([0, here.stop - here.start]), *(values[here] for values in points.table[1:])
            ),
            points.kind[here],
        )
        members = np.flatnonzero(units.tract == tract)
        lists = PointLists(units.worker_ptr, units.worker_point)
        chosen = mechanism._take_lists(lists, members)
        alone = Synthesizers(
            tract=np.zeros(members.size, dtype=np.int32),
            destination=units.destination[members],
            segment=units.segment[members],
            worker_ptr=chosen.ptr,
            worker_point=chosen.point,
            min_prior_weight=np.ones(members.size, dtype=np.int64),
        )
        drawn = draw_labels(KEY, alone, part, epsilon=4)
        assert np.array_equal(drawn.labels.point, mechanism._take_lists(whole.labels, members).point)
        sums.append(sum_classes(drawn, part, N_KINDS))
        points_alone = deal_labels(SEED, drawn, part, factors, np.array([7 + tract])).synthetic_point
        together = mechanism._take_lists(PointLists(dealt.synthetic_ptr, dealt.synthetic_point), members)
        assert np.array_equal(points_alone, together.point)
    assert np.array_equal(class_factors(sums), factors)


def test_clusters_of_one_point_give_the_labels_of_the_plain_mechanism() -> None:
    """Finds another stream or law than the plain mechanism's: at epsilon 9, all units are drawn over points."""
    points, units = world_of(6)
    drawn = draw_labels(KEY, units, points, epsilon=9)
    assert (drawn.classes.n_clusters == np.diff(points.table.ptr)[drawn.classes.tract]).all()
    ones = np.ones(int(points.table.ptr[-1]), dtype=np.int64)
    table = SupportTable(support_ptr=points.table.ptr, base_weight=ones, retention=ones)
    plain = exponential(KEY, units, table, epsilon=9)
    assert np.array_equal(drawn.labels.point, plain.synthetic_point)


def test_dealing_keeps_totals_targets_and_nearly_all_labels() -> None:
    """Finds a worker who is lost, a target that is missed, and workers dealt outside their cluster without need."""
    points, units = world_of(7)
    drawn = draw_labels(KEY, units, points, epsilon=4)
    factors = class_factors([sum_classes(drawn, points, N_KINDS)])
    dealt = deal_labels(SEED, drawn, points, factors, np.arange(3))
    assert np.array_equal(dealt.synthetic_ptr, units.worker_ptr)
    unit = np.repeat(np.arange(units.tract.size), np.diff(units.worker_ptr))
    number = drawn.units.of_class[unit]
    cluster = drawn.classes.cluster[drawn.classes.ptr[number] + dealt.synthetic_point]
    in_cluster = 0
    for at, labels in enumerate(labels_of(drawn)):
        in_cluster += (Counter(cluster[unit == at].tolist()) & Counter(labels)).total()
    assert in_cluster > 0.9 * unit.size
    prior = np.maximum(np.rint(points.table.prior * factors[points.kind]).astype(np.int64), 1)
    corrected = points.table._replace(prior=mechanism._scale(prior, points.table.ptr))
    share = mechanism._estimate(corrected, drawn.units, drawn.classes, drawn.labels, 1)
    for tract in range(3):
        here = share[points.table.ptr[tract] : points.table.ptr[tract + 1]].tolist()
        counts = np.bincount(dealt.synthetic_point[units.tract[unit] == tract], minlength=len(here))
        n_workers = int(counts.sum())
        exact = [Fraction(one * n_workers, sum(here)) for one in here]
        assert all(abs(count - wanted) < 1 for count, wanted in zip(counts.tolist(), exact, strict=True))


def test_labels_that_no_cluster_has_are_refused() -> None:
    """Finds labels of another release, or spoiled ones, that would read beyond a class."""
    points, units = world_of(8)
    drawn = draw_labels(KEY, units, points, epsilon=4)
    for wrong in (-1, 1000):
        spoiled = drawn.labels.point.copy()
        spoiled[0] = wrong
        with pytest.raises(ParameterError, match="not the number of a cluster"):
            read_labels(units.tract, PointLists(drawn.labels.ptr, spoiled), points, epsilon=4)


def test_points_of_a_coarsening_have_places_and_kinds() -> None:
    """Finds a PUMA or pooled state without a place, and kinds beyond those that are counted."""
    world = make_world(3, mode="none")
    coarsening = world.edited.coarsening
    points = cascade_points(coarsening, world.share)
    assert (points.table.prior >= 1).all()
    assert (points.table.log_distance >= 0).all()
    assert (points.table.bearing >= 0).all()
    assert (points.table.bearing < 1 << 20).all()
    assert points.kind.max() < count_kinds(coarsening.tracts)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"mechanism": "dirichlet-multinomial"}, "mechanism"),
        ({"unit": "tract"}, "unit"),
        ({"clean": True}, "clean"),
        ({"editing": "pool"}, "editing"),
        ({"cascade": "on"}, "cascade"),
    ],
)
def test_what_the_cascade_is_not_defined_for_is_refused(changes: dict[str, Any], name: str) -> None:
    """Finds a combination without a proof or a definition that is drawn all the same."""
    good: dict[str, Any] = {"mechanism": "exponential", "unit": "block", "editing": "none", "cascade": True}
    assert SynthesisParameters.from_dict(SynthesisParameters(**good).to_dict()).cascade
    with pytest.raises(ParameterError, match=name):
        SynthesisParameters(**good | changes)
