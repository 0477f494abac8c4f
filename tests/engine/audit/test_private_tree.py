"""Private trees: boxes against the plain twin, noise against its law, budgets, pruning and refusals."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audit.decomposition import Tree
from engine.audit.private_tree import (
    LEAST_PEOPLE,
    Adjustment,
    LevelBudget,
    PrivateTreeKind,
    private_tree,
    tree_budget,
)
from engine.errors import ParameterError
from tests.engine.audit.tables import Table, tables
from tests.oracles import audit_private_trees as oracle

KINDS: tuple[PrivateTreeKind, ...] = ("quad", "kd", "hybrid", "cell")
LEVELS: tuple[LevelBudget, ...] = ("leaf", "uniform", "geometric", "optimal")
NO_NOISE = 1e12


def grown(table: Table, kind: PrivateTreeKind, epsilon: float, height: int, seed: int = 1) -> Tree:
    rng = np.random.default_rng(seed)
    return private_tree(
        table.codes,
        table.sensitive,
        table.sizes,
        table.n_values,
        kind=kind,
        epsilon=epsilon,
        height=height,
        rng=rng,
    )


def plain_leaves(
    table: Table, kind: PrivateTreeKind, epsilon: float, height: int, seed: int = 1
) -> list[oracle.Box]:
    """Leaves by the plain twin, which draws the same numbers: a grid, then one for each box."""
    rng = np.random.default_rng(seed)
    people = [tuple(row) for row in table.codes.tolist()]
    grid = {}
    if kind == "cell" and height > 0:
        noise = rng.laplace(0, 2 / epsilon, int(np.prod(table.sizes)))
        for cell, error in zip(np.ndindex(*table.sizes.tolist()), noise.tolist(), strict=True):
            grid[cell] = max(people.count(cell) + error, 0.0)
    n_drawn = {"kd": height, "hybrid": height // 2}.get(kind, 0)
    boxes = [oracle.Box((0,) * table.sizes.size, tuple((table.sizes - 1).tolist()), 0)]
    for depth in range(height):
        uniform = iter(rng.random(len(boxes)).tolist()) if depth < n_drawn else iter(())
        below = []
        for box in boxes:
            number = next(uniform, 0.0)  # drawn for every box, also for one that passes down

            def cutter(box: oracle.Box, attribute: int, number: float = number, depth: int = depth) -> int:
                first = box.lo[attribute]
                if grid:
                    return first + oracle.median_cut(oracle.grid_marginal(grid, box, attribute))
                if depth >= n_drawn:
                    return first + (box.hi[attribute] - first) // 2
                marginal = oracle.marginal_of(people, box, attribute)
                return first + oracle.drawn_cut(marginal, 0.3 * epsilon / n_drawn, number)

            below += oracle.halves(box, cutter)
        boxes = below
    return boxes


@pytest.mark.jit_off
@given(tables(), st.sampled_from(KINDS), st.sampled_from([0.5, 8.0]), st.integers(0, 5))
def test_boxes_are_those_of_the_plain_twin(
    table: Table, kind: PrivateTreeKind, epsilon: float, height: int
) -> None:
    boxes = grown(table, kind, epsilon, height).decomposition
    wanted = plain_leaves(table, kind, epsilon, height)
    assert boxes.lo.tolist() == [list(box.lo) for box in wanted]
    assert boxes.hi.tolist() == [list(box.hi) for box in wanted]


@pytest.mark.jit_off
@given(tables(), st.sampled_from(KINDS), st.sampled_from(LEVELS), st.integers(0, 5))
def test_leaves_divide_the_space_and_count_everyone(
    table: Table, kind: PrivateTreeKind, levels: LevelBudget, height: int
) -> None:
    tree = private_tree(
        table.codes,
        table.sensitive,
        table.sizes,
        table.n_values,
        kind=kind,
        epsilon=NO_NOISE,
        height=height,
        levels=levels,
        rng=np.random.default_rng(2),
    )
    boxes = tree.decomposition
    assert np.prod(boxes.hi - boxes.lo + 1, axis=1).sum() == np.prod(table.sizes)
    assert np.all((table.codes >= boxes.lo[tree.leaf_of]) & (table.codes <= boxes.hi[tree.leaf_of]))
    wanted = np.zeros((boxes.n_boxes, table.n_values))
    np.add.at(wanted, (tree.leaf_of, table.sensitive), 1)
    np.testing.assert_allclose(boxes.histogram, wanted, atol=1e-6)


@given(
    st.sampled_from(KINDS),
    st.sampled_from(LEVELS),
    st.floats(0.01, 10),
    st.integers(0, 16),
    st.integers(1, 6),
)
def test_budgets_sum_to_epsilon(
    kind: PrivateTreeKind, levels: LevelBudget, epsilon: float, height: int, n_attributes: int
) -> None:
    budget = tree_budget(kind, epsilon, height, levels, n_attributes)
    assert budget.cuts.sum() + budget.grid + budget.counts.sum() == pytest.approx(epsilon, rel=1e-12)
    assert (budget.cuts.size, budget.counts.size) == (height, height + 1)


def test_the_shares_of_cuts_and_counts() -> None:
    kd, hybrid = tree_budget("kd", 1, 10, "leaf", 4), tree_budget("hybrid", 1, 5, "leaf", 4)
    assert kd.cuts.tolist() == pytest.approx([0.03] * 10)
    assert kd.counts[-1] == pytest.approx(0.7)
    assert hybrid.cuts.tolist() == pytest.approx([0.15, 0.15, 0, 0, 0])
    assert tree_budget("cell", 1, 10, "leaf", 4).counts[-1] == 0.5


def test_a_person_changes_the_chance_of_a_cut_by_at_most_e_to_the_epsilon() -> None:
    """P12 halves the exponent, as if a person changed the score by 1; the whole exponent is private as well."""
    epsilon, worst = 0.7, 0.0
    for marginal in np.ndindex(4, 4, 4, 4):
        chances = oracle.cut_chances(marginal, epsilon)
        for code in range(4):
            more = list(marginal)
            more[code] += 1
            ratios = np.log(oracle.cut_chances(more, epsilon)) - np.log(chances)
            worst = max(worst, np.abs(ratios).max())
    assert epsilon / 2 < worst <= epsilon + 1e-12


def test_noise_has_the_scale_of_its_budget() -> None:
    """Mean |noise| of 65,536 draws: within 4 standard errors of the scale, a false alarm once in 16,000 keys."""
    n_values, height, epsilon = 64, 10, 0.5
    empty = np.zeros((0, 2), dtype=np.int64)
    tree = private_tree(
        empty,
        [],
        [1024, 4],
        n_values,
        kind="quad",
        epsilon=epsilon,
        height=height,
        rng=np.random.default_rng(9),
    )
    noise, scale = tree.decomposition.histogram.ravel(), 1 / epsilon
    assert noise.size == n_values << height
    assert abs(np.abs(noise).mean() - scale) < 4 * scale / np.sqrt(noise.size)
    assert abs(noise.mean()) < 4 * scale * np.sqrt(2 / noise.size)


def test_consistent_counts_have_less_error_than_those_of_the_leaves_alone() -> None:
    """The sum of all leaves, which the upper levels know better. Fixed keys: 20 trees of each kind."""
    empty = np.zeros((0, 1), dtype=np.int64)

    def errors(adjust: Adjustment) -> float:
        totals = [
            private_tree(
                empty,
                [],
                [256],
                1,
                kind="quad",
                epsilon=1,
                height=8,
                levels="uniform",
                adjust=adjust,
                rng=rng,
            ).decomposition.entry_count.sum()
            for rng in map(np.random.default_rng, range(20))
        ]
        return float(np.std(totals))

    assert errors("consistent") < errors("none") / 3


def test_pruned_trees_have_no_cuts_below_few_people() -> None:
    rng = np.random.default_rng(4)
    codes = np.minimum(rng.geometric(0.02, (3000, 2)), 255)
    tree = private_tree(
        codes,
        codes[:, 0] % 3,
        [256, 256],
        3,
        kind="quad",
        epsilon=NO_NOISE,
        height=9,
        levels="geometric",
        adjust="pruned",
        rng=rng,
    )
    boxes = tree.decomposition
    people = np.bincount(tree.leaf_of, minlength=boxes.n_boxes)
    assert 10 < boxes.n_boxes < 512
    np.testing.assert_allclose(boxes.histogram.sum(axis=1), people, atol=1e-6)
    assert np.prod(boxes.hi - boxes.lo + 1, axis=1).sum() == 256 * 256
    assert np.all((codes >= boxes.lo[tree.leaf_of]) & (codes <= boxes.hi[tree.leaf_of]))
    assert people.max() >= LEAST_PEOPLE > people.min()


def test_bad_input_is_refused_in_one_line() -> None:
    def tree(sizes: list[int], n_values: int, **options: object) -> Callable[[], object]:
        given = {"epsilon": 1.0, "height": 3, **options}
        codes = np.zeros((1, len(sizes)), dtype=np.int64)
        rng = np.random.default_rng(1)
        return lambda: private_tree(codes, [0], sizes, n_values, rng=rng, **given)  # type: ignore[arg-type]  # some are wrong on purpose

    for said, fault in {
        "epsilon = 0: give a number above 0": tree([4], 2, epsilon=0),
        "epsilon = -1": tree([4], 2, epsilon=-1),
        "height = -1": tree([4], 2, height=-1),
        r"height = 25: 2\^25 leaves times 2 values are more than 50,000,000": tree([4], 2, height=25),
        "height = 99: 2": tree([4], 1, height=99),
        "kind = 'oak': give one of quad, kd, hybrid, cell": tree([4], 2, kind="oak"),
        "levels = 'top'": tree([4], 2, levels="top"),
        "adjust = 'more': give one of none": tree([4], 2, adjust="more"),
        "the grid of a cell tree would have 10,000,001 cells": tree([10_000_001], 2, kind="cell"),
    }.items():
        with pytest.raises(ParameterError, match=said) as refusal:
            fault()
        assert "\n" not in str(refusal.value)
