"""The attacker who looks a victim up in a tree: the most frequent sensitive value of the victim's leaf."""

from __future__ import annotations

import numpy as np

from engine._kernels.audit_boxes import largest_counts
from engine.audit.predictions import Predictions
from engine.audit.tree import Tree

__all__ = ["lookup_in_leaf"]


def lookup_in_leaf(tree: Tree) -> Predictions:
    """Predict for each person the value with the largest count in the leaf.

    Ties go to the value with more people in all leaves, then to the lower code. Negative noisy counts are 0; a leaf
    without a count above 0 gives the value with the most people in all leaves, and its share as the belief.

    Parameters
    ----------
    tree : Tree
        Its people are the victims.
    """
    boxes = tree.decomposition
    people = np.bincount(boxes.entry_value, np.maximum(boxes.entry_count, 0.0), boxes.n_values)
    total = people.sum()
    prior = people / total if total > 0 else np.full(boxes.n_values, 1 / boxes.n_values)
    value = np.full(boxes.n_boxes, prior.argmax())
    belief = np.full(boxes.n_boxes, prior.max())
    largest_counts(boxes.entries, prior, value, belief)
    return Predictions(value[tree.leaf_of], belief[tree.leaf_of])
