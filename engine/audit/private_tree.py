"""Differentially private trees: quad, kd, hybrid and cell trees with noisy counts.

Neighbors differ by one person, added or removed. Every path from the root to a leaf has the same number of levels,
whatever the data, so that only the cuts and the counts cost privacy. The noise is floating-point Laplace noise: trees
are measured and never published.

Source: P12 (Cormode, Procopiuc, Srivastava, Shen and Yu 2012).
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from engine.arrays import FloatArray, as_amounts, as_int
from engine.audit.coded_tables import as_codes, as_sizes, as_values
from engine.audit.decomposition import MOST_COUNTS, Decomposition, Tree
from engine.audit.kernels.boxes import (
    AT_MIDDLE,
    BY_GRID,
    NEAR_MEDIAN,
    Level,
    People,
    Space,
    cut_level,
    fit_counts,
)
from engine.errors import ParameterError

# Consistent counts: the least-squares fit of a tree's noisy counts in which every node is the sum of its children.


def least_squares(parent: npt.ArrayLike, counts: npt.ArrayLike, weights: npt.ArrayLike) -> FloatArray:
    """Fit counts to noisy ones, for each value alone; the weighted sum of squared differences is least.

    Parameters
    ----------
    parent : int[M]
        Parent of each node, -1 for a root. Parents come before their children; a node may have any number of them.
    counts : float[M, V]
        Noisy counts.
    weights : float[M]
        Inverse variances of the noise, up to a common factor. A node without a count of its own has weight 0; a leaf
        needs one above 0.

    Returns
    -------
    float64[M, V]

    Raises
    ------
    ParameterError
        Shapes do not agree, a parent comes after its child, or a leaf has no weight.

    Source: P12, whose three phases for complete trees this equals.
    """
    above, weight = as_int("parent", parent, low=-1), as_amounts("weights", weights)
    fitted = np.array(counts, dtype=np.float64, order="C")
    if fitted.ndim != 2 or not above.size == weight.size == fitted.shape[0]:
        raise ParameterError(
            f"parent has {above.size} nodes, weights {weight.size} and counts shape {fitted.shape}: give them all"
        )
    if np.any(above >= np.arange(above.size)):
        raise ParameterError("a parent comes after its child: number the nodes from the root down")
    is_leaf = np.ones(above.size, dtype=np.bool_)
    is_leaf[above[above >= 0]] = False
    if np.any(weight[is_leaf] == 0):
        raise ParameterError("a leaf has weight 0: give every leaf a count of its own")
    fit_counts(above, weight, fitted)
    return fitted


# How the epsilon of a tree's counts is divided among its levels.

LevelBudget = Literal["leaf", "uniform", "geometric", "optimal"]

_QUAD_TREE_RATE = 2.0 ** (1 / 3)


def level_epsilon(epsilon: float, height: int, levels: LevelBudget, n_attributes: int = 2) -> FloatArray:
    """Epsilon of the counts at each level of a binary tree, float64[height + 1] from the root to the leaves.

    Parameters
    ----------
    epsilon : float
        Of all counts on a path from the root to a leaf; above 0.
    height : int
        Cuts above a leaf.
    levels : {"leaf", "uniform", "geometric", "optimal"}
        "leaf" counts at the leaves only; "uniform" has the same epsilon at each level; "geometric" is P12's, which
        grows by 2^(1/3) from level to level; "optimal" grows by 2^((1 - 1/d)/3), as the number of boxes does that the
        border of a query crosses in a tree that cuts d attributes in turn.
    n_attributes : int
        The d of "optimal", at least 1.

    Raises
    ------
    ParameterError
        A parameter is out of range.

    Source: P12 (Cormode, Procopiuc, Srivastava, Shen and Yu 2012). Its rate is right for quad-trees of two attributes,
    each level of which is two levels of a binary tree.
    """
    require_epsilon(epsilon)
    if height < 0:
        raise ParameterError(f"height = {height}: give at least 0")
    if n_attributes < 1:
        raise ParameterError(f"n_attributes = {n_attributes}: give at least 1")
    if levels not in get_args(LevelBudget):
        raise ParameterError(f"levels = {levels!r}: give one of {', '.join(get_args(LevelBudget))}")
    depth = np.arange(height + 1.0)
    if levels == "leaf":
        return _divide_epsilon(epsilon, (depth == height).astype(np.float64))
    if levels == "optimal":
        return optimal_epsilon(epsilon, 2.0 ** (depth * (1 - 1 / n_attributes)))
    share = _QUAD_TREE_RATE**depth if levels == "geometric" else np.ones(height + 1)
    return _divide_epsilon(epsilon, share)


def optimal_epsilon(epsilon: float, n_touched: npt.ArrayLike) -> FloatArray:
    """The division with the least variance of an answer that adds up ``n_touched`` [height + 1] boxes of each level.

    Raises
    ------
    ParameterError
        Epsilon is not above 0, or a level has no box that a query touches.

    Source: P12: epsilon is proportional to the cube root of the number of boxes.
    """
    require_epsilon(epsilon)
    share = np.cbrt(as_amounts("n_touched", n_touched))
    if share.size == 0 or not np.all(share > 0):
        raise ParameterError("n_touched has a level that no query touches: give numbers above 0")
    return _divide_epsilon(epsilon, share)


def require_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is not a finite number above 0 (ParameterError)."""
    if not 0 < epsilon < np.inf:
        raise ParameterError(f"epsilon = {epsilon}: give a number above 0")


def _divide_epsilon(epsilon: float, share: FloatArray) -> FloatArray:
    divided: FloatArray = epsilon * share / share.sum()
    return divided


PrivateTreeKind = Literal["quad", "kd", "hybrid", "cell"]
Adjustment = Literal["none", "consistent", "pruned"]

MOST_CELLS = 10_000_000
"""The most cells that the noisy grid of a cell tree may have."""
LEAST_PEOPLE = 32
"""A pruned tree has no cuts below a box with fewer people than this, by its noisy count."""

_CUT_SHARE = 0.3
_GRID_SHARE = 0.5


class TreeBudget(NamedTuple):
    """How a tree's epsilon is spent.

    Attributes
    ----------
    cuts : float64[height]
        At each level that is cut, from the root on; 0 for a cut that does not look at the people.
    grid : float
        For the noisy grid of a cell tree.
    counts : float64[height + 1]
        At each level, from the root to the leaves.
    """

    cuts: FloatArray
    grid: float
    counts: FloatArray


def tree_budget(
    kind: PrivateTreeKind, epsilon: float, height: int, levels: LevelBudget, n_attributes: int
) -> TreeBudget:
    """Divide epsilon among cuts and counts. It is the sum of all parts, since each person is in one box of a level.

    Raises
    ------
    ParameterError
        A parameter is out of range.

    Source: P12: 0.3 for the cuts of kd and hybrid trees, the first half of whose levels is cut like a kd-tree; 0.5 for
    the grid of a cell tree. A tree without a cut that looks at the people spends everything on counts.
    """
    require_epsilon(epsilon)
    if height < 0:
        raise ParameterError(f"height = {height}: give at least 0")
    if kind not in get_args(PrivateTreeKind):
        raise ParameterError(f"kind = {kind!r}: give one of {', '.join(get_args(PrivateTreeKind))}")
    n_cut = {"quad": 0, "kd": height, "hybrid": height // 2, "cell": 0}[kind]
    cuts = np.zeros(height)
    cuts[:n_cut] = _CUT_SHARE * epsilon / max(n_cut, 1)
    grid = _GRID_SHARE * epsilon if kind == "cell" and height > 0 else 0.0
    left = epsilon * (1 - _CUT_SHARE) if n_cut > 0 else epsilon - grid
    return TreeBudget(cuts, grid, level_epsilon(left, height, levels, n_attributes))


def private_tree(
    codes: npt.ArrayLike,
    sensitive: npt.ArrayLike,
    sizes: npt.ArrayLike,
    n_values: int,
    *,
    kind: PrivateTreeKind = "kd",
    epsilon: float,
    height: int = 10,
    levels: LevelBudget = "leaf",
    adjust: Adjustment = "consistent",
    rng: np.random.Generator,
) -> Tree:
    """Grow a tree of a fixed height and count the sensitive values in its leaves with noise.

    Attributes are cut in turn. An attribute with one code in a box is skipped, and a single cell passes down uncut.
    "quad" cuts boxes at their middle. "kd" draws a cut c with chance proportional to exp(-e |people up to c - half|);
    a person changes the exponent by at most e/2, both ways, so the draw is e-private. "hybrid" does that in the first
    half of the levels. "cell" cuts at medians of a grid of all cells with noise, negative counts taken as 0.

    Parameters
    ----------
    codes : int[N, d]
        Codes of the quasi-identifiers of each person.
    sensitive : int[N]
        Code of the sensitive attribute of each person.
    sizes : int[d]
        Number of codes of each attribute.
    n_values : int
        Number of values of the sensitive attribute. Every value gets noise in every leaf, also those without people.
    kind : {"quad", "kd", "hybrid", "cell"}
    epsilon : float
        Of the whole tree; above 0.
    height : int
        Cuts above a leaf.
    levels : {"leaf", "uniform", "geometric", "optimal"}
        How the epsilon of the counts is divided among the levels.
    adjust : {"none", "consistent", "pruned"}
        "none" uses the counts of the leaves alone. "consistent" fits the counts of all levels to each other by least
        squares. "pruned" then makes a leaf of each box with fewer than ``LEAST_PEOPLE`` people by the fitted counts.
    rng : numpy.random.Generator
        Draws cuts and noise.

    Raises
    ------
    ParameterError
        A code or a parameter is out of range, the leaves times values pass ``MOST_COUNTS``, or the grid of a cell tree
        passes ``MOST_CELLS``.

    Source: C13, sections II and III; P12. C13 states neither kind, height nor budgets.
    """
    space = as_sizes(sizes)
    table = as_codes("codes", codes, space)
    value = as_values("sensitive", sensitive, n_values, n_rows=table.shape[0])
    if adjust not in get_args(Adjustment):
        raise ParameterError(f"adjust = {adjust!r}: give one of {', '.join(get_args(Adjustment))}")
    budget = tree_budget(kind, epsilon, height, levels, space.size)
    n_cells = float(np.prod(space.astype(np.float64)))
    require_room(kind, height, n_values, n_cells)
    grid = _noisy_grid(table, space, budget.grid, rng) if budget.grid > 0 else np.zeros(0)
    people = People(table.astype(np.int32), np.arange(value.size))
    grown = _grow(people, Space(space, grid), budget, n_cells, rng)
    leaf_of = np.empty(value.size, dtype=np.int64)
    leaf_of[people.order] = np.repeat(np.arange(grown[-1].turn.size), np.diff(grown[-1].start))
    entry = leaf_of * n_values + value
    if adjust == "pruned" or budget.counts[:-1].any():
        counts = _fitted_counts(grown, entry, n_values, budget.counts, adjust, rng)
        return _leaves(grown, counts, leaf_of, space, adjust == "pruned")
    counts = _noisy_leaves(grown[-1], entry, n_values, budget.counts[-1], rng)
    return Tree(Decomposition.of_histogram(grown[-1].lo, grown[-1].hi, counts, space), leaf_of)


def require_room(kind: PrivateTreeKind, height: int, n_values: int, n_cells: float) -> None:
    """Refuse a tree that would be too large.

    Parameters
    ----------
    kind : {"quad", "kd", "hybrid", "cell"}
    height : int
        Cuts above a leaf.
    n_values : int
        Number of values of the sensitive attribute.
    n_cells : float
        Product of the numbers of codes of all attributes.

    Raises
    ------
    ParameterError
        The leaves times values pass ``MOST_COUNTS``, or the grid of a cell tree passes ``MOST_CELLS``.
    """
    if height >= 63 or n_values << height > MOST_COUNTS:
        raise ParameterError(
            f"height = {height}: 2^{height} leaves times {n_values} values are more than {MOST_COUNTS:,} numbers; "
            "give a smaller height"
        )
    if kind == "cell" and n_cells > MOST_CELLS:
        raise ParameterError(
            f"the grid of a cell tree would have {n_cells:,.0f} cells: at most {MOST_CELLS:,}; "
            "use kd, quad, or hybrid, or fewer attributes"
        )


def _noisy_grid(
    codes: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], epsilon: float, rng: np.random.Generator
) -> FloatArray:
    """Counts of all cells with Laplace noise, negative ones taken as 0."""
    cell = np.zeros(codes.shape[0], dtype=np.int64)
    for attribute, size in enumerate(sizes.tolist()):
        cell = cell * size + codes[:, attribute]
    count = np.bincount(cell, minlength=int(np.prod(sizes))) + rng.laplace(
        0, 1 / epsilon, int(np.prod(sizes))
    )
    return np.maximum(count, 0.0)


def _grow(
    people: People, space: Space, budget: TreeBudget, n_cells: float, rng: np.random.Generator
) -> list[Level]:
    """All levels from the root to the leaves."""
    sizes, level = space.sizes, _room(1, space.sizes.size)
    level.lo[:], level.hi[:], level.turn[:] = 0, sizes - 1, 0
    level.start[:], level.parent[:] = (0, people.order.size), -1
    grown = [level]
    for epsilon in budget.cuts.tolist():
        method = BY_GRID if budget.grid > 0 else NEAR_MEDIAN if epsilon > 0 else AT_MIDDLE
        uniform = rng.random(level.turn.size) if method == NEAR_MEDIAN else np.zeros(0)
        below = _room(int(min(2 * level.turn.size, n_cells)) + 1, sizes.size)
        n_below = cut_level(people, level, space, method, epsilon, uniform, below)
        level = Level(
            lo=below.lo[:n_below],
            hi=below.hi[:n_below],
            turn=below.turn[:n_below],
            start=below.start[: n_below + 1],
            parent=below.parent[:n_below],
        )
        grown.append(level)
    return grown


def _room(n_boxes: int, n_attributes: int) -> Level:
    return Level(
        lo=np.zeros((n_boxes, n_attributes), dtype=np.int32),
        hi=np.zeros((n_boxes, n_attributes), dtype=np.int32),
        turn=np.zeros(n_boxes, dtype=np.int64),
        start=np.zeros(n_boxes + 1, dtype=np.int64),
        parent=np.zeros(n_boxes, dtype=np.int64),
    )


def _noisy_leaves(
    leaves: Level, entry: npt.NDArray[np.int64], n_values: int, epsilon: float, rng: np.random.Generator
) -> FloatArray:
    """Noisy counts of the leaves; the entry of a person is leaf times values plus value."""
    counts = rng.laplace(0, 1 / epsilon, leaves.turn.size * n_values)
    inhabited, people = np.unique(entry, return_counts=True)
    counts[inhabited] += people
    return counts.reshape(-1, n_values)


def _fitted_counts(
    grown: list[Level],
    entry: npt.NDArray[np.int64],
    n_values: int,
    level_epsilon: FloatArray,
    adjust: Adjustment,
    rng: np.random.Generator,
) -> FloatArray:
    """Noisy counts of all nodes, those of several levels fitted to each other; entries as for :func:`_noisy_leaves`."""
    n_boxes = [level.turn.size for level in grown]
    first = np.concatenate(([0], np.cumsum(n_boxes)))
    above = np.concatenate(([0], first[:-2])) if len(grown) > 1 else first[:1]
    parent = np.concatenate([level.parent + place for level, place in zip(grown, above, strict=True)])
    counts = np.zeros((first[-1], n_values))
    counts[first[-2] :] = np.bincount(entry, minlength=n_boxes[-1] * n_values).reshape(-1, n_values)
    of_leaves = np.zeros(first[-1])
    of_leaves[first[-2] :] = 1.0
    measured = np.flatnonzero(level_epsilon > 0)
    if measured.size > 1:
        counts = least_squares(parent, counts, of_leaves)  # every node is the sum of its leaves
    for level in measured.tolist():
        nodes = slice(first[level], first[level + 1])
        counts[nodes] += rng.laplace(0, 1 / level_epsilon[level], counts[nodes].shape)
    weights = np.repeat(level_epsilon**2, n_boxes) if adjust != "none" else of_leaves
    return least_squares(parent, counts, weights)


def _leaves(
    grown: list[Level],
    counts: FloatArray,
    leaf_of: npt.NDArray[np.int64],
    sizes: npt.NDArray[np.int64],
    prune: bool,
) -> Tree:
    """The tree's leaves, and everybody's; a node with few people is a leaf if the tree is pruned."""
    first = np.concatenate(([0], np.cumsum([level.turn.size for level in grown])))
    final = np.zeros(0, dtype=np.int64)
    for depth, level in enumerate(grown):
        nodes = np.arange(first[depth], first[depth + 1])
        inherited = final[level.parent] if depth > 0 else np.full(1, -1)
        is_leaf = np.full(nodes.size, depth == len(grown) - 1)
        if prune:
            is_leaf |= counts[nodes].sum(axis=1) < LEAST_PEOPLE
        final = np.where(inherited >= 0, inherited, np.where(is_leaf, nodes, -1))
    kept, place = np.unique(final, return_inverse=True)
    lo, hi = (np.concatenate([getattr(level, name) for level in grown])[kept] for name in ("lo", "hi"))
    return Tree(Decomposition.of_histogram(lo, hi, counts[kept], sizes), place[leaf_of])
