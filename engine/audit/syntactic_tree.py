"""Mondrian-like trees, whose leaves meet a criterion such as k-anonymity and have exact counts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from engine.audit.coded_tables import as_codes, as_sizes, as_values
from engine.audit.criteria import SplitRule
from engine.audit.decomposition import Decomposition, Tree
from engine.audit.kernels.mondrian import Leaves, People, grow_tree, meets
from engine.errors import ParameterError

__all__ = ["syntactic_tree"]

_ANY_HEIGHT = 1 << 30


def syntactic_tree(
    codes: npt.ArrayLike,
    sensitive: npt.ArrayLike,
    sizes: npt.ArrayLike,
    n_values: int,
    rule: SplitRule,
    height: int | None = None,
) -> Tree:
    """Divide the attribute space by median cuts for as long as both halves meet a rule.

    Attributes are tried from the widest on: the greatest difference of codes in the group, relative to all codes of the
    attribute. Each is cut where the halves are most equal; ties go to the first attribute and to the lower code.

    Parameters
    ----------
    codes : int[N, d]
        Codes of the quasi-identifiers of each person; at least one person.
    sensitive : int[N]
        Code of the sensitive attribute of each person.
    sizes : int[d]
        Number of codes of each attribute.
    n_values : int
        Number of values of the sensitive attribute.
    rule : SplitRule
        What both halves must meet.
    height : int, optional
        Most cuts above a leaf; by default any number.

    Raises
    ------
    ParameterError
        A code or the height is out of range, there are no people, or l is above the number of values.

    Source: C13, sections II and III; the order of cuts from LF06 (LeFevre, DeWitt and Ramakrishnan 2006). C13 omits it.
    """
    space = as_sizes(sizes)
    table = as_codes("codes", codes, space)
    value = as_values("sensitive", sensitive, n_values, n_rows=table.shape[0])
    if value.size == 0:
        raise ParameterError("there are no people to group: give at least one row")
    if height is not None and height < 0:
        raise ParameterError(f"height = {height}: give at least 0")
    test = rule.for_values(n_values)
    whole = np.bincount(value, minlength=n_values)
    share = whole / value.size
    people = People(table.astype(np.int32), value.copy(), np.arange(value.size))
    leaves = _room_for_leaves(space, value.size // test.k + 1)
    n_leaves = grow_tree(people, space, share, test, _ANY_HEIGHT if height is None else height, leaves)
    leaf_of = np.empty(value.size, dtype=np.int64)
    leaf_of[people.order] = np.repeat(np.arange(n_leaves), np.diff(leaves.start[: n_leaves + 1]))
    lo, hi = leaves.lo[:n_leaves], leaves.hi[:n_leaves]
    decomposition = Decomposition.of_members(lo, hi, space, leaf_of, value, n_values)
    return Tree(decomposition, leaf_of, bool(meets(whole, value.size, share, test)))


def _room_for_leaves(sizes: npt.NDArray[np.int64], most: int) -> Leaves:
    """Arrays for the leaves; the first is the whole attribute space, where the tree begins."""
    lo, hi = np.zeros((most, sizes.size), dtype=np.int32), np.empty((most, sizes.size), dtype=np.int32)
    hi[0] = sizes - 1
    return Leaves(lo, hi, np.zeros(most + 1, dtype=np.int64))
