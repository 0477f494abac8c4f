"""Kernel of consistent counts: the least-squares fit of noisy counts of a tree's nodes.

Symbols: M nodes, parents before their children; V values, each fitted alone; weight 1/variance of a node's own noise.
"""

import numpy as np

from engine._jit import jit
from engine._kernels.arrays import Floats, Ints

__all__ = ["fit_counts"]


@jit
def _variances(parent: Ints, weight: Floats, variance: Floats, of_children: Floats) -> None:
    """Fill each node's variance after the way up, and the sum of its children's, 0 for a leaf; [M] each."""
    for node in range(parent.size - 1, -1, -1):
        known = weight[node]
        if of_children[node] > 0.0:
            known += 1.0 / of_children[node]
        variance[node] = 1.0 / known
        if parent[node] >= 0:
            of_children[parent[node]] += variance[node]


@jit
def fit_counts(parent: Ints, weight: Floats, counts: Floats) -> None:
    """Replace noisy counts [M, V] by the fit in which every node is the sum of its children.

    On the way up each node's count becomes the mean of its own and its children's sum by inverse variance. On the way
    down the children share what is left of their parent's count in proportion to their variances.
    """
    n_nodes, n_values = counts.shape
    variance, of_children = np.empty(n_nodes), np.zeros(n_nodes)
    _variances(parent, weight, variance, of_children)
    below = np.zeros((n_nodes, n_values))
    for node in range(n_nodes - 1, -1, -1):
        if of_children[node] > 0.0:
            share = variance[node] / of_children[node]
            for value in range(n_values):
                own = variance[node] * weight[node] * counts[node, value]
                counts[node, value] = own + share * below[node, value]
        if parent[node] >= 0:
            for value in range(n_values):
                below[parent[node], value] += counts[node, value]
    for node in range(n_nodes):
        above = parent[node]
        if above >= 0:
            share = variance[node] / of_children[above]
            for value in range(n_values):
                counts[node, value] += share * (counts[above, value] - below[above, value])
