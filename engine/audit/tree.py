"""What a tree of boxes is, however it was grown."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from engine.audit.decomposition import Decomposition

__all__ = ["Tree"]


class Tree(NamedTuple):
    """A grown tree.

    Attributes
    ----------
    decomposition : Decomposition
        The leaves, which cover the attribute space; all that the scheme's reader sees.
    leaf_of : int64[N]
        Leaf of each person. The attacker can compute it for anyone whose quasi-identifiers are known.
    meets_rule : bool
        False if not even the whole table meets the rule; then the tree is a single leaf. A private tree has no rule
        and meets it.
    """

    decomposition: Decomposition
    leaf_of: npt.NDArray[np.int64]
    meets_rule: bool = True
