"""Consistent counts: the least-squares fit of a tree's noisy counts in which every node is the sum of its children."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine._arrays import FloatArray, as_amounts, as_int
from engine._kernels.audit_consistency import fit_counts
from engine.errors import ParameterError

__all__ = ["least_squares"]


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
