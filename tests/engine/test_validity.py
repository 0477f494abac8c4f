"""Closed-form validity measures: the grid, KL and IMSE against plain twins and against drawing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ParameterError
from engine.support.support_table import SupportTable
from engine.validity import (
    CELL_RANGE,
    DOMAIN_RANGES,
    LEVELS,
    N_CELLS,
    RANGES,
    CellShares,
    MeasuredWorkers,
    PriorClasses,
    cell_counts,
    cell_shares,
    count_points,
    expected_means,
    grid_cells,
    imse,
    kl_divergence,
    kl_of_counts,
    point_cells,
    positive_shares,
    prior_cells,
    range_mass,
    squared_error,
    total_variation,
    weighted_mean,
)
from tests.engine.examples import examples
from tests.oracles import validity as oracle

UNIT, CERTAIN = 1 << 20, 1 << 32


@pytest.mark.jit_off
@given(st.lists(st.tuples(st.floats(0, 3000), st.floats(0, 360, exclude_max=True)), min_size=1))
def test_cells_are_those_of_the_definition(commutes: list[tuple[float, float]]) -> None:
    distance, bearing = map(list, zip(*commutes, strict=True))
    assert grid_cells(distance, bearing).tolist() == [oracle.cell_of(*commute) for commute in commutes]


@pytest.mark.jit_off
def test_every_cell_is_reached_and_edges_belong_to_the_farther_band() -> None:
    distance, bearing = np.meshgrid(
        [0.5, 1.0, 4.0, 10.0, 25.0, 100.0, 500.0], [0.0, 90.0, 180.0, 270.0], indexing="ij"
    )
    cells = grid_cells(distance, bearing)
    assert sorted(cells.ravel().tolist()) == list(range(1, N_CELLS))
    assert cells[1].tolist() == [6, 8, 7, 5]  # north is NE, east SE, south SW, west NW
    assert grid_cells(0.0, np.nan) == 0


@pytest.mark.jit_off
@pytest.mark.parametrize(
    ("distance", "bearing", "message"),
    [
        ([-1.0], [0.0], "negative or missing"),
        ([np.nan], [0.0], "negative or missing"),
        ([1.0], [np.nan], "0 ≤ bearing < 360"),
        ([1.0], [360.0], "0 ≤ bearing < 360"),
        ([1.0, 2.0], [0.0], "give one each"),
    ],
)
def test_places_that_are_none_are_refused(distance: Any, bearing: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        grid_cells(distance, bearing)


class World:
    """A few destination tracts, support points, and destinations of a few synthesizers each."""

    def __init__(self, seed: int, *, pruned: bool = True) -> None:
        rng = np.random.default_rng(seed)
        n_destination_tracts, n_tracts = int(rng.integers(1, 4)), int(rng.integers(1, 12))
        self.cell = rng.integers(0, N_CELLS, (n_destination_tracts, n_tracts)).astype(np.int8)
        self.population = rng.integers(0, 40, n_tracts) * rng.integers(0, 2, n_tracts)
        self.point_of_tract = np.empty((n_destination_tracts, n_tracts), np.int32)
        n_support = []
        for row in self.point_of_tract:
            _, row[:] = np.unique(rng.integers(0, n_tracts, n_tracts), return_inverse=True)
            n_support.append(int(row.max()) + 1)
        ptr = np.concatenate(([0], np.cumsum(n_support)))
        self.prior = SupportTable(
            support_ptr=ptr,
            base_weight=rng.integers(0, 3 * UNIT, ptr[-1]),
            retention=rng.integers(1, CERTAIN, ptr[-1]) if pruned else np.full(ptr[-1], CERTAIN),
        )
        self.class_tract = rng.integers(0, n_destination_tracts, 6)
        self.min_weight = rng.integers(1, UNIT, 6)
        self.prunes = rng.random(6) < 0.7
        n_destinations = 4
        self.destination_ptr = np.concatenate(([0], np.cumsum(rng.integers(1, 4, n_destinations))))
        n_synthesizers = int(self.destination_ptr[-1])
        self.class_of = rng.integers(0, 6, n_synthesizers)
        workers = rng.integers(0, 6, n_synthesizers)
        self.worker_ptr = np.concatenate(([0], np.cumsum(workers)))
        tract = np.repeat(self.class_tract[self.class_of], workers)
        home = rng.integers(0, n_tracts, tract.size)
        self.worker_point = ptr[tract] + self.point_of_tract[tract, home]
        self.worker_cell = self.cell[tract, home]

    def shares(self) -> Any:
        return point_cells(self.prior.support_ptr, self.point_of_tract, self.cell, self.population)

    def classes(self) -> PriorClasses:
        return PriorClasses(
            prior=self.prior, tract=self.class_tract, min_weight=self.min_weight, prunes=self.prunes
        )

    def workers(self, published: Any = None) -> MeasuredWorkers:
        return MeasuredWorkers(
            destination_ptr=self.destination_ptr,
            class_of=self.class_of,
            worker_ptr=self.worker_ptr,
            worker_point=self.worker_point.astype(np.int64),
            published_count=published,
        )

    def measured(self) -> CellShares:
        return cell_shares(self.classes(), self.workers(), self.shares(), self.worker_cell)

    def points(self, synthesizer: int) -> tuple[list[oracle.Point], list[int]]:
        """The plain twin's points and counts of one synthesizer."""
        j = self.class_of[synthesizer]
        tract = int(self.class_tract[j])
        first, last = self.prior.support_ptr[tract : tract + 2]
        points = []
        for i in range(first, last):
            weight = max(int(self.prior.base_weight[i]), int(self.min_weight[j]))
            retention = int(self.prior.retention[i]) if self.prunes[j] else CERTAIN
            point = oracle.Point(Fraction(weight, UNIT), Fraction(retention, CERTAIN))
            for origin in np.flatnonzero(self.point_of_tract[tract] == i - first):
                g = int(self.cell[tract, origin])
                point.people[g] = point.people.get(g, 0) + max(int(self.population[origin]), 1)
            points.append(point)
        mine = self.worker_point[self.worker_ptr[synthesizer] : self.worker_ptr[synthesizer + 1]]
        return points, np.bincount(mine - first, minlength=last - first).tolist()


@pytest.mark.jit_off
@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=examples(40), deadline=None)
def test_expected_cells_are_those_of_the_plain_twin(seed: int, pruned: bool) -> None:
    world = World(seed, pruned=pruned)
    found = world.measured()
    for d in range(world.destination_ptr.size - 1):
        mean, variance = np.zeros(N_CELLS), np.zeros(N_CELLS)
        mine = range(world.destination_ptr[d], world.destination_ptr[d + 1])
        total = int(world.worker_ptr[mine.stop] - world.worker_ptr[mine.start])
        for s in mine:
            points, counts = world.points(s)
            if sum(counts):
                by_cell = oracle.synthesizer_moments(points, counts, range(N_CELLS))
                mean += [float(by_cell[0][g]) / total for g in range(N_CELLS)]
                variance += [float(by_cell[1][g]) / total**2 for g in range(N_CELLS)]
        np.testing.assert_allclose(found.posterior[d], mean, rtol=1e-11, atol=1e-15)
        np.testing.assert_allclose(found.variance[d], variance, rtol=1e-9, atol=1e-15)
        cells = world.worker_cell[world.worker_ptr[mine.start] : world.worker_ptr[mine.stop]]
        real = np.bincount(cells, minlength=N_CELLS) / max(total, 1)
        np.testing.assert_allclose(found.likelihood[d], real, rtol=1e-12)


@pytest.mark.jit_off
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(40), deadline=None)
def test_divergence_is_finite_never_negative_and_that_of_the_definition(seed: int) -> None:
    """Finite, because every worker's point has some of its mass in the worker's cell."""
    found = World(seed).measured()
    divergence = kl_divergence(found.likelihood, found.posterior)
    assert np.isfinite(divergence).all()
    assert (divergence >= -1e-12).all()
    for real, expected, value in zip(found.likelihood, found.posterior, divergence, strict=True):
        rows = [{g: Fraction(x) for g, x in enumerate(row.tolist())} for row in (real, expected)]
        assert value == pytest.approx(oracle.kl_divergence(*rows), abs=1e-12)


@pytest.mark.jit_off
def test_divergence_is_zero_for_equals_and_infinite_where_mass_is_missing() -> None:
    likelihood = [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    posterior = [[0.5, 0.5, 0.0], [0.25, 0.5, 0.25], [1.0, 0.0, 0.0]]
    assert kl_divergence(likelihood, posterior).tolist() == [0.0, np.log(4.0), np.inf]


@pytest.mark.parametrize("pruned", [False, True])
def test_closed_form_agrees_with_drawing(pruned: bool) -> None:
    """Kept points, Dirichlet shares, workers and their cells drawn 40,000 times, from a fixed seed.

    Without pruning the closed form is exact. With pruning it uses the mean of the kept mass; here, with the
    weights that small workplaces have, that is off by less than the drawing itself tells.
    """
    rng = np.random.default_rng(5)
    k, n, n_draws = 12, 8, 40_000
    alpha, f = 0.047, 0.1 if pruned else 1.0
    cell = rng.integers(0, 5, (1, 2 * k)).astype(np.int8)
    point_of_tract = np.arange(2 * k, dtype=np.int32)[None] % k
    population = rng.integers(1, 50, 2 * k)
    prior = SupportTable(
        support_ptr=np.array([0, k]),
        base_weight=np.zeros(k, np.int64),
        retention=np.full(k, int(np.ceil(f * CERTAIN))),
    )
    shares = point_cells(prior.support_ptr, point_of_tract, cell, population)
    home = rng.integers(0, 2 * k, n)
    found = cell_shares(
        PriorClasses(prior=prior, tract=np.array([0]), min_weight=np.array([int(np.ceil(alpha * UNIT))])),
        MeasuredWorkers(
            destination_ptr=np.array([0, 1]),
            class_of=np.array([0]),
            worker_ptr=np.array([0, n]),
            worker_point=home % k,
        ),
        shares,
        cell[0, home],
    )
    counts = np.bincount(home % k, minlength=k)
    kept = (rng.random((n_draws, k)) < f) | (counts > 0)
    gammas = rng.gamma(counts + alpha, size=(n_draws, k)) * kept
    drawn = rng.multinomial(n, gammas / gammas.sum(axis=1, keepdims=True))
    by_cell = np.sum([rng.multinomial(drawn[:, i], shares[i]) for i in range(k)], axis=0) / n
    # Five standard errors of each of 29 means: a false alarm in 60,000 tests.
    error = np.sqrt(by_cell.var(axis=0) / n_draws)
    assert (np.abs(by_cell.mean(axis=0) - found.posterior[0]) <= 5 * error + 1e-12).all()
    real = np.bincount(cell[0, home], minlength=N_CELLS) / n
    squares = ((by_cell - real) ** 2).sum(axis=1)
    assert imse(found)[0] == pytest.approx(squares.mean(), abs=5 * squares.std() / np.sqrt(n_draws))


@pytest.mark.jit_off
def test_a_dropped_tract_has_no_part_and_an_empty_one_counts_as_one_person() -> None:
    shares = point_cells(
        np.array([0, 2]),
        np.array([[0, 0, 1, -1]], np.int32),
        np.array([[3, 4, 5, 6]], np.int8),
        np.array([0, 3, 0, 9]),
    )
    assert shares[0, 3:5].tolist() == [0.25, 0.75]
    assert shares[1, 5] == 1.0
    assert shares[:, 6].tolist() == [0.0, 0.0]


@pytest.mark.jit_off
def test_a_destination_without_workers_has_zero_rows() -> None:
    world = World(3)
    world.worker_ptr = np.zeros_like(world.worker_ptr)
    world.worker_point = world.worker_point[:0]
    world.worker_cell = world.worker_cell[:0]
    found = world.measured()
    assert not found.likelihood.any()
    assert not found.posterior.any()
    assert not found.variance.any()


@pytest.mark.jit_off
def test_means_are_weighted_by_workers() -> None:
    assert weighted_mean([1.0, 3.0], [3, 1]) == 1.5
    assert weighted_mean([1.0, 3.0], [3, 1], np.array([False, True])) == 3.0
    assert np.isnan(weighted_mean([1.0], [1], np.array([False])))


@pytest.mark.jit_off
def test_arrays_that_do_not_fit_are_refused() -> None:
    world = World(1)
    with pytest.raises(ParameterError, match="destination tracts by origin tracts"):
        point_cells(world.prior.support_ptr, world.point_of_tract[:, :0], world.cell, world.population)
    world.worker_cell = np.append(world.worker_cell, np.int8(0))
    with pytest.raises(ParameterError, match="give one each"):
        world.measured()
    world.class_tract = world.class_tract[:2]
    with pytest.raises(ParameterError, match="least weights"):
        world.measured()
    with pytest.raises(ParameterError, match="same cells"):
        kl_divergence([[1.0]], [[0.5, 0.5]])


@pytest.mark.jit_off
def test_the_grid_is_a_partition_and_so_are_the_ranges() -> None:
    """Every distance and bearing has one cell, and the cells of a range are all its quadrants."""
    distance, bearing = np.meshgrid(np.linspace(0, 3000, 4001), np.arange(0.0, 360.0, 7.5))
    cell = grid_cells(distance, bearing)
    assert sorted(np.unique(cell).tolist()) == list(range(N_CELLS))
    assert np.bincount(CELL_RANGE).tolist() == [1, *[4] * (len(RANGES) - 1)]
    edges = np.searchsorted(oracle.EDGES_MI, distance, side="right") + 1
    np.testing.assert_array_equal(CELL_RANGE[cell], np.where(distance == 0, 0, edges))


@pytest.mark.jit_off
@given(st.lists(st.integers(0, 5), max_size=6), st.randoms(use_true_random=False))
def test_workers_are_counted_cell_by_cell(sizes: list[int], random: Any) -> None:
    ptr = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    cells = [random.randrange(-1, N_CELLS) for _ in range(int(ptr[-1]))]
    found = cell_counts(ptr, np.array(cells, dtype=np.int8))
    assert found.tolist() == oracle.cell_counts(ptr.tolist(), cells, N_CELLS)


@pytest.mark.jit_off
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=8))
def test_divergence_of_draws_is_zero_only_for_equal_shares(pairs: list[tuple[int, int]]) -> None:
    real, drawn = ([row] for row in map(list, zip(*pairs, strict=True)))
    found = kl_of_counts(real, drawn)[0]
    assert found == pytest.approx(oracle.kl_of_counts(real[0], drawn[0]), abs=1e-12)
    assert found >= -1e-15
    assert (found < 1e-12) == (np.abs(_one_added(real) - _one_added(drawn)).max() < 1e-12)
    if sum(real[0]) and sum(drawn[0]):
        shares = [[Fraction(n, sum(row[0])) for n in row[0]] for row in (real, drawn)]
        squares = sum((a - b) ** 2 for a, b in zip(*shares, strict=True))
        moved = sum(abs(a - b) for a, b in zip(*shares, strict=True)) / 2
        assert squared_error(real, drawn)[0] == pytest.approx(float(squares), abs=1e-12)
        assert total_variation(real, drawn)[0] == pytest.approx(float(moved), abs=1e-12)


def _one_added(counts: Any) -> Any:
    row = np.asarray(counts[0], np.float64) + 1 / len(counts[0])
    return row / row.sum()


@pytest.mark.jit_off
@given(st.integers(0, 2**32 - 1))
@settings(max_examples=examples(30), deadline=None)
def test_means_of_points_and_the_prior_alone_are_those_of_the_plain_twin(seed: int) -> None:
    world = World(seed)
    rng = np.random.default_rng(seed)
    values = rng.random((world.prior.base_weight.size, 2)) * 50
    found = expected_means(world.classes(), world.workers(), values)
    shares = world.shares()
    for d in range(world.destination_ptr.size - 1):
        mine = range(world.destination_ptr[d], world.destination_ptr[d + 1])
        total = int(world.worker_ptr[mine.stop] - world.worker_ptr[mine.start])
        mean = np.zeros(2)
        for s in mine:
            points, counts = world.points(s)
            first = int(world.prior.support_ptr[world.class_tract[world.class_of[s]]])
            for i, share in enumerate(oracle.posterior_shares(points, counts)):
                mean += float(share) * sum(counts) / max(total, 1) * values[first + i]
        np.testing.assert_allclose(found[d], mean, rtol=1e-11, atol=1e-13)
    for pruned in (False, True):
        cells = prior_cells(world.classes(), shares, pruned=pruned)
        for s, j in enumerate(world.class_of):
            points, _ = world.points(s)
            weights = [p.alpha * (p.retention if pruned and p.alpha <= 1 else 1) for p in points]
            for g in range(N_CELLS):
                expected = sum((w * p.share(g) for w, p in zip(weights, points, strict=True)), Fraction(0))
                assert cells[j, g] == pytest.approx(float(expected / sum(weights)), rel=1e-11)


@pytest.mark.jit_off
def test_dropped_workers_leave_the_likelihood_and_are_drawn_all_the_same() -> None:
    """One point, two workers of whom one was dropped: the other is half, and two are drawn."""
    prior = SupportTable(
        support_ptr=np.array([0, 2]), base_weight=np.zeros(2, np.int64), retention=np.full(2, CERTAIN)
    )
    shares = np.zeros((2, N_CELLS))
    shares[0, 3] = shares[1, 4] = 1.0
    workers = MeasuredWorkers(
        destination_ptr=np.array([0, 1]),
        class_of=np.array([0]),
        worker_ptr=np.array([0, 2]),
        worker_point=np.array([0, -1]),
    )
    classes = PriorClasses(prior=prior, tract=np.array([0]), min_weight=np.array([UNIT]))
    found = cell_shares(classes, workers, shares, np.array([3, 7], np.int8))
    assert found.likelihood[0, 3] == 1.0
    assert found.posterior[0, [3, 4]].tolist() == pytest.approx([2 / 3, 1 / 3])
    # Two draws of a beta-binomial with weights 2 and 1.
    assert found.variance[0, 3] == pytest.approx(2 * (2 / 9) * (3 + 2) / (3 + 1) / 4)


@pytest.mark.jit_off
def test_points_are_counted_by_level_and_range_and_positive_ones_too() -> None:
    rng = np.random.default_rng(3)
    ptr = np.array([0, 4, 9, 30])
    level, distance = rng.integers(0, 4, 30), rng.choice([0.0, 9.9, 10.0, 25.0, 99.0, 100.0, 500.0, 2e3], 30)
    positive = rng.random(30) < 0.5
    by_level, by_range = count_points(ptr, level, distance)
    share = positive_shares(ptr, level, distance, positive)
    for t in range(3):
        points = list(range(ptr[t], ptr[t + 1]))
        rows = [(int(level[i]), float(distance[i]), bool(positive[i])) for i in points]
        counts, ranges, shares = oracle.domain_counts(rows)
        assert by_level[t].tolist() == [counts[code] for code in range(len(LEVELS))]
        assert by_range[t].tolist() == [ranges[name] for name in DOMAIN_RANGES]
        np.testing.assert_array_equal(share[t], [shares[name] for name in (*DOMAIN_RANGES, "all")])


@pytest.mark.jit_off
def test_mass_by_range_adds_up_cells() -> None:
    shares = np.zeros((2, N_CELLS))
    shares[0, [0, 1, 4]], shares[1, 28] = [0.5, 0.25, 0.25], 1.0
    assert range_mass(shares, [3, 1]).tolist() == [0.375, 0.375, 0, 0, 0, 0, 0, 0.25]
    assert np.isnan(range_mass(shares, [0, 0])).all()


@pytest.mark.jit_off
def test_measures_refuse_what_does_not_fit() -> None:
    with pytest.raises(ParameterError, match="allowed are -1 to 28"):
        cell_counts([0, 1], np.array([29], np.int8))
    with pytest.raises(ParameterError, match="give 29 cells each"):
        range_mass(np.zeros((2, 3)), [1, 1])
    with pytest.raises(ParameterError, match="same cells"):
        kl_of_counts([[1.0]], [[1.0, 2.0]])
    with pytest.raises(ParameterError, match="levels for"):
        count_points([0, 2], [0], [1.0, 2.0])
    with pytest.raises(ParameterError, match="is_positive"):
        positive_shares([0, 2], [0, 0], [1.0, 2.0], np.array([True]))
    world = World(2)
    with pytest.raises(ParameterError, match="values of 0 points"):
        expected_means(world.classes(), world.workers(), np.zeros((0, 2)))
    with pytest.raises(ParameterError, match="published counts"):
        world.workers(published=np.zeros(1, np.int64))
