"""Consistent counts by the normal equations: every node is the sum of the leaves below it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def least_squares(
    parent: list[int], counts: npt.NDArray[np.float64], weights: list[float]
) -> npt.NDArray[np.float64]:
    leaves = [node for node in range(len(parent)) if node not in parent]
    contains = np.zeros((len(parent), len(leaves)))
    for column, leaf in enumerate(leaves):
        node = leaf
        while node >= 0:
            contains[node, column] = 1
            node = parent[node]
    weighted = contains.T * np.array(weights)
    fitted: npt.NDArray[np.float64] = contains @ np.linalg.solve(weighted @ contains, weighted @ counts)
    return fitted
