"""How the epsilon of a tree's counts is divided among its levels."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from engine._arrays import FloatArray, as_amounts
from engine.errors import ParameterError

__all__ = ["LevelBudget", "level_epsilon", "optimal_epsilon"]

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
        return _divided(epsilon, (depth == height).astype(np.float64))
    if levels == "optimal":
        return optimal_epsilon(epsilon, 2.0 ** (depth * (1 - 1 / n_attributes)))
    share = _QUAD_TREE_RATE**depth if levels == "geometric" else np.ones(height + 1)
    return _divided(epsilon, share)


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
    return _divided(epsilon, share)


def require_epsilon(epsilon: float) -> None:
    """Refuse an epsilon that is not a finite number above 0 (ParameterError)."""
    if not 0 < epsilon < np.inf:
        raise ParameterError(f"epsilon = {epsilon}: give a number above 0")


def _divided(epsilon: float, share: FloatArray) -> FloatArray:
    divided: FloatArray = epsilon * share / share.sum()
    return divided
